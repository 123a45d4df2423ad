"""One rounding for text, tables and figures."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from uq_report.core.numbers import fixed, interval, number, places, share_words, value_words


@pytest.mark.parametrize("seed", range(20))
def test_an_interval_shows_two_digits_of_its_width_and_never_moves_by_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    middle, width = rng.normal(0, 10), float(rng.lognormal(-2, 2))
    decimals = places(middle - width, middle + width)
    assert decimals is not None
    assert 10 <= 2 * width * 10.0**decimals < 10**5  # two digits at least; more only where an end would read 0
    shown = [float(end.replace("−", "-")) for end in interval(middle - width, middle + width).split(" to ")]
    assert shown == pytest.approx([middle - width, middle + width], abs=0.51 * 10.0**-decimals)


@pytest.mark.parametrize(
    ("ends", "decimals"),
    [((0.0, 0.0999), 3), ((0.0, 0.1001), 2), ((1.0, 1.0), None), ((0.0, 9.99e-6), None), ((0.0, 1.01e-5), 6)],
)
def test_decimals_change_where_the_width_passes_a_power_of_ten(ends: tuple[float, float], decimals: int | None) -> None:
    assert places(*ends) == decimals


def test_a_value_reads_zero_only_where_its_interval_says_so() -> None:
    assert value_words(0.0001, -0.03, 0.06).startswith("0.000 (−")
    assert value_words(0.0001) == "0.000100"
    assert interval(0.0004, 0.06) == "0.0004 to 0.0600"


@pytest.mark.parametrize("value", [-0.5, -1e-9, -12345.6, -0.0])
def test_a_minus_is_never_a_hyphen(value: float) -> None:
    texts = (number(value), fixed(value, 2), value_words(value, value - 1, value + 1), share_words(value))
    assert not any(re.search(r"-\d|\+\d|−0\.?0*$", text) for text in texts)


def test_what_is_no_number_says_so() -> None:
    assert value_words(math.nan) == value_words(None) == share_words(math.nan) == "no number"
    assert (number(math.inf), number(math.nan)) == ("∞", "–")
