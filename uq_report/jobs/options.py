"""Options and names of plugins in a description: every wrong one, by its key."""

from __future__ import annotations

from .. import runner
from ..core.errors import nearest
from ..report.kinds import KINDS
from ..report.sections.annex import EXTENTS
from ..runner import plugins
from ..runner.settings import Settings
from .audit_file import AuditFile

# How settings are called in messages of the runner -> where they stand in audit.toml.
_KEYS = (
    ("rules.policy.require", "policy.rules"),
    ("rules.direction.monotone", "expectations"),
    ("settings.options", "explainers"),
    ("settings.", "run."),
    ("plugins.require", "run.require"),
)


def option_mistakes(audit: AuditFile) -> list[str]:
    """Return the mistakes in names and options of explainers and checks, and plugins that are missing."""
    return [_by_key(line) for line in runner.option_mistakes(_with_all_options(audit))]


def _by_key(line: str) -> str:
    """Return a mistake with its key in audit.toml."""
    known = next(((name, key) for name, key in _KEYS if line.startswith(name)), ("", ""))
    return known[1] + line.removeprefix(known[0])


def unregistered(audit: AuditFile) -> list[str]:
    """Return the names of an adapter, format, template or annex that nobody registered."""
    output, deny = audit.output, audit.run.deny
    renderers = {plugin.name for plugin in plugins.find(plugins.RENDERERS, deny)}
    adapters = {plugin.name for plugin in plugins.find(plugins.ADAPTERS, deny)}
    asked = [(f"output.formats[{number}]", name, renderers) for number, name in enumerate(output.formats)]
    asked += [("output.template", output.template, set(KINDS)), ("output.annex", output.annex, set(EXTENTS))]
    if audit.model is not None and audit.model.adapter is not None:
        asked.append(("model.adapter", audit.model.adapter, adapters))
    return [
        f"{key} must be a registered name; got {name!r}. {nearest(name, known)}"
        for key, name, known in asked
        if name not in known
    ]


def _with_all_options(audit: AuditFile) -> Settings:
    """Return settings that also choose what has options without being chosen, so that these are looked at too."""
    settings, more = audit.settings(), {}
    for name, group, given in (
        ("explainers", plugins.EXPLAINERS, audit.explainers),
        ("rules", plugins.RULES, audit.rules),
    ):
        chosen = getattr(settings, name)
        if chosen is not None:
            known = {plugin.name for plugin in plugins.find(group, settings.deny)}
            more[name] = (*chosen, *sorted(known & set(given) - set(chosen)))
    return settings.model_copy(update=more)
