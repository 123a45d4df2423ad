"""Modules of a folder: those that are named, and what they import from beside them."""

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

import uq_report
from uq_report.core.support.processes import command, look_in, looked_in


def test_only_named_modules_and_what_they_import_are_found(
    tmp_path: Path, import_paths: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nearby_first.py").write_text("import nearby_second")
    (tmp_path / "nearby_second.py").write_text("")
    finder = look_in(str(tmp_path), ["nearby_first"])
    assert look_in(str(tmp_path), ["nearby_first"]) is finder
    assert finder in looked_in()
    with pytest.raises(ModuleNotFoundError):
        import_module("nearby_second")
    for name in ("nearby_first", "nearby_second"):
        import_module(name)
        monkeypatch.delitem(sys.modules, name)
    assert finder.names == {"nearby_first", "nearby_second"}


def test_a_child_finds_this_package_wherever_it_lies(import_paths: None) -> None:
    """Behind the other places, and once; what is relative, and what is no text, is left out."""
    ours = str(Path(uq_report.__file__).parents[1])
    others = [place for place in sys.path if place != ours]
    sys.path[:] = [*others, "below/here", None]  # type: ignore[list-item] # as some programs leave it
    without = command("m")[4].split(os.pathsep)
    assert without[-1] == ours
    assert not {ours, "below/here"} & set(without[:-1])
    sys.path[:] = [ours, *others]
    assert command("m")[4].split(os.pathsep) == [ours, *without[:-1]]
