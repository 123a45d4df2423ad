"""Modules, start-up files and plugins that lie in the folder of an audit are data: nothing imports them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import sysconfig
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.workers import Broadcast, SharedBytes
from uq_report.core.support.errors import InputError
from uq_report.core.support.processes import command, look_in, safe_paths
from uq_report.inputs.loaders.model_files import FactoryLoader
from uq_report.ops.schedule import run_command

CHECKOUT = Path(__file__).parents[2]
# Of the standard library, of ours and of others; what no environment of these tests has, and libraries ask for.
PLANTED = (
    "json", "typing", "random", "html", "sitecustomize", "usercustomize", "numpy", "pandas", "joblib", "typer",
    "weasyprint", "pydyf", "matplotlib", "sklearn", "cupy", "no_such_optional_library",
)  # fmt: skip
PLUGIN = {
    "METADATA": "Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n",
    "entry_points.txt": "[uq_report.checks]\nplanted = planted:Rule\n",
}
MODEL = """
import pydoc
assert pydoc.safeimport("no_such_optional_library") is None  # a library asks for it, not this file
import helper_of_isolated
from sklearn.linear_model import BayesianRidge

class Model(BayesianRidge):
    def predict(self, X, return_std=False):
        import later_of_isolated
        return super().predict(X, return_std=return_std)

def model():
    rows = helper_of_isolated.rows()
    return Model().fit(rows[["age", "income"]], rows["cost"])
"""
HELPER = """
from pathlib import Path
import pandas as pd
def rows():
    return pd.read_csv(Path(__file__).with_name("data.csv"))
"""
AUDIT = """
[model]
source = "isolated_model:model"
[data]
source = "data.csv"
target = "cost"
[run]
explainers = ["pfi"]
as_of = "2026-02-28"
n_jobs = 2
backend = "loky"
[output]
folder = "out"
formats = ["pdf"]
template = "brief"
templates = "."
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder full of traps, which is the working folder."""
    for name in (*PLANTED, "uq_report", "planted"):
        mark = f"open({str(tmp_path / 'imported')!r}, 'a').write(__name__ + chr(10))\n"
        (tmp_path / f"{name}.py").write_text(mark + "raise SystemExit(99)\n")
    (tmp_path / "planted-1.0.dist-info").mkdir()
    for name, text in PLUGIN.items():
        (tmp_path / "planted-1.0.dist-info" / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(folder: Path) -> str:
    mark = folder / "imported"
    return mark.read_text() if mark.exists() else ""


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


SCRIPT = str(Path(sysconfig.get_path("scripts")) / "uq-report")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([SCRIPT, "plugins"], "pfi"),
        ([sys.executable, "-P", "-m", "uq_report", "--version"], "uq-report "),
        ([sys.executable, "-m", "uq_report", "--version"], "uq-report "),
    ],
    ids=["script", "-P -m", "-m"],
)
def test_a_command_imports_nothing_from_where_it_is_started(folder: Path, words: list[str], expected: str) -> None:
    """``-m`` alone finds a planted uq_report before ours runs: that one is Python's, and stands in SECURITY.md."""
    if words[1] == "-m":
        (folder / "uq_report.py").unlink()
    done = run(words, folder)
    assert (done.returncode, imported(folder)) == (0, ""), done.stderr
    assert expected in done.stdout
    assert "planted" not in done.stdout


def test_a_scheduled_run_imports_its_model_and_nothing_else_from_its_folder(folder: Path) -> None:
    """A model by name, what lies beside it, two workers, an own style and the process of the PDF."""
    (folder / "isolated_model.py").write_text(MODEL)
    (folder / "helper_of_isolated.py").write_text(HELPER)
    (folder / "later_of_isolated.py").write_text("")
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["age", "income"])
    rows.assign(cost=rows["age"]).to_csv(folder / "data.csv", index=False)
    (folder / "report.html").write_text('{% extends "uq_report/report.html" %}')
    (folder / "audit.toml").write_text(AUDIT)
    done = run(run_command(folder / "audit.toml"), folder)
    assert imported(folder) == ""
    assert done.returncode == 0, done.stderr
    assert (folder / "out" / "brief.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("place", ["", ".", "here", "script"])
def test_a_child_looks_neither_where_we_work_nor_beside_the_script(
    folder: Path, import_paths: None, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Whatever this process does: an empty place, a relative one, the folder itself, that of a script."""
    other = folder / "elsewhere"
    other.mkdir()
    if place == "script":
        monkeypatch.chdir(other)
        monkeypatch.setattr("__main__.__file__", str(folder / "main.py"), raising=False)
    sys.path.insert(0, str(folder) if place in ("here", "script") else place)
    (folder / "probe_of_isolated.py").write_text("")
    done = run(command("json.tool", "--help"), folder)
    assert (done.returncode, imported(folder)) == (0, ""), done.stderr
    missing = run(command("probe_of_isolated"), folder)
    assert "No module named probe_of_isolated" in missing.stderr


def test_a_place_of_ours_stays_in_its_order(tmp_path: Path, import_paths: None) -> None:
    sys.path.insert(0, str(tmp_path))
    assert command("m", "a")[4:] == [os.pathsep.join(place for place in sys.path if place not in ("", ".")), "m", "a"]
    assert command("m", folder=tmp_path)[4].split(os.pathsep)[0] != str(tmp_path)


def test_the_environment_of_others_is_as_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once, the first ends first."""
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(folder), ".", str(CHECKOUT)]))
    before = dict(os.environ)
    first, second = safe_paths(), safe_paths()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert (os.environ["PYTHONSAFEPATH"], os.environ["PYTHONPATH"]) == ("1", str(CHECKOUT))
    second.__exit__(None, None, None)
    assert dict(os.environ) == before


def test_what_is_sent_says_where_its_modules_are(tmp_path: Path, import_paths: None) -> None:
    """A class by its name, read by another process; names that nobody allowed stay unknown there as here."""
    sent = "from beside_of_isolated import VALUE\nclass Model:\n    value = VALUE\n"
    (tmp_path / "sent_of_isolated.py").write_text(sent)
    (tmp_path / "beside_of_isolated.py").write_text("VALUE = 7\n")
    (tmp_path / "other_of_isolated.py").write_text("")
    finder = look_in(str(tmp_path), ["sent_of_isolated"])
    assert look_in(str(tmp_path), ["sent_of_isolated"]) is finder
    model = import_module("sent_of_isolated").Model()
    assert finder.names == {"sent_of_isolated", "beside_of_isolated"}
    with pytest.raises(ModuleNotFoundError):
        import_module("other_of_isolated")
    SharedBytes.of(model).data.tofile(tmp_path / "value")
    read = f"SharedBytes('', np.fromfile({str(tmp_path / 'value')!r}, np.uint8)).read().value"
    words = [
        sys.executable,
        "-c",
        f"import numpy as np; from uq_report.core.engine.workers import SharedBytes; print({read})",
    ]
    assert run(words, CHECKOUT).stdout == "7\n"
    assert pickle.loads(pickle.dumps(Broadcast(model))).read().value == 7


@pytest.mark.parametrize("script", [os.__file__, pytest.__file__, str(Path(pytest.__file__).parents[1] / "py.py")])
def test_what_is_installed_stays_where_it_is_also_if_it_is_the_script(
    script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of ``python -m pdb`` and of notebooks' launchers."""
    before = command("m")
    monkeypatch.setattr("__main__.__file__", script, raising=False)
    assert command("m") == before


def test_a_model_may_lie_in_a_folder_below_and_have_a_neighbour(folder: Path, import_paths: None) -> None:
    below = folder / "importlib_below"  # a name like that of Python's machinery, without __init__
    below.mkdir()
    (below / "first.py").write_text("def model():\n    import beside_below_of_isolated as b\n    return b.VALUE\n")
    (folder / "beside_below_of_isolated.py").write_text("VALUE = 7\n")
    assert FactoryLoader().load("importlib_below.first:model") == 7
    assert (str(folder) in sys.path, imported(folder)) == (False, "")


def test_an_installed_module_comes_before_one_of_the_folder(folder: Path, import_paths: None) -> None:
    (folder / "colorsys.py").write_text("def model():\n    return 7\n")
    with pytest.raises(InputError, match=r"colorsys has no function 'model' \(.*colorsys\.py\).*no installed one has"):
        FactoryLoader().load("colorsys:model")
