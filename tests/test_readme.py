"""The examples of the README and of the guides: Python runs, commands exist and have the options that are shown."""

import ast
import inspect
import operator
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report.cli import app
from uq_report.jobs.audit_file import AuditFile

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "howto" / "audit_file.md"
SMALL = {"explainers": ["calibration", "pfi"], "options": {"pfi": {"n_repeats": 3}}, "progress": False}


def blocks(language: str, *files: Path) -> list[str]:
    """Return the code of a language, block by block."""
    texts = (file.read_text(encoding="utf-8") for file in files or [ROOT / "README.md"])
    fence = re.compile(rf"^( *)```{language}\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
    return [dedent(block) for text in texts for _, block in fence.findall(text)]


def pages() -> list[Path]:
    """Return the README and the written pages of the documentation."""
    return [ROOT / "README.md", *(ROOT / "docs").glob("[!_]*.md"), *(ROOT / "docs").glob("[!_]*/*.md")]


def data() -> dict[str, Any]:
    """Return a small model and data under the names that the examples use."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["age", "income"])
    y = (X["age"] + rng.normal(size=120) > 0).astype(int)
    rows = {"X_train": X[:60], "y_train": y[:60], "X_test": X[60:], "y_test": y[60:]}
    return {**rows, "model": LogisticRegression().fit(X[:60], y[:60])}


def test_the_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    names = data()
    (code,) = blocks("python")
    with monkeypatch.context() as patch:
        original = uq.audit
        patch.setitem(vars(uq), "audit", lambda subject: original(subject, **SMALL))  # type: ignore[call-overload]
        exec(compile(code, "README.md", "exec"), names)
    assert names["run"].run.subject["n"] == 60
    assert {"report.html", "report.pdf", "run.json"} <= {file.name for file in (tmp_path / "out").iterdir()}


def test_the_example_of_a_run_from_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skops = pytest.importorskip("skops.io")
    monkeypatch.chdir(tmp_path)
    files = data()
    files["X_test"].assign(y=files["y_test"]).to_csv("test.csv", index=False)
    skops.dump(files["model"], "model.skops")
    Path("audit.toml").write_text(
        "[model]\nsource = 'model.skops'\n[data]\nsource = 'test.csv'\ntarget = 'y'\n"
        "[run]\nexplainers = ['calibration']\n[output]\nfolder = 'out'\nformats = ['html']\n"
    )
    (code,) = blocks("python", GUIDE)
    names: dict[str, Any] = {"uq": uq}
    exec(compile(code, "audit_file.md", "exec"), names)
    done = names["done"]
    assert isinstance(done.reasons, list | tuple)
    assert done.run.run.settings["seed"] == 2
    assert Path(done.folder, "run.json").is_file()


def test_every_command_is_ours_with_options_that_it_has() -> None:
    main: Any = typer.main.get_command(app)
    lines = [line for block in blocks("sh", *pages()) for line in block.splitlines() if line.startswith("uq-report ")]
    texts = (page.read_text(encoding="utf-8") for page in pages())
    lines += [line for text in texts for line in re.findall(r"`(uq-report [a-z][^`\n]*)`", text)]
    assert len(lines) > 40
    for line in lines:
        given = SimpleNamespace(words=shlex.split(line, comments=True)[1:], group=main)
        while given.words and given.words[0] in getattr(given.group, "commands", {}):
            given.group = given.group.commands[given.words.pop(0)]
        assert given.group is not main, line
        allowed = {
            option for parameter in given.group.params for option in (*parameter.opts, *parameter.secondary_opts)
        }
        used = [word.partition("=")[0] for word in given.words if word.startswith("-")]
        assert set(used) <= allowed, (line, sorted(set(used) - allowed))


@pytest.mark.parametrize("block", blocks("toml", *pages()))
def test_every_setting_of_a_guide_is_valid(block: str) -> None:
    content = tomllib.loads(block)
    if {"project", "colours"} & set(content):
        return  # of a package, and of a theme
    if "audit" in content:
        pytest.importorskip("cronsim")
        from uq_report.ops.schedule import ScheduleFile

        assert ScheduleFile.model_validate(content)
        return
    if not {"model", "predictions"} & {*content, *content.get("data", {})}:
        content["model"] = {"source": "model.skops"}
    audit = AuditFile.model_validate({"data": {"source": "test.csv"}, **content})
    assert not audit.mistakes()
    assert audit.settings()


@pytest.mark.parametrize("block", blocks("python", *pages()))
def test_every_call_of_a_guide_has_arguments_that_exist(block: str) -> None:
    if ">>>" in block:
        return  # these run as doctests
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "uq_report":
            exec(ast.unparse(node))
        if isinstance(node, ast.Call) and re.fullmatch(r"uq\.[\w.]+", ast.unparse(node.func)):
            function = operator.attrgetter(ast.unparse(node.func).removeprefix("uq."))(uq)
            signature = inspect.signature(function)
            taken = {one.name for one in signature.parameters.values()} | settings_of(function)
            assert not [keyword.arg for keyword in node.keywords if keyword.arg not in taken], block


ELSEWHERE = {  # pages whose blocks another test runs
    "howto/audit_file.md": "tests/test_readme.py", "howto/mlflow.md": "tests/ops/test_mlflow.py",
    "howto/plugin_package.md": "examples/third_party_plugin/tests/test_contract.py",
}  # fmt: skip
ON_THE_PAGE = [page for page in pages()[1:] if any(">>>" not in block for block in blocks("python", page))]
HAND_WRITTEN = [page for page in ON_THE_PAGE if page.parent.name != "reference"]


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: page.name)
def test_every_python_block_of_a_guide_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ELSEWHERE.get("/".join(page.parts[-2:]))
    if other:
        assert (ROOT / other).is_file()
        return
    monkeypatch.chdir(tmp_path)
    names = data() | {"uq": uq}
    names |= {"X": names["X_test"], "y": names["y_test"], "subject": uq.explain(names["model"], names["X_test"])}
    if page.name == "ensembles.md":
        names |= networks()
    if page.name == "from_r.md":
        prepare_r(names)
    original = uq.audit

    def audit(subject: Any, **given: Any) -> Any:
        uq.Settings(**given)  # a scheduler and workers are for larger machines than this one
        return original(subject, **SMALL)  # type: ignore[call-overload]

    monkeypatch.setitem(vars(uq), "audit", audit)
    for block in blocks("python", page):
        exec(compile(block, page.name, "exec"), names)
    assert names["subject"].n == 60


def networks() -> dict[str, Any]:
    """Return a network of logits, and one whose predictions are random."""
    torch = pytest.importorskip("torch")

    class Random(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))

        def forward(self, x: Any) -> Any:
            return torch.distributions.Categorical(logits=self.net(x))

    return {"net": torch.nn.Linear(2, 2), "module": Random()}


def prepare_r(names: dict[str, Any]) -> None:
    """Write a model of R, and the script of the example that predicts by it."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    names["X"].assign(bad=names["y"]).to_csv("train.csv", index=False)
    fit = "saveRDS(glm(bad ~ age + income, binomial, read.csv('train.csv')), 'model.rds')"
    subprocess.run(["Rscript", "-e", fit], check=True, capture_output=True)
    shutil.copy(ROOT / "examples" / "r" / "predict.R", "predict.R")
    names["y"] = np.where(names["y"] == 1, "bad", "good")


def settings_of(function: Any) -> set[str]:
    """Return the fields of the settings, which `audit` takes by name."""
    return set(uq.Settings.model_fields) if function is uq.audit else set()


def test_the_readme_is_two_screens() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90
