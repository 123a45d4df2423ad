"""The sections of plugins in their slots, and every result that no section shows, by its kind."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

from ..core.model.results import Result
from ..core.support.errors import FOREIGN
from ..document import slots
from ..document.blocks import make_section, paragraphs
from ..document.document import Callout, Section
from ..document.text import clean, joined, name, spaced
from ..evidence import columns as col, ids
from ..reading.default_sections import part
from ..reading.run_reader import RunReader, SectionPlugin
from ..runner import plugins
from ..runner.plugins import Plugin
from .sections.reproducibility import foreign, group_of

_log = logging.getLogger(__name__)
S = TypeVar("S", Section, Section | None)
# results that the report's own chapters show
CHAPTERS_SHOW = frozenset({ids.COMPARE_IMPORTANCE, ids.COMPARE_RELIANCE, ids.COMPARE_SCORES, ids.SENSITIVITY})
# values of single observations, which other figures draw or the evidence alone holds
IN_EVIDENCE = frozenset({ids.PDP_OWN, ids.PDP_DISTRIBUTION, ids.PFI_DELTA, ids.SEGMENTS_ROWS, ids.SUPPORT_ROWS})


@dataclass(frozen=True)
class PluginSections:
    """The sections of plugins for one run, by slot."""

    evidence: RunReader

    def chapter(self, chapter: str) -> tuple[Section, ...]:
        """Return the sections of a chapter in the order of its slots, those of other distributions last."""
        return _sections(entry for entry in self._entries if slots.chapter_of(entry.slot) == chapter)

    def strangers(self) -> tuple[Section, ...]:
        """Return the sections of plugins of other distributions, and their results that no section shows."""
        return _sections(entry for entry in self._entries if entry.foreign)

    @cached_property
    def _entries(self) -> tuple[_Entry, ...]:
        """Every section of a plugin, then by explainer the results without a section."""
        run = self.evidence.run
        loaded = [pair for plugin in plugins.find(plugins.SECTIONS, run.denied) if (pair := _load(plugin))]
        entries = [_Entry(s.slot, partial(self._section, plugin, s), foreign(plugin)) for plugin, s in loaded]
        covered = CHAPTERS_SHOW.union(IN_EVIDENCE, *(section.shows for _, section in loaded))
        rest = [result for result in self.evidence.results if result.id not in covered]
        slot_of = {ids.explainer_of(key): s.slot for _, s in reversed(loaded) for key in s.shows}
        placed = {*slot_of, *map(ids.explainer_of, CHAPTERS_SHOW)}
        strangers = {p.name for p in run.plugins if group_of(p) == "explainers" and foreign(p)}
        for explainer in dict.fromkeys(result.explainer for result in rest):
            results = [result for result in rest if result.explainer == explainer]
            sections = partial(self._parts if explainer in placed else self._explainer, results)
            entries.append(_Entry(self._slot(explainer, results, slot_of), sections, explainer in strangers))
        return tuple(entries)

    def _slot(self, explainer: str, results: Iterable[Result], slot_of: Mapping[str, str]) -> str:
        """Return the slot that an explainer names, else that of its sections, else the drivers of its measures."""
        method = self.evidence.methods.get(explainer)
        if method is not None and slots.is_slot(method.section):
            return method.section
        if explainer in slot_of:
            return slot_of[explainer]
        measures = {str(measure) for result in results for measure in result.frame[col.MEASURE]}
        uncertain = any(self.evidence.is_uncertainty(measure) for measure in measures)
        return slots.UNCERTAINTY if uncertain else slots.PREDICTION

    def _section(self, plugin: Plugin, section: SectionPlugin) -> tuple[Section, ...]:
        part = guarded(lambda: section.section(self.evidence), str(plugin), plugin.name)
        return () if part is None else (part,)

    def _parts(self, results: Sequence[Result]) -> tuple[Section, ...]:
        """Return results by their kind."""
        e = self.evidence
        return tuple(guarded(partial(part, e, result), f"The result {result.id}", result.id) for result in results)

    def _explainer(self, results: Sequence[Result]) -> tuple[Section, ...]:
        """Return the section of an explainer whose results no section shows."""
        explainer = results[0].explainer
        method = self.evidence.methods.get(explainer)
        title = clean(method.card.title, 120) if method is not None else f"Explainer {name(explainer)}"
        definition = clean(method.card.definition) if method is not None else ""
        lead = paragraphs(spaced(_origin(self.evidence, explainer), definition))
        return (make_section(f"explainer-{explainer}", title, lead, self._parts(results)),)


def _load(plugin: Plugin) -> tuple[Plugin, SectionPlugin] | None:
    """Return the object of a section; the results of one that is broken are shown by their kind."""
    try:
        return plugin, plugins.load(plugin)()
    except FOREIGN as error:  # foreign code must not cost the report
        _log.warning("%s", error)
        return None


@dataclass(frozen=True)
class _Entry:
    """The content of a slot, made on demand, so that only the figures of a document are drawn."""

    slot: str
    sections: Callable[[], tuple[Section, ...]]
    foreign: bool


def _sections(entries: Iterable[_Entry]) -> tuple[Section, ...]:
    """Return the sections of entries in the order of their slots."""
    ordered = sorted(entries, key=lambda entry: slots.place_of(entry.slot))
    return tuple(section for entry in ordered for section in entry.sections())


def guarded(make: Callable[[], S], what: str, key: str) -> S | Section:
    """Return a section, or the reason why there is none: an error of a plugin must not stop the report."""
    try:
        return make()
    except FOREIGN as error:  # see above
        _log.warning("%s could not be shown", what, exc_info=True)
        text = f"{clean(what, 100)} could not be shown: {clean(error, 300)} Its numbers are in the evidence."
        blocks = (Callout(tone="warning", title="A part is missing", text=text),)
        return make_section(f"missing-{key}", clean(key, 120), blocks)


def _origin(e: RunReader, explainer: str) -> str:
    """Name the distribution of an explainer, if it is another than ours."""
    records = (p for p in e.run.plugins if p.name == explainer and p.group.endswith("explainers") and foreign(p))
    names = [f"{clean(p.distribution)} {clean(p.version)}" for p in records]
    return f"From the plugin package {joined(names)}." if names else ""
