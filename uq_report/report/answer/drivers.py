"""Sentences: what drives the prediction, the loss and the uncertainty, and whether corrupted values are visible.

No sentence names an order that intervals do not show, or a feature whose verdict is open.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...checks.reading import measure_words
from ...core.model.measures import NLL, NLL_CLIPPED
from ...core.support.text import count
from ...document.text import joined, mention, mentions, name
from ...evidence import columns as col
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE
from ...reading.rank_ranges import FeatureRanking, RankedFeature, answers
from ...reading.run_reader import RunReader
from ...reading.sentences import apart, scaled
from . import uncertainty

PREDICTION, LOSS, UNCERTAINTY = "prediction", "loss", "uncertainty"
NAMED = 4  # features in a sentence
LARGEST = 3  # features named where none is shown to lead
LOG_LOSSES = (NLL.name, NLL_CLIPPED.name)


def drivers(e: RunReader) -> tuple[str, ...]:
    """Return a sentence or more on the prediction, the loss, the uncertainty, and on what corrupted values do to it."""
    readings = {ranking.facts.role: ranking for ranking in answers(e)}
    prediction, loss, sizes = (readings.get(role) for role in (PREDICTION, LOSS, UNCERTAINTY))
    why = "was not measured" if e.subject.has_y else "is unknown: no outcomes were given"
    measured = uncertainty.read(e)
    of_uncertainty = _sizes(sizes) if sizes else "What drives the uncertainty was not measured."
    sentences = (
        _prediction(prediction, _predicted(e)) if prediction else "What drives the prediction was not measured.",
        _loss(loss, _loss_name(e, loss.measure)) if loss else f"What drives the loss {why}.",
        uncertainty.uncertainty(measured) if measured else of_uncertainty,
        uncertainty.corrupted(e),
    )
    return tuple(filter(None, sentences))


def _predicted(e: RunReader) -> str:
    """Return what moves as a phrase: of more than two classes the probability of the one that is shown."""
    classes, counts = e.subject.classes or (), e.subject.class_counts
    if len(classes) <= 2:
        return "the prediction"
    label = e.subject.positive_class
    most = counts and label in classes and counts[classes.index(label)] == max(counts)
    return f"the probability of {'the most frequent class ' if most else ''}“{name(label)}”"


def _prediction(read: FeatureRanking, what: str) -> str:
    """Say which features have the largest effect on `what`, the prediction."""
    leaders = read.leaders
    if not any(line.estimate for line in read.ranked):
        return f"No feature changes {what}."
    if len(leaders) == 1 and read.has_intervals:
        return f"{_names(leaders)} has the largest effect on {what}: {_amount(read, leaders[0])} on average."
    if not 1 < len(leaders) <= NAMED:
        return f"Which feature has the largest effect on {what} is inconclusive ({read.n}){_estimates(read.ranked)}."
    first = f"{mention(leaders[0].feature)} {_amount(read, leaders[0])} on average"
    return f"{_names(leaders)} have the largest effects on {what}: {first}; {_tied(read)}."


def _amount(read: FeatureRanking, line: RankedFeature) -> str:
    """Return an importance with its interval, above 0 for worse or less certain; probabilities in points."""
    size, around = apart(scaled(line.estimate, line.lower, line.upper, read.facts.unit, sign=read.facts.sign))
    level = f"({100 * read.table[col.CONFIDENCE].max():g}% CI "
    return f"{size}{around.replace('(', level, 1)}"


def _estimates(lines: Sequence[RankedFeature]) -> str:
    """Name the features with the largest estimates, of which none is shown to lead."""
    return f"; {_names(lines[:LARGEST])} have the largest estimates" if len(lines) > LARGEST else ""


def _tied(read: FeatureRanking) -> str:
    return f"their ranking is not statistically distinguishable ({read.n})"


def _loss_name(e: RunReader, measure: str) -> str:
    """Return what readers call the loss: the log loss is that of classes."""
    return f"the {e.log_score}" if measure in LOG_LOSSES else measure_words(measure)


def _loss(read: FeatureRanking, loss: str) -> str:
    """Say which features increase the loss when permuted, and which decrease it."""
    costly, better = ([line for line in read.ranked if line.verdict == verdict] for verdict in (POSITIVE, NEGATIVE))
    if read.facts.sign < 0:
        costly, better = better, costly
    harmful = f" Permuting {_names(better, 'or')} decreases {loss}." if better else ""
    harmful += _by_few_observations(read, costly)
    if not costly:
        return f"{_no_increase(read, loss)}{harmful}"
    leaders = read.leaders
    if len(leaders) == 1 and leaders[0] in costly and read.has_intervals:
        return f"Permuting {_names(leaders)} increases {loss} most: by {_amount(read, leaders[0])}.{harmful}"
    leading = [line for line in leaders if line in costly]
    if not leading or len(leading) > NAMED:
        those = _names(costly) if len(costly) == 1 else f"each of {count(len(costly), 'feature')}"
        most = _estimates(costly if len(costly) > NAMED else ())
        return f"Permuting {those} increases {loss}; which feature leads is inconclusive ({read.n}){most}.{harmful}"
    size = f"by {_amount(read, leading[0])}"
    if len(leading) == 1:
        return (
            f"Permuting {_names(leading)} increases {loss}, {size}; whether it leads is inconclusive "
            f"({read.n}).{harmful}"
        )
    first = f"{mention(leading[0].feature)} {size}"
    return f"Permuting {_names(leading)} increases {loss} most: {first}; {_tied(read)}.{harmful}"


def _by_few_observations(read: FeatureRanking, costly: Sequence[RankedFeature]) -> str:
    """Name the feature with a larger estimate than any that is shown, where a few observations decide its interval."""
    sign = read.facts.sign
    most = max((sign * line.estimate for line in costly), default=0.0)
    above = [line for line in read.ranked if line.unreliable and sign * line.estimate > most]
    if not above:
        return ""
    size = apart(_amount(read, above[0]))[0]
    return f" The estimate for {mention(above[0].feature)} is larger ({size}), but rests on a few observations."


def _no_increase(read: FeatureRanking, loss: str) -> str:
    if all(line.verdict == ABOUT_0 for line in read.ranked):
        return f"Permuting any single feature changes {loss} by less than the margin."
    return f"No feature is shown to increase {loss} when permuted ({read.n})."


def _sizes(read: FeatureRanking) -> str:
    """Say what moves the uncertainty by Shapley values, where nothing was permuted."""
    leaders = read.leaders
    if not read.has_intervals or len(leaders) > NAMED or not leaders:
        return f"Which features drive the uncertainty most is inconclusive ({read.n})."
    verb = "drives" if len(leaders) == 1 else "drive"
    return f"{_names(leaders)} {verb} the uncertainty most, by mean absolute Shapley value."


def _names(lines: Sequence[RankedFeature], word: str = "and") -> str:
    """Return names of features, at most `NAMED` of them; of more alternatives their number."""
    if word == "or" and len(lines) > NAMED:
        return f"any of {count(len(lines), 'feature')}"
    names = joined(mentions(line.feature for line in lines), NAMED)
    return names if word == "and" else f" {word} ".join(names.rsplit(" and ", 1))
