"""What a reader must know to read permutation importance: the design, its limits, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.results import Omission
from .terms import Rows, Terms

REMEDY = "No row was dropped. Calibrate or smooth the model's probabilities"


def reader_notes(rows: Rows, n_shuffles: int, n_features: int, alpha: float) -> tuple[str, ...]:
    """Return the notes of the result ``pfi``."""
    notes = []
    if rows.exact:
        notes.append(
            "All n² pairs of rows were used, as n cyclic shifts, repeat 0 being the unchanged rows: no shuffling error."
        )
    reason = rows.why_no_interval(n_shuffles)
    notes.append(f"No interval: {reason}." if reason else "Intervals are for new test rows and this fixed model.")
    notes.append("The spread shows the shuffles only; it is no interval for the importance.")
    if not rows.exchangeable:
        notes.append("No permutation p-value: with weights or clusters, single rows are not exchangeable.")
    elif 1 / (n_shuffles + 1) > alpha + 1e-12:
        notes.append(_out_of_reach(n_shuffles, n_features, alpha))
    if any(measure.statistic for measure in rows.measures):
        notes.append("1 - AUC and the like are no mean over rows: a row counts by its influence on them.")
        if rows.exact:
            notes.append(
                "Their estimate is that of all pairs together; the mean of the repeats is within order 1/n of it."
            )
    return tuple(notes)


def _out_of_reach(n_shuffles: int, n_features: int, alpha: float) -> str:
    needed = math.ceil(1 / alpha - 1e-9) - 1
    return (
        f"{n_shuffles} shuffles give no p-value below {1 / (n_shuffles + 1):.2g}, so the test cannot reach the level "
        f"{alpha:.2g}: it needs {needed}, or {math.ceil(n_features / alpha - 1e-9) - 1} to adjust for all features."
    )


def infinite_values(rows: Rows, features: Sequence[str], terms: Sequence[Terms]) -> list[Omission]:
    """Return an omission for each measure, or measure and feature, with infinite values: how many, and the remedy."""
    omissions = []
    for m, measure in enumerate(rows.measures):
        remedy = f"{REMEDY}, or ask for the loss with an upper bound." if measure.name == "nll" else f"{REMEDY}."
        own = int((~np.isfinite(rows.b[m])).sum())
        if own:
            reason = f"it is infinite on {own} of {rows.n} rows before any shuffle. {remedy}"
            omissions.append(Omission(measure.name, "", reason))
            continue
        for feature, term in zip(features, terms, strict=True):
            count, hit = (int(number) for number in term.infinite[m])
            if count:
                reason = f"it is infinite for {count} shuffled values, in {hit} of {rows.n} rows. {remedy}"
                omissions.append(Omission(measure.name, feature, reason))
    return omissions
