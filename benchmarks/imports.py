"""What starting costs: imports beside numpy + pandas, commands beside Python alone, and the first line on a screen.

Run: python benchmarks/imports.py. Seconds are processor time. Exits with 1 if a bound is missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

HEAVY = ("sklearn", "scipy.stats", "matplotlib", "shap", "dalex", "weasyprint")
ROUNDS = 5
FIRST_LINE = 0.5
CLI = ("-m", "uq_report")
RUN = Path(__file__).parents[1] / "sample_reports" / "credit" / "run.json"


def seconds(*arguments: str) -> float:
    """Return the median processor time of a fresh process."""
    return median(_whole([sys.executable, *arguments]) for _ in range(ROUNDS))


def _whole(command: Sequence[str]) -> float:
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return usage.ru_utime + usage.ru_stime


def first_line(*arguments: str) -> float:
    """Return the median processor time of a fresh process until its first byte is on a terminal."""
    return median(_until_first_byte([sys.executable, *CLI, *arguments]) for _ in range(ROUNDS))


def _until_first_byte(command: Sequence[str]) -> float:
    """Return user and system time of a process when the first byte of it arrives, to a tick of the kernel (10 ms)."""
    screen, side = os.openpty()
    with subprocess.Popen(command, stdout=side, stderr=side, stdin=side) as child:
        os.close(side)
        os.read(screen, 1)
        fields = Path(f"/proc/{child.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        child.kill()
    os.close(screen)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loaded(statement: str) -> list[str]:
    """Return which heavy modules a statement loads."""
    code = f"import sys; {statement}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    return subprocess.check_output([sys.executable, "-c", code], text=True).split()


def ratios() -> list[tuple[str, float, float]]:
    """Return what imports cost beside those of what they need, each with its bound."""
    empty = seconds("-c", "pass")
    base = seconds("-c", "import numpy, pandas") - empty
    typer = seconds("-c", "import typer")
    package, core = (seconds("-c", f"import {name}") - empty for name in ("uq_report", "uq_report.core.engine"))
    return [
        ("import uq_report / import numpy, pandas", package / base, 1.5),
        ("import uq_report.core.engine / the same", core / base, 2.0),
        ("uq-report --help / import typer", seconds(*CLI, "--help") / typer, 3.0),
    ]


def main() -> int:
    missed = False
    for name, ratio, bound in ratios():
        missed |= ratio > bound
        print(f"{name:45} {ratio:5.2f}  (bound {bound})")
    heavy = loaded("import uq_report")
    print(f"{'heavy modules loaded by import uq_report':45} {', '.join(heavy) or 'none'}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "audit.toml"
        commands: dict[str, tuple[Callable[..., float], tuple[str, ...]]] = {
            "--help": (seconds, ("--help",)),
            "history": (seconds, ("history", "--history", folder)),
            "plugins": (seconds, ("plugins",)),
            "verify": (seconds, ("verify", str(RUN.parent / "report.pdf"))),
            "run, first line": (first_line, ("run", str(file))),
            "demo, first line": (first_line, ("demo", "--output", folder)),
            "render, first line": (first_line, ("render", str(RUN), "--output", folder)),
        }
        for name, (measured, words) in commands.items():
            taken = measured(*(words if measured is first_line else (*CLI, *words)))
            late = measured is first_line and taken > FIRST_LINE
            missed |= late
            print(f"{name:45} {taken:5.2f} s" + f"  (bound {FIRST_LINE})" * (measured is first_line), flush=True)
    return int(bool(heavy) or missed)


if __name__ == "__main__":
    sys.exit(main())
