"""Champion against challenger, the worst first: which predicts better, what one alone has, what drives them apart.

Then all other sections of the two audits, block next to block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest
from math import copysign, inf

from ...document.blocks import intervals_caption, left_out, make_figure, paragraphs, tables
from ...document.document import Badge, Block, Callout, Column, Columns, Figure, Fold, Section, Split, Table, Verdict
from ...document.text import clean, joined, mention, name, sentence, value_words
from ...evidence.finding import SEVERITIES, Finding
from ...evidence.rows import CompareImportance, CompareReliance, CompareScores, PairedLine
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ...evidence.view import of_measure, table_of
from ...reading.run_reader import RunReader, severity_badge
from ...reading.tables import FEATURE, INTERVAL, Field, line_table
from .rules import about

TITLE = "Champion against challenger"
PAIRED = (
    "Both models predicted the same rows, shuffled alike, so intervals are of paired differences, challenger less "
    "champion; one that holds 0 does not tell the models apart."
)
WORSE, BETTER = Badge("Challenger worse", "bad"), Badge("Challenger better", "good")
MIXED, ALIKE = Badge("Better and worse", "warning"), Badge("Not told apart", "unknown")
UNDECIDED = Badge("Not judged", "unknown")
PREFIX = "challenger-"
NUMBERS: tuple[Field, ...] = (
    *((Column("champion", "number"), "champion"), (Column("challenger", "number"), "challenger")),
    *((Column("difference", "number"), "estimate"), INTERVAL),
)


def comparison(e: RunReader) -> Section | None:
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


def better(e: RunReader) -> tuple[Badge, str]:
    """Return which model predicts better in a word, and the scores that say so, what got worse first.

    Losses alone judge predictions: how uncertain a model is makes it neither better nor worse.
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


def _value(e: RunReader, line: PairedLine) -> str:
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


def _reliance(e: RunReader) -> str:
    """Say which features one model alone is shown to rely on."""
    view = CompareReliance.find(e.run)
    if view is None:
        return ""
    measures: dict[tuple[str, str], list[str]] = {}
    for x in view.reliances:
        measures.setdefault((x.who, x.feature), []).append(e.words(x.measure).title)
    texts = [f"{sentence(who)[:-1]} relies on {mention(f)}, by {joined(by)}." for (who, f), by in measures.items()]
    return " ".join(texts) or "No feature is shown to be relied on by one model alone."


def _apart(e: RunReader, view: CompareImportance | None) -> str:
    """Name, measure by measure, the features whose importance differs beyond its interval, the largest first."""
    if view is None or not view.lines:
        return ""
    texts = []
    for measure in view.measures:
        lines = sorted(filter(_is_apart, of_measure(view.lines, measure)), key=lambda line: -abs(line.estimate))
        words = joined([f"{mention(line.feature)} by {_value(e, line)}" for line in lines], 3)
        texts += [f"Importance for {e.words(measure).title} differs for {words}."] if words else []
    return " ".join(texts) or "No importance differs beyond its interval."


def _scores(e: RunReader, view: CompareScores) -> Block:
    measure: Field = ("measure", lambda line: e.words(line.measure).title)
    fields: tuple[Field, ...] = (measure, *NUMBERS, ("unit", lambda line: e.words(line.measure).unit))
    caption = "Scores, challenger less champion."
    return line_table("comparison-table-scores", caption, view.lines, fields, of=view.result)


def _importance(e: RunReader, view: CompareImportance, measure: str) -> Fold:
    """Return the figure and the table of one measure."""
    lines, title = of_measure(view.lines, measure), e.words(measure).title
    values = [f"{name(line.feature)} {value_words(line.estimate, line.lower, line.upper)}" for line in lines]
    figure = make_figure(
        f"comparison-figure-{measure}",
        f"Importance for {title}, challenger less champion. {intervals_caption(table_of(lines))}",
        f"Differences of importance: {joined(values)}.",
        lambda: e.draw(view.result, measure=measure),
        view.id,
    )
    verdicts: tuple[Field, ...] = (("champion says", "champion_verdict"), ("challenger says", "challenger_verdict"))
    caption, key = f"Challenger less champion, {title}.", f"comparison-table-{measure}"
    table = line_table(key, caption, lines, (FEATURE, *NUMBERS, *verdicts), of=view.result)
    return Fold(title=f"Importance for {title}", blocks=(figure, table))


def merged(
    left: Sequence[Section | None], right: Sequence[Section | None], names: tuple[str, str]
) -> tuple[Section, ...]:
    """Return the sections of both audits, those of one id as one section with two columns.

    What both say alike stands once, over the whole width; what only one says stands in its column.
    """
    others = {section.id: section for section in right if section is not None}
    here = [section for section in left if section is not None]
    both = [_section(section, others.pop(section.id, None), names) for section in here]
    return (*both, *(_section(None, section, names) for section in others.values()))


def _section(left: Section | None, right: Section | None, names: tuple[str, str]) -> Section:
    """Return one section of both; what stands beside its title stays where both say it alike."""
    either = left or right
    if either is None:
        raise ValueError("a merged section comes from one side at least")
    asides = {side.aside for side in (left, right) if side is not None}
    return replace(
        either,
        aside=asides.pop() if len(asides) == 1 else "",
        blocks=tuple(_rows(left.blocks if left else (), right.blocks if right else (), names)),
        sections=merged(left.sections if left else (), right.sections if right else (), names),
    )


def _rows(left: Sequence[Block], right: Sequence[Block], names: tuple[str, str]) -> Iterator[Block]:
    """Yield what both say once, folds of one title as one fold, and everything else side by side."""
    for a, b in _paired(left, right):
        if a is not None and a == b:
            yield a
        elif isinstance(a, Fold) and isinstance(b, Fold) and a.title == b.title:
            yield Fold(title=a.title, blocks=tuple(_rows(a.blocks, b.blocks, names)))
        else:
            yield Columns(names=names, left=a, right=None if b is None else _renamed(b))


def _paired(left: Sequence[Block], right: Sequence[Block]) -> Iterator[tuple[Block | None, Block | None]]:
    """Yield what both say alike together, and what stands between in pairs of the same type and id."""
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        yield from zip(left[a:b], right[c:d], strict=True) if tag == "equal" else _matched(left[a:b], right[c:d])


def _matched(left: Sequence[Block], right: Sequence[Block]) -> Iterator[tuple[Block | None, Block | None]]:
    """Yield blocks of the same type and id together, in reading order, and others beside what replaces them."""
    matcher = SequenceMatcher(None, [*map(_key, left)], [*map(_key, right)], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag in ("equal", "replace"):
            yield from zip_longest(left[a:b], right[c:d])
        else:
            yield from ((block, None) for block in left[a:b])
            yield from ((None, block) for block in right[c:d])


def _key(block: Block) -> tuple[str, str]:
    """Return what blocks of both audits are told to be the same by."""
    match block:
        case Table() | Figure() | Callout():
            return block.type, block.id
        case Fold():
            return block.type, block.title
        case _:
            return block.type, ""


def _renamed(block: Block) -> Block:
    """Return a block under an id of its own, and those inside it too."""
    match block:
        case Table(id=id) | Figure(id=id) | Callout(id=id) if id:
            return replace(block, id=PREFIX + id)
        case Fold():
            return replace(block, blocks=tuple(map(_renamed, block.blocks)))
        case Split():
            return replace(block, left=tuple(map(_renamed, block.left)), right=tuple(map(_renamed, block.right)))
        case _:
            return block
