"""The owner's words for an observation ("application") and for the unit of the outcome ("kW"), in whole documents."""

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from ..core.support.numbers import OUTCOME_UNIT
from ..document.document import Attachment, Badge, Figure
from ..reading.run_reader import RunReader

T = TypeVar("T")
# not where the word is the lowest severity of a finding
SEVERITY = r"(?<!above )(?<!else an )(?<!; \d )(?<!; \d\d )"
OBSERVATION = re.compile(rf"{SEVERITY}\b(an |An )?(observation)(s?)\b(?! \(for information|, for information|\)$)")
OUTCOME = re.compile(rf"(squared )?{OUTCOME_UNIT}\b")


def named(e: RunReader, thing: T) -> T:
    """Return a document, or a part of one, in the owner's words; as it is where the owner has none."""
    noun, unit = e.about("observation"), e.about("unit")
    return _renamed(thing, noun, unit) if noun or unit else thing


def plural(noun: str) -> str:
    """Return the plural of a noun.

    Examples
    --------
    >>> plural("application"), plural("policy"), plural("loss"), plural("day")
    ('applications', 'policies', 'losses', 'days')
    """
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search(r"(?:s|x|ch|sh)$", noun) else f"{noun}s"


def owners_words(text: str, noun: str, unit: str) -> str:
    """Return a text in the owner's words.

    Examples
    --------
    >>> owners_words("For an observation, 60 of 800 observations.", "claim", "")
    'For a claim, 60 of 800 claims.'
    >>> owners_words("5 units of the outcome", "", "kW")
    '5 kW'
    >>> owners_words("2 observations (for information; no action required)", "claim", "")
    '2 observations (for information; no action required)'
    """
    if noun and text != "observation":
        article = "an" if noun[0] in "aeiou" else "a"
        text = OBSERVATION.sub(
            lambda found: (f"{found[1][0]}{article[1:]} " if found[1] else "") + (plural(noun) if found[3] else noun),
            text,
        )
    return OUTCOME.sub(lambda found: f"{unit}²" if found[1] else unit, text) if unit else text


def _renamed(thing: Any, noun: str, unit: str) -> Any:
    if isinstance(thing, str):
        return owners_words(thing, noun, unit)
    if isinstance(thing, tuple):
        return tuple(_renamed(part, noun, unit) for part in thing)
    if isinstance(thing, Figure):
        thing = replace(thing, svg=owners_words(thing.svg.decode(), noun, unit).encode())
    if is_dataclass(thing) and not isinstance(thing, Badge | Attachment | type):
        parts = {part.name: getattr(thing, part.name) for part in fields(thing) if part.init}
        return replace(thing, **{name: _renamed(part, noun, unit) for name, part in parts.items()})
    return thing
