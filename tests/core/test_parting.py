"""Where two curves part: against the numbers of curves whose differences and errors are known."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from uq_report.core.statistics.curve_gap import LEAST, CurveGap, LargestGap, parting, widest_parting


def local(x: Any, estimate: Any, error: Any = 0.0) -> pd.DataFrame:
    """Return an accumulated curve with the errors of its changes."""
    return pd.DataFrame({"x": x, "estimate": estimate, "std_error_change": error})


def mean(x: Any, estimate: Any, error: Any = 0.0) -> pd.DataFrame:
    """Return an average curve with its errors."""
    return pd.DataFrame({"x": x, "estimate": estimate, "std_error": error})


def widest(accumulated: pd.DataFrame, partial: pd.DataFrame, **options: float) -> LargestGap:
    found = widest_parting(accumulated, partial, 0.95, **options)
    assert found is not None
    return found


X = [0.0, 1.0, 2.0, 4.0]


def test_changes_from_the_first_common_point_are_compared() -> None:
    """The curves part at 4 by 4: levels of their own do not count, points outside the other's neither."""
    found = widest(local([-1.0, *X], [50.0, 1.0, 2.0, 3.0, 9.0]), mean([0.0, 2.0, 4.0, 9.0], [7.0, 9.0, 11.0, 90.0]))
    assert found.at == CurveGap(x=4.0, start=0.0, accumulated=8.0, partial=4.0)
    assert (found.share, found.error, found.points) == (4 / 8, 0.0, 3)
    assert found.p_value == 0.0


def test_the_larger_range_is_what_a_difference_is_a_share_of() -> None:
    """Ranges 2 and 8, and 8 and 2; at least `scale`."""
    low, high = [0.0, 0.5, 1.0, 2.0], [0.0, 2.0, 4.0, 8.0]
    assert widest(local(X, low), mean(X, high)).share == widest(local(X, high), mean(X, low)).share == 6 / 8
    assert widest(local(X, low), mean(X, high), scale=12.0).share == 6 / 12
    assert widest(local(X, low), mean(X, high), scale=5.0).share == 6 / 8
    flat = widest(local(X, np.zeros(4)), mean(X, np.zeros(4)))
    assert (flat.share, flat.p_value, flat.at.x) == (0.0, 1.0, 1.0)


def test_errors_of_both_points_of_both_curves_add_up() -> None:
    curves = local(X, [0.0, 0.0, 0.0, 3.0], [0.1, 0.2, 0.3, 0.4]), mean(X, np.zeros(4), [0.01, 0.02, 0.03, 0.04])
    found = widest(*curves)
    assert found.error == pytest.approx(0.4 + 0.1 + 0.04 + 0.01)
    assert found.reach(0.9) == pytest.approx(stats.norm.isf(0.05 / 3) * found.error)
    assert found.p_value == pytest.approx(3 * 2 * stats.norm.sf(3 / found.error))


def test_a_p_value_is_at_most_1() -> None:
    assert widest(local(X, [0, 0, 0, 0.1], 5.0), mean(X, np.zeros(4))).p_value == 1.0


def test_the_point_is_the_widest_beyond_its_own_error() -> None:
    """Three apart with large errors at 2, two apart without any at 4."""
    found = widest(local(X, [0.0, 0.0, 3.0, 2.0], [0.0, 0.0, 1.0, 0.0]), mean(X, np.zeros(4)))
    assert (found.at.x, found.share) == (4.0, 2 / 3)
    assert widest(local(X, [0.0, 0.0, 3.0, 2.0]), mean(X, np.zeros(4))).at.x == 2.0


def test_errors_decide_where_both_points_exceed_the_least_share() -> None:
    """Beyond what is least, 1 and 0.5 are left; the error takes 2.39 standard errors of the first."""
    for error, x in ((0.5 / 2.4, 2.0), (0.5 / 2.3, 2.0), (1.6 / 2.3, 4.0)):
        found = widest(local(X, [0, 0, 2.0, 1.5], [0.0, 0.0, error, 0.0]), mean(X, np.zeros(4)), least=0.5)
        assert found.at.x == x


@pytest.mark.parametrize(("common", "apart"), [(1, None), (2, 1)])
def test_two_common_points_are_needed(common: int, apart: int | None) -> None:
    found = widest_parting(local(X, X), mean([3.0 - common, 3.0], [0.0, 0.0]), 0.95)
    assert (found if found is None else found.points) == (None if apart is None else apart)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_the_unit_of_the_feature_does_not_matter(scale: float) -> None:
    y, z = [0.0, 1.0, 2.0, 7.0], [0.0, 1.0, 5.0]
    usual = widest(local(X, y, 0.1), mean([0.0, 1.5, 4.0], z, 0.1))
    found = widest(local(np.multiply(X, scale), y, 0.1), mean(np.multiply([0.0, 1.5, 4.0], scale), z, 0.1))
    assert found.at.x == usual.at.x * scale
    assert (found.share, found.error, found.p_value) == pytest.approx((usual.share, usual.error, usual.p_value))


@pytest.mark.parametrize(("factor", "shown"), [(0.999, False), (1.001, True)])
def test_curves_part_beyond_a_tenth_of_the_range(factor: float, shown: bool) -> None:
    """Without errors; the range is that of the lower curve, 10."""
    curves = local([0.0, 1.0, 2.0], [0.0, 5.0 + factor * LEAST * 10, 10.0]), mean([0.0, 1.0, 2.0], [0.0, 5.0, 10.0])
    found = parting(*curves, 0.95)
    assert (found is not None) is shown
    if found is not None:
        assert found == widest(*curves).at


@pytest.mark.parametrize(("factor", "shown"), [(0.99, False), (1.01, True)])
def test_curves_part_beyond_their_errors(factor: float, shown: bool) -> None:
    """Three points after the first, each at 5% / 3 two-sided."""
    reach = stats.norm.isf(0.05 / 3 / 2)
    curves = local(X, [0.0, 0.0, 0.0, 1.0], [0, 0, 0, 1 / reach / factor]), mean(X, np.zeros(4))
    assert (parting(*curves, 0.95) is not None) is shown
    assert (parting(*curves, 0.9) is not None) is True


def test_curves_without_common_points_part_nowhere() -> None:
    assert parting(local(X, X), mean([10.0, 11.0], [0.0, 1.0]), 0.95) is None
