"""The appendix: rules, methods, settings and mapping for those who check, and in full every table beyond the front."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...document import slots
from ...document.blocks import bullets, make_section, paragraphs
from ...document.document import Badge, Block, Facts, Figure, Paragraph, Section, Table
from ...document.text import clean, items, joined, name, sentence, spaced
from ...evidence.finding import Outcome
from ...evidence.importance import Pfi
from ...reading.run_reader import OPEN, RunReader
from .. import FULL, NONE
from ..placing import PluginSections
from .comparison import changes_in_full
from .findings import STATES, checks_ended, monitoring, rules
from .limitations import limits_of_methods, omissions
from .mapping import mapping
from .model import data, model
from .outcomes import outcomes_in_full
from .reproducibility import methods, references, reproducibility
from .uncertainty import calibration_in_full

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
SOUNDNESS = "soundness"
DIRECTIONS = "UQ90"  # codes of checks that hold effects against what people expect
# titles in their order
CHAPTERS: Mapping[str, str] = {
    SOUNDNESS: "Conceptual soundness",
    slots.PREDICTION: "Drivers of the prediction",
    slots.UNCERTAINTY: "Drivers of the uncertainty",
    "relations": "Dependence and agreement between methods",
    "robustness": "Sensitivity, support and stability",
}
LEADS: Mapping[str, str] = {
    SOUNDNESS: (
        "Whether design choices and assumptions hold is for people to argue; the curves below are evidence for that "
        "argument. They show what the model does, not what the world does."
    ),
    slots.PREDICTION: (
        "Permutation importance is the mean change of a measure when the values of a feature are shuffled between "
        "rows. Signs are kept: below 0 the model does better, or becomes surer, without the feature's own values."
    ),
    slots.UNCERTAINTY: (
        "Likelihood-PFI is the change of the negative log-likelihood (nll, how badly the outcome was foreseen) when a "
        "feature is shuffled, Entropy-PFI the change of the entropy (how unsure the model says it is). R-sens moves "
        "each feature a little instead and asks how far the whole predictive distribution moves. Curves of entropy "
        "along features stand in “Conceptual soundness”, Shapley values of entropy and nll in “Drivers of the "
        "prediction”."
    ),
    "relations": (
        "What the ranking in “What drives it” rests on: how features repeat each other, importance corrected for it, "
        "and the ranks of every method with their intervals."
    ),
    "robustness": (
        "The model and its rows are held fixed in this report. This section asks what else could move the numbers; "
        "groups of rows stand in “Outcomes analysis”. The model was not fitted again: other training rows, seeds of "
        "the fit and hyperparameters were not tried."
    ),
}


def appendix(
    e: RunReader, placed: PluginSections, front: Sequence[Section], digest: str, extent: str
) -> tuple[Section, ...]:
    """Return the appendix of an extent: nothing, what a check of the document needs, or everything."""
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
    waived = " Its finding is waived." if e.gate.word.endswith("waived") else ""
    head = paragraphs(f"{GATE[e.gate.tone]}{waived} {INTERVALS}")
    headed = (replace(first, blocks=(*head, *first.blocks)), *others)
    parts = tuple(replace(part, appendix=True) for part in headed)
    parts += (mapping(e, (*front, *parts), whole=whole),)
    return (*parts, references((*front, *parts)))


def _by_method(e: RunReader, placed: PluginSections) -> tuple[Section, ...]:
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


def _by_strangers(placed: PluginSections) -> tuple[Section, ...]:
    """Return what plugins of other distributions show, which stands in a report as our own does."""
    sections = placed.strangers()
    return (make_section("plugins-shown", "Shown by other packages", parts=sections),) if sections else ()


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


def chapter(placed: PluginSections, key: str) -> Section:
    """Return a chapter: its lead, for soundness what people state, and what methods show."""
    e = placed.evidence
    more = (_reversed(e), e.group_words) if key == slots.PREDICTION else ()
    own = (_assumptions(e), _directions(e)) if key == SOUNDNESS else ()
    blocks = paragraphs(spaced(LEADS[key], *more))
    return make_section(key, CHAPTERS[key], blocks, (*own, *placed.chapter(key)))


def _reversed(e: RunReader) -> str:
    """Name the measures whose signs read the other way round."""
    view = Pfi.find(e.run)
    facts = [] if view is None else [e.words(measure, view.result) for measure in view.measures]
    titles = [measure.title for measure in facts if measure.sign < 0]
    return f"Of {joined(titles)} it is the other way round: lower values are worse or less certain." if titles else ""


def _assumptions(e: RunReader) -> Section:
    title, text = "Assumptions and design choices", e.about("assumptions")
    block: Block = Paragraph(text=text) if text else Facts(rows=((title, OPEN),))
    return make_section("assumptions", title, (block,))


def _directions(e: RunReader) -> Section:
    """Return how the check of stated directions ended, whatever it is called."""
    outcomes = [o for o in e.run.outcomes if any(rule.code.startswith(DIRECTIONS) for rule in o.rules)]
    blocks = tuple(block for outcome in outcomes for block in _ended(outcome))
    blocks = blocks or paragraphs("No check held the effects against a stated direction.")
    return make_section("directions", "Stated directions of effects", blocks)


def _ended(outcome: Outcome) -> tuple[Block, ...]:
    badge = Badge(outcome.state.replace("_", " "), STATES[outcome.state])
    rows = ((name(outcome.title or outcome.check), badge), ("Why", sentence(outcome.reason) or "see the findings"))
    findings = (f for f in outcome.findings if f.code.startswith(DIRECTIONS))
    texts = (f"{f.code} ({f.severity}) {joined(items(f.features))}: {clean(f.statement)}" for f in findings)
    return (Facts(rows=rows), *bullets(texts))
