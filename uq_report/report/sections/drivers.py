"""What drives the prediction and its loss, and what drives the uncertainty: each measure with all it rests on."""

from __future__ import annotations

from collections.abc import Callable

from ...core.results import Result
from ...plots import importance
from ..blocks import TOP, intervals_caption, left_out, make_figure
from ..document import Block, Paragraph, Section
from ..evidence import Evidence
from ..tables import importance_table
from ..telling import importance_alt, largest_words, margin_words, verdict_words
from .extras import extras
from .libraries import dalex, others, shap
from .likelihood_map import likelihood_map
from .sensitivity import sensitivity

PREDICTION, UNCERTAINTY = "Drivers of the prediction", "Drivers of the uncertainty"
LEAD = (
    "Permutation importance is the mean change of a measure when the values of a feature are shuffled between rows. "
    "Signs are kept: below 0 the model does better, or becomes surer, without the feature's own values."
)
OF_UNCERTAINTY = (
    "Likelihood-PFI is the change of the negative log-likelihood (nll, how badly the outcome was foreseen) when a "
    "feature is shuffled, Entropy-PFI the change of the entropy (how unsure the model says it is). R-sens moves each "
    "feature a little instead and asks how far the whole predictive distribution moves. Curves of entropy along "
    "features stand in “Conceptual soundness”, Shapley values of entropy and nll in “Drivers of the prediction”."
)
KNOWN = ("pfi", "pfi.train", "pfi.reading", "pfi.delta")


def prediction(e: Evidence) -> Section:
    """Return importance for the prediction and its loss, SHAP and DALEX, and what strangers explain of them."""
    parts = (*_measures(e, lambda m: not is_uncertainty(e, m)), *extras(e, "pfi", KNOWN), shap(e), dalex(e))
    blocks = (Paragraph(text=f"{LEAD} {e.group_words}".strip()), *_pfi(e))
    return Section(
        id="prediction",
        title=PREDICTION,
        blocks=blocks,
        sections=(*parts, *others(e, lambda ms: not any(is_uncertainty(e, m) for m in ms))),
    )


def uncertainty_drivers(e: Evidence) -> Section:
    """Return importance for nll and entropy, their map, R-sens, and what strangers explain of uncertainty."""
    of_pfi, map_ = _measures(e, lambda m: is_uncertainty(e, m)), likelihood_map(e)
    parts = (*of_pfi, *([map_] if map_ is not None else []), sensitivity(e))
    absent = () if of_pfi else (Paragraph(text=f"Permutation importance: {e.why_missing('pfi')}"),)
    return Section(
        id="uncertainty",
        title=UNCERTAINTY,
        blocks=(Paragraph(text=OF_UNCERTAINTY), *e.warning(("nll", "entropy")), *absent),
        sections=(*parts, *others(e, lambda ms: any(is_uncertainty(e, m) for m in ms))),
    )


def is_uncertainty(e: Evidence, measure: str) -> bool:
    """Say whether a measure belongs to the uncertainty: its role, or the log score, which judges it."""
    return measure == "nll" or e.words(measure).role == "uncertainty"


def _pfi(e: Evidence) -> tuple[Block, ...]:
    result = e.find("pfi")
    return left_out(result) if result else (Paragraph(text=f"Permutation importance: {e.why_missing('pfi')}"),)


def _measures(e: Evidence, fits: Callable[[str], bool]) -> tuple[Section, ...]:
    result = e.find("pfi")
    held = dict.fromkeys(map(str, result.estimates["measure"])) if result is not None else ()
    return tuple(_measure(e, result, m) for m in held if result is not None and fits(m))


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
