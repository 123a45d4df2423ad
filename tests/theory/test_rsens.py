"""R-sens against its closed forms, the divergence it is the curvature of, and the paper's experiments."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import kendalltau
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.derivatives import Derivatives
from uq_report.core.model.measures import divergence
from uq_report.core.model.results import Result
from uq_report.core.model.subject import make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray, Table
from uq_report.distributions import Categorical, Normal, Poisson, StudentT
from uq_report.inputs.adapters.ensemble import RegressorStdAdapter
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.rsens.explain import RSens

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3))
BETA = np.array([1.0, -2.0, 0.5])
GAMMA = np.array([0.0, 0.3, -0.4])
W = RNG.normal(size=(3, 4))
DESIGN = RNG.normal(size=(15, 3))
TARGET = DESIGN @ BETA + RNG.normal(size=15)
INVERSE = np.linalg.inv(DESIGN.T @ DESIGN)
ESTIMATE = INVERSE @ DESIGN.T @ TARGET
NU = 12
S2 = float(np.sum((TARGET - DESIGN @ ESTIMATE) ** 2)) / NU


@dataclass(frozen=True)
class Case:
    """A model with its parameters' derivatives, (n, d, M), and the closed form of R-sens, (n, d)."""

    name: str
    model: Callable[[Any], Distribution]
    first: Callable[[FloatArray], FloatArray]
    closed: Callable[[FloatArray], FloatArray]


def normal(T: Table) -> Distribution:
    rows = np.asarray(T)
    return Normal(rows @ BETA, np.exp(rows @ GAMMA))


def regression(T: Table) -> Distribution:
    rows = np.asarray(T)
    return StudentT(NU, rows @ ESTIMATE, np.sqrt(tau2(rows)))


def tau2(T: FloatArray) -> FloatArray:
    return np.asarray(S2 * (1 + np.einsum("nd,de,ne->n", T, INVERSE, T)))


def equation_6(T: FloatArray) -> FloatArray:
    """Return eq. 6 with its Var[y*] the squared scale."""
    t, V = tau2(T)[:, None], T @ INVERSE
    found = np.sqrt(((NU + 1) * ESTIMATE**2 + 2 * NU * S2**2 * V**2 / t) / ((NU + 3) * t))
    return np.asarray(found)


def bernoulli(T: Table) -> Distribution:
    p = expit(np.asarray(T) @ BETA)
    return Categorical(np.column_stack([1 - p, p]))


def classes(T: Table) -> Distribution:
    return Categorical(softmax(np.asarray(T) @ W, axis=1))


def poisson(T: Table) -> Distribution:
    return Poisson(np.exp(np.asarray(T) @ BETA))


def rate(T: FloatArray) -> FloatArray:
    return np.asarray(np.exp(T @ BETA)[:, None])


def spread_of_classes(T: FloatArray) -> tuple[FloatArray, FloatArray]:
    p = softmax(T @ W, axis=1)
    return p, W - (p @ W.T)[:, :, None]


CASES = [
    Case(
        "normal",
        normal,
        lambda T: np.stack([np.tile(BETA, (len(T), 1)), 2 * np.exp(2 * T @ GAMMA)[:, None] * GAMMA], axis=2),
        lambda T: np.sqrt(BETA**2 * np.exp(-2 * T @ GAMMA)[:, None] + 2 * GAMMA**2),
    ),
    Case(
        "student_t",
        regression,
        lambda T: np.stack([np.tile(ESTIMATE, (len(T), 1)), 2 * S2 * T @ INVERSE], axis=2),
        equation_6,
    ),
    Case(
        "bernoulli",
        bernoulli,
        lambda T: (expit(T @ BETA) * expit(-T @ BETA))[:, None, None] * BETA[:, None] * np.array([-1.0, 1.0]),
        lambda T: np.sqrt(expit(T @ BETA) * expit(-T @ BETA))[:, None] * np.abs(BETA),
    ),
    Case(
        "categorical",
        classes,
        lambda T: spread_of_classes(T)[0][:, None] * spread_of_classes(T)[1],
        lambda T: np.sqrt(np.einsum("nk,ndk->nd", spread_of_classes(T)[0], spread_of_classes(T)[1] ** 2)),
    ),
    Case("poisson", poisson, lambda T: (rate(T) * BETA)[:, :, None], lambda T: np.sqrt(rate(T)) * np.abs(BETA)),
]
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


class Exact(FunctionAdapter):
    """A function with known derivatives of first order."""

    def derivatives(self, model: Any, X: Table, order: int) -> Derivatives | None:
        case = next(case for case in CASES if case.model is model)
        return None if order == 2 else Derivatives(model(X).parameters, case.first(np.asarray(X)))


def run(model: Any, rows: Any, adapter: Any = None, **options: Any) -> dict[str, Result]:
    subject = make_subject(model, adapter or FunctionAdapter(), rows)
    engine = Engine(subject, testing.measures()).bound("rsens")
    return {r.id: r for r in RSens(**options).explain(subject, engine, {})}


def local(result: Result, measure: str = "rsens") -> FloatArray:
    assert result.rows is not None
    return np.stack([result.rows.of(measure, f) for f in result.rows.features], axis=1)


@by_name
def test_closed_forms_with_exact_derivatives(case: Case) -> None:
    found = run(case.model, X, Exact(), shared_unit=True, interactions=False, comparators=False)["rsens"]
    assert found.meta["method"] == "exact derivatives"
    assert np.allclose(local(found), case.closed(X), rtol=1e-10, atol=0)
    assert np.allclose(found.estimates["estimate"], case.closed(X).mean(axis=0), rtol=1e-10)


@by_name
def test_closed_forms_by_differences(case: Case) -> None:
    found = run(case.model, X, shared_unit=True, interactions=False, comparators=False)["rsens"]
    assert found.meta["method"] == "central differences"
    assert np.allclose(local(found), case.closed(X), rtol=1e-8, atol=1e-9)
    assert set(found.meta["steps"]) == {"x0", "x1", "x2"}


@by_name
@pytest.mark.parametrize("order", ["kl", "half"])
def test_it_is_the_curvature_of_the_divergence(case: Case, order: Any) -> None:
    """D(p(x), p(x + h)) -> R² h² / 2 for KL and R² h² / 4 for order 1/2: second differences, extrapolated twice."""
    base, factor = case.model(X), 2.0 if order == "kl" else 4.0
    for d in range(3):
        h = 0.04 / max(1.0, float(np.abs(case.closed(X)[:, d]).max()))
        curved = [
            factor
            * sum(divergence(base, case.model(X + s * f * h * np.eye(3)[d]), order) for s in (1, -1))
            / (2 * (f * h) ** 2)
            for f in (1.0, 0.5, 0.25)
        ]
        once = [(4 * curved[1] - curved[0]) / 3, (4 * curved[2] - curved[1]) / 3]
        assert np.allclose((16 * once[1] - once[0]) / 15, case.closed(X)[:, d] ** 2, rtol=1e-6, atol=1e-7)


def test_alpha_is_a_factor_and_the_spread_a_unit() -> None:
    one = run(normal, X, interactions=False, comparators=False)["rsens"]
    four = run(normal, X, alpha=4.0, interactions=False, comparators=False)["rsens"]
    assert np.allclose(four.estimates["estimate"], 2 * one.estimates["estimate"], rtol=1e-12)
    scaled = run(lambda T: normal(np.asarray(T) / [1.0, 1000.0, 0.01]), X * [1.0, 1000.0, 0.01], interactions=False)
    assert np.allclose(scaled["rsens"].estimates["estimate"], one.estimates["estimate"], rtol=1e-6)
    assert np.allclose(scaled["rsens"].estimates["raw"] * [1.0, 1000.0, 0.01], one.estimates["raw"], rtol=1e-6)


def test_r_sens_2_of_a_product_is_its_coefficient_over_the_standard_deviation() -> None:
    def product(T: Table) -> Distribution:
        a, b, c = np.asarray(T).T
        return Normal(3 * a * b + c**2, np.full(len(a), 2.0))

    found = run(product, X, shared_unit=True)["rsens.interaction"]
    full = found.frame.pivot_table(index="feature", columns="feature_2", values="value").to_numpy()
    assert np.allclose(full, [[0, 1.5, 0], [1.5, 0, 0], [0, 0, 1.0]], atol=1e-6)
    table = found.estimates.set_index(["measure", "feature", "feature_2"])["estimate"]
    assert np.allclose(table["eah", "x0", "x1"], 3, rtol=1e-6)
    assert np.allclose(table["aeh", "x0", "x1"], 3, rtol=1e-6)
    assert table["rsens2", "x0", "x2"] == 0


def process_derivatives(model: Any, rows: FloatArray, scales: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean and variance with all first and second derivatives of a process with a plain RBF (RW 2006, 9.4)."""
    T, alpha, inverse = model.X_train_, model.alpha_, np.linalg.inv(model.L_ @ model.L_.T)
    away = (T[None] - rows[:, None]) / scales**2  # (rows, training points, d)
    k = np.exp(-0.5 * np.square((T[None] - rows[:, None]) / scales).sum(axis=2))
    one = k[..., None] * away
    two = k[..., None, None] * (away[..., :, None] * away[..., None, :] - np.diag(1 / scales**2))
    W = k @ inverse
    quadratic = np.einsum("nad,ab,nbe->nde", one, inverse, one)
    first = np.stack([np.einsum("nad,a->nd", one, alpha), -2 * np.einsum("nad,na->nd", one, W)], axis=-1)
    bends = np.einsum("nade,a->nde", two, alpha), -2 * (quadratic + np.einsum("nade,na->nde", two, W))
    return np.square(model.predict(rows, return_std=True)[1]), first, np.stack(bends, axis=-1)


def test_a_gaussian_process_is_its_closed_form() -> None:
    y, scales = np.sin(X[:, 0]) + X[:, 1] * X[:, 2], np.array([1.0, 1.5, 2.0])
    model = GaussianProcessRegressor(RBF(scales) + WhiteKernel(0.1), optimizer=None).fit(X, y)
    plain = run(model, X[:20], RegressorStdAdapter(), shared_unit=True)
    assert plain["rsens"].meta["method"] == "central differences"
    v, first, second = process_derivatives(model, X[:20], scales)

    def length(change: FloatArray) -> FloatArray:
        spread = v.reshape(-1, *(1,) * (change.ndim - 2))
        return np.asarray(np.sqrt(change[..., 0] ** 2 / spread + change[..., 1] ** 2 / (2 * spread**2)))

    assert np.allclose(local(plain["rsens"]), length(first), rtol=1e-8)
    frame = plain["rsens.interaction"].frame
    full = frame.pivot_table(index="feature", columns="feature_2", values="value").to_numpy()
    assert np.allclose(full, length(second).mean(axis=0), rtol=1e-6)


# ---------------------------------------------------------------- the paper's experiments

SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "x": lambda x: x,
    "x^3": lambda x: x**3,
    "x + cos(3x)": lambda x: x + np.cos(3 * x),
    "sin(3x)": lambda x: np.sin(3 * x),
    "x exp(-x)": lambda x: x * np.exp(-x),
    "exp(-x^2)": lambda x: np.exp(-(x**2)),
}


def individual_effects(shape: str, sets: int) -> FloatArray:
    """Return the mean R-sens of the ten effects of section 3.1 over data sets, for the true model.

    Predictors are Student-t with 3 degrees of freedom, for x exp(-x) normal (as in the paper's supplement):
    under t3 the mean of its exponential slope is infinite, and a mean over rows orders nothing.
    """
    strengths = np.arange(1, 11)

    def truth(T: Table) -> Distribution:
        rows = np.asarray(T)
        return Normal(SHAPES[shape](rows) @ strengths, np.sqrt(1 + np.square(rows).sum(axis=1)))

    found = []
    for s in range(sets):
        rng = np.random.default_rng([7, s])
        rows = rng.normal(size=(200, 10)) if shape == "x exp(-x)" else rng.standard_t(3, size=(200, 10))
        found.append(
            run(truth, rows, shared_unit=True, interactions=False, comparators=False)["rsens"]
            .estimates["estimate"]
            .to_numpy()
        )
    return np.asarray(np.mean(found, axis=0))


@pytest.mark.parametrize("shape", ["x", "sin(3x)", "x + cos(3x)"])
def test_it_orders_the_ten_effects(shape: str) -> None:
    assert kendalltau(individual_effects(shape, 20), np.arange(10)).statistic >= 0.9


@pytest.mark.study
@pytest.mark.parametrize("shape", list(SHAPES))
def test_it_orders_the_ten_effects_of_every_shape(shape: str) -> None:
    sets = int(os.environ.get("UQ_STUDY_REPS", "20"))
    assert kendalltau(individual_effects(shape, sets), np.arange(10)).statistic >= 0.9


PRODUCTS = {(8, 9), (0, 10), (1, 2)}  # no main effect, one, both


def effects(rows: FloatArray) -> FloatArray:
    """Return eight main effects of different shapes, and three products, of section 3.2."""
    x = rows.T
    main = (
        x[0] + np.sin(x[1]) + 0.5 * x[2] ** 2 + np.cos(x[3]) + np.exp(-(x[4] ** 2)) - x[5] + np.tanh(x[6]) + 0.3 * x[7]
    )
    return np.asarray(main + sum(x[a] * x[b] for a, b in PRODUCTS))


def strongest_pairs(found: Result, count: int) -> set[tuple[int, int]]:
    table = found.estimates.query("measure == 'rsens2'").nlargest(count, "estimate")
    return {(int(a[1:]), int(b[1:])) for a, b in zip(table["feature"], table["feature_2"], strict=True)}


def test_it_finds_the_product_interactions_of_the_true_model() -> None:
    def truth(T: Table) -> Distribution:
        rows = np.asarray(T)
        return Normal(effects(rows), np.sqrt(0.25 + 0.05 * np.square(rows).sum(axis=1)))

    found = run(truth, np.random.default_rng(0).normal(size=(100, 12)), top=12)["rsens.interaction"]
    assert strongest_pairs(found, 3) == PRODUCTS
    assert len(found.estimates.query("measure == 'rsens2'")) == len(list(combinations(range(12), 2)))


@pytest.mark.study
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # lbfgs stops where it cannot gain
def test_it_finds_the_product_interactions_with_a_fitted_process() -> None:
    sets, hits = int(os.environ.get("UQ_STUDY_REPS", "5")), 0
    for s in range(sets):
        rng = np.random.default_rng([11, s])
        rows = rng.normal(size=(300, 12))
        kernel = ConstantKernel(4.0) * RBF(np.full(12, 3.0)) + WhiteKernel(0.1)
        model = GaussianProcessRegressor(kernel, normalize_y=True).fit(rows, effects(rows) + 0.3 * rng.normal(size=300))
        found = run(model, rows[:100], RegressorStdAdapter(), top=12)["rsens.interaction"]
        hits += len(strongest_pairs(found, 3) & PRODUCTS)
    assert hits >= 0.9 * 3 * sets
