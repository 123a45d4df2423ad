"""ALE against PyALE, algebra, and the difference to a PDP that it exists for."""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, LOG_ODDS, NLL, PREDICTION
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, Normal
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.ale.explain import AccumulatedLocalEffects
from uq_report.methods.pdp.explain import PartialDependence

MEASURES = {m.name: m for m in (PREDICTION, NLL, ENTROPY)}


class Model:
    """A point prediction for PyALE, a distribution for us; numbers and level effects add or multiply."""

    level: ClassVar = {"a": 0.0, "b": 1.0, "c": 3.0}

    def predict(self, X: Any) -> FloatArray:
        value = X["u"] ** 2 + X["u"] * X["v"]
        return np.asarray(value + X["g"].map(self.level) if "g" in X else value, dtype=float)

    def __call__(self, X: Any) -> Normal:
        return Normal(self.predict(X), np.exp(0.5 * np.asarray(X["v"], dtype=float)))


def rows(n: int = 400, *, levels: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    u = rng.normal(size=n)
    X = pd.DataFrame({"u": u, "v": 0.8 * u + 0.6 * rng.normal(size=n)})
    if levels:
        X["g"] = np.array(["a", "b", "c"])[np.searchsorted([-0.5, 0.5], u + 0.3 * rng.normal(size=n))]
    return X


def subject(X: pd.DataFrame, model: Any = None, **options: Any) -> Subject:
    return make_subject(model or Model(), FunctionAdapter(), X, **options)


def run(s: Subject, **options: Any) -> list[Result]:
    engine = Engine(s, MEASURES).bound("ale")
    return list(AccumulatedLocalEffects(**{"measures": ("prediction",), **options}).explain(s, engine, {}))


def test_first_order_equals_pyale_given_its_edges() -> None:
    pyale = pytest.importorskip("PyALE", reason="the oracle is not installed")
    X = rows()
    theirs = pyale.ale(X=X, model=Model(), feature=["u"], grid_size=15, include_CI=False, plot=False)
    result = run(subject(X), features=("u",), edges={"u": list(theirs.index)})[0]
    np.testing.assert_allclose(result.estimates["estimate"], theirs["eff"], atol=1e-12)


def test_second_order_equals_pyale_where_no_cell_is_empty() -> None:
    pyale = pytest.importorskip("PyALE", reason="the oracle is not installed")
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.random((3000, 2)), columns=["u", "v"])
    theirs = pyale.ale(X=X, model=Model(), feature=["u", "v"], grid_size=4, plot=False)
    result = run(
        subject(X), features=("u",), pairs=(("u", "v"),), edges={"u": list(theirs.index), "v": list(theirs.columns)}
    )[1]
    np.testing.assert_allclose(result.estimates["estimate"], theirs.to_numpy().ravel(), atol=1e-10)


def test_a_linear_model_has_its_slope_and_a_mean_of_zero() -> None:
    X = rows()
    s = subject(X, lambda X: Normal(2 * X["u"].to_numpy() - X["v"].to_numpy(), np.ones(len(X))))
    table = run(s)[0].estimates
    for feature, slope in (("u", 2.0), ("v", -1.0)):
        part = table[table["feature"] == feature]
        np.testing.assert_allclose(np.diff(part["estimate"]) / np.diff(part["x"]), slope, rtol=1e-9)
        np.testing.assert_allclose(part["std_error_change"], 0, atol=1e-12)
        # a new sample has another mean of the feature, and so of the curve; bins are narrow
        np.testing.assert_allclose(part["std_error"], abs(slope) * X[feature].std() / np.sqrt(len(X)), rtol=0.1)


def test_the_change_has_the_variance_of_disjoint_bins() -> None:
    X = rows()
    edges = [X["u"].min(), -1.0, 0.0, 1.0, X["u"].max()]
    table = run(subject(X), features=("u",), edges={"u": edges})[0].estimates
    variance, u, v = [0.0], X["u"], X["v"]
    for low, high in pairwise(edges):
        inside = (u > low) & (u <= high) if low > edges[0] else u <= high
        effect = (high**2 - low**2) + (high - low) * v[inside]
        variance.append(effect.var(ddof=1) / inside.sum())
    np.testing.assert_allclose(table["std_error_change"], np.sqrt(np.cumsum(variance)), rtol=1e-10)


def test_no_effect_of_the_other_feature_where_pdp_sees_an_empty_region() -> None:
    """f = u² + u v with corr 0.8: at the right edge the PDP averages u v over all v, ALE over nearby v only.

    ALE's slope there is 2 u + E[v | u] = 2.8 u, the PDP's is 2 u + E[v] = 2 u.
    """
    X = rows(4000)
    s = subject(X)
    ale = run(s, features=("u",))[0].estimates
    points = list(ale["x"])
    pdp = PartialDependence(measures=("prediction",), features=("u",), custom_values={"u": points})
    flat = pdp.explain(s, Engine(s, MEASURES).bound("pdp"), {})[0].estimates
    far = slice(-6, -1)
    middle = (ale["x"].to_numpy()[1:] + ale["x"].to_numpy()[:-1]) / 2
    slopes = [np.diff(t["estimate"]) / np.diff(t["x"]) / middle for t in (ale, flat)]
    assert slopes[0][far].mean() == pytest.approx(2.8, abs=0.1)
    assert slopes[1][far].mean() == pytest.approx(2.0, abs=0.1)


def test_levels_accumulate_their_differences_and_additive_pairs_have_no_interaction() -> None:
    s = subject(rows(levels=True))
    main, pair = run(s, features=("g",), pairs=(("g", "u"), ("u", "v")))
    table = main.estimates
    by_level = dict(zip(table["level"], table["estimate"], strict=True))
    assert by_level["b"] - by_level["a"] == pytest.approx(1)
    assert by_level["c"] - by_level["b"] == pytest.approx(2)
    assert list(table["level"]) == ["a", "b", "c"]
    assert "ordered by the similarity" in " ".join(main.notes)
    joint = pair.estimates
    additive = joint[joint["feature"] == "g"]["estimate"]
    np.testing.assert_allclose(additive, 0, atol=1e-9)
    assert joint[joint["feature"] == "u"]["estimate"].abs().max() > 0.1


def test_empty_cells_take_the_effect_of_the_nearest_by_distance_scaled_to_the_ranges() -> None:
    """Both neighbours of the empty cell are one step away; along u it is 0.1 of the range, along v 0.5."""
    edges = {"u": [0.0, 1.0, 2.0, 10.0], "v": [0.0, 1.0, 2.0]}
    middles = [(u, v) for u in (0.5, 1.5, 6.0) for v in (0.5, 1.5) if (u, v) != (0.5, 1.5)]
    X = pd.DataFrame(middles * 2, columns=["u", "v"])
    s = subject(X, lambda X: Normal(np.asarray(X["u"] ** 2 * X["v"], dtype=float), np.ones(len(X))))
    result = run(s, features=("u",), pairs=(("u", "v"),), edges=edges)[1]
    found = result.estimates["estimate"].to_numpy().reshape(4, 3)
    mixed = np.diff(np.diff(found, axis=0), axis=1)
    # f = u² v has the effect Δ(u²) Δv in a cell: 1, 3 and 96; the empty one, first along u, takes 3
    np.testing.assert_allclose(mixed, [[1, 3], [3, 3], [96, 96]])
    corner = result.estimates[result.estimates["extrapolated"]]
    assert corner[["x", "x_2"]].to_numpy().tolist() == [[0, 2]]
    assert "1 of 6 cells have no observation and take the effect of the nearest cell that has one" in result.notes[0]


def test_points_with_no_row_around_them_are_extrapolated() -> None:
    edges = {name: [0.0, 1.0, 2.0, 3.0] for name in ("u", "v")}
    X = pd.DataFrame({"u": [0.5, 1.5, 2.5], "v": [0.5, 1.5, 2.5]})
    table = run(subject(X), features=("u",), pairs=(("u", "v"),), edges=edges)[1].estimates
    far = table.loc[table["extrapolated"], ["x", "x_2"]].to_numpy().tolist()
    assert far == [[0, 2], [0, 3], [1, 3], [2, 0], [3, 0], [3, 1]]


def test_a_step_with_one_row_has_no_error_whatever_the_rounding() -> None:
    """The mean over one row may differ from its value by rounding; no overflow comes of that."""
    n = 49  # 1/49 · 49 is not 1
    X = pd.DataFrame({"u": [*np.linspace(0.01, 0.99, n - 1), 1.5], "v": np.linspace(0, 1, n) ** 3})
    table = run(subject(X), features=("u",), edges={"u": [0.0, 0.5, 1.0, 2.0]})[0].estimates
    assert table["std_error_change"].isna().tolist() == [False, False, False, True]


def test_log_odds_of_two_classes_come_by_default_and_need_no_further_prediction() -> None:
    """A logistic model is additive there: PDP and ALE have its slope, whatever the dependence of the features."""
    X, slopes = rows(300), {"u": 1.5, "v": -1.0}

    def logistic(X: Any) -> Categorical:
        p = expit(X["u"].to_numpy() * slopes["u"] + X["v"].to_numpy() * slopes["v"])
        return Categorical(np.column_stack([1 - p, p]), classes=(0, 1))

    s = make_subject(logistic, FunctionAdapter(), X, np.arange(300) % 2)
    engine = Engine(s, MEASURES | {LOG_ODDS.name: LOG_ODDS})
    ale = AccumulatedLocalEffects().explain(s, engine.bound("ale"), {})[0].estimates
    pdp = PartialDependence().explain(s, engine.bound("pdp"), {})[0].estimates
    assert engine.rows_predicted["ale"] == (1 + 2 * 2) * 300  # unchanged, and both ends of both features
    for feature, slope in slopes.items():
        for table in (ale, pdp):
            part = table[(table["feature"] == feature) & (table["measure"] == "log_odds")]
            np.testing.assert_allclose(np.diff(part["estimate"]) / np.diff(part["x"]), slope, rtol=1e-9)


def test_every_measure_comes_from_one_pass() -> None:
    X = rows(200)
    s = make_subject(Model(), FunctionAdapter(), X, np.zeros(200))
    engine = Engine(s, MEASURES).bound("ale")
    (result,) = AccumulatedLocalEffects(features=("v",)).explain(s, engine, {})
    assert engine.rows_predicted == {"ale": 3 * 200}
    entropy = result.estimates[result.estimates["measure"] == "entropy"]
    np.testing.assert_allclose(np.diff(entropy["estimate"]) / np.diff(entropy["x"]), 0.5, rtol=1e-9)


def test_repeated_rows_as_clusters_or_weights_do_not_sharpen_the_interval() -> None:
    X = rows(150)
    edges = {"u": [-4.0, 0.0, 4.0]}
    plain = run(subject(X), features=("u",), edges=edges)[0].estimates
    tripled = pd.concat([X] * 3, ignore_index=True)
    clustered = run(subject(tripled, clusters=np.tile(np.arange(150), 3)), features=("u",), edges=edges)[0].estimates
    np.testing.assert_allclose(clustered["estimate"], plain["estimate"])
    np.testing.assert_allclose(clustered["std_error"], plain["std_error"], rtol=0.02)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (np.zeros(50), "one value"),
        (np.where(np.arange(50) == 3, np.inf, 1.0), "infinite values"),
        (pd.date_range("2026-01-01", periods=50), "datetime"),
    ],
)
def test_what_has_no_curve_is_listed(column: Any, reason: str) -> None:
    X = pd.DataFrame({"u": np.linspace(0, 1, 50), "odd": column})
    s = subject(X, lambda X: Normal(X["u"].to_numpy(), np.ones(len(X))))
    result = run(s)[0]
    assert [o.feature for o in result.omissions] == ["odd"]
    assert reason in result.omissions[0].reason


def test_missing_values_and_integers() -> None:
    X = pd.DataFrame({"u": [1, 2, 3, 4] * 10, "v": np.where(np.arange(40) < 5, np.nan, np.arange(40.0))})
    s = subject(X, lambda X: Normal(X["u"].to_numpy(dtype=float), np.ones(len(X))))
    result = run(s, n_bins=4)[0]
    assert any("5 observations" in note for note in result.notes)
    with pytest.raises(InputError, match=r"must be finite numbers that a column of type int64 holds"):
        run(s, edges={"u": [1, 2.5, 4]})


def test_a_feature_without_a_value_has_no_say_in_the_order_of_levels() -> None:
    X = rows(levels=True)
    plain, other = (subject(frame) for frame in (X, X.assign(empty=np.nan)))
    (level,) = [name for name in X if plain.kinds[str(name)] == "categorical"]
    first, second = (run(s, features=(str(level),), measures=("prediction",))[0].frame for s in (plain, other))
    pd.testing.assert_frame_equal(first, second)
