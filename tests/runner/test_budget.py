"""Limits of time and memory cut an audit short, and it says so."""

from collections.abc import Callable

import pytest

from uq_report import runner
from uq_report.core.engine import Engine
from uq_report.core.errors import BudgetError
from uq_report.runner import budget
from uq_report.runner.settings import Settings
from uq_report.testing import linear_subject

AS_OF = "2026-11-20"


def audit(**settings: object) -> runner.Audited:
    chosen = Settings(explainers=("pfi", "pdp", "calibration"), as_of=AS_OF, **settings)  # type: ignore[arg-type] # typed by pydantic
    return runner.run(linear_subject(60), chosen)


def test_what_a_time_limit_cuts_is_not_run_and_the_run_is_not_reproducible(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr(budget, "perf_counter", lambda: float(next(clock)))
    run = audit(time_limit=3.5).run
    cut = {entry.name: entry.reason for entry in run.not_run if "time limit of 3.5 s" in entry.reason}
    assert cut
    assert set(cut) | {result.explainer for result in run.results} == {"pfi", "pdp", "calibration"}
    assert run.not_reproducible == "the time limit of 3.5 s was reached"


def test_a_memory_limit_stops_before_the_next_explainer() -> None:
    run = audit(memory_limit_mb=1).run
    assert not run.results
    assert "the memory limit of 1 MB was reached (" in run.not_reproducible


def test_limits_that_are_not_reached_change_nothing() -> None:
    limited, free = audit(time_limit=1e6, memory_limit_mb=10**6).run, audit().run
    assert not limited.not_reproducible
    assert [r.id for r in limited.results] == [r.id for r in free.results]
    assert all(a.frame.equals(b.frame) for a, b in zip(limited.results, free.results, strict=True))


def test_an_explainer_at_work_is_stopped_where_it_checks_its_limits() -> None:
    engine = Engine(linear_subject(20), {}, limits=budget.Watch(seconds=-1.0).exceeded).bound("pfi")
    steps: tuple[Callable[[], object], ...] = (
        engine.check,
        lambda: engine.rng("feature"),
        lambda: engine.predict(engine.subject.X),
    )
    for step in steps:
        with pytest.raises(BudgetError, match=r"the time limit of -1 s was reached; pfi was stopped\. Raise"):
            step()
    assert not engine.rows_predicted
    Engine(linear_subject(20), {}, limits=budget.Watch().exceeded).check()
    Engine(linear_subject(20), {}).check()


def test_the_memory_in_use_is_told() -> None:
    assert 10 < budget.memory_mb() < 1e5
    assert budget._peak_mb() >= 0.9 * budget.memory_mb()
