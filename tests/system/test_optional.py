"""With the libraries of the package alone, everything loads but what is named after an optional one."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# What needs an optional library to be loaded at all; whoever loads it says so first.
NEEDS = {
    "uq_report.inputs.fast_paths.trees.walks": "numba",
    "uq_report.ops.tracking.evaluation": "mlflow",
    "uq_report.ops.tracking.evaluator": "mlflow",
}
LOAD = """
import importlib, json, pkgutil, sys
optional = set(json.loads(sys.argv[1]))

class Bare:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in optional:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

sys.meta_path.insert(0, Bare())
import uq_report
from uq_report.core.support.errors import MissingDependencyError
missing = {}
for module in pkgutil.walk_packages(uq_report.__path__, "uq_report."):
    if module.name != "uq_report.__main__":
        try:
            importlib.import_module(module.name)
        except MissingDependencyError:
            pass
        except ModuleNotFoundError as error:
            missing[module.name] = error.name
public = [name for name in dir(uq_report) if getattr(uq_report, name) is None]
print(json.dumps(missing))
"""


def optional() -> list[str]:
    """Return the modules of the libraries that neither the package itself requires, nor one that it requires."""
    needed, todo = set[str](), ["uq_report"]
    while todo:
        name = todo.pop()
        needed.add(canonicalize_name(name))
        try:
            lines = requires(name) or []
        except PackageNotFoundError:  # of another system
            continue
        wanted = [
            line for line in map(Requirement, lines) if line.marker is None or line.marker.evaluate({"extra": ""})
        ]
        todo += [line.name for line in wanted if canonicalize_name(line.name) not in needed]
    modules = packages_distributions().items()
    return sorted(module for module, names in modules if needed.isdisjoint(map(canonicalize_name, names)))


def test_everything_else_loads_without_optional_libraries() -> None:
    words = [sys.executable, "-W", "ignore", "-c", LOAD, json.dumps(optional())]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == NEEDS
