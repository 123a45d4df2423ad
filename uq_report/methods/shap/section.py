"""Shapley values, told by their kind."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ...document import slots
from ...document.document import Section
from ...evidence import ids
from ...evidence.importance import ShapImportance
from ...evidence.rows import Shap
from ...reading.run_reader import RunReader
from ...reading.tables import split_table
from ..shared.wording import LibrarySection


class ShapSection(LibrarySection):
    """Shapley values, global and local."""

    name: ClassVar[str] = ids.SHAP
    slot: ClassVar[str] = slots.SHAPLEY
    shows: ClassVar[tuple[str, ...]] = (ShapImportance.id, Shap.id)
    title: ClassVar[str] = "SHAP"
    lead: ClassVar[str] = (
        "Shapley values attribute the prediction, entropy or log loss of an observation to its features by Shapley's "
        "axioms, relative to a background sample. They describe the model and have no causal meaning; the combinations "
        "evaluated may lie outside the data."
    )

    def section(self, evidence: RunReader) -> Section:
        """Return a part per result, and the uncertainty in its two parts where the model has members."""
        whole = super().section(evidence)
        table = split_table(evidence, evidence.find(ShapImportance.id), "shap-split-table")
        part = (Section(id="shap-split", title="Aleatoric and epistemic uncertainty", blocks=table),) if table else ()
        return replace(whole, sections=(*whole.sections, *part))
