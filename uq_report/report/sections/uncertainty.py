"""Calibration: the verdict, reliability and coverage diagrams, and the parts of the uncertainty."""

from collections.abc import Mapping
from math import isfinite, isnan, nan

from ...core.support.text import count
from ...document.blocks import make_figure, make_section, make_table, paragraphs
from ...document.document import Block, Column, Section, Split, Table
from ...document.text import clean, joined, name, number, plain, sentence, share_words, spaced, value_words
from ...evidence import ids, outcomes, selective
from ...evidence.importance import Pfi
from ...evidence.run import Run
from ...evidence.segments import OFF_SUPPORT, SegmentsView
from ...evidence.view import of_measure
from ...reading.run_reader import GATE, RunReader
from ...reading.sentences import is_share, percent, scaled, share
from ...reading.tables import CAUTION, key_words

ENTROPIES, VARIANCES = ("epistemic", "aleatoric"), ("epistemic_variance", "aleatoric_variance")
DIAGRAMS: tuple[type[outcomes.Bins], ...] = (outcomes.Reliability, outcomes.Coverage, outcomes.Pit)


def calibrated(e: RunReader) -> Section:
    """Return the verdict in a sentence, one figure or two beside each other, and the parts of the uncertainty."""
    halves = [half for view in DIAGRAMS if (half := _half(e, view))]
    texts: tuple[Block, ...] = paragraphs(_numbers(e), parts_words(e))
    if len(halves) == 1:
        halves, texts = [halves[0], texts], ()
    sides = (Split(left=halves[0], right=halves[1]),) if halves else ()
    blocks = (*paragraphs(gate_words(e)), *sides, *texts, *_grades(e))
    return make_section("performance-calibration", "Calibration", blocks)


def _grades(e: RunReader) -> tuple[Table, ...]:
    """Return mean predicted and observed frequency by grade, where the owner stated grades."""
    view = outcomes.Grades.find(e.run)
    if view is None or not view.lines:
        return ()
    rows = [
        (x.item, x.n, f"{100 * x.x:.1f}%", share(x), f"{100 * x.null_lower:.0f} to {100 * x.null_upper:.0f}%")
        for x in view.lines
    ]
    columns: list[Column | str] = [clean(f"grade by {view.event}", 60), Column("n", "integer"), "mean predicted"]
    columns += ["observed", "if calibrated"]
    caption = "Calibration by the owner's grades; the last column is the range that a calibrated model gives."
    return (make_table("performance-grades", caption, columns, rows, evidence=view.id),)


def gate_words(e: RunReader) -> str:
    """Say in a sentence or two whether the stated distributions agree with the outcomes."""
    view = outcomes.CalibrationView.find(e.run)
    if view is None:
        return "Calibration was not tested."
    gap = view.of(outcomes.CONFIDENCE_GAP)
    if gap is None or isnan(gap.lower_90) or view.infinite_nll:
        return _verdict(e)
    margin = e.gap_margin
    stated = "the stated probabilities" if e.subject.classes is not None else "the stated distributions"
    interval = value_words(gap.estimate, gap.lower_90, gap.upper_90, "nats")
    words = f"calibration gap {interval.replace(' (', ', 90% CI ', 1).removesuffix(')')}"
    if e.gate.tone == "bad":
        return f"Not acceptable: {_direction(gap)} ({words}, n = {view.n})."
    if e.gate.tone == "good":
        within = f" within the tolerance of ±{plain(margin)} nats" if isfinite(margin) else ""
        return f"Acceptable: {stated} agree with the outcomes{within} ({words}, n = {view.n})."
    if e.gate.tone != "warning" or max(-gap.lower_90, gap.upper_90) < margin:
        return _verdict(e)
    outside = gap.lower_90 > margin or gap.upper_90 < -margin
    size = None if outside else view.gap_size(margin)
    verdict = "inconclusive" if size is None else size.words
    text = f"Whether {stated} agree with the outcomes is {verdict}: {words}, tolerance ±{plain(margin)}."
    return spaced(text, sentence(e.gate.reason) if outside else "")


def _verdict(e: RunReader) -> str:
    """Name the finding that decides the verdict; without one, why there is none."""
    findings = (finding for outcome in e.run.outcomes if outcome.check == GATE for finding in outcome.findings)
    decisive = next(findings, None)
    return e.gate.reason if decisive is None else f"{sentence(decisive.title)} See {clean(decisive.code, 20)}."


def _direction(gap: outcomes.ScoreLine) -> str:
    if gap.lower_90 > 0:
        return "the model is over-confident"
    under = "the model is under-confident"
    return under if gap.upper_90 < 0 else "the stated distributions do not match the outcomes, in no single direction"


def _half(e: RunReader, diagram: type[outcomes.Bins]) -> tuple[Block, ...]:
    """Return a diagram under a title that states its result; empty where there is none."""
    view = diagram.find(e.run)
    if view is None or not view.lines:
        return ()
    title, result = _title(e, view), view.result
    alt = f"{title} {_farthest(view)}"
    return (make_figure(f"performance-{view.id.replace('.', '-')}", title, alt, lambda: e.draw(result), view.id),)


def _title(e: RunReader, view: outcomes.Bins) -> str:
    """Return the result that a diagram shows, as far as its intervals allow."""
    scores = outcomes.CalibrationView.find(e.run)
    n = f"n = {(scores.n if scores is not None else 0) or e.subject.n or 0}"
    # bins whose interval excludes the ideal
    outside = [x for x in view.lines if not x.lower <= view.ideal(x) <= x.upper and isfinite(x.lower)]
    if isinstance(view, outcomes.Reliability):
        agree = f"No disagreement of stated probabilities and outcomes is shown ({n})."
        shown = "Stated probabilities and outcomes disagree."
        hidden = f"The disagreement is not significant in any single bin ({n})."
        return {
            "good": "Stated probabilities agree with outcomes.",
            "bad": shown if outside else hidden,
            "unknown": "Outcomes against stated probabilities; calibration was not tested.",
        }.get(e.gate.tone, agree)
    if isinstance(view, outcomes.Coverage):
        kind = "prediction intervals" if e.subject.classes is None else "label sets"
        wrong = [f"{100 * x.x:.0f}% {kind} cover {'fewer' if x.upper < x.x else 'more'}" for x in outside]
        good = f"No deviation of the coverage of {kind} from its nominal level is shown ({n})."
        return f"{joined(wrong)} outcomes than nominal." if wrong else good
    if not outside:
        return f"The PIT histogram is consistent with uniformity in every bin ({n})."
    return f"The PIT histogram deviates from uniformity in {len(outside)} of {len(view.lines)} bins."


def _farthest(view: outcomes.Bins) -> str:
    """Say how many intervals contain the ideal, and where the estimates are farthest from it."""
    ideals = [(line, view.ideal(line)) for line in view.lines]
    inside = sum(line.lower <= ideal <= line.upper for line, ideal in ideals)
    line, ideal = max(ideals, key=lambda pair: abs(pair[0].estimate - pair[1]))
    return (
        f"{inside} of {len(ideals)} intervals contain the ideal value. Largest deviation: {value_words(line.estimate)} "
        f"against {value_words(ideal)}. Intervals are pointwise."
    )


def _numbers(e: RunReader) -> str:
    """Return the diagrams in numbers."""
    reliability, coverage = outcomes.Reliability.find(e.run), outcomes.Coverage.find(e.run)
    if reliability is not None and reliability.lines:
        return spaced(_points(reliability), _widest(reliability, len(e.subject.classes or ())))
    line = next((x for x in coverage.lines if round(x.x, 3) == 0.9), None) if coverage is not None else None
    return f"The 90% prediction intervals cover {share(line)} of the outcomes." if line is not None else ""


def _points(view: outcomes.Reliability) -> str:
    """Say how many bins are consistent with a calibrated model."""
    bound = [line for line in view.lines if isfinite(line.null_lower)]
    if not bound:
        return ""
    inside = sum(line.null_lower <= line.estimate <= line.null_upper for line in bound)
    return f"{inside} of {len(bound)} bins are consistent with a calibrated model."


def _widest(view: outcomes.Reliability, n_classes: int) -> str:
    """Name the bin with the largest deviation; of several classes, of the most probable one."""
    line = max(view.lines, key=lambda line: abs(line.estimate - line.x))
    if n_classes > 2:
        return (
            f"Largest deviation: {line.n} observations with a probability near {100 * line.x:.0f}% of the most "
            f"probable class; the observed frequency is {share(line)}."
        )
    return (
        f"Largest deviation: {line.n} observations with stated probabilities near {100 * line.x:.0f}%; the observed "
        f"frequency is {share(line)}."
    )


def parts_words(e: RunReader) -> str:
    """Say which share of the uncertainty is epistemic, and what that does not cover, or that it was not estimated."""
    view = Pfi.find(e.run)
    means = {} if view is None else {line.measure: line.unpermuted for line in view.lines}
    size = _size(e, means)
    if not size:
        return "Epistemic uncertainty was not estimated."
    return spaced(size, _beyond(e), CAUTION)


def _size(e: RunReader, means: Mapping[str, float]) -> str:
    """Return the mean epistemic share of the uncertainty; empty without members."""
    pairs = [(VARIANCES, "variance")]
    # a share of a density's entropy would depend on the unit of the outcome
    pairs += [(ENTROPIES, "uncertainty")] if e.subject.classes is not None else []
    for (epistemic, aleatoric), what in pairs:
        whole = means.get(epistemic, nan) + means.get(aleatoric, nan)
        if whole > 0 and means[aleatoric] == 0:
            return (
                f"The members of the ensemble predict single points, so all of the stated {what} is epistemic; noise "
                "in the outcomes is not represented."
            )
        if whole > 0:
            return (
                f"On average {share_words(means[epistemic] / whole)} of the stated {what} is epistemic (reducible by "
                "more data); the remainder is aleatoric (irreducible)."
            )
    if ENTROPIES[0] in means:
        added = value_words(means[ENTROPIES[0]], unit="nats")
        return f"The epistemic part of the uncertainty is {added} on average."
    return ""


def _beyond(e: RunReader) -> str:
    """Say whether epistemic uncertainty is higher, or lower, outside the training domain, where that is shown."""
    view = SegmentsView.find(e.run)
    lines = {} if view is None else view.of(OFF_SUPPORT)
    line = next((lines[m] for m in (ENTROPIES[0], VARIANCES[0]) if m in lines), None)
    if line is None or not (line.difference_lower > 0 or line.difference_upper < 0):
        return ""
    sign, way = (1, "higher") if line.difference > 0 else (-1, "lower")
    lower, upper = sorted((sign * line.difference_lower, sign * line.difference_upper))
    return (
        f"For {count(line.n, 'observation')} outside the training domain the epistemic uncertainty is {way} than for "
        f"the others by {value_words(abs(line.difference), lower, upper, line.unit)}."
    )


def score_name(e: RunReader, item: str) -> str:
    """Return the name of a score inside a sentence: the log score is the log loss of classes, else the likelihood."""
    if item in (outcomes.LOG_SCORE, "nll"):
        return e.log_score
    return key_words(item)


REFERRED = 100 * (1 - selective.KEPT)  # percent of the observations


def referral_words(run: Run) -> str:
    """Say what referring the most uncertain observations does to the loss of the others; empty without a curve.

    ``"Referring the 10% most uncertain observations lowers the error rate of the others from 23.5% to 20.9% (18.1 to
    24.0)."``
    """
    view, curve, line = _at_kept(run)
    if view is None or curve is None or line is None:
        return ""
    whole = line.estimate + line.saved
    before = f"{100 * whole:.1f}%" if is_share(curve.unit) else number(whole)
    after = scaled(line.estimate, line.lower, line.upper, curve.unit, "%").replace(" units of the outcome", "")
    verb = "lowers" if line.saved_lower > 0 else "raises" if line.saved_upper < 0 else "changes"
    open_ = ", not established" * (verb == "changes")
    change = f"{verb} the {view.loss} of the others from {before} to {after}{open_}"
    return f"Referring the {REFERRED:.0f}% most uncertain observations {change}."


def referred_words(run: Run) -> str:
    """Say which observations are the most uncertain, and which share of all errors is theirs; empty without a curve.

    ``"The 10% most uncertain observations (expected error above 0.46) have 20% (16 to 25) of all errors, 10% by
    chance."``
    """
    view, _, line = _at_kept(run)
    if view is None or line is None or isnan(line.captured):
        return ""
    which = f"{view.uncertainty.partition(' (')[0]} above {number(line.threshold)}"
    part = percent(line.captured, line.captured_lower, line.captured_upper)
    errors = f"{part} of all {'errors' if view.classes else 'absolute error'}"
    return f"The {REFERRED:.0f}% most uncertain observations ({which}) have {errors}, {REFERRED:.0f}% by chance."


def _at_kept(
    run: Run,
) -> tuple[selective.SelectiveView | None, selective.RiskCoverageView | None, selective.RiskLine | None]:
    """Return the order, the curve, and its line where the most uncertain observations are referred."""
    curve = selective.RiskCoverageView.find(run)
    return selective.SelectiveView.find(run), curve, None if curve is None else curve.at()


def ordering_words(run: Run) -> str:
    """Return the one number of selective prediction with its interval; empty without one."""
    view = selective.SelectiveView.find(run)
    line = None if view is None else view.number
    if view is None or line is None:
        return ""
    if view.classes:
        return f"AUROC of failures {value_words(line.estimate, line.lower, line.upper)}, 0.5 by chance"
    return f"gain {percent(line.estimate, line.lower, line.upper)} of the largest possible, 0% by chance"


def group_words(run: Run) -> str:
    """Say which protected groups are referred most and least, and what the kept lose; empty without groups."""
    view, what = selective.SelectiveGroups.find(run), selective.SelectiveView.find(run)
    if view is None:
        return ""
    sentences = []
    for attribute in view.features:
        rates = [x for x in of_measure(view.lines, selective.REFERRAL_RATE) if x.feature == attribute]
        if len(rates) < 2:
            continue
        losses = {x.item: x for x in of_measure(view.lines, selective.KEPT_LOSS) if x.feature == attribute}
        ordered = sorted(rates, key=lambda x: -x.estimate)
        ends = (ordered[0], ordered[-1])
        shares = [f"{name(x.item)} {percent(x.estimate, x.lower, x.upper)}" for x in ends]
        kept = [scaled(y.estimate, y.lower, y.upper, y.unit, "%") for x in ends if (y := losses.get(x.item))]
        others = f"; {what.loss} of the others {joined(kept)}" if what is not None and len(kept) == len(ends) else ""
        sentences.append(f"Referred by {name(attribute)}: {joined(shares)}{others}.")
    return " ".join(sentences)


USEFULNESS = "Usefulness of the uncertainty"
USEFUL, UNSHOWN, OPEN, UNTESTED = "Useful", "Not shown", "Inconclusive", "Not assessed"
HEADLINES = {"passed": USEFUL, "found": UNSHOWN, "ignored": UNSHOWN, "skipped": OPEN}


def verdict(e: RunReader) -> str:
    """Return the verdict of the card and of the section: useful only where the printed intervals agree."""
    ended, (view, _, line) = e.ended(ids.SELECTIVE), _at_kept(e.run)
    headline = UNTESTED if ended is None else HEADLINES.get(ended.state, UNTESTED)
    if headline != USEFUL or view is None:
        return headline
    # the check asks for a 90% CI of the order alone
    above = view.number is None or view.number.lower > 0.5 * view.classes
    return USEFUL if above and line is not None and line.saved_lower > 0 else OPEN


def useful(e: RunReader) -> Section | None:
    """Return the sentences and the risk-coverage curve; None where selective prediction was not computed."""
    view, curve, _ = _at_kept(e.run)
    if view is None or curve is None:
        return None
    lead = spaced(f"{verdict(e)}. The uncertainty is the {view.uncertainty}.", referred_words(e.run))
    blocks: tuple[Block, ...] = paragraphs(lead, spaced(verdict_words(e), group_words(e.run)))
    if curve.lines:
        caption = f"{curve.loss.capitalize()} of the observations kept, the most uncertain referred first."
        alt = f"The {curve.loss} of the kept observations by the share kept. {referral_words(e.run)}"
        figure = make_figure("sure-selective", caption, alt, lambda: e.draw(curve.result), curve.id)
        blocks = (*blocks, figure)
    return make_section("sure-useful", USEFULNESS, blocks)


def verdict_words(e: RunReader) -> str:
    """Say how the check ended where it neither passed nor found anything; empty otherwise."""
    ended = e.ended(ids.SELECTIVE)
    if ended is None or ended.state in ("passed", "found", "ignored"):
        return ""
    return f"Not judged: {sentence(ended.reason)}"
