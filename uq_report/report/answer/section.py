"""Page 1: what the evidence supports and why, with a picture, complete without turning the page."""

from __future__ import annotations

from math import isfinite

from ...document.blocks import make_figure, paragraphs
from ...document.document import Block, Cards, Section, Step, Steps, Verdict
from ...document.plots.frames import interval_words
from ...document.text import joined, name, spaced
from ...evidence import ids
from ...evidence.importance import CLAIMED, Claims
from ...evidence.view import of_measure
from ...reading.rank_ranges import FeatureRanking, leader, leading
from ...reading.run_reader import RunReader
from ...reading.sentences import DAGGER, largest_words
from ..plots import answer as plot
from .drivers import DOUBT, LOSS, margin_of, rankings
from .synthesis import answer_of

MOST = 9  # features, so that page 1 holds the picture
HIDDEN = "UQ201"  # importance that partners cover
SIZES = {ids.SHAP_IMPORTANCE: "mean size", ids.DALEX_PARTS: "drop-out loss"}
RISES = {LOSS: "rise of loss", DOUBT: "rise of doubt"}
TITLE = "The answer"


def answer(e: RunReader) -> Section:
    """Return page 1."""
    page = answer_of(e)
    drives: tuple[Block, ...] = (Steps(steps=tuple(Step(lead="", text=text) for text in page.drives)), *picture(e))
    to_do: tuple[Block, ...] = (Steps(steps=page.actions), *paragraphs(page.foot))
    parts = (
        Section(id="answer-drives", title="What drives it", blocks=drives),
        Section(id="answer-actions", title="What to do", blocks=to_do),
    )
    verdict: Block = Verdict(badge=page.recommendation, text=page.because, note=page.rule)
    blocks = (verdict, *paragraphs(page.assumption, page.undecidable), Cards(cards=page.cards))
    return Section(id="answer", title=TITLE, blocks=blocks, sections=parts)


def picture(e: RunReader) -> tuple[Block, ...]:
    """Return the figure; none without a ranking."""
    ranked = [ranking for ranking in rankings(e).values() if len(ranking.table)]
    features = leading(ranked, MOST) if ranked else []
    if not features:
        return ()
    panels = [_panel(e, ranking) for ranking in ranked]
    alt = " ".join(f"{plot.TITLES[x.heading]}: {largest_words(x.table, x.facts)}".replace("\n", " ") for x in ranked)
    if DAGGER in alt:
        alt += f" {DAGGER} Its interval is not to be trusted."
    caption = _caption(e, ranked, panels, len(features))
    return (make_figure("answer-picture", caption, alt, lambda: plot.draw(panels, features), ranked[0].result.id),)


def _panel(e: RunReader, ranking: FeatureRanking) -> plot.DriverPanel:
    """Return one question, with what the model claims of each feature where the panel shows the same score."""
    unit, view = ranking.facts.unit, Claims.find(e.run)
    unit = unit.partition(" of ")[0] if unit.startswith("probability") else unit
    label = SIZES.get(ranking.result.id) or RISES.get(ranking.heading, "importance")
    lines = view.part(CLAIMED) if view is not None and ranking.heading == LOSS else ()
    claimed = {line.feature: line.estimate for line in of_measure(lines, ranking.measure)}
    words = f"{label}, {unit}" if unit else label
    return plot.DriverPanel(ranking.heading, words, ranking.table, claimed, margin_of(ranking))


def _caption(e: RunReader, ranked: list[FeatureRanking], panels: list[plot.DriverPanel], n: int) -> str:
    """Say what signs mean, which intervals these are, and that partners may hide importance."""
    around = next((words for x in (leader(ranked), *ranked) if (words := interval_words(x.table))), "")
    features = {feature for ranking in ranked for feature in ranking.order}
    hidden = [name(feature) for f in e.findings if f.code == HIDDEN for feature in f.features]
    return spaced(
        f"Dot: estimate{f'; line: {around}' if around else ''}.",
        "Diamond: what the model itself claims." if any(panel.claimed for panel in panels) else "",
        "Grey: counts as 0." if any(isfinite(panel.margin) for panel in panels) else "",
        f"The first {n} of {len(features)} features." if len(features) > n else "",
        f"What partners carry too hides part of {joined(hidden, 4)} ({HIDDEN})." if hidden else "",
    )
