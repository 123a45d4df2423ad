"""How good, how sure: scores, the gate on both sides of its limits, claims, groups, and why a part is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import nan
from typing import Any

import pandas as pd
import pytest

from uq_report.core.model.results import Importance, Omission, Result
from uq_report.document.document import Figure, Section, Split, Table, inside, texts
from uq_report.document.text import unmarked
from uq_report.evidence import ids
from uq_report.evidence.finding import Finding, Outcome, RuleRecord
from uq_report.evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE
from uq_report.evidence.outcomes import CalibrationView
from uq_report.evidence.run import NotRun, Run
from uq_report.evidence.segments import OFF_SUPPORT
from uq_report.reading.run_reader import RunReader
from uq_report.reading.tables import CAUTION
from uq_report.report.answer.cards import gain_words
from uq_report.report.sections.outcomes import sure
from uq_report.report.sections.uncertainty import gate_words, parts_words

from . import people_results
from .cases import Case, diagnostic, estimates
from .made import calibration
from .synthetic import holding, make_run

INTERVAL: Mapping[str, Any] = {"confidence": 0.95, "covers": "new test samples"}
MARGIN = 0.05
pytestmark = pytest.mark.usefixtures("undrawn")


def scored(*items: tuple[str, float, float], n: int = 250, unit: str = "nats") -> Result:
    """Scores with an interval of this half width; the one at 90% is the same."""
    rows = [
        {"measure": "", "feature": "", "item": item, "unit": unit, "estimate": at, "lower": at - half,
         "upper": at + half, "lower_90": at - half, "upper_90": at + half, **INTERVAL}
        for item, at, half in items
    ]  # fmt: skip
    made = diagnostic(ids.CALIBRATION, "Scores", estimates(rows))
    return replace(made, meta={"n": n, "family": "categorical", "infinite_nll": 0, "gap_variance": 0.2323})


def ended(state: str) -> Outcome:
    """The gate in a state, with its rule and margin."""
    rule = RuleRecord(code="UQ102", title="t", severity="observation", when="w", rests_on="r",
                      thresholds={"margin": MARGIN})  # fmt: skip
    if state == "passed":
        return Outcome(check=ids.CALIBRATION, state="passed", reason="it is right", rules=(rule,))
    code = "UQ101" if state == "fails" else "UQ102"
    finding = Finding(code=code, title="t", severity="high", statement="the statement", evidence=(ids.CALIBRATION,),
                      rests_on="r")  # fmt: skip
    return Outcome(check=ids.CALIBRATION, state="found", findings=(finding,), rules=(rule,))


def run_of(results: Iterable[Result], *outcomes: Outcome, case: Case | None = None, **subject: Any) -> Run:
    case = case or Case()
    run = replace(make_run(case), outcomes=outcomes, not_run=())
    return holding(replace(run, subject={**run.subject, **subject}), case, results)


def parts(run: Run) -> dict[str, Section]:
    return {section.id: section for section in sure(RunReader(run)).sections}


def tables(section: Section) -> list[Table]:
    return [block for block in inside(section.blocks) if isinstance(block, Table)]


def told(section: Section) -> str:
    return unmarked(" ".join(texts([section])))


@pytest.mark.parametrize(("skill", "words"), [
    (0.021, "outperforms"), (0.02, "is not distinguishable from"), (-0.02, "is not distinguishable from"),
    (-0.021, "performs worse than"),
])  # fmt: skip
def test_skill_is_called_by_its_interval(skill: float, words: str) -> None:
    lines = [("log_score", 0.5, 0.1), ("log_score_baseline", 0.6, 0.1), ("log_score_skill", skill, 0.02)]
    section = parts(run_of([scored(*lines)], classes=["a", "b"]))["performance-scores"]
    assert f"The model {words} a baseline that predicts the class frequencies, by log loss." in told(section)


def test_a_score_stands_beside_that_of_a_no_feature_baseline() -> None:
    lines = [("log_score", 0.5, 0.1), ("log_score_baseline", 0.6, 0.1), ("log_score_skill", 0.1, 0.02),
             ("confidence_gap", 0.0, 0.1)]  # fmt: skip
    (table,) = tables(parts(run_of([scored(*lines)]))["performance-scores"])
    assert [column.label for column in table.columns] == ["score", "model", "no-feature baseline", "improvement"]
    (row,) = table.rows
    assert [str(cell).split(" ")[0] for cell in row] == ["log", "0.50", "0.60", "0.100"]


def test_without_a_baseline_the_table_has_no_columns_of_it() -> None:
    (table,) = tables(parts(run_of([scored(("log_score", 0.5, 0.1))]))["performance-scores"])
    assert [column.label for column in table.columns] == ["score", "model"]


def test_shares_are_told_in_percent_and_the_area_under_the_curve_is_not() -> None:
    accuracy, auc = scored(("accuracy", 0.72, 0.05), unit="share of observations"), scored(("roc_auc", 0.76, 0.05),
                                                                                   unit="probability")  # fmt: skip
    assert "72% (67 to 77)" in told(parts(run_of([accuracy]))["performance-scores"])
    assert "0.76 (0.71 to 0.81)" in told(parts(run_of([auc]))["performance-scores"])


def decided(labels: list[str]) -> Result:
    rows = [
        {"measure": "", "feature": "", "item": item, "label": label, "n": 10, "n_effective": 10.0,
         "estimate": k / 100, "lower": 0.0, "upper": 1.0, **INTERVAL}
        for k, label in enumerate(labels)
        for item in ("recall", "precision")
    ]  # fmt: skip
    counts = [[k] * len(labels) for k in range(len(labels))]
    made = diagnostic(ids.CALIBRATION_DECISIONS, "Decisions", estimates(rows))
    return replace(made, meta={"classes": labels, "counts": counts, "rule": "the most probable class"})


@pytest.mark.parametrize(("number", "counted", "rows"), [(2, True, 2), (6, True, 6), (7, False, 7), (9, False, 8)])
def test_decisions_are_counted_for_few_classes_and_of_many_the_lowest_recalls_shown(
    number: int, counted: bool, rows: int
) -> None:
    labels = [f"c{k}" for k in range(number)][::-1]
    run = run_of([scored(("log_score", 0.5, 0.1)), decided(labels)], classes=labels)
    table = tables(parts(run)["performance-scores"])[1]
    assert any("predicted" in column.label for column in table.columns[1:-1]) == counted
    assert len(table.rows) == rows
    assert ("lowest recall" in table.caption) == (rows < number)
    assert labels[0] in [row[0] for row in table.rows]  # it has the lowest recall


@pytest.mark.parametrize(("at", "half", "words"), [
    (0.0, 0.06, "Whether the stated probabilities agree with the outcomes is inconclusive (n = 250; about 800"),
    (0.045, 0.03, "is inconclusive (n = 250;"),
])  # fmt: skip
def test_an_inconclusive_verdict_has_the_gap_its_tolerance_and_the_sample_size_needed(
    at: float, half: float, words: str
) -> None:
    text = gate_words(RunReader(run_of([scored(("confidence_gap", at, half))], ended("unjudged"))))
    assert words in text
    assert "observations give 80% power if the model is" in text
    assert text.endswith("tolerance ±0.05.")


@pytest.mark.parametrize(("unit", "name", "cell"), [
    ("units of the outcome", "CRPS (lower is better)", "2.00 units of the outcome (1.90 to 2.10)"),
    ("nats per row", "CRPS (lower is better), nats per row", "2.00 (1.90 to 2.10)"),
])  # fmt: skip
def test_a_unit_stands_in_the_name_or_in_the_cell(unit: str, name: str, cell: str) -> None:
    (table,) = tables(parts(run_of([scored(("crps", 2.0, 0.1), unit=unit)]))["performance-scores"])
    assert table.rows[0][:2] == (name, cell)


def test_a_gate_that_is_open_for_another_reason_than_the_gap_names_the_finding() -> None:
    text = gate_words(RunReader(run_of([scored(("confidence_gap", 0.0, 0.04))], ended("unjudged"))))
    assert text == "T. See UQ102."


@pytest.mark.parametrize(("at", "words"), [
    (0.2, "Not acceptable: the model is over-confident"),
    (-0.2, "Not acceptable: the model is under-confident"),
    (0.05, "in no single direction"),
])  # fmt: skip
def test_a_gate_that_fails_says_which_way_as_far_as_the_interval_tells(at: float, words: str) -> None:
    assert words in gate_words(RunReader(run_of([scored(("confidence_gap", at, 0.1))], ended("fails"))))


def test_a_gain_of_recalibration_is_stated_once_its_interval_is_above_0() -> None:
    for width, words in ((0.11, ""), (0.09, "Recalibration gains 0.10 nats (0.01 to 0.19).")):
        view = CalibrationView.find(run_of([scored(("recalibration_gain", 0.1, width))], ended("fails")))
        assert view is not None
        assert gain_words(view) == words


def test_a_gate_that_passes_claims_no_more_than_its_limit() -> None:
    text = gate_words(RunReader(run_of([scored(("confidence_gap", 0.0, 0.04))], ended("passed"))))
    lead = "Acceptable: the stated probabilities agree with the outcomes within the tolerance of ±0.05 nats ("
    assert text.startswith(lead)
    other = gate_words(RunReader(run_of([scored(("confidence_gap", 0.0, 0.04))], ended("passed"), classes=None)))
    assert "the stated distributions agree" in other


def test_without_a_gate_the_reason_is_given_and_no_figure_claims_agreement() -> None:
    run = run_of(calibration(Case()))
    section = parts(run)["performance-calibration"]
    assert "The calibration check was not run." in told(section)
    (figure,) = (block for block in inside(section.blocks) if isinstance(block, Figure))
    assert "was not tested" in figure.caption


@pytest.mark.parametrize(("state", "words"), [
    ("fails", "The disagreement is not significant in any single bin (n = 400)."),
    ("unjudged", "No disagreement of stated probabilities and outcomes is shown (n = 400)."),
    ("passed", "Stated probabilities agree with outcomes."),
])  # fmt: skip
def test_the_title_of_a_figure_says_what_the_gate_allows_and_the_groups_show(state: str, words: str) -> None:
    section = parts(run_of(calibration(Case()), ended(state)))["performance-calibration"]
    (figure,) = (block for block in inside(section.blocks) if isinstance(block, Figure))
    assert figure.caption.endswith(words)


def test_groups_off_what_is_stated_are_a_disagreement() -> None:
    made = [
        replace(r, estimates=r.estimates.assign(lower=r.estimates["x"] + 0.01, upper=r.estimates["x"] + 0.02))
        if r.id == ids.CALIBRATION_RELIABILITY
        else r
        for r in calibration(Case())
    ]
    section = parts(run_of(made, ended("fails")))["performance-calibration"]
    (figure,) = (block for block in inside(section.blocks) if isinstance(block, Figure))
    assert figure.caption.endswith("Stated probabilities and outcomes disagree.")


def test_a_regression_has_coverage_and_the_transform_side_by_side() -> None:
    case = Case(task="regression")
    section = parts(run_of(calibration(case), ended("passed"), case=case, classes=None))["performance-calibration"]
    split = next(block for block in section.blocks if isinstance(block, Split))
    left, right = (side[0] for side in (split.left, split.right))
    assert isinstance(left, Figure)
    assert isinstance(right, Figure)
    assert (left.evidence, right.evidence) == (ids.CALIBRATION_COVERAGE, ids.CALIBRATION_PIT)


@pytest.mark.parametrize(("x", "words"), [
    (0.5, "the coverage of prediction intervals from its nominal"), (0.8, "50% prediction intervals cover more"),
    (0.2, "50% prediction intervals cover fewer"),
])  # fmt: skip
def test_coverage_is_called_by_its_intervals_or_label_sets(x: float, words: str) -> None:
    rows = [{"measure": "", "feature": "", "item": "coverage", "x": 0.5, "estimate": x, "lower": x - 0.1,
             "upper": x + 0.1, "n": 50, **INTERVAL}]  # fmt: skip
    case = Case(task="regression")
    made = diagnostic(ids.CALIBRATION_COVERAGE, "Coverage", estimates(rows))
    results = [scored(("confidence_gap", 0.0, 0.1)), made]
    captions = []
    for more in ({"case": case, "classes": None}, {}):
        section = parts(run_of(results, **more))["performance-calibration"]
        (figure,) = (block for block in inside(section.blocks) if isinstance(block, Figure))
        captions.append(figure.caption)
    assert words in captions[0]
    assert words.replace("prediction intervals", "label sets") in captions[1]
    assert "ntervals" not in captions[1]


def claims(differences: Mapping[str, tuple[float, float]], margin: float = 0.01, *, outcomes: bool = True) -> Result:
    """A claim of 0.1 each; the difference to what is delivered with its half width."""
    rows = []
    for feature, (at, half) in differences.items():
        for item, value in ((CLAIMED, 0.1), (DELIVERED, 0.1 - at), (DIFFERENCE, at))[: 3 if outcomes else 1]:
            rows.append(
                {"measure": "nll", "feature": feature, "item": item, "estimate": value, "lower": value - half,
                 "upper": value + half, "p_value": 0.5, "share": 1 - at / 0.1, "share_lower": 0.5, "share_upper": 1.5,
                 "unreliable": "", **INTERVAL}
            )  # fmt: skip
    return replace(diagnostic(ids.PFI_CLAIMS, "Claims", estimates(rows), ids.PFI), meta={"margin": margin})


def test_realised_importance_is_below_or_above_only_beyond_the_margin_by_its_interval() -> None:
    made = claims({"over": (0.0311, 0.02), "under": (-0.0311, 0.02), "in": (0.03, 0.021), ALL_FEATURES: (0.0, 0.01)})
    section = parts(run_of([made]))["performance-realised"]
    assert (
        "Realised importance is below model-implied importance for over and above model-implied importance for"
        in told(section)
    )
    (table,) = tables(section)
    assert [row[0] for row in table.rows] == ["over", "under", "in", ALL_FEATURES]


def test_no_share_is_given_of_a_claim_below_the_margin_and_an_interval_in_doubt_says_why() -> None:
    small = claims({"a": (0.0, 0.01), ALL_FEATURES: (0.0, 0.01)}, margin=0.11)
    (table,) = tables(parts(run_of([small]))["performance-realised"])
    assert {row[3] for row in table.rows} == {""}
    made = claims({"a": (0.0, 0.01), ALL_FEATURES: (0.0, 0.01)})
    doubted = replace(made, estimates=made.estimates.assign(unreliable="few events"))
    (table,) = tables(parts(run_of([doubted]))["performance-realised"])
    assert {row[3] for row in table.rows} == {""}
    assert table.note == "† The interval is unreliable: few events."


def test_claims_without_outcomes_are_said_to_be_unconfirmed() -> None:
    section = parts(run_of([claims({"a": (0.0, 0.01)}, outcomes=False)]))["performance-realised"]
    assert told(section).endswith("Without outcomes the realised importance is not known.")
    assert tables(section) == []


def test_groups_stand_with_predictions_outcomes_and_how_far_they_are_apart() -> None:
    section = parts(run_of(people_results.groups(("female", "male"))))["performance-groups"]
    (table,) = tables(section)
    assert [row[0] for row in table.rows] == ["female", "male"]
    assert table.rows[0][1] == 249
    assert all(str(cell).startswith("40") and str(cell).endswith("%") for cell in table.rows[0][2:4])
    assert str(table.rows[0][4]).startswith("−7")
    text = told(section)
    assert "Predictions for sex = female are 7" in text
    assert "below those for the other groups; outcomes are 7" in text
    assert "; 4.0 points (3.0 to 5.0) are offset by purpose." in text
    assert (
        "The other features predict sex (skill 0.60, 0.50 to 0.70); the closest proxy is purpose (association 0.700)."
        in text
    )


def test_groups_without_a_shown_difference_are_not_called_higher_or_lower() -> None:
    made = people_results.groups(("female", "male"))
    wide = replace(made[1], estimates=made[1].estimates.assign(lower=-0.2, upper=0.2))
    text = told(parts(run_of([made[0], wide]))["performance-groups"])
    assert "are not shown to differ from those for the other groups" in text
    assert "above" not in text
    assert "below" not in text


def test_what_is_withheld_for_one_reason_is_one_sentence() -> None:
    made = people_results.groups(("female", "male"))
    gaps = tuple(
        Omission("nll", attribute, f"group '{k}': fewer than 30 rows") for attribute in ("sex", "age") for k in range(3)
    )
    text = told(parts(run_of([replace(made[0], omissions=gaps), *made[1:]]))["performance-groups"])
    assert text.count("Not testable") == 1
    assert "Not testable: negative log-likelihood by sex and age, fewer than 30 rows." in text


def test_of_many_groups_those_that_differ_most_are_shown_in_their_order() -> None:
    labels = tuple(f"g{k}" for k in range(8))
    (table,) = tables(parts(run_of(people_results.groups(labels)))["performance-groups"])
    apart = {label: abs(0.3 + 0.1 * k - 0.47) for k, label in enumerate(labels, 1)}
    most = set(sorted(labels, key=lambda label: -apart[label])[:6])
    assert [row[0] for row in table.rows] == [label for label in labels if label in most]
    assert "The 6 of 8 groups with the largest differences." in table.caption


def test_a_missing_part_says_why_or_is_not_there() -> None:
    run = replace(
        run_of([], protected=["sex"]), not_run=(NotRun("groups", "uq_report.explainers", "it was denied", "not asked"),)
    )
    assert told(parts(run)["performance-groups"]).endswith("It was denied.")
    assert "performance-groups" not in parts(run_of([]))
    assert "performance-realised" not in parts(run_of([]))


@pytest.mark.parametrize("case", [Case(), Case(task="regression"), Case(has_y=False), Case(names=("one",)),
                                  Case(names=tuple(f"x{k}" for k in range(60)))], ids=str)  # fmt: skip
def test_the_section_keeps_its_budget_and_has_no_empty_part(case: Case) -> None:
    section = sure(RunReader(make_run(case)))
    assert len(" ".join(texts([section])).split()) <= 700
    assert sum(isinstance(b, Figure) for part in section.sections for b in inside(part.blocks)) <= 2
    assert all(part.blocks for part in section.sections)
    assert not {"nan", "inf"} & set(told(section).split())


def unpermuted(**means: float) -> Result:
    """Permutation importances that record these measures before any permutation."""
    lines = [
        {"measure": measure, "feature": "a", "estimate": 0.1, "std_error": 0.01, "lower": 0.0, "upper": 0.2,
         "verdict": "positive", "margin": 0.01, "p_value": 0.01, "spread_low": 0.0, "spread_high": 0.1,
         "unpermuted": mean, "n_needed": nan, "exact_zero": False, "remark": "", **INTERVAL}
        for measure, mean in means.items()
    ]  # fmt: skip
    frame = pd.DataFrame(columns=list(Importance.columns))
    return Importance(id=ids.PFI, explainer=ids.PFI, title="PFI", frame=frame, estimates=estimates(lines))


@pytest.mark.parametrize(("task", "means", "words"), [
    ("classification", {"epistemic": 0.1, "aleatoric": 0.3}, "25% of the stated uncertainty is epistemic"),
    ("regression", {"epistemic_variance": 1.0, "aleatoric_variance": 3.0}, "25% of the stated variance is"),
    ("regression", {"epistemic": 0.1, "aleatoric": 0.3}, "The epistemic part of the uncertainty is 0.100 nats on"),
    ("regression", {"entropy": 0.3}, "Epistemic uncertainty was not estimated."),
])  # fmt: skip
def test_the_share_of_disagreement_does_not_depend_on_the_unit_of_the_outcome(
    task: str, means: Mapping[str, float], words: str
) -> None:
    case = Case(task=task)
    section = sure(RunReader(run_of([scored(("confidence_gap", 0.0, 0.06)), unpermuted(**means)], case=case)))
    told = " ".join(texts([section]))
    assert words in told
    assert told.count(CAUTION) == (len(means) > 1)


def test_members_that_predict_points_have_no_aleatoric_part() -> None:
    case, means = Case(task="regression"), {"variance": 2.0, "aleatoric_variance": 0.0, "epistemic_variance": 2.0}
    words = parts_words(RunReader(run_of([unpermuted(**means)], case=case)))
    assert words.startswith(
        "The members of the ensemble predict single points, so all of the stated variance is epistemic"
    )
    assert words.endswith(CAUTION)


@pytest.mark.parametrize(("difference", "words"), [
    ((0.2, 0.1, 0.3), "outside the training domain the epistemic uncertainty is higher than for the others by 0.20"),
    ((-0.2, -0.3, -0.1), "the epistemic uncertainty is lower than for the others by 0.20 nats (0.10 to 0.30)"),
    ((0.2, -0.1, 0.5), ""),
])  # fmt: skip
def test_disagreement_off_the_support_is_told_only_where_it_is_shown(
    difference: tuple[float, float, float], words: str
) -> None:
    at, lower, upper = difference
    line = {
        "measure": "epistemic", "feature": "", "item": "outside", "estimate": 0.3, "segment": OFF_SUPPORT, "grown": "",
        "n": 12, "units": 12, "share": 0.1, "unit": "nats", "n_rest": 80, "difference": at,
        "difference_std_error": 0.05, "difference_lower": lower, "difference_upper": upper, "freedom": 90,
        "p_value": 0.01, "p_adjusted": 0.01, **INTERVAL,
    }  # fmt: skip
    segments = replace(diagnostic(ids.SEGMENTS, "Segments", estimates([line])), meta={"judged": 92, "grown": 92})
    run = run_of([unpermuted(aleatoric=0.3, epistemic=0.1), segments], case=Case(task="classification"))
    told = parts_words(RunReader(run))
    assert words in told
    assert ("outside the training domain" in told) == bool(words)
