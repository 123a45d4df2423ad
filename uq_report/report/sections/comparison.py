"""Champion against challenger, the worst first: which predicts better, what one alone has, what drives them apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, inf

from ...document.blocks import interval_columns, intervals_caption, left_out, make_figure, make_table
from ...document.document import Badge, Block, Column, Fold, Section, Table, Verdict
from ...document.evidence import Evidence, severity_badge
from ...document.text import clean, joined, mention, name, sentence, value_words
from ...evidence.comparison import CompareImportance, CompareReliance, CompareScores, PairedLine
from ...evidence.finding import SEVERITIES, Finding
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ...evidence.view import of_measure, table_of
from ..optional import paragraphs, tables
from .rules import about

TITLE = "Champion against challenger"
PAIRED = (
    "Both models predicted the same rows, shuffled alike, so intervals are of paired differences, challenger less "
    "champion; one that holds 0 does not tell the models apart."
)
WORSE, BETTER = Badge("Challenger worse", "bad"), Badge("Challenger better", "good")
MIXED, ALIKE = Badge("Better and worse", "warning"), Badge("Not told apart", "unknown")
UNDECIDED = Badge("Not judged", "unknown")


def comparison(e: Evidence) -> Section | None:
    """Return the section, or None for an audit of one model."""
    other = e.run.challenger
    if other is None:
        return None
    badge, text = better(e)
    labels = f"Champion: {name(e.subject.label)}. Challenger: {name(SubjectFacts.of(other).label)}."
    alone = _alone(e.run, other)
    scores, importance = CompareScores.find(e.run), CompareImportance.find(e.run)
    blocks: list[Block] = [Verdict(badge=badge, text=text, note=f"{labels} {PAIRED}")]
    blocks += paragraphs(_worse(alone), _reliance(e), _apart(e, importance))
    blocks += [] if scores is None else [_scores(e, scores), *left_out(scores.result)]
    blocks += _findings(alone)
    blocks += [] if importance is None else [_importance(e, importance, m) for m in importance.measures]
    return Section(id="comparison", title=TITLE, blocks=tuple(blocks))


def better(e: Evidence) -> tuple[Badge, str]:
    """Return which model predicts better in a word, and the scores that say so, what got worse first.

    Losses alone judge predictions: how unsure a model is makes it neither better nor worse.
    """
    view = CompareScores.find(e.run)
    losses = [line for line in view.lines if e.words(line.measure).role == "loss"] if view is not None else []
    apart = sorted(filter(_is_apart, losses), key=_errors, reverse=True)
    if not losses:
        return UNDECIDED, "No loss of both models is known on these rows, so neither is called better."
    if not apart:
        differences = joined([f"{e.words(line.measure).title} {_value(e, line)}" for line in losses])
        return ALIKE, f"Neither model is shown to predict better. Differences: {differences}."
    sides: dict[str, list[str]] = {}
    for line in apart:  # what got worse comes first
        words = f"{e.words(line.measure).title}, {_value(e, line)}"
        sides.setdefault("worse" if line.estimate > 0 else "better", []).append(words)
    badge = MIXED if len(sides) > 1 else WORSE if "worse" in sides else BETTER
    return (
        badge,
        f"The challenger predicts {'; and '.join(f'{side} by {joined(words)}' for side, words in sides.items())}.",
    )


def _value(e: Evidence, line: PairedLine) -> str:
    return value_words(line.estimate, line.lower, line.upper, e.words(line.measure).unit)


def _errors(line: PairedLine) -> float:
    """Return a difference in standard errors, by which scores of other units are ordered."""
    return line.estimate / line.std_error if line.std_error else copysign(inf, line.estimate)


def _is_apart(line: PairedLine) -> bool:
    return line.lower > 0 or line.upper < 0


def _alone(champion: Run, challenger: Run) -> list[tuple[str, Finding]]:
    """Return the findings that one model alone has, worst first, the challenger's before the champion's."""
    first, second = ({(f.code, *sorted(f.features)): f for f in run.findings} for run in (challenger, champion))
    alone = [
        (who, finding)
        for who, own, other in (("challenger", first, second), ("champion", second, first))
        for key, finding in own.items()
        if key not in other or _grade(finding) < _grade(other[key])
    ]
    return sorted(alone, key=lambda pair: _grade(pair[1]))


def _grade(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def _worse(alone: Sequence[tuple[str, Finding]]) -> str:
    """Say what only one model is found at fault for."""
    codes = {
        who: [f"{clean(f.code, 20)} ({f.severity})" for owner, f in alone if owner == who]
        for who in ("challenger", "champion")
    }
    texts = [f"Only the {who} has, or has worse: {joined(own, 5)}." for who, own in codes.items() if own]
    return " ".join(texts) or "No finding is of one model alone."


def _findings(alone: Sequence[tuple[str, Finding]]) -> tuple[Table, ...]:
    rows = [
        (f"the {who}", severity_badge(f.severity), clean(f.code, 20), sentence(f.title), about(f.features))
        for who, f in alone
    ]
    caption = "Findings of one model alone, or more severe there, worst first."
    heads = ("model", "severity", "code", "finding", "about")
    return tables("comparison-table-findings", caption, heads, rows)


def _reliance(e: Evidence) -> str:
    """Say which features one model alone is shown to rely on."""
    view = CompareReliance.find(e.run)
    if view is None:
        return ""
    measures: dict[tuple[str, str], list[str]] = {}
    for x in view.reliances:
        measures.setdefault((x.who, x.feature), []).append(e.words(x.measure).title)
    texts = [f"{sentence(who)[:-1]} relies on {mention(f)}, by {joined(by)}." for (who, f), by in measures.items()]
    return " ".join(texts) or "No feature is shown to be relied on by one model alone."


def _apart(e: Evidence, view: CompareImportance | None) -> str:
    """Name, measure by measure, the features whose importance differs beyond its interval, the largest first."""
    if view is None or not view.lines:
        return ""
    texts = []
    for measure in view.measures:
        lines = sorted(filter(_is_apart, of_measure(view.lines, measure)), key=lambda line: -abs(line.estimate))
        words = joined([f"{mention(line.feature)} by {_value(e, line)}" for line in lines], 3)
        texts += [f"Importance for {e.words(measure).title} differs for {words}."] if words else []
    return " ".join(texts) or "No importance differs beyond its interval."


def _scores(e: Evidence, view: CompareScores) -> Block:
    facts = [e.words(line.measure) for line in view.lines]
    rows = [(f.title, *_numbers(line, view.lines), f.unit) for f, line in zip(facts, view.lines, strict=True)]
    caption = f"Scores, challenger less champion. {intervals_caption(view.result.estimates)}"
    columns = _columns("measure", view.lines, "unit")
    return make_table("comparison-table-scores", caption, columns, rows, of=view.result)


def _importance(e: Evidence, view: CompareImportance, measure: str) -> Fold:
    """Return the figure and the table of one measure."""
    lines, title = of_measure(view.lines, measure), e.words(measure).title
    intervals = intervals_caption(table_of(lines))
    values = [f"{name(line.feature)} {value_words(line.estimate, line.lower, line.upper)}" for line in lines]
    figure = make_figure(
        f"comparison-figure-{measure}",
        f"Importance for {title}, challenger less champion. {intervals}",
        f"Differences of importance: {joined(values)}.",
        lambda: e.draw(view.result, measure=measure),
        view.id,
    )
    rows = [(name(x.feature), *_numbers(x, lines), x.champion_verdict, x.challenger_verdict) for x in lines]
    columns, caption = _columns("feature", lines, "champion says", "challenger says"), "Challenger less champion"
    key = f"comparison-table-{measure}"
    table = make_table(key, f"{caption}, {title}. {intervals}", columns, rows, of=view.result)
    return Fold(title=f"Importance for {title}", blocks=(figure, table))


def _columns(first: str, lines: Sequence[PairedLine], *last: str) -> tuple[Column, ...]:
    numbers = (Column(label, "number") for label in ("champion", "challenger", "difference"))
    return (Column(first), *numbers, *interval_columns(table_of(lines)), *map(Column, last))


def _numbers(line: PairedLine, lines: Sequence[PairedLine]) -> tuple[float, ...]:
    """Return the numbers of a line, with its interval where any of `lines` has one."""
    interval = (line.lower, line.upper) if any(x.has_interval for x in lines) else ()
    return (line.champion, line.challenger, line.estimate, *interval)
