"""Views of two models on the same rows: challenger less champion."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from . import columns as col
from . import ids
from .view import EstimateLine, View


class PairedLine(EstimateLine):
    """A difference with its paired interval, and what each model has."""

    champion: float
    challenger: float


class CompareScores(View):
    """Differences of mean scores."""

    id: ClassVar[str] = ids.COMPARE_SCORES
    lines: tuple[PairedLine, ...]


class PairedImportanceLine(PairedLine):
    """A difference of importances, with each model's verdict."""

    champion_verdict: str
    challenger_verdict: str


class CompareImportance(View):
    """Differences of permutation importances."""

    id: ClassVar[str] = ids.COMPARE_IMPORTANCE
    lines: tuple[PairedImportanceLine, ...]


class Reliance(NamedTuple):
    """A feature that one model alone relies on for a measure, and which (``"only the champion"``)."""

    measure: str
    feature: str
    who: str


class CompareReliance(View):
    """What one model relies on and the other does not."""

    id: ClassVar[str] = ids.COMPARE_RELIANCE

    @property
    def reliances(self) -> tuple[Reliance, ...]:
        """The features that one model alone relies on."""
        cells = self.result.frame[[col.MEASURE, col.FEATURE, col.ITEM]].astype(str)
        return tuple(Reliance(*row) for row in cells.itertuples(index=False))
