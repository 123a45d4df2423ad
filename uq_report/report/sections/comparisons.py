"""Sentences on the predictions against simple references: outcome rate, majority class, training, net benefit."""

from __future__ import annotations

from math import isnan

from ...core.support.numbers import number
from ...core.support.text import count
from ...document.text import name, value_words
from ...evidence.comparisons import (
    ACCURACY_GAIN,
    IN_THE_LARGE,
    NET_BENEFIT,
    NET_BENEFIT_GAIN,
    TRAINING_GAP,
    ComparisonLine,
    Comparisons,
)
from ...reading.run_reader import RunReader
from ...reading.sentences import scaled

LOG_LOSS = "Log loss"
COSTS = {0.25: "a quarter of", 1 / 3: "a third of", 0.5: "half", 1.0: "as much as", 2.0: "twice", 3.0: "three times"}


def comparison_words(e: RunReader) -> tuple[str, ...]:
    """Return a sentence for each comparison of the predictions with a simple reference that the run holds."""
    view = Comparisons.find(e.run)
    if view is None:
        return ()
    classes = e.subject.classes is not None
    sentences = (in_the_large(view), over_majority(view), training(view, classes=classes), benefit(view))
    return tuple(filter(None, sentences))


def in_the_large(view: Comparisons) -> str:
    """Say how far the mean prediction is from the outcome rate."""
    line = view.line(IN_THE_LARGE)
    if line is None:
        return ""
    means = f"Mean predicted probability of {name(line.of)} {_percent(line.value)}, observed {_percent(line.reference)}"
    return f"{means}: difference {_difference(line)}."


def over_majority(view: Comparisons) -> str:
    """Say how the accuracy compares with that of always predicting the majority class."""
    line = view.line(ACCURACY_GAIN)
    if line is None:
        return ""
    usual = f"always predicting {name(line.of)} gives {_percent(line.reference)}"
    return f"{_percent(line.value)} of the predictions are correct; {usual}: difference {_difference(line)}."


def training(view: Comparisons, *, classes: bool) -> str:
    """Say how the score on training observations compares with that on test observations."""
    line = view.line(TRAINING_GAP)
    if line is None:
        return ""
    here = value_words(line.value, line.value - line.estimate + line.lower, line.value - line.estimate + line.upper)
    few = f"{count(view.train_rows, 'training observation')}" if view.train_rows < view.train_of else "training"
    score = LOG_LOSS if classes and line.unit == "nats" else f"Mean {name(line.of)}"
    both = f"{score} {value_words(line.reference)} on {few}, {here} on test observations"
    size = number(abs(line.estimate), 2)
    if line.lower > 0:
        return f"{both}: {size} of it is over-fitting to the training observations."
    if line.upper < 0:
        return f"{both}: lower by {size} on test observations."
    return f"{both}: the difference is not established."


def benefit(view: Comparisons) -> str:
    """Say what the decisions are worth at their threshold, beside treating all and treating none."""
    line, gain, threshold = view.line(NET_BENEFIT), view.line(NET_BENEFIT_GAIN), view.threshold
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


def _difference(line: ComparisonLine) -> str:
    words = scaled(line.estimate, line.lower, line.upper, line.unit)
    return words if line.lower > 0 or line.upper < 0 or isnan(line.lower) else f"{words}, not established"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
