"""How two runs relate: whether anything of them can be compared, and on which features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..core.text import short
from ..evidence.run import Run
from ..rules.reading import listed

EVERYTHING = "Findings, values and inputs: a difference between the two runs would be no change."


class Relation(NamedTuple):
    """The features of both runs and of either alone, and why the two have nothing to do with each other, if so."""

    shared: tuple[str, ...]
    before: tuple[str, ...]
    now: tuple[str, ...]
    unrelated: str

    @classmethod
    def of(cls, previous: Run, run: Run) -> Relation:
        """Tell from the facts about both subjects."""
        old, new = (tuple(str(one["name"]) for one in each.subject.get("features") or ()) for each in (previous, run))
        shared = tuple(feature for feature in new if feature in old)
        reasons = list(_tasks(previous, run))
        if old and new and not shared:
            reasons.append(f"they have no feature in common ({listed(old)} before, {listed(new)} now)")
        unrelated = f"The two runs are of unrelated models: {'; '.join(reasons)}" if reasons else ""
        return cls(shared, _without(old, new), _without(new, old), unrelated)

    @property
    def words(self) -> str:
        """What is compared where features differ; empty where they are the same."""
        sides = ((self.before, "only in the previous run"), (self.now, "only in this run"))
        apart = "; ".join(f"{listed(features)}, {where}" for features, where in sides if features)
        return f"{apart}. Compared is what both runs have: {listed(self.shared)}." if apart else ""

    def holds(self, features: Iterable[str]) -> bool:
        """Say whether something about these features may be compared."""
        return not set(features) & {*self.before, *self.now}


def _tasks(previous: Run, run: Run) -> Iterable[str]:
    before, now = (str(one.subject.get("task") or "") for one in (previous, run))
    if before and now and before != now:
        yield f"the previous one is of {before}, this one of {now}"
        return
    old, new = (tuple(map(str, one.subject.get("classes") or ())) for one in (previous, run))
    if old and new and not set(old) & set(new):
        yield f"they predict other classes ({listed(map(short, old))} before, {listed(map(short, new))} now)"


def _without(features: Iterable[str], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(feature for feature in features if feature not in others)
