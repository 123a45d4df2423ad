"""The usefulness of the uncertainty in the report: sentences, section, card and tables, with and without numbers."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from uq_report import testing
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject
from uq_report.document.document import Figure, inside
from uq_report.evidence import ids
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.reading.default_sections import part
from uq_report.reading.run_reader import RunReader
from uq_report.report.answer.cards import usefulness
from uq_report.report.sections.uncertainty import group_words, ordering_words, referral_words, referred_words, useful
from uq_report.runner import single
from uq_report.runner.settings import make_settings

from .reading import table_of, text_of

pytestmark = pytest.mark.usefixtures("undrawn")


def results(subject: Subject) -> Mapping[str, Result]:
    found = single(subject, ids.SELECTIVE, {"n_band": 99}, make_settings({}, "options"), None)
    return {result.id: result for result in found}


def changed(result: Result, at: float, **numbers: float) -> Result:
    """Return a curve with other numbers at a share kept."""
    table = result.estimates.copy()
    for name, number in numbers.items():
        table.loc[np.isclose(table["x"], at), name] = number
    return replace(result, estimates=table)


@pytest.fixture(scope="module")
def classes() -> Mapping[str, Result]:
    subject = testing.logistic_subject(300)
    return results(replace(subject, protected={"sex": np.where(np.arange(300) % 3 == 0, "f", "m")}))


def run_of(found: Mapping[str, Result], *outcomes: Outcome, not_run: tuple[NotRun, ...] = ()) -> Run:
    facts = {"n": 300, "has_y": True, "classes": ["no", "yes"]}
    given: dict[str, Any] = {"settings": {}, "environment": {}, "outcomes": outcomes, "not_run": not_run}
    return Run(as_of="2026-01-01", subject=facts, results=tuple(found.values()), **given)


def reader(run: Run) -> RunReader:
    return RunReader(run, lambda result, **choice: pytest.fail("no figure is drawn here"))


NUMBERS = {
    "estimate": 0.209, "lower": 0.181, "upper": 0.240, "saved": 0.026, "saved_lower": 0.01, "saved_upper": 0.04,
    "captured": 0.2, "captured_lower": 0.16, "captured_upper": 0.25, "threshold": 0.46,
}  # fmt: skip


def with_numbers(found: Mapping[str, Result], **more: float) -> Mapping[str, Result]:
    return {**found, ids.SELECTIVE_CURVE: changed(found[ids.SELECTIVE_CURVE], 0.9, **(NUMBERS | more))}


def test_the_sentence_on_referral(classes: Mapping[str, Result]) -> None:
    assert referral_words(run_of(with_numbers(classes))) == (
        "Referring the 10% most uncertain observations lowers the error rate of the others from 23.5% to 20.9% (18.1 "
        "to 24.0)."
    )
    assert referred_words(run_of(with_numbers(classes))) == (
        "The 10% most uncertain observations (expected error above 0.460) have 20.0% (16.0 to 25.0) of all errors, "
        "10% by chance."
    )


@pytest.mark.parametrize(
    ("lower", "upper", "verb"),
    [(0.001, 0.04, "lowers"), (-0.001, 0.04, "changes"), (-0.04, -0.001, "raises")],
)
def test_the_verb_follows_the_interval(classes: Mapping[str, Result], lower: float, upper: float, verb: str) -> None:
    words = referral_words(run_of(with_numbers(classes, saved_lower=lower, saved_upper=upper)))
    assert f"observations {verb} the error rate" in words
    assert ("(18.1 to 24.0), not established." in words) is (verb == "changes")


def test_without_errors_nothing_is_among_them(classes: Mapping[str, Result]) -> None:
    assert referred_words(run_of(with_numbers(classes, captured=np.nan))) == ""


def test_numbers_are_told_in_the_unit_of_the_outcome() -> None:
    run = run_of(results(testing.linear_subject(200)))
    words = referral_words(run)
    assert "the mean absolute error of the others from" in words
    assert "of all absolute error, 10% by chance." in referred_words(run)
    assert ordering_words(run).startswith("gain ")
    assert ordering_words(run).endswith("of the largest possible, 0% by chance")


def test_groups_are_told_from_the_most_referred_on(classes: Mapping[str, Result]) -> None:
    words = group_words(run_of(classes))
    table = classes[ids.SELECTIVE_GROUPS].estimates
    rates = table[table["measure"] == "referral_rate"].set_index("item")["estimate"]
    assert words.startswith(f"Referred by sex: {rates.idxmax()} ")
    assert re.search(rf" and {rates.idxmin()} [\d.]+% \(.*; error rate of the others .* and ", words)
    one = table[table["item"] == "f"]
    alone = {**classes, ids.SELECTIVE_GROUPS: replace(classes[ids.SELECTIVE_GROUPS], estimates=one)}
    assert group_words(run_of(alone)) == ""  # one group compares with none


def test_a_run_without_selective_prediction_says_nothing() -> None:
    run = run_of({})
    assert (referral_words(run), ordering_words(run), group_words(run), useful(reader(run))) == ("", "", "", None)


def test_the_section_has_sentences_and_the_curve(classes: Mapping[str, Result]) -> None:
    open_ = Outcome(check=ids.SELECTIVE, state="skipped", reason="no verdict yet")
    section = useful(reader(run_of(classes, open_)))
    assert section is not None
    assert section.title == "Usefulness of the uncertainty"
    assert "Not judged: No verdict yet." in text_of(section)
    assert [block.evidence for block in inside(section.blocks) if isinstance(block, Figure)] == [ids.SELECTIVE_CURVE]
    passed = useful(reader(run_of(classes, Outcome(check=ids.SELECTIVE, state="passed", reason="it orders"))))
    assert passed is not None
    assert "Not judged" not in text_of(passed)


@pytest.mark.parametrize(
    ("state", "headline"),
    [("passed", "Useful"), ("found", "Not shown"), ("skipped", "Inconclusive"), ("not_applicable", "Not assessed")],
)
def test_the_card_has_the_verdict_the_number_and_the_sentence(
    classes: Mapping[str, Result], state: Any, headline: str
) -> None:
    finding = Finding(code="UQ111", title="t", severity="low", statement="s", evidence=(ids.SELECTIVE,), rests_on="r")
    findings = (finding,) if state == "found" else ()
    outcome = Outcome(check=ids.SELECTIVE, state=state, reason="nine errors", findings=findings)
    e = reader(run_of(with_numbers(classes), outcome))
    card, section = usefulness(e), useful(e)
    assert section is not None
    assert f"{headline}. The uncertainty is " in text_of(section)
    assert (card.title, card.headline) == ("Usefulness of the uncertainty", headline)
    assert card.aside.startswith("AUROC of failures ")
    assert card.texts[0].startswith("Referring the 10% most uncertain")
    assert ("Nine errors." in card.texts) is (state == "not_applicable")


@pytest.mark.parametrize(
    ("lower", "saved", "headline"),
    [(0.51, 0.01, "Useful"), (0.49, 0.01, "Inconclusive"), (0.51, -0.01, "Inconclusive")],
)
def test_useful_needs_the_order_above_chance_and_a_lower_loss(
    classes: Mapping[str, Result], lower: float, saved: float, headline: str
) -> None:
    made = classes[ids.SELECTIVE]
    table = made.estimates.copy()
    table.loc[table["item"] == "failure_auroc", "lower"] = lower
    run = run_of(
        {**with_numbers(classes, saved_lower=saved), ids.SELECTIVE: replace(made, estimates=table)},
        Outcome(check=ids.SELECTIVE, state="passed"),
    )
    assert usefulness(reader(run)).headline == headline


def test_the_card_without_a_result_says_why() -> None:
    why = NotRun(ids.SELECTIVE, "explainers", "selective.y must be given", cause="data")
    card = usefulness(reader(run_of({}, not_run=(why,))))
    assert (card.headline, card.aside, card.texts) == ("Not assessed", "", ("selective.y must be given.",))


def test_the_tables_show_every_number(classes: Mapping[str, Result]) -> None:
    curve = table_of(part(reader(run_of(classes)), classes[ids.SELECTIVE_CURVE]), f"{ids.SELECTIVE_CURVE}-table")
    assert len(curve.rows) == len(classes[ids.SELECTIVE_CURVE].estimates)
    assert "width" not in [column.label for column in curve.columns]
    numbers = results(testing.linear_subject(200))
    curve = table_of(part(reader(run_of(numbers)), numbers[ids.SELECTIVE_CURVE]), f"{ids.SELECTIVE_CURVE}-table")
    assert "width" in [column.label for column in curve.columns]
