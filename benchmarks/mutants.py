"""Mutation testing of core, distributions, methods and checks: which small changes of the code the tests notice.

Run: python benchmarks/mutants.py --per-part 40 --seed 1. A sample of changes (see mutators.py) of each part, every one
written into a copy of the checkout and judged in a fork by the tests that run its lines, quickest first. Which tests
those are is recorded once, in a quarter of an hour, in the folder of --map. Exits with 1 if a part misses its bound.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mutators import THRESHOLDS, Mutant, mutants, stated
from traced import PARTS, ROOT, Record, record

TESTS = ("checks", "core", "distributions", "methods", "theory", "runner", "report", "document")
BOUND = 0.9
RULES = "uq_report/checks/findings.toml"
SLOWER = 2  # times as long as recorded, and START more, is a time-out
START = 15
PATIENCE = 6  # seconds of the clock for one of the processor
WARM = (
    "numpy",
    "scipy.stats",
    "pandas",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "matplotlib.figure",
    "pydantic",
)
EQUIVALENT = {
    (one["file"], one["line"], one["change"])
    for one in tomllib.loads(Path(__file__).with_name("mutants_equivalent.toml").read_text(encoding="utf-8"))["mutant"]
}
QUIET = ("-q", "-p", "no:cacheprovider", "--tb=no")


class Failures:
    """The tests that fail, each added to a file at once."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the name of a test that failed."""
        if report.failed:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")


def forked(limit: float, tests: Iterable[str], failures: Path, *options: str) -> int | None:
    """Run tests in a fork; return the exit code of pytest, or None where a limit of processor seconds ended it."""
    failures.write_text("")
    child = os.fork()
    if not child:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 1))
        code = 70
        try:
            code = int(pytest.main([*QUIET, *options, *tests], plugins=[Failures(failures)]))
        finally:
            os._exit(code)
    end = time.monotonic() + PATIENCE * limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@dataclass(frozen=True)
class Judge:
    """A copy of the checkout in which one file at a time is changed."""

    copy: Path
    recorded: Record
    killers: set[str] = field(default_factory=set)

    def outcome(self, mutant: Mutant) -> str:
        """Return killed, survived, timed out, untested, or equivalent."""
        if mutant.key in EQUIVALENT:
            return "equivalent"
        tests = self.recorded.tests(mutant)
        if not tests:
            return "untested"
        file, plain, failures = self.copy / mutant.file, ROOT / mutant.file, self.copy / "failures"
        file.write_bytes(mutant.apply(plain.read_bytes()))
        os.utime(file, (time.time() + 10**6,) * 2)  # no compiled file is of this time
        try:
            code = forked(self._limit(tests), tests, failures, "-x")
        finally:
            shutil.copy2(plain, file)
        if code:
            failed = failures.read_text(encoding="utf-8").splitlines()
            self.killers.update({*failed} & {*tests} or tests[:1])  # a changed number may be part of a test's name
        return {None: "timed out", 0: "survived"}.get(code, "killed")

    def confirm(self) -> None:
        """Raise if a test that noticed a mutant fails on unchanged code, too."""
        failures = self.copy / "failures"
        if self.killers and forked(self._limit(self.killers), sorted(self.killers), failures):
            raise SystemExit(f"These tests fail on unchanged code:\n{failures.read_text(encoding='utf-8')}")

    def _limit(self, tests: Iterable[str]) -> float:
        return START + SLOWER * sum(self.recorded.seconds.get(test, 0.0) for test in tests)


def is_threshold(mutant: Mutant) -> bool:
    """Return whether a mutant changes a number that a module of rules gives outside its functions."""
    number = re.fullmatch(r"[\d.e-]+", mutant.before) and mutant.names and "api_version" not in mutant.names
    return bool(number) and " = Rule.stated(" in (ROOT / mutant.file).read_text(encoding="utf-8")


def chosen(part: str, number: int, seed: int, within: str) -> list[Mutant]:
    """Return a random sample of the mutants of a part whose file holds a text; of thresholds all of them."""
    files = sorted((ROOT / "uq_report" / ("" if part == THRESHOLDS else part)).rglob("*.py"))
    names = [str(file.relative_to(ROOT)) for file in files]
    of = [
        m
        for name in names
        if within in name and name.split("/")[1] in PARTS
        for m in mutants(name, (ROOT / name).read_bytes())
    ]
    if part == THRESHOLDS:
        return [mutant for mutant in of if is_threshold(mutant)] + stated(RULES, (ROOT / RULES).read_bytes())
    return random.Random(f"{part} {seed}").sample(of, min(number, len(of)))


def judged(samples: dict[str, list[Mutant]], recorded: Record) -> dict[str, Counter[str]]:
    """Print what became of every mutant that was not killed; return the counts by part."""
    counts: dict[str, Counter[str]] = {part: Counter() for part in samples}
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(Path(folder) / "checkout", recorded)
        shutil.copytree(ROOT, judge.copy, ignore=shutil.ignore_patterns(".git", "sample_reports", ".*_cache"))
        sys.path[:] = [str(judge.copy), *(path for path in sys.path if Path(path or ".").resolve() != ROOT)]
        os.environ |= {"PYTHONPATH": str(judge.copy), "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        os.chdir(judge.copy)
        for module in WARM:
            __import__(module)
        for part, sample in samples.items():
            for mutant in sample:
                what = judge.outcome(mutant)
                counts[part][what] += 1
                print(f"{part} {counts[part].total()} of {len(sample)}", file=sys.stderr)
                if what not in {"killed", "equivalent"}:
                    print(f"{what}: {mutant.file}:{mutant.line}: {mutant.before} -> {mutant.after}", flush=True)
        judge.confirm()
    return counts


def main() -> None:
    """Judge a sample of mutants and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-part", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", nargs="+", default=[*PARTS, THRESHOLDS])
    parser.add_argument("--within", default="", help="text that the path of a file must hold")
    parser.add_argument("--map", type=Path, default=Path(tempfile.gettempdir()) / "uq_report_mutants")
    asked = parser.parse_args()
    asked.map.mkdir(exist_ok=True)
    recorded = Record()
    for folder in TESTS:
        file = asked.map / f"{folder}.json"
        if not file.exists() and not (child := os.fork()):
            record(folder, file)
            os._exit(0)
        elif not file.exists():
            os.waitpid(child, 0)
        recorded.add(file)
    counts = judged({p: chosen(p, asked.per_part, asked.seed, asked.within) for p in asked.parts}, recorded)
    print("\n| part | mutants | killed | timed out | equivalent | survived | noticed |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    missed = False
    for part, count in counts.items():
        killed, late, same = (count[what] for what in ("killed", "timed out", "equivalent"))
        real, noticed = count.total() - same, killed + late
        missed |= noticed < BOUND * real
        share = f"{noticed / real:.1%}" if real else "–"
        print(f"| {part} | {count.total()} | {killed} | {late} | {same} | {real - noticed} | {share} |")
    sys.exit(missed)


if __name__ == "__main__":
    main()
