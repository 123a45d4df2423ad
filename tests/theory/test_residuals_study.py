"""The study of distributions from residuals in its quick form (in full: benchmarks/residuals.py)."""

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

REPS = int(os.environ.get("UQ_STUDY_REPS", "20"))
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ROWS = 199


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the benchmark as a module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("residuals")


def error(level: Any) -> Any:
    """Return four standard errors of a mean coverage: that of the residuals' order, and of the fresh rows."""
    return 4 * np.sqrt(level * (1 - level) * (1 / (ROWS + 2) + 1 / 2000) / REPS)


@pytest.mark.study
@pytest.mark.parametrize("noise", ["even", "growing", "heavy tails"])
def test_conformal_intervals_cover_as_theory_says(study: Any, noise: str) -> None:
    covered = study.repeated(study.NOISES[noise], {"form": "conformal"}, ROWS, REPS).levels
    assert (covered >= study.LEVELS - error(study.LEVELS)).all()
    assert (covered <= study.LEVELS + 2 / (ROWS + 1) + error(study.LEVELS)).all()


@pytest.mark.study
@pytest.mark.parametrize("form", ["normal", "empirical", "conformal"])
def test_a_modelled_scale_covers_where_the_noise_is_largest(study: Any, form: str) -> None:
    constant, modelled = (
        study.repeated(study.NOISES["growing"], {"form": form, "scale": scale}, ROWS, REPS).tenths.min()
        for scale in ("constant", "modelled")
    )
    assert constant < 0.78
    assert modelled > 0.83


@pytest.mark.study
def test_even_normal_noise_is_covered_by_every_assumption(study: Any) -> None:
    for options in study.ASSUMPTIONS.values():
        covered = study.repeated(study.NOISES["even"], options, ROWS, REPS).levels
        # 0.026 is that of the normal form with a modelled scale, whose standardised residuals are not quite normal
        assert (np.abs(covered - study.LEVELS) <= 0.026 + error(study.LEVELS)).all()
