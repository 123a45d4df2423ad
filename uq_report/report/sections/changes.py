"""What changed since the previous run, in a sentence and one table, what matters most first."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.text import count
from ...document.blocks import make_table
from ...document.document import Badge, Block, Bullets, Cell, Paragraph, Section, Tone
from ...document.evidence import Evidence, as_cell
from ...document.text import clean, interval, items, joined, name, value_words
from ...evidence.finding import SEVERITIES
from ...evidence.run import Changes, FindingChange, ValueChange

TITLE = "What changed"
INPUTS = 4  # named of those that differ
OBSERVATION = "observation"
TONES: dict[str, Tone] = {
    "new": "bad",
    "worse": "bad",
    "better": "good",
    "closed": "good",
    "unchanged": "neutral",
}
FINDINGS, VALUES, LEFT = 6, 5, 2  # findings and values in the table; parts that were not compared, in words
Row = tuple[Cell, ...]


def changes(e: Evidence) -> Section | None:
    """Return what changed, or None where no previous run was given."""
    since = e.run.changes
    if since is None:
        return None
    lead = Paragraph(text=" ".join(filter(None, (_against(since), in_short(since), _closed(since)))))
    rows = [] if since.unrelated else [*_findings(since), *_values(e, since)]
    table = [make_table("changes-table", "What changed, worst first.", ("what", "change", "before", "now"), rows)]
    aside = [Paragraph(text=_not_compared(since))] if since.not_compared else []
    return Section(id="changes", title=TITLE, blocks=(lead, *(table if rows else []), *aside))


def _not_compared(since: Changes) -> str:
    """Say what could not be compared, the rest counted."""
    told = [clean(one).rstrip(".") for one in since.not_compared[:LEFT]]
    more = len(since.not_compared) - len(told)
    return f"Not compared: {'; '.join(told)}{f'; and {more} more' if more else ''}."


def _against(since: Changes) -> str:
    """Say which run this one is compared with."""
    day, label = (clean(as_cell(since.previous.get(key))) for key in ("as_of", "label"))
    return f"Compared with the run of {day} (“{label}”)."


def in_short(since: Changes) -> str:
    """Say in one sentence what changed, or that the two runs are unrelated."""
    if since.unrelated:
        return f"{clean(since.unrelated)}."
    numbers = [(kind, sum(one.change == kind for one in since.findings)) for kind in TONES]
    findings = joined([f"{number} {kind}" for kind, number in numbers if number]) or "none"
    moved = sum(one.changed for one in since.values)
    differing = count(len(since.inputs), "hash, version or setting", "hashes, versions or settings")
    verb = "differs" if len(since.inputs) == 1 else "differ"
    which = f": {joined([name(one.what) for one in since.inputs], INPUTS)}" if since.inputs else ""
    return (
        f"Findings against the previous run: {findings}. Of {count(len(since.values), 'compared value')}, {moved} "
        f"changed beyond what new rows would explain. {differing} {verb}{which}."
    )


def _closed(since: Changes) -> str:
    """Say what it means that a finding is closed, where one is."""
    if since.unrelated or not any(one.change == "closed" for one in since.findings):
        return ""
    return "A finding that is closed is no longer raised; whether its cause is gone is for people to say."


def _findings(since: Changes) -> Iterator[Row]:
    """Yield the findings above an observation that changed, worst first, and count those beyond the first few."""
    order = list(TONES)
    moved = [x for x in since.findings if x.change != "unchanged" and {x.before, x.now} - {"", OBSERVATION}]
    moved.sort(key=lambda x: (order.index(x.change), _severity(x)))
    for one in moved[:FINDINGS]:
        yield _finding(one), Badge(one.change, TONES[one.change]), one.before or "not open", one.now or "not open"
    for kind, tone in TONES.items():
        more = sum(one.change == kind for one in moved[FINDINGS:])
        if more:
            yield count(more, "further finding"), Badge(kind, tone), "", ""


def _severity(one: FindingChange) -> int:
    """Return how severe a finding is or was, worst first; of one that is waived it is not known."""
    known = [SEVERITIES.index(word) for word in (one.now, one.before) if word in SEVERITIES]
    return min(known, default=len(SEVERITIES))


def _finding(one: FindingChange) -> str:
    features = f" ({joined(items(one.features), 4)})" if one.features else ""
    return f"{clean(one.code, 20)} {clean(one.title)}{features}"


def _values(e: Evidence, since: Changes) -> Iterator[Row]:
    """Yield the values that changed, largest difference against its interval first, and how many more did."""
    moved = sorted((one for one in since.values if one.changed), key=lambda one: -_surely(one))
    for one in moved[:VALUES]:
        measure = e.words(one.measure).title if one.measure else name(one.result)
        about = f" of {name(one.feature)}" if one.feature else ""
        difference = value_words(one.difference, one.lower, one.upper)
        yield f"{measure}{about}", f"by {difference}", value_words(one.before), value_words(one.now)
    if len(moved) > VALUES:
        yield f"{count(len(moved) - VALUES, 'further value')}", "changed", "", ""


def _surely(one: ValueChange) -> float:
    """Return a difference against the half width of its interval."""
    if one.lower is None or one.upper is None or one.upper <= one.lower:
        return 0.0
    return abs(one.difference) / (one.upper - one.lower)


def changes_in_full(e: Evidence) -> Section | None:
    """Return every compared value and every input that differs; None where nothing was compared."""
    since = e.run.changes
    if since is None or since.unrelated or not (since.values or since.inputs):
        return None
    tables: list[Block] = []
    if since.values:
        kinds = joined([clean(kind) for kind in dict.fromkeys(one.interval for one in since.values) if kind])
        caption = (
            "Values before and now. Changed: the difference stays apart from 0 when adjusted for all compared values "
            f"(Holm); of ranks, that the two intervals have no rank in common. Intervals: {kinds or 'none'}."
        )
        columns = ("result", "measure", "feature", "before", "now", "difference", "interval", "changed")
        ordered = sorted(since.values, key=lambda one: not one.changed)
        tables.append(make_table("changes-values", caption, columns, [_value(e, one) for one in ordered]))
    if since.inputs:
        inputs = [(name(x.what), clean(x.before or "none", 120), clean(x.now or "none", 120)) for x in since.inputs]
        caption = "Hashes, versions and settings that differ."
        tables.append(make_table("changes-inputs", caption, ("input", "before", "now"), inputs))
    left = tuple(f"Not compared: {clean(one).rstrip('.')}." for one in since.not_compared)
    tables += [Bullets(items=left)] if left else []
    return Section(id="changes-full", title="Compared with the previous run", blocks=tuple(tables))


def _value(e: Evidence, one: ValueChange) -> Row:
    around = interval(one.lower, one.upper)
    verdict = Badge("changed", "warning") if one.changed else "not shown" if around else "no interval"
    names = (name(one.result), e.words(one.measure).title if one.measure else "", name(one.feature) or "all")
    return (*names, *(value_words(x) for x in (one.before, one.now, one.difference)), around, verdict)
