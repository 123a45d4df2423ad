"""What the model does where shuffles take it: negative Entropy-PFI, and PDP against ALE."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from uq_report.checks.reading import method_words
from uq_report.core.model.results import ESTIMATE_COLUMNS, Profile
from uq_report.core.model.subject import make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray, Table
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun
from uq_report.methods.support.check import Extrapolation, nearest_partial
from uq_report.testing import KnownTruth

from .importances import audited, diagnostic, outcome, pfi, run

NOTHING = (0.0, 0.003)
CALM = {"entropy": {"a": NOTHING, "b": NOTHING}}
X = np.linspace(0, 1, 6)
CHANGE = {"std_error_change": 1e-5}


def profile(id: str, curve: FloatArray, error: float = 0.02, measure: str = "prediction", level: str = "") -> Profile:
    """Return a PDP or ALE of feature a; an ALE's error grows from 0 as it accumulates."""
    table = pd.DataFrame({"measure": measure, "feature": "a", "x": X, "level": level, "estimate": curve})
    table = table.assign(
        std_error=error, std_error_change=np.where(X > 0, error, 0.0), confidence=0.95, covers="new test samples"
    )
    columns = [*ESTIMATE_COLUMNS, "x", "level", *(["std_error_change"] if id == "ale" else [])]
    return Profile(
        id=id,
        explainer=id,
        title="",
        frame=pd.DataFrame(columns=list(Profile.columns)),
        estimates=table.assign(lower=curve, upper=curve)[columns],
    )


def profiled(ale: FloatArray, pdp: FloatArray, error: float = 0.02, check: Extrapolation | None = None) -> Outcome:
    results = pfi(CALM), profile("ale", ale, error), profile("pdp", pdp, error)
    return (check or Extrapolation()).check(run(*results, task="regression"))


def confident(**entropy: tuple[float, float]) -> Outcome:
    return Extrapolation().check(
        run(pfi({"entropy": entropy}), profile("ale", X), profile("pdp", X), task="regression")
    )


def codes(found: Outcome) -> list[tuple[str, tuple[str, ...]]]:
    return [(finding.code, finding.features) for finding in found.findings]


def test_an_uncertainty_that_falls_is_an_observation_that_does_not_judge_it() -> None:
    found = confident(a=(-0.05, 0.01), b=NOTHING)
    assert codes(found) == [("UQ311", ("a",))]
    finding = found.findings[0]
    assert (finding.severity, finding.evidence, finding.measures) == ("observation", ("pfi",), ("entropy",))
    assert (finding.observed, finding.threshold) == (-0.05, -0.01)
    assert finding.statement == (
        "Permuting a lowers the stated uncertainty by 0.050 nats (95% CI 0.030 to 0.070). Whether it is "
        "calibrated there is not tested."
    )


def test_features_that_lower_the_uncertainty_are_one_finding_the_largest_first() -> None:
    (finding,) = confident(a=(-0.05, 0.01), b=(-0.2, 0.01), c=NOTHING).findings
    assert finding.features == ("b", "a")
    assert "uncertainty by 0.200 nats (95% CI 0.180 to 0.220); so does a (0.050 nats)." in finding.statement


def test_the_exchanged_rows_outside_the_support_are_counted() -> None:
    outside = [{"measure": "", "feature": "a", "item": "shuffled", "estimate": 0.17, "n": 200}]
    found = Extrapolation().check(run(pfi({"entropy": {"a": (-0.05, 0.01)}}), diagnostic("support", outside)))
    assert "17% of the permuted observations are outside the training domain; whether" in found.findings[0].statement
    assert "Up to" not in found.findings[0].statement
    assert found.findings[0].evidence == ("pfi", "support")


def test_the_joint_before_and_after_is_cited_where_the_feature_is_in_it() -> None:
    joint = diagnostic("redundancy.joint", [{"measure": "before", "feature": "a", "item": "b", "estimate": 1.0}])
    sick = pfi({"entropy": {"a": (-0.05, 0.01), "b": (-0.05, 0.01)}})
    found = Extrapolation().check(run(sick, joint, profile("ale", X), profile("pdp", 3 * X), task="regression"))
    evidence = {(f.code, f.features): f.evidence for f in found.findings}
    assert evidence == {
        ("UQ311", ("a", "b")): ("pfi", "redundancy.joint"),
        ("UQ312", ("a",)): ("ale", "pdp", "redundancy.joint"),
    }


@pytest.mark.parametrize("entropy", [(0.05, 0.01), (-0.005, 0.002), (-0.009, 0.0004)])
def test_less_than_the_margin_stays_silent(entropy: tuple[float, float]) -> None:
    assert confident(a=entropy, b=NOTHING).state == "passed"


def test_a_size_that_the_adjustment_takes_away_is_undetermined() -> None:
    assert codes(confident(a=(-0.033, 0.011))) == [("UQ311", ("a",))]
    found = confident(a=(-0.033, 0.011), b=NOTHING, c=NOTHING)
    assert (found.state, codes(found)) == ("skipped", [])
    assert "UQ311 is undetermined for a." in found.reason


def test_curves_that_part_fire_with_their_changes() -> None:
    found = profiled(X, 3 * X)
    assert codes(found) == [("UQ312", ("a",))]
    finding = found.findings[0]
    assert finding.severity == "observation"
    assert "Between a = 0 and 1 the prediction changes by 1.00 near the data, and by 3.00" in finding.statement
    assert "a difference of 67% of the largest range of any curve" in finding.statement
    assert finding.observed == pytest.approx(-2)
    assert finding.lower is not None
    assert finding.upper is not None
    # Level 0.025 for one curve, five points, and an error of 0.02 for each of: ALE at 1, PDP at 0 and 1.
    assert finding.upper - finding.lower == pytest.approx(2 * 2.8070 * 0.06, rel=1e-3)
    assert finding.lower < -2 < finding.upper < 0


@pytest.mark.parametrize(
    ("pdp", "error"),
    [
        pytest.param(X + 5, 0.02, id="the same but for a constant"),
        pytest.param(1.05 * X, 0.0, id="by less than a tenth of the range"),
        pytest.param(3 * X, 0.5, id="by less than the errors"),
    ],
)
def test_curves_that_are_not_shown_to_part_stay_silent(pdp: FloatArray, error: float) -> None:
    found = profiled(X, pdp, error)
    assert (found.state, codes(found)) == ("passed", [])
    assert "No average effect is shown to differ from the local effect." in found.reason


def test_flat_curves_do_not_part_by_rounding() -> None:
    rounding = np.ones(6) + 1e-16 * np.linspace(0, 5, 6)
    assert profiled(np.zeros(6), rounding, 0.0).state == "passed"


def test_a_step_between_the_points_of_the_grid_is_no_difference() -> None:
    ale, pdp = np.where(X > 0.45, 1.0, 0.0), np.where(X > 0.45, 1.0, 0.0)
    local, partial = profile("ale", ale, 0.0).estimates, profile("pdp", pdp, 0.0).estimates
    moved = partial.assign(x=np.where((X > 0) & (X < 1), X + 0.07, X))
    assert nearest_partial(local, moved)["estimate"].tolist() == ale.tolist()
    shifted = profile("pdp", pdp, 0.0)
    shifted.estimates["x"] = moved["x"]
    assert Extrapolation().check(run(pfi(CALM), profile("ale", ale, 0.0), shifted, task="regression")).state == "passed"


def test_the_average_effect_is_as_near_as_its_neighbouring_points_allow() -> None:
    """Between 0 and 10 it follows; at 1 it is 10; beyond 20 and 30 it is at the nearer end; outside it is not known."""
    partial = pd.DataFrame({"x": [0.0, 1, 2, 3], "estimate": [0.0, 10, 20, 30], "std_error": [0.1, 0.2, 0.4, 0.3]})
    local = pd.DataFrame({"x": [-1.0, 0.5, 1, 2.5, 3, 4], "estimate": [7.0, 0, 100, -100, 20, 0]})
    found = nearest_partial(local, partial)
    assert found["x"].tolist() == [0.5, 1, 2.5, 3]
    assert found["estimate"].tolist() == [5, 10, 20, 30]
    assert found["std_error"].tolist() == [0.2, 0.2, 0.4, 0.3]
    assert nearest_partial(local[:1], partial) is partial


def test_curves_are_flat_up_to_a_billionth_of_their_level() -> None:
    """At a level of 1000 a range of 1e-6 is rounding; one curve that is not flat is enough to compare."""
    for size, state in ((0.9e-6, "passed"), (1.2e-6, "skipped")):
        near = 1000 + size * X
        results = profile("ale", near, np.nan), profile("pdp", near, np.nan)
        assert Extrapolation().check(run(pfi(CALM), *results, task="regression")).state == state
    steep = profile("ale", X, np.nan), profile("pdp", np.ones(6), np.nan)
    assert Extrapolation().check(run(pfi(CALM), *steep, task="regression")).state == "skipped"


def several(**curves: tuple[FloatArray, FloatArray]) -> Outcome:
    """Return what is judged of curves (ALE, PDP) of several features."""
    made = []
    for k, name in enumerate(("ale", "pdp")):
        parts = [profile(name, pair[k]) for pair in curves.values()]
        tables = [part.estimates.assign(feature=feature) for part, feature in zip(parts, curves, strict=True)]
        made.append(replace(parts[0], estimates=pd.concat(tables)))
    return Extrapolation().check(run(pfi(CALM), *made, task="regression"))


def test_features_whose_curves_part_stand_by_their_share_of_the_largest_range() -> None:
    (finding,) = several(b=(2 * X, 0 * X), c=(4 * X, 0 * X), d=(X, X)).findings
    assert finding.features == ("c", "b")
    assert "a difference of 100% of the largest range of any curve, and so along b (50%). The" in finding.statement


def test_of_several_features_the_largest_share_outside_is_told() -> None:
    rows = [
        {"measure": "", "feature": name, "item": item, "estimate": size, "n": 200}
        for name, item, size in (
            ("a", "shuffled", 0.17),
            ("b", "shuffled", 0.25),
            ("c", "shuffled", 0.9),
            ("a", "x", 1.0),
        )
    ]
    sick = pfi({"entropy": {"a": (-0.05, 0.01), "b": (-0.06, 0.01)}})
    (finding,) = Extrapolation().check(run(sick, diagnostic("support", rows))).findings
    assert "Up to 25% of the permuted observations are outside the training domain; whether" in finding.statement


def test_the_average_change_is_that_between_the_two_points() -> None:
    """Whatever the level of the curve: it is one of the prediction, the local effect one of its changes."""
    (finding,) = several(b=(4 * X, 5 + X)).findings
    assert "changes by 4.00 near the data, and by 1.00 when every observation" in finding.statement


@pytest.mark.parametrize("id", ["ale", "pdp"])
def test_one_unknown_error_leaves_a_curve_undetermined(id: str) -> None:
    made = [profile("ale", 2 * X), profile("pdp", 0 * X)]
    k, column = (0, "std_error_change") if id == "ale" else (1, "std_error")
    errors = made[k].estimates[column].mask(X[2] == X)
    made[k] = replace(made[k], estimates=made[k].estimates.assign(**{column: errors}))
    assert Extrapolation().check(run(pfi(CALM), *made, task="regression")).state == "skipped"


def test_no_margin_is_allowed() -> None:
    assert Extrapolation(margin=0.0).margin == 0.0


def test_an_unknown_error_is_undetermined() -> None:
    ale = profile("ale", X)
    ale.estimates.loc[3:, "std_error_change"] = np.nan
    found = Extrapolation().check(run(pfi(CALM), ale, profile("pdp", 3 * X), task="regression"))
    assert (found.state, "UQ312 is undetermined for a." in found.reason) == ("skipped", True)


@pytest.mark.parametrize("missing", ["ale", "pdp"])
def test_without_both_profiles_they_are_not_compared(missing: str) -> None:
    other = profile("pdp" if missing == "ale" else "ale", X)
    found = Extrapolation().check(
        run(pfi(CALM), other, not_run=(NotRun(missing, "explainers", "denied", "not asked"),))
    )
    assert found.state == "skipped"
    assert f"UQ312 was not judged: {method_words(missing)} was not computed: denied." in found.reason


def test_levels_are_not_compared() -> None:
    levels = profile("ale", X, level="red"), profile("pdp", 3 * X, level="red")
    found = Extrapolation().check(run(pfi(CALM), *levels, task="regression"))
    assert ("no numeric feature has both" in found.reason, codes(found)) == (True, [])


@pytest.mark.parametrize(
    ("task", "measure", "compared"),
    [
        ("regression", "prediction", True),
        ("classification", "log_odds", True),
        ("classification", "prediction", False),
        ("count", "prediction", False),
        ("regression", "entropy", False),
        ("regression", "nll", False),
    ],
)
def test_only_scales_on_which_models_are_additive_are_compared(task: str, measure: str, compared: bool) -> None:
    pair = profile("ale", X, measure=measure), profile("pdp", 3 * X, measure=measure)
    found = Extrapolation().check(run(pfi(CALM), *pair, task=task))
    assert (codes(found) == [("UQ312", ("a",))]) == compared
    assert (
        "UQ312 was not judged: no average and local effect on a scale where models are additive" in found.reason
    ) != compared


def test_a_flat_curve_does_not_part_beside_a_steep_one() -> None:
    pair = profile("ale", 0.02 * X), profile("pdp", 0.06 * X)
    steep = profile("ale", X), profile("pdp", X)
    for flat, other in zip(pair, steep, strict=True):
        table = pd.concat([flat.estimates, other.estimates.assign(feature="b")], ignore_index=True)
        object.__setattr__(flat, "estimates", table.assign(std_error=1e-5, **CHANGE if flat.id == "ale" else {}))
    assert Extrapolation().check(run(pfi(CALM), *pair, task="regression")).state == "passed"


@pytest.mark.parametrize("options", [{"level": 1.0}, {"margin": -1.0}, {"min_share": 0.0}])
def test_thresholds_that_cannot_be_used_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=rf"extrapolation\.{next(iter(options))} must be"):
        Extrapolation(**options)


def test_all_curves_share_the_level() -> None:
    one = profile("ale", X, 0.13), profile("pdp", 2.1 * X, 0.13)
    assert codes(Extrapolation().check(run(pfi(CALM), *one, task="regression"))) == [("UQ312", ("a",))]
    assert codes(Extrapolation(level=0.02).check(run(pfi(CALM), *one, task="regression"))) == []


def test_without_any_evidence_it_does_not_apply() -> None:
    found = Extrapolation().check(run(pfi({"nll": {"a": NOTHING}})))
    assert (found.state, found.reason) == (
        "not_applicable",
        (
            "permutation importance has no value for the uncertainty; the accumulated local effect was not computed "
            "and the partial dependence was not computed"
        ),
    )
    assert "permutation importance was not computed" in Extrapolation().check(run()).reason


class Overconfident:
    """A mean and a scale that are right where x0 and x1 agree, and wrong where they do not."""

    def distribution(self, rows: Table) -> Distribution:
        values = np.asarray(rows, dtype=float)
        apart = np.abs(values[:, 0] - values[:, 1])
        return Normal(values[:, 0] + values[:, 0] * apart, np.exp(-apart))


def test_a_model_that_is_confident_off_the_data_is_found_end_to_end() -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(size=300)
    rows = np.column_stack([shared, shared + 0.05 * rng.normal(size=300), rng.normal(size=300)])
    y = shared + rng.normal(size=300)
    subject = make_subject(Overconfident(), KnownTruth(), rows, y)
    options = {"pfi": {"n_repeats": 5}, "redundancy": {"max_rows": 200}}
    done = audited(subject, ["pfi", "ale", "pdp", "redundancy"], checks=["extrapolation"], options=options)
    found = outcome(done, "extrapolation")
    named = {code: set(features) for code, features in codes(found)}
    assert named["UQ311"] == {"x0", "x1"}
    assert {"x0"} <= named["UQ312"] <= {"x0", "x1"}
    assert all("redundancy.joint" in finding.evidence for finding in found.findings)
