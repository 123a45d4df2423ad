"""Words of the report: outside text made safe, numbers with their units, lists and counts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..core import text
from ..plots.glyphs import legible
from ..plots.words import number, signed

ABSENT = "not recorded"
NAME = 60
# Marks around the name of a feature, which lead to its sheet; `clean` lets none in from outside.
MENTION = re.compile("\ue000([^\ue000\ue001]*)\ue001")


def clean(value: object, limit: int = text.MAX_TEXT) -> str:
    r"""Return outside text as one safe line: no controls, NFC, capped, only characters the report's font has.

    Examples
    --------
    >>> clean("a\x1b[0m\u202eb\u4e2d")
    'a[0m[U+202E]b[U+4E2D]'
    """
    return legible(text.clean(value, limit))


def name(value: object) -> str:
    """Return a feature's, class's or plugin's name, cleaned and shortened in its middle."""
    return legible(text.short(value, NAME))


def mention(feature: object) -> str:
    """Return a feature's name, marked so that pages link it to its sheet and set it apart."""
    return f"\ue000{name(feature)}\ue001"


def mentions(features: Iterable[object]) -> list[str]:
    """Return names of features, each marked."""
    return [mention(feature) for feature in features]


def mentioned(text: str, features: Iterable[object]) -> str:
    """Return a text in which the names of these features are marked, where they stand as whole words.

    Examples
    --------
    >>> unmarked(mentioned("age moves it", ["age"])), mentioned("the average", ["age"])
    ('age moves it', 'the average')
    """
    names = sorted({name(feature) for feature in features} - {""}, key=len, reverse=True)
    if not names:
        return text
    whole = re.compile(rf"(?<![\w\ue000])(?:{'|'.join(map(re.escape, names))})(?![\w\ue001])")
    return whole.sub(lambda match: mention(match[0]), text)


def unmarked(text: str) -> str:
    """Return a text without the marks around features, for what has no links."""
    return MENTION.sub(r"\1", text)


def joined(items: Sequence[str], most: int = 8) -> str:
    """Return a list in words, cut after `most` items with the number left out.

    Examples
    --------
    >>> joined(["a", "b", "c"]), joined(["a", "b", "c", "d"], most=2)
    ('a, b and c', 'a, b and 2 more')
    """
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)


def interval(lower: Any, upper: Any) -> str:
    """Return ``"0.10 to 0.30"``, or the empty string where there is no interval."""
    if not (_is_number(lower) and _is_number(upper)):
        return ""
    lower, upper = float(lower), float(upper)
    places = _places(upper - lower, lower, upper)
    return f"{_fixed(lower, places)} to {_fixed(upper, places)}"


def _places(width: float, *values: float) -> int | None:
    """Return the decimals that show two digits of `width`, and more where a value would else read 0."""
    if not 1e-5 <= width < 1e6:
        return None
    least = max(0, 1 - math.floor(math.log10(width)))
    return next((p for p in range(least, least + 4) if all(round(v, p) or not v for v in values)), least)


def _fixed(value: float, places: int | None) -> str:
    return number(value) if places is None else signed(f"{value:.{places}f}")


def plain(value: Any) -> str:
    """Return a feature's value with up to six digits: ``4``, ``27.5``.

    Examples
    --------
    >>> plain(4.0), plain(15857.0), plain("rich")
    ('4', '15857', 'rich')
    """
    return signed(f"{float(value):.6g}") if _is_number(value) else name(value)


def value_words(estimate: Any, lower: Any = None, upper: Any = None, unit: str = "") -> str:
    """Return an estimate with its unit and interval, to two digits of the interval's width.

    A unit of several words is left out of sentences; tables and axes have it.

    Examples
    --------
    >>> value_words(0.03674, 0.00079, 0.0726, "nats"), value_words(0.03674), value_words(-0.0001, -0.03, 0.06)
    ('0.037 nats (0.001 to 0.073)', '0.0367', '0.000 (−0.030 to 0.060)')
    """
    if not _is_number(estimate):
        return "no number"
    suffix = f" {unit}" if unit and " " not in unit else ""
    around = interval(lower, upper)
    if not around:
        return f"{number(float(estimate))}{suffix}"
    places = _places(float(upper) - float(lower), float(lower), float(upper))
    return f"{_fixed(float(estimate), places)}{suffix} ({around})"


def sentence(value: object) -> str:
    """Return outside text as a sentence: cleaned, with a capital (unless an id comes first) and one full stop.

    Examples
    --------
    >>> sentence("the model failed"), sentence("pfi.train: it has no rows")
    ('The model failed.', 'pfi.train: it has no rows.')
    """
    line = clean(value)
    if not line:
        return ""
    first = line.split(" ")[0].rstrip(".,:;")
    head = line[0] if "." in first or "_" in first else line[0].upper()
    return f"{head}{line[1:]}{'' if line[-1] in '.!?…' else '.'}"


def items(values: Iterable[object]) -> list[str]:
    """Return names, each cleaned and shortened."""
    return [name(value) for value in values]


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False
