"""Run every claim of the sources and write the document.

python -m benchmarks.papers [--data DIR] [--quick] [--output DIR] [--only NAME] [--jobs N] [--seconds S] [--cache DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import sys
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path

from .claims import Outcome, Settings, repeat
from .document import Findings, write
from .experiments import EXPERIMENTS

COMMITTED = Path(__file__).parents[2] / "sample_reports" / "replication" / "claims.json"
BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


def run(name: str, settings: Settings, cache: Path | None) -> Outcome:
    """Run an experiment, or read its outcome where an earlier run kept it."""
    kept = cache and cache / f"{name}-{'quick' if settings.quick else 'full'}.pickle"
    if kept and kept.exists():
        return pickle.loads(kept.read_bytes())
    warnings.simplefilter("ignore")  # of the optimisers of the models
    try:
        outcome = repeat(BY_NAME[name], settings)
    except Exception:  # noqa: BLE001 - one experiment must not cost the others
        traceback.print_exc()
        return Outcome(name, why="The experiment failed.")
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(outcome))
    return outcome


def refuted(found: Findings) -> list[str]:
    """Return claims that the committed document says agree, and that this run refutes."""
    if not COMMITTED.exists():
        return []
    before = {row["claim"] for row in json.loads(COMMITTED.read_text(encoding="utf-8")) if row["verdict"] == "agrees"}
    return sorted(key for key in before if found.verdict(key) == "does not agree")


def main() -> int:
    """Run, print a line for each experiment, write the document; return 1 where an experiment failed or a claim fell."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the papers' data sets")
    parser.add_argument("--quick", action="store_true", help="few repetitions, at most five minutes")
    parser.add_argument("--output", type=Path, default=Path("replication"))
    parser.add_argument("--only", action="append", help="run this experiment alone; repeat", choices=BY_NAME)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="processor time after which an experiment begins no repetition",
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps outcomes, so that a later run goes on from there")
    given = parser.parse_args()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    settings = Settings(given.data, given.quick, given.seconds)
    outcomes: dict[str, Outcome] = {}
    with ProcessPoolExecutor(given.jobs) as pool:
        jobs = [pool.submit(partial(run, name, settings, given.cache)) for name in given.only or BY_NAME]
        for job in as_completed(jobs):
            outcome = job.result()
            outcomes[outcome.name] = outcome
            rates = ", ".join(f"{claim} {sum(hits)}/{len(hits)}" for claim, hits in outcome.hits.items())
            print(f"{outcome.name}: {outcome.seconds:.0f} s; {rates} {outcome.why}", flush=True)
    found = Findings(outcomes, quick=settings.quick)
    write(found, given.output)
    fallen = refuted(found)
    print(f"{found.counts()}; refuted although the committed document says agrees: {fallen or 'none'}")
    return int(bool(fallen) or any(outcome.why == "The experiment failed." for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
