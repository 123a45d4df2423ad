"""How measures and numbers are written on axes and in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.results import MeasureFacts

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def words(measure: str, measures: Mapping[str, MeasureFacts]) -> MeasureFacts:
    """Return what the result records of a measure, else its name without a unit.

    Examples
    --------
    >>> words("rank_loss", {})
    MeasureFacts(title='rank loss', unit='', role='', direction='larger')
    """
    return measures.get(measure) or MeasureFacts(measure.replace("_", " "), "", "")


def axis_label(measure: str, measures: Mapping[str, MeasureFacts]) -> str:
    """Return ``"title (unit)"`` for an axis, ``"title (of it), unit"`` where the title has brackets of its own."""
    facts = words(measure, measures)
    if not facts.unit:
        return facts.title
    return f"{facts.title}, {facts.unit}" if facts.title.endswith(")") else f"{facts.title} ({facts.unit})"


def number(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits and a real minus sign.

    Examples
    --------
    >>> number(-0.012345), number(1234.5), number(0.0), number(-6.54e-7)
    ('−0.0123', '1230', '0', '−6.54×10⁻⁷')
    """
    if value == 0:
        return "0"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if not -4 <= exponent <= 5:
        return f"{signed(mantissa)}×10{power_of_ten(exponent)}"
    places = digits - 1 - exponent
    return signed(f"{round(value, places):.{max(0, places)}f}")


def signed(text: str) -> str:
    """Return a formatted number with a real minus sign; what is rounded to 0 has no sign.

    Examples
    --------
    >>> signed("-0.12"), signed("-0.00"), signed("+0.0"), signed("-1e-05")
    ('−0.12', '0.00', '0.0', '−1e−05')
    """
    return text.replace("-", "−") if any(digit in "123456789" for digit in text) else text.lstrip("+-")


def power_of_ten(exponent: int) -> str:
    """Return an exponent as superscripts, ``⁻⁷``."""
    return str(exponent).translate(_SUPERSCRIPT)
