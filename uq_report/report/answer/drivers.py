"""Sentences: what drives the prediction, the loss and the uncertainty, and whether corrupted values are visible.

No sentence names an order that intervals do not show, or a feature whose verdict is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import NamedTuple

from ...checks.reading import measure_words
from ...core.model.measures import NLL, NLL_CLIPPED
from ...core.support.text import count
from ...document.text import joined, mention, mentions, name
from ...evidence import columns as col
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE
from ...reading.rank_ranges import FeatureRanking, RankedFeature, answers, sample_size
from ...reading.run_reader import RunReader
from ...reading.sentences import apart, scaled
from . import uncertainty

PREDICTION, LOSS, UNCERTAINTY = "prediction", "loss", "uncertainty"
NAMED = 4  # features in a sentence
LARGEST = 3  # features named where none is shown to lead
LOG_LOSSES = (NLL.name, NLL_CLIPPED.name)


class DriverRanking(NamedTuple):
    """A ranking of single features, largest first; `n` is the sample size in words, `open` whether it has no leader."""

    ranking: FeatureRanking
    lines: tuple[RankedFeature, ...]
    n: str
    open: bool

    def of(self, verdict: str) -> list[RankedFeature]:
        """Return the lines with this verdict."""
        return [line for line in self.lines if line.verdict == verdict]

    def leaders(self) -> list[RankedFeature]:
        """Return the features that may lead."""
        return [line for line in self.lines if line.first == 1]

    def amount(self, line: RankedFeature) -> str:
        """Return an importance with its interval, above 0 for worse or less certain; probabilities in points."""
        facts = self.ranking.facts
        size, around = apart(scaled(line.estimate, line.lower, line.upper, facts.unit, sign=facts.sign))
        level = f"({100 * self.ranking.table[col.CONFIDENCE].max():g}% CI "
        return f"{size}{around.replace('(', level, 1)}"


def rankings(e: RunReader) -> dict[str, FeatureRanking]:
    """Return the ranking of each question by its role."""
    return {ranking.heading: ranking for ranking in answers(e)}


def drivers(e: RunReader) -> tuple[str, ...]:
    """Return a sentence or more on the prediction, the loss, the uncertainty, and on what corrupted values do to it."""
    readings = {role: _read(e, ranking) for role, ranking in rankings(e).items() if len(ranking.table)}
    prediction, loss, sizes = (readings.get(role) for role in (PREDICTION, LOSS, UNCERTAINTY))
    why = "was not measured" if e.subject.has_y else "is unknown: no outcomes were given"
    measured = uncertainty.read(e)
    of_uncertainty = _sizes(sizes) if sizes else "What drives the uncertainty was not measured."
    sentences = (
        _prediction(prediction, _predicted(e)) if prediction else "What drives the prediction was not measured.",
        _loss(loss, _loss_name(e, loss)) if loss else f"What drives the loss {why}.",
        uncertainty.uncertainty(measured) if measured else of_uncertainty,
        uncertainty.corrupted(e),
    )
    return tuple(filter(None, sentences))


def _read(e: RunReader, ranking: FeatureRanking) -> DriverRanking:
    """Return a ranking with its verdicts and places; those without a number are left out."""
    lines = tuple(ranking.features[feature] for feature in ranking.order if feature in ranking.features)
    tied = not all(line.by_intervals for line in ranking.features.values())
    return DriverRanking(ranking, lines, sample_size(e, ranking.result.id), tied)


def _predicted(e: RunReader) -> str:
    """Return what moves as a phrase: of more than two classes the probability of the one that is shown."""
    classes, counts = e.subject.classes or (), e.subject.class_counts
    if len(classes) <= 2:
        return "the prediction"
    label = e.subject.positive_class
    most = counts and label in classes and counts[classes.index(label)] == max(counts)
    return f"the probability of {'the most frequent class ' if most else ''}“{name(label)}”"


def _prediction(read: DriverRanking, what: str) -> str:
    """Say which features have the largest effect on `what`, the prediction."""
    leaders = read.leaders()
    if not any(line.estimate for line in read.lines):
        return f"No feature changes {what}."
    if len(leaders) == 1 and not read.open:
        return f"{_names(leaders)} has the largest effect on {what}: {read.amount(leaders[0])} on average."
    if not 1 < len(leaders) <= NAMED:
        return f"Which feature has the largest effect on {what} is inconclusive ({read.n}){_estimates(read.lines)}."
    first = f"{mention(leaders[0].feature)} {read.amount(leaders[0])} on average"
    return f"{_names(leaders)} have the largest effects on {what}: {first}; {_tied(read)}."


def _estimates(lines: Sequence[RankedFeature]) -> str:
    """Name the features with the largest estimates, of which none is shown to lead."""
    return f"; {_names(lines[:LARGEST])} have the largest estimates" if len(lines) > LARGEST else ""


def _tied(read: DriverRanking) -> str:
    return f"their ranking is not statistically distinguishable ({read.n})"


def _loss_name(e: RunReader, read: DriverRanking) -> str:
    """Return what readers call the loss: the log loss is that of classes."""
    measure = read.ranking.measure
    return f"the {e.log_score}" if measure in LOG_LOSSES else measure_words(measure)


def _loss(read: DriverRanking, loss: str) -> str:
    """Say which features increase the loss when permuted, and which decrease it."""
    costly, better = read.of(POSITIVE), read.of(NEGATIVE)
    if read.ranking.facts.sign < 0:
        costly, better = better, costly
    harmful = f" Permuting {_names(better, 'or')} decreases {loss}." if better else ""
    harmful += _by_few_observations(read, costly)
    if not costly:
        return f"{_no_increase(read, loss)}{harmful}"
    leaders = read.leaders()
    if len(leaders) == 1 and leaders[0] in costly and not read.open:
        return f"Permuting {_names(leaders)} increases {loss} most: by {read.amount(leaders[0])}.{harmful}"
    leading = [line for line in leaders if line in costly]
    if not leading or len(leading) > NAMED:
        those = _names(costly) if len(costly) == 1 else f"each of {count(len(costly), 'feature')}"
        most = _estimates(costly if len(costly) > NAMED else ())
        return f"Permuting {those} increases {loss}; which feature leads is inconclusive ({read.n}){most}.{harmful}"
    size = f"by {read.amount(leading[0])}"
    if len(leading) == 1:
        return (
            f"Permuting {_names(leading)} increases {loss}, {size}; whether it leads is inconclusive "
            f"({read.n}).{harmful}"
        )
    first = f"{mention(leading[0].feature)} {size}"
    return f"Permuting {_names(leading)} increases {loss} most: {first}; {_tied(read)}.{harmful}"


def _by_few_observations(read: DriverRanking, costly: Sequence[RankedFeature]) -> str:
    """Name the feature with a larger estimate than any that is shown, where a few observations decide its interval."""
    sign = read.ranking.facts.sign
    most = max((sign * line.estimate for line in costly), default=0.0)
    above = [line for line in read.lines if line.unreliable and sign * line.estimate > most]
    if not above:
        return ""
    size = apart(read.amount(above[0]))[0]
    return f" The estimate for {mention(above[0].feature)} is larger ({size}), but rests on a few observations."


def _no_increase(read: DriverRanking, loss: str) -> str:
    if all(line.verdict == ABOUT_0 for line in read.lines):
        return f"Permuting any single feature changes {loss} by less than the margin."
    return f"No feature is shown to increase {loss} when permuted ({read.n})."


def margin_of(ranking: FeatureRanking) -> float:
    """Return the margin within which an importance counts as 0; NaN where there is none."""
    return float(ranking.table[col.MARGIN].max()) if col.MARGIN in ranking.table else nan


def _sizes(read: DriverRanking) -> str:
    """Say what moves the uncertainty by Shapley values, where nothing was permuted."""
    leaders = read.leaders()
    if read.open or len(leaders) > NAMED or not leaders:
        return f"Which features drive the uncertainty most is inconclusive ({read.n})."
    verb = "drives" if len(leaders) == 1 else "drive"
    return f"{_names(leaders)} {verb} the uncertainty most, by mean absolute Shapley value."


def _names(lines: Sequence[RankedFeature], word: str = "and") -> str:
    return _listed([line.feature for line in lines], word)


def _listed(features: Sequence[str], word: str = "and") -> str:
    """Return names of features, at most `NAMED` of them; of more alternatives their number."""
    if word == "or" and len(features) > NAMED:
        return f"any of {count(len(features), 'feature')}"
    names = joined(mentions(features), NAMED)
    return names if word == "and" else f" {word} ".join(names.rsplit(" and ", 1))
