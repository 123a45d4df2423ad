"""Drivers of the prediction, the loss and the uncertainty: one ranking of methods, the map, covered information."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.support.text import count
from ...document.blocks import bullets, make_figure, make_section, paragraphs
from ...document.document import Block, Bullets, Section
from ...document.plots.attribution import draw, draw_swarm
from ...document.text import joined, mention, mentions, name, sentence
from ...evidence import columns as col
from ...evidence import ids
from ...evidence import importance as views
from ...evidence.information import COVERED, SHARE, Cid
from ...evidence.rows import Shap
from ...evidence.view import by_feature, largest_first, of_measure
from ...reading.run_reader import RunReader
from ..plots import draw_map
from .ranking import RankingColumn, contradictions, corrections, leads, ranking_figure, rankings

TITLE = "Drivers"
PAIR = ("nll", "entropy")
UNREPEATED = "No feature is shown to share information about the outcome with the others."
SENTENCES = 4
CASE = 5  # features with a bar of their own, of a single observation
SHARED = 6  # features with shared information, named
# readings of loss and stated uncertainty, in the order in which they are stated
READINGS: Mapping[str, str] = {
    views.HIDDEN: "Permuting increases the {loss} without increasing the stated uncertainty",
    views.LESS: "Permuting increases the {loss}, and the stated uncertainty by less",
    views.ALIKE: "Permuting increases the {loss} and the stated uncertainty alike",
    views.MORE: "Permuting increases the {loss}, and the stated uncertainty by more",
    views.CONFIDENT: "Permuting increases the {loss}, and the model becomes more confident",
    views.OPEN_RISE: "Permuting increases the {loss}; the change of the stated uncertainty is inconclusive",
    views.BETTER: "Permuting decreases the {loss}",
    views.CAREFUL: "Permuting increases the stated uncertainty, not the {loss}",
    views.BOLD: "Permuting makes the model more confident, without increasing the {loss}",
    views.INCONCLUSIVE: "Inconclusive",
    views.HARMLESS: "Permuting changes neither",
}
# the log loss rises, with the uncertainty in the first three
RISING = (views.ALIKE, views.LESS, views.MORE, views.HIDDEN, views.CONFIDENT, views.OPEN_RISE)


def drives(e: RunReader) -> Section:
    """Return the ranking of all features by all methods, what they agree on, the map and covered information."""
    columns = rankings(e)
    if not columns:
        return make_section("drives", TITLE, paragraphs("No importance was computed in this run."))
    words: tuple[Block, ...] = (*paragraphs(leads(columns)), *bullets(contradictions(e, columns)))
    blocks = (ranking_figure(e, columns), *words, *_swarm(e))
    return make_section("drives", TITLE, blocks, (_map(e), *_cover(e, columns)), (ids.AGREEMENT,))


def _swarm(e: RunReader) -> tuple[Block, ...]:
    """Return the Shapley values of single observations by feature; none without several of them."""
    view = Shap.find(e.run)
    if view is None or len(view.rows_used) < 2 or not len(view.result.frame):
        return ()
    measure = e.measure_of("prediction", view.result.frame[col.MEASURE]) or str(view.result.frame[col.MEASURE].iloc[0])
    background = view.background.get("rows")
    beside = f" against {background} background observations" if isinstance(background, int) else ""
    n = f"{len(view.rows_used)} of {e.subject.n} observations{beside}"
    caption = f"Shapley values of the prediction, a dot per observation ({n})."
    alt = (
        "A line per feature, those with the largest mean absolute Shapley value first; colour: the feature's own value."
    )
    figure = make_figure("drives-swarm", caption, alt, lambda: draw_swarm(view.result, measure), view.id)
    most = next(iter(view.rows.get("most uncertain", ())), None)
    uncertainty = e.measure_of("uncertainty", [line.measure for line in view.lines if line.row == most])
    if not uncertainty:
        return (figure,)
    caption = f"Shapley values of the {e.words(uncertainty).title} of the most uncertain observation ({most})."
    alt = "Contributions of the features to one observation, from the mean of the background sample to its own value."
    case = make_figure("drives-case", caption, alt, lambda: draw(view.result, uncertainty, most, top=CASE), view.id)
    return (figure, case)


def _map(e: RunReader) -> Section:
    """Return the likelihood-entropy map and its readings; without both measures, why there is none."""
    view, title = views.Pfi.find(e.run), "Loss and stated uncertainty"
    if view is None or not set(PAIR) <= set(view.measures):
        text = e.why_missing(views.Pfi.id) if view is None else _unmapped(e, view)
        return make_section("drives-map", title, paragraphs(text))
    axes = {measure: by_feature(of_measure(view.lines, measure)) for measure in PAIR}
    lacking = [feature for feature in axes["entropy"] if feature not in axes["nll"]]
    if lacking:
        names = joined(mentions(lacking))
        text = f"There is no map of loss and stated uncertainty: the log loss has no importance of {names}."
        return make_section("drives-map", title, paragraphs(text))
    readings = _readings(e, [line.feature for line in largest_first(axes["nll"].values())])
    finding = _finding(e, readings)
    up, across = (name(largest_first(axes[measure].values())[0].feature) for measure in PAIR)
    figure = make_figure(
        "drives-map-figure",
        finding,
        f"Scatter of {count(len(axes['nll']), 'feature')}. {finding} Farthest up {up}, farthest across {across}.",
        lambda: draw_map(view.result),
        view.id,
    )
    return make_section("drives-map", title, (figure, *_read(e, readings)))


def _unmapped(e: RunReader, view: views.Pfi) -> str:
    """Say which of the two importances is missing."""
    lacking = [words for words, x in zip(("the loss", "the uncertainty"), PAIR, strict=True) if x not in view.measures]
    why = "" if e.subject.has_y else ": no outcomes were given"
    return f"There is no map of loss and stated uncertainty: no importance for {joined(lacking)} was computed{why}."


def _readings(e: RunReader, order: Sequence[str]) -> dict[str, list[str]]:
    """Return the features of each reading, those that matter most for the loss first."""
    view = views.PfiReading.find(e.run)
    readings = {} if view is None else view.readings
    features: dict[str, list[str]] = {reading: [] for reading in READINGS}
    for feature in order:
        if feature in readings:
            features.setdefault(readings[feature], []).append(feature)
    return {reading: names for reading, names in features.items() if names}


def _finding(e: RunReader, readings: Mapping[str, Sequence[str]]) -> str:
    """Say of how many features permuting increases the log loss, and of how many of them the stated uncertainty."""
    single = {reading: set(features) - set(e.subject.groups) for reading, features in readings.items()}
    worse, seen = (sum(len(single.get(reading, ())) for reading in some) for some in (RISING, RISING[:3]))
    if not worse:
        return f"No feature is shown to increase the {e.log_score}." if readings else ""
    total = count(sum(map(len, single.values())), "feature")
    return (
        f"Permuting {worse} of {total} increases the {e.log_score}; for {seen or 'none'} of them the stated "
        "uncertainty is shown to increase too."
    )


def _read(e: RunReader, readings: Mapping[str, Sequence[str]]) -> tuple[Bullets, ...]:
    """Return at most four items, a sentence for each reading; the last readings share one."""
    texts = []
    for reading, features in readings.items():
        names = [f"{mention(feature)}{' (together)' * (feature in e.subject.groups)}" for feature in features]
        lead = READINGS.get(reading, sentence(reading).rstrip(".")).format(loss=e.log_score)
        texts.append(f"{lead}: {joined(names)}.")
    texts[SENTENCES - 1 :] = [" ".join(texts[SENTENCES - 1 :])] if len(texts) >= SENTENCES else []
    return bullets(texts)


def _cover(e: RunReader, columns: Sequence[RankingColumn]) -> tuple[Section, ...]:
    """Return what adjustment for redundancy changes, and which features share information."""
    moves, repeated = corrections(e, columns), _repeated(e)
    text = f"{moves} {repeated}".strip()
    behind = (ids.COVER, ids.CID)
    return (make_section("drives-cover", "Redundancy of features", paragraphs(text), (), behind),) if text else ()


def _repeated(e: RunReader) -> str:
    """Say which features share information with others, where the interval of covered information is above 0."""
    view = Cid.find(e.run)
    if view is None or not view.lines:
        return ""
    above = [line for line in view.lines if line.item == COVERED and line.lower > 0]
    if not above:
        return UNREPEATED
    shares = {line.feature: line.estimate for line in view.lines if line.item == SHARE}
    parts = [
        f"{mention(line.feature)}{f' {100 * share:.0f}%' if (share := shares.get(line.feature, 0.0)) > 0 else ''}"
        for line in largest_first(above)
    ]
    return (
        f"Share of a feature's information about the outcome that other features also carry: {joined(parts, SHARED)}."
    )
