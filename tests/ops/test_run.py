"""`uq.run`: what the command does, from Python: every field, every end, and nothing printed."""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import uq_report as uq
from uq_report import cli
from uq_report.api.views import AuditRun
from uq_report.cli.flags import FlagKey
from uq_report.core.support.errors import InputError, LockedError, RenderError
from uq_report.evidence import codec
from uq_report.jobs.audit_file import AuditFile
from uq_report.ops.history import History
from uq_report.ops.run import CompletedAudit

from ..packages import Packages
from .conftest import Outbox

AUDIT = """
[data]
source = "rows.csv"
target = "paid"
predictions = { probability = "p", label = "scores" }
[run]
explainers = ["calibration"]
checks = ["calibration", "policy"]
as_of = "2026-01-31"
[output]
formats = ["markdown"]
"""
GATE = {"policy": {"rules": ["nll <= 0.0001"], "fail_on": "high"}}
COMMANDS = {"init": {"output", "force", "quiet", "settings"}}  # parameters that belong to the command itself
COMMANDS["run"] = {"file", "previous", "force", "exit_code_unchanged", "as_json", "quiet", "settings"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder with an audit of predictions."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 60)
    rows = pd.DataFrame({"age": np.arange(60), "p": p, "paid": (rng.uniform(size=60) < p).astype(int)})
    rows.to_csv("rows.csv", index=False)
    Path("audit.toml").write_text(AUDIT)
    return tmp_path


def test_every_field_says_what_the_command_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = uq.run("audit.toml", {"run.seed": 3, "output": {"folder": "out"}})
    assert capsys.readouterr() == ("", "")
    assert isinstance(done, CompletedAudit)
    assert isinstance(done.run, AuditRun)
    assert (done.folder, done.reports, done.reference) == (Path("out"), (Path("out/report.md"),), "")
    assert (done.exit_code, done.reasons, done.unchanged) == (0, (), False)
    assert done.findings == done.run.run.findings
    assert (done.run.run.settings["seed"], done.run.run.settings["checks"]) == (3, ["calibration", "policy"])
    assert codec.sha256(uq.load("out").run) == codec.sha256(done.run.run) == done.summary["run_sha256"]
    assert all(file.is_file() for file in done.reports)
    with pytest.raises(dataclasses.FrozenInstanceError):
        done.exit_code = 1  # type: ignore[misc]
    printed = CliRunner().invoke(cli.app, ["run", "audit.toml", "--seed", "3", "--output", "out", "--json"])
    assert json.loads(printed.stdout) == done.summary


def test_without_a_file_the_changes_describe_everything(folder: Path) -> None:
    data = {"source": Path("rows.csv"), "target": "paid", "predictions": {"probability": "p"}}
    done = uq.run(changes={"data": data, "run": {"explainers": []}, "output.formats": ["markdown"]})
    assert (done.folder, len(done.run)) == (Path("uq-report"), 0)
    with pytest.raises(InputError, match="data must be given; it is missing"):
        uq.run()


def test_a_section_changes_the_keys_it_has_and_leaves_the_others(folder: Path) -> None:
    settings = uq.run("audit.toml", {"run": {"explainers": []}}).run.run.settings
    assert (settings["explainers"], settings["checks"]) == ([], ["calibration", "policy"])


def test_a_gate_that_fails_is_exit_code_1_with_its_reasons(folder: Path) -> None:
    done = uq.run("audit.toml", GATE)
    assert (done.exit_code, done.summary["exit_code"]) == (1, 1)
    assert [reason.partition(":")[0] for reason in done.reasons] == ["1 open finding at or above high"]
    assert list(done.reasons) == done.summary["reasons"]
    assert "UQ951" in {finding.code for finding in done.findings}


def test_a_history_files_compares_and_finds_nothing_changed(folder: Path) -> None:
    # predictions have no hash of a model, so that nothing says that they are the same: a model file has one
    from ..jobs import audits_made

    audits_made.write(folder)
    changes: dict[str, Any] = {"output.history": "filed", "run.explainers": ["calibration"]}
    model = {"data": {"source": "test.csv", "target": "risk", "ignore": ["application", "household", "exposure"]}}
    changes |= {"model.source": "model.skops", **model, "data.protected": ["sex"], "output.formats": ["markdown"]}
    first = uq.run(changes=changes)
    assert (first.reference, first.unchanged, first.run.changes) == ("Pipeline@1", False, None)
    again = uq.run(changes=changes)
    assert (again.reference, again.unchanged, again.folder) == ("Pipeline@1", True, first.folder)
    assert again.summary == {**first.summary, "unchanged": True}
    assert again.reports == first.reports
    forced = uq.run(changes={**changes, "run.seed": 1, "output.keep": 1}, force=True)
    assert (forced.reference, forced.unchanged) == ("Pipeline@2", False)
    assert forced.run.changes is not None
    assert [filed.present for filed in History("filed").runs("Pipeline")] == [False, True]
    before = uq.run(changes={**changes, "output.history": None, "output.folder": "out"}, previous=forced.run)
    assert before.run.changes is not None


def test_a_run_that_is_written_and_filed_renders_once(folder: Path, packages: Packages) -> None:
    packages.renderer("counted", 'with open("times", "a") as times: times.write("rendered ")')
    done = uq.run("audit.toml", {"output": {"history": "filed", "folder": "out", "formats": ["counted"]}})
    assert Path("times").read_text() == "rendered "
    assert Path("out/report.counted").read_bytes() == done.reports[0].read_bytes()


MAIL = {"email": {"host": "localhost", "sender": "audit@example.org", "to": ["risk@example.org"], "attach": False}}


def test_a_run_is_mailed_once_and_a_mail_that_fails_is_logged(
    folder: Path, outbox: Outbox, caplog: pytest.LogCaptureFixture
) -> None:
    done = uq.run("audit.toml", MAIL)
    (mail,) = outbox
    assert done.summary["run_sha256"][:40] in mail.as_string()
    assert mail["Subject"].startswith("scores: ")
    outbox.error = OSError("no route to host")
    with caplog.at_level(logging.ERROR, "uq_report"):
        assert uq.run("audit.toml", MAIL).exit_code == 0
    assert [record.getMessage() for record in caplog.records] == ["Mail: email failed: OSError: no route to host."]


def test_an_error_is_raised_after_it_is_mailed(folder: Path, outbox: Outbox) -> None:
    with pytest.raises(
        InputError, match=r"audit.toml: run.sed must be a known setting; got 'sed'. Did you mean 'seed'"
    ):
        uq.run("audit.toml", {"run.sed": 1, "output.name": "n", **MAIL})
    assert outbox[0]["Subject"] == "n: the audit failed (exit code 3)"
    assert "run.sed must be a known setting" in outbox[0].get_content()
    with pytest.raises(RenderError, match=r"render\.templates must be a directory"):
        uq.run("audit.toml", {**MAIL, "output.formats": ["html"], "output.templates": "none"})
    assert outbox[1]["Subject"] == "scores: the audit failed (exit code 4)"


def test_a_lock_that_another_holds_is_no_failure_to_be_mailed(folder: Path, outbox: Outbox) -> None:
    with History("filed").filing("scores"), pytest.raises(LockedError):
        uq.run("audit.toml", {"output.history": "filed", **MAIL})
    assert outbox == []


def test_a_tracking_store_that_fails_is_exit_code_75_and_costs_no_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("mlflow", reason="this test logs to MLflow")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    done = uq.run("audit.toml", {"mlflow.tracking_uri": "http://127.0.0.1:9"})
    assert (done.exit_code, done.summary["exit_code"], done.reports[0].is_file()) == (75, 75, True)
    assert "Not logged to MLflow: mlflow.tracking_uri must be" in caplog.text
    assert uq.run("audit.toml", {"mlflow.tracking_uri": "http://127.0.0.1:9", **GATE}).exit_code == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_fills_a_key_of_the_file_or_belongs_to_its_command(name: str) -> None:
    command = typer.main.get_group(cli.app).commands[name]
    assert command.callback is not None
    declared = inspect.signature(command.callback).parameters
    assert {str(parameter.name) for parameter in command.params} == declared.keys()
    for parameter, own in ((word, word in COMMANDS[name]) for word in declared):
        metadata = getattr(declared[parameter].annotation, "__metadata__", ())
        key = next((str(part) for part in metadata if isinstance(part, FlagKey)), "")
        assert bool(key) != own, parameter
        assert own or is_key(AuditFile, key), key
        named = parameter in (*key.split("."), "output") or parameter.endswith(f"_{key.rpartition('.')[2]}")
        assert own or named, f"{parameter} fills {key}"


def is_key(model: Any, key: str) -> bool:
    """Say whether a dotted key leads to a field."""
    for step in key.split("."):
        if step not in model.model_fields:
            return False
        annotation = model.model_fields[step].annotation
        model = next((part for part in (annotation, *get_args(annotation)) if hasattr(part, "model_fields")), None)
    return True


def test_run_and_budget_are_the_settings_of_an_audit() -> None:
    audit = AuditFile.model_validate({"data": {"source": "x"}, "run": {"as_of": "2026-01-31"}, "budget": {}})
    names = {*type(audit.run).model_fields, *type(audit.budget).model_fields}
    assert names | {"options", "about", "waivers", "actions"} == set(uq.Settings.model_fields)
    changed = audit.model_copy(update={"run": audit.run.model_copy(update={"n_jobs": 2, "backend": "loky"})})
    assert (changed.settings().n_jobs, changed.settings().backend) == (2, "loky")
