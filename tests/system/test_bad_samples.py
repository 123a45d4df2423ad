"""Samples that cannot carry an audit: the report says what cannot be judged, and no verdict comes from nothing."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report.api.views import AuditRun
from uq_report.evidence import ids
from uq_report.reading.rating import rating, recommended

EXPLAINERS = ("pfi", "calibration", "data_quality", "support", "agreement", "cid")
JUDGES_LOSS = ("UQ101", "UQ202", "UQ401", "UQ402")
NO_NUMBER = re.compile(r"(?<![\w-])[-−+]?(nan|inf)(?![\w-])", re.IGNORECASE)
FEATURES = ("age", "income", "debt")


def rows(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list(FEATURES))
    p = 1 / (1 + np.exp(-X["age"].to_numpy() + 0.7 * X["income"].to_numpy()))
    return X, (rng.random(n) < p).astype(int)


def one_class() -> dict[str, Any]:
    X, y = rows(120, np.random.default_rng(1))
    return {"X": X[y == 0], "y": y[y == 0]}


def few_events() -> dict[str, Any]:
    X, y = rows(200, np.random.default_rng(1))
    keep = np.flatnonzero((y == 0) | (np.cumsum(y) <= 6))
    return {"X": X.iloc[keep], "y": y[keep]}


def one_cluster() -> dict[str, Any]:
    X, y = rows(80, np.random.default_rng(1))
    return {"X": X, "y": y, "clusters": np.zeros(80)}


def all_outside() -> dict[str, Any]:
    X, y = rows(120, np.random.default_rng(1))
    return {"X": X + 50.0, "y": y}


def constant() -> dict[str, Any]:
    X, y = rows(150, np.random.default_rng(1))
    return {"X": X, "y": y, "model": DummyClassifier()}


SAMPLES: dict[str, Callable[[], dict[str, Any]]] = {
    "one class": one_class,
    "few events": few_events,
    "one cluster": one_cluster,
    "all rows outside": all_outside,
    "constant model": constant,
}


@cache
def audit(sample: str) -> AuditRun:
    train = rows(600, np.random.default_rng(0))
    given = SAMPLES[sample]()
    model = given.pop("model", LogisticRegression()).fit(*train)
    subject = uq.explain(model, given.pop("X"), given.pop("y"), train=train, **given)
    options = {"pfi": {"n_repeats": 5}}
    return uq.audit(subject, explainers=EXPLAINERS, options=options, as_of="2026-01-01", progress=False)


@cache
def text(sample: str) -> str:
    return audit(sample).render("markdown").decode()


def front(sample: str) -> tuple[str, str]:
    """Return page 1, and the sections behind it up to the appendix."""
    page, _, rest = text(sample).partition("\n## Conclusion\n")[2].partition("\n## 1 ")
    body, _, appendix = rest.partition("\n## A ")
    assert all((page, body, appendix))
    return page, body


def sheet(sample: str, feature: str) -> str:
    """Return the page of one feature: its words and its table."""
    _, found, rest = front(sample)[1].partition("\n## 4 Feature sheets\n")[2].partition(f" {feature}\n\n")
    assert found
    return re.split(r"\n##+ ", rest)[0]


def importances(sample: str) -> pd.DataFrame:
    result = audit(sample).run.find(ids.PFI)
    assert result is not None
    return result.estimates


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_report_comes_without_a_crash_or_a_number_that_is_none(sample: str) -> None:
    run = audit(sample).run
    crashed = [one for one in run.not_run if re.match(r"^(it failed: )?\w*(Error|Exception|Warning): ", one.reason)]
    assert crashed == []
    assert NO_NUMBER.findall(text(sample)) == []
    words = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", audit(sample).render("html").decode(), flags=re.DOTALL)
    assert NO_NUMBER.findall(words) == []


@pytest.mark.parametrize("sample", ["one class", "few events"])
def test_too_few_events_give_no_verdict_on_the_loss_and_say_so_in_both_places(sample: str) -> None:
    run = audit(sample).run
    raised = [finding for finding in run.findings if finding.code in JUDGES_LOSS]
    assert raised == []
    (gate,) = [finding for finding in run.findings if finding.code == "UQ102"]
    assert gate.statement.startswith("Whether the model is calibrated, and what drives the loss, is inconclusive: ")
    lines = importances(sample)
    nll = lines[(lines["measure"] == "nll") & ~lines["exact_zero"]]
    assert set(nll["verdict"]) == {"undetermined"}
    assert nll["unreliable"].str.contains("events").all()
    page, body = front(sample)
    assert f"Not assessable: {UNJUDGED[sample]}." in page
    assert "† The interval is unreliable." in page
    assert "UQ102" in body  # an observation: its statement stands in the appendix
    for feature in FEATURES:
        told = sheet(sample, feature)
        assert "Its importance for the loss is inconclusive." in told
        assert re.search(r"\| increase in loss \| [^|]*\)† \|", told)
        assert re.search(rf"\n† The interval of {feature} is unreliable: .*\b(no|few) events \(", told)


OPEN = "calibration and importance"
UNJUDGED = {
    "one class": f"{OPEN} for the loss, because all 61 observations belong to one class (20 of another are needed)",
    "few events": f"{OPEN} for the loss, because only 6 observations are of the rarer class (20 are needed)",
    "one cluster": f"{OPEN}, because 1 cluster does not show the variation between clusters (20 are needed)",
    "all rows outside": "performance inside the training domain, because 100% of the observations lie outside it",
    "constant model": "importance, because permuting any feature changes no prediction",
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_answer_says_before_its_findings_what_cannot_be_judged_and_why(sample: str) -> None:
    run = audit(sample).run
    verdict, rule, conditions, told, *_ = text(sample).partition("Conclusion\n")[2].strip().split("\n\n")
    assert rating(run.outcomes).text in verdict
    assert rule == recommended(run).basis
    assert conditions == recommended(run).conditions_of_use
    assert told == f"Not assessable: {UNJUDGED[sample]}."
    assert told in audit(sample).render("markdown", template="brief").decode()


def test_the_rows_that_would_do_are_told_with_their_condition() -> None:
    statement = next(f.statement for f in audit("few events").run.findings if f.code == "UQ102")
    assert re.search(r"About [\d,]+ observations are needed if their share stays as it is\.", statement)


def test_one_cluster_gives_no_interval_and_no_finding_from_one() -> None:
    run = audit("one cluster").run
    lines = importances("one cluster")
    assert lines["lower"].isna().all()
    assert set(lines["verdict"]) <= {"undetermined"}
    assert not [f for f in run.findings if f.code in (*JUDGES_LOSS, "UQ001", "UQ002", "UQ311")]
    page, _ = front("one cluster")
    assert f"Not assessable: {UNJUDGED['one cluster']}." in page
    assert "interval over new test samples" not in page
    for feature in FEATURES:
        assert re.search(rf"{feature} −?\d[\d.]* nats(,| and|\.)", page), "an estimate without an interval"
        told = sheet("one cluster", feature)
        assert "Its importance for the loss is inconclusive." in told
        assert "| increase in loss |" in told
        assert " to " not in told.partition("| increase in loss |")[2]


def test_rows_outside_the_training_range_are_the_first_finding() -> None:
    findings = audit("all rows outside").run.findings
    severe = [f for f in findings if f.severity in ("critical", "high")]
    assert {"UQ303", "UQ304", "UQ301"} & {f.code for f in severe}


def test_a_constant_model_is_said_to_be_no_better_than_the_base_rate() -> None:
    findings = audit("constant model").run.findings
    assert "UQ001" in {f.code for f in findings}
    assert not {f.code for f in findings} & {"UQ202", "UQ401", "UQ402", "UQ311"}
