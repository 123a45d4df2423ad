"""The contracts of measures, explainers and checks."""

import json
from collections.abc import Callable, Iterator, Sequence
from string import Formatter
from typing import get_args

import numpy as np

from ..checks.rule import Check, Rule
from ..core.engine.fast_path_evaluator import Engine
from ..core.explainer import Explainer, runs_after
from ..core.model.measures import Direction, Measure, Role, Statistic
from ..core.model.results import KINDS, Result
from ..core.model.subject import Subject
from ..core.predictive import Distribution
from ..core.support.arrays import AnyArray
from ..core.support.errors import PluginError, UQReportError
from ..evidence import codec
from ..evidence.finding import Outcome
from ..evidence.run import Run
from ..runner import plugins
from ..runner.judge import outcome_of
from ..runner.provenance import card_of, options_of
from . import known
from .known import equipped, linear_subject, logistic_subject, measures, require, require_declared


def measure_checks() -> tuple[Callable[[Measure], None], ...]:
    """Return every check of a measure."""
    return (
        check_measure_declares_itself,
        check_measure_gives_a_number_per_row,
        check_measure_asks_for_what_it_uses,
        check_measure_statistic_sums_up,
    )


def check_measure_declares_itself(measure: Measure) -> None:
    """Require a name, a unit, a title, and a role and a direction that the report knows."""
    require_declared(plugins.MEASURES, measure)
    require(bool(measure.name and measure.unit and measure.title), measure, "must have a name, a unit and a title")
    require(measure.role in get_args(Role), measure, f"must have a known role; got {measure.role!r}")
    require(measure.direction in get_args(Direction), measure, f"must have a direction; got {measure.direction!r}")


def check_measure_gives_a_number_per_row(measure: Measure) -> None:
    """Require where it applies: shape (n,), floats, no NaN; where not: a reason."""
    for engine in _engines(measure):
        chosen, omissions = engine.select([measure.name])
        reasons = [omission.reason for omission in omissions]
        require(bool(chosen) or all(reasons), measure, "must either apply or say why not")
        if chosen:
            values = measure.rows(engine.baseline, engine.y, engine.baseline)
            shaped = isinstance(values, np.ndarray) and values.shape == (engine.subject.n,)
            require(shaped and values.dtype.kind == "f", measure, "must return an array of one float per row")
            require(not np.isnan(values).any(), measure, "must not return NaN")


def check_measure_asks_for_what_it_uses(measure: Measure) -> None:
    """Require equal values without y and without the base, unless it says that it needs them."""
    for engine in _engines(measure):
        if engine.select([measure.name])[0]:
            whole = measure.rows(engine.baseline, engine.y, engine.baseline)
            for need, arguments in _without(measure, engine):
                rule = f"must say {need}=True: it uses what it does not ask for"
                try:
                    same = np.array_equal(whole, measure.rows(engine.baseline, *arguments))
                except Exception as error:  # noqa: BLE001 - whatever it raises without them
                    require(False, measure, f"{rule} ({type(error).__name__})")
                require(same, measure, rule)


def check_measure_statistic_sums_up(measure: Measure) -> None:
    """Require of a summary that is no mean: a finite number, and a finite influence for each row."""
    if measure.statistic is None:
        return
    require(isinstance(measure.statistic, Statistic), measure, "must have a statistic with value and influence")
    for engine in _engines(measure):
        if engine.select([measure.name])[0]:
            y: AnyArray = np.asarray(engine.y)
            rows, weights = measure.rows(engine.baseline, engine.y, engine.baseline), np.ones(engine.subject.n)
            value = measure.statistic.value(rows, y, weights)
            influence = measure.statistic.influence(rows, y, weights, rows)
            sound = np.isfinite(value) and influence.shape == rows.shape and np.isfinite(influence).all()
            require(bool(sound), measure, "must have a statistic of one finite value, and an influence per row")


def _engines(measure: Measure) -> Iterator[Engine]:
    for subject in (linear_subject(), logistic_subject()):
        yield Engine(subject, {measure.name: measure})


def _without(measure: Measure, engine: Engine) -> Iterator[tuple[str, tuple[AnyArray | None, Distribution | None]]]:
    """Yield y and base with one of them left out, where the measure does not ask for it."""
    if not measure.needs_y:
        yield "needs_y", (None, engine.baseline)
    if not measure.needs_base:
        yield "needs_base", (engine.y, None)


def explainer_checks() -> tuple[Callable[[type[Explainer]], None], ...]:
    """Return every check of an explainer class."""
    return (
        check_explainer_declares_itself,
        check_explainer_options_are_plain,
        check_explainer_results_keep_the_contract,
        check_explainer_results_can_be_saved,
        check_explainer_repeats_itself,
        check_explainer_leaves_the_subject_alone,
    )


def check_explainer_declares_itself(cls: type[Explainer]) -> None:
    """Require a frozen dataclass with the class variables of the contract, and words for its method card."""
    require_declared(plugins.EXPLAINERS, cls)
    require(cls.__dataclass_params__.frozen, cls, "must be frozen")  # type: ignore[attr-defined]
    require(bool(card_of(cls()).definition), cls, "must have a card or a docstring: the report prints its method card")


def check_explainer_options_are_plain(cls: type[Explainer]) -> None:
    """Require that defaults make a valid object whose options survive JSON."""
    try:
        json.dumps(options_of(cls()), allow_nan=False)
    except (TypeError, ValueError) as error:
        require(False, cls, f"must have options that JSON can hold: {error}")


def check_explainer_results_keep_the_contract(cls: type[Explainer]) -> None:
    """Require known kinds, unique ids under the explainer's name, and something in every result or a reason why not."""
    for subject in (equipped(linear_subject), equipped(logistic_subject)):
        results = explain(cls, subject)
        ids = [result.id for result in results]
        require(len(set(ids)) == len(ids), cls, f"must give unique ids; got {ids}")
        for result in results:
            own = result.id == cls.name or result.id.startswith(f"{cls.name}.")
            named = own and result.explainer == cls.name
            require(named, cls, f"must name its results after itself; got {result.id!r} of {result.explainer!r}")
            require(KINDS.get(result.kind) is type(result), cls, f"must return known kinds; got {result.kind!r}")
            filled = len(result.frame) or len(result.estimates) or result.omissions or result.notes
            require(bool(filled), cls, f"must say why {result.id!r} is empty")


def check_explainer_results_can_be_saved(cls: type[Explainer]) -> None:
    """Require that results can be written to run.json and read back."""
    for result in explain(cls, equipped(linear_subject)):
        try:
            codec.as_saved(result)
        except (UQReportError, TypeError) as error:
            require(False, cls, f"must give results that can be saved: {error}")


def check_explainer_repeats_itself(cls: type[Explainer]) -> None:
    """Require that the same seed gives the same numbers to the last bit."""
    subject = equipped(linear_subject)
    for a, b in zip(explain(cls, subject, seed=5), explain(cls, subject, seed=5), strict=True):
        same = a.frame.equals(b.frame) and a.estimates.equals(b.estimates)
        require(same, cls, f"must repeat {a.id!r} exactly with the same seed")


def check_explainer_leaves_the_subject_alone(cls: type[Explainer]) -> None:
    """Require that neither the rows nor numpy's global random state change."""
    subject = equipped(linear_subject)
    before, state = subject.X.copy(), _random_state()
    explain(cls, subject)
    require(np.array_equal(before, subject.X), cls, "must not change the subject's rows")
    require(state == _random_state(), cls, "must not touch numpy's global random state")


def _random_state() -> tuple[str, int]:
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - the global state is what is guarded
    return str(state["state"]["key"].tobytes()), int(state["state"]["pos"])


def explain(cls: type[Explainer], subject: Subject, seed: int = 0) -> Sequence[Result]:
    """Run an explainer with its defaults on a subject, after the explainers it needs or names in ``after``."""
    engine = Engine(subject, measures(), seed=seed)
    installed = {plugin.name: plugin for plugin in plugins.find(plugins.EXPLAINERS)}
    prior: dict[str, Sequence[Result]] = {}

    def run(plugin: type[Explainer]) -> Sequence[Result]:
        for need in (*plugin.needs, *(name for name in runs_after(plugin) if name in installed)):
            if need not in prior:
                prior[need] = run(plugins.load(installed[need]))
        return plugin().explain(subject, engine.bound(plugin.name), prior)

    return run(cls)


def check_checks() -> tuple[Callable[[type[Check]], None], ...]:
    """Return every contract test of a check class."""
    return (
        check_check_declares_itself,
        check_check_prints_its_thresholds,
        check_check_judges_nothing_without_evidence,
        check_check_keeps_within_what_it_prints,
        check_check_repeats_itself,
    )


def check_check_declares_itself(cls: type[Check]) -> None:
    """Require the members of the contract, and at least one rule, each with a code of its own."""
    require_declared(plugins.CHECKS, cls)
    rules = cls().rules
    require(bool(rules) and all(isinstance(rule, Rule) for rule in rules), cls, "must have rules, each a Rule")
    codes = [rule.code for rule in rules]
    require(len(set(codes)) == len(codes), cls, f"must have one rule per code; got {codes}")


def check_check_prints_its_thresholds(cls: type[Check]) -> None:
    """Require that the text of a rule names every threshold, so that the report prints every number that decides."""
    for rule in cls().rules:
        printed = {name for _, name, _, _ in Formatter().parse(rule.when)}
        hidden = sorted(set(rule.thresholds) - printed)
        require(not hidden, cls, f"must name the thresholds of {rule.code} in its text; missing {hidden}")
        require(bool(rule.text and rule.rests_on), cls, f"must say when {rule.code} is raised and what it rests on")


def check_check_judges_nothing_without_evidence(cls: type[Check]) -> None:
    """Require that a run without results is not applicable or skipped, with a reason."""
    outcome = _outcome(cls, known.EMPTY)
    require(outcome.state in ("not_applicable", "skipped"), cls, "must not judge a run without evidence")


def check_check_keeps_within_what_it_prints(cls: type[Check]) -> None:
    """Require one outcome of its own per run, whose findings have code, title and severity of a rule, and evidence."""
    for run in known.known_runs():
        _outcome(cls, run)


def check_check_repeats_itself(cls: type[Check]) -> None:
    """Require that the same run gives the same outcome."""
    for run in known.known_runs():
        require(_outcome(cls, run) == _outcome(cls, run), cls, "must judge the same run alike")


def _outcome(cls: type[Check], run: Run) -> Outcome:
    """Return the outcome as the host takes it, which refuses breaches by name."""
    try:
        return outcome_of(cls(), run)
    except PluginError as error:
        raise known.ContractError(str(error)) from error
