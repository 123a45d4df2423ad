"""Permutation importance against algebra: all shuffles, Wood's propositions, closed forms."""

from itertools import permutations, product
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model import measures
from uq_report.core.model.adapter import Match
from uq_report.core.model.measures import Measure
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.model.variants import Variant
from uq_report.core.predictive import Distribution
from uq_report.core.statistics.inference import all_pairs, standard_error
from uq_report.core.support.arrays import AnyArray, FloatArray, Table
from uq_report.distributions import Categorical, Normal
from uq_report.methods.pfi.explain import PermutationImportance

GAP = Measure(
    "gap",
    lambda dist, y, base: measures.NLL.rows(dist, y, base) - measures.ENTROPY.rows(dist, y, base),
    "nats",
    "loss",
    frozenset({"log_prob", "entropy"}),
    needs_y=True,
    title="confidence gap",
)
KNOWN = {m.name: m for m in (measures.SQUARED_ERROR, measures.BRIER, measures.NLL, measures.ENTROPY, GAP)}


class Direct:
    """An adapter for a function from rows to a distribution."""

    name: ClassVar[str] = "direct"
    api_version: ClassVar[int] = 1

    def matches(self, model: Any) -> Match | None:
        return Match(3, "a test model") if callable(model) else None

    def predict(self, model: Any, X: Table) -> Distribution:
        dist: Distribution = model(np.asarray(X, dtype=float))
        return dist

    def batch_rows(self, model: Any) -> int | None:
        return 500


def subject(model: Any, X: AnyArray, y: Any) -> Subject:
    return make_subject(model, Direct(), pd.DataFrame(X, columns=list("abc")[: X.shape[1]]), y)


def pfi(of: Subject, **options: Any) -> Result:
    options = {"measures": ("loss", "nll", "entropy"), "exact": True, **options}
    return PermutationImportance(**options).explain(of, Engine(of, KNOWN).bound("pfi"), {})[0]


def line(result: Result, measure: str, feature: str) -> Any:
    return result.estimates.set_index(["measure", "feature"]).loc[(measure, feature)]


def estimate(result: Result, measure: str, feature: str) -> float:
    return float(line(result, measure, feature)["estimate"])


def logistic(X: FloatArray) -> Categorical:
    p = 1 / (1 + np.exp(-(X[:, 0] + X[:, 1] + 0.7 * X[:, 0] * X[:, 1])))
    return Categorical(np.column_stack([1 - p, p]))


def test_all_pairs_are_the_mean_over_all_shuffles() -> None:
    """120 shuffles of 5 rows, one prediction each, against the 5² pairs."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5, 2)), np.array([0, 1, 1, 0, 1])
    of = subject(logistic, X, y)
    result = pfi(of)
    engine = Engine(of, KNOWN)
    asked, _ = engine.select(["loss", "nll", "entropy"])
    for j, feature in enumerate("ab"):
        every = [Variant((j,), donors=np.array(order)) for order in permutations(range(5))]
        values = np.concatenate([group.values for group in engine.evaluate(every, asked)], axis=1)
        mean = values.mean(axis=(1, 2)) - engine.unchanged(asked).mean(axis=1)
        for m, measure in enumerate(asked):
            assert estimate(result, measure.name, feature) == pytest.approx(mean[m], abs=1e-13)


def test_pairs_of_different_rows_give_n_over_n_minus_1_times_that() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(6, 2)), rng.integers(0, 2, 6)
    terms = []
    for i, k in product(range(6), range(6)):
        row = X[[i]].copy()
        row[0, 0] = X[k, 0]
        change = logistic(row).log_prob(y[[i]])[0] - logistic(X[[i]]).log_prob(y[[i]])[0]
        terms.append((-change, i != k))
    different = np.mean([value for value, other in terms if other])
    assert estimate(pfi(subject(logistic, X, y)), "nll", "a") == pytest.approx(5 / 6 * different, abs=1e-13)


def test_proposition_1_an_independent_feature_has_no_entropy_importance() -> None:
    """On a full grid feature and rest are exactly independent: Entropy-PFI 0, Likelihood-PFI not."""
    X = np.array(list(product([-1.0, 0.0, 2.0], [-1.5, 0.3, 0.4, 1.0])))
    y = (logistic(X).mean() > 0.5).astype(int)
    result = pfi(subject(logistic, X, y))
    for feature in "ab":
        assert abs(estimate(result, "entropy", feature)) < 1e-15
        assert estimate(result, "nll", feature) > 0.01
    row = line(result, "entropy", "a")
    assert not row["exact_zero"]  # rows do change, and on other rows the mean would not be 0
    assert row["std_error"] > 0


def test_proposition_2_a_feature_the_model_ignores_has_none_at_all() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3))
    X[:, 2] = X[:, 0]  # a copy that the model does not look at
    result = pfi(subject(logistic, X, rng.integers(0, 2, 40)), exact=False, n_repeats=5)
    for measure in ("brier", "nll", "entropy"):
        said = line(result, measure, "c")
        assert said[["estimate", "std_error", "lower", "upper"]].tolist() == [0, 0, 0, 0]
        assert said["verdict"] == "about 0"


def test_proposition_3_shuffling_among_rows_alike_in_the_rest_leaves_the_entropy() -> None:
    """A conditional shuffle permutes the rows themselves, so every one of them has Entropy-PFI 0."""
    rng = np.random.default_rng(3)
    rest = rng.integers(0, 3, 60).astype(float)
    X = np.column_stack([rest + rng.normal(size=60), rest])
    engine = Engine(subject(logistic, X, rng.integers(0, 2, 60)), KNOWN)
    asked, _ = engine.select(["entropy", "nll"])
    conditional = []
    for _ in range(10):
        donors = np.arange(60)
        for value in np.unique(rest):
            alike = np.flatnonzero(rest == value)
            donors[alike] = rng.permutation(alike)
        conditional.append(Variant((0,), donors=donors))
    values = np.concatenate([group.values for group in engine.evaluate(conditional, asked)], axis=1)
    changes = values.mean(axis=2) - engine.unchanged(asked).mean(axis=1, keepdims=True)
    assert np.abs(changes[0]).max() < 1e-14
    assert np.abs(changes[1]).min() > 1e-4


def test_likelihood_minus_entropy_is_the_importance_of_the_confidence_gap() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 2))
    result = pfi(subject(logistic, X, rng.integers(0, 2, 30)), measures=("nll", "entropy", "gap"), exact=False)
    values = result.frame.pivot_table(index=["feature", "repeat"], columns="measure", values="value")
    np.testing.assert_allclose(values["nll"] - values["entropy"], values["gap"], rtol=0, atol=1e-13)
    assert result.rows is not None
    g = [result.rows.of(measure, "a") for measure in ("nll", "entropy", "gap")]
    np.testing.assert_allclose(g[0] - g[1], g[2], rtol=0, atol=1e-11)


def test_linear_model_with_constant_noise() -> None:
    """Squared error: 2 β² var(x) + 2 β cov(e, x); nll: that over 2σ²; entropy: 0 (Wood et al., section 3.1)."""
    rng = np.random.default_rng(5)
    X, beta, sigma = rng.normal(size=(25, 3)), np.array([1.0, -2.0, 0.0]), 0.7
    y = X @ beta + rng.normal(size=25)
    result = pfi(subject(lambda rows: Normal(rows @ beta, sigma), X, y))
    residual = y - X @ beta
    for j, feature in enumerate("abc"):
        expected = 2 * beta[j] ** 2 * X[:, j].var() + 2 * beta[j] * np.cov(residual, X[:, j], ddof=0)[0, 1]
        assert estimate(result, "squared_error", feature) == pytest.approx(expected, abs=1e-12)
        assert estimate(result, "nll", feature) == pytest.approx(expected / (2 * sigma**2), abs=1e-12)
        assert estimate(result, "entropy", feature) == 0


def test_the_error_of_a_linear_model_in_closed_form() -> None:
    """With squared error g_i = β² ((x_i - x̄)² + v) + e_i terms: the delta method on mean, variance and covariance."""
    rng = np.random.default_rng(6)
    x, e = rng.normal(size=300), rng.normal(size=300)
    T, b, rows = ((e - 1.5 * (x[:, None] - x)) ** 2)[None], (e**2)[None], np.arange(300)
    centred = x - x.mean()
    influence = 2 * 1.5**2 * centred**2 + 2 * 1.5 * (e - e.mean()) * centred
    expected = influence.std(ddof=1) / np.sqrt(300)
    terms = all_pairs(T, b, rows, rows[None], np.ones(300))
    assert standard_error(terms, np.ones(300))[0] == pytest.approx(expected, rel=1e-10)
