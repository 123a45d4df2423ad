"""What limits the numbers of this report: in front a line for each reason, behind every part that is missing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...core.support.text import count
from ...document.blocks import bullets, make_section, paragraphs, tables
from ...document.document import Block, Bullets, Section
from ...document.text import clean, items, joined, mentions, name, sentence
from ...reading.run_reader import RunReader
from ..rating import NO_VERDICT

INPUT_MISSING = "must be given"  # in the reason of a part that lacks an input
ALWAYS = (
    "The model is taken as it is: no interval covers fitting it to other rows.",
    "The audited rows are taken to stand for the population the model is used on, which nothing here tests.",
    "Importances and curves describe the model, not causes in the world.",
    "Causes, security, the code that serves the model and its cost were not examined.",
)
MOST = 12
UNAVAILABLE = "not available"


def limitations(e: RunReader) -> Section:
    """Return what this run lacks, what did not run or gave no verdict, and what no run can tell."""
    # which inputs are lacking is said by itself
    ended = [text for text in (*_not_run(e), *_no_verdict(e)) if INPUT_MISSING not in text]
    here, room = [*_assumed(e), *_dependent(e), *_lacking(e), *ended, *_about_data(e)], MOST - len(ALWAYS)
    if len(here) > room:
        more = f"{count(len(here) - room + 1, 'further limit')} of this run: see the appendix in full."
        here = [*here[: room - 1], more]
    return make_section("limitations", "Limits", (Bullets(items=(*here, *ALWAYS)),))


def _assumed(e: RunReader) -> Iterator[str]:
    """Yield what it means that a distribution was laid over the predictions."""
    assumption = e.subject.assumption
    if assumption is None:
        return
    same = assumption.scale == "constant" and not assumption.members_share
    more = " Its spread is the same in every row: where the model is less sure cannot be seen." if same else ""
    yield (
        "The stated uncertainty is an assumption of this audit (see the answer), not of the model; calibration is its "
        f"only test.{more}"
    )


def _not_run(e: RunReader) -> list[str]:
    """Return a sentence for each reason why parts did not run."""
    shared = _by_reason((entry.reason, name(entry.name)) for entry in e.run.not_run)
    return [f"Not run: {joined(names, 12)}. {sentence(reason)}" for reason, names in shared.items()]


def _no_verdict(e: RunReader) -> list[str]:
    """Return a sentence for each reason why checks gave no verdict."""
    ended = [outcome for outcome in e.run.outcomes if outcome.state in NO_VERDICT]
    partly = [name(o.title or o.check) for o in ended if o.undecided]
    shared = _by_reason((o.reason, name(o.title or o.check)) for o in ended if not o.undecided)
    return [
        *([f"No verdict on every rule of these checks: {joined(partly, 12)}."] if partly else []),
        *(f"No verdict: {joined(names, 12)}. {sentence(reason)}" for reason, names in shared.items()),
    ]


def _by_reason(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return what shares a reason."""
    shared: dict[str, list[str]] = {}
    for reason, about in pairs:
        shared.setdefault(clean(reason), []).append(about)
    return shared


def _dependent(e: RunReader) -> Iterator[str]:
    """Yield what intervals cover where rows depend on each other in order of time."""
    if e.subject.block_length is not None and e.subject.clusters:
        blocks, length = count(e.subject.clusters, "block"), count(e.subject.block_length, "successive row")
        yield (
            f"Rows depend on each other in order of time: intervals are over {blocks} of about {length} (length "
            f"{e.subject.block_rule}). They do not cover a trend, or a season longer than a block."
        )


def _lacking(e: RunReader) -> Iterator[str]:
    """Yield what was not given, and what that leaves open."""
    about = e.subject
    if not about.has_y:
        yield "No outcomes were given: scores, calibration and everything about the loss were not examined."
    if not about.has_train:
        yield "No training rows were given: over-fitting, support and rows seen in training were not examined."
    optional = (
        (about.clusters, "clusters (rows are taken as independent; if they are not, intervals are too narrow)"),
        (about.protected, "protected attributes (nothing was examined by group)"),
        (e.run.changes is not None, "a previous run (nothing is known about change over time)"),
    )
    absent = [text for present, text in optional if not present]
    if absent:
        yield f"Not given: {joined(absent)}."
    if UNAVAILABLE in about.hashes.get("model", UNAVAILABLE):
        yield "The model has no file hash: this report cannot be tied to the bytes of a deployed model."


def _about_data(e: RunReader) -> Iterator[str]:
    total, n = e.subject.sampled_from, e.subject.n
    if total and n:
        error = 50 * math.sqrt((total - n) / (n * max(total - 1, 1)))  # a share of one half
        yield (
            f"{n} of {total} rows were drawn at random; the others were not looked at. A share of rows stated here has "
            f"a sampling error (standard error, for all {total} rows) of at most {math.ceil(10 * error) / 10:g} "
            "percentage points."
        )
    missing = mentions(f.name for f in e.subject.features if f.missing)
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        yield f"{joined(missing)} {verb} missing values; how the model fills them is part of what is explained."
    constant = mentions(f.name for f in e.subject.features if f.constant)
    if constant:
        yield f"{joined(constant)} did not vary on these rows, so nothing can be said about them."
    gaps = {clean(gap.reason) for result in e.run.results for gap in result.omissions}
    if gaps:
        yield f"Parts of methods were left out for {count(len(gaps), 'reason')}, listed in the full appendix."


def limits_of_methods(e: RunReader) -> Section:
    """Return how each method in use fails, from its card."""
    cards = (method.card for method in e.methods_in_use)
    blocks: tuple[Block, ...] = bullets(f"{clean(card.title)}: {clean(card.fails)}" for card in cards if card.fails)
    blocks = blocks or paragraphs("They were not recorded." if e.results else "No method was in use.")
    return make_section("limitations-methods", "Limits of the methods in use", blocks)


def omissions(e: RunReader) -> Section:
    """Return everything a reader might look for and not find, each with its reason."""
    parts = [(clean(x.group).removeprefix("uq_report."), name(x.name), sentence(x.reason)) for x in e.run.not_run]
    open_ = [o for o in e.run.outcomes if o.state not in ("found", "passed")]
    checks = [(name(o.check), o.state.replace("_", " "), sentence(o.reason)) for o in open_]
    heads = ("group", "name", "reason")
    blocks: tuple[Block, ...] = (
        *paragraphs("A part that is missing here was neither passed nor failed."),
        *paragraphs("" if parts else "Every explainer and check that was asked for ran."),
        *tables("not-run-table", "Explainers and checks that did not run.", heads, parts),
        *_left_out(e),
        *tables("not-run-checks", "Checks that reached no verdict.", ("check", "state", "reason"), checks),
    )
    return make_section("not-run", "What was not run, and why", blocks)


def _left_out(e: RunReader) -> tuple[Block, ...]:
    """Return every omission once, with the results, measures and features that share its reason."""
    gaps = [(result.id, gap.measure, gap.feature, gap.reason) for result in e.run.results for gap in result.omissions]
    if not gaps:
        return paragraphs("No part that ran left anything out.")
    rows: Sequence[tuple[Any, ...]] = gaps
    for place in (0, 2, 1):
        rows = _merged(rows, place)
    cells = [
        (joined(items(results)), _names(measures), _names(features), sentence(reason))
        for results, measures, features, reason in rows
    ]
    caption = f"Left out inside parts that ran: {count(len(cells), 'entry', 'entries')}."
    return tables("not-run-omissions", caption, ("result", "measure", "feature", "reason"), cells)


def _merged(rows: Iterable[tuple[Any, ...]], place: int) -> list[tuple[Any, ...]]:
    """Return rows that differ in one place only as one row, with all that they have there."""
    shared: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        shared.setdefault((*row[:place], *row[place + 1 :]), []).append(row[place])
    return [(*key[:place], tuple(dict.fromkeys(values)), *key[place:]) for key, values in shared.items()]


def _names(values: Iterable[str]) -> str:
    return joined([name(value) if value else "all" for value in values], 12)
