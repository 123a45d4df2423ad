"""The findings: a register, a block each, observations, waivers, rules, and states that sum to the checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from uq_report.checks.rule import rates
from uq_report.document.document import Badge, Bullets, Callout, Paragraph, Section, Table, inside, texts
from uq_report.document.text import unmarked
from uq_report.evidence.finding import SEVERITIES, Finding, Outcome, Severity, Symptom
from uq_report.evidence.run import FindingChange, RunChanges
from uq_report.reading.run_reader import OPEN, RunReader
from uq_report.report.assemble import document
from uq_report.report.sections.findings import (
    checks_ended,
    ended,
    findings,
    grouped,
    observations,
    observed_words,
    rules,
)

from .findings_made import PASSED, finding, rule, run_with, waived

HOSTILE = "<script>\x1b[31m\u202e=1+1"
HIGH = finding("UQ401", "high", "age", observed=0.0224, lower=0.01, upper=0.03, threshold=0.01, remedy="leave it out")
LOW = finding("UQ203", "low", rests_on="plain words")
FOUND = Outcome(check="over", state="found", findings=(LOW, HIGH), rules=(rule("UQ401"), rule("UQ203", "low")))
NOTED = finding("UQ501", "observation", "age", statement="age may lead. So may 9 others.")


def told(*found: Finding, **settings: Sequence[dict[str, str]]) -> Section:
    outcomes = (Outcome(check="over", state="found", findings=found),) if found else ()
    return findings(RunReader(run_with(PASSED, *outcomes, settings=settings)))


def behind(*found: Finding) -> Section:
    section = observations(RunReader(run_with(PASSED, Outcome(check="over", state="found", findings=found))))
    assert section is not None
    return section


def table(section: Section) -> Table:
    return next(block for block in inside(section.blocks) if isinstance(block, Table))


def callouts(section: Section) -> list[Callout]:
    return [block for block in inside(section.blocks) if isinstance(block, Callout)]


def to_do(section: Section) -> list[str]:
    return [b.text for b in section.blocks if isinstance(b, Paragraph) and b.text.startswith("Action:")]


def test_findings_are_most_severe_first_each_in_the_register_and_in_a_block_with_its_action() -> None:
    section = told(LOW, HIGH)
    assert [row[0] for row in table(section).rows] == ["UQ401 Title of UQ401", "UQ203 Title of UQ203"]
    first, second = callouts(section)
    assert (first.title, second.title) == ("UQ401 · high · Title of UQ401", "UQ203 · low · Title of UQ203")
    assert (first.tone, first.evidence, first.code, first.id) == ("bad", ("pfi",), "UQ401", "finding-UQ401")
    assert to_do(section) == ["Action: Leave it out.", "Action: not stated."]


def test_names_of_features_are_marked_in_statements() -> None:
    (callout,) = callouts(told(replace(HIGH, statement="the average of age")))
    assert callout.text == "The average of \ue000age\ue001."


def test_a_finding_says_whom_it_affects_and_how_large_it_is_where_that_is_stated() -> None:
    section = told(replace(HIGH, affected="17 of 250 rows", size=0.125), LOW)
    first, second = callouts(section)
    assert [first.text, second.text] == ["Statement of UQ401.", "Statement of UQ203."]
    assert [row[3] for row in table(section).rows] == ["17 of 250 rows and 12.5% of the model's skill", ""]
    assert [column.label for column in table(told(HIGH)).columns] == ["finding", "severity", "feature", "owner, due"]


CAUSE = finding("UQ303", "medium", "age", explains=(Symptom(code="UQ401", feature="age"), Symptom(code="UQ203")))


def test_a_finding_stands_under_the_one_that_explains_it() -> None:
    other = finding("UQ401", "high", "income")
    section = told(LOW, CAUSE, other, HIGH)
    rows = table(section).rows
    assert [(str(row[0])[:5], row[2]) for row in rows] == [
        ("UQ401", "income"), ("UQ303", "age"), ("UQ401", "age"), ("UQ203", None)
    ]  # fmt: skip
    assert [str(row[0]).endswith("(follows from UQ303)") for row in rows] == [False, False, True, True]
    assert [block.id for block in callouts(section)] == [
        "finding-UQ401", "finding-UQ303", "finding-UQ401-2", "finding-UQ203"
    ]  # fmt: skip


def test_a_small_cause_is_only_possibly_related() -> None:
    small = finding("UQ303", "low", "age", explains=(Symptom(code="UQ401", possible=True),))
    also = finding("UQ304", "low", "age", explains=(Symptom(code="UQ401", possible=True),))
    rows = table(told(small, also, finding("UQ401", "high", "income"))).rows
    assert str(rows[0][0]).startswith("UQ401")
    assert str(rows[0][0]).endswith("(possibly related to UQ303 and UQ304)")
    assert not any("related" in str(row[0]) for row in rows[1:])


def test_a_finding_whose_cause_is_not_open_stands_by_itself() -> None:
    ended_ = Outcome(check="over", state="found", findings=(HIGH,), waived=(waived(CAUSE),))
    section = findings(RunReader(run_with(ended_)))
    assert [row[0] for row in table(section).rows] == ["UQ401 Title of UQ401"]


def test_findings_that_explain_each_other_all_stand_in_the_register() -> None:
    a, b = (finding(one, "low", explains=(Symptom(code=other),)) for one, other in (("UQ1", "UQ2"), ("UQ2", "UQ1")))
    assert [str(row[0])[:5].strip() for row in table(told(a, b, LOW)).rows] == ["UQ1 T", "UQ2 T", "UQ203"]


def test_of_findings_that_explain_each_other_the_one_that_names_features_leads() -> None:
    both = (Symptom(code="UQ401"), Symptom(code="UQ001"))
    use, over = finding("UQ001", "critical", explains=both), finding("UQ401", "high", "income", explains=both)
    rows = [str(row[0]) for row in table(told(use, over)).rows]
    assert [row[:5] for row in rows] == ["UQ401", "UQ001"]
    assert [row.endswith("(follows from UQ401)") for row in rows] == [False, True]
    shift = finding("UQ303", "medium", "income", explains=both)
    rows = [str(row[0]) for row in table(told(use, over, shift)).rows]
    assert [row[:5] for row in rows] == ["UQ303", "UQ001", "UQ401"]
    assert [row.endswith("(follows from UQ303)") for row in rows] == [False, True, True]


def test_findings_of_one_rule_and_severity_share_a_block_that_keeps_every_number() -> None:
    made = [
        replace(HIGH, features=(f"x{k}",), observed=0.1 * k, lower=0.1 * k - 0.01, upper=0.1 * k + 0.02)
        for k in (1, 2, 3)
    ]
    section = told(*made, replace(HIGH, severity="low", features=("x4",)))
    shared, alone = callouts(section)
    assert unmarked(shared.text).endswith("The same applies to x2 and x3.")
    assert alone.id == "finding-UQ401-2"
    numbers = next(b for b in section.blocks if isinstance(b, Table) and b.id == "finding-UQ401-table")
    assert numbers.rows == tuple((one.features[0], observed_words(one), "0.01") for one in made)
    assert [item for b in behind(*made).blocks if isinstance(b, Bullets) for item in b.items] == [
        "UQ401: Statement of UQ401." for _ in made[1:]
    ]
    assert len(table(section).rows) == 4


def test_findings_about_the_model_or_the_same_feature_never_share_a_block() -> None:
    model = finding("UQ951", "high")
    assert [len(group.members) for group in grouped([model, model, HIGH, HIGH])] == [1, 1, 1, 1]
    assert len(callouts(told(model, model))) == 2


def test_findings_with_other_causes_never_share_a_block() -> None:
    caused = finding("UQ401", "high", "age")
    cause = finding("UQ303", "high", "age", explains=(Symptom(code="UQ401", feature="age"),))
    assert [len(group.members) for group in grouped([cause, caused, finding("UQ401", "high", "x")])] == [1, 1, 1]


def test_observations_stand_in_the_appendix_with_their_first_sentence_and_not_in_the_register() -> None:
    section = told(HIGH, NOTED)
    assert [row[0] for row in table(section).rows] == ["UQ401 Title of UQ401"]
    assert "1 observation, for information: UQ501." in str(section.blocks[0])
    assert [block.code for block in callouts(section)] == ["UQ401"]
    (callout,) = callouts(behind(HIGH, NOTED))
    assert (unmarked(callout.text), callout.id) == ("Age may lead.", "finding-UQ501")


@pytest.mark.parametrize(("text", "first"), [
    ("It costs 0.30 nats. More follows.", "It costs 0.30 nats."),
    ("0.2 (90%). −0.1 else.", "0.2 (90%)."),
    ("one of e.g. three", "One of e.g. three."),
])  # fmt: skip
def test_the_first_sentence_ends_where_another_begins(text: str, first: str) -> None:
    (callout,) = callouts(behind(replace(NOTED, statement=text, features=())))
    assert callout.text == first


def test_every_open_finding_is_in_one_block_and_in_the_register_or_among_the_observations() -> None:
    made = [finding(f"UQ{100 + k // 4}", SEVERITIES[1 + k % 4], f"x{k}") for k in range(60)]
    listed = [str(row[2]) for row in table(told(*made)).rows]
    blocks = [*callouts(told(*made)), *callouts(behind(*made))]
    assert sorted(listed) == sorted(one.features[0] for one in made if one.severity != "observation")
    assert len(blocks) == 60
    assert len({block.id for block in blocks}) == 60


@pytest.mark.parametrize(("severity", "explained", "text"), [
    ("high", False, "It is 1.2 nats (0.3 to 2.1). It follows."), ("high", True, "It is 1.2 nats (0.3 to 2.1)."),
    ("low", False, "It is 1.2 nats (0.3 to 2.1)."),
])  # fmt: skip
def test_consequences_and_low_findings_state_one_sentence_and_the_appendix_has_the_whole(
    severity: Severity, explained: bool, text: str
) -> None:
    whole = "it is 1.2 nats (95% CI 0.3 to 2.1). It follows."
    cause = finding("UQ303", "high", explains=(Symptom(code="UQ401"),) if explained else ())
    made = (cause, finding("UQ401", severity, statement=whole))
    assert text in [block.text for block in callouts(told(*made))]
    held = observations(RunReader(run_with(Outcome(check="over", state="found", findings=made))))
    assert ("UQ401: It is 1.2 nats (95% CI 0.3 to 2.1). It follows." in str(held)) == ("follows" not in text)


def test_sixty_findings_of_few_rules_stay_short() -> None:
    made = [finding(f"UQ{400 + k % 3}", "high", f"x{k}", statement=f"x{k} moves by 0.{k:03}") for k in range(60)]
    words = sum(len(text.split()) for text in texts([told(*made)]))
    assert len(callouts(told(*made))) == 3
    assert words < 1300


def test_observed_words_leave_out_an_interval_of_another_quantity() -> None:
    assert observed_words(HIGH) == "0.022 (0.010 to 0.030)"
    assert observed_words(replace(HIGH, observed=0.01)) == "0.010 (0.010 to 0.030)"
    assert observed_words(replace(HIGH, observed=0.0099)) == "0.00990"
    assert observed_words(replace(HIGH, observed=None)) == "interval 0.010 to 0.030"


def test_owner_and_due_date_are_open_unless_an_action_names_them() -> None:
    assert [row[3] for row in table(told(HIGH)).rows] == [Badge("open", "unknown")]
    actions = [
        {"code": "UQ401", "owner": "all of it", "due": "2027-01-01", "feature": ""},
        {"code": "UQ401", "owner": "B. Person", "due": "2027-02-01", "feature": "age"},
        {"code": "UQ203", "owner": "C. Person", "due": "2027-03-01", "feature": "income"},
    ]
    e = RunReader(run_with(FOUND, settings={"actions": actions}))
    assert e.action(HIGH) == ("B. Person", "2027-02-01")
    assert e.action(replace(HIGH, features=("income",))) == ("all of it", "2027-01-01")
    assert e.action(LOW) == (OPEN, OPEN)
    section = findings(e)
    assert [row[3] for row in table(section).rows] == ["B. Person, 2027-02-01", Badge("open", "unknown")]
    assert to_do(section)[0] == "Action: Leave it out. Owner: B. Person, due 2027-02-01."


def test_waived_findings_stand_apart_with_owner_reason_and_day() -> None:
    over = Outcome(check="over", state="ignored", reason="waived by A. Person until 2026-12-31", waived=(waived(HIGH),))
    waivers = [
        {"code": "UQ401", "owner": "A. Person", "reason": "it is known", "expires": "2026-12-31", "feature": ""},
        {"code": "UQ203", "owner": "B. Person", "reason": "old", "expires": "2026-11-20", "feature": ""},
        {"code": "UQ999", "owner": "B. Person", "reason": "none", "expires": "2027-01-01", "feature": "x"},
    ]
    open_again = Outcome(check="other", state="found", findings=(LOW,))
    section = findings(RunReader(run_with(over, open_again, settings={"waivers": waivers})))
    waivers_ = section.sections[0].blocks[0]
    assert isinstance(waivers_, Table)
    assert waivers_.rows[0][0] == "UQ401 Title of UQ401"
    assert waivers_.rows[0][3] == "A. Person, until 2026-12-31: It is known."
    assert [row[4] for row in waivers_.rows] == [
        Badge("in force", "neutral"),
        Badge("expired and 1 finding open again", "warning"),
        Badge("no such finding", "neutral"),
    ]
    assert [row[0] for row in table(section).rows] == ["UQ203 Title of UQ203"]


def test_without_findings_and_waivers_one_paragraph_says_so() -> None:
    section = told()
    assert section.sections == ()
    assert section.blocks == (Paragraph(text="No finding is open. Of 1 check 1 passed."),)


def test_where_all_is_waived_nothing_is_open_and_the_waived_are_shown() -> None:
    ended_ = Outcome(check="over", state="ignored", reason="waived by A", waived=(waived(HIGH), waived(LOW)))
    section = findings(RunReader(run_with(PASSED, ended_)))
    text = "No finding is open. 2 findings are waived. Of 2 checks 1 passed and 1 raised waived findings only."
    assert section.blocks == (Paragraph(text=text),)
    assert len(table(section.sections[0]).rows) == 2


def test_every_rule_is_printed_with_its_severity_and_source_and_what_it_observed() -> None:
    printed, judged = rules(RunReader(run_with(PASSED, FOUND))).blocks
    assert isinstance(printed, Table)
    assert isinstance(judged, Table)
    assert [str(row[0]).split()[0] for row in printed.rows] == ["UQ101", "UQ102", "UQ203", "UQ401"]
    assert printed.rows[3][1:3] == (Badge("high", "bad"), rates()["UQ401"].words)
    assert printed.rows[3][3] == "Above 0.25. Source: Wood et al., section 3.5."
    assert judged.rows[0] == ("UQ401", "age", "0.022 (0.010 to 0.030)", "0.01")
    assert judged.rows[1][3] == "none (a verdict)"


def test_rules_of_others_are_said_not_to_be_measured() -> None:
    theirs = replace(FOUND, rules=(rule("XY1"),))
    (row,) = table(rules(RunReader(run_with(theirs)))).rows
    assert row[2] == "not measured"


@pytest.mark.parametrize("registered", [3, 5])
def test_states_sum_to_the_registered_checks_or_the_report_says_so(registered: int) -> None:
    skipped = Outcome(check="groups", state="skipped", reason="no attribute")
    run = run_with(PASSED, FOUND, skipped)
    run = replace(run, plugins=(*run.plugins, *run.plugins)[:registered])
    text = ended(RunReader(run))
    assert text.startswith("Of 3 checks 1 raised findings, 1 passed and 1 reached no verdict.")
    assert ("does not account for all" in text) == (registered == 5)
    assert checks_ended(RunReader(run)).blocks[0] == Paragraph(text=text)
    assert len(table(checks_ended(RunReader(run))).rows) == 3


def test_no_check_is_no_pass() -> None:
    e = RunReader(run_with())
    assert findings(e).blocks == (Paragraph(text="No check was run."),)
    assert "No check of this run has a rule." in str(rules(e))
    assert checks_ended(e).blocks == (Paragraph(text="No check was run."),)


def test_a_finding_says_how_it_stands_since_the_previous_run() -> None:
    run = run_with(FOUND)
    change = FindingChange(code="UQ401", title="t", features=("age",), change="worse", before="low", now="high")
    e = RunReader(replace(run, changes=RunChanges(previous={}, findings=(change,))))
    assert (e.since(HIGH), e.since(LOW), RunReader(run).since(LOW)) == ("worse", "not compared", "no previous run")
    section = findings(e)
    titles = ["UQ401 · high · worse · Title of UQ401", "UQ203 · low · Title of UQ203"]
    assert [block.title for block in callouts(section)] == titles


def test_two_models_of_the_same_findings_stand_side_by_side_under_ids_of_their_own() -> None:
    run = run_with(FOUND)
    other = replace(
        run_with(replace(FOUND, findings=(replace(HIGH, statement="another"), LOW, NOTED))), challenger=None
    )
    whole = document(replace(run, challenger=other), appendix="none")
    ids = [block.id for section in whole.sections for block in callouts(section) if block.id]
    assert len(ids) == len(set(ids))
    assert "challenger-finding-UQ401" in ids


def test_hostile_text_of_findings_waivers_and_actions_is_made_safe() -> None:
    bad = finding("UQ401", "high", HOSTILE, title=HOSTILE, statement=HOSTILE, remedy=HOSTILE, rests_on=HOSTILE)
    settings = {
        "actions": [{"code": "UQ401", "owner": HOSTILE, "due": HOSTILE, "feature": ""}],
        "waivers": [{"code": HOSTILE, "owner": HOSTILE, "reason": HOSTILE, "expires": HOSTILE, "feature": HOSTILE}],
    }
    over = Outcome(check="over", state="found", findings=(bad,), waived=(waived(bad),), title=HOSTILE)
    printed = str(findings(RunReader(run_with(over, settings=settings))))
    assert "\\x1b" not in printed
    assert "\\u202e" not in printed
    assert "[U+202E]" in printed
