"""Sentences on the predictions against simple references: outcome rate, majority class, training, net benefit."""

from __future__ import annotations

from math import isfinite, isnan

from ...core.support.numbers import number
from ...core.support.text import count
from ...document.text import joined, mention, mentions, name, value_words
from ...evidence import comparisons as views
from ...reading.run_reader import RunReader
from ...reading.sentences import estimate_words, scaled, share, unbracketed

LOG_LOSS = "Log loss"
LEVEL = 0.05
COSTS = {0.25: "a quarter of", 1 / 3: "a third of", 0.5: "half", 1.0: "as much as", 2.0: "twice", 3.0: "three times"}


def comparison_words(e: RunReader) -> tuple[str, ...]:
    """Return a sentence for each comparison of the predictions with a simple reference that the run holds."""
    view = views.Comparisons.find(e.run)
    if view is None:
        return ()
    classes = e.subject.classes is not None
    sentences = (in_the_large(view), over_majority(view), training(view, classes=classes), benefit(view), cost(view))
    return tuple(filter(None, sentences))


def in_the_large(view: views.Comparisons) -> str:
    """Say how far the mean prediction is from the outcome rate; of several classes where it is farthest."""
    lines = [line for line in view.lines if line.item == views.IN_THE_LARGE]
    if not lines:
        return ""
    line = max(lines, key=lambda line: abs(line.estimate))
    lead = "" if len(lines) == 1 else f"Of {len(lines)} classes the largest difference: "
    means = f"ean predicted probability of {name(line.of)} {_percent(line.value)}, observed {_percent(line.reference)}"
    return f"{lead}{'m' if lead else 'M'}{means}: difference {_difference(line)}."


def over_majority(view: views.Comparisons) -> str:
    """Say how the accuracy compares with that of always predicting the majority class."""
    line = view.line(views.ACCURACY_GAIN)
    if line is None:
        return ""
    usual = f"always predicting {name(line.of)}, the majority in training ({_percent(line.reference)})"
    return f"Accuracy minus that of {usual}: {_difference(line)}."


def training(view: views.Comparisons, *, classes: bool) -> str:
    """Say how the score on training observations compares with that on test observations."""
    line = view.line(views.TRAINING_GAP)
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


def benefit(view: views.Comparisons) -> str:
    """Say what the decisions are worth at their threshold, beside treating all and treating none."""
    line, gain, threshold = view.line(views.NET_BENEFIT), view.line(views.NET_BENEFIT_GAIN), view.threshold
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


def cost(view: views.Comparisons) -> str:
    """Say what the decisions cost at the owner's costs, beside those from the threshold that the costs imply."""
    line = view.line(views.EXPECTED_COST)
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


def roc_words(e: RunReader, view: views.Roc) -> str:
    """State the area under the curve, and the rates of the decisions."""
    area = e.score("roc_auc")
    lead = "ROC curve" if area is None else f"ROC curve, AUC {estimate_words(area)}"
    if not view.decided:
        return f"{lead}."
    false, true = (f"{100 * rate:.0f}%" for rate in view.decided)
    return f"{lead}. The model's decisions find {true} of {name(view.event)} at a false-positive rate of {false}."


def benefit_curve_words(view: views.NetBenefit) -> str:
    """State for which thresholds the model is worth more than treating all and treating none."""
    worth = [k for k, x in enumerate(view.lines) if x.lower > 0 and x.gain_lower > 0]
    if not worth:
        return "At no threshold is the model shown to be worth more than treating all or none."
    first, last = (f"{100 * view.lines[worth[k]].x:g}" for k in (0, -1))
    where = f"from {first} to {last}%" if worth[-1] - worth[0] + 1 == len(worth) else f"between {first} and {last}%"
    return f"The model is shown to be worth more than treating all or none at {count(len(worth), 'threshold')} {where}."


def residual_words(view: views.PredictionResiduals) -> str:
    """State in how many quantile groups the mean residual is shown to differ from 0."""
    lines = view.of(views.RESIDUAL)
    apart = [x for x in lines if x.lower > 0 or x.upper < 0]
    if not apart:
        return f"No bias is shown in any of {len(lines)} quantile groups of the prediction."
    largest = max(apart, key=lambda x: abs(x.estimate))
    return (
        f"The mean residual differs from 0 in {len(apart)} of {len(lines)} quantile groups of the prediction; "
        f"largest near {value_words(largest.x)}: {value_words(largest.estimate, largest.lower, largest.upper)}."
    )


def pattern_words(view: views.PredictionResiduals) -> str:
    """Name the features along which the mean residual is shown to change, or say that no such pattern is shown."""
    features = view.by_feature()
    shown = {feature: lines[0].p_adjusted for feature, lines in features.items() if lines[0].p_adjusted <= LEVEL}
    if not shown:
        return f"No pattern of the residuals along a feature is shown; {joined(mentions(features))} come nearest."
    parts = [f"{mention(feature)} (p {'below 0.001' if p < 0.001 else f'= {p:.3f}'})" for feature, p in shown.items()]
    return f"The mean residual changes along {joined(parts)}, adjusted for all features."


def error_words(view: views.PredictionResiduals) -> str:
    """State where the error is smallest and largest, and where the stated variance does not cover it."""
    lines = view.of(views.ERROR_SIZE)
    low, high = (pick(lines, key=lambda x: x.estimate) for pick in (min, max))
    wrong = [x for x in lines if isfinite(x.implied) and not x.lower <= x.implied <= x.upper]
    ends = f" In {len(wrong)} of {len(lines)} groups the interval excludes the error that the model implies."
    return (
        f"The root mean squared error ranges from {value_words(low.estimate, low.lower, low.upper)} near "
        f"{value_words(low.x)} to {value_words(high.estimate, high.lower, high.upper)} near {value_words(high.x)}."
        f"{ends if wrong else ''}"
    )


def _difference(line: views.ComparisonLine) -> str:
    words = scaled(line.estimate, line.lower, line.upper, line.unit)
    return words if line.lower > 0 or line.upper < 0 or isnan(line.lower) else f"{words}, not established"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
