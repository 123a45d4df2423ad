"""Where groups of variants are evaluated: in this process, in threads, in other processes, or on other machines.

What the workers need of a subject is sent once; after that a pack of groups is all that is sent. Packs are few and
follow from the order of the groups, and a group's numbers do not depend on its pack, so workers change no byte.
"""

from __future__ import annotations

import logging
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from time import process_time, thread_time
from typing import Any, Generic, NamedTuple, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from . import scratch
from .errors import InputError
from .processes import safe_paths
from .sending import Cluster, Filed, Scattered, UnreadableError, answer, first_line, taken, written

Returned = TypeVar("Returned")
Pack = TypeVar("Pack")

# packs for each worker: few, so that little is sent, and many enough that none waits long for another at the end; all
# of them wait ahead, so that what is asked for next is behind them; fewer where a limit may stop them, or of many rows
PER_WORKER, AHEAD = 8, 2
# packs for each worker at least, rather than more that hold fewer calls than so many: each has buffers to fill
LEAST, CALLS = 4, 3
# rows of a pack, at which it is full whatever the number of workers, and rows that are many
FULL = 2**22
# seconds that processes take to start, about
START = 1.0
CLUSTERS = ("dask", "ray")
_log = logging.getLogger(__name__)


class Sent(NamedTuple):
    """What goes with every pack (the value itself, or what reads it), and who takes it: a backend, or a cluster."""

    source: Any
    to: Any


class Workers:
    """The workers of one run.

    Parameters
    ----------
    n_jobs : int
        Processes or threads; -1 for all processors. A cluster has the workers that it has.
    backend : {"auto", "threading", "loky", "dask", "ray"}
        ``"auto"`` is dask where a scheduler is given, else processes (loky) for what takes longer than they take to
        start. Threads gain little, as checks, copies and measures hold Python's lock: they are taken where other
        processes cannot read the model.
    scheduler : str, optional
        Address of a dask scheduler; without one, dask's active client.
    """

    def __init__(self, n_jobs: int, backend: str, scheduler: str | None) -> None:
        if scheduler is not None and backend not in ("auto", "dask"):
            raise InputError(
                f"run.scheduler must be left out unless run.backend is 'dask'; got {scheduler!r} with {backend!r}."
            )
        self._usual = backend == "auto"
        self.backend = ("dask" if scheduler is not None else "loky") if self._usual else backend
        self.n_jobs, self._scheduler = n_jobs, scheduler
        self._sent: dict[int, tuple[Any, Sent]] = {}
        self._folder: Path | None = None
        self._lock = Lock()  # whoever asks for a pack counts its rows
        self.cpu_seconds = 0.0  # processor time that other processes took for packs, as each tells with its answer

    def alone(self, seconds: float) -> bool:
        """Say whether this process does work of about so many seconds alone; that changes no number."""
        if self._usual and self.backend not in CLUSTERS and seconds < START:
            return True
        return self.n_jobs == 1 and self.backend not in CLUSTERS

    def map(
        self,
        work: Callable[[Any, Pack], Returned],
        shared: Any,
        owner: object,
        packs: Iterable[Pack],
        ahead: int = PER_WORKER,
    ) -> Iterator[Returned]:
        """Return ``work(shared, pack)`` of every pack, in order; `shared` is sent once for each `owner`.

        Workers other than ray's begin at once, with `ahead` packs for each under way or waiting; if what is returned is
        let go, those of this machine are waited for. Packs of a process that was killed are sent once more, then
        evaluated here.
        """
        line = _Line(iter(packs), self._lock)

        def begin() -> Iterator[tuple[Returned, float]]:
            task = work, os.getpid(), self._clock
            return self._parallel(self._share(shared, owner), ((*task, pack) for pack in line.again()), line.end, ahead)

        def received(begun: Iterator[tuple[Returned, float]] | None) -> Iterator[Returned]:
            for remedy in ("Its packs are sent once more", "What is left is evaluated by this process"):
                try:
                    for returned, seconds in begun or begin():
                        line.done()
                        self.cpu_seconds += seconds
                        yield taken(returned)
                except UnreadableError as error:
                    self._sent = {id(owner): (owner, self._in_threads(shared, error))}
                except (BrokenProcessPool, CancelledError) as error:  # of loky, and of dask
                    self._sent.pop(id(owner), None)  # another pass may have met the same end
                    ended = first_line(error).rstrip(".")
                    _log.warning("A worker process ended before its time: %s. %s.", ended, remedy)
                else:
                    return
                begun = None
            for pack in line.again():
                yield work(shared, pack)

        return received(begin())

    @property
    def _clock(self) -> Callable[[], float]:
        """Of a worker's processor time: loky's are at one pack at a time, in all of their threads."""
        return process_time if self.backend == "loky" else thread_time

    def count(self, shared: Any, owner: object) -> int:
        """Return the number of workers, to whom `shared` is sent."""
        return self._number(self._share(shared, owner))

    def _number(self, sent: Sent) -> int:
        if isinstance(sent.to, Cluster):
            return sent.to.workers
        with parallel_config(sent.to, n_jobs=self.n_jobs):
            return int(effective_n_jobs(self.n_jobs))

    def _parallel(self, sent: Sent, tasks: Iterator[Any], end: Callable[[], None], ahead: int) -> Iterator[Any]:
        """Return what workers make of the tasks, as it comes; from ray in waves of as many."""
        if isinstance(sent.to, Cluster):
            return sent.to.ask(_worked, tasks, ahead)
        size, in_waves = ahead * self._number(sent), self.backend == "ray"
        calls = (delayed(_worked)(sent.source, task) for task in tasks)
        with parallel_config(sent.to, n_jobs=self.n_jobs):
            parallel = Parallel(batch_size=1, pre_dispatch=size, return_as="list" if in_waves else "generator")
        if in_waves:
            waves = iter(lambda: list(islice(calls, size)), [])
            return chain.from_iterable(map(parallel, waves))
        results = _begun(parallel, calls, end)
        next(results)
        return results

    def _share(self, shared: Any, owner: object) -> Sent:
        """Return what stands for `shared`, sent when it is first asked for; `owner` lives as long as this does."""
        if id(owner) not in self._sent:
            self._sent[id(owner)] = owner, self._send(shared)
        return self._sent[id(owner)][1]

    def _send(self, shared: Any) -> Sent:
        if self.backend == "dask":
            return Sent(None, Cluster(self._scheduler, shared))
        if self.backend == "loky":
            try:
                return Sent(self._filed(shared), "loky")
            except Exception as error:  # noqa: BLE001 - whatever a foreign model raises when it is pickled
                return self._in_threads(shared, error)
        return Sent(shared, self.backend)

    def _in_threads(self, shared: Any, error: Exception) -> Sent:
        """Take threads from now on, if the user leaves the choice, as other processes cannot have the model."""
        if not self._usual:
            raise InputError(
                f"run.backend must be 'threading' for a model that other processes cannot read; got {self.backend!r} "
                f"({first_line(error)})."
            ) from error
        self.backend = "threading"
        return Sent(shared, self.backend)

    def _filed(self, shared: Any) -> Filed:
        """Write a value for other processes; its folder goes with this object."""
        if self._folder is None:
            self._folder = scratch.make()
            weakref.finalize(self, scratch.remove, self._folder)
        return written(self._folder / str(len(self._sent)), shared)


class _Line(Generic[Pack]):
    """Packs in their order, which can be had again from the first that is not done; threads may ask for the next."""

    def __init__(self, packs: Iterator[Pack], lock: Lock) -> None:
        self._packs, self._lock = packs, lock
        self._begun: deque[Pack] = deque()
        self._turn = 0

    def again(self) -> Iterator[Pack]:
        """Yield the packs that are begun and not done, then the others; who asked before is given no more."""
        with self._lock:
            self._turn += 1
            turn, begun = self._turn, tuple(self._begun)
        yield from begun
        while True:
            with self._lock:
                pack = next(self._packs, None) if turn == self._turn else None
                if pack is None:
                    return
                self._begun.append(pack)
            yield pack

    def end(self) -> None:
        """Give nobody more."""
        with self._lock:
            self._turn += 1

    def done(self) -> None:
        """Count the first pack that is begun as done."""
        self._begun.popleft()


def packed(groups: Iterable[tuple[int, Pack, int]], share: float) -> Iterator[list[Pack]]:
    """Yield consecutive groups together, up to each multiple of `share` variants, or to `FULL` rows.

    Parameters
    ----------
    groups : iterable
        Number of variants, the group, and its rows.
    share : float
        See `share_of_pack`.

    Examples
    --------
    >>> list(packed([(2, "a", 9), (2, "b", 9), (2, "c", 9), (1, "d", 9)], 3.5))
    [['a', 'b'], ['c', 'd']]
    """
    pack: list[Pack] = []
    size = filled = 0
    end = share
    for number, group, rows in groups:
        pack.append(group)
        size, filled = size + number, filled + rows
        if size >= end or filled >= FULL:
            yield pack
            pack, filled, end = [], 0, share and (size // share + 1) * share
    if pack:
        yield pack


def share_of_pack(total: int, workers: int, width: int = 1) -> float:
    """Return a pack's share of the variants, so that all packs are alike; 0, one group, where none is known of them.

    `width` variants share a call.

    Examples
    --------
    >>> share_of_pack(540, 2), share_of_pack(72, 2, width=3), share_of_pack(0, 2)
    (33.75, 9.0, 0.0)
    """
    return max(total / (PER_WORKER * workers), min(float(CALLS * width), total / (LEAST * workers)))


def _begun(parallel: Parallel, calls: Iterator[Any], end: Callable[[], None]) -> Iterator[Any]:
    """Yield nothing once the first calls are under way, then what all give; if it is let go, `end` the calls."""
    with safe_paths():
        results = parallel(calls)
        try:
            yield
            for result in results:  # noqa: UP028 - "yield from" would close it: joblib then kills the workers
                yield result
        except GeneratorExit:
            end()
            with suppress(Exception):
                deque(results, maxlen=0)
            raise


def _worked(
    source: Any, task: tuple[Callable[[Any, Pack], Returned], int, Callable[[], float], Pack]
) -> tuple[Returned, float]:
    """Work in a worker, where nothing inside the model may start workers of its own; tell another process's seconds."""
    work, parent, clock, pack = task
    start = clock()
    with parallel_config("sequential"):
        returned = work(source.read() if isinstance(source, Filed | Scattered) else source, pack)
    if os.getpid() == parent:
        return returned, 0.0
    return answer(source, returned), clock() - start
