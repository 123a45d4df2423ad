"""Rounds of shuffles, of two packs of sets in turn: workers evaluate the one while this process reduces the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice, takewhile

from ...core.passes import Group
from ..shared.changes import Changes
from ..shared.rows import Rows
from ..shared.terms import Terms, feature_terms
from .shuffling import Held, Shuffling, stops


class Rounds:
    """A pack of sets, each shuffled until `settled` says so of its terms, at the last stop at the latest."""

    def __init__(
        self, pack: list[Held], shuffling: Shuffling, rows: Rows, settled: Callable[[Terms], bool], *, adaptive: bool
    ) -> None:
        self._pack, self._unsettled = pack, list(pack)
        self._ready: dict[str, tuple[Changes, Terms]] = {}
        self._shuffling, self._rows, self._settled = shuffling, rows, settled
        self._stops = deque(stops(shuffling.n_repeats, adaptive=adaptive))
        self._asked: tuple[list[tuple[Held, int]], Iterator[Group]] = [], iter(())

    @property
    def done(self) -> bool:
        """Whether all sets are settled."""
        return not self._unsettled

    def begin(self) -> None:
        """Ask for the shuffles up to the next stop, or all values; all sets are one stream, so that calls are full."""
        stop = self._stops.popleft()
        order = [(held, r) for held in self._unsettled for r in held.left(stop)]
        variants = (held.variant(r) for held, r in order)
        self._asked = order, self._shuffling.engine.evaluate(variants, self._shuffling.measures, total=len(order))

    def receive(self) -> None:
        """Wait for what was asked."""
        order, groups = self._asked
        for group in groups:
            for v in range(group.values.shape[1]):
                order[group.first + v][0].take(group.values[:, v])

    def stop(self) -> None:
        """Let go what was asked."""
        self._asked = [], iter(())

    def reduce(self) -> None:
        """Fit what is received, and see which sets are settled."""
        own = slice(len(self._rows.measures))
        for held in self._unsettled:
            changes = held.changes.fitted(self._rows)
            terms = feature_terms(changes.of(own), self._rows)
            if not self._stops or self._settled(terms):
                self._ready[held.feature] = changes, terms
        self._unsettled = [held for held in self._unsettled if held.feature not in self._ready]

    def taken(self) -> Iterator[tuple[Held, Changes, Terms]]:
        """Yield the sets, which are let go one by one, with their changes and terms."""
        while self._pack:
            held = self._pack.pop(0)
            yield held, *self._ready.pop(held.feature)


def in_turn(packs: Iterator[Rounds], most: int) -> Iterator[Rounds]:
    """Yield packs in their order, each when it is done; two are held, and `most` are asked for at a time."""
    work: list[Rounds] = []
    underway: deque[Rounds] = deque()

    def ask(but: Rounds | None = None) -> None:
        while len(underway) < most:
            others = [rounds for rounds in work if rounds not in (but, *underway) and not rounds.done]
            if not others and len(work) < 2:
                others = list(islice(packs, 1))
                work.extend(others)
            if not others:
                return
            underway.append(others[0])
            others[0].begin()

    try:
        ask()
        while underway:
            last = underway.popleft()
            last.receive()
            ask(but=last)
            last.reduce()
            done = list(takewhile(lambda rounds: rounds.done, work))
            work = work[len(done) :]
            ask()
            yield from done
    finally:
        for rounds in underway:
            rounds.stop()
