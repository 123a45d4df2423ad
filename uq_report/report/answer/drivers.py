"""Sentences: what drives the prediction, the loss and the uncertainty, and whether corrupted values are visible.

No sentence names an order that intervals do not show, or a feature whose verdict is open.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...checks.reading import likelihood, measure_words, signs
from ...core.model.measures import NLL, NLL_CLIPPED
from ...core.support.numbers import fixed, interval, number, places, unit_phrase
from ...core.support.text import count
from ...document.text import joined, mention, mentions, name, spaced
from ...evidence import columns as col, importance as views
from ...evidence.information import WITHOUT_TARGET, RedundancyView
from ...evidence.view import EstimateLine, by_feature, by_key, of_measure
from ...reading.rank_ranges import FeatureRanking, RankedFeature, answers, sample_size
from ...reading.run_reader import RunReader
from ...reading.sentences import apart, scaled

PREDICTION, LOSS, UNCERTAINTY = "prediction", "loss", "uncertainty"
LARGEST = 3  # features named where none is shown to lead
LOG_LOSSES = (NLL.name, NLL_CLIPPED.name)


def drivers(e: RunReader) -> tuple[str, ...]:
    """Return a sentence or more on the prediction, the loss, the uncertainty, and on what corrupted values do to it."""
    readings = {ranking.facts.role: ranking for ranking in answers(e)}
    prediction, loss, sizes = (readings.get(role) for role in (PREDICTION, LOSS, UNCERTAINTY))
    why = "was not measured" if e.subject.has_y else "is unknown: no outcomes were given"
    measured = read(e)
    of_uncertainty = _sizes(sizes) if sizes else "What drives the uncertainty was not measured."
    sentences = (
        _prediction(prediction, _predicted(e)) if prediction else "What drives the prediction was not measured.",
        _loss(loss, _loss_name(e, loss.measure)) if loss else f"What drives the loss {why}.",
        uncertainty(measured) if measured else of_uncertainty,
        corrupted(e),
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
    costly = [line for line in read.ranked if line.verdict == views.POSITIVE]
    better = [line for line in read.ranked if line.verdict == views.NEGATIVE]
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
    if all(line.verdict == views.ABOUT_0 for line in read.ranked):
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


NAMED = 4  # features in a sentence
FOLLOWING = 2  # units named after the leader
MAINLY = 0.5  # share of the difference between two observations from which a leader is the main driver
PREDICTABLE = 0.1  # R² from the other features from which a corrupted value could be noticed
LEVEL = 0.05
# what changes, by measure
OBJECTS: Mapping[str, str] = {
    "uncertainty_change": "entropy",
    "sd_change": "predictive standard deviation",
    "width_change": "width of the prediction interval",
}


class UncertaintyDrivers:
    """What drives the uncertainty, as sentences read it: the difference between two observations, and the units.

    `leaders` are the units that may lead; `what` changes, in words, by so much of `unit`.
    """

    def __init__(self, e: RunReader, view: views.DriversView) -> None:
        measure = view.measures[0]
        self.e, self.view, self.n = e, view, sample_size(e, view.id)
        self.difference, self.units = view.difference(measure), view.of(measure)
        self.leaders = tuple(line for line in self.units if line.first == 1)
        self.what = OBJECTS.get(measure, e.words(measure).title)
        self.unit = unit_phrase(e.words(measure, view.result).unit)

    def called(self, line: views.UnitLine) -> str:
        """Return a unit in words: a feature, associated features, or a group that the owner named."""
        members = self.view.units.get(line.feature, ())
        if not members:
            return mention(line.feature)
        names = joined(mentions(members), NAMED)
        owner = line.feature in self.e.subject.groups
        lead = f"the group “{name(line.feature)}” ({names}," if owner else f"the correlated features {names} ("
        return f"{lead}{' ' if owner else ''}permuted together)"

    def size(self, line: views.UnitLine) -> str:
        """Return a size with its unit, rounded to its interval."""
        return f"{rounded(line)} {self.unit}".rstrip()


def rounded(line: EstimateLine, like: EstimateLine | None = None) -> str:
    """Return an estimate to two digits of the width of an interval: its own, or one that is `like` it."""
    of = line if like is None else like
    digits = places(of.lower, of.upper) if of.has_interval else None
    return number(line.estimate) if digits is None else fixed(line.estimate, digits)


def sizes(lines: Sequence[EstimateLine]) -> str:
    """Return estimates in words, all with the decimals of the first."""
    return joined([rounded(line, lines[0]) for line in lines])


def confidence_words(line: EstimateLine) -> str:
    """Return the interval in brackets: ``" (95% CI 0.14 to 0.16)"``; empty without one."""
    ends = interval(line.lower, line.upper) if line.has_interval else ""
    return f" ({100 * line.confidence:g}% CI {ends})" if ends else ""


def read(e: RunReader) -> UncertaintyDrivers | None:
    """Return what drives the uncertainty; None where it was not measured."""
    view = views.DriversView.find(e.run)
    return UncertaintyDrivers(e, view) if view is not None and view.lines else None


def uncertainty(drivers: UncertaintyDrivers) -> str:
    """Say what drives the uncertainty, or that it is constant, or that this is inconclusive."""
    difference = drivers.difference
    if difference.estimate == 0:
        return "The model states the same uncertainty for every observation."
    if difference.verdict == views.CONSTANT:
        return (
            f"The stated uncertainty is practically the same for all observations (average difference "
            f"{drivers.size(difference)}, tolerance {number(difference.margin, 2)}): no feature determines it."
        )
    if difference.verdict != views.DIFFERS:
        return f"Whether the stated uncertainty differs between observations is inconclusive ({drivers.n})."
    return spaced(_leading(drivers), _rare(drivers), _flagged(drivers), _unused(drivers))


def _leading(drivers: UncertaintyDrivers) -> str:
    """Say which unit leads, or which may, or that none dominates."""
    shown, leaders = [line for line in drivers.units if line.verdict == views.POSITIVE], drivers.leaders
    if not shown and all(line.verdict == views.ABOUT_0 for line in drivers.units):
        limit = f"a tenth of the average difference between two observations ({drivers.size(drivers.difference)})"
        return f"No feature alone changes the {drivers.what} by more than {limit}."
    if not leaders or any(line.verdict != views.POSITIVE for line in leaders):
        return f"Which features drive the uncertainty most is inconclusive ({drivers.n})."
    if len(leaders) > NAMED:
        low, *_, high = sorted(line.estimate for line in leaders)
        ends = f"{number(low, 2)} to {number(high, 2)} {drivers.unit}".rstrip()
        what = f"{count(len(leaders), 'feature')} change the {drivers.what} by {ends} each"
        return f"No single feature dominates the uncertainty: {what}."
    if len(leaders) > 1:
        size = f"{sizes(leaders)} {drivers.unit}".rstrip()
        lead = f"{_first(joined([drivers.called(line) for line in leaders]))} drive the uncertainty most"
        open_ = f"their ranking is not statistically distinguishable ({drivers.n})"
        return spaced(f"{lead} ({size}); {open_}.", _following(drivers, shown, leaders))
    return spaced(_leader(drivers, leaders[0]), _following(drivers, shown, leaders))


def _leader(drivers: UncertaintyDrivers, line: views.UnitLine) -> str:
    """Say which unit leads, by how much, and how much of the difference between two observations that is."""
    degree = "mainly" if line.share_lower >= MAINLY and not line.flag else "most"
    together = "them" if line.feature in drivers.view.units else "it"
    share = f"{100 * line.share:.0f}% of the average difference between two observations"
    return (
        f"Uncertainty is driven {degree} by {drivers.called(line)}: permuting {together} changes the {drivers.what} by "
        f"{drivers.size(line)} on average{confidence_words(line)}, {share} ({drivers.size(drivers.difference)})."
    )


def _following(drivers: UncertaintyDrivers, shown: Sequence[views.UnitLine], leaders: Sequence[views.UnitLine]) -> str:
    """Name the units after the leaders."""
    after = [line for line in shown if line not in leaders][:FOLLOWING]
    names = joined([f"{drivers.called(line)} ({rounded(line, leaders[0])})" for line in after])
    return f"{_first(names)} {'follows' if len(after) == 1 else 'follow'}." if after else ""


def _rare(drivers: UncertaintyDrivers) -> str:
    """Name a unit that leads by mean squares: it changes few pairs, and those by much."""
    rare = next((line for line in drivers.units if line.rare and line.verdict == views.POSITIVE), None)
    if rare is None:
        return ""
    much = f"{number(rare.where_changed, 2)} {drivers.unit}".rstrip()
    share = f"{100 * rare.changed:.0f}% of pairs"
    return f"{_first(drivers.called(rare))} changes it in fewer cases ({share}), but by {much} where it does."


def _flagged(drivers: UncertaintyDrivers) -> str:
    """Say that part of a leader's size arises from combinations of values that do not occur."""
    flagged = [line for line in drivers.leaders[:NAMED] if line.flag and line.verdict == views.POSITIVE]
    shifts = [number(line.shift, 2) for line in flagged if line.shift_lower * line.shift_upper > 0]
    means = f" (mean shift {joined(shifts)} {drivers.unit}".rstrip() + ")" if shifts else ""
    text = f"Part of this size arises from combinations of values that do not occur in the data{means}."
    return text if flagged else ""


def _unused(drivers: UncertaintyDrivers) -> str:
    """Name the units whose permutation never changes the uncertainty; a feature that did not vary shows nothing."""
    still = {feature.name for feature in drivers.e.subject.features if feature.constant}
    members = (m for x in drivers.units if x.exact_zero for m in drivers.view.units.get(x.feature, (x.feature,)))
    unused = [mention(member) for member in members if member not in still]
    if not unused:
        return ""
    names = joined(unused, NAMED).replace(" and ", " or ")
    use = "it" if len(unused) == 1 else "them"
    return f"No permutation of {names} changed the {drivers.what}: the model's uncertainty does not use {use}."


def _first(text: str) -> str:
    """Return a text as the beginning of a sentence; a feature's name stays as it is."""
    return f"The{text[3:]}" if text.startswith("the ") else text


class Corrupted(NamedTuple):
    """A feature whose permuted values increase the log loss: by how much, the mean change of entropy, the reading."""

    loss: EstimateLine
    entropy: EstimateLine
    gap: views.ReadingLine
    predicted: EstimateLine | None

    @property
    def feature(self) -> str:
        """Its name, marked."""
        return mention(self.loss.feature)

    @property
    def case(self) -> str:
        """The key of the sentence that says what happens; those without one are inconclusive."""
        hidden = self.gap.item == views.HIDDEN
        if self.predicted is not None and (hidden or self.gap.item == views.OPEN_RISE):
            if self.predicted.upper < PREDICTABLE:
                return UNPREDICTABLE
            if hidden and self.predicted.estimate >= PREDICTABLE:
                return IN_PART
        return self.gap.item


UNPREDICTABLE, IN_PART = "not predictable", "predictable in part"


def corrupted(e: RunReader) -> str:
    """Say of the features whose corruption costs most whether it is visible in the stated uncertainty."""
    cases = by_key((one.case, one) for one in _corrupted(e) if one.case in _SENTENCES)
    return spaced(*(_SENTENCES[case].format(loss=e.log_score, **_words(some)) for case, some in cases.items()))


def _words(some: Sequence[Corrupted]) -> dict[str, str]:
    """Return what the sentences say of features: their names, and the numbers that a case states, in their order."""
    entropies, first, single = [one.entropy for one in some], some[0].feature, len(some) == 1
    return {
        "names": joined([one.feature for one in some]),
        "losses": sizes([one.loss for one in some]),
        "falls": sizes(entropies),
        "rises": joined(list(map(rounded, entropies))),
        "gaps": joined([rounded(one.gap) for one in some]),
        "skills": joined([f"{one.predicted.estimate:.2f}" for one in some if one.predicted is not None]),
        "who": f"{first} is" if single else "They are",
        "it": "it" if single else "them",
        "feature": first if single else "them",
    }


def _corrupted(e: RunReader) -> list[Corrupted]:
    """Return the features whose corruption increases the log loss, largest first, after Holm's adjustment."""
    importance, reading, redundancy = views.Pfi.find(e.run), views.PfiReading.find(e.run), RedundancyView.find(e.run)
    if importance is None or reading is None:
        return []
    gaps, loss = by_feature(reading.lines), likelihood(importance)
    entropies = by_feature(of_measure(importance.lines, "entropy"))
    lines = redundancy.lines if redundancy is not None else ()
    predicted = by_feature(line for line in lines if line.item == WITHOUT_TARGET)
    losses = [line for line in signs(importance, loss, LEVEL).values() if line.verdict == views.POSITIVE]
    costly = [line for line in losses if line.feature in gaps and line.feature not in e.subject.groups]
    costly.sort(key=lambda line: -line.estimate)
    return [Corrupted(x, entropies[x.feature], gaps[x.feature], predicted.get(x.feature)) for x in costly[:NAMED]]


_RAISED = "Corrupted values of {names} increase the {loss} by {losses} nats"
_SENTENCES: Mapping[str, str] = {
    UNPREDICTABLE: f"{_RAISED} and are not visible in the stated uncertainty. {{who}} not predictable from the other "
    "features, so hardly any model could detect {it}: check {it} at data entry.",
    IN_PART: f"{_RAISED} without increasing the stated uncertainty, although the other features predict {{feature}} "
    "in part (R² {skills}).",
    views.HIDDEN: f"{_RAISED} without increasing the stated uncertainty.",
    views.LESS: f"{_RAISED} and the stated uncertainty by {{rises}} nats: {{gaps}} nats are not signalled.",
    views.ALIKE: f"{_RAISED}, and the stated uncertainty rises by as much as the loss.",
    views.MORE: f"{_RAISED}, and the stated uncertainty rises by more than the loss.",
    views.CONFIDENT: f"{_RAISED}, and the model becomes more confident (entropy {{falls}} nats).",
}
