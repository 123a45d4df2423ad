"""The findings register: evidence, owners, waivers, rules, and states that sum to the registered checks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from uq_report.document.document import Badge, Bullets, Callout, Facts, Section, Table
from uq_report.document.evidence import OPEN, Evidence
from uq_report.evidence.finding import Outcome, Symptom
from uq_report.evidence.run import Changes, FindingChange
from uq_report.report.sections.findings import findings
from uq_report.report.sections.summary import summary
from uq_report.rules.rates import rates

from .findings_made import PASSED, finding, rule, run_with, waived

HOSTILE = "<script>\x1b[31m\u202e=1+1"
HIGH = finding("UQ401", "high", "age", observed=0.0224, lower=0.01, upper=0.03, threshold=0.01, remedy="leave it out")
LOW = finding("UQ203", "low", rests_on="plain words")
FOUND = Outcome(check="over", state="found", findings=(LOW, HIGH), rules=(rule("UQ401"), rule("UQ203", "low")))


def part(section: Section, key: str) -> Section:
    return next(one for one in section.sections if one.id == key)


def table(section: Section) -> Table:
    return next(block for block in section.blocks if isinstance(block, Table))


def facts(section: Section) -> list[dict[str, object]]:
    return [dict(block.rows) for block in section.blocks if isinstance(block, Facts)]


def test_findings_stand_worst_first_with_numbers_source_and_remedy() -> None:
    section = findings(Evidence(run_with(PASSED, FOUND)))
    assert [row[0] for row in table(section).rows] == ["UQ401", "UQ203"]
    told = part(section, "findings-open")
    first, second = facts(told)
    assert first["Observed (its interval)"] == "0.022 (0.010 to 0.030)"
    assert (first["Threshold"], second["Threshold"]) == ("0.01", "a verdict, no number")
    assert (first["Rests on"], second["Rests on"]) == ("Wood et al., section 3.5.", "Plain words.")
    assert first["What to do"] == "Leave it out."
    callout = told.blocks[0]
    assert isinstance(callout, Callout)
    assert (callout.tone, callout.evidence) == ("bad", ("pfi",))
    assert callout.title == "UQ401 (high): Title of UQ401 (age)"


def test_a_finding_says_whom_it_affects_and_how_large_it_is_where_that_is_stated() -> None:
    large = replace(HIGH, affected="17 of 250 rows", size=0.125)
    stated = Outcome(check="over", state="found", findings=(large, LOW))
    first, second = facts(part(findings(Evidence(run_with(stated))), "findings-open"))
    assert (first["Affected"], first["Size"]) == ("17 of 250 rows.", "12.5 % of the model's skill")
    assert not {"Affected", "Size", "Cause"} & set(second)


CAUSE = finding("UQ303", "medium", "age", explains=(Symptom(code="UQ401", feature="age"), Symptom(code="UQ203")))


def test_a_finding_stands_under_the_one_that_explains_it_and_is_still_counted() -> None:
    other = finding("UQ401", "high", "income")
    ended = Outcome(check="over", state="found", findings=(LOW, CAUSE, other, HIGH))
    section = findings(Evidence(run_with(ended)))
    register = table(section)
    assert [row[0] for row in register.rows] == ["UQ401", "UQ303", "UQ401", "UQ203"]
    assert [row[3] for row in register.rows] == ["income", "age", "age", "the model"]
    explained = [str(row[2]).endswith("It is explained by UQ303 (age).") for row in register.rows]
    assert explained == [False, False, True, True]
    assert register.caption == ("All 4 open findings, worst first; 2 of them stand under the one that explains it.")
    told = part(section, "findings-open")
    assert [row.get("Cause") for row in facts(told)] == [None, None, *["Explained by UQ303 (age)."] * 2]
    assert "2 high, 1 medium and 1 low" in str(summary(Evidence(run_with(ended))).blocks[0])


def test_a_finding_whose_cause_is_not_open_stands_by_itself() -> None:
    ended = Outcome(check="over", state="found", findings=(HIGH,), waived=(waived(CAUSE),))
    register = table(findings(Evidence(run_with(ended))))
    assert (len(register.rows), register.caption) == (1, "All 1 open finding, worst first.")
    assert register.rows[0][2] == "Title of UQ401."


def test_findings_that_explain_each_other_all_stand_in_the_register() -> None:
    a, b = (finding(one, "low", explains=(Symptom(code=other),)) for one, other in (("UQ1", "UQ2"), ("UQ2", "UQ1")))
    ended = Outcome(check="over", state="found", findings=(a, b, LOW))
    assert [row[0] for row in table(findings(Evidence(run_with(ended)))).rows] == ["UQ1", "UQ2", "UQ203"]


def test_owner_and_due_date_are_open_unless_an_action_names_them() -> None:
    assert facts(part(findings(Evidence(run_with(FOUND))), "findings-open"))[0]["Owner and due date"] == OPEN
    actions = [
        {"code": "UQ401", "owner": "all of it", "due": "2027-01-01", "feature": ""},
        {"code": "UQ401", "owner": "B. Person", "due": "2027-02-01", "feature": "age"},
        {"code": "UQ203", "owner": "C. Person", "due": "2027-03-01", "feature": "income"},
    ]
    e = Evidence(run_with(FOUND, settings={"actions": actions}))
    assert e.action(HIGH) == ("B. Person", "2027-02-01")
    assert e.action(replace(HIGH, features=("income",))) == ("all of it", "2027-01-01")
    assert e.action(LOW) == (OPEN, OPEN)


def test_waived_findings_stand_apart_with_owner_reason_and_day() -> None:
    ended = Outcome(
        check="over", state="ignored", reason="waived by A. Person until 2026-12-31", waived=(waived(HIGH),)
    )
    waivers = [
        {"code": "UQ401", "owner": "A. Person", "reason": "it is known", "expires": "2026-12-31", "feature": ""},
        {"code": "UQ203", "owner": "B. Person", "reason": "old", "expires": "2026-11-20", "feature": ""},
        {"code": "UQ999", "owner": "B. Person", "reason": "none", "expires": "2027-01-01", "feature": "x"},
    ]
    open_again = Outcome(check="other", state="found", findings=(LOW,))
    section = findings(Evidence(run_with(ended, open_again, settings={"waivers": waivers})))
    rows = [block.rows for block in part(section, "findings-waived").blocks if isinstance(block, Table)]
    assert rows[0][0][0] == "UQ401"
    assert rows[0][0][3:] == ("A. Person", "It is known.", "2026-12-31")
    assert [row[4] for row in rows[1]] == [
        Badge("holds for 1 finding", "neutral"),
        Badge("expired; 1 finding open again", "warning"),
        Badge("nothing to waive", "neutral"),
    ]
    assert "UQ401" not in [row[0] for row in table(section).rows]


def test_without_waivers_there_is_no_section_on_them() -> None:
    section = findings(Evidence(run_with(PASSED)))
    assert [one.id for one in section.sections] == ["findings-rules", "findings-checks"]
    assert getattr(section.blocks[1], "text", "") == "No finding is open."


def test_every_rule_is_printed_with_its_severity_and_source() -> None:
    rows = table(part(findings(Evidence(run_with(PASSED, FOUND))), "findings-rules")).rows
    assert [row[0] for row in rows] == ["UQ101", "UQ102", "UQ203", "UQ401"]
    assert rows[3][2:4] == (Badge("high", "bad"), "Above 0.25.")
    assert rows[3][4:] == (rates()["UQ401"].words, "Wood et al., section 3.5")


def test_rules_of_others_are_said_not_to_be_measured() -> None:
    theirs = replace(FOUND, rules=(rule("XY1"),))
    (row,) = table(part(findings(Evidence(run_with(theirs))), "findings-rules")).rows
    assert row[4] == "not measured"


@pytest.mark.parametrize("registered", [3, 5])
def test_states_sum_to_the_registered_checks_or_the_report_says_so(registered: int) -> None:
    skipped = Outcome(check="groups", state="skipped", reason="no attribute")
    run = run_with(PASSED, FOUND, skipped)
    run = replace(run, plugins=(*run.plugins, *run.plugins)[:registered])
    ended = part(findings(Evidence(run)), "findings-checks").blocks[0]
    told = getattr(ended, "text", "")
    assert "1 found, 1 passed and 1 skipped" in told
    assert told.startswith("3 checks registered") == (registered == 3)
    assert ("does not account for all" in told) == (registered == 5)


def test_no_check_is_no_pass() -> None:
    e = Evidence(run_with())
    assert "nothing was looked for" in str(findings(e).blocks[1])
    assert facts(summary(e))[0]["Overall rating"] == Badge("Not assessed", "unknown")


def test_a_finding_says_how_it_stands_since_the_previous_run() -> None:
    run = run_with(FOUND)
    change = FindingChange(code="UQ401", title="t", features=("age",), change="worse", before="low", now="high")
    e = Evidence(replace(run, changes=Changes(previous={}, findings=(change,))))
    assert (e.since(HIGH), e.since(LOW), Evidence(run).since(LOW)) == ("worse", "not compared", "no previous run")


def test_the_summary_begins_with_the_rating_its_rule_and_the_worst_findings() -> None:
    many = Outcome(check="x", state="found", findings=tuple(finding(f"UQ70{k}", "low") for k in range(5)))
    section = summary(Evidence(run_with(PASSED, FOUND, many)))
    assert facts(section)[0]["Overall rating"] == Badge("Red", "bad")
    assert facts(section)[0]["Open findings"] == "1 high and 6 low"
    rated = getattr(section.blocks[0], "text", "")
    assert rated == "Red: 1 high and 6 low open, first UQ401 (age), by 3 checks."
    bullets = next(block for block in section.blocks if isinstance(block, Bullets))
    assert bullets.items[0].startswith("UQ401 (high)")
    assert bullets.items[-1] == "4 further findings: see “Findings register”."


def test_hostile_text_of_findings_waivers_and_actions_is_made_safe() -> None:
    bad = finding("UQ401", "high", HOSTILE, title=HOSTILE, statement=HOSTILE, remedy=HOSTILE, rests_on=HOSTILE)
    settings = {
        "actions": [{"code": "UQ401", "owner": HOSTILE, "due": HOSTILE, "feature": ""}],
        "waivers": [{"code": HOSTILE, "owner": HOSTILE, "reason": HOSTILE, "expires": HOSTILE, "feature": HOSTILE}],
    }
    ended = Outcome(check="over", state="found", findings=(bad,), waived=(waived(bad),), title=HOSTILE)
    told = str(findings(Evidence(run_with(ended, settings=settings))))
    assert "\\x1b" not in told
    assert "\\u202e" not in told
    assert "[U+202E]" in told
