"""Every example is checked as far as it can be without its host: parsed, compiled, verified; its commands exist."""

from __future__ import annotations

import configparser
import dataclasses
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from inspect import signature
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
import typer

import uq_report as uq
from uq_report.cli import app
from uq_report.ops.run import CompletedAudit, run as ours

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMAND = re.compile(r"uq-report (?:run|schedule|index) [^\n|\"']+")


def parse(line: str) -> tuple[str, dict[str, Any]]:
    """Return the command of a line and its parameters, as our own command line reads them."""
    words = shlex.split(line)
    main: Any = typer.main.get_command(app)
    command, given = main.commands[words[1]], words[2:]
    if hasattr(command, "commands"):  # `schedule` runs by default
        command = command.commands["run"]
    return words[1], command.make_context(words[1], given).params


def test_every_command_line_in_the_examples_is_ours() -> None:
    found = []
    for file in sorted(EXAMPLES.rglob("*")):
        if file.suffix in (".service", ".yml", ".py", "") and file.is_file() and "third_party" not in str(file):
            text = file.read_text(encoding="utf-8").replace("{AUDITS}", "/a")
            lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
            found += [parse(match.strip().rstrip("2>&1").strip()) for match in COMMAND.findall("\n".join(lines))]
    assert sorted(name for name, _ in found) == ["index", "run", "run", "run", "run", "schedule", "schedule"]
    assert all(given["once"] for name, given in found if name == "schedule")


def test_the_schedule_file_is_read() -> None:
    pytest.importorskip("cronsim", reason="the schedule reads its times with cronsim")
    from uq_report.ops.schedule import read_schedule

    schedule = read_schedule(EXAMPLES / "cron" / "audits.toml")
    assert [(one.cron, one.misfire, one.timeout, one.cpu_time) for one in schedule.audit] == [
        ("0 6 * * 1", 86400.0, 21600.0, 7200.0),
        ("@monthly", None, None, None),
    ]
    assert schedule.grace == 300


def test_crontab_lines_have_five_fields_and_a_command() -> None:
    lines = (EXAMPLES / "cron" / "crontab").read_text(encoding="utf-8").splitlines()
    jobs = [line for line in lines if line and not line.startswith("#") and not re.match(r"[A-Z]+=", line)]
    assert len(jobs) == 2
    for job in jobs:
        assert re.fullmatch(r"(?:[\d*/,-]+ ){5}uq-report .+", job)
        assert "%" not in job  # cron would take it for a line break


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not installed")
    binary = shutil.which("true")
    for name in ("uq-report.service", "uq-report.timer"):
        text = (EXAMPLES / "systemd" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("/opt/uq-report/bin/uq-report", str(binary)))
    units = [str(tmp_path / name) for name in ("uq-report.service", "uq-report.timer")]
    done = subprocess.run([tool, "verify", "--man=no", *units], capture_output=True, text=True, check=False)
    assert not [line for line in done.stderr.splitlines() if "uq-report" in line], done.stderr


def test_the_service_is_confined_and_the_timer_catches_up() -> None:
    service, timer = configparser.ConfigParser(interpolation=None), configparser.ConfigParser(interpolation=None)
    for parser in (service, timer):
        parser.optionxform = str  # type: ignore[assignment,method-assign]
    service.read(EXAMPLES / "systemd" / "uq-report.service", encoding="utf-8")
    timer.read(EXAMPLES / "systemd" / "uq-report.timer", encoding="utf-8")
    wanted = {
        "Type": "oneshot", "SuccessExitStatus": "1 75", "NoNewPrivileges": "yes", "ProtectSystem": "strict",
        "ReadWritePaths": "/srv/audits", "PrivateNetwork": "yes", "MemoryMax": "8G", "TimeoutStartSec": "6h",
    }  # fmt: skip
    assert wanted.items() <= dict(service["Service"]).items()
    assert (timer["Timer"]["Persistent"], "RandomizedDelaySec" in timer["Timer"]) == ("true", True)


@pytest.fixture
def dag(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the names of the DAG's file, run with stand-ins for what it takes of Airflow."""
    modules = ("airflow", "airflow.sdk.exceptions", "airflow.sdk", "airflow.providers", "airflow.providers.standard")
    for name in (*modules, f"{modules[-1]}.operators", f"{modules[-1]}.operators.bash"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    errors, sdk, bash = (sys.modules[name] for name in (*modules[1:3], f"{modules[-1]}.operators.bash"))
    for name in ("AirflowException", "AirflowFailException", "AirflowSkipException"):
        setattr(errors, name, type(name, (Exception,), {}))

    def task(**options: Any) -> Any:
        return lambda function: MagicMock(function=function, options=options)

    vars(sdk).update(DAG=MagicMock(), task=task)
    vars(bash).update(BashOperator=MagicMock())
    return runpy.run_path(str(EXAMPLES / "airflow" / "uq_report_dag.py"))


def test_the_dag_has_the_tasks_meant(dag: dict[str, Any]) -> None:
    settings, index = dag["DAG"].call_args.kwargs, dag["BashOperator"].call_args.kwargs
    assert (settings["max_active_runs"], settings["catchup"]) == (1, False)
    assert (index["task_id"], index["trigger_rule"]) == ("index", "all_done")
    dag["audit"].assert_called_once_with("/srv/audits/credit/audit.toml")
    dag["audit"].return_value.__rshift__.assert_called_once_with(dag["index"])


@pytest.mark.parametrize(
    ("ended", "error"),
    [
        ({}, ""),
        ({"exit_code": 1, "reasons": ("1 open finding at or above high: UQ101 (high)",)}, "AirflowFailException"),
        ({"exit_code": 1, "reasons": ("the same",), "unchanged": True}, "AirflowFailException"),
        ({"unchanged": True, "reference": "credit@3"}, "AirflowSkipException"),
        ({"exit_code": 75}, "AirflowException"),
    ],
)
def test_the_dag_passes_the_data_interval_and_ends_as_the_audit_does(
    dag: dict[str, Any], monkeypatch: pytest.MonkeyPatch, ended: dict[str, Any], error: str
) -> None:
    calls: list[Any] = []
    fields = {
        "exit_code": 0,
        "reasons": (),
        "unchanged": False,
        "reference": "",
        "summary": {"recommendation": "Fit for purpose"},
    } | ended
    missing = fields.keys() - {field.name for field in dataclasses.fields(CompletedAudit)}
    assert not missing

    def run(*arguments: Any, **options: Any) -> Any:
        signature(ours).bind(*arguments, **options)
        calls.append(arguments)
        return SimpleNamespace(**fields)

    monkeypatch.setattr(uq, "run", run)
    if error:
        with pytest.raises(dag[error]):
            dag["audit"].function("a.toml", ds="2026-01-31")
    else:
        assert dag["audit"].function("a.toml", ds="2026-01-31") == {"recommendation": "Fit for purpose"}
    assert calls == [("a.toml", {"run.as_of": "2026-01-31"})]


def read_yaml(*place: str) -> dict[Any, Any]:
    yaml = pytest.importorskip("yaml", reason="these examples are YAML")
    content = yaml.safe_load(EXAMPLES.joinpath(*place).read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def test_github_actions_uploads_the_report_whatever_happens() -> None:
    flow = read_yaml("ci", "github-actions.yml")
    assert set(flow) == {"name", True, "permissions", "jobs"}  # YAML 1.1 reads `on` as true
    assert flow["permissions"] == {"contents": "read"}
    job = flow["jobs"]["audit"]
    assert {"runs-on", "timeout-minutes", "steps"} == set(job)
    assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    upload = job["steps"][-1]
    assert (upload["if"], upload["with"]["path"]) == ("always()", "report/")
    assert "--format junit" in job["steps"][-2]["run"]


def test_gitlab_shows_findings_as_tests_and_tries_again_when_locked() -> None:
    job = read_yaml("ci", "gitlab-ci.yml")["audit"]
    assert job["artifacts"]["reports"]["junit"] == "report/report.junit.xml"
    assert job["artifacts"]["when"] == "always"
    assert job["retry"] == {"max": 2, "exit_codes": [75]}
    assert set(job) <= {"image", "timeout", "rules", "before_script", "script", "retry", "artifacts"}


def test_the_cron_job_of_kubernetes_has_known_fields_and_no_privileges() -> None:
    made = read_yaml("kubernetes", "cronjob.yaml")
    assert (made["apiVersion"], made["kind"]) == ("batch/v1", "CronJob")
    assert set(made["spec"]) == {
        "schedule", "timeZone", "concurrencyPolicy", "startingDeadlineSeconds", "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit", "jobTemplate",
    }  # fmt: skip
    assert made["spec"]["concurrencyPolicy"] == "Forbid"
    job = made["spec"]["jobTemplate"]["spec"]
    assert set(job) == {"backoffLimit", "activeDeadlineSeconds", "podFailurePolicy", "template"}
    pod = job["template"]["spec"]
    assert pod["restartPolicy"] == "Never"  # podFailurePolicy needs it
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    secure = container["securityContext"]
    assert (secure["allowPrivilegeEscalation"], secure["capabilities"]) == (False, {"drop": ["ALL"]})
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    (rule,) = job["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["containerName"] == container["name"]
    assert 75 not in rule["onExitCodes"]["values"]
    name, given = parse(shlex.join([*container["command"], *container["args"]]))
    assert (name, given["as_json"], given["quiet"]) == ("run", True, True)


def test_workers_of_dask_give_the_bytes_of_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed", reason="the dask extra is not installed")
    runpy.run_path(str(EXAMPLES / "dask" / "audit_on_a_cluster.py"))["main"]()
    assert capsys.readouterr().out == "the same bytes\n"


def test_the_image_installs_what_the_quickstart_does() -> None:
    image = (EXAMPLES / "docker" / "Dockerfile").read_text(encoding="utf-8")
    quickstart = (EXAMPLES.parent / "quickstart.sh").read_text(encoding="utf-8")
    assert [name for name in re.findall(r"lib[\w.-]+\d|fonts-dejavu-core", image) if name not in quickstart] == []


def test_the_recipe_requires_what_the_project_does() -> None:
    import tomllib

    import yaml

    project = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = yaml.safe_load((EXAMPLES / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    required = {
        line.replace(" ", "").replace("matplotlib-base", "matplotlib") for line in recipe["requirements"]["run"]
    }
    assert required == {*project["dependencies"], "python>=3.11"}
    assert recipe["context"]["version"] == project["version"]
