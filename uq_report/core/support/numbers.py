"""Numbers as a reader sees them, in text, tables and figures: rounded to their error, a real minus sign, a unit."""

from math import floor, isfinite, isnan, log10
from typing import Any, Final

GAP: Final = "–"
MINUS: Final = "−"
THIN: Final = "\u202f"  # between thousands; does not break
SPACE: Final = "\u00a0"  # never breaks between a number and what belongs to it
NO_NUMBER: Final = "no number"
DIGITS: Final = 3  # of a number without an error
# What the owner's unit replaces; other units of several words are left to tables and axes, not told in sentences.
OUTCOME_UNIT: Final = "units of the outcome"
SQUARED_UNIT: Final = f"squared {OUTCOME_UNIT}"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = DIGITS) -> str:
    """Return a number without an error: `digits` significant digits, never less than its whole part.

    Examples
    --------
    >>> number(-0.012345), number(1234.5), number(0.0), number(-6.54e-7)
    ('−0.0123', '1234', '0', '−6.54×10⁻⁷')
    """
    if not isfinite(value):
        return infinite(value)
    if value == 0:
        return "0"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if -4 <= exponent <= 6:
        return fixed(value, max(0, digits - 1 - exponent))
    return f"{mantissa.replace('-', MINUS)}×10{power_of_ten(exponent)}"


def infinite(value: float) -> str:
    """Return what stands for a number that is missing or infinite."""
    return GAP if isnan(value) else "∞" if value > 0 else f"{MINUS}∞"


def show_value(value: float) -> str:
    """Return a value as a refusal quotes it: plain digits, and in words what is no number.

    Examples
    --------
    >>> show_value(0.25), show_value(float("nan")), show_value(float("-inf"))
    ('0.25', 'no number', 'minus infinity')
    """
    if isfinite(value):
        return f"{value:g}"
    return NO_NUMBER if isnan(value) else "infinity" if value > 0 else "minus infinity"


def fixed(value: float, places: int) -> str:
    """Return a number with so many decimals, thin spaces between thousands, and no negative zero.

    Examples
    --------
    >>> fixed(-0.0312, 3), fixed(-0.0001, 2), fixed(1234.5, -2), fixed(25000, 0).split()
    ('−0.031', '0.00', '1200', ['25', '000'])
    """
    text = f"{abs(round(value, places)):,.{max(places, 0)}f}".replace(",", THIN if abs(value) >= 10_000 else "")
    return signed(f"-{text}" if value < 0 else text)


def signed(text: str) -> str:
    """Return a formatted number with a real minus sign; what is rounded to 0 has no sign.

    Examples
    --------
    >>> signed("-0.12"), signed("-0.00"), signed("+0.0"), signed("-1e-05")
    ('−0.12', '0.00', '0.0', '−1e−05')
    """
    return text.replace("-", MINUS) if any(digit in "123456789" for digit in text) else text.lstrip("+-")


def power_of_ten(exponent: int) -> str:
    """Return an exponent as superscripts, ``⁻⁷``."""
    return str(exponent).translate(_SUPERSCRIPT)


def places(lower: float, upper: float) -> int | None:
    """Return the decimals that show two digits of an interval's width, and more where an end would else read 0.

    None where the width has no digits to go by.

    Examples
    --------
    >>> places(0.017, 0.027), places(0.0004, 0.06), places(1100, 1400), places(1, 1)
    (3, 4, -1, None)
    """
    width = upper - lower
    if not 1e-5 <= width < 1e9:
        return None
    least = 1 - floor(log10(width))
    ends = (lower, upper)
    return next((p for p in range(least, least + 3) if all(round(end, p) or not end for end in ends)), least)


def interval(lower: Any, upper: Any) -> str:
    """Return ``"0.10 to 0.30"``, or the empty string where there is no interval."""
    if not (is_number(lower) and is_number(upper)):
        return ""
    decimals = places(float(lower), float(upper))
    return f"{_rounded(float(lower), decimals)} to {_rounded(float(upper), decimals)}"


def value_words(
    estimate: Any, lower: Any = None, upper: Any = None, unit: str = "", *, confidence: float | None = None
) -> str:
    """Return an estimate with its unit and interval, to two digits of the interval's width.

    A unit of several words is left out of sentences; tables and axes have it. With `confidence` the interval is named.
    An interval without any width to show is left out.

    Examples
    --------
    >>> value_words(0.03674, 0.00079, 0.0726, "nats"), value_words(0.03674), value_words(-0.0001, -0.03, 0.06)
    ('0.037 nats (0.001 to 0.073)', '0.0367', '0.000 (−0.030 to 0.060)')
    >>> value_words(-233.26, -233.26, -233.26, "m")
    '−233 m'
    >>> value_words(0.10432, 0.0511, 0.1534, "nats", confidence=0.95)
    '0.10 nats (95% CI 0.05 to 0.15)'
    """
    if not is_number(estimate):
        return NO_NUMBER
    suffix = unit if unit == "%" else f" {unit_phrase(unit)}".rstrip()
    around = interval(lower, upper)
    if not around or len(set(around.split(" to "))) == 1:
        return f"{number(float(estimate))}{suffix}"
    level = "" if confidence is None else f"{100 * confidence:g}% CI "
    return f"{_rounded(float(estimate), places(float(lower), float(upper)))}{suffix} ({level}{around})"


def share_words(share: Any, lower: Any = None, upper: Any = None, *, confidence: float | None = None) -> str:
    """Return a share of 1 in percent, with its interval; without one, two digits or the whole part.

    Examples
    --------
    >>> share_words(0.1713, 0.13, 0.214), share_words(0.4567), share_words(0.004), share_words(1)
    ('17.1% (13.0 to 21.4%)', '46%', '0.4%', '100%')
    """
    if not is_number(share):
        return NO_NUMBER
    if not (is_number(lower) and is_number(upper)):
        return f"{_short(100 * float(share))}%"
    words = value_words(100 * share, 100 * lower, 100 * upper, "%", confidence=confidence)
    return words if words.endswith("%") else f"{words.removesuffix(')')}%)"


def unit_phrase(unit: str) -> str:
    """Return a unit as a sentence tells it; empty for long ones.

    Examples
    --------
    >>> unit_phrase("nats"), unit_phrase("squared units of the outcome"), unit_phrase("share of observations")
    ('nats', 'squared units of the outcome', '')
    """
    return unit if unit.endswith(OUTCOME_UNIT) or not (" " in unit or unit == "probability") else ""


def plain(value: float) -> str:
    """Return a feature's value with up to six digits, as the data has it: ``4``, ``27.5``.

    Examples
    --------
    >>> plain(4.0), plain(15857.0), plain(-27.5)
    ('4', '15857', '−27.5')
    """
    return signed(f"{value:.6g}")


def is_number(value: Any) -> bool:
    """Say whether a value is, or reads as, a finite number."""
    try:
        return isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _rounded(value: float, decimals: int | None) -> str:
    return number(value) if decimals is None else fixed(value, decimals)


def _short(value: float) -> str:
    text, times, power = number(value, 2).partition("×")
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}{times}{power}"
