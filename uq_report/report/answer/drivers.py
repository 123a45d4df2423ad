"""Three sentences: what drives the prediction, the loss and the doubt, and where they part.

No sentence names an order that intervals do not show, or a feature whose verdict is open.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

from ...core.text import count
from ...document.amounts import scaled
from ...document.evidence import Evidence
from ...document.places import Ranking
from ...document.questions import answers
from ...document.text import joined, mention, mentions, value_words
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.importance import ABOUT_0, NEGATIVE, POSITIVE, UNDETERMINED, ShapImportance

PREDICTION, LOSS, DOUBT = "prediction", "loss", "uncertainty"
NAMED = 4  # features in a sentence
NO_LEADER = "UQ501"
VERDICTS = (POSITIVE, NEGATIVE, ABOUT_0, UNDETERMINED)


class Line(NamedTuple):
    """One feature in a ranking: its importance, its interval, its verdict (empty without one) and its first place.

    `distrust` says why the interval is not to be trusted, empty where it is.
    """

    feature: str
    estimate: float
    lower: float
    upper: float
    verdict: str
    first: int
    distrust: str = ""


class Reading(NamedTuple):
    """A ranking of single features, largest first, as sentences read it; `n` rows, `open` where no leader is told."""

    ranking: Ranking
    lines: tuple[Line, ...]
    n: str
    open: bool

    def of(self, verdict: str) -> list[Line]:
        """Return the lines with this verdict."""
        return [line for line in self.lines if line.verdict == verdict]

    def leaders(self) -> list[Line]:
        """Return the features that may lead."""
        return [line for line in self.lines if line.first == 1]

    def amount(self, line: Line) -> str:
        """Return an importance with its interval, above 0 for what is worse or less sure; probabilities in points."""
        facts = self.ranking.facts
        return scaled(line.estimate, line.lower, line.upper, facts.unit, sign=facts.sign)


def rankings(e: Evidence) -> dict[str, Ranking]:
    """Return the ranking of each question by its role."""
    return {one.heading: one for one in answers(e)}


def drivers(e: Evidence) -> tuple[str, str, str]:
    """Return the three sentences."""
    read = {role: _read(e, one) for role, one in rankings(e).items() if len(one.table)}
    prediction, loss, doubt = (read.get(role) for role in (PREDICTION, LOSS, DOUBT))
    return (
        _prediction(prediction) if prediction else "What drives the prediction was not measured.",
        _loss(loss) if loss else _no_loss(e),
        _doubt(doubt, loss) if doubt else "What the model's doubt follows was not measured.",
    )


def _read(e: Evidence, one: Ranking) -> Reading:
    """Return a ranking with its verdicts and places; those without a number are left out."""
    rows = (row for row in one.table.to_dict("records") if str(row[col.FEATURE]) in one.places)
    lines = tuple(_line(row, one.places[str(row[col.FEATURE])].first) for row in rows)
    undecided = any(f.code == NO_LEADER and one.measure in f.measures for f in e.findings)
    tied = not all(place.by_intervals for place in one.places.values())
    return Reading(one, lines, _rows(e, one), undecided or tied)


def _line(row: Mapping[Hashable, Any], first: int) -> Line:
    verdict = next((one for one in VERDICTS if str(row.get(col.VERDICT) or "").startswith(one)), "")
    estimate, lower, upper = (float(row[name]) for name in (col.ESTIMATE, col.LOWER, col.UPPER))
    return Line(str(row[col.FEATURE]), estimate, lower, upper, verdict, first, str(row.get(col.DISTRUST) or ""))


def _rows(e: Evidence, one: Ranking) -> str:
    """Return on how many rows a ranking rests, in words."""
    view = ShapImportance.find(e.run) if one.result.id == ids.SHAP_IMPORTANCE else None
    used, n = len(view.rows_used) if view is not None else 0, e.subject.n
    if used and used != n:
        return f"the {count(used, 'explained row')}"
    return "these rows" if n is None else count(n, "row")


def _prediction(read: Reading) -> str:
    """Say which features move the prediction most."""
    leaders = read.leaders()
    if not any(line.estimate for line in read.lines):
        return "No feature moves the prediction."
    if len(leaders) == 1 and not read.open:
        (one,) = leaders
        return f"{mention(one.feature)} moves the prediction most, on average by {read.amount(one)}."
    if not 1 < len(leaders) <= NAMED:
        return f"No feature stands out for the prediction: {read.n} cannot tell which moves it most."
    first = f"{mention(leaders[0].feature)} on average by {read.amount(leaders[0])}"
    return f"{_names(leaders)} move the prediction most, {first}; {read.n} cannot tell which of them leads."


def _loss(read: Reading) -> str:
    """Say whose wrong values cost most, and whose absence would help."""
    costly, better = read.of(POSITIVE), read.of(NEGATIVE)
    if read.ranking.facts.sign < 0:
        costly, better = better, costly
    harmful = f" Wrong values of {_names(better, 'or')} even lower the loss." if better else ""
    harmful += _by_few_rows(read, costly)
    if not costly:
        return f"{_no_cost(read)}{harmful}"
    leaders = read.leaders()
    if len(leaders) == 1 and leaders[0] in costly and not read.open:
        (one,) = leaders
        return f"Wrong values of {mention(one.feature)} cost most on unseen rows: {read.amount(one)} a row.{harmful}"
    named = [line for line in leaders if line in costly]
    if not named or len(named) > NAMED:
        those = mention(costly[0].feature) if len(costly) == 1 else f"each of {count(len(costly), 'feature')}"
        return f"Wrong values of {those} raise the loss; {read.n} cannot tell which costs most.{harmful}"
    most = f"{' most' if len(named) > 1 else ''} on unseen rows, {_first(read, named)}"
    return f"Wrong values of {_names(named)} raise the loss{most}; {read.n} cannot tell which costs most.{harmful}"


def _by_few_rows(read: Reading, costly: Sequence[Line]) -> str:
    """Name what costs more than anything shown by estimate, where too few rows decide for an interval."""
    sign = read.ranking.facts.sign
    most = max((sign * line.estimate for line in costly), default=0.0)
    above = [line for line in read.lines if line.distrust and sign * line.estimate > most]
    if not above:
        return ""
    cost = value_words(sign * above[0].estimate, unit=read.ranking.facts.unit)
    return f" By estimate those of {mention(above[0].feature)} cost more ({cost}), but a few rows decide that."


def _first(read: Reading, lines: Sequence[Line]) -> str:
    """Say by how much the first of them by estimate does."""
    return f"{f'those of {mention(lines[0].feature)} ' if len(lines) > 1 else ''}by {read.amount(lines[0])} a row"


def _no_cost(read: Reading) -> str:
    if all(line.verdict == ABOUT_0 for line in read.lines):
        return "Wrong values of no feature cost anything beyond the margin."
    return f"{read.n[:1].upper()}{read.n[1:]} do not show of any feature that its wrong values raise the loss."


def _no_loss(e: Evidence) -> str:
    if e.subject.has_y:
        return "What drives the loss was not measured."
    return "What drives the loss cannot be said: no outcomes were given."


def _doubt(read: Reading, loss: Reading | None) -> str:
    """Say what the doubt follows, and which costly features it does not notice."""
    if not any(line.verdict for line in read.lines):
        return _sizes(read)
    less, more = read.of(POSITIVE), read.of(NEGATIVE)
    if read.ranking.facts.sign < 0:
        less, more = more, less
    costly = [line.feature for line in loss.of(POSITIVE)] if loss is not None and loss.ranking.facts.sign > 0 else []
    unnoticed = _among(costly, read.of(ABOUT_0))
    surer = _among(costly, more)
    told = [_follows(read, less)]
    if unnoticed:
        told.append(f"When {_listed(unnoticed, 'or')} is wrong it predicts worse, but is as sure as before.")
    if surer:
        told.append(f"When {_listed(surer, 'or')} is wrong it predicts worse, and is even surer.")
    rest = [line for line in more if line.feature not in surer]
    if rest:
        told.append(f"When {_names(rest, 'or')} is wrong it is surer.")
    return " ".join(told)


def _follows(read: Reading, less: Sequence[Line]) -> str:
    """Say which features make the model less sure when they are wrong."""
    if not less:
        if all(line.verdict == ABOUT_0 for line in read.lines):
            return (
                f"The model's doubt follows no feature: wrong values change it on average by less than {_margin(read)}."
            )
        return f"No feature is shown to raise the model's doubt by more than {_margin(read)} when it is wrong."
    if len(less) > NAMED:
        return f"The model's doubt follows {count(len(less), 'feature')}, wrong values of which raise it."
    those = f"wrong values of {mention(less[0].feature)}"
    return f"The model's doubt follows {_names(less)}: {those} {_raise(read)} by {read.amount(less[0])}."


def _raise(read: Reading) -> str:
    """Say what happens to the measure of the doubt where it rises."""
    facts = read.ranking.facts
    return "raise it" if facts.sign > 0 else f"lower the {facts.title}"


def margin_of(one: Ranking) -> float:
    """Return the margin within which an importance counts as 0; NaN where there is none."""
    return float(one.table[col.MARGIN].max()) if col.MARGIN in one.table else nan


def _margin(read: Reading) -> str:
    return f"{margin_of(read.ranking):g} {read.ranking.facts.unit}".strip()


def _sizes(read: Reading) -> str:
    """Say what moves the doubt by mean sizes, which do not tell in which direction."""
    leaders = read.leaders()
    if read.open or len(leaders) > NAMED or not leaders:
        return f"No feature stands out for the model's doubt: {read.n} cannot tell which moves it most."
    verb = "moves" if len(leaders) == 1 else "move"
    return f"{_names(leaders)} {verb} the model's doubt most; whether up or down was not measured."


def _among(features: Iterable[str], lines: Iterable[Line]) -> list[str]:
    """Return those features that are in the lines, in their own order."""
    held = {line.feature for line in lines}
    return [feature for feature in features if feature in held]


def _names(lines: Sequence[Line], word: str = "and") -> str:
    return _listed([line.feature for line in lines], word)


def _listed(features: Sequence[str], word: str = "and") -> str:
    """Return names of features, at most `NAMED` of them; of more that stand for each other how many they are."""
    if word == "or" and len(features) > NAMED:
        return f"any of {count(len(features), 'feature')}"
    names = joined(mentions(features), NAMED)
    return names if word == "and" else f" {word} ".join(names.rsplit(" and ", 1))
