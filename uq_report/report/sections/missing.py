"""What was not run, left out or not judged, each with its reason: in front a line for each reason, behind in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...core.text import count
from ...document.blocks import make_table
from ...document.document import Block, Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import clean, items, joined, name, sentence
from ...rules.reading import UNDECIDED
from ..rating import NO_VERDICT


def unrun(e: Evidence) -> list[str]:
    """Return a sentence for each reason why parts did not run."""
    shared = _by_reason((entry.reason, name(entry.name)) for entry in e.run.not_run)
    return [f"Not run: {joined(names, 12)}. {sentence(reason)}" for reason, names in shared.items()]


def no_verdict(e: Evidence) -> list[str]:
    """Return a sentence for each reason why checks gave no verdict."""
    ended = [outcome for outcome in e.run.outcomes if outcome.state in NO_VERDICT]
    open_ = [name(o.title or o.check) for o in ended if clean(o.reason).startswith(UNDECIDED)]
    told = [f"No verdict on every rule of these checks: {joined(open_, 12)}."] if open_ else []
    others = ((o.reason, name(o.title or o.check)) for o in ended if not clean(o.reason).startswith(UNDECIDED))
    return [*told, *(f"No verdict: {joined(names, 12)}. {sentence(why)}" for why, names in _by_reason(others).items())]


def _by_reason(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return what shares a reason."""
    shared: dict[str, list[str]] = {}
    for reason, about in pairs:
        shared.setdefault(clean(reason), []).append(about)
    return shared


def omissions(e: Evidence) -> Section:
    """Return everything a reader might look for and not find, each with its reason."""
    blocks: list[Block] = [Paragraph(text="A part that is missing here was neither passed nor failed.")]
    blocks += [*_parts(e), *_omissions(e), *_checks(e)]
    return Section(id="not-run", title="What was not run, and why", blocks=tuple(blocks))


def _parts(e: Evidence) -> list[Block]:
    if not e.run.not_run:
        return [Paragraph(text="Every explainer and check that was asked for ran.")]
    rows = [
        (clean(entry.group).removeprefix("uq_report."), name(entry.name), sentence(entry.reason))
        for entry in e.run.not_run
    ]
    return [make_table("not-run-table", "Explainers and checks that did not run.", ("group", "name", "reason"), rows)]


def _omissions(e: Evidence) -> list[Block]:
    """Return every omission once, with the results, measures and features that share its reason."""
    sources: dict[tuple[str, str, str], list[str]] = {}
    for result in e.run.results:
        for gap in result.omissions:
            sources.setdefault((gap.measure, gap.feature, gap.reason), []).append(result.id)
    if not sources:
        return [Paragraph(text="No part that ran left anything out.")]
    by_feature: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (measure, feature, reason), results in sources.items():
        by_feature.setdefault((measure, reason, tuple(dict.fromkeys(results))), []).append(feature)
    by_measure: dict[tuple[tuple[str, ...], str, tuple[str, ...]], list[str]] = {}
    for (measure, reason, shared), features in by_feature.items():
        by_measure.setdefault((tuple(features), reason, shared), []).append(measure)
    rows = [
        (joined(items(shared)), _names(measures), _names(features), sentence(reason))
        for (features, reason, shared), measures in by_measure.items()
    ]
    columns = ("result", "measure", "feature", "reason")
    caption = f"Left out inside parts that ran: {count(len(rows), 'entry', 'entries')}."
    return [make_table("not-run-omissions", caption, columns, rows)]


def _names(values: Sequence[str]) -> str:
    return joined([name(value) if value else "all" for value in values], 12)


def _checks(e: Evidence) -> list[Block]:
    rows = [
        (name(o.check), o.state.replace("_", " "), sentence(o.reason))
        for o in e.run.outcomes
        if o.state not in ("found", "passed")
    ]
    if not rows:
        return []
    return [make_table("not-run-checks", "Checks that reached no verdict.", ("check", "state", "reason"), rows)]
