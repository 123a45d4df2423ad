"""What drives the prediction, the loss and the doubt: one ranking for all methods, the map, covered information."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.text import count
from ...document.blocks import make_figure
from ...document.document import Block, Bullets, Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import joined, mention, name, sentence
from ...evidence import ids
from ...evidence.importance import CoverCorrected, Pfi, PfiLine, PfiReading
from ...evidence.information import COVERED, SHARE, Cid
from ...evidence.view import by_feature, largest_first, of_measure
from ...runner import figures
from ..plots import importance_map
from .agreeing import UNMOVED, contradictions, corrections, leads
from .ranking import Ranking, changed, ranking_table, rankings

TITLE = "What drives it"
PAIR = ("nll", "entropy")
UNREPEATED = "For no feature do these rows show that the others repeat what it says about the outcome."
BOTH_OPEN = f"{UNMOVED[:-1]}, or that the others repeat what it says about the outcome."
SENTENCES = 4
DRAWN = 12  # features of which the correction is drawn
SHARED = 6  # features that repeat each other, named
# readings of the verdicts on loss and doubt, in the order in which they are told
BOTH, LOSS_ONLY = "matters, and the model notices", "matters for the loss, not for the doubt"
SURER = "matters for the loss, surer when shuffled"
READINGS: Mapping[str, str] = {
    LOSS_ONLY: "Matter for the loss, not for the doubt",
    BOTH: "Matter for the loss, and the model notices",
    SURER: "Matter for the loss, yet wrong values make the model surer",
    "predicts better when shuffled, less sure": "Without their own values the model predicts better, and is less sure",
    "predicts better when shuffled": "Without their own values the model predicts better",
    "predicts better when shuffled, surer": "Without their own values the model predicts better, and is surer",
    "less sure without predicting worse": "Wrong values make the model less sure, not worse",
    "surer when shuffled": "Wrong values make the model surer, not worse",
    "undetermined": "Not decided on these rows",
    "matters for neither on its own": "Matter for neither on their own",
}


def drives(e: Evidence) -> Section:
    """Return the ranking of all features by all methods, what they agree on, the map and covered information."""
    found = rankings(e)
    if not found:
        return Section(id="drives", title=TITLE, blocks=(Paragraph(text="No importance was computed in this run."),))
    blocks: list[Block] = [ranking_table(e, found), Paragraph(text=leads(e, found))]
    parted = contradictions(e, found)
    blocks += [Bullets(items=tuple(parted))] if parted else []
    parts = [_map(e), *_cover(e, found)]
    return Section(id="drives", title=TITLE, blocks=tuple(blocks), sections=tuple(parts))


def _map(e: Evidence) -> Section:
    """Return the likelihood-entropy map and its readings; without both measures, why there is none."""
    view, title = Pfi.find(e.run), "Loss against doubt"
    if view is None or not set(PAIR) <= set(view.measures):
        text = e.why_missing(ids.PFI) if view is None else _unmapped(e, view)
        return Section(id="drives-map", title=title, blocks=(Paragraph(text=text),))
    axes = {measure: by_feature(of_measure(view.lines, measure)) for measure in PAIR}
    readings = _readings(e, [line.feature for line in largest_first(axes["nll"].values())])
    finding = _finding(e, readings)
    figure = make_figure(
        "drives-map-figure",
        f"{finding} Each dot: wrong values of that feature, shuffled between rows.",
        f"Scatter of {count(len(axes['nll']), 'feature')}. {finding} {_farthest(axes)}",
        lambda: importance_map.draw(view.result),
        view.id,
    )
    return Section(id="drives-map", title=title, blocks=(figure, *_read(e, readings)))


def _unmapped(e: Evidence, view: Pfi) -> str:
    """Say which of the two importances is missing."""
    lacking = [words for words, one in zip(("the loss", "the doubt"), PAIR, strict=True) if one not in view.measures]
    why = "" if e.subject.has_y else ": the outcomes of these rows were not given"
    return f"There is no map of loss against doubt, for want of importances for {joined(lacking)}{why}."


def _readings(e: Evidence, order: Sequence[str]) -> dict[str, list[str]]:
    """Return the features of each reading, those that matter most for the loss first."""
    view = PfiReading.find(e.run)
    held = {} if view is None else view.readings
    groups: dict[str, list[str]] = {reading: [] for reading in READINGS}
    for feature in order:
        if feature in held:
            groups.setdefault(held[feature], []).append(feature)
    return {reading: features for reading, features in groups.items() if features}


def _finding(e: Evidence, readings: Mapping[str, Sequence[str]]) -> str:
    """Say how many features matter for the loss alone, for both, and with wrong values make the model surer."""
    single = {reading: set(features) - set(e.subject.groups) for reading, features in readings.items()}
    numbers = [len(single.get(reading, ())) for reading in (LOSS_ONLY, BOTH, SURER)]
    words = ("for the loss but not for the doubt", "for both", "for the loss while the model gets surer")
    parts = [(number, text) for number, text in zip(numbers, words, strict=True) if number]
    if not parts:
        return "No feature is shown to matter for the loss." if readings else "Loss and doubt, feature by feature."
    (number, text), rest = parts[0], "".join(f", {number} {text}" for number, text in parts[1:])
    lead = f"Of {count(sum(map(len, single.values())), 'feature')}, {number} {'matters' if number == 1 else 'matter'}"
    return f"{lead} {text.replace('for both', 'for both loss and doubt')}{rest}."


def _farthest(axes: Mapping[str, Mapping[str, PfiLine]]) -> str:
    up, across = (name(largest_first(axes[measure].values())[0].feature) for measure in PAIR)
    return f"Farthest up {up}, farthest across {across}."


def _read(e: Evidence, readings: Mapping[str, Sequence[str]]) -> list[Block]:
    """Return at most four items, a sentence for each reading; the last readings share one."""
    told = [
        f"{READINGS.get(reading, sentence(reading).rstrip('.'))}: {joined([_called(e, f) for f in features])}."
        for reading, features in readings.items()
    ]
    rest = [" ".join(told[SENTENCES - 1 :])] if len(told) >= SENTENCES else []
    return [Bullets(items=(*told[: SENTENCES - 1], *rest))] if told else []


def _called(e: Evidence, feature: str) -> str:
    return f"{mention(feature)}{' (together)' * (feature in e.subject.groups)}"


def _cover(e: Evidence, found: Sequence[Ranking]) -> list[Section]:
    """Return what correction for cover changes, who repeats whom, and a picture where something changes."""
    told, repeated = corrections(e, found), _repeated(e)
    text = BOTH_OPEN if (told, repeated) == (UNMOVED, UNREPEATED) else f"{told} {repeated}".strip()
    if not text:
        return []
    blocks = (Paragraph(text=text), *_picture(e, found))
    return [Section(id="drives-cover", title="Features that stand in for each other", blocks=blocks)]


def _repeated(e: Evidence) -> str:
    """Say which features others repeat, as far as the intervals of covered information tell."""
    view = Cid.find(e.run)
    if view is None or not view.lines:
        return ""
    above = [line for line in view.lines if line.item == COVERED and line.lower > 0]
    if not above:
        return UNREPEATED
    shares = {line.feature: line.estimate for line in view.lines if line.item == SHARE}
    parts = [
        f"{mention(line.feature)}{f' {100 * share:.0f} %' if (share := shares.get(line.feature, 0.0)) > 0 else ''}"
        for line in largest_first(above)
    ]
    return f"Others repeat part of what a feature says about the outcome: {joined(parts, SHARED)}."


def _picture(e: Evidence, found: Sequence[Ranking]) -> list[Block]:
    """Return importance alone and corrected of the features that the correction changes most, if it changes any."""
    view = CoverCorrected.find(e.run)
    corrected = [one for one in found if one.source.id == ids.COVER]
    every = [(one, lines) for one in corrected if view is not None and (lines := changed(view, one.measure))]
    if view is None or not every:
        return []
    one, lines = every[0]
    features = [line.feature for line in lines[:DRAWN]]
    capped = f", of which the {DRAWN} largest changes are drawn" * (len(lines) > DRAWN)
    figure = make_figure(
        "drives-cover-figure",
        f"Correction for cover changes the importance of {count(len(lines), 'feature')} for {one.facts.title}{capped}.",
        f"Two dots per feature with their intervals, alone and corrected, for {joined([name(f) for f in features])}.",
        lambda: figures.draw(view.result, measure=one.measure, features=features),
        view.id,
    )
    return [figure]
