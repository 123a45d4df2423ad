"""The calibration explainer: every kind of target, bad input, and what it hands to the gate and the figures."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import polygamma
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

import uq_report as uq
from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import NLL
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.errors import InputError
from uq_report.core.validation.lifetimes import recorded
from uq_report.distributions import (
    Categorical,
    Gamma,
    Normal,
    NormalMixture,
    Ordinal,
    Poisson,
    StudentT,
    Survival,
    ZeroInflated,
)
from uq_report.evidence.run import Run
from uq_report.methods.calibration.check import CalibrationGate
from uq_report.methods.calibration.explain import Calibration, events_of
from uq_report.methods.calibration.scores import PIT_TESTS

CLASS_ITEMS = {
    "confidence_gap", "log_score", "log_score_baseline", "log_score_skill", "brier", "brier_baseline", "brier_skill",
    "accuracy", "sharpness_entropy", "roc_auc", "recalibration_gain", "ece",
}  # fmt: skip
NUMBER_ITEMS = {
    "confidence_gap", "log_score", "crps", "crps_baseline", "crps_skill", "mean_error", "squared_error", "r2",
    "sharpness_sd", "sharpness_width_90", "recalibration_gain", "recalibration_gain_by_segment", "pit_distance",
    "coverage_gap", "smooth_statistic",
}  # fmt: skip
RNG = np.random.default_rng(0)


class Given(testing.KnownTruth):
    """Returns the distributions themselves; the only column is the row's number."""

    def predict(self, model: Any, X: Any) -> Any:
        return model.take(np.asarray(X)[:, 0].astype(int))


def given(q: Any, y: Any, **options: Any) -> Subject:
    return make_subject(q, Given(), np.arange(float(len(q)))[:, None], y, **options)


def explain(subject: Subject, **options: Any) -> dict[str, Result]:
    engine = Engine(subject, {"nll": NLL}).bound("calibration")
    return {r.id: r for r in Calibration(**{"n_draws": 99, **options}).explain(subject, engine, {})}


def items(subject: Subject, **options: Any) -> Any:
    """Return the estimates by item; Any, because pandas types a cell as anything."""
    return explain(subject, **options)["calibration"].estimates.set_index("item")


def gate(subject: Subject) -> str:
    results = tuple(explain(subject).values())
    outcome = CalibrationGate().check(Run(as_of="2026-01-01", subject={}, settings={}, environment={}, results=results))
    return outcome.findings[0].code if outcome.findings else outcome.state


def test_binary_classes() -> None:
    subject = testing.logistic_subject(200)
    found = items(subject)
    assert set(found.index) == CLASS_ITEMS
    p = subject.adapter.predict(subject.model, subject.X).probabilities  # type: ignore[attr-defined]
    yes = np.asarray(subject.y) == "yes"
    assert found.loc["log_score", "estimate"] == pytest.approx(log_loss(yes, p[:, 1]))
    assert found.loc["accuracy", "estimate"] == pytest.approx(accuracy_score(yes, p[:, 1] > 0.5))
    assert found.loc["roc_auc", "estimate"] == pytest.approx(roc_auc_score(yes, p[:, 1]))
    gap = found.loc["log_score", "estimate"] - found.loc["sharpness_entropy", "estimate"]
    assert found.loc["confidence_gap", "estimate"] == pytest.approx(gap)
    assert (found["lower_90"] >= found["lower"])[found["std_error"].notna()].all()
    tested = set(found.index[found["p_value"].notna()])
    assert tested == {"confidence_gap", "brier", "ece"} == set(found.index[found["p_adjusted"].notna()])


def test_reliability_has_every_row_once_and_the_range_of_a_right_model() -> None:
    table = explain(testing.logistic_subject(200), n_bins=8)["calibration.reliability"]
    estimates = table.estimates
    assert (len(estimates), estimates["n"].sum()) == (8, 200)
    assert estimates["x"].is_monotonic_increasing
    assert ((estimates["null_lower"] <= estimates["x"]) & (estimates["x"] <= estimates["null_upper"])).all()
    assert ((estimates["lower"] <= estimates["estimate"]) & (estimates["estimate"] <= estimates["upper"])).all()
    assert table.meta["form"] == "positive class"
    np.testing.assert_array_equal(table.frame["value"], estimates["estimate"])


def test_many_classes_are_judged_by_the_top_label() -> None:
    q = Categorical(RNG.dirichlet([1, 1, 1, 1], 200), classes=["a", "b", "c", "d"])
    y = q.classes[q.take(np.arange(200)).sample(RNG, 1)[0]]
    y = np.where(y == "d", "c", y)  # a class absent from the test rows
    result = explain(given(q, y))
    assert set(result["calibration"].estimates["item"]) == CLASS_ITEMS - {"roc_auc"}
    table = result["calibration.reliability"]
    assert table.meta["form"] == "top label"
    weights = table.estimates["n"] / 200
    hit = q.classes[q.probabilities.argmax(axis=1)] == y
    assert weights @ table.estimates["estimate"] == pytest.approx(hit.mean())
    assert weights @ table.estimates["x"] == pytest.approx(q.probabilities.max(axis=1).mean())
    gaps = weights @ (table.estimates["estimate"] - table.estimates["x"]).abs()
    assert items(given(q, y)).loc["ece", "estimate"] == pytest.approx(gaps)


def test_numbers() -> None:
    subject = testing.linear_subject(200)
    result = explain(subject)
    found: Any = result["calibration"].estimates.set_index("item")
    assert set(found.index) == NUMBER_ITEMS
    q = subject.adapter.predict(subject.model, subject.X)
    assert found.loc["crps", "estimate"] == pytest.approx(q.crps(np.asarray(subject.y)).mean())
    assert found.loc["sharpness_width_90", "estimate"] == pytest.approx(2 * 1.6448536 * np.sqrt(q.variance()).mean())
    assert found.loc["crps_skill", "lower"] > 0
    assert set(found.index[found["p_value"].notna()]) == {"confidence_gap", "crps", *PIT_TESTS}
    table = result["calibration.coverage"].estimates
    assert list(table["x"]) == [0.5, 0.8, 0.9, 0.95]
    inside = np.abs(q.cdf(np.asarray(subject.y)) - 0.5) <= 0.4
    assert table["estimate"].iloc[1] == pytest.approx(inside.mean())
    assert table["width"].iloc[2] == pytest.approx(found.loc["sharpness_width_90", "estimate"])
    pit = result["calibration.pit"].estimates
    assert pit["estimate"].mean() == pytest.approx(1)
    assert np.histogram(q.cdf(np.asarray(subject.y)), 10, (0, 1))[0] / 20 == pytest.approx(pit["estimate"].to_numpy())


def test_counts_have_the_non_randomised_pit() -> None:
    q = Poisson(np.exp(RNG.normal(size=200)))
    y = q.sample(RNG, 1)[0].astype(float)
    result = explain(given(q, y))
    assert set(result["calibration"].estimates["item"]) == NUMBER_ITEMS
    pit = result["calibration.pit"]
    lower, upper = q.cdf(y - 1), q.cdf(y)
    first = np.clip((0.1 - lower) / (upper - lower), 0, 1).mean() * 10
    assert pit.estimates["estimate"].iloc[0] == pytest.approx(first)
    assert "non-randomised" in pit.meta["form"]
    assert any("randomised PIT: intervals of counts" in note for note in result["calibration.coverage"].notes)


def test_intervals_that_end_at_an_atom_are_not_called_those_of_counts() -> None:
    amounts = ZeroInflated(np.full(80, 0.4), Gamma(np.full(80, 2.0), 1.0))
    notes = explain(given(amounts, amounts.sample(RNG, 1)[0]))["calibration.coverage"].notes
    assert any("randomised PIT: intervals that end at a value with a probability of its own" in note for note in notes)
    assert not any("of counts" in note for note in notes)


def test_train_gives_the_baseline() -> None:
    subject = testing.logistic_subject(80, train=True)
    assert subject.train is not None
    share = (np.asarray(subject.train[1]) == "yes").mean()
    found = items(subject)
    p = (share * 80 + 0.5) / 81
    yes = (np.asarray(subject.y) == "yes").mean()
    assert found.loc["log_score_baseline", "estimate"] == pytest.approx(-yes * np.log(p) - (1 - yes) * np.log(1 - p))
    notes = explain(subject)["calibration"].notes
    assert any("training sample" in note for note in notes)
    assert any(
        "training sample" in note for note in explain(testing.linear_subject(80, train=True))["calibration"].notes
    )


def test_an_infinite_nll_is_told_and_fails_the_gate() -> None:
    p = np.tile([0.3, 0.7], (100, 1))
    p[:4] = [1.0, 0.0]
    y = np.r_[np.ones(3, dtype=int), np.zeros(1, dtype=int), np.arange(96) % 3 > 0]
    result = explain(given(Categorical(p), y.astype(int)))["calibration"]
    assert result.meta["infinite_nll"] == 3
    reasons = {o.measure: o.reason for o in result.omissions}
    assert {"confidence_gap", "log_score", "log_score_skill", "recalibration_gain"} == set(reasons)
    assert reasons["log_score"].startswith("infinite in 3 of 100 observations, usually because the model gave")
    assert {"brier", "ece", "accuracy"} <= set(result.estimates["item"])
    assert gate(given(Categorical(p), y.astype(int))) == "UQ101"


def test_point_members_have_no_density_so_the_gate_cannot_judge() -> None:
    q = NormalMixture(RNG.normal(size=(120, 50)), np.zeros((120, 50)))
    result = explain(given(q, q.sample(RNG, 1)[0]))["calibration"]
    assert "density" in {o.measure: o.reason for o in result.omissions}["confidence_gap"]
    assert {"crps", "pit_distance", "coverage_gap"} <= set(result.estimates["item"])
    assert gate(given(q, q.sample(RNG, 1)[0])) == "UQ102"


def test_point_members_whose_intervals_miss_the_outcomes_fail_the_gate() -> None:
    q = NormalMixture(RNG.normal(size=(120, 50)), np.zeros((120, 50)))
    assert gate(given(q, 4 * RNG.normal(size=120))) == "UQ101"


class NoCdf(Normal):
    """A normal that cannot give its cdf, like a bare sample of draws."""

    supports = Normal.supports - {"cdf", "quantile"}


def test_without_a_cdf_there_is_no_pit() -> None:
    q = NoCdf(np.zeros(60), np.ones(60))
    result = explain(given(q, RNG.normal(size=60)))
    assert set(result) == {"calibration", "calibration.comparisons", "calibration.residuals"}
    assert "pit" in {o.measure for o in result["calibration"].omissions}
    assert {"crps", "confidence_gap"} <= set(result["calibration"].estimates["item"])


def test_without_y_it_is_refused() -> None:
    with pytest.raises(InputError, match=r"calibration\.y must be given; it was not"):
        explain(replace(testing.linear_subject(30), y=None))


@pytest.mark.parametrize("make", [testing.linear_subject, testing.logistic_subject])
@pytest.mark.parametrize(
    ("n", "each", "unit"), [(20, 1, "observations"), (19, 1, "observations"), (38, 2, "clusters or blocks")]
)
def test_a_recalibration_needs_twenty_units(make: Any, n: int, each: int, unit: str) -> None:
    clusters = None if each == 1 else np.arange(n) // each
    result = explain(replace(make(n), clusters=clusters))["calibration"]
    reasons = {o.measure: o.reason for o in result.omissions}
    assert ("recalibration_gain" in set(result.estimates["item"])) is (n == 20)
    words = f"recalibration needs 20 {unit}; there are 19"
    assert reasons.get("recalibration_gain") == (None if n == 20 else words)


def test_a_bin_whose_rows_weigh_nothing_is_left_out() -> None:
    p = np.repeat([0.2, 0.6, 0.9], 20)
    weights = np.repeat([1.0, 0.0, 2.0], 20)
    q = Categorical(np.column_stack([1 - p, p]))
    found = explain(given(q, np.resize([0, 1], 60), sample_weight=weights), n_bins=3)["calibration.reliability"]
    assert found.estimates["item"].tolist() == ["bin 1", "bin 3"]
    assert found.estimates[["x", "estimate"]].to_numpy() == pytest.approx(np.array([[0.2, 0.5], [0.9, 0.5]]))


@pytest.mark.parametrize("make", [testing.linear_subject, testing.logistic_subject])
def test_one_row_gives_scores_without_intervals(make: Any) -> None:
    found = items(make(1))
    assert found["std_error"].isna().all()
    means = found.drop(index="accuracy", errors="ignore")  # of a share one row is one draw
    assert set(means["covers"]) == {"none"}
    assert means["lower_90"].isna().all()
    assert np.isnan(found.loc["confidence_gap", "p_value"])
    assert gate(make(1)) == "UQ102"


@pytest.mark.parametrize("make", [testing.linear_subject, testing.logistic_subject])
def test_copies_in_clusters_change_no_score(make: Any) -> None:
    one = make(60)
    index = np.repeat(np.arange(60), 3)
    copied = make_subject(one.model, one.adapter, one.X.iloc[index], one.y[index], clusters=index)
    weighted = make_subject(one.model, one.adapter, one.X, one.y, sample_weight=np.full(60, 3.0))
    a, b, c = items(one), items(copied), items(weighted)
    plain = [
        i
        for i in a.index
        if i not in ("log_score_baseline", "log_score_skill", "recalibration_gain", "recalibration_gain_by_segment")
    ]
    plain = [i for i in plain if not i.startswith(("brier_", "crps_"))]
    if "roc_auc" in a.index:  # Newcombe's limits count rows, and are widened to those of clusters
        assert b.loc["roc_auc", "lower_90"] == pytest.approx(a.loc["roc_auc", "lower_90"], rel=1e-3)
        plain.remove("roc_auc")
    for name in ("estimate", "std_error", "lower_90"):
        np.testing.assert_allclose(b.loc[plain, name], a.loc[plain, name], rtol=1e-9)
        np.testing.assert_allclose(c.loc[a.index, name], a[name], rtol=1e-9)
    assert any("one observation of each" in note for note in explain(copied)["calibration"].notes)


def test_weights_are_respected() -> None:
    subject = testing.logistic_subject(120)
    weights = np.r_[np.ones(60), np.zeros(60)]
    half = make_subject(subject.model, subject.adapter, subject.X, subject.y, sample_weight=weights)
    assert isinstance(subject.X, pd.DataFrame)
    alone = make_subject(subject.model, subject.adapter, subject.X.iloc[:60], np.asarray(subject.y)[:60])
    a, b = items(half), items(alone)
    for item in ("confidence_gap", "log_score", "brier", "accuracy", "roc_auc"):
        assert a.loc[item, "estimate"] == pytest.approx(b.loc[item, "estimate"])
        assert a.loc[item, "std_error"] == pytest.approx(b.loc[item, "std_error"])


def test_events_are_counted_up_to_the_horizon_against_the_sum_of_hazards() -> None:
    """S = 0.8, 0.4, 0.2: hazards 0.2, 1/2, 1/2; the event at 5 lies beyond what the model speaks of."""
    q = Survival([1.0, 2.0, 3.0], np.tile([0.8, 0.4, 0.2], (4, 1)))
    y = recorded(np.array([1.0, 2.0, 5.0, 0.5]), np.array([True, False, True, False]))
    assert events_of(q, y) == pytest.approx((1, 0.2 + 0.7 + 1.2 + 0.0))
    given = uq.explain(lambda X: Survival([1.0, 2.0, 3.0], np.tile([0.8, 0.4, 0.2], (len(X), 1))), np.eye(4), y)
    meta = Calibration(n_draws=99).explain(given, Engine(given, {}).bound("calibration"), {})[0].meta
    assert (meta["seen"], meta["expected"]) == (1, pytest.approx(2.1))


def test_it_costs_no_prediction_and_repeats_itself() -> None:
    subject = testing.linear_subject(80)
    engine = Engine(subject, {"nll": NLL}).bound("calibration")
    first = Calibration(n_draws=99).explain(subject, engine, {})
    assert engine.rows_predicted == {"calibration": 80}
    second = Calibration(n_draws=99).explain(subject, Engine(subject, {"nll": NLL}).bound("calibration"), {})
    for a, b in zip(first, second, strict=True):
        pd.testing.assert_frame_equal(a.estimates, b.estimates, check_exact=True)


@pytest.mark.parametrize("options", [{"n_draws": 10}, {"n_bins": 1}, {"n_splits": 1}])
def test_bad_options_are_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"calibration.{next(iter(options))} must be"):
        Calibration(**options)


def test_the_variance_of_a_calibrated_gap_is_that_of_the_models_own_distributions() -> None:
    """Bernoulli p (1 - p) logit²(p); of a normal 1/2; of Student's t by its trigamma functions, here from draws."""
    p = np.linspace(0.05, 0.95, 40)
    expected = (p * (1 - p) * np.log(p / (1 - p)) ** 2).mean()
    classes = Categorical(np.column_stack([1 - p, p]), classes=[0, 1])
    labels = np.resize([0, 1], 40)
    assert explain(given(classes, labels))["calibration"].meta["gap_variance"] == pytest.approx(expected)
    numbers = np.linspace(-1, 1, 40)
    assert explain(given(Normal(np.zeros(40), 2.0), numbers))["calibration"].meta["gap_variance"] == pytest.approx(0.5)
    df = 5.0
    heavy = ((df + 1) / 2) ** 2 * (polygamma(1, df / 2) - polygamma(1, (df + 1) / 2))
    drawn = explain(given(StudentT(df, np.zeros(400), 1.0), np.linspace(-1, 1, 400)))["calibration"].meta[
        "gap_variance"
    ]
    assert drawn == pytest.approx(heavy, rel=0.02)


def test_clusters_multiply_the_variance_of_a_calibrated_gap_by_their_design_effect() -> None:
    p = np.repeat(np.linspace(0.1, 0.9, 25), 4)
    q = Categorical(np.column_stack([1 - p, p]), classes=[0, 1])
    y = np.repeat(np.resize([0, 1], 25), 4)
    alone, together, mixed = (
        explain(given(q, y, **options))["calibration"].meta["gap_variance"]
        for options in ({}, {"clusters": np.repeat(np.arange(25), 4)}, {"clusters": np.tile(np.arange(25), 4)})
    )
    assert together == pytest.approx(4 * alone, rel=0.05)  # four copies of each
    assert mixed >= alone


def test_without_a_known_gap_no_variance_is_stated() -> None:
    certain = Categorical([[1.0, 0.0], [0.5, 0.5]] * 10, classes=[0, 1])
    assert "gap_variance" not in explain(given(certain, [1, 0] * 10))["calibration"].meta


def test_ordered_classes_are_scored_by_how_far_predictions_are_off() -> None:
    """The order is that of the owner, not of the columns; the score is that of `Ordinal` with classes 0, 1 and 2."""
    p = np.random.default_rng(4).dirichlet([1, 1, 1], 60)
    y = np.resize([0, 1, 2, 1], 60)
    names, place = np.array(["high", "low", "medium"]), np.array([2, 0, 1])
    subject = given(Categorical(p, classes=names), names[y])
    found = explain(subject, order=("low", "medium", "high"))
    table = found["calibration"].estimates.set_index("item")
    ordinal = Ordinal(p[:, [1, 2, 0]])
    off = np.abs(place[p.argmax(axis=1)] - place[y])
    assert table.loc["rps", "estimate"] == pytest.approx(ordinal.crps(place[y]).mean(), rel=1e-12)
    assert table.loc["off_by_one", "estimate"] == pytest.approx((off == 1).mean())
    assert table.loc["off_by_more", "estimate"] == pytest.approx((off == 2).mean())
    assert found["calibration.decisions"].meta["classes"] == ["low", "medium", "high"]
    wrong = given(Categorical(np.tile([0.999, 0.001, 0.0], (8, 1)), classes=names), np.resize(["low", "high"], 8))
    score = explain(wrong, order=("low", "medium", "high"))["calibration"].estimates.set_index("item").loc["rps"]
    assert score["estimate"] == pytest.approx(0.999**2 + 0.001**2)
    assert score["upper"] == 2.0  # of three classes at most
    counts = np.array(found["calibration.decisions"].meta["counts"])
    assert counts[0, 2] + counts[2, 0] == (off == 2).sum() > 0
    own = items(given(ordinal, place[y]))  # classes that are numbers in increasing order need no declaration
    for item in ("rps", "rps_baseline", "rps_skill", "off_by_one", "off_by_more"):
        assert own.loc[item, "estimate"] == pytest.approx(table.loc[item, "estimate"])
    assert set(items(subject).index) == CLASS_ITEMS - {"roc_auc"}


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (("low", "high", "tall"), r"must name each class once, 'high', 'low', 'medium'; got \['low', 'high', 'tall'\]"),
        (("low", "low", "high"), "must name each class once"),
        (("low", "high"), "three or more classes"),
    ],
)
def test_an_order_names_each_of_three_or_more_classes_once(order: tuple[str, ...], words: str) -> None:
    p, names = np.full((60, 3), 1 / 3), np.array(["high", "low", "medium"])
    with pytest.raises(InputError, match=words):
        explain(given(Categorical(p, classes=names), np.resize(names, 60)), order=order)
