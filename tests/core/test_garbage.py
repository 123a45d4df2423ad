"""Collections inside pass over what is older, and over nothing else."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from uq_report.core.garbage import older_objects_left


class _Knot:
    """An object that holds itself, so that only a collection lets it go."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    """End with nothing frozen: each audit counts what a caller froze, which takes as long as there are objects."""
    yield
    gc.unfreeze()


def _garbage() -> weakref.ref[_Knot]:
    return weakref.ref(_Knot())


def test_older_garbage_waits_and_newer_does_not() -> None:
    older = _garbage()
    with older_objects_left():
        newer = _garbage()
        gc.collect()
        assert older() is not None
        assert newer() is None
    gc.collect()
    assert older() is None


def test_an_error_leaves_nothing_frozen() -> None:
    with pytest.raises(ValueError, match="a model"), older_objects_left():
        raise ValueError("a model")
    assert gc.get_freeze_count() == 0


def test_what_a_caller_froze_stays_frozen() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    with older_objects_left():
        assert gc.get_freeze_count() <= before
    assert gc.get_freeze_count() > 0
