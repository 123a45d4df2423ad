"""What a run says about itself: every plugin with its part, the environment, and the clock."""

from __future__ import annotations

import platform
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from os import cpu_count
from typing import Any

from ..core.subject import Subject
from ..core.text import count
from ..evidence import columns as col
from ..evidence.run import NotRun, PluginRecord, Run
from . import plugins
from .plugins import Catalog, Plugin
from .settings import Settings

# what an audit itself has no use for: its contract was not checked here
_NOT_IMPORTED = (plugins.SECTIONS, plugins.FIGURES, plugins.RENDERERS, plugins.LOADERS)


def denied(settings: Settings) -> list[NotRun]:
    """Return the installed plugins that the deny list kept out."""
    return [
        NotRun(plugin.name, plugin.short_group, "denied by the settings; it was not imported")
        for plugin in plugins.denied(settings.deny)
    ]


def plugin_records(catalog: Catalog, run: Run, subject: Subject, rows: Mapping[str, int]) -> tuple[PluginRecord, ...]:
    """Return every plugin with what it did.

    Parameters
    ----------
    rows : mapping of str to int
        Rows predicted for each explainer; the adapter in use predicted them all.
    """
    reasons = {(entry.group, entry.name): entry.reason for entry in run.not_run}

    def record(plugin: Plugin) -> PluginRecord:
        group = plugin.short_group
        reason = reasons.get((group, plugin.name))
        predicted = rows.get(plugin.name, 0) if group == "explainers" else 0
        if group == "adapters" and plugin.name == subject.adapter.name:
            predicted = sum(rows.values())
        return PluginRecord(
            group=group,
            name=plugin.name,
            distribution=plugin.distribution,
            version=plugin.version,
            api_version=0 if plugin.entry.group in _NOT_IMPORTED else plugins.API_VERSION,
            rows_predicted=predicted,
            outcome=f"not run: {reason}" if reason else _outcome(group, plugin.name, run, subject),
        )

    return tuple(record(plugin) for members in catalog.values() for plugin in members)


def _outcome(group: str, name: str, run: Run, subject: Subject) -> str:
    """Say in a word what a plugin did."""
    if group == "explainers":
        return f"ran: {count(sum(result.explainer == name for result in run.results), 'result')}"
    if group == "rules":
        return next(outcome.state for outcome in run.outcomes if outcome.check == name).replace("_", " ")
    if group == "measures":
        return "used" if any((result.estimates[col.MEASURE] == name).any() for result in run.results) else "not used"
    if group == "adapters":
        return "used" if name == subject.adapter.name else "not used"
    return "available"


def environment(catalog: Catalog, subject: Subject) -> dict[str, Any]:
    """Return the versions of Python, the platform, and every package that took part or may have."""
    distributions = {plugin.distribution for members in catalog.values() for plugin in members}
    libraries = {type(part).__module__.partition(".")[0] for part in (subject.model, subject.adapter)}
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        **plugins.versions(distributions | libraries),
    }


def clock(settings: Settings, started: datetime, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return what differs between equal runs: durations, the host, and its workers."""
    return {
        "started": started.isoformat(timespec="seconds"),
        "seconds": {name: round(duration, 3) for name, duration in seconds.items()},
        "total_seconds": round((datetime.now(UTC) - started).total_seconds(), 3),
        "host": socket.gethostname(),
        "processors": cpu_count(),
        "n_jobs": settings.n_jobs,
        "backend": settings.backend,
    }
