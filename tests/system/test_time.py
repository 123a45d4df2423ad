"""A whole audit of rows in order of time: real quarters of an economy, told in the report and in its file."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge

import uq_report as uq
from uq_report.api.views import AuditRun
from uq_report.core.model.subject import Subject
from uq_report.core.support.errors import InputError
from uq_report.evidence import ids
from uq_report.evidence.subject import SubjectFacts

from ..inputs.adapters.whole_audit import whole_audit

statsmodels = pytest.importorskip("statsmodels.api", reason="these tests use data that come with statsmodels")

FEATURES = ["infl", "unemp", "tbilrate"]


def quarters(**options: Any) -> Subject:
    """Return next quarter's inflation from this quarter's figures, fitted on the first half of 203 quarters."""
    table = statsmodels.datasets.macrodata.load_pandas().data
    X, y = table[FEATURES].iloc[:-1], table["infl"].to_numpy()[1:]
    when = table["year"] + (table["quarter"] - 1) / 4
    model = BayesianRidge().fit(X[:100], y[:100])
    return uq.explain(model, X[100:], y[100:], time=when[100:-1], **options)


def test_a_whole_audit_says_how_rows_depend() -> None:
    run = whole_audit(quarters())
    facts = SubjectFacts.of(run)
    assert facts.clusters == 20
    assert facts.block_length == 5
    assert facts.block_rule.startswith("by the autocorrelation of feature unemp")
    assert "intervals may be too narrow" in facts.block_rule
    assert "time" in facts.hashes
    text = " ".join(bytes(AuditRun(run).render("markdown")).decode().split())
    assert "**Observations in order of time:** 20 blocks of about 5 successive observations (length by the" in text
    assert (
        "Observations are serially dependent: intervals are over 20 blocks of about 5 successive observations" in text
    )
    results = {result.id: result for result in run.results}
    notes = " ".join(note for result in results.values() for note in result.notes)
    assert "Standard errors are over 20 blocks of about 5 successive observations, not single observations." in notes
    assert "whole blocks are permuted" in notes
    assert results[ids.PFI].estimates["std_error"].notna().all()


def test_two_models_on_blocks_of_different_length_are_told_what_to_do() -> None:
    pair = [quarters(label="short", block_size=3), quarters(label="long", block_size=5)]
    with pytest.raises(InputError, match=r"the same clusters; got different ones.*with the same block_size"):
        uq.audit(pair, explainers=["pfi"])


def test_an_audit_repeats_itself() -> None:
    first, again = (uq.importance(quarters(block_size=4), n_repeats=3).frame for _ in range(2))
    np.testing.assert_array_equal(first["value"], again["value"])
