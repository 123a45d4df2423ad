"""Changes of a column that a forest cannot tell apart are predicted and measured once, where that is worth it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from uq_report.api import explain
from uq_report.core.arrays import AnyArray, FloatArray, IntArray
from uq_report.core.engine import Engine
from uq_report.core.repeated import Repeated
from uq_report.core.variants import Variant
from uq_report.inputs.fast_paths.trees import path as paths
from uq_report.inputs.fast_paths.trees.path import TreePath, Walks
from uq_report.methods.shared.changes import Distinct
from uq_report.testing import measures

pytest.importorskip("numba")
N = 48
ROWS = np.arange(N)
RNG = np.random.default_rng(4)
X = RNG.normal(size=(N, 3))
X[:, 2] = RNG.integers(0, 5, N)
X[RNG.random((N, 3)) < 0.1] = np.nan
Y = np.digitize(np.nansum(X, axis=1), [0, 3])
SUBJECT = explain(RandomForestClassifier(12, max_depth=3, random_state=0).fit(X, Y), X, Y)


@pytest.fixture(autouse=True)
def _any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walk however few the rows are."""
    monkeypatch.setattr(paths, "WORTH", 0)


def walks() -> Walks:
    """Return walks that have a table of both columns of numbers."""
    found = TreePath().shortcut(SUBJECT.model, SUBJECT.adapter, X)
    assert isinstance(found, Walks)
    for c in (0, 1):
        found.predict([Variant((c,), donors=ROWS)], ROWS)
    return found


def table_of(own: Walks) -> IntArray:
    """Return the sums that are kept of the first column."""
    table = own._tables.kept((0,), ROWS, split=False)
    assert table is not None
    return table.sums


def shuffles(count: int, column: int = 0) -> list[Variant]:
    return [Variant((column,), donors=np.roll(ROWS, shift)) for shift in range(count)]


def asked(own: Walks, *groups: list[Variant], needs: Any = ("entropy",)) -> list[bool]:
    """Say of each group whether it is of a table predicted whole."""
    return [own.repeated(group, ROWS, set(needs)) is not None for group in groups]


def test_a_table_is_predicted_whole_once_an_eighth_of_it_is_asked_in_a_row() -> None:
    own = walks()
    sums = table_of(own)
    least = -(-sums.size // (8 * N))
    assert least > 2
    assert asked(own, shuffles(least - 1), shuffles(1), shuffles(1)) == [False, True, True]
    assert asked(own, shuffles(1, column=1), shuffles(least - 1), shuffles(1)) == [False, False, True]
    assert asked(own, shuffles(1), needs=("aleatoric",)) == [False]


def test_a_large_table_is_never_predicted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    own = walks()
    size = table_of(own).size
    for most, whole in ((size - 1, False), (size, True)):
        monkeypatch.setattr(paths, "WHOLE", most)
        assert asked(own, shuffles(N)) == [whole]


def test_other_changes_are_predicted_one_by_one() -> None:
    own = walks()
    many, few = shuffles(N), ROWS[:5]
    others = [Variant((0,), (0.0,)), Variant(), *shuffles(1, column=1)]
    assert asked(own, *([*many, other] for other in others), many) == [False, False, False, True]
    assert asked(own, shuffles(N, column=2)) == [False]  # no table yet
    both = [Variant((0, 1), donors=ROWS)]
    own.predict(both, ROWS)
    assert asked(own, N * both) == [False]
    part = [variant.part(few) for variant in many]
    own.predict(part[:1], few)
    assert own.repeated(part, few, set()) is None  # a table of few values
    assert own.repeated(part, few[::-1], set()) is None


def test_runs_are_predicted_once_and_are_no_more_than_there_are() -> None:
    own = walks()
    table = table_of(own)
    own.repeated(shuffles(N), ROWS, set())
    first = own.repeated(shuffles(2), ROWS, set())
    again = own.repeated(shuffles(3), ROWS, set())
    assert first is not None
    assert again is not None
    assert first.dist is again.dist
    changed = (table[:, 1:] != table[:, :-1]).any(axis=0).sum(axis=0)
    assert np.bincount(first.rows).tolist() == (1 + changed).tolist()
    assert len(first.rows) < table[0].size


def evaluated(**options: Any) -> FloatArray:
    """Return measures of all pairs of rows of each column, in groups of one column and of two."""
    engine = Engine(SUBJECT, measures(), batch_rows=10 * N, **options)
    chosen = engine.select(["brier", "nll", "entropy", "aleatoric", "epistemic", "kl"])[0]
    own = [Distinct.of(X, (c,)) for c in range(3)]
    variants = [Variant((c,), donors=own[c].donors(s)) for c in range(3) for s in range(1, len(own[c].first))]
    return np.concatenate([group.values for group in engine.evaluate(variants, chosen, total=len(variants))], axis=1)


def test_all_pairs_of_rows_are_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one to the last bit, whoever works; the model's own but for the order of its sums."""
    found: list[bool] = []
    repeated = Walks.repeated

    def noted(*given: Any) -> Repeated | None:
        answer = repeated(*given)
        found.append(answer is not None)
        return answer

    monkeypatch.setattr(Walks, "repeated", noted)
    path = (TreePath(),)
    whole = evaluated(fast_paths=path)
    assert sum(found) > 4
    assert np.array_equal(whole, evaluated(fast_paths=path, n_jobs=2, backend="threading"))
    monkeypatch.setattr(Walks, "repeated", lambda *_: None)
    assert np.array_equal(whole, evaluated(fast_paths=path))
    assert np.allclose(whole, evaluated(), rtol=1e-10, atol=1e-12)


def test_unchanged_sums_are_kept_once_they_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads share them."""
    from uq_report.inputs.fast_paths.trees import settled

    seen: list[bool] = []
    own = walks()
    rows = own._tables.settled(ROWS)
    kept = rows.sums.copy()
    rows.sums.clear()

    def noted(values: AnyArray, firsts: IntArray, leaves: AnyArray, out: IntArray) -> None:
        seen.append(not rows.sums)
        out.fill(7)

    monkeypatch.setattr(settled, "_unchanged", noted)
    found = rows.unchanged(own._walkable.forest)
    assert seen == [True]
    assert (found == 7).all()
    assert rows.sums.keys() == kept.keys()


def test_each_row_takes_every_value_but_its_own() -> None:
    own = Distinct.of(X, (2,))
    taken = np.stack([own.after(step) for step in range(len(own.first))])
    assert (taken[0] == own.codes).all()
    assert (np.sort(taken, axis=0) == np.arange(len(taken))[:, None]).all()
    assert all((row == step).mean() >= 0.5 for step, row in enumerate(taken) if step)
