"""Limits of time and memory cut an audit short, and it says so."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report import runner
from uq_report.core.engine import model_caller
from uq_report.core.engine.fast_path_evaluator import Engine, FastPath, Shortcut
from uq_report.core.explainer import Costs
from uq_report.core.model.adapter import Adapter
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject
from uq_report.core.model.variants import Variant
from uq_report.core.support.arrays import Table
from uq_report.core.support.errors import BudgetError
from uq_report.distributions import Normal
from uq_report.evidence.run import Run
from uq_report.methods.cid.explain import CoveredInformation
from uq_report.methods.rsens.explain import RSens
from uq_report.runner import audit as auditing, budget
from uq_report.runner.prepare import make_explainer, ordered
from uq_report.runner.settings import Settings
from uq_report.testing import linear_subject

AS_OF = "2026-11-20"


def audited(**settings: object) -> runner.Audited:
    chosen = Settings(explainers=("pfi", "pdp", "calibration"), as_of=AS_OF, **settings)  # type: ignore[arg-type] # typed by pydantic
    return runner.run(linear_subject(60), chosen)


class Ticks:
    """A clock that moves by `step` whenever it is looked at."""

    now, step = 0.0, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def elapsed(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    """Return the clock of the limit of time."""
    clock = Ticks()
    monkeypatch.setattr(budget, "perf_counter", clock)
    return clock


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    """Return the clock of the limit of processor time."""
    clock = Ticks()
    monkeypatch.setattr(budget, "process_time", clock)
    return clock


def test_what_a_time_limit_cuts_is_not_run_and_the_run_is_not_reproducible(elapsed: Ticks) -> None:
    elapsed.step = 1.0
    run = audited(time_limit=9.5).run
    cut = {entry.name: entry.reason for entry in run.not_run if "time limit of 9.5 s" in entry.reason}
    assert cut
    assert set(cut) | {result.explainer for result in run.results} == {"pfi", "pdp", "calibration"}
    assert run.not_reproducible == "the time limit of 9.5 s was reached"


def test_a_memory_limit_stops_before_the_next_explainer() -> None:
    run = audited(memory_limit_mb=1).run
    assert not run.results
    assert "the memory limit of 1 MB was reached (" in run.not_reproducible


def test_limits_that_are_not_reached_change_nothing() -> None:
    limited, free = audited(time_limit=1e6, memory_limit_mb=10**6).run, audited().run
    assert not limited.not_reproducible
    assert [r.id for r in limited.results] == [r.id for r in free.results]
    assert all(a.frame.equals(b.frame) for a, b in zip(limited.results, free.results, strict=True))


def test_an_explainer_at_work_is_stopped_where_it_checks_its_limits() -> None:
    stopped = Engine(linear_subject(20), {}, limits=budget.TimeBudget(seconds=-1.0).exceeded).bound("pfi")
    steps: tuple[Callable[[], object], ...] = (
        stopped.check,
        lambda: stopped.rng("feature"),
        lambda: stopped.predict(stopped.subject.X),
    )
    for step in steps:
        with pytest.raises(BudgetError, match=r"the time limit of -1 s was reached; pfi was stopped\. Raise"):
            step()
    assert not stopped.rows_predicted
    Engine(linear_subject(20), {}, limits=budget.TimeBudget().exceeded).check()
    Engine(linear_subject(20), {}).check()


class Clock:
    """A clock that only the model moves: `seconds` for each row it predicts, and `call` for each call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float, call: float = 0.0) -> None:
        self.now, self.seconds, self.call = 0.0, seconds, call
        for module in (budget, model_caller, auditing):
            monkeypatch.setattr(module, "perf_counter", lambda: self.now)

    def predict(self, X: pd.DataFrame) -> Normal:
        self.now += self.call + self.seconds * len(X)
        values = X.to_numpy()
        return Normal(values @ [1.0, 2.0, 0.5], np.full(len(values), 1.0))

    def subject(self, n: int = 100, label: str = "model") -> Subject:
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
        subject = uq.explain(self.predict, X, X.to_numpy() @ [1.0, 2.0, 0.5] + rng.normal(size=n), label=label)
        self.now = 0.0
        return subject

    def run(self, limit: float | None, names: tuple[str, ...] = ("pfi", "pdp", "ale", "cid", "calibration")) -> Run:
        return runner.run(self.subject(), Settings(explainers=names, as_of=AS_OF, time_limit=limit)).run


class Short:
    """A fast path that covers every change, and fails: the model itself predicts."""

    name: ClassVar[str] = "short"
    title: ClassVar[str] = "short"
    rank: ClassVar[int] = 1
    api_version: ClassVar[int] = 1

    def shortcut(self, model: object, adapter: Adapter, X: Table) -> Shortcut:
        return cast("Shortcut", self)

    def covers(self, variant: Variant) -> bool:
        return False


def made_with(paths: tuple[FastPath, ...], *given: Any) -> Engine:
    """Return an engine with these fast paths, whatever others it is given."""
    subject, measures, settings, progress, _ = given
    return runner.make_engine(subject, measures, settings, progress, paths)


def names_of(run: Run) -> set[str]:
    return {result.explainer for result in run.results} - {"sensitivity"}


def test_what_fits_runs_in_the_order_of_its_worth_and_the_rest_is_listed_with_its_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch, 0.001)  # ale: 0.6 s, pdp: 6 s, pfi: 6 s
    run = clock.run(4.0)
    assert names_of(run) == {"ale", "calibration"}
    assert clock.now <= 1.2 * 4.0
    reasons = {entry.name: entry.reason for entry in run.not_run if entry.group == "explainers"}
    left = r"it does not fit the 3\.\d s left of the time limit of 4 s"
    assert re.fullmatch(left + r": it would predict about 6000 rows and take at least about 6 s", reasons["pfi"])
    assert re.fullmatch(left + r": it would predict about 6000 rows and take at least about 6 s", reasons["pdp"])
    assert [name for name in reasons if name in {"pfi", "pdp", "cid"}] == ["pfi", "pdp", "cid"]
    assert reasons["cid"].startswith("it needs pfi, which did not run: it does not fit")
    assert run.not_reproducible == "what did not fit the time limit of 4 s was left out"


def test_what_proves_faster_than_its_estimate_runs_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    class Faster(Clock):
        """A clock whose model is a hundred times as fast after a while."""

        def predict(self, X: pd.DataFrame) -> Normal:
            self.seconds = 1e-5 if self.now > 0.15 else 0.001
            return super().predict(X)

    run = Faster(monkeypatch, 0.001).run(4.0)
    assert names_of(run) == {"pfi", "pdp", "ale", "cid", "calibration"}
    assert not run.not_reproducible


def test_rows_that_do_not_fit_the_limit_are_not_predicted_and_what_needs_none_of_them_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch, 0.02)  # 2 s for the rows
    given = clock.subject()
    subject = replace(given, train=(given.X, given.y))

    def audit(limit: float) -> Run:
        clock.now = 0.0
        names = ("pfi", "calibration", "support")
        return runner.run(subject, Settings(explainers=names, as_of=AS_OF, time_limit=limit)).run

    run = audit(1.0)
    assert names_of(run) == {"support"}
    assert clock.now < 0.5
    told = "what did not fit the time limit of 1 s was left out: the model takes about 2 s to predict its 100 rows once"
    assert run.not_reproducible == told
    assert (run.subject["n"], run.subject["task"]) == (100, "regression")
    reasons = {entry.name: entry for entry in run.not_run if entry.group == "explainers"}
    assert reasons["calibration"].cause == "limit"
    words = (
        r"it does not fit the 0\.\d+ s left of the time limit of 1 s: the model takes about 2 s to predict its 100 rows"
    )
    assert re.match(words + " once; calibration was stopped", reasons["calibration"].reason)
    assert "it would predict about 12000 rows and take at least about" in reasons["pfi"].reason
    assert names_of(audit(3.0)) == {"calibration", "support"}


@pytest.mark.parametrize(
    ("seconds", "call", "first", "limit", "asked"),
    [
        (0.0, 0.01, 0.0, 2.0, [1]),  # whatever of the call's 0.01 s a row takes, all fit
        (0.0, 0.2, 0.0, 2.0, [1, 8, 60]),  # more rows take no more
        (0.0, 0.0, 0.5, 2.0, [1, 2]),  # what the first call loads is no row's time
        (0.0, 0.05, 0.5, 2.0, [1, 2, 20]),
        (0.03, 0.0, 0.0, 2.0, [1, 10, 10]),  # 3 s for 100 rows
        (0.5, 0.0, 0.0, 2.0, [1, 2]),
        (3.0, 0.0, 0.0, 2.0, [1]),
    ],
)
def test_few_rows_tell_what_all_rows_take(
    monkeypatch: pytest.MonkeyPatch, seconds: float, call: float, first: float, limit: float, asked: list[int]
) -> None:
    clock, calls = Clock(monkeypatch, seconds, call), list[int]()
    subject, predict = clock.subject(), clock.predict

    def counted(X: pd.DataFrame) -> Normal:
        clock.now += 0.0 if calls else first
        calls.append(len(X))
        return predict(X)

    engine = Engine(replace(subject, model=counted), {})
    watch = budget.TimeBudget(seconds=limit)
    dist = budget.predicted(engine, watch)
    fits = 100 * seconds < limit
    assert calls == [*asked, *([100] if fits else [])]
    assert (bool(engine.withheld), bool(watch.cut)) == (not fits, not fits)
    assert len(dist) == (100 if fits else asked[-1])


def test_a_call_that_takes_longer_by_chance_says_nothing_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, calls = Clock(monkeypatch, 0.0, 0.01), list[int]()
    subject, predict = clock.subject(1000), clock.predict

    def uneven(X: pd.DataFrame) -> Normal:
        clock.now += 0.2 * (len(X) == 10 and 10 not in calls)
        calls.append(len(X))
        return predict(X)

    engine = Engine(replace(subject, model=uneven), {})
    assert len(budget.predicted(engine, budget.TimeBudget(seconds=1.0))) == 1000
    assert calls == [1, 10, 10, 100, 1000]


def test_a_model_that_fails_on_few_rows_is_asked_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.001)
    subject, predict = clock.subject(), clock.predict

    def many(X: pd.DataFrame) -> Normal:
        if len(X) < 20:
            raise ValueError("too few")
        return predict(X)

    engine = Engine(replace(subject, model=many), {})
    assert len(budget.predicted(engine, budget.TimeBudget(seconds=1e-3))) == 100
    assert not engine.withheld


def test_what_a_classifier_decides_counts_where_it_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its probabilities take 0.8 s, and as long again are its decisions."""
    clock = Clock(monkeypatch, 0.008)

    class Decides:
        classes_ = np.array([0, 1])

        def predict_proba(self, X: pd.DataFrame) -> Any:
            clock.predict(X)
            return np.full((len(X), 2), 0.5)

        def predict(self, X: pd.DataFrame) -> Any:
            return self.predict_proba(X).argmax(axis=1)

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 3)), columns=["a", "b", "c"])
    subject = uq.explain(Decides(), X, np.arange(100) % 2)
    for limit, fits in ((1.2, False), (2.4, True)):
        clock.now = 0.0
        engine = Engine(subject, {})
        dist = budget.predicted(engine, budget.TimeBudget(seconds=limit))
        assert (not engine.withheld) == fits
        assert clock.now < limit
        assert cast("Any", dist).positive == 1


@pytest.mark.parametrize(("limit", "fits"), [(6.0, False), (6.6, True)])
def test_where_a_fast_path_may_be_faster_the_pace_of_the_work_itself_decides(
    monkeypatch: pytest.MonkeyPatch, limit: float, fits: bool
) -> None:
    monkeypatch.setattr(auditing, "make_engine", partial(made_with, (Short(),)))
    clock = Clock(monkeypatch, 0.001)  # 0.1 s for the rows, and 6 s for all changes
    run = clock.run(limit, ("pfi", "calibration"))
    assert ("pfi" in names_of(run)) == fits
    if not fits:
        (reason,) = (entry.reason for entry in run.not_run if entry.name == "pfi")
        words = r"(\d+)% of it done, the rest would take about (\S+) s: it does not fit the (\S+) s left of "
        stopped = re.match(words + "the time limit of 6 s; pfi was stopped", reason)
        assert stopped
        assert float(stopped[2]) > float(stopped[3])
        assert stopped[1] == "33"  # after two calls of 1000 rows: one to begin with, one whose pace is looked at
        assert clock.now < 0.4 * limit


def test_the_pace_counts_from_the_first_steps_so_that_a_slow_start_is_no_slow_pace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch, 0.0)
    watch = budget.TimeBudget(seconds=10.0)
    for now, done in ((4.0, 0), (5.0, 10), (5.1, 12)):
        clock.now = now
        assert not watch.exceeded(done, 100)
    assert watch.pace == pytest.approx(0.05)
    clock.now = 7.0  # 0.5 s a step from here: 86 more would take 43 s
    assert watch.exceeded(14, 100).startswith("14% of it done, the rest would take about 43 s: it does not fit the 3 s")
    assert watch.cut == "what did not fit the time limit of 10 s was left out"
    watch.begin()
    assert watch.pace == math.inf
    assert not watch.exceeded(14, 100)


def test_a_step_that_does_not_fit_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.1)
    subject = clock.subject(20)
    engine = Engine(subject, {}, limits=budget.TimeBudget(seconds=3.5).exceeded)
    assert len(engine.predict(subject.X)) == 20  # 2 s
    with pytest.raises(BudgetError, match=r"its next step takes about 2 s: it does not fit the 1\.5 s left of"):
        engine.predict(subject.X)
    assert clock.now == pytest.approx(2.0)
    assert len(engine.predict(subject.X[:15])) == 15
    assert engine.row_seconds == pytest.approx(0.1)


def test_a_row_takes_what_a_larger_call_takes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Clock(monkeypatch, 0.01, 0.5).subject()
    engine = Engine(subject, {})
    assert engine.row_seconds == math.inf
    engine.predict(subject.X)
    assert engine.row_seconds == pytest.approx(1.5 / 100)
    engine.first(10)
    assert engine.row_seconds == pytest.approx(0.01)
    assert engine.rows_predicted == {"engine": 100}


def test_the_limit_counts_from_the_verb() -> None:
    watch = runner.TimeBudget()
    watch.started -= 60
    settings = Settings(explainers=("calibration",), as_of=AS_OF, time_limit=30)
    run = runner.run(linear_subject(60), settings, watch=watch).run
    assert not run.results
    assert run.not_reproducible == "the time limit of 30 s was reached"


def test_champion_and_challenger_share_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.0)
    both = budget.TimeBudget(seconds=10.0, memory_mb=900)
    champion = both.share(2)
    assert (champion.seconds, champion.memory_mb) == (5.0, 900)
    clock.now = 4.0
    challenger = both.share(1)
    assert (challenger.seconds, challenger.left) == (6.0, 6.0)
    clock.now = 12.0
    assert challenger.exceeded() == "the time limit of 6 s, a share of 10 s, was reached"
    assert both.share(1).seconds == 0
    assert budget.TimeBudget(memory_mb=900).share(2).seconds is None


def test_each_of_two_models_has_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.01)  # 1 s for the rows of a model
    one, other = clock.subject(label="champion"), clock.subject(label="challenger")
    settings = Settings(explainers=("pfi", "calibration"), as_of=AS_OF, time_limit=6.0)
    run = runner.side_by_side(one, other, settings).run
    assert run.challenger is not None
    cut = [r.not_reproducible for r in (run, run.challenger)]
    assert cut[0] == "what did not fit the time limit of 3 s, a share of 6 s, was left out"
    assert re.fullmatch(r"what did not fit the time limit of 4\.\d+ s, a share of 6 s, was left out", cut[1])
    assert "calibration" in names_of(run) & names_of(run.challenger)


def test_two_models_predict_their_rows_once_and_have_no_scores_where_these_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch, 0.01)
    one, other = clock.subject(label="champion"), clock.subject(label="challenger")

    def scores(limit: float | None) -> Result:
        clock.now = 0.0
        settings = Settings(explainers=("data_quality",), as_of=AS_OF, time_limit=limit)
        return runner.side_by_side(one, other, settings).run.result("compare.scores")

    assert not scores(None).frame.empty
    assert clock.now == pytest.approx(2.0)
    cut = scores(1.0)
    assert cut.frame.empty
    assert "the model takes about 1 s to predict its 100 rows once" in cut.omissions[0].reason
    assert clock.now < 1.0


def test_redundancy_stops_once_its_pace_says_that_it_does_not_fit() -> None:
    asked: list[tuple[int, int]] = []

    def limits(done: int, total: int, ahead: float) -> str:
        asked.append((done, total))
        return "the rest does not fit" if done == 2 else ""

    subject = linear_subject(60)
    engine = Engine(subject, runner.load_measures(), limits=limits).bound("redundancy")
    with pytest.raises(BudgetError, match="the rest does not fit; redundancy was stopped"):
        make_explainer("redundancy", {}).explain(subject, engine, {})
    assert [each for each in asked if each[1]] == [(k, len(subject.features)) for k in range(3)]


@pytest.mark.parametrize("name", ["pfi", "pdp", "ale", "h_statistic", "shap", "dalex"])
def test_costs_are_the_rows_that_are_predicted(name: str) -> None:
    subject = linear_subject(120)
    explainer = make_explainer(name, {})
    asked = runner.make_engine(subject, runner.load_measures(), Settings(as_of=AS_OF), None)
    _ = asked.baseline
    assert isinstance(explainer, Costs)
    cost = explainer.cost(subject, asked.bound(name))
    explainer.explain(subject, asked.bound(name), {})
    assert asked.rows_predicted[name] == pytest.approx(cost, rel=0.15)


def test_explainers_run_by_priority_and_name_after_what_they_need() -> None:
    explainers = {name: make_explainer(name, {}) for name in ("agreement", "cid", "pdp", "calibration", "pfi", "cover")}
    assert ordered(explainers) == ["calibration", "pfi", "pdp", "cid", "cover", "agreement"]


def test_cid_costs_what_refitted_models_predict_and_nothing_otherwise() -> None:
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), columns=["a", "b", "c"])
    y = (X["a"] > 0).astype(int)
    subject = uq.explain(LogisticRegression().fit(X, y), X, y)
    asked = runner.make_engine(subject, runner.load_measures(), Settings(as_of=AS_OF), None)
    refitting = CoveredInformation(refit=True, n_sets=10)
    refitting.explain(subject, asked.bound("cid"), {})
    assert asked.rows_predicted["cid"] == pytest.approx(refitting.cost(subject, asked), rel=0.1)
    assert CoveredInformation().cost(subject, asked) == 0


def test_rsens_costs_its_comparators_where_they_are_asked_for_and_nothing_may_spare_them() -> None:
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), columns=["a", "b", "c"])
    y = (X["a"] > 0).astype(int)
    subject = uq.explain(LogisticRegression().fit(X, y), X, y)
    asked = runner.make_engine(subject, runner.load_measures(), Settings(as_of=AS_OF), None)
    _ = asked.baseline
    RSens().explain(subject, asked.bound("rsens"), {})
    assert asked.rows_predicted["rsens"] == pytest.approx(RSens().cost(subject, asked), rel=0.1)
    assert RSens(comparators=False).cost(subject, asked) == 0
    assert RSens().cost(subject, cast("Engine", SimpleNamespace(shortened=True))) == 0
    assert RSens(max_rows=50, features=subject.features[:1]).cost(subject, asked) == 16 * 50


def test_explainers_leave_a_twentieth_of_the_time_to_rules_and_records(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.0)
    watch = budget.TimeBudget(seconds=10.0)
    watch.keep_after()
    clock.now = 9.49
    assert (watch.exceeded(), watch.too_long(0.005)) == ("", False)
    assert watch.misfit(0.02) == "it does not fit the 0.01 s left of the time limit of 10 s"
    clock.now = 9.51
    assert watch.exceeded() == "the time limit of 10 s was reached"
    assert watch.share(1).seconds == 0.49
    endless = budget.TimeBudget(memory_mb=10**6)
    endless.keep_after()
    assert endless.room == math.inf


def test_the_memory_in_use_is_told() -> None:
    assert 10 < budget.memory_mb() < 1e5
    assert budget._peak_mb() >= 0.9 * budget.memory_mb()


def test_what_processor_time_cuts_is_not_run_whatever_the_clock_says(processor: Ticks) -> None:
    processor.step = 1.0
    run = audited(cpu_time=3.5).run
    words = "the limit of 3.5 s of processor time was reached"
    cut = {entry.name for entry in run.not_run if words in entry.reason}
    assert cut
    assert cut | names_of(run) == {"pfi", "pdp", "calibration"}
    assert (run.not_reproducible, run.settings["cpu_time"]) == (words, 3.5)
    processor.step = 0.0
    free = audited(cpu_time=1e-9).run
    assert (free.not_reproducible, len(names_of(free))) == ("", 3)
    assert "cpu_time" not in audited().run.settings, "runs without the limit are the bytes that they were"


def test_two_models_share_the_processor_time_that_is_left(processor: Ticks) -> None:
    both = budget.TimeBudget(cpu_seconds=10.0)
    processor.now = 4.0
    assert (both.limited, both.cpu_left) == (True, 6.0)
    one = both.share(2)
    assert (one.seconds, one.cpu_seconds, one.cpu_left) == (None, 3.0, 3.0)
    timed = budget.TimeBudget(seconds=10.0, cpu_seconds=2.0).share(2)
    assert (timed.cpu_seconds, timed.shared) == (1.0, ", a share of 10 s,")
    assert budget.TimeBudget(seconds=1.0).share(2).cpu_left == math.inf


def test_the_processor_time_of_workers_counts(processor: Ticks) -> None:
    watch = budget.TimeBudget(cpu_seconds=10.0, of_workers=lambda: 10.0)
    assert (watch.cpu_left, watch.exceeded()) == (0.0, "")
    watch.of_workers = lambda: 10.5
    assert watch.exceeded() == "the limit of 10 s of processor time was reached"


def test_a_run_counts_what_its_workers_took(processor: Ticks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "worker_seconds", property(lambda _: 4.0))
    assert audited(cpu_time=3.5).run.not_reproducible == "the limit of 3.5 s of processor time was reached"
    assert audited(cpu_time=4.5).run.not_reproducible == ""
