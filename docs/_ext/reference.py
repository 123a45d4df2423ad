"""Generate the reference pages from the package: every name, option, key, code, exit code and environment variable."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

import uq_report as uq
from uq_report.api.several import AuditRuns, ResultViews
from uq_report.api.single_case import Case
from uq_report.api.views import AuditRun, ResultView
from uq_report.checks.pages import page
from uq_report.cli import app
from uq_report.core.model.measures import Measure
from uq_report.core.model.subject import Subject
from uq_report.core.support.errors import EXIT_CODES
from uq_report.jobs.audit_file import audit_schema
from uq_report.ops.schedule import ScheduleFile
from uq_report.report.sections.reproducibility import TERMS
from uq_report.runner import plugins
from uq_report.runner.options import descriptions, options_of, summary

PACKAGE = Path(uq.__file__).parent
RETURNED = (Subject, ResultView, ResultViews, AuditRun, AuditRuns, Case)
OTHERS = (
    (plugins.ADAPTERS, "Adapters", "read a family of models"),
    (plugins.LOADERS, "Loaders", "read a file"),
    (plugins.FAST_PATHS, "Fast paths", "predict changed rows by the structure of a model"),
    (plugins.SECTIONS, "Sections", "write a part of a report"),
    (plugins.FIGURES, "Figures", "draw a result"),
    (plugins.RENDERERS, "Renderers", "write a format"),
)
VARIABLE = re.compile(r"\bUQ_(?:REPORT_)?[A-Z_]+\b")


def rules() -> Iterator[tuple[str, Any]]:
    """Yield every rule of this package with the name of its check."""
    for plugin in plugins.find(plugins.CHECKS):
        if plugin.distribution == "uq_report":
            for rule in plugins.load(plugin)().rules:
                yield plugin.name, rule


def findings() -> Mapping[str, str]:
    """Return a page for each finding code, and the index."""
    pages = {f"findings/{rule.code}": page(rule, check) for check, rule in sorted(rules(), key=lambda one: one[1].code)}
    rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.title} | {rule.severity} | `{check}` |" for check, rule in rules()
    ]
    toc = ["```{toctree}", ":hidden:", "", *(name.removeprefix("findings/") for name in pages), "```"]
    intro = "Each finding has a code. The page of a code states the rule, its thresholds, the measured false alarms and power, and the remedy."
    head = ["# Findings", "", intro, "", "| code | finding | worst severity | check |", "|---|---|---|---|"]
    return {**pages, "findings/index": "\n".join([*head, *sorted(rows), "", *toc]) + "\n"}


def plugin_page(group: str, title: str, intro: str) -> str:
    """Return a page with every plugin of a group and its options."""
    lines = [f"# {title}", "", intro]
    for plugin in plugins.find(group):
        if plugin.distribution != "uq_report":
            continue
        loaded = plugins.load(plugin)
        lines += ["", f"## {plugin.name}", "", summary(loaded) or ""]
        options = options_of(loaded)
        if options:
            lines += ["", "| option | type | default | meaning |", "|---|---|---|---|"]
            lines += [
                f"| `{o.name}` | {o.allowed} | {f'`{o.default_text}`' if o.default_text else 'required'} | {_cell(o.about)} |"
                for o in options.values()
            ]
    return "\n".join(lines) + "\n"


def measures() -> str:
    """Return the page of measures."""
    lines = [
        "# Measures",
        "",
        "A measure maps a predictive distribution, and where needed the outcome, to one number per observation.",
    ]
    lines += ["", "| measure | title | unit | role | needs y |", "|---|---|---|---|---|"]
    for plugin in plugins.find(plugins.MEASURES):
        loaded = plugins.load(plugin)
        if plugin.distribution == "uq_report" and isinstance(loaded, Measure):
            unit, needs = loaded.unit or "–", "yes" if loaded.needs_y else "no"
            lines.append(f"| `{plugin.name}` | {loaded.title or loaded.name} | {unit} | {loaded.role} | {needs} |")
    return "\n".join(lines) + "\n"


def api() -> str:
    """Return the page of public names."""
    lines = ["# Python API", "", "Everything below is imported from `uq_report`, by convention as `uq`.", ""]
    for name in sorted({*dir(uq)} - {"__version__"}):
        value = getattr(uq, name)
        if inspect.ismodule(value):
            public = (one for one in dir(value) if one[0].isupper() and inspect.isclass(getattr(value, one)))
            lines += [
                f"## {name}",
                "",
                inspect.cleandoc(value.__doc__ or "").split("\n\n")[0],
                "",
                ", ".join(f"`{one}`" for one in public),
                "",
            ]
            continue
        kind = "autoclass" if inspect.isclass(value) else "autofunction"
        lines += [f"## {name}", "", f"```{{eval-rst}}\n.. {kind}:: uq_report.{name}\n   :no-index-entry:\n```", ""]
    lines += ["## What the verbs return", ""]
    for cls in RETURNED:
        where, members = f"{cls.__module__}.{cls.__name__}", ", ".join(members_of(cls))
        lines += [
            f"### {cls.__name__}",
            "",
            f"```{{eval-rst}}\n.. autoclass:: {where}()\n   :members: {members}\n   :no-index-entry:\n```",
            "",
        ]
    return "\n".join(lines)


def members_of(cls: type) -> list[str]:
    """Return the public methods and properties that a class has of its own."""
    own = {name: value for name, value in vars(cls).items() if not name.startswith("_")}
    return [name for name, value in own.items() if inspect.isfunction(value) or isinstance(value, property)]


def other_plugins() -> str:
    """Return the page of the plugins that have no page of their own, by group."""
    lines = ["# Other plugins", "", "Each group is open to packages of your own; see [the hooks](../hooks.md)."]
    for group, title, what in OTHERS:
        own = [plugin for plugin in plugins.find(group) if plugin.distribution == "uq_report"]
        rows = [f"| `{plugin.name}` | {_cell(summary(plugins.load(plugin)) or '')} |" for plugin in own]
        lines += ["", f"## {title}", "", f"They {what}.", "", "| name | meaning |", "|---|---|", *rows]
    return "\n".join(lines) + "\n"


def commands() -> str:
    """Return the page of the command line."""
    main: Any = typer.main.get_command(app)
    lines = ["# Command line", "", "`uq-report COMMAND --help` prints the same text.", ""]
    for path, command in _commands(main, ()):
        lines += [f"## uq-report {' '.join(path)}", "", inspect.cleandoc(command.help or ""), ""]
        rows = [
            f"| {', '.join(f'`{o}`' for o in (*p.opts, *p.secondary_opts))} | {_cell(getattr(p, 'help', '') or '')} |"
            for p in command.params
        ]
        if rows:
            lines += ["| argument or option | meaning |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


def audit_keys() -> str:
    """Return the page of the keys of audit.toml."""
    return _keys(
        "audit.toml", audit_schema(), "An audit is described in a file of TOML. `uq-report init` writes a first one."
    )


def schedule_keys() -> str:
    """Return the page of the keys of audits.toml."""
    intro = "A schedule of several audits is described in a file of TOML. `uq-report schedule init` writes a first one."
    schema = ScheduleFile.model_json_schema()
    return _keys("audits.toml", schema, intro) + "\n## Whole file\n\n" + "\n".join(_table(schema)) + "\n"


def _keys(title: str, schema: Mapping[str, Any], intro: str) -> str:
    lines = [f"# {title}", "", intro]
    definitions = schema.get("$defs", {})
    for key, value in schema["properties"].items():
        part = _part(value, definitions)
        rows = _table(part)
        if rows or part.get("type") in ("object", "array"):
            lines += ["", f"## `[{key}]`"]
            if about := part.get("description", "") or value.get("description", ""):
                lines += ["", about.split("\n\nParameters")[0].strip()]
            lines += ["", *rows]
    return "\n".join(lines) + "\n"


def _part(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve a reference, also inside a list or a choice."""
    for candidate in (value, value.get("items", {}), *value.get("anyOf", ()), *value.get("allOf", ())):
        if "$ref" in candidate:
            return definitions[candidate["$ref"].rpartition("/")[2]]
    return value


def _table(part: Mapping[str, Any]) -> list[str]:
    """Return the table of the keys of a part, empty where it has none."""
    texts = (uq.explain.__doc__, uq.Settings.__doc__, part.get("description"))
    meaning = {name: words for text in texts for name, words in descriptions(inspect.cleandoc(text or "")).items()}
    rows = []
    for name, value in part.get("properties", {}).items():
        kind = " or ".join(_kinds(value)) or "table"
        default = f"`{json.dumps(value['default'], ensure_ascii=False)}`" if "default" in value else "–"
        rows.append(f"| `{name}` | {_cell(kind)} | {_cell(default)} | {_cell(meaning.get(name, ''))} |")
    return ["| key | type | default | meaning |", "|---|---|---|---|", *rows] if rows else []


def _kinds(value: Mapping[str, Any]) -> Iterator[str]:
    if "enum" in value:
        yield ", ".join(f"`{one}`" for one in value["enum"])
    elif "anyOf" in value:
        for one in value["anyOf"]:
            yield from _kinds(one)
    elif "type" in value:
        yield str(value["type"])


def exit_codes() -> str:
    """Return the page of exit codes."""
    rows = [f"| {code} | {_cell(words)} |" for code, words in EXIT_CODES.items()]
    return "\n".join(["# Exit codes", "", "| code | meaning |", "|---|---|", *rows]) + "\n"


def variables() -> set[str]:
    """Return the environment variables that the package and quickstart.sh read."""
    files = [*PACKAGE.rglob("*.py"), PACKAGE.parent / "quickstart.sh"]
    return {name for file in files if file.exists() for name in VARIABLE.findall(file.read_text(encoding="utf-8"))}


def glossary() -> str:
    """Return the glossary: the terms that a report defines."""
    entries = "\n\n".join(f"{term}\n: {text}" for term, text in sorted(TERMS.items(), key=lambda one: one[0].lower()))
    return f"# Glossary\n\nA report defines each of these terms where it uses it.\n\n{entries}\n"


def schema() -> str:
    """Return the page of the schema of run.json."""
    content = json.loads((PACKAGE / "evidence" / "run.schema.json").read_text(encoding="utf-8"))
    rows = [f"| `{name}` | {_cell(value.get('description', ''))} |" for name, value in content["properties"].items()]
    intro = "`run.json` holds everything that a report needs. The JSON Schema is part of the package: `uq_report/evidence/run.schema.json`."
    return "\n".join(["# run.json", "", intro, "", "| field | meaning |", "|---|---|", *rows]) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def pages() -> dict[str, str]:
    """Return every generated page by its path without suffix."""
    return {
        **findings(),
        "reference/api": api(),
        "reference/commands": commands(),
        "reference/audit_toml": audit_keys(),
        "reference/audits_toml": schedule_keys(),
        "reference/plugins": other_plugins(),
        "reference/templates": (PACKAGE.parent / "templates" / "README.md").read_text(encoding="utf-8"),
        "reference/exit_codes": exit_codes(),
        "reference/explainers": plugin_page(
            plugins.EXPLAINERS,
            "Explainers and their options",
            'Set an option with `options={"pfi": {...}}` or `[explainers.pfi]`.',
        ),
        "reference/checks": plugin_page(
            plugins.CHECKS,
            "Checks and their options",
            'Set an option with `options={"checks.calibration": {...}}` or `[checks.calibration]`.',
        ),
        "reference/measures": measures(),
        "reference/run_json": schema(),
        "glossary": glossary(),
    }


def write(folder: Path) -> None:
    """Write the generated pages that differ from what is there."""
    for name, text in pages().items():
        file = folder / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
