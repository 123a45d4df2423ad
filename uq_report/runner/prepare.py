"""Plugins become objects with their options: every mistake in the options is reported before anything runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any, NamedTuple

from ..checks.rule import Check
from ..core.engine.fast_path_evaluator import FastPath
from ..core.explainer import Explainer, priority_of, runs_after
from ..core.model.measures import Measure
from ..core.support.errors import FOREIGN, InputError, PluginError, UQReportError, cause_of, nearest, words_of
from ..evidence.run import NotRun
from . import plugins
from .options import options_of, read_options
from .plugins import Catalog, Plugin
from .settings import Settings, refuse


@dataclass(frozen=True)
class Prepared:
    """What an audit will use, in order, and what it cannot use."""

    measures: Mapping[str, Measure]
    explainers: Mapping[str, Explainer]
    checks: Mapping[str, Check]
    not_run: tuple[NotRun, ...]
    fast_paths: tuple[FastPath, ...] = ()


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
    measures = _loaded(catalog[plugins.MEASURES], settings, broken)
    objects, mistakes = _objects(catalog, settings, broken)
    _loaded(catalog[plugins.ADAPTERS], settings, broken)
    paths = _loaded(catalog[plugins.FAST_PATHS], settings, broken, _made) if settings.fast_paths else {}
    refuse(mistakes)
    explainers = {name: objects["explainers"][name] for name in ordered(objects["explainers"])}
    return Prepared(measures, explainers, objects["checks"], tuple(broken), tuple(paths.values()))


def _objects(
    catalog: Catalog, settings: Settings, broken: list[NotRun], *, mentioned: bool = False
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return explainers and checks with their options, and every mistake; `mentioned`: only those the settings name."""
    groups_of = {"explainers": catalog[plugins.EXPLAINERS], "checks": catalog[plugins.CHECKS]}
    options = {_key(name): dict(values) for name, values in settings.options.items()}
    keys = {f"{group}.{plugin.name}" for group, registered in groups_of.items() for plugin in registered}
    mistakes = [_unknown(key, keys) for key in options if key not in keys]
    objects = {}
    for group, registered in groups_of.items():
        selected = _selected(registered, getattr(settings, group), group, broken, mistakes)
        if mentioned:
            selected = [p for p in selected if f"{group}.{p.name}" in options or _required(p, settings)]
        make = partial(_object, group=f"{group}.", options=options, mistakes=mistakes)
        objects[group] = _loaded(selected, settings, broken, make)
    return objects, mistakes


def option_mistakes(settings: Settings) -> list[str]:
    """Return what `prepare` would refuse of names and options, one line each; what has no options is not imported."""
    try:
        catalog = plugins.catalog(settings.deny, settings.require)
        for group in (plugins.MEASURES, plugins.ADAPTERS):
            _loaded([plugin for plugin in catalog[group] if _required(plugin, settings)], settings, [])
        return _objects(catalog, settings, [], mentioned=True)[1]
    except UQReportError as error:
        return str(error).splitlines()


def load_measures(deny: Iterable[str] = ()) -> dict[str, Measure]:
    """Return every registered measure by name."""
    return {plugin.name: plugins.load(plugin) for plugin in plugins.find(plugins.MEASURES, deny)}


def load_fast_paths(settings: Settings) -> tuple[FastPath, ...]:
    """Return every registered fast path, or none where the settings turn them off."""
    registered = plugins.find(plugins.FAST_PATHS, settings.deny) if settings.fast_paths else ()
    return tuple(_made(plugin) for plugin in registered)


def make_explainer(name: str, options: Mapping[str, Any], deny: Iterable[str] = ()) -> Explainer:
    """Return one explainer with its options; report every mistake in them."""
    plugin = plugins.named(plugins.find(plugins.EXPLAINERS, deny), name, "explainer")
    mistakes: list[str] = []
    explainer: Explainer = _object(plugin, options={name: dict(options)}, mistakes=mistakes)
    refuse(mistakes)
    return explainer


def ordered(explainers: Mapping[str, Explainer]) -> list[str]:
    """Return the names so that each comes after what it needs, or wishes to come after, else by priority and name."""
    graph = {name: {need for need in explainers[name].needs if need in explainers} for name in sorted(explainers)}
    last = {name for name in graph if "*" in runs_after(explainers[name])}
    early = set(graph) - _dependents(graph, last)
    for name in graph:
        graph[name] |= (early if name in last else set()) | (set(runs_after(explainers[name])) & set(graph))
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise PluginError(f"explainers.needs must not form a circle; got {circle}. Deny one of them.") from error
    ready: list[tuple[int, str]] = []
    order: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(ready, (priority_of(explainers[name]), name))
        order.append(heappop(ready)[1])
        sorter.done(order[-1])
    return order


def _dependents(graph: Mapping[str, set[str]], names: set[str]) -> set[str]:
    """Return the names themselves and everything that needs one of them, directly or not."""
    dependents = set(names)
    while more := {name for name, needs in graph.items() if needs & dependents} - dependents:
        dependents |= more
    return dependents


def _selected(
    registered: Sequence[Plugin], names: Iterable[str] | None, group: str, not_run: list[NotRun], mistakes: list[str]
) -> Sequence[Plugin]:
    """Return the plugins to use; note those left out, and names nobody registered."""
    if names is None:
        return registered
    selected, every = set(names), {plugin.name for plugin in registered}
    words = f"settings.{group} must list registered names; got"
    hints = {name: "Leave it out for all." if name == "all" else nearest(name, every) for name in selected - every}
    mistakes += [f"{words} {name!r}. {hint}" for name, hint in sorted(hints.items())]
    not_run += [NotRun(name, group, "not chosen in the settings", "not asked") for name in sorted(every - selected)]
    return [plugin for plugin in registered if plugin.name in selected]


def _loaded(
    registered: Iterable[Plugin], settings: Settings, broken: list[NotRun], make: Callable[[Plugin], Any] = plugins.load
) -> dict[str, Any]:
    """Make something of plugins; one that cannot be used is noted with its reason, or stops the run if required."""
    loaded = {}
    for plugin in registered:
        try:
            loaded[plugin.name] = make(plugin)
        except UQReportError as error:
            if _required(plugin, settings):
                raise
            broken.append(NotRun(plugin.name, plugin.short_group, str(error), cause_of(error)))
    return loaded


def _required(plugin: Plugin, settings: Settings) -> bool:
    return any(map(plugin.answers_to, settings.require))


def _object(plugin: Plugin, *, options: Mapping[str, dict[str, Any]], mistakes: list[str], group: str = "") -> Any:
    """Return an object of a plugin with its options, or None with the mistakes noted."""
    cls, key = plugins.load(plugin), f"{group}{plugin.name}"
    known, values = options_of(cls), options.get(key, {})
    usable, wrong = read_options(known, values, key, Settings.model_fields)
    mistakes += wrong
    if any(known[name].default is MISSING for name in values if name in known and name not in usable):
        return None
    try:
        return _made(plugin, **usable)
    except (InputError, TypeError) as error:
        own = f"{plugin.name}."  # options name themselves; the key says whether it is the explainer or the check
        mistakes += [f"{group}{line}" if line.startswith(own) else line for line in str(error).splitlines()]
        return None


def _made(plugin: Plugin, **options: Any) -> Any:
    """Return an object of a plugin; what refuses its options passes, any other error is told with its owner."""
    try:
        return plugins.load(plugin)(**options)
    except (UQReportError, TypeError):
        raise
    except FOREIGN as error:
        raise PluginError(
            f"{plugin} cannot be made: {words_of(error)}. Upgrade or deny {plugin.distribution}."
        ) from error


def _key(name: str) -> str:
    """Return ``explainers.ice`` for ``ice``; ``checks.x`` stays."""
    return name if name.startswith(("explainers.", "checks.")) else f"explainers.{name}"


def _unknown(key: str, keys: set[str]) -> str:
    names = {name.removeprefix("explainers.") for name in keys}
    name = key.removeprefix("explainers.")
    return f"settings.options must be keyed by explainer, or checks.<name>; got {name!r}. {nearest(name, names)}"


class PassedObjects(NamedTuple):
    """The names and options of a call in which objects were passed, and these with their groups."""

    names: tuple[str, ...] | None
    options: dict[str, dict[str, Any]]
    objects: list[tuple[str, Any]]


def passed(group: str, given: Any) -> PassedObjects:
    """Return the names of explainers or checks given as names, classes or objects, one or several.

    Parameters
    ----------
    group : str
        ``plugins.EXPLAINERS`` or ``plugins.CHECKS``.
    given : str, class, object or sequence of these, optional

    Examples
    --------
    >>> passed(plugins.EXPLAINERS, "pfi").names
    ('pfi',)
    """
    if given is None:
        return PassedObjects(None, {}, [])
    several = given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    prefix = "" if group == plugins.EXPLAINERS else f"{group.removeprefix('uq_report.')}."
    chosen, options, objects = [], {}, []
    for each in several:
        if isinstance(each, str):
            chosen.append(each)
            continue
        cls = each if isinstance(each, type) else type(each)
        wrong = plugins.breaches(group, cls)
        if wrong:
            what = group.removeprefix("uq_report.")
            raise InputError(
                f"{what} must be names or objects of the contract; got {cls.__name__}: {'; '.join(wrong)}."
            )
        chosen.append(cls.name)  # type: ignore[attr-defined]  # the contract has it
        objects.append((group, cls))
        if is_dataclass(each) and not isinstance(each, type):
            options[prefix + chosen[-1]] = {f.name: getattr(each, f.name) for f in fields(each) if f.init}
    return PassedObjects(tuple(chosen), options, objects)


def measures_in(value: Any, objects: list[tuple[str, Any]]) -> Any:
    """Return options with every measure replaced by its name; the measures are added to `objects`.

    Examples
    --------
    >>> from uq_report.core.model.measures import NLL
    >>> found = []
    >>> measures_in({"pfi": {"measures": [NLL, "entropy"]}}, found), len(found)
    ({'pfi': {'measures': ['nll', 'entropy']}}, 1)
    """
    if isinstance(value, Measure):
        objects.append((plugins.MEASURES, value))
        return value.name
    if isinstance(value, Mapping):
        return {name: measures_in(inner, objects) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        several = [measures_in(inner, objects) for inner in value]
        return tuple(several) if isinstance(value, tuple) else several
    return value
