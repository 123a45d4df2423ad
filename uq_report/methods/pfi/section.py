"""Sections of permutation importance: by measure, on training rows, loss against uncertainty, claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, nan
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...core.model.measures import without_parts
from ...core.model.results import Result
from ...document import slots
from ...document.blocks import TOP, interval_columns, intervals_caption, left_out, make_figure, make_table, notes_of
from ...document.document import Block, Column, Paragraph, Section, Table
from ...document.plots import importance, style
from ...document.plots.frames import words
from ...document.plots.registered import figure_plugin
from ...document.text import joined, name, value_words
from ...evidence import ids
from ...evidence.importance import (
    ABOUT_0,
    ALL_FEATURES,
    CLAIMED,
    CONSTANT,
    DELIVERED,
    DIFFERENCE,
    DIFFERS,
    NEGATIVE,
    OPEN,
    POSITIVE,
    UNDETERMINED,
    Claims,
    CoverCorrected,
    DriverLine,
    DriversView,
    Pfi,
    PfiDelta,
    PfiLine,
    PfiReading,
    PfiTrain,
    UncertaintyChange,
)
from ...evidence.view import by_feature, largest_first, of_measure, table_of
from ...reading.run_reader import RunReader
from ...reading.sentences import DAGGER, importance_alt, largest_words, margin_words, verdict_words
from ...reading.tables import FEATURE, INTERVAL, Field, importance_table, line_table, parts_of, split_table
from ..shared.wording import BuiltInSection, ResultSection, absent, named, words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ImportanceSection(ResultSection[Pfi]):
    """Importance for the prediction and its loss: a part per measure, or why there is none."""

    name: ClassVar[str] = "importance"
    slot: ClassVar[str] = slots.IMPORTANCE
    shows: ClassVar[tuple[str, ...]] = (Pfi.id, PfiDelta.id)  # the changes of single rows stay in the evidence
    of_uncertainty: ClassVar[bool] = False
    of = Pfi
    title = "Permutation importance"

    def blocks(self, e: RunReader, view: Pfi) -> Iterable[Block]:
        """Return what is left out, once for both sides."""
        return () if self.of_uncertainty else left_out(view.result)

    def parts(self, e: RunReader, view: Pfi) -> Iterable[Section]:
        """Return a part per measure on this side."""
        together = parts_of(view.measures)[1:]
        for measure in view.measures:
            if e.is_uncertainty(measure) == self.of_uncertainty and measure not in together:
                yield _measure(e, view, measure)
        if self.of_uncertainty and together:
            blocks = split_table(e, view.result, "drivers-split-table")
            yield Section(id="drivers-split", title="Aleatoric and epistemic uncertainty", blocks=blocks)


class UnsureImportanceSection(ImportanceSection):
    """Importance for the negative log-likelihood and the uncertainty: a part per measure, or why there is none."""

    name: ClassVar[str] = "importance_uncertainty"
    slot: ClassVar[str] = slots.UNSURE_IMPORTANCE
    of_uncertainty: ClassVar[bool] = True


def _measure(e: RunReader, view: Pfi, measure: str) -> Section:
    """Return one measure's permutation importance."""
    facts, table = e.words(measure, view.result), table_of(of_measure(view.lines, measure))
    text = " ".join(filter(None, (largest_words(table, facts), verdict_words(table), margin_words(table, facts.unit))))
    capped = f", the {TOP} largest of {len(table)}" if len(table) > TOP else ""
    spread = f" Thin lines: {view.spread}, which is no interval." if view.spread else ""
    figure = make_figure(
        f"drivers-{measure}-figure",
        f"Permutation importance for {facts.title}{capped}. {intervals_caption(table)}{spread}",
        importance_alt(table, facts, TOP),
        lambda: importance.draw(view.result, measure, top=TOP),
        view.id,
    )
    values = importance_table(e, view.result, measure, f"drivers-{measure}-table")
    blocks = (Paragraph(text=text), figure, values)
    return Section(id=f"drivers-{measure}", title=f"Importance for {facts.title}", blocks=blocks)


VERDICT_WORDS = {POSITIVE: "shown", ABOUT_0: "negligible", UNDETERMINED: "inconclusive"}
COMBINATIONS = f"{DAGGER} part of the size arises from combinations of values that do not occur."


class DriversSection(BuiltInSection):
    """How far each unit of features, and each feature alone, changes the uncertainty when permuted, or why not."""

    name: ClassVar[str] = "drivers"
    slot: ClassVar[str] = slots.UNSURE_IMPORTANCE
    shows: ClassVar[tuple[str, ...]] = (DriversView.id, UncertaintyChange.id)

    def section(self, evidence: RunReader) -> Section | None:
        """Return a table of units and one of features for the uncertainty and its epistemic part; None without."""
        units, single = DriversView.find(evidence.run), UncertaintyChange.find(evidence.run)
        if units is None or single is None:
            return None
        blocks: list[Block] = []
        for measure in units.measures:
            blocks += [
                _difference(evidence, units, measure),
                _drivers_table(evidence, units, units.of(measure)),
                _drivers_table(evidence, single, of_measure(single.lines, measure)),
            ]
        return Section(
            id="drivers-size", title="Drivers of the uncertainty", blocks=(*blocks, *left_out(single.result))
        )


def _difference(e: RunReader, view: DriversView, measure: str) -> Paragraph:
    """State the average difference between two observations, and whether it is beyond the tolerance."""
    line, facts = view.difference(measure), e.words(measure, view.result)
    what = facts.title.removeprefix("change of the ")
    tolerance = value_words(line.margin, unit=facts.unit)
    state = {CONSTANT: "practically constant", DIFFERS: "not constant", OPEN: "inconclusive"}[line.verdict]
    size = words_of(line, unit=facts.unit)
    text = f"Average difference of the {what} between two observations: {size}; {state} at tolerance {tolerance}."
    return Paragraph(text=text)


def _drivers_table(e: RunReader, view: DriversView | UncertaintyChange, lines: Sequence[DriverLine]) -> Table:
    """Return a row per unit, or per feature, largest first."""
    measure, units = lines[0].measure if lines else "", isinstance(view, DriversView)
    facts = e.words(measure, view.result)

    def called(line: DriverLine) -> str:
        members = view.units.get(line.feature, ()) if isinstance(view, DriversView) else ()
        return joined([name(member) for member in members]) if members else name(line.feature)

    def rank(line: DriverLine) -> str:
        first, last = (int(end) for end in (getattr(line, "first", 0), getattr(line, "last", 0)))
        return str(first) if first == last else f"{first} to {last}"

    fields: tuple[Field, ...] = (
        ("unit" if units else "feature", called),
        *((("rank", rank),) if units else ()),
        (Column("size", "number", facts.unit), "estimate"),
        INTERVAL,
        (Column("share of the difference", "percent"), "share"),
        (Column("total effect", "number"), "total"),
        (Column("pairs that change", "percent"), "changed"),
        (Column("mean change", "number", facts.unit), "shift"),
        ("verdict", lambda line: f"{VERDICT_WORDS[line.verdict]}{DAGGER if line.flag else ''}"),
    )
    what = "Units of features" if units else "Single features"
    note = f"{notes_of(view.result)} {COMBINATIONS}" if any(line.flag for line in lines) else notes_of(view.result)
    caption = f"{what}: {facts.title} when permuted, largest first."
    key = f"drivers-size-{'units' if units else 'features'}-{measure.replace('_', '-')}"
    return line_table(key, caption, largest_first(lines), fields, evidence=view.id, note=note)


TRAINING = "Training sample against test sample"
TRAINING_LEAD = (
    "Importance on the training sample includes what the model memorised; importance on the test sample is out of "
    "sample. The model was fitted to the training sample, so its values have no interval for a population."
)


class TrainingSection(BuiltInSection):
    """Importance on the training against the test sample, measure by measure, or why there is no comparison."""

    name: ClassVar[str] = "training"
    slot: ClassVar[str] = slots.TRAINING
    shows: ClassVar[tuple[str, ...]] = (PfiTrain.id,)

    def section(self, evidence: RunReader) -> Section:
        """Return both importances, measure by measure."""
        test, train = Pfi.find(evidence.run), PfiTrain.find(evidence.run)
        if test is None or train is None:
            text = (
                evidence.why_missing(Pfi.id) if test is None else "No importance was computed on the training sample."
            )
            return Section(id="drivers-train", title=TRAINING, blocks=(Paragraph(text=text),))
        tables = [
            _training_table(evidence, test, train, measure)
            for measure in without_parts(train.measures)
            if measure in test.measures
        ]
        return Section(id="drivers-train", title=TRAINING, blocks=(Paragraph(text=TRAINING_LEAD), *tables))


def _training_table(e: RunReader, test: Pfi, train: PfiTrain, measure: str) -> Table:
    facts = e.words(measure, test.result)
    lines = largest_first(of_measure(test.lines, measure), facts.sign)
    trained = by_feature(of_measure(train.lines, measure))

    def learnt(line: PfiLine) -> float:
        return trained[line.feature].estimate if line.feature in trained else nan

    fields: tuple[Field, ...] = (
        *(FEATURE, (Column("test", "number", facts.unit), "estimate")),
        *((Column("from", "number"), "lower"), (Column("to", "number"), "upper")),
        (Column("train", "number", facts.unit), learnt),
        (Column("train − test", "number"), lambda line: learnt(line) - line.estimate),
    )
    caption = f"Importance for {facts.title} on the test and the training sample."
    return line_table(f"drivers-train-{measure}", caption, lines, fields, of=train.result)


PAIR = ("nll", "entropy")
IDENTITY = (
    "The numbers of the map of log loss and stated uncertainty. Likelihood-PFI minus Entropy-PFI is the part of the "
    "increase in log loss that the stated uncertainty does not signal. The Entropy-PFI of a feature that is "
    "independent of the others is 0 in expectation for every model, so it identifies no driver of the uncertainty."
)
PARTING = (
    "Wood et al. interpret an Entropy-PFI of about 0 as a feature that shares no information with the others. "
    "Entropy-PFI is a mean change of the stated uncertainty; shared information is a property of the joint "
    "distribution of the features. Here the two differ."
)
Axes = Mapping[str, Mapping[str, PfiLine]]


class MapSection(BuiltInSection):
    """The numbers of the map and the reading of each feature; nothing without both measures."""

    name: ClassVar[str] = "likelihood_map"
    slot: ClassVar[str] = slots.UNSURE_MAP
    shows: ClassVar[tuple[str, ...]] = (Pfi.id, PfiReading.id)

    def section(self, evidence: RunReader) -> Section | None:
        """Return a table of both importances and their readings, and where these disagree with the partner features."""
        view, reading = Pfi.find(evidence.run), PfiReading.find(evidence.run)
        if view is None or not set(PAIR) <= set(view.measures):
            return None
        axes = {measure: by_feature(of_measure(view.lines, measure)) for measure in PAIR}
        caption = intervals_caption(*(table_of(tuple(lines.values())) for lines in axes.values()))
        order = [line.feature for line in largest_first(axes["nll"].values())]
        table = _map_table(axes, order, reading, caption)
        parted = _parted(axes["entropy"], CoverCorrected.find(evidence.run))
        blocks = (Paragraph(text=IDENTITY), table, *parted)
        return Section(id="map", title="Likelihood- against Entropy-PFI", blocks=blocks)


def _map_table(axes: Axes, order: Sequence[str], reading: PfiReading | None, intervals: str) -> Table:
    readings = {} if reading is None else reading.readings
    columns = [Column("feature"), Column("Likelihood-PFI", unit="nats"), Column("verdict")]
    columns += [Column("Entropy-PFI", unit="nats"), Column("verdict"), Column("reading")]
    rows = [
        [name(f), *(cell for m in PAIR for cell in _cells(axes[m].get(f))), readings.get(f, "not read")] for f in order
    ]
    source, note = (Pfi.id, "") if reading is None else (reading.id, notes_of(reading.result))
    return make_table("map-table", f"Reading of each feature. {intervals}", columns, rows, evidence=source, note=note)


def _cells(line: PfiLine | None) -> tuple[str, str]:
    """Return an estimate with its interval, and its verdict with the explainer's remark."""
    verdict = "" if line is None else ", ".join(filter(None, (line.verdict, line.remark)))
    return words_of(line, "not computed"), verdict


def _parted(entropies: Mapping[str, PfiLine], cover: CoverCorrected | None) -> list[Block]:
    """Say where the interpretation of Entropy-PFI by Wood et al. and the partner features disagree."""
    if cover is None:
        return []
    verdicts = {feature: line.verdict for feature, line in entropies.items() if feature in cover.partners}
    shared = [f for f, verdict in verdicts.items() if verdict == ABOUT_0 and cover.partners[f]]
    alone = [f for f, verdict in verdicts.items() if verdict in (POSITIVE, NEGATIVE) and not cover.partners[f]]
    partners = joined([f"{name(f)} (with {joined(list(map(name, cover.partners[f])))})" for f in shared])
    about_0 = f"Entropy-PFI about 0, although the fitted joint distribution shows partner features: {partners}."
    other = f"Entropy-PFI other than 0 without partner features: {joined(list(map(name, alone)))}."
    parts = [text for text, features in ((about_0, shared), (other, alone)) if features]
    return [Paragraph(text=" ".join([PARTING, *parts]))] if parts else []


LED = 3  # features named where no outcomes were given
CLAIMS = "Model-implied and realised importance"
CLAIMS_LEAD = (
    "Model-implied importance is the increase in loss expected under the model's own distributions when a feature is "
    "permuted; realised importance is the increase observed on the test sample. The two are equal in expectation for a "
    "calibrated model. Model-implied above realised importance indicates over-fitting, over-confidence or a leak; "
    "below it, the model makes too little use of the feature."
)


class ClaimsSection(BuiltInSection):
    """Model-implied and realised importance of all features together in a sentence, then feature by feature."""

    name: ClassVar[str] = "claims"
    slot: ClassVar[str] = slots.CLAIMS
    shows: ClassVar[tuple[str, ...]] = (Claims.id,)

    def section(self, evidence: RunReader) -> Section | None:
        """Return the sentence, the figure and the table, or why there is none; None where nothing was computed."""
        view = Claims.find(evidence.run)
        if view is None:
            return None
        if not view.lines:
            empty = Section(id="claims", title=CLAIMS)
            return absent(evidence, empty, Claims.id, view, "Model-implied importance could not be computed.")
        if not view.part(DELIVERED):
            return _unconfirmed(evidence, view)
        words = _all_together(evidence, view)
        caption = "Realised against model-implied importance; on the dashed line the two are equal."
        blocks = (
            Paragraph(text=CLAIMS_LEAD),
            *_claims_figure(evidence, view, words, caption, DELIVERED),
            _claims_table(evidence, view),
        )
        return Section(id="claims", title=CLAIMS, blocks=(*blocks, *left_out(view.result)))


def _claims_figure(e: RunReader, view: Claims, words: str, caption: str, item: str) -> tuple[Block, Block]:
    """Return the sentence and the figure under it."""
    text = f"{caption} {intervals_caption(table_of(view.part(item)))}"
    return Paragraph(text=words), make_figure("claims-figure", text, words, lambda: e.draw(view.result), view.id)


def _unconfirmed(e: RunReader, view: Claims) -> Section:
    """Return the section of an audit without outcomes: model-implied importance only."""
    lines, unit = largest_first(view.part(CLAIMED)), e.words(view.measures[0], view.result).unit
    leading = named([line for line in lines if line.feature != ALL_FEATURES][:LED], unit)
    words = f"Model-implied importance is largest for {leading}. Whether it is realised is unknown without outcomes."
    caption = "Model-implied importance, largest first."
    figure = _claims_figure(e, view, words, caption, CLAIMED)
    fields = (FEATURE, (Column("model-implied", "number", unit), "estimate"), INTERVAL)
    table = line_table("claims-table", caption, lines, fields, of=view.result)
    return Section(id="claims", title="Model-implied importance", blocks=(*figure, table, *left_out(view.result)))


def _all_together(e: RunReader, view: Claims) -> str:
    """State the model-implied and the realised importance of all features together, and their ratio."""
    claimed, delivered, whole = (
        by_feature(view.part(item)).get(ALL_FEATURES) for item in (CLAIMED, DELIVERED, DIFFERENCE)
    )
    if claimed is None or whole is None:
        return "All features together were not assessed."
    unit = e.words(claimed.measure, view.result).unit
    share = value_words(100 * whole.share, 100 * whole.share_lower, 100 * whole.share_upper, "%")
    sure = isfinite(whole.share_lower) and not whole.unreliable
    return (
        f"All features together: model-implied importance {words_of(claimed, unit=unit)}, realised importance "
        f"{words_of(delivered, unit=unit)}{f'; realisation ratio {share}' if sure else ''}."
    )


def _claims_table(e: RunReader, view: Claims) -> Table:
    claimed, delivered = (by_feature(view.part(item)) for item in (CLAIMED, DELIVERED))
    unit = e.words(view.measures[0], view.result).unit
    interval = interval_columns(table_of(view.part(DELIVERED)))
    columns = [
        Column("feature"),
        Column("model-implied", "number", unit),
        Column("realised", "number", unit),
        *interval,
    ]
    columns += [Column("realisation ratio", "percent"), Column("p", "pvalue")]
    rows = []
    for line in sorted(view.part(DIFFERENCE), key=lambda line: -claimed[line.feature].estimate):
        claim, value = claimed[line.feature].estimate, delivered[line.feature]
        sure = claim >= view.margin and not line.unreliable and isfinite(line.share_lower)
        ends = (value.lower, value.upper) if interval else ()
        share = line.share if sure else float("nan")
        rows.append((name(line.feature), claim, value.estimate, *ends, share, line.p_value))
    intervals = intervals_caption(table_of(view.part(DELIVERED)))
    caption = f"Model-implied and realised importance, largest model-implied first. {intervals}"
    note = (
        f"{notes_of(view.result)} No ratio is given where the model-implied importance is below the margin or the "
        "interval is unreliable."
    )
    return make_table("claims-table", caption, columns, rows, evidence=view.id, note=note)


LABELLED = 8


def draw_claims(result: Result, top: int = LABELLED) -> Figure:
    """Draw a dot per feature, model-implied importance along x, realised along y with its interval, and the diagonal.

    Parameters
    ----------
    result : Diagnostic
        ``pfi.claims``; without outcomes a dot per feature with its interval.
    top : int
        Features with a name: the largest, with at least a fifth of the largest model-implied importance.
    """
    view = Claims.from_result(result)
    if view.lines and not view.part(DELIVERED):
        return _draw_claimed(view, result, top)
    claimed, delivered = (by_feature(view.part(item)) for item in (CLAIMED, DELIVERED))
    names = sorted((name for name in claimed if name != ALL_FEATURES), key=lambda name: -claimed[name].estimate)
    rows = [(claimed[n].estimate, delivered[n].estimate, delivered[n].lower, delivered[n].upper) for n in names]
    x, y, low, high = np.array(rows, dtype=float).reshape(-1, 4).T
    unit = words(view.measures[0], result.measures).unit if view.measures else ""
    with style.drawing(3.4) as figure:
        axes = style.plain(figure.subplots(), "both")
        ends = np.array([min(0.0, *x, *y), max(1e-12, *x, *y)]) if len(x) else np.array([0.0, 1.0])
        axes.plot(ends, ends, color=style.INK, linewidth=0.8, linestyle=style.LINES[1])
        axes.vlines(x, low, high, color=style.ROLE["loss"], linewidth=1.4)
        axes.plot(x, y, linestyle="", marker="o", markersize=4.5, color=style.ROLE["loss"])
        for name, at, height in list(zip(names, x, y, strict=True))[:top]:
            if at >= 0.2 * x[0]:  # names of small values would overlap
                axes.annotate(style.name(name), (at, height), (5, 3), textcoords="offset points", fontsize=style.SMALL)
        axes.set_xlabel(f"model-implied importance ({unit})")
        axes.set_ylabel(f"realised importance ({unit})")
    return figure


def _draw_claimed(view: Claims, result: Result, top: int) -> Figure:
    """Draw the model-implied importance of the leading features, largest on top, where there are no outcomes."""
    lines = [line for line in largest_first(view.part(CLAIMED)) if line.feature != ALL_FEATURES][:top]
    places = np.arange(len(lines))[::-1]
    with style.drawing(1.0 + 0.25 * len(lines)) as figure:
        axes = style.plain(figure.subplots(), "x")
        axes.hlines(places, [x.lower for x in lines], [x.upper for x in lines], color=style.ROLE["loss"], linewidth=1.4)
        axes.plot([x.estimate for x in lines], places, linestyle="", marker="o", color=style.ROLE["loss"])
        axes.set_yticks(places, [style.name(line.feature) for line in lines])
        axes.set_xlabel(f"model-implied importance ({words(view.measures[0], result.measures).unit})")
    return figure


ClaimsFigure = figure_plugin(ids.PFI_CLAIMS, draw_claims)
