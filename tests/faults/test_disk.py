"""The disk fails at every single call of a filing, and of a report: an error of ours, and nothing half done."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from uq_report.core.support.errors import OutputError
from uq_report.evidence import run_folder
from uq_report.ops.history import History

from ..system.store_crash import LONGEST, NAME, RUN, add, waiting

TOUCHES = frozenset([os.write, os.fsync, os.mkdir, os.rename, os.replace])


def of_a_file(called: Any) -> bool:
    """Say whether a method writes to a file."""
    owner = getattr(called, "__self__", None)
    return called.__name__ == "write" and isinstance(owner, io.BufferedWriter | io.FileIO)


def fails_at(point: int, work: Callable[[], Any]) -> tuple[bool, Exception | None]:
    """Do some work whose `point`-th call that writes to the disk fails; say if it came there, and how it ended."""
    left = point

    def touched(_: FrameType, event: str, called: Any) -> None:
        nonlocal left
        if event == "c_call" and (called in TOUCHES or of_a_file(called)):
            left -= 1
            if left == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sys.setprofile(touched)
    try:
        work()
    except Exception as error:  # noqa: BLE001 - it is looked at
        return True, error
    finally:
        sys.setprofile(None)
    return left <= 0, None


def test_a_filing_fails_whole_at_every_point_and_the_next_one_works(tmp_path: Path) -> None:
    history, there, kept = History(tmp_path / "history"), 0, 0
    for point in count(1):
        reached, error = fails_at(point, lambda: add(history, -point))  # noqa: B023 - done within this turn
        if not reached:
            break
        if error is not None:
            assert isinstance(error, OutputError), f"point {point}: {error!r}"
            assert "No space left on device" in str(error)
        there = len(history.runs(NAME)) if history.root.exists() else 0
        assert there in ((kept, kept + 1) if error else (kept + 1,)), f"point {point}"
        rescued = waiting(history)  # kept before the disk was full, and filed by the next one
        kept = add(history, point)
        assert history.check() == [], f"point {point}"
        assert kept == there + rescued + 1
        if kept > LONGEST:  # a first run has points of its own, and a long history takes long to check
            shutil.rmtree(history.root)
            kept = 0
    assert point > 20


def test_a_report_fails_whole_at_every_point_and_the_old_one_stays(tmp_path: Path) -> None:
    kinds = [{name: kind + name.encode() for name in ("report.html", "report.pdf")} for kind in (b"old", b"new")]
    for point in count(1):
        run_folder.write(RUN, tmp_path, reports=kinds[0], clock={})
        old = contents(tmp_path)
        reached, error = fails_at(point, lambda: run_folder.write(RUN, tmp_path, reports=kinds[1], clock={}))
        if not reached:
            break
        if error is not None:
            assert isinstance(error, OutputError), f"point {point}: {error!r}"
        assert (contents(tmp_path) == old) is (error is not None), f"point {point}"
    assert point > 10


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, hidden ones too."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def refused(*_: Any, **__: Any) -> Any:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_a_folder_that_can_only_be_read_is_told_and_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, place = History(tmp_path / "history"), tmp_path / "out"
    add(history, 1)
    run_folder.write(RUN, place, reports={"report.html": b"old"}, clock={})
    old, first = contents(place), contents(history.root)
    with monkeypatch.context() as only_read:
        for name in ("mkdir", "rename", "replace", "unlink"):
            only_read.setattr(os, name, refused)
        with pytest.raises(OutputError, match="Read-only file system"):
            run_folder.write(RUN, place, reports={"report.html": b"new"}, clock={})
        with pytest.raises(OutputError, match="Read-only file system"):
            add(history, 2)
        assert [one.entry.sequence for one in history.runs(NAME)] == [1]
        assert history.check() == []
    assert contents(place) == old
    assert {name: data for name, data in contents(history.root).items() if ".held" not in name} == first
    assert add(history, 3) == 2
