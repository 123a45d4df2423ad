"""What no sentence of a document may hold, as a table of patterns: each with its name, so that a failure says why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from uq_report import testing
from uq_report.core.support.numbers import places
from uq_report.document.document import (
    Block,
    Bullets,
    Callout,
    Cards,
    Figure,
    Fold,
    Paragraph,
    Section,
    Steps,
    Table,
    Verdict,
    inside,
)
from uq_report.document.text import name, unmarked
from uq_report.evidence import columns, ids

LIBRARIES = ("sklearn", "scikit-learn", "numpy", "pandas", "dalex", "shap", "weasyprint", "matplotlib", "uq_report")
# Results and measures whose names are words of the language too.
PLAIN = {"agreement", "calibration", "cover", "groups", "redundancy", "support", "entropy", "variance", "prediction",
         "aleatoric", "epistemic"}  # fmt: skip


def _coded() -> set[str]:
    """Return names of results, columns and measures that are no words of the language."""
    names = {str(value) for module in (ids, columns) for key, value in vars(module).items() if key.isupper()}
    names |= set(testing.measures())
    short = {"pfi", "cid", "rsens", "pdp", "ale", "nll", "crps"}
    return {one for one in names if "_" in one or "." in one} | short


VERBATIM = {"model-parameters-table"}  # tables of values as their owner wrote them
_CODES = "|".join(re.escape(one) for one in sorted({*_coded(), *LIBRARIES} - PLAIN, key=len, reverse=True))
_NUMBER = r"−?[\d\u202f]+(?:\.\d+)?"


class Pattern(NamedTuple):
    """What is forbidden, why, and whether it holds in tables and appendix too."""

    why: str
    form: re.Pattern[str]
    everywhere: bool = False


PATTERNS = (
    Pattern("a name of a result, column, measure or library", re.compile(rf"(?<![\w.-])(?:{_CODES})(?![\w-]|\.\w)")),
    Pattern("an option", re.compile(r"\b(?:checks|options|settings)\.[a-z_]+|\b[a-z]+_[a-z_]+\b")),
    Pattern("a hyphen as minus", re.compile(r"(?<![\w\-–−.\]/])-\d"), everywhere=True),
    Pattern("a plus before a number", re.compile(r"(?<![\w^)])\+\d"), everywhere=True),
    Pattern("no number", re.compile(r"\b(?:NaN|nan|inf|Infinity)\b"), everywhere=True),
    Pattern("a verdict on the law", re.compile(r"\bcompliant\b", re.IGNORECASE), everywhere=True),
    Pattern("two blanks", re.compile(r"  "), everywhere=True),
    Pattern("five decimals", re.compile(r"(?<![\d.])\d*[1-9]\d*\.\d{5,}(?!\d*\.)")),
    Pattern(
        "a place on the page that moves",
        re.compile(
            r"\b(?:tables?|figures?|sections?|lists?|see|as) (?:above|below)\b|\b(?:above|below) (?:table|figure)"
        ),
    ),
)
_INTERVAL = re.compile(
    rf"(?<![\w.])(?P<value>{_NUMBER})[^()\d]{{0,30}}\((?:\d+% CI )?(?P<low>{_NUMBER}) to (?P<high>{_NUMBER})"
)


class Said(NamedTuple):
    """A text with where it stands; `prose` are sentences, others headings, cells and labels."""

    where: str
    text: str
    prose: bool


def said(sections: Iterable[Section]) -> Iterator[Said]:
    """Yield the texts of sections, folds and splits opened."""
    for section in sections:
        yield Said(section.id, section.title, prose=False)
        yield from (Said(section.id, block.title, prose=False) for block in section.blocks if isinstance(block, Fold))
        for block in inside(section.blocks):
            yield from (Said(f"{section.id}, {block.type}", text, prose) for text, prose in _texts(block) if text)
        yield from said(section.sections)


def _texts(block: Block) -> Iterator[tuple[str, bool]]:
    if isinstance(block, Table):
        yield from ((block.caption, True), (block.note, True))
        rows = () if block.id in VERBATIM else block.rows
        yield from ((cell, False) for row in rows for cell in row if isinstance(cell, str))
    else:
        yield from ((text, True) for text in _sentences(block))


def _sentences(block: Block) -> Iterator[str]:
    match block:
        case Paragraph() | Callout():
            yield block.text
        case Bullets():
            yield from block.items
        case Verdict():
            yield from (block.text, block.note)
        case Cards():
            yield from (text for card in block.cards for text in card.texts)
        case Steps():
            yield from (step.text for step in block.steps)
        case Figure():
            yield block.caption


def without_names(text: str, names: Iterable[str]) -> str:
    """Return a text in which the names of features and classes are ``X``, and quotations ``“X”``."""
    given = sorted({name(one) for one in names} - {""}, key=len, reverse=True)
    whole = "|".join(map(re.escape, given))
    bare = re.sub(r"“[^”]*”|`[^`]*`|(?<!\w)'[^']+'(?!\w)", "“X”", unmarked(text))
    return re.sub(rf"(?<!\w)(?:{whole})(?!\w)", "X", bare) if given else bare


def problems(one: Said, names: Iterable[str], *, everywhere: bool = False) -> Iterator[str]:
    """Yield what is wrong with a text; of appendices and cells only what is wrong `everywhere`."""
    text = without_names(one.text, names)
    for pattern in PATTERNS:
        found = pattern.form.search(text) if pattern.everywhere or (one.prose and not everywhere) else None
        if found:
            yield f"{one.where}: {pattern.why}, {found[0]!r}, in: {one.text}"
    if one.prose:  # ranks in cells stand in brackets too
        yield from (f"{one.where}: {why}, in: {one.text}" for why in _digits(text))
    if one.prose and not everywhere and not re.search(r"[.!?:…][)”]?$", text.strip()):
        yield f"{one.where}: no full stop, in: {one.text}"


def _digits(text: str) -> Iterator[str]:
    """Yield estimates that have other digits than their interval, and intervals with more than their width allows."""
    for found in _INTERVAL.finditer(text):
        value, low, high = (part.replace("\u202f", "").replace("−", "-") for part in found.groups())
        most = places(float(low), float(high))
        if _decimals(value) != _decimals(low) or _decimals(low) != _decimals(high):
            yield f"digits that differ, {found[0]!r}"
        elif most is not None and _decimals(low) > max(most, 0) + 1:
            yield f"more digits than the error allows, {found[0]!r}"


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])


def repeated(texts: Iterable[Said], names: Iterable[str]) -> Iterator[str]:
    """Yield sentences that stand more than once, names aside."""
    given = tuple(names)
    sentences: Counter[str] = Counter()
    for one in texts:
        if one.prose:
            parts = re.split(r"(?<=[.!?]) (?=[A-Z“])", without_names(one.text, given))
            # findings may share an action
            sentences.update(part for part in parts if len(part) > 40 and not part.startswith("Action:"))
    yield from (f"{times} times: {sentence}" for sentence, times in sentences.items() if times > 1)
