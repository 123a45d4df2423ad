"""Options and names of plugins in a description: every wrong one, by its key."""

from __future__ import annotations

from collections.abc import Iterable

from .. import runner
from ..core.support.errors import nearest
from ..report import EXTENTS, NAMES
from ..runner import plugins
from ..runner.settings import Settings
from .audit_file import AuditFile

# How settings are called in messages of the runner -> where they stand in audit.toml.
_KEYS = (
    ("checks.policy.require", "policy.rules"),
    ("checks.direction.monotone", "expectations"),
    ("settings.options", "explainers"),
    ("settings.", "run."),
    ("plugins.require", "run.require"),
)


def option_mistakes(audit: AuditFile) -> list[str]:
    """Return the mistakes in names and options of explainers and checks, and plugins that are missing."""
    return [_by_key(line) for line in runner.option_mistakes(_with_all_options(audit))]


def _by_key(line: str) -> str:
    """Return a mistake with its key in audit.toml."""
    name, key = next((pair for pair in _KEYS if line.startswith(pair[0])), ("", ""))
    return key + line.removeprefix(name)


def unregistered(audit: AuditFile) -> list[str]:
    """Return the names of an adapter, format, template or appendix that nobody registered."""
    output, adapter = audit.output, audit.model and audit.model.adapter
    entries = [(f"output.formats[{number}]", name, plugins.RENDERERS) for number, name in enumerate(output.formats)]
    entries += [("model.adapter", adapter, plugins.ADAPTERS)] if adapter else []
    names = {key: (name, _names(group, audit.run.deny)) for key, name, group in entries}
    names |= {"output.template": (output.template, set(NAMES)), "output.appendix": (output.appendix, set(EXTENTS))}
    return [
        f"{key} must be a registered name; got {name!r}. {nearest(name, allowed)}"
        for key, (name, allowed) in names.items()
        if name not in allowed
    ]


def _names(group: str, deny: Iterable[str]) -> set[str]:
    return {plugin.name for plugin in plugins.find(group, deny)}


def _with_all_options(audit: AuditFile) -> Settings:
    """Return settings that also choose what has options without being chosen, so that these are looked at too."""
    settings, more = audit.settings(), {}
    for name, group in (("explainers", plugins.EXPLAINERS), ("checks", plugins.CHECKS)):
        chosen = getattr(settings, name)
        if chosen is not None:
            optioned = _names(group, settings.deny) & set(getattr(audit, name))
            more[name] = (*chosen, *sorted(optioned - set(chosen)))
    return settings.model_copy(update=more)
