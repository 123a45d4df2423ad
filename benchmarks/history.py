"""What a long history costs: `history`, `show` and `compare` with 1,000 stored runs beside ten, and a listing by size.

Run: python benchmarks/history.py [--write]. Exits with 1 if a bound is missed; --write puts the figures in RESULTS.md.
"""

from __future__ import annotations

import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from uq_report.core.results import ESTIMATE_COLUMNS, Importance, RowValues
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import Run
from uq_report.ops.history import History

SIZES = (10, 250, 500, 1000)
ROUNDS = 5
BOUND = 1.0  # seconds more than with ten runs
RESULTS = Path(__file__).with_name("RESULTS.md")


def made(number: int) -> Run:
    """Return a run of 20 importances with row terms of 100 rows."""
    terms = np.random.default_rng(number).normal(size=(1, 20, 100))
    names = tuple(f"x{j}" for j in range(20))
    lines = [
        ("nll", f, t.mean(), t.std() / 10, np.nan, np.nan, 0.95, "new test rows")
        for f, t in zip(names, terms[0], strict=True)
    ]
    result = Importance(
        id="pfi",
        explainer="pfi",
        title="Importance",
        frame=pd.DataFrame(columns=list(Importance.columns)),
        estimates=pd.DataFrame(lines, columns=list(ESTIMATE_COLUMNS)),
        rows=RowValues(("nll",), names, terms),
    )
    subject = {
        "label": "m", "task": "regression", "family": "normal", "model_class": "a.B", "model_parameters": {},
        "adapter": "function", "adapter_reason": "r", "n": 100, "d": 20, "has_y": True, "has_train": False,
        "weights": False, "features": [],
    }  # fmt: skip
    return Run(
        as_of="2026-01-01",
        subject=subject | {"hashes": {"model": "a" * 64, "X": "1"}},
        settings={"number": number},
        environment={"python": "3", "platform": "p", "numpy": "2"},
        results=(result,),
        outcomes=(Outcome(check="a", state="passed"),),
    )


def fill(history: History, size: int) -> float:
    """File so many runs; return the seconds one took. The disk is not waited for."""
    flush, os.fsync = os.fsync, lambda _: None
    start = time.perf_counter()
    for number in range(size):
        with history.filing("m") as filing:
            filing.add(made(number), reports={"report.html": b"<html>"}, clock={})
    os.fsync = flush
    return (time.perf_counter() - start) / size


def part(whole: Path, root: Path, size: int) -> Path:
    """Return a history of the first runs of another one."""
    runs = sorted(place for place in (whole / "m").iterdir() if place.is_dir())
    for place in runs[:size]:
        shutil.copytree(place, root / "m" / place.name)
    return root


def work(root: Path, size: int) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name."""

    def command(*arguments: str) -> Callable[[], object]:
        line = [sys.executable, "-m", "uq_report", *arguments, "--history", str(root)]
        return lambda: subprocess.run(line, check=True, capture_output=True)

    return {
        "history": command("history"),
        "show": command("show", "m"),
        "compare": command("compare", "m@1", f"m@{size}"),
        "runs": History(root).runs,
        "check": History(root).check,
    }


def measured(folder: Path) -> tuple[dict[int, dict[str, float]], float]:
    """Return the shortest seconds of each piece of work by the number of stored runs, and those of filing one.

    The sizes take turns, so that what else the machine does falls on all of them.
    """
    filed = fill(History(folder / "whole"), SIZES[-1])
    pieces = {size: work(part(folder / "whole", folder / str(size), size), size) for size in SIZES}
    found = {size: dict.fromkeys(pieces[size], math.inf) for size in SIZES}
    for _ in range(ROUNDS):
        for name in pieces[SIZES[0]]:
            for size in SIZES:
                start = time.perf_counter()
                pieces[size][name]()
                found[size][name] = min(found[size][name], time.perf_counter() - start)
    return found, filed


def table(found: dict[int, dict[str, float]], filed: float) -> str:
    """Return the figures as Markdown."""
    rows = [f"| stored runs | {' | '.join(found[SIZES[0]])} |", f"|---|{'---|' * len(found[SIZES[0]])}"]
    for size, times in found.items():
        rows.append(f"| {size:,} | {' | '.join(f'{seconds:.3f} s' for seconds in times.values())} |")
    more = {name: found[SIZES[-1]][name] - found[SIZES[0]][name] for name in ("history", "show", "compare")}
    told = ", ".join(f"`{name}` {seconds:+.2f} s" for name, seconds in more.items())
    growth = found[SIZES[-1]]["runs"] / found[SIZES[1]]["runs"] / (SIZES[-1] / SIZES[1])
    return "\n".join(
        [
            *rows,
            "",
            f"1,000 runs against ten: {told} (bound +{BOUND:.0f} s).",
            f"From {SIZES[1]} to {SIZES[-1]:,} runs listing costs {growth:.2f} times what linear growth would.",
            f"Filing one took {filed:.3f} s, the disk not waited for.",
            f"Commands are whole processes, start included; best of {ROUNDS}.",
            f"Python {platform.python_version()}, {os.cpu_count()} processors.",
        ]
    )


def missed(found: dict[int, dict[str, float]]) -> list[str]:
    """Return which bounds were missed."""
    few, many = found[SIZES[0]], found[SIZES[-1]]
    slow = [name for name in ("history", "show", "compare") if many[name] - few[name] > BOUND]
    linear = found[SIZES[-1]]["runs"] <= 1.5 * SIZES[-1] / SIZES[1] * found[SIZES[1]]["runs"]
    return slow + ([] if linear else ["runs"])


def write(text: str) -> None:
    """Put the section in RESULTS.md, in place of an older one."""
    old = RESULTS.read_text() if RESULTS.exists() else "# Results of the benchmarks\n"
    section = f"## History\n\n`python benchmarks/history.py --write`\n\n{text}\n"
    without = re.sub(r"\n*## History\n.*?(?=\n## |\Z)", "\n", old, flags=re.DOTALL).rstrip()
    RESULTS.write_text(f"{without}\n\n{section}")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        found, filed = measured(Path(folder))
    print(table(found, filed))
    if "--write" in sys.argv:
        write(table(found, filed))
    late = missed(found)
    print("missed:", ", ".join(late) or "none")
    return int(bool(late))


if __name__ == "__main__":
    sys.exit(main())
