"""What limits the numbers of this report, and what was not tested: each once, in at most a dozen lines."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...core.text import count
from ...document.document import Bullets, Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import clean, joined, mentions
from .missing import no_verdict, unrun

TITLE = "Limits"
NOT_GIVEN = "must be given"  # in the reason of a part that lacks an input
ALWAYS = (
    "The model is taken as it is: no interval covers fitting it to other rows.",
    "The audited rows are taken to stand for the population the model is used on, which nothing here tests.",
    "Importances and curves describe the model, not causes in the world.",
    "Causes, security, the code that serves the model and its cost were not examined.",
)
MOST = 12
UNAVAILABLE = "not available"


def limitations(e: Evidence) -> Section:
    """Return what this run lacks, what did not run or gave no verdict, and what no run can tell."""
    ended = [text for text in (*unrun(e), *no_verdict(e)) if NOT_GIVEN not in text]  # which inputs are lacking is said
    here = [*_lacking(e), *ended, *_about_data(e)]
    room = MOST - len(ALWAYS)
    if len(here) > room:
        here = [
            *here[: room - 1],
            f"{count(len(here) - room + 1, 'further limit')} of this run: see the annex in full.",
        ]
    return Section(id="limitations", title=TITLE, blocks=(Bullets(items=(*here, *ALWAYS)),))


def _lacking(e: Evidence) -> Iterator[str]:
    """Yield what was not given, and what that leaves open."""
    about = e.subject
    if not about.has_y:
        yield "No outcomes were given: scores, calibration and everything about the loss were not examined."
    if not about.has_train:
        yield "No training rows were given: over-fitting, support and rows seen in training were not examined."
    absent = [
        text
        for given, text in (
            (about.clusters, "clusters (rows are taken as independent; if they are not, intervals are too narrow)"),
            (about.protected, "protected attributes (nothing was examined by group)"),
            (e.run.changes is not None, "a previous run (nothing is known about change over time)"),
        )
        if not given
    ]
    if absent:
        yield f"Not given: {joined(absent)}."
    if UNAVAILABLE in about.hashes.get("model", UNAVAILABLE):
        yield "The model has no file hash: this report cannot be tied to the bytes of a deployed model."


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
        named = joined(mentions(missing))
        yield f"{named} {verb} missing values; how the model fills them is part of what is explained."
    constant = [f.name for f in e.subject.features if f.constant]
    if constant:
        yield f"{joined(mentions(constant))} did not vary on these rows, so nothing can be said about them."
    gaps = {clean(gap.reason) for result in e.run.results for gap in result.omissions}
    if gaps:
        yield f"Parts of methods were left out for {count(len(gaps), 'reason')}, listed in the full annex."


def limits_of_methods(e: Evidence) -> Section:
    """Return how each method in use fails, from its card."""
    cards = (method.card for method in e.methods_in_use)
    words = tuple(f"{clean(card.title)}: {clean(card.fails)}" for card in cards if card.fails)
    absent = Paragraph(text="They were not recorded." if e.results else "No method was in use.")
    blocks = (Bullets(items=words),) if words else (absent,)
    return Section(id="limitations-methods", title="Limits of the methods in use", blocks=blocks)
