"""Claimed and delivered importance: the identity behind it, its exact test, and what the check says of real models.

For a proper score S with divergence d: E_{y~q}[S(q̃, y) - S(q, y)] = d(q, q̃), so both are equal in expectation if y
follows q, whatever the model, the features or their dependence.
"""

import os
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression

import uq_report as uq
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.predictive import Distribution
from uq_report.distributions import Categorical, Normal, Poisson
from uq_report.evidence import ids
from uq_report.evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, Claims
from uq_report.evidence.view import by_feature, largest_first
from uq_report.methods.pfi.claims import Claiming, score_of
from uq_report.methods.shared.terms import ChangedMeasures, ShuffledRows
from uq_report.testing import KnownLinear, KnownTruth, linear_subject, logistic_subject

REPS = int(os.environ.get("UQ_STUDY_REPS", "20"))
MIXED = np.array([1.0, -1.0, 0.8, -0.5, 0.0, 0.0])


def claims(subject: Subject, **options: Any) -> Claims:
    return Claims.from_result(uq.importance(subject, n_repeats=10, train=False, **options)[ids.PFI_CLAIMS].result)


def pairs() -> list[tuple[Distribution, Distribution]]:
    rng = np.random.default_rng(0)
    p, other = rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), 50)
    zero = p.copy()
    zero[0] = [0.0, 0.4, 0.6]
    mean, scale = rng.normal(size=50), rng.uniform(0.5, 2, 50)
    return [
        (Categorical(p), Categorical(other)),
        (Categorical(zero), Categorical(other)),
        (Normal(mean, scale), Normal(mean + 1, scale * 1.3)),
        (Poisson(np.exp(mean)), Poisson(np.exp(mean) + 0.5)),
    ]


def expected_statistics(q: Distribution, score: Any) -> Any:
    """Return E_{y~q} of the score's statistics, shape (P, n), in closed form."""
    if isinstance(q, Categorical):
        return q.probabilities.T[1:]
    if isinstance(q, Normal):
        return np.stack([q.mean(), q.variance() + q.mean() ** 2])
    return q.mean()[None]


@pytest.mark.parametrize(("q", "shuffled"), pairs(), ids=["nll", "brier", "normal", "Poisson"])
def test_the_coefficients_are_the_loss_less_its_expectation_and_that_is_the_divergence(
    q: Distribution, shuffled: Distribution
) -> None:
    """The rise of the loss is the divergence plus what the coefficients make of y less its expectation."""
    score = score_of(q)
    assert score is not None
    assert score.statistics is not None
    excess = np.stack([m.rows(shuffled, None, None) - m.rows(q, None, None) for m in score.coefficients])
    y = q.sample(np.random.default_rng(1), 1)[0]
    rise = score.loss.rows(shuffled, y, None) - score.loss.rows(q, y, None)
    surprise = (excess * (score.statistics(y) - expected_statistics(q, score))).sum(axis=0)
    divergence = score.divergence.rows(shuffled, None, q)
    np.testing.assert_allclose(divergence + surprise, rise, rtol=1e-9, atol=1e-9)


def test_a_class_without_probability_is_claimed_in_the_brier_score() -> None:
    scores = [score_of(q) for q, _ in pairs()[:2]]
    assert [score.loss.name for score in scores if score is not None] == ["nll", "brier"]


def test_a_shift_of_a_normal_mean_claims_half_its_square() -> None:
    """N(x1, 1): exchanging x1 costs E[(x - x̃)²]/2, which over all pairs is the variance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = KnownLinear((1.0, 0.0), (0.0, 0.0))
    y = model.distribution(X).sample(rng, 1)[0]
    view = claims(make_subject(model, KnownTruth(), X, y), exact=True)
    claimed = by_feature(view.part(CLAIMED))
    assert claimed["x0"].estimate == pytest.approx(X[:, 0].var(), rel=1e-9)
    assert claimed["x1"].estimate == 0
    assert claimed[ALL_FEATURES].estimate == pytest.approx(X[:, 0].var(), rel=1e-9)


def test_delivered_is_the_likelihood_importance_of_the_same_shuffles() -> None:
    results = uq.importance(logistic_subject(120), n_repeats=5)
    pfi = results[ids.PFI].estimates
    delivered = by_feature(Claims.from_result(results[ids.PFI_CLAIMS].result).part(DELIVERED))
    for line in pfi[pfi["measure"] == "nll"].itertuples():
        assert delivered[str(line.feature)].estimate == pytest.approx(line.estimate, abs=1e-12)


def test_difference_and_share_are_those_of_the_two() -> None:
    view = claims(linear_subject(150))
    claimed, delivered = (by_feature(view.part(item)) for item in (CLAIMED, DELIVERED))
    for line in view.part(DIFFERENCE):
        K, L = claimed[line.feature].estimate, delivered[line.feature].estimate
        assert line.estimate == pytest.approx(K - L, abs=1e-12)
        if view.margin < K:
            assert line.share == pytest.approx(L / K)


def test_without_outcomes_the_claim_is_the_same_and_nothing_is_delivered() -> None:
    subject = linear_subject(60)
    blind = claims(make_subject(subject.model, subject.adapter, subject.X))
    assert {line.item for line in blind.lines} == {CLAIMED}
    assert ALL_FEATURES in blind.features
    known = by_feature(claims(subject).part(CLAIMED))
    for line in blind.lines:
        assert (line.estimate, line.std_error) == pytest.approx(
            (known[line.feature].estimate, known[line.feature].std_error), abs=1e-12
        )


def test_an_audit_without_outcomes_ranks_by_what_is_claimed() -> None:
    subject = logistic_subject(80)
    blind = make_subject(subject.model, subject.adapter, subject.X)
    assert uq.importance(blind, n_repeats=3)[ids.PFI_CLAIMS].plot().axes
    run = uq.audit(blind, explainers=["pfi"], checks=["claims"], as_of="2026-01-01", progress=False)
    text, full = (run.render("markdown", appendix=appendix).decode() for appendix in ("short", "full"))
    front = text.partition("\n## Conclusion\n")[2].partition("\n## A ")[0]
    assert "Without outcomes the realised importance is not known." in front
    assert "What drives the loss is unknown: no outcomes were given." in front.partition("\n## 1 ")[0]
    view = Claims.find(run.run)
    assert view is not None
    lines = [line for line in largest_first(view.part(CLAIMED)) if line.feature != ALL_FEATURES]
    rows = re.findall(r"\n\| (\w) \| model-implied \|", full)
    assert sorted(rows) == sorted(line.feature for line in lines)
    for told in (text, full):
        assert "nan" not in told.lower().split()
    outcome = next(one for one in run.run.outcomes if one.check == "claims")
    assert outcome.state == "not_applicable"
    assert "needs outcomes" in outcome.reason


def test_a_group_claims_more_than_its_features() -> None:
    subject = linear_subject(120)
    first, second = subject.features[:2]
    claimed = by_feature(claims(replace(subject, groups={"both": (first, second)})).part(CLAIMED))
    assert claimed["both"].estimate > max(claimed[first].estimate, claimed[second].estimate)
    assert claimed["both"].has_interval


@pytest.mark.parametrize(("y", "what"), [(np.array([0, 1, 1, 0]), "divergence or the loss"), (None, "divergence")])
def test_rows_with_an_infinite_divergence_are_counted_and_none_is_dropped(y: Any, what: str) -> None:
    p = np.array([[0.5, 0.5], [0.4, 0.6], [0.3, 0.7], [0.6, 0.4]])
    rows = ShuffledRows((), np.zeros((0, 4)), np.zeros(4), np.ones(4), None)
    engine: Any = SimpleNamespace(y=y, unchanged=lambda measures: np.zeros((len(measures), 4)))
    score = score_of(Categorical(p))
    assert score is not None
    claiming = Claiming.of(score, engine, rows)
    T = np.zeros((len(claiming.compared), 3, 4))
    T[0, 1, 2] = T[-1, 0, 2] = T[0, 0, 3] = np.inf
    claiming.add("x", ChangedMeasures(T, np.tile(np.arange(4), (3, 1))), np.zeros((3, 4)))
    assert claiming.omissions[0].reason.startswith(f"the {what} is infinite for 2 of 4 observations")
    assert not claiming.claims


def generated(rng: np.random.Generator, n: int, beta: Any, shift: float = 0.3) -> tuple[Any, Any]:
    z = rng.normal(size=(n, 1))
    X = np.sqrt(0.7) * z + np.sqrt(0.3) * rng.normal(size=(n, len(beta)))
    return X, (rng.random(n) < 1 / (1 + np.exp(-(X @ beta + shift)))).astype(int)


def findings(model: Any, X: Any, y: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    options = {"pfi": {"n_repeats": 10, "train": False}}
    run = uq.audit(
        uq.explain(model, X, y),
        explainers=["pfi"],
        checks=["claims"],
        options=options,
        as_of="2026-01-01",
        fast_paths=False,
        progress=False,
    )
    return [(f.code, f.severity, f.features) for f in run.run.findings]


def test_over_fitting_and_a_column_that_leaks_in_training_only_are_named() -> None:
    rng = np.random.default_rng(3)
    X, y = generated(rng, 600, MIXED)
    few, few_y = generated(rng, 300, MIXED)
    gross = HistGradientBoostingClassifier(max_iter=100, min_samples_leaf=5, random_state=0).fit(few, few_y)
    assert ("UQ401", "high") in [one[:2] for one in findings(gross, X, y)]
    train, train_y = generated(rng, 3000, MIXED)
    train[:, 5] = train_y + 0.1 * rng.normal(size=len(train_y))
    leaking = LogisticRegression().fit(train, train_y)
    assert ("UQ401", "high", ("x5",)) in findings(leaking, X, y)


def test_a_model_that_claims_nothing_is_not_accused() -> None:
    rng = np.random.default_rng(4)
    X, y = generated(rng, 200, MIXED)
    assert findings(DummyClassifier(strategy="prior").fit(X, y), X, y) == []


HONEST = {
    "positive": (np.array([1.0, 0.8, 0.5, 0.3, 0.0, 0.0]), 0.3, LogisticRegression()),
    "mixed": (MIXED, 0.3, LogisticRegression()),
    "rare": (MIXED, -3.3, LogisticRegression()),
    "forest": (MIXED, 0.3, RandomForestClassifier(60, min_samples_leaf=20, random_state=0)),
    "boosting": (MIXED, 0.3, HistGradientBoostingClassifier(max_iter=60, learning_rate=0.05, random_state=0)),
}


@pytest.mark.study
@pytest.mark.parametrize("design", HONEST)
def test_honest_fitted_models_are_not_said_to_over_claim(design: str) -> None:
    beta, shift, model = HONEST[design]
    accused = 0
    for rep in range(REPS):
        rng = np.random.default_rng([rep, len(design)])
        train, X = generated(rng, 5000, beta, shift), generated(rng, 600, beta, shift)
        accused += any(severity != "observation" for _, severity, _ in findings(model.fit(*train), *X))
    assert accused <= max(2, 0.12 * REPS)


@pytest.mark.study
@pytest.mark.parametrize("n", [50, 200])
def test_the_exact_test_keeps_its_level_when_y_follows_the_model(n: int) -> None:
    rejected = 0
    for rep in range(8 * REPS):
        lines = claims(logistic_subject(n, seed=rep)).part(DIFFERENCE)
        rejected += next(line.p_value for line in lines if line.feature == ALL_FEATURES) <= 0.05
    assert rejected <= 8 * REPS * 0.05 + 3 * np.sqrt(8 * REPS * 0.05 * 0.95)


@pytest.mark.study
def test_a_fitted_bayesian_linear_model_delivers_what_it_claims() -> None:
    shares = []
    for rep in range(REPS):
        rng = np.random.default_rng(rep)
        X = rng.normal(size=(2600, 4))
        y = X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=2600)
        subject = uq.explain(BayesianRidge().fit(X[:2000], y[:2000]), X[2000:], y[2000:])
        shares.append(by_feature(claims(subject).part(DIFFERENCE))[ALL_FEATURES].share)
    assert np.mean(shares) == pytest.approx(1, abs=0.1)
