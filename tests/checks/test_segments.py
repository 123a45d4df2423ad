"""Segments: both sides of every threshold, what a finding says, and when nothing can be judged."""

from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, MeasureFacts
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.outcomes import CONFIDENCE_GAP
from uq_report.evidence.run import NotRun, Run
from uq_report.evidence.segments import ALL_ROWS, EXCESS_LOSS, OFF_SUPPORT, RESIDUAL
from uq_report.methods.segments.check import SegmentsCheck
from uq_report.methods.segments.explain import CHANGES, COLUMNS
from uq_report.methods.segments.tree import COLUMNS as RESIDUAL_COLUMNS

FACTS = {"entropy": MeasureFacts("entropy", "nats", "uncertainty"), "variance": MeasureFacts("variance", "m²", "x")}


def line(measure: str = CONFIDENCE_GAP, value: float = 0.3, error: float = 0.02, **more: Any) -> dict[str, Any]:
    """Return a segment of 200 of 1000 rows whose difference to the rest is its mean, but for `more`."""
    unit = "squared units of the outcome" if measure in (EXCESS_LOSS, "variance") else "nats"
    facts = {"measure": measure, "feature": "", "estimate": value, "std_error": error, "confidence": 0.95}
    facts |= {"lower": value - 2 * error, "upper": value + 2 * error, "covers": "new test samples"}
    facts |= {"item": "age above 47", "segment": f"{measure} 1", "grown": measure, "n": 200, "units": 200}
    facts |= {"share": 0.2, "unit": unit, "n_rest": 800, "freedom": 199, "p_value": 0.001, "p_adjusted": 0.001}
    facts |= {"difference": value, "difference_std_error": error}
    facts |= {"difference_lower": value - 2 * error, "difference_upper": value + 2 * error}
    return facts | more


def every(measure: str, value: float) -> dict[str, Any]:
    return line(measure, value, segment=ALL_ROWS, grown="", item="all judged rows", p_value=nan, p_adjusted=nan)


def diagnostic(id: str, rows: list[dict[str, Any]], columns: tuple[str, ...], **meta: Any) -> Diagnostic:
    return Diagnostic(
        id=id,
        explainer="segments",
        title="",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(rows, columns=[*ESTIMATE_COLUMNS, *columns]),
        meta=meta,
        measures=FACTS,
    )


def offset(value: float, error: float = 0.05, **more: Any) -> dict[str, Any]:
    """Return a segment of 100 of 500 observations whose mean residual is `value` standard deviations."""
    facts = {"measure": RESIDUAL, "feature": "", "estimate": value, "std_error": error, "confidence": 0.95}
    facts |= {"lower": value - 2 * error, "upper": value + 2 * error, "covers": "new test samples"}
    facts |= {"item": "age above 47", "segment": "residual 1", "level": "", "n": 100, "units": 1001, "share": 0.2}
    facts |= {"n_rest": 400, "outcome": 5.0, "predicted": 4.0, "unit": "units of the outcome", "nats": value**2 / 2}
    facts |= {"difference": value, "difference_std_error": error, "freedom": 1000}
    return facts | more


def judged(
    *lines: dict[str, Any],
    closest: list[dict[str, Any]] | None = None,
    usual: float | None = 2.0,
    residuals: tuple[dict[str, Any], ...] = (),
    **options: float,
) -> Outcome:
    meta: dict[str, Any] = {"made_of": {x["segment"]: ["age"] for x in lines}, "judged": 1000, "grown": 1000}
    meta |= {"uncertainty": ["entropy", "variance"], "usual_loss": usual}
    results = [diagnostic("segments", [*lines], COLUMNS, **meta)]
    results += [diagnostic("segments.features", closest, CHANGES)] if closest else []
    about = {"made_of": {x["segment"]: ["age"] for x in residuals}}
    results += [diagnostic("segments.residuals", [*residuals], RESIDUAL_COLUMNS, **about)] if residuals else []
    run = Run(as_of="2026-01-01", subject={"n": 2000}, settings={}, environment={}, results=tuple(results))
    return SegmentsCheck(**options).check(run)


def severities(outcome: Outcome) -> list[str]:
    return [finding.severity for finding in outcome.findings]


def only(outcome: Outcome) -> Finding:
    assert len(outcome.findings) == 1
    return outcome.findings[0]


@pytest.mark.parametrize(
    ("value", "share", "expected"),
    [
        (0.085, 0.2, []),  # the lower end 0.045 is below the margin, though the mean differs from 0
        (0.095, 0.2, ["low"]),
        (0.139, 0.2, ["low"]),
        (0.141, 0.2, ["medium"]),
        (0.239, 0.2, ["medium"]),
        (0.241, 0.2, ["high"]),
        (0.241, 0.09, ["medium"]),
    ],
)
def test_size_is_the_lower_end_in_margins_and_high_needs_many_rows(
    value: float, share: float, expected: list[str]
) -> None:
    assert severities(judged(line(value=value, share=share))) == expected


@pytest.mark.parametrize(("error", "raised"), [(0.012, True), (0.0135, False)])
def test_the_mean_must_be_above_the_margin_beyond_chance(error: float, raised: bool) -> None:
    """One-sided at 2.5%: with 199 degrees of freedom 1.972 standard errors above 0.05."""
    assert bool(judged(line(value=0.075, error=error, lower=0.06)).findings) is raised


@pytest.mark.parametrize(("difference", "raised"), [(0.041, True), (0.037, False)])
def test_it_must_be_further_above_than_the_rest(difference: float, raised: bool) -> None:
    """A model that is too sure everywhere is the calibration gate's."""
    assert bool(judged(line(value=0.3, difference=difference)).findings) is raised


@pytest.mark.parametrize(("units", "raised"), [(3, False), (4, True)])
def test_few_units_need_a_clearer_excess(units: int, raised: bool) -> None:
    """3.5 standard errors: one-sided 3.6% with 2 degrees of freedom, 2.0% with 3."""
    assert bool(judged(line(value=0.4, error=0.1, units=units, lower=0.06)).findings) is raised
    shown = line(value=0.4, error=0.01, difference=0.35, difference_std_error=0.1, freedom=units - 1)
    assert bool(judged(shown).findings) is raised


@pytest.mark.parametrize("usual", [None, 0.0])
def test_without_a_usual_loss_no_excess_matters(usual: float | None) -> None:
    assert judged(line(EXCESS_LOSS, 0.3), usual=usual).findings == ()


def test_tests_are_adjusted_over_segments() -> None:
    weak = line(value=0.05 + 0.02 * 2.1, difference=0.3)
    assert severities(judged(weak)) == ["low"]
    other = line(value=0.0, segment="confidence_gap 2", item="age at most 47")
    assert judged(weak, other).findings == ()


def test_a_segment_that_is_less_sure_than_right_is_no_finding() -> None:
    assert judged(line(value=-0.5)).findings == ()


def test_what_is_certain_is_raised_or_not_without_an_error() -> None:
    assert severities(judged(line(value=0.3, error=0.0, lower=0.3, upper=0.3))) == ["high"]
    assert judged(line(value=0.05, error=0.0, lower=0.05, upper=0.05)).findings == ()


@pytest.mark.parametrize(("value", "expected"), [(0.23, []), (0.27, ["low"]), (1.5, ["high"])])
def test_without_a_finite_likelihood_the_margin_is_a_share_of_the_usual_loss(value: float, expected: list[str]) -> None:
    assert severities(judged(line(EXCESS_LOSS, value))) == expected


def test_the_finding_names_rows_size_rest_and_remedy() -> None:
    change = {"measure": CONFIDENCE_GAP, "feature": "income", "estimate": -0.2, "std_error": 0.01, "lower": -0.22}
    change |= {"upper": -0.18, "confidence": 0.95, "covers": "new test samples", "item": "age above 47", "n": 200}
    finding = only(judged(line(), closest=[change | {"segment": "confidence_gap 1", "before": 0.3, "after": 0.1}]))
    assert finding.code == "UQ121"
    assert finding.statement == (
        "For age above 47 (200 of the 1000 observations not used to define it) the loss exceeds the model's "
        "expectation by 0.300 nats (95% CI 0.260 to 0.340), and by 0.300 nats (0.260 to 0.340) more than for the "
        "other 800 observations. Of all features, permuting income reduces the "
        "difference to the others most: from 0.300 to 0.100 nats."
    )
    assert finding.remedy == "Check these 200 observations for wrong labels and missing features."
    assert finding.affected == "200 of 1000 observations"
    assert (finding.features, finding.threshold, finding.observed) == (("age",), 0.05, 0.3)


def test_rows_off_the_support_are_named_as_such() -> None:
    finding = only(judged(line(segment=OFF_SUPPORT, grown="", item="rows unlike any training row")))
    assert finding.statement.startswith(
        "For rows unlike any training row (200 of the 1000 observations not used to define it) the loss exceeds"
    )
    assert finding.remedy == "Check these 200 observations for wrong labels and missing features."


def test_a_wide_interval_decides_nothing() -> None:
    outcome = judged(line(value=0.04, error=0.04))
    assert outcome.state == "skipped"
    assert "UQ121 is undetermined for age above 47: the interval of the loss beyond" in outcome.reason


def test_small_gaps_pass() -> None:
    lines = (line(value=0.001, error=0.01), every("entropy", 1.0), line("entropy", 0.01))
    outcome = judged(*lines, residuals=(offset(0.01),))
    assert outcome.state == "passed"
    assert "In none of 1 segments are predictions shown to be wrong on average." in outcome.reason
    assert "In none of 1 segments is the model shown to be over-confident." in outcome.reason
    assert "In none of 1 segments is the uncertainty much higher than elsewhere." in outcome.reason


@pytest.mark.parametrize(("value", "raised"), [(0.239, False), (0.241, True)])
def test_concentrated_doubt_is_an_observation_from_a_margin_on(value: float, raised: bool) -> None:
    outcome = judged(every("entropy", 1.0), line("entropy", value))
    assert severities(outcome) == (["observation"] if raised else [])
    if raised:
        assert (
            "For age above 47 (200 of the 1000 observations not used to define it) the uncertainty is higher: entropy"
            in only(outcome).statement
        )


@pytest.mark.parametrize(("value", "raised"), [(0.539, False), (0.541, True)])
def test_doubt_in_other_units_is_held_against_its_mean(value: float, raised: bool) -> None:
    assert bool(judged(every("variance", 1.0), line("variance", value)).findings) is raised


@pytest.mark.parametrize(("value", "raised"), [(1.03, False), (1.05, True)])
def test_doubt_in_other_units_grows_with_its_mean(value: float, raised: bool) -> None:
    assert bool(judged(every("variance", 2.0), line("variance", value)).findings) is raised


def test_doubt_without_a_mean_is_taken_as_it_is() -> None:
    """A mean of 0, or none, has no share, and the interval of a difference may be unknown."""
    assert judged(every("variance", 0.0), line("variance", 0.51)).findings
    assert not judged(every("variance", 0.0), line("variance", 0.49)).findings
    assert judged(line("variance", 0.53)).findings
    assert judged(every("entropy", 1.0), line("entropy", 0.21, difference_lower=nan)).findings


def test_doubt_needs_its_adjusted_test_and_names_the_largest_segment() -> None:
    assert judged(line("entropy", 0.5, p_adjusted=0.026)).findings == ()
    second = line("entropy", 0.6, segment="entropy 2", item="age above 60")
    finding = only(judged(line("entropy", 0.5, p_adjusted=0.025), second))
    assert (finding.code, finding.statement.partition(" (")[0]) == ("UQ122", "For age above 60")


def test_rows_off_the_support_are_no_concentration() -> None:
    outcome = judged(line("entropy", 0.9, segment=OFF_SUPPORT, grown=""))
    assert "no measure of uncertainty divides the observations" in outcome.reason


def test_nothing_is_judged_without_segments() -> None:
    absent = NotRun("segments", "explainers", "segments needs at least 80 independent rows; got 60", "data")
    run = Run(as_of="2026-01-01", subject={"n": 60}, settings={}, environment={}, not_run=(absent,))
    outcome = SegmentsCheck().check(run)
    assert outcome.state == "not_applicable"
    assert "the segment analysis was not computed: segments needs at least 80" in outcome.reason


def test_an_unknown_size_raises_nothing() -> None:
    assert judged(line(value=0.3, error=np.nan)).findings == ()


ALPHA, NINETY = 1.646, 1.646  # one-sided 5% point of t with 1000 degrees of freedom
MARGIN, SMALL = 0.1**0.5, 0.04**0.5  # standard deviations that are worth 0.05 and 0.02 nats


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (SMALL + ALPHA * 0.05 - 0.001, []),
        (SMALL + ALPHA * 0.05 + 0.001, ["observation"]),
        (MARGIN + ALPHA * 0.05 - 0.001, ["observation"]),
        (MARGIN + ALPHA * 0.05 + 0.001, ["low"]),
        (0.2**0.5 + NINETY * 0.05 - 0.001, ["low"]),
        (0.2**0.5 + NINETY * 0.05 + 0.001, ["medium"]),
        (0.4**0.5 + NINETY * 0.05 - 0.001, ["medium"]),
        (0.4**0.5 + NINETY * 0.05 + 0.001, ["high"]),
    ],
)
@pytest.mark.parametrize("side", [1, -1])
def test_wrong_predictions_are_graded_by_the_lower_end_in_nats(value: float, side: int, expected: list[str]) -> None:
    """d standard deviations are worth d²/2 nats: 0.316 are 0.05, 0.447 are 0.1, 0.632 are 0.2."""
    assert severities(judged(residuals=(offset(side * value),))) == expected


@pytest.mark.parametrize(("difference", "expected"), [(0.081, []), (0.084, ["high"])])
def test_predictions_must_be_further_from_right_than_those_of_the_others(
    difference: float, expected: list[str]
) -> None:
    """A mean that is wrong everywhere is the calibration gate's."""
    assert severities(judged(residuals=(offset(0.9, difference=difference),))) == expected
    assert severities(judged(residuals=(offset(-0.9, difference=-difference),))) == expected
    assert severities(judged(residuals=(offset(-0.9, difference=difference),))) == []


def test_a_wide_interval_counts_both_tails_of_the_margin() -> None:
    """Of a mean residual of the size of the margin half of the chance lies beyond it, and 0.26 on the other side."""
    wide = offset(MARGIN + 1e-6, 1.0, difference=0.5, difference_std_error=0.01)
    assert severities(judged(residuals=(wide,), level=0.77)) == ["low"]
    assert severities(judged(residuals=(wide,), level=0.75)) == []


def test_wrong_predictions_are_adjusted_over_segments() -> None:
    weak = offset(MARGIN + 1.8 * 0.05)
    other = offset(0.0, segment="residual 2", item="age at most 47")
    assert severities(judged(residuals=(weak,))) == ["low"]
    assert severities(judged(residuals=(weak, other))) == ["observation"]


def test_a_segment_that_both_halves_find_is_one_finding() -> None:
    again = offset(0.7, segment="residual 2", item="age above 45")
    finding = only(judged(residuals=(again, offset(0.8))))
    assert finding.statement == (
        "For age above 47 (100 of the 500 observations not used to define it) the mean outcome is 5.00 and the mean "
        "prediction 4.00: predictions are too low by 0.80 (95% CI 0.70 to 0.90) standard deviations of the "
        "model, about 0.32 nats per observation. So are they where age above 45."
    )
    assert (finding.features, finding.affected, finding.observed) == (("age",), "100 of 500 observations", 0.8)
    assert [symptom.code for symptom in finding.explains] == ["UQ121", "UQ101"]
    opposite = offset(-0.7, segment="residual 2", item="age at most 30")
    assert len(judged(residuals=(opposite, offset(0.8))).findings) == 2
    low = only(judged(residuals=(offset(MARGIN + 0.09),)))
    assert [symptom.code for symptom in low.explains] == ["UQ121"]


def test_wrong_probabilities_are_shares_of_a_class() -> None:
    shares: dict[str, Any] = {"level": "bad", "outcome": 0.24, "predicted": 0.04, "unit": "probability", "nats": 0.25}
    finding = only(judged(residuals=(offset(-1.0, **shares),)))
    assert "24% are bad, at a mean probability of 4%: predictions are too high by 1.00 (" in finding.statement
    assert ", about 0.25 nats per observation." in finding.statement
    assert "So are they" not in finding.statement


def test_a_large_residual_that_may_be_chance_is_open() -> None:
    assert "UQ123 is undetermined for age above 47" in judged(residuals=(offset(0.33, 0.3),)).reason
    assert "UQ123" not in judged(residuals=(offset(0.31, 0.3),)).reason


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"small": 0.06}, r"segments\.small must be a number > 0, at most margin; got 0\.06"),
        ({"level": 0.0}, r"segments\.level must be a number in \(0, 1\); got 0\.0"),
        ({"margin": 0.0}, r"segments\.margin must be a number > 0; got 0\.0"),
        ({"medium": 0.5}, r"segments\.medium must be numbers 1 <= medium < high; got 0\.5"),
        ({"high": 2.0}, r"segments\.medium must be numbers 1 <= medium < high; got 2\.0"),
        ({"share": inf}, r"segments\.share must be"),
    ],
)
def test_wrong_thresholds_are_refused(options: dict[str, float], match: str) -> None:
    with pytest.raises(InputError, match=match):
        SegmentsCheck(**options)
