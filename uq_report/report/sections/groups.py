"""Groups of protected attributes: differences in prediction and outcome, and what is attributable to the attribute."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from ...core.support.numbers import unit_phrase
from ...core.support.text import count
from ...document.blocks import bullets, make_figure, make_section, paragraphs, tables
from ...document.document import Block, Card, Column, Fold, Section, Table
from ...document.plots.frames import interval_words
from ...document.text import clean, joined, mention, mentions, name, spaced, value_words
from ...evidence import outcomes
from ...evidence.view import of_feature, of_measure, table_of
from ...reading.run_reader import OPEN, RunReader
from ...reading.sentences import amount, apart, estimate_words, points, unbracketed
from ..plots import draw_groups

TITLE = "Groups"
ATTRIBUTES, LEVELS = 3, 6  # in tables of the front part
PREDICTION, OUTCOME, RESIDUAL, MISSED = "prediction", "outcome", "residual", "false_negative_rate"
TOGETHER, ALL_ROWS = "all features", "all observations"  # items that are of no feature, and of no level
BIASED, USED = "UQ801", "UQ803"  # predictions too high or too low for a level; predictions that use an attribute
CODES = "UQ80"
L = TypeVar("L", bound=outcomes.GroupLine)
_OF_GROUP = re.compile(r"^group '.*?': ")


def affected(e: RunReader) -> Section | None:
    """Return a table and a sentence for each attribute, proxies, and groups not testable; None without attributes."""
    view = outcomes.GroupsView.find(e.run)
    if view is None and not e.subject.protected:
        return None
    blocks: tuple[Block, ...] = paragraphs(e.why_missing(outcomes.GroupsView.id))
    if view is not None:
        attributes = [AttributeEffects(e, view, feature) for feature in view.features if feature]
        own = [table for k, x in enumerate(attributes[:ATTRIBUTES], 1) for table in x.table(f"performance-groups-{k}")]
        sentences = [sentence for attribute in attributes for sentence in attribute.sentences()]
        basis = f"Legal basis: {e.about('legal_basis') or OPEN.text}."
        texts = bullets([*sentences, *_proxies(e, view), *_withheld(e, view)])
        numbers = (Fold(title="Means and differences by group", blocks=tuple(own)),) if own else ()
        blocks = (*_figure(attributes[:ATTRIBUTES]), *texts, *numbers)
        blocks = (*paragraphs(basis), *(blocks or paragraphs("Not testable: no group has enough observations.")))
    return make_section("performance-groups", TITLE, blocks)


class AttributeEffects:
    """The effects of one attribute, for the class whose predictions differ most.

    `most` is the group whose predictions differ most from those of the others, `suffix` the class of the predictions,
    empty where there is one; `means` and `apart`, each group minus all others, are of prediction and outcome by group.
    """

    def __init__(self, e: RunReader, view: outcomes.GroupsView, name: str) -> None:
        self.e, self.view, self.name, self.lines = e, view, name, of_feature(view.lines, name)
        every = outcomes.GroupsDifference.find(e.run)
        differences = () if every is None else of_feature(every.lines, name)
        predictions = (line for line in differences if line.measure.startswith(PREDICTION))
        self.most = max(predictions, key=lambda line: abs(line.estimate), default=None)
        self.suffix = "" if self.most is None else self.most.measure.removeprefix(PREDICTION)
        self.means = [self._by_group(measure, self.lines) for measure in (PREDICTION, OUTCOME)]
        self.apart = [self._by_group(measure, differences) for measure in (PREDICTION, OUTCOME)]

    def _by_group(self, measure: str, lines: Sequence[outcomes.GroupLine]) -> dict[str, outcomes.GroupLine]:
        return {line.item: line for line in lines if line.measure == f"{measure}{self.suffix}"}

    def levels(self) -> list[str]:
        """Return the levels in their order; of many those whose predictions differ most."""
        means, apart = self.means[0], self.apart[0]
        order = [item for item in self.view.levels(self.name) if item in means] or [*means]
        first = sorted(order, key=lambda item: -abs(apart[item].estimate) if item in apart else 0.0)[:LEVELS]
        return [item for item in order if item in first]

    def table(self, key: str) -> tuple[Table, ...]:
        """Return mean prediction and outcome by group, and the differences to all other groups."""
        levels, missed = self.levels(), {line.item: line for line in self.lines if line.measure == MISSED}
        columns: list[Column | str] = ["group", Column("n", "integer"), "mean prediction", "mean outcome"]
        columns += ["prediction minus others", "outcome minus others", *["false-negative rate"] * bool(missed)]
        rows = [
            (
                *(name(item), self.means[0][item].n, *(_mean(by_level.get(item)) for by_level in self.means)),
                # of two groups one is the reference of the other
                *(points(x[item]) if item in x else "reference" * (len(x) == 1) for x in self.apart),
                *([_mean(missed.get(item)) or "not testable"] if missed else []),
            )
            for item in levels
        ]
        total, about = len(self.means[0]), self.suffix[1:-1]
        caption = f"Mean prediction and outcome by {name(self.name)}{f', {name(about)}' if about else ''}."
        which = f" The {len(levels)} of {total} groups with the largest differences." if len(levels) < total else ""
        return tables(key, f"{caption}{which}", columns, rows, evidence=self.view.id)

    def sentences(self) -> list[str]:
        """Return the differences of the group that differs most, and what is attributable to the attribute."""
        most = self.most
        if most is None:
            return []
        came = self.apart[1].get(most.item)
        also = "" if came is None else f"; outcomes {_side(came, '')}"
        about = f"Predictions for {mention(self.name)} = {name(most.item)}"
        return [f"{about} {_side(most, ' those for the other groups')}{also}{self._through(most)}."]

    def _through(self, most: outcomes.DifferenceLine) -> str:
        """Say how much of a difference is attributable to the attribute, and to its closest proxy."""
        view = outcomes.GroupsUse.find(self.e.run)
        lines: Sequence[outcomes.UseLine] = () if view is None else of_feature(view.lines, self.name)
        own = [line for line in lines if (line.item, line.measure) == (most.item, most.measure)]
        closest = sorted(own, key=lambda line: -line.association)[:2]
        parts = [
            f"{points(_negated(x))} are offset by {mention(x.by)}"
            if x.estimate < 0
            else f"{points(x)} are attributable to {mention(x.by)}"
            for x in closest
        ]
        return f"; {joined(parts)}" if parts else ""


def _figure(attributes: Sequence[AttributeEffects]) -> tuple[Block, ...]:
    """Return mean prediction against mean outcome by group, the disadvantaged group of each attribute first."""
    pairs: list[tuple[str, outcomes.GroupLine, outcomes.GroupLine]] = []
    for one in attributes:
        means, came = one.means
        gaps = {item: -line.estimate for item, line in one.apart[0].items()}
        order = [item for _, item in sorted((gaps.get(item, 0.0), item) for item in one.levels())]
        pairs += [(f"{name(one.name)}: {name(x)}", means[x], came[x]) for x in order if x in came]
    if not pairs:
        return ()
    labels, predictions, observed = map(list, zip(*pairs, strict=True))
    unit = predictions[0].unit
    words = [
        f"for {label} the mean prediction is {amount(predicted)} and the mean outcome {amount(came)}"
        for label, predicted, came in pairs
    ]
    figure = make_figure(
        "performance-groups-figure",
        f"Mean prediction and mean outcome by group. Intervals: {interval_words(table_of(predictions))}.",
        f"Disadvantaged groups first: {joined(words, len(words))}.",
        lambda: draw_groups(labels, table_of(predictions), table_of(observed), unit_phrase(unit) or unit),
        attributes[0].view.id,
    )
    return (figure,)


def _negated(line: outcomes.GroupLine) -> outcomes.GroupLine:
    return replace(line, estimate=-line.estimate, lower=-line.upper, upper=-line.lower)


def _side(line: outcomes.GroupLine, other: str) -> str:
    """Say how far a group is above or below another, or that no difference is shown."""
    if line.lower <= 0 <= line.upper:
        whom = f" from{other}" if other else ""
        return f"are not shown to differ{whom} ({unbracketed(points(line))})"
    above = line.estimate > 0
    return f"are {points(line if above else _negated(line))} {'above' if above else 'below'}{other}"


def _mean(line: outcomes.GroupLine | None) -> str:
    """Return a mean rounded to its standard error, without its interval."""
    return "" if line is None else apart(amount(line))[0]


def _proxies(e: RunReader, view: outcomes.GroupsView) -> list[str]:
    """Say how well the other features predict each attribute, and which is its closest proxy."""
    proxies = outcomes.GroupsProxy.find(e.run)
    lines = () if proxies is None else proxies.lines
    texts = [text for feature in view.features if feature and (text := _proxy(of_feature(lines, feature), feature))]
    return [" ".join(texts)] if texts else []


def _proxy(lines: Sequence[outcomes.ProxyLine], attribute: str) -> str:
    together = next((line for line in lines if line.item == TOGETHER), None)
    single = max((line for line in lines if line.item != TOGETHER), key=lambda line: line.estimate, default=None)
    if together is None:
        return ""
    can = "predict" if together.lower > 0 else "are not shown to predict"
    skill = unbracketed(estimate_words(together))
    closest = (
        f"; the closest proxy is {mention(single.item)} (association {value_words(single.estimate)})" if single else ""
    )
    return f"The other features {can} {mention(attribute)} (skill {skill}){closest}."


def _withheld(e: RunReader, view: outcomes.GroupsView) -> list[str]:
    """Return what is not testable and why, a sentence for each reason shared by the same attributes."""
    reasons: dict[str, list[str]] = {}
    shared: dict[tuple[str, str], list[str]] = {}
    for gap in view.omissions:
        reason = clean(_OF_GROUP.sub("", gap.reason)).removeprefix("withheld, ").removeprefix("a group has ")
        shared.setdefault((gap.measure, reason), []).append(gap.feature)
    for (measure, reason), features in shared.items():
        names = joined(mentions(filter(None, dict.fromkeys(features)))) or "any attribute"
        levels = joined(_too_small(view, features), 3)
        what = f"{clean(e.words(measure).title)} by {names}" if measure else levels or f"some groups by {names}"
        reasons.setdefault(what, []).append(reason)
    return [f"Not testable: {what}, {'; '.join(why)}." for what, why in reasons.items()]


def affected_card(e: RunReader) -> Card | None:
    """Return the card of page 1, the disadvantaged group first; None where groups were stated and not examined.

    Groups with an open finding come first: predictions that are wrong for a group, then those that use an attribute.
    """
    view = outcomes.GroupsDifference.find(e.run)
    if view is None or not view.attributes:
        none = Card(title=TITLE, headline="Not assessed", texts=("No protected attribute was stated.",))
        return None if e.subject.protected else none
    predictions = of_measure(view.lines, PREDICTION)
    biased, used = (
        [feature for finding in e.findings if finding.code == code for feature in finding.features]
        for code in (BIASED, USED)
    )
    # a residual is the outcome minus the prediction
    errors = (_negated(x) for x in of_measure(view.lines, RESIDUAL) if x.feature in biased)
    if error := _disadvantaged(errors):
        texts = [f"Prediction minus outcome, against all others (n = {error.n})."]
        return _card(view, error, texts)
    if use := _attributable(e, used):
        same = _same(predictions, use)
        texts = [f"Difference in mean prediction attributable to {name(use.by)}."]
        texts += [f"Unadjusted: {points(same)}."] if same else []
        return _card(view, use, [*texts, *_outcome(view, use)])
    if line := _disadvantaged(predictions):
        texts = [f"Unadjusted difference in mean prediction (n = {line.n})."]
        return _card(view, line, [*texts, *_outcome(view, line)])
    return _none_apart(e, view, len(predictions))


def _attributable(e: RunReader, attributes: Sequence[str]) -> outcomes.UseLine | None:
    """Return the largest difference that is attributable to an attribute itself: that of a finding, else of all."""
    view = outcomes.GroupsUse.find(e.run)
    every = view.lines if view is not None else ()
    lines = [x for x in every if x.feature == x.by and x.feature in attributes and x.item != ALL_ROWS]
    said = {(f.features[-1], f.observed) for f in e.findings if f.code == USED and f.features}
    return _disadvantaged(x for x in lines if (x.feature, x.estimate) in said) or _disadvantaged(lines)


def _disadvantaged(lines: Iterable[L]) -> L | None:
    """Return the group with the largest shown difference towards the modelled event; of none the largest one below.

    The event is what the model predicts the probability of (a default, a disease), or a higher outcome.
    """
    shown = [line for line in lines if line.has_interval and (line.lower > 0 or line.upper < 0)]
    return max(shown, key=lambda line: (line.estimate > 0, abs(line.estimate)), default=None)


def _same(lines: Iterable[L], line: outcomes.GroupLine) -> L | None:
    """Return the line of the same group of the same attribute."""
    return next((x for x in lines if (x.feature, x.item) == (line.feature, line.item)), None)


def _outcome(view: outcomes.GroupsDifference, line: outcomes.GroupLine) -> list[str]:
    """Return the difference in outcomes of a group."""
    same = _same(of_measure(view.lines, OUTCOME), line)
    return [f"Outcomes: {points(same)}."] if same else []


def _card(view: outcomes.GroupsDifference, line: outcomes.GroupLine, texts: Sequence[str]) -> Card:
    """Return the card on one group."""
    number, around = apart(points(line))
    signed = number if number.startswith("−") else f"+{number}"
    aside = f"{name(line.feature)} = {name(line.item)}{around}"
    return Card(title=TITLE, headline=signed, aside=aside, texts=(spaced(*texts), *_not_testable(view)))


def _none_apart(e: RunReader, view: outcomes.GroupsDifference, compared: int) -> Card:
    """Return the card where no prediction is shown to differ."""
    finding = next((f for f in e.findings if f.code.startswith(CODES) and f.severity != "observation"), None)
    hidden, headline, text = _not_testable(view), "Not testable", ""
    if finding is not None:
        headline, text = "See finding", f"{clean(finding.title)} ({clean(finding.code, 20)})."
    elif compared:
        of = f"{count(compared, 'group')} of {joined([name(attribute) for attribute in view.attributes], 3)}"
        headline = "No difference shown"
        text = f"The mean predictions of {of} were compared with those of all other groups."
    elif not hidden:
        text = "No group has enough observations."
    return Card(title=TITLE, headline=headline, texts=tuple(filter(None, (text, *hidden))))


def _too_small(view: outcomes.GroupsView, attributes: Iterable[str]) -> list[str]:
    """Name the groups of these attributes that are too small to be tested."""
    facts = {attribute: view.attributes.get(attribute, {}).get("withheld") for attribute in dict.fromkeys(attributes)}
    return [f"{joined([*map(name, hidden)], 3)} of {name(attribute)}" for attribute, hidden in facts.items() if hidden]


def _not_testable(view: outcomes.GroupsDifference) -> tuple[str, ...]:
    """Say which groups are too small to be tested."""
    hidden = _too_small(view, view.attributes)
    return (f"Not testable (n < {view.n_min}): {joined(hidden, 3)}.",) if hidden else ()
