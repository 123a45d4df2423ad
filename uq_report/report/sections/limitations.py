"""What limits the numbers of this report, and what was not tested."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...core.text import count
from ...document.document import Block, Bullets, Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import clean, items, joined
from .missing import not_run

TITLE = "Limitations and what was not tested"
ALWAYS = (
    "The model is taken as it is: no interval covers fitting it to other rows.",
    "The audited rows are taken to stand for the population the model is used on; nothing here tests that.",
    "Importances and curves describe the model. They are no causes in the world.",
    "Causal questions, security, robustness to attacks, the code that serves the model and its cost were not examined.",
)
UNAVAILABLE = "not available"


def limitations(e: Evidence) -> Section:
    """Return the limits of the run, of every method in use, and all that was not run."""
    here = [*_triggered(e)]
    blocks: list[Block] = [Paragraph(text="Limits of every run of this package:"), Bullets(items=ALWAYS)]
    blocks += [Paragraph(text="Limits of this run:"), Bullets(items=tuple(here))] if here else []
    methods = Section(id="limitations-methods", title="Limits of the methods in use", blocks=_methods(e))
    return Section(
        id="limitations",
        title=TITLE,
        blocks=tuple(blocks),
        sections=(methods, not_run(e)),
    )


def _triggered(e: Evidence) -> Iterator[str]:
    """Yield what this run lacks or warns of."""
    about = e.subject
    if not about.has_y:
        yield "No outcomes were given: scores, calibration and everything about the loss were not examined."
    if not about.has_train:
        yield "No training rows were given: over-fitting, support and rows seen in training were not examined."
    if not about.clusters:
        yield "No clusters were named: rows are taken as independent. If they are not, intervals are too narrow."
    if not about.protected:
        yield "No protected attribute was named: nothing was examined by group."
    if not e.gate.passed:
        yield f"Calibration gate: {e.gate.word}. Explanations of uncertainty tell what the model says of itself."
    if e.run.changes is None:
        yield "No previous run was given: nothing is known about change over time."
    if UNAVAILABLE in about.hashes.get("model", UNAVAILABLE):
        yield "The model has no file hash: this report cannot be tied to the bytes of a deployed model."
    yield from _about_data(e)


def _about_data(e: Evidence) -> Iterator[str]:
    total, n = e.subject.sampled_from, e.subject.n
    if total and n:
        error = 50 * math.sqrt((total - n) / (n * max(total - 1, 1)))  # a share of one half
        yield (
            f"{n} of {total} rows were drawn at random; the others were not looked at. A share of rows stated here has "
            f"a sampling error (standard error, for all {total} rows) of at most {math.ceil(10 * error) / 10:g} "
            "percentage points."
        )
    missing = [f.name for f in e.subject.features if f.missing]
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        yield f"{joined(items(missing))} {verb} missing values; how the model fills them is part of what is explained."
    constant = [f.name for f in e.subject.features if f.constant]
    if constant:
        yield f"{joined(items(constant))} did not vary on these rows, so nothing can be said about them."
    gaps = sum(len(result.omissions) for result in e.run.results)
    if gaps:
        yield f"{count(gaps, 'part')} of results that ran were left out, each for a stated reason (listed below)."


def _methods(e: Evidence) -> tuple[Block, ...]:
    """Return how each method in use fails, from its card."""
    cards = (method.card for method in e.methods_in_use)
    words = tuple(f"{clean(card.title)}: {clean(card.fails)}" for card in cards if card.fails)
    if words:
        return (Bullets(items=words),)
    return (Paragraph(text="They were not recorded." if e.results else "No method was in use."),)
