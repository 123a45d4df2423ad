"""Words and works: the terms this report uses, and the sources it cites, in full."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...core.references import WORKS
from ..document import Badge, Block, Bullets, Callout, Cell, Columns, Facts, Figure, Paragraph, Section, Table

# term -> what it means here; printed where a report uses the term
TERMS = {
    "ALE": "Accumulated local effects: the mean change of a measure along a feature, from changes inside small bins.",
    "aleatoric": "The uncertainty inside the members of an ensemble: the mean of their entropies or variances.",
    "Brier": "Sum over classes of the squared difference between probability and outcome, between 0 and 2.",
    "calibration": "Agreement between stated probabilities or intervals and what happened.",
    "CID": "Covered information disentanglement: how much of a feature's information on the outcome others repeat.",
    "confidence gap": "Mean of negative log-likelihood less entropy; above 0 for an over-confident model.",
    "coverage": "Share of outcomes inside an interval of a stated level.",
    "CRPS": "Continuous ranked probability score: squared distance of a predicted distribution to the outcome.",
    "entropy": "How unsure a predictive distribution is, in nats; of a density it can be negative.",
    "epistemic": "The uncertainty that comes from disagreement between the members of an ensemble.",
    "H-statistic": "Share of a joint effect that is no sum of single effects; a measure of interaction.",
    "Holm": "A rule that adjusts several tests, so that any false rejection stays as rare as the level says.",
    "ICE": "Individual conditional expectation: one row's measure as one feature is changed.",
    "Kendall": "τ-b: agreement of two rankings, between −1 and 1.",
    "nats": "Unit of information with natural logarithms; 0.69 nats are one bit.",
    "nll": "Negative log-likelihood: how badly a predictive distribution foresaw the outcome, in nats.",
    "PDP": "Partial dependence: the mean over rows of the ICE curves.",
    "PFI": "Permutation feature importance: mean change of a measure when a feature is shuffled between rows.",
    "PIT": "Probability integral transform: predicted probability of values up to the outcome; uniform if calibrated.",
    "predictive distribution": "What the model says of the outcome of one row: all values with their probabilities.",
    "R-sens": "Size of the change of a predictive distribution for a small change of a feature.",
    "Shapley": "A split of one prediction's measure among the features that is fair by four axioms.",
    "support": "Where the reference rows lie; outside it a model extrapolates.",
    "waiver": "A finding somebody answers for until a stated day: it is shown, and is not open.",
}


def references(sections: Iterable[Section | None]) -> Section:
    """Return the glossary of the terms, and the list of the works, that stand in `sections`."""
    text = "\n".join(_texts(section for section in sections if section is not None))
    terms = [(term, told) for term, told in TERMS.items() if re.search(rf"\b{re.escape(term)}\b", text, re.IGNORECASE)]
    works = tuple(f"{work.short.rstrip('.')}. {work.full}" for work in WORKS.values() if work.short in text)
    told: Block = Bullets(items=works) if works else Paragraph(text="No work is cited.")
    said: Block = Facts(rows=tuple(terms)) if terms else Paragraph(text="No term needs words.")
    return Section(
        id="references",
        title="References and glossary",
        sections=(
            Section(id="works", title="Works cited in this report", blocks=(told,)),
            Section(id="glossary", title="Terms used in this report", blocks=(said,)),
        ),
        appendix=True,
    )


def _texts(sections: Iterable[Section]) -> Iterator[str]:
    """Yield every text of sections."""
    for section in sections:
        yield section.title
        for block in section.blocks:
            yield from _block(block)
        yield from _texts(section.sections)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph | Callout):
        yield block.text
    elif isinstance(block, Bullets):
        yield from block.items
    elif isinstance(block, Facts):
        for label, cell in block.rows:
            yield from (label, _cell(cell))
    elif isinstance(block, Table):
        yield from (block.caption, block.note, *(column.label for column in block.columns))
        yield from (_cell(cell) for row in block.rows for cell in row)
    elif isinstance(block, Figure):
        yield from (block.caption, block.alt)
    elif isinstance(block, Columns):
        for side in (block.left, block.right):
            yield from _block(side) if side is not None else ()


def _cell(cell: Cell) -> str:
    return cell.text if isinstance(cell, Badge) else cell if isinstance(cell, str) else ""
