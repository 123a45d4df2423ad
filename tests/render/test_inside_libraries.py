"""Names inside other libraries are listed, are there, and were tried with the version that is installed."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from uq_report import render
from uq_report.inputs import fast_paths

ROOT = Path(__file__).parents[2]


def table(text: str | None) -> list[list[str]]:
    """Return library, version, place and name of each row of the table in a docstring."""
    return [line.split()[:4] for line in str(text).split("=\n")[2].splitlines()[:-1]]


BOUND = table(render.__doc__)
ROWS = [*BOUND, *table(fast_paths.__doc__)]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = [Requirement(text) for text in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["sign"])]
PATCHING = [
    *(ROOT / "uq_report").glob("render/*.py"),
    *(ROOT / "uq_report").glob("inputs/fast_paths/**/*.py"),
    *(ROOT / "uq_report").glob("document/plots/*.py"),
    *(ROOT / "uq_report").glob("ops/verification/*.py"),
    ROOT / "uq_report" / "ops" / "signing.py",
]


def source(place: str) -> str:
    """Return the source of a module, or of a class in one."""
    try:
        return inspect.getsource(import_module(place))
    except ModuleNotFoundError:
        module, _, name = place.rpartition(".")
        return inspect.getsource(getattr(import_module(module), name))


@pytest.mark.parametrize(("library", "below", "place", "name"), ROWS)
def test_a_name_inside_a_library_is_there_in_a_version_that_was_tried(
    library: str, below: str, place: str, name: str
) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    installed = version({"sklearn": "scikit-learn"}.get(library, library))
    assert Version(installed) < Version(below), f"{library}: try {place} {name} with {installed}"
    assert re.search(rf"\b{name}\b" if name[0].isalnum() else re.escape(name), source(place)), f"{place} has no {name}"


@pytest.mark.parametrize(("library", "below"), sorted({(library, below) for library, below, *_ in BOUND}))
def test_a_library_without_which_no_report_is_written_is_declared_below(library: str, below: str) -> None:
    (declared,) = (requirement for requirement in DECLARED if requirement.name == library)
    assert f"<{below}" in str(declared.specifier), f"{library} must be declared below {below} in pyproject.toml"


def test_every_private_name_of_another_object_is_listed() -> None:
    listed = {name for *_, name in ROWS}
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in PATCHING]
    used = {
        node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _private(node)
    }
    assert used - {"_exit", "_replace", "_fields"} <= listed  # those of the standard library


def _private(node: ast.Attribute) -> bool:
    """Say whether an attribute is a private one of something else than the object itself."""
    own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    return re.match("_[a-z]", node.attr) is not None and not own
