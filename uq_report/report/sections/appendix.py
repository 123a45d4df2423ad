"""The appendix: rules, methods, settings and the cross-reference, and in full every table beyond the main part."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...document import slots
from ...document.blocks import bullets, make_section, paragraphs
from ...document.document import Block, Facts, Figure, Paragraph, Section, Table
from ...document.text import clean, items, joined, name, sentence, spaced
from ...evidence import ids
from ...evidence.finding import Outcome
from ...evidence.importance import Pfi
from ...reading.run_reader import OPEN, RunReader
from .. import FULL, NONE
from ..placing import PluginSections
from .comparison import changes_in_full
from .drivers import ranking_table, rankings
from .findings import checks_ended, monitoring, observations, rules, sensitivity, state_badge
from .limitations import detectable, limits_of_methods, omissions
from .mapping import mapping
from .model import data, model
from .reproducibility import methods, references, reproducibility

GATE = {
    "good": "Calibration is acceptable: the stated uncertainty may be interpreted as it is.",
    "bad": "Calibration is not acceptable: uncertainty in this report is as stated by the model.",
    "warning": "Calibration is inconclusive: uncertainty in this report is as stated by the model.",
    "unknown": "Calibration was not tested: uncertainty in this report is as stated by the model.",
}
INTERVALS = (
    "Unless stated otherwise, intervals are over new observations, given the fitted model; none covers refitting it."
)
SOUNDNESS = "soundness"
DIRECTIONS = "UQ90"  # codes of checks of effects against expected directions
# titles in their order
CHAPTERS: Mapping[str, str] = {
    SOUNDNESS: "Conceptual soundness",
    slots.PREDICTION: "Drivers of the loss and the prediction",
    slots.UNCERTAINTY: "Drivers of the uncertainty",
    "relations": "Dependence and agreement between methods",
    "robustness": "Interactions and training domain",
}
LEADS: Mapping[str, str] = {
    SOUNDNESS: (
        "Design choices and assumptions are justified by the owner of the model; the curves below are evidence for "
        "that. They describe the model, not causal effects."
    ),
    slots.PREDICTION: (
        "Permutation importance is the mean change of a measure when the values of a feature are permuted between "
        "observations. Signs are kept: below 0 the loss, or the uncertainty, decreases under permutation. "
        "Likelihood-PFI is that of the negative log-likelihood (nll), Entropy-PFI that of the predictive entropy; "
        "their difference is the part of the increase in log loss that the stated uncertainty does not "
        "signal. The Entropy-PFI of a feature that is independent of the others is 0 in expectation for every model, "
        "so it identifies no driver of the uncertainty."
    ),
    slots.UNCERTAINTY: (
        "R-sens is the sensitivity of the whole predictive distribution to a small change of a feature. Curves of "
        "entropy along features are in “Conceptual soundness”, permutation importance and Shapley values of entropy "
        "and nll in “Drivers of the loss and the prediction”."
    ),
    "relations": (
        "Evidence for the ranking in “Drivers”: redundancy between features, importance adjusted for redundancy, and "
        "the ranks of every method with their intervals."
    ),
    "robustness": (
        "The model and the test sample are fixed in this report. This section shows the sensitivity of the results to "
        "other choices. The model was not refitted: other training data, seeds and hyperparameters were not tried."
    ),
}


def appendix(
    e: RunReader, placed: PluginSections, front: Sequence[Section], digest: str, extent: str
) -> tuple[Section, ...]:
    """Return the appendix of an extent: none, the parts that a reviewer needs, or everything."""
    if extent == NONE:
        return ()
    whole = extent == FULL
    strangers = () if whole else placed.strangers()
    others = (make_section("plugins-shown", "Results of other packages", parts=strangers),) if strangers else ()
    methods_show = _by_method(e, placed) if whole else others
    audited = (observations(e), checks_ended(e), sensitivity(e), detectable(e))
    record = (
        replace(rules(e), sections=tuple(filter(None, audited))),
        methods(e) if whole else ranked(e, methods(e, whole=False)),
        model(e, whole=whole),
        data(e, placed, whole=whole),
        reproducibility(e, digest, whole=whole),
    )
    first, *rest = _beyond((*record, *methods_show), {*_ids(front)})
    waived = " Its finding is waived." if e.gate.word.endswith("waived") else ""
    head = paragraphs(f"{GATE[e.gate.tone]}{waived} {INTERVALS}")
    headed = (replace(first, blocks=(*head, *first.blocks)), *rest)
    parts = tuple(replace(part, appendix=True) for part in headed)
    parts += (mapping(e, (*front, *parts), whole=whole),)
    return (*parts, references((*front, *parts)))


def ranked(e: RunReader, methods: Section) -> Section:
    """Return the methods with the ranking of all features by each of them in numbers."""
    columns = rankings(e)
    if not columns:
        return methods
    numbers = make_section("drives-numbers", "The ranking in numbers", (ranking_table(e, columns),))
    return replace(methods, sections=(*methods.sections, numbers))


def _by_method(e: RunReader, placed: PluginSections) -> tuple[Section, ...]:
    """Return the tables and figures of every method."""
    results = (*placed.chapter("outcomes"), *placed.chapter("uncertainty-quality"))
    why = e.why_missing(ids.CALIBRATION)
    parts = (
        make_section("outcomes", "Outcomes in full", () if results else paragraphs(why), results),
        *(chapter(placed, key) for key in CHAPTERS),
        monitoring(e),
        changes_in_full(e),
        omissions(e),
        limits_of_methods(e),
    )
    return tuple(part for part in parts if part is not None)


def _beyond(sections: Iterable[Section], front: set[str]) -> tuple[Section, ...]:
    """Return sections without the sections, tables and figures of the main part."""
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
    """Return a chapter: its lead, for soundness the stated assumptions, and the sections of methods."""
    e = placed.evidence
    more = (_reversed(e), e.group_words) if key == slots.PREDICTION else ()
    own = (_assumptions(e), _directions(e)) if key == SOUNDNESS else ()
    blocks = paragraphs(spaced(LEADS[key], *more))
    return make_section(key, CHAPTERS[key], blocks, (*own, *placed.chapter(key)))


def _reversed(e: RunReader) -> str:
    """Name the measures with reversed signs."""
    view = Pfi.find(e.run)
    facts = [] if view is None else [e.words(measure, view.result) for measure in view.measures]
    titles = [measure.title for measure in facts if measure.sign < 0]
    return f"Signs are reversed for {joined(titles)}: lower values are worse or less certain." if titles else ""


def _assumptions(e: RunReader) -> Section:
    title, text = "Assumptions and design choices", e.about("assumptions")
    block: Block = Paragraph(text=text) if text else Facts(rows=((title, OPEN),))
    return make_section("assumptions", title, (block,))


def _directions(e: RunReader) -> Section:
    """Return the state of the checks of stated directions."""
    outcomes = [o for o in e.run.outcomes if any(rule.code.startswith(DIRECTIONS) for rule in o.rules)]
    blocks = tuple(block for outcome in outcomes for block in _ended(outcome))
    blocks = blocks or paragraphs("No check compared the effects with a stated direction.")
    return make_section("directions", "Stated directions of effects", blocks)


def _ended(outcome: Outcome) -> tuple[Block, ...]:
    badge = state_badge(outcome.state)
    rows = ((name(outcome.title or outcome.check), badge), ("Reason", sentence(outcome.reason) or "see the findings"))
    findings = (f for f in outcome.findings if f.code.startswith(DIRECTIONS))
    texts = (f"{f.code} ({f.severity}) {joined(items(f.features))}: {clean(f.statement)}" for f in findings)
    return (Facts(rows=rows), *bullets(texts))
