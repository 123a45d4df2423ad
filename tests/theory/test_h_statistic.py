"""H² of functions whose interaction is known, and the textbook sums by brute force."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, PREDICTION
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.h_statistic.explain import HStatistic

MEASURES = {m.name: m for m in (PREDICTION, ENTROPY)}


def product(X: FloatArray) -> FloatArray:
    return X[:, 0] * X[:, 1] + X[:, 2]


def subject(X: FloatArray, function: Any = product, **options: Any) -> Subject:
    def model(X: Any) -> Normal:
        rows = np.asarray(X, dtype=float)
        return Normal(function(rows), np.exp(0.3 * rows[:, 0] + 0.2 * rows[:, 1] ** 2))

    return make_subject(model, FunctionAdapter(), X, **options)


def run(s: Subject, **options: Any) -> Result:
    engine = Engine(s, MEASURES).bound("h_statistic")
    (result,) = HStatistic(**{"max_rows": 10**6, **options}).explain(s, engine, {})
    return result


def value(result: Result, a: str, b: str = "", measure: str = "prediction") -> float:
    table = result.estimates
    row = table[(table["measure"] == measure) & (table["feature"] == a) & (table["feature_2"] == b)]
    return float(row["estimate"].iloc[0])


def partial(function: Any, X: FloatArray, columns: list[int]) -> FloatArray:
    """Mean-centred PD at every row, by the definition."""
    found = np.empty(len(X))
    for i, row in enumerate(X):
        filled = X.copy()
        filled[:, columns] = row[columns]
        found[i] = function(filled).mean()
    return found - found.mean()


def test_equal_the_textbook_sums() -> None:
    X = np.random.default_rng(0).normal(size=(25, 3))
    result = run(subject(X))
    names = ("x0", "x1", "x2")
    f = product(X) - product(X).mean()
    for j, k in combinations(range(3), 2):
        both = partial(product, X, [j, k])
        rest = both - partial(product, X, [j]) - partial(product, X, [k])
        assert value(result, names[j], names[k]) == pytest.approx((rest**2).sum() / (both**2).sum(), abs=1e-10)
    for j in range(3):
        rest = f - partial(product, X, [j]) - partial(product, X, [k for k in range(3) if k != j])
        assert value(result, names[j]) == pytest.approx((rest**2).sum() / (f**2).sum(), abs=1e-10)


def test_an_additive_function_has_none() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3)) + 5
    result = run(subject(X, lambda X: X[:, 0] ** 3 + np.exp(X[:, 1] / 5) + X[:, 2]))
    parts = result.estimates[result.estimates["measure"] == "prediction"]
    np.testing.assert_allclose(parts["estimate"], 0, atol=1e-20)
    additive = result.estimates[(result.estimates["measure"] == "entropy") & (result.estimates["feature_2"] == "x1")]
    np.testing.assert_allclose(additive["estimate"], 0, atol=1e-20)


def test_a_product_of_centred_factors_is_all_interaction() -> None:
    """x1 x2 + x3 on a full ± 1 factorial: H²_12 = 1, H²_13 = 0, total H²_1 = 1/2."""
    X = np.array([[a, b, c] for a in (-1.0, 1) for b in (-1.0, 1) for c in (-1.0, 1)])
    result = run(subject(X))
    assert value(result, "x0", "x1") == pytest.approx(1)
    assert value(result, "x0") == pytest.approx(0.5)
    assert value(result, "x2") == pytest.approx(0, abs=1e-20)
    assert value(result, "x0", "x2") == pytest.approx(0, abs=1e-20)


def test_a_pair_that_never_moves_the_measure_is_undefined() -> None:
    X = np.random.default_rng(0).normal(size=(15, 4))
    result = run(subject(X), measures=("prediction",), features=("x2", "x3"))
    assert value(result, "x2", "x3") == pytest.approx(0, abs=1e-20)
    flat = run(subject(X, lambda X: X[:, 0]), measures=("prediction",), features=("x2", "x3"))
    assert [o.feature for o in flat.omissions] == ["x2 x x3"]
    assert "constant" in flat.omissions[0].reason


def test_a_hardly_moving_pair_is_kept_but_not_ranked() -> None:
    X = np.random.default_rng(0).normal(size=(15, 3))
    result = run(subject(X, lambda X: 1000 * X[:, 0] + X[:, 1] * X[:, 2]), measures=("prediction",))
    ranked = result.estimates.set_index(["feature", "feature_2"])["ranked"]
    assert not ranked["x1", "x2"]
    assert ranked["x0", "x1"]


def test_integer_weights_equal_repeated_rows() -> None:
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(10, 3)), rng.integers(1, 4, size=10)
    weighted = run(subject(X, sample_weight=w))
    repeated = run(subject(np.repeat(X, w, axis=0)))
    np.testing.assert_allclose(weighted.estimates["estimate"], repeated.estimates["estimate"], atol=1e-10)


def test_the_cost_is_all_ordered_pairs_once_and_a_sample_is_said() -> None:
    s = subject(np.random.default_rng(0).normal(size=(50, 3)))
    engine = Engine(s, MEASURES).bound("h_statistic")
    (result,) = HStatistic(max_rows=12).explain(s, engine, {})
    assert engine.rows_predicted["h_statistic"] == 50 + (3 + 3) * 12 * 11
    assert "12 of 50 observations" in result.notes[0]
    (screened,) = HStatistic(max_rows=12, top=2, measures=("prediction",)).explain(s, engine, {})
    pairs = screened.estimates[screened.estimates["feature_2"] != ""]
    assert list(zip(pairs["feature"], pairs["feature_2"], strict=True)) == [("x0", "x1")]


def test_levels_are_features_too() -> None:
    X = pd.DataFrame({"g": list("abab") * 5, "u": np.linspace(0, 1, 20)})
    s = make_subject(
        lambda X: Normal(X["u"].to_numpy() * (X["g"] == "a").to_numpy(dtype=float), np.ones(len(X))),
        FunctionAdapter(),
        X,
    )
    assert value(run(s, measures=("prediction",)), "g", "u") > 0.05


def test_bad_options() -> None:
    s = subject(np.random.default_rng(0).normal(size=(5, 3)))
    with pytest.raises(InputError, match="must be an integer >= 3"):
        HStatistic(max_rows=2)
    with pytest.raises(InputError, match="must be features of X"):
        run(s, features=("x1", "zz"))
    with pytest.raises(InputError, match="two or more"):
        run(s, features=("x1",))
