"""What a run says of itself: its measures, methods and plugins, the environment, and the clock.

Strangers' plugins and our own are recorded alike: no plugin has to describe itself.
"""

import inspect
import platform
import re
import socket
from collections.abc import Iterable, Mapping, Set
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from os import cpu_count
from types import MappingProxyType
from typing import Any

from ..core.engine.fast_path_evaluator import Engine
from ..core.explainer import Explainer, HasCard, MethodCard
from ..core.model.measures import PREDICTION, Measure
from ..core.model.results import MeasureFacts, Result
from ..core.model.subject import Subject
from ..core.predictive import Distribution
from ..core.support.numbers import OUTCOME_UNIT
from ..core.support.text import count, short
from ..evidence import columns as col
from ..evidence.canonical import plain
from ..evidence.run import MethodRecord, NotRun, PluginRecord, Run
from . import plugins
from .options import summary
from .plugins import Catalog, Plugin
from .settings import Settings

_LABEL = 60
# what an audit itself has no use for: its contract was not checked here
_NOT_IMPORTED = (plugins.SECTIONS, plugins.FIGURES, plugins.RENDERERS, plugins.LOADERS)


def described(
    result: Result, measures: Mapping[str, MeasureFacts], options: Mapping[str, Any] = MappingProxyType({})
) -> Result:
    """Return a result with facts of its measures, and with options where it states none; what it states comes first."""
    tables = result.frame, result.estimates
    names = map(str, dict.fromkeys(chain.from_iterable(table[col.MEASURE].unique() for table in tables)))
    registered = {name: measures[name] for name in names if name in measures}
    return replace(result, options=result.options or options, measures=registered | dict(result.measures))


def measure_facts(measures: Iterable[Measure], dist: Distribution) -> dict[str, MeasureFacts]:
    """Return what readers must know of measures; the unit of a prediction is told in this model's own words."""
    facts = {m.name: MeasureFacts(m.title or m.name, m.unit, m.role, m.direction) for m in measures}
    if PREDICTION.name in facts:
        q: Any = dist
        probability = "proba" in dist.supports
        unit = f"probability of {short(str(q.classes[q.positive]), _LABEL)}" if probability else OUTCOME_UNIT
        facts[PREDICTION.name] = replace(facts[PREDICTION.name], unit=unit)
    return facts


def method_of(explainer: Explainer) -> MethodRecord:
    """Return what the run keeps of an explainer that ran."""
    options = plain(options_of(explainer), f"{explainer.name}.options")
    return MethodRecord(name=explainer.name, section=explainer.section, options=options, card=card_of(explainer))


def options_of(plugin: object) -> dict[str, Any]:
    """Return the fields of an explainer or check, which are its options as used."""
    options = fields(plugin) if is_dataclass(plugin) else ()
    return {option.name: getattr(plugin, option.name) for option in options}


def card_of(explainer: Explainer) -> MethodCard:
    """Return an explainer's card: its own, else the first paragraph and the references of its docstring."""
    if isinstance(explainer, HasCard):
        return explainer.card
    text = inspect.cleandoc(type(explainer).__doc__ or "")
    words = explainer.name.replace("_", " ")
    title = words[:1].upper() + words[1:]
    return MethodCard(title=title, definition=summary(type(explainer)), references=_references(text))


def _references(text: str) -> str:
    """Return the references of a numpydoc docstring, as plain words.

    Examples
    --------
    >>> _references('''Screen.
    ...
    ... References
    ... ----------
    ... .. [1] Fieller et al. 1957.
    ...
    ... Examples
    ... --------
    ... ''')
    'Fieller et al. 1957.'
    """
    part = re.search(r"^References\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(re.sub(r"\.\. \[\d+\]", "", part[1]).split()) if part else ""


def denied(settings: Settings) -> list[NotRun]:
    """Return the installed plugins that the deny list kept out."""
    reason = "denied by the settings; it was not imported"
    return [NotRun(plugin.name, plugin.short_group, reason, "not asked") for plugin in plugins.denied(settings.deny)]


def plugin_records(catalog: Catalog, run: Run, engine: Engine) -> tuple[PluginRecord, ...]:
    """Return every plugin with what it did.

    Parameters
    ----------
    engine : Engine
        After its work: the rows predicted for each explainer, all by the adapter in use or a fast path.
    """
    rows, served, adapter = engine.rows_predicted, engine.served, engine.subject.adapter.name
    reasons = {(entry.group, entry.name): entry.reason for entry in run.not_run}
    used = {adapter, *chain.from_iterable(result.estimates[col.MEASURE].unique() for result in run.results)}

    def record(plugin: Plugin) -> PluginRecord:
        group = plugin.short_group
        reason = reasons.get((group, plugin.name))
        predicted = rows.get(plugin.name, 0) if group == "explainers" else 0
        if group == "adapters" and plugin.name == adapter:
            predicted = sum(rows.values()) - sum(path.rows for path in served.values())
        outcome = _outcome(group, plugin.name, run, used)
        if group == "fast_paths":
            path = served.get(plugin.name)
            predicted, outcome = (path.rows, str(path)) if path else (0, "turned off by the settings")
        return PluginRecord(
            group=group,
            name=plugin.name,
            distribution=plugin.distribution,
            version=plugin.version,
            api_version=0 if plugin.entry.group in _NOT_IMPORTED else plugins.API_VERSION,
            rows_predicted=predicted,
            outcome=f"not run: {reason}" if reason else outcome,
        )

    return tuple(record(plugin) for members in catalog.values() for plugin in members)


def _outcome(group: str, name: str, run: Run, used: Set[str]) -> str:
    """Say in a word what a plugin did; `used` are the measures and the adapter that took part."""
    if group == "explainers":
        return f"ran: {count(sum(result.explainer == name for result in run.results), 'result')}"
    if group == "checks":
        return next(outcome.state for outcome in run.outcomes if outcome.check == name).replace("_", " ")
    if group in {"measures", "adapters"}:
        return "used" if name in used else "not used"
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
