"""Redundancy by linear fits and trees: what each finds, that nothing leaks, and its parts against closed forms."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.tree import ExtraTreeRegressor

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import NLL
from uq_report.core.model.subject import make_subject
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import BudgetError
from uq_report.methods.redundancy import explain
from uq_report.methods.redundancy.explain import (
    LEADING,
    Predictors,
    Redundancy,
    forecasts,
    leaders,
    leaves,
    ridge,
    truth,
)
from uq_report.methods.shared.association import NumericColumn, association, associations


def skills(X: FloatArray, y: Any = None, **options: Any) -> Any:
    """Return the R² of each feature without the target, by name."""
    d = X.shape[1]
    subject = make_subject(testing.KnownLinear((1.0,) * d, (0.0,) * d), testing.KnownTruth(), X, y)
    engine = Engine(subject, {"nll": NLL}, seed=0).bound("redundancy")
    table = Redundancy(**options).explain(subject, engine, {})[0].estimates
    return table[table["item"] == "without target"].set_index("feature")["estimate"]


def numbered(X: FloatArray) -> list[NumericColumn]:
    return [NumericColumn(f"x{j}", column, ordered=True) for j, column in enumerate(X.T)]


@pytest.mark.parametrize(("n", "d"), [(60, 8), (400, 8), (400, 30)])
def test_squares_and_sums_are_found_whatever_the_number_of_features(n: int, d: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, d))
    X[:, 1], X[:, 4] = X[:, 0] ** 2, X[:, 2] + X[:, 3] + X[:, 5]
    found = skills(X)
    assert (found[["x1", "x2", "x3", "x4", "x5"]] > (0.99 if n > 60 else 0.95)).all()
    assert (found[["x0", "x6", "x7"]] < 0.1).all()  # the sign of x0 is not in x1


def test_steps_and_products_are_found_by_trees() -> None:
    X = np.random.default_rng(0).normal(size=(600, 6))
    X[:, 0], X[:, 3] = np.sign(X[:, 1]) * (X[:, 2] > 0.5), X[:, 4] * X[:, 5]
    found = skills(X)
    assert found["x0"] > 0.8
    assert found["x3"] > 0.6


def test_copies_of_a_row_stay_in_one_fold() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(50, 4)), 4, axis=0)
    assert (skills(X) < 0.1).all()


def test_a_near_copy_is_predicted() -> None:
    X = np.random.default_rng(0).normal(size=(150, 3))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    found = skills(X)
    assert (found[["x0", "x1"]] > 0.9).all()
    assert found["x2"] < 0.1


@pytest.mark.parametrize(("signal", "noise"), [(10, 1), (0, 1), (10, 0)], ids=["both", "largest", "smallest"])
def test_ridge_is_the_closed_form_of_its_best_penalty(signal: float, noise: float) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = 0.1 * rng.normal(size=(12, 4))
        Y = signal * X @ rng.normal(size=(4, 2)) + noise * rng.normal(size=(12, 2))
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
        best, error = Y, np.inf
        for penalty in 12 * 10.0 ** np.arange(-6, 2):
            hat = X @ np.linalg.solve(X.T @ X + penalty * np.eye(4), X.T)
            gcv = np.square(Y - hat @ Y).sum() / (11 - np.trace(hat)) ** 2
            if gcv < error:
                best, error = np.clip(hat @ Y, Y.min(axis=0), Y.max(axis=0)), gcv
        assert np.abs(ridge(X + 3, Y, X + 3) - best).max() < 1e-8


@pytest.mark.parametrize("least", [-np.inf, np.inf], ids=["all trees", "first trees"])
def test_forecasts_of_a_fold_do_not_read_its_truth(least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "LEAST_GAIN", least)
    monkeypatch.setattr(explain, "nnls", lambda parts, _: (np.ones(parts.shape[1]),))
    rng = np.random.default_rng(0)
    X, folds = rng.normal(size=(80, 4)), np.arange(80) % 4
    Y, predictors = X[:, :1] ** 2, Predictors.of(numbered(X))
    chosen, swapped = [np.array([1, 2, 3])] * 4, Y.copy()
    swapped[folds == 0] = 100.0
    one, two = (forecasts(predictors, y, folds, chosen, np.random.default_rng(0)) for y in (Y, swapped))
    np.testing.assert_array_equal(one[folds == 0], two[folds == 0])
    assert not np.array_equal(one[folds == 1], two[folds == 1])


def test_forecasts_move_with_the_mean_of_what_is_predicted() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    Y, predictors = X[:, :1] + np.abs(X[:, 1:2]), Predictors.of(numbered(X))
    one, two = (
        forecasts(predictors, values, np.arange(60) % 3, [np.arange(2)] * 3, np.random.default_rng(0))
        for values in (Y, Y + 16)
    )
    np.testing.assert_allclose(two, one + 16)


def test_weights_of_a_fold_are_those_of_the_other_folds() -> None:
    rng = np.random.default_rng(1)
    parts, folds = rng.normal(size=(2, 60, 1)), np.arange(60) % 3
    Y = 0.4 * parts[0] + 0.7 * parts[1]
    np.testing.assert_allclose(explain._weighed(parts, Y, folds), Y, atol=1e-12)
    swapped = np.where((folds == 0)[:, None], 100.0, Y)
    answer = explain._weighed(parts, swapped, folds)
    np.testing.assert_allclose(answer[folds == 0], Y[folds == 0], atol=1e-12)
    assert np.abs(answer - Y)[folds == 1].max() > 0.1


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list with the number of rows that each tree was grown of."""
    rows: list[int] = []
    fit = ExtraTreeRegressor.fit

    def counted(self: Any, X: FloatArray, Y: FloatArray) -> Any:
        rows.append(len(X))
        return fit(self, X, Y)

    monkeypatch.setattr(ExtraTreeRegressor, "fit", counted)
    return rows


@pytest.mark.parametrize(
    ("n", "step", "trees"),
    [(200, 0.0, 0), (200, 0.02, 2 * 4), (200, 1.0, 6 * 4), (199, 0.0, 6 * 4)],
    ids=["line", "small steps", "steps", "few"],
)
def test_trees_grow_where_the_line_leaves_something_more_where_the_first_add_to_it_and_of_few_rows(
    n: int, step: float, trees: int, grown: list[int]
) -> None:
    rng = np.random.default_rng(2)
    X, folds = rng.normal(size=(n, 3)), np.arange(n) % 4
    Y = X[:, :1] + 5 * step * np.sign(X[:, 1:2] * X[:, 2:]) + 0.1 * rng.normal(size=(n, 1))
    forecasts(Predictors.of(numbered(X)), Y, folds, [np.arange(3)] * 4, rng)
    assert len(grown) == trees


@pytest.mark.parametrize(("n", "trees"), [(239, 2 * 4), (240, 0)])
def test_trees_grow_untested_of_fewer_than_fifteen_rows_for_each_column_of_the_line(
    n: int, trees: int, grown: list[int]
) -> None:
    """Eight numbers and their squares, of noise."""
    X = np.random.default_rng(4).normal(size=(n, 9))
    forecasts(Predictors.of(numbered(X)), X[:, :1], np.arange(n) % 4, [np.arange(1, 9)] * 4, np.random.default_rng(0))
    assert len(grown) == trees


def share_of_level(dof: int, tests: int) -> float:
    """Return the share of squares of 400 rows at which a test at a part of `LEVEL` finds something."""
    return float(chi2.isf(explain.LEVEL / tests, dof)) / 400


@pytest.mark.parametrize(("part", "found"), [(0.99, False), (1.01, True)])
def test_a_line_leaves_something_from_the_share_of_squares_of_its_test(part: float, found: bool) -> None:
    """With three levels apart by a share of the squares, or a product of two of two levels along one."""
    levels = np.resize([0.0, 1.0, 2.0], 400)
    columns = [
        NumericColumn("a", levels, ordered=False),
        NumericColumn("b", np.random.default_rng(0).normal(size=400), ordered=True),
    ]
    group = (levels == 1) - (levels == 1).mean()
    noise = np.random.default_rng(1).normal(size=400)
    noise -= np.eye(3)[levels.astype(int)] @ [noise[levels == k].mean() for k in range(3)]
    share = part * share_of_level(3, 2 * 2)
    left = np.sqrt(share) * group / np.linalg.norm(group) + np.sqrt(1 - share) * noise / np.linalg.norm(noise)
    assert leaves(Predictors.of(columns), left[:, None], np.arange(2)) == found
    both = np.stack([left, noise / np.linalg.norm(noise) * 1e-3], axis=1)
    assert leaves(Predictors.of(columns), both, np.arange(2)) == found
    a, b, c = np.array([np.arange(400) // 2**k % 2 * 2.0 - 1 for k in (0, 1, 2)], dtype=float)
    signs = [NumericColumn(str(k), values, ordered=False) for k, values in enumerate((a, b))]
    share = part * share_of_level(1, 4**2)
    left = np.sqrt(share) * a * b + np.sqrt(1 - share) * c
    assert leaves(Predictors.of(signs), left[:, None], np.arange(2)) == found
    assert not leaves(Predictors.of(signs), left[:, None], np.arange(1))


def test_a_line_seldom_leaves_something_of_noise() -> None:
    """At the level .01, 200 samples give more than 6 with a chance of .4%."""
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.standard_t(2, size=(200, 3)), rng.integers(0, 3, size=(200, 2))])
        columns = [NumericColumn(str(j), column, ordered=j < 3) for j, column in enumerate(X.T)]
        found += leaves(Predictors.of(columns), rng.normal(size=(200, 1)), np.arange(5))
    assert found <= 6


@pytest.mark.parametrize("kind", ["wave", "step", "product", "sign", "slopes"])
def test_what_no_line_finds_is_left_by_it(kind: str) -> None:
    """Functions with half of the variance, of two of 18 features, one of them levels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 18))
    X[:, 2] = rng.integers(0, 4, 400)
    a, b, level = X[:, :3].T
    functions = {
        "wave": np.sin(3 * a),
        "step": 1.0 * (a > 0.7),
        "product": a * b,
        "sign": np.sign(a * b),
        "slopes": a * (level % 2 - 0.5),
    }
    signal = functions[kind] - functions[kind].mean()
    columns = [NumericColumn(str(j), values, ordered=j != 2) for j, values in enumerate(X.T)]
    Y = signal[:, None] + signal.std() * rng.normal(size=(400, 1))
    predictors = Predictors.of(columns)
    left = Y - Y.mean() - ridge(predictors.scaled, Y - Y.mean(), predictors.scaled)
    assert leaves(predictors, left, np.arange(18))


@pytest.mark.parametrize(("share", "trees"), [(0.0105, 6 * 4), (0.0095, 2 * 4)])
def test_more_trees_grow_from_a_hundredth_of_the_variance(
    share: float, trees: int, grown: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "_gains", lambda parts, rest, folds: share * np.square(rest).sum(axis=1))
    X = np.random.default_rng(0).normal(size=(200, 2))
    Y = np.sign(X[:, :1] * X[:, 1:])  # of which the line leaves a product
    forecasts(Predictors.of(numbered(X)), Y, np.arange(200) % 4, [np.arange(2)] * 4, np.random.default_rng(0))
    assert len(grown) == trees


def test_leaders_hold_every_part_of_a_sum_and_never_the_feature_itself() -> None:
    X = np.random.default_rng(0).normal(size=(300, 60))
    X[:, 4] = X[:, 2] + X[:, 3] + X[:, 5]
    columns = numbered(X)
    train = np.arange(300) < 240
    chosen = leaders(Predictors.of(columns), [truth(c) for c in columns], range(60), train)
    assert all(len(set(lead.tolist()) - {j}) == LEADING for j, lead in enumerate(chosen))
    assert {3, 4, 5} <= set(chosen[2].tolist())
    few = leaders(Predictors.of(columns[:21]), [truth(c) for c in columns[:21]], range(21), train)
    assert [lead.tolist() for lead in few] == [[k for k in range(21) if k != j] for j in range(21)]


@pytest.mark.parametrize(("levels", "shown"), [(19, 19), (20, 20), (21, 20), (25, 20)])
def test_levels_beyond_the_nineteen_most_frequent_are_one(levels: int, shown: int) -> None:
    codes = np.repeat(np.arange(levels), np.arange(levels, 0, -1)).astype(float)  # level k in levels - k rows
    codes[0] = np.nan
    found = truth(NumericColumn("a", codes, ordered=False))
    assert np.isnan(found[0]).all()
    rest = sum(range(levels - 19 + 1)) if levels > 20 else 1
    expected = [levels - 1, *range(levels - 1, levels - 19, -1)][: min(levels, 19)]
    assert sorted(found[1:].sum(axis=0)) == sorted([*expected, *([rest] if shown == 20 else [])])
    assert (found[1:].sum(axis=1) == 1).all()


def test_numbers_are_scaled_about_their_median_and_bins_are_eighths_and_what_is_missing() -> None:
    np.testing.assert_array_equal(
        truth(NumericColumn("a", np.array([1.0, 2.0, 4.0, np.nan]), ordered=True))[:, 0], [-0.5, 0, 1, np.nan]
    )
    assert not truth(NumericColumn("a", np.full(3, 7.0), ordered=True)).any()
    numbers = np.append(np.arange(16.0), np.nan)
    bins = Predictors.of([NumericColumn("a", numbers, ordered=True)]).bins
    np.testing.assert_array_equal(bins, np.eye(9)[np.append(np.arange(16) // 2, 8)])
    none = Predictors.of([NumericColumn("a", np.full(3, np.nan), ordered=False)])
    assert (none.bins.tolist(), none.scaled.tolist()) == ([[1.0]] * 3, [[0.0]] * 3)
    levels = Predictors.of([NumericColumn("a", np.array([0.0, 1, 1, np.nan]), ordered=False)])
    np.testing.assert_array_equal(levels.bins, np.eye(3)[[0, 1, 1, 2]])
    np.testing.assert_allclose(levels.scaled[:, 1], [-np.sqrt(2), np.sqrt(0.5), np.sqrt(0.5), 0])


def test_scaled_numbers_and_their_squares_have_mean_0_and_variance_1_and_what_is_infinite_is_the_nearest() -> None:
    numbers = np.array([1.0, 2.0, 3.0, 10.0, np.inf, np.nan])
    scaled, even = (
        getattr(Predictors.of([NumericColumn("a", numbers, ordered=True)]), form) for form in ("scaled", "even")
    )
    ranks = [1, 2, 3, 4, 5, np.nan]
    np.testing.assert_array_equal(even, Predictors.of([NumericColumn("a", np.array(ranks), ordered=True)]).scaled)
    assert scaled[4].tolist() == scaled[3].tolist()
    assert scaled[5].tolist() == [0, 0]
    np.testing.assert_allclose(scaled[:5].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled[:5].var(axis=0), 1)
    first, second = scaled[:5].T
    line = np.polynomial.Polynomial.fit(first, second, 2)
    np.testing.assert_allclose(line(first), second, atol=1e-9)
    assert Predictors.of([NumericColumn("a", np.full(4, 2.0), ordered=True)]).scaled.tolist() == [[0, 0]] * 4


def test_what_a_column_tells_is_the_adjusted_share_of_variance_between_its_bins() -> None:
    """1 - (1 - R²)(n - 1)/(n - 1 - p) of a fit on p + 1 bins, the squares of all indicators of a truth added."""
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 3, 60).astype(float)
    levels[0] = 3  # a level of one row
    columns = [
        NumericColumn("level", levels, ordered=False),
        NumericColumn("number", rng.normal(size=60) + levels, ordered=True),
    ]
    train = np.arange(60) < 50
    predictors, truths = Predictors.of(columns), [truth(column) for column in columns]
    Y = [explain._centred(values, train) for values in truths]
    share = explain._strength(predictors, Y, [0, 1], train)
    assert np.isneginf(share.diagonal()).all()
    for own, by, used in ((0, 1, 8), (1, 0, 4)):
        bins = predictors.bins[train][:, predictors.binned == by]
        left = Y[own] - bins @ np.linalg.lstsq(bins, Y[own], rcond=None)[0]
        plain = 1 - np.square(left).sum() / np.square(Y[own]).sum()
        assert share[own, by] == pytest.approx(1 - (1 - plain) * 49 / (50 - used), rel=1e-9)


def test_truths_are_centred_by_the_known_values_of_the_training_rows() -> None:
    found = explain._centred(np.array([[1.0], [np.nan], [4.0], [9.0]]), np.array([True, True, True, False]))
    assert found.tolist() == [[-1.5], [0], [1.5]]
    assert explain._centred(np.full((2, 1), np.nan), np.ones(2, dtype=bool)).tolist() == [[0], [0]]


def test_rare_levels_missing_and_infinite_values_are_read_by_both() -> None:
    rng = np.random.default_rng(0)
    levels = np.where(rng.random(300) < 0.97, rng.integers(0, 3, 300), rng.integers(3, 40, 300)).astype(float)
    number = np.where(levels == 1, 2.0, 0.0) + 0.1 * rng.normal(size=300)
    number[:9], number[9], levels[20:25] = np.nan, np.inf, np.nan
    nothing = np.full(300, np.nan)
    columns = [
        NumericColumn("level", levels, ordered=False),
        NumericColumn("number", number, True),
        NumericColumn("nothing", nothing, True),
    ]
    predictors = Predictors.of(columns)
    assert np.isfinite(predictors.scaled).all()
    assert truth(columns[0]).shape[1] <= 20
    known = np.flatnonzero(~np.isnan(levels))
    Y, part = truth(columns[0])[known], predictors.at_rows(known)
    answer = forecasts(part, Y, known % 5, [np.array([1, 2])] * 5, rng)
    at_one = levels[known] == 1
    place = int(truth(columns[0])[known][at_one].sum(axis=0).argmax())
    assert 1 - np.square(Y - answer)[:, place].sum() / np.square(Y - Y.mean(axis=0))[:, place].sum() > 0.9


def test_all_associations_at_once_are_those_of_the_pairs() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 5, size=(6, 80)).astype(float)
    numbers[1, :7], numbers[2, :7], numbers[4, 60:] = np.nan, np.nan, np.nan
    columns = [NumericColumn(str(j), values, ordered=j % 2 == 0) for j, values in enumerate(numbers)]
    size = associations(columns)
    for j in range(6):
        assert size[j, j] == -1
        for k in range(j):
            assert size[j, k] == size[k, j] == pytest.approx(association(columns[j], columns[k])[1], abs=1e-12)


def test_the_limits_are_looked_at_before_every_feature() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    subject = make_subject(testing.KnownLinear((1.0,) * 4, (0.0,) * 4), testing.KnownTruth(), X)
    engine = Engine(subject, {"nll": NLL}, seed=0).bound("redundancy")
    asked: list[tuple[object, ...]] = []
    streams = engine.rng

    def rng(*key: str | int) -> np.random.Generator:
        asked.append(key)
        if key == ("forest", "x2"):
            raise BudgetError("the time limit was reached")
        return streams(*key)

    object.__setattr__(engine, "rng", rng)
    with pytest.raises(BudgetError):
        Redundancy().explain(subject, engine, {})
    assert ("forest", "x1") in asked
    assert ("forest", "x3") not in asked
