"""Every registered plugin keeps the contract, through the same checks that plugin authors use."""

from collections.abc import Callable
from typing import Any

import pytest

from uq_report import plugins, testing
from uq_report.core.errors import MissingDependencyError
from uq_report.report.document import Document, Paragraph, Section

DOCUMENT = Document(
    title="T",
    subtitle="S",
    as_of="2026-01-01",
    generator="test",
    evidence_sha256="0" * 64,
    sections=(Section(id="one", title="One", blocks=(Paragraph(text="Text <b> & more"),)),),
)
CHECKS: dict[str, tuple[Callable[..., None], ...]] = {
    "uq_report.explainers": testing.explainer_checks(),
    "uq_report.measures": testing.measure_checks(),
    "uq_report.adapters": testing.adapter_checks(),
    "uq_report.checks": testing.check_checks(),
    "uq_report.renderers": testing.renderer_checks(),
}
CASES = [
    pytest.param(plugin, check, id=f"{plugin.name}-{check.__name__}")
    for group, checks in CHECKS.items()
    for plugin in plugins.find(group)
    for check in checks
]


@pytest.mark.parametrize(("plugin", "check"), CASES)
def test_contract(plugin: plugins.Plugin, check: Callable[..., Any]) -> None:
    try:
        loaded = plugins.load(plugin)
        check(loaded, DOCUMENT) if check in testing.renderer_checks() else check(loaded)
    except MissingDependencyError as missing:
        pytest.skip(str(missing))


def test_every_plugin_met_every_check_of_its_group() -> None:
    expected = sum(len(plugins.find(group)) * len(checks) for group, checks in CHECKS.items())
    assert len(CASES) == expected
    assert expected >= 75


def test_every_file_of_a_plugin_folder_has_an_entry_point_and_back() -> None:
    from pathlib import Path

    root = Path(testing.__file__).parent
    for group in ("explainers", "adapters", "checks", "loaders"):
        files = {f.stem for f in (root / group).glob("*.py") if not f.stem.startswith("_")}
        named = {p.entry.module.rpartition(".")[2] for p in plugins.find(f"uq_report.{group}")}
        assert named == files, group


class _Broken:
    name = "broken"


def test_the_checks_can_fail() -> None:
    for check in testing.explainer_checks()[:1]:
        with pytest.raises(testing.ContractError, match=r"_Broken|broken"):
            check(_Broken)  # type: ignore[arg-type]
    with pytest.raises(testing.ContractError):
        testing.check_adapter_ignores_strangers(_Greedy)


class _Greedy:
    name = "greedy"
    api_version = 1

    def matches(self, model: Any) -> str:
        return "yes"
