"""Policy: rules in the owner's words, judged by intervals; what cannot be judged never passes in silence."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from uq_report import runner
from uq_report.checks.policy import Policy
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Omission
from uq_report.core.support.errors import InputError
from uq_report.evidence import codec
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.run import NotRun
from uq_report.runner.settings import Settings
from uq_report.testing import linear_subject

from .rankings import NONE, Place, agreement, ranking, run

PLACES: dict[str, Place] = {"post code": (1, 1, 2), "age": (2, 1, 3), "sex": (3, 2, 4), "d": (4, 3, 4)}


def calibration(*lines: tuple[str, float, float, float], id: str = "calibration", x: Any = 0.0) -> Diagnostic:
    """Return scores (item, estimate, lower, upper), or coverages at the levels x."""
    table = pd.DataFrame(lines, columns=["item", "estimate", "lower", "upper"]).reindex(
        columns=[*ESTIMATE_COLUMNS, "item", "unit"]
    )
    return Diagnostic(
        id=id,
        explainer="calibration",
        title="",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=table.assign(x=x, n=100),
        omissions=(Omission("crps", "", "it needs numbers"),),
    )


SCORES = calibration(
    ("log_score", 0.5, 0.45, 0.55), ("confidence_gap", 0.0, -0.02, 0.02), ("ece", 0.03, NONE, NONE),
    ("miscoverage", 0.12, 0.08, 0.16), ("interval_score", 5.0, 4.0, 6.0),
)  # fmt: skip
COVERAGE = calibration(
    ("coverage", 0.81, 0.75, 0.86), ("coverage", 0.90, 0.87, 0.93), id="calibration.coverage", x=[0.8, 0.9]
)
SUPPORT = calibration(("outside", 0.12, 0.08, 0.16), id="support")
RANKED = agreement(ranking("pfi", "entropy", PLACES), ranking("shap.importance", "brier", PLACES))


def judged(rule: str, *, subject: Any = None, results: Any = None, **options: Any) -> Outcome:
    held = (RANKED, SCORES, COVERAGE) if results is None else results
    return Policy(require=(rule,), **options).check(run(*held, subject=subject))


def code(outcome: Outcome) -> str:
    return outcome.findings[0].code if outcome.findings else outcome.state


def only(outcome: Outcome) -> Finding:
    assert len(outcome.findings) == 1
    return outcome.findings[0]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("post code not in top 3 of entropy", "UQ951"),
        ("post code not in top 2 of entropy by pfi", "UQ951"),
        ("post code not in top 1 of entropy", "UQ952"),
        ("d not in top 2 of entropy", "passed"),
        ("d not in top 3 of entropy", "UQ952"),
        ("post code in top 2 of entropy", "passed"),
        ("post code in top 1 of entropy", "UQ952"),
        ("d in top 2 of entropy", "UQ951"),
        ("'post code' in top 2 of brier by shap.importance", "passed"),
        ("coverage 90 >= 0.87", "passed"),
        ("coverage 90 >= 0.88", "UQ952"),
        ("coverage 90 >= 0.94", "UQ951"),
        ("coverage 90 <= 0.95", "passed"),
        ("coverage 80>=.7", "passed"),
        ("coverage 85 >= 0.5", "UQ952"),
        ("nll <= 0.6", "passed"),
        ("nll <= 0.55", "passed"),
        ("nll <= 0.5", "UQ952"),
        ("nll <= 4e-1", "UQ951"),
        ("confidence_gap >= -0.05", "passed"),
        ("confidence_gap >= 0.05", "UQ951"),
        ("ece <= 0.05", "UQ952"),
        ("miscoverage <= 0.16", "passed"),
        ("miscoverage <= 0.07", "UQ951"),
        ("interval_score <= 5.5", "UQ952"),
        ("crps <= 1", "UQ952"),
        ("off-support share <= 0.05", "UQ952"),
    ],
)
def test_a_rule_is_kept_broken_or_open(rule: str, expected: str) -> None:
    assert code(judged(rule)) == expected


def test_a_broken_rule_says_by_what_interval() -> None:
    finding = only(judged("post code not in top 3 of entropy"))
    assert (finding.severity, finding.features, finding.measures) == ("high", ("post code",), ("entropy",))
    assert "'post code not in top 3 of entropy' is broken" in finding.statement
    assert "post code has rank 1 (1 to 2) for the uncertainty by permutation importance." in finding.statement
    assert finding.evidence == ("agreement", "pfi")
    assert (finding.threshold, finding.observed, finding.lower, finding.upper) == (3.0, 1.0, 1.0, 2.0)
    finding = only(judged("coverage 90 >= 0.94"))
    assert "coverage of 90% prediction intervals is 0.900 (0.870 to 0.930)." in finding.statement
    assert finding.evidence == ("calibration.coverage",)
    assert (finding.threshold, finding.observed, finding.lower, finding.upper) == (0.94, 0.90, 0.87, 0.93)


def test_an_open_rule_is_lower_and_says_what_is_missing() -> None:
    finding = only(judged("ece <= 0.05"))
    assert (finding.severity, finding.lower) == ("medium", None)
    assert "ece is 0.0300, without an interval" in finding.statement
    assert "is inconclusive" in finding.statement
    assert only(judged("ece <= 0.05", severity="low")).severity == "low"
    assert only(judged("ece <= 0.05", severity="critical")).severity == "high"


def test_an_open_limit_says_what_sample_decides_where_the_truth_differs_by_a_stated_amount() -> None:
    """AUC: 7.849 n se²/0.03²; whatever the estimate. Another quantity: a tenth of the limit. At a known n only."""
    area = calibration(("roc_auc", 0.76, 0.69, 0.82), ("crps", 2.0, 1.5, 2.5))
    area = replace(area, estimates=area.estimates.assign(std_error=[0.034, 0.25], confidence=0.95))
    open_ = judged("roc_auc >= 0.75", results=(area,), subject={"n": 250})
    assert (
        "Inconclusive (n = 250; about 2,600 observations give 80% power if the true roc_auc is 0.780 or more, or 0.720 "
        "or less; the present sample had a chance of 14%)." in only(open_).statement
    )
    assert open_.n_needed == 2600
    assert judged("crps <= 2", results=(area,), subject={"n": 250}).n_needed == 3100  # 7.849 x 250 x 0.25²/0.2²
    assert judged("roc_auc >= 0.75", results=(area,)).n_needed is None
    assert judged("roc_auc >= 0.9", results=(area,), subject={"n": 250}).n_needed is None


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("postcode not in top 3 of entropy", "no such feature. Did you mean 'post code'?"),
        ("age not in top 3 of entropi", "There are rankings of entropy by pfi and brier by shap.importance."),
        ("crps <= 1", "the assessment of calibration has no value for the CRPS: it needs numbers."),
        ("coverage 85 >= 0.5", "computed at 80% and 90% only"),
        ("off-support share <= 0.05", "the comparison with the training sample was not computed"),
    ],
)
def test_what_a_rule_names_and_nobody_computed_is_told(rule: str, words: str) -> None:
    assert words in only(judged(rule)).statement


def test_the_share_of_rows_outside_the_training_support_is_limited() -> None:
    codes = [code(judged(f"off-support share <= {value}", results=(SUPPORT,))) for value in (0.05, 0.1, 0.2)]
    assert codes == ["UQ951", "UQ952", "passed"]


def test_missing_results_are_open_and_never_a_pass() -> None:
    outcome = Policy(require=("age in top 1 of nll", "nll <= 1")).check(
        run(not_run=(NotRun("calibration", "explainers", "y was not given", "data"),))
    )
    assert [finding.code for finding in outcome.findings] == ["UQ952", "UQ952"]
    assert "the comparison of rankings was not computed" in outcome.findings[0].statement
    assert "the assessment of calibration was not computed: y was not given" in outcome.findings[1].statement


def test_an_explainer_that_did_not_run_is_the_evidence_of_an_open_rule() -> None:
    options: dict[str, Any] = {"pfi": {"n_repeats": 2}, "checks.policy": {"require": ["coverage 90 >= 0.5"]}}
    chosen = Settings(explainers=("pfi",), checks=("policy",), options=options, as_of="2026-01-01")
    outcome = next(one for one in runner.run(linear_subject(60), chosen).run.outcomes if one.check == "policy")
    assert [(one.code, one.evidence) for one in outcome.findings] == [("UQ952", ("calibration",))]


def test_ranks_without_intervals_are_open() -> None:
    bare = agreement(ranking("pfi", "nll", {"a": (1, NONE, NONE), "b": (2, NONE, NONE)}))
    assert "have no interval" in only(judged("a not in top 1 of nll", results=(bare,))).statement


@pytest.mark.parametrize(("task", "measure"), [("classification", "brier"), ("regression", "squared_error")])
def test_loss_is_the_usual_loss_of_the_task(task: str, measure: str) -> None:
    held = (agreement(ranking("pfi", measure, PLACES)),)
    assert code(judged("post code in top 2 of loss", subject={"task": task}, results=held)) == "passed"


def test_all_rules_are_judged_and_those_that_hold_are_told_in_a_pass() -> None:
    two = Policy(require=("coverage 90 >= 0.94", "post code not in top 2 of entropy", "nll <= 1"))
    outcome = two.check(run(RANKED, SCORES, COVERAGE))
    assert [finding.threshold for finding in outcome.findings] == [0.94, 2.0]
    outcome = Policy(require=("coverage 90 >= 0.8", "nll <= 1")).check(run(RANKED, SCORES, COVERAGE))
    assert outcome.state == "passed"
    assert "'coverage 90 >= 0.8' holds" in outcome.reason
    assert "'nll <= 1' holds: nll is 0.50 (0.45 to 0.55)." in outcome.reason
    assert "complian" not in outcome.reason


def test_without_rules_it_does_not_apply() -> None:
    outcome = Policy().check(run(RANKED, SCORES, COVERAGE))
    assert (outcome.state, outcome.reason) == ("not_applicable", "the owner has stated no rule")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("postcode in the top 3", r"policy\.require\[0\] must be 'FEATURE \[not\] in top K of MEASURE"),
        ("crsp <= 1", r"must limit a known quantity; got 'crsp <= 1'\. Did you mean 'crps'\?"),
        ("coverage >= 0.9", r"must name a level between 0 and 100"),
        ("coverage 120 >= 0.9", r"must name a level between 0 and 100"),
        ("nll 90 <= 0.5", r"must name nll alone"),
        ("nll <= high", r"must be 'FEATURE"),
        ("coverage 100 >= 0.9", r"must name a level between 0 and 100"),
        ("coverage 0 >= 0.9", r"must name a level between 0 and 100"),
        ("nll < 0.5", r"must be 'FEATURE"),
        ("a in top 0 of nll", r"must name a K of at least 1"),
    ],
)
def test_rules_that_do_not_follow_the_grammar_are_refused(rule: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Policy(require=(rule,))


def test_other_options_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(InputError, match=r"policy\.severity must be one of"):
        Policy(severity="observation")
    with pytest.raises(InputError, match=r"policy\.require must be a list of rules; got the text"):
        Policy(require="nll <= 1")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"policy\.require\[1\] must be"):
        Policy(require=("nll <= 1", 3))  # type: ignore[arg-type]


def test_the_rules_print_the_owners_words() -> None:
    rules = Policy(require=("nll <= 1",), severity="medium").rules
    assert [(rule.code, rule.severity) for rule in rules] == [("UQ951", "medium"), ("UQ952", "low")]
    assert "nll <= 1" in rules[0].text
    assert "a{b} in top 2 of nll" in Policy(require=("a{b} in top 2 of nll",)).rules[0].text


def test_real_results_are_judged_from_settings_and_survive_being_saved() -> None:
    """b and c matter and d is unused: its rank is the last for certain."""
    options: dict[str, Any] = {
        "pfi": {"n_repeats": 5},
        "checks.policy": {"require": ["d not in top 3 of nll", "c not in top 3 of nll", "coverage 90 >= 0.5"]},
    }
    made = Settings(
        explainers=("pfi", "agreement", "calibration"), checks=("policy",), options=options, as_of="2026-01-01"
    )
    audited = runner.run(linear_subject(150), made).run
    outcome = next(one for one in codec.loads(codec.dumps(audited)).outcomes if one.check == "policy")
    assert [(one.code, one.features) for one in outcome.findings] == [("UQ951", ("c",))]
    assert (outcome.findings[0].lower, outcome.findings[0].threshold) == (1.0, 3.0)


@pytest.mark.parametrize(("place", "reach"), [((1, 1, 1), "rank 1 (without overlap)"), ((1, 1, 2), "rank 1 (1 to 2)")])
def test_a_rank_whose_interval_is_one_rank_is_sure(place: Place, reach: str) -> None:
    found = judged(
        "a in top 2 of entropy", results=(agreement(ranking("pfi", "entropy", {"a": place, "b": (2, 2, 3)})),)
    )
    assert reach in found.reason


@pytest.mark.parametrize(("rule", "end"), [("agee in top 2 of entropy", "?"), ("d in top 2 of entropy", ".")])
def test_a_finding_ends_in_one_mark(rule: str, end: str) -> None:
    statement = only(judged(rule)).statement
    assert statement.endswith(end)
    assert statement[-2] not in ".?"
