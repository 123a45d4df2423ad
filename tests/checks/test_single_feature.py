"""One feature against the model: named where it alone tells more, and never in a sensible model."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report.core.model.results import Diagnostic
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Outcome
from uq_report.methods.pfi.check import SingleFeature

from . import importances
from .importances import audited, diagnostic

Rows = tuple[pd.DataFrame, np.ndarray]


def rows(n: int, seed: int) -> Rows:
    """Return three features, of which two count, and a class."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    eta = 2 * (X["a"] + X["b"]).to_numpy()
    return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)


def told(*features: tuple[str, float, float]) -> Diagnostic:
    """Return what features tell alone, with standard errors."""
    table = [{"feature": f, "item": "mutual information", "estimate": e, "std_error": s} for f, e, s in features]
    return diagnostic("cid", table, meta={"estimator": "conditional Gaussian"})


def judged(alone: Diagnostic, counts: tuple[int, ...] = (100, 100), **skill: float) -> Outcome:
    """Return the outcome for a model whose skill is 0.2 nats."""
    lines = [{"item": "log_score_skill", "feature": "", "unit": "nats", "estimate": 0.2, "std_error": 0.02}]
    lines[0] |= {"lower": 0.16, "upper": 0.24} | skill
    facts: dict[str, Any] = {"classes": ["no", "yes"], "y_summary": {"counts": list(counts)}}
    return SingleFeature().check(importances.run(diagnostic("calibration", lines), alone, **facts))


@pytest.mark.parametrize(
    ("alone", "error", "severity"),
    [
        (0.3, 0.02, "medium"),  # the model's skill is 0.2
        (0.41, 0.02, "high"),
        (0.399, 0.02, "medium"),
        (0.3, 0.05, None),  # within the errors
        (0.209, 0.0, None),  # within the margin
        (0.1, 0.01, None),
    ],
)
def test_a_feature_that_tells_more_than_the_model_is_named(alone: float, error: float, severity: str | None) -> None:
    findings = [one for one in judged(told(("a", alone, error), ("b", 0.01, 0.01))).findings if one.code == "UQ003"]
    assert [one.severity for one in findings] == ([severity] if severity else [])
    assert all(one.features == () and one.statement.startswith("a alone has") for one in findings)


def test_a_model_of_shuffled_labels_tells_less_than_one_feature_and_a_sensible_one_does_not() -> None:
    (X, y), test = rows(3000, 1), rows(500, 2)
    for labels, codes in ((np.random.default_rng(5).permutation(y), {"UQ003"}), (y, set())):
        model = LogisticRegression().fit(X, labels)
        made = audited(uq.explain(model, *test, train=(X, y)), ["calibration", "pfi", "cid"], checks=["single_feature"])
        assert {one.code for one in made.findings} & {"UQ003"} == codes


def test_of_several_features_the_one_that_tells_most_is_named_with_what_it_tells_beyond_the_model() -> None:
    (finding,) = judged(told(("a", 0.3, 0.02), ("b", 0.35, 0.02))).findings
    assert finding.statement.startswith("b alone has 0.350 nats")
    assert "the skill of the whole model is 0.200 nats (0.160 to 0.240)" in finding.statement
    assert finding.observed == pytest.approx(0.15)
    assert finding.threshold == 0.01


@pytest.mark.parametrize(("others", "raised"), [(0, True), (1, False)])
def test_the_test_is_adjusted_over_features_and_both_errors_count(others: int, *, raised: bool) -> None:
    """2.1 standard errors of the difference, of 0.02 and 0.015: a p-value of 0.037 alone, of 0.074 beside another."""
    alone = told(("a", 0.2 + 2.1 * 0.025, 0.015), *[("b", 0.1, 0.01)] * others)
    assert bool(judged(alone).findings) is raised


def test_few_events_and_a_skill_without_an_interval_are_not_judged() -> None:
    alone = told(("a", 0.4, 0.02))
    assert judged(alone, (190, 10)).findings
    assert "9 observations outside the most frequent class are too few" in judged(alone, (191, 9)).reason
    reason = "the log loss of the model has no interval"
    assert judged(alone, lower=np.nan, upper=np.nan).reason == judged(alone, estimate=np.nan).reason == reason
    assert judged(told()).reason == "the mutual information of features and outcome was not computed"


def test_numbers_and_absent_evidence_are_not_judged() -> None:
    assert SingleFeature().check(importances.run(told(("a", 0.3, 0.02)))).state == "not_applicable"
    for options in ({"level": 1.0}, {"margin": -1.0}):
        with pytest.raises(InputError, match=rf"single_feature\.{next(iter(options))} must be"):
            SingleFeature(**options)
