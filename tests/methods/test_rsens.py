"""R-sens on what has no derivative: trees, levels, dates, holes; and its comparators against closed forms."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import divergence
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import Table
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Categorical, Normal
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.inputs.adapters.ensemble import EnsembleAdapter
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.rsens.estimator import _strongest
from uq_report.methods.rsens.explain import RSens

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LABELS = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


def explain(subject: Subject, seed: int = 0, **options: Any) -> dict[str, Result]:
    engine = Engine(subject, testing.measures(), seed=seed).bound("rsens")
    return {r.id: r for r in RSens(**options).explain(subject, engine, {})}


def of(result: Result, measure: str, column: str = "estimate") -> Any:
    return result.estimates[result.estimates["measure"] == measure].set_index("feature")[column]


def linear(T: Table) -> Distribution:
    rows = np.asarray(T, dtype=float)
    return Normal(2 * rows[:, 0] - rows[:, 1], np.full(len(rows), 0.5))


# ---------------------------------------------------------------- no derivative


def test_a_forest_gets_the_finite_step_form_and_says_so() -> None:
    model = RandomForestClassifier(20, min_samples_leaf=8, random_state=0).fit(X, LABELS)
    found = explain(make_subject(model, ClassifierAdapter(), X))
    main, pairs = found["rsens"], found["rsens.interaction"]
    for result in (main, found["rsens.comparators"]):
        assert "finite-step form" in result.meta["method"]
        assert "0.5 standard deviations" in result.meta["method"]
    assert any("piecewise constant" in note and "no derivative" in note for note in main.notes)
    assert (main.estimates["estimate"] > 0).all()
    assert "no derivatives" in pairs.meta["method"]
    assert len(pairs.frame) == 9


def test_the_finite_step_form_is_the_divergence_over_the_step() -> None:
    model = RandomForestClassifier(20, min_samples_leaf=8, random_state=0).fit(X, LABELS)
    adapter = ClassifierAdapter()
    main = explain(make_subject(model, adapter, X), step=0.8, shared_unit=True, interactions=False)["rsens"]
    assert main.rows is not None
    base, reach = adapter.predict(model, X), 0.8 * X[:, 1].std()
    lengths = [
        np.sqrt(2 * divergence(base, adapter.predict(model, X + sign * reach * np.eye(3)[1]), "kl")) / reach
        for sign in (1, -1)
    ]
    assert np.allclose(main.rows.of("rsens", "x1"), np.mean(lengths, axis=0), rtol=1e-12)


def test_infinite_divergences_are_replaced_by_order_one_half_everywhere() -> None:
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, LABELS)
    subject = make_subject(model, ClassifierAdapter(), X)
    found = explain(subject)
    assert "Rényi divergence of order 1/2" in found["rsens"].meta["method"]
    assert any("KL is infinite for" in note for note in found["rsens"].notes)
    tree_is_sure = [g for g in found["rsens"].omissions if "infinite for" in g.reason]
    shown = set(found["rsens"].estimates["feature"])
    assert shown | {g.feature for g in tree_is_sure} == {"x0", "x1", "x2"}
    assert shown.isdisjoint(g.feature for g in tree_is_sure)
    assert all("infinite for" in g.reason for g in found["rsens.interaction"].omissions)


def test_a_feature_the_tree_does_not_use_is_zero_and_the_smooth_model_keeps_its_derivative() -> None:
    smooth = explain(make_subject(linear, FunctionAdapter(), X))["rsens"]
    assert smooth.meta["method"] == "central differences"
    assert of(smooth, "rsens")["x2"] == 0
    model = RandomForestClassifier(10, min_samples_leaf=8, random_state=0).fit(X * [1, 1, 0], LABELS)
    forest = explain(make_subject(model, ClassifierAdapter(), X))["rsens"]
    assert of(forest, "rsens")["x2"] == 0
    assert "finite-step" in forest.meta["method"]


def test_a_jump_is_found() -> None:
    def jump(T: Table) -> Distribution:
        rows = np.asarray(T, dtype=float)
        return Normal(np.floor(rows[:, 0] * 500) / 500 + rows[:, 1], np.ones(len(rows)))

    main = explain(make_subject(jump, FunctionAdapter(), X))["rsens"]
    assert "finite-step form" in main.meta["method"]
    assert of(main, "rsens", "raw")["x0"] == pytest.approx(1, rel=0.01)


def test_an_ensemble_of_regressors_is_compared_by_cells() -> None:
    model = RandomForestRegressor(10, min_samples_leaf=5, random_state=0).fit(X, X[:, 0])
    subject = make_subject(model, EnsembleAdapter(), X)
    found = explain(subject)
    assert any("64 cells" in note for note in found["rsens"].notes)
    assert of(found["rsens"], "rsens").idxmax() == "x0"
    assert not len(found["rsens.interaction"].estimates)
    assert "Fisher" in found["rsens.interaction"].omissions[0].reason


# ---------------------------------------------------------------- kinds of features


def mixed(T: Table) -> Distribution:
    frame = pd.DataFrame(T)
    z = frame["a"].to_numpy(dtype=float) + frame["k"].map({"u": 0.0, "v": 1.0, "w": 3.0}).to_numpy(dtype=float)
    p = 1 / (1 + np.exp(-z))
    return Categorical(np.column_stack([1 - p, p]))


def frame() -> pd.DataFrame:
    k = np.array(["u", "v", "w", "u"] * 15, dtype=object)
    day = pd.date_range("2024-01-01", periods=60)
    return pd.DataFrame({"a": X[:, 0], "k": k, "same": 1.0, "day": day})


def test_levels_by_enumeration() -> None:
    subject = make_subject(mixed, FunctionAdapter(), frame())
    found = explain(subject)["rsens"]
    assert found.rows is not None
    shares = {"u": 0.5, "v": 0.25, "w": 0.25}
    expected = np.zeros(60)
    for level, share in shares.items():
        moved = mixed(frame().assign(k=level))
        chance = np.array([0.0 if own == level else share / (1 - shares[own]) for own in frame()["k"]])
        expected += chance * np.sqrt(2 * divergence(mixed(frame()), moved, "kl"))
    spread = np.sqrt((1 - 0.25 - 2 * 0.0625) / 2)
    assert np.allclose(found.rows.of("rsens", "k"), expected * spread, rtol=1e-12)
    assert found.meta["spreads"]["k"] == pytest.approx(spread)
    assert "changes of level by √(2 KL)" in found.meta["method"]


def test_two_levels_have_the_spread_of_a_0_1_column() -> None:
    table = pd.DataFrame({"k": np.array(["u", "v", "v"] * 20, dtype=object), "a": X[:, 0]})
    found = explain(make_subject(mixed, FunctionAdapter(), table))["rsens"]
    assert found.meta["spreads"]["k"] == pytest.approx((table["k"] == "v").to_numpy(dtype=float).std())


def test_dates_and_constants_are_left_out_with_their_reason() -> None:
    found = explain(make_subject(mixed, FunctionAdapter(), frame()))
    reasons = {g.feature: g.reason for g in found["rsens"].omissions}
    assert set(reasons) == {"same", "day"}
    assert "constant" in reasons["same"]
    assert "date" in reasons["day"]
    pairs = found["rsens.interaction"]
    assert "two numeric features" in pairs.omissions[0].reason
    with pytest.raises(UnsupportedError, match="no feature can be moved"):
        explain(make_subject(mixed, FunctionAdapter(), frame()), features=("same", "day"))


def test_rows_without_a_value_are_left_out_of_that_feature_only() -> None:
    def holes(T: Table) -> Distribution:
        rows = np.nan_to_num(np.asarray(T, dtype=float), nan=0.0)
        return Normal(rows[:, 0] ** 2 + rows[:, 1], np.ones(len(rows)))

    table = X.copy()
    table[:7, 0] = np.nan
    found = explain(make_subject(holes, FunctionAdapter(), table))
    main = found["rsens"]
    assert of(main, "rsens", "raw")["x0"] == pytest.approx(np.abs(2 * X[7:, 0]).mean(), rel=1e-8)
    assert of(main, "rsens", "raw")["x1"] == pytest.approx(1, rel=1e-8)
    assert main.rows is not None
    assert main.rows.features == ("x1", "x2")
    assert any("excluded for: x0" in note for note in main.notes)
    assert (main.frame["feature"] == "x0").sum() == 53


# ---------------------------------------------------------------- rows


def test_a_sample_of_rows_is_stated_and_repeats() -> None:
    subject = make_subject(linear, FunctionAdapter(), X)
    one, same, other = (explain(subject, seed=s, max_rows=20)["rsens"] for s in (1, 1, 2))
    assert one.frame.equals(same.frame)
    assert one.meta["rows_used"] != other.meta["rows_used"]
    assert len(one.meta["rows_used"]) == 20
    assert any("a random sample of 20 of 60 observations" in note for note in one.notes)
    assert set(one.frame["repeat"]) == set(one.meta["rows_used"])


def test_weights_and_clusters_enter_the_means() -> None:
    weights = np.arange(60.0)
    square: Any = lambda T: Normal(np.asarray(T)[:, 0] ** 2, np.ones(len(T)))  # noqa: E731
    subject = make_subject(square, FunctionAdapter(), X, sample_weight=weights, clusters=np.repeat(np.arange(30), 2))
    found = explain(subject)["rsens"]
    assert of(found, "rsens", "raw")["x0"] == pytest.approx(np.average(np.abs(2 * X[:, 0]), weights=weights), rel=1e-8)
    assert any("30 clusters" in note for note in found.notes)
    assert 0 not in found.meta["rows_used"]


# ---------------------------------------------------------------- comparators


def test_comparators_of_a_linear_function_have_closed_forms() -> None:
    found = explain(make_subject(linear, FunctionAdapter(), X), shared_unit=True)["rsens.comparators"]
    for measure in ("ead", "aed", "apc"):
        assert np.allclose(of(found, measure), [2, 1, 0], atol=1e-8), measure
    covariance = np.cov(X.T, ddof=0)
    conditional = 1 / np.diag(np.linalg.inv(covariance))
    assert np.allclose(of(found, "var"), [4 * conditional[0], conditional[1], 0], rtol=1e-4)
    grid = [np.sort(X[:, j])[np.clip(np.ceil(np.linspace(0, 1, 8) * 60).astype(int) - 1, 0, 59)] for j in (0, 1)]
    assert np.allclose(of(found, "pd"), [2 * grid[0].std(ddof=1), grid[1].std(ddof=1), 0], rtol=1e-10)


def test_signs_cancel_in_aed_and_not_in_ead() -> None:
    even: Any = lambda T: Normal(np.asarray(T)[:, 0] ** 2, np.ones(len(T)))  # noqa: E731
    both = np.concatenate([X, -X])
    found = explain(make_subject(even, FunctionAdapter(), both), shared_unit=True)["rsens.comparators"]
    assert of(found, "aed")["x0"] == pytest.approx(0, abs=1e-9)
    assert of(found, "ead")["x0"] == pytest.approx(np.abs(2 * X[:, 0]).mean(), rel=1e-8)


@pytest.mark.parametrize(("size", "moves"), [(0.0, False), (1e-13, False), (1e-11, True)])
def test_comparators_of_what_moves_a_prediction_by_rounding_are_0(size: float, moves: bool) -> None:
    def nearly(T: Table) -> Distribution:
        rows = np.asarray(T, dtype=float)
        return Normal(100 + rows[:, 0] + 100 * size * np.sign(rows[:, 1]), np.ones(len(rows)))

    found = explain(make_subject(nearly, FunctionAdapter(), X))["rsens.comparators"]
    assert [bool(of(found, measure)["x1"]) for measure in ("apc", "var")] == [moves, moves]


def test_comparators_of_levels() -> None:
    found = explain(make_subject(mixed, FunctionAdapter(), frame()))["rsens.comparators"]
    f = {level: mixed(frame().assign(k=level)).mean() for level in "uvw"}
    average = [f[level].mean() for level in "uvw"]
    assert of(found, "pd")["k"] == pytest.approx((max(average) - min(average)) / 4, rel=1e-10)
    shares = np.array([0.5, 0.25, 0.25])
    stacked = np.stack([f[level] for level in "uvw"])
    variance = shares @ stacked**2 - (shares @ stacked) ** 2
    assert of(found, "var")["k"] == pytest.approx(variance.mean(), rel=1e-10)
    assert {(g.measure, g.feature) for g in found.omissions if g.measure} == {("aed", "k")}


def test_row_terms_average_to_the_estimates() -> None:
    weights = RNG.uniform(0.5, 2, 60)
    subject = make_subject(mixed, FunctionAdapter(), frame(), sample_weight=weights)
    for result in explain(subject).values():
        if result.rows is None:
            continue
        for measure in result.rows.measures:
            for feature in result.rows.features:
                mean = np.average(result.rows.of(measure, feature), weights=weights)
                assert mean == pytest.approx(of(result, measure)[feature], rel=1e-10), (measure, feature)


# ---------------------------------------------------------------- hard data and options


def test_copies_of_columns_and_more_features_than_rows() -> None:
    wide = np.column_stack([X[:8], X[:8], np.random.default_rng(5).normal(size=(8, 14))])
    found = explain(make_subject(linear, FunctionAdapter(), wide))
    assert np.isfinite(found["rsens.comparators"].estimates["estimate"]).all()
    assert any("8 of 20 numeric features" in note for note in found["rsens.interaction"].notes)
    assert len(found["rsens.interaction"].estimates.query("measure == 'rsens2'")) == 28


def test_a_saturated_classifier_is_no_silent_number() -> None:
    model = LogisticRegression(C=1e6).fit(X, LABELS)
    model.coef_ = model.coef_ * 1e4
    found = explain(make_subject(model, ClassifierAdapter(), X))
    for result in found.values():
        assert np.isfinite(result.frame["value"].to_numpy()).all()
        assert len(result.estimates) or result.omissions


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("alpha", 0.0, "a number > 0"),
        ("max_rows", 1, "an integer >= 2"),
        ("top", 1, "an integer >= 2"),
        ("step", -1.0, "a number > 0"),
    ],
)
def test_options_are_checked(option: str, value: Any, allowed: str) -> None:
    with pytest.raises(InputError, match=f"rsens.{option} must be {allowed}; got"):
        RSens(**{option: value})


def test_parts_can_be_left_out() -> None:
    subject = make_subject(linear, FunctionAdapter(), X)
    assert set(explain(subject)) == {"rsens", "rsens.interaction", "rsens.comparators"}
    assert set(explain(subject, interactions=False, comparators=False)) == {"rsens"}


def test_an_unknown_feature_is_refused() -> None:
    with pytest.raises(InputError, match=r"rsens\.features must be features of X; got 'x9'"):
        explain(make_subject(linear, FunctionAdapter(), X), features=("x9",))


def test_a_feature_without_any_value_of_r_sens_is_the_weakest_for_pairs() -> None:
    sample: Any = SimpleNamespace(numeric=("a", "b", "c"), spreads={"a": 9.0, "b": 1.0, "c": 2.0}, categorical=())
    local: Any = SimpleNamespace(
        values={"a": np.full(2, np.nan), "b": np.array([0.4, np.nan]), "c": np.array([0.1, 0.2])}
    )
    assert _strongest(sample, local, 1)[0] == ("b",)
    assert _strongest(sample, local, 2)[0] == ("b", "c")
    assert _strongest(sample, local, 3) == (("a", "b", "c"), ())
