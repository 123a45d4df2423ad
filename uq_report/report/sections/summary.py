"""The first page: scope, the gate, what drives what, the worst findings, what is missing."""

from __future__ import annotations

from ...core.finding import SEVERITIES
from ...plots.frames import interval_words
from ..blocks import make_table
from ..document import Badge, Block, Bullets, Callout, Column, Facts, Paragraph, Section, Table
from ..evidence import Evidence, severity_badge
from ..questions import Answer, answers
from ..telling import agreement_words, ordered, ranks
from ..text import clean, count, joined, name, sentence, value_words

TOP = 10
SHARED = 3
WORST = 5


def summary(e: Evidence) -> Section:
    """Return the summary."""
    told = answers(e)
    blocks: list[Block] = [Paragraph(text=scope(e)), _gate(e), Facts(rows=_counts(e))]
    if told:
        blocks += [Paragraph(text=_agreement(told)), drivers_table(e, told, "summary-drivers")]
    blocks += [_findings(e)]
    return Section(id="summary", title="Summary", blocks=tuple(blocks))


def scope(e: Evidence) -> str:
    """Say in one sentence what was examined."""
    n, d = e.number("n"), e.number("d")
    rows = f"{count(n, 'row')} of {count(d, 'feature')}" if n is not None and d is not None else "the rows given"
    total = e.number("sampled_from")
    sampled = f", drawn at random from {total}" if total else ""
    truth = "" if e.run.subject.get("has_y") else " The outcomes of these rows were not given."
    return (
        f"This report examines “{e.fact('label')}” ({e.fact('model_class')}). Its {e.fact('family')} predictive "
        f"distribution was evaluated on {rows}{sampled}, as of {clean(e.run.as_of, 20)}.{truth}"
    )


def _gate(e: Evidence) -> Callout:
    text = e.gate.reason if e.gate.passed else f"{e.gate.reason} Explanations of uncertainty below carry this warning."
    return Callout(tone=e.gate.tone, title=f"Calibration gate: {e.gate.word}", text=text, evidence=("calibration",))


def _counts(e: Evidence) -> tuple[tuple[str, str | Badge], ...]:
    """Return the overall rating and the counts that must not be hidden."""
    outcomes = e.run.outcomes
    states = [(state, sum(o.state == state for o in outcomes)) for state in dict.fromkeys(o.state for o in outcomes)]
    told = joined([f"{number} {state.replace('_', ' ')}" for state, number in states]) or "no check was run"
    worst = e.findings[0].severity if e.findings else ""
    by_severity = [(s, sum(f.severity == s for f in e.findings)) for s in SEVERITIES]
    found = joined([f"{number} {severity}" for severity, number in by_severity if number]) or "none"
    nothing = Badge("no finding" if outcomes else "not assessed", "good" if outcomes else "unknown")
    gaps = sum(len(result.omissions) for result in e.run.results)
    missing = f"{count(len(e.run.not_run), 'part')} not run, {count(gaps, 'omission')} inside parts that ran"
    return (
        ("Worst open finding", severity_badge(worst) if worst else nothing),
        ("Findings", found),
        ("Checks", told),
        ("Not run", missing),
    )


def _agreement(told: list[Answer]) -> str:
    lead = "What drives a model's prediction, its loss and its uncertainty need not be the same."
    tops = [(a.heading, [str(f) for f in ordered(a.table)["feature"].head(SHARED)]) for a in told]
    return f"{lead} {agreement_words(tops)}".strip()


def drivers_table(e: Evidence, told: list[Answer], key: str, top: int = TOP) -> Table:
    """Return ranks and importances side by side, one pair of columns per question."""
    places = [ranks(answer.table) for answer in told]
    features = list(dict.fromkeys(f for place in places for f in place))
    features.sort(key=lambda f: (min(p.get(f, 10**6) for p in places), sum(p.get(f, 10**6) for p in places)))
    columns = [Column("feature")]
    for answer in told:
        columns += [Column("rank", "integer"), Column(answer.heading, "text", answer.said.unit)]
    rows = []
    for feature in features[:top]:
        cells: list[str | int | None] = [name(feature)]
        for answer, place in zip(told, places, strict=True):
            row = answer.table[answer.table["feature"] == feature]
            said = value_words(*row.iloc[0][["estimate", "lower", "upper"]]) if len(row) else None
            cells += [place.get(feature), said]
        rows.append(cells)
    return make_table(
        key,
        "What drives the prediction, the loss and the uncertainty, side by side.",
        columns,
        rows,
        evidence=told[-1].result.id,
        note=f"{_sources(told)} {e.group_words}".strip(),
    )


def _sources(told: list[Answer]) -> str:
    """Say which numbers these are, and which intervals stand in brackets."""
    parts = [
        f"{a.heading}: {a.method}{f', in brackets the {w}' if (w := interval_words(a.table)) else ''}" for a in told
    ]
    return f"{'. '.join(parts)}. Ranks of features whose intervals overlap may be exchanged in new data."


def _findings(e: Evidence) -> Block:
    if not e.findings:
        checked = bool(e.run.outcomes)
        return Paragraph(text="No check found anything." if checked else "No check was run, so nothing was looked for.")
    items = [f"{f.code} ({f.severity}) {sentence(f.title)} {sentence(f.statement)}" for f in e.findings[:WORST]]
    if len(e.findings) > WORST:
        items.append(f"{count(len(e.findings) - WORST, 'further finding')}: see the findings register.")
    return Bullets(items=tuple(items))
