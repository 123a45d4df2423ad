"""Alerts: one mail when something changes, one when it is over, each with the findings' sentences and a link."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import uq_report as uq
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Finding, Severity
from uq_report.jobs.audit_file import EmailPart
from uq_report.ops import mail
from uq_report.ops.history import History
from uq_report.ops.mail import RunEnd, State, body, is_due, keep_state, read_state, send_after, subject

from .conftest import Outbox

PART = EmailPart(host="h", sender="a@b.org", to=("c@d.org",), when="findings")


def finding(code: str = "UQ101", severity: Severity = "high", features: tuple[str, ...] = ("age",)) -> Finding:
    return Finding(
        code=code, title="t", severity=severity, statement=f"What {code} says.", evidence=("a",), rests_on="",
        features=features,
    )  # fmt: skip


def ended(*found: Finding, code: int = 0, why: str = "", **fields: Any) -> RunEnd:
    summary: dict[str, Any] = {"reasons": [why] if why else []}
    return RunEnd(
        "credit", code, summary if code > 1 else {**summary, "recommendation": "Fit for purpose"}, open=found, **fields
    )


def after(*runs: RunEnd) -> State:
    """Return what is known after some mails."""
    state = State()
    for run in runs:
        state = State.of(run, state)
    return state


FAILED = ended(code=3, why="data.source must be readable; got 'x.csv', row 17.")
KNOWN = after(ended(finding()))
CASES: dict[str, tuple[State, RunEnd, str]] = {  # what is known, what comes, and which settings mail it
    "nothing, ever": (State(), ended(), "always"),
    "a first finding": (State(), ended(finding()), "always findings"),
    "the same finding": (KNOWN, ended(finding()), "always"),
    "the same, unchanged": (KNOWN, ended(finding(), unchanged=True), ""),
    "another one beside": (KNOWN, ended(finding(), finding("UQ2")), "always findings"),
    "on another feature": (KNOWN, ended(finding(features=("job",))), "always findings"),
    "worse": (
        KNOWN,
        ended(finding(severity="critical")),
        "always findings",
    ),
    "over": (KNOWN, ended(), "always findings"),
    "over for long": (after(ended(finding()), ended()), ended(), "always"),
    "a gate": (State(), ended(code=1, why="required"), "always findings"),
    "a failure": (State(), FAILED, "always findings failure"),
    "the same failure, another row": (
        after(FAILED),
        ended(code=3, why="data.source must be readable; got 'x.csv', row 18."),
        "",
    ),
    "another failure": (after(FAILED), ended(code=4, why="no"), "always findings failure"),
    "runs again": (after(FAILED), ended(), "always findings failure"),
    "runs again, and nothing changed": (
        after(ended(finding()), FAILED),
        ended(finding(), unchanged=True),
        "always findings failure",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_when_a_mail_is_due(case: str) -> None:
    before, run, expected = CASES[case]
    parts = {when: PART.model_copy(update={"when": when}) for when in ("always", "findings", "failure")}
    assert [when for when, part in parts.items() if is_due(part, run, before)] == expected.split()


def test_where_nobody_knows_what_was_mailed_everything_is_told() -> None:
    assert is_due(PART, ended(finding()), None)
    assert not is_due(PART, ended(), None)
    assert body(PART, ended(finding()), None).splitlines()[2] == "Open: UQ101 (high), age: What UQ101 says."


def test_a_mail_says_what_is_new_first_and_what_is_over_last() -> None:
    before = after(ended(finding(), finding("UQ2", "low", ())))
    run = ended(finding("UQ3"), finding("UQ2", "low", ()), code=1, why="1 open finding at or above high: UQ3 (high)")
    assert subject(run, before) == "credit: Fit for purpose, no open findings (1 new, 1 over)"
    assert body(PART, run, before).splitlines()[2:] == [
        "- 1 open finding at or above high: UQ3 (high)",
        "New: UQ3 (high), age: What UQ3 says.",
        "Still open: UQ2 (low): What UQ2 says.",
        "Over: UQ101 (high), age: What UQ101 says.",
    ]


def test_a_failure_keeps_what_is_known_of_findings_and_its_end_is_said() -> None:
    before = after(ended(finding()), FAILED)
    assert before.findings == after(ended(finding())).findings
    assert subject(ended(finding()), before) == "credit: the audit runs again, Fit for purpose, no open findings"
    assert "Over" not in body(PART, FAILED, after(ended(finding())))


def test_many_findings_are_cut_and_counted() -> None:
    for number, cut in ((mail.MOST, False), (mail.MOST + 1, True)):
        lines = body(PART, ended(*(finding(f"UQ{i}") for i in range(number))), State()).splitlines()
        assert sum(line.startswith("New: ") for line in lines) == mail.MOST
        assert ("... and 1 more: see the report." in lines) is cut


def test_a_link_leads_to_the_page_below_the_address_of_the_history(tmp_path: Path) -> None:
    folder = tmp_path / "history" / "credit" / "a b"
    files = (folder / "report.pdf", folder / "report.html")
    run = ended(reports=files, served=tmp_path / "history")
    assert run.link(PART) == (folder / "report.html").as_uri()
    for address in ("https://reports.example.org/audits", "https://reports.example.org/audits/"):
        part = PART.model_copy(update={"link": address})
        assert run.link(part) == "https://reports.example.org/audits/credit/a%20b/report.html"
        assert replace(run, reports=files[:1]).link(part).endswith("/credit/a%20b/report.pdf")
        assert FAILED.link(part) == ""


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"code":0,"why":"","findings":[]}', "[" * 99999, "x" * 1_000_001])
def test_a_file_that_says_nothing_is_not_believed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mailed.json"
    assert read_state(file) == State()
    assert read_state(None) is None
    keep_state(file, after(ended(finding())))
    assert read_state(file) == after(ended(finding()))
    assert [place.name for place in tmp_path.iterdir()] == ["mailed.json"]
    file.write_text(text)
    assert read_state(file) is None


def test_a_mail_that_failed_is_due_again_and_one_that_cannot_be_kept_is_said(tmp_path: Path, outbox: Outbox) -> None:
    file = tmp_path / "h" / "mailed.json"
    outbox.error = OSError("no route")
    assert "no route" in send_after(PART, ended(finding()), file)
    outbox.error = None
    assert send_after(PART, ended(finding()), file) == send_after(PART, ended(finding()), file) == ""
    assert len(outbox) == 1
    (tmp_path / "file").touch()
    assert "cannot be kept" in send_after(PART, ended(finding()), tmp_path / "file" / "mailed.json")


AUDIT = """
[data]
source = "rows.csv"
target = "paid"
predictions = { probability = "p", label = "scores" }
[policy]
rules = ["nll <= 0.0001"]
[run]
explainers = ["calibration"]
checks = ["policy"]
[output]
formats = ["markdown"]
history = "filed"
[email]
host = "localhost"
sender = "a@example.org"
to = ["b@example.org"]
attach = false
link = "https://reports.example.org"
when = "findings"
"""


def test_a_history_is_mailed_when_it_changes_and_when_it_is_over(
    tmp_path: Path, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{age},{0.2 + 0.6 * (age % 2)},{age % 2}" for age in range(40))
    Path("audit.toml").write_text(AUDIT)

    def run(**changes: Any) -> list[str]:
        """Return the subjects that a run sends."""
        before = len(outbox)
        with suppress(InputError):
            uq.run("audit.toml", changes, force=True)
        return [str(mail["Subject"]) for mail in outbox[before:]]

    assert run() == ["scores: the audit failed (exit code 3)"]
    assert run() == []
    Path("rows.csv").write_text(f"age,p,paid\n{rows}\n")
    (first,) = run()
    assert first.startswith("scores: the audit runs again, ")
    assert first.endswith("1 high (1 new)")
    text = outbox[-1].get_content()
    assert "New: UQ951 (high): " in text
    assert "Report: https://reports.example.org/scores/000001_" in text
    assert run(**{"run.seed": 1}) == []
    (last,) = run(**{"policy.rules": ["nll <= 10"]})
    assert last.endswith(", no open findings (1 over)")
    assert "Over: UQ951 (high): " in outbox[-1].get_content()
    assert run(**{"policy.rules": ["nll <= 10"], "run.seed": 2}) == []
    assert History("filed").check() == []
    assert json.loads(Path("filed/scores/mailed.json").read_text())["findings"] == {}
