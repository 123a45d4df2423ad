"""The findings: a register worst first, then each in a short block with what to do, and observations in a line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...core.text import MAX_TEXT, count
from ...document.blocks import make_table
from ...document.document import Badge, Block, Bullets, Callout, Cell, Fold, Paragraph, Section, Table
from ...document.evidence import OPEN, SEVERITY_TONES, Evidence, severity_badge
from ...document.text import ABSENT, clean, first_sentence, joined, mentioned, mentions, sentence
from ...evidence.finding import Finding, by_cause
from .rules import about, ended, observed_words, size_words, threshold_words
from .waivers import waivers

TITLE = "Findings"
OBSERVATION = "observation"
SAME = 5  # statements of findings that share a block, beyond the first
NEWS = ("new", "worse", "better", "unchanged")


@dataclass(frozen=True)
class Group:
    """Findings of one rule and severity about different features, and what explains them."""

    members: tuple[Finding, ...]
    cause: Finding | None

    @property
    def first(self) -> Finding:
        """The first of them."""
        return self.members[0]

    @property
    def features(self) -> list[str]:
        """The features they are about, each once."""
        return list(dict.fromkeys(feature for one in self.members for feature in one.features))


def findings(e: Evidence) -> Section:
    """Return the register, a block for each finding above an observation, the observations, and what is waived."""
    found = groups(e.findings)
    acted = [group for group in found if group.first.severity != OBSERVATION]
    noted = [group for group in found if group.first.severity == OBSERVATION]
    ids = _ids(found)
    blocks: list[Block] = [Paragraph(text=" ".join(filter(None, (nothing_open(e), ended(e)))))]
    blocks += [_register(e, acted)] if acted else []
    blocks += [block for group in acted for block in _block(e, group, ids[id(group)])]
    blocks += [_observations(noted, ids)] if noted else []
    aside = waivers(e)
    return Section(id="findings", title=TITLE, blocks=tuple(blocks), sections=() if aside is None else (aside,))


def nothing_open(e: Evidence) -> str:
    """Say that no finding is open, and that this is no pass where nothing was looked for; empty where one is."""
    if e.findings:
        return ""
    if not e.run.outcomes:
        return "Nothing was looked for, so nothing was found."
    waived = f" {count(len(e.waived), 'finding')} {'is' if len(e.waived) == 1 else 'are'} waived." if e.waived else ""
    return f"No finding is open.{waived}"


def groups(found: Sequence[Finding]) -> list[Group]:
    """Return findings in the order of the register; of one rule, severity and cause as one where features differ."""
    held: dict[tuple[str, str, int], list[list[Finding]]] = {}
    causes: dict[int, Finding | None] = {}
    for finding, cause in by_cause(found):
        same = held.setdefault((finding.code, finding.severity, id(cause)), [])
        fitting = next((group for group in same if _apart(group, finding)), None)
        if fitting is None:
            same.append(fitting := [])
            causes[id(fitting)] = cause
        fitting.append(finding)
    order = {id(finding): k for k, (finding, _) in enumerate(by_cause(found))}
    every = (group for same in held.values() for group in same)
    return [Group(tuple(one), causes[id(one)]) for one in sorted(every, key=lambda one: order[id(one[0])])]


def _apart(group: Iterable[Finding], finding: Finding) -> bool:
    """Say whether a finding is about features, and others than those of a group."""
    return bool(finding.features) and all(one.features and one.features != finding.features for one in group)


def _ids(found: Sequence[Group]) -> dict[int, str]:
    """Return the id of every block, unique in the document, by the identity of its group."""
    taken: dict[str, int] = {}
    names = {}
    for group in found:
        code = clean(group.first.code, 20)
        taken[code] = taken.get(code, 0) + 1
        names[id(group)] = f"finding-{code}" + (f"-{taken[code]}" if taken[code] > 1 else "")
    return names


def _register(e: Evidence, acted: Sequence[Group]) -> Table:
    """Return a line for every open finding above an observation, what follows from another one under it."""
    causes = {id(finding): cause for finding, cause in by_cause(e.findings)}
    members = [finding for group in acted for finding in group.members]
    listed = [finding for finding in e.findings if any(finding is one for one in members)]
    sized = any(size_words(finding) or finding.affected for finding in listed)
    columns = ["finding", "severity", "feature", *["size"] * sized, "owner, due"]
    rows = [
        (
            f"{clean(f.code, 20)} {clean(f.title)}{_follows(causes[id(f)])}",
            severity_badge(f.severity),
            about(f.features),
            *[joined([*filter(None, (size_words(f), clean(f.affected)))]) or "not stated"] * sized,
            _followers(e, f),
        )
        for f in listed
    ]
    caption = f"{count(len(rows), 'finding')} to deal with, worst first, what follows from a finding under it."
    return make_table("findings-register", caption, columns, rows)


def _follows(cause: Finding | None) -> str:
    return "" if cause is None else f" (follows from {clean(cause.code, 20)})"


def _followers(e: Evidence, finding: Finding) -> Cell:
    """Return the owner with the due date, open where nobody was named."""
    owner, due = e.action(finding)
    if owner == OPEN:
        return Badge("open", "unknown")
    return f"{owner}, {due}" if due != ABSENT else str(owner)


def _block(e: Evidence, group: Group, key: str) -> tuple[Block, ...]:
    """Return what was found, how large, for whom and since when, and what to do."""
    return (_callout(e, group, key), *_members(group, key), Paragraph(text=_to_do(e, group)))


def _callout(e: Evidence, group: Group, key: str) -> Callout:
    first = group.first
    news = list(dict.fromkeys(e.since(one) for one in group.members if e.since(one) in NEWS))
    heads = (clean(first.code, 20), first.severity, *news, clean(first.title))
    return Callout(
        tone=SEVERITY_TONES[first.severity],
        title=" · ".join(heads),
        text=" ".join(filter(None, (_told(group), *_extent(group)))),
        evidence=tuple(dict.fromkeys(key for one in group.members for key in one.evidence)),
        code=clean(first.code, 20),
        id=key,
    )


def _told(group: Group) -> str:
    """Return the statement, that of the first where there are several."""
    text = mentioned(sentence(group.first.statement), group.first.features)
    others = [feature for feature in group.features if feature not in group.first.features]
    also = f"The same holds for {joined(mentions(others))}." if len(group.members) > 1 and others else ""
    return " ".join(filter(None, (text, also)))


def _extent(group: Group) -> list[str]:
    """Say who is affected and how large it is, where one finding states it; several have a table of their own."""
    first = group.first
    if len(group.members) > 1:
        return []
    told = [sentence(f"Affected: {first.affected}")] * bool(first.affected)
    return [*told, *[f"Its size is {size_words(first)}."] * (first.size is not None)]


def _members(group: Group, key: str) -> tuple[Block, ...]:
    """Return the numbers of findings that share a block, a line each, and what else was stated."""
    if len(group.members) == 1:
        return ()
    rows = [
        (about(one.features), observed_words(one), threshold_words(one), clean(one.affected), size_words(one))
        for one in group.members
    ]
    columns = ("feature", "observed (interval)", "limit", "affected", "size")
    kept = [k for k in range(len(columns)) if k < 3 or any(row[k] for row in rows)]
    cells = [[row[k] for k in kept] for row in rows]
    caption = f"{clean(group.first.code, 20)} by feature."
    table = make_table(f"{key}-table", caption, [columns[k] for k in kept], cells)
    stated = tuple(mentioned(sentence(one.statement), one.features) for one in group.members[1 : SAME + 1])
    return (table, Fold(title=f"{clean(group.first.code, 20)}: the others in full", blocks=(Bullets(items=stated),)))


def _to_do(e: Evidence, group: Group) -> str:
    """Return every remedy with who follows it until when; in the register stands where nobody does."""
    remedies = dict.fromkeys(sentence(one.remedy) for one in group.members if one.remedy)
    named = dict.fromkeys(e.action(one) for one in group.members if e.action(one)[0] != OPEN)
    owners = [f"{owner}{'' if due == ABSENT else f' until {due}'}" for owner, due in named]
    does = f"{joined(owners)} {'answers' if len(owners) == 1 else 'answer'} for it." if owners else ""
    return " ".join(filter(None, ("What to do:", " ".join(remedies) or "not stated.", does)))


def _observations(noted: Sequence[Group], ids: dict[int, str]) -> Fold:
    """Return the observations, each in a line; those of one rule together."""
    blocks = [
        Callout(
            tone=SEVERITY_TONES[OBSERVATION],
            title=f"{clean(group.first.code, 20)} · {clean(group.first.title)}",
            text=_noted(group),
            code=clean(group.first.code, 20),
            id=ids[id(group)],
        )
        for group in noted
    ]
    number = count(sum(len(group.members) for group in noted), "observation")
    return Fold(title=f"{number}: nothing must be done, good to know", blocks=tuple(blocks))


def _noted(group: Group) -> str:
    """Return the first sentence of each observation, and the features of those beyond the first few."""
    told = [mentioned(first_sentence(one.statement, MAX_TEXT), one.features) for one in group.members[: SAME + 1]]
    beyond = list(dict.fromkeys(feature for one in group.members[SAME + 1 :] for feature in one.features))
    return " ".join([*told, *([f"So it is with {joined(mentions(beyond))}."] if beyond else [])])
