"""Curves against the directions that the model's owner states."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t, ttest_1samp

from uq_report.checks.family import NotJudgedError
from uq_report.core.model.results import ESTIMATE_COLUMNS, Omission, Profile
from uq_report.core.model.subject import make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray, Table
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.evidence.finding import Outcome
from uq_report.evidence.profiles import Ale, Pdp
from uq_report.evidence.run import NotRun
from uq_report.methods.pdp.check import Direction, ale_steps, pdp_steps
from uq_report.testing import KnownTruth

from .importances import audited, outcome, run

X = np.linspace(0, 1, 6)
UP = 1.0 * X
DIP = np.array([0.0, 0.3, 0.6, 0.3, 0.6, 1.0])
FEATURES = [{"name": "age", "missing": 0}, {"name": "income", "missing": 0}]


def ale(curve: FloatArray, step_error: float = 0.01, **fields: Any) -> Profile:
    """Return an ALE of age whose steps have independent errors."""
    change = step_error * np.sqrt(np.arange(6.0))
    return _profile("ale", {"estimate": curve, "std_error": step_error, "std_error_change": change}, [], **fields)


def pdp(curve: FloatArray, spread: float = 0.05, rows: int = 40, **fields: Any) -> Profile:
    """Return a PDP of age with ICE curves whose steps differ by `spread`, and whose levels differ a lot."""
    rng = np.random.default_rng(0)
    steps = spread * rng.normal(size=(rows, 6))
    steps[:, 0] = 0
    ice = curve + np.cumsum(steps - (steps.mean(axis=0) if rows else 0), axis=1) + 5 * rng.normal(size=(rows, 1))
    ice += curve.mean() - (ice.mean() if rows else 0)
    return _profile("pdp", {"estimate": curve, "std_error": 0.8}, list(ice), **fields)


def _profile(
    id: str, columns: Mapping[str, Any], ice: list[FloatArray], level: str = "", options: Any = None, gaps: Any = ()
) -> Profile:
    table = pd.DataFrame({"measure": "prediction", "feature": "age", "x": X, "level": level, **columns})
    table = table.assign(lower=np.nan, upper=np.nan, confidence=0.95, covers="new test samples")
    frames = [pd.DataFrame({"x": X, "value": curve, "curve": k}) for k, curve in enumerate(ice)]
    frame = pd.concat([pd.DataFrame({"x": X, "value": columns["estimate"], "curve": -1}), *frames], ignore_index=True)
    frame = frame.assign(measure="prediction", feature="age", feature_2="", level=level, x_2=np.nan, level_2="")
    return Profile(
        id=id,
        explainer=id,
        title="",
        frame=frame[list(Profile.columns)],
        estimates=table[[*ESTIMATE_COLUMNS, *(c for c in table.columns if c not in ESTIMATE_COLUMNS)]],
        options=options or {},
        omissions=gaps,
    )


def _with_a_gap(profile: Profile, column: str) -> Profile:
    """Return the profile with one error that is not known."""
    profile.estimates.loc[2, column] = np.nan
    return profile


def _of_levels(profile: Profile, levels: list[str]) -> Profile:
    profile.estimates["level"] = levels
    return profile


def judged(*profiles: Profile, expected: str = "increasing", n: int = 300, **options: Any) -> Outcome:
    facts: dict[str, Any] = {"n": n, "features": FEATURES}
    return Direction(monotone={"age": expected}, **options).check(run(*profiles, **facts))


def codes(found: Outcome) -> list[tuple[str, tuple[str, ...]]]:
    return [(finding.code, finding.features) for finding in found.findings]


def test_a_fall_of_both_curves_fires_with_the_interval_of_the_change() -> None:
    found = judged(ale(DIP), pdp(DIP))
    assert codes(found) == [("UQ901", ("age",))]
    finding = found.findings[0]
    assert (finding.evidence, finding.severity, finding.threshold) == (("ale", "pdp"), "high", 0.0)
    assert finding.observed == pytest.approx(-0.3)
    assert "is expected to be increasing in age, but between 0.4 and 0.6" in finding.statement
    assert "Steps in the wrong direction add up to 0.300; the range of the curve is 1.00." in finding.statement
    assert finding.lower is not None
    assert finding.upper is not None
    assert finding.lower < -0.3 < finding.upper < 0


@pytest.mark.parametrize("profiles", [(ale(UP), pdp(UP)), (ale(UP),), (pdp(UP),), (ale(0 * UP), pdp(0 * UP, 0.0))])
def test_curves_that_keep_the_direction_pass(profiles: tuple[Profile, ...]) -> None:
    found = judged(*profiles)
    assert (found.state, codes(found)) == ("passed", [])
    assert re.search(r"of the prediction ha(?:s|ve) the stated direction for age\.", found.reason)


def test_the_other_direction_is_the_mirror_image() -> None:
    assert codes(judged(ale(-DIP), pdp(-DIP), expected="decreasing")) == [("UQ901", ("age",))]
    assert judged(ale(-UP), pdp(-UP), expected="decreasing").state == "passed"
    assert codes(judged(ale(UP), expected="decreasing")) == [("UQ901", ("age",))]


def test_one_curve_is_enough_and_alone_is_evidence() -> None:
    assert judged(ale(DIP), pdp(UP)).findings[0].evidence == ("ale",)
    assert judged(ale(UP), pdp(DIP)).findings[0].evidence == ("pdp",)


def test_a_fall_within_the_noise_is_undetermined() -> None:
    found = judged(ale(DIP, 0.3))
    assert (found.state, codes(found)) == ("skipped", [])
    assert "UQ901 is undetermined for age." in found.reason
    assert judged(ale(UP, 0.3)).state == "skipped"


@pytest.mark.parametrize(("fall", "state"), [(0.0195, "passed"), (0.0205, "found")])
def test_the_least_fall_is_a_share_of_the_range_in_both_directions(fall: float, state: str) -> None:
    curve = np.array([0.0, 0.3, 0.6, 0.6 - fall, 0.8, 1.0])
    assert judged(ale(curve, 1e-5)).state == state
    assert judged(ale(-curve, 1e-5), expected="decreasing").state == state


def test_a_fall_too_small_to_matter_is_none() -> None:
    small = np.array([0.0, 0.3, 0.6, 0.59, 0.8, 1.0])
    assert judged(ale(small, 0.0001)).state == "passed"
    assert codes(judged(ale(small, 0.0001), min_size=0.005)) == [("UQ901", ("age",))]


def test_severity_follows_the_share_of_the_range() -> None:
    assert judged(ale(DIP)).findings[0].severity == "high"
    assert judged(ale(DIP), high_size=0.5).findings[0].severity == "medium"


def test_the_intervals_of_levels_are_not_those_of_changes() -> None:
    found = judged(pdp(DIP, spread=0.05))
    assert codes(found) == [("UQ901", ("age",))], "levels differ by 5, changes by 0.05"
    assert judged(pdp(DIP, spread=2.0)).state == "skipped"


def test_pdp_steps_are_paired_t_tests_of_the_kept_curves() -> None:
    result = pdp(DIP, spread=0.2)
    steps = pdp_steps(Pdp.from_result(result), run(result), "prediction", "age")
    kept = result.frame[result.frame["curve"] >= 0].pivot_table(index="curve", columns="x", values="value").to_numpy()
    expected = ttest_1samp(np.diff(kept, axis=1), 0.0)
    assert steps.tested / steps.std_error == pytest.approx(expected.statistic)
    assert steps.df == pytest.approx(expected.df)


def test_kept_curves_cannot_raise_what_all_rows_do_not_show() -> None:
    result = pdp(DIP, spread=0.0)
    result.estimates["estimate"] = UP
    steps = pdp_steps(Pdp.from_result(result), run(result), "prediction", "age")
    assert steps.tested[2] == 0
    assert codes(judged(result)) == []


def test_ale_steps_have_the_variance_of_their_own_bins() -> None:
    result = ale(DIP, 0.02)
    fine = ale_steps(Ale.from_result(result), run(result, n=300), "prediction", "age", rows_per_step=30)
    assert fine.std_error == pytest.approx(np.full(5, 0.02))
    assert fine.df == pytest.approx(np.full(5, 300 / 5 - 1))
    joined = ale_steps(Ale.from_result(result), run(result, n=100), "prediction", "age", rows_per_step=40)
    assert joined.change == pytest.approx([0.6, 0.0, 0.4])
    assert joined.std_error == pytest.approx(0.02 * np.sqrt([2, 2, 1]))
    assert joined.df == pytest.approx([38, 38, 19])


def test_the_wider_error_is_the_sum_of_those_of_both_levels() -> None:
    result = pdp(DIP, rows=0)
    result.estimates["std_error"] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    steps = pdp_steps(Pdp.from_result(result), run(result), "prediction", "age")
    assert steps.std_error.tolist() == [3, 6, 12, 24, 48]


def test_a_curve_without_errors_has_as_many_degrees_of_freedom_as_rows() -> None:
    local = ale(DIP, 0.0)
    steps = ale_steps(Ale.from_result(local), run(local, n=300), "prediction", "age", 30)
    assert steps.df.tolist() == [300] * 5


def test_clusters_weights_and_too_few_curves_take_the_wider_error() -> None:
    local, partial = ale(DIP, 0.02), pdp(DIP)
    clustered = ale_steps(Ale.from_result(local), run(local, n=300, clusters=30), "prediction", "age", 30)
    assert clustered.std_error == pytest.approx(0.02 * (np.sqrt(np.arange(1, 6)) + np.sqrt(np.arange(5))))
    assert clustered.df == pytest.approx(np.full(5, 29))
    bare = pdp(DIP, rows=0)
    for result, weights in ((partial, True), (bare, False)):
        wide = pdp_steps(Pdp.from_result(result), run(result, weights=weights), "prediction", "age")
        assert wide.std_error == pytest.approx(np.full(5, 1.6))
        assert wide.df.shape == (5,)


def test_every_step_of_every_curve_is_adjusted_together() -> None:
    weak = np.array([0.0, 0.3, 0.6, 0.574, 0.8, 1.0])
    assert codes(judged(ale(weak, 0.01))) == [("UQ901", ("age",))]
    assert codes(judged(ale(weak, 0.01), pdp(0.0 * UP, 0.05))) == []


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        (ale(UP, level="red"), "it is not numeric"),
        (ale(UP, options={"edges": {"age": [0.0, 1.0]}}), "the edges of its local effect were given"),
        (ale(UP, float("nan")), "a bin of its local effect has no standard error"),
        (_with_a_gap(ale(UP), "std_error_change"), "a bin of its local effect has no standard error"),
        (_with_a_gap(pdp(UP, rows=5), "std_error"), "too few ICE curves"),
        (_of_levels(ale(UP), ["", *"abcde"]), "it is not numeric"),
        (pdp(UP, options={"mode": "derivative"}), "computed as a derivative"),
        (pdp(UP, rows=5, options={"mode": "centred"}), "too few ICE curves"),
    ],
)
def test_what_has_no_error_of_changes_is_not_tested(profile: Profile, words: str) -> None:
    found = judged(profile)
    assert found.state == "not_applicable"
    assert words in found.reason


def test_a_missing_curve_gives_the_reason_of_its_omission() -> None:
    gone = ale(UP, gaps=(Omission("prediction", "age", "it has one value"),))
    gone.estimates.drop(index=gone.estimates.index, inplace=True)  # noqa: PD002 - the result is frozen
    with pytest.raises(NotJudgedError, match="it has one value"):
        ale_steps(Ale.from_result(gone), run(gone), "prediction", "age", 30)
    assert (
        "the accumulated local effect has no value for the uncertainty along it"
        in judged(ale(UP), measure="entropy").reason
    )


def test_an_unknown_feature_is_named_and_the_others_are_judged() -> None:
    check = Direction(monotone={"agee": "increasing", "age": "increasing"})
    facts: dict[str, Any] = {"n": 300, "features": FEATURES}
    found = check.check(run(ale(UP), **facts))
    assert found.state == "skipped"
    assert "agee (no feature of this run. Did you mean 'age'?)" in found.reason
    alone = Direction(monotone={"agee": "increasing"}).check(run(ale(UP), **facts))
    assert (alone.state, "no feature of this run" in alone.reason) == ("not_applicable", True)
    assert check.check(run(ale(DIP), **facts)).findings[0].features == ("age",)


def test_without_a_stated_direction_or_a_profile_it_does_not_apply() -> None:
    found = Direction().check(run(ale(DIP)))
    assert (found.state, "no direction was stated" in found.reason) == ("not_applicable", True)
    found = Direction(monotone={"age": "increasing"}).check(
        run(not_run=(NotRun("ale", "explainers", "denied", "not asked"),))
    )
    assert found.reason == (
        "age (the accumulated local effect was not computed: denied and the partial dependence was not computed)"
    )


def test_two_falls_make_up_their_sum_and_the_larger_one_is_told() -> None:
    """Whatever the unit: falls of 2 and 4 of a range of 20."""
    curve = 20 * np.array([0.0, 0.5, 0.4, 0.9, 0.7, 1.0])
    (finding,) = judged(ale(curve, 0.1), high_size=0.3).findings
    reach = t.ppf(0.975, 300 / 5 - 1) * 0.1
    assert (finding.observed, finding.lower, finding.upper) == pytest.approx((-4, -4 - reach, -4 + reach))
    assert finding.statement == (
        "The prediction is expected to be increasing in age, but between 0.6 and 0.8 the accumulated local effect "
        "changes by −4.00 (95% CI −4.20 to −3.80). Steps in the wrong direction add up to "
        "6.00; the range of the curve is 20.0."
    )
    assert (finding.severity, judged(ale(curve, 0.1), high_size=0.31).findings[0].severity) == ("high", "medium")
    assert (finding.measures, finding.features, finding.threshold) == (("prediction",), ("age",), 0.0)


@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("error", "first", "state"), [(0.02, 0.05, "passed"), (0.02, 0.01, "skipped")])
def test_every_step_must_be_clear_in_whatever_unit(unit: float, error: float, first: float, state: str) -> None:
    """With an error of 0.02 a step reaches 0.033 down: one of 0.01 may fall by more than 0.02."""
    curve = unit * np.array([0.0, first, 0.4, 0.6, 0.8, 1.0])
    assert judged(ale(curve, unit * error)).state == state


def test_one_method_keeps_and_two_keep_to_the_direction() -> None:
    said = "of the prediction {} the stated direction for age."
    assert judged(ale(UP)).reason == f"The accumulated local effect {said.format('has')}"
    both = "The accumulated local effect and the partial dependence"
    assert judged(ale(UP), pdp(UP)).reason == f"{both} {said.format('have')}"


def test_a_run_without_a_list_of_features_is_judged_all_the_same() -> None:
    assert Direction(monotone={"age": "increasing"}).check(run(ale(UP), n=300, features=[])).state == "passed"


def test_the_rule_prints_its_defaults_and_takes_five_rows_to_a_step() -> None:
    text = Direction().rules[0].text
    for words in ("(level 0.05, Holm-adjusted", "by at least 2% of the curve's range", "make up 25% of it"):
        assert words in text
    assert Direction(rows_per_step=5).rows_per_step == 5
    with pytest.raises(InputError, match=r"direction\.rows_per_step must be an integer >= 5; got 4"):
        Direction(rows_per_step=4)


@pytest.mark.parametrize(("rows", "error"), [(9, 1.6), (10, None)])
def test_ten_curves_are_enough_for_the_error_of_a_change(rows: int, error: float | None) -> None:
    result = pdp(DIP, rows=rows)
    steps = pdp_steps(Pdp.from_result(result), run(result), "prediction", "age")
    assert (steps.std_error[0] == pytest.approx(1.6)) == (error is not None)
    assert steps.std_error.max() < 0.1 or error is not None


def test_tested_is_the_smaller_of_what_all_rows_and_the_kept_curves_show() -> None:
    result = pdp(DIP)
    result.estimates["estimate"] = 2 * DIP
    steps = pdp_steps(Pdp.from_result(result), run(result), "prediction", "age")
    assert (steps.start.tolist(), steps.end.tolist()) == (X[:-1].tolist(), X[1:].tolist())
    assert steps.change == pytest.approx(2 * np.diff(DIP))
    assert steps.tested == pytest.approx(np.diff(DIP))
    assert steps.range == pytest.approx(2)


def test_rows_without_the_feature_are_in_no_bin_and_two_points_make_a_step() -> None:
    local = ale(UP, 0.02)
    features = [{"name": "income", "missing": 100}, {"name": "age", "missing": 50}]
    steps = ale_steps(Ale.from_result(local), run(local, n=300, features=features), "prediction", "age", 10)
    assert steps.df == pytest.approx(np.full(5, 250 / 5 - 1))
    for points, made in ((2, True), (1, False)):
        few = ale(UP, 0.02)
        few.estimates.drop(index=few.estimates.index[points:], inplace=True)  # noqa: PD002 - the result is frozen
        if made:
            assert len(ale_steps(Ale.from_result(few), run(few, n=300), "prediction", "age", 10).change) == 1
        else:
            with pytest.raises(NotJudgedError, match="it has one value"):
                ale_steps(Ale.from_result(few), run(few, n=300), "prediction", "age", 10)


@pytest.mark.parametrize(("rise", "flat"), [(0.95e-9, True), (1.05e-9, False)])
def test_a_curve_is_flat_up_to_rounding(rise: float, flat: bool) -> None:
    local = ale(-1 - rise * (1 - X))
    steps = ale_steps(Ale.from_result(local), run(local, n=300), "prediction", "age", 30)
    assert (steps.range == 0) == flat


@pytest.mark.parametrize(
    "options",
    [{"monotone": {"age": "up"}}, {"monotone": ["age"]}, {"measure": ""}, {"level": 0.0}, {"min_size": 0.0},
     {"high_size": 0.0}, {"rows_per_step": 1}],
)  # fmt: skip
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=rf"direction\.{next(iter(options))} must be"):
        Direction(**options)


def test_options_are_printed() -> None:
    assert "by at least 5% of the curve's range" in Direction(min_size=0.05).rules[0].text
    assert "ALE of entropy" in Direction(measure="entropy").rules[0].text


class Humped:
    """Rises in x0 up to 0.5 and falls beyond; rises in x1, by an amount that depends on x0."""

    def distribution(self, rows: Table) -> Distribution:
        values = np.asarray(rows, dtype=float)
        return Normal(-np.abs(values[:, 0] - 0.5) + values[:, 1] * (2 + values[:, 0]), 1.0)


def test_a_hump_is_found_end_to_end_and_a_rise_is_not() -> None:
    rng = np.random.default_rng(1)
    rows = rng.uniform(size=(300, 2))
    subject = make_subject(Humped(), KnownTruth(), rows, rng.normal(size=300))
    options = {"checks.direction": {"monotone": {"x0": "increasing", "x1": "increasing"}}}
    done = audited(subject, ["ale", "pdp"], checks=["direction"], options=options)
    found = outcome(done, "direction")
    assert codes(found) == [("UQ901", ("x0",))]
    assert found.findings[0].evidence == ("ale", "pdp")
