"""The annex: rules, methods, settings and mapping for those who check, and in full every table beyond the front."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..document.document import Figure, Paragraph, Section, Table
from ..document.evidence import Evidence
from .placing import Placed
from .sections.changes import changes_in_full
from .sections.chapters import CHAPTERS, chapter
from .sections.data import data
from .sections.limitations import limits_of_methods, omissions
from .sections.mapping import mapping
from .sections.methods import methods
from .sections.model import model
from .sections.monitoring import monitoring
from .sections.outcomes import outcomes_in_full
from .sections.references import references
from .sections.reproducibility import reproducibility
from .sections.rules import checks_ended, rules
from .sections.uncertainty import calibration_in_full

NONE, SHORT, FULL = "none", "short", "full"
EXTENTS = (NONE, SHORT, FULL)
GATE = {
    "good": "The calibration check passed: what the model says of its uncertainty may be read as it stands.",
    "bad": "The calibration check failed: what is shown of uncertainty is what the model says of itself.",
    "warning": "These rows cannot show whether the model is calibrated: what is shown of uncertainty is what the model "
    "says of itself.",
    "unknown": "Calibration was not assessed: what is shown of uncertainty is what the model says of itself.",
}
INTERVALS = (
    "Intervals are over new rows, given the fitted model, where nothing else is said: none covers fitting it to other "
    "rows."
)


def annex(e: Evidence, placed: Placed, front: Sequence[Section], digest: str, extent: str) -> tuple[Section, ...]:
    """Return the annex of an extent: nothing, what a check of the document needs, or everything."""
    if extent == NONE:
        return ()
    whole = extent == FULL
    methods_show = _by_method(e, placed) if whole else _by_strangers(placed)
    record = (
        replace(rules(e), sections=(checks_ended(e),)),
        methods(e, whole=whole),
        model(e, whole=whole),
        data(e, placed, whole=whole),
        reproducibility(e, digest, whole=whole),
    )
    first, *others = _beyond((*record, *methods_show), {*_ids(front)})
    headed = (replace(first, blocks=(_head(e), *first.blocks)), *others)
    parts = tuple(replace(part, appendix=True) for part in headed)
    parts += (mapping(e, (*front, *parts), whole=whole),)
    return (*parts, references((*front, *parts)))


def _head(e: Evidence) -> Paragraph:
    """Return what holds for all of the annex: how the calibration check ended, and what intervals are."""
    waived = " Its finding is waived." if e.gate.word.endswith("waived") else ""
    return Paragraph(text=f"{GATE[e.gate.tone]}{waived} {INTERVALS}")


def _by_method(e: Evidence, placed: Placed) -> tuple[Section, ...]:
    """Return the tables and figures of every method."""
    results = outcomes_in_full(e, placed)
    parts = (
        replace(results, sections=(calibration_in_full(e), *results.sections)),
        *(chapter(placed, key) for key in CHAPTERS),
        monitoring(e),
        changes_in_full(e),
        omissions(e),
        limits_of_methods(e),
    )
    return tuple(part for part in parts if part is not None)


def _by_strangers(placed: Placed) -> tuple[Section, ...]:
    """Return what plugins of other distributions show, which stands in a report as our own does."""
    sections = placed.strangers()
    return (Section(id="plugins-shown", title="Shown by other packages", sections=sections),) if sections else ()


def _beyond(sections: Iterable[Section], front: set[str]) -> tuple[Section, ...]:
    """Return sections without the sections, tables and figures that the front part shows."""
    return tuple(
        replace(
            section,
            blocks=tuple(b for b in section.blocks if not (isinstance(b, Table | Figure) and b.id in front)),
            sections=_beyond(section.sections, front),
        )
        for section in sections
        if section.id not in front
    )


def _ids(sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        yield section.id
        yield from (block.id for block in section.blocks if isinstance(block, Table | Figure))
        yield from _ids(section.sections)
