"""Requirements of outside texts and where this report has evidence for them: dated data files, one per text."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


class Requirement(NamedTuple):
    """One point of a text.

    `evidence` names what is needed, all of it: a result or an explainer by its id, a check (``check:calibration``),
    a text people give (``about:purpose``) or a record of the run (``run:hashes``); ``a | b`` means either. What only
    people can show has none. `people` is what they must add to that evidence in any case.
    """

    place: str
    asks: str
    evidence: tuple[str, ...]
    people: str


class Framework(NamedTuple):
    """One text: its status, what the mapping was read from, the date of the mapping, and its points."""

    title: str
    source: str
    status: str
    basis: str
    mapped: str
    requirements: tuple[Requirement, ...]


@lru_cache
def frameworks() -> tuple[Framework, ...]:
    """Return all mappings, by file name.

    Examples
    --------
    >>> [framework.title for framework in frameworks()][:2]
    ['EU AI Act, Annex IV', 'ISO/IEC 42001']
    """
    return tuple(_read(file) for file in sorted(FOLDER.glob("*.toml")))


def _read(file: Path) -> Framework:
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    points = (Requirement(**{**point, "evidence": tuple(point["evidence"])}) for point in content.pop("requirement"))
    return Framework(**content, requirements=tuple(points))
