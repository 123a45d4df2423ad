"""What was laid over a model stands on page 1 of every document, in the limits, in the run and in what changed."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import uq_report as uq
from uq_report.api.views import AuditRun
from uq_report.distributions import Normal
from uq_report.evidence.subject import SubjectFacts

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(800, 2))
SPREAD = np.where(X[:, 0] > 0.5, 3.0, 0.3)
Y = X[:, 1] + SPREAD * RNG.normal(size=800)
MODEL = LinearRegression().fit(X[:300], Y[:300])
FAST: dict[str, Any] = {"as_of": "2026-01-01", "progress": False, "explainers": ["calibration"]}


def audited(residuals: Any, **more: Any) -> AuditRun:
    subject = uq.explain(MODEL, X[300:], Y[300:], train=(X[:300], Y[:300]), residuals=residuals)
    return uq.audit(subject, **FAST, **more)


CONSTANT = audited("normal")


@pytest.mark.parametrize("kind", ["audit", "brief", "model-card"])
def test_page_1_of_every_document_says_so(kind: str) -> None:
    text = bytes(CONSTANT.render("markdown", template=kind)).decode()
    opening = " ".join(text.partition("## ")[2].split())[:1500]
    assert "The model states no uncertainty. The audit assumes a normal distribution with constant spread" in opening
    assert "from residuals of 5-fold cross-validation on 300 training observations." in opening


def test_the_limits_say_what_it_means() -> None:
    text = " ".join(bytes(CONSTANT.render("markdown")).decode().split())
    assert "The predictive uncertainty is an assumption of this audit" in text
    assert "Its spread is the same for every observation" in text


def test_the_run_records_it_and_is_read_back() -> None:
    facts = SubjectFacts.of(CONSTANT.run).assumption
    assert facts is not None
    assert (facts.form, facts.source, facts.scale) == ("normal", "cross_validation", "constant")
    assert (facts.n, facts.n_splits) == (300, 5)
    assert facts.spread == pytest.approx(np.sqrt(np.mean(SPREAD**2)), rel=0.15)


def test_a_spread_that_fails_is_to_be_modelled_and_then_to_have_another_form() -> None:
    (finding,) = [f for outcome in CONSTANT.run.outcomes for f in outcome.findings if f.code == "UQ101"]
    assert "residuals=uq.Residuals(scale='modelled')" in finding.remedy
    modelled = audited(uq.Residuals(scale="modelled"), previous=CONSTANT)
    graver = [f for outcome in modelled.run.outcomes for f in outcome.findings if f.code == "UQ101"]
    assert all("form='empirical'" in f.remedy for f in graver)
    assert modelled.run.changes is not None
    (change,) = [change for change in modelled.run.changes.inputs if change.what == "assumption"]
    assert "constant spread" in change.before
    assert "modelled by small boosted trees" in change.now


def test_a_model_with_its_own_uncertainty_says_nothing_of_it() -> None:
    subject = uq.explain(lambda X: Normal(MODEL.predict(X), 2.0), X[300:], Y[300:])
    text = bytes(uq.audit(subject, **FAST).render("markdown")).decode()
    assert "assumption of this audit" not in text
    assert "The audit assumes" not in text
