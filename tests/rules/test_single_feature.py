"""One feature against the model: named where it alone tells more, and never in a sensible model."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report.core.errors import InputError
from uq_report.core.results import Diagnostic
from uq_report.methods.pfi.single_feature import SingleFeature

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
    facts: dict[str, Any] = {"classes": ["no", "yes"], "y_summary": {"counts": [100, 100]}}
    lines: list[dict[str, Any]] = [{"item": i, "feature": "", "estimate": e, "std_error": s} for i, e, s in
             (("log_score_skill", 0.2, 0.02), ("log_score_baseline", 0.69, 0.01))]  # fmt: skip
    for line in lines:
        line |= {"unit": "nats", "lower": line["estimate"] - 0.04, "upper": line["estimate"] + 0.04, "confidence": 0.95}
    made = importances.run(diagnostic("calibration", lines), told(("a", alone, error), ("b", 0.01, 0.01)), **facts)
    findings = [one for one in SingleFeature().check(made).findings if one.code == "UQ003"]
    assert [one.severity for one in findings] == ([severity] if severity else [])
    assert all(one.features == () and one.statement.startswith("a alone tells") for one in findings)


def test_a_model_of_shuffled_labels_tells_less_than_one_feature_and_a_sensible_one_does_not() -> None:
    (X, y), test = rows(3000, 1), rows(500, 2)
    for labels, codes in ((np.random.default_rng(5).permutation(y), {"UQ003"}), (y, set())):
        model = LogisticRegression().fit(X, labels)
        made = audited(uq.explain(model, *test, train=(X, y)), ["calibration", "pfi", "cid"], rules=["single_feature"])
        assert {one.code for one in made.findings} & {"UQ003"} == codes


def test_numbers_and_absent_evidence_are_not_judged() -> None:
    assert SingleFeature().check(importances.run(told(("a", 0.3, 0.02)))).state == "not_applicable"
    for options in ({"level": 1.0}, {"margin": -1.0}):
        with pytest.raises(InputError, match=rf"single_feature\.{next(iter(options))} must be"):
            SingleFeature(**options)
