"""Derivatives of parameters: differences against calculus, and exact rules that must prove themselves."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.derivatives import DIFFERENCES, EXACT, Derivatives, finite_differences, floating, spread
from uq_report.core.model.subject import make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray, Table
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.inputs.adapters.members import FunctionAdapter


def model(X: Table) -> Distribution:
    a, b, c = np.asarray(X, dtype=float).T
    return Normal(np.sin(a) * b + 2 * c, np.exp(0.2 * a * c))


def true_first(X: FloatArray) -> FloatArray:
    a, b, c = X.T
    v = np.exp(0.4 * a * c)
    mean = np.stack([np.cos(a) * b, np.sin(a), np.full(len(a), 2.0)], axis=1)
    return np.stack([mean, np.stack([0.4 * c * v, 0 * a, 0.4 * a * v], axis=1)], axis=2)


def true_mean_second(X: FloatArray) -> FloatArray:
    a, b, _ = X.T
    found = np.zeros((len(a), 3, 3))
    found[:, 0, 0] = -np.sin(a) * b
    found[:, 0, 1] = found[:, 1, 0] = np.cos(a)
    return found


class Ruled(FunctionAdapter):
    """Knows the derivative, times a factor that should be 1."""

    factor = 1.0

    def derivatives(self, model: Any, X: Table, order: int) -> Derivatives | None:
        rows = np.asarray(X, dtype=float)
        first = true_first(rows) * self.factor
        second = np.zeros((len(rows), 3, 3, 2)) if order == 2 else None
        if second is not None:
            second[..., 0] = true_mean_second(rows)
        return Derivatives(model(rows).parameters, first, second)


class Wrong(Ruled):
    factor = 1.01


class Elsewhere(Ruled):
    def derivatives(self, model: Any, X: Table, order: int) -> Derivatives | None:
        found = super().derivatives(model, X, order)
        return None if found is None else found._replace(values=found.values + 1.0)


class Fewer(Ruled):
    """Its rule knows the first of two parameters."""

    def derivatives(self, model: Any, X: Table, order: int) -> Derivatives | None:
        found = super().derivatives(model, X, 1)
        return None if found is None else found._replace(values=found.values[:, :1], first=found.first[..., :1])


class LastWrong(Ruled):
    """Its rule does not hold in the last row."""

    def derivatives(self, model: Any, X: Table, order: int) -> Derivatives | None:
        found = super().derivatives(model, X, order)
        if found is not None:
            found.first[-1] *= -1
        return found


ROWS = np.random.default_rng(0).normal(size=(12, 3))


def engine(adapter: Any, X: Any = ROWS, **options: Any) -> Engine:
    return Engine(make_subject(model, adapter, X), {}, **options)


def test_differences_agree_with_calculus_within_their_own_error() -> None:
    found = finite_differences(ROWS, [0, 1, 2], np.ones(3), model, order=2)
    assert found.method == DIFFERENCES
    assert found.error is not None
    assert found.second is not None
    assert found.second_error is not None
    assert np.allclose(found.first, true_first(ROWS), rtol=1e-9, atol=1e-10)
    assert (np.abs(found.first - true_first(ROWS)) <= 10 * found.error + 1e-9).all()
    assert np.allclose(found.second[..., 0], true_mean_second(ROWS), atol=1e-7)
    assert np.array_equal(found.second, found.second.swapaxes(1, 2))


@pytest.mark.parametrize("batch", [None, 12, 30, 5000])
def test_rows_per_call_change_nothing(batch: int | None) -> None:
    whole = finite_differences(ROWS, [0, 2], np.ones(2), model, 2, None)
    other = finite_differences(ROWS, [0, 2], np.ones(2), model, 2, batch)
    assert np.array_equal(whole.first, other.first)
    assert np.array_equal(np.asarray(whole.second), np.asarray(other.second))


def test_a_rule_that_holds_is_used_for_the_columns_asked() -> None:
    found = engine(Ruled()).derivatives([2, 0], order=2, rows=np.array([3, 1, 7, 5]))
    assert found.method == EXACT
    assert found.steps is None
    assert found.second is not None
    assert np.allclose(found.first, true_first(ROWS)[[3, 1, 7, 5]][:, [2, 0]], rtol=1e-14)
    assert found.second.shape == (4, 2, 2, 2)


@pytest.mark.parametrize("adapter", [Wrong(), Elsewhere(), Fewer(), LastWrong()])
def test_a_rule_that_does_not_hold_is_replaced_by_differences(adapter: Any) -> None:
    found = engine(adapter).derivatives([0, 1, 2])
    assert found.method == DIFFERENCES
    assert np.allclose(found.first, true_first(ROWS), rtol=1e-8, atol=1e-9)


WIDE = np.linspace(1, 2, 40)


class Swapped(FunctionAdapter):
    """A linear model of 40 columns whose rule takes two neighbours for each other."""

    def __init__(self, column: int) -> None:
        self.column = column

    def derivatives(self, model: Any, X: Table, order: int) -> Derivatives | None:
        slopes = WIDE.copy()
        slopes[[self.column, self.column + 1]] = slopes[[self.column + 1, self.column]]
        mean = np.broadcast_to(slopes[:, None] * [1.0, 0.0], (len(X), 40, 2))
        return Derivatives(model(X).parameters, mean)


@pytest.mark.parametrize("column", range(0, 38, 3))
@pytest.mark.parametrize("offset", [0.0, 2020.0])
def test_a_rule_that_is_wrong_in_any_of_many_columns_is_found_out(column: int, offset: float) -> None:
    rows = offset + np.random.default_rng(1).normal(size=(5, 40))
    linear = make_subject(lambda X: Normal(np.asarray(X) @ WIDE, 1.0), Swapped(column), rows)
    every = Engine(linear, {}).derivatives(range(40))
    assert every.method == DIFFERENCES
    others = [c for c in range(40) if c not in (column, column + 1)]
    assert Engine(linear, {}).derivatives(others).method == EXACT


def test_whole_numbers_are_moved_by_fractions() -> None:
    X = pd.DataFrame(
        {"a": [0, 1, 2, 3], "b": pd.array([1, 2, 1, 2], dtype="Int64"), "c": np.array([0, 1, 1, 2], dtype="int8")}
    )
    before = X.copy()
    found = engine(FunctionAdapter(), X).derivatives([0, 1, 2])
    assert np.allclose(found.first, true_first(X.to_numpy(dtype=float)), rtol=1e-8, atol=1e-9)
    pd.testing.assert_frame_equal(X, before)


def test_rows_are_counted_and_the_budget_holds() -> None:
    used = engine(FunctionAdapter())
    used.derivatives([0])
    assert sum(used.rows_predicted.values()) == 12 + 5 * 12
    exact = engine(Ruled())
    exact.derivatives([0])
    assert sum(exact.rows_predicted.values()) == 12 + 5 * 3


def test_a_rule_is_compared_with_differences_once_for_its_columns_by_each_explainer() -> None:
    """Three rows and their four moves a column; the rows themselves are counted whenever they are asked for."""
    one = engine(Ruled())
    counts = []
    for used, columns, order in ((one, [0], 1), (one, [0], 2), (one, [1, 0], 1), (one.bound("b"), [1], 1)):
        before = sum(one.rows_predicted.values())
        used.derivatives(columns, order)
        counts.append(sum(one.rows_predicted.values()) - before)
    assert counts == [12 + 5 * 3, 12, 12 + 9 * 3, 12 + 5 * 3]
    one.bound(one.explainer, one.subject.take(np.arange(5))).derivatives([1])
    assert sum(one.rows_predicted.values()) - sum(counts) == 12 + 5


def test_bad_questions_are_refused() -> None:
    with pytest.raises(InputError, match="order must be 1 or 2"):
        engine(FunctionAdapter()).derivatives([0], order=3)
    constant = np.column_stack([ROWS[:, :2], np.ones(12)])
    with pytest.raises(InputError, match=r"must vary; got constant \['x2'\]"):
        engine(FunctionAdapter(), constant).derivatives([0, 2])


def test_floats_stay_one_block_and_other_numbers_become_floats() -> None:
    """A table of many columns that is split costs its columns at every use."""
    table = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=list("abcd")).assign(n=[1, 2, 3])
    result = floating(table, [0, 2, 4])
    assert isinstance(result, pd.DataFrame)
    assert result["n"].dtype == np.float64
    assert np.shares_memory(result["a"].to_numpy().base, result["d"].to_numpy().base)
    pd.testing.assert_frame_equal(result, table.astype(float))


def test_the_reported_error_is_that_of_the_half_step() -> None:
    """Central differences of x³ are off by h², those of x⁴ for the second derivative by 2h²: a quarter at h/2."""
    x = np.array([[0.5], [1.0], [-2.0]])

    def powers(X: Table) -> Distribution:
        a = np.asarray(X, dtype=float)[:, 0]
        return Normal(a**3 + a**4, 1.0)

    found = finite_differences(x, [0], np.array([1.0]), powers, order=2, precision=1e-3)
    assert found.steps is not None
    (h,) = found.steps
    assert h == 0.25  # 1e-3^(1/5) = 0.251
    assert found.error is not None
    a = x[:, 0]
    cubic = np.abs(1 + 4 * a) * h**2 / 4  # of x⁴ the first derivative is off by 4 a h²
    np.testing.assert_allclose(found.error[:, 0, 0], cubic, rtol=1e-9)
    np.testing.assert_allclose(found.first[:, 0, 0], 3 * a**2 + 4 * a**3, rtol=1e-12)
    assert found.second is not None
    assert found.second_error is not None
    np.testing.assert_allclose(found.second[:, 0, 0, 0], 6 * a + 12 * a**2, rtol=1e-9)
    wide = 0.25  # 1e-3^(1/6) = 0.316
    np.testing.assert_allclose(found.second_error[:, 0, 0, 0], np.full(3, wide**2 / 2), rtol=1e-9)


def test_some_columns_are_taken_with_their_errors() -> None:
    X = np.random.default_rng(1).normal(size=(4, 3))
    every = finite_differences(X, [0, 1, 2], np.ones(3), model, order=2)
    some = every.of([2, 0])
    assert every.second is not None
    assert every.error is not None
    assert every.second_error is not None
    np.testing.assert_array_equal(some.first, every.first[:, [2, 0]])
    np.testing.assert_array_equal(some.error, every.error[:, [2, 0]])
    for found, whole in ((some.second, every.second), (some.second_error, every.second_error)):
        assert found is not None
        np.testing.assert_array_equal(found[:, 0, 1], whole[:, 2, 0])
        np.testing.assert_array_equal(found[:, 1, 1], whole[:, 0, 0])
    bare = Derivatives(every.values, every.first).of([1])
    assert (bare.second, bare.error, bare.second_error) == (None, None, None)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 3.0], 1.0),
        ([1.0, np.nan, 3.0, np.inf], 1.0),
        ([2.0, 2.0, np.nan], 0.0),
        ([np.nan], 0.0),
        ([0.1] * 3, 0.0),
    ],
)
def test_the_spread_is_over_finite_values(values: list[float], expected: float) -> None:
    assert spread(values) == expected
