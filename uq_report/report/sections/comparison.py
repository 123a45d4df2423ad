"""Differences between two audits: champion against challenger on the same test sample, and a run against the last.

The other sections of two models follow side by side.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest
from math import copysign, inf

from ...core.support.text import count
from ...document import document as kinds
from ...document.blocks import bullets, intervals_caption, left_out, make_figure, make_section, paragraphs, tables
from ...document.document import Block
from ...document.text import clean, interval, items, joined, mention, name, sentence, spaced, value_words
from ...evidence.finding import SEVERITIES, Finding
from ...evidence.rows import CompareImportance, CompareReliance, CompareScores, PairedLine
from ...evidence.run import FindingChange, Run, RunChanges, ValueChange
from ...evidence.subject import SubjectFacts
from ...evidence.view import by_key, of_measure, table_of
from ...reading.run_reader import RunReader, as_cell, severity_badge
from ...reading.sentences import estimate_words, scaled
from ...reading.tables import FEATURE, INTERVAL, Field, line_table
from .findings import about
from .uncertainty import score_name

PAIRED = (
    "Both models predict the same test sample with the same permutations. Intervals are of paired differences, "
    "challenger minus champion; where one contains 0, no difference is shown."
)
WORSE, BETTER = kinds.Badge("Challenger worse", "bad"), kinds.Badge("Challenger better", "good")
MIXED, ALIKE = kinds.Badge("Mixed", "warning"), kinds.Badge("No difference shown", "unknown")
UNDECIDED = kinds.Badge("Not assessed", "unknown")
PREFIX = "challenger-"
NUMBERS: tuple[Field, ...] = (
    *((kinds.Column("champion", "number"), "champion"), (kinds.Column("challenger", "number"), "challenger")),
    *((kinds.Column("difference", "number"), "estimate"), INTERVAL),
)


def comparison(e: RunReader) -> kinds.Section | None:
    """Return the section, or None for an audit of one model."""
    other = e.run.challenger
    if other is None:
        return None
    badge, text = better(e)
    labels = f"Champion: {name(e.subject.label)}. Challenger: {name(SubjectFacts.of(other).label)}."
    alone = _alone(e.run, other)
    scores, importance = CompareScores.find(e.run), CompareImportance.find(e.run)
    blocks: list[Block] = [kinds.Verdict(badge=badge, text=text, note=f"{labels} {PAIRED}")]
    blocks += paragraphs(_worse(alone), _reliance(e), _apart(e, importance))
    blocks += [] if scores is None else [_scores(e, scores), *left_out(scores.result)]
    blocks += _findings(alone)
    blocks += [] if importance is None else [_importance(e, importance, m) for m in importance.measures]
    return make_section("comparison", "Champion against challenger", tuple(blocks))


def benchmarked(e: RunReader) -> tuple[Block, ...]:
    """Return the benchmark, which model predicts better, and the paired differences of their scores."""
    view = CompareScores.find(e.run)
    if view is None or not view.benchmark:
        return ()
    text = f"Benchmark: {clean(view.benchmark, 80)}. {better(e, 'benchmark')[1]}"
    rows = [(score_name(e, x.measure), *_beside(e, x)) for x in view.lines]
    columns = ("score", "model", "benchmark", "benchmark minus model")
    caption = (
        f"Scores beside those of the benchmark, on the same observations. {intervals_caption(table_of(view.lines))}"
    )
    table = tables("performance-benchmark", caption, columns, rows, evidence=view.id)
    return (*paragraphs(text), *table, *left_out(view.result))


def _beside(e: RunReader, line: PairedLine) -> tuple[str, str, str]:
    """Return both scores and their difference; of shares in percent and points."""
    if line.measure == "accuracy":
        both = [f"{100 * value:.1f}%" for value in (line.champion, line.challenger)]
        return both[0], both[1], scaled(line.estimate, line.lower, line.upper, "share of rows")
    return value_words(line.champion), value_words(line.challenger), _value(e, line)


def better(e: RunReader, other: str = "challenger") -> tuple[kinds.Badge, str]:
    """Return which model predicts better, and the scores that show it, deteriorations first.

    Only losses judge predictions: uncertainty by itself is neither better nor worse.
    """
    view = CompareScores.find(e.run)
    losses = [line for line in view.lines if e.words(line.measure).role == "loss"] if view is not None else []
    apart = sorted(filter(_is_apart, losses), key=_errors, reverse=True)
    if not losses:
        return UNDECIDED, "No loss of both models is known on the test sample, so they cannot be ranked."
    if not apart:
        differences = joined([f"{score_name(e, line.measure)} {_value(e, line)}" for line in losses])
        return ALIKE, f"Neither model is shown to predict better. Differences: {differences}."
    named = ((x, f"{score_name(e, x.measure)}, {_value(e, x)}") for x in apart)  # deteriorations first
    sides = by_key(("worse" if line.estimate > 0 else "better", words) for line, words in named)
    badge = MIXED if len(sides) > 1 else WORSE if "worse" in sides else BETTER
    text = "; and ".join(f"{side} by {joined(words)}" for side, words in sides.items())
    return badge, f"The {other} predicts {text}."


def _value(e: RunReader, line: PairedLine) -> str:
    return estimate_words(line, e.words(line.measure).unit)


def _errors(line: PairedLine) -> float:
    """Return a difference in standard errors, by which scores of other units are ordered."""
    return line.estimate / line.std_error if line.std_error else copysign(inf, line.estimate)


def _is_apart(line: PairedLine) -> bool:
    return line.lower > 0 or line.upper < 0


def _alone(champion: Run, challenger: Run) -> list[tuple[str, Finding]]:
    """Return the findings of one model only, most severe first, the challenger's before the champion's."""
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
    """Name the findings of one model only."""
    codes: dict[str, list[str]] = {"challenger": [], "champion": []}
    for who, finding in alone:
        codes[who].append(f"{clean(finding.code, 20)} ({finding.severity})")
    texts = (
        f"Findings of the {who} only, or more severe there: {joined(own, 5)}." * bool(own) for who, own in codes.items()
    )
    return spaced(*texts) or "Both models have the same findings."


def _findings(alone: Sequence[tuple[str, Finding]]) -> tuple[kinds.Table, ...]:
    rows = [
        (f"the {who}", severity_badge(f.severity), clean(f.code, 20), sentence(f.title), about(f.features))
        for who, f in alone
    ]
    caption = "Findings of one model only, or more severe there, most severe first."
    heads = ("model", "severity", "code", "finding", "about")
    return tables("comparison-table-findings", caption, heads, rows)


def _reliance(e: RunReader) -> str:
    """Name the features that one model only is shown to rely on."""
    view = CompareReliance.find(e.run)
    if view is None:
        return ""
    measures = by_key(((x.who, x.feature), e.words(x.measure).title) for x in view.reliances)
    texts = [f"{sentence(who)[:-1]} relies on {mention(f)}, by {joined(by)}." for (who, f), by in measures.items()]
    return " ".join(texts) or "No feature is shown to be used by one model only."


def _apart(e: RunReader, view: CompareImportance | None) -> str:
    """Name, measure by measure, the features whose importance differs beyond its interval, the largest first."""
    if view is None or not view.lines:
        return ""
    texts = []
    for measure in view.measures:
        lines = sorted(filter(_is_apart, of_measure(view.lines, measure)), key=lambda line: -abs(line.estimate))
        words = joined([f"{mention(line.feature)} by {_value(e, line)}" for line in lines], 3)
        texts += [f"Importance for {e.words(measure).title} differs for {words}."] if words else []
    return " ".join(texts) or "No difference in importance is shown."


def _scores(e: RunReader, view: CompareScores) -> Block:
    measure: Field = ("measure", lambda line: score_name(e, line.measure))
    fields: tuple[Field, ...] = (measure, *NUMBERS, ("unit", lambda line: e.words(line.measure).unit))
    caption = "Scores, challenger minus champion."
    return line_table("comparison-table-scores", caption, view.lines, fields, of=view.result)


def _importance(e: RunReader, view: CompareImportance, measure: str) -> kinds.Fold:
    """Return the figure and the table of one measure."""
    lines, title = of_measure(view.lines, measure), e.words(measure).title
    values = [f"{name(line.feature)} {estimate_words(line)}" for line in lines]
    figure = make_figure(
        f"comparison-figure-{measure}",
        f"Importance for {title}, challenger minus champion. {intervals_caption(table_of(lines))}",
        f"Differences of importance: {joined(values)}.",
        lambda: e.draw(view.result, measure=measure),
        view.id,
    )
    verdicts: list[Field] = [(f"verdict, {who}", f"{who}_verdict") for who in ("champion", "challenger")]
    caption, key = f"Challenger minus champion, {title}.", f"comparison-table-{measure}"
    table = line_table(key, caption, lines, (FEATURE, *NUMBERS, *verdicts), of=view.result)
    return kinds.Fold(title=f"Importance for {title}", blocks=(figure, table))


def merged(
    left: Sequence[kinds.Section | None], right: Sequence[kinds.Section | None], names: tuple[str, str]
) -> tuple[kinds.Section, ...]:
    """Return the sections of both audits, those of one id as one section with two columns.

    Blocks that are equal are shown once over the whole width; others in the column of their model.
    """
    others = {section.id: section for section in right if section is not None}
    here = [section for section in left if section is not None]
    both = [_section(section, others.pop(section.id, None), names) for section in here]
    return (*both, *(_section(None, section, names) for section in others.values()))


def _section(left: kinds.Section | None, right: kinds.Section | None, names: tuple[str, str]) -> kinds.Section:
    """Return one section of both; the aside of its title stays where it is equal."""
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
    """Yield equal blocks once, folds of one title as one fold, and all other blocks side by side."""
    for a, b in _paired(left, right):
        if a is not None and a == b:
            yield a
        elif isinstance(a, kinds.Fold) and isinstance(b, kinds.Fold) and a.title == b.title:
            yield kinds.Fold(title=a.title, blocks=tuple(_rows(a.blocks, b.blocks, names)))
        else:
            yield kinds.Columns(names=names, left=a, right=None if b is None else _renamed(b))


def _paired(left: Sequence[Block], right: Sequence[Block]) -> Iterator[tuple[Block | None, Block | None]]:
    """Yield equal blocks together, and those between them in pairs of the same type and id."""
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        yield from zip(left[a:b], right[c:d], strict=True) if tag == "equal" else _matched(left[a:b], right[c:d])


def _matched(left: Sequence[Block], right: Sequence[Block]) -> Iterator[tuple[Block | None, Block | None]]:
    """Yield blocks of the same type and id together, in reading order, and others beside their replacement."""
    matcher = SequenceMatcher(None, [*map(_key, left)], [*map(_key, right)], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag in ("equal", "replace"):
            yield from zip_longest(left[a:b], right[c:d])
        else:
            yield from ((block, None) for block in left[a:b])
            yield from ((None, block) for block in right[c:d])


def _key(block: Block) -> tuple[str, str]:
    """Return the key by which blocks of both audits are matched."""
    match block:
        case kinds.Table() | kinds.Figure() | kinds.Callout():
            return block.type, block.id
        case kinds.Fold():
            return block.type, block.title
        case _:
            return block.type, ""


def _renamed(block: Block) -> Block:
    """Return a block under an id of its own, and those inside it too."""
    match block:
        case kinds.Table(id=id) | kinds.Figure(id=id) | kinds.Callout(id=id) if id:
            return replace(block, id=PREFIX + id)
        case kinds.Fold():
            return replace(block, blocks=tuple(map(_renamed, block.blocks)))
        case kinds.Split():
            return replace(block, left=tuple(map(_renamed, block.left)), right=tuple(map(_renamed, block.right)))
        case _:
            return block


CLOSED = "A closed finding is no longer raised; this does not prove that its cause is removed."
INPUTS = 4  # named of those that differ
TONES: dict[str, kinds.Tone] = {
    "new": "bad",
    "worse": "bad",
    "better": "good",
    "moved": "neutral",
    "closed": "good",
    "unchanged": "neutral",
}
VALUES, LEFT = 5, 1  # values in the table; parts that were not compared
Row = tuple[kinds.Cell, ...]


def changes(e: RunReader) -> kinds.Section | None:
    """Return what changed, or None where no previous run was given."""
    since = e.run.changes
    if since is None:
        return None
    day, label = (clean(as_cell(since.previous.get(key))) for key in ("as_of", "label"))
    closed = not since.unrelated and any(finding.change == "closed" for finding in since.findings)
    lead = spaced(f"Compared with the run of {day} (“{label}”).", in_short(since), CLOSED * closed)
    rows = [] if since.unrelated else [*_changed_findings(since), *_changed_values(e, since)]
    listed = tables("changes-table", "Changes, most severe first.", ("what", "change", "before", "now"), rows)
    table = (kinds.Fold(title="The changes one by one", blocks=listed),) if len(rows) > VALUES else listed
    return make_section(
        "changes", "Changes since the last audit", (*paragraphs(lead), *table, *paragraphs(_not_compared(since)))
    )


def _not_compared(since: RunChanges) -> str:
    """Name what could not be compared; empty where everything was."""
    parts = [clean(part).rstrip(".") for part in since.not_compared]
    parts[LEFT:] = [f"and {len(parts) - LEFT} more (full appendix)"] if len(parts) > LEFT else []
    return f"Not compared: {'; '.join(parts)}." if parts else ""


def in_short(since: RunChanges) -> str:
    """Summarise the changes in one sentence, or say that the two runs are unrelated."""
    if since.unrelated:
        return f"{clean(since.unrelated)}."
    numbers: Counter[str] = Counter(finding.change for finding in since.findings)
    findings = joined([f"{numbers[kind]} {kind}" for kind in TONES if numbers[kind]]) or "none"
    moved = sum(value.changed for value in since.values)
    differing = count(len(since.inputs), "hash, version or setting", "hashes, versions or settings")
    verb = "differs" if len(since.inputs) == 1 else "differ"
    which = f": {joined([name(x.what) for x in since.inputs], INPUTS)}" if since.inputs else ""
    return (
        f"Findings: {findings}. Of {count(len(since.values), 'compared value')}, {moved} "
        f"changed beyond sampling error. {differing} {verb}{which}."
    )


def _changed_findings(since: RunChanges) -> Iterator[Row]:
    """Yield every finding that opened, closed or changed, most severe first."""
    order = list(TONES)
    moved = [x for x in since.findings if x.change != "unchanged"]
    for x in sorted(moved, key=lambda x: (order.index(x.change), _severity(x))):
        features = f" ({joined(items(x.features), 4)})" if x.features else ""
        what = f"{clean(x.code, 20)}{f' {clean(x.title)}' * (not x.now)}{features}"  # of open ones section 1 has it
        yield what, kinds.Badge(x.change, TONES[x.change]), x.before or None, x.now or None


def _severity(change: FindingChange) -> int:
    """Return the rank of the severity that a finding has or had; of a waived one it is not known."""
    severities = [SEVERITIES.index(word) for word in (change.now, change.before) if word in SEVERITIES]
    return min(severities, default=len(SEVERITIES))


def _changed_values(e: RunReader, since: RunChanges) -> Iterator[Row]:
    """Yield the values that changed, largest difference against its interval first, and how many more did."""
    moved = sorted((x for x in since.values if x.changed), key=lambda x: -_surely(x))
    for x in moved[:VALUES]:
        item, _, measure = x.measure.rpartition(": ")
        about = " = ".join(filter(None, (name(x.feature), name(item))))
        difference = value_words(x.difference, x.lower, x.upper)
        yield (
            f"{score_name(e, measure or x.result)}{' of ' * bool(about)}{about}",
            f"by {difference}",
            value_words(x.before),
            value_words(x.now),
        )
    if len(moved) > VALUES:
        yield count(len(moved) - VALUES, "further value"), "changed", "", ""


def _surely(value: ValueChange) -> float:
    """Return a difference against the half width of its interval."""
    if value.lower is None or value.upper is None or value.upper <= value.lower:
        return 0.0
    return abs(value.difference) / (value.upper - value.lower)


def changes_in_full(e: RunReader) -> kinds.Section | None:
    """Return every compared value and every input that differs; None where nothing was compared."""
    since = e.run.changes
    if since is None or since.unrelated or not (since.values or since.inputs):
        return None
    kinds = joined([clean(kind) for kind in dict.fromkeys(value.interval for value in since.values) if kind])
    caption = (
        "Values before and now. Changed: the interval of the difference excludes 0 after adjustment for all compared "
        f"values (Holm); for ranks, the two intervals have no rank in common. Intervals: {kinds or 'none'}."
    )
    columns = ("result", "measure", "feature", "before", "now", "difference", "interval", "changed")
    values = [_value_row(e, value) for value in sorted(since.values, key=lambda value: not value.changed)]
    inputs = [(name(x.what), clean(x.before or "none", 120), clean(x.now or "none", 120)) for x in since.inputs]
    blocks: tuple[Block, ...] = (
        *tables("changes-values", caption, columns, values),
        *tables("changes-inputs", "Hashes, versions and settings that differ.", ("input", "before", "now"), inputs),
        *bullets(f"Not compared: {clean(part).rstrip('.')}." for part in since.not_compared),
    )
    return make_section("changes-full", "Compared with the previous run", blocks)


def _value_row(e: RunReader, value: ValueChange) -> Row:
    around = interval(value.lower, value.upper)
    verdict = kinds.Badge("changed", "warning") if value.changed else "not shown" if around else "no interval"
    names = (name(value.result), e.words(value.measure).title if value.measure else "", name(value.feature) or "all")
    return (*names, *map(value_words, (value.before, value.now, value.difference)), around, verdict)
