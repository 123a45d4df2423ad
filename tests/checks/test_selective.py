"""Selective prediction: both sides of every threshold, what a finding says, and when nothing can be judged."""

from math import nan
from typing import Any

import pandas as pd
import pytest

from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.evidence.selective import FAILURE_AUROC, GAIN, IMPLIED_GAIN, IMPLIED_LOSS, SelectiveView
from uq_report.methods.selective.check import SelectiveCheck
from uq_report.methods.selective.explain import SUMMARY

AUROC = {"item": FAILURE_AUROC, "estimate": 0.52, "lower": 0.44, "upper": 0.60}


def result(gain: float, error: float, implied: float | None, loss: float = 0.2, errors: int = 40) -> Diagnostic:
    """Return the numbers of 200 observations; the 90% interval of the gain is 1.65 standard errors wide each way."""
    reach = 1.65 * error
    lines: list[dict[str, Any]] = [{**AUROC, "unit": "probability", "confidence": 0.95}]
    lines.append({"item": GAIN, "estimate": gain, "std_error": error, "lower": gain - 1.97 * error,
                  "upper": gain + 1.97 * error, "lower_90": gain - reach, "upper_90": gain + reach})  # fmt: skip
    if implied is not None:
        lines += [{"item": IMPLIED_GAIN, "estimate": implied}, {"item": IMPLIED_LOSS, "estimate": loss}]
    table = pd.DataFrame(lines, columns=[*ESTIMATE_COLUMNS, *SUMMARY])
    meta = {"n": 200, "errors": errors, "classes": True, "uncertainty": "entropy", "loss": "error rate"}
    frame = pd.DataFrame(columns=list(Diagnostic.columns))
    return Diagnostic(id="selective", explainer="selective", title="", frame=frame, estimates=table, meta=meta)


def judged(found: Diagnostic | None, *, not_run: tuple[NotRun, ...] = (), **options: float) -> Outcome:
    results = () if found is None else (found,)
    run = Run(as_of="2026-01-01", subject={"n": 200}, settings={}, environment={}, results=results, not_run=not_run)
    return SelectiveCheck(**options).check(run)  # type: ignore[arg-type]


def severity(outcome: Outcome) -> str:
    return outcome.findings[0].severity if outcome.findings else outcome.state


@pytest.mark.parametrize(
    ("gain", "implied", "expected"),
    [
        (0.0000, 0.0294, "observation"),  # the interval ends at 0.0165, above half of the implied 0.0294
        (0.0166, 0.0400, "passed"),  # the interval begins above 0
        (0.0160, 0.0800, "low"),  # it holds 0, and ends at 0.0325, below half of the implied
        (0.0160, 0.0600, "observation"),  # it ends above half of the implied
        (0.0000, 0.0290, "skipped"),  # implied 2.90 standard errors: these observations cannot tell
        (-0.0300, 0.0294, "low"),
    ],
)
def test_both_sides_of_every_limit(gain: float, implied: float, expected: str) -> None:
    assert severity(judged(result(gain, 0.01, implied))) == expected


def test_what_stays_open_names_the_observations_that_decide() -> None:
    outcome = judged(result(0.0, 0.01, 0.0147))
    assert outcome.state == "skipped"
    assert "UQ111 is undetermined for the order of the errors" in outcome.reason
    assert "about 580 observations give 80% power if the gain is as the model implies" in outcome.reason
    size = SelectiveView.from_result(result(0.0, 0.01, 0.0147)).size
    assert size is not None
    assert size.needed == pytest.approx(200 * ((1.644854 + 0.841621) * 0.01 / 0.0147) ** 2, rel=1e-5)
    assert outcome.n_needed == size.rounded == 580
    assert SelectiveView.from_result(result(0.0, 0.0, 0.03)).size is None
    assert SelectiveView.from_result(result(0.0, 0.01, None)).size is None


@pytest.mark.parametrize(("errors", "state"), [(9, "not_applicable"), (10, "passed")])
def test_ten_errors_are_needed(errors: int, state: str) -> None:
    outcome = judged(result(0.05, 0.01, 0.05, errors=errors))
    assert outcome.state == state
    assert ("9 errors among 200 observations; 10 are needed" in outcome.reason) is (errors == 9)


@pytest.mark.parametrize(
    ("implied", "state"), [(0.0049, "not_applicable"), (0.0051, "found"), (-0.01, "not_applicable")]
)
def test_a_constant_uncertainty_is_not_judged(implied: float, state: str) -> None:
    """5% of half the expected loss of 0.2 are 0.005."""
    outcome = judged(result(0.0, 0.0005, implied))
    assert outcome.state == state
    assert ("practically constant" in outcome.reason) is (state == "not_applicable")


def test_without_an_expected_loss_or_a_result_nothing_is_judged() -> None:
    assert "no expected loss" in judged(result(0.05, 0.01, None)).reason
    assert "was not computed" in judged(None).reason
    why = NotRun("selective", "explainers", "selective.y must be given", cause="data")
    assert "selective.y must be given" in judged(None, not_run=(why,)).reason


def test_a_finding_holds_its_numbers() -> None:
    (finding,) = judged(result(0.001, 0.01, 0.08)).findings
    assert finding.code == "UQ111"
    assert finding.observed == pytest.approx(0.001)
    assert finding.lower == pytest.approx(0.001 - 0.0165)
    assert finding.upper == pytest.approx(0.001 + 0.0165)
    assert finding.threshold == pytest.approx(0.04)
    assert finding.statement.startswith(
        "Uncertain observations are not shown to be the wrong ones: AUROC of failures 0.52"
    )
    assert "imply 0.0800" in finding.statement


def test_the_pass_says_the_number() -> None:
    assert judged(result(0.05, 0.01, 0.05)).reason.startswith("The uncertainty finds errors better than chance: AUROC")


@pytest.mark.parametrize(("option", "value"), [("errors", 0), ("constant", 0.0), ("part", 1.0), ("part", nan)])
def test_thresholds_that_cannot_be_used_are_refused(option: str, value: float) -> None:
    with pytest.raises(InputError, match=rf"selective\.{option} must be"):
        SelectiveCheck(**{option: value})  # type: ignore[arg-type]
