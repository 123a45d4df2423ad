"""Every rule on data: raised above its threshold, silent below, and not judged without its evidence."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Omission
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.methods.data_quality.check import DataQualityCheck

Fact = tuple[str, str, str, int]
CLEAN: tuple[Fact, ...] = (
    ("duplicate_rows", "", "all", 0),
    ("duplicate_rows", "", "distinctive", 0),
    ("overlap", "", "all", 0),
    ("overlap", "", "distinctive", 0),
    ("class", "", "no", 100),
    ("class", "", "yes", 100),
)


def judged(
    *facts: Fact,
    without: tuple[str, ...] = (),
    check: DataQualityCheck | None = None,
    train: bool = True,
    n_train: int = 200,
    moved: tuple[dict[str, Any], ...] = (),
) -> Outcome:
    """Return the outcome for 200 rows with these facts in place of the clean ones of their kind."""
    kinds = {fact[:3] for fact in facts} | {fact[:1] for fact in facts if fact[0] == "class"}
    table = [*facts, *(fact for fact in CLEAN if fact[:3] not in kinds and fact[:1] not in kinds)]
    rows = [
        {"measure": m, "feature": f, "item": i, "count": c, "n": 200, "estimate": c / 200, "covers": "none"}
        for m, f, i, c in table
        if m not in without
    ]
    result = Diagnostic(
        id="data_quality",
        explainer="data_quality",
        title="",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(rows, columns=[*ESTIMATE_COLUMNS, "item", "count", "n"]),
        omissions=tuple(Omission(name, "", f"{name} was not given") for name in without),
        meta={"has_train": train, "n_train": n_train if train else 0, "columns_checked": 8},
    )
    shares = pd.DataFrame([*moved], columns=[*ESTIMATE_COLUMNS, *MISSING])
    changes = replace(result, id="data_quality.missing", estimates=shares, omissions=(), meta={})
    return (check or DataQualityCheck()).check(run(results=(result, changes)))


def run(**parts: Any) -> Run:
    return Run(as_of="2026-01-01", subject={}, settings={}, environment={}, **parts)


def only(outcome: Outcome) -> Finding:
    assert len(outcome.findings) == 1
    return outcome.findings[0]


def test_clean_data_pass_with_their_reasons() -> None:
    outcome = judged()
    assert outcome.state == "passed"
    assert "0 of 200 observations are copies of training observations." in outcome.reason


@pytest.mark.parametrize(("count", "severity"), [(3, "medium"), (10, "high")])
def test_uq701(count: int, severity: str) -> None:
    finding = only(judged(("overlap", "", "distinctive", count), ("overlap_other_y", "", "distinctive", 2)))
    assert (finding.code, finding.severity, finding.observed) == ("UQ701", severity, count / 200)
    assert finding.threshold == 0.01
    assert "2 of them have a different outcome there" in finding.statement
    assert judged(("overlap", "", "distinctive", 2)).state == "passed"
    assert judged(("overlap", "", "all", 150)).state == "passed"
    assert "another outcome" not in only(judged(("overlap", "", "distinctive", count))).statement


@pytest.mark.parametrize(("count", "severity"), [(3, "low"), (10, "medium")])
def test_uq702(count: int, severity: str) -> None:
    finding = only(judged(("duplicate_rows", "", "distinctive", count)))
    assert (finding.code, finding.severity, finding.threshold) == ("UQ702", severity, 0.01)
    assert judged(("duplicate_rows", "", "all", 150), ("duplicate_rows", "", "distinctive", 2)).state == "passed"


@pytest.mark.parametrize(("count", "severity"), [(2, "low"), (9, "low"), (10, "medium")])
def test_uq703(count: int, severity: str) -> None:
    finding = only(judged(("placeholder", "bmi", "-999", count)))
    assert (finding.code, finding.severity, finding.features) == ("UQ703", severity, ("bmi",))
    assert finding.threshold == 0.005
    assert f"bmi is −999 in {count} of 200 observations" in finding.statement
    assert "looks like a code for a missing value" in finding.statement
    assert judged(("placeholder", "bmi", "-999", 1)).state == "passed"


@pytest.mark.parametrize("count", [2, 76])
def test_a_0_that_may_be_a_real_amount_is_an_observation(count: int) -> None:
    finding = only(judged(("placeholder", "slag", "0", count)))
    assert (finding.code, finding.severity) == ("UQ703", "observation")
    assert "may be a real amount" in finding.statement


def test_columns_with_zeros_are_one_finding_and_codes_one_each() -> None:
    facts: list[Fact] = [("placeholder", "a", "0", 5), ("placeholder", "b", "-999", 5), ("placeholder", "c", "0", 9)]
    found = judged(*facts).findings
    assert [(f.severity, f.features) for f in found] == [("low", ("b",)), ("observation", ("c", "a"))]
    assert "c (4.5%) and a (2.5%)" in found[1].statement


@pytest.mark.parametrize(
    ("fact", "severity", "words"),
    [
        (("constant", "a", "1", 200), "low", "a = 1"),
        (("copied_column", "b", "a", 200), "low", "b of a"),
        (("sparse", "c", "0", 199), "observation", "c = 0"),
    ],
)
def test_uq704(fact: Fact, severity: str, words: str) -> None:
    finding = only(judged(fact))
    assert (finding.code, finding.severity, finding.features) == ("UQ704", severity, (fact[1],))
    assert words in finding.statement


MISSING = ("item", "n", "share", "share_train", "n_train")


def moved(feature: str, least: float, side: int = 1) -> dict[str, Any]:
    """Return a share of missing values that moved by at least so much."""
    ends = sorted((side * least, side * (least + 0.2)))
    line = {"measure": "missing_change", "feature": feature, "estimate": side * (least + 0.1), "std_error": np.nan}
    line |= {"lower": ends[0], "upper": ends[1], "confidence": 0.99, "covers": "new test and training rows"}
    return line | {"item": "missing", "n": 200, "share": 0.4, "share_train": 0.1, "n_train": 500}


@pytest.mark.parametrize(
    ("least", "severity"),
    [
        (0.0199, None),
        (0.0201, "observation"),
        (0.0499, "observation"),
        (0.0501, "low"),
        (0.199, "low"),
        (0.201, "medium"),
    ],
)
@pytest.mark.parametrize("side", [1, -1])
def test_a_share_of_missing_values_that_differs_from_training(least: float, severity: str | None, side: int) -> None:
    outcome = judged(("missing", "a", "", 5), moved=(moved("a", least, side),))
    assert [finding.severity for finding in outcome.findings] == ([severity] if severity else [])
    for finding in outcome.findings:
        assert (finding.code, finding.features, finding.threshold) == ("UQ705", ("a",), 0.02)
        assert finding.evidence == ("data_quality.missing",)
        assert finding.statement == (
            "a is missing in 40% of 200 observations and in 10% of 500 training observations: at least "
            f"{100 * least:.1f} points {'more' if side > 0 else 'less'}."
        )


def test_a_share_that_may_not_have_moved_is_no_finding() -> None:
    wide = moved("a", 0.1) | {"lower": -0.1}
    assert judged(("missing", "a", "", 5), moved=(wide,)).state == "passed"


@pytest.mark.parametrize("train", [True, False])
def test_missing_values_as_such_are_one_observation(train: bool) -> None:
    lines = (("missing", "a", "", 11), ("missing", "b", "", 60), ("missing", "c", "", 10))
    finding = only(judged(*lines, train=train))
    assert (finding.code, finding.severity, finding.features) == ("UQ705", "observation", ("a", "b"))
    assert (finding.statement, finding.observed) == ("Values are missing in b (30%) and a (5.5%).", 0.3)
    found = judged(*lines, moved=(moved("b", 0.1), moved("a", 0.01))).findings
    assert [(one.severity, one.features) for one in found] == [("low", ("b",)), ("observation", ("a",))]


def test_uq706() -> None:
    for change, severity in (("int64 -> object", "medium"), ("int64 -> float64", "observation")):
        finding = only(judged(("type_change", "a", change, 200)))
        assert (finding.code, finding.severity, finding.features) == ("UQ706", severity, ("a",))
        assert (finding.observed, finding.threshold) == (1.0, 0.0)
    assert "int64 in training, float64 here" in finding.statement


def test_uq707() -> None:
    finding = only(judged(("class", "", "no", 195), ("class", "", "yes", 5)))
    assert (finding.code, finding.severity, finding.observed) == ("UQ707", "observation", 0.025)
    assert finding.threshold == 0.05
    assert "yes (5)" in finding.statement
    passed = judged(("class", "", "no", 190), ("class", "", "yes", 10))
    assert passed.state == "passed"
    assert "No class has fewer than 5% of the observations." in passed.reason


@pytest.mark.parametrize(("smallest", "codes"), [(2, []), (1, ["UQ707"])])
def test_uq707_of_many_classes_asks_for_half_of_an_equal_share(smallest: int, codes: list[str]) -> None:
    equal = [("class", "", f"kind {k}", 4) for k in range(48)]
    outcome = judged(*equal, ("class", "", "odd", smallest), ("class", "", "most", 8 - smallest))
    assert [finding.code for finding in outcome.findings] == codes
    assert all(finding.threshold == pytest.approx(0.5 / 50) for finding in outcome.findings)


def test_the_only_class_is_not_rare_and_its_limit_is_the_share() -> None:
    assert "fewer than 40%" in judged(("class", "", "yes", 200), check=DataQualityCheck(rare_class=0.4)).reason


def test_without_a_count_of_copies_there_are_none() -> None:
    assert "0 of 0 observations are copies of others." in judged(without=("duplicate_rows",)).reason


def test_what_was_not_given_is_not_judged() -> None:
    outcome = judged(without=("overlap", "type_change", "class"))
    assert outcome.state == "skipped"
    for words in ("UQ701 was not judged: overlap was not given", "UQ706 was not judged", "UQ707 was not judged"):
        assert words in outcome.reason


def test_without_the_result_it_does_not_apply() -> None:
    outcome = DataQualityCheck().check(run(not_run=(NotRun("data_quality", "explainers", "denied", "not asked"),)))
    assert (outcome.state, outcome.reason) == (
        "not_applicable",
        "the assessment of data quality was not computed: denied",
    )


def test_thresholds_are_options_and_stand_in_the_rules() -> None:
    check = DataQualityCheck(missing=0.5, overlap=0.1)
    assert judged(("missing", "a", "", 60), ("overlap", "", "distinctive", 15), check=check).state == "passed"
    rules = {rule.code: rule.text for rule in check.rules}
    assert "More than 50%" in rules["UQ705"]
    assert "More than 10%" in rules["UQ701"]
    for wrong in (-0.1, 1.0):
        with pytest.raises(InputError, match=r"data_quality\.placeholder must be"):
            DataQualityCheck(placeholder=wrong)
    assert DataQualityCheck(placeholder=0.0).placeholder == 0.0


def test_a_severity_is_never_worse_than_its_rule_says() -> None:
    order = ("critical", "high", "medium", "low", "observation")
    worst = {rule.code: order.index(rule.severity) for rule in DataQualityCheck().rules}
    facts: list[Fact] = [
        *((m, "", "distinctive", 200) for m in ("overlap", "duplicate_rows")),
        *((m, "a", "0", 200) for m in ("placeholder", "constant", "copied_column", "sparse", "missing", "type_change")),
        ("class", "", "yes", 1),
    ]
    findings = judged(*facts, n_train=30).findings
    assert {f.code for f in findings} == set(worst)
    assert all(order.index(f.severity) >= worst[f.code] for f in findings)
    assert not np.isnan([f.observed for f in findings if f.observed is not None]).any()


@pytest.mark.parametrize(("n_train", "severity"), [(1, "observation"), (99, "observation"), (100, None)])
def test_few_training_rows_are_named_with_what_they_can_tell(n_train: int, severity: str | None) -> None:
    findings = judged(n_train=n_train).findings
    assert [one.severity for one in findings] == ([severity] if severity else [])
    assert all(f"{n_train} training observations for 8 features" in one.statement for one in findings)
    assert all(f"to ±{98 / n_train**0.5:.0f} points" in one.statement for one in findings)
