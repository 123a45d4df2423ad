"""Limits of time and memory cut an audit short, and it says so."""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report import runner
from uq_report.core import engine
from uq_report.core.distributions import Normal
from uq_report.core.engine import Engine
from uq_report.core.errors import BudgetError
from uq_report.core.explainer import Costs
from uq_report.evidence.run import Run
from uq_report.runner import audit as auditing
from uq_report.runner import budget
from uq_report.runner.prepare import make_explainer, ordered
from uq_report.runner.settings import Settings
from uq_report.testing import linear_subject

AS_OF = "2026-11-20"


def audited(**settings: object) -> runner.Audited:
    chosen = Settings(explainers=("pfi", "pdp", "calibration"), as_of=AS_OF, **settings)  # type: ignore[arg-type] # typed by pydantic
    return runner.run(linear_subject(60), chosen)


def test_what_a_time_limit_cuts_is_not_run_and_the_run_is_not_reproducible(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(budget, "perf_counter", lambda: float(next(clock)))
    run = audited(time_limit=3.5).run
    cut = {entry.name: entry.reason for entry in run.not_run if "time limit of 3.5 s" in entry.reason}
    assert cut
    assert set(cut) | {result.explainer for result in run.results} == {"pfi", "pdp", "calibration"}
    assert run.not_reproducible == "the time limit of 3.5 s was reached"


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
    stopped = Engine(linear_subject(20), {}, limits=budget.Watch(seconds=-1.0).exceeded).bound("pfi")
    steps: tuple[Callable[[], object], ...] = (
        stopped.check,
        lambda: stopped.rng("feature"),
        lambda: stopped.predict(stopped.subject.X),
    )
    for step in steps:
        with pytest.raises(BudgetError, match=r"the time limit of -1 s was reached; pfi was stopped\. Raise"):
            step()
    assert not stopped.rows_predicted
    Engine(linear_subject(20), {}, limits=budget.Watch().exceeded).check()
    Engine(linear_subject(20), {}).check()


class Clock:
    """A clock that only the model moves: `seconds` for each row it predicts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.now, self.seconds = 0.0, seconds
        for module in (budget, engine, auditing):
            monkeypatch.setattr(module, "perf_counter", lambda: self.now)

    def predict(self, X: pd.DataFrame) -> Normal:
        self.now += self.seconds * len(X)
        values = X.to_numpy()
        return Normal(values @ [1.0, 2.0, 0.5], np.full(len(values), 1.0))

    def run(self, limit: float | None, names: tuple[str, ...] = ("pfi", "pdp", "ale", "cid", "calibration")) -> Run:
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.normal(size=(100, 3)), columns=["a", "b", "c"])
        subject = uq.explain(self.predict, X, X.to_numpy() @ [1.0, 2.0, 0.5] + rng.normal(size=100))
        self.now = 0.0
        return runner.run(subject, Settings(explainers=names, as_of=AS_OF, time_limit=limit)).run


def names_of(run: Run) -> set[str]:
    return {result.explainer for result in run.results}


def test_what_fits_runs_in_the_order_of_its_worth_and_the_rest_is_listed_with_its_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch, 0.001)  # ale: 0.6 s, pdp: 6 s, pfi: 6 s
    run = clock.run(4.0)
    assert names_of(run) == {"ale", "calibration"}
    assert clock.now <= 1.2 * 4.0
    reasons = {entry.name: entry.reason for entry in run.not_run if entry.group == "explainers"}
    left = r"it does not fit the 3\.\d s left of the time limit of 4 s"
    assert re.fullmatch(left + r": it would predict about 6000 rows and take about 6 s", reasons["pfi"])
    assert re.fullmatch(left + r": it would predict about 6000 rows and take about 6 s", reasons["pdp"])
    assert reasons["cid"].startswith("it needs pfi, which did not run: it does not fit")
    assert run.not_reproducible == "what did not fit the time limit of 4 s was left out"


def test_what_proves_faster_than_its_estimate_runs_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.001)
    first = clock.predict

    def faster(X: pd.DataFrame) -> Normal:
        if clock.now > 0.15:
            clock.seconds = 1e-5
        return first(X)

    monkeypatch.setattr(clock, "predict", faster)
    run = clock.run(4.0)
    assert names_of(run) == {"pfi", "pdp", "ale", "cid", "calibration"}
    assert not run.not_reproducible


def test_a_model_slower_than_the_limit_is_said_with_the_time_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.1)
    run = clock.run(1.0, ("pfi", "calibration"))
    assert not run.results
    assert re.fullmatch(
        r"the time limit of 1 s was reached: the model took about 10 s to predict its 100 rows once",
        run.not_reproducible,
    )
    reasons = {entry.name: entry.reason for entry in run.not_run if entry.group == "explainers"}
    assert reasons["calibration"] == "the time limit of 1 s was reached"
    assert reasons["pfi"] == (
        "the time limit of 1 s was reached: it would predict about 6000 rows and take about 1200 s"
    )


@pytest.mark.parametrize("name", ["pfi", "pdp", "ale", "h_statistic", "shap"])
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


def test_the_memory_in_use_is_told() -> None:
    assert 10 < budget.memory_mb() < 1e5
    assert budget._peak_mb() >= 0.9 * budget.memory_mb()
