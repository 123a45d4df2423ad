"""What drives the prediction, the loss and the uncertainty: side by side, then each measure with all it rests on."""

from __future__ import annotations

from ...core.results import Result
from ...plots import importance
from ..blocks import TOP, intervals_caption, left_out, make_figure
from ..document import Block, Paragraph, Section
from ..evidence import Evidence
from ..questions import answers
from ..tables import importance_table
from ..telling import importance_alt, largest_words, margin_words, verdict_words
from .extras import extras
from .ranking import rank_matrix, side_by_side
from .training import training

TITLE = "What drives the prediction, the loss and the uncertainty"
LEAD = (
    "Permutation importance is the mean change of a measure when the values of a feature are shuffled between rows: "
    "of the loss, of the negative log-likelihood (nll, how badly the outcome was foreseen), or of the entropy (how "
    "unsure the model says it is). Signs are kept: below 0 the model does better, or becomes surer, without the "
    "feature's own values."
)
KNOWN = ("pfi", "pfi.train", "pfi.reading", "pfi.delta")


def drivers(e: Evidence) -> Section:
    """Return the rankings of all questions and methods, and permutation importance by measure."""
    told = answers(e)
    blocks: list[Block] = [
        Paragraph(text=f"{LEAD} {e.group_words}".strip()),
        *e.warning([answer.measure for answer in told]),
    ]
    blocks += side_by_side(told)
    if e.find("agreement") is None:  # which shows the ranks with their intervals
        blocks += rank_matrix(e)
    result = e.find("pfi")
    if result is None:
        blocks.append(Paragraph(text=f"Permutation importance: {e.why_missing('pfi')}"))
        return Section(id="drivers", title=TITLE, blocks=tuple(blocks))
    measures = [str(m) for m in dict.fromkeys(result.estimates["measure"])]
    sections = (*(_measure(e, result, m) for m in measures), *training(e, result), *extras(e, "pfi", KNOWN))
    return Section(id="drivers", title=TITLE, blocks=(*blocks, *left_out(result)), sections=sections)


def _measure(e: Evidence, result: Result, measure: str) -> Section:
    """Return one measure's permutation importance."""
    said = e.words(measure)
    table = result.estimates[result.estimates["measure"] == measure]
    text = " ".join(filter(None, (largest_words(table, said), verdict_words(table), margin_words(table, said.unit))))
    capped = f", the {TOP} largest of {len(table)}" if len(table) > TOP else ""
    figure = make_figure(
        f"drivers-{measure}-figure",
        f"Permutation importance for {said.title}{capped}. {intervals_caption(table)}{_spread(result)}",
        importance_alt(table, said, TOP),
        lambda: importance.draw(result, measure, top=TOP),
        result.id,
    )
    table_ = importance_table(e, result, measure, f"drivers-{measure}-table")
    blocks = (*e.warning([measure]), Paragraph(text=text), figure, table_)
    return Section(id=f"drivers-{measure}", title=f"Importance for {said.title}", blocks=blocks)


def _spread(result: Result) -> str:
    """Say what the thin lines are."""
    said = result.meta.get("spread")
    return f" Thin lines: {said}, which is no interval." if said else ""
