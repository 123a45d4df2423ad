"""Groups: numbers of each group are right, differences are tested exactly, and small groups stay hidden."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss, confusion_matrix

import uq_report as uq
from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import Subject
from uq_report.core.support.arrays import AnyArray
from uq_report.core.support.errors import InputError
from uq_report.core.traits.stored_predictions import scored_rows
from uq_report.distributions import Categorical, Normal
from uq_report.methods.groups.contrasts import difference, gap_p_values, shuffled_p_values
from uq_report.methods.groups.explain import POINTS, Groups, grid_of
from uq_report.methods.shared import association
from uq_report.methods.shared.attributes import Attribute, attributes, large_groups

MEASURES = testing.measures()


def explain(given: Subject, seed: int = 0, **options: Any) -> dict[str, Result]:
    engine = Engine(given, MEASURES, seed=seed).bound("groups")
    return {r.id: r for r in Groups(**options).explain(given, engine, {})}


def logistic(n: int = 200, seed: int = 0, **protected: Any) -> Subject:
    return replace(testing.logistic_subject(n, seed), protected={k: np.asarray(v) for k, v in protected.items()})


def linear(n: int = 200, seed: int = 0, **protected: Any) -> Subject:
    return replace(testing.linear_subject(n, seed), protected={k: np.asarray(v) for k, v in protected.items()})


def line(result: Result, measure: str, item: str) -> Any:
    table = result.estimates
    return table[(table["measure"] == measure) & (table["item"] == item)].iloc[0]


HALVES = np.array(["f", "m"])[np.arange(200) % 2]


def test_means_by_group_are_those_of_scikit_learn() -> None:
    given = logistic(sex=HALVES)
    found = explain(given)["groups"]
    q = given.model.distribution(given.X)
    women, y = HALVES == "f", np.asarray(given.y) == "yes"
    p = q.probabilities[:, 1]
    tn, fp, fn, tp = confusion_matrix(y[women], p[women] >= 0.5).ravel()
    expected = {
        "brier": 2 * brier_score_loss(y[women], p[women]),
        "prediction": p[women].mean(),
        "entropy": q.entropy()[women].mean(),
        "outcome": y[women].mean(),
        "false_positive_rate": fp / (fp + tn),
        "false_negative_rate": fn / (fn + tp),
    }
    for measure, value in expected.items():
        assert line(found, measure, "f")["estimate"] == pytest.approx(value)
    assert line(found, "false_positive_rate", "f")["n"] == fp + tn
    gap = line(found, "confidence_gap", "f")
    assert gap["estimate"] == pytest.approx(line(found, "nll", "f")["estimate"] - expected["entropy"])
    assert line(found, "brier", "all observations")["n"] == 200
    assert set(found.frame.columns) == {"measure", "feature", "item", "x", "value"}


def test_regression_has_coverage_and_no_error_rates() -> None:
    given = linear(sex=HALVES)
    found = explain(given)["groups"]
    q, men = given.model.distribution(given.X), HALVES == "m"
    inside = np.abs(q.cdf(np.asarray(given.y)) - 0.5) <= 0.45
    assert line(found, "coverage_90", "m")["estimate"] == pytest.approx(inside[men].mean())
    assert line(found, "squared_error", "m")["n"] == 100
    assert "false_positive_rate" not in set(found.estimates["measure"])


def test_a_difference_is_welchs() -> None:
    rng = np.random.default_rng(0)
    values = np.r_[rng.normal(size=40), 3 * rng.normal(size=90) + 0.5]
    group = np.arange(130) < 40
    found = difference(values, group, ~group, Sampling(np.full(130, 1 / 130), 130), share=False)
    theirs = stats.ttest_ind(values[group], values[~group], equal_var=False)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.interval(0.9) == pytest.approx(theirs.confidence_interval(0.9))


def test_clusters_in_both_parts_count_as_such() -> None:
    """A cluster that adds the same to one row of each part leaves the difference alone."""
    shift = np.random.default_rng(0).normal(size=50) * 10
    values = np.tile(shift, 2) + np.r_[np.zeros(50), np.ones(50)] + np.random.default_rng(1).normal(size=100)
    group = np.arange(100) < 50
    codes = np.tile(np.arange(50), 2)
    found = difference(values, group, ~group, Sampling(np.full(100, 0.01), 50, codes), share=False)
    pairs = values[:50] - values[50:]
    assert found.std_error == pytest.approx(pairs.std(ddof=1) / np.sqrt(50))


def test_a_share_without_a_hit_has_an_interval() -> None:
    values, group = np.r_[np.zeros(40), np.ones(30), np.zeros(70)], np.arange(140) < 40
    found = difference(values, group, ~group, Sampling(np.full(140, 1 / 140), 140), share=True)
    low, high = found.interval(0.95)
    assert found.estimate == pytest.approx(-0.3)
    assert low < -0.3 < high < 0


def test_the_shuffled_p_value_is_that_of_all_splits() -> None:
    rng = np.random.default_rng(0)
    values, group = rng.exponential(size=9), np.isin(np.arange(9), [1, 4, 8])
    ts = []
    for rows in combinations(range(9), 3):
        part = np.isin(np.arange(9), rows)
        ts.append(abs(stats.ttest_ind(values[part], values[~part], equal_var=False).statistic))
    observed = abs(stats.ttest_ind(values[group], values[~group], equal_var=False).statistic)
    exact = np.mean(np.array(ts) >= observed * (1 - 1e-9))
    found = shuffled_p_values({"a": (values, False)}, group, np.random.default_rng(1), 9999)["a"]
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9999))


def test_the_gap_test_is_exact_for_a_small_group() -> None:
    """p-values of outcomes drawn from q are uniform: 200 samples of 12 confident rows."""
    rng = np.random.default_rng(0)
    p = np.full(12, 0.9)
    q = Categorical(np.column_stack([1 - p, p]))
    member = [np.ones(12, dtype=bool)]
    drawn = q.sample(rng, 200)
    found = np.array([gap_p_values(q, y, member, np.ones(12), rng, 199)[0] for y in drawn])
    assert (found <= 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    wide = Normal(np.zeros(12), np.ones(12))
    assert gap_p_values(wide, np.full(12, 4.0), member, np.ones(12), rng, 199)[0] <= 0.01


def test_attributes_become_groups() -> None:
    protected: dict[str, AnyArray] = {
        "age": np.r_[np.arange(1.0, 100.0), np.nan],
        "few": np.resize([0, 1, 2], 100),
        "level": np.resize(np.array(["b", "a", None, "missing"], dtype=object), 100),
        "day": pd.date_range("2020-01-01", periods=100).to_numpy(),
        "lump": np.r_[np.zeros(90), np.arange(1.0, 11.0)],
    }
    found = {one.name: one for one in attributes(protected, 6)}
    assert found["age"].labels == ("up to 25", "over 25 to 50", "over 50 to 75", "over 75", "missing")
    assert found["age"].edges == ("25", "50", "75")
    assert np.bincount(found["age"].codes).tolist() == [25, 25, 25, 24, 1]
    assert found["few"].labels == ("0", "1", "2")
    assert found["level"].labels == ("a", "b", "missing", "missing (2)")
    assert np.bincount(found["level"].codes).tolist() == [25, 25, 25, 25]
    assert found["day"].labels[0] == "up to 2020-01-25 00:00:00"
    assert found["lump"].labels == ("up to 0", "over 0")


# ------------------------------------------------------------------ what is shown


def test_groups_of_enough_units_are_shown() -> None:
    codes = np.repeat([0, 1, 2], [50, 30, 29])
    attribute = Attribute("a", ("x", "y", "z"), codes)
    every, rows = np.ones(109, dtype=bool), np.arange(109)
    assert large_groups([attribute], every, rows, 30) == {(0, 0), (0, 1)}
    assert large_groups([attribute], codes < 1, rows, 30) == {(0, 0)}
    assert large_groups([attribute], every, rows // 2, 30) == frozenset()


@pytest.mark.parametrize(("small", "compared"), [(30, 1), (29, 0)])
def test_a_group_is_compared_with_enough_others(small: int, compared: int) -> None:
    found = explain(logistic(200, kind=np.repeat(["a", "b"], [200 - small, small])), n_proxies=0)
    assert "a" in set(found["groups"].estimates["item"])
    table = found["groups.difference"].estimates
    assert table[table["measure"] == "residual"]["feature"].tolist() == ["kind"] * compared


def test_small_groups_are_neither_shown_nor_counted() -> None:
    region = np.array(["a"] * 100 + ["b"] * 83 + ["c"] * 17)
    found = explain(logistic(region=region))["groups"]
    reasons = [gap.reason for gap in found.omissions if gap.feature == "region" and not gap.measure]
    assert reasons == ["a group has fewer than 30 observations or clusters"]
    assert set(found.estimates["item"]) == {"all observations", "a", "b"}
    assert not any("17" in note for note in [*found.notes, *(gap.reason for gap in found.omissions)])


def test_error_rates_are_withheld_by_the_rows_they_are_about() -> None:
    given = logistic(sex=HALVES)
    found = explain(given, n_min=54)["groups"]
    y = np.asarray(given.y) == "yes"
    negatives = [int((~y & (given.protected["sex"] == group)).sum()) for group in ("f", "m")]
    assert negatives == [55, 52]  # each group has 100 rows
    assert {gap.measure for gap in found.omissions if gap.feature == "sex"} >= {"false_positive_rate"}
    table = found.estimates
    shown = table[(table["measure"] == "false_positive_rate") & (table["feature"] == "sex")]
    assert shown["item"].tolist() == ["f"]
    assert len(table[(table["measure"] == "brier") & (table["feature"] == "sex")]) == 2


# ------------------------------------------------------------------ the whole explainer


def test_a_group_with_worse_outcomes_is_found_and_others_are_not() -> None:
    given = linear(300, 1, sex=np.resize(["f", "m"], 300), other=np.resize(["u", "v", "w"], 300))
    women = given.protected["sex"] == "f"
    y = np.asarray(given.y).copy()
    mean = given.model.distribution(given.X).mean()
    y[women] = mean[women] + 2 * (y[women] - mean[women])
    found = explain(replace(given, y=y))
    gaps = found["groups"]
    assert line(gaps, "confidence_gap", "f")["p_value"] < 0.002
    assert line(gaps, "confidence_gap", "m")["p_value"] > 0.02
    apart = found["groups.difference"].estimates
    assert len(apart[(apart["feature"] == "sex") & (apart["measure"] == "squared_error")]) == 1
    assert apart[(apart["feature"] == "sex") & (apart["measure"] == "squared_error")]["p_value"].iloc[0] < 0.01
    assert (apart[(apart["feature"] == "other")]["p_value"].dropna() > 0.01).all()


def test_a_proxy_is_found_by_itself_and_together() -> None:
    given = linear(400)
    X = given.X
    assert isinstance(X, pd.DataFrame)
    protected = {
        "near": np.where(X["c"] > 0, "high", "low"),
        "joint": (X["c"] + X["d"] > 0).to_numpy(),
        "apart": np.resize([0, 1], 400),
        "d": X["d"].to_numpy(),
    }
    found = explain(replace(given, protected=protected))["groups.proxy"].estimates.set_index(["feature", "item"])
    rows: Any = found
    assert rows.loc[("near", "c"), "estimate"] > 0.8
    assert rows.loc[("near", "all features"), "lower"] > 0.8
    assert rows.loc[("joint", "all features"), "lower"] > 0.5
    assert rows.loc[("apart", "all features"), "upper"] < 0.1
    assert ("d", "d") not in found.index
    assert rows.loc[("d", "all features"), "measure"] == "r_squared"


class Stated:
    """Two classes; the probability of the second is `base` + `slope` times a feature."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, feature: str, base: float = 0.3, slope: float = 0.25) -> None:
        self.feature, self.base, self.slope = feature, base, slope

    def predict_proba(self, X: pd.DataFrame) -> Any:
        p = self.base + self.slope * X[self.feature].to_numpy(dtype=float)
        return np.column_stack([1 - p, p])

    def predict(self, X: pd.DataFrame) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def stated(model: Any, n: int = 300, **told: Any) -> Subject:
    """Return rows with a feature sex, one that tells it in 9 of 10 rows, and one apart."""
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, n)
    X = pd.DataFrame({"sex": sex, "near": np.where(rng.random(n) < 0.9, sex, 1 - sex), "apart": rng.random(n)})
    y = np.where(rng.random(n) < model.predict_proba(X)[:, 1], "yes", "no")
    return uq.explain(model, X, y, **({"protected": ["sex"]} | told))


def used(found: dict[str, Result], by: str) -> pd.DataFrame:
    table = found["groups.use"].estimates
    return table[table["by"] == by].set_index("item")


def test_the_contrast_of_a_model_of_sex_alone_is_lost_with_sex_and_only_with_it() -> None:
    found = explain(stated(Stated("sex")))
    lost = used(found, "sex")
    assert lost["association"].unique().tolist() == [1.0]
    group = next(item for item in lost.index if item != "all observations")
    assert abs(lost.loc[group, "estimate"]) == pytest.approx(0.25, abs=1e-12)
    assert lost.loc[group, "estimate"] == pytest.approx(
        line(found["groups.difference"], "prediction", group)["estimate"]
    )
    assert lost.loc[group, "p_value"] == 0
    share = stated(Stated("sex")).protected["sex"].mean()
    assert lost.loc["all observations", "estimate"] == pytest.approx(2 * share * (1 - share) * 0.25)
    unused = used(found, "near")
    assert (unused[["estimate", "std_error", "lower", "upper"]] == 0).all(axis=None)
    assert "apart" not in set(found["groups.use"].estimates["by"])


def test_an_attribute_that_is_no_feature_goes_through_its_proxy() -> None:
    given = stated(Stated("near"))
    assert isinstance(given.X, pd.DataFrame)
    sex = given.X["sex"].to_numpy()
    given = uq.explain(Stated("near"), given.X.drop(columns="sex"), given.y, protected={"sex": sex})
    found = explain(given)
    lost = used(found, "near")
    group = next(item for item in lost.index if item != "all observations")
    assert lost.loc[group, "estimate"] == pytest.approx(
        line(found["groups.difference"], "prediction", group)["estimate"]
    )
    assert abs(lost.loc[group, "estimate"]) < 0.25


def test_the_interval_of_a_lost_contrast_covers_the_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(association, "N_TREES", 1)  # how well the features together tell the group is not asked here
    hits, model = 0, Stated("apart", 0.1, 0.7)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        apart = rng.random(150)
        X = pd.DataFrame({"apart": apart, "noise": rng.random(150)})
        group = np.where(rng.random(150) < 0.2 + 0.6 * apart, "a", "b")  # E[x | a] - E[x | b] = 0.2
        found = explain(
            uq.explain(model, X, np.resize(["no", "yes"], 150), protected={"g": group}), min_association=0.05
        )
        table = used(found, "apart").drop("all observations")
        sign = 1 if table.index[0] == "a" else -1
        hits += bool(table["lower"].iloc[0] <= sign * 0.7 * 0.2 <= table["upper"].iloc[0])
    assert hits >= 35  # 40 of 40 or fewer: 35 is passed by a level of 95% in 98 of 100 such tests


def test_contrasts_of_outcomes_are_those_of_predictions_and_residuals() -> None:
    apart = explain(logistic(sex=HALVES))["groups.difference"]
    predicted, outcome, residual = (line(apart, m, "f")["estimate"] for m in ("prediction", "outcome", "residual"))
    assert outcome - predicted == pytest.approx(residual)
    share = np.mean(np.asarray(logistic().y) == "yes")
    assert line(apart, "residual", "f")["scale"] == pytest.approx(np.sqrt(share * (1 - share)))


def test_a_model_that_predicts_what_happens_has_no_residual() -> None:
    given = linear(sex=HALVES)
    given = replace(given, y=given.model.distribution(given.X).mean())
    found = line(explain(given)["groups.difference"], "residual", "f")
    assert (found["estimate"], found["p_value"]) == (0, 1)
    # the residuals do not vary, so the standard error is the one that follows from the model's variance
    variance, halves = given.model.distribution(given.X).variance(), np.asarray(HALVES) == "f"
    stated = sum(variance[half].sum() / half.sum() ** 2 for half in (halves, ~halves))
    assert found["std_error"] == pytest.approx(np.sqrt(stated))


def test_each_of_three_classes_has_its_own_numbers() -> None:
    class Three:
        classes_ = np.array(["a", "b", "c"])

        def predict_proba(self, X: pd.DataFrame) -> Any:
            p = 0.2 + 0.3 * X["sex"].to_numpy(dtype=float)
            return np.column_stack([p, 0.7 - p, np.full(len(p), 0.3)])

        def predict(self, X: pd.DataFrame) -> Any:
            return self.classes_[self.predict_proba(X).argmax(axis=1)]

    found = explain(three_classes(Three()))
    table = found["groups.use"].estimates
    lost = table[(table["item"] != "all observations") & (table["by"] == "sex")].set_index("measure")["estimate"]
    assert lost.abs().to_dict() == pytest.approx({"prediction[a]": 0.3, "prediction[b]": 0.3, "prediction[c]": 0.0})
    assert {"outcome[a]", "residual[b]"} <= set(found["groups"].estimates["measure"])


def three_classes(model: Any) -> Subject:
    X = pd.DataFrame({"sex": np.resize([0, 1], 200), "apart": np.random.default_rng(0).random(200)})
    return uq.explain(model, X, np.resize(["a", "b", "c"], 200), protected=["sex"])


def test_a_loss_is_held_against_its_expectation_where_the_likelihood_is_infinite() -> None:
    given = stated(Stated("sex", 0.0, 1.0))
    y = np.asarray(given.y).copy()
    y[:20] = "yes"
    found = explain(replace(given, y=y))["groups"].estimates
    assert "excess_loss" in set(found["measure"])
    assert "confidence_gap" not in set(found["measure"])


def test_bands_of_age_stand_in_order() -> None:
    bands = np.resize(np.array(["45 and more", "30 to 44", "not told", "under 30", "100+"]), 200)
    assert attributes({"age": bands}, 6)[0].labels == ("under 30", "30 to 44", "45 and more", "100+", "not told")
    cuts = np.resize(np.array(["age < 30", "30 <= age < 45", "age >= 45"]), 90)
    assert attributes({"age": cuts}, 6)[0].labels == ("age < 30", "30 <= age < 45", "age >= 45")
    assert attributes({"plain": np.array(["b", "a"])}, 6)[0].labels == ("a", "b")


def test_predictions_of_given_rows_only_leave_the_use_out() -> None:
    p = np.random.default_rng(0).uniform(0.2, 0.8, 200)
    X = pd.DataFrame({"x": np.arange(200.0)})
    scored = scored_rows(X, np.column_stack([1 - p, p]), ("no", "yes"))
    given = uq.explain(scored, X, np.resize(["no", "yes"], 200), protected={"half": X["x"] > 99})
    found = explain(given)["groups.use"]
    assert (len(found.estimates), [gap.feature for gap in found.omissions]) == (0, ["half"])


def test_clusters_weights_and_missing_y() -> None:
    given = logistic(300, sex=np.resize(["f", "m"], 300))
    weighted = replace(given, weights=np.r_[np.zeros(60), np.ones(240)], clusters=np.arange(300) // 2)
    found = explain(weighted)
    assert line(found["groups"], "brier", "f")["n"] == 120
    assert any("clusters" in note for note in found["groups"].notes)
    assert explain(weighted, n_min=121)["groups"].meta["attributes"]["sex"]["groups"] == []
    bare = explain(replace(given, y=None))["groups"]
    assert set(bare.estimates["measure"]) == {"entropy", "prediction"}
    assert {"outcome", "confidence_gap", "brier"} <= {gap.measure for gap in bare.omissions}


def test_an_infinite_nll_leaves_the_other_measures() -> None:
    given = logistic(sex=HALVES)

    class Sure(testing.KnownTruth):
        def predict(self, model: Any, X: Any) -> Any:
            p = (model.distribution(X).mean() > 0.5).astype(float)
            return Categorical(np.column_stack([1 - p, p]), classes=("no", "yes"))

    found = explain(replace(given, adapter=Sure()))["groups"]
    assert {"nll", "confidence_gap"} <= {gap.measure for gap in found.omissions}
    assert {"brier", "false_positive_rate"} <= set(found.estimates["measure"])


def test_the_seed_repeats_it() -> None:
    one, two = (explain(logistic(sex=HALVES)) for _ in range(2))
    for part in one:
        pd.testing.assert_frame_equal(one[part].estimates, two[part].estimates, check_exact=True)


def test_what_it_needs_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"groups\.protected must be given"):
        explain(logistic())
    for option in ({"n_min": 4}, {"max_levels": 1}, {"n_draws": 9}, {"n_proxies": -1}, {"min_association": 0.0}):
        with pytest.raises(InputError, match=rf"groups\.{next(iter(option))} must be"):
            Groups(**option)


def test_a_grid_of_many_values_is_the_middle_of_equal_parts() -> None:
    """60 values in 20 parts of 3: each part's second value; one that weighs nothing never stands for its part."""
    order = np.random.default_rng(0).permutation(60)
    numbers = np.arange(60.0)[order]
    grid = grid_of(numbers, np.full(60, 1 / 60))
    np.testing.assert_array_equal(numbers[grid.rows], np.arange(1.0, 60, 3))
    np.testing.assert_array_equal(grid.codes, order // 3)
    np.testing.assert_allclose(grid.shares, 1 / POINTS)

    weights = np.where(np.arange(60) % 3 == 1, 0.0, 1.0)[order] / 40
    weighed = grid_of(numbers, weights)
    assert (weights[weighed.rows] > 0).all()
    assert weighed.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(("labels", "compared"), [(2, {"b"}), (3, {"a", "b", "c"})])
def test_of_two_groups_the_smaller_is_compared_and_of_more_every_one(labels: int, compared: set[str]) -> None:
    ends = {2: [110], 3: [90, 150]}[labels]
    of = np.array(list("abc"))[np.searchsorted(ends, np.arange(200), side="right")]
    assert set(explain(logistic(kind=of))["groups.difference"].estimates["item"]) == compared


def test_rows_that_weigh_nothing_change_no_difference() -> None:
    """The exact tests shuffle the rows that count alone: with 40 outliers of weight 0 they say the same as without."""
    few = linear(160, sex=HALVES[:160])
    more = linear(200, sex=HALVES)
    assert isinstance(few.X, pd.DataFrame)
    X = pd.concat([few.X, pd.DataFrame(more.X)[160:] * 100], ignore_index=True)
    y = np.r_[np.asarray(few.y), np.full(40, 1e3)]
    padded = replace(more, X=X, y=y, weights=np.r_[np.ones(160), np.zeros(40)])
    without, padding = (explain(given) for given in (replace(few, weights=np.ones(160)), padded))
    for part in ("groups", "groups.difference"):
        drawn = ["p_value"] if part == "groups" else []  # by outcomes that are drawn for all rows
        one, two = (found[part].estimates.drop(columns=drawn) for found in (without, padding))
        pd.testing.assert_frame_equal(one, two, rtol=1e-9)


def test_features_together_need_every_row_left_out_of_a_tree() -> None:
    """Each row is of the cluster of one neighbour and equals the other: no tree sees some rows without all others."""
    given = linear(sex=HALVES)
    X = pd.DataFrame({name: (np.arange(200) + 1.0) // 2 for name in given.features})
    found = explain(replace(given, X=X, clusters=np.arange(200) // 2))["groups.proxy"]
    assert [gap.reason for gap in found.omissions] == ["too few different observations to leave some out of every tree"]
    assert "all features" not in set(found.estimates["item"])
