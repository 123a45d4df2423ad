"""The command line: exit codes, one clear message, files where they belong."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner, Result

import uq_report as uq
from uq_report import cli
from uq_report.api import reports
from uq_report.core.support.errors import installed
from uq_report.evidence import disk
from uq_report.inputs.loaders.model_files import FactoryLoader
from uq_report.ops import caches, doctor
from uq_report.reading.rating import WORDS
from uq_report.runner import plugins

from ..packages import Packages, explainer

FACTORY = """
from sklearn.linear_model import LogisticRegression
import pandas as pd
def model():
    table = pd.read_csv("train.csv")
    return LogisticRegression().fit(table[["a", "b"]], table["y"])
"""


@pytest.fixture
def folder(tmp_path: Path, import_paths: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder with data, a factory, and sys.path as found afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "made_for_cli", raising=False)
    rng = np.random.default_rng(0)
    for name in ("train.csv", "test.csv"):
        table = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
        table.assign(y=(table["a"] > 0).astype(int), w=1.0, household=np.arange(40) // 2).to_csv(name, index=False)
    Path("made_for_cli.py").write_text(FACTORY)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments))


def run(*more: str) -> Result:
    base = ["run", "--model", "made_for_cli:model", "--data", "test.csv", "--target", "y"]
    return call(
        *base,
        "--sample-weight",
        "w",
        "--clusters",
        "household",
        "--explainers",
        "calibration",
        "--format",
        "html",
        *more,
    )


def test_run_writes_the_report_and_says_where(folder: Path) -> None:
    result = run(
        "--train", "train.csv", "--as-of", "2026-01-31", "--positive-class", "0", "--max-rows", "30", "--seed", "3"
    )
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Report in uq-report: report.html (")
    assert len(result.stdout.splitlines()) <= 13
    assert result.stdout.splitlines()[1].partition(". ")[0] in WORDS
    saved = uq.load(folder / "uq-report").run
    columns = "a: float64, b: float64, y: int64, w: float64, household: int64"
    assert saved.subject["sources"] == {
        "model": "made_for_cli:model", "data": "test.csv", "train": "train.csv", "target": "y", "weights": "w",
        "clusters": "household", "data_columns": columns, "train_columns": columns,
        "train_against_data": "same columns and types, no new levels",
    }  # fmt: skip
    assert len(saved.subject["hashes"]["data_file"]) == 64
    assert "not available" in saved.subject["hashes"]["model"]
    assert [f["name"] for f in saved.subject["features"]] == ["a", "b"]
    assert (saved.subject["n"], saved.subject["sampled_from"], saved.subject["positive_class"]) == (30, 40, 0)
    assert (saved.subject["weights"], saved.subject["n_train"], saved.settings["seed"]) == (True, 40, 3)
    assert saved.as_of == "2026-01-31"


def test_run_reads_skops_and_hashes_the_file(folder: Path) -> None:
    sio = pytest.importorskip("skops.io", reason="this test writes a skops file")
    sio.dump(FactoryLoader().load("made_for_cli:model"), "model.skops")
    result = call(
        "run", "--model", "model.skops", "--data", "test.csv", "--explainers", "calibration", "--format", "html", "-q"
    )
    assert (result.exit_code, result.stdout) == (3, "")
    assert "test.csv: it also has 'y', 'w', 'household'. A column that is no feature has a role" in result.stderr
    pd.read_csv("test.csv")[["a", "b"]].to_csv("rows.csv", index=False)
    result = call(
        "run", "--model", "model.skops", "--data", "rows.csv", "--explainers", "calibration", "--format", "html", "-q"
    )
    assert (result.exit_code, result.output) == (0, "")
    saved = uq.load(folder / "uq-report").run
    assert len(saved.subject["hashes"]["model"]) == 64
    assert saved.subject["has_y"] is False


def test_render_needs_no_model_and_gives_the_same_bytes(folder: Path) -> None:
    run("--output", "out", "--as-of", "2026-01-31")
    before = Path("out/report.html").read_bytes()
    Path("out/report.html").unlink()
    result = call("render", "out/run.json", "--format", "html")
    assert (result.exit_code, result.stdout) == (0, "Report rendered in out\n")
    assert Path("out/report.html").read_bytes() == before
    assert call("render", "out", "--format", "html", "--output", str(folder / "else"), "--quiet").output == ""
    assert (folder / "else" / "report.html").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "z"], "data.target must be a column of test.csv; got 'z'. Allowed: a, b, household, w, y."),
        (["--data", "none.csv"], "data must be a readable CSV file; got 'none.csv'"),
        (["--data", "rows.xlsx"], "no loader reads it. Loaders of the data: csv, "),
        (["--model", "m.joblib"], "A pickle runs code when it is loaded"),
        (["--model", "made_for_cli:other"], "made_for_cli has no function 'other'"),
        (["--as-of", "tomorrow"], "run.as_of must be a date written YYYY-MM-DD; got 'tomorrow'."),
        (["--explainers", "pfy"], "run.explainers must list registered names; got 'pfy'. Did you mean 'pfi'?"),
        (["--adapter", "ensembel"], "Did you mean 'ensemble'?"),
        (["--require", "lime"], "run.require must name found plugins; got 'lime'"),
        (["--positive-class", "7"], "got '7'"),
    ],
)
def test_wrong_input_is_one_message_and_exit_code_3(folder: Path, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert not (folder / "uq-report").exists()


def test_wrong_usage_is_exit_code_2() -> None:
    assert call("run", "--no-such-flag").exit_code == 2
    assert call("run").exit_code == 2
    assert call("demo", "moon").exit_code == 2


def test_how_much_follows_the_sign_off_is_a_flag(folder: Path) -> None:
    run("--output", "out")
    pages = {}
    for extent in ("none", "short", "full"):
        assert call("render", "out", "--format", "html", "--appendix", extent, "--output", extent).exit_code == 0
        pages[extent] = (folder / extent / "report.html").read_text()
    assert 'id="references"' not in pages["none"]
    assert len(pages["none"]) < len(pages["short"]) < len(pages["full"])
    result = call("render", "out", "--appendix", "ful")
    assert result.exit_code == 3
    assert "report.appendix must be one of ['none', 'short', 'full']; got 'ful'. Did you mean 'full'?" in result.stderr


def test_the_limits_of_the_pdf_are_flags_and_keys(folder: Path) -> None:
    run("--output", "out", "--format", "html")
    result = call("render", "out", "--format", "pdf", "--pdf-memory-mb", "30")
    assert result.exit_code == 4
    assert "30" in result.stderr
    assert "memory_mb" in result.stderr
    result = call("render", "out", "--format", "pdf", "--pdf-cpu-seconds", "0")
    assert result.exit_code == 3
    assert "pdf.cpu_seconds must be a number of seconds above 0; got 0.0." in result.stderr
    result = call("run", "--model", "m.skops", "--data", "rows.csv", "--target", "y", "--pdf-cpu-seconds", "-1")
    assert result.exit_code == 3
    assert "output.pdf_cpu_seconds must be greater than 0" in result.stderr


@pytest.mark.parametrize(
    ("flag", "value", "told"),
    [
        ("--template-cpu-seconds", "0", "html.template_cpu_seconds must be a number of seconds above 0; got 0.0."),
        ("--template-memory-mb", "0", "html.template_memory_mb must be a number of megabytes above 0; got 0."),
        ("--template-cpu-seconds", "0.5", "line 1: a page must be filled within 1 s of processor time"),
    ],
)
def test_the_limits_of_templates_are_flags(folder: Path, flag: str, value: str, told: str) -> None:
    run("--output", "out", "--format", "markdown")
    Path("style").mkdir()
    endless = "{% set a = 'x' * 999999 %}{% for i in a %}{% for i in a %}{% endfor %}{% endfor %}"
    Path("style", "report.html").write_text(endless)
    result = call("render", "out", "--format", "html", "--templates", "style", flag, value)
    assert result.exit_code in (3, 4)
    assert told in result.stderr


def test_failed_rendering_is_exit_code_4_and_costs_its_own_file(folder: Path, packages: Packages) -> None:
    packages.renderer("paper", 'if Path("no ink").exists(): raise ValueError("no ink")')
    formats = ("--format", "paper", "--format", "markdown")
    run("--output", "out", *formats)
    before = {name: Path("out", name).read_bytes() for name in ("report.paper", "report.md", "run.json")}
    Path("no ink").touch()
    result = run("--output", "out", *formats, "--seed", "9")
    assert result.exit_code == 4
    assert "Failed: report.paper could not be made: ValueError: no ink" in result.stderr
    assert "what is missing of the report: uq-report render out" in result.stderr
    after = {name: Path("out", name).read_bytes() for name in before}
    assert [name for name in before if after[name] == before[name]] == ["report.paper"]
    assert "report.md" in disk.loads(Path("out"))
    assert "report.paper" not in disk.loads(Path("out")), "a report of another run is not vouched for"
    Path("no ink").unlink()
    assert call("render", "out", "--format", "paper").exit_code == 0
    assert "report.paper" in disk.loads(Path("out"))


def test_an_interrupt_is_exit_code_130(folder: Path, packages: Packages) -> None:
    packages.explainer("halts", explainer("halts", "raise KeyboardInterrupt"))
    result = run("--explainers", "halts")
    assert result.exit_code == 130
    assert not (folder / "uq-report").exists()


def test_plugins_lists_every_plugin() -> None:
    result = call("plugins")
    assert result.exit_code == 0
    lines = [re.split(r"\s{2,}", line) for line in result.stdout.splitlines()]
    assert lines[0] == ["GROUP", "NAME", "DISTRIBUTION", "VERSION", "API", "STATE"]
    assert ["explainers", "pfi", "uq_report", uq.__version__, "1", "ready"] in lines
    assert len(lines) == 1 + sum(len(plugins.find(group)) for group in plugins.GROUPS)


def test_doctor_names_what_is_there_and_fails_for_what_is_missing(packages: Packages) -> None:
    result = call("doctor")
    assert result.exit_code == 0
    assert "WeasyPrint" in result.stdout
    packages.module("weasyprint", "raise OSError(\"cannot load library 'libpangoft2-1.0-0'\")")
    result = call("doctor")
    assert result.exit_code == 4
    assert "apt-get install libpango-1.0-0 libpangoft2-1.0-0" in result.stdout


def test_doctor_says_how_to_get_what_is_optional(without: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_library", lambda name: None)
    without("dalex", "pyarrow", "ngboost", "sksurv")
    monkeypatch.setenv(caches.MARK, "/tmp/private")
    states = {f.what: f for f in doctor.examine()}
    assert states["HarfBuzz subsetter"].state == states["extra dalex"].state == states["Home"].state == "optional"
    assert "/tmp/private" in states["Home"].detail
    assert states["extra dalex"].detail == (
        f"not installed: dalex. Without: {doctor.LOSSES['dalex']}. pip install 'uq_report[dalex]'"
    )
    assert "pip install 'uq_report[parquet]'" in states["extra parquet"].detail
    models = r"not installed: .*ngboost.*scikit-survival.*\. Without: .*\. Installed: .*statsmodels"
    assert re.match(models, states["extra models"].detail)
    assert states["extra skops"].state == "ready"
    assert {f"extra {name}" for name in plugins.extras("uq_report") if name in doctor.LOSSES} < states.keys()


def test_every_extra_has_its_loss() -> None:
    content = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = content["project"]["optional-dependencies"].keys()
    assert doctor.LOSSES.keys() == extras - {"all", "full", "test", "docs", "lint"}


def test_plugins_names_the_library_that_is_missing(without: Callable[..., None]) -> None:
    def lacking() -> dict[tuple[str, str], str]:
        lines = [re.split(r"\s{2,}", line) for line in call("plugins").stdout.splitlines()]
        return {(group, name): state for group, name, *_, state in lines[1:] if state != "ready"}

    before = lacking()
    without("shap", "ngboost", "numba", "pyarrow")
    assert lacking() == before | {
        ("explainers", "shap"): "needs shap, not installed: pip install 'uq_report[shap]'",
        ("adapters", "ngboost"): "needs ngboost, not installed: pip install 'uq_report[models]'",
        ("loaders", "feather"): "needs pyarrow, not installed: pip install 'uq_report[parquet]'",
        ("loaders", "parquet"): "needs pyarrow, not installed: pip install 'uq_report[parquet]'",
        ("fast_paths", "trees"): "needs numba, not installed: pip install 'uq_report[fast]'",
    }
    assert "Cannot be used: it needs shap, not installed" in call("plugins", "explainers.shap").stdout


def test_a_library_that_is_blocked_is_not_installed(without: Callable[..., None]) -> None:
    without("shap")
    assert [installed(name) for name in ("json", "shap", "no_such_library")] == [True, False, False]


def test_plugins_that_import_a_library_of_an_extra_say_so() -> None:
    """Whoever needs a library by the message of its absence names it."""
    named = {library for group in plugins.GROUPS for plugin in plugins.find(group)
             for library in getattr(plugins.load(plugin), "libraries", ())}  # fmt: skip
    modules = {doctor._MODULES.get(name, name.replace("-", "_")) for name in plugins.extras("uq_report")["models"]}
    assert modules - {"arviz"} <= named
    assert {"dalex", "shap", "skops", "pyarrow", "onnxruntime", "sqlalchemy", "mlflow", "torch", "numba"} <= named


def test_demo_audits_the_sample_with_its_texts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from uq_report.jobs import demo
    from uq_report.testing import linear_subject

    monkeypatch.setattr(
        demo, "build", lambda which: (linear_subject(20), {"about": {"title": f"T {which}"}, "explainers": []})
    )
    monkeypatch.setattr(reports.Reports, "of", lambda *_: iter([("report.html", b"")]))
    result = call("demo", "wind", "--as-of", "2026-01-31", "--output", "d")
    assert result.exit_code == 0
    assert result.stdout.startswith("Report in d: report.html (results: 0, ")
    saved = uq.load(folder / "d").run
    assert (saved.settings["about"]["title"], saved.as_of) == ("T wind", "2026-01-31")
    assert call("demo", "--quiet").output == ""


def test_help_is_cheap_and_complete() -> None:
    result = call("--help")
    for command in ("demo", "run", "render", "init", "case", "config", "plugins", "doctor"):
        assert command in result.stdout
    heavy = "numpy pandas sklearn matplotlib weasyprint pydantic"
    code = f"import sys, uq_report.cli; print([m for m in '{heavy}'.split() if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_version() -> None:
    assert call("--version").stdout == f"uq-report {uq.__version__}\n"


def test_a_terminal_does_not_act_on_names(capsys: pytest.CaptureFixture[str]) -> None:
    from uq_report.cli.shared import say

    say("\x1b]0;owned\x07age\u202e\ud800\n  12")
    assert capsys.readouterr().out == "]0;ownedage[U+202E][U+D800]\n  12\n"


def test_help_is_short_grouped_and_has_an_example() -> None:
    result = call("run", "-h")
    assert result.exit_code == 0
    for part in ("Model", "Data", "Limits", "Gate", "Example: uq-report run --model"):
        assert part in result.stdout


def test_every_command_has_an_example() -> None:
    main: Any = typer.main.get_command(cli.app)
    commands = [*main.commands.values()]
    for command in commands:
        commands.extend(getattr(command, "commands", {}).values())
    bare = [command.name for command in commands if not hasattr(command, "commands") and not command.epilog]
    assert bare == []


def test_a_mistyped_command_gets_a_hint() -> None:
    assert "Did you mean 'run'?" in call("rnu").output


def test_an_audit_file_in_the_folder_is_found_by_itself(folder: Path) -> None:
    Path("audit.toml").write_text("[model]\nsource = 'gone.skops'\n[data]\nsource = 'gone.csv'\n")
    result = call("run")
    assert result.exit_code == 3
    assert "gone.csv" in result.output


def test_names_may_be_listed_with_commas(folder: Path) -> None:
    done = run("--explainers", "data_quality,segments", "--format", "markdown,junit", "--output", "out")
    assert done.exit_code == 0, done.stderr
    assert uq.load("out").run.settings["explainers"] == ["calibration", "data_quality", "segments"]
    assert {file.name for file in Path("out").glob("report.*")} == {"report.html", "report.md", "report.junit.xml"}


def test_a_first_schedule_is_written_once_and_is_valid(folder: Path) -> None:
    pytest.importorskip("cronsim", reason="the schedule reads its times with cronsim")
    from uq_report.ops.schedule import read_schedule

    assert call("schedule", "init").exit_code == 0
    assert [audit.cron for audit in read_schedule("audits.toml").audit] == ["0 6 1 * *"]
    assert call("schedule", "init").exit_code == 3
    assert json.loads(call("schedule", "schema").stdout)["properties"]["audit"]["type"] == "array"
