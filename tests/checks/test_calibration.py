"""The calibration gate has three states, and never merges the last two."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Omission
from uq_report.core.support.errors import InputError
from uq_report.core.support.numbers import share_words
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.methods.calibration.check import CalibrationGate

NONE = float("nan")
COLUMNS = ("item", "unit", "p_adjusted", "lower_90", "upper_90")


def judged(
    gap: float = 0.0,
    reach: float = 0.01,
    gain: float = 0.0,
    p_adjusted: float = 1.0,
    *,
    gain_reach: float = 0.0005,
    infinite: int = 0,
    off: float = NONE,
    brier: float = NONE,
    segment: tuple[float, float] = (0.0, -0.01),
    features: tuple[str, ...] = (),
    missed: tuple[float, float, float, float] | None = None,
    gate: CalibrationGate | None = None,
    reason: str = "",
    subject: Any = None,
    **meta: float,
) -> Outcome:
    """Return the outcome for a confidence gap with the 90% interval gap ± reach; NaN means not computed.

    `segment` is the gain of a spread by segment with its lower end, and `features` what the segments are made of.
    `brier` is the p-value of another test; `missed` the share of outcomes missed, its interval and p-value, where none
    may be.
    """
    rows: list[dict[str, Any]] = [
        {"item": "confidence_gap", "estimate": gap, "lower_90": gap - reach, "upper_90": gap + reach},
        {"item": "ece", "estimate": 0.1, "p_adjusted": p_adjusted},
        {"item": "recalibration_gain", "estimate": gain, "lower_90": gain - gain_reach, "upper_90": gain + gain_reach},
    ]
    at, low = segment
    rows.append({"item": "recalibration_gain_by_segment", "estimate": at, "lower_90": low, "upper_90": 2 * at - low})
    rows.append({"item": "coverage_gap", "estimate": off, "null_mean": 0.01, "p_adjusted": p_adjusted})
    rows.append({"item": "brier", "estimate": 0.1, "p_adjusted": brier})
    if missed is not None:
        names = ("estimate", "lower_90", "upper_90", "p_adjusted")
        rows.append({"item": "miscoverage", "null_mean": 0.0, **dict(zip(names, missed, strict=True))})
    known = [row for row in rows if not np.isnan(row["estimate"])]
    result = Diagnostic(
        id="calibration",
        explainer="calibration",
        title="",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(
            known, columns=[*ESTIMATE_COLUMNS, "item", "unit", "p_adjusted", "null_mean", "lower_90", "upper_90"]
        ),
        omissions=(
            *((Omission("confidence_gap", "", "entropy needs a density"),) if np.isnan(gap) else ()),
            *((Omission("recalibration_gain", "", reason),) if reason else ()),
        ),
        meta={"infinite_nll": infinite, "n": 200, "gain_features": list(features), **meta},
    )
    return (gate or CalibrationGate()).check(run(subject or {}, results=(result,)))


def run(subject: Any = None, **parts: Any) -> Run:
    return Run(as_of="2026-01-01", subject=subject or {}, settings={}, environment={}, **parts)


def code(outcome: Outcome) -> str:
    return outcome.findings[0].code if outcome.findings else outcome.state


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ({"gap": 0.0, "reach": 0.04}, "passed"),
        ({"gap": 0.04, "reach": 0.02}, "UQ102"),
        ({"gap": 0.0, "reach": 0.2}, "UQ102"),
        ({"gap": 0.1, "p_adjusted": 0.2}, "UQ102"),
        ({"gap": 0.1, "p_adjusted": 0.05}, "UQ101"),
        ({"gap": 0.01, "gain": 0.03, "p_adjusted": 0.01}, "UQ101"),
        ({"gap": 0.01, "gain": 0.03, "gain_reach": 0.02}, "UQ101"),
        ({"gap": 0.01, "gain": 0.03, "gain_reach": 0.04}, "passed"),
        ({"gap": 0.01, "gain": 0.019}, "passed"),
        ({"gap": 0.01, "segment": (0.02, 0.001)}, "UQ101"),
        ({"gap": 0.01, "segment": (0.02, 0.0)}, "passed"),
        ({"gap": 0.01, "segment": (0.019, 0.01)}, "passed"),
        ({"gap": 0.01, "gain": NONE}, "passed"),
        ({"gap": 0.5, "gain": NONE, "p_adjusted": 0.01}, "UQ102"),
        ({"gap": NONE, "p_adjusted": 0.051}, "UQ102"),
        ({"gap": NONE, "gain": 0.1, "p_adjusted": 0.01}, "UQ101"),
        ({"gap": NONE, "gain": NONE, "p_adjusted": 0.01}, "UQ102"),
        ({"gap": 0.0, "reach": NONE}, "UQ102"),
        ({"gap": NONE, "infinite": 3}, "UQ101"),
        ({"units": 19}, "UQ102"),
        ({"units": 20}, "passed"),
        ({"blocks_cut": True}, "UQ102"),
        ({"gap": NONE, "gain": NONE, "missed": (0.0, 0.0, 0.01, 1.0), "units": 19}, "passed"),
    ],
)
def test_states(case: dict[str, Any], expected: str) -> None:
    assert code(judged(**case)) == expected


def test_a_failure_says_which_way_and_what_recalibration_lowers() -> None:
    outcome = judged(gap=0.1, gain=0.12, p_adjusted=0.004)
    finding = outcome.findings[0]
    assert (finding.severity, finding.evidence) == ("high", ("calibration",))
    for words in (
        "The model is over-confident: mean log loss exceeds mean entropy by 0.1",
        "Recalibration lowers the log loss by at least 0.12",
    ):
        assert words in finding.statement
    assert (finding.observed, finding.threshold) == (0.12, 0.02)
    assert (finding.lower, finding.upper) == pytest.approx((0.1195, 0.1205))
    assert {"nll", "entropy", "variance", "aleatoric", "epistemic"} <= set(finding.measures)


@pytest.mark.parametrize(("gain_reach", "words"), [
    (0.029, "Recalibration lowers the log loss by at least 0.030 nats (90% CI 0.001 to 0.059) per observation."),
    (0.031, "Recalibration lowers the log loss by 0.030 nats (90% CI −0.001 to 0.061) per observation."),
])  # fmt: skip
def test_a_gain_is_a_lower_bound_where_it_is_shown(gain_reach: float, words: str) -> None:
    finding = judged(gap=0.1, gain=0.03, p_adjusted=0.004, gain_reach=gain_reach).findings[0]
    assert finding.statement.endswith(words)
    assert finding.severity == "low"


def test_a_spread_by_segment_names_the_features_to_model_it_by() -> None:
    finding = judged(segment=(0.2, 0.06), features=("age", "income")).findings[0]
    assert (finding.severity, finding.features) == ("medium", ("age", "income"))
    assert "A spread by segments of age and income lowers the log loss by at least 0.20 nats" in finding.statement
    assert "Let the spread depend on age and income" in finding.remedy
    assert (finding.observed, finding.lower) == (0.2, 0.06)
    unnamed = judged(segment=(0.2, 0.06)).findings[0]
    assert (unnamed.features, "A spread by segments lowers the log loss" in unnamed.statement) == ((), True)
    shape = judged(gain=0.2, features=("age",)).findings[0]
    assert (shape.features, "segment" in shape.statement) == ((), False)


def test_a_test_that_rejects_a_small_error_is_an_observation() -> None:
    finding = judged(gap=0.5, gain=0.019, gain_reach=0.03, p_adjusted=0.01).findings[0]
    assert (finding.code, finding.severity) == ("UQ101", "observation")
    assert finding.statement.startswith(
        "A calibration test rejects, but recalibration is not shown to lower the log loss by 0.02 nats: by 0.019 nats"
    )
    both = judged(gain=0.12, segment=(0.2, 0.06)).findings[0].statement
    assert "per observation; a spread by segments lowers the log loss by" in both


def test_of_lifetimes_the_events_are_counted() -> None:
    """Nats of a gap depend on the unit of time where rows are censored; events do not."""
    finding = judged(gap=0.1, gain=0.03, p_adjusted=0.004, seen=51, expected=34.24).findings[0]
    assert "CI 0.090 to 0.110); 51 events came where it expects 34." in finding.statement


def test_an_infinite_nll_fails_and_says_why() -> None:
    finding = judged(gap=NONE, infinite=3).findings[0]
    assert "assigns probability 0 to the outcomes of 3 observations" in finding.statement
    assert (finding.observed, finding.lower) == (None, None)


def test_what_cannot_be_judged_claims_nothing() -> None:
    finding = judged(gap=-0.01, reach=0.2, gap_variance=0.5).findings[0]
    assert finding.severity == "observation"
    assert "The sample (n = 200) does not show whether the predictive uncertainty is calibrated:" in finding.statement
    assert "about 1,800 new observations" in finding.remedy  # 8.564 x 0.5 / 0.05^2, whatever the estimate
    assert "entropy needs a density" in judged(gap=NONE).findings[0].statement
    assert "one observation or cluster gives no interval" in judged(reach=NONE).findings[0].statement
    cut = judged(gain=NONE, blocks_cut=True, reason="blocks are short").findings[0]
    assert "whether the predictive uncertainty is calibrated: blocks are short." in cut.statement


@pytest.mark.parametrize(
    ("lower", "severity"), [(-0.01, "low"), (0.001, "low"), (0.049, "low"), (0.051, "medium"), (0.101, "high")]
)
def test_a_failure_is_as_severe_as_the_lower_end_of_what_recalibration_gains(lower: float, severity: str) -> None:
    for gap in (0.0, 5.0):
        finding = judged(gap=gap, gain=0.15, gain_reach=0.15 - lower, p_adjusted=0.01).findings[0]
        assert finding.severity == severity
    if lower > 0:
        assert judged(segment=(0.15, lower)).findings[0].severity == severity


@pytest.mark.parametrize(
    ("off", "p_adjusted", "expected"),
    [
        (0.031, 0.05, "low"), (0.029, 0.05, "observation"), (0.031, 0.051, "observation"), (0.059, 0.05, "low"),
        (0.061, 0.05, "medium"), (0.111, 0.05, "high"),
    ],
)  # fmt: skip
def test_without_a_density_coverage_is_judged(off: float, p_adjusted: float, expected: str) -> None:
    """By what it is off beyond the 0.01 of outcomes drawn from the model."""
    finding = judged(gap=NONE, gain=NONE, off=off, p_adjusted=p_adjusted).findings[0]
    assert (finding.severity, finding.code) == (expected, "UQ102" if expected == "observation" else "UQ101")
    if finding.code == "UQ101":
        assert "Its central intervals do not hold what they state" in finding.statement
        assert "outcomes drawn from the model would give 1%" in finding.statement.replace("\xa0", " ")
        assert finding.observed == pytest.approx(off - 0.01)


def test_with_a_density_coverage_alone_is_an_observation() -> None:
    assert judged(off=0.5, p_adjusted=0.001).findings[0].severity == "observation"
    assert "probability 0" in judged(gap=NONE, gain=NONE, infinite=2, off=0.5, p_adjusted=0.001).findings[0].statement


@pytest.mark.parametrize("gap", [0.0, 0.04, 0.06])
def test_a_sample_size_comes_from_the_model_with_its_condition_never_from_the_estimate(gap: float) -> None:
    outcome = judged(gap=gap, reach=0.1, gap_variance=0.232324)
    assert (
        "Inconclusive (n = 200; about 800 observations give 80% power if the model is calibrated, about 2,300 if the "
        "gap is half the tolerance; the present sample had a chance below 10%)." in outcome.findings[0].statement
    )
    assert outcome.n_needed == 800


def test_a_sample_that_is_large_enough_is_told_its_chance_and_asked_for_no_more() -> None:
    outcome = judged(gap=0.045, reach=0.01, gap_variance=0.05)
    assert "Inconclusive (n = 200; the present sample had a chance of 87%)." in outcome.findings[0].statement
    assert outcome.n_needed is None
    assert "more new observations" in outcome.findings[0].remedy
    assert "nconclusive" not in judged(reach=0.2).findings[0].statement  # the variance is not known


def test_a_pass_gives_its_reason() -> None:
    assert "within ±0.05 nats; no test rejects" in judged().reason


def test_thresholds_are_configurable() -> None:
    assert code(judged(gain=0.1, gate=CalibrationGate(effect=0.2))) == "passed"
    assert code(judged(gap=0.1, gate=CalibrationGate(margin=0.2))) == "passed"
    assert code(judged(gap=0.1, p_adjusted=0.1, gate=CalibrationGate(level=0.1))) == "UQ101"
    assert judged(gain=0.3, gate=CalibrationGate(medium=0.4, high=0.5)).findings[0].severity == "low"
    with pytest.raises(InputError, match=r"calibration\.margin must be"):
        CalibrationGate(margin=0)


def test_one_test_that_rejects_is_enough_at_the_level_itself() -> None:
    assert code(judged(gap=0.1, p_adjusted=0.9, brier=0.05)) == code(judged(gap=0.1, p_adjusted=0.05)) == "UQ101"
    assert code(judged(gap=0.1, p_adjusted=0.9, brier=0.051)) == "UQ102"


def test_the_direction_of_a_gap_is_said_where_its_interval_leaves_out_0() -> None:
    statement = judged(gap=-0.1, p_adjusted=0.01).findings[0].statement
    words = "The model is under-confident: mean entropy exceeds mean log loss by 0.100 nats (90% CI 0.090 to 0.110)"
    assert words in statement
    assert "the calibration gap is 0.010 nats (90% CI 0.000 to 0.020)" in judged(gap=0.01).reason
    assert "the calibration gap is −0.010 nats (90% CI −0.020 to 0.000)" in judged(gap=-0.01).reason
    assert "The calibration gap is not known" in judged(gap=NONE, gain=0.1, p_adjusted=0.01).findings[0].statement


@pytest.mark.parametrize(
    ("missed", "severity"),
    [
        ((0.02, 0.01, 0.03, 0.05), "low"),
        ((0.02, 0.01, 0.03, 0.051), ""),
        ((0.019, 0.01, 0.03, 0.05), ""),
        ((0.02, 0.0, 0.03, 0.05), "observation"),
        ((0.05, 0.01, 0.06, 0.05), "medium"),
        ((0.1, 0.01, 0.2, 0.05), "high"),
    ],
)
def test_label_sets_that_miss_more_than_they_state_fail(missed: Any, severity: str) -> None:
    outcome = judged(missed=missed)
    if not severity:
        assert outcome.state == "passed"
        assert f"Of its label sets, {share_words(missed[0], *missed[1:3], confidence=0.9)}" in outcome.reason
        return
    finding = outcome.findings[0]
    assert (finding.code, finding.severity, finding.threshold) == ("UQ101", severity, 0.02)
    assert (finding.observed, finding.lower, finding.upper) == missed[:3]
    assert finding.statement.startswith("Its label sets do not hold what they state:")


def test_intervals_are_judged_by_what_they_miss_alone() -> None:
    alone: dict[str, Any] = {"gap": NONE, "gain": NONE}
    finding = judged(**alone, missed=(0.03, 0.01, 0.04, 0.01)).findings[0]
    assert finding.statement.startswith("Its prediction intervals do not hold what they state:")
    assert judged(**alone, missed=(0.01, 0.0, 0.049, 0.5)).reason.startswith("The stated coverage is kept: ")
    wrong = judged(**alone, infinite=1, missed=(0.03, 0.01, 0.04, 0.01)).findings[0]
    assert "probability 0" in wrong.statement


@pytest.mark.parametrize(
    ("reach", "upper", "about"),
    [(0.01, 0.05, "missed"), (0.01, 0.049, ""), (0.2, 0.05, "gap"), (0.2, 0.049, "gap")],
)
def test_what_cannot_be_judged_is_the_gap_or_else_what_is_missed(reach: float, upper: float, about: str) -> None:
    outcome = judged(reach=reach, missed=(0.01, 0.0, upper, 0.5))
    assert code(outcome) == ("UQ102" if about else "passed")
    if about:
        finding = outcome.findings[0]
        assert ("of the outcomes lie outside what should hold" in finding.statement) is (about == "missed")
        assert (finding.threshold, finding.observed) == ((0.05, 0.01) if about == "missed" else (0.05, 0.0))


@pytest.mark.parametrize(
    ("assumed", "words"),
    [
        ({}, "Recalibrate the model"),
        ({"assumption": {"scale": "constant"}}, "Let the assumed spread vary by observation"),
        ({"assumption": {"scale": "modelled"}}, "Assume another distribution of the residuals"),
    ],
)
def test_what_was_assumed_is_what_to_change_first(assumed: dict[str, Any], words: str) -> None:
    finding = judged(gap=0.1, p_adjusted=0.05, subject=assumed).findings[0]
    assert finding.remedy.startswith(words)


def test_without_the_result_it_does_not_apply() -> None:
    outcome = CalibrationGate().check(run(not_run=(NotRun("calibration", "explainers", "y was not given", "data"),)))
    assert (outcome.state, outcome.reason) == (
        "not_applicable",
        "the assessment of calibration was not computed: y was not given",
    )
    full_stop = run(not_run=(NotRun("calibration", "explainers", "y must be given. Give y.", "data"),))
    assert CalibrationGate().check(full_stop).reason.endswith("was not computed: y must be given. Give y")
    assert CalibrationGate().check(run()).reason == "the assessment of calibration was not computed"


def test_every_code_is_declared() -> None:
    assert {code(judged(gap=0.1, p_adjusted=0.01)), code(judged(reach=1.0))} == {
        rule.code for rule in CalibrationGate().rules
    }
