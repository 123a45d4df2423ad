"""One audit from a subject to a Run, and one explainer alone."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from time import perf_counter
from types import MappingProxyType
from typing import Any

from ..core.engine.fast_path_evaluator import Engine, FastPath, Progress, first_distribution
from ..core.explainer import Costs, Explainer, runs_after
from ..core.model.adapter import FixedRowsOnly
from ..core.model.describe import describe, hashes
from ..core.model.measures import Measure
from ..core.model.results import MeasureFacts, Result
from ..core.model.subject import Subject
from ..core.predictive import Distribution
from ..core.support import errors
from ..core.support.arrays import FloatArray
from ..core.support.errors import InputError, PluginError, UnsupportedError, UQReportError
from ..core.support.limits import limited
from ..core.traits.stochastic import first_gap, head_readings, two_calls
from ..evidence import codec
from ..evidence.canonical import plain
from ..evidence.run import NotRun, Run
from . import plugins, provenance
from .budget import TimeBudget, about, predicted
from .changes import changes, check_comparable
from .compare import check_pair, compare, compare_scores
from .differences import as_saved, with_kept_rows
from .judge import judge, sensitivity
from .plugins import Catalog, Plugin
from .prepare import Prepared, load_fast_paths, load_measures, make_explainer, prepare
from .provenance import described, measure_facts, method_of, options_of
from .settings import Settings

Callback = Callable[[Progress], None]
_log = logging.getLogger(__name__)
# settings that are the engine's
_OF_ENGINE = {"seed", "n_jobs", "backend", "scheduler", "batch_rows", "row_budget", "confidence"}

LEAST_ROWS = 2


@dataclass(frozen=True)
class Audited:
    """A run, and what a stopwatch and the machine say about it (clock.json; never part of the run)."""

    run: Run
    clock: Mapping[str, Any]


def run(
    subject: Subject,
    settings: Settings,
    progress: Callback | None = None,
    previous: Run | None = None,
    watch: TimeBudget | None = None,
    benchmark: Subject | None = None,
) -> Audited:
    """Run every explainer and check that applies.

    Anything an explainer or check raises becomes a `NotRun` with its reason; everything else is
    delivered. Only what makes every result impossible is raised: wrong settings, or a model that
    cannot predict the subject's rows, or a `previous` run of another task. Against that one, the run has its changes.
    The time limit counts from the start of the `watch`, now by default. Scores of a `benchmark` on the same rows stand
    beside those of the model, with paired differences.
    """
    other = None if benchmark is None else make_engine(benchmark, load_measures(settings.deny), settings, None)
    if other is not None:
        first_distribution(other.subject, LEAST_ROWS)  # one that cannot predict stops the run before the long work
    audited, audit = _whole(subject, settings, progress, (watch or TimeBudget()).limits(settings), previous)
    if other is not None:
        result = described(compare_scores((audit.engine, other), other.subject.label), audit.measures)
        results = (*audited.run.results, codec.as_saved(result))
        audited = replace(audited, run=replace(audited.run, results=results))
    return _filed(audited, previous)


def _whole(
    subject: Subject, settings: Settings, progress: Callback | None, watch: TimeBudget, previous: Run | None = None
) -> tuple[Audited, _Audit]:
    """Return an audit with the values of all rows, and what it was made with."""
    audit = _begun(subject, settings, progress, watch)
    if previous is not None:
        check_comparable(previous, audit.facts)
    audit.explain()
    return audit.finish(), audit


def facts(subject: Subject, settings: Settings) -> Run:
    """Return what a run says before the long work: subject, settings and environment, and no result.

    Its `inputs_key` is that of the whole run.
    """
    return _begun(subject, settings, None, TimeBudget()).facts


def _begun(subject: Subject, settings: Settings, progress: Callback | None, watch: TimeBudget) -> _Audit:
    """Prepare an audit; a model that cannot predict its rows stops it here, with one error."""
    _check_rows(subject)
    catalog = plugins.catalog(settings.deny, settings.require)
    prepared = prepare(catalog, settings)
    engine = make_engine(subject, prepared.measures, settings, progress, prepared.fast_paths)
    dist = engine.baseline if watch.seconds is None else predicted(engine, watch)
    start = Run(
        as_of=settings.as_of,
        subject=plain(describe(subject, dist), "run.subject"),
        settings=plain(settings.recorded(), "run.settings"),
        environment=plain(provenance.environment(catalog, subject), "run.environment"),
        not_run=(*prepared.not_run, *provenance.denied(settings)),
    )
    engine.limits, watch.of_workers = watch.exceeded if watch.limited else None, lambda: engine.worker_seconds
    return _Audit(settings, engine, dist, catalog, prepared, start, progress, watch)


def _check_rows(subject: Subject) -> None:
    """Refuse an audit of one row, over which nothing varies."""
    rows = subject.n if subject.weights is None else int((subject.weights > 0).sum())
    if rows < LEAST_ROWS:
        weighty = "" if subject.weights is None else " of positive weight"
        raise InputError(
            f"audit.X must have at least {LEAST_ROWS} rows{weighty}; got {rows}. Give more rows; uq.profile and "
            "uq.attributions explain a single one."
        )


def side_by_side(
    champion: Subject,
    challenger: Subject,
    settings: Settings,
    progress: Callback | None = None,
    previous: Run | None = None,
    watch: TimeBudget | None = None,
) -> Audited:
    """Audit two models on the same rows: the champion's run, holding the challenger's and the differences.

    They share the time limit: the champion has half of it, the challenger what is left.
    """
    check_pair(champion, challenger)
    both = (watch or TimeBudget()).limits(settings)
    first, one = _whole(champion, settings, progress, both.share(2))
    second, other = _whole(challenger, settings, progress, both.share(1))
    differences = compare(first.run, second.run, (one.engine, other.engine))
    facts = one.measures
    results = (*first.run.results, *(codec.as_saved(described(result, facts)) for result in differences))
    clocks = {label: audited.clock for label, audited in ((champion.label, first), (challenger.label, second))}
    return _filed(Audited(replace(first.run, results=results, challenger=second.run), clocks), previous)


def _filed(audited: Audited, previous: Run | None) -> Audited:
    """Return the audit with what a run keeps of its rows, and its changes since the previous run, if there was one."""
    run = with_kept_rows(audited.run)
    if previous is not None:
        run = replace(run, changes=changes(previous, run))
    return replace(audited, run=run)


def single(
    subject: Subject,
    name: str,
    options: Mapping[str, Any],
    settings: Settings,
    progress: Callback | None = None,
    before: Iterable[str] = (),
) -> tuple[Result, ...]:
    """Run one explainer, after those `before`, and those it needs or names in ``after``; raise what it raises.

    Raises
    ------
    UQReportError
        If it cannot run, or left out everything that was asked for; the message says why.
    """
    engine = make_engine(subject, load_measures(settings.deny), settings, progress, load_fast_paths(settings))
    prior: dict[str, tuple[Result, ...]] = {}

    def explain(explainer: Explainer) -> tuple[Result, ...]:
        for other in (*explainer.needs, *runs_after(explainer)):
            if other == "*" or other in prior:
                continue
            try:
                prior[other] = explain(make_explainer(other, {}, settings.deny))
            except UQReportError:
                if other in explainer.needs:
                    raise  # what it only comes after may be missing, and the explainer says so
        reason = _unsupported(explainer, engine.baseline)
        if reason:
            raise UnsupportedError(f"{explainer.name} must have what it requires of the model; {reason}.")
        results = explainer.explain(subject, engine.bound(explainer.name), prior)
        facts = measure_facts(engine.measures.values(), engine.baseline)
        return tuple(described(result, facts, options_of(explainer)) for result in results)

    for other in before:
        prior[other] = explain(make_explainer(other, {}, settings.deny))
    results = explain(make_explainer(name, options, settings.deny))
    if all(result.frame.empty for result in results):
        reasons = {f"{o.measure} {o.feature}".strip() + f": {o.reason}" for r in results for o in r.omissions}
        raise InputError(f"{name} must have something to explain; nothing is left. {'; '.join(sorted(reasons))}.")
    return results


@dataclass
class _Audit:
    """The state of a run in work; `dist` is of the subject's rows, or of the few that a limit of time left room for."""

    settings: Settings
    engine: Engine
    dist: Distribution
    catalog: Catalog
    prepared: Prepared
    facts: Run
    progress: Callback | None
    watch: TimeBudget
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    results: dict[str, tuple[Result, ...]] = field(default_factory=dict)
    halted: dict[str, NotRun] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    row_seconds: float = math.inf

    @cached_property
    def measures(self) -> Mapping[str, MeasureFacts]:
        """What the run says of its measures."""
        return measure_facts(self.prepared.measures.values(), self.dist)

    def explain(self) -> None:
        """Run the explainers in their order, those first whose predictions fit what is left of a time limit."""
        waiting, self.engine.costs = dict(self.prepared.explainers), self.costs
        for part in range(1, len(waiting) + 1):
            name = self._next(waiting)
            if self.progress:
                self.progress(Progress(name, 0, 0, part, len(self.prepared.explainers)))
            self._run(name, waiting.pop(name))

    def _next(self, waiting: Mapping[str, Explainer]) -> str:
        """Return the first explainer that comes after none of the waiting and fits; if none does, the first."""
        first = next(iter(waiting))
        for name, explainer in waiting.items():
            before = {*explainer.needs, *runs_after(explainer)}
            ready = before.isdisjoint(waiting) and (name == first or "*" not in before)
            if ready and not self.watch.too_long(self._seconds(name)):
                return name
        return first

    def _run(self, name: str, explainer: Explainer) -> None:
        """Run one explainer, or note why it does not run."""
        self.watch.begin()
        plugin = plugins.named(self.catalog[plugins.EXPLAINERS], name, "explainer")
        _ = plugin.foreign and self._readings
        start = perf_counter()
        halt = self._blocked(name, explainer) or self._passed_over(name) or self._attempt(name, explainer)
        self._check_data(plugin)
        if plugin.foreign and self._readings:
            self._check_model(plugin, self._readings)
        self.seconds[f"explainers.{name}"] = taken = perf_counter() - start
        if halt:
            self.halted[name] = halt
        if self.costs[name]:
            self.row_seconds = min(self.row_seconds, math.inf if halt else taken / self.costs[name], self.watch.pace)

    def _check_data(self, plugin: Plugin) -> None:
        """Refuse an audit whose data an explainer changed: every later number would be of other data."""
        before, now = self.facts.subject["hashes"], hashes(self.engine.subject)
        if changed := [key for key in now if now[key] != before[key]]:
            raise _intrusion(plugin, f"the data as they are; it changed {', '.join(changed)}")

    @cached_property
    def _readings(self) -> Mapping[str, FloatArray]:
        """Predictions of a few rows before any foreign explainer runs; empty where calls of the model differ anyway."""
        fixed = isinstance(self.engine.subject.adapter, FixedRowsOnly)
        return {} if fixed or two_calls(self.engine.subject) else head_readings(self.engine.subject)

    def _check_model(self, plugin: Plugin, before: Mapping[str, FloatArray]) -> None:
        """Refuse an audit whose model an explainer changed: every later number would be of another model."""
        try:
            gap = first_gap(before, head_readings(self.engine.subject))
        except UQReportError as error:
            raise _intrusion(plugin, f"the model as it is; since then {error.args[0].removesuffix('.')}") from error
        if gap:
            raise _intrusion(plugin, f"the model as it is; got {gap.words}, one before it ran and one after it")

    @cached_property
    def costs(self) -> Mapping[str, int]:
        """About how many rows each explainer predicts; 0 where it does not say, or where nobody asks."""
        costs = dict.fromkeys(self.prepared.explainers, 0)
        for name, explainer in self.prepared.explainers.items():
            if self.settings.time_limit is not None and isinstance(explainer, Costs):
                with suppress(UQReportError):  # what is wrong with it, it says when it runs
                    costs[name] = explainer.cost(self.engine.subject, self.engine.bound(name))
        return costs

    def _seconds(self, name: str) -> float:
        """Return what an explainer takes at least, at the pace of the model, or of a faster explainer so far.

        Where a fast path may be faster and none has run yet, that is nothing: it is begun, and its pace is looked at.
        """
        if not self.costs[name] or (self.row_seconds == math.inf and self.engine.shortened):
            return 0.0
        return self.costs[name] * min(self.row_seconds, self.engine.row_seconds)

    def _passed_over(self, name: str) -> NotRun | None:
        """Say why an explainer is not begun, and what it would have cost; or nothing."""
        rows, seconds = self.costs[name], self._seconds(name)
        reason = self.watch.exceeded() or self.watch.misfit(seconds)
        takes = f" and take at least about {about(seconds)}" if seconds else ""
        cost = f": it would predict about {rows} rows{takes}" if rows else ""
        return NotRun(name, "explainers", f"{reason}{cost}", "limit") if reason else None

    def _blocked(self, name: str, explainer: Explainer) -> NotRun | None:
        """Say what keeps an explainer from running, or nothing; a need that did not run hands on its cause."""
        halted = {entry.name: entry for entry in self.facts.not_run if entry.group == "explainers"} | self.halted
        for need in explainer.needs:
            if need not in self.results:
                entry = halted.get(need, NotRun(need, "explainers", "it is not installed", "missing library"))
                return replace(entry, name=name, reason=f"it needs {need}, which did not run: {entry.reason}")
        reason = _unsupported(explainer, self.dist)
        return NotRun(name, "explainers", reason, "model") if reason else None

    def _attempt(self, name: str, explainer: Explainer) -> NotRun | None:
        """Run one explainer and keep its results, or say why there are none."""
        try:
            engine = self.engine.bound(name)
            with limited(engine.check):
                results = explainer.explain(self.engine.subject, engine, MappingProxyType(self.results))
            self.results[name] = self._saved(explainer, results)
        except errors.FOREIGN as error:  # foreign code: whatever it raises becomes the reason in the report
            if not isinstance(error, UQReportError):
                _log.warning("explainer %s failed", name, exc_info=True)
            return NotRun(name, "explainers", errors.words_of(error), errors.cause_of(error))
        return None

    def _saved(self, explainer: Explainer, new: Sequence[Result]) -> tuple[Result, ...]:
        """Return results exactly as run.json will give them back; refuse what breaks the contract."""
        name = explainer.name
        ids = [result.id for results in self.results.values() for result in results]
        for result in new:
            if not isinstance(result, Result):
                raise PluginError(f"{name}: explain must return Results; got a {type(result).__name__}.")
            if result.explainer != name or not (result.id == name or result.id.startswith(f"{name}.")):
                raise PluginError(f"{name}: a result must be named after its explainer; got {result.id!r}.")
            if result.id in ids:
                raise PluginError(f"{name}: result ids must be unique in a run; got {result.id!r} twice.")
            ids.append(result.id)
        return tuple(as_saved(described(result, self.measures, options_of(explainer))) for result in new)

    def finish(self) -> Audited:
        """Judge the results and gather everything in the run."""
        failed = [self.halted[name] for name in self.prepared.explainers if name in self.halted]
        run = replace(
            self.facts,
            methods=tuple(method_of(self.prepared.explainers[name]) for name in self.results),
            results=tuple(result for results in self.results.values() for result in results),
            not_run=(*self.facts.not_run, *failed),
            not_reproducible=self.watch.cut,
        )
        checked = judge(self.catalog, self.prepared.checks, run, self.settings)
        self.seconds |= checked.seconds
        run = replace(run, outcomes=checked.outcomes, not_run=(*run.not_run, *checked.failed))
        if not self.watch.cut:
            tried = sensitivity(self.prepared.checks, run, self.settings.waivers)
            run = replace(run, results=(*run.results, *map(as_saved, tried)))
        records = provenance.plugin_records(self.catalog, run, self.engine)
        self.engine.release()
        return Audited(replace(run, plugins=records), provenance.clock(self.settings, self.started, self.seconds))


def _intrusion(plugin: Plugin, what: str) -> PluginError:
    return PluginError(f"{plugin} must leave {what}. No result is kept. Let it work on copies, or upgrade or deny it.")


def make_engine(
    subject: Subject,
    measures: Mapping[str, Measure],
    settings: Settings,
    progress: Callback | None,
    fast_paths: Sequence[FastPath] = (),
) -> Engine:
    """Return the engine that settings ask for."""
    return Engine(
        subject, measures, progress=progress, fast_paths=fast_paths, **settings.model_dump(include=_OF_ENGINE)
    )


def _unsupported(explainer: Explainer, dist: Distribution) -> str:
    lacking = sorted(explainer.requires - dist.supports)
    return dist.why_not(lacking[0]) if lacking else ""
