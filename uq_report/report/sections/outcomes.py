"""Performance out of sample: scores, decisions, model-implied against realised importance, and segments."""

from collections.abc import Sequence
from itertools import chain
from math import isfinite, isnan
from typing import Any

from ...core.support.numbers import number, unit_phrase
from ...core.support.text import count
from ...document.blocks import make_figure, make_section, make_table, paragraphs
from ...document.document import Block, Column, Paragraph, Section, Split, Table, Tint
from ...document.plots.frames import interval_words
from ...document.text import clean, joined, mention, mentions, name, sentence, spaced, unmarked, value_words
from ...evidence import comparisons, ids
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, ClaimLine, Claims
from ...evidence.outcomes import LOG_SCORE, CalibrationView, Decisions, ScoreLine
from ...evidence.rows import SupportDistribution
from ...evidence.segments import ALL_ROWS, LEVEL, SegmentFeatures, SegmentLine, SegmentPeriods, SegmentsView
from ...evidence.view import View, by_feature, by_key, largest_first
from ...reading.run_reader import RunReader
from ...reading.sentences import amount, estimate_words, is_share, mark, scaled, share, unbracketed, unreliable_words
from ...reading.tables import key_words
from .comparison import benchmarked
from .groups import affected
from .uncertainty import calibrated, score_name, useful

LOG_LOSS = "Log loss"
COSTS = {0.25: "a quarter of", 1 / 3: "a third of", 0.5: "half", 1.0: "as much as", 2.0: "twice", 3.0: "three times"}


def comparison_words(e: RunReader) -> tuple[str, ...]:
    """Return a sentence for each comparison of the predictions with a simple reference that the run holds."""
    view = comparisons.Comparisons.find(e.run)
    if view is None:
        return ()
    classes = e.subject.classes is not None
    sentences = (in_the_large(view), over_majority(view), training(view, classes=classes), benefit(view), cost(view))
    return tuple(filter(None, sentences))


def in_the_large(view: comparisons.Comparisons) -> str:
    """Say how far the mean prediction is from the outcome rate; of several classes where it is farthest."""
    lines = [line for line in view.lines if line.item == comparisons.IN_THE_LARGE]
    if not lines:
        return ""
    line = max(lines, key=lambda line: abs(line.estimate))
    lead = "" if len(lines) == 1 else f"Of {len(lines)} classes the largest difference: "
    means = f"ean predicted probability of {name(line.of)} {_percent(line.value)}, observed {_percent(line.reference)}"
    return f"{lead}{'m' if lead else 'M'}{means}: difference {_difference(line)}."


def over_majority(view: comparisons.Comparisons) -> str:
    """Say how the accuracy compares with that of always predicting the majority class."""
    line = view.line(comparisons.ACCURACY_GAIN)
    if line is None:
        return ""
    usual = f"always predicting {name(line.of)}, the majority in training ({_percent(line.reference)})"
    return f"Accuracy minus that of {usual}: {_difference(line)}."


def training(view: comparisons.Comparisons, *, classes: bool) -> str:
    """Say how the score on training observations compares with that on test observations."""
    line = view.line(comparisons.TRAINING_GAP)
    if line is None:
        return ""
    few = count(view.train_rows, "training observation") if view.train_rows < view.train_of else "training observations"
    words = scaled(line.estimate, line.lower, line.upper, line.unit)
    score = LOG_LOSS if classes and line.unit == "nats" else f"Mean {name(line.of)}"
    if line.lower > 0:
        return f"{score} is higher than on {few} by {words}: over-fitting."
    if line.upper < 0:
        return f"{score} is lower than on {few}: difference {words}."
    return f"{score} is not shown to differ from that on {few} ({unbracketed(words)})."


def benefit(view: comparisons.Comparisons) -> str:
    """Say what the decisions are worth at their threshold, beside treating all and treating none."""
    line, gain, threshold = view.line(comparisons.NET_BENEFIT), view.line(comparisons.NET_BENEFIT_GAIN), view.threshold
    if line is None or gain is None or threshold is None:
        return ""
    cost = threshold / (1 - threshold)
    words = next((text for size, text in COSTS.items() if abs(size - cost) < 1e-9), f"{number(cost, 2)} times")
    worth = value_words(100 * line.estimate, 100 * line.lower, 100 * line.upper)
    all_of_them = number(100 * gain.reference, 2)
    return (
        f"At a threshold of {threshold:g} for {name(line.of)} (a false alarm costs {words} a miss) the model is "
        f"worth {worth} net true positives per 100 observations, treating all {all_of_them}, none 0."
    )


def cost(view: comparisons.Comparisons) -> str:
    """Say what the decisions cost at the owner's costs, beside those from the threshold that the costs imply."""
    line = view.line(comparisons.EXPECTED_COST)
    if line is None or view.ideal is None:
        return ""
    ends = value_words(line.estimate, line.lower, line.upper)
    open_ = "" if line.lower > 0 or line.upper < 0 else ", not established"
    return (
        f"At the stated costs the decisions cost {value_words(line.value)} per observation, and "
        f"{value_words(line.reference)} from the threshold that these costs imply, {number(view.ideal, 2)}: difference "
        f"{ends}{open_}."
    )


def order_words(e: RunReader) -> str:
    """State how far predictions are off where classes have an order, and which scores ignore it."""
    one, more = e.score("off_by_one"), e.score("off_by_more")
    if one is None or more is None:
        return ""
    return (
        f"The predicted class is one class off for {share(one)} of the observations, and two or more classes off for "
        f"{share(more)}. Entropy, log loss and Brier score ignore the order of the classes; the ranked probability "
        "score respects it."
    )


def roc_words(e: RunReader, view: comparisons.Roc) -> str:
    """State the area under the curve, and the rates of the decisions."""
    area = e.score("roc_auc")
    lead = "ROC curve" if area is None else f"ROC curve, AUC {estimate_words(area)}"
    if not view.decided:
        return f"{lead}."
    false, true = (f"{100 * rate:.0f}%" for rate in view.decided)
    return f"{lead}. The model's decisions find {true} of {name(view.event)} at a false-positive rate of {false}."


def benefit_curve_words(view: comparisons.NetBenefit) -> str:
    """State for which thresholds the model is worth more than treating all and treating none."""
    worth = [k for k, x in enumerate(view.lines) if x.lower > 0 and x.gain_lower > 0]
    if not worth:
        return "At no threshold is the model shown to be worth more than treating all or none."
    first, last = (f"{100 * view.lines[worth[k]].x:g}" for k in (0, -1))
    where = f"from {first} to {last}%" if worth[-1] - worth[0] + 1 == len(worth) else f"between {first} and {last}%"
    return f"The model is shown to be worth more than treating all or none at {count(len(worth), 'threshold')} {where}."


def residual_words(view: comparisons.PredictionResiduals) -> str:
    """State in how many quantile groups the mean residual is shown to differ from 0."""
    lines = view.of(comparisons.RESIDUAL)
    apart = [x for x in lines if x.lower > 0 or x.upper < 0]
    if not apart:
        return f"No bias is shown in any of {len(lines)} quantile groups of the prediction."
    largest = max(apart, key=lambda x: abs(x.estimate))
    return (
        f"The mean residual differs from 0 in {len(apart)} of {len(lines)} quantile groups of the prediction; "
        f"largest near {value_words(largest.x)}: {value_words(largest.estimate, largest.lower, largest.upper)}."
    )


def pattern_words(view: comparisons.PredictionResiduals) -> str:
    """Name the features along which the mean residual is shown to change, or say that no such pattern is shown."""
    features = view.by_feature()
    shown = {feature: lines[0].p_adjusted for feature, lines in features.items() if lines[0].p_adjusted <= LEVEL}
    if not shown:
        return f"No pattern of the residuals along a feature is shown; {joined(mentions(features))} come nearest."
    parts = [f"{mention(feature)} (p {'below 0.001' if p < 0.001 else f'= {p:.3f}'})" for feature, p in shown.items()]
    return f"The mean residual changes along {joined(parts)}, adjusted for all features."


def error_words(view: comparisons.PredictionResiduals) -> str:
    """State where the error is smallest and largest, and where the stated variance does not cover it."""
    lines = view.of(comparisons.ERROR_SIZE)
    low, high = (pick(lines, key=lambda x: x.estimate) for pick in (min, max))
    wrong = [x for x in lines if isfinite(x.implied) and not x.lower <= x.implied <= x.upper]
    ends = f" In {len(wrong)} of {len(lines)} groups the interval excludes the error that the model implies."
    return (
        f"The root mean squared error ranges from {value_words(low.estimate, low.lower, low.upper)} near "
        f"{value_words(low.x)} to {value_words(high.estimate, high.lower, high.upper)} near {value_words(high.x)}."
        f"{ends if wrong else ''}"
    )


def _difference(line: comparisons.ComparisonLine) -> str:
    words = scaled(line.estimate, line.lower, line.upper, line.unit)
    return words if line.lower > 0 or line.upper < 0 or isnan(line.lower) else f"{words}, not established"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


COUNTED = 6  # classes up to which the table counts every pair
MOST = 8  # classes in the table of the front part
BASELINE, SKILL = "_baseline", "_skill"
# scores with a baseline; the first that a run has is shown on page 1
ITEMS_WITH_SKILL = (LOG_SCORE, "brier", "crps", "interval_score")
TITLES = {
    "brier": "Brier score (lower is better)",
    "rps": "ranked probability score (lower is better)",
    "off_by_one": "predicted one class off",
    "off_by_more": "predicted two or more classes off",
    "accuracy": "accuracy",
    "roc_auc": "area under the ROC curve (AUC)",
    "crps": "CRPS (lower is better)",
    "interval_score": "interval score (lower is better)",
    "mean_error": "mean error (outcome minus prediction)",
    "squared_error": "mean squared error (lower is better)",
    "r2": "coefficient of determination, R² (share of the variance explained)",
}
SQUARED = ("brier", "rps")  # scores without a unit by convention
RATES = {"recall": "recall", "precision": "precision"}


def scores(e: RunReader) -> Section:
    """Return the scores out of sample, and the confusion matrix."""
    view = CalibrationView.find(e.run)
    blocks: tuple[Block, ...] = paragraphs(e.why_missing(CalibrationView.id))
    if view is not None:
        words = paragraphs(order_words(e), spaced(*comparison_words(e)))
        tables = (_scores(e, view), *benchmarked(e), *_decisions(e))
        blocks = (*paragraphs(_skill(e, view.lines)), *tables, *words, *_curves(e))
    return make_section("performance-scores", "Performance", blocks)


def _scores(e: RunReader, view: CalibrationView) -> Table:
    """Return a line for each score of the prediction, beside that of the no-feature baseline."""
    lines = {line.item: line for line in view.lines if not line.judges_uncertainty}
    own = [item for item in lines if not item.endswith((BASELINE, SKILL))]
    heads = {"": "model", BASELINE: "no-feature baseline", SKILL: "improvement"}
    ends = [*heads] if any(f"{item}{SKILL}" in lines for item in own) else [""]
    rows = [[_score(e, lines[item]), *(_cell(lines.get(f"{item}{end}")) for end in ends)] for item in own]
    columns = ["score", *(heads[end] for end in ends)]
    if any(isfinite(lines[item].training) for item in own):
        columns.insert(2, "training observations, fixed")
        for item, row in zip(own, rows, strict=True):
            row.insert(2, _training(lines[item]))
    caption = f"Scores on the test sample (n = {view.n})."
    return make_table("performance-scores-table", caption, columns, rows, evidence=view.id)


def _score(e: RunReader, line: ScoreLine) -> str:
    """Return the name of a score, with the unit that a cell leaves out."""
    own = f"{score_name(e, LOG_SCORE)} (lower is better)" if line.item == LOG_SCORE else key_words(line.item)
    title = TITLES.get(line.item, own)
    left_out = " " in line.unit and not unit_phrase(line.unit) and not is_share(line.unit) and line.item not in SQUARED
    return f"{title}, {name(line.unit)}" if left_out else title


def _cell(line: ScoreLine | None) -> str:
    if line is None:
        return ""
    if line.item in ("roc_auc", "r2"):  # by convention not in percent
        return estimate_words(line)
    return amount(line)


def _training(line: ScoreLine) -> str:
    """Return the score of the training observations, in percent where the score is."""
    if not isfinite(line.training):
        return ""
    bare = line.item in ("roc_auc", "r2") or not is_share(line.unit)
    return value_words(line.training) if bare else f"{100 * line.training:.0f}%"


def _skill(e: RunReader, lines: Sequence[ScoreLine]) -> str:
    """Say whether the model outperforms the no-feature baseline, as far as the intervals show it."""
    sides = by_key((_side(line), score_name(e, line.item.removesuffix(SKILL))) for line in lines if line.is_skill)
    if not sides:
        return ""
    other = "the class frequencies" if e.subject.classes is not None else "the marginal distribution of outcomes"
    parts = [f"{side} a baseline that predicts {other}, by {joined(items)}" for side, items in sides.items()]
    return f"The model {'; it '.join(parts)}."


def _side(line: ScoreLine) -> str:
    if line.lower > 0:
        return "outperforms"
    return "performs worse than" if line.upper < 0 else "is not distinguishable from"


def _decisions(e: RunReader) -> tuple[Block, ...]:
    """Return the confusion matrix with recall and precision of each class."""
    view = Decisions.find(e.run)
    if view is None:
        return ()
    labels = [str(label) for label in view.classes]
    counted = labels if len(labels) <= COUNTED and view.counts else []
    rows = []
    for k, label in _least_recalled(view, labels):
        lines = view.of_class(label)
        number = lines["recall"].n if "recall" in lines else 0
        of_class = _tinted(k, view.counts[k][: len(labels)]) if counted else (number,)
        rows.append((name(label), *of_class, *(share(lines[x]) if x in lines else "" for x in RATES)))
    heads = [f"predicted {name(label)}" for label in counted] or ["n"]
    columns: list[Column | str] = ["actual", *(Column(head, "integer") for head in heads), *RATES.values()]
    least = f" The {len(rows)} of {len(labels)} classes with the lowest recall (upper limit)."
    which = "" if len(rows) == len(labels) else least
    caption = f"Confusion matrix, predicting {clean(view.rule)}.{which}"
    return (make_table("performance-decisions", caption, columns, rows, evidence=view.id),)


def _tinted(actual: int, row: Sequence[int]) -> tuple[Tint, ...]:
    """Return the counts of an actual class, each with its share of them."""
    whole = sum(row) or 1
    return tuple(Tint(n, n / whole, right=predicted == actual) for predicted, n in enumerate(row))


def _curves(e: RunReader) -> tuple[Block, ...]:
    """Return the figures of the performance side by side: ROC and net benefit, or residuals and errors."""
    halves: list[tuple[Block, ...]] = []
    residuals = comparisons.PredictionResiduals.find(e.run)
    if (roc := comparisons.Roc.find(e.run)) is not None:
        halves.append(_figure(e, roc, roc_words(e, roc), "Each line of the curve is a threshold."))
    if (benefit := comparisons.NetBenefit.find(e.run)) is not None:
        halves.append(_figure(e, benefit, benefit_curve_words(benefit), "Limits are by MOVER."))
    if residuals is not None:
        for item, say in ((comparisons.RESIDUAL, residual_words), (comparisons.ERROR_SIZE, error_words)):
            means = [value_words(x.estimate, x.lower, x.upper) for x in residuals.of(item)]
            values = joined([f"in quantile group {k} the {item} is {mean}" for k, mean in enumerate(means, 1)], 20)
            halves.append(_figure(e, residuals, say(residuals), f"Of the prediction, {values}.", item=item))
    by_feature = _patterns(e, residuals) if residuals is not None and residuals.by_feature() else ()
    both = (Split(left=halves[0], right=halves[1]),) if len(halves) == 2 else tuple(chain.from_iterable(halves))
    return (*both, *by_feature)


def _patterns(e: RunReader, view: comparisons.PredictionResiduals) -> tuple[Block, ...]:
    """Return the mean residuals along the features with the strongest pattern."""
    title = pattern_words(view)
    means = [
        f"along {name(feature)} the mean residual goes from {value_words(lines[0].estimate)} at its lowest values to "
        f"{value_words(lines[-1].estimate)} at its highest"
        for feature, lines in view.by_feature().items()
    ]
    alt = f"{unmarked(title)} {sentence(joined(means))}"
    key = "performance-residuals-features"
    return (make_figure(key, title, alt, lambda: e.draw(view.result, along="feature"), view.id),)


def _figure(e: RunReader, view: View[Any], title: str, alt: str, **parts: str) -> tuple[Block, ...]:
    key = "-".join(("performance", *view.id.split("."), *(part.split()[-1] for part in parts.values())))
    return (make_figure(key, title, f"{title} {alt}", lambda: e.draw(view.result, **parts), view.id),)


def _least_recalled(view: Decisions, labels: Sequence[str]) -> list[tuple[int, str]]:
    """Return the classes with their places; of many those with the lowest upper limit of the recall."""
    placed = [*enumerate(labels)]
    recalls = {line.label: (line.upper, line.estimate) for line in view.lines if line.item == "recall"}
    return placed if len(placed) <= MOST else sorted(placed, key=lambda place: recalls.get(place[1], (1.0, 1.0)))[:MOST]


CLAIMS_SHOWN = 5  # features in the table
CLAIMS = (
    "Increase in loss when a feature is permuted: model-implied, which the model itself expects, and realised, out of "
    "sample."
)
SEGMENTS_TITLE = "Segments"
SEGMENTS_SHOWN = 4  # segments in the front part
LISTED = "The observations of each segment, and the most uncertain ones, are attached."
NO_SEGMENT = (
    "No segment found by a small regression tree is shown to have higher uncertainty or loss than the other "
    "observations, on observations that the tree was not grown on."
)


def sure(e: RunReader) -> Section:
    """Return scores, calibration, usefulness of the uncertainty, realised importance, segments and groups."""
    parts = (scores(e), calibrated(e), useful(e), implied(e), segments(e), stability(e), affected(e))
    return make_section("performance", "Performance and calibration", _intervals(e), tuple(filter(None, parts)))


def _intervals(e: RunReader) -> tuple[Paragraph, ...]:
    """Say once which intervals are in brackets."""
    results = map(e.find, (ids.CALIBRATION, ids.CALIBRATION_DECISIONS, ids.PFI_CLAIMS, ids.SEGMENTS, ids.GROUPS))
    kinds = [*filter(None, dict.fromkeys(interval_words(r.estimates) for r in results if r is not None))]
    return paragraphs(f"In brackets: {joined(kinds)}." if kinds else "")


def implied(e: RunReader) -> Section | None:
    """Return the largest model-implied importances beside the realised ones; None where none was computed."""
    view = Claims.find(e.run)
    if view is None or not view.part(CLAIMED):
        return None
    blocks: tuple[Block, ...] = (*paragraphs(f"{CLAIMS}{_apart(view)}"), _table(e, view))
    if not view.part(DELIVERED):
        blocks = paragraphs("Without outcomes the realised importance is not known.")
    return make_section("performance-realised", "Model-implied and realised importance", blocks)


def _apart(view: Claims) -> str:
    """Name the features whose realised importance is shown to be below, or above, the model-implied one."""
    decisive = [x for x in view.part(DIFFERENCE) if x.feature != ALL_FEATURES and x.has_interval and not x.unreliable]
    less = [x.feature for x in largest_first(decisive) if x.lower > view.margin]
    more = [x.feature for x in largest_first(decisive, -1) if x.upper < -view.margin]
    sides = [(word, joined(mentions(features), CLAIMS_SHOWN)) for word, features in (("below", less), ("above", more))]
    texts = [f"{word} model-implied importance for {names}" for word, names in sides if names]
    return f" Realised importance is {joined(texts)}." if texts else ""


def _table(e: RunReader, view: Claims) -> Table:
    """Return the largest model-implied importances and that of all features together."""
    confirmed, difference = (by_feature(view.part(item)) for item in (DELIVERED, DIFFERENCE))
    unit = e.words(view.measures[0], view.result).unit
    ordered = largest_first(view.part(CLAIMED))
    lines = [x for x in ordered if x.feature != ALL_FEATURES][:CLAIMS_SHOWN]
    lines += [x for x in ordered if x.feature == ALL_FEATURES]
    rows = []
    for x in lines:
        amounts = [estimate_words(each) + mark(each) for each in (x, confirmed.get(x.feature))]
        rows.append((name(x.feature), *amounts, _realisation_ratio(view, x, difference.get(x.feature))))
    columns = ("feature", Column("model-implied", unit=unit), Column("realised", unit=unit), "realisation ratio")
    pairs = (x for line in lines for x in (line, confirmed.get(line.feature)) if x is not None)
    note, caption = unreliable_words(line.unreliable for line in pairs), "The largest model-implied importances."
    return make_table("performance-realised-table", caption, columns, rows, evidence=view.id, note=note)


def _realisation_ratio(view: Claims, claim: ClaimLine, difference: ClaimLine | None) -> str:
    """Return the realisation ratio; empty for a negligible importance, or where its interval is unreliable."""
    tiny = claim.estimate < view.margin
    if tiny or difference is None or difference.unreliable or not isfinite(difference.share_lower):
        return ""
    return value_words(difference.share, difference.share_lower, difference.share_upper)


def segments(e: RunReader) -> Section | None:
    """Return the leading segments with their uncertainty and loss; None where none were searched for."""
    view = SegmentsView.find(e.run)
    if view is None or not view.lines:
        return None
    keys = view.raised(1)[:SEGMENTS_SHOWN]
    blocks: tuple[Block, ...] = paragraphs(NO_SEGMENT)
    if keys:
        titles = [e.log_score if m == "nll" else e.words(m, view.result).title for m in view.measures]
        columns: tuple[Column | str, ...] = ("segment", Column("n", "integer"), *titles, "feature that explains most")
        rows = [_segment(view, key, SegmentFeatures.find(e.run)) for key in keys]
        caption = "Segments with higher uncertainty or loss, on observations that did not define them."
        blocks = (make_table("performance-segments-table", caption, columns, rows, evidence=view.id),)
    listed = "" if e.find(ids.SEGMENTS_ROWS) is None else LISTED
    return make_section("performance-segments", SEGMENTS_TITLE, (*blocks, *paragraphs(listed)))


def _segment(view: SegmentsView, key: str, features: SegmentFeatures | None) -> tuple[str | int, ...]:
    lines = view.of(key)
    first = next(iter(lines.values()))
    closest = None if features is None else features.leading(key, first.grown)
    means = (estimate_words(lines.get(measure)) for measure in view.measures)
    return (clean(first.item), first.n, *means, "" if closest is None else name(closest.feature))


SHIFTED = ("UQ303", "UQ304")  # new values, and another distribution than in training
DRAWN = 4


def stability(e: RunReader) -> Section | None:
    """Return the means by period and the features that shifted since training; None without either."""
    blocks = (*_periods(e), *_shifted(e))
    return make_section("performance-stability", "Stability", blocks) if blocks else None


def _shifted(e: RunReader) -> tuple[Block, ...]:
    """Return the distributions in training and test sample of the features with a finding about their shift."""
    view = SupportDistribution.find(e.run)
    named = dict.fromkeys(x for f in e.findings if f.code in SHIFTED for x in f.features)
    features = [feature for feature in named if view is not None and feature in view.edges]
    if view is None or not features:
        return ()
    shown, more = joined(mentions(features[:DRAWN])), len(features) - DRAWN
    figure = make_figure(
        "performance-shift-figure",
        f"Distribution in the training and the test sample{f'; {more} more features shifted' if more > 0 else ''}.",
        f"A histogram of each sample for {unmarked(shown)}.",
        lambda: e.draw(view.result, features=features[:DRAWN]),
        view.id,
    )
    return (*paragraphs(f"The test sample differs from the training sample in {joined(mentions(features))}."), figure)


def _periods(e: RunReader) -> tuple[Block, ...]:
    """Return the means by period and the periods that differ; empty without a time."""
    view = SegmentPeriods.find(e.run)
    if view is None:
        return ()
    lines = [line for line in view.lines if line.segment != ALL_ROWS]
    number = len({line.segment for line in lines})
    titles = joined([e.words(measure, view.result).title for measure in view.measures])
    figure = make_figure(
        "performance-periods-figure",
        f"Means by period. Intervals: {interval_words(view.result.estimates)}.",
        spaced(f"A dot with its interval for each of {number} periods.", *(_means(e, lines, m) for m in view.measures)),
        lambda: e.draw(view.result),
        view.id,
    )
    apart = [line for line in lines if line.p_adjusted <= LEVEL and line.difference > 0]
    text = f"{number} periods of about equally many observations are compared by {titles}."
    none = "No period is shown to differ from the others." if not apart else ""
    return (*paragraphs(spaced(text, none, *(_differs(e, line) for line in apart))), figure)


def _means(e: RunReader, lines: list[SegmentLine], measure: str) -> str:
    title, own = e.words(measure).title, [estimate_words(line) for line in lines if line.measure == measure]
    return sentence(joined([f"in period {k} the mean {title} is {mean}" for k, mean in enumerate(own, 1)]))


def _differs(e: RunReader, line: SegmentLine) -> str:
    """Say that the mean of a period is above or below that of the others, adjusted for all comparisons."""
    facts, side = e.words(line.measure), "above" if line.difference > 0 else "below"
    size = estimate_words(line, facts.unit)
    return f"From {clean(line.item)} the mean {facts.title}, {size}, is {side} that of the other periods."
