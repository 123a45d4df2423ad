"""The lines of the examples run, as their hosts run them: GitHub, GitLab, cron, systemd, Kubernetes and Airflow."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from uq_report.core.support.errors import DONE, EXIT_CODES, FINDINGS, INPUT, INTERNAL, RENDER, TEMPORARY, USAGE
from uq_report.ops.history import History
from uq_report.render.pdf import PANGO

from ..jobs import audits_made
from ..ops import store_runs

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
AUDIT = """
[model]
source = "model.skops"
label = "{name}"
[data]
source = "test.csv"
target = "risk"
ignore = ["application", "sex", "exposure", "household"]
[run]
explainers = ["calibration"]
checks = ["calibration"]
as_of = "2026-01-31"
[output]
formats = ["markdown"]
{history}
"""
FAKES = ("apt-get", "python", "logger")  # what they are called with, and get, goes to the file `calls`
SCRIPT = '#!/bin/sh\n{{ echo "$(basename "$0") $*"; {what} }} >>{calls}\n'


def write_script(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o755)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """Return a folder with a `bin` of our command and stand-ins, and an audit."""
    folder = tmp_path / "bin"
    folder.mkdir()
    calls = shlex.quote(str(tmp_path / "calls"))
    for name in FAKES:
        write_script(folder / name, SCRIPT.format(calls=calls, what="cat;" if name == "logger" else ""))
    write_script(folder / "sudo", '#!/bin/sh\nexec "$@"\n')
    ours = shlex.join([sys.executable, "-c", "from uq_report.cli import main; main()"])
    write_script(folder / "uq-report", f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {ours} "$@"\n')
    for name in ("credit", "motor"):
        (tmp_path / name).mkdir()
        audits_made.write(tmp_path / name)
        text = AUDIT.format(name=name, history='history = "../history"')
        (tmp_path / name / "audit.toml").write_text(text)
    return tmp_path


def run(host: Path, command: list[str], folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the few variables that such hosts set."""
    env = {"PATH": f"{host / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(host), **environ}
    return bare(command, folder, **env)


def bare(command: list[str], folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the variables given and no other."""
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=300)


def unknown_user() -> list[str]:
    """Return the words before a command that make its user one whom the system does not know, where that can be."""
    words = [shutil.which("unshare") or "", "--user", "--map-user=10001"]
    able = bool(words[0]) and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    return words if able else []


def calls_of(host: Path) -> str:
    return (host / "calls").read_text()


def read_yaml(*place: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="these examples are YAML")
    return yaml.safe_load(EXAMPLES.joinpath(*place).read_text(encoding="utf-8"))


def test_the_steps_of_github_and_gitlab_leave_what_they_upload(host: Path) -> None:
    here = host / "credit"
    (here / "audit.toml").write_text(AUDIT.format(name="credit", history=""))
    steps = [step["run"] for step in read_yaml("ci", "github-actions.yml")["jobs"]["audit"]["steps"] if "run" in step]
    for step in steps:
        done = run(host, ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step], here)
        assert done.returncode in (DONE, FINDINGS), done.stderr
    made = {file.name for file in (here / "report").iterdir()}
    assert {"report.html", "report.pdf", "run.json"} < made

    job = read_yaml("ci", "gitlab-ci.yml")["audit"]
    assert [line for line in job["script"] if line in steps] == job["script"], "GitLab runs what GitHub has run"
    assert (here / job["artifacts"]["reports"]["junit"]).is_file()
    assert all((here / place).is_dir() for place in job["artifacts"]["paths"])
    before = run(host, ["bash", "-eo", "pipefail", "-c", "\n".join(job["before_script"])], here)
    assert before.returncode == 0, before.stderr
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    installed = re.findall(r"^python -m pip install uq_report\[(\w+)\]$", calls_of(host), flags=re.MULTILINE)
    assert len(installed) == 2
    assert set(installed) <= extras.keys()
    packages = [line.split() for line in calls_of(host).splitlines() if line.startswith("apt-get install")]
    assert len(packages) == 2
    assert all(set(PANGO.partition("apt-get install ")[2].split()) <= set(line) for line in packages)


def test_the_lines_of_cron_and_systemd_run_and_say_nothing_to_be_mailed(host: Path) -> None:
    text = (EXAMPLES / "cron" / "crontab").read_text(encoding="utf-8")
    text = text.replace("/srv/audits", str(host)).replace("/opt/uq-report/bin", str(host / "bin"))
    (host / "audits.toml").write_text((EXAMPLES / "cron" / "audits.toml").read_text(encoding="utf-8"))
    variables = dict(re.findall(r"^([A-Z]+)=(.*)$", text, flags=re.MULTILINE))
    scheduled, alone = re.findall(r"^(?:[\d*/,-]+ ){5}(.+)$", text, flags=re.MULTILINE)
    done = bare([*unknown_user(), variables["SHELL"], "-c", alone], Path("/"), **variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "without a home, and with nothing to name one"
    assert [one.entry.name for one in History(host / "history").runs()] == ["credit"]
    with History(host / "history").filing("motor") as filing:
        filing.add(store_runs.run(), reports={"report.md": b"x"}, clock={})
    pytest.importorskip("cronsim", reason="the schedule reads its times with cronsim")
    done = bare([variables["SHELL"], "-c", scheduled], Path("/"), **variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "scheduler.once audits=2 due=0" in calls_of(host), "both were filed a moment ago"

    unit = (EXAMPLES / "systemd" / "uq-report.service").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ExecStart=/opt/uq-report/bin/(.+)$", unit, flags=re.MULTILINE)
    assert command.removesuffix(" --log-format journal") == re.sub(
        r" --log-format plain .*", "", scheduled.replace(str(host), "/srv/audits")
    ), "systemd runs what cron has run"


def test_the_container_of_kubernetes_ends_with_the_code_of_its_line(host: Path) -> None:
    job = read_yaml("kubernetes", "cronjob.yaml")["spec"]["jobTemplate"]["spec"]
    (container,) = job["template"]["spec"]["containers"]
    words = [word.replace("/audits", str(host)) for word in (*container["command"], *container["args"])]
    (host / "credit" / "test.csv").write_text("nothing\n")
    done = run(host, words, host, HOME=os.devnull)
    (line,) = done.stdout.splitlines()
    assert done.returncode == json.loads(line)["exit_code"] == INPUT
    (rule,) = job["podFailurePolicy"]["rules"]
    final = rule["onExitCodes"]["values"]
    assert final == [FINDINGS, USAGE, INPUT, RENDER, INTERNAL]
    assert set(final) < EXIT_CODES.keys() - {TEMPORARY}


def test_the_index_of_airflow_is_written(host: Path) -> None:
    with History(host / "history").filing("motor") as filing:
        filing.add(store_runs.run(), reports={"report.html": b"x"}, clock={})
    text = (EXAMPLES / "airflow" / "uq_report_dag.py").read_text(encoding="utf-8")
    (command,) = re.findall(r'bash_command=f"(.+)"', text)
    done = run(host, ["bash", "-c", command.replace("{AUDITS}", str(host))], host)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "motor" in (host / "index.html").read_text(encoding="utf-8")
