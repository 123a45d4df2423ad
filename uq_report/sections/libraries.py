"""Shapley values and dalex: results of other libraries' methods, told by their kind."""

from __future__ import annotations

from typing import ClassVar

from ..document import slots
from ..document.by_kind import part
from ..document.document import Paragraph, Section
from ..document.evidence import Evidence
from ..evidence import ids
from ..evidence.importance import DalexParts, ShapImportance
from ..evidence.outcomes import DalexPerformance
from ..evidence.profiles import DalexProfile
from ..evidence.rows import DalexRows, Shap
from ._wording import BuiltIn

DALEX_LEAD = (
    "dalex's own methods on the prediction, and on entropy and nll as if they were predictions. dalex reports no "
    "sampling intervals: compare its ranks with permutation importance above, whose intervals cover new rows."
)
SHAP_LEAD = (
    "Shapley values split one row's prediction, entropy or nll among its features, fairly in the sense of Shapley's "
    "axioms, against background rows. They describe the model, not the world, and composite rows may lie outside the "
    "data."
)


class _Library(BuiltIn):
    """A part per result, in the order of `shows`, or why there is none."""

    name: ClassVar[str]
    shows: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    lead: ClassVar[str]

    def section(self, evidence: Evidence) -> Section:
        """Return the lead and a part per result."""
        results = [result for key in self.shows if (result := evidence.find(key)) is not None]
        missing = () if results else (Paragraph(text=evidence.why_missing(self.name)),)
        blocks = (Paragraph(text=self.lead), *missing)
        parts = tuple(part(evidence, result) for result in results)
        return Section(id=f"explainer-{self.name}", title=self.title, blocks=blocks, sections=parts)


class ShapSection(_Library):
    """Shapley values, global and local."""

    name: ClassVar[str] = ids.SHAP
    slot: ClassVar[str] = slots.SHAPLEY
    shows: ClassVar[tuple[str, ...]] = (ShapImportance.id, Shap.id)
    title: ClassVar[str] = "SHAP"
    lead: ClassVar[str] = SHAP_LEAD


class DalexSection(_Library):
    """dalex's importance, profiles, break-down and performance."""

    name: ClassVar[str] = ids.DALEX
    slot: ClassVar[str] = slots.LIBRARY
    shows: ClassVar[tuple[str, ...]] = (DalexPerformance.id, DalexParts.id, DalexProfile.id, DalexRows.id)
    title: ClassVar[str] = "DALEX"
    lead: ClassVar[str] = DALEX_LEAD
