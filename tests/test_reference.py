"""The generated reference is complete, and the hand-written pages name what exists."""

import dataclasses
import importlib.util
import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

import uq_report as uq
from uq_report.api.interop import SHAP_PLOTS
from uq_report.api.several import AuditRuns
from uq_report.checks.rule import powers, stated
from uq_report.cli import app
from uq_report.core.support import errors
from uq_report.core.support.errors import EXIT_CODES, SITE
from uq_report.document.document import Document
from uq_report.document.plots.profile import CURVES
from uq_report.evidence.finding import Finding
from uq_report.jobs.audit_file import audit_schema
from uq_report.ops.schedule import ScheduledAudit, ScheduleFile
from uq_report.runner import plugins
from uq_report.runner.options import options_of
from uq_report.testing import linear_subject

DOCS = Path(__file__).parents[1] / "docs"
PACKAGE = Path(uq.__file__).parent
# verbs that give a view with a figure
VERBS = [
    "importance",
    "profile",
    "effects",
    "interactions",
    "sensitivity",
    "attributions",
    "covered_information",
    "adjusted_importance",
    "redundancy",
    "calibration",
    "segments",
    "selective",
    "groups",
    "drift",
    "agreement",
]


def module() -> ModuleType:
    """Load the generator of the reference."""
    spec = importlib.util.spec_from_file_location("reference", DOCS / "_ext" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


REFERENCE = module()


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    made: Mapping[str, str] = REFERENCE.pages()
    return made


def test_every_public_name_has_an_entry(pages: Mapping[str, str]) -> None:
    page = pages["reference/api"]
    assert [name for name in dir(uq) if name != "__version__" and f"## {name}\n" not in page] == []
    assert [name for name in vars(uq.dist) if name[0].isupper() and f"`{name}`" not in page] == []


def test_the_docstring_of_every_public_name_has_an_example_and_the_address_of_its_page(
    pages: Mapping[str, str],
) -> None:
    for name in set(dir(uq)) - {"__version__"}:
        text = inspect.getdoc(getattr(uq, name)) or ""
        assert ">>> " in text, name
        addresses = re.findall(rf"{SITE}/([\w/]+)\.html", text)
        assert addresses, name
        assert all(page in pages or (DOCS / f"{page}.md").is_file() for page in addresses), name


def test_every_class_that_a_verb_returns_has_an_entry_with_its_members(pages: Mapping[str, str]) -> None:
    subject = linear_subject(30)
    view, run = (
        uq.importance(subject, n_repeats=3),
        uq.audit(subject, explainers="redundancy", checks=(), progress=False),
    )
    returned = [subject, view, run, uq.case(subject, 1), uq.importance({"a": subject}, n_repeats=3), AuditRuns(a=run)]
    for cls in map(type, returned):
        section = pages["reference/api"].split(f"### {cls.__name__}\n")[1].split("\n### ")[0]
        members = section.split(":members: ")[1].split("\n")[0].split(", ")
        public = [name for name in vars(cls) if not name.startswith("_")]
        assert [name for name in public if callable(getattr(cls, name)) and name not in members] == []


def test_every_plugin_has_an_entry(pages: Mapping[str, str]) -> None:
    kinds = {plugins.EXPLAINERS: "explainers", plugins.CHECKS: "checks", plugins.MEASURES: "measures"}
    for group in plugins.GROUPS:
        page = pages[f"reference/{kinds.get(group, 'plugins')}"]
        own = [plugin.name for plugin in plugins.find(group) if plugin.distribution == "uq_report"]
        assert own
        assert [name for name in own if f"`{name}` |" not in page and f"## {name}\n" not in page] == []


def test_every_command_and_flag_has_an_entry(pages: Mapping[str, str]) -> None:
    for path, command in REFERENCE._commands(typer.main.get_command(app), ()):
        section = pages["reference/commands"].split(f"## uq-report {' '.join(path)}\n")[1].split("\n## ")[0]
        flags = [flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)]
        assert [flag for flag in flags if f"`{flag}`" not in section] == []


@pytest.mark.parametrize(("group", "page"), [(plugins.EXPLAINERS, "explainers"), (plugins.CHECKS, "checks")])
def test_every_option_has_an_entry(pages: Mapping[str, str], group: str, page: str) -> None:
    for plugin in plugins.find(group):
        if plugin.distribution == "uq_report":
            section = pages[f"reference/{page}"].split(f"\n## {plugin.name}\n")[1].split("\n## ")[0]
            options = options_of(plugins.load(plugin))
            assert [name for name in options if f"| `{name}` |" not in section] == []


def test_every_key_of_an_audit_has_an_entry(pages: Mapping[str, str]) -> None:
    for part, value in audit_schema()["properties"].items():
        section = pages["reference/audit_toml"].split(f"## `[{part}]`")[1].split("\n## ")[0]
        names = REFERENCE._part(value, audit_schema()["$defs"]).get("properties", {})
        assert [name for name in names if f"| `{name}` |" not in section] == []


def test_every_key_of_a_schedule_has_an_entry(pages: Mapping[str, str]) -> None:
    page = pages["reference/audits_toml"]
    keys = {*ScheduleFile.model_fields, *ScheduledAudit.model_fields}
    assert [key for key in keys if f"| `{key}` |" not in page] == []


def test_every_field_of_a_run_and_of_a_template_has_an_entry(pages: Mapping[str, str]) -> None:
    schema = json.loads((PACKAGE / "evidence" / "run.schema.json").read_text(encoding="utf-8"))
    assert [name for name in schema["properties"] if f"| `{name}` |" not in pages["reference/run_json"]] == []
    own = {field.name for field in dataclasses.fields(Document)}
    assert [name for name in own if f"`{name}`" not in pages["reference/templates"]] == []


def test_every_code_has_a_page_with_its_meaning_and_remedy(pages: Mapping[str, str]) -> None:
    codes = {rule.code for _, rule in REFERENCE.rules()}
    assert set(stated()) == codes
    assert {name for name in pages if re.fullmatch(r"findings/UQ\d+", name)} == {f"findings/{code}" for code in codes}
    assert all(text.get(part) for text in stated().values() for part in ("meaning", "example", "action"))


def test_the_page_of_a_code_prints_its_measured_power(pages: Mapping[str, str]) -> None:
    assert set(powers()) <= set(stated())
    for code, faults in powers().items():
        assert all(
            f"| {fault} | {size} | {k} of {n} |" in pages[f"findings/{code}"] for fault, (size, k, n) in faults.items()
        )
        assert all(0 <= raised <= n for _, raised, n in faults.values())


def test_the_address_of_a_finding_is_a_page_of_the_documentation(pages: Mapping[str, str]) -> None:
    same: dict[str, Any] = {"title": "", "severity": "low", "statement": "", "evidence": ("pfi",), "rests_on": ""}
    for code in stated():
        assert Finding(code=code, **same).docs.removeprefix(f"{SITE}/").removesuffix(".html") in pages
    assert Finding(code="SCREEN1", **same).docs == ""


def test_every_exit_code_and_variable_has_an_entry(pages: Mapping[str, str]) -> None:
    assert [code for code in EXIT_CODES if f"| {code} |" not in pages["reference/exit_codes"]] == []
    written = (DOCS / "reference" / "environment.md").read_text(encoding="utf-8")
    assert [name for name in REFERENCE.variables() if f"`{name}`" not in written] == []


def test_every_family_of_errors_is_among_the_problems() -> None:
    page = (DOCS / "about" / "faq.md").read_text(encoding="utf-8")
    families = {name for name, value in vars(errors).items() if isinstance(value, type) and name.endswith("Error")}
    assert len(families) > 10
    assert [name for name in families if name not in page] == []


def test_every_figure_of_a_method_is_in_the_gallery() -> None:
    shown = " ".join(file.read_text(encoding="utf-8") for file in (DOCS / "gallery").glob("*.py"))
    # those of a kind of result are drawn for many methods, and the main figure of a method by its verb
    parts = {plugin.name for plugin in plugins.find(plugins.FIGURES) if "." in plugin.name}
    verbs = {"calibration.reliability": "uq.calibration(subject).plot()"}
    assert [name for name in parts if name not in shown and verbs.get(name, name) not in shown] == []
    assert [verb for verb in VERBS if f"uq.{verb}(" not in shown] == []
    kinds = {*SHAP_PLOTS, *CURVES, "before_after", "swarm=True", "colour_by=", "by="} - {"both", "average"}  # default
    assert [kind for kind in kinds if kind not in shown] == []


def test_every_method_has_a_page_with_the_same_parts() -> None:
    parts = ("## definition", "failure modes", "## worked example", "## source")
    listed = re.findall(r"^(\w+)$", (DOCS / "methods" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {page.stem for page in (DOCS / "methods").glob("*.md")} == {*listed, "index"}
    for name in listed:
        text = (DOCS / "methods" / f"{name}.md").read_text(encoding="utf-8").lower()
        missing = [part for part in parts if part not in text]
        assert not missing, (name, missing)


def test_links_between_pages_lead_somewhere(pages: Mapping[str, str]) -> None:
    for page in [*DOCS.glob("[!_]*.md"), *DOCS.glob("[!_]*/*.md")]:
        for link in re.findall(r"\]\(([^)#]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            made = target.is_relative_to(DOCS) and str(target.relative_to(DOCS).with_suffix("")) in pages
            assert target.exists() or made or link.startswith("https://"), (page.name, link)
