"""Find, load and validate plugins: the one door, for built-ins and strangers alike.

The only user of `importlib.metadata`. Finding imports nothing; deny and require lists apply before
any plugin is imported; two plugins of one name in a group stop the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from importlib.metadata import (
    Distribution,
    EntryPoint,
    PackageNotFoundError,
    distribution,
    entry_points,
)
from itertools import pairwise
from typing import Any, NamedTuple

from .core.adapter import Adapter
from .core.errors import PluginError, UQReportError, nearest
from .core.explainer import Explainer
from .core.finding import Check
from .core.loader import Loader
from .core.measures import Measure

EXPLAINERS = "uq_report.explainers"
ADAPTERS = "uq_report.adapters"
MEASURES = "uq_report.measures"
CHECKS = "uq_report.checks"
RENDERERS = "uq_report.renderers"
LOADERS = "uq_report.loaders"

API_VERSION = 1
GROUPS = (EXPLAINERS, ADAPTERS, MEASURES, CHECKS, RENDERERS, LOADERS)
_PROTOCOLS: Mapping[str, type] = {EXPLAINERS: Explainer, ADAPTERS: Adapter, CHECKS: Check, LOADERS: Loader}
_RENDERER = frozenset({"name", "extension", "api_version", "render"})  # render/contract.py stands above this module
_TOOL_EXTRAS = frozenset({"test", "tests", "lint", "dev", "docs"})


class Plugin(NamedTuple):
    """One registered plugin, not imported."""

    name: str
    distribution: str
    version: str
    entry: EntryPoint

    @property
    def group(self) -> str:
        """The entry-point group, ``uq_report.explainers`` for one."""
        return self.entry.group

    @property
    def short_group(self) -> str:
        """The group as people write it, ``explainers``."""
        return self.entry.group.removeprefix("uq_report.")

    def __str__(self) -> str:
        """Say which plugin of which distribution, for messages."""
        return f"{self.short_group} {self.name!r} of {self.distribution} {self.version}"

    def answers_to(self, word: str) -> bool:
        """Say whether `word` of a deny or require list means this plugin: its name, group.name or distribution."""
        return word in (self.name, f"{self.short_group}.{self.name}") or (_normal(word) == _normal(self.distribution))


Catalog = Mapping[str, tuple[Plugin, ...]]


def find(group: str, deny: Iterable[str] = ()) -> tuple[Plugin, ...]:
    """List the plugins of one group by name, without importing them; two of one name are an error.

    Examples
    --------
    >>> [plugin.name for plugin in find("uq_report.renderers") if plugin.distribution == "uq_report"]
    ['html', 'junit', 'markdown', 'pdf']
    """
    if group not in GROUPS:
        raise PluginError(f"plugins.group must be a known group; got {group!r}. {nearest(group, GROUPS)}")
    denied = tuple(deny)
    found = sorted(
        plugin
        for plugin in map(_plugin, entry_points(group=group))
        if not any(plugin.answers_to(word) for word in denied)
    )
    for a, b in pairwise(found):
        if a.name == b.name:
            raise PluginError(
                f"{group} must have one plugin named {a.name!r}; got one from {a.distribution} {a.version} "
                f"and one from {b.distribution} {b.version}. Uninstall one, or deny it by its distribution's name."
            )
    return tuple(found)


def catalog(deny: Iterable[str] = (), require: Iterable[str] = ()) -> Catalog:
    """List the plugins of every group, after the deny list; refuse if a required one is missing."""
    denied = tuple(deny)
    found = {group: find(group, denied) for group in GROUPS}
    everything = [plugin for plugins in found.values() for plugin in plugins]
    for word in require:
        if not any(plugin.answers_to(word) for plugin in everything):
            why = "it is denied" if word in denied else "it is not installed"
            names = {name for plugin in everything for name in (plugin.name, plugin.distribution)}
            raise PluginError(f"plugins.require must name found plugins; got {word!r}: {why}. {nearest(word, names)}")
    return found


def denied(words: Iterable[str]) -> tuple[Plugin, ...]:
    """List the installed plugins that a deny list keeps out."""
    unwanted = tuple(words)
    everything = (_plugin(entry) for group in GROUPS for entry in entry_points(group=group))
    return tuple(sorted(plugin for plugin in everything if any(plugin.answers_to(word) for word in unwanted)))


def named(plugins: Iterable[Plugin], name: str, what: str) -> Plugin:
    """Return the plugin called `name`; say which one may be meant if there is none."""
    by_name = {plugin.name: plugin for plugin in plugins}
    if name not in by_name:
        hint = nearest(name, by_name) if by_name else "None is registered: install uq_report itself with pip."
        raise PluginError(f"{what} must be a registered name; got {name!r}. {hint}")
    return by_name[name]


def load(plugin: Plugin) -> Any:
    """Import one plugin and check it against its group's contract.

    Returns
    -------
    Measure or type
        A measure itself; for every other group a class, to be called with its options.

    Raises
    ------
    PluginError
        If the import fails, or the object breaks its contract; the message names the distribution.
    """
    try:
        loaded = plugin.entry.load()
    except UQReportError:
        raise
    except Exception as error:  # foreign code is imported: whatever it raises is told with its owner
        cause = f"{type(error).__name__}: {error}"
        raise PluginError(f"{plugin} cannot be imported: {cause}.{_remedy(plugin, error)}") from error
    problems = _problems(plugin, loaded)
    if problems:
        wrong = "; ".join(problems)
        raise PluginError(f"{plugin} breaks its contract: {wrong}. Upgrade or uninstall {plugin.distribution}.")
    return loaded


def _problems(plugin: Plugin, loaded: Any) -> list[str]:
    """List everything that is wrong with a loaded plugin."""
    problems = []
    api = getattr(loaded, "api_version", None)
    if api != API_VERSION:
        problems.append(f"api_version must be {API_VERSION}; got {api!r}")
    if getattr(loaded, "name", None) != plugin.name:
        problems.append(f"name must be the entry-point name {plugin.name!r}; got {getattr(loaded, 'name', None)!r}")
    if plugin.group == MEASURES:
        wrong = [] if isinstance(loaded, Measure) else [f"it must be a Measure; got a {type(loaded).__name__}"]
        return [*problems, *wrong]
    if not isinstance(loaded, type):
        return [*problems, f"it must be a class; got a {type(loaded).__name__}"]
    missing = sorted(name for name in _members(plugin.group) if not hasattr(loaded, name))
    if missing:
        problems.append(f"it lacks {', '.join(missing)}")
    if plugin.group == EXPLAINERS and not is_dataclass(loaded):
        problems.append("it must be a dataclass, whose fields are its options")
    return problems


def _members(group: str) -> frozenset[str]:
    """Return the names the classes of a group must have."""
    if group == RENDERERS:
        return _RENDERER
    protocol = _PROTOCOLS[group]
    return frozenset(name for name in (*protocol.__annotations__, *vars(protocol)) if not name.startswith("_"))


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the versions of distributions and of what they need directly, of those installed."""
    found: dict[str, str] = {}
    for name in {one for asked in distributions for one in (asked, *_needs(asked))}:
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        found[installed.name] = installed.version
    return dict(sorted(found.items()))


def _needs(name: str) -> list[str]:
    """Return the names a distribution requires, extras for its own development apart."""
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        return []
    return [req for req, extra in map(_requirement, lines) if extra not in _TOOL_EXTRAS]


def _requirement(line: str) -> tuple[str, str]:
    """Return the distribution a requirement line names, and its extra or the empty string.

    Examples
    --------
    >>> _requirement("dalex>=1.8; extra == 'dalex'")
    ('dalex', 'dalex')
    """
    name = re.match(r"[\w.-]+", line)
    extra = re.search(r"extra == ['\"]([^'\"]+)", line)
    return (name[0] if name else line), (extra[1] if extra else "")


def _remedy(plugin: Plugin, error: Exception) -> str:
    """Name the extra of the plugin's distribution that brings a missing library."""
    missing = getattr(error, "name", None)
    if not isinstance(error, ModuleNotFoundError) or not missing:
        return ""
    library = str(missing).partition(".")[0]
    if library == plugin.entry.module.partition(".")[0]:
        return f" {plugin.distribution} lacks a part of itself: install it again."
    extras = [extra for req, extra in map(_requirement, _lines(plugin)) if _normal(req) == _normal(library) and extra]
    smallest = min(extras, key=lambda extra: sum(e == extra for _, e in map(_requirement, _lines(plugin))), default="")
    return f" Install it with: pip install '{plugin.distribution}[{smallest}]'." if smallest else f" Install {library}."


def _lines(plugin: Plugin) -> list[str]:
    return (plugin.entry.dist.requires or []) if plugin.entry.dist else []


def _plugin(entry: EntryPoint) -> Plugin:
    owner: Distribution | None = entry.dist
    return Plugin(entry.name, owner.name if owner else "unknown", owner.version if owner else "unknown", entry)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
