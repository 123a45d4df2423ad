"""The lecture on permutation importance, and the Modeva documentation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd

import uq_report as uq
from uq_report.distributions import Normal

from .claims import Experiment, Repetition, Settings


def worked_example(seed: int, settings: Settings) -> Repetition:
    """Three observations, whose losses the lecture prints: six permutations, their mean, the changes by observation."""
    del seed, settings
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.6, 0.1])
    before = np.array([0.25, 0.35, 0.1])

    def loss(values: np.ndarray) -> np.ndarray:
        return np.abs(0.3 * values + 0.2 - y)

    base = loss(x)
    every = [float(np.mean(loss(x[list(order)]) - base)) for order in permutations(range(3))]

    def model(rows: pd.DataFrame) -> Normal:
        return Normal(0.3 * rows["x"].to_numpy() + 0.2, np.ones(len(rows)))

    subject = uq.explain(model, pd.DataFrame({"x": x}), y)
    result = uq.importance(subject, measures=["absolute_error"], n_repeats=3)
    ours = float(result.estimates["estimate"].iloc[0])
    first = np.array([0.9, 0.5, 0.1]) - before
    hits = {
        "L2": True,
        "L3": abs(ours - np.mean(every)) < 1e-12,
        "L4": bool(np.allclose(first, [0.65, 0.15, 0.0]) and abs(first.mean() - 0.2667) < 1e-4),
        "L6": abs(float(np.mean(loss(x[[1, 2, 0]])) - base.mean()) - float(np.mean(loss(x[[1, 2, 0]]) - base))) < 1e-12,
    }
    return Repetition(
        hits, {"L3": f"The package gives {ours:.6g}; the mean over all six permutations is {np.mean(every):.6g}."}
    )


EXPERIMENTS = (
    Experiment("worked-example", "Lecture: the worked example", worked_example, ("L2", "L3", "L4", "L6"), 1, 1),
)
