"""The lecture on permutation importance, and the Modeva documentation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd

import uq_report as uq
from uq_report.distributions import Normal

from .claims import Experiment, Repetition, Settings


def worked_example(seed: int, settings: Settings) -> Repetition:
    """Three observations have six permutations: their mean, that of a few of them, and the difference of risks."""
    del settings
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.6, 0.1])

    def loss(values: np.ndarray) -> np.ndarray:
        return np.abs(0.3 * values + 0.2 - y)

    shuffled = np.array([loss(x[list(order)]) for order in permutations(range(3))])
    every = (shuffled - loss(x)).mean(axis=1)

    def model(rows: pd.DataFrame) -> Normal:
        return Normal(0.3 * rows["x"].to_numpy() + 0.2, np.ones(len(rows)))

    subject = uq.explain(model, pd.DataFrame({"x": x}), y)
    whole = uq.importance(subject, measures=["absolute_error"], n_repeats=3, seed=seed)
    some = uq.importance(subject, measures=["absolute_error"], n_repeats=5, exact=False, seed=seed)
    ours, before = whole.estimates[["estimate", "unpermuted"]].iloc[0].astype(float)
    drawn, mean = some.frame["value"].to_numpy(), float(some.estimates["estimate"].iloc[0])
    permuted = np.abs(drawn[:, None] - every).min(axis=1) < 1e-12
    hits = {
        "L2": bool(permuted.all() and len(drawn) == 5 and abs(mean - drawn.mean()) < 1e-12),
        "L3": abs(ours - every.mean()) < 1e-12,
        "L6": abs(ours - (shuffled.mean() - before)) < 1e-12,
    }
    facts = {
        "L2": f"The mean of {len(drawn)} permutations that were drawn is {drawn.mean():.6g}; the package gives {mean:.6g}.",
        "L3": f"The package gives {ours:.6g}; the mean over all six permutations is {every.mean():.6g}.",
        "L6": f"The risks are {before:.6g} before and {shuffled.mean():.6g} after; the package gives {ours:.6g}.",
    }
    return Repetition(hits, facts)


EXPERIMENTS = (Experiment("worked-example", "Lecture: the worked example", worked_example, ("L2", "L3", "L6"), 1, 1),)
