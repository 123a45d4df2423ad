"""What the calibration explainer says of outcomes that may be censored: how many events there were and should be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import AnyArray
from ...core.distributions.lifetimes import Lifetimes
from ...core.numbers import number

_FAR = 3.0  # standard deviations between the events observed and those expected


class Events(NamedTuple):
    """How many events were seen up to the model's horizon, and how many it expects in the times observed."""

    seen: int
    expected: float


def events_of(q: Lifetimes, y: AnyArray) -> Events:
    """Return the events seen and those that the model expects: the sum of the rows' cumulative hazards.

    The variance of the difference is about the same sum (Aalen, Borgan & Gjessing 2008, section 2.2).
    """
    return Events(int((y["event"] & (y["time"] <= q.horizon)).sum()), float(q.cumulative_hazard(y["time"]).sum()))


def lifetimes_note(q: Lifetimes, y: AnyArray) -> str:
    """Return how outcomes were read, and whether the flags look like those of censored rows."""
    events, n = int(y["event"].sum()), len(y)
    within, expected = events_of(q, y)
    until = f", up to {number(q.horizon)}, where {within} were seen" if within < events else ""
    note = (
        f"{events} of {n} rows had an event and {n - events} were censored; the model expects {expected:.0f} in "
        f"the times observed{until}. The confidence gap compares the loss with what the model expects of it in that "
        "time; the PIT of a row censored at t is drawn between F(t) and 1. Both hold if censoring does not depend on "
        "the event's time, given the features."
    )
    reach = _FAR * max(expected, 1.0) ** 0.5
    if abs(within - expected) > reach and abs(n - events - expected) <= reach:
        note += f" If 1 stood for censored, the events would be {n - events}, which fits: check the sign of the flags."
    impossible = int(np.isneginf(q.log_prob(y)).sum())
    if impossible:
        note += (
            f" In {impossible} rows the event fell into a cell of the time axis without mass: fewer cells (n_cells or "
            "ends of the adapter) or, of trees, larger leaves avoid that."
        )
    return note
