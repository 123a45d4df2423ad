"""Workers: few packs, what they need sent once, the same bytes on all of them and after any of them is killed."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from time import process_time, sleep
from typing import Any

import numpy as np
import pytest

from uq_report.core.engine import workers
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.engine.workers import Workers
from uq_report.core.model.measures import ENTROPY, KL, NLL, PREDICTION
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.model.variants import Variant
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import BudgetError, InputError, MissingDependencyError, WorkersError
from uq_report.distributions import Normal
from uq_report.inputs.adapters.members import FunctionAdapter

MEASURES = {m.name: m for m in (PREDICTION, NLL, ENTROPY, KL)}
LOKY: dict[str, Any] = {"n_jobs": 2, "backend": "loky"}
REMEDIES = ["Its packs are sent once more.", "What is left is evaluated by this process."]
Model = Callable[[FloatArray], Any]


def smooth(before: Callable[[], object] = lambda: None) -> Model:
    """Return a model that other processes are sent by value."""

    def model(X: FloatArray) -> Any:
        before()
        return Normal(X[:, 0] + 2 * X[:, 1] * X[:, 2], np.exp(0.3 * X[:, 1]))

    return model


def deadly(times: int, folder: Path) -> Model:
    """Return a model that kills the process it is called in, so many times, unless that is this one."""
    here = os.getpid()

    def kill() -> None:
        if os.getpid() == here:
            return
        for k in range(times):
            try:
                (folder / str(k)).touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)

    return smooth(kill)


def subject(model: Model | None = None, n: int = 60) -> Subject:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return make_subject(model or smooth(), FunctionAdapter(), X, X[:, 0] + rng.normal(size=n))


def means(of: Subject, engine: Engine | None = None, **options: Any) -> FloatArray:
    """Return means over rows, whose bits depend on how their numbers are laid out, of 40 variants in calls of 16."""
    rng, engine = np.random.default_rng(1), engine or Engine(of, MEASURES, **options)
    variants = [Variant((k // 16,), donors=rng.permutation(of.n)) for k in range(40)]
    groups = engine.evaluate(variants, [NLL, ENTROPY, KL], total=40)
    return np.concatenate([group.values.mean(axis=2) for group in groups], axis=1)


def remedies_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return how each warning of a worker that ended closes."""
    said = [record.getMessage() for record in caplog.records if record.name == workers.__name__]
    return [message.rpartition(". ")[2] for message in said]


@contextmanager
def dask(processes: int) -> Iterator[str]:
    """Start so many processes of dask and give the address of their scheduler."""
    distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with distributed.LocalCluster(n_workers=processes, **options) as local:
        yield local.scheduler_address
        workers._connected.cache_clear()


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Two processes of dask."""
    with dask(2) as address:
        yield address


class TestPacks:
    def test_rows_that_are_predicted_alone_are_parted_among_workers(self) -> None:
        """What one worker predicts in a call of all rows, two do in shares."""
        told: list[int] = []

        def model(X: FloatArray) -> Any:
            told.append(len(X))
            return smooth()(X)

        rng, X = np.random.default_rng(1), np.random.default_rng(0).normal(size=(60, 3))
        of = make_subject(model, FunctionAdapter(batch_rows_per_call=80_000), X, X[:, 0])
        donors = [rng.permutation(of.n) for _ in range(640)]

        def calls(**options: Any) -> tuple[list[int], bytes]:
            told.clear()
            variants = (Variant((k % 3,), donors=rows) for k, rows in enumerate(donors))
            groups = Engine(of, MEASURES, **options).evaluate(variants, [ENTROPY], total=640)
            values = np.concatenate([group.values for group in groups], axis=1)
            return told[1:], values.tobytes()  # the first call is of the rows themselves

        one, two = calls(), calls(n_jobs=2, backend="threading")
        assert one[0] == [640 * 60]
        assert two[0] == [40 * 60] * 16
        assert one[1] == two[1]


class TestSameBytes:
    def test_threads_and_processes(self) -> None:
        of = subject()
        one = means(of)
        for options in (LOKY, {"n_jobs": 2, "backend": "threading"}, {**LOKY, "batch_rows": None}):
            assert means(of, **options).tobytes() == one.tobytes()

    def test_dask_also_when_a_worker_is_killed(self, cluster: str, tmp_path: Path) -> None:
        one = means(subject())
        assert means(subject(), scheduler=cluster).tobytes() == one.tobytes()
        assert means(subject(deadly(1, tmp_path)), scheduler=cluster).tobytes() == one.tobytes()
        assert [file.name for file in tmp_path.iterdir()] == ["0"]

    def test_dask_whose_workers_are_killed_each_time(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """The cluster gives up a task that ended more workers than it allows, here none; this process does it."""
        with pytest.importorskip("dask").config.set({"distributed.scheduler.allowed-failures": 0}), dask(1) as address:
            values = means(subject(deadly(1000, tmp_path)), scheduler=address)
        assert values.tobytes() == means(subject()).tobytes()
        assert remedies_in(caplog) == REMEDIES

    @pytest.mark.parametrize(("times", "remedies"), [(1, 1), (1000, 2)])
    def test_processes_that_are_killed(
        self, times: int, remedies: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """One retry; where that is killed too, this process does what is left."""
        assert means(subject(deadly(times, tmp_path)), **LOKY).tobytes() == means(subject()).tobytes()
        assert remedies_in(caplog) == REMEDIES[:remedies]


class TestTheChoice:
    def test_short_work_stays_here(self) -> None:
        usual = Workers(2, "auto", None)
        assert usual.alone(workers.START * 0.99)
        assert not usual.alone(workers.START)
        assert usual.backend == "loky"
        assert not Workers(2, "threading", None).alone(0.0)

    def test_one_worker_is_this_process_and_a_cluster_is_not(self) -> None:
        assert Workers(1, "loky", None).alone(9.0)
        assert not Workers(1, "dask", None).alone(0.0)
        assert not Workers(1, "auto", "tcp://host:8786").alone(0.0)

    @pytest.mark.parametrize("stage", ["cannot be written", "cannot be read"])
    def test_threads_where_other_processes_cannot_have_the_model(
        self, stage: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lock, here = Lock(), os.getpid()

        class Bound:
            """Can be read in the process that wrote it only."""

            def __reduce__(self) -> Any:
                return (lambda pid: None if pid == os.getpid() else {}[pid], (here,))

        bound = Bound()
        before = (lambda: lock.locked() and None) if stage == "cannot be written" else (lambda: bound and None)
        monkeypatch.setattr(workers, "START", 0.0)
        engine = Engine(subject(smooth(before)), MEASURES, n_jobs=2)
        assert means(engine.subject, engine).tobytes() == means(subject()).tobytes()
        assert engine._workers.backend == "threading"
        with pytest.raises(InputError, match="must be 'threading' for a model that other processes cannot read; got"):
            means(subject(smooth(before)), **LOKY)


class TestLettingGo:
    def test_what_is_not_taken_is_not_worked_at_and_nothing_warns(self) -> None:
        """Of a hundred packs few are begun, and no thread is left to begin more."""
        begun: list[int] = []

        def work(_: None, pack: int) -> int:
            sleep(0.01)
            begun.append(pack)
            return pack

        paths = os.environ.get("PYTHONSAFEPATH")
        results = Workers(2, "threading", None).map(work, None, self, range(100))
        assert next(results) == 0
        results = iter(())
        done = len(begun)
        sleep(0.1)
        assert 0 < done <= len(begun) < 20
        assert os.environ.get("PYTHONSAFEPATH") == paths

    def test_a_cluster_is_given_the_next_pack_when_one_is_taken(self, cluster: str) -> None:
        packs = iter(range(30))
        results = Workers(1, "dask", cluster).map(lambda of, pack: of + pack, 0.5, self, packs)
        assert [next(results) for _ in range(4)] == [0.5, 1.5, 2.5, 3.5]
        assert next(packs) == 2 * 2 + 4
        assert list(results) == [pack + 0.5 for pack in range(4, 30) if pack != 8]


class TestRefusals:
    def test_limits_bind_between_groups(self) -> None:
        engine = Engine(subject(), MEASURES, n_jobs=2, backend="threading")
        _, asked, last = engine.baseline, iter(range(100)), 1  # of three groups, the third is not begun
        engine.limits = lambda *_: "the limit was reached" if next(asked) > last else ""
        with pytest.raises(BudgetError, match="the limit was reached"):
            means(engine.subject, engine)

    def test_rows_beyond_the_budget_are_not_sent(self) -> None:
        with pytest.raises(BudgetError, match="row_budget must allow the next"):
            means(subject(), n_jobs=2, backend="threading", row_budget=1000)

    def test_a_scheduler_is_of_dask(self) -> None:
        with pytest.raises(
            InputError, match=r"scheduler must be left out unless run.backend is 'dask'; got 'tcp://h:1'"
        ):
            Workers(2, "loky", "tcp://h:1")

    @pytest.fixture
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Wait for a cluster no longer than a moment."""
        monkeypatch.setattr(workers, "PATIENCE", 0.3)

    def test_a_scheduler_that_does_not_answer(self, impatient: None) -> None:
        pytest.importorskip("distributed", reason="the dask extra is not installed")
        with pytest.raises(WorkersError, match=r"got 'tcp://127.0.0.1:9', which did not answer within 0.3 s") as raised:
            means(subject(), scheduler="tcp://127.0.0.1:9")
        assert raised.value.exit_code == 75

    def test_a_scheduler_without_workers(self, impatient: None) -> None:
        distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")
        with (
            distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
            distributed.Client(empty),
            pytest.raises(WorkersError, match=r"run.scheduler must have workers; got none within 0.3 s"),
        ):
            means(subject(), backend="dask")

    def test_dask_without_a_client_or_missing(self, without: Callable[..., None]) -> None:
        pytest.importorskip("distributed", reason="the dask extra is not installed")
        with pytest.raises(InputError, match="this process has no dask client"):
            means(subject(), backend="dask")
        without("distributed")
        with pytest.raises(MissingDependencyError, match=r"pip install 'uq_report\[dask\]'"):
            means(subject(), backend="dask")


def test_an_engine_leaves_behind_what_is_of_this_process() -> None:
    engine = Engine(subject(), {}, progress=lambda _: None, limits=lambda *_: "")
    state = engine.__getstate__()
    assert (state["progress"], state["limits"], state["_workers"]) == (None, None, None)


def busy() -> Callable[[], None]:
    """Return what takes a fifth of a second of the processor, and sleeps as long."""

    def work() -> None:
        end = process_time() + 0.2
        while process_time() < end:
            pass
        sleep(0.2)

    return work


@pytest.mark.parametrize(("backend", "counted"), [("loky", True), ("threading", False)])
def test_the_processor_time_of_other_processes_is_counted(backend: str, *, counted: bool) -> None:
    engine = Engine(subject(smooth(busy())), MEASURES, n_jobs=2, backend=backend, batch_rows=10)
    list(engine.evaluate([Variant((0,), (float(k),)) for k in range(4)], [ENTROPY], np.arange(10)))
    calls = 0.2 * 4
    assert (0.9 * calls < engine.worker_seconds < 3 * calls) if counted else engine.worker_seconds == 0
