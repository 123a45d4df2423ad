"""Audits one after the other in one process leave nothing behind: no memory, no open file, thread or temporary file."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.api.reports import reports_of
from uq_report.distributions import Categorical
from uq_report.document.plots import style
from uq_report.render.filters import breakable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="open files are counted in /proc")

MANY = 5 * int(os.environ.get("UQ_STUDY_REPS", "100"))
PARTS = 5  # of which the median counts: what happens once, in whatever is beside it in the process, is no audit's
MOST = 10_000  # bytes an audit may leave beside `BOUNDED`, on average
BOUNDED = (breakable,)  # words of pages, 4096 each: some 30 kB an audit of new words until they are full
FAST = {"pfi": {"n_repeats": 2}, "pdp": {"grid_resolution": 3, "max_ice": 3}, "calibration": {"n_draws": 99}}


def coin(X: Any) -> Categorical:
    p = 1 / (1 + np.exp(-np.asarray(X)[:, 0].astype(float)))
    return Categorical(np.column_stack([1 - p, p]), classes=[0, 1])


def audited(number: int, folder: Path) -> list[weakref.ref[Any]]:
    """Audit other rows each time, and write the report; return references to what should be gone afterwards."""
    X = pd.DataFrame(np.random.default_rng(number).normal(size=(40, 2)), columns=["a", f"b{number}"])
    subject = uq.explain(coin, X, (X["a"] > 0).astype(int))
    audit = uq.audit(subject, explainers=tuple(FAST), options=FAST, progress=False)
    audit.write(folder, ["html", "markdown"])
    return [weakref.ref(one) for one in (X, subject, audit, audit.run, *audit.run.results)]


def held() -> tuple[int, int, int]:
    """Return the numbers of open files, threads, and files in the temporary folder."""
    gc.collect()
    files, temporary = Path("/proc/self/fd"), Path(tempfile.gettempdir())
    return len(list(files.iterdir())), threading.active_count(), len(list(temporary.iterdir()))


def traced() -> int:
    """Return the bytes in use, without what is kept of words up to a bound."""
    for kept in BOUNDED:
        kept.cache_clear()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def resident() -> int:
    """Return the bytes of memory that the process has, of libraries in C too."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _left(numbers: range, folder: Path) -> float:
    """Return the bytes that each of some audits leaves on average."""
    start = traced()
    for number in numbers:
        audited(number, folder)
    return (traced() - start) / len(numbers)


def test_what_is_kept_of_words_is_bounded() -> None:
    assert [kept.cache_info().maxsize for kept in BOUNDED] == [4096]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, temporary_files: Callable[[Path], None]) -> Path:
    """Put temporary files where they are counted."""
    temporary_files(tmp_path)
    return tmp_path / "report"


def test_what_an_audit_made_is_gone_with_it(temporary: Path) -> None:
    audited(0, temporary)
    before = held()
    made = [reference for number in range(1, 11) for reference in audited(number, temporary)]
    assert held() == before
    assert [reference() for reference in made if reference() is not None] == []


def test_figures_are_gone_with_their_files_whatever_the_collector_counts() -> None:
    """In a process of many objects it looks at old ones rarely, and never at the pixels that figures hold."""
    subject = uq.explain(coin, X := pd.DataFrame({"a": np.linspace(-1, 1, 40), "b": 1.0}), (X["a"] > 0).astype(int))
    run = uq.audit(subject, explainers=("pdp",), options={"pdp": FAST["pdp"]}, progress=False).run
    drawn, draw = [], style.drawing

    @contextmanager
    def watched(*size: float, **how: bool) -> Iterator[Any]:
        with draw(*size, **how) as figure:
            drawn.append(weakref.ref(figure))
            yield figure

    thresholds = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(style, "drawing", watched)
            list(reports_of(["html"], appendix="full").of(run))
        assert drawn
        assert [figure() for figure in drawn if figure() is not None] == []
    finally:
        gc.set_threshold(*thresholds)


@pytest.mark.study
def test_many_audits_leave_nothing(temporary: Path) -> None:
    """Five hundred, fewer where UQ_STUDY_REPS asks for less than 100."""
    for number in range(5):
        audited(number, temporary)
    before = held()
    tracemalloc.start()
    try:
        audited(5, temporary)
        left = [_left(range(first, first + MANY // PARTS), temporary) for first in range(6, 6 + MANY, MANY // PARTS)]
    finally:
        tracemalloc.stop()
    assert held() == before
    assert median(left) < MOST, left


@pytest.mark.study
def test_the_process_does_not_grow(temporary: Path) -> None:
    """By a megabyte an audit at most, over three hundred, fewer where UQ_STUDY_REPS asks for less than 100."""
    for number in range(20):
        audited(number, temporary)
    before, memory, many = held(), resident(), 3 * MANY // 5
    for number in range(20, 20 + many):
        audited(number, temporary)
    assert held() == before
    assert resident() - memory < 1e6 * many
