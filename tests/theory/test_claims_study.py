"""The study of claimed and delivered importance in its quick form (in full: benchmarks/claims.py)."""

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

REPS = int(os.environ.get("UQ_STUDY_REPS", "20"))
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the benchmark as a module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("claims")


@pytest.mark.study
@pytest.mark.parametrize(("n", "shift"), [(50, 0.3), (200, 0.3), (1000, -4.6)])
def test_the_exact_test_has_its_size_where_outcomes_follow_the_model(study: Any, n: int, shift: float) -> None:
    any_feature, together = study.rejections(n, shift, REPS)
    assert max(any_feature, together) <= binom.ppf(0.999, REPS, 0.05)


@pytest.mark.study
def test_the_faults_are_named(study: Any) -> None:
    for fault, found in study.FAULTS.items():
        assert found(np.random.default_rng([0, len(fault)])), fault
