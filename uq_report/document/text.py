"""Words of the report: outside text made safe, numbers with their units, lists and counts."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from ..core.support import numbers, text
from ..core.support.numbers import interval, number, share_words, value_words

__all__ = ["interval", "number", "share_words", "value_words"]  # of core.numbers, for those who write sentences

ABSENT = "not recorded"
NAME = 60
LONGEST = 240  # characters of a sentence that stands for a whole text
# Behind a full stop that ends no abbreviation of single letters ("p.a.").
_END = re.compile(r"(?:(?<=[^.][^\W\d][.!?])|(?<=[\d)%”][.!?]))\s+")
# Marks around the name of a feature, which lead to its sheet; `clean` lets none in from outside.
MENTION = re.compile("\ue000([^\ue000\ue001]*)\ue001")


def legible(line: str) -> str:
    """Return text with every character DejaVu Sans lacks shown as its code point.

    Examples
    --------
    >>> legible("Größe ≥ 3 中")
    'Größe ≥ 3 [U+4E2D]'
    """
    return line if line.isascii() else "".join(c if ord(c) in _glyphs() else text.code_point(c) for c in line)


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont  # heavy, and most commands draw nothing
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(findfont(FontProperties(family=["DejaVu Sans"]))).get_charmap())


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


def position(value: Any) -> str:
    """Return a feature's value as a place on its axis: whole numbers as they are, others to three digits.

    Examples
    --------
    >>> position(15857.0), position(-2.73311), position("rich")
    ('15857', '−2.73', 'rich')
    """
    if not numbers.is_number(value) or float(value).is_integer():
        return plain(value)
    return numbers.number(float(value))


def plain(value: Any) -> str:
    """Return a feature's value as the data has it: a number with up to six digits, or its name.

    Examples
    --------
    >>> plain(4.0), plain(15857.0), plain("rich")
    ('4', '15857', 'rich')
    """
    return numbers.plain(float(value)) if numbers.is_number(value) else name(value)


def sentence(value: object, names: Iterable[object] = ()) -> str:
    """Return outside text as a sentence: cleaned, with a capital (unless an id or one of `names` comes first).

    Examples
    --------
    >>> sentence("the model failed"), sentence("ice.train: it has no rows")
    ('The model failed.', 'ice.train: it has no rows.')
    """
    line = clean(value)
    if not line:
        return ""
    first = line.split(" ")[0].rstrip(".,:;")
    is_name = "." in first or "_" in first or any(line.startswith(name(each)) for each in names)
    head = line[0] if is_name else line[0].upper()
    return f"{head}{line[1:]}{'' if line[-1] in '.!?…' else '.'}"


def first_sentence(text: str, most: int = LONGEST) -> str:
    """Return the first sentence of a text whole; empty where it is longer than `most` characters.

    Examples
    --------
    >>> first_sentence("It costs 0.5 nats. And more."), first_sentence("word " * 100)
    ('It costs 0.5 nats.', '')
    """
    first = _END.split(sentence(text), maxsplit=1)[0]
    return first if len(first) <= most else ""


def items(values: Iterable[object]) -> list[str]:
    """Return names, each cleaned and shortened."""
    return [name(value) for value in values]


def spaced(*texts: str) -> str:
    """Return texts as one, those that are empty left out.

    Examples
    --------
    >>> spaced("It fails.", "", "See below.")
    'It fails. See below.'
    """
    return " ".join(filter(None, texts))
