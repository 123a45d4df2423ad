"""Kills a process at its work on a history, again and again; run by test_store_robust.py, in an interpreter of its own.

A child is forked for every kill, so that nothing is imported twice. It kills itself with SIGKILL right before the
k-th call that touches the disk, for k = 1, 2, ... until it gets through; or its parent does at a random moment.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import Any

import uq_report as uq
from uq_report.evidence import disk, run_folder
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import Run
from uq_report.ops.history import History, Retention, delete

TOUCHES = frozenset(
    [
        *("open", "write", "fsync", "close", "truncate", "flock", "scandir"),
        *("mkdir", "rename", "replace", "unlink", "rmdir"),
    ]
)
NAME = "nightly"
AUDIT = f"""
[data]
source = "rows.csv"
target = "paid"
predictions = {{ probability = "p", label = "{NAME}" }}
[output]
formats = ["html"]
folder = "out"
history = "filed"
"""
LONGEST = 4
RUN = Run(
    as_of="2026-01-01",
    subject={
        "label": "m",
        "task": "regression",
        "family": "normal",
        "model_class": "a.B",
        "model_parameters": {},
        "adapter": "function",
        "adapter_reason": "r",
        "n": 2,
        "d": 1,
        "has_y": True,
        "has_train": False,
        "weights": False,
        "features": [],
        "hashes": {},
    },
    settings={},
    environment={"python": "3", "platform": "x"},
    outcomes=(Outcome(check="a", state="passed"),),
)


def add(history: History, number: int, name: str = NAME, wait: float = 30.0) -> int:
    """File one run; return its number in the audit."""
    with history.filing(name, wait) as filing:
        reports = {"report.html": b"<html>", "report.pdf": b"%PDF"}
        run = replace(RUN, settings={"n": number})
        filing.hold(run, {})
        return filing.add(run, reports=reports, clock={}).entry.sequence


def waiting(history: History) -> int:
    """Return how many runs are held and not yet filed: the next writer files them."""
    held = history.root / NAME / ".held" / "run.json"
    if not held.is_file():
        return 0
    return int(sha256(held.read_bytes()).hexdigest() not in {one.entry.run_sha256 for one in history.runs(NAME)})


def killed_at(point: int, work: Callable[[], Any]) -> bool:
    """Do some work in a child that kills itself before touching the disk for the `point`-th time; say if it did."""
    child = os.fork()
    if child == 0:
        left = point

        def count(_: FrameType, event: str, called: Any) -> None:
            nonlocal left
            if event == "c_call" and getattr(called, "__name__", "") in TOUCHES:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        work()
        sys.setprofile(None)
        os._exit(0)
    return finished(child) == -signal.SIGKILL


def finished(child: int) -> int:
    """Wait for a child; return its exit code, or the signal that ended it as a negative number."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise SystemExit(f"a child failed with {code}")
    return code


def sound(history: History) -> list[int]:
    """Return the numbers of the runs of the audit; fail if anything is not whole."""
    numbers = [one.entry.sequence for one in history.runs(NAME)]
    troubles = history.check()
    audit = history.root / NAME
    latest = audit / "latest"
    if latest.exists() and not (audit / latest.read_text().strip() / "entry.json").is_file():
        troubles.append("latest points nowhere")
    if numbers != list(range(1, len(numbers) + 1)):
        troubles.append(f"numbers {numbers}")
    if troubles:
        raise SystemExit("; ".join(troubles))
    return numbers


def everywhere(root: Path) -> dict[str, int]:
    """Kill the filing of a run at every point; the store stays sound, and the next run succeeds."""
    history, points, kept, filed, saved = History(root), 0, 0, 0, 0
    root.mkdir()
    while killed_at(points + 1, lambda: add(history, -points)):  # noqa: B023 - done within this turn
        points += 1
        there = sound(history)
        if len(there) not in (kept, kept + 1):
            raise SystemExit(f"{kept} runs became {len(there)} at point {points}")
        rescued = waiting(history)
        kept = add(history, points)
        if kept != len(there) + rescued + 1 or len(sound(history)) != kept:
            raise SystemExit(f"the run after point {points} is not the last one")
        cleaned(root)
        filed, saved = filed + kept - len(there) + 1, saved + rescued
        if kept > LONGEST:  # a first run has points of its own, and a long history takes long to check
            shutil.rmtree(root)
            root.mkdir()
            kept = 0
    cleaned(root)
    return {"points": points, "runs": filed, "rescued": saved}


def cleaned(root: Path) -> None:
    """Fail if anything that a killed writer left is still there."""
    for folder, own in ((root / NAME, [".lock"]), (root, [".lock", "heads.json", NAME])):
        left = sorted(place.name for place in folder.iterdir() if folder == root or place.name.startswith("."))
        if left != own:
            raise SystemExit(f"left behind: {left}")


def whole_runs(root: Path) -> dict[str, int]:
    """Kill runs of an audit file at random moments, 3 or as many as UQ_STUDY_REPS; each writes a folder and is filed.

    No run that was filed is lost, no file is torn, and a run that was computed before the kill is filed by the next.
    """
    kills, rng = int(os.environ.get("UQ_STUDY_REPS", "3")), random.Random(1)
    root.mkdir()
    os.chdir(root)
    rows = "".join(f"{age},{0.2 + 0.6 * (age % 2)},{age % 2}\n" for age in range(40))
    Path("rows.csv").write_text(f"age,p,paid\n{rows}")
    Path("audit.toml").write_text(AUDIT)
    history, out = History("filed"), Path("out")
    uq.run("audit.toml")  # what it imports is loaded before the time is taken
    start = time.monotonic()
    uq.run("audit.toml", {"run.seed": kills + 2})
    seconds, filed, died = time.monotonic() - start, 2, 0
    for kill in range(1, kills + 1):
        child = os.fork()
        if child == 0:
            uq.run("audit.toml", {"run.seed": kill})
            os._exit(0)
        time.sleep(rng.uniform(0.0, seconds))
        os.kill(child, signal.SIGKILL)
        died += finished(child) != 0
        run_folder.write_files(out, {"note.txt": b""})  # ends what the killed one began
        listed, there = disk.loads(out), len(sound(history))
        if there not in (filed, filed + 1, filed + 2) or not (listed and disk.match(out, listed, listed)):
            raise SystemExit(f"{filed} runs became {there}, with {len(listed)} files")
        filed = there
    rescued = waiting(history)
    uq.run("audit.toml", {"run.seed": kills + 1})
    return {"died": died, "lost": filed + rescued + 1 - len(sound(history))}


def at_random(root: Path, kills: int = 20) -> dict[str, int]:
    """Kill a process that files one run after the other at random moments."""
    history, rng = History(root), random.Random(1)
    filed = add(history, -2)  # what filing imports is loaded before the first kill
    for kill in range(kills):
        child = os.fork()
        if child == 0:
            for number in range(10_000):
                add(history, kill * 10_000 + number)
            os._exit(0)
        time.sleep(rng.uniform(0.0, 0.4))
        os.kill(child, signal.SIGKILL)
        finished(child)
        there = len(sound(history))
        if there < filed:
            raise SystemExit(f"{filed} runs became {there}")
        filed = there
    rescued = waiting(history)
    last = add(history, -1)
    if last != filed + rescued + 1:
        raise SystemExit(f"the run after {filed} got number {last}")
    return {"runs": last, "intact": int(sound(history) == list(range(1, last + 1)))}


def deleting(root: Path) -> dict[str, int]:
    """Kill a deletion at every point; each run is whole or marked, and the next call finishes."""
    history = History(root)
    for number in range(2):
        add(history, number)
    points = 0
    while True:
        due = history.runs()[:1]
        if not killed_at(points + 1, lambda: delete(history, due)):  # noqa: B023 - done within this turn
            break
        points += 1
        sound(history)
        delete(history, due)
        cleaned(root)
        left = sorted(place.name for place in due[0].folder.iterdir())
        if left != ["entry.json", "pruned.txt"]:
            raise SystemExit(f"left after point {points}: {left}")
        shutil.rmtree(root)
        for number in range(2):
            add(history, number)
    if Retention(last=1).due(history.runs()) or len(sound(history)) != 2:
        raise SystemExit("deletion did not finish")
    return {"points": points}


def together(root: Path, writers: int = 10, each: int = 4) -> dict[str, int]:
    """Let ten processes file runs in one audit and their own, list them, and write one folder, all at once."""
    children, out = [], root.with_name("out")
    for writer in range(writers):
        child = os.fork()
        if child == 0:
            with suppress(KeyboardInterrupt):
                for number in range(each):
                    add(History(root), writer * 100 + number, wait=120)
                    add(History(root), number, f"own-{writer}", wait=120)
                    History(root).runs()
                for number in range(5 * each):
                    reports = {"report.html": b"<html>" * (1 + writer), "report.pdf": b"%PDF" * (1 + number)}
                    run_folder.write(replace(RUN, settings={"n": writer}), out, reports=reports, clock={})
                os._exit(0)
        children.append(child)
    codes = [finished(child) for child in children]
    history, listed = History(root), disk.loads(out)
    return {
        "failed": sum(map(bool, codes)),
        "torn": int(not disk.match(out, listed, {"run.json", "report.html", "report.pdf", *listed})),
        "shared": len(sound(history)),
        "all": len(history.runs()),
    }


if __name__ == "__main__":
    modes = {one.__name__: one for one in (everywhere, at_random, whole_runs, deleting, together)}
    sys.stdout.write(json.dumps(modes[sys.argv[1]](Path(sys.argv[2]))))
