"""The findings with their actions, the rules behind them, the state of every check, and monitoring thresholds."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from ...checks.policy import parse
from ...checks.rule import rates
from ...core.model.results import Result
from ...core.support.numbers import interval, plain, value_words
from ...core.support.references import cite
from ...core.support.text import MAX_TEXT, count
from ...document.blocks import bullets, make_section, make_table, paragraphs, tables
from ...document.document import Badge, Block, Callout, Cell, Column, Facts, Fold, Section, Table, Tone
from ...document.plots.frames import optional
from ...document.text import ABSENT, clean, first_sentence, items, joined, mentioned, mentions, name, sentence, spaced
from ...evidence import columns as col
from ...evidence.comparisons import SensitivityView, ThresholdLine
from ...evidence.finding import Finding, Outcome, RuleRecord, by_cause
from ...evidence.rows import SHUFFLED
from ...evidence.view import by_key
from ...reading.rating import NO_VERDICT, tally
from ...reading.run_reader import OPEN, SEVERITY_TONES, RunReader, severity_badge

SEVERITY = (
    "Severity: critical, unfit for the stated use; high, a conclusion or a limit of use changes; medium, a weakness "
    "with a compensating control; low, documentation; observation, for information, no action required."
)
STATES: dict[str, Tone] = {
    "found": "warning", "passed": "good", "not_applicable": "unknown", "skipped": "unknown", "ignored": "neutral",
}  # fmt: skip


def state_badge(state: str) -> Badge:
    """Return how a check ended, with its tone."""
    return Badge(state.replace("_", " "), STATES[state])


ENDS = (
    (("found",), "raised findings"), (("passed",), "passed"), (("ignored",), "raised waived findings only"),
    (NO_VERDICT, "reached no verdict"),
)  # fmt: skip
MONITORING = "Monitoring thresholds"
DEFAULT = "default"
# the words of a check for a rule that it could not decide -> the state of the rule
OPEN_STATES = {"is undetermined": "inconclusive", "was not judged": "not assessed"}
MONITORING_LEAD = (
    "These rules were applied to this run. Applied to every run they are the thresholds of a monitoring plan. The "
    "owner of the model decides whether they suit its use."
)


def rules(e: RunReader) -> Section:
    """Return every rule of the checks that ran, and the observed value of each open finding against its limit."""
    measured = rates()
    rows = [
        (
            spaced(rule.code, sentence(rule.title)),
            severity_badge(rule.severity),
            measured[rule.code].words if rule.code in measured else "not measured",
            spaced(sentence(rule.when), f"Source: {clean(cite(rule.rests_on)).rstrip('.')}." * bool(rule.rests_on)),
        )
        for outcome in e.run.outcomes
        for rule in outcome.rules
    ]
    columns = ("finding", "highest severity", "false alarms", "raised when")
    caption = (
        "The rule of every finding and its highest severity. False alarms: share of audits of well-specified models in "
        "which the rule raised a finding above observation, in the design with the highest rate. "
        "The command `uq-report docs` prints the meaning and remedy of a code."
    )
    table = tables("rules-table", caption, columns, sorted(rows, key=lambda row: row[0]), note=SEVERITY)
    blocks = (*(table or paragraphs("No check of this run has a rule.")), *_judged(e))
    return make_section("rules", "Rules and severities", blocks)


def _judged(e: RunReader) -> tuple[Table, ...]:
    """Return the observed value against its limit, finding by finding."""
    rows = [(clean(f.code, 20), about(f.features), observed_words(f), threshold_words(f)) for f in e.findings]
    columns = ("finding", "feature", "observed (interval)", "limit")
    caption = "Open findings: observed values and limits, in the units of their rules."
    return tables("rules-judged", caption, columns, rows)


def checks_ended(e: RunReader) -> Section:
    """Return the state of every check, with its findings or the reason why it reached no verdict."""
    rows = [(name(o.title or o.check), state_badge(o.state), _reason(o)) for o in e.run.outcomes]
    columns, caption = ("check", "state", "findings or reason"), "Each check ends in exactly one state."
    blocks: tuple[Block, ...] = (*paragraphs(ended(e)), *tables("checks-table", caption, columns, rows))
    return make_section("checks", "State of every check", blocks)


# options of checks in words, by check and option or by the option alone
THRESHOLDS = {
    "calibration.margin": "tolerance of the calibration gap", "level": "significance level", "margin": "tolerance",
    "min_size": "smallest size", "min_share": "smallest share", "pass_margin": "tolerance to pass",
    "effect": "smallest effect", "low": "limit of low severity", "medium": "limit of medium severity",
    "max_shuffle_variance": "largest share of the permutations in the variance", "high": "limit of high severity",
    "high_size": "limit of high severity", "some": "limit of medium severity",
    "much": "limit of high severity", "recall": "smallest recall", "used": "smallest change by an attribute",
    SHUFFLED: "share of permuted observations outside",
}  # fmt: skip


def sensitivity(e: RunReader) -> Section | None:
    """Return the findings that change if a threshold is halved or doubled, and the recommendation that follows."""
    view = SensitivityView.find(e.run)
    if view is None:
        return None
    by_threshold = by_key(((line.item, line.factor), line) for line in view.lines)
    moved = {key for key, lines in by_threshold.items() if lines[0].recommendation != view.recommendation}
    names = {item: _threshold(e, item) for item, _ in by_threshold}
    rows = [
        (
            Badge(names[item], "warning") if (item, factor) in moved else names[item],
            lines[0].stated,
            lines[0].estimate,
            joined([_moved(line) for line in lines], 3),
            lines[0].recommendation,
        )
        for (item, factor), lines in sorted(by_threshold.items(), key=lambda entry: entry[0] not in moved)
    ]
    others = joined([*dict.fromkeys(f"“{by_threshold[key][0].recommendation}”" for key in sorted(moved))])
    text = (
        f"Each of {count(view.varied, 'threshold')} was halved and doubled, one at a time: findings change for "
        f"{len({item for item, _ in by_threshold}) or 'none'} of them, and the recommendation for "
        f"{len({item for item, _ in moved}) or 'none'}{f' (to {others})' if moved else ''}. "
        "Other seeds and training data were not tried."
    )
    caption = "Changes of findings and recommendation, those of the recommendation first."
    numbers = (Column("stated", "number"), Column("tried", "number"))
    columns = ("threshold", *numbers, "findings that change", "recommendation")
    table = tables("threshold-sensitivity-table", caption, columns, rows, evidence=view.id)
    return make_section("threshold-sensitivity", "Sensitivity to thresholds", (*paragraphs(text), *table))


def _threshold(e: RunReader, item: str) -> str:
    """Name a threshold by its check and its option, in words."""
    check, _, option = item.rpartition(".")
    title = next((outcome.title for outcome in e.run.outcomes if outcome.check == check), "") or check
    return name(f"{title}: {THRESHOLDS.get(item) or THRESHOLDS.get(option) or option.replace('_', ' ')}")


def _moved(line: ThresholdLine) -> str:
    about = f" of {name(line.about)}" if line.about else ""
    return f"{clean(line.code, 20)}{about} ({line.before} to {line.after})"


def ended(e: RunReader) -> str:
    """Count the checks that raised findings, passed or reached no verdict, and those that are registered.

    ``"Of 11 checks 5 raised findings, 4 passed and 2 reached no verdict."``
    """
    ran = len(e.run.outcomes)
    registered = sum(plugin.group.removeprefix("uq_report.") == "checks" for plugin in e.run.plugins)
    words = f"Of {count(ran, 'check')} {tally(e.run.outcomes, ENDS)}." if ran else "No check was run."
    if registered == ran:
        return words
    return f"{words} {count(registered, 'check')} are registered; the run does not account for all of them."


def _reason(outcome: Outcome) -> str:
    codes = list(dict.fromkeys(finding.code for finding in outcome.findings))
    waived = list(dict.fromkeys(waived.finding.code for waived in outcome.waived))
    parts = [joined(codes), f"waived: {joined(waived)}" if waived else "", sentence(outcome.reason)]
    return "; ".join(filter(None, parts))


def about(features: Sequence[str]) -> str:
    """Name the subject of a finding, in a cell.

    Examples
    --------
    >>> about(("age", "income")), about(())
    ('age and income', 'the model')
    """
    return joined(items(features), 4) or "the model"


def size_words(finding: Finding) -> str:
    """Return the size as a percentage of the model's skill, or as a multiple of it; empty where it is not stated.

    Examples
    --------
    >>> given = {"code": "UQ1", "title": "", "severity": "low", "statement": "", "evidence": ("a",), "rests_on": ""}
    >>> size_words(Finding(**given, size=0.25)), size_words(Finding(**given, size=1.38)), size_words(Finding(**given))
    ("25% of the model's skill", "1.38 times the model's skill", '')
    """
    if finding.size is None:
        return ""
    many = f"{finding.size:.3g} times" if finding.size > 1 else f"{100 * finding.size:.3g}% of"
    return f"{many} the model's skill"


def observed_words(finding: Finding) -> str:
    """Return the observed value with its interval in brackets; an interval of another quantity is left out.

    Examples
    --------
    >>> observed_words(Finding(code="UQ1", title="", severity="low", statement="", evidence=("a",), rests_on="",
    ...                        observed=0.05, lower=0.03, upper=0.07))
    '0.050 (0.030 to 0.070)'
    """
    if finding.observed is not None:
        lower, upper = finding.lower, finding.upper
        own = lower is not None and upper is not None and lower <= finding.observed <= upper
        return value_words(finding.observed, lower, upper) if own else value_words(finding.observed)
    around = interval(finding.lower, finding.upper)
    return f"interval {around}" if around else "see finding"


def threshold_words(finding: Finding) -> str:
    """Return the threshold, or that the rule has none."""
    return "none (a verdict)" if finding.threshold is None else plain(float(f"{finding.threshold:.4g}"))


def monitoring(e: RunReader) -> Section:
    """Return the thresholds of checks and of verdicts, the response procedure, and the next review."""
    response = ("Response when a threshold is breached", "about.response")
    procedure = e.facts((response, ("Next review", "about.next_review")))
    rows = [
        (rule.code, sentence(rule.when), _source(e, f"checks.{outcome.check}"), *_state(outcome, rule))
        for outcome in e.run.outcomes
        for rule in outcome.rules
    ]
    counts = ", ".join(f"{number} {state}" for state, number in Counter(row[3].text for row in rows).items())
    now = f"{count(len(rows), 'rule')}: {counts}." if rows else "No check of this run has a rule."
    columns = ("code", "raised when", "source", "state", "observed, threshold")
    caption = "Rules of the checks, and their current state."
    table = tables("monitoring-rules", caption, columns, sorted(rows, key=lambda row: row[0]))
    stated: tuple[Block, ...] = (Facts(rows=procedure), *_triggers(e))
    blocks: tuple[Block, ...] = (*paragraphs(MONITORING_LEAD, now), *stated, *table, *_margins(e))
    return make_section("monitoring", MONITORING, blocks)


TRIGGERED = {"holds": Badge("not triggered", "good"), "broken": Badge("triggered", "bad")}


def _triggers(e: RunReader) -> tuple[Table, ...]:
    """Return the monitoring triggers that the owner has stated, and the answer of this run."""
    rulings = [rule.judge(e.run) for rule in parse([*map(str, _options(e, "checks.policy").get("require", ()))])]
    rows = [(clean(x.rule), TRIGGERED.get(x.state, Badge("inconclusive", "unknown")), clean(x.words)) for x in rulings]
    return tables("monitoring-triggers", "Triggers stated by the owner.", ("must hold", "state", "observed"), rows)


def _state(outcome: Outcome, rule: RuleRecord) -> tuple[Badge, str]:
    """Return the state of one rule, with the numbers of its most severe finding."""
    raised = [f for f in outcome.findings if f.code == rule.code]
    if raised:
        return Badge("raised", "bad" if rule.severity in ("critical", "high") else "warning"), _observed(raised)
    waived = [waived.finding for waived in outcome.waived if waived.finding.code == rule.code]
    if waived:
        return Badge("raised but waived", "neutral"), _observed(waived)
    undecided = _undecided(outcome)
    if rule.code in undecided:
        return undecided[rule.code]
    if outcome.state in NO_VERDICT and not undecided:
        return Badge("not assessed", "unknown"), sentence(outcome.reason)
    return Badge("not raised", "good"), ""


def _undecided(outcome: Outcome) -> dict[str, tuple[Badge, str]]:
    """Return the rules that a check could not decide, each with the reason."""
    codes = "|".join(re.escape(rule.code) for rule in outcome.rules)
    if not codes:
        return {}
    parts = re.split(rf"\b({codes}) ({'|'.join(OPEN_STATES)})[: ]", outcome.reason)[1:]
    reasons = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {code: (Badge(OPEN_STATES[state], "unknown"), clean(why.strip(" ."), 300)) for code, state, why in reasons}


def _observed(findings: list[Finding]) -> str:
    first = findings[0]
    limit = "" if first.threshold is None else f", threshold {threshold_words(first)}"
    more = f"; and {count(len(findings) - 1, 'further finding')}" if len(findings) > 1 else ""
    return f"{observed_words(first)}{limit}{more}"


def _source(e: RunReader, key: str) -> str:
    """Return the settings key that was given for a plugin, or that it has its defaults."""
    return clean(", ".join(f"options.{key}.{option}" for option in sorted(_options(e, key))), 200) or DEFAULT


def _options(e: RunReader, key: str) -> Mapping[str, Any]:
    """Return the options that were given for a plugin."""
    options = e.run.settings.get("options")
    own = options.get(key) if isinstance(options, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def _margins(e: RunReader) -> tuple[Table, ...]:
    """Return the tolerances within which an importance counts as 0."""
    rows = [row for result in e.results if len(result.estimates) for row in _margins_of(e, result)]
    columns = ("result", "measure", Column("tolerance ±", "number"), "unit", "source")
    return tables("monitoring-margins", "Tolerances within which an importance counts as 0.", columns, rows)


def _margins_of(e: RunReader, result: Result) -> list[tuple[object, ...]]:
    margin = pd.to_numeric(optional(result.estimates, col.MARGIN))
    largest = margin.groupby(result.estimates[col.MEASURE].astype(str), sort=False).max().dropna()
    return [
        (name(result.id), e.words(str(m)).title, value, e.words(str(m)).unit, _source(e, result.explainer))
        for m, value in largest.items()
    ]


OBSERVATION, LOW = "observation", "low"
UNFOLDED = 5  # findings that a screen shows at once
SAME = 5  # statements of findings that share a block, beyond the first
NEWS = ("new", "worse", "better", "moved", "unchanged")


class FindingGroup:
    """Findings of one rule, severity and cause on different features; `id` is unique in the document.

    The main part states the first sentence of `brief` ones: of low severity, or consequences of another finding.
    """

    def __init__(self, members: Sequence[Finding], id: str, *, brief: bool) -> None:
        self.members, self.first, self.id, self.brief = members, members[0], id, brief
        self.features = list(dict.fromkeys(feature for finding in members for feature in finding.features))
        self.code = clean(self.first.code, 20)


def findings(e: RunReader) -> Section:
    """Return the register, a block for each finding above observation, the observations, and the waivers."""
    every = grouped(e.findings)
    noted = [group for group in every if group.first.severity == OBSERVATION]
    number = sum(len(group.members) for group in noted)
    codes = joined([*dict.fromkeys(group.code for group in noted)])
    also = f"{count(number, 'observation')}, for information: {codes}." if noted else ""
    level = f"In brackets: {100 * e.confidence:g}% CI, unless another level is stated." * bool(every)
    lead = paragraphs(spaced(nothing_open(e), "" if e.findings else ended(e), also, level))
    seen: dict[str, FindingGroup] = {}
    told = [_block(e, group, seen) for group in every if group not in noted]
    first, more = (tuple(chain.from_iterable(part)) for part in (told[:UNFOLDED], told[UNFOLDED:]))
    folded = (Fold(title=count(len(told) - UNFOLDED, "more finding"), blocks=more),) if more else ()
    return make_section("findings", "Findings", (*lead, *_register(e), *first, *folded), _waivers(e))


def nothing_open(e: RunReader) -> str:
    """Say that no finding is open; empty where one is, or where no check was run, which is no pass."""
    if e.findings or not e.run.outcomes:
        return ""
    waived = f" {count(len(e.waived), 'finding')} {'is' if len(e.waived) == 1 else 'are'} waived." if e.waived else ""
    return f"No finding is open.{waived}"


def grouped(findings: Sequence[Finding]) -> list[FindingGroup]:
    """Return findings in the order of the register, those that differ in their feature only as one group."""
    blocks: list[tuple[tuple[str, str, int], list[Finding]]] = []
    for finding, cause in by_cause(findings):
        key = (finding.code, finding.severity, id(cause))
        members = next((members for same, members in blocks if same == key and _differs(finding, members)), None)
        if members is None:
            blocks.append((key, members := []))
        members.append(finding)
    uses, every = Counter[str](), []
    for (_, severity, caused), members in blocks:
        code = clean(members[0].code, 20)
        uses[code] += 1
        anchor = f"finding-{code}" + (f"-{uses[code]}" if uses[code] > 1 else "")
        every.append(FindingGroup(members, anchor, brief=severity == LOW or caused != id(None)))
    return every


def _differs(finding: Finding, members: Iterable[Finding]) -> bool:
    """Say whether a finding has features, and others than these."""
    return bool(finding.features) and all(x.features and x.features != finding.features for x in members)


def _register(e: RunReader) -> tuple[Table, ...]:
    """Return a line for every open finding above observation, related findings nested."""
    causes = {id(finding): cause for finding, cause in by_cause(e.findings)}
    listed = [finding for finding in e.findings if finding.severity != OBSERVATION]
    sized = any(size_words(finding) or finding.affected for finding in listed)
    columns = ["finding", "severity", "feature", *["affected, size"] * sized, "owner, due"]
    rows = [
        (
            f"{clean(f.code, 20)} {clean(f.title)}" + _relation(f, causes[id(f)], e.findings),
            severity_badge(f.severity),
            about(f.features) if f.features else None,
            *[joined([*filter(None, (clean(f.affected), size_words(f)))])] * sized,
            _owner(e, f),
        )
        for f in listed
    ]
    order = ", by cause; the cause with the most severe consequence first" * (len(rows) > 1)
    caption = f"{count(len(rows), 'open finding')}{order}."
    return tables("findings-register", caption, columns, rows)


def _relation(finding: Finding, cause: Finding | None, every: Sequence[Finding]) -> str:
    """Name the finding that another one follows from, else those that it may be related to."""
    if cause is not None:
        return f" (follows from {clean(cause.code, 20)})"
    related = dict.fromkeys(clean(other.code, 20) for other in every if finding.may_be_explained_by(other))
    return f" (possibly related to {joined([*related])})" if related else ""


def _owner(e: RunReader, finding: Finding) -> Cell:
    """Return the owner with the due date, open where nobody was named."""
    owner, due = e.action(finding)
    if owner == OPEN:
        return Badge("open", "unknown")
    return f"{owner}, {due}" if due != ABSENT else str(owner)


def _block(e: RunReader, group: FindingGroup, seen: dict[str, FindingGroup]) -> tuple[Block, ...]:
    """Return a finding with its size, who is affected, its change since the last run, and the action.

    `seen` has the first findings with each action, to which later ones refer.
    """
    first = group.first
    news = dict.fromkeys(change for finding in group.members if (change := e.since(finding)) in NEWS)
    callout = Callout(
        tone=SEVERITY_TONES[first.severity],
        title=" · ".join((group.code, first.severity, *news, clean(first.title))),
        text=_statement(e, group),
        evidence=tuple(dict.fromkeys(source for finding in group.members for source in finding.evidence)),
        code=group.code,
        id=group.id,
    )
    return (callout, *_members(group), *paragraphs(_to_do(e, group, seen)))


def _statement(e: RunReader, group: FindingGroup) -> str:
    """Return the statement; of several the first, and the other features, whose numbers follow in a table."""
    first = group.first
    others = [feature for feature in group.features if feature not in first.features]
    also = f"The same applies to {joined(mentions(others))}." if others else ""
    told = first_sentence(first.statement, MAX_TEXT) if group.brief else sentence(first.statement, first.features)
    return spaced(_short(e, mentioned(told, first.features)), also)


def _short(e: RunReader, text: str) -> str:
    """Return a statement without the level of the intervals that the section states once."""
    return re.sub(rf"\({100 * e.confidence:g}%\sCI ", "(", text)


def _members(group: FindingGroup) -> tuple[Block, ...]:
    """Return the numbers of findings that share a block, a line each."""
    if len(group.members) == 1:
        return ()
    rows = [
        (about(f.features), observed_words(f), threshold_words(f), clean(f.affected), size_words(f))
        for f in group.members
    ]
    heads = ("feature", "observed (interval)", "limit", "affected", "size")
    filled = [k for k in range(len(heads)) if k < 3 or any(row[k] for row in rows)]
    cells = [[row[k] for k in filled] for row in rows]
    return (make_table(f"{group.id}-table", f"{group.code} by feature.", [heads[k] for k in filled], cells),)


def _to_do(e: RunReader, group: FindingGroup, seen: dict[str, FindingGroup]) -> str:
    """Return every action with its owner and due date, where these are stated."""
    remedies = " ".join(dict.fromkeys(sentence(finding.remedy) for finding in group.members if finding.remedy))
    before = seen.setdefault(remedies, group)
    what = f"as for {before.code} above." if remedies and before is not group else remedies
    actions = dict.fromkeys(action for finding in group.members if (action := e.action(finding))[0] != OPEN)
    owners = [f"{owner}{'' if due == ABSENT else f', due {due}'}" for owner, due in actions]
    does = f"Owner: {joined(owners)}." if owners else ""
    responses = dict.fromkeys(response for finding in group.members if (response := e.response(finding)))
    answer = f"Management response: {' '.join(map(sentence, responses))}" if responses else ""
    return spaced("Action:", what or "not stated.", does, answer)


def observations(e: RunReader) -> Section | None:
    """Return the observations, those of one rule as one block, and what the main part leaves out of statements."""
    every = grouped(e.findings)
    blocks: list[Block] = [
        Callout(
            tone=SEVERITY_TONES[OBSERVATION],
            title=f"{group.code} · {clean(group.first.title)}",
            text=_noted(e, group),
            code=group.code,
            id=group.id,
        )
        for group in every
        if group.first.severity == OBSERVATION
    ]
    blocks += bullets(
        f"{group.code}: {mentioned(sentence(f.statement, f.features), f.features)}"
        for group in every
        if group.first.severity != OBSERVATION
        for f in group.members[not group.brief : SAME + 1]
        if f is not group.first or first_sentence(f.statement, MAX_TEXT) != sentence(f.statement)
    )
    lead = paragraphs("Observations need no action. Findings of which section 1 states a part follow in full.")
    return make_section("observations", "Observations, and findings in full", (*lead, *blocks)) if blocks else None


def _noted(e: RunReader, group: FindingGroup) -> str:
    """Return the first sentence of each observation, and the features of those beyond the first few."""
    texts = [_short(e, mentioned(first_sentence(f.statement, MAX_TEXT), f.features)) for f in group.members[: SAME + 1]]
    beyond = list(dict.fromkeys(feature for f in group.members[SAME + 1 :] for feature in f.features))
    return " ".join([*texts, *([f"The same applies to {joined(mentions(beyond))}."] if beyond else [])])


def _waivers(e: RunReader) -> tuple[Section, ...]:
    """Return the waived findings and the state of each waiver; nothing where no waiver was given."""
    caption = (
        f"{count(len(e.waived), 'finding')} waived on {clean(e.run.as_of, 20)}, each accepted by an owner until a date."
    )
    heads = ("finding", "severity", "feature", "waiver", "state")
    blocks = tables("waivers-table", caption, heads, [*_waived(e), *_idle(e)])
    return (make_section("findings-waived", "Waived findings and waivers", blocks),) if blocks else ()


def _waived(e: RunReader) -> Iterator[tuple[Cell, ...]]:
    """Yield the findings under a waiver, with its owner, reason and expiry."""
    for waived in e.waived:
        finding, waiver = waived.finding, waived.waiver
        words = f"{name(waiver.owner)}, until {clean(waiver.expires, 20)}: {sentence(waiver.reason)}"
        title = f"{clean(finding.code, 20)} {clean(finding.title)}"
        yield title, severity_badge(finding.severity), about(finding.features), words, Badge("in force", "neutral")


def _idle(e: RunReader) -> Iterator[tuple[Cell, ...]]:
    """Yield the waivers of the settings that apply to no finding, and why."""
    active = {(x.waiver.code, x.waiver.feature, x.waiver.expires) for x in e.waived}
    for waiver in e.listed("waivers"):
        if (waiver.get("code"), waiver.get("feature") or "", waiver.get("expires")) not in active:
            until = f"{name(waiver.get('owner', ''))}, until {clean(waiver.get('expires', ''), 20)}"
            code, feature = clean(waiver.get("code", ""), 20), name(waiver.get("feature") or "all")
            yield code, "", feature, until, _idle_state(e, waiver)


def _idle_state(e: RunReader, waiver: Mapping[str, Any]) -> Badge:
    """Say why a waiver applies to no finding; dates compare as text, ``YYYY-MM-DD``."""
    code, feature = waiver.get("code"), waiver.get("feature")
    if e.run.as_of <= str(waiver.get("expires", "")):
        return Badge("no such finding", "neutral")
    again = [f for f in e.findings if f.code == code and (not feature or f.features == (feature,))]
    words = ["expired", *([f"{count(len(again), 'finding')} open again"] if again else [])]
    return Badge(joined(words), "warning")
