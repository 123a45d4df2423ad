"""Periods of a sample in order of time, features that shifted since training, observations of segments, owner's "
"words."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report.document.document import Figure, Paragraph, Table
from uq_report.evidence import ids
from uq_report.evidence.rows import SupportDistribution
from uq_report.evidence.segments import SegmentPeriods
from uq_report.report import kinds
from uq_report.report.assemble import read
from uq_report.report.sections.findings import monitoring
from uq_report.report.sections.outcomes import stability

from .reading import all_blocks, section, words

N = 600


@cache
def audited() -> uq.AuditRun:
    """Return an audit of a model whose outcomes turn to noise in the last third of the days."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=2 * N), "b": rng.normal(size=2 * N)})
    risk = np.where(np.arange(2 * N) < N + 400, 2.5 * X["a"], -2.5 * X["a"])
    y = np.where(rng.random(2 * N) < 1 / (1 + np.exp(-risk)), "bad", "good")
    model = LogisticRegression().fit(X[:N], y[:N])
    test = X[N:].reset_index(drop=True).assign(a=lambda table: table["a"] + 1.5)
    days = pd.date_range("2026-01-01", periods=N, freq="D")
    subject = uq.explain(model, test, y[N:], train=(X[:N], y[:N]), time=days, block_size=2, positive_class="bad")
    about = {"observation": "claim", "unit": "kW", "legal_basis": "none"}
    options = {"checks.policy": {"require": ["roc_auc >= 0.99", "nll <= 99"]}}
    given: dict[str, Any] = {"explainers": ["calibration", "segments", "support"], "about": about, "options": options}
    return uq.audit(subject, as_of="2026-12-01", progress=False, **given)


def test_means_by_period_are_those_of_its_observations() -> None:
    view = SegmentPeriods.find(audited().run)
    assert view is not None
    lines = [line for line in view.lines if line.measure == "nll" and line.segment != "all"]
    whole = next(line for line in view.lines if line.measure == "nll" and line.segment == "all")
    assert [line.n for line in lines] == [100] * 6
    assert np.mean([line.estimate for line in lines]) == pytest.approx(whole.estimate)
    assert lines[0].item == "2026-01-01 to 2026-04-10"
    assert max(lines, key=lambda line: line.estimate).item >= "2027-02"


def test_the_periods_and_the_shifted_feature_are_drawn() -> None:
    made = stability(read(audited().run))
    assert made is not None
    figures = [block for block in made.blocks if isinstance(block, Figure)]
    assert [figure.evidence for figure in figures] == [SegmentPeriods.id, SupportDistribution.id]
    texts = [block.text for block in made.blocks if isinstance(block, Paragraph)]
    assert "is above that of the other periods" in texts[0]
    assert texts[1].startswith("The test sample differs from the training sample in")


def test_shares_by_bin_add_up_to_one_in_both_samples() -> None:
    view = SupportDistribution.find(audited().run)
    assert view is not None
    sums = view.result.frame.groupby(["feature", "item"])["value"].sum()
    assert sums.to_numpy() == pytest.approx(1.0)
    assert set(sums.index.get_level_values("item")) == {"training", "test"}


def test_the_observations_of_segments_are_a_download() -> None:
    frame = audited().run.result(ids.SEGMENTS_ROWS).frame
    uncertain = frame[frame["item"].str.startswith("the 10%")]
    assert len(uncertain) == N // 10
    assert uncertain["value"].is_monotonic_decreasing
    made = kinds.document(audited().run, draws=False)
    assert {"segments.rows.csv", "support.rows.csv"} <= {file.name for file in made.attachments}


def test_the_owners_words_are_used_throughout() -> None:
    made = kinds.document(audited().run, draws=False)
    text = " ".join(words(made))
    assert "claims" in text
    assert "test observations" not in text
    assert "units of the outcome" not in text


def test_monitoring_answers_the_triggers_that_the_owner_stated() -> None:
    tables = [block for block in all_blocks(monitoring(read(audited().run))) if isinstance(block, Table)]
    rows = next(table.rows for table in tables if table.id == "monitoring-triggers")
    assert [(row[0], row[1].text) for row in rows] == [  # type: ignore[union-attr]
        ("roc_auc >= 0.99", "triggered"),
        ("nll <= 99", "not triggered"),
    ]
    assert section(kinds.document(audited().run, draws=False), "sign-off").title == "Sign-off"
