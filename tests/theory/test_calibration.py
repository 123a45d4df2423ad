"""What the calibration numbers must be: algebra first, then their behaviour over simulated data sets."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn.metrics import log_loss, roc_auc_score

from uq_report import testing
from uq_report.checks.reading import two_sided
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import NLL
from uq_report.core.model.sampling import Sampling, share_interval
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.statistics.score_intervals import auc_rows
from uq_report.core.statistics.verdicts import holm
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical, Normal, NormalMixture, Poisson
from uq_report.evidence.run import Run
from uq_report.methods.calibration.check import CalibrationGate
from uq_report.methods.calibration.explain import Calibration
from uq_report.methods.calibration.recalibration import class_gain, shape_gain
from uq_report.methods.calibration.scores import (
    brier_rows,
    class_baseline,
    class_tests,
    confidence_gap,
    coverage_gap,
    crps_baseline,
    crps_test,
    pit_tests,
    uniform_distance,
)
from uq_report.methods.calibration.tables import bins_of

RNG = np.random.default_rng


def equal(n: int) -> FloatArray:
    return np.full(n, 1 / n)


class TestConfidenceGap:
    """E_q[-log q(Y)] = H(q): the gap has expectation 0 when y follows q."""

    def test_categorical_by_enumeration(self) -> None:
        p = RNG(0).dirichlet([1, 2, 3], 20)
        q = Categorical(p)
        gaps = np.stack([confidence_gap(q, np.full(20, c)) for c in range(3)], axis=1)
        np.testing.assert_allclose((p * gaps).sum(axis=1), 0, atol=1e-12)

    def test_normal_by_quadrature(self) -> None:
        nodes, weights = np.polynomial.hermite_e.hermegauss(20)
        q = Normal([1.0, -3.0], [0.1, 7.0])
        gaps = np.stack([confidence_gap(q, q.loc + q.scale * z) for z in nodes], axis=1)
        np.testing.assert_allclose(gaps @ weights / weights.sum(), 0, atol=1e-12)

    def test_poisson_by_summation(self) -> None:
        q = Poisson([0.3, 4.0])
        counts = np.arange(60.0)
        gaps = np.stack([confidence_gap(q, np.full(2, k)) for k in counts], axis=1)
        mass = stats.poisson.pmf(counts, np.array([[0.3], [4.0]]))
        np.testing.assert_allclose((mass * gaps).sum(axis=1), 0, atol=1e-10)

    def test_too_small_a_spread_costs_its_divergence(self) -> None:
        """Normal with sd r of the truth: E G = (1/r² - 1)/2."""
        y = RNG(0).normal(size=400_000)
        gap = confidence_gap(Normal(np.zeros(400_000), 0.85), y)
        assert gap.mean() == pytest.approx((1 / 0.85**2 - 1) / 2, abs=4 * gap.std() / 632)

    @pytest.mark.parametrize(("spread", "n", "share"), [(0.85, 100, 0.5), (0.85, 1000, 1.0), (1.0, 200, 0.06)])
    def test_its_t_test(self, spread: float, n: int, share: float) -> None:
        """An sd 15% too small is found in half of the samples of 100 rows and in all of 1000; size 5 to 7%."""
        z = RNG(0).normal(size=(1000, n)) / spread
        gap = (z**2 - 1) / 2
        mean, error = Sampling(equal(n), n).mean(gap)
        found = [two_sided(m, e, n - 1) <= 0.05 for m, e in zip(mean, error, strict=True)]
        assert np.mean(found) == pytest.approx(share, abs=0.06)


class TestScores:
    def test_brier_and_log_loss_are_scikit_learns(self) -> None:
        rng = RNG(0)
        p, y = rng.dirichlet([1, 1, 1], 50), rng.integers(0, 3, 50)
        assert brier_rows(p, y).mean() == pytest.approx(((p - np.eye(3)[y]) ** 2).sum(axis=1).mean(), abs=1e-12)
        assert -Categorical(p).log_prob(y).mean() == pytest.approx(log_loss(y, p), abs=1e-12)

    def test_auc_with_ties(self) -> None:
        rng = RNG(1)
        score, event = rng.integers(0, 5, 80) / 4, rng.random(80) < 0.4
        assert auc_rows(score, event, equal(80)).mean() == pytest.approx(roc_auc_score(event, score), abs=1e-12)
        weights = rng.integers(1, 4, 80) / 160
        theirs = roc_auc_score(event, score, sample_weight=weights)
        weights = weights / weights.sum()
        assert weights @ auc_rows(score, event, weights) == pytest.approx(theirs, abs=1e-12)

    def test_auc_standard_error_is_the_spread_over_samples(self) -> None:
        rng = RNG(0)
        events = rng.random((400, 150)) < 0.3
        scores = rng.normal(size=(400, 150)) + events
        rows = [auc_rows(score, event, equal(150)) for score, event in zip(scores, events, strict=True)]
        claimed = np.mean([r.std(ddof=1) / np.sqrt(150) for r in rows])
        assert claimed == pytest.approx(np.std([r.mean() for r in rows]), rel=0.12)

    def test_baselines_leave_the_row_out(self) -> None:
        y = np.array([0, 0, 1, 2, 2, 2])
        found = class_baseline(y, 4, equal(6), None)
        for i in range(6):
            counts = np.bincount(np.delete(y, i), minlength=4) + 0.5
            np.testing.assert_allclose(found[i], counts / counts.sum(), rtol=1e-12)

    def test_baselines_of_train(self) -> None:
        found = class_baseline(np.array([0, 1]), 3, equal(2), np.array([0, 0, 1]))
        np.testing.assert_allclose(found, np.tile(np.array([2.5, 1.5, 0.5]) / 4.5, (2, 1)))

    @pytest.mark.parametrize("train", [True, False])
    def test_crps_baseline_is_the_empirical_distribution(self, train: bool) -> None:
        rng = RNG(0)
        y, z = rng.normal(size=12), rng.integers(0, 4, 9).astype(float)
        found = crps_baseline(y, z if train else None)
        for i in range(12):
            values = z if train else np.delete(y, i)
            spread = np.abs(values[:, None] - values).mean() / 2
            assert found is not None
            assert found[i] == pytest.approx(np.abs(values - y[i]).mean() - spread, abs=1e-12)

    def test_one_row_has_no_other_rows(self) -> None:
        assert crps_baseline(np.array([1.0]), None) is None


class TestMonteCarlo:
    def test_uniform_distance_is_the_wasserstein_distance(self) -> None:
        u = RNG(0).random((3, 7))
        fine = (np.arange(400_000) + 0.5) / 400_000
        expected = [stats.wasserstein_distance(row, fine) for row in u]
        np.testing.assert_allclose(uniform_distance(u, equal(7)), expected, atol=1e-5)
        weights = np.array([1.0, 2, 1, 3, 1, 1, 1]) / 10
        repeated = np.repeat(u, [1, 2, 1, 3, 1, 1, 1], axis=1)
        np.testing.assert_allclose(uniform_distance(u, weights), uniform_distance(repeated, equal(10)), atol=1e-12)

    def test_coverage_gap(self) -> None:
        u = np.array([[0.5] * 10, [0.01] * 10])
        np.testing.assert_allclose(coverage_gap(u, equal(10)), [0.5, 0.95])

    def test_crps_of_draws_is_the_fair_form(self) -> None:
        """With 999 draws the statistic is near the closed form, and its null mean near ½ E|X - X'| = σ/√π."""
        q = Normal(np.zeros(300), np.ones(300))
        y = RNG(1).normal(size=300)
        test = crps_test(q, y, equal(300), RNG(2), 999)
        assert test.observed == pytest.approx(q.crps(y).mean(), abs=0.01)
        assert test.null.mean() == pytest.approx(1 / np.sqrt(np.pi), abs=0.005)

    @pytest.mark.parametrize(("n", "expected"), [(200, 0.073), (1000, 0.033), (5000, 0.0146)])
    def test_ece_of_a_perfect_model_is_not_zero(self, n: int, expected: float) -> None:
        """Ten bins of n/10: Σ E|N(0, p̄(1-p̄)·10/n)|/10 = √(2/π)·√(10/(6n)) for p uniform, about 0.07 at 200."""
        q = Categorical(np.column_stack([1 - (p := RNG(0).random(n)), p]))
        bins = bins_of(p, 10)
        tests, _ = class_tests(q, q.sample(RNG(1), 1)[0], equal(n), np.eye(10)[bins], RNG(2), 400)
        ece = {t.item: t for t in tests}["ece"]
        assert ece.null.mean() == pytest.approx(expected, rel=0.06)
        assert ece.null.mean() == pytest.approx(np.sqrt(2 / np.pi * 10 / 6 / n), rel=0.12)

    @pytest.mark.parametrize("hits", [0, 60])
    def test_too_good_a_brier_score_rejects_as_too_bad_a_one_does(self, hits: int) -> None:
        """60 rows of 70% of which all are events, or none: nothing that is drawn comes near on either side."""
        q = Categorical(np.column_stack([np.full(60, 0.3), np.full(60, 0.7)]))
        y = (np.arange(60) < hits).astype(np.int64)
        tests, _ = class_tests(q, y, equal(60), np.ones((60, 1)), RNG(0), 199)
        brier = next(test for test in tests if test.item == "brier")
        assert brier.observed == pytest.approx(2 * (0.09 if hits else 0.49))
        assert brier.p_value == pytest.approx(2 / 200)

    def test_p_values_are_uniform_when_y_follows_q(self) -> None:
        """300 data sets: each share of p <= 0.1 within four standard errors of 0.1."""
        rng = RNG(0)
        p_values = []
        for _ in range(300):
            prob = rng.random(60)
            q = Categorical(np.column_stack([1 - prob, prob]))
            member = np.eye(5)[bins_of(prob, 5)]
            classes, _ = class_tests(q, q.sample(rng, 1)[0], equal(60), member, rng, 99)
            normal = Normal(rng.normal(size=60), np.exp(rng.normal(size=60)))
            y = normal.sample(rng, 1)[0]
            numbers = [crps_test(normal, y, equal(60), rng, 99), *pit_tests(normal.cdf(y), equal(60), rng, 99)]
            p_values.append([t.p_value for t in (*classes, *numbers)])
        shares = (np.array(p_values) <= 0.1).mean(axis=0)
        assert (np.abs(shares - 0.1) < 4 * np.sqrt(0.09 / 300)).all()

    def test_holm(self) -> None:
        np.testing.assert_allclose(holm(np.array([0.04, 0.01, 0.5, 0.03])), [0.09, 0.04, 0.5, 0.09])


class TestRecalibration:
    @pytest.mark.parametrize(
        ("law", "share"),
        [(stats.t(3), 0.127), (stats.gamma(1), 0.39), (stats.gamma(4), 0.08)],
        ids=["t3", "gamma(1)", "gamma(4)"],
    )
    def test_what_is_recovered_of_a_shape(self, law: Any, share: float) -> None:
        """The best normal for noise of another shape costs .195, .42 and .09 nats; the gain is a lower bound of it."""
        y = law.rvs(40_000, random_state=RNG(0))
        q = Normal(np.full(40_000, law.mean()), law.std())
        u = q.cdf(y)
        gain = shape_gain(u, u, u, equal(40_000), np.arange(40_000) % 5)
        truth = law.logpdf(y) - q.log_prob(y)
        assert gain.mean() == pytest.approx(share, abs=0.02)
        assert gain.mean() < truth.mean()

    def test_gain_of_a_spread_too_small(self) -> None:
        """sd r of the truth: E gain = (1/r² - 1)/2 + log r."""
        y = RNG(0).normal(size=100_000)
        u = Normal(np.zeros(100_000), 0.7).cdf(y)
        gain = shape_gain(u, u, u, equal(100_000), np.arange(100_000) % 5)
        assert gain.mean() == pytest.approx((1 / 0.49 - 1) / 2 + np.log(0.7), abs=4 * gain.std() / 316)

    def test_counts_are_compared_by_mass(self) -> None:
        """The recalibrated masses of a Poisson sum to 1: E_q[exp(gain)] = 1 with the other rows fixed."""
        q, counts = Poisson(np.full(50, 3.0)), np.arange(50.0)
        lower, upper = q.cdf(counts - 1), q.cdf(counts)
        pit = np.r_[(lower + upper)[:25] / 2, RNG(0).random(25)]
        fold = np.r_[np.zeros(25), np.ones(25)].astype(np.int64)
        gain = shape_gain(lower, upper, pit, equal(50), fold)[:25]
        assert (upper - lower)[:25] @ np.exp(gain) == pytest.approx(1, abs=1e-9)

    @pytest.mark.parametrize(("m", "s"), [(-0.5, 1.0), (0.3, 1.4), (0.0, 1.0)])
    def test_of_censored_rows_the_whole_gain_is_found(self, m: float, s: float) -> None:
        """z ~ N(m, s²), seen up to c only: the gain is that of the true m and s, though most rows are censored.

        A draw of the PIT above a censoring time comes from the model, and would hide most of what is wrong.
        """
        n, rng = 20_000, RNG(0)
        z, c = m + s * rng.normal(size=n), rng.uniform(-2.0, 0.0, n)
        event = z < c
        lower = special.ndtr(np.minimum(z, c))
        upper = np.where(event, lower, 1.0)
        pit = lower + rng.random(n) * (upper - lower)
        found = shape_gain(lower, upper, pit, equal(n), np.arange(n) % 5)
        density = stats.norm.logpdf(z, m, s) - stats.norm.logpdf(z)
        ideal = np.where(event, density, stats.norm.logsf(c, m, s) - stats.norm.logsf(c))
        assert event.mean() < 0.5
        assert found.mean() == pytest.approx(ideal.mean(), abs=3e-4)  # 2 parameters cost about 2/(2n)

    def test_a_fold_without_an_event_stays_near_the_model(self) -> None:
        """Only the prior holds m and s there: without it m would grow without end."""
        lower = np.full(40, 0.1)
        gain = shape_gain(lower, np.ones(40), np.full(40, 0.5), equal(40), np.arange(40) % 5)
        assert (gain > 0).all()
        assert (0.9 * np.exp(gain) < 0.9999).all()

    def test_temperature_is_undone(self) -> None:
        rng = RNG(0)
        logits = rng.normal(size=(4000, 3)) * 1.5
        truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        sharp = truth**2 / (truth**2).sum(axis=1, keepdims=True)
        y = Categorical(truth).sample(rng, 1)[0]
        gain = class_gain(sharp, y, equal(4000), np.arange(4000) % 5)
        possible = Categorical(truth).log_prob(y) - Categorical(sharp).log_prob(y)
        assert possible.mean() > 0.1
        assert gain.mean() == pytest.approx(possible.mean(), abs=0.003)  # 3 parameters cost about 3/(2n)

    def test_a_calibrated_model_gains_nothing(self) -> None:
        rng = RNG(0)
        p = rng.dirichlet([1, 1], 2000)
        gain = class_gain(p, Categorical(p).sample(rng, 1)[0], equal(2000), np.arange(2000) % 5)
        assert -0.005 < gain.mean() < 0.002

    def test_zero_probabilities_stay_finite_unless_observed(self) -> None:
        p = np.tile([[1.0, 0.0], [0.5, 0.5]], (30, 1))
        y = np.zeros(60, dtype=np.int64)
        assert np.isfinite(class_gain(p, y, equal(60), np.arange(60) % 5)).all()
        y[0] = 1
        assert np.isposinf(class_gain(p, y, equal(60), np.arange(60) % 5)[0])


class TestSampling:
    def test_share_interval_is_scipys_exact_one(self) -> None:
        for k, n in ((0, 10), (3, 10), (10, 10)):
            theirs = stats.binomtest(k, n).proportion_ci(0.9, "exact")
            assert share_interval(k / n, n, 0.9) == pytest.approx((theirs.low, theirs.high), abs=1e-10)

    def test_effective_n_of_plain_rows_is_n(self) -> None:
        plain = Sampling(equal(40), 40)
        hits = (np.arange(40) < 11).astype(float)
        assert plain.effective_n(*map(float, plain.mean(hits))) == pytest.approx(40)
        copied = Sampling(equal(120), 40, np.repeat(np.arange(40), 3))
        assert copied.effective_n(*map(float, copied.mean(np.repeat(hits, 3)))) == pytest.approx(40)
        assert copied.effective_n(0.0, 0.0) == 40


def gate(subject: Subject, seed: int = 0, n_draws: int = 199) -> str:
    """Return "passed" or the code of the finding."""
    engine = Engine(subject, {"nll": NLL}, seed=seed).bound("calibration")
    results = Calibration(n_draws=n_draws).explain(subject, engine, {})
    outcome = CalibrationGate().check(
        Run(as_of="2026-01-01", subject={}, settings={}, environment={}, results=tuple(results))
    )
    return outcome.findings[0].code if outcome.findings else outcome.state


def normal_subject(n: int, seed: int, spread: float = 1.0) -> Subject:
    """Return a model whose sd is `spread` of the truth, and no other fault."""
    rng = RNG(seed)
    X = rng.normal(size=(n, 1))
    model = testing.KnownLinear((1.0,), (0.0,))
    return make_subject(model, testing.KnownTruth(), X, X[:, 0] + rng.normal(size=n) / spread)


class TestGate:
    """Size and power over simulated data sets, tolerances four binomial standard errors."""

    def test_size_on_calibrated_models(self) -> None:
        failures = [gate(normal_subject(200, seed), n_draws=99) == "UQ101" for seed in range(100)]
        failures += [gate(testing.logistic_subject(200, seed), n_draws=99) == "UQ101" for seed in range(100)]
        assert np.mean(failures) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)

    def test_a_spread_15_percent_too_small_is_found(self) -> None:
        assert {gate(normal_subject(1000, seed, 0.85)) for seed in range(20)} == {"UQ101"}

    def test_few_rows_cannot_be_judged(self) -> None:
        assert gate(normal_subject(60, 0)) == "UQ102"

    def test_many_rows_of_a_calibrated_model_pass(self) -> None:
        assert gate(normal_subject(5000, 0)) == "passed"

    def test_copied_rows_do_not_make_evidence(self) -> None:
        """Every row five times: as clusters the gate keeps its size; taken as rows it would fail far too often."""
        failures = {True: 0, False: 0}
        for seed in range(60):
            one = normal_subject(60, seed)
            index = np.repeat(np.arange(60), 5)
            assert one.y is not None
            copied = make_subject(one.model, one.adapter, np.asarray(one.X)[index], one.y[index], clusters=index)
            failures[True] += gate(copied, n_draws=99) == "UQ101"
            failures[False] += gate(replace(copied, clusters=None), n_draws=99) == "UQ101"
        assert failures[True] <= 60 * (0.05 + 4 * np.sqrt(0.05 * 0.95 / 60))
        assert failures[False] > 25


@pytest.mark.parametrize("family", ["poisson", "mixture"])
def test_other_families_are_calibrated_under_their_own_draws(family: str) -> None:
    """40 data sets each: no more failures than a 5% gate allows, and the PIT is uniform."""
    rng = RNG(0)
    failures = []
    for _ in range(20):
        q = _draw(family, rng, 150)
        subject = make_subject(q, Given(), np.arange(150.0)[:, None], q.sample(rng, 1)[0].astype(float))
        failures.append(gate(subject, n_draws=99) == "UQ101")
    assert sum(failures) <= 5  # P(> 5 of 20 at 5%) = 0.0003


def _draw(family: str, rng: np.random.Generator, n: int) -> Distribution:
    if family == "poisson":
        return Poisson(np.exp(rng.normal(size=n)))
    return NormalMixture(rng.normal(size=(n, 3)), np.exp(0.5 * rng.normal(size=(n, 3))))


class Given(testing.KnownTruth):
    """Returns the distributions themselves; the only column is the row's number."""

    def predict(self, model: Any, X: Any) -> Any:
        return model.take(np.asarray(X)[:, 0].astype(int))


def test_randomised_pit_of_counts_is_uniform() -> None:
    rng = RNG(0)
    q = Poisson(np.full(6_000, 1.3))
    y = q.sample(rng, 1)[0].astype(float)
    subject = make_subject(q, Given(), np.arange(6_000.0)[:, None], y)
    results = Calibration(n_draws=99).explain(subject, Engine(subject, {"nll": NLL}).bound("calibration"), {})
    found = {r.id: r.estimates for r in results}
    levels: pd.Series[Any] = found["calibration.coverage"].set_index("x")["estimate"]
    np.testing.assert_allclose(levels, levels.index, atol=4 * 0.5 / np.sqrt(6_000))
    np.testing.assert_allclose(found["calibration.pit"]["estimate"], 1, atol=4 * 3 / np.sqrt(6_000))
