"""module:function makes a model; every way to fail is told."""

import sys
from pathlib import Path

import pytest

from uq_report.core.support.errors import InputError
from uq_report.inputs.loaders.model_files import FactoryLoader


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, import_paths: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sys.path.insert(0, "")
    (tmp_path / "made_here.py").write_text(
        "VALUE = 3\ndef model(k=1):\n    return k\ndef broken():\n    raise OSError('no file')\n"
        "def ends():\n    exit()\n"
    )
    (tmp_path / "quits_here.py").write_text("raise SystemExit(0)\n")


@pytest.mark.parametrize(
    ("source", "matches"),
    [
        ("a:b", True),
        ("pkg.mod:make", True),
        ("C:\\m.skops", False),
        ("m.skops", False),
        ("a:b:c", False),
        ("a:", False),
    ],
)
def test_the_spelling_decides(source: str, matches: bool) -> None:
    assert FactoryLoader().matches(source) is matches


def test_the_function_is_called_with_its_options() -> None:
    assert FactoryLoader().load("made_here:model") == 1
    assert FactoryLoader().load("made_here:model", k=5) == 5


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no_such_module:model", "No module named 'no_such_module'. Run from the folder"),
        ("made_here:modell", "made_here has no function 'modell'"),
        ("made_here:VALUE", "made_here has no function 'VALUE'"),
        ("made_here:broken", "must return the model; got OSError: no file"),
        ("made_here:ends", "must return the model; got SystemExit: None"),
        ("quits_here:model", "can be imported; got 'quits_here:model': SystemExit: 0."),
    ],
)
def test_failures_are_told(source: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        FactoryLoader().load(source)
    assert message in str(caught.value)
