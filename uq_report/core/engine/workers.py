"""Where groups of variants are evaluated: in this process, in threads, in other processes, or on other machines.

The subject is sent to the workers once; then only packs of groups are sent. Packs follow from the order of the groups,
and the numbers of a group do not depend on its pack, so results are equal to the byte for any number of workers.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from threading import Lock
from time import process_time, thread_time
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4

import cloudpickle
import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from ..support.arrays import AnyArray
from ..support.errors import InputError, WorkersError, optional
from ..support.processes import looked_in, safe_paths

# packs per worker that run or wait, and seconds to wait for an answer of a scheduler
AHEAD, PATIENCE = 2, 10
_unpacked: dict[str, Any] = {}

Pack = TypeVar("Pack")
Answer = TypeVar("Answer")


class UnreadableError(Exception):
    """A worker cannot read what it was sent."""


class Broadcast:
    """A value for other processes, after the finders of the modules that it needs: pickle keeps this order."""

    def __init__(self, value: Any) -> None:
        self._modules, self._value = looked_in(), value

    def read(self) -> Any:
        """Return the value."""
        return self._value


class SharedBytes(NamedTuple):
    """A pickled `Broadcast`; joblib maps the array into the memory of its processes, and each unpickles it once."""

    name: str
    data: AnyArray

    @classmethod
    def of(cls, value: Any) -> SharedBytes:
        """Pickle a value."""
        return cls(uuid4().hex, np.frombuffer(cloudpickle.dumps(Broadcast(value)), np.uint8))

    def read(self) -> Any:
        """Return the value, the same object for every pack of this process."""
        if self.name not in _unpacked:
            _unpacked.clear()
            try:
                _unpacked[self.name] = pickle.loads(self.data.data).read()  # noqa: S301 - written by the parent process
            except Exception as error:
                raise UnreadableError(first_line(error)) from error
        return _unpacked[self.name]


class Cluster:
    """A dask cluster whose workers hold one value."""

    def __init__(self, scheduler: str | None, value: Any) -> None:
        self._client = client = _client(scheduler)
        try:
            client.submit(int, pure=False).result(timeout=PATIENCE)
        except TimeoutError as error:
            raise WorkersError(
                f"run.scheduler must have workers; got none within {PATIENCE} s. Start one: dask worker ADDRESS."
            ) from error
        try:
            self._held = client.scatter(Broadcast(value), broadcast=True, hash=False)
        except Exception as error:  # what pickling and other environments raise
            raise InputError(
                f"run.scheduler must have workers that can read model and data; got {first_line(error)}. "
                "Give them the Python environment of this process, or audit without a scheduler."
            ) from error

    @property
    def workers(self) -> int:
        """The number of workers, by their threads."""
        return int(sum(self._client.ncores().values()))

    def map(self, work: Callable[[Any, Pack], Answer], packs: Iterator[Pack]) -> Iterator[Answer]:
        """Yield ``work(value, pack)`` of every pack, in order.

        Raises
        ------
        CancelledError
            If dask gives up a pack, as its workers end again and again.
        """
        from distributed import KilledWorker

        # as bytes: dask would look into the pack, and warn of large ones
        futures = (self._client.submit(_work, work, self._held, cloudpickle.dumps(p), pure=False) for p in packs)
        running = deque(islice(futures, AHEAD * self.workers))
        while running:
            try:
                pack = running.popleft().result()
            except KilledWorker as error:
                raise CancelledError(first_line(error)) from error
            running.extend(islice(futures, 1))
            yield pack


def _work(work: Callable[[Any, Any], Answer], held: Broadcast, pack: bytes) -> Answer:
    return work(held, pickle.loads(pack))  # noqa: S301 - written by the process that asks


def _client(scheduler: str | None) -> Any:
    distributed = optional("distributed", "run.backend 'dask'", "distributed", "dask")
    if scheduler is not None:
        return _connected(scheduler)
    try:
        return distributed.get_client()
    except ValueError as error:
        raise InputError(
            "run.scheduler must be the address of a dask scheduler; got none, and this process has no dask client. "
            "Give the address, or make a distributed.Client."
        ) from error


@cache
def _connected(scheduler: str) -> Any:
    """Return the client of a scheduler; this process keeps it."""
    import distributed

    try:
        return distributed.Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise WorkersError(
            f"run.scheduler must be the address of a running dask scheduler; got {scheduler!r}, which did not answer "
            f"within {PATIENCE} s ({first_line(error)}). Start one: dask scheduler."
        ) from error


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its class name."""
    return next(iter(str(error).splitlines()), type(error).__name__)


Returned = TypeVar("Returned")

# packs per worker and pass: few, so that little is sent, and enough that no worker waits long for another at the end
PER_WORKER = 8
# rows at which a pack is full, and about the seconds that processes take to start
FULL, START = 2**22, 1.0
_log = logging.getLogger(__name__)


class Workers:
    """The workers of one run.

    Parameters
    ----------
    n_jobs : int
        Processes or threads; -1 for all processors. A cluster has the workers that it has.
    backend : {"auto", "threading", "loky", "dask"}
        ``"auto"`` is dask where a scheduler is given, else processes (loky) for work that takes longer than their
        start. Threads gain little, as checks, copies and measures hold Python's lock; ``"auto"`` uses them where other
        processes cannot read the model.
    scheduler : str, optional
        Address of a dask scheduler; by default dask's active client is used.
    """

    def __init__(self, n_jobs: int, backend: str, scheduler: str | None) -> None:
        if scheduler is not None and backend not in ("auto", "dask"):
            raise InputError(
                f"run.scheduler must be left out unless run.backend is 'dask'; got {scheduler!r} with {backend!r}."
            )
        self._usual = backend == "auto"
        self.backend = ("dask" if scheduler is not None else "loky") if self._usual else backend
        self.n_jobs, self._scheduler = n_jobs, scheduler
        self._sent: dict[int, tuple[object, Any]] = {}
        self.cpu_seconds = 0.0  # processor time of packs in other processes

    def alone(self, seconds: float) -> bool:
        """Return whether this process does work of about so many seconds without workers; results are equal."""
        return self.backend != "dask" and (self.n_jobs == 1 or (self._usual and seconds < START))

    def count(self, shared: Any, owner: object) -> int:
        """Return the number of workers, to which `shared` is sent."""
        source = self._share(shared, owner)
        if isinstance(source, Cluster):
            return source.workers
        with parallel_config(self.backend, n_jobs=self.n_jobs):
            return int(effective_n_jobs(self.n_jobs))

    def map(
        self, work: Callable[[Any, Pack], Returned], shared: Any, owner: object, packs: Iterable[Pack]
    ) -> Iterator[Returned]:
        """Yield ``work(shared, pack)`` of every pack, in order; `shared` is sent once for each `owner`.

        Packs of a killed worker are sent once more, then evaluated in this process.
        """
        queue = _PackQueue(packs)
        for remedy in ("Its packs are sent once more", "What is left is evaluated by this process"):
            try:
                for returned, seconds in self._results(partial(_worked, work, os.getpid()), shared, owner, queue):
                    queue.finish()
                    self.cpu_seconds += seconds
                    yield returned
            except UnreadableError as error:
                self._use_threads(error)
            except (BrokenProcessPool, CancelledError) as error:  # of loky, and of dask
                self._sent.clear()
                ended = first_line(error).rstrip(".")
                _log.warning("A worker process ended before its time: %s. %s.", ended, remedy)
            else:
                return
        for pack in queue.unfinished():
            yield work(shared, pack)

    def _results(self, work: Any, shared: Any, owner: object, queue: _PackQueue[Any]) -> Iterator[Any]:
        source, packs = self._share(shared, owner), queue.unfinished()
        if isinstance(source, Cluster):
            yield from source.map(work, packs)
            return
        with parallel_config(self.backend, n_jobs=self.n_jobs):
            size = AHEAD * int(effective_n_jobs(self.n_jobs))
            parallel = Parallel(batch_size=1, pre_dispatch=size, return_as="generator")
        with safe_paths():
            results = parallel(delayed(work)(source, pack) for pack in packs)
            try:
                for result in results:  # noqa: UP028 - "yield from" would close it: joblib then kills the workers
                    yield result
            except GeneratorExit:
                queue.close()
                with suppress(Exception):
                    deque(results, maxlen=0)
                raise

    def _share(self, shared: Any, owner: object) -> Any:
        """Return what stands for `shared` in calls of workers; it is sent once for each owner, which is kept alive."""
        if id(owner) not in self._sent:
            self._sent[id(owner)] = owner, self._send(shared)
        return self._sent[id(owner)][1]

    def _send(self, shared: Any) -> Any:
        if self.backend == "dask":
            return Cluster(self._scheduler, shared)
        if self.backend == "loky":
            try:
                return SharedBytes.of(shared)
            except Exception as error:  # noqa: BLE001 - whatever a foreign model raises when it is pickled
                self._use_threads(error)
        return shared

    def _use_threads(self, error: Exception) -> None:
        """Use threads from now on, if the user leaves the choice, as other processes cannot read the model."""
        if not self._usual:
            raise InputError(
                f"run.backend must be 'threading' for a model that other processes cannot read; got {self.backend!r} "
                f"({first_line(error)})."
            ) from error
        self.backend = "threading"
        self._sent.clear()


class _PackQueue(Generic[Pack]):
    """Packs in order, which can be read again from the first unfinished one; several threads may read."""

    def __init__(self, packs: Iterable[Pack]) -> None:
        self._packs = iter(packs)
        self._begun: deque[Pack] = deque()
        self._finished = 0
        self._lock = Lock()

    def unfinished(self) -> Iterator[Pack]:
        """Yield the packs from the first that is not finished."""
        at = self._finished
        while True:
            with self._lock:
                if at == self._finished + len(self._begun):
                    self._begun.extend(islice(self._packs, 1))
                if at == self._finished + len(self._begun):
                    return
                pack = self._begun[at - self._finished]
            at += 1
            yield pack

    def finish(self) -> None:
        """Remove the first unfinished pack."""
        with self._lock:
            self._begun.popleft()
            self._finished += 1

    def close(self) -> None:
        """Add no further packs."""
        with self._lock:
            self._packs = iter(())


def packed(groups: Iterable[tuple[int, Sequence[Any], str]], most: float) -> Iterator[list[Any]]:
    """Yield consecutive groups together, up to at least `most` variants.

    Examples
    --------
    >>> list(packed([(0, "ab", ""), (2, "cd", ""), (4, "e", "")], 3))
    [[(0, 'ab', ''), (2, 'cd', '')], [(4, 'e', '')]]
    """
    pack: list[Any] = []
    size = 0
    for group in groups:
        pack.append(group)
        size += len(group[1])
        if size >= most:
            yield pack
            pack, size = [], 0
    if pack:
        yield pack


def _worked(work: Callable[[Any, Pack], Returned], parent: int, source: Any, pack: Pack) -> tuple[Returned, float]:
    """Evaluate a pack in a worker, where the model starts no workers; return seconds of the processor elsewhere."""
    clock = process_time if isinstance(source, SharedBytes) else thread_time  # dask works in several threads
    start = clock()
    with parallel_config("sequential"):
        returned = work(source.read() if isinstance(source, SharedBytes | Broadcast) else source, pack)
    return returned, 0.0 if os.getpid() == parent else clock() - start
