"""Leaks: a column made from the outcome is named, alone; strong honest columns are not; what cannot be seen is said."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import BayesianRidge, LogisticRegression

import uq_report as uq
from uq_report.core.model.subject import Subject
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun
from uq_report.methods.pfi.check import Leak

from . import importances
from .importances import audited, diagnostic, outcome

EVEN: dict[str, Any] = {"classes": ["no", "yes"], "y_summary": {"counts": [100, 100]}}
NUMBER: dict[str, Any] = {"classes": None, "y_summary": {"std": 1.0}, "meta": {"estimator": "Gaussian copula"}}


def rows(n: int, seed: int, noise: float, *, classes: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Return three features that count and, where there is noise, a column that is the outcome but for it."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    eta = 2 * X.sum(axis=1).to_numpy()
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int) if classes else eta + 0.5 * rng.normal(size=n)
    return (X.assign(closed=y + noise * y.std() * rng.normal(size=n)) if noise else X), y


def subject(noise: float, *, classes: bool) -> Subject:
    train, test = rows(3000, 1, noise, classes=classes), rows(500, 2, noise, classes=classes)
    model = LogisticRegression() if classes else BayesianRidge()
    return uq.explain(model.fit(*train), *test, train=train)


def fitted(noise: float, *, classes: bool) -> Outcome:
    """Return what the check says of a model fitted on 3000 rows and audited on 500 others."""
    options: dict[str, Any] = {
        "pfi": {"n_repeats": 2},
        "cid": {"penalty": 0.2},
    }  # a leak keeps smaller ones from converging
    explainers = ["calibration", "pfi", "cid"]
    return outcome(audited(subject(noise, classes=classes), explainers, checks=["leak"], options=options), "leak")


def judged(told: dict[str, tuple[float, float]], check: Leak | None = None, **subject: Any) -> Outcome:
    """Return the outcome for shares, of the entropy or of the variance, with their standard errors."""
    item = "share of entropy" if "classes" not in subject else "share of variance"
    table = [{"feature": f, "item": item, "estimate": e, "std_error": s} for f, (e, s) in told.items()]
    meta = subject.pop("meta", {"estimator": "conditional Gaussian"})
    found = importances.run(diagnostic("cid", table, meta=meta), **{**EVEN, **subject})
    return (check or Leak()).check(found)


@pytest.mark.parametrize("classes", [True, False])
def test_a_column_made_from_the_outcome_is_named_alone(*, classes: bool) -> None:
    found = fitted(0.05, classes=classes)
    assert [(f.code, f.features) for f in found.findings] == [("UQ411", ("closed",))]
    finding = found.findings[0]
    assert finding.severity == ("critical" if classes else "high")
    assert "it may be recorded after the outcome, or derived from it" in finding.statement
    assert finding.evidence == (("cid", "pfi", "calibration") if classes else ("cid", "pfi"))
    assert finding.size == (pytest.approx(1, abs=0.05) if classes else None)
    assert "nan" not in finding.statement


def test_a_leak_in_the_audited_rows_alone_is_told_apart() -> None:
    (X_train, y_train), (X, y) = rows(3000, 1, 0.05, classes=True), rows(500, 2, 0.05, classes=True)
    X_train["closed"] = np.random.default_rng(3).permutation(X_train["closed"])
    of = uq.explain(LogisticRegression().fit(X_train, y_train), X, y, train=(X_train, y_train))
    found = outcome(audited(of, ["calibration", "pfi", "cid"], checks=["leak"]), "leak")
    (finding,) = found.findings
    assert "the leak is in the test sample and not in the training sample" in finding.statement
    used = fitted(0.05, classes=True).findings[0].statement
    assert "Permuting it increases the log loss by" in used
    assert "makes little use of it" not in used


@pytest.mark.parametrize("nats", [1.0, 0.5])
@pytest.mark.parametrize(("upper", "little"), [(0.099, True), (0.101, False)])
def test_a_model_makes_little_of_a_leak_below_a_tenth_of_what_it_tells(
    upper: float, nats: float, *, little: bool
) -> None:
    told = [{"feature": "a", "item": item, "estimate": e, "std_error": 0.001} for item, e in
            (("share of entropy", 0.95), ("mutual information", nats))]  # fmt: skip
    used = importances.pfi({"nll": {"a": (nats * upper, 1e-6)}})
    (finding,) = Leak().check(importances.run(diagnostic("cid", told, meta={"bins": 4}), used, **EVEN)).findings
    assert "Permuting it increases the log loss by" in finding.statement
    assert ("makes little use of it" in finding.statement) is little


@pytest.mark.parametrize(("skill", "size"), [(0.5, 0.8), (0.4, 1.0), (0.2, 1.0), (0.0, None), (-0.1, None)])
def test_the_size_of_a_leak_is_its_share_of_the_skill_of_a_model_that_has_any(skill: float, size: float | None) -> None:
    """The feature tells 0.4 nats: at most all of what the model knows, and no share of nothing."""
    told = [{"feature": "a", "item": item, "estimate": e, "std_error": 0.001} for item, e in
            (("share of entropy", 0.95), ("mutual information", 0.4))]  # fmt: skip
    score = diagnostic("calibration", [{"item": "log_score_skill", "feature": "", "estimate": skill, "unit": "nats"}])
    (finding,) = Leak().check(importances.run(diagnostic("cid", told, meta={"bins": 4}), score, **EVEN)).findings
    assert finding.size == (None if size is None else pytest.approx(size))
    (bare,) = Leak().check(importances.run(diagnostic("cid", told, meta={"bins": 4}), **EVEN)).findings
    assert bare.size is None
    assert finding.evidence == (("cid",) if size is None else ("cid", "calibration"))


@pytest.mark.parametrize(
    ("share", "words"), [(0.8999, "90%"), (0.9, "90%"), (0.9009, "90.0%"), (0.9989, "99.8%"), (0.9999, "99.9%")]
)
def test_a_share_near_one_is_rounded_down_and_never_to_all(share: float, words: str) -> None:
    (finding,) = judged({"a": (share, 1e-6)}).findings
    assert finding.statement.startswith(f"a alone explains {words} (at least")


def test_what_passes_names_the_feature_that_tells_most_and_no_share_is_above_all() -> None:
    reason = judged({"a": (0.02, 0.1), "b": (0.5, 0.1), "c": (0.3, 0.01)}).reason
    assert "b explains most, 50% (at most 74%) of the entropy of the outcome" in reason
    (finding,) = judged({"a": (0.995, 0.01)}).findings
    assert finding.lower == pytest.approx(0.975, abs=0.001)
    assert finding.upper == 1


@pytest.mark.parametrize("classes", [True, False])
def test_strong_honest_columns_are_not_named(*, classes: bool) -> None:
    found = fitted(0.0, classes=classes)
    assert found.state == "passed"
    assert "No single feature determines the outcome" in found.reason


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.995, "critical"), (0.95, "high"), (0.9, "medium"), (0.77, "medium"), (0.752, "skipped"), (0.74, "passed")],
)
def test_the_lower_end_decides(share: float, expected: str) -> None:
    found = judged({"a": (share, 0.003), "b": (0.1, 0.01)})
    assert (found.findings[0].severity if found.findings else found.state) == expected


def test_the_level_is_shared_out_over_the_features() -> None:
    others = {f"x{k}": (0.01, 0.01) for k in range(30)}
    assert judged({"a": (0.758, 0.003)}).state == "found"
    assert judged({"a": (0.758, 0.003), **others}).reason.endswith("UQ411 is undetermined for a.")


def test_numbers_are_judged_by_the_variance() -> None:
    finding = judged({"a": (0.992, 0.001)}, **NUMBER).findings[0]
    assert (finding.severity, finding.size) == ("high", None)
    assert "a alone explains 99.2% (at least 99.0%) of the variance of the outcome" in finding.statement
    assert "a lagged value of a slowly varying series" in finding.statement
    assert judged({"a": (0.95, 0.005)}, **NUMBER).state == "passed"


def test_cells_too_coarse_for_a_leak_leave_it_open() -> None:
    facts: dict[str, Any] = {
        "meta": {"estimator": "discrete field", "bins": 4},
        "y_summary": {"counts": [180, 20]},
        "features": [
            {"name": "a", "kind": "numeric", "distinct": 200},
            {"name": "b", "kind": "numeric", "distinct": 3},
        ],
    }
    # four equal cells tell at most 48% of the entropy of a class of 10%
    assert "undetermined for a." in judged({"a": (0.47, 0.02), "b": (0.47, 0.02)}, **facts).reason
    assert judged({"a": (0.3, 0.02)}, **facts).state == "passed"


@pytest.mark.parametrize(
    ("estimator", "kind", "distinct", "cut"),
    [
        ("discrete field", "numeric", 5, True),
        ("discrete field", "numeric", 4, False),
        ("discrete field", "numeric", None, False),
        ("discrete field", "categorical", 5, False),
        ("conditional Gaussian", "numeric", 5, False),
    ],
)
def test_only_numbers_with_more_values_than_cells_are_cut(
    estimator: str, kind: str, distinct: int | None, *, cut: bool
) -> None:
    """A share of 47% is nearly all that four cells tell of a class of 10%, and far from what values may tell."""
    facts: dict[str, Any] = {"meta": {"estimator": estimator, "bins": 4}, "y_summary": {"counts": [180, 20]}}
    facts["features"] = [{"name": "a", "kind": kind, "distinct": distinct}]
    assert judged({"a": (0.47, 0.02)}, **facts).state == ("skipped" if cut else "passed")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"y_summary": {"counts": [191, 9]}}, "9 observations outside the most frequent class are too few"),
        ({"y_summary": {"counts": [0, 200]}}, "one class only"),
    ],
)
def test_what_cannot_be_judged_says_why(facts: dict[str, Any], reason: str) -> None:
    found = judged({"a": (0.99, 0.001)}, **facts)
    assert found.state == "not_applicable"
    assert reason in found.reason


def test_options_and_absence() -> None:
    assert judged({"a": (0.75, 0.003)}, Leak(share=0.7)).state == "found"
    with pytest.raises(InputError, match=r"leak\.share must be"):
        Leak(share=1)
    found = Leak().check(importances.run(not_run=(NotRun("cid", "explainers", "cid.X must have no copies", "data"),)))
    assert (found.state, found.reason) == (
        "not_applicable",
        "covered information was not computed: cid.X must have no copies",
    )
    assert judged({"a": (0.99, float("nan"))}).state == "skipped"
    assert judged({}).reason == "the mutual information of features and outcome was not computed"
