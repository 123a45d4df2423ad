"""A saved run gives the same bytes of HTML and PDF in every process, whatever its zone, hash seed, folder and clock."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from uq_report.evidence import run_folder

from ..report.cases import NAMES, Case
from ..report.synthetic import make_run

ROOT = Path(__file__).parents[2]
SCRIPT = """
import hashlib, sys, uq_report
audit = uq_report.load(sys.argv[1])
for name in ("html", "pdf"):
    print(hashlib.sha256(audit.render(name)).hexdigest())
"""
SETTINGS = (
    {"TZ": "UTC", "PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8"},
    {"TZ": "Pacific/Auckland", "PYTHONHASHSEED": "2", "SOURCE_DATE_EPOCH": "86400", "LC_ALL": "C"},
    {"TZ": "America/St_Johns", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONOPTIMIZE": "2"},
)


def test_a_saved_run_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    run = replace(make_run(Case(names=NAMES[:2]), leave_out=("dalex", "shap", "pdp")), as_of="2026-11-21")
    folder = run_folder.write(run, tmp_path / "run", reports={}, clock={"host": "h"})
    processes = []
    for position, setting in enumerate(SETTINGS):
        place = tmp_path / f"place {position}"
        place.mkdir()
        env = os.environ | setting | {"PYTHONPATH": str(ROOT)}
        asked = folder if position == 0 else folder / "run.json" if position == 1 else Path("..", "run")
        command = [sys.executable, "-c", SCRIPT, str(asked)]
        processes.append(
            subprocess.Popen(command, env=env, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
    answers = [process.communicate(timeout=300) for process in processes]
    assert [said for _, said in answers] == ["", "", ""]
    first, *others = (made for made, _ in answers)
    assert len(first.split()) == 2
    assert others == [first, first]
