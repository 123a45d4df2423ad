"""Divergences against numerical integration, and against Fisher information for small changes."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from uq_report.core.model.measures import Order, divergence, in_cells, sensitivity
from uq_report.core.predictive import Distribution
from uq_report.core.support.errors import UnsupportedError
from uq_report.distributions import Categorical, CategoricalMixture, Normal, NormalMixture, Poisson, StudentT


def integrated(p: Distribution, q: Distribution, order: Order) -> float:
    def log(dist: Distribution, y: float) -> float:
        return float(dist.log_prob(np.array([y]))[0])

    def kl(y: float) -> float:
        return float(np.exp(log(p, y)) * (log(p, y) - log(q, y)))

    def half(y: float) -> float:
        return float(np.exp((log(p, y) + log(q, y)) / 2))

    total = sum(
        integrate.quad(kl if order == "kl" else half, a, b, epsabs=1e-13, epsrel=1e-12, limit=400)[0]
        for a, b in ((-np.inf, -3.0), (-3.0, 0.0), (0.0, 3.0), (3.0, np.inf))
    )
    return float(total) if order == "kl" else float(-2 * np.log(total))


@pytest.mark.parametrize("order", ["kl", "half"])
@pytest.mark.parametrize(
    ("p", "q"),
    [
        (StudentT(4.0, [0.0], [1.0]), StudentT(4.0, [0.7], [1.4])),
        (StudentT(3.0, [0.2], [1.0]), StudentT(9.0, [0.0], [0.5])),
        (StudentT([30.0], [0.2], [2.0]), StudentT([2.5], [0.0], [1.0])),
    ],
)
def test_student_t(p: Distribution, q: Distribution, order: Order) -> None:
    assert divergence(p, q, order)[0] == pytest.approx(integrated(p, q, order), rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("order", ["kl", "half"])
def test_normal(order: Order) -> None:
    p, q = Normal([0.3], 1.2), Normal([-0.4], 0.8)
    with np.errstate(under="ignore"):
        near = integrate.quad(lambda y: _terms(p, q, order, y), -12, 12, epsabs=1e-13, limit=400)[0]
    assert divergence(p, q, order)[0] == pytest.approx(near if order == "kl" else -2 * np.log(near), rel=1e-10)


def _terms(p: Distribution, q: Distribution, order: Order, y: float) -> float:
    a, b = float(p.log_prob(np.array([y]))[0]), float(q.log_prob(np.array([y]))[0])
    return float(np.exp(a) * (a - b)) if order == "kl" else float(np.exp((a + b) / 2))


def test_counts_and_classes_against_sums() -> None:
    y = np.arange(200)
    a, b = (Poisson(np.full(200, rate)).log_prob(y) for rate in (3.0, 5.5))
    p, q = Poisson([3.0]), Poisson([5.5])
    assert divergence(p, q, "kl")[0] == pytest.approx((np.exp(a) * (a - b)).sum(), rel=1e-12)
    assert divergence(p, q, "half")[0] == pytest.approx(-2 * np.log(np.exp((a + b) / 2).sum()), rel=1e-12)
    one, two = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    classes = Categorical([one]), Categorical([two])
    assert divergence(*classes, "kl")[0] == pytest.approx((one * np.log(one / two)).sum(), rel=1e-12)
    assert divergence(*classes, "half")[0] == pytest.approx(-2 * np.log(np.sqrt(one * two).sum()), rel=1e-12)


def test_zero_probabilities() -> None:
    sure, split = Categorical([[1.0, 0.0]]), Categorical([[0.5, 0.5]])
    assert divergence(split, sure, "kl")[0] == np.inf
    assert divergence(sure, split, "kl")[0] == pytest.approx(np.log(2))
    assert divergence(split, sure, "half")[0] == pytest.approx(np.log(2))
    assert divergence(sure, Categorical([[0.0, 1.0]]), "half")[0] == np.inf
    none, some = Poisson([0.0]), Poisson([2.0])
    assert divergence(none, some, "kl")[0] == 2.0
    assert divergence(some, none, "kl")[0] == np.inf
    assert divergence(some, none, "half")[0] == pytest.approx(2.0)
    assert divergence(none, none, "kl")[0] == 0.0


FAMILIES: list[tuple[Any, list[float], list[float]]] = [
    (lambda v: Normal(v[:, 0], np.sqrt(v[:, 1])), [0.3, 1.5], [0.4, -0.3]),
    (lambda v: StudentT(5.0, v[:, 0], np.sqrt(v[:, 1])), [0.3, 1.5], [0.4, -0.3]),
    (lambda v: Poisson(v[:, 0]), [4.0], [1.0]),
    (Categorical, [0.2, 0.3, 0.5], [0.1, -0.3, 0.2]),
]


@pytest.mark.parametrize(("make", "at", "change"), FAMILIES)
@pytest.mark.parametrize("order", ["kl", "half"])
def test_small_changes_give_the_fisher_length(make: Any, at: list[float], change: list[float], order: Order) -> None:
    v, t = np.array([at]), np.array([change])
    fisher = make(v).fisher_norm(t)[0] ** 2
    h = 0.02
    factor = 2.0 if order == "kl" else 4.0
    both = [
        factor * sum(divergence(make(v), make(v + s * f * h * t), order)[0] for s in (1, -1)) / (2 * (f * h) ** 2)
        for f in (1.0, 0.5, 0.25)
    ]
    once = [(4 * b - a) / 3 for a, b in pairwise(both)]
    assert (16 * once[1] - once[0]) / 15 == pytest.approx(fisher, rel=1e-8)


def test_cells_come_near_from_below() -> None:
    p, q = NormalMixture([[0.0, 1.0]], [[1.0, 0.5]]), NormalMixture([[0.5, 1.0]], [[1.0, 0.7]])
    fine = np.linspace(-6, 6, 4001)
    edges = [*(np.linspace(-4, 5, k) for k in (5, 9, 65)), fine]
    found = [divergence(in_cells(p, cuts), in_cells(q, cuts), "kl")[0] for cuts in edges]
    assert found == sorted(found)
    density = [
        np.exp(dist.log_prob(fine))
        for dist in (
            NormalMixture(np.tile([[0.0, 1.0]], (4001, 1)), np.tile([[1.0, 0.5]], (4001, 1))),
            NormalMixture(np.tile([[0.5, 1.0]], (4001, 1)), np.tile([[1.0, 0.7]], (4001, 1))),
        )
    ]
    exact = (density[0] * np.log(density[0] / density[1])).sum() * (fine[1] - fine[0])
    assert found[-1] == pytest.approx(exact, rel=1e-3)


def test_what_has_no_rule_is_refused() -> None:
    mixture = NormalMixture([[0.0, 1.0]], [[1.0, 0.5]])
    with pytest.raises(UnsupportedError, match="renyi_half is not defined for a normal mixture"):
        divergence(mixture, mixture, "half")
    points = NormalMixture([[0.0, 1.0]], [[0.0, 0.0]])
    with pytest.raises(UnsupportedError, match="kl needs a density"):
        divergence(points, points, "kl")
    with pytest.raises(UnsupportedError, match="of one family; got a normal and a Student-t one"):
        divergence(Normal([0.0], 1.0), StudentT(3.0, [0.0], 1.0), "kl")
    classes = Categorical([[0.5, 0.5]]), CategoricalMixture([[[0.2, 0.8], [0.8, 0.2]]])
    assert divergence(*classes, "kl")[0] == pytest.approx(0.0, abs=1e-15)


def test_lengths() -> None:
    assert sensitivity(np.array([2.0]), "kl")[0] == 2.0
    assert sensitivity(np.array([4.0]), "half")[0] == 4.0
