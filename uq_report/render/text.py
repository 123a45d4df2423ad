"""The door every text passes on its way into a page."""

from __future__ import annotations

import re
from hashlib import sha256
from unicodedata import normalize

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
