"""README's examples as they stand there: its Python runs, its commands are ours with options that they have."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report.cli import app

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SMALL = {"explainers": ["calibration", "pfi"], "options": {"pfi": {"n_repeats": 3}}, "progress": False}
# what needs a file or a server of its own: tests/ops/test_mlflow.py runs the example of MLflow
ELSEWHERE = ("mlflow.models.evaluate(",)


def blocks(language: str) -> list[str]:
    """Return the code of a language, block by block."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def data() -> dict[str, Any]:
    """Return small models and data under the names that the examples use."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["age", "income"])
    y = (X["age"] + rng.normal(size=120) > 0).astype(int)
    rows = {"X_train": X[:60], "y_train": y[:60], "X_test": X[60:], "y_test": y[60:]}
    model = LogisticRegression().fit(X[:60], y[:60])
    challenger = RandomForestClassifier(3, min_samples_leaf=5, random_state=0).fit(X[:60], y[:60])
    subjects = {name: uq.explain(m, X[60:], y[60:], label=name) for name, m in (("A", model), ("B", challenger))}
    return {**rows, "model": model, "champion": subjects["A"], "challenger": subjects["B"]}


def test_the_first_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    names = data()
    (code,) = [block for block in blocks("python") if "import uq_report as uq" in block]
    with monkeypatch.context() as patch:
        original = uq.audit
        patch.setitem(vars(uq), "audit", lambda subject: original(subject, **SMALL))  # type: ignore[call-overload]
        exec(compile(code, "README.md", "exec"), names)
    assert names["run"].run.subject["n"] == 60
    assert {"report.html", "report.pdf", "run.json"} <= {file.name for file in (tmp_path / "out").iterdir()}
    assert set(names["imp"].frame["measure"]) == {"nll", "entropy"}


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
    (code,) = [block for block in blocks("python") if 'uq.run("audit.toml"' in block]
    names: dict[str, Any] = {"uq": uq}
    exec(compile(code, "README.md", "exec"), names)
    done = names["done"]
    assert isinstance(done.reasons, list | tuple)
    assert done.run.run.settings["seed"] == 2
    assert Path(done.folder, "run.json").is_file()


def test_every_block_of_python_is_run_by_a_test() -> None:
    run = ("import uq_report as uq", 'uq.run("audit.toml"', *ELSEWHERE)
    assert [block for block in blocks("python") if not any(words in block for words in run)] == []


def test_every_command_is_ours_with_options_that_it_has() -> None:
    main: Any = typer.main.get_command(app)
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("uq-report ")]
    assert len(lines) > 15
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
