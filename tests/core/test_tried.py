"""Changes tried in a model's first call: which stand for those asked, and that no answer moves by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.adapter import Adapter
from uq_report.core.arrays import Columns, FloatArray, IntArray, Table, take_rows
from uq_report.core.distributions import Normal
from uq_report.core.engine import Engine
from uq_report.core.measures import NLL, PREDICTION
from uq_report.core.subject import make_subject
from uq_report.core.tried import Trial
from uq_report.core.variants import Variant, make_buffer

N = 40
FRAME = pd.DataFrame({"a": np.arange(N) / 7, "b": pd.Categorical(list("xyzx") * 10), "c": np.arange(N)[::-1]})
NUMBERS = np.random.default_rng(0).normal(size=(N, 3))
DONORS = np.arange(N)[::-1].copy()
BY_DONORS, CONSTANT, ROWWISE = Variant((1,), donors=DONORS), Variant((1,), (0.5,)), Variant((1,), (NUMBERS[:, 1],))


def cells(X: Table) -> Any:
    return pd.DataFrame(X).astype(object).to_numpy()


class Cells(list[Any]):
    """Rows in place of what is predicted of them."""

    def take(self, index: IntArray) -> Any:
        return Cells(self[i] for i in index)


@pytest.mark.parametrize("X", [FRAME, NUMBERS], ids=["frame", "array"])
@pytest.mark.parametrize("change", [BY_DONORS, CONSTANT, ROWWISE], ids=["donors", "constant", "rowwise"])
@pytest.mark.parametrize("columns", [(1,), (0,), (0, 1), (2, 1)])
def test_tried_rows_are_those_that_such_changes_make(X: Table, change: Variant, columns: tuple[int, ...]) -> None:
    trial = Trial.of(X)
    whole = trial.behind(X)
    assert type(whole) is type(X)
    assert len(whole) == N + len(trial)
    assert list(pd.DataFrame(whole).dtypes) == list(pd.DataFrame(X).dtypes)
    np.testing.assert_array_equal(cells(take_rows(whole, np.arange(N))), cells(X))
    asked = Variant(columns, change.values * len(columns), change.donors)
    plain: Any = Cells(cells(whole)[N:].tolist())
    known = trial.like([asked], Columns(X), plain)
    assert known is not None
    changes, rows, found = known
    assert {c for tried in changes for c in tried.columns} == ({0, 1, 2} if len(columns) > 1 else {*columns})
    assert {(tried.donors is None, *map(np.ndim, tried.values[:1])) for tried in changes} == {
        (asked.donors is None, *map(np.ndim, asked.values[:1]))
    }
    made = make_buffer(take_rows(X, rows), len(changes)).filled(Columns(X), 0, len(rows), changes)
    np.testing.assert_array_equal(np.array(found, dtype=object), cells(made))
    assert (cells(made) != np.repeat(cells(take_rows(X, rows)), len(changes), axis=0)).any()


@pytest.mark.parametrize(
    "changes",
    [
        [Variant()],
        [Variant(), CONSTANT],
        [Variant((0, 1, 2), donors=DONORS)],
        [Variant((3,), (0.5,))],
        [CONSTANT, BY_DONORS],
        [CONSTANT, Variant((0, 1), (0.5, 0.5))],
    ],
)
def test_other_changes_are_asked_for_when_they_are(changes: list[Variant]) -> None:
    plain: Any = None
    assert Trial.of(NUMBERS).like(changes, Columns(NUMBERS), plain) is None


def test_of_many_columns_so_many_are_tried_as_share_a_call_of_a_comparison() -> None:
    trial = Trial.of(np.zeros((9, 40)))
    assert trial.columns == tuple((c,) for c in range(32))
    assert Trial.of(np.zeros((1, 1))).columns == ((0,),)


class Sums(Adapter):
    """Reads the sum of a row's numbers; may refuse rows beyond so many, and keeps how many were asked for at once."""

    name = "sums"

    def __init__(self, batch: int | None = 1000, most: int = 1000) -> None:
        self.batch, self.most = batch, most
        self.asked: list[int] = []

    def matches(self, model: Any) -> None:
        return None

    def predict(self, model: Any, X: Any) -> Normal:
        self.asked.append(len(X))
        if len(X) > self.most:
            raise ValueError("too many")
        return Normal(model(np.asarray(X)), 1.0)

    def batch_rows(self, model: Any) -> int | None:
        return self.batch


class Sum:
    """The same sums, off by `apart` where a column changes to what a row gives."""

    name, title, rank, api_version = "sum", "sums", 0, 1

    def __init__(self, apart: float = 0.0) -> None:
        self.apart = apart

    def shortcut(self, model: Any, adapter: Any, X: FloatArray) -> Any:
        self.X = X
        return self

    def covers(self, variant: Variant) -> bool:
        return 2 not in variant.columns

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Normal:
        table = make_buffer(self.X[rows], len(group)).filled(Columns(self.X), 0, len(rows), group)
        return Normal(table.sum(axis=1) + self.apart * any(v.donors is not None for v in group), 1.0)


def total(X: Any) -> Any:
    return X.sum(axis=1)


def run(adapter: Sums, path: Sum, variants: list[Variant], **options: Any) -> tuple[Any, Engine]:
    subject = make_subject(total, adapter, NUMBERS, NUMBERS[:, 0])
    paths: Any = (path,)
    engine = Engine(subject, {m.name: m for m in (PREDICTION, NLL)}, fast_paths=paths, **options)
    parts = [group.values for group in engine.evaluate(variants, engine.select(["prediction", "nll"])[0])]
    return np.concatenate(parts, axis=1), engine


ASKED = [Variant((0,), donors=DONORS), Variant((1,), donors=DONORS)]
TRIED = len(Trial.of(NUMBERS))


@pytest.mark.parametrize(
    ("adapter", "options", "calls"),
    [
        (Sums(), {}, [N + TRIED]),
        (Sums(N + TRIED), {}, [N + TRIED]),
        (Sums(N + TRIED - 1), {}, [N, 20]),
        (Sums(None), {}, [N, 20]),
        (Sums(), {"batch_rows": N}, [N, 20]),
        (Sums(most=N), {}, [N + TRIED, N, 20]),
    ],
    ids=["tried", "just", "too-many", "rows-move-others", "users-limit", "refused"],
)
def test_the_first_call_holds_what_is_compared_where_rows_may_share_it(
    adapter: Sums, options: Any, calls: list[int]
) -> None:
    values, engine = run(adapter, Sum(), ASKED, **options)
    assert adapter.asked == calls
    np.testing.assert_allclose(values[0], [NUMBERS.sum(axis=1) + NUMBERS[::-1, c] - NUMBERS[:, c] for c in (0, 1)])
    assert engine.rows_predicted == {"engine": 3 * N}
    assert len(engine.baseline) == N
    assert engine.served["sum"].dropped == ""
    assert engine.served["sum"].rows == 2 * N


@pytest.mark.parametrize(("variant", "dropped"), [(ASKED[0], True), (CONSTANT, False)])
def test_a_shortcut_that_is_off_in_one_kind_of_change_is_left_for_that(variant: Variant, dropped: bool) -> None:
    _, engine = run(Sums(), Sum(1e-3), [variant])
    assert bool(engine.served["sum"].dropped) is dropped


def test_changes_that_no_shortcut_covers_are_compared_when_asked() -> None:
    adapter = Sums()
    _, engine = run(adapter, Sum(), [Variant((0, 1), donors=DONORS)])
    assert len(adapter.asked) == 2  # the pairs that were tried hold a column that is not covered
    assert engine.served["sum"].rows == N
