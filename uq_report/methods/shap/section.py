"""Shapley values, told by their kind."""

from __future__ import annotations

from typing import ClassVar

from ...document import slots
from ...evidence import ids
from ...evidence.importance import ShapImportance
from ...evidence.rows import Shap
from ..shared.libraries import LibrarySection


class ShapSection(LibrarySection):
    """Shapley values, global and local."""

    name: ClassVar[str] = ids.SHAP
    slot: ClassVar[str] = slots.SHAPLEY
    shows: ClassVar[tuple[str, ...]] = (ShapImportance.id, Shap.id)
    title: ClassVar[str] = "SHAP"
    lead: ClassVar[str] = (
        "Shapley values split one row's prediction, entropy or nll among its features, fairly in the sense of "
        "Shapley's axioms, against background rows. They describe the model, not the world, and composite rows may lie "
        "outside the data."
    )
