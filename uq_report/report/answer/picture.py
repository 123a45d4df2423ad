"""The picture of page 1: its panels from the rankings, its words, and what it leaves out."""

from __future__ import annotations

from math import isfinite

from ...document.blocks import make_figure
from ...document.document import Block
from ...document.evidence import Evidence
from ...document.places import Ranking
from ...document.plots.frames import interval_words
from ...document.questions import leader, leading
from ...document.telling import DAGGER, largest_words
from ...document.text import joined, name
from ...evidence import ids
from ...evidence.importance import CLAIMED, Claims
from ..plots import answer as plot
from .drivers import DOUBT, LOSS, margin_of, rankings

MOST = 9  # features, so that page 1 holds the picture
HIDDEN = "UQ201"  # importance that partners cover
SIZES = {ids.SHAP_IMPORTANCE: "mean size", ids.DALEX_PARTS: "drop-out loss"}
RISES = {LOSS: "rise of loss", DOUBT: "rise of doubt"}


def picture(e: Evidence) -> tuple[Block, ...]:
    """Return the figure; none without a ranking."""
    ranked = [one for one in rankings(e).values() if len(one.table)]
    features = leading(ranked, MOST) if ranked else []
    if not features:
        return ()
    panels = [_panel(e, one) for one in ranked]
    alt = " ".join(
        f"{plot.TITLES[one.heading]}: {largest_words(one.table, one.facts)}".replace("\n", " ") for one in ranked
    )
    if DAGGER in alt:
        alt += f" {DAGGER} Its interval is not to be trusted."
    evidence = ranked[0].result.id
    return (
        make_figure(
            "answer-picture", _caption(e, ranked, len(features)), alt, lambda: plot.draw(panels, features), evidence
        ),
    )


def _panel(e: Evidence, one: Ranking) -> plot.Panel:
    unit = one.facts.unit.partition(" of ")[0] if one.facts.unit.startswith("probability") else one.facts.unit
    label = SIZES.get(one.result.id) or RISES.get(one.heading, "importance")
    return plot.Panel(one.heading, f"{label}, {unit}" if unit else label, one.table, _claimed(e, one), margin_of(one))


def _claimed(e: Evidence, one: Ranking) -> dict[str, float]:
    """Return what the model claims of each feature, where the panel shows the same score."""
    view = Claims.find(e.run)
    lines = view.part(CLAIMED) if view is not None and one.heading == LOSS else ()
    return {line.feature: line.estimate for line in lines if line.measure == one.measure}


def _caption(e: Evidence, ranked: list[Ranking], shown: int) -> str:
    """Say what signs mean, which intervals these are, and that partners may hide importance."""
    first = leader(ranked)
    around = next((words for one in (first, *ranked) if (words := interval_words(one.table))), "")
    told = [f"Dot: estimate{f'; line: {around}' if around else ''}."]
    if any(_claimed(e, one) for one in ranked):
        told.append("Diamond: what the model itself claims.")
    if any(isfinite(margin_of(one)) for one in ranked):
        told.append("Grey: counts as 0.")
    features = {str(feature) for one in ranked for feature in one.order}
    if len(features) > shown:
        told.append(f"The first {shown} of {len(features)} features.")
    hidden = [feature for f in e.findings if f.code == HIDDEN for feature in f.features]
    if hidden:
        told.append(f"What partners carry too hides part of {joined([name(f) for f in hidden], 4)} ({HIDDEN}).")
    return " ".join(told)
