"""The chapters of the full annex that methods fill, each with what a reader must know before them."""

from __future__ import annotations

from collections.abc import Mapping

from ...document import slots
from ...document.document import Badge, Block, Facts, Paragraph, Section
from ...document.evidence import OPEN, Evidence
from ...document.text import clean, items, joined, name, sentence
from ...evidence.finding import Outcome
from ...evidence.importance import Pfi
from ..optional import bullets, paragraphs, spaced
from ..placing import Placed
from .rules import STATES

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


def chapter(placed: Placed, key: str) -> Section:
    """Return a chapter: its lead, for soundness what people state, and what methods show."""
    e = placed.evidence
    more = (_reversed(e), e.group_words) if key == slots.PREDICTION else ()
    own = (_assumptions(e), _directions(e)) if key == SOUNDNESS else ()
    blocks = paragraphs(spaced(LEADS[key], *more))
    return Section(id=key, title=CHAPTERS[key], blocks=blocks, sections=(*own, *placed.chapter(key)))


def _reversed(e: Evidence) -> str:
    """Name the measures whose signs read the other way round."""
    view = Pfi.find(e.run)
    facts = [] if view is None else [e.words(measure, view.result) for measure in view.measures]
    titles = [measure.title for measure in facts if measure.sign < 0]
    return f"Of {joined(titles)} it is the other way round: lower values are worse or less certain." if titles else ""


def _assumptions(e: Evidence) -> Section:
    title, text = "Assumptions and design choices", e.about("assumptions")
    block: Block = Paragraph(text=text) if text else Facts(rows=((title, OPEN),))
    return Section(id="assumptions", title=title, blocks=(block,))


def _directions(e: Evidence) -> Section:
    """Return how the check of stated directions ended, whatever it is called."""
    outcomes = [o for o in e.run.outcomes if any(rule.code.startswith(DIRECTIONS) for rule in o.rules)]
    blocks = tuple(block for outcome in outcomes for block in _ended(outcome))
    blocks = blocks or paragraphs("No check held the effects against a stated direction.")
    return Section(id="directions", title="Stated directions of effects", blocks=blocks)


def _ended(outcome: Outcome) -> tuple[Block, ...]:
    badge = Badge(outcome.state.replace("_", " "), STATES[outcome.state])
    rows = ((name(outcome.title or outcome.check), badge), ("Why", sentence(outcome.reason) or "see the findings"))
    findings = (f for f in outcome.findings if f.code.startswith(DIRECTIONS))
    texts = (f"{f.code} ({f.severity}) {joined(items(f.features))}: {clean(f.statement)}" for f in findings)
    return (Facts(rows=rows), *bullets(texts))
