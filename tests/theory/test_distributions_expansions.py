"""Expansions where closed forms cancel, against the same formulas in 50 digits, by Stirling's series far out."""

from collections.abc import Callable, Iterator
from decimal import Decimal, getcontext, localcontext

import numpy as np
import pytest

from uq_report.distributions import Gamma, StudentT
from uq_report.distributions.families.gamma import log_cosh

PI = Decimal("3.14159265358979323846264338327950288419716939937510582")
BERNOULLI = [Decimal(a) / b for a, b in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6))]
FAR = 60  # the next term is below 1e-28


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with localcontext() as context:
        context.prec = 50
        yield


def shifted(x: Decimal, far: Callable[[Decimal], Decimal], step: Callable[[Decimal], Decimal]) -> Decimal:
    """Return f(x) from f far out, with f(x + 1) - f(x) = step(x)."""
    return far(x + FAR) - sum((step(x + j) for j in range(FAR)), Decimal(0))


def log_gamma(x: Decimal) -> Decimal:
    def far(x: Decimal) -> Decimal:
        tail = (b / (2 * k * (2 * k - 1)) / x ** (2 * k - 1) for k, b in enumerate(BERNOULLI, 1))
        return (x - Decimal("0.5")) * x.ln() - x + (2 * PI).ln() / 2 + sum(tail)

    return shifted(x, far, lambda x: x.ln())


def digamma(x: Decimal) -> Decimal:
    def far(x: Decimal) -> Decimal:
        return x.ln() - 1 / (2 * x) - sum(b / (2 * k) / x ** (2 * k) for k, b in enumerate(BERNOULLI, 1))

    return shifted(x, far, lambda x: 1 / x)


def trigamma(x: Decimal) -> Decimal:
    def far(x: Decimal) -> Decimal:
        return 1 / x + 1 / (2 * x * x) + sum(b / x ** (2 * k + 1) for k, b in enumerate(BERNOULLI, 1))

    return shifted(x, far, lambda x: -1 / (x * x))


def test_the_reference_has_its_digits() -> None:
    """Γ(1/2)² = π, ψ(1/2) - ψ(1) = -2 log 2, ψ'(1/2) = π²/2."""
    half, close = Decimal("0.5"), Decimal("1e-25")
    assert getcontext().prec == 50
    assert abs(2 * log_gamma(half) - PI.ln()) < close
    assert abs(digamma(half) - digamma(Decimal(1)) + 2 * Decimal(2).ln()) < close
    assert abs(trigamma(half) - PI * PI / 2) < close


@pytest.mark.parametrize(
    ("df", "digits"),
    [
        (0.3, 1e-13),
        (1.0, 1e-13),
        (7.0, 1e-13),
        (99.0, 1e-12),
        (100.0, 3e-14),
        (101.0, 3e-14),
        (150.0, 3e-15),
        (1e4, 3e-15),
    ],
)
def test_the_entropy_of_student_t(df: float, digits: float) -> None:
    v = Decimal(df)
    upper, lower = (v + 1) / 2, v / 2
    log_beta = log_gamma(lower) + PI.ln() / 2 - log_gamma(upper)
    exact = upper * (digamma(upper) - digamma(lower)) + v.ln() / 2 + log_beta
    assert StudentT(df, [0.0], 1.0).entropy()[0] == pytest.approx(float(exact), abs=digits)


@pytest.mark.parametrize(
    ("df", "digits"),
    [(0.5, 1e-13), (3.0, 1e-12), (199.0, 1e-6), (200.0, 3e-11), (201.0, 3e-11), (400.0, 1e-12), (1e5, 1e-14)],
)
def test_the_information_of_the_degrees_of_freedom(df: float, digits: float) -> None:
    v = Decimal(df)
    exact = (trigamma(v / 2) - trigamma((v + 1) / 2)) / 4 - (v + 5) / (2 * v * (v + 1) * (v + 3))
    found = StudentT(np.array([df]), [0.0], 1.0).fisher_information()[0, 2, 2]
    assert found == pytest.approx(float(exact), rel=digits)


@pytest.mark.parametrize(
    ("k", "digits"), [(0.2, 1e-14), (3.0, 1e-14), (9999.0, 1e-10), (1e4, 4e-15), (1e5, 4e-15), (1e9, 8e-15)]
)
def test_the_entropy_of_gamma(k: float, digits: float) -> None:
    shape = Decimal(k)
    exact = shape + log_gamma(shape) + (1 - shape) * digamma(shape)
    assert Gamma(k, [1.0]).entropy()[0] == pytest.approx(float(exact), abs=digits)


@pytest.mark.parametrize("off", [-0.5, -0.49, -0.01, 0.0, 1e-9, 0.01, 0.3, 0.99, 1.0])
@pytest.mark.parametrize("k", [999.0, 1000.0, 1001.0, 3e4, 1e8])
def test_the_density_of_gamma_near_its_mean(k: float, off: float) -> None:
    z = k * (1 + off)
    exact = (Decimal(k) - 1) * Decimal(z).ln() - Decimal(z) - log_gamma(Decimal(k))
    tolerance = 1e-11 if k < 1000 or abs(off) >= 0.5 else 1e-13
    assert Gamma(k, [1.0]).log_prob(np.array([z]))[0] == pytest.approx(float(exact), rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("x", [0.0, 1e-9, 1e-3, 0.5, -2.0, 40.0, -800.0])
def test_the_logarithm_of_the_hyperbolic_cosine(x: float) -> None:
    exact = ((Decimal(x).exp() + (-Decimal(x)).exp()) / 2).ln()
    assert log_cosh(np.array([x]))[0] == pytest.approx(float(exact), rel=1e-14, abs=1e-17)
