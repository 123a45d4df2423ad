"""Texts and numbers on their way into a page: `core.numbers`, aligned down a column."""

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from math import isfinite, nan
from numbers import Integral, Real
from typing import TypeGuard
from unicodedata import normalize

from ..core.support.numbers import DIGITS, SPACE, fixed, infinite, number as rounded, places as places_of
from ..document.document import Badge, Cell, Column, Tint

# Control characters but tab and line ends, direction marks, the byte-order mark, non-characters, lone surrogates:
# they make a PDF's metadata invalid, turn text around, or cannot be written at all.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]"
)

# No name, number or hash is this long, and breaking such a word into lines takes WeasyPrint minutes.
_ENDLESS = re.compile(r"\S{200,}")


def clean(text: str) -> str:
    r"""Show what cannot be printed by its code point, and cut endless words and say so; nothing else is changed.

    Examples
    --------
    >>> clean("age\x1b[31m")
    'age[U+001B][31m'
    """
    text = text.strip()  # WeasyPrint breaks some lines too early before a trailing space
    text = _ENDLESS.sub(lambda match: f"{match[0][:100]}… ({len(match[0])} characters)", text)
    if text.isascii() and text.isprintable():
        return text
    return normalize("NFC", _UNPRINTABLE.sub(lambda match: f"[U+{ord(match[0]):04X}]", text))


def line(text: str) -> str:
    """Return text on one line, with only characters that can be printed, which XML 1.0 can hold."""
    return " ".join(clean(text).split())


def anchor(name: str) -> str:
    """Return `name` as a link target; other characters than letters, digits and ``. _ -`` become their code point.

    Long ones end in a hash.

    Examples
    --------
    >>> anchor("age.test"), anchor("car age"), anchor("7")
    ('age.test', 'car_20_age', 'id-7')
    """
    safe = re.sub(r"[^A-Za-z0-9._-]", lambda match: f"_{ord(match[0]):x}_", name)
    if len(safe) > 150:
        safe = f"{safe[:100]}-{sha256(safe.encode()).hexdigest()[:16]}"
    return safe if safe[:1].isalpha() else f"id-{safe}"


def number(value: float | None) -> str:
    """Return three significant digits or the whole part, without zeros at the end.

    Examples
    --------
    >>> number(0.123456), number(-2.5), number(1234.5), number(float("nan")), number(1.234e-7)
    ('0.123', '−2.5', '1234', '–', '1.23×10⁻⁷')
    """
    if value is None or not isfinite(value):
        return _without_digits(value)
    if isinstance(value, int):
        return integer(value)
    text, times, power = rounded(value).partition("×")
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}{times}{power}"


def integer(value: float | None) -> str:
    """Return a whole number, in blocks of three from 10 000 on.

    Examples
    --------
    >>> integer(-1200), integer(None), integer(25000).split()
    ('−1200', '–', ['25', '000'])
    """
    return _without_digits(value) if value is None or not isfinite(value) else fixed(value, 0)


def percent(value: float | None) -> str:
    """Return a share between 0 and 1 in percent, with one decimal.

    Examples
    --------
    >>> percent(0.1234), percent(0.0001).split(), percent(None)
    ('12.3%', ['<', '0.1%'], '–')
    """
    if value is None or not isfinite(value):
        return _without_digits(value)
    return f"<{SPACE}0.1%" if 0 < value < 0.0005 else f"{fixed(100 * value, 1)}%"


def pvalue(value: float | None) -> str:
    """Three decimals, and never an exact zero.

    Examples
    --------
    >>> pvalue(0.0471), pvalue(0.0001).split(), pvalue(None)
    ('0.047', ['<', '0.001'], '–')
    """
    if value is None or not isfinite(value):
        return _without_digits(value)
    return f"<{SPACE}0.001" if value < 0.001 else fixed(value, 3)


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
    if isinstance(cell, Tint):
        return integer(cell.value)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return FORMATS[kind](cell)


def show_column(column: Column, cells: Sequence[Cell], places: int | None = None) -> list[str]:
    """Return the texts of a column; its numbers share their decimals, so that they can be compared down the page.

    `places` are the decimals that the errors beside it allow. Without errors the largest gets three significant
    digits, and a smaller one its own three, up to four decimals. Integers stay as they are.

    Examples
    --------
    >>> show_column(Column("importance", "number"), [0.5, 0.0312, -0.00004])
    ['0.500', '0.0312', '0.0000']
    >>> show_column(Column("importance", "number"), [0.5, 0.0312, -0.00004], 2)
    ['0.50', '0.03', '0.00']
    >>> show_column(Column("value", "number"), [20.52, 0.531, 0.0214, 3])
    ['20.5', '0.531', '0.0214', '3']
    """
    values = [abs(cell) for cell in cells if _is_fraction(cell) and cell]
    if column.kind != "number" or not values or not -4 <= _exponent(max(values)) <= 6:
        return [show(cell, column.kind) for cell in cells]
    if places is not None:
        return [fixed(cell, places) if _is_fraction(cell) else show(cell) for cell in cells]
    shared = max(0, DIGITS - 1 - _exponent(max(values)))
    whole = all(value == int(value) for value in values)
    return [show(cell) if whole or not _is_fraction(cell) else _aligned(cell, shared) for cell in cells]


def allowed(lower: Sequence[Cell], upper: Sequence[Cell]) -> int | None:
    """Return the decimals that the intervals of a column allow: two digits of their median width; None without any.

    Examples
    --------
    >>> allowed([0.017, -0.01, None], [0.027, 0.03, None]), allowed([None], [None])
    (3, None)
    """
    pairs = [(low, high) for low, high in zip(lower, upper, strict=True) if _is_fraction(low) and _is_fraction(high)]
    widths = sorted(high - low for low, high in pairs if high > low)
    return places_of(0.0, widths[len(widths) // 2]) if widths else None


def _aligned(cell: float, shared: int) -> str:
    """Return one number of a column whose numbers share their decimals."""
    own = min(max(shared, DIGITS + 1), DIGITS - 1 - _exponent(cell)) if cell else shared
    return fixed(cell, max(shared, own))


def _is_fraction(cell: object) -> TypeGuard[float]:
    """Return whether a cell is a number with decimals."""
    return isinstance(cell, Real) and not isinstance(cell, Integral) and isfinite(cell)


def _without_digits(value: float | None) -> str:
    """Return the text of a missing or infinite number."""
    return infinite(nan if value is None else value)


def _exponent(value: float) -> int:
    """Return the power of ten of the first digit, after rounding to the digits shown."""
    return int(f"{value:.{DIGITS - 1}e}".split("e")[1])
