"""Plugins become objects with their options: every mistake in the options is reported before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ..core.errors import InputError, PluginError, UQReportError, nearest
from ..core.explainer import Explainer, wishes
from ..core.measures import Measure
from ..evidence.run import NotRun
from ..rules.contract import Check
from . import plugins
from .options import options_of, read_options
from .plugins import Catalog, Plugin
from .settings import Settings


@dataclass(frozen=True)
class Prepared:
    """What an audit will use, in order, and what it cannot use."""

    measures: Mapping[str, Measure]
    explainers: Mapping[str, Explainer]
    checks: Mapping[str, Check]
    not_run: tuple[NotRun, ...]


def prepare(catalog: Catalog, settings: Settings) -> Prepared:
    """Import the chosen plugins and give them their options.

    Raises
    ------
    InputError
        One line for every unknown name and every wrong option.
    PluginError
        If explainers need each other in a circle, or a required plugin cannot be used.
    """
    broken: list[NotRun] = []
    mistakes: list[str] = []
    measures = _loaded(catalog[plugins.MEASURES], settings, broken)
    chosen = _chosen(catalog[plugins.EXPLAINERS], settings.explainers, "explainers", broken, mistakes)
    classes = _loaded(chosen, settings, broken)
    checking = _chosen(catalog[plugins.RULES], settings.rules, "rules", broken, mistakes)
    check_classes = _loaded(checking, settings, broken)
    _loaded(catalog[plugins.ADAPTERS], settings, broken)
    options = {_key(name): dict(given) for name, given in settings.options.items()}
    known = {f"{p.short_group}.{p.name}" for p in (*catalog[plugins.EXPLAINERS], *catalog[plugins.RULES])}
    mistakes += [_unknown(name, known) for name in options if name not in known]
    explainers = {name: _made(cls, f"explainers.{name}", options, mistakes) for name, cls in classes.items()}
    checks = {name: _made(cls, f"rules.{name}", options, mistakes) for name, cls in check_classes.items()}
    if mistakes:
        raise InputError("\n".join(mistakes))
    return Prepared(measures, {name: explainers[name] for name in ordered(explainers)}, checks, tuple(broken))


def option_mistakes(settings: Settings) -> list[str]:
    """Return what `prepare` would refuse, one line each."""
    try:
        prepare(plugins.catalog(settings.deny, settings.require), settings)
    except UQReportError as error:
        return str(error).splitlines()
    return []


def load_measures(deny: Iterable[str] = ()) -> dict[str, Measure]:
    """Return every registered measure by name."""
    return {plugin.name: plugins.load(plugin) for plugin in plugins.find(plugins.MEASURES, deny)}


def make_explainer(name: str, options: Mapping[str, Any], deny: Iterable[str] = ()) -> Explainer:
    """Return one explainer with its options; report every mistake in them."""
    cls = plugins.load(plugins.named(plugins.find(plugins.EXPLAINERS, deny), name, "explainer"))
    mistakes: list[str] = []
    explainer: Explainer = _made(cls, name, {name: dict(options)}, mistakes)
    if mistakes:
        raise InputError("\n".join(mistakes))
    return explainer


def ordered(explainers: Mapping[str, Explainer]) -> list[str]:
    """Return the names so that each comes after what it needs, or wishes to come after, else by name."""
    graph = {name: {need for need in explainers[name].needs if need in explainers} for name in sorted(explainers)}
    last = {name for name in graph if "*" in wishes(explainers[name])}
    early = set(graph) - _dependents(graph, last)
    for name in graph:
        graph[name] |= (early if name in last else set()) | (set(wishes(explainers[name])) & set(graph))
    try:
        return list(TopologicalSorter({name: sorted(before) for name, before in graph.items()}).static_order())
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise PluginError(f"explainers.needs must not form a circle; got {circle}. Deny one of them.") from error


def _dependents(graph: Mapping[str, set[str]], names: set[str]) -> set[str]:
    """Return the names themselves and everything that needs one of them, directly or not."""
    found = set(names)
    while more := {name for name, needs in graph.items() if needs & found} - found:
        found |= more
    return found


def _chosen(
    found: Sequence[Plugin], wanted: Iterable[str] | None, group: str, not_run: list[NotRun], mistakes: list[str]
) -> list[Plugin]:
    """Return the plugins to use; note those left out, and names nobody registered."""
    if wanted is None:
        return list(found)
    names = {plugin.name for plugin in found}
    asked = set(wanted)
    mistakes += [
        f"settings.{group} must list registered names; got {name!r}. {nearest(name, names)}"
        for name in sorted(asked - names)
    ]
    not_run += [NotRun(name, group, "not chosen in the settings") for name in sorted(names - asked)]
    return [plugin for plugin in found if plugin.name in asked]


def _loaded(found: Iterable[Plugin], settings: Settings, broken: list[NotRun]) -> dict[str, Any]:
    """Import plugins; one that cannot be used is noted with its reason, or stops the run if it is required."""
    loaded = {}
    for plugin in found:
        try:
            loaded[plugin.name] = plugins.load(plugin)
        except UQReportError as error:
            if any(plugin.answers_to(word) for word in settings.require):
                raise
            broken.append(NotRun(plugin.name, plugin.short_group, str(error)))
    return loaded


def _made(cls: Any, key: str, options: Mapping[str, dict[str, Any]], mistakes: list[str]) -> Any:
    """Return an object of `cls` with its options, or None with the mistakes noted."""
    known, given = options_of(cls), options.get(key, {})
    usable, wrong = read_options(known, given, key, Settings.model_fields)
    mistakes += wrong
    if any(known[name].default is MISSING for name in given if name in known and name not in usable):
        return None
    try:
        return cls(**usable)
    except (InputError, TypeError) as error:
        group, _, name = key.rpartition(".")
        own = f"{name}."  # options name themselves; the key says whether it is the explainer or the check
        lines = str(error).splitlines()
        mistakes += [f"{group}.{line}" if group and line.startswith(own) else line for line in lines]
        return None


def _key(name: str) -> str:
    """Return ``explainers.pfi`` for ``pfi``; ``rules.x`` stays."""
    return name if name.startswith(("explainers.", "rules.")) else f"explainers.{name}"


def _unknown(key: str, known: set[str]) -> str:
    names = {name.removeprefix("explainers.") for name in known}
    name = key.removeprefix("explainers.")
    return f"settings.options must be keyed by explainer, or rules.<name>; got {name!r}. {nearest(name, names)}"
