"""Sentences: what drives the prediction, the loss and the uncertainty, and whether corrupted values are visible.

No sentence names an order that intervals do not show, or a feature whose verdict is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import NamedTuple

from ...checks.reading import measure_words
from ...core.model.measures import BRIER
from ...core.support.text import count
from ...document.text import joined, mention, mentions, name, value_words
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, ShapImportance
from ...reading.rank_ranges import FeatureRanking, RankedFeature, answers
from ...reading.run_reader import RunReader
from ...reading.sentences import scaled
from . import uncertainty

PREDICTION, LOSS, UNCERTAINTY = "prediction", "loss", "uncertainty"
NAMED = 4  # features in a sentence
NO_LEADER = "UQ501"


class DriverRanking(NamedTuple):
    """A ranking of single features, largest first, as sentences read it; `n` rows, `open` where no leader is told."""

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
        """Return an importance with its interval, above 0 for what is worse or less sure; probabilities in points."""
        facts = self.ranking.facts
        words = scaled(line.estimate, line.lower, line.upper, facts.unit, sign=facts.sign)
        return f"{words} of {measure_words(BRIER.name)}" if self.ranking.measure == BRIER.name else words


def rankings(e: RunReader) -> dict[str, FeatureRanking]:
    """Return the ranking of each question by its role."""
    return {ranking.heading: ranking for ranking in answers(e)}


def drivers(e: RunReader) -> tuple[str, ...]:
    """Return a sentence or more on the prediction, the loss, the uncertainty, and on what corrupted values do to it."""
    readings = {role: _read(e, ranking) for role, ranking in rankings(e).items() if len(ranking.table)}
    prediction, loss, sizes = (readings.get(role) for role in (PREDICTION, LOSS, UNCERTAINTY))
    why = "was not measured" if e.subject.has_y else "cannot be said: no outcomes were given"
    measured = uncertainty.read(e)
    of_uncertainty = _sizes(sizes) if sizes else "What drives the uncertainty was not measured."
    sentences = (
        _prediction(prediction, _predicted(e)) if prediction else "What drives the prediction was not measured.",
        _loss(loss) if loss else f"What drives the loss {why}.",
        uncertainty.uncertainty(measured) if measured else of_uncertainty,
        uncertainty.corrupted(e),
    )
    return tuple(filter(None, sentences))


def _read(e: RunReader, ranking: FeatureRanking) -> DriverRanking:
    """Return a ranking with its verdicts and places; those without a number are left out."""
    lines = tuple(ranking.features[feature] for feature in ranking.order if feature in ranking.features)
    undecided = any(f.code == NO_LEADER and ranking.measure in f.measures for f in e.findings)
    tied = not all(line.by_intervals for line in ranking.features.values())
    return DriverRanking(ranking, lines, _rows(e, ranking), undecided or tied)


def _rows(e: RunReader, ranking: FeatureRanking) -> str:
    """Return on how many rows a ranking rests, in words."""
    view = ShapImportance.find(e.run) if ranking.result.id == ids.SHAP_IMPORTANCE else None
    used, n = len(view.rows_used) if view is not None else 0, e.subject.n
    if used and used != n:
        return f"the {count(used, 'explained row')}"
    return "these rows" if n is None else count(n, "row")


def _predicted(e: RunReader) -> str:
    """Return what moves as a phrase: of more than two classes the probability of the one that is shown."""
    classes, counts = e.subject.classes or (), e.subject.class_counts
    if len(classes) <= 2:
        return "the prediction"
    label = e.subject.positive_class
    most = counts and label in classes and counts[classes.index(label)] == max(counts)
    return f"the probability of {'the most frequent class, ' if most else ''}“{name(label)}”{',' if most else ''}"


def _prediction(read: DriverRanking, what: str) -> str:
    """Say which features move `what` most, the prediction."""
    leaders = read.leaders()
    if not any(line.estimate for line in read.lines):
        return f"No feature moves {what}."
    if len(leaders) == 1 and not read.open:
        return f"{_names(leaders)} moves {what} most, on average by {read.amount(leaders[0])}."
    if not 1 < len(leaders) <= NAMED:
        return f"No feature stands out for {what}: {read.n} cannot tell which moves it most."
    first = f"{mention(leaders[0].feature)} on average by {read.amount(leaders[0])}"
    return f"{_names(leaders)} move {what} most, {first}; {read.n} cannot tell which of them leads."


def _loss(read: DriverRanking) -> str:
    """Say whose permuted values cost most, and whose absence would help."""
    costly, better = read.of(POSITIVE), read.of(NEGATIVE)
    if read.ranking.facts.sign < 0:
        costly, better = better, costly
    harmful = f" Wrong values of {_names(better, 'or')} even lower the loss." if better else ""
    harmful += _by_few_rows(read, costly)
    if not costly:
        return f"{_no_cost(read)}{harmful}"
    leaders = read.leaders()
    if len(leaders) == 1 and leaders[0] in costly and not read.open:
        return f"Wrong values of {_names(leaders)} cost most on unseen rows: {read.amount(leaders[0])} a row.{harmful}"
    named, unsure = [line for line in leaders if line in costly], f"{read.n} cannot tell which costs most.{harmful}"
    if not named or len(named) > NAMED:
        those = _names(costly) if len(costly) == 1 else f"each of {count(len(costly), 'feature')}"
        return f"Wrong values of {those} raise the loss; {unsure}"
    most, whose = (" most", f"those of {mention(named[0].feature)} ") if len(named) > 1 else ("", "")
    first = f"{whose}by {read.amount(named[0])} a row"
    return f"Wrong values of {_names(named)} raise the loss{most} on unseen rows, {first}; {unsure}"


def _by_few_rows(read: DriverRanking, costly: Sequence[RankedFeature]) -> str:
    """Name what costs more than anything shown by estimate, where too few rows decide for an interval."""
    sign = read.ranking.facts.sign
    most = max((sign * line.estimate for line in costly), default=0.0)
    above = [line for line in read.lines if line.unreliable and sign * line.estimate > most]
    if not above:
        return ""
    cost = value_words(sign * above[0].estimate, unit=read.ranking.facts.unit)
    return f" By estimate those of {mention(above[0].feature)} cost more ({cost}), but a few rows decide that."


def _no_cost(read: DriverRanking) -> str:
    if all(line.verdict == ABOUT_0 for line in read.lines):
        return "Wrong values of no feature cost anything beyond the margin."
    return f"{read.n[:1].upper()}{read.n[1:]} do not show of any feature that its wrong values raise the loss."


def margin_of(ranking: FeatureRanking) -> float:
    """Return the margin within which an importance counts as 0; NaN where there is none."""
    return float(ranking.table[col.MARGIN].max()) if col.MARGIN in ranking.table else nan


def _sizes(read: DriverRanking) -> str:
    """Say what moves the uncertainty by Shapley values, where nothing was permuted."""
    leaders = read.leaders()
    if read.open or len(leaders) > NAMED or not leaders:
        return f"Which features drive the uncertainty most is inconclusive ({read.n})."
    verb = "drives" if len(leaders) == 1 else "drive"
    return f"{_names(leaders)} {verb} the uncertainty most, by the mean size of Shapley values."


def _names(lines: Sequence[RankedFeature], word: str = "and") -> str:
    return _listed([line.feature for line in lines], word)


def _listed(features: Sequence[str], word: str = "and") -> str:
    """Return names of features, at most `NAMED` of them; of more that stand for each other how many they are."""
    if word == "or" and len(features) > NAMED:
        return f"any of {count(len(features), 'feature')}"
    names = joined(mentions(features), NAMED)
    return names if word == "and" else f" {word} ".join(names.rsplit(" and ", 1))
