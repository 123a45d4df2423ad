"""The contract of sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args

from ..document.document import Block, Section
from ..reading.run_reader import RunReader, SectionPlugin
from ..runner import figures, plugins
from .contract import require, require_declared
from .known import EMPTY, known_runs

_PLAIN = (str, int, float, bool, bytes, type(None))


def section_checks() -> tuple[Callable[[type[SectionPlugin]], None], ...]:
    """Return every check of a section class."""
    return (
        check_section_declares_itself,
        check_section_takes_any_run,
        check_section_ids_are_unique,
        check_section_holds_plain_data,
    )


def check_section_declares_itself(cls: type[SectionPlugin]) -> None:
    """Require the members of the contract, a slot in a chapter of the report, and ids it shows."""
    require_declared(plugins.SECTIONS, cls)
    require(bool(cls.shows), cls, "must name the results it shows")


def check_section_takes_any_run(cls: type[SectionPlugin]) -> None:
    """Require a Section or None, with results and on a run without any."""
    for section in (cls().section(RunReader(EMPTY)), *_sections(cls)):
        require(section is None or isinstance(section, Section), cls, f"must return a Section or None; got {section!r}")


def check_section_ids_are_unique(cls: type[SectionPlugin]) -> None:
    """Require that no section, table or figure has the id of another, and none is empty."""
    for section in filter(None, _sections(cls)):
        counts = Counter(_ids(section))
        repeated = sorted(key for key, times in counts.items() if times > 1 or not key)
        require(not repeated, cls, f"must give every section, table and figure an id of its own; got {repeated}")


def check_section_holds_plain_data(cls: type[SectionPlugin]) -> None:
    """Require blocks of the document's types that hold text, numbers and bytes only."""
    for section in filter(None, _sections(cls)):
        for block in _blocks(section):
            require(isinstance(block, get_args(Block)), cls, f"must hold blocks of the document; got {block!r}")
            for value in _values(block):
                kind = type(value).__name__
                require(type(value) in _PLAIN, cls, f"must hold text, numbers and bytes only; got a {kind}")


@cache
def _sections(cls: type[SectionPlugin]) -> tuple[Section | None, ...]:
    """Return the sections of runs with results, drawn once."""
    return tuple(cls().section(RunReader(run, figures.draw)) for run in known_runs())


def _blocks(section: Section) -> Iterator[Block]:
    yield from section.blocks
    for inner in section.sections:
        yield from _blocks(inner)


def _ids(section: Section) -> Iterator[str]:
    yield section.id
    yield from (block.id for block in section.blocks if hasattr(block, "id"))
    for inner in section.sections:
        yield from _ids(inner)


def _values(part: Any) -> Iterator[Any]:
    """Yield what a block holds, whatever it is nested in."""
    if isinstance(part, tuple):
        for item in part:
            yield from _values(item)
    elif is_dataclass(part):
        for field in fields(part):
            yield from _values(getattr(part, field.name))
    else:
        yield part
