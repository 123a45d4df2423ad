"""The sections of plugins in their slots, and every result that no section shows, by its kind."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..core.results import Result
from ..document import slots
from ..document.by_kind import part
from ..document.contract import SectionPlugin
from ..document.document import Callout, Paragraph, Section
from ..document.evidence import Evidence
from ..document.text import clean, joined, name
from ..evidence import columns as col
from ..evidence import ids
from ..runner import plugins
from ..runner.plugins import Plugin
from .sections.inventory import foreign, group_of

_log = logging.getLogger(__name__)
# results that the report's own chapters show
CHAPTERS_SHOW = frozenset({
    ids.CALIBRATION, ids.CALIBRATION_COVERAGE, ids.CALIBRATION_DECISIONS, ids.CALIBRATION_PIT,
    ids.CALIBRATION_RELIABILITY,
    ids.COMPARE_IMPORTANCE, ids.COMPARE_RELIANCE, ids.COMPARE_SCORES,
})  # fmt: skip


@dataclass(frozen=True)
class Placed:
    """The sections of plugins for one run, by slot."""

    evidence: Evidence

    def chapter(self, chapter: str) -> tuple[Section, ...]:
        """Return what stands in a chapter, in the order of its slots; strangers behind what we place."""
        return _made(entry for entry in self._entries if slots.chapter_of(entry.slot) == chapter)

    def strangers(self) -> tuple[Section, ...]:
        """Return what plugins of other distributions show, and the results of theirs that no section shows."""
        return _made(entry for entry in self._entries if entry.foreign)

    @cached_property
    def _entries(self) -> tuple[_Entry, ...]:
        """Every section of a plugin, then by explainer the results that none of them shows."""
        loaded = [one for one in map(_load, self._registered) if one is not None]
        shown = CHAPTERS_SHOW.union(*(one.section.shows for one in loaded))
        rest = [result for result in self.evidence.results if result.id not in shown]
        entries = [self._own(one) for one in loaded]
        slot_of = {ids.explainer_of(key): one.section.slot for one in reversed(loaded) for key in one.section.shows}
        for explainer in dict.fromkeys(result.explainer for result in rest):
            results = [result for result in rest if result.explainer == explainer]
            placed = explainer in slot_of or explainer in {ids.explainer_of(key) for key in CHAPTERS_SHOW}
            slot, foreign = self._slot(explainer, results, slot_of), explainer in self._foreign
            sections = self._extras(results) if placed else self._explainer(explainer, results)
            entries.append(_Entry(slot, sections, foreign))
        return tuple(entries)

    @cached_property
    def _registered(self) -> tuple[Plugin, ...]:
        return plugins.find(plugins.SECTIONS, self.evidence.run.denied)

    @cached_property
    def _foreign(self) -> frozenset[str]:
        """The explainers of other distributions, as the run found them."""
        records = self.evidence.run.plugins
        return frozenset(p.name for p in records if group_of(p) == "explainers" and foreign(p))

    def _own(self, one: _Loaded) -> _Entry:
        return _Entry(one.section.slot, lambda: self._section(one), foreign(one.plugin))

    def _slot(self, explainer: str, results: Iterable[Result], slot_of: Mapping[str, str]) -> str:
        """Return where an explainer wants to stand, else the slot of its sections, else its measures' drivers."""
        method = self.evidence.methods.get(explainer)
        if method is not None and slots.is_slot(method.section):
            return method.section
        if explainer in slot_of:
            return slot_of[explainer]
        measures = {str(measure) for result in results for measure in result.frame[col.MEASURE]}
        unsure = any(self.evidence.is_uncertainty(measure) for measure in measures)
        return slots.UNCERTAINTY if unsure else slots.PREDICTION

    def _section(self, one: _Loaded) -> tuple[Section, ...]:
        section = guarded(lambda: one.section.section(self.evidence), str(one.plugin), one.plugin.name)
        return () if section is None else (section,)

    def _extras(self, results: list[Result]) -> Callable[[], tuple[Section, ...]]:
        return lambda: tuple(_shown(self.evidence, result) for result in results)

    def _explainer(self, explainer: str, results: list[Result]) -> Callable[[], tuple[Section, ...]]:
        """Return the section of an explainer whose results no section shows."""
        e, method = self.evidence, self.evidence.methods.get(explainer)
        title = clean(method.card.title, 120) if method is not None else f"Explainer {name(explainer)}"
        words = (_origin(e, explainer), clean(method.card.definition) if method is not None else "")

        def sections() -> tuple[Section, ...]:
            parts = tuple(_shown(e, result) for result in results)
            lead = Paragraph(text=" ".join(filter(None, words)))
            return (Section(id=f"explainer-{explainer}", title=title, blocks=(lead,), sections=parts),)

        return sections


@dataclass(frozen=True)
class _Loaded:
    """A registered section, and its object."""

    plugin: Plugin
    section: SectionPlugin


def _load(plugin: Plugin) -> _Loaded | None:
    """Return a section's object; without a broken one, its results stand by their kind."""
    try:
        return _Loaded(plugin, plugins.load(plugin)())
    except Exception as error:  # noqa: BLE001 - foreign code must not cost the report
        _log.warning("%s", error)
        return None


@dataclass(frozen=True)
class _Entry:
    """Something that stands in a slot, made on demand: what no document asks for is not drawn."""

    slot: str
    sections: Callable[[], tuple[Section, ...]]
    foreign: bool


def _made(entries: Iterable[_Entry]) -> tuple[Section, ...]:
    """Return the sections of entries in the order of their slots."""
    ordered = sorted(entries, key=lambda entry: slots.place_of(entry.slot))
    return tuple(section for entry in ordered for section in entry.sections())


def guarded(make: Callable[[], Section | None], what: str, key: str) -> Section | None:
    """Return a section, or the reason why there is none: foreign code and frames must not cost the report."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - see above
        _log.warning("%s could not be shown", what, exc_info=True)
        text = f"{clean(what, 100)} could not be shown: {clean(error, 300)} Its numbers are in the evidence."
        blocks = (Callout(tone="warning", title="A part is missing", text=text),)
        return Section(id=f"missing-{key}", title=clean(key, 120), blocks=blocks)


def _shown(e: Evidence, result: Result) -> Section:
    section = guarded(lambda: part(e, result), f"The result {result.id}", result.id)
    return section if section is not None else Section(id=f"result-{result.id}", title=clean(result.title, 120))


def _origin(e: Evidence, explainer: str) -> str:
    """Say which distribution an explainer comes from."""
    records = (p for p in e.run.plugins if p.name == explainer and p.group.endswith("explainers"))
    names = [f"{clean(p.distribution)} {clean(p.version)}" for p in records]
    return f"From the plugin package {joined(names)}." if names else ""
