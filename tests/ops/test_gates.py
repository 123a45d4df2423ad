"""A gate that measured nothing fails: both sides of what it requires."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import uq_report as uq
from uq_report import cli, testing
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.ops import gates

from ..packages import Packages, explainer

BARE = Run(as_of="2026-01-31", subject={}, settings={}, environment={})
PASSED = Outcome(check="other", state="passed")
READS_PFI = "permutation importance was not computed"


def run_with(reason: str, *outcomes: Outcome, group: str = "explainers", name: str = "pfi") -> Run:
    return Run(**{**vars(BARE), "outcomes": outcomes, "not_run": (NotRun(name, group, reason),)})


def skipped(reason: str) -> Outcome:
    return Outcome(check="claims", state="not_applicable", reason=reason)


@pytest.mark.parametrize(
    "reason",
    [
        "the time limit of 1 s was reached",
        "it does not fit the 0.5 s left of the time limit of 1 s",
        "the memory limit of 9 MB was reached (12 MB in use); pfi was stopped. Raise the limit, or ask for less.",
        "engine.row_budget must allow the next 9 rows; got 5 with 0 spent. Raise the budget.",
        "ValueError: no",
    ],
)
def test_what_was_cut_or_broke_is_required_where_a_check_reads_it(reason: str) -> None:
    run = run_with(reason, PASSED, skipped(f"{READS_PFI}: {reason}"))
    assert gates.reasons(run, "critical") == (f"required, and not run: explainers.pfi: {reason}",)
    assert gates.reasons(run) == ()
    assert gates.reasons(run_with(reason, PASSED, skipped("no direction was stated")), "observation") == ()


@pytest.mark.parametrize(
    "reason",
    [
        "not chosen in the settings",
        "support.train must be given; got None. Pass the training rows.",
        "the dalex explainer needs dalex, which is not installed. Install it with: pip install 'uq_report[dalex]'.",
        "explainers 'x' of y 1 cannot be imported: ModuleNotFoundError: No module named 'z'. Install z.",
    ],
)
def test_what_does_not_apply_is_not_required(reason: str) -> None:
    assert gates.reasons(run_with(reason, PASSED, skipped(f"{READS_PFI}: {reason}")), "observation") == ()


def test_a_check_that_fails_is_required() -> None:
    run = run_with("it failed with KeyError: 'a'", PASSED, group="rules", name="leak")
    assert gates.reasons(run, "critical") == ("required, and not run: rules.leak: it failed with KeyError: 'a'",)


def test_no_verdict_at_all_fails_and_an_undecided_one_does_not() -> None:
    none = ("nothing was measured: no check came to a verdict",)
    assert gates.reasons(run_with("not chosen in the settings", skipped(READS_PFI)), "critical") == none
    undecided = Outcome(check="claims", state="skipped", reason="No verdict. UQ401 is undetermined for a.")
    assert gates.reasons(run_with("not chosen in the settings", undecided), "critical") == ()


def test_the_words_are_those_of_the_runner(packages: Packages) -> None:
    packages.explainer("odd", explainer("odd", "raise ValueError('no')"))
    subject = testing.linear_subject(40)
    cut = uq.audit(subject, explainers=["pfi"], rules=["claims"], time_limit=1e-6, progress=False).run
    assert "explainers.pfi: the time limit of 1e-06 s" in gates.reasons(cut, "critical")[1]
    few = uq.audit(subject, explainers=["pfi"], rules=["claims"], row_budget=41, progress=False).run
    assert "explainers.pfi: engine.row_budget must allow" in gates.reasons(few, "critical")[1]
    broken = uq.audit(subject, explainers=["odd"], progress=False).run
    assert gates._BROKEN.search(next(entry.reason for entry in broken.not_run if entry.name == "odd"))


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
