"""One rounding for text, tables and figures."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from uq_report.core.support.numbers import fixed, interval, number, places, plain, share_words, value_words


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


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1e-4, "0.000100"), (9.994e-5, "9.99×10⁻⁵"), (9.996e-5, "0.000100"), (1e6, "1\u202f000\u202f000"),
        (9_994_000.0, "9\u202f994\u202f000"), (9_996_000.0, "1.00×10⁷"), (1e7, "1.00×10⁷"),
        (9_999.0, "9999"), (10_000.0, "10\u202f000"), (-10_000.0, "−10\u202f000"), (9.995, "9.99"), (0.9996, "1.00"),
        (-0.0, "0"), (math.inf, "∞"), (-math.inf, "−∞"),
    ],
)  # fmt: skip
def test_a_number_without_an_error_has_three_digits(value: float, words: str) -> None:
    assert number(value) == words


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [(9_999.4, 0, "9999"), (10_000.0, 0, "10\u202f000"), (-25_000.26, 1, "−25\u202f000.3"), (0.05, 1, "0.1"),
     (-0.04, 1, "0.0"), (1250.0, -2, "1200"), (-1251.0, -2, "−1300")],
)  # fmt: skip
def test_decimals_are_fixed(value: float, digits: int, words: str) -> None:
    assert fixed(value, digits) == words


@pytest.mark.parametrize(
    ("ends", "decimals"),
    [((0.0, 1e-5), 6), ((0.0, 9.9e-6), None), ((0.0, 9.9e8), -7), ((0.0, 1e9), None), ((0.0, 1.0), 1), ((0.0, 0.99), 2),
     ((0.0, 10.0), 0), ((0.04, 1.5), 2), ((0.004, 1.5), 3), ((0.0004, 1.5), 1), ((-0.04, 1.0), 2), ((1.0, 0.0), None)],
)  # fmt: skip
def test_two_digits_of_the_width_and_up_to_two_more_for_an_end(ends: tuple[float, float], decimals: int | None) -> None:
    assert places(*ends) == decimals


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0.5, 0.4, 0.6, "nats"), "0.50 nats (0.40 to 0.60)"),
        ((0.5, 0.4, None, "nats"), "0.500 nats"),
        ((0.5, math.nan, 0.6), "0.500"),
        ((0.5, 0.5, 0.5), "0.500"),
        ((0.5, 0.4, 0.6, "share of observations"), "0.50 (0.40 to 0.60)"),
        ((0.5, 0.4, 0.6, "probability"), "0.50 (0.40 to 0.60)"),
        ((12.0, 11.0, 13.0, "units of the outcome"), "12.0 units of the outcome (11.0 to 13.0)"),
        (("0.5", "0.4", "0.6"), "0.50 (0.40 to 0.60)"),
        (("high",), "no number"),
    ],
)
def test_a_value_has_its_unit_and_interval(arguments: tuple[object, ...], words: str) -> None:
    assert value_words(*arguments) == words  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0.0456,), "4.6%"), ((0.5,), "50%"), ((0.996,), "100%"), ((0.0,), "0%"), ((0.1,), "10%"),
        ((0.00001234,), "0.0012%"), ((1e-8,), "1×10⁻⁶%"), ((1.2e-8,), "1.2×10⁻⁶%"), ((2.5,), "250%"),
        ((0.5, 0.4, 0.6), "50% (40 to 60%)"), ((0.5, 0.5, 0.5), "50.0%"), ((0.5, None, 0.6), "50%"),
    ],
)  # fmt: skip
def test_a_share_is_in_percent(arguments: tuple[float, ...], words: str) -> None:
    assert share_words(*arguments) == words


def test_an_interval_names_its_level() -> None:
    assert share_words(0.5, 0.4, 0.6, confidence=0.9) == "50% (90% CI 40 to 60%)"
    assert value_words(0.5, 0.4, 0.6, confidence=0.975) == "0.50 (97.5% CI 0.40 to 0.60)"


@pytest.mark.parametrize(
    ("value", "words"), [(4.0, "4"), (1234567.0, "1.23457e+06"), (-1e-5, "−1e−05"), (0.1234567, "0.123457")]
)
def test_a_value_of_a_feature_has_six_digits(value: float, words: str) -> None:
    assert plain(value) == words
