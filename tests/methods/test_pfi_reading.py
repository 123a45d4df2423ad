"""The reading of log loss and stated uncertainty, from verdicts and the paired difference."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.measures import ENTROPY, NLL
from uq_report.distributions import Categorical
from uq_report.evidence.importance import (
    ALIKE,
    BETTER,
    BOLD,
    CAREFUL,
    CONFIDENT,
    HARMLESS,
    HIDDEN,
    INCONCLUSIVE,
    LESS,
    MORE,
    OPEN_RISE,
    PfiReading,
    ReadingLine,
)
from uq_report.methods.pfi.estimator import Estimator
from uq_report.methods.pfi.tables import ShuffleTables, read_pair
from uq_report.methods.shared.terms import ImportanceTerms, ShuffledRows

from .pfi_cases import explained, subject

N = 100


def read(E: str, L: str, gap: float = 0.0, error: float = 0.001) -> ReadingLine:
    """Return the line of feature x with these two verdicts, and L - E with its standard error; the margin is 0.01."""
    rows = ShuffledRows((ENTROPY, NLL), np.zeros((2, N)), np.zeros(N), np.ones(N), None)
    terms = np.stack([np.full(N, 0.5), 0.5 + gap + error * np.sqrt(N - 1) * np.tile([-1.0, 1.0], N // 2)])
    value, empty = terms.mean(axis=1), np.zeros((2, N))
    none: Any = np.zeros(2)
    zero = np.zeros(2, dtype=bool)
    infinite = np.zeros((2, 2), dtype=int)
    term = ImportanceTerms(empty, value, none, none, terms, empty, zero, none, infinite, none, none, exact=False)
    estimates = pd.DataFrame(
        {"measure": ["entropy", "nll"], "feature": "x", "estimate": value, "std_error": 0.1, "verdict": [E, L]}
    )
    margins = {"entropy": 0.01, "nll": 0.01}
    result = read_pair(ShuffleTables(Estimator(rows, margins, 0.95, 0.1), ["x"], [term], {}, ()), estimates)
    assert result is not None
    (line,) = PfiReading.from_result(result).lines
    assert (line.measure, line.feature) == ("nll", "x")
    assert line.estimate == pytest.approx(gap, abs=1e-12)
    assert line.std_error == pytest.approx(error)
    assert line.lower < gap < line.upper
    return line


@pytest.mark.parametrize(
    ("E", "L", "item"),
    [
        ("about 0", "positive", HIDDEN),
        ("negative", "positive", CONFIDENT),
        ("undetermined", "positive", OPEN_RISE),
        ("positive", "about 0", CAREFUL),
        ("about 0", "about 0", HARMLESS),
        ("negative", "about 0", BOLD),
        ("about 0", "negative", BETTER),
        ("positive", "negative", BETTER),
        ("negative", "negative", BETTER),
        ("positive", "undetermined", INCONCLUSIVE),
        ("undetermined", "undetermined", INCONCLUSIVE),
        ("undetermined", "about 0", INCONCLUSIVE),
    ],
)
def test_verdicts_have_their_reading(E: str, L: str, item: str) -> None:
    assert read(E, L).item == item


@pytest.mark.parametrize(
    ("gap", "error", "item"),
    [
        (0.02, 0.001, LESS),
        (0.012, 0.0005, LESS),
        (0.012, 0.002, INCONCLUSIVE),  # its lower limit is inside the margin
        (0.0, 0.001, ALIKE),
        (0.008, 0.0005, ALIKE),
        (0.0, 0.02, INCONCLUSIVE),
        (-0.02, 0.001, MORE),
        (-0.012, 0.002, INCONCLUSIVE),
    ],
)
def test_where_both_rise_their_difference_decides(gap: float, error: float, item: str) -> None:
    assert read("positive", "positive", gap, error).item == item


def test_two_noisy_copies_raise_both_and_an_unused_feature_neither() -> None:
    rng = np.random.default_rng(0)
    signal = rng.normal(size=600)
    X = np.column_stack(
        [signal + 0.2 * rng.normal(size=600), signal + 0.2 * rng.normal(size=600), rng.normal(size=600)]
    )

    def model(rows: Any) -> Categorical:
        p = 1 / (1 + np.exp(-(3 * rows[:, 0] + 3 * rows[:, 1])))
        return Categorical(np.column_stack([1 - p, p]))

    y = (rng.random(600) < model(X).mean()).astype(int)
    readings = PfiReading.from_result(explained(subject(model, X, y))["pfi.reading"]).readings
    assert readings["c"] == HARMLESS
    assert {readings[name] for name in "ab"} <= {LESS, ALIKE, MORE, INCONCLUSIVE}
