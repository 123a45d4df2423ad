"""Send a shared value to workers: as bytes to processes of this machine, or scattered over a dask cluster."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from functools import cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import cloudpickle
import numpy as np

from ..support.arrays import AnyArray
from ..support.errors import InputError, MissingDependencyError, WorkersError
from ..support.user_modules import looked_in

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
    """Return the first line of an error's message, or its class name."""
    return next(iter(str(error).splitlines()), type(error).__name__)
