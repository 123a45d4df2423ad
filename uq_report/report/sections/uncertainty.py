"""Whether what the model says of its uncertainty is calibrated: the gate, reliability, coverage, and its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, isnan, nan

from ...core.support.numbers import share_words
from ...core.support.text import count
from ...document.blocks import intervals_caption, make_figure, make_section, notes_of, paragraphs
from ...document.document import Block, Column, Section, Split, Table
from ...document.text import clean, joined, name, plain, sentence, spaced, value_words
from ...evidence.importance import Pfi
from ...evidence.outcomes import (
    CONFIDENCE_GAP,
    Bins,
    CalibrationView,
    Coverage,
    Pit,
    Reliability,
    ScoreLine,
)
from ...evidence.segments import OFF_SUPPORT, SegmentsView
from ...reading.run_reader import GATE, RunReader
from ...reading.sentences import estimate_words, share, unbracketed
from ...reading.tables import CAUTION, INTERVAL, Field, line_table, plain_table

ENTROPIES, VARIANCES = ("epistemic", "aleatoric"), ("epistemic_variance", "aleatoric_variance")
LEAD = (
    "If outcomes follow the model's own distributions, its mean loss equals its mean entropy. Their difference, the "
    "confidence gap, is above 0 for an over-confident model and below 0 for an under-confident one. It is necessary "
    "for calibration, not sufficient."
)
DIAGRAMS: tuple[type[Bins], ...] = (Reliability, Coverage, Pit)


def believed(e: RunReader) -> Section:
    """Return the gate in a sentence, one figure or two beside each other, and where the uncertainty comes from."""
    halves = [half for view in DIAGRAMS if (half := _half(e, view))]
    texts: tuple[Block, ...] = paragraphs(_numbers(e), parts_words(e))
    if len(halves) == 1:
        halves, texts = [halves[0], texts], ()
    sides = (Split(left=halves[0], right=halves[1]),) if halves else ()
    blocks = (*paragraphs(gate_words(e)), *sides, *texts)
    return make_section("sure-believed", "Can its stated uncertainty be believed?", blocks)


def gate_words(e: RunReader) -> str:
    """Say in a sentence or two whether unseen rows bear out what the model states, or cannot tell."""
    view = CalibrationView.find(e.run)
    if view is None:
        return "No outcome was compared with what it states, so this cannot be said."
    gap = view.of(CONFIDENCE_GAP)
    if gap is None or isnan(gap.lower_90) or view.infinite_nll:
        return _verdict(e)
    rows, margin = count(view.n, "unseen row"), e.gap_margin
    stated = "the stated probabilities" if e.subject.classes is not None else "the stated distributions"
    words = f"gap {unbracketed(value_words(gap.estimate, gap.lower_90, gap.upper_90, 'nats'))} at 90 %"
    if e.gate.tone == "bad":
        return spaced(f"{rows} show that {stated} are not right: {_direction(gap)} ({words}).", _gain(view))
    if e.gate.tone == "good":
        return f"On {rows} {stated} agree with the outcomes within {plain(margin)} nats ({words})."
    if e.gate.tone != "warning" or max(-gap.lower_90, gap.upper_90) < margin:
        return _verdict(e)
    size = view.gap_size(margin)
    advice = "" if size is None else f" {size.sentence}"
    return f"{rows} cannot tell whether {stated} are right ({words}; limit ±{plain(margin)}).{advice}"


def _verdict(e: RunReader) -> str:
    """Name the finding that holds the verdict; without one, why there is none."""
    findings = (finding for outcome in e.run.outcomes if outcome.check == GATE for finding in outcome.findings)
    decisive = next(findings, None)
    return e.gate.reason if decisive is None else f"{sentence(decisive.title)} See {clean(decisive.code, 20)}."


def _direction(gap: ScoreLine) -> str:
    if gap.lower_90 > 0:
        return "the model is surer than it may be"
    less = "the model is less sure than it may be"
    return less if gap.upper_90 < 0 else "too sure in some rows, not enough in others"


def _gain(view: CalibrationView) -> str:
    """Say what recalibration would save, where its interval is above 0."""
    gain = view.of("recalibration_gain")
    if gain is None or not gain.lower > 0:
        return ""
    return f"Recalibrating would save {estimate_words(gain, 'nats')} a row."


def _half(e: RunReader, diagram: type[Bins]) -> tuple[Block, ...]:
    """Return a diagram with what it shows as its title; empty where there is none."""
    view = diagram.find(e.run)
    if view is None or not view.lines:
        return ()
    title, result = _title(e, view), view.result
    alt = f"{title} {_farthest(view)}"
    return (make_figure(f"sure-{view.id.replace('.', '-')}", title, alt, lambda: e.draw(result), view.id),)


def _title(e: RunReader, view: Bins) -> str:
    """Say what a diagram shows, as far as its intervals tell."""
    scores = CalibrationView.find(e.run)
    rows = f"{(scores.n if scores is not None else 0) or e.subject.n or 0} rows"
    # bins whose interval misses what is stated
    outside = [x for x in view.lines if not x.lower <= view.ideal(x) <= x.upper and isfinite(x.lower)]
    if isinstance(view, Reliability):
        agree = f"Stated probabilities agree with outcomes, as far as {rows} tell."
        shown = "Stated probabilities and outcomes disagree."
        hidden = f"The disagreement shows in no group of rows by itself, as far as {rows} tell."
        return {
            "good": "Stated probabilities agree with outcomes.",
            "bad": shown if outside else hidden,
            "unknown": "Outcomes against stated probabilities; whether they agree was not judged.",
        }.get(e.gate.tone, agree)
    if isinstance(view, Coverage):
        kind = "intervals" if e.subject.classes is None else "label sets"
        wrong = [f"{100 * x.x:.0f} % {kind} hold {'fewer' if x.upper < x.x else 'more'}" for x in outside]
        good = f"{kind.capitalize()} hold as many outcomes as they state, as far as {rows} tell."
        return f"{joined(wrong)} outcomes than they state." if wrong else good
    if not outside:
        return f"No part of the stated distributions is shown to be wrong by {rows}."
    return f"Outcomes fall too often or too rarely into {len(outside)} of {len(view.lines)} parts of the distributions."


def _farthest(view: Bins) -> str:
    """Say how many intervals hold the ideal, and where the estimates are farthest from it."""
    ideals = [(line, view.ideal(line)) for line in view.lines]
    inside = sum(line.lower <= ideal <= line.upper for line, ideal in ideals)
    line, ideal = max(ideals, key=lambda pair: abs(pair[0].estimate - pair[1]))
    return (
        f"{inside} of {len(ideals)} intervals hold what is stated. Farthest from it: {value_words(line.estimate)} "
        f"where {value_words(ideal)} is stated. Each interval holds by itself, not all at once."
    )


def _numbers(e: RunReader) -> str:
    """Say what the diagrams show in numbers."""
    reliability, coverage = Reliability.find(e.run), Coverage.find(e.run)
    if reliability is not None and reliability.lines:
        return spaced(_points(reliability), _widest(reliability, len(e.subject.classes or ())))
    line = next((x for x in coverage.lines if round(x.x, 3) == 0.9), None) if coverage is not None else None
    return f"Its 90 % intervals hold {share(line)} of the outcomes." if line is not None else ""


def _points(view: Reliability) -> str:
    """Say how many points lie where those of a right model would."""
    bound = [line for line in view.lines if isfinite(line.null_lower)]
    if not bound:
        return ""
    inside = sum(line.null_lower <= line.estimate <= line.null_upper for line in bound)
    return f"{inside} of {len(bound)} groups of rows with similar predictions lie where those of a right model would."


def _widest(view: Reliability, n_classes: int) -> str:
    """Name the group of rows that is farthest from what is stated; of several classes, of the most probable one."""
    line = max(view.lines, key=lambda line: abs(line.estimate - line.x))
    if n_classes > 2:
        return (
            f"Farthest off are the {line.n} rows whose most probable class was stated with about {100 * line.x:.0f} %: "
            f"it came in {share(line)} of them."
        )
    return (
        f"Farthest off are the {line.n} rows with stated probabilities near {100 * line.x:.0f} %: the event came in "
        f"{share(line)} of them."
    )


def parts_words(e: RunReader) -> str:
    """Say how much of the uncertainty is disagreement of the members and what that is not, or that it is not known."""
    view = Pfi.find(e.run)
    means = {} if view is None else {line.measure: line.unpermuted for line in view.lines}
    size = _size(e, means)
    if not size:
        return "How much of its uncertainty more data could remove is not known: it was not split into parts."
    return spaced(size, _beyond(e), CAUTION)


def _size(e: RunReader, means: Mapping[str, float]) -> str:
    """Say how much of the uncertainty, on average, is disagreement of the members; empty without members."""
    pairs = [(VARIANCES, "variance")]
    # a share of a density's entropy would depend on the unit of the outcome
    pairs += [(ENTROPIES, "uncertainty")] if e.subject.classes is not None else []
    for (epistemic, aleatoric), what in pairs:
        whole = means.get(epistemic, nan) + means.get(aleatoric, nan)
        if whole > 0 and means[aleatoric] == 0:
            return (
                f"Its members are single points, so all of the stated {what} is their disagreement: it says nothing of "
                "the noise in the outcomes."
            )
        if whole > 0:
            return (
                f"On average {share_words(means[epistemic] / whole)} of the stated {what} is disagreement between the "
                "members of the model, which more data could lessen; the rest is spread inside of them."
            )
    if ENTROPIES[0] in means:
        added = value_words(means[ENTROPIES[0]], unit="nats")
        return f"Disagreement between its members adds {added} to its doubt on average; more data could lessen that."
    return ""


def _beyond(e: RunReader) -> str:
    """Say whether the members disagree more, or less, on rows unlike the training rows, where that is shown."""
    view = SegmentsView.find(e.run)
    lines = {} if view is None else view.of(OFF_SUPPORT)
    line = next((lines[m] for m in (ENTROPIES[0], VARIANCES[0]) if m in lines), None)
    if line is None or not (line.difference_lower > 0 or line.difference_upper < 0):
        return ""
    sign, way = (1, "more") if line.difference > 0 else (-1, "less")
    lower, upper = sorted((sign * line.difference_lower, sign * line.difference_upper))
    return (
        f"On {count(line.n, 'row')} unlike the training rows the members disagree {way} than on the others, by "
        f"{value_words(abs(line.difference), lower, upper, line.unit)}."
    )


def calibration_in_full(e: RunReader) -> Section:
    """Return the tests of calibration, sharpness, and the numbers behind every diagram."""
    view = CalibrationView.find(e.run)
    blocks: tuple[Block, ...] = paragraphs(e.why_missing(CalibrationView.id))
    if view is not None:
        lines = [line for line in view.lines if line.judges_uncertainty or line.is_tested]
        caption = "Calibration tests and sharpness."
        blocks = (*paragraphs(LEAD), scores_table(view, lines, "calibration-table", caption, tests=True))
    return make_section("calibration", "Calibration in full", (*blocks, *_tables(e)))


def _tables(e: RunReader) -> Iterator[Block]:
    """Yield the numbers of every diagram."""
    for diagram in DIAGRAMS:
        view = diagram.find(e.run)
        if view is not None and view.lines:
            result, key = view.result, f"{view.id.replace('.', '-')}-table"
            title = f"{clean(result.title)}: the numbers. {intervals_caption(result.estimates)}"
            yield plain_table(result.estimates, key, title, result.id, notes_of(result))


def item_words(line: ScoreLine) -> str:
    """Return the item of a score in words."""
    return name(line.item).replace("_", " ")


def scores_table(
    view: CalibrationView, lines: Sequence[ScoreLine], key: str, caption: str, *, tests: bool = False
) -> Table:
    """Return scores with their intervals, and with their tests where these are asked for and there are any."""
    fields: list[Field] = [("item", item_words), ("unit", lambda line: name(line.unit))]
    fields += [(Column("estimate", "number"), "estimate"), INTERVAL]
    if tests and any(line.is_tested for line in lines):
        fields += [(Column("p", "pvalue"), "p_value"), (Column("p, adjusted", "pvalue"), "p_adjusted")]
        fields.append((Column("mean if calibrated", "number"), "null_mean"))
    return line_table(key, caption, lines, fields, of=view.result)
