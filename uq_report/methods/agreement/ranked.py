"""The rankings of methods as the section reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.support.text import count
from ...document.plots.frames import places_words, tied
from ...document.plots.matrix import DrawnRanks
from ...document.text import clean, joined, name
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.information import AgreementView, RankLine
from ...evidence.view import by_feature, table_of
from ..shared.wording import SHORT

METHODS = {
    ids.PFI: "PFI",
    ids.PFI_TRAIN: "PFI, training rows",
    ids.SHAP_IMPORTANCE: "SHAP",
    ids.DALEX_PARTS: "DALEX",
    ids.RSENS: "R-sens",
    ids.RSENS_COMPARATORS: "comparator",
    ids.H_STATISTIC: "H², total",
    ids.COVER: "PFI, cover lost",
    ids.CID_CORRECTED: "PFI, mapped",
}
QUESTIONS = {
    "prediction": "the prediction (the mean)",
    "loss": "the loss",
    "uncertainty": "the uncertainty",
    "interaction": "interaction",
}
FEW = 3


@dataclass(frozen=True)
class Ranked:
    """One ranking: the result it is of, its measure, and a line per feature, first rank first."""

    id: str
    measure: str
    lines: tuple[RankLine, ...]

    @property
    def role(self) -> str:
        """The question it answers."""
        return self.lines[0].role

    @property
    def method(self) -> str:
        """The method, as short as columns need."""
        return METHODS.get(self.id, clean(self.id, 60))

    @property
    def key(self) -> str:
        """What the result calls this ranking."""
        return f"{self.id}: {self.measure}" if self.measure else self.id

    @property
    def label(self) -> str:
        """What a reader calls it; a method's only measure is not repeated."""
        return self.method if self.measure in ("", self.id) else f"{self.method} {self.short}"

    @property
    def short(self) -> str:
        """The measure, as short as columns need."""
        return SHORT.get(self.measure, clean(self.measure, 40))

    @property
    def sure(self) -> bool:
        """Whether its ranks have intervals."""
        return all(line.has_interval for line in self.lines)

    def column(self) -> DrawnRanks:
        """Return it as a column of a figure."""
        measure = "" if self.measure == self.id else self.short
        return DrawnRanks(self.method, measure, table_of(self.lines).set_index(col.FEATURE))

    def leaders(self, most: int) -> str:
        """Name its first features, with the intervals of their ranks or their ties: ``"age (1 to 3)"``."""
        return joined([self._place(line) for line in self.lines[:most]], most)

    def places(self, feature: str) -> str:
        """Return the ranks that a feature may have."""
        line = by_feature(self.lines)[feature]
        return places_words(line.lower, line.upper) if self.sure else places_words(line.estimate, line.estimate)

    def _place(self, line: RankLine) -> str:
        if self.sure:
            return f"{name(line.feature)} ({self.places(line.feature)})"
        first, last = tied({other.feature: other.estimate for other in self.lines})[line.feature]
        return name(line.feature) + (f" (tied, {places_words(first, last)})" if last > first else "")

    @property
    def first_words(self) -> str:
        """Which features can be first: one by name, a few by name, more as a count."""
        able = sorted(line.feature for line in self.lines if line.lower == 1)
        if len(able) == 1:
            return f"only {name(able[0])} can be first"
        if len(able) <= FEW:
            return f"{joined([name(f) for f in able])} can be first"
        return f"{count(len(able), 'feature')} can be first"


def rankings(view: AgreementView) -> list[Ranked]:
    """Return every ranking, in the result's order."""
    by_method: dict[tuple[str, str], list[RankLine]] = {}
    for line in view.lines:
        by_method.setdefault((line.item, line.measure), []).append(line)
    return [
        Ranked(method, measure, tuple(sorted(by_feature(lines).values(), key=lambda line: line.estimate)))
        for (method, measure), lines in by_method.items()
    ]


def by_question(ranked: Sequence[Ranked]) -> dict[str, list[Ranked]]:
    """Return the rankings of each question, those with intervals first."""
    roles = dict.fromkeys([*QUESTIONS, *(r.role for r in ranked)])
    by_role = {role: sorted((r for r in ranked if r.role == role), key=lambda r: not r.sure) for role in roles}
    return {role: several for role, several in by_role.items() if several}
