"""Two packs of sets in turn: one is evaluated while the other is reduced; nothing depends on who evaluates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Event
from typing import Any, cast

import numpy as np
import pytest

from uq_report.core.arrays import FloatArray
from uq_report.core.distributions import Categorical
from uq_report.core.engine import Engine
from uq_report.core.errors import BudgetError
from uq_report.methods.pfi import shuffling
from uq_report.methods.pfi.rounds import Rounds, in_turn
from uq_report.methods.shared.terms import feature_terms

from .pfi_cases import MEASURES, explained, repeats, rows, subject, three_features
from .test_pfi import same

THREADS: dict[str, Any] = {"n_jobs": 2, "backend": "threading"}


class Log:
    """A pack that needs so many rounds, and what was done with it."""

    def __init__(self, name: str, needed: int, log: list[str]) -> None:
        self.name, self.needed, self.log = name, needed, log

    @property
    def done(self) -> bool:
        return not self.needed

    def begin(self) -> None:
        self.log.append(f"begin {self.name}")

    def receive(self) -> None:
        self.log.append(f"receive {self.name}")

    def reduce(self) -> None:
        self.log.append(f"reduce {self.name}")
        if self.needed > 9:
            raise MemoryError
        self.needed -= 1

    def stop(self) -> None:
        self.log.append(f"stop {self.name}")


def worked(needed: Sequence[int], most: int) -> list[str]:
    """Return what is done with packs a, b ... of which each needs so many rounds, and when they are yielded."""
    log: list[str] = []
    packs = (Log(name, count, log) for name, count in zip("abcd", needed, strict=False))
    with suppress(MemoryError):
        log.extend(f"yield {cast('Log', pack).name}" for pack in in_turn(cast("Iterator[Rounds]", packs), most))
    return log


def words(text: str) -> list[str]:
    names = {"b": "begin", "r": "receive", "f": "reduce", "y": "yield", "s": "stop"}
    return [f"{names[step[0]]} {step[1]}" for step in text.split()]


@pytest.mark.parametrize(
    ("needed", "steps"),
    [
        ((), ""),
        ((1,), "ba ra fa ya"),
        ((2,), "ba ra fa ba ra fa ya"),
        ((1, 1, 1), "ba ra bb fa ya rb bc fb yb rc fc yc"),
        ((2, 2, 1), "ba ra bb fa rb ba fb ra bb fa ya rb bc fb yb rc fc yc"),
        ((3, 1, 1), "ba ra bb fa rb ba fb ra fa ba ra fa bc ya yb rc fc yc"),  # only two are held
        ((1, 10, 1), "ba ra bb fa ya rb bc fb sc"),
    ],
)
def test_the_next_round_is_asked_for_before_the_last_is_reduced(needed: tuple[int, ...], steps: str) -> None:
    assert worked(needed, 1) == words(steps)


@pytest.mark.parametrize(
    ("needed", "steps"),
    [
        ((), ""),
        ((2,), "ba ra fa ba ra fa ya"),
        ((1, 1, 1), "ba bb ra fa bc ya rb fb yb rc fc yc"),
        ((2, 2, 1), "ba bb ra fa ba rb fb bb ra fa bc ya rb fb yb rc fc yc"),
        ((3, 1, 1), "ba bb ra fa ba rb fb ra fa ba ra fa bc ya yb rc fc yc"),
        ((1, 10, 1), "ba bb ra fa bc ya rb fb sc"),
    ],
)
def test_two_rounds_are_under_way(needed: tuple[int, ...], steps: str) -> None:
    assert worked(needed, 2) == words(steps)


@pytest.mark.parametrize("held", [1, 2 * 4 * 45 * 60])  # one set together, or two
@pytest.mark.parametrize(("n", "share", "shuffles"), [(100, 0.05, [20, 30, 30]), (60, 0.03, [45, 40, 45])])
def test_workers_change_no_byte_and_predict_nothing_twice(
    n: int, share: float, shuffles: list[int], held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffling, "_HELD", held)
    of = subject(three_features, *rows(n))
    engines = Engine(of, MEASURES), Engine(of, MEASURES, **THREADS)
    one, two = (explained(of, engine, n_repeats=45, seed_share=share) for engine in engines)
    same(one, two)
    assert [len(repeats(one["pfi"], "nll", feature)) for feature in "abc"] == shuffles
    assert engines[0].rows_predicted == engines[1].rows_predicted


@pytest.mark.parametrize("budget", [100 * 31, 100 * 55, 100 * 78])
def test_a_budget_ends_both_in_the_same_place(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffling, "_HELD", 1)
    of, told = subject(three_features, *rows(100)), []
    for workers in ({}, THREADS):
        engine = Engine(of, MEASURES, row_budget=budget, **workers)
        with pytest.raises(BudgetError, match=r"row_budget must allow the next") as raised:
            explained(of, engine, n_repeats=45, seed_share=0.05)
        told.append((str(raised.value), engine.rows_predicted))
    assert told[0] == told[1]


def test_workers_are_at_the_next_pack_while_one_is_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reduces the first pack waits until the model is asked about the next."""
    X, y = rows(40)
    again, asked = Event(), []

    def model(table: FloatArray) -> Categorical:
        if (table[:, 1] != np.repeat(X[:, 1], len(table) // len(X))).any():
            again.set()
        return three_features(table)

    def reduce(*given: Any) -> Any:
        asked.append(again.wait(20))
        return feature_terms(*given)

    monkeypatch.setattr("uq_report.methods.pfi.rounds.feature_terms", reduce)
    monkeypatch.setattr(shuffling, "_HELD", 1)
    of = subject(model, X, y)
    explained(of, Engine(of, MEASURES, **THREADS), n_repeats=5, seed_share=0)
    assert asked == [True] * 3
