"""Selective prediction: the algebra by hand, its limits, what is refused, and what a figure and the tables show."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import uq_report as uq
from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.predictive import DecisionRule
from uq_report.core.statistics.score_intervals import auc_rows, normal_quantile, wilson
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, Draws, Intervals, Laplace, Normal, StudentT, Survival
from uq_report.evidence.selective import (
    FAILURE_AUROC,
    GAIN,
    IMPLIED_GAIN,
    IMPLIED_LOSS,
    KEPT_LOSS,
    LOSS,
    NORMALISED_GAIN,
    REFERRAL_RATE,
    RiskCoverageView,
    SelectiveGroups,
    SelectiveView,
)
from uq_report.evidence.view import of_measure
from uq_report.methods.selective.explain import (
    Assessed,
    CaseLosses,
    RiskCoverage,
    Selective,
    class_losses,
    expected_distance,
    number_losses,
    order_statistic,
)
from uq_report.methods.selective.figure import draw
from uq_report.methods.shared.estimates import band_quantile

MEASURES = testing.measures()
RNG = np.random.default_rng


def even(n: int) -> Sampling:
    return Sampling(np.full(n, 1 / n), n)


def curve(loss: Any, uncertainty: Any = None, sampling: Sampling | None = None) -> RiskCoverage:
    losses = np.asarray(loss, dtype=float)
    u = np.arange(len(losses)) if uncertainty is None else uncertainty
    return RiskCoverage(np.asarray(u, dtype=float), losses, sampling or even(len(losses)))


def aurc(one: RiskCoverage) -> float:
    """The mean of R over all numbers of kept rows, which the package never prints."""
    return float(np.mean([one.risk(k / one.n) for k in range(1, one.n + 1)]))


FIVE = [0, 0, 1, 0, 1]
TEN = [0, 0, 0, 1, 0, 0, 1, 0, 1, 1]


class TestTheExamples:
    """The exact examples: rows in order of their uncertainty, then the same rows with ties."""

    def test_without_ties(self) -> None:
        one = curve(FIVE)
        assert [one.risk(k / 5) for k in range(1, 6)] == pytest.approx([0, 0, 1 / 3, 1 / 4, 2 / 5])
        assert aurc(one) == pytest.approx(0.196667, abs=1e-6)
        assert one.augrc == pytest.approx(0.12)
        assert float(np.mean([one.oracle(k / 5) for k in range(1, 6)])) == pytest.approx(0.13)
        rows = auc_rows(one.uncertainty, one.loss > 0, one.weights)
        assert rows.mean() == pytest.approx(5 / 6)

    def test_with_ties(self) -> None:
        one = curve(FIVE, [1, 1, 2, 2, 3])
        assert aurc(one) == pytest.approx(0.163333, abs=1e-6)
        assert one.augrc == pytest.approx(0.10)
        assert auc_rows(one.uncertainty, one.loss > 0, one.weights).mean() == pytest.approx(11 / 12)
        assert one.kept(0.6).tolist() == [1, 1, 0.5, 0.5, 0]

    def test_at_eight_of_ten(self) -> None:
        one = curve(TEN)
        assert (one.risk(0.8), one.mean_loss, one.captured(0.8), one.loss_at(0.8)) == pytest.approx(
            (0.25, 0.4, 0.5, 0.4)
        )
        influence = one.risk_influence(0.8)
        assert np.square(influence).mean() / 10 == pytest.approx(0.024)
        kept = one.loss[:8]
        closed = (kept.var() / 0.8 + 0.2 / 0.8 * (one.loss_at(0.8) - 0.25) ** 2) / 10
        assert closed == pytest.approx(0.024)
        error = float(one.sampling.mean(influence)[1])
        assert 0.25 * 0.75 / error**2 == pytest.approx(7.03125)
        assert wilson(0.25, 7.03125, 1.96) == pytest.approx((0.066209, 0.610451), abs=1e-6)
        assert float(one.sampling.mean(one.saving_influence(0.8))[1]) == pytest.approx(0.081650, abs=1e-6)
        assert aurc(one) == pytest.approx(0.188571, abs=1e-6)

    def test_the_limits_of_the_risk_use_that_number(self) -> None:
        given = assessed(curve(TEN))
        assert given.risk_ends(0.8, 1.96) == pytest.approx((0.066209, 0.610451), abs=1e-6)


def assessed(one: RiskCoverage, *, classes: bool = True, implied: Any = None) -> Assessed:
    none = np.full(one.n, np.nan)
    expected = none if implied is None else np.asarray(implied, dtype=float)
    losses = CaseLosses(one.uncertainty, one.loss, expected, none, classes, ("u", "l"), "share of observations")
    return Assessed(losses, one.sampling, 0.95)


class TestIdentities:
    """Closed forms that hold for any rows."""

    @pytest.mark.parametrize("seed", range(4))
    def test_the_gain_is_a_covariance_and_follows_from_the_auroc(self, seed: int) -> None:
        rng = RNG(seed)
        one = curve(rng.random(80) < 0.3, rng.integers(0, 12, 80))
        assert one.gain == pytest.approx(np.cov(one.loss, one.place, ddof=0)[0, 1])
        assert one.gain == pytest.approx(one.gain_of(one.loss))
        r, a = one.mean_loss, auc_rows(one.uncertainty, one.loss > 0, one.weights).mean()
        assert one.augrc == pytest.approx(r * (1 - r) * (1 - a) + r**2 / 2)
        best = curve(one.loss, one.loss)
        assert best.augrc == pytest.approx(r**2 / 2)
        assert one.gain / best.gain == pytest.approx(2 * a - 1)

    @pytest.mark.parametrize("what", ["risk", "captured", "gain"])
    def test_an_influence_is_a_derivative(self, what: str) -> None:
        """Of a smooth loss: a little more weight on a row moves the quantity by its influence."""
        rng = RNG(3)
        n, share, eps = 4000, 0.7, 1e-4
        u = np.arange(n) / n
        loss = 0.3 + u
        weights = np.full(n, 1 / n)
        row = int(rng.integers(n))
        moved = (1 - eps) * weights + eps * (np.arange(n) == row)
        plain, other = (curve(loss, u, Sampling(w, n)) for w in (weights, moved))
        influence = {"risk": plain.risk_influence, "captured": plain.captured_influence}.get(what)
        values = {"risk": [c.risk(share) for c in (plain, other)], "gain": [plain.gain, other.gain]}
        values["captured"] = [c.captured(share) for c in (plain, other)]
        expected = plain.gain_influence[row] if influence is None else influence(share)[row]
        before, after = values[what]
        assert (after - before) / eps == pytest.approx(expected, abs=0.02)

    def test_influences_have_mean_zero(self) -> None:
        rng = RNG(5)
        one = curve(rng.random(90), rng.integers(0, 20, 90), Sampling(rng.random(90), 90).part(np.arange(90)))
        for influence in (
            one.risk_influence(0.8),
            one.saving_influence(0.8),
            one.captured_influence(0.8),
            one.augrc_influence,
            one.gain_influence,
        ):
            assert one.weights @ influence == pytest.approx(0.0, abs=1e-12)

    def test_a_weight_counts_as_copies_do(self) -> None:
        rng = RNG(6)
        loss, u, times = rng.random(30), rng.random(30), rng.integers(1, 4, 30)
        weighed = curve(loss, u, Sampling(times.astype(float), 30).part(np.arange(30)))
        copied = curve(np.repeat(loss, times), np.repeat(u, times))
        assert (weighed.gain, weighed.augrc) == pytest.approx((copied.gain, copied.augrc))
        share = float(np.cumsum(np.sort(times))[-1] // 2) / times.sum()
        assert weighed.risk(share) == pytest.approx(copied.risk(share))

    def test_keeping_all_is_the_mean(self) -> None:
        one = curve(TEN)
        assert one.risk(1.0) == one.mean_loss
        assert one.risk_influence(1.0) == pytest.approx(one.loss - one.mean_loss)
        assert one.captured(1.0) == pytest.approx(0.0)

    def test_a_random_order_has_no_gain_and_a_constant_uncertainty_exactly_none(self) -> None:
        constant = curve(TEN, np.ones(10))
        assert constant.gain == pytest.approx(0.0)
        assert constant.kept(0.8) == pytest.approx(np.full(10, 0.8))
        assert np.isnan(order_statistic(constant))
        assert np.isnan(order_statistic(curve(np.ones(10))))

    def test_the_order_is_tested_as_by_wilcoxon(self) -> None:
        rng = RNG(7)
        u, failed = rng.integers(0, 9, 60).astype(float), rng.random(60) < 0.3
        z = order_statistic(curve(failed, u))
        expected = stats.mannwhitneyu(u[failed], u[~failed], alternative="greater", use_continuity=False)
        assert stats.norm.sf(z) == pytest.approx(expected.pvalue, abs=1e-9)


class TestBand:
    def test_one_point_has_the_quantile_of_a_normal(self) -> None:
        one = curve(RNG(1).random(200) < 0.3)
        found = band_quantile(one.risk_influence(1.0)[None], one.sampling, 0.95, RNG(2), 20_000)
        assert found == pytest.approx(1.96, abs=0.05)

    def test_many_points_need_more_and_copies_in_clusters_do_not(self) -> None:
        one = curve(RNG(1).random(200) < 0.3, RNG(2).random(200))
        rows = np.stack([one.risk_influence(k / 20) for k in range(10, 21)])
        found = band_quantile(rows, one.sampling, 0.95, RNG(3), 4000)
        assert 2.2 < found < 2.8
        copies = Sampling(np.full(400, 1 / 400), 200, np.repeat(np.arange(200), 2))
        again = band_quantile(np.repeat(rows, 2, axis=1), copies, 0.95, RNG(3), 4000)
        assert again == pytest.approx(found, rel=1e-6)

    def test_without_any_error_there_is_no_band(self) -> None:
        one = curve(np.zeros(40))
        assert np.isnan(band_quantile(one.risk_influence(1.0)[None], one.sampling, 0.95, RNG(0), 99))


class TestLimits:
    def test_no_error_among_the_kept_counts_the_kept(self) -> None:
        given = assessed(curve([0] * 30 + [1] * 10))
        assert given.risk_ends(0.5, 1.96) == pytest.approx(wilson(0.0, 20, 1.96))

    def test_all_errors_referred_counts_the_errors(self) -> None:
        given = assessed(curve([0] * 30 + [1] * 10))
        assert given.captured_ends(0.75) == pytest.approx(wilson(1.0, 10, normal_quantile(0.95)))

    def test_an_effective_number_is_at_most_four_times_the_count(self) -> None:
        given = assessed(curve(TEN))
        tiny = np.full(10, 1e-9) * np.array([1, -1] * 5)
        assert given.share_ends(0.5, tiny, 8, 1.96) == pytest.approx(wilson(0.5, 32, 1.96))

    def test_other_losses_are_on_the_log_scale(self) -> None:
        rng = RNG(4)
        one = curve(rng.exponential(size=100), rng.random(100))
        given, error = assessed(one, classes=False), float(one.sampling.mean(one.risk_influence(0.8))[1])
        risk = one.risk(0.8)
        expected = (risk * np.exp(-1.96 * error / risk), risk * np.exp(1.96 * error / risk))
        assert given.risk_ends(0.8, 1.96) == pytest.approx(expected)
        lower, upper = given.captured_ends(0.8)
        assert lower < one.captured(0.8) < upper < 1

    def test_points_of_few_rows_are_left_out_and_the_band_begins_at_one_half(self) -> None:
        given = assessed(curve(RNG(8).random(40) < 0.4))
        points = given.points(2.5)
        assert [p["x"] for p in points] == [k / 20 for k in range(5, 21)]
        assert [np.isfinite(p["band_lower"]) for p in points] == [p["x"] >= 0.5 for p in points]
        for p in points[-11:]:
            assert p["band_lower"] < p["lower"] < p["estimate"] < p["upper"] < p["band_upper"]
        half = np.stack([given.curve.risk_influence(k / 20) for k in range(10, 21)])
        assert given.band(RNG(3), 99) == band_quantile(half, given.sampling, 0.95, RNG(3), 99)
        last = points[-1]
        assert (last["saved"], last["captured"], "saved_lower" in last) == (0.0, 0.0, False)

    def test_without_errors_nothing_is_captured(self) -> None:
        given = assessed(curve(np.zeros(40)))
        assert np.isnan(given.points(float("nan"))[0]["captured"])
        assert [line["item"] for line in given.numbers()] == [GAIN, LOSS]
        assert [line["item"] for line in assessed(curve(np.zeros(40)), classes=False).numbers()] == [GAIN, LOSS]


class TestLosses:
    def test_the_expected_error_is_that_of_the_decision(self) -> None:
        q = Categorical([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
        plain = class_losses(q, np.array([0, 1, 1]))
        assert plain.uncertainty.tolist() == pytest.approx([0.1, 0.4, 0.2])
        assert plain.loss.tolist() == [0, 1, 0]
        low = class_losses(q.deciding(DecisionRule("", 1, 0.3)), np.array([0, 1, 1]))
        assert low.uncertainty.tolist() == pytest.approx([0.1, 0.6, 0.2])  # decides for the less probable class
        assert low.loss.tolist() == [0, 0, 0]

    def test_two_classes_order_as_their_entropy(self) -> None:
        p = RNG(0).random(200)
        q = Categorical(np.column_stack([1 - p, p]))
        u, entropy = class_losses(q, np.zeros(200, dtype=int)).uncertainty, q.entropy()
        np.testing.assert_array_equal(np.argsort(u), np.argsort(entropy))

    def test_the_expected_distance_of_other_families_is_drawn(self) -> None:
        q = Laplace(np.zeros(300), np.full(300, 2.0))
        assert expected_distance(q, RNG(0), 200).mean() == pytest.approx(2.0, abs=0.05)

    def test_intervals_are_ordered_by_their_width_and_imply_no_loss(self) -> None:
        q = Intervals([0.9], [[0.0], [0.0]], [[1.0], [3.0]], [0.5, 1.5])
        losses = number_losses(q, np.array([0.5, 0.0]), RNG(0), 20)
        assert losses.uncertainty.tolist() == [1.0, 3.0]
        assert losses.loss.tolist() == [0.0, 1.5]
        assert np.isnan(losses.implied).all()

    def test_numbers_are_ordered_by_their_standard_deviation(self) -> None:
        losses = number_losses(Normal([0.0, 0.0], [1.0, 3.0]), np.array([1.0, -2.0]), RNG(0), 20)
        assert losses.uncertainty.tolist() == [1.0, 3.0]
        assert losses.loss.tolist() == [1.0, 2.0]
        assert losses.implied == pytest.approx(np.array([1.0, 3.0]) * np.sqrt(2 / np.pi))
        assert losses.width == pytest.approx(2 * 1.644854 * np.array([1.0, 3.0]), rel=1e-5)


class Stored(testing.KnownTruth):
    """Returns the distributions themselves; the only column is the row's number."""

    def predict(self, model: Any, X: Any) -> Any:
        return model.take(np.asarray(X)[:, 0].astype(int))


def given(q: Any, y: Any, **options: Any) -> Subject:
    return make_subject(q, Stored(), np.arange(float(len(q)))[:, None], y, **options)


def explain(subject: Subject, **options: Any) -> dict[str, Result]:
    engine = Engine(subject, MEASURES).bound("selective")
    return {result.id: result for result in Selective(**{"n_band": 99, **options}).explain(subject, engine, {})}


def honest(n: int = 300, seed: int = 0) -> tuple[Categorical, Any]:
    rng = RNG(seed)
    p = rng.uniform(0.02, 0.98, n)
    return Categorical(np.column_stack([1 - p, p])), (rng.random(n) < p).astype(int)


def _survival(X: Any) -> Survival:
    return Survival([1.0, 2.0, 3.0], np.tile([0.8, 0.5, 0.2], (len(X), 1)))


class TestExplainer:
    def test_classes_have_all_numbers(self) -> None:
        q, y = honest()
        found = explain(given(q, y))
        view = SelectiveView.from_result(found["selective"])
        assert [line.item for line in view.lines] == [FAILURE_AUROC, GAIN, IMPLIED_GAIN, IMPLIED_LOSS, LOSS]
        wrong = q.decisions() != y
        assert (view.errors, view.n, view.classes) == (int(wrong.sum()), 300, True)
        number, gain = view.number, view.gain
        assert number is not None
        assert gain is not None
        u = 1 - q.probabilities.max(axis=1)
        a = stats.mannwhitneyu(u[wrong], u[~wrong]).statistic / (wrong.sum() * (~wrong).sum())
        assert number.estimate == pytest.approx(a)
        assert number.lower < number.lower_90 < number.estimate < number.upper_90 < number.upper
        assert gain.lower < gain.lower_90 < gain.estimate < gain.upper_90 < gain.upper
        assert gain.p_value < 0.001
        risk = RiskCoverageView.from_result(found["selective.curve"])
        assert risk.at(1.0) is not None
        line = risk.at()
        assert line is not None
        kept = np.argsort(u)[:270]
        assert line.estimate == pytest.approx(wrong[kept].mean())
        assert line.implied == pytest.approx(u[kept].mean())
        assert line.threshold == pytest.approx(np.sort(u)[269])
        assert line.captured == pytest.approx(1 - wrong[kept].sum() / wrong.sum())
        assert risk.at(0.123) is None
        assert "selective.groups" not in found

    def test_numbers_have_a_normalised_gain(self) -> None:
        sd = np.exp(RNG(1).normal(size=400))
        view = SelectiveView.from_result(
            explain(given(Normal(np.zeros(400), sd), sd * RNG(2).normal(size=400)))["selective"]
        )
        assert view.number is not None
        assert view.number.item == NORMALISED_GAIN
        assert view.gain is not None
        whole = view.line(LOSS)
        assert whole is not None
        assert view.number.estimate == pytest.approx(2 * view.gain.estimate / whole.estimate)
        assert 0 < view.number.lower < view.number.upper < 1
        assert view.implied_share == pytest.approx(view.implied_gain / (np.sqrt(2 / np.pi) * sd.mean() / 2))

    def test_rows_of_weight_zero_take_no_part(self) -> None:
        q, y = honest(200)
        weights = np.ones(200)
        weights[150:] = 0.0
        some = explain(given(q, y, sample_weight=weights))
        alone = explain(given(q.take(np.arange(150)), y[:150]))
        for key in ("selective", "selective.curve"):
            np.testing.assert_allclose(
                some[key].estimates["estimate"].to_numpy(float), alone[key].estimates["estimate"].to_numpy(float)
            )

    def test_copies_in_clusters_leave_the_gain_and_its_error(self) -> None:
        q, y = honest(150)
        rows = np.repeat(np.arange(150), 3)
        often = SelectiveView.from_result(explain(given(q.take(rows), y[rows], clusters=rows))["selective"])
        once = SelectiveView.from_result(explain(given(q, y))["selective"])
        assert often.gain is not None
        assert once.gain is not None
        assert often.gain.estimate == pytest.approx(once.gain.estimate)
        assert often.gain.std_error == pytest.approx(once.gain.std_error)
        assert often.gain.p_value == pytest.approx(stats.t.sf(once.gain.estimate / once.gain.std_error, 149))

    def test_draws_and_intervals_are_taken(self) -> None:
        sd = np.exp(RNG(3).normal(size=60))
        draws = Draws(sd * RNG(4).normal(size=(50, 60)))
        assert "selective.curve" in explain(given(draws, sd * RNG(5).normal(size=60)))
        held = Intervals([0.9], -sd, sd, np.zeros(60))
        view = SelectiveView.from_result(explain(given(held, sd * RNG(5).normal(size=60)))["selective"])
        assert np.isnan(view.implied_gain)
        assert np.isnan(view.implied_share)
        assert view.uncertainty == "width of the prediction interval"

    @pytest.mark.parametrize("n", [19, 20])
    def test_twenty_independent_rows_are_needed(self, n: int) -> None:
        q, y = honest(n)
        if n >= 20:
            assert explain(given(q, y))
            return
        with pytest.raises(InputError, match="at least 20 independent observations; got 19"):
            explain(given(q, y))
        with pytest.raises(InputError, match="at least 20 independent clusters; got 10"):
            explain(given(q, y, clusters=np.arange(19) // 2))

    def test_what_cannot_be_ordered_is_refused(self) -> None:
        q, y = honest(30)
        with pytest.raises(InputError, match=r"selective\.y must be given"):
            explain(replace(given(q, y), y=None))
        with pytest.raises(InputError, match="standard deviation is infinite 30 times"):
            explain(given(StudentT(np.full(30, 1.5), np.zeros(30), np.ones(30)), np.zeros(30)))

    def test_times_that_may_be_censored_are_refused(self) -> None:
        times = (np.linspace(1.0, 2.0, 40), np.resize([True, False], 40))
        subject = uq.explain(_survival, np.ones((40, 1)), times)
        with pytest.raises(InputError, match=r"selective\.y must be free of censoring"):
            uq.selective(subject)

    def test_the_verb_returns_the_numbers_and_draws_the_curve(self) -> None:
        q, y = honest(120)
        view = uq.selective(given(q, y), n_band=99)
        assert FAILURE_AUROC in set(view.estimates["item"])


class TestGroups:
    def found(self, groups: Any, n_min: int = 30) -> SelectiveGroups:
        q, y = honest(len(groups))
        result = explain(given(q, y, protected={"sex": groups}), n_min=n_min)["selective.groups"]
        return SelectiveGroups.from_result(result)

    def test_each_group_has_its_referral_rate_and_the_loss_of_its_kept(self) -> None:
        groups = np.where(np.arange(300) % 3 == 0, "f", "m")
        view = self.found(groups)
        q, y = honest(300)
        u, wrong = 1 - q.probabilities.max(axis=1), q.decisions() != y
        kept = u <= np.sort(u)[269]
        for rate, loss in zip(of_measure(view.lines, REFERRAL_RATE), of_measure(view.lines, KEPT_LOSS), strict=True):
            own = groups == rate.item
            assert rate.estimate == pytest.approx((~kept)[own].mean())
            assert (rate.lower, rate.upper) == pytest.approx(
                wilson(rate.estimate, int(own.sum()), normal_quantile(0.95))
            )
            assert loss.estimate == pytest.approx(wrong[own & kept].mean())
            assert (rate.n, loss.n) == (own.sum(), (own & kept).sum())

    @pytest.mark.parametrize(("small", "shown"), [(30, ["f", "m"]), (29, ["m"])])
    def test_a_small_group_is_not_shown(self, small: int, shown: list[str]) -> None:
        view = self.found(np.where(np.arange(300) < small, "f", "m"))
        assert [line.item for line in of_measure(view.lines, REFERRAL_RATE)] == shown


def test_the_figure_has_curve_band_and_references() -> None:
    q, y = honest(200)
    figure = draw(explain(given(q, y))["selective.curve"])
    (axes,) = figure.axes
    assert axes.get_ylabel() == "error rate (%)"
    assert len(axes.collections) == 1  # the band
    assert len(axes.lines) == 5  # limits, curve, implied, random, oracle
    sd = np.exp(RNG(3).normal(size=60))
    bare = draw(explain(given(Intervals([0.9], -sd, sd, np.zeros(60)), RNG(5).normal(size=60)))["selective.curve"])
    assert len(bare.axes[0].lines) == 4  # nothing is implied
    assert bare.axes[0].get_ylabel() == "mean absolute error\n(units of the outcome)"
