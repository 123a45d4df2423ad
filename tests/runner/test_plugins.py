"""The plugin door: find, load, validate; everything that is wrong stops loudly, with the guilty distribution."""

import sys

import pytest

import uq_report as uq
from uq_report.core.model import adapter
from uq_report.core.support.errors import PluginError
from uq_report.runner import plugins
from uq_report.testing import linear_subject

from ..packages import Packages, explainer

GROUP = "uq_report.explainers"


def named(name: str) -> plugins.Plugin:
    return plugins.named(plugins.find(GROUP), name, "explainer")


def test_built_ins_come_through_the_same_door() -> None:
    found = {group: [p.name for p in plugins.find(group)] for group in plugins.GROUPS}
    assert {"pfi", "pdp", "redundancy", "calibration", "dalex", "shap"} <= set(found[GROUP])
    assert {"csv", "parquet", "skops", "factory"} <= set(found["uq_report.loaders"])
    assert all(names == sorted(names) for names in found.values())


def test_adapters_are_of_the_contract_that_plugins_are_asked_for() -> None:
    assert adapter.Adapter.api_version == plugins.API_VERSION == 1


def test_finding_imports_nothing(packages: Packages) -> None:
    packages.explainer("boom", "raise SystemExit('imported')")
    assert "boom" in [p.name for p in plugins.find(GROUP)]
    assert "pkg_boom" not in sys.modules


def test_a_stranger_is_found_with_its_distribution_and_loads(packages: Packages) -> None:
    packages.explainer("extra", explainer("extra"))
    plugin = named("extra")
    assert (plugin.name, plugin.distribution, plugin.version) == ("extra", "pkg_extra", "1.0")
    assert plugins.load(plugin).name == "extra"


def test_metadata_that_are_half_written_stop_nothing(packages: Packages) -> None:
    packages.explainer("odd", explainer("odd", "return ()"))
    packages.explainer("even", explainer("even", "return ()"))
    for place in (entry for entry in packages.folder.iterdir() if entry.suffix == ".dist-info"):
        (place / "METADATA").write_text("")
    strangers = [plugin for plugin in plugins.find(plugins.EXPLAINERS) if plugin.name in ("odd", "even")]
    assert [str(plugin) for plugin in strangers] == [
        "explainers 'even' of unknown unknown", "explainers 'odd' of unknown unknown"
    ]  # fmt: skip
    assert plugins.versions(["uq_report"])["uq_report"] == uq.__version__


def test_two_plugins_of_one_name_stop_and_both_are_named(packages: Packages) -> None:
    packages.install("rival", {"explainers:pfi": "rival:Extra"}, explainer("pfi"), version="2.5")
    with pytest.raises(PluginError, match=r"'pfi'; got one from rival 2\.5 and one from uq_report"):
        plugins.find(GROUP)
    assert "pfi" in [p.name for p in plugins.find(GROUP, deny=["rival"])]


def test_one_name_in_two_groups_is_no_collision(packages: Packages) -> None:
    packages.install("rival", {"checks:pfi": "rival:Extra"})
    assert "pfi" in [p.name for p in plugins.find("uq_report.checks")]


@pytest.mark.parametrize("word", ["extra", "explainers.extra", "pkg_extra", "PKG-extra"])
def test_deny_applies_before_import(packages: Packages, word: str) -> None:
    packages.explainer("extra", "raise SystemExit('imported')")
    assert "extra" not in [p.name for p in plugins.catalog(deny=[word])[GROUP]]
    assert [p.name for p in plugins.denied([word])] == ["extra"]
    assert "pkg_extra" not in sys.modules


def test_deny_of_one_group_leaves_the_other() -> None:
    found = plugins.catalog(deny=["checks.calibration"])
    assert "calibration" not in [p.name for p in found["uq_report.checks"]]
    assert "calibration" in [p.name for p in found[GROUP]]


def test_require_names_what_is_missing_and_why() -> None:
    plugins.catalog(require=["pfi", "explainers.pdp", "uq-report"])
    with pytest.raises(PluginError, match=r"got 'pfy': it is not installed\. Did you mean 'pfi'\?"):
        plugins.catalog(require=["pfy"])
    with pytest.raises(PluginError, match="got 'shap': it is denied"):
        plugins.catalog(deny=["shap"], require=["shap"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (explainer("extra", api=2), "api_version must be 1; got 2"),
        (explainer("other"), "name must be the entry-point name 'extra'; got 'other'"),
        ("Extra = 3", "it must be a class; got a int"),
        (
            "class Extra:\n    name = 'extra'\n    api_version = 1",
            "it lacks explain, needs, requires, section; it must be",
        ),
        (explainer("extra", needs="pfi"), "needs must be tuple[str, ...]; got 'pfi'"),  # type: ignore[arg-type]
        (f"{explainer('extra')}Extra.after = ['pfi']", "after must be tuple[str, ...]; got ['pfi']"),
        (f"{explainer('extra')}Extra.card = 'words'", "card must be MethodCard; got 'words'"),
        ("", "cannot be imported: AttributeError"),
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        ("import no_such_library", "No module named 'no_such_library'. Install no_such_library."),
    ],
)
def test_a_broken_plugin_is_told_with_its_distribution(packages: Packages, source: str, message: str) -> None:
    packages.explainer("extra", source)
    with pytest.raises(PluginError, match=r"explainers 'extra' of pkg_extra 1\.0") as caught:
        plugins.load(named("extra"))
    assert message in str(caught.value)


def test_a_missing_library_names_the_extra_that_brings_it(packages: Packages) -> None:
    packages.install("fastpkg", {"explainers:fast": "fastpkg:X"}, "import no_such_lib.part", needs="no-such-lib>=2")
    with pytest.raises(PluginError, match=r"Install it with: pip install 'fastpkg\[fast\]'"):
        plugins.load(named("fast"))


def test_a_measure_must_be_a_measure(packages: Packages) -> None:
    packages.install("pkg", {"measures:odd": "pkg:odd"}, "class odd:\n    name = 'odd'\n    api_version = 1")
    plugin = plugins.named(plugins.find("uq_report.measures"), "odd", "measure")
    with pytest.raises(PluginError, match="it must be a Measure; got a type"):
        plugins.load(plugin)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ('role="odd"', r"'odd'\.role must be 'prediction' or 'loss' or 'uncertainty'; got 'odd'"),
        ('role="loss", direction="up"', r"'odd'\.direction must be 'larger' or 'smaller'; got 'up'"),
    ],
)
def test_a_measure_of_no_role_or_direction_is_told_with_its_distribution(
    packages: Packages, field: str, message: str
) -> None:
    source = (
        "from uq_report.core.model.measures import Measure\nodd = Measure('odd', print, 'nats', requires=frozenset(), "
    )
    packages.install("pkg", {"measures:odd": "pkg:odd"}, f"{source}{field})")
    plugin = plugins.named(plugins.find(plugins.MEASURES), "odd", "measure")
    with pytest.raises(PluginError, match=rf"measures 'odd' of pkg 1\.0 cannot be imported: .*{message}"):
        plugins.load(plugin)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ("slot = 'prediction'; shows = ('x',)", ""),
        ("slot = 'prediction.mine'; shows = ('x',)", ""),
        ("slot = 'predictions'; shows = ('x',)", "got 'predictions'. Did you mean 'prediction'?"),
        ("slot = 3; shows = ('x',)", "slot must be str; got 3"),
        ("slot = 'prediction'; shows = 'pfi'", "shows must be tuple[str, ...]; got 'pfi'"),
        ("shows = ()", "it lacks slot"),
    ],
)
def test_a_section_has_a_slot_and_ids_it_shows(packages: Packages, members: str, message: str) -> None:
    source = f"class Extra:\n    name = 'extra'; api_version = 1; {members}\n    def section(self, evidence): ..."
    packages.install("pkg", {"sections:extra": "pkg:Extra"}, source)
    plugin = plugins.named(plugins.find(plugins.SECTIONS), "extra", "section")
    if not message:
        assert plugins.load(plugin).name == "extra"
        return
    with pytest.raises(PluginError, match=r"sections 'extra' of pkg 1\.0 breaks its contract") as caught:
        plugins.load(plugin)
    assert message in str(caught.value)


def test_a_broken_section_does_not_cost_the_report(packages: Packages, caplog: pytest.LogCaptureFixture) -> None:
    packages.install("pkg", {"sections:extra": "pkg:Extra"}, "class Extra:\n    name = 'extra'; slot = 'nowhere'")
    run = uq.audit(linear_subject(40), explainers=["data_quality"], checks=[], as_of="2026-01-01")
    assert b"# Uncertainty audit" in run.render("markdown")
    assert "sections 'extra' of pkg 1.0 breaks its contract" in caplog.text


def test_half_of_an_optional_hook_is_refused(packages: Packages) -> None:
    source = (
        "class Extra:\n    name = 'extra'; api_version = 1; only_given_rows = 'stored'\n"
        "    def matches(self, model): ...\n    def predict(self, model, X): ...\n    def batch_rows(self, model): ..."
    )
    packages.install("pkg", {"adapters:extra": "pkg:Extra"}, source)
    with pytest.raises(PluginError, match="it lacks take"):
        plugins.load(plugins.named(plugins.find(plugins.ADAPTERS), "extra", "adapter"))


def test_unknown_names_and_groups_name_the_nearest() -> None:
    with pytest.raises(PluginError, match=r"got 'calibratio'\. Did you mean 'calibration'\?"):
        named("calibratio")
    with pytest.raises(PluginError, match=r"Did you mean 'uq_report\.explainers'"):
        plugins.find("uq_report.explainer")


def test_versions_hold_the_direct_needs_and_no_tools() -> None:
    found = plugins.versions(["uq_report", "pytest"])
    assert {"uq_report", "numpy", "pandas", "weasyprint"} <= set(found)
    assert "pytest-cov" not in found
    assert plugins.versions(["no-such-distribution"]) == {}


def test_every_built_in_loads_and_keeps_its_contract() -> None:
    for group in plugins.GROUPS:
        for plugin in plugins.find(group):
            if plugin.distribution == "uq_report":
                plugins.load(plugin)


def test_what_is_installed_meanwhile_is_found(packages: Packages) -> None:
    first = plugins.catalog()
    assert plugins.catalog(deny=["pfi"]) != first == plugins.catalog()
    assert len(plugins.denied(["pfi"])) == 1
    assert plugins.versions(["pkg_extra"]) == {}
    packages.explainer("extra", explainer("extra"))
    assert "extra" in [plugin.name for plugin in plugins.find(GROUP)]
    assert plugins.versions(["pkg_extra"]) == {"pkg_extra": "1.0"}
