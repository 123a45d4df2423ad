"""The JSON Schema of ``audit.toml``, with the options of every plugin that is installed."""

from __future__ import annotations

from typing import Any

from ..core.support.errors import UQReportError
from ..runner import plugins
from ..runner.options import options_of, summary
from .audit_file import audit_schema


def installed_schema() -> dict[str, Any]:
    """Return the schema of an ``audit.toml`` as it can be read on this machine, for editors.

    A name that no plugin has, and an option that a plugin has not, are mistakes in the file, and so in the schema.
    """
    schema = audit_schema()
    for name, group in (("explainers", plugins.EXPLAINERS), ("checks", plugins.CHECKS)):
        options = {plugin.name: _options(plugin) for plugin in plugins.find(group)}
        section = schema["properties"][name]
        schema["properties"][name] = {**section, "properties": options, "additionalProperties": False}
    return schema


def _options(plugin: plugins.Plugin) -> dict[str, Any]:
    """Return the table of one plugin's options; of a plugin that cannot be imported any are taken, as by the reader."""
    try:
        cls = plugins.load(plugin)
    except UQReportError as error:
        return {"type": "object", "description": str(error)}
    return {
        "type": "object",
        "description": summary(cls),
        "properties": {name: option.schema() for name, option in options_of(cls).items()},
        "additionalProperties": False,
    }
