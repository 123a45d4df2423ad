"""What `import uq_report` and `uq-report --help` cost beside numpy + pandas and typer; nothing heavy may be loaded.

Run: python benchmarks/imports.py. Exits with 1 if a bound is missed.
"""

from __future__ import annotations

import subprocess
import sys
import time

HEAVY = ("sklearn", "scipy.stats", "matplotlib", "shap", "dalex", "weasyprint")
ROUNDS = 7


def seconds(*arguments: str) -> float:
    """Return the shortest wall time of a fresh process."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def loaded(statement: str) -> list[str]:
    """Return which heavy modules a statement loads."""
    code = f"import sys; {statement}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    return subprocess.check_output([sys.executable, "-c", code], text=True).split()


def main() -> int:
    empty = seconds("-c", "pass")
    base = seconds("-c", "import numpy, pandas") - empty
    typer = seconds("-c", "import typer")
    package, core = (seconds("-c", f"import {name}") - empty for name in ("uq_report", "uq_report.core.engine"))
    rows = [
        ("import uq_report / import numpy, pandas", package / base, 1.5),
        ("import uq_report.core.engine / the same", core / base, 2.0),
        ("uq-report --help / import typer", seconds("-m", "uq_report.cli", "--help") / typer, 3.0),
    ]
    for name, ratio, bound in rows:
        print(f"{name:45} {ratio:5.2f}  (bound {bound})")
    heavy = loaded("import uq_report")
    print(f"{'heavy modules loaded by import uq_report':45} {', '.join(heavy) or 'none'}")
    return int(bool(heavy) or any(ratio > bound for _, ratio, bound in rows))


if __name__ == "__main__":
    sys.exit(main())
