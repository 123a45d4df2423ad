"""The findings: a register worst first, then each in a short block with what to do, and observations in a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.support.text import MAX_TEXT, count
from ...document.blocks import make_table, paragraphs, tables
from ...document.document import Badge, Block, Bullets, Callout, Cell, Fold, Section, Table
from ...document.text import ABSENT, clean, first_sentence, joined, mentioned, mentions, name, sentence, spaced
from ...evidence.finding import Finding, by_cause
from ...reading.run_reader import OPEN, SEVERITY_TONES, RunReader, severity_badge
from .rules import about, ended, observed_words, size_words, threshold_words

TITLE = "Findings"
OBSERVATION = "observation"
SAME = 5  # statements of findings that share a block, beyond the first
NEWS = ("new", "worse", "better", "unchanged")


@dataclass(frozen=True)
class FindingGroup:
    """Findings of one rule, severity and cause about different features; `id` is unique in the document."""

    members: tuple[Finding, ...]
    id: str

    @property
    def first(self) -> Finding:
        """The first of them."""
        return self.members[0]

    @property
    def features(self) -> list[str]:
        """The features they are about, each once."""
        return list(dict.fromkeys(feature for finding in self.members for feature in finding.features))

    @property
    def code(self) -> str:
        """The code of their rule."""
        return clean(self.first.code, 20)


def findings(e: RunReader) -> Section:
    """Return the register, a block for each finding above an observation, the observations, and what is waived."""
    every = grouped(e.findings)
    noted = [group for group in every if group.first.severity == OBSERVATION]
    blocks: list[Block] = [*paragraphs(spaced(nothing_open(e), ended(e))), *_register(e)]
    blocks += [block for group in every if group not in noted for block in _block(e, group)]
    blocks += [_observations(noted)] if noted else []
    return Section(id="findings", title=TITLE, blocks=tuple(blocks), sections=_waivers(e))


def nothing_open(e: RunReader) -> str:
    """Say that no finding is open, and that this is no pass where nothing was looked for; empty where one is."""
    if e.findings:
        return ""
    if not e.run.outcomes:
        return "Nothing was looked for, so nothing was found."
    waived = f" {count(len(e.waived), 'finding')} {'is' if len(e.waived) == 1 else 'are'} waived." if e.waived else ""
    return f"No finding is open.{waived}"


def grouped(findings: Sequence[Finding]) -> list[FindingGroup]:
    """Return findings in the order of the register; of one rule, severity and cause as one where features differ."""
    blocks: list[tuple[tuple[str, str, int], list[Finding]]] = []
    for finding, cause in by_cause(findings):
        key = (finding.code, finding.severity, id(cause))
        members = next((members for same, members in blocks if same == key and _differs(finding, members)), None)
        if members is None:
            blocks.append((key, members := []))
        members.append(finding)
    uses, every = Counter[str](), []
    for _, members in blocks:
        code = clean(members[0].code, 20)
        uses[code] += 1
        every.append(FindingGroup(tuple(members), f"finding-{code}" + (f"-{uses[code]}" if uses[code] > 1 else "")))
    return every


def _differs(finding: Finding, members: Iterable[Finding]) -> bool:
    """Say whether a finding is about features, and others than these are."""
    return bool(finding.features) and all(x.features and x.features != finding.features for x in members)


def _register(e: RunReader) -> tuple[Table, ...]:
    """Return a line for every open finding above an observation, what follows from another one under it."""
    causes = {id(finding): cause for finding, cause in by_cause(e.findings)}
    listed = [finding for finding in e.findings if finding.severity != OBSERVATION]
    sized = any(size_words(finding) or finding.affected for finding in listed)
    columns = ["finding", "severity", "feature", *["size"] * sized, "owner, due"]
    rows = [
        (
            f"{clean(f.code, 20)} {clean(f.title)}"
            + (f" (follows from {clean(cause.code, 20)})" if (cause := causes[id(f)]) else ""),
            severity_badge(f.severity),
            about(f.features),
            *[joined([*filter(None, (size_words(f), clean(f.affected)))]) or "not stated"] * sized,
            _owner(e, f),
        )
        for f in listed
    ]
    caption = f"{count(len(rows), 'finding')} to deal with, worst first, what follows from a finding under it."
    return tables("findings-register", caption, columns, rows)


def _owner(e: RunReader, finding: Finding) -> Cell:
    """Return the owner with the due date, open where nobody was named."""
    owner, due = e.action(finding)
    if owner == OPEN:
        return Badge("open", "unknown")
    return f"{owner}, {due}" if due != ABSENT else str(owner)


def _block(e: RunReader, group: FindingGroup) -> tuple[Block, ...]:
    """Return what was found, how large, for whom and since when, and what to do."""
    first = group.first
    news = dict.fromkeys(change for finding in group.members if (change := e.since(finding)) in NEWS)
    callout = Callout(
        tone=SEVERITY_TONES[first.severity],
        title=" · ".join((group.code, first.severity, *news, clean(first.title))),
        text=_statement(group),
        evidence=tuple(dict.fromkeys(source for finding in group.members for source in finding.evidence)),
        code=group.code,
        id=group.id,
    )
    return (callout, *_members(group), *paragraphs(_to_do(e, group)))


def _statement(group: FindingGroup) -> str:
    """Return the statement with who is affected and how large it is; of several the first, and whom else it is so of.

    The numbers of several stand in a table of their own.
    """
    first = group.first
    others = [feature for feature in group.features if feature not in first.features]
    also = f"The same holds for {joined(mentions(others))}." if others else ""
    if len(group.members) == 1:
        affected = sentence(f"Affected: {first.affected}") if first.affected else ""
        also = spaced(affected, "" if first.size is None else f"Its size is {size_words(first)}.")
    return spaced(mentioned(sentence(first.statement), first.features), also)


def _members(group: FindingGroup) -> tuple[Block, ...]:
    """Return the numbers of findings that share a block, a line each, and what else was stated."""
    if len(group.members) == 1:
        return ()
    rows = [
        (about(f.features), observed_words(f), threshold_words(f), clean(f.affected), size_words(f))
        for f in group.members
    ]
    heads = ("feature", "observed (interval)", "limit", "affected", "size")
    filled = [k for k in range(len(heads)) if k < 3 or any(row[k] for row in rows)]
    cells = [[row[k] for k in filled] for row in rows]
    table = make_table(f"{group.id}-table", f"{group.code} by feature.", [heads[k] for k in filled], cells)
    statements = tuple(mentioned(sentence(f.statement), f.features) for f in group.members[1 : SAME + 1])
    return (table, Fold(title=f"{group.code}: the others in full", blocks=(Bullets(items=statements),)))


def _to_do(e: RunReader, group: FindingGroup) -> str:
    """Return every remedy with who follows it until when; in the register stands where nobody does."""
    remedies = dict.fromkeys(sentence(finding.remedy) for finding in group.members if finding.remedy)
    actions = dict.fromkeys(action for finding in group.members if (action := e.action(finding))[0] != OPEN)
    owners = [f"{owner}{'' if due == ABSENT else f' until {due}'}" for owner, due in actions]
    does = f"{joined(owners)} {'answers' if len(owners) == 1 else 'answer'} for it." if owners else ""
    return spaced("What to do:", " ".join(remedies) or "not stated.", does)


def _observations(noted: Sequence[FindingGroup]) -> Fold:
    """Return the observations, each in a line; those of one rule together."""
    blocks = [
        Callout(
            tone=SEVERITY_TONES[OBSERVATION],
            title=f"{group.code} · {clean(group.first.title)}",
            text=_noted(group),
            code=group.code,
            id=group.id,
        )
        for group in noted
    ]
    number = count(sum(len(group.members) for group in noted), "observation")
    return Fold(title=f"{number}: nothing must be done, good to know", blocks=tuple(blocks))


def _noted(group: FindingGroup) -> str:
    """Return the first sentence of each observation, and the features of those beyond the first few."""
    texts = [mentioned(first_sentence(f.statement, MAX_TEXT), f.features) for f in group.members[: SAME + 1]]
    beyond = list(dict.fromkeys(feature for f in group.members[SAME + 1 :] for feature in f.features))
    return " ".join([*texts, *([f"So it is with {joined(mentions(beyond))}."] if beyond else [])])


def _waivers(e: RunReader) -> tuple[Section, ...]:
    """Return what is waived and each waiver's state; nothing where no waiver was given."""
    caption = (
        f"{count(len(e.waived), 'finding')} waived on {clean(e.run.as_of, 20)}: somebody answers for it until a day."
    )
    heads = ("finding", "severity", "feature", "waiver", "state")
    blocks = tables("waivers-table", caption, heads, [*_waived(e), *_idle(e)])
    return (Section(id="findings-waived", title="Waived findings and waivers", blocks=blocks),) if blocks else ()


def _waived(e: RunReader) -> Iterator[tuple[Cell, ...]]:
    """Yield the findings under a waiver, with who answers for them, why and until when."""
    for waived in e.waived:
        finding, waiver = waived.finding, waived.waiver
        words = f"{name(waiver.owner)}, until {clean(waiver.expires, 20)}: {sentence(waiver.reason)}"
        title = f"{clean(finding.code, 20)} {clean(finding.title)}"
        yield title, severity_badge(finding.severity), about(finding.features), words, Badge("holds", "neutral")


def _idle(e: RunReader) -> Iterator[tuple[Cell, ...]]:
    """Yield the waivers of the settings that hold for nothing, and why."""
    active = {(x.waiver.code, x.waiver.feature, x.waiver.expires) for x in e.waived}
    for waiver in e.listed("waivers"):
        if (waiver.get("code"), waiver.get("feature") or "", waiver.get("expires")) not in active:
            until = f"{name(waiver.get('owner', ''))}, until {clean(waiver.get('expires', ''), 20)}"
            code, feature = clean(waiver.get("code", ""), 20), name(waiver.get("feature") or "all")
            yield code, "", feature, until, _idle_state(e, waiver)


def _idle_state(e: RunReader, waiver: Mapping[str, Any]) -> Badge:
    """Say why a waiver holds for nothing; dates compare as text, ``YYYY-MM-DD``."""
    code, feature = waiver.get("code"), waiver.get("feature")
    if e.run.as_of <= str(waiver.get("expires", "")):
        return Badge("nothing to waive", "neutral")
    again = [f for f in e.findings if f.code == code and (not feature or f.features == (feature,))]
    words = ["expired", *([f"{count(len(again), 'finding')} open again"] if again else [])]
    return Badge(joined(words), "warning")
