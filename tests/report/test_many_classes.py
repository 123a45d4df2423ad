"""Many classes, rare classes and ratings: what a report says of them is of the class it names, and stays short."""

import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import uq_report as uq
from uq_report.core.model.sampling import Sampling
from uq_report.core.support.errors import InputError
from uq_report.evidence.run import Run

FEW = ("calibration", "pfi", "shap", "dalex", "agreement", "data_quality")
FAST = {"shap": {"n_rows": 3, "n_background": 4}, "dalex": {"n_repeats": 2, "n_background": 5}}
ORDER = {"calibration": {"order": tuple("12345")}}
NO_NUMBER = re.compile(r"(?<![\w-])(?:nan|inf)(?![\w-])", re.IGNORECASE)


@cache
def audited(which: str) -> tuple[Run, str]:
    """Return the run and the report as Markdown."""
    model, X, y, n = {"fifty": fifty, "rare": rare, "ratings": ratings, "zeros": zeros, "fraud": fraud}[which]()
    model.fit(X[:n], y[:n])
    subject = uq.explain(model, X[n:], y[n:], train=(X[:n], y[:n]))
    options = FAST | (ORDER if which == "ratings" else {})
    audit = uq.audit(subject, explainers=FEW, options=options, as_of="2026-01-01", progress=False)
    assert not [entry for entry in audit.run.not_run if "Error" in entry.reason]
    text = bytes(audit.render("markdown")).decode()
    assert not [line for line in text.splitlines() if NO_NUMBER.search(line)]
    return audit.run, text


def fifty() -> tuple[Any, ...]:
    X, y = clouds(50)
    return RandomForestClassifier(10, min_samples_leaf=2, random_state=0), X, y, 1100


def clouds(k: int) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(k, 3), scale=4)
    codes = np.tile(np.arange(k), 28)
    X = pd.DataFrame(centres[codes] + rng.normal(size=(len(codes), 3)), columns=["a", "b", "c"])
    return X, np.array([f"kind {code:02d}" for code in codes])


def scores(n: int = 900) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return X, X["a"] + 0.5 * X["b"] + 0.7 * rng.normal(size=len(X))


def ratings() -> tuple[Any, ...]:
    X, score = scores()
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
    return forest, X, 1 + np.digitize(score, [-1.2, -0.4, 0.4, 1.2]), 600


def fraud() -> tuple[Any, ...]:
    X, score = scores()
    y = np.where(score > np.quantile(score, 0.99), "fraud", np.where(score > 0, "late", "paid"))
    return LogisticRegression(), X, y, 500


def rare() -> tuple[Any, ...]:
    X, score = scores(2400)
    return LogisticRegression(), X, (score > np.quantile(score, 0.995)).astype(int), 1400


def zeros() -> tuple[Any, ...]:
    X, rng = scores()[0], np.random.default_rng(1)
    return PoissonRegressor(), X, rng.poisson(np.exp(X["a"] - 1.5)) * (rng.random(len(X)) < 0.7), 600


def test_fifty_classes_fill_no_more_pages_than_two() -> None:
    run, text = audited("fifty")
    assert run.subject["classes"] is not None
    assert len(run.subject["classes"]) == 50
    lines = text.splitlines()
    assert max(line.count("|") for line in lines) < 12  # no column a class
    assert max(len(re.findall(r"kind \d\d", line)) for line in lines if not line.startswith("- **Classes")) <= 9
    table = text.split("classes with the lowest recall (upper limit).")[1].split("\n\n")[1]
    assert table.splitlines()[0] == "| actual | n | recall | precision |"
    assert len(table.splitlines()) == 2 + 8


def test_the_class_that_the_prediction_is_of_is_named() -> None:
    run, text = audited("fifty")
    label = run.subject["positive_class"]
    assert label == max(run.subject["classes"], key=dict(_counts(run)).__getitem__)  # the most frequent
    assert f"on the probability of the most frequent class “{label}”" in text
    assert f"- **Class whose probability is shown:** {label}" in text
    assert f"(1 − AUC of {label})" in text
    assert "effect on the prediction" not in text
    assert "of the most probable class; the observed frequency is" in text
    assert "- **Positive class:** 1" in audited("rare")[1]


def _counts(run: Run) -> list[tuple[str, int]]:
    table = run.result("data_quality").estimates.query("measure == 'class'")
    return list(zip(table["item"], table["count"], strict=True))


def test_the_class_found_least_is_no_class_of_two_rows() -> None:
    """By the upper end of its interval, so that few rows do not make a class the worst."""
    table = audited("fifty")[0].result("calibration.decisions").estimates.query("item == 'recall'")
    label = re.search(r"of (\d+) in the most often missed class, “(kind \d\d)”", audited("fifty")[1])
    assert label is not None
    assert table.set_index("label").loc[label[2], "upper"] == table["upper"].min()
    assert table["lower"].ge(0).all()
    assert (table["upper"] - table["lower"]).min() > 0.01  # also of shares that are 1 but for rounding


def test_equal_classes_are_not_rare_and_small_ones_are_told_smallest_first() -> None:
    assert not [finding for finding in audited("fifty")[0].findings if finding.code == "UQ707"]
    (finding,) = [finding for finding in audited("fraud")[0].findings if finding.code == "UQ707"]
    assert "fraud (" in finding.statement


def test_events_of_half_a_percent_are_counted_and_not_judged() -> None:
    run, text = audited("rare")
    codes = {finding.code: finding for finding in run.findings}
    assert {"UQ102", "UQ707"} <= codes.keys()
    assert "few events" in codes["UQ102"].statement
    assert re.search(r"only \d observations are of the rarer class \(20 are needed\)", text)


def test_a_log_score_that_is_infinite_for_a_feature_ranks_none() -> None:
    """Permuting the leading feature makes the log loss infinite, so by the log score the others would lead."""
    run, text = audited("ratings")
    have = run.result("pfi").estimates.groupby("measure")["feature"].agg(set)
    assert "a" not in have.get("nll", set())
    assert have["brier"] == {"a", "b", "c"}
    assert "Permuting a increases the Brier score most: by " in text
    ranked = run.result("agreement").estimates.query("item == 'pfi'")["measure"]
    assert "brier" in set(ranked)
    assert "nll" not in set(ranked)
    assert "There is no map of loss and stated uncertainty" in text


def test_ordered_classes_are_told_how_far_predictions_are_off() -> None:
    run, text = audited("ratings")
    off = run.result("calibration").estimates.set_index("item")["estimate"]
    said = re.search(r"The predicted class is one class off for (\d+)% .*?two or more classes off for ([\d.]+)% ", text)
    assert said is not None
    assert float(said[1]) == pytest.approx(100 * off["off_by_one"], abs=0.5)
    assert float(said[2]) == pytest.approx(100 * off["off_by_more"], abs=0.5)
    assert f"Two or more classes off: {said[2]}% " in text  # on page 1
    assert "Entropy, log loss and Brier score ignore the order of the classes" in text
    assert "| ranked probability score" in text
    assert "one class off" not in audited("fifty")[1]


def test_counts_with_many_zeros_are_audited() -> None:
    run, text = audited("zeros")
    assert run.subject["task"] == "count"
    assert "units of the outcome" in text


def test_classes_the_model_never_saw_are_refused_with_their_rows() -> None:
    model, X, y, n = ratings()
    model.fit(X[:n], np.minimum(y[:n], 4))
    with pytest.raises(
        InputError, match=r"explain.y: .*must hold the model's classes, 1, 2, 3, 4; got 5 in \d+ of 300 rows"
    ):
        uq.explain(model, X[n:], y[n:])


def test_classes_in_an_order_of_the_users_keep_their_columns() -> None:
    """Of a model whose classes are not sorted every number is that of the sorted one."""

    class Reversed:
        def __init__(self, model: Any) -> None:
            self.model, self.classes_ = model, model.classes_[::-1]

        def predict_proba(self, rows: Any) -> Any:
            return self.model.predict_proba(rows)[:, ::-1]

    model, X, y, n = fraud()
    model.fit(X[:n], y[:n])
    scores_of = [
        uq.calibration(uq.explain(each, X[n:], y[n:]))
        .estimates.set_index("item")["estimate"]
        .drop("ece", errors="ignore")
        for each in (model, Reversed(model))
    ]
    for item in ("log_score", "brier", "accuracy"):
        assert scores_of[0][item] == pytest.approx(scores_of[1][item], rel=1e-12)


@pytest.mark.parametrize("hits", [5, 6])
def test_a_share_that_is_1_but_for_rounding_has_the_rows_it_has(hits: int) -> None:
    six = Sampling(np.full(6, 1 / 6), 6)
    share = hits / 6 if hits < 6 else 1 - 2**-53
    error = np.sqrt(share * (1 - share) / 5) if hits < 6 else 5e-17
    assert six.effective_n(share, error) == pytest.approx(6)
