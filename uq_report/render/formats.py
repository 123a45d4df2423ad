"""Numbers as text: the only place that decides how many digits a reader sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, isnan
from numbers import Integral, Real
from typing import TypeGuard

from ..document.document import Badge, Cell, Column

GAP = "–"
MINUS = "−"
SPACE = "\u00a0"  # never breaks between a number and what belongs to it
THIN = "\u202f"  # between thousands; does not break either
DIGITS = 4
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None) -> str:
    """Four significant digits, in powers of ten outside 0.0001 to 10 million.

    Examples
    --------
    >>> number(0.123456), number(-2.5), number(1234.5), number(float("nan"))
    ('0.1235', '−2.5', '1234', '–')
    >>> number(1.234e-7).split()
    ['1.234', '×', '10⁻⁷']
    """
    if value is None or not isfinite(value):
        return _without_digits(value)
    if isinstance(value, int):
        return integer(value)
    exponent = _exponent(value)
    if value and not -4 <= exponent <= 6:
        mantissa = f"{value:.{DIGITS - 1}e}".split("e")[0].rstrip("0").rstrip(".").replace("-", MINUS)
        return f"{mantissa}{SPACE}×{SPACE}10{str(exponent).translate(_SUPERSCRIPT)}"
    text = _fixed(value, max(0, DIGITS - 1 - exponent))
    return text.rstrip("0").rstrip(".") if "." in text else text


def integer(value: float | None) -> str:
    """Return a whole number, in groups of three from 10 000 on.

    Examples
    --------
    >>> integer(-1200), integer(None), integer(25000).split()
    ('−1200', '–', ['25', '000'])
    """
    return _without_digits(value) if value is None or not isfinite(value) else _fixed(value, 0)


def percent(value: float | None) -> str:
    """Return a share between 0 and 1 in per cent, with one decimal.

    Examples
    --------
    >>> percent(0.1234).split(), percent(0.0001).split(), percent(None)
    (['12.3', '%'], ['<', '0.1', '%'], '–')
    """
    if value is None or not isfinite(value):
        return _without_digits(value)
    return f"<{SPACE}0.1{SPACE}%" if 0 < value < 0.0005 else f"{_fixed(100 * value, 1)}{SPACE}%"


def pvalue(value: float | None) -> str:
    """Three decimals, and never an exact zero.

    Examples
    --------
    >>> pvalue(0.0471), pvalue(0.0001).split(), pvalue(None)
    ('0.047', ['<', '0.001'], '–')
    """
    if value is None or not isfinite(value):
        return _without_digits(value)
    return f"<{SPACE}0.001" if value < 0.001 else _fixed(value, 3)


FORMATS: dict[str, Callable[[float | None], str]] = {
    "text": number,
    "number": number,
    "integer": integer,
    "percent": percent,
    "pvalue": pvalue,
}


def show(cell: Cell, kind: str = "number") -> str:
    """Return the text of a single cell; text passes as it is."""
    if isinstance(cell, Badge):
        return cell.text
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return FORMATS[kind](cell)


def show_column(column: Column, cells: Sequence[Cell]) -> list[str]:
    """Return the texts of a column; its numbers share their decimals, so that they can be compared down the page.

    The largest gets four significant digits. A smaller one with fewer than three left gets its own
    three, up to four decimals: a column of importances stays aligned, one of mixed figures readable.
    Integers stay as they are.

    Examples
    --------
    >>> show_column(Column("importance", "number"), [0.5, 0.0312, -0.00004])
    ['0.5000', '0.0312', '0.0000']
    >>> show_column(Column("value", "number"), [20.52, 0.531, 0.0214, 3])
    ['20.52', '0.531', '0.0214', '3']
    """
    values = [abs(cell) for cell in cells if _is_fraction(cell) and cell]
    if column.kind != "number" or not values or not -4 <= _exponent(max(values)) <= 6:
        return [show(cell, column.kind) for cell in cells]
    shared = max(0, DIGITS - 1 - _exponent(max(values)))
    whole = all(value == int(value) for value in values)
    return [show(cell) if whole or not _is_fraction(cell) else _aligned(cell, shared) for cell in cells]


def _aligned(cell: float, shared: int) -> str:
    """Return one number of a column whose numbers share their decimals."""
    own = min(max(shared, DIGITS), 2 - _exponent(cell)) if cell else shared
    return _fixed(cell, max(shared, own))


def _is_fraction(cell: object) -> TypeGuard[float]:
    """Return whether a cell is a number with decimals."""
    return isinstance(cell, Real) and not isinstance(cell, Integral) and isfinite(cell)


def _without_digits(value: float | None) -> str:
    """Return the text of a missing or infinite number."""
    if value is None or isnan(value):
        return GAP
    return "∞" if value > 0 else f"{MINUS}∞"


def _exponent(value: float) -> int:
    """Return the power of ten of the first digit, after rounding to the digits shown."""
    return int(f"{value:.{DIGITS - 1}e}".split("e")[1])


def _fixed(value: float, decimals: int) -> str:
    """Return `value` with a fixed number of decimals, thin spaces between thousands, and no negative zero."""
    text = f"{abs(value):,.{decimals}f}".replace(",", THIN if abs(value) >= 10_000 else "")
    negative = value < 0 and any(digit in "123456789" for digit in text)
    return MINUS + text if negative else text
