"""The contracts of figures, sections and renderers."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from ..core.support.errors import InputError
from ..document.document import Block, Renderer, Section
from ..document.plots.registered import FigurePlugin
from ..reading.run_reader import RunReader, SectionPlugin
from ..runner import figures, plugins
from .known import EMPTY, known_document, known_runs, require, require_declared


def figure_checks() -> tuple[Callable[[type[FigurePlugin]], None], ...]:
    """Return every check of a figure class."""
    return (check_figure_declares_itself, check_figure_draws_its_results, check_figure_leaves_pyplot_alone)


def check_figure_declares_itself(cls: type[FigurePlugin]) -> None:
    """Require the members of the contract."""
    require_declared(plugins.FIGURES, cls)


def check_figure_draws_its_results(cls: type[FigurePlugin]) -> None:
    """Require figures of the results with its id or of its kind, alone and beside others; what is empty is refused."""
    figures = list(_figures(cls))
    require(bool(figures), cls, "must be named after the id or the kind of results that an installed explainer gives")
    for figure in figures:
        require(isinstance(figure, Figure), cls, f"must return a matplotlib Figure; got {figure!r}")


def check_figure_leaves_pyplot_alone(cls: type[FigurePlugin]) -> None:
    """Require that drawing opens no figure of pyplot and changes no setting of matplotlib."""
    before = plt.get_fignums(), dict(mpl.rcParams)
    for _ in _figures(cls, every=False):
        after = plt.get_fignums(), dict(mpl.rcParams)
        require(after == before, cls, "must not open figures of pyplot or change rcParams: make a matplotlib Figure")


def _figures(cls: type[FigurePlugin], *, every: bool = True) -> Iterator[Figure]:
    """Yield the figures of each result of runs of known truth, of each id or `every` one, alone and beside others."""
    others_draw = {plugin.name for plugin in plugins.find(plugins.FIGURES)}
    shown = {(k * every, result.id): (run, result) for k, run in enumerate(known_runs()) for result in run.results}
    for run, result in shown.values():
        if cls.name == result.id or (cls.name == result.kind and result.id not in others_draw):
            siblings = [other for other in run.results if other.explainer == result.explainer]
            with suppress(InputError):  # a result without values may be refused
                yield figures.draw(result, figure=cls())
                yield figures.draw(result, figure=cls(), others=siblings)


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
        counts = Counter(part.id for part in _parts(section) if hasattr(part, "id"))
        repeated = sorted(key for key, times in counts.items() if times > 1 or not key)
        require(not repeated, cls, f"must give every section, table and figure an id of its own; got {repeated}")


def check_section_holds_plain_data(cls: type[SectionPlugin]) -> None:
    """Require blocks of the document's types that hold text, numbers and bytes only."""
    for section in filter(None, _sections(cls)):
        for block in (part for part in _parts(section) if not isinstance(part, Section)):
            require(isinstance(block, get_args(Block)), cls, f"must hold blocks of the document; got {block!r}")
            for value in _values(block):
                kind = type(value).__name__
                require(type(value) in _PLAIN, cls, f"must hold text, numbers and bytes only; got a {kind}")


@cache
def _sections(cls: type[SectionPlugin]) -> tuple[Section | None, ...]:
    """Return the sections of runs with results, drawn once."""
    return tuple(cls().section(RunReader(run, figures.draw)) for run in known_runs())


def _parts(section: Section) -> Iterator[Section | Block]:
    """Yield a section, its blocks, and those of the sections in it."""
    yield section
    yield from section.blocks
    for inner in section.sections:
        yield from _parts(inner)


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


def renderer_checks() -> tuple[Callable[[type[Renderer]], None], ...]:
    """Return every check of a renderer class."""
    return (check_renderer_declares_itself, check_renderer_is_a_pure_function)


def check_renderer_declares_itself(cls: type[Renderer]) -> None:
    """Require the members of the contract, and an extension with its dot."""
    require_declared(plugins.RENDERERS, cls)
    require(cls.extension.startswith("."), cls, f"must have an extension with its dot; got {cls.extension!r}")


def check_renderer_is_a_pure_function(cls: type[Renderer]) -> None:
    """Require that a document with every kind of block gives bytes, the same ones each time."""
    first, second = cls().render(known_document()), cls().render(known_document())
    require(isinstance(first, bytes) and bool(first), cls, "must return bytes")
    require(first == second, cls, "must give the same bytes for the same document")
