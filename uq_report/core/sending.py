"""How workers get what they need of a subject: by a file on this machine, or scattered over a dask cluster."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import cloudpickle
import numpy as np

from .errors import InputError, MissingDependencyError, WorkersError
from .nearby import looked_in

# bytes from which an array is mapped from its file into the memory of all processes, and not copied into each
MAPPED = 2**20
# seconds to wait for an answer of a scheduler
PATIENCE = 10

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class UnreadableError(Exception):
    """A worker cannot read what it was sent."""


class Filed(NamedTuple):
    """What other processes of this machine read once: a file, and files of its large arrays beside it."""

    path: str
    arrays: int

    def read(self) -> Any:
        """Return the value, the same one for every pack that this process is given."""
        return _read(self)

    @property
    def places(self) -> list[Path]:
        """The files of the arrays."""
        return [Path(self.path).with_suffix(f".{number}") for number in range(self.arrays)]


class Scattered:
    """What a cluster holds under a name of its own: nothing else that is freed takes it along."""

    def __init__(self, value: Any) -> None:
        self._modules, self._value = looked_in(), value  # in this order: the first say where to find the other's
        self._name = uuid4().hex

    def __dask_tokenize__(self) -> str:
        """Return the name."""
        return self._name

    def read(self) -> Any:
        """Return the value."""
        return self._value


def written(path: Path, value: Any) -> Filed:
    """Pickle a value into a file, its large arrays into files of their own."""
    large: list[pickle.PickleBuffer] = []

    def inside(buffer: pickle.PickleBuffer) -> bool:
        if buffer.raw().nbytes < MAPPED:
            return True
        large.append(buffer)
        return False

    path.write_bytes(cloudpickle.dumps((looked_in(), value), protocol=5, buffer_callback=inside))
    filed = Filed(str(path), len(large))
    for place, buffer in zip(filed.places, large, strict=True):
        place.write_bytes(buffer.raw())
    return filed


def answer(source: Any, value: Any) -> Any:
    """Return what tells a value to who sent `source`: files beside it, as a pipe takes longer, or the value itself."""
    if isinstance(source, Filed):
        with suppress(OSError):  # there is no room for files
            return written(Path(source.path).with_name(uuid4().hex), value)
    return value


def taken(sent: Any) -> Any:
    """Return what an `answer` tells; its files go."""
    if not isinstance(sent, Filed):
        return sent
    value = _opened(sent)
    for place in (Path(sent.path), *sent.places):
        place.unlink()
    return value


@lru_cache(maxsize=1)
def _read(filed: Filed) -> Any:
    return _opened(filed)


def _opened(filed: Filed) -> Any:
    """Read a value; its large arrays share memory with other processes until somebody writes to them."""
    arrays = [np.memmap(place, mode="c") for place in filed.places]
    try:
        return pickle.loads(Path(filed.path).read_bytes(), buffers=arrays)[1]  # noqa: S301 - written by our processes
    except Exception as error:
        raise UnreadableError(first_line(error)) from error


class Cluster:
    """A dask cluster, whose workers hold one value and are asked for calls with it."""

    def __init__(self, scheduler: str | None, value: Any) -> None:
        self._client = client = _client(scheduler)
        try:
            client.submit(int, pure=False).result(timeout=PATIENCE)
        except TimeoutError as error:
            raise WorkersError(
                f"run.scheduler must have workers; got none within {PATIENCE} s. Start one: dask worker ADDRESS."
            ) from error
        try:
            self._held = client.scatter(Scattered(value), broadcast=True)
        except Exception as error:  # what pickling and other environments raise
            raise InputError(
                f"run.scheduler must have workers that can read model and data; got {first_line(error)}. "
                "Give them the Python environment of this process, or audit without a scheduler."
            ) from error

    @property
    def workers(self) -> int:
        """The number of workers, by their threads."""
        return int(sum(self._client.ncores().values()))

    def ask(self, work: Callable[[Scattered, Task], Answer], tasks: Iterator[Task], ahead: int) -> Iterator[Answer]:
        """Return ``work(value, task)`` of every task, in order; `ahead` for each worker are under way or waiting.

        Raises
        ------
        CancelledError
            If workers that were given a task ended again and again, or all that held the value.
        """
        underway = deque(self._asked(work, task) for task in islice(tasks, ahead * self.workers))
        return self._answers(underway, (self._asked(work, task) for task in tasks))

    def _asked(self, work: Callable[[Scattered, Task], Answer], task: Task) -> Any:
        import dask

        # as bytes, which nobody on the way reads; a pack of many rows is no mistake to warn of
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            return self._client.submit(_unpacked, work, self._held, cloudpickle.dumps(task), pure=False)

    @staticmethod
    def _answers(underway: deque[Any], others: Iterator[Any]) -> Iterator[Any]:
        from distributed import KilledWorker

        while underway:
            try:
                answer = underway.popleft().result()
            except KilledWorker as error:
                raise CancelledError(first_line(error)) from error
            underway.extend(islice(others, 1))
            yield answer


def _unpacked(work: Callable[[Scattered, Task], Answer], held: Scattered, task: bytes) -> Answer:
    """Work in a worker of a cluster."""
    return work(held, pickle.loads(task))  # noqa: S301 - written by the process that asks


def _client(scheduler: str | None) -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingDependencyError("run.backend 'dask'", "distributed", "dask") from error
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
    """Return the first line of what an error says, or its kind."""
    return next(iter(str(error).splitlines()), type(error).__name__)
