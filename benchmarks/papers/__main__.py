"""Run every claim of the sources and write the document.

python -m benchmarks.papers [--data DIR] [--quick] [--output DIR] [--only NAME]
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections import defaultdict
from pathlib import Path

from .claims import Experiment, Number, Picture, Repetition, Settings, claims
from .document import Findings, write
from .experiments import EXPERIMENTS


def repeat(experiment: Experiment, settings: Settings) -> tuple[list[Repetition], str]:
    """Run an experiment, and return its repetitions and why it ended early, if it did."""
    done: list[Repetition] = []
    for seed in range(experiment.quick if settings.quick else experiment.full):
        try:
            done.append(experiment.run(seed, settings))
        except FileNotFoundError as error:
            return done, f"The data are not there: {error.filename}."
        except ImportError as error:
            return done, f"{error.name or error} is not installed."
    return done, ""


def main() -> int:
    """Run, print a line for each experiment, and write the document; return 1 where an experiment failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the papers' data sets")
    parser.add_argument("--quick", action="store_true", help="few repetitions, at most five minutes")
    parser.add_argument("--output", type=Path, default=Path("sample_reports/replication"))
    parser.add_argument("--only", action="append", help="run this experiment alone; repeat")
    given = parser.parse_args()
    settings, failed = Settings(given.data, given.quick), False
    hits: dict[str, list[bool]] = defaultdict(list)
    facts: dict[str, str] = {}
    missing: dict[str, str] = {}
    numbers: list[Number] = []
    pictures: dict[str, list[Picture]] = {}
    for experiment in EXPERIMENTS:
        if given.only and experiment.name not in given.only:
            continue
        start = time.process_time()
        try:
            repetitions, why = repeat(experiment, settings)
        except Exception:  # noqa: BLE001 - one experiment must not cost the others
            traceback.print_exc()
            repetitions, why, failed = [], "The experiment failed.", True
        for repetition in repetitions:
            for claim, hit in repetition.hits.items():
                hits[claim].append(bool(hit))
            facts |= {claim: text for claim, text in repetition.facts.items() if claim not in facts}
        numbers += [number for repetition in repetitions[:1] for number in repetition.numbers]
        pictures[experiment.name] = [picture for repetition in repetitions[:1] for picture in repetition.pictures]
        missing |= dict.fromkeys(experiment.claims if why else (), why)
        rates = ", ".join(
            f"{claim} {sum(hits[claim])}/{len(hits[claim])}" for claim in experiment.claims if hits[claim]
        )
        print(f"{experiment.name}: {time.process_time() - start:.0f} s CPU; {rates} {why}", flush=True)
    found = Findings(claims(), dict(hits), facts, missing, numbers, pictures, settings.quick)
    given.output.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "claim": key,
            "hits": sum(found.hits.get(key, [])),
            "n": len(found.hits.get(key, [])),
            "verdict": found.verdict(key),
        }
        for key in found.claims
    ]
    (given.output / "claims.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    write(found, given.output)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
