"""Loops that no engine is handed to look at the limits of the explainer at work."""

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, cast

import numpy as np
import pytest

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine, Shortcut
from uq_report.core.model.adapter import Adapter
from uq_report.core.model.measures import NLL
from uq_report.core.model.variants import Variant, variant_rows
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import ColumnLookup, IntArray, Table, take_rows
from uq_report.core.support.errors import BudgetError
from uq_report.core.support.limits import check_limits, limited
from uq_report.distributions import Categorical, Normal, NormalMixture
from uq_report.methods.calibration import scores
from uq_report.methods.groups.contrasts import shuffled_p_values
from uq_report.runner import budget, make_engine, run as audited
from uq_report.runner.settings import Settings
from uq_report.testing import linear_subject


class Looks:
    """Counts the looks; from number `last` on, a limit is reached."""

    def __init__(self, last: float = np.inf) -> None:
        self.count, self.last = 0, last

    def __call__(self) -> None:
        self.count += 1
        if self.count >= self.last:
            raise BudgetError("the limit was reached")


def test_a_look_asks_the_innermost_check_and_none_outside() -> None:
    outer, inner = Looks(), Looks()
    check_limits()
    with limited(outer):
        check_limits()
        with limited(inner):
            check_limits()
        with pytest.raises(ValueError, match="any"), limited(inner):
            raise ValueError("any")
        check_limits()
    check_limits()
    assert (outer.count, inner.count) == (2, 1)


def test_threads_of_workers_do_not_look() -> None:
    looks = Looks()
    with limited(looks):
        thread = threading.Thread(target=check_limits)
        thread.start()
        thread.join()
    assert looks.count == 0


def mixture(n: int) -> NormalMixture:
    rng = np.random.default_rng(0)
    return NormalMixture(rng.normal(size=(n, 7)), rng.uniform(0.5, 2.0, size=(n, 7)))


def classes() -> Categorical:
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    return Categorical(p, np.arange(3))


LONG: dict[str, Callable[[], Any]] = {
    "crps": lambda: mixture(5).crps(np.zeros(5)),
    "entropy": lambda: mixture(5).entropy(),
    "quantile": lambda: mixture(5).quantile(np.array([0.5])),
    "draws of classes": lambda: (
        scores.class_tests(
            classes(), np.zeros(50, dtype=int), np.full(50, 0.02), np.ones((50, 1)), np.random.default_rng(0), 9
        )[0][0].null
    ),
    "draws of numbers": lambda: (
        scores.crps_test(mixture(5), np.zeros(5), np.full(5, 0.2), np.random.default_rng(0), 9).null
    ),
    "parts of groups": lambda: shuffled_p_values(
        {"loss": (np.arange(20.0), False)}, np.arange(20) < 5, np.random.default_rng(0), 9
    )["loss"],
}


@pytest.mark.parametrize("name", LONG)
def test_long_computations_look_and_stop_and_are_the_same_under_limits(name: str) -> None:
    looks, free = Looks(), LONG[name]()
    with limited(looks):
        np.testing.assert_array_equal(LONG[name](), free)
    assert looks.count > 0
    last = Looks(looks.count)
    with limited(last), pytest.raises(BudgetError, match="the limit was reached"):
        LONG[name]()
    assert last.count == looks.count


class Slow:
    """A fast path that makes the model's own call, and reaches a limit at its step number `last`."""

    name: ClassVar[str] = "slow"
    title: ClassVar[str] = "slow"
    rank: ClassVar[int] = 1
    api_version: ClassVar[int] = 1

    def __init__(self, last: float) -> None:
        self.steps, self.last = 0, last

    def shortcut(self, model: Any, adapter: Adapter, X: Table) -> Shortcut:
        self.model, self.adapter, self.X = model, adapter, X
        self._step()
        return cast("Shortcut", self)

    def covers(self, variant: Variant) -> bool:
        return True

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        self._step()
        table = variant_rows(take_rows(self.X, rows), group, ColumnLookup(self.X))
        return self.adapter.predict(self.model, table)

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.last:
            raise BudgetError("the limit was reached")


def evaluated(path: Slow) -> Engine:
    subject = linear_subject(20)
    engine = make_engine(subject, {NLL.name: NLL}, Settings(as_of="2026-11-20"), None, (path,))
    _ = engine.baseline
    with nullcontext() if path.last == np.inf else pytest.raises(BudgetError, match="the limit was reached"):
        list(engine.evaluate([Variant((0,), (1.0,))], [NLL]))
    return engine


@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_limit_reached_inside_a_fast_path_is_no_fault_of_it(last: int) -> None:
    """Its steps are the search for it, the comparison with the model, and the prediction."""
    whole = Slow(np.inf)
    assert evaluated(whole).served["slow"].rows == 20
    assert whole.steps == 3
    served = evaluated(Slow(last)).served["slow"]
    assert (served.rows, served.failed, served.dropped) == (0, 0, "")


def test_an_explainer_is_stopped_inside_of_what_it_computes_and_the_others_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is drawn for its tests takes longer than the limit."""
    now = [0.0]
    monkeypatch.setattr(budget, "perf_counter", lambda: now[0])

    class Slow(Normal):
        """A normal whose draws take 200 s."""

        def take(self, rows: Any) -> "Slow":
            return Slow(self.loc[rows], self.scale[rows])

        def sample(self, rng: np.random.Generator, size: int) -> Any:
            now[0] += 200
            return super().sample(rng, size)

    X = np.random.default_rng(0).normal(size=(60, 2))
    subject = uq.explain(lambda rows: Slow(rows[:, 0], np.ones(len(rows))), X, X.sum(axis=1))
    run = audited(subject, Settings(explainers=("calibration", "data_quality"), time_limit=100)).run
    assert {result.explainer for result in run.results} == {"data_quality"}
    (entry,) = (entry for entry in run.not_run if entry.name == "calibration")
    assert entry.reason.startswith("the time limit of 100 s was reached; calibration was stopped")
