"""DALEX and SHAP, and every explainer this package does not know: their results by kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ...core.results import Result
from ..document import Block, Callout, Paragraph, Section
from ..evidence import Evidence
from ..text import clean, name
from .by_kind import part

DALEX = (
    "dalex's own methods on the prediction, and on entropy and nll as if they were predictions. dalex reports no "
    "sampling intervals: compare its ranks with permutation importance above, whose intervals cover new rows."
)
SHAP = (
    "Shapley values split one row's prediction, entropy or nll among its features, fairly in the sense of Shapley's "
    "axioms, against background rows. They describe the model, not the world, and composite rows may lie outside the "
    "data."
)
# explainers whose results stand in a section of their own
PLACED = frozenset({
    "agreement", "ale", "calibration", "cid", "compare", "dalex", "data_quality", "groups", "h_statistic", "pdp", "pfi",
    "redundancy", "rsens", "shap", "support",
})  # fmt: skip


def dalex(e: Evidence) -> Section:
    """Return DALEX's results."""
    order = ("dalex.model_performance", "dalex.model_parts", "dalex.model_profile", "dalex.predict_parts")
    return _section(e, "dalex", "DALEX", DALEX, order)


def shap(e: Evidence) -> Section:
    """Return Shapley values, global and local."""
    return _section(e, "shap", "SHAP", SHAP, ("shap.importance", "shap"))


def others(e: Evidence, fits: Callable[[Collection[str]], bool]) -> tuple[Section, ...]:
    """Return a section for every other explainer, third-party ones included, whose measures fit."""
    measures: dict[str, set[str]] = {}
    for result in e.results:
        if result.explainer not in PLACED:
            measures.setdefault(result.explainer, set()).update(map(str, result.frame["measure"]))
    return tuple(
        _section(e, explainer, f"Explainer {name(explainer)}", _origin(e, explainer))
        for explainer, held in measures.items()
        if fits(held)
    )


def _section(e: Evidence, explainer: str, title: str, lead: str, order: Sequence[str] = ()) -> Section:
    """Return a part per result, in the given order of ids and then their own, or the reason why there is none."""
    results = sorted(e.of(explainer), key=lambda r: order.index(r.id) if r.id in order else len(order))
    text = [lead] if lead else []
    if not results:
        text.append(e.why_missing(explainer))
    measures = list(dict.fromkeys(str(m) for result in results for m in result.frame["measure"]))
    blocks: tuple[Block, ...] = (*(Paragraph(text=t) for t in text), *e.warning(measures))
    sections = tuple(_part(e, result) for result in results)
    return Section(id=f"explainer-{explainer}", title=title, blocks=blocks, sections=sections)


def _part(e: Evidence, result: Result) -> Section:
    """Return a result's part, or the reason why a stranger's numbers could not be told."""
    try:
        return part(e, result)
    except Exception as error:  # noqa: BLE001 - strangers' frames may hold anything; one must not cost the report
        text = f"The result {clean(result.id, 100)} could not be shown: {clean(error, 300)} It is in the evidence."
        blocks = (Callout(tone="warning", title="A result is missing", text=text, evidence=(result.id,)),)
        return Section(id=f"result-{result.id}", title=clean(result.title, 120), blocks=blocks)


def _origin(e: Evidence, explainer: str) -> str:
    """Say which distribution an explainer comes from."""
    found = [p for p in e.run.plugins if p.name == explainer and p.group.endswith("explainers")]
    return f"From the plugin package {clean(found[0].distribution)} {clean(found[0].version)}." if found else ""
