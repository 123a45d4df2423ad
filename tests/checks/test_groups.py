"""Every rule on groups: raised, silent, undetermined, and not judged without its evidence."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Omission, Result
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Outcome
from uq_report.evidence.outcomes import GroupsDifference
from uq_report.evidence.run import NotRun, Run
from uq_report.methods.groups.check import GroupsCheck, contrast
from uq_report.methods.groups.explain import Groups

SMALL = 0.01  # half the width of an interval that decides


def interval(value: float, reach: float) -> dict[str, Any]:
    bounds = {"lower": value - reach, "upper": value + reach, "std_error": reach / 2, "confidence": 0.95}
    return {**bounds, "estimate": value, "covers": "new test samples"}


def difference(
    measure: str, value: float, reach: float = SMALL, p: float = 0.5, item: str = "f", scale: float = 0.5
) -> dict[str, Any]:
    unit = "probability" if measure in ("residual", "prediction") else "nats"
    place = {"measure": measure, "feature": "sex", "item": item, "n": 80, "n_rest": 120, "unit": unit}
    return {**place, **interval(value, reach), "p_value": p, "overall": 0.4, "scale": scale}


def gap(value: float, reach: float = SMALL, item: str = "f") -> dict[str, Any]:
    place = {"measure": "confidence_gap", "feature": "sex", "item": item, "n": 80, "unit": "nats"}
    return {**place, **interval(value, reach), "p_value": 0.5}


def association(item: str, value: float) -> dict[str, Any]:
    place = {"measure": "cramers_v", "feature": "sex", "item": item, "n": 200, "covers": "none"}
    return {**place, "estimate": value, "lower": np.nan, "upper": np.nan}


def lost(
    value: float, told: float = 0.9, by: str = "a", p: float = 0.001, reach: float = SMALL, scale: float = 0.5
) -> dict[str, Any]:
    """Return the contrast that is lost when `by` is exchanged."""
    place = {"measure": "prediction", "feature": "sex", "item": "f", "n": 80, "unit": "probability", "by": by}
    return {**place, **interval(value, reach), "p_value": p, "association": told, "scale": scale}


def diagnostic(id: str, rows: list[dict[str, Any]], **meta: Any) -> Diagnostic:
    columns = [*ESTIMATE_COLUMNS, "item", "n", "n_rest", "unit", "p_value", "overall", "scale", "by", "association"]
    return Diagnostic(
        id=id,
        explainer="groups",
        title="",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(rows, columns=columns),
        meta=meta,
    )


def judged(
    *differences: dict[str, Any],
    use: tuple[dict[str, Any], ...] = (),
    proxies: tuple[dict[str, Any], ...] = (),
    own: float = 0.0,
    withheld: tuple[str, ...] = (),
    check: GroupsCheck | None = None,
) -> Outcome:
    """Judge these differences beside those that are 0."""
    attributes = {"sex": {"groups": ["f", "m"], "withheld": list(withheld), "edges": None, "feature": False}}
    overall = {**gap(0.0), "feature": "", "item": "all observations"}
    told = {line["measure"] for line in differences}
    plain = [difference(m, 0.0) for m in ("residual", "confidence_gap", "brier") if m not in told]
    results: list[Result] = [
        diagnostic("groups", [overall, gap(own)], attributes=attributes, n_min=30),
        diagnostic("groups.difference", [*differences, *plain]),
        diagnostic("groups.proxy", [association("a", 0.9), *proxies]),
        diagnostic("groups.use", list(use)),
    ]
    return (check or GroupsCheck()).check(run(results=tuple(results)))


def run(**parts: Any) -> Run:
    return Run(as_of="2026-01-01", subject={"n": 200}, settings={}, environment={}, **parts)


def test_all_is_well() -> None:
    outcome = judged(use=(lost(0.01, reach=0.005),))
    assert (outcome.state, len(outcome.findings)) == ("passed", 0)
    assert "No difference of predictions between groups is attributable to" in outcome.reason
    assert "Every group has at least 30 observations" in outcome.reason


@pytest.mark.parametrize(
    ("value", "reach", "severity"),
    [(0.12, 0.05, "medium"), (-0.12, 0.05, "medium"), (0.26, 0.05, "high"), (0.24, 0.05, "medium")],
)
def test_uq801_needs_the_interval_beyond_a_share_of_the_spread(value: float, reach: float, severity: str) -> None:
    beside = [difference("prediction", 0.1, p=np.nan), difference("outcome", value + 0.1, p=np.nan)]
    (finding,) = judged(difference("residual", value, reach, p=0.001), *beside).findings
    assert (finding.code, finding.severity, finding.features) == ("UQ801", severity, ("sex",))
    assert finding.threshold == pytest.approx(0.05)
    side = "low" if value > 0 else "high"
    assert f"predictions are too {side} for sex = f (80 observations) by {abs(100 * value):.0f}" in finding.statement
    assert "its predictions differ by 10.0 points" in finding.statement
    assert f"its outcomes differ by {'−' if value < 0 else ''}{abs(value + 0.1):.3f} " in finding.statement


def test_uq801_stays_silent_or_undetermined() -> None:
    assert judged(difference("residual", 0.03, 0.01, p=0.001)).state == "passed"
    assert judged(difference("residual", 0.3, p=0.001, scale=0.0)).findings == ()
    unsure = judged(difference("residual", 0.09, 0.05, p=0.001))
    assert (unsure.state, "UQ801 is undetermined for sex = f" in unsure.reason) == ("skipped", True)


def test_uq801_is_adjusted_over_groups_and_classes() -> None:
    others = [difference("residual", 0.0), difference("residual[b]", 0.0)]
    assert not judged(difference("residual[yes]", 0.3, 0.2, p=0.009), *others).findings
    (finding,) = judged(difference("residual[yes]", 0.3, 0.2, p=0.008), *others).findings
    assert "predictions of yes are too low" in finding.statement


@pytest.mark.parametrize(
    ("value", "reach", "severity"),
    [(0.3, 0.05, "high"), (0.3, 0.1, "medium"), (0.2, 0.15, "low"), (-0.3, 0.05, "high")],
)
def test_uq802_is_graded_by_where_the_interval_lies(value: float, reach: float, severity: str) -> None:
    (finding,) = judged(difference("confidence_gap", value, reach, p=0.001), own=0.15).findings
    assert (finding.code, finding.severity, finding.observed) == ("UQ802", severity, value)
    side = "more" if value > 0 else "less"
    assert f") {side} than for the other 120 observations" in finding.statement
    assert "is 0.150 nats (95% CI 0.140 to 0.160) above what the model expects, " in finding.statement


def test_uq802_stays_silent_or_undetermined() -> None:
    assert judged(difference("confidence_gap", 0.095, 0.004, p=0.001)).state == "passed"
    assert "UQ802 is undetermined for sex = f" in judged(difference("confidence_gap", 0.1, 0.1, p=0.06)).reason
    assert not judged(difference("confidence_gap", 0.1, 0.09, p=0.03)).findings
    two = (difference("confidence_gap", 0.1, 0.09, p=0.02), difference("confidence_gap", 0.0, item="m"))
    assert not judged(*two).findings


def test_uq802_takes_the_usual_loss_where_the_likelihood_is_infinite() -> None:
    line = difference("excess_loss", 0.2, 0.05, p=0.001, scale=0.4)
    assert not judged(line).findings
    results = (
        diagnostic("groups", [], attributes={}, n_min=30),
        diagnostic("groups.difference", [line]),
    )
    (finding,) = GroupsCheck().check(run(results=results)).findings
    assert (finding.code, finding.severity) == ("UQ802", "medium")
    assert finding.threshold == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("told", "exceeds", "severity"),
    [(0.6, 0.0, "observation"), (0.69, 0.05, "observation"), (0.71, 0.05, "low"), (0.6, 0.07, "medium")],
)
def test_uq803_is_graded_by_how_well_the_feature_tells_and_what_outcomes_say(
    told: float, exceeds: float, severity: str
) -> None:
    """Predictions differ by 20 points, outcomes by so much less."""
    beside = [difference("prediction", 0.2, p=np.nan), difference("residual", -exceeds, p=0.9)]
    found = judged(*beside, use=(lost(0.15, told),))
    (finding,) = [one for one in found.findings if one.code == "UQ803"]
    assert (finding.severity, finding.features) == (severity, ("a", "sex"))
    assert "changes the predictions for sex = f relative to the other groups by 15.0 points" in finding.statement
    assert f"a, which is associated with sex ({told:.2f}), changes" in finding.statement
    assert "In all, predictions differ by 20.0 points" in finding.statement


def test_uq803_counts_only_what_exceeds_in_the_direction_that_is_lost() -> None:
    (finding,) = judged(difference("residual", 0.045, p=0.9), use=(lost(-0.15, 1.0, by="sex"),)).findings
    assert (finding.severity, finding.features) == ("low", ("sex",))
    (finding,) = judged(difference("residual", 0.065, p=0.9), use=(lost(-0.15, 1.0, by="sex"),)).findings
    assert finding.severity == "medium"
    (finding,) = judged(difference("residual", -0.065, p=0.9), use=(lost(-0.15, 1.0, by="sex"),)).findings
    assert finding.severity == "low"


def test_uq803_stays_silent_or_undetermined() -> None:
    assert not judged(use=(lost(0.15, 0.49),)).findings
    assert judged(use=(lost(0.04),)).findings == ()
    unsure = judged(use=(lost(0.055),))
    assert (unsure.state, "UQ803 is undetermined for a" in unsure.reason) == ("skipped", True)
    assert not judged(use=(lost(0.15, p=0.03), lost(0.0, by="b", p=0.9))).findings


def test_uq803_says_where_all_features_together_tell_the_attribute() -> None:
    together = {**association("all features", 0.8), **interval(0.8, 0.1)}
    finding = judged(proxies=(together,)).findings[0]
    assert (finding.code, finding.severity, finding.features) == ("UQ803", "observation", ("sex",))
    assert judged(proxies=({**together, "lower": 0.4},)).state == "passed"
    assert [one.features for one in judged(proxies=(together,), use=(lost(0.15),)).findings] == [("a", "sex")]


@pytest.mark.parametrize(
    ("line", "is_said"),
    [
        (difference("entropy", 0.1, 0.04, p=0.001), True),
        (difference("entropy", 0.1, 0.06, p=0.001), False),
        (difference("brier", 0.1, 0.05, p=0.001, scale=0.4), True),
        (difference("brier", 0.1, 0.07, p=0.001, scale=0.4), False),
        (difference("false_positive_rate", -0.2, 0.1, p=0.001), True),
        (difference("false_positive_rate", -0.2, 0.1, p=0.03), False),
    ],
)
def test_uq805_says_what_base_rates_may_make_as_an_observation(line: dict[str, Any], is_said: bool) -> None:
    found = judged(line).findings
    expected = [("UQ805", "observation", ("sex",))] if is_said else []
    assert [(one.code, one.severity, one.features) for one in found] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (difference("residual", 0.1, 0.0499, p=0.025), "UQ801"),  # a tenth of a scale of 0.5
        (difference("residual", 0.1, 0.0501, p=0.025), None),
        (difference("residual", -0.1, 0.0499, p=0.025), "UQ801"),
        (difference("residual", -0.1, 0.0499, p=0.026), None),
        (difference("entropy", -0.1, 0.0499, p=0.025), "UQ805"),
        (difference("entropy", -0.1, 0.0501, p=0.025), None),
    ],
)
def test_both_sides_of_margin_and_level(line: dict[str, Any], expected: str | None) -> None:
    """One test of its rule beside none, at half of the check's level."""
    results = (diagnostic("groups", [], attributes={}, n_min=30), diagnostic("groups.difference", [line]))
    codes = [finding.code for finding in GroupsCheck().check(run(results=results)).findings]
    assert codes == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("nearest", "severity"), [(0.2237, "high"), (0.2236, "medium"), (0.1582, "medium"), (0.1581, "low")]
)
def test_both_sides_of_the_grades_of_uq802(nearest: float, severity: str) -> None:
    """The loss has a standard deviation of 0.5 nats: 0.5 √0.2 are worth 0.1 nats, 0.5 √0.1 are worth 0.05."""
    (finding,) = judged(difference("confidence_gap", 0.4, 0.4 - nearest, p=0.001)).findings
    assert finding.severity == severity


@pytest.mark.parametrize(("value", "severities"), [(0.0999, []), (0.1001, ["low"]), (-0.1001, ["low"])])
def test_uq802_is_raised_from_what_a_recalibration_would_save(value: float, severities: list[str]) -> None:
    """0.1 nats are 0.2 standard deviations, which are worth 0.02 nats."""
    found = judged(difference("confidence_gap", value, 0.01, p=0.001)).findings
    assert [finding.severity for finding in found] == severities
    assert all(finding.threshold == pytest.approx(0.1) for finding in found)


@pytest.mark.parametrize(
    ("reach", "severity"), [(0.0999, "high"), (0.1001, "medium"), (0.2499, "medium"), (0.2501, "low")]
)
def test_coverage_is_graded_in_margins(reach: float, severity: str) -> None:
    """30 points less their reach: high from four times 5 points on, medium beyond one."""
    (finding,) = judged(difference("coverage_90", 0.3, reach, p=0.001)).findings
    assert finding.severity == severity


def test_a_loss_that_does_not_vary_by_the_model_has_no_size() -> None:
    assert judged(difference("confidence_gap", 0.3, p=0.001, scale=0.0)).findings == ()


def test_wrong_predictions_explain_the_loss_of_the_group() -> None:
    found = judged(difference("residual", 0.2, p=0.001), difference("confidence_gap", 0.3, p=0.001)).findings
    assert found[1].is_explained_by(found[0])


@pytest.mark.parametrize(("value", "open_"), [(0.0951, True), (-0.0951, True), (0.0949, False), (-0.0949, False)])
def test_an_interval_that_reaches_beyond_the_margin_leaves_a_group_open(value: float, *, open_: bool) -> None:
    outcome = judged(difference("confidence_gap", value, 0.005, p=0.5))
    assert outcome.state == ("skipped" if open_ else "passed")


def test_losses_are_said_against_what_the_model_expects_or_by_themselves() -> None:
    (below,) = judged(difference("confidence_gap", -0.2, 0.1, p=0.001), own=-0.15).findings
    assert "the loss is 0.150 nats (95% CI 0.140 to 0.160) below what the model expects, 0.20 nats" in (below.statement)
    covered = difference("coverage_90", -0.2, 0.1, p=0.001) | {"unit": "share of observations"}
    (finding,) = judged(covered).findings
    assert "90% prediction intervals cover 20 points (95% CI 10 to 30) less than for the other 120 observations" in (
        finding.statement
    )
    assert (finding.measures, finding.threshold) == (("coverage_90",), 0.05)
    alone = difference("excess_loss", 0.2, 0.05, p=0.001, scale=0.4)
    results = (diagnostic("groups", [], attributes={}, n_min=30), diagnostic("groups.difference", [alone]))
    (finding,) = GroupsCheck().check(run(results=results)).findings
    assert "the loss less its expectation is 0.20 nats (95% CI 0.15 to 0.25) more than" in finding.statement


def test_uq805_is_one_finding_of_an_attribute_with_the_numbers_of_its_largest_difference() -> None:
    """Beyond its margin the entropy is 3.2 times as far, the Brier score 1.25 times."""
    lines = (
        difference("brier", -0.09, 0.04, p=0.001, scale=0.4),
        difference("entropy", 0.2, 0.04, p=0.001),
        difference("entropy", 0.3, 0.1, p=0.001, item="m") | {"feature": "town"},
    )
    found = judged(*lines).findings
    assert [(one.features, one.observed, one.threshold) for one in found] == [
        (("sex",), 0.2, 0.05), (("town",), 0.3, 0.05),
    ]  # fmt: skip
    assert found[0].measures == ("brier", "entropy")
    assert "the Brier score of sex = f is lower by 0.090 nats" in found[0].statement
    assert "the stated uncertainty of sex = f is higher by 0.200 nats" in found[0].statement


def changed(value: float, by: str = "sex", scale: float = 0.5) -> dict[str, Any]:
    """Return the mean change of all predictions when `by` is exchanged."""
    return lost(value, 1.0, by=by, p=np.nan, scale=scale) | {"item": "all observations"}


@pytest.mark.parametrize(("size", "severities"), [(0.00501, ["low"]), (0.00499, [])])
def test_uq803_names_an_attribute_that_is_an_input(size: float, severities: list[str]) -> None:
    """From a change of a hundredth of the outcome's standard deviation on, whatever the groups' contrasts."""
    found = judged(use=(changed(size), lost(0.0, 1.0, by="sex", p=0.9))).findings
    assert [finding.severity for finding in found] == severities
    for finding in found:
        assert finding.statement.startswith("The model uses sex as an input: permuting it changes predictions by 0.5")
        assert finding.remedy == "Document the legal basis for using sex. Otherwise remove sex and its proxies."
        assert (finding.features, finding.threshold) == (("sex",), 0.005)


def test_uq803_names_an_attribute_once_and_no_feature_beside_it_as_an_input() -> None:
    assert judged(use=(changed(0.4, by="a"),)).findings == ()
    assert judged(use=(changed(0.4, scale=0.0),)).findings == ()
    (finding,) = judged(use=(changed(0.4), lost(0.3, 1.0, by="sex"))).findings
    assert "changes the predictions for sex = f relative" in finding.statement


def test_uq803_speaks_of_the_worst_contrast_of_a_feature() -> None:
    """Of two groups the one whose predictions exceed their outcomes, though the other's contrast is larger."""
    use = (lost(0.3), lost(-0.2) | {"item": "m"})
    beside = [difference("residual", 0.0, p=0.9), difference("residual", 0.07, p=0.9, item="m")]
    (finding,) = [one for one in judged(*beside, use=use).findings if one.code == "UQ803"]
    assert (finding.severity, finding.observed) == ("medium", -0.2)
    assert "for sex = m relative to the other groups by 20.0 points" in finding.statement
    (largest,) = judged(use=use).findings
    assert (largest.severity, largest.observed) == ("low", 0.3)


@pytest.mark.parametrize(
    ("value", "reach", "p", "state"),
    [
        (0.1, 0.0499, 0.05, "found"),
        (0.1, 0.0501, 0.05, "skipped"),
        (-0.1, 0.0499, 0.05, "found"),
        (0.1, 0.0499, 0.051, "skipped"),
        (-0.04, 0.0099, 0.9, "passed"),
        (-0.04, 0.0101, 0.9, "skipped"),
    ],
)
def test_both_sides_of_what_is_lost(value: float, reach: float, p: float, state: str) -> None:
    assert judged(use=(lost(value, reach=reach, p=p),)).state == state


def test_what_does_not_vary_has_no_share_and_raises_nothing() -> None:
    assert judged(difference("residual", 0.3, p=0.001, scale=0.0)).findings == ()
    assert judged(use=(lost(0.3, scale=0.0),)).findings == ()


def test_a_class_of_any_name_has_its_own_residual() -> None:
    """The contrast that is lost is held against the residual of its class, even of one that is named prediction."""
    for name, severity in (("prediction[prediction]", "medium"), ("prediction[other]", "observation")):
        line = lost(0.3, 0.6) | {"measure": name}
        beside = difference("residual[prediction]", -0.3, p=np.nan)
        found = [f.severity for f in judged(beside, use=(line,)).findings if f.code == "UQ803"]
        assert found == [severity]


@pytest.mark.parametrize(("told", "explains"), [(-0.3, True), (0.0, False)])
def test_only_what_outcomes_do_not_bear_out_explains_wrong_predictions(told: float, explains: bool) -> None:
    found = judged(difference("residual", told, p=np.nan), use=(lost(0.3, 0.6),)).findings
    (finding,) = (f for f in found if f.code == "UQ803")
    assert (finding.severity != "observation") is explains
    assert [symptom.code for symptom in finding.explains] == (["UQ801"] if explains else [])


def test_the_largest_difference_is_that_of_the_most_margins_of_its_own_scale() -> None:
    """0.1 nats of entropy are fewer margins than 0.5 of a loss of 1, and more than 0.5 of a loss of 10."""
    entropy = difference("entropy", 0.4, p=0.001, item="f")
    for scale, largest in ((1.0, 0.8), (10.0, 0.4)):
        lines = (entropy, difference("brier", 0.8, p=0.001, scale=scale))
        found = [f for f in judged(*lines).findings if f.code == "UQ805"]
        assert [f.observed for f in found] == ([largest] if found else [])


@pytest.mark.parametrize("high", [1.0, 0.99])
def test_the_multiple_from_which_a_difference_is_high_is_1_at_least(high: float) -> None:
    if high >= 1:
        assert GroupsCheck(high=high).high == high
    else:
        with pytest.raises(InputError, match=r"groups\.high must be a number >= 1"):
            GroupsCheck(high=high)


def test_where_nothing_could_be_exchanged_its_attributes_are_named() -> None:
    gaps = (Omission("", "sex", "features could not be exchanged"),)
    others = (diagnostic("groups.difference", [difference("residual", 0.0)]), diagnostic("groups.proxy", []))
    meta: dict[str, Any] = {"attributes": {}, "n_min": 30}
    for lines, unable in (([], True), ([lost(0.3)], False)):
        exchanged = replace(diagnostic("groups.use", lines), omissions=gaps)
        found = GroupsCheck().check(run(results=(diagnostic("groups", [gap(0.0)], **meta), *others, exchanged)))
        assert ("no feature could be permuted for sex" in found.reason) is unable
        assert ("UQ803" in {finding.code for finding in found.findings}) is not unable


def test_the_size_of_a_contrast_of_0_keeps_its_interval() -> None:
    view = GroupsDifference.from_result(diagnostic("groups.difference", [difference("brier", 0.0)]))
    line = replace(view.lines[0], lower=-0.1, upper=0.2)
    assert contrast(line, size=True) == contrast(line) == "0.00 nats (95% CI −0.10 to 0.20)"
    below = replace(line, estimate=-0.05)
    assert contrast(below, size=True).endswith("(95% CI −0.20 to 0.10)")


def test_uq804_names_groups_that_cannot_be_judged_without_their_size() -> None:
    finding = judged(withheld=("x", "y")).findings[0]
    assert (finding.code, finding.severity, finding.observed) == ("UQ804", "observation", None)
    assert "Of sex, x and y cannot be judged: fewer than 30 observations" in finding.statement


def test_without_protected_attributes_it_does_not_apply() -> None:
    outcome = GroupsCheck().check(
        run(not_run=(NotRun("groups", "explainers", "groups.protected must be given", "data"),))
    )
    assert (outcome.state, outcome.reason) == (
        "not_applicable",
        "the comparison of groups was not computed: groups.protected must be given",
    )


def test_what_is_missing_is_not_judged() -> None:
    attributes: dict[str, Any] = {"sex": {"groups": [], "withheld": [], "edges": None, "feature": False}}
    bare = diagnostic("groups", [], attributes=attributes, n_min=30)
    outcome = GroupsCheck().check(run(results=(bare,)))
    assert outcome.state == "skipped"
    for code in ("UQ801", "UQ802", "UQ803", "UQ805"):
        assert f"{code} was not judged" in outcome.reason


def test_thresholds_are_options_and_stand_in_the_rules() -> None:
    check = GroupsCheck(spread=0.8, effect=0.5, some=0.6, much=0.7)
    lines = (difference("residual", 0.3, p=0.001), difference("confidence_gap", 0.2, 0.1, p=0.001))
    assert judged(*lines, use=(lost(0.15),), check=check).state == "passed"
    assert "beyond 80% of the outcome's standard deviation" in check.rules[0].text
    for option in ("level", "spread", "effect", "some", "entropy", "rate", "loss", "high", "used", "proxy", "skill"):
        with pytest.raises(InputError, match=rf"groups\.{option} must be"):
            GroupsCheck(**{option: 0.0})


def test_the_explainer_and_the_check_fit_together() -> None:
    given = testing.linear_subject(300)
    women = np.arange(300) % 2 == 0
    mean = given.model.distribution(given.X).mean()
    y = np.asarray(given.y).copy()
    y[women] = mean[women] + 2.5 * (y[women] - mean[women])
    given = replace(given, y=y, protected={"sex": np.where(women, "f", "m"), "tiny": np.arange(300) < 5})
    results = Groups().explain(given, Engine(given, testing.measures()).bound("groups"), {})
    outcome = GroupsCheck().check(run(results=tuple(results)))
    assert {f.code for f in outcome.findings} == {"UQ802", "UQ804", "UQ805"}
    assert {f.features for f in outcome.findings if f.code != "UQ804"} == {("sex",)}
