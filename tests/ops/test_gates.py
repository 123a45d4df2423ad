"""A gate that measured nothing fails: both sides of what it requires."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest
from typer.testing import CliRunner

import uq_report as uq
from uq_report import cli, testing
from uq_report.core.support.errors import Cause
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.ops.run import gate_reasons

from ..packages import Packages, explainer

BARE = Run(as_of="2026-01-31", subject={}, settings={}, environment={})
PASSED = Outcome(check="other", state="passed")
WHY = "the words of a reason decide nothing: ValueError: the time limit of 1 s was reached"


def run_with(cause: Cause, *outcomes: Outcome, group: str = "explainers", name: str = "pfi") -> Run:
    return Run(**{**vars(BARE), "outcomes": outcomes, "not_run": (NotRun(name, group, WHY, cause),)})


def looked_for(*missing: str) -> Outcome:
    return Outcome(check="claims", state="not_applicable", reason=WHY, missing=missing)


CUT_OR_BROKEN: tuple[Cause, ...] = ("limit", "fault")


@pytest.mark.parametrize("cause", CUT_OR_BROKEN)
def test_what_was_cut_or_broke_is_required_where_a_check_reads_it(cause: Cause) -> None:
    run = run_with(cause, PASSED, looked_for("pfi"))
    assert gate_reasons(run, "critical") == (f"required, and not run: explainers.pfi: {WHY}",)
    assert gate_reasons(run) == ()
    assert gate_reasons(run_with(cause, PASSED, looked_for("ale")), "observation") == ()


@pytest.mark.parametrize("cause", sorted({*get_args(Cause)} - {*CUT_OR_BROKEN}))
def test_what_does_not_apply_is_not_required(cause: Cause) -> None:
    assert gate_reasons(run_with(cause, PASSED, looked_for("pfi")), "observation") == ()


def test_a_check_that_fails_is_required() -> None:
    run = run_with("fault", PASSED, group="checks", name="leak")
    assert gate_reasons(run, "critical") == (f"required, and not run: checks.leak: {WHY}",)


def test_no_verdict_at_all_fails_and_an_undecided_one_does_not() -> None:
    none = ("nothing was measured: no check came to a verdict",)
    assert gate_reasons(run_with("not asked", looked_for("pfi")), "critical") == none
    worded = Outcome(check="claims", state="skipped", reason="No verdict.")
    assert gate_reasons(run_with("not asked", worded), "critical") == none
    undecided = Outcome(check="claims", state="skipped", reason=WHY, undecided=("UQ401",))
    assert gate_reasons(run_with("not asked", undecided), "critical") == ()


def test_the_runner_says_by_which_cause_a_part_did_not_run(packages: Packages) -> None:
    packages.explainer("odd", explainer("odd", "raise ValueError('no')"))
    subject = testing.linear_subject(40)
    cut = uq.audit(subject, explainers=["pfi"], checks=["claims"], time_limit=1e-6, progress=False).run
    assert "explainers.pfi: the time limit of 1e-06 s" in gate_reasons(cut, "critical")[1]
    few = uq.audit(subject, explainers=["pfi"], checks=["claims"], row_budget=41, progress=False).run
    assert "explainers.pfi: engine.row_budget must allow" in gate_reasons(few, "critical")[1]
    broken = uq.audit(subject, explainers=["odd"], progress=False).run
    assert next(entry.cause for entry in broken.not_run if entry.name == "odd") == "fault"


def test_a_limit_that_leaves_nothing_fails_the_gate_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": range(40), "p": [0.2, 0.8] * 20, "y": [0, 1] * 20}).to_csv("rows.csv", index=False)
    Path("audit.toml").write_text(
        '[data]\nsource = "rows.csv"\ntarget = "y"\npredictions = { probability = "p" }\n'
        '[output]\nformats = ["junit"]\n'
    )

    def call(*more: str) -> Any:
        return CliRunner().invoke(cli.app, ["run", "audit.toml", "--time-limit", "0.001", "--json", *more])

    failed = call("--fail-on", "observation")
    assert failed.exit_code == json.loads(failed.stdout)["exit_code"] == 1
    assert "Failed: nothing was measured: no check came to a verdict" in failed.stderr
    assert "required, and not run: explainers.calibration: the time limit of 0.001 s was reached" in failed.stderr
    assert call().exit_code == 0
