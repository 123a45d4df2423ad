"""Integrals by nested rules: exact polynomials, and halving where the integrand asks for it and no longer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from uq_report.core.support.arrays import FloatArray
from uq_report.distributions.numerics.quadrature import Panels, even_panels, integral


class Counted:
    """An integrand of y that counts the panels it is asked for."""

    def __init__(self, of: Callable[[FloatArray], FloatArray]) -> None:
        self.of, self.panels = of, 0

    def __call__(self, panels: Panels) -> FloatArray:
        self.panels += len(panels.row)
        return np.asarray(self.of(panels.nodes()))


def of_unit(integrand: Any, **options: Any) -> float:
    return float(integral(1, even_panels(1, np.array([0.0, 1.0])), integrand, **{"tolerance": 1e-10} | options)[0])


@pytest.mark.parametrize("power", [0, 1, 7, 11])
def test_polynomials_are_exact_without_halving(power: int) -> None:
    integrand = Counted(lambda y: y**power)
    assert of_unit(integrand) == pytest.approx(1 / (power + 1), abs=1e-15)
    assert integrand.panels == 1


def kink(y: FloatArray) -> FloatArray:
    return np.abs(y - 1 / 3)


EXACT = (1 / 9 + 4 / 9) / 2


@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_a_kink_is_halved_down_to_the_tolerance(tolerance: float) -> None:
    integrand = Counted(kink)
    assert of_unit(integrand, tolerance=tolerance, halvings=60) == pytest.approx(EXACT, abs=tolerance)
    assert integrand.panels > 7


@pytest.mark.parametrize(("halvings", "panels"), [(0, 1), (1, 3), (2, 5), (6, 13)])
def test_halving_ends_where_it_must(halvings: int, panels: int) -> None:
    """The kink lies in one half of each panel; the other is linear."""
    integrand = Counted(kink)
    value = of_unit(integrand, tolerance=1e-15, halvings=halvings)
    assert integrand.panels == panels
    assert value == pytest.approx(EXACT, abs=4.0**-halvings / 100)


def test_a_relative_tolerance_counts_where_it_is_more() -> None:
    for relative, panels in ((0.0, 13), (1e-12, 13), (1.0, 1)):
        integrand = Counted(kink)
        of_unit(integrand, tolerance=1e-15, relative=relative)
        assert integrand.panels == panels


def test_rows_are_apart_and_share_their_tolerance_over_panels() -> None:
    panels = even_panels(3, np.array([-1.0, 0.0, 2.0]))

    def integrand(part: Panels) -> FloatArray:
        return part.nodes() ** 2 * (part.row[:, None] + 1)

    np.testing.assert_allclose(integral(3, panels, integrand, tolerance=1e-12), np.array([1, 2, 3]) * 3.0, rtol=1e-14)
    assert integral(2, panels.at(panels.row == 0), integrand, tolerance=1e-12).tolist() == [pytest.approx(3.0), 0.0]


@pytest.mark.parametrize("members", [1, 50_000])
def test_the_number_of_panels_worked_on_at_once_changes_no_bit(members: int) -> None:
    panels = even_panels(9, np.linspace(0, 1, 6))
    plain = integral(9, panels, lambda part: np.exp(part.nodes()), tolerance=1e-12)
    np.testing.assert_array_equal(
        integral(9, panels, lambda part: np.exp(part.nodes()), tolerance=1e-12, members=members), plain
    )


def test_an_integrand_that_is_rough_everywhere_ends() -> None:
    """Rough beyond 256 panels at once: what is left by then is taken as it is."""
    integrand = Counted(lambda y: np.sin(1e9 * y))
    assert np.isfinite(of_unit(integrand, tolerance=1e-14, halvings=60))
    assert integrand.panels == 2**10 - 1  # 1 + 2 + ... + 512, the first number above 256
