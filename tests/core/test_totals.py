"""Totals over the line and over the integers, against their closed forms."""

import numpy as np
import pytest

from uq_report.distributions import Poisson
from uq_report.distributions.numerics.quadrature import cdf_at, total

ROW = np.array([0])


@pytest.mark.parametrize("end", [2.0, 1e3, 1e12, 1e20, 1e25])
def test_panels_that_span_decades_are_integrated_on_both_sides_of_zero(end: float) -> None:
    """∫ dy / (1 + |y|)² from 0 to the end is end / (1 + end)."""
    exact = end / (1 + end)
    for edges in ([[0.0, 1.0, end]], [[-end, -1.0, -1e-300]]):
        found = total(np.array(edges), lambda rows, y: 1 / np.square(1 + np.abs(y)), discrete=False)
        assert found[0] == pytest.approx(exact, rel=1e-8)


def test_a_pole_at_zero_is_integrated() -> None:
    """∫ y^(-1/2) dy from 0 to 4 is 4."""
    assert total(np.array([[0.0, 1.0, 4.0]]), lambda rows, y: y**-0.5, discrete=False)[0] == pytest.approx(4, rel=1e-8)


def test_panels_across_zero_are_plain() -> None:
    found = total(np.array([[-3.0, -1.0, 2.0]]), lambda rows, y: y**3, discrete=False)
    assert found[0] == pytest.approx((2**4 - 3**4) / 4, rel=1e-12)


@pytest.mark.parametrize("last", [1, 2, 63, 64, 65, 5000, 10**5, 10**9])
def test_sums_end_before_the_last_integer(last: int) -> None:
    """Σ 1 / ((k + 1)(k + 2)) over k < last is 1 - 1 / (last + 1)."""
    edges = np.array([[0.0, min(10.0, last), float(last)]])
    found = total(np.sort(edges), lambda rows, y: 1 / ((y + 1) * (y + 2)), discrete=True)
    assert found[0] == pytest.approx(1 - 1 / (last + 1), rel=1e-9)


def test_rows_have_sums_of_their_own_lengths() -> None:
    edges = np.array([[0.0, 3.0], [5.0, 5.0], [2.0, 400.0], [-2.0, 1.0]])
    found = total(edges, lambda rows, y: (rows[:, None] + 1.0) * np.ones_like(y), discrete=True)
    np.testing.assert_allclose(found, [3, 0, 3 * 398, 4 * 3], rtol=1e-12)


@pytest.mark.parametrize("y", [-3.0, -0.5, 0.0, 0.25, 2.0, 3.5, 7.75])
def test_between_integers_a_cdf_is_the_cubic_through_four(y: float) -> None:
    """Lagrange's polynomial through the integers below, at, above and beyond."""
    dist = Poisson([2.5])
    at = np.floor(y) + np.array([-1.0, 0.0, 1.0, 2.0])
    values = np.array([dist.cdf(np.array([k]))[0] for k in at])
    cubic = np.polynomial.Polynomial.fit(at, values, 3)(y)
    found = cdf_at(dist, ROW, np.array([[y]]))[0, 0]
    assert found == pytest.approx(cubic, abs=1e-12)
    if y == np.floor(y):
        assert found == dist.cdf(np.array([y]))[0]
