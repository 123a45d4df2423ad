"""Every command from an installed wheel, by its script, away from the checkout; each exit code is seen.

The environment has the wheel and, behind it, the libraries these tests run with.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from uq_report import cli

from ..ops.verify_cases import PASSPHRASE, Keys

CHECKOUT = Path(__file__).parents[2]
COMMANDS = (
    "demo", "run", "plan", "render", "init", "case", "plugins", "docs", "doctor", "history", "show", "compare", "index",
    "verify", "sign", "config", "schedule",
)  # fmt: skip
TEMPLATES = {"audit": "report", "brief": "brief", "model-card": "model-card"}
FORMATS = {"html": ".html", "pdf": ".pdf", "markdown": ".md", "junit": ".junit.xml"}
MODEL = """
import pandas as pd
from pathlib import Path
from sklearn.linear_model import LogisticRegression

def model():
    rows = pd.read_csv(Path(__file__).with_name("train.csv"))
    return LogisticRegression().fit(rows[["age", "income"]], rows["default"])
"""
AUDIT = """
[model]
source = "made_for_commands:model"
label = "credit"
[data]
source = "test.csv"
target = "default"
train = "train.csv"
[policy]
rules = ["{rule}"]
fail_on = "low"
[run]
explainers = ["calibration"]
checks = ["policy", "calibration"]
as_of = "2026-02-28"
[output]
formats = ["html"]
history = "filed"
name = "credit"
"""

Call = Callable[..., subprocess.CompletedProcess[str]]
Here = Callable[..., Any]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return `uq-report` of an environment that holds the built wheel."""
    pytest.importorskip("hatchling", reason="building the wheel needs hatchling")
    made = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(made), str(CHECKOUT)]
    subprocess.run(wheel, check=True, capture_output=True)
    venv.create(made / "venv", symlinks=True)
    python = made / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", *map(str, made.glob("*.whl"))], check=True, capture_output=True)
    (site,) = (made / "venv" / "lib").glob("python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return python.with_name("uq-report")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a working folder with a model's code and its data."""
    made = tmp_path_factory.mktemp("work")
    rng = np.random.default_rng(0)
    for name in ("train.csv", "test.csv"):
        rows = pd.DataFrame(rng.normal(size=(80, 2)), columns=["age", "income"])
        rows.assign(default=(rows["age"] + rng.normal(size=80) > 0).astype(int)).to_csv(made / name, index=False)
    (made / "made_for_commands.py").write_text(MODEL)
    return made


@pytest.fixture(scope="module")
def call(script: Path, place: Path) -> Call:
    """Return a function that runs `uq-report` in the working folder."""
    environ = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SOURCE_DATE_EPOCH")}

    def called(*arguments: str, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(script), *arguments], cwd=place, env=environ | more, capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    return called


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    """Return a function that runs a command of the working folder in this process: a second look needs no start."""
    monkeypatch.chdir(place)

    def called(*arguments: str, code: int = 0) -> Any:
        done = CliRunner().invoke(cli.app, arguments)
        assert done.exit_code == code, f"{arguments}: {done.exit_code}\n{done.output}"
        return done

    return called


@pytest.fixture(scope="module")
def runs(call: Call, place: Path) -> Path:
    """File two runs of one audit, the first from flags and the second from a file; return their history."""
    first = call(
        "run", "--model", "made_for_commands:model", "--data", "test.csv", "--target", "default",
        "--train", "train.csv", "--explainers", "calibration", "--label", "credit", "--name", "credit",
        "--as-of", "2026-01-31", "--format", "html", "--history", "filed", "--output", "out",
    )  # fmt: skip
    assert first.stdout.startswith("Report in ")
    assert 1 < len(first.stdout.splitlines()) <= 12
    (place / "audit.toml").write_text(AUDIT.format(rule="nll <= 0.001"))
    return place / "filed"


def test_every_command_is_tested_here(call: Call, script: Path) -> None:
    helped = call("--help").stdout.partition(" Commands ")[2]
    assert tuple(re.findall(r"^\W ([a-z-]+) ", helped, flags=re.MULTILINE)) == COMMANDS
    python = script.with_name("python")
    home = subprocess.run(
        [str(python), "-c", "import uq_report; print(uq_report.__file__)"], cwd=script.parent, check=True,
        capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert Path(home.strip()).is_relative_to(script.parents[1]), "the wheel is what runs"
    assert call("--version").stdout == "uq-report 0.1.0\n"


def test_wrong_usage_ends_with_2(call: Call, here: Here) -> None:
    assert "No such option" in call("run", "--modle", "m.skops", code=2).stderr
    assert "--model and --data" in here("run", code=2).stderr
    assert "No such command" in here("audit", code=2).stderr


def test_wrong_input_ends_with_3(call: Call, here: Here) -> None:
    done = call("run", "--model", "made_for_commands:model", "--data", "none.csv", code=3)
    assert (done.stdout, done.stderr.count("Error: ")) == ("", 1)
    here("show", "nowhere", code=3)
    here("sign", "none.pdf", "--key", "none", "--cert", "none", "-o", "signed.pdf", code=3)


def test_a_finding_at_the_gate_ends_with_1(call: Call, runs: Path) -> None:
    done = call("run", "audit.toml", "--json", code=1)
    told = json.loads(done.stdout)
    assert told["exit_code"] == 1
    assert "UQ95" in done.stderr


def test_init_writes_a_file_that_config_accepts(call: Call, here: Here, place: Path) -> None:
    started = ("init", "--model", "made_for_commands:model", "--data", "test.csv", "--target", "default")
    assert call(*started, "-o", "started.toml").stdout.startswith("Written: started.toml.")
    here(*started, "-o", "started.toml", code=3)
    assert call("config", "check", "started.toml").stdout == "started.toml: no mistakes found\n"
    (place / "broken.toml").write_text((place / "started.toml").read_text() + "\n[budgit]\nrows = 1\n")
    assert "Did you mean 'budget'?" in here("config", "check", "broken.toml", code=3).stderr
    schema = json.loads(here("config", "schema").stdout)
    assert {"model", "data", "mlflow"} <= set(schema["properties"])


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_is_rendered_in_every_format(call: Call, runs: Path, place: Path, template: str) -> None:
    wanted = [part for name in FORMATS for part in ("--format", name)]
    call("render", "out", "--template", template, "--output", f"rendered-{template}", *wanted, "--quiet")
    written = {file.name for file in (place / f"rendered-{template}").iterdir()}
    assert written == {f"{TEMPLATES[template]}{suffix}" for suffix in FORMATS.values()}


def test_history_show_and_compare(call: Call, here: Here, runs: Path, place: Path) -> None:
    call("run", "audit.toml", "--quiet", "--fail-on", "critical")
    listed = json.loads(call("history", "--history", "filed", "--json").stdout)
    assert {run["name"] for run in listed} == {"credit"}
    assert here("history", "--history", "filed", "--check").stdout.startswith("Nothing was lost or changed")
    assert "policy" in call("show", "credit", "--history", "filed").stdout
    changed = json.loads(here("compare", "credit@1", "credit", "--history", "filed", "--json").stdout)
    assert changed["previous"]["as_of"] == "2026-01-31"
    call("compare", "credit@1", "credit", "--history", "filed", "-o", "compared", "--format", "markdown", "--quiet")
    assert [file.name for file in (place / "compared").iterdir()] == ["report.md"]


def test_verify_accepts_what_is_whole_and_ends_with_5_on_a_changed_table(
    call: Call, here: Here, runs: Path, place: Path
) -> None:
    told = json.loads(call("verify", "out", "--data", "test.csv", "--json").stdout)
    assert told["ok"] is True
    page = place / "out" / "report.html"
    whole = page.read_bytes()
    try:
        page.write_bytes(whole.replace(b"2026-01-31", b"2026-01-30", 1))
        here("verify", "out", "--quiet", code=5)
    finally:
        page.write_bytes(whole)


def test_sign(call: Call, runs: Path, place: Path) -> None:
    pytest.importorskip("pyhanko", reason="signing needs pyHanko")
    call("render", "out", "--template", "brief", "--format", "pdf", "--output", "out", "--quiet")
    key, certificate = Keys(place).issue("validator")
    done = call(
        "sign", "out/brief.pdf", "--key", str(key), "--cert", str(certificate), "-o", "signed.pdf", "--draft",
        UQ_REPORT_KEY_PASSPHRASE=PASSPHRASE,
    )  # fmt: skip
    assert done.stdout.startswith("Signed in signed.pdf")


def test_plugins_and_doctor(call: Call) -> None:
    listed = call("plugins").stdout
    for name in ("calibration", "junit", "classifier", "csv"):
        assert re.search(rf"^\w+ +{name} +uq_report +0\.1\.0 +1 +ready$", listed, flags=re.MULTILINE), name
    assert re.search(r"^WeasyPrint +ready", call("doctor").stdout, flags=re.MULTILINE)


def test_plan_writes_the_rows_to_predict_and_ends_with_75(here: Here, place: Path) -> None:
    here("plan", "elsewhere", "--data", "test.csv", "--target", "default", "--explainers", "calibration", code=75)
    assert (place / "elsewhere" / "rows.csv").is_file()


def test_index(call: Call, runs: Path, place: Path) -> None:
    assert call("index", "filed", "-o", "filed/index.html").stdout == "Page in filed/index.html (1 audit)\n"
    assert "credit" in (place / "filed" / "index.html").read_text(encoding="utf-8")


def test_schedule_once(call: Call, here: Here, runs: Path, place: Path) -> None:
    pytest.importorskip("cronsim", reason="schedules need cronsim")
    (place / "nightly.toml").write_text(
        AUDIT.format(rule="nll <= 9").replace('"credit"', '"nightly"').replace('"low"', '"critical"')
    )
    (place / "audits.toml").write_text('[[audit]]\nfile = "nightly.toml"\ncron = "* * * * *"\n')
    assert "nightly" in here("schedule", "audits.toml", "--dry-run").stdout
    call("schedule", "audits.toml", "--once")
    listed = json.loads(here("history", "nightly", "--history", "filed", "--json").stdout)
    assert [run["as_of"] for run in listed] == ["2026-02-28"]


def test_demo_without_dalex(call: Call, place: Path) -> None:
    (place / "bare").mkdir()
    (place / "bare" / "sitecustomize.py").write_text("import sys\nsys.modules['dalex'] = None\n")
    bare = str(place / "bare")
    done = call("demo", "parcels", "--output", "demo", "--as-of", "2026-01-31", PYTHONPATH=bare)
    assert re.search(r"^Not run: dalex: .*pip install 'uq_report\[dalex\]'", done.stderr, flags=re.MULTILINE)
    assert {"report.html", "report.pdf", "run.json"} <= {file.name for file in (place / "demo").iterdir()}
