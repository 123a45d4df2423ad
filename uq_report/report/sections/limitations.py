"""Limitations of the model, the data and the audit, and the faults that this audit would have detected."""

import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from ...checks.reading import measure_words
from ...core.support.text import count
from ...document.blocks import bullets, make_section, paragraphs, tables
from ...document.document import Block, Bullets, Section
from ...document.text import clean, items, joined, mentions, name, sentence
from ...evidence.view import by_key
from ...reading.rating import NO_VERDICT
from ...reading.run_reader import RunReader

INPUT_MISSING = "must be given"  # in the reason of a part that lacks an input
ALWAYS = (
    "The fitted model is taken as given: no interval covers refitting it to other training data.",
    "The test sample is assumed to represent the population of use; this is not tested.",
    "Importances and curves describe the model, not causal effects.",
    "A leak through time is not distinguishable from a strong feature.",
    "Security, the code that serves the model and its costs were not assessed.",
)
MOST = 12
UNAVAILABLE = "not available"


def limitations(e: RunReader) -> Section:
    """Return what this run lacks, and what did not run or reached no verdict."""
    # missing inputs have sentences of their own
    ended = [text for text in (*_not_run(e), *_no_verdict(e)) if INPUT_MISSING not in text]
    here = [*_assumed(e), *_dependent(e), *_lacking(e), *_infinite(e), *ended, *_about_data(e)]
    room = MOST - len(ALWAYS)
    if len(here) > room:
        more = f"{count(len(here) - room + 1, 'further limitation')} of this run: see the full appendix."
        here = [*here[: room - 1], more]
    return make_section("limitations", "Limitations", (Bullets(items=(*here, *ALWAYS)),))


CLASSES, NUMBERS, ANY = "classes", "numbers", ""  # outcomes that a fault concerns
POWER = 0.8  # the share of audits that counts as detection


class DetectableFault(NamedTuple):
    """A kind of fault, the outcomes it concerns, the rule that finds it, and the share of audits in which it did by n.

    Examples
    --------
    >>> fault = DetectableFault("mean wrong in a segment", ANY, "UQ123", {400: 0.1, 800: 0.7, 1500: 0.95})
    >>> fault.power(1000), fault.power(399), fault.n_detected
    (0.7, None, 1500)
    """

    fault: str
    outcomes: str
    code: str
    powers: Mapping[int, float]

    def power(self, n: float) -> float | None:
        """Return the share measured at the largest size up to `n`; None below the smallest one."""
        return self.powers[max(sizes)] if (sizes := [size for size in self.powers if size <= n]) else None

    @property
    def n_detected(self) -> int | None:
        """The smallest measured size from which on the fault is detected; None where it is not."""
        sizes = sorted(self.powers)
        return next((n for k, n in enumerate(sizes) if all(self.powers[m] >= POWER for m in sizes[k:])), None)


@cache
def faults() -> tuple[DetectableFault, ...]:
    """Return the kinds of fault whose detection was measured."""
    content = tomllib.loads(resources.files("uq_report.report").joinpath("faults.toml").read_text(encoding="utf-8"))
    return tuple(
        DetectableFault(**{**fault, "powers": {int(n): share for n, share in fault["powers"].items()}})
        for fault in content["fault"]
    )


# faults of 0.01 to 0.05 nats, detected late or not at all in planted designs
NOT_DETECTED = (
    "another unit in half of the observations; two exchanged columns with a correlation near 0.5; exchanged "
    "categories; clipped probabilities"
)


def detectable(e: RunReader) -> Section | None:
    """Return the kinds of fault with the share of audits that detect them at this size, as far as it was measured."""
    about = e.subject
    if about.n is None or not about.has_y:
        return None
    kind, units = CLASSES if about.classes is not None else NUMBERS, min(about.n, about.clusters or about.n)
    rows = [
        (fault.fault, _share_detected(e, fault, units), fault.n_detected or f"above {max(fault.powers)}")
        for fault in faults()
        if fault.outcomes in (ANY, kind)
    ]
    what = "n" if units == about.n else "clusters"
    columns = ("fault", f"audits that detect it, {what} = {units}", f"n for {100 * POWER:.0f}%")
    note = (
        "Shares of simulated audits with independent observations, at the largest simulated size up to that of this "
        f"audit; weights and dependence lower them. Not reliably detected at any size: {NOT_DETECTED}."
    )
    caption = "Detectable faults: a fault that is not reported may be present where detection is unlikely."
    blocks = tables("limitations-detectable", caption, columns, rows, note=note)
    return make_section("detectable", "Faults that this audit would detect", blocks) if blocks else None


def _share_detected(e: RunReader, fault: DetectableFault, n: int) -> str:
    """Return the share of audits that detect a fault; nothing is claimed for a rule that was not applied."""
    applied = any(
        rule.code == fault.code and outcome.state not in NO_VERDICT and fault.code not in outcome.undecided
        for outcome in e.run.outcomes
        for rule in outcome.rules
    )
    if not applied:
        return "not assessed"
    power = fault.power(n)
    return f"not measured below n = {min(fault.powers)}" if power is None else f"{100 * power:.0f}%"


def _assumed(e: RunReader) -> Iterator[str]:
    """Yield the consequence of a distribution assumed for the predictions."""
    assumption = e.subject.assumption
    if assumption is None:
        return
    same = assumption.scale == "constant" and not assumption.members_share
    more = " Its spread is the same for every observation: differences in uncertainty are not visible." if same else ""
    yield (
        "The predictive uncertainty is an assumption of this audit (see the conclusion), not an output of the model; "
        f"calibration is its only test.{more}"
    )


def _not_run(e: RunReader) -> list[str]:
    """Return a sentence for each reason why methods or checks did not run."""
    shared = by_key((clean(entry.reason), name(entry.name)) for entry in e.run.not_run)
    return [f"Not run: {joined(names, 12)}. {sentence(reason)}" for reason, names in shared.items()]


def _no_verdict(e: RunReader) -> list[str]:
    """Return a sentence for each reason why checks reached no verdict."""
    ended = [outcome for outcome in e.run.outcomes if outcome.state in NO_VERDICT]
    partly = [name(o.title or o.check) for o in ended if o.undecided]
    shared = by_key((clean(o.reason), name(o.title or o.check)) for o in ended if not o.undecided)
    return [
        *([f"Checks without a verdict on some of their rules: {joined(partly, 12)}."] if partly else []),
        *(f"No verdict: {joined(names, 12)}. {sentence(reason)}" for reason, names in shared.items()),
    ]


def _dependent(e: RunReader) -> Iterator[str]:
    """Yield the coverage of intervals for serially dependent observations."""
    if e.subject.block_length is not None and e.subject.clusters:
        blocks, length = count(e.subject.clusters, "block"), count(e.subject.block_length, "successive observation")
        yield (
            f"Observations are serially dependent: intervals are over {blocks} of about {length} (length "
            f"{e.subject.block_rule}). They do not cover a trend, or a season longer than a block."
        )


def _lacking(e: RunReader) -> Iterator[str]:
    """Yield the inputs that were not given, and the consequence."""
    about = e.subject
    if not about.has_y:
        yield "No outcomes were given: performance, calibration and importance for the loss were not assessed."
    if not about.has_train:
        yield "No training sample was given: over-fitting, the training domain and overlap were not assessed."
    optional = (
        (about.clusters, "clusters (if observations are not independent, intervals are too narrow)"),
        (about.protected, "protected attributes (groups were not assessed)"),
        (e.run.changes is not None, "a previous run (change over time was not assessed)"),
    )
    absent = [text for present, text in optional if not present]
    if absent:
        yield f"Not given: {joined(absent)}."
    if UNAVAILABLE in about.hashes.get("model", UNAVAILABLE):
        yield "The model has no file hash: this report cannot be linked to the file of a deployed model."


def _infinite(e: RunReader) -> Iterator[str]:
    """Yield the measures whose results are left out because a value is infinite."""
    gaps = [gap for result in e.run.results for gap in result.omissions if "infinite" in gap.reason and gap.measure]
    if gaps:
        measures = joined(list(dict.fromkeys(measure_words(gap.measure) for gap in gaps)), MOST)
        yield f"Results for {measures} are left out where a value is infinite; no observation was dropped."


def _about_data(e: RunReader) -> Iterator[str]:
    total, n = e.subject.sampled_from, e.subject.n
    if total and n:
        error = 50 * math.sqrt((total - n) / (n * max(total - 1, 1)))  # a share of one half
        yield (
            f"{n} of {total} observations were drawn at random. A share of observations has a sampling error (standard "
            f"error, for all {total}) of at most {math.ceil(10 * error) / 10:g} percentage points."
        )
    missing = mentions(f.name for f in e.subject.features if f.missing)
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        yield f"{joined(missing)} {verb} missing values; their imputation by the model is part of the explanation."
    constant = mentions(f.name for f in e.subject.features if f.constant)
    if constant:
        yield f"{joined(constant)} did not vary in the test sample and could not be assessed."
    gaps = {clean(gap.reason) for result in e.run.results for gap in result.omissions}
    if gaps:
        yield f"Parts of methods were omitted for {count(len(gaps), 'reason')} (full appendix)."


def limits_of_methods(e: RunReader) -> Section:
    """Return the failure modes of each method in use, from its card."""
    cards = (method.card for method in e.methods_in_use)
    blocks: tuple[Block, ...] = bullets(f"{clean(card.title)}: {clean(card.fails)}" for card in cards if card.fails)
    blocks = blocks or paragraphs("They were not recorded." if e.results else "No method was in use.")
    return make_section("limitations-methods", "Limitations of the methods in use", blocks)


def omissions(e: RunReader) -> Section:
    """Return everything that is missing in this run, each with its reason."""
    parts = [(clean(x.group).removeprefix("uq_report."), name(x.name), sentence(x.reason)) for x in e.run.not_run]
    open_ = [o for o in e.run.outcomes if o.state not in ("found", "passed")]
    checks = [(name(o.check), o.state.replace("_", " "), sentence(o.reason)) for o in open_]
    heads = ("group", "name", "reason")
    every = "" if parts else "Every requested explainer and check ran."
    blocks: tuple[Block, ...] = (
        *paragraphs("What did not run neither passed nor failed.", every),
        *tables("not-run-table", "Explainers and checks that did not run.", heads, parts),
        *_left_out(e),
        *tables("not-run-checks", "Checks that reached no verdict.", ("check", "state", "reason"), checks),
    )
    return make_section("not-run", "Not run, with reasons", blocks)


def _left_out(e: RunReader) -> tuple[Block, ...]:
    """Return every omission once, with the results, measures and features that share its reason."""
    gaps = [(result.id, gap.measure, gap.feature, gap.reason) for result in e.run.results for gap in result.omissions]
    if not gaps:
        return paragraphs("No method that ran omitted a part.")
    rows: Sequence[tuple[Any, ...]] = gaps
    for place in (0, 2, 1):
        rows = _merged(rows, place)
    cells = [
        (joined(items(results)), _names(measures), _names(features), sentence(reason))
        for results, measures, features, reason in rows
    ]
    caption = f"Omitted by methods that ran: {count(len(cells), 'entry', 'entries')}."
    return tables("not-run-omissions", caption, ("result", "measure", "feature", "reason"), cells)


def _merged(rows: Iterable[tuple[Any, ...]], place: int) -> list[tuple[Any, ...]]:
    """Return rows that differ in one place only as one row, with all values of that place."""
    shared = by_key(((*row[:place], *row[place + 1 :]), row[place]) for row in rows)
    return [(*key[:place], tuple(dict.fromkeys(values)), *key[place:]) for key, values in shared.items()]


def _names(values: Iterable[str]) -> str:
    return joined([name(value) if value else "all" for value in values], 12)
