"""What changed since the previous run, in a sentence and one table, what matters most first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...core.support.text import count
from ...document.blocks import bullets, paragraphs, tables
from ...document.document import Badge, Block, Cell, Section, Tone
from ...document.text import clean, interval, items, joined, name, spaced, value_words
from ...evidence.finding import SEVERITIES
from ...evidence.run import FindingChange, RunChanges, ValueChange
from ...reading.run_reader import RunReader, as_cell

TITLE = "What changed"
CLOSED = "A finding that is closed is no longer raised; whether its cause is gone is for people to say."
INPUTS = 4  # named of those that differ
OBSERVATION = "observation"
TONES: dict[str, Tone] = {"new": "bad", "worse": "bad", "better": "good", "closed": "good", "unchanged": "neutral"}
FINDINGS, VALUES, LEFT = 6, 5, 2  # findings and values in the table; parts that were not compared, in words
Row = tuple[Cell, ...]


def changes(e: RunReader) -> Section | None:
    """Return what changed, or None where no previous run was given."""
    since = e.run.changes
    if since is None:
        return None
    day, label = (clean(as_cell(since.previous.get(key))) for key in ("as_of", "label"))
    closed = not since.unrelated and any(finding.change == "closed" for finding in since.findings)
    lead = spaced(f"Compared with the run of {day} (“{label}”).", in_short(since), CLOSED * closed)
    rows = [] if since.unrelated else [*_findings(since), *_values(e, since)]
    table = tables("changes-table", "What changed, worst first.", ("what", "change", "before", "now"), rows)
    return Section(id="changes", title=TITLE, blocks=(*paragraphs(lead), *table, *paragraphs(_not_compared(since))))


def _not_compared(since: RunChanges) -> str:
    """Say what could not be compared, the rest counted; empty where that is nothing."""
    parts = [clean(part).rstrip(".") for part in since.not_compared]
    parts[LEFT:] = [f"and {len(parts) - LEFT} more"] if len(parts) > LEFT else []
    return f"Not compared: {'; '.join(parts)}." if parts else ""


def in_short(since: RunChanges) -> str:
    """Say in one sentence what changed, or that the two runs are unrelated."""
    if since.unrelated:
        return f"{clean(since.unrelated)}."
    numbers: Counter[str] = Counter(finding.change for finding in since.findings)
    findings = joined([f"{numbers[kind]} {kind}" for kind in TONES if numbers[kind]]) or "none"
    moved = sum(value.changed for value in since.values)
    differing = count(len(since.inputs), "hash, version or setting", "hashes, versions or settings")
    verb = "differs" if len(since.inputs) == 1 else "differ"
    which = f": {joined([name(x.what) for x in since.inputs], INPUTS)}" if since.inputs else ""
    return (
        f"Findings against the previous run: {findings}. Of {count(len(since.values), 'compared value')}, {moved} "
        f"changed beyond what new rows would explain. {differing} {verb}{which}."
    )


def _findings(since: RunChanges) -> Iterator[Row]:
    """Yield the findings above an observation that changed, worst first, and count those beyond the first few."""
    order = list(TONES)
    moved = [x for x in since.findings if x.change != "unchanged" and {x.before, x.now} - {"", OBSERVATION}]
    moved.sort(key=lambda x: (order.index(x.change), _severity(x)))
    for x in moved[:FINDINGS]:
        features = f" ({joined(items(x.features), 4)})" if x.features else ""
        what = f"{clean(x.code, 20)} {clean(x.title)}{features}"
        yield what, Badge(x.change, TONES[x.change]), x.before or "not open", x.now or "not open"
    for kind, more in Counter(x.change for x in moved[FINDINGS:]).items():  # in the order of the kinds, as `moved` is
        yield count(more, "further finding"), Badge(kind, TONES[kind]), "", ""


def _severity(change: FindingChange) -> int:
    """Return how severe a finding is or was, worst first; of one that is waived it is not known."""
    severities = [SEVERITIES.index(word) for word in (change.now, change.before) if word in SEVERITIES]
    return min(severities, default=len(SEVERITIES))


def _values(e: RunReader, since: RunChanges) -> Iterator[Row]:
    """Yield the values that changed, largest difference against its interval first, and how many more did."""
    moved = sorted((x for x in since.values if x.changed), key=lambda x: -_surely(x))
    for x in moved[:VALUES]:
        measure = e.words(x.measure).title if x.measure else name(x.result)
        about = f" of {name(x.feature)}" if x.feature else ""
        difference = value_words(x.difference, x.lower, x.upper)
        yield f"{measure}{about}", f"by {difference}", value_words(x.before), value_words(x.now)
    if len(moved) > VALUES:
        yield count(len(moved) - VALUES, "further value"), "changed", "", ""


def _surely(value: ValueChange) -> float:
    """Return a difference against the half width of its interval."""
    if value.lower is None or value.upper is None or value.upper <= value.lower:
        return 0.0
    return abs(value.difference) / (value.upper - value.lower)


def changes_in_full(e: RunReader) -> Section | None:
    """Return every compared value and every input that differs; None where nothing was compared."""
    since = e.run.changes
    if since is None or since.unrelated or not (since.values or since.inputs):
        return None
    kinds = joined([clean(kind) for kind in dict.fromkeys(value.interval for value in since.values) if kind])
    caption = (
        "Values before and now. Changed: the difference stays apart from 0 when adjusted for all compared values "
        f"(Holm); of ranks, that the two intervals have no rank in common. Intervals: {kinds or 'none'}."
    )
    columns = ("result", "measure", "feature", "before", "now", "difference", "interval", "changed")
    values = [_value(e, value) for value in sorted(since.values, key=lambda value: not value.changed)]
    inputs = [(name(x.what), clean(x.before or "none", 120), clean(x.now or "none", 120)) for x in since.inputs]
    blocks: tuple[Block, ...] = (
        *tables("changes-values", caption, columns, values),
        *tables("changes-inputs", "Hashes, versions and settings that differ.", ("input", "before", "now"), inputs),
        *bullets(f"Not compared: {clean(part).rstrip('.')}." for part in since.not_compared),
    )
    return Section(id="changes-full", title="Compared with the previous run", blocks=blocks)


def _value(e: RunReader, value: ValueChange) -> Row:
    around = interval(value.lower, value.upper)
    verdict = Badge("changed", "warning") if value.changed else "not shown" if around else "no interval"
    names = (name(value.result), e.words(value.measure).title if value.measure else "", name(value.feature) or "all")
    return (*names, *map(value_words, (value.before, value.now, value.difference)), around, verdict)
