"""Every registered plugin keeps the contract, through the same checks that plugin authors use."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor

import uq_report
from uq_report import testing
from uq_report.core.support.errors import MissingDependencyError
from uq_report.distributions import Normal
from uq_report.runner import plugins

Check = Callable[..., None]
CHECKS: dict[str, tuple[Check, ...]] = {
    plugins.EXPLAINERS: testing.explainer_checks(),
    plugins.MEASURES: testing.measure_checks(),
    plugins.ADAPTERS: testing.adapter_checks(),
    plugins.CHECKS: testing.check_checks(),
    plugins.SECTIONS: testing.section_checks(),
    plugins.FIGURES: testing.figure_checks(),
    plugins.RENDERERS: testing.renderer_checks(),
    plugins.LOADERS: testing.loader_checks(),
    plugins.FAST_PATHS: testing.fast_path_checks(),
}
CASES = [
    pytest.param(plugin, check, id=f"{plugin.name}-{check.__name__}")
    for group, checks in CHECKS.items()
    for plugin in plugins.find(group)
    for check in checks
]
X = np.random.default_rng(0).normal(size=(40, 3))
COUNTS = np.random.default_rng(1).poisson(np.exp(0.3 * X[:, 0]))
MODELS: dict[str, Callable[[], Any]] = {
    "classifier": lambda: LogisticRegression().fit(X, X[:, 0] > 0),
    "ensemble": lambda: RandomForestRegressor(5, random_state=0).fit(X, X[:, 0]),
    "function": lambda: _normal,
    "poisson": lambda: PoissonRegressor().fit(X, COUNTS),
    "regressor_std": lambda: BayesianRidge().fit(X, X[:, 0] + X[:, 1] ** 2),
}


def _normal(rows: Any) -> Normal:
    return Normal(np.asarray(rows)[:, 0], 1.0)


def load(group: str, name: str) -> Any:
    return plugins.load(plugins.named(plugins.find(group), name, group))


@pytest.mark.parametrize(("plugin", "check"), CASES)
def test_contract(plugin: plugins.Plugin, check: Check) -> None:
    try:
        check(plugins.load(plugin))
    except MissingDependencyError as missing:
        pytest.skip(str(missing))


def test_every_group_has_checks_and_every_plugin_met_them() -> None:
    assert set(CHECKS) == set(plugins.GROUPS)
    assert len(CASES) == sum(len(plugins.find(group)) * len(checks) for group, checks in CHECKS.items())
    assert len(CASES) >= 350


@pytest.mark.parametrize("check", testing.adapter_model_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_an_adapter_with_a_model_of_its_own(name: str, check: Check) -> None:
    check(load(plugins.ADAPTERS, name), MODELS[name](), X)


@pytest.mark.parametrize("check", testing.loader_source_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ["csv", "feather", "parquet"])
def test_a_loader_with_a_source_of_its_own(name: str, check: Check, tmp_path: Path) -> None:
    table, file = pd.DataFrame({"a": [1, 2]}), tmp_path / f"rows.{name}"
    table.to_csv(file, index=False) if name == "csv" else getattr(table, f"to_{name}")(file)
    check(load(plugins.LOADERS, name), str(file))


def classes_with_a_name(file: Path) -> Iterator[str]:
    """Yield the classes of a file that could be registered: those that give themselves a name."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            own = (field for field in node.body if isinstance(field, ast.AnnAssign) and field.value is not None)
            if any(isinstance(field.target, ast.Name) and field.target.id == "name" for field in own):
                yield node.name


@pytest.mark.parametrize("room", ["methods", "inputs", "checks"])
def test_every_plugin_of_a_room_is_registered(room: str) -> None:
    root = Path(uq_report.__file__).parent
    registered = {plugin.entry.value for group in plugins.GROUPS for plugin in plugins.find(group)}
    written = {
        f"uq_report.{'.'.join(file.relative_to(root).with_suffix('').parts)}:{name}"
        for file in (root / room).rglob("*.py")
        for name in classes_with_a_name(file)
    }
    assert written
    assert written <= registered
