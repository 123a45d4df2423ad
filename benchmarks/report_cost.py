"""What a report costs: 30 figures and 20 tables, ours against the same figures as matplotlib draws and saves them.

Run: python benchmarks/report_cost.py. Exits with 1 if a bound is missed.

Both pages hold the same figures and tables; they differ in the SVG alone. Drawing is the CPU time of all figures after
a first round. A fresh process prints each page in turn; the time is that process's CPU time without the import of
WeasyPrint, the smallest of some rounds. Last, a report is written and verified by its hashes, against rendering it.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
import pandas as pd
from matplotlib import rc_context, rcParamsDefault
from matplotlib.figure import Figure as Drawing

import uq_report as uq
from uq_report.core.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Profile
from uq_report.document.blocks import svg_of
from uq_report.document.document import Column, Document, Figure, Section, Table
from uq_report.evidence import saved
from uq_report.render.html import page as fill
from uq_report.report.plots import importance_map
from uq_report.runner.figures import draw

SAMPLE = Path(__file__).parents[1] / "sample_reports" / "credit" / "run.json"
FIGURES, TABLES, ROWS, COLUMNS, CURVES, POINTS, FEATURES = 30, 20, 25, 7, 60, 20, 12
MEASURES = ("squared_error", "nll", "entropy")
ROUNDS = 2
RATIO, DRAWING, VERIFYING, HTML_BYTES, PDF_BYTES = 0.7, 0.33, 0.1, 1_000_000, 700_000
PRINT = """
import pathlib, sys, time
from uq_report.render.printer import print_page
html = pathlib.Path(sys.argv[1]).read_text()
start = time.process_time()
pdf, _ = print_page(html)
print(time.process_time() - start, len(pdf))
"""


def importance(rng: np.random.Generator) -> Importance:
    """Return importances with intervals, verdicts and the spread of shuffles."""
    table = pd.DataFrame(
        [(m, f"feature_{j}") for m in MEASURES for j in range(FEATURES)], columns=["measure", "feature"]
    )
    table["estimate"] = rng.gamma(1, 0.02, len(table)).round(4)
    table = table.assign(std_error=0.004, confidence=0.95, covers="new test rows", margin=0.002)
    for column, factor in (("lower", -2.0), ("upper", 2.0), ("spread_low", -1.0), ("spread_high", 1.0)):
        table[column] = table["estimate"] + factor * rng.uniform(0.003, 0.005, len(table))
    table["verdict"] = np.where(table["lower"] > 0, "positive", "undetermined")
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    return Importance(id="pfi", explainer="pfi", title="PFI", frame=frame, estimates=table)


def profile(rng: np.random.Generator) -> tuple[Profile, Diagnostic]:
    """Return curves of 60 rows and their mean for two measures, and the rows' own values."""
    at = np.sort(rng.normal(size=POINTS)).round(3)
    slopes = {curve: rng.normal(1, 0.4, 2) for curve in range(-1, CURVES)}
    raw = [
        (m, "age", "", x, "", np.nan, "", curve, np.tanh(slope[k] * x) + slope[1 - k])
        for k, m in enumerate(("prediction", "entropy"))
        for curve, slope in slopes.items()
        for x in at
    ]
    frame = pd.DataFrame(raw, columns=list(Profile.columns))
    mean = frame[frame["curve"] == -1]
    table = mean.rename(columns={"value": "estimate"})[["measure", "feature", "x", "level", "estimate"]]
    table = table.assign(
        std_error=0.1,
        lower=table["estimate"] - 0.2,
        upper=table["estimate"] + 0.2,
        confidence=0.95,
        covers="new test rows",
    )
    own = frame[frame["curve"] >= 0].groupby(["measure", "curve"]).nth(3).reset_index()
    own = own.assign(item=own["curve"].astype(str))[list(Diagnostic.columns)]
    made = Profile(id="pdp", explainer="pdp", title="PDP", frame=frame, estimates=table)
    blank = pd.DataFrame({name: [] for name in ESTIMATE_COLUMNS})
    return made, Diagnostic(id="pdp.own", explainer="pdp", title="Own", frame=own, estimates=blank)


def drawings() -> Iterator[Callable[[], Drawing]]:
    """Yield what draws the figures: bars with intervals, bundles of curves with points, maps with labels."""
    for k in range(FIGURES):
        rng = np.random.default_rng(k)
        if k % 3 == 0:
            yield partial(draw, importance(rng), measure=list(MEASURES))
        elif k % 3 == 1:
            curves, own = profile(rng)
            yield partial(draw, curves, others=[own])
        else:
            yield partial(importance_map.draw, importance(rng))


def plain(figure: Callable[[], Drawing]) -> bytes:
    """Draw a figure by matplotlib and save it as is done when nothing is set."""
    buffer = io.BytesIO()
    with rc_context(dict(rcParamsDefault) | {"backend": "agg"}):
        figure().savefig(buffer, format="svg")
    return buffer.getvalue()


def document(save: Callable[[Callable[[], Drawing]], bytes], figures: int = FIGURES) -> Document:
    """Return a document of figures saved in one way, and of the tables."""
    rng = np.random.default_rng(0)
    columns = (Column("Feature"), *(Column(f"Number {j}", "number", "nats") for j in range(1, COLUMNS)))
    blocks: list[Figure | Table] = [
        Figure(id=f"f{k}", caption="A figure.", alt="What it shows.", svg=save(figure), evidence="pfi")
        for k, figure in zip(range(figures), drawings(), strict=False)
    ]
    for k in range(TABLES):
        rows = tuple((f"feature_{i}", *rng.normal(size=COLUMNS - 1).tolist()) for i in range(ROWS))
        blocks.append(Table(id=f"t{k}", caption="A table.", columns=columns, rows=rows, evidence="pfi"))
    section = Section(id="all", title="All", blocks=tuple(blocks))
    empty = Document(title="Cost", subtitle="", as_of="2026-11-21", generator="uq", evidence_sha256="0")
    return replace(empty, sections=(section,))


def cost(html: Path) -> tuple[float, int]:
    """Return CPU seconds and size of one PDF."""
    seconds, size = subprocess.check_output([sys.executable, "-c", PRINT, str(html)], text=True).split()
    return float(seconds), int(size)


def drawing(save: Callable[[Callable[[], Drawing]], bytes]) -> float:
    """Return the CPU seconds of drawing all figures, after a first round that loads what is loaded once."""
    save(next(drawings()))
    jobs = [job for _, job in zip(range(FIGURES), drawings(), strict=False)]
    start = process_time()
    for job in jobs:
        save(job)
    return process_time() - start


def verifying(folder: Path) -> float:
    """Return what verifying a report by its hashes costs, in units of rendering it once, libraries loaded."""
    run = uq.load(SAMPLE)
    before = cpu()
    reports = run.reports(("html", "pdf"))
    rendering = cpu() - before
    saved.write(run.run, folder, reports=reports, clock={})
    uq.verify(folder)
    before = cpu()
    uq.verify(folder)
    return (cpu() - before) / rendering


def cpu() -> float:
    """Return the CPU seconds of this process and of those it waited for."""
    return sum(use.ru_utime + use.ru_stime for use in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def main() -> int:
    made = {"ours": document(svg_of), "matplotlib": document(plain), "no figures": document(svg_of, 0)}
    pages = {name: fill(one, paged=True).encode() for name, one in made.items()}
    on_screen = {name: len(fill(one).encode()) for name, one in made.items()}
    seconds = dict.fromkeys(pages, np.inf)
    sizes = dict.fromkeys(pages, 0)
    drawn = drawing(svg_of) / drawing(plain)
    with TemporaryDirectory() as folder:
        verified = verifying(Path(folder, "run"))
        for _ in range(ROUNDS):
            for name, html in pages.items():
                file = Path(folder, "page.html")
                file.write_bytes(html)
                spent, sizes[name] = cost(file)
                seconds[name] = min(seconds[name], spent)
    print(f"{FIGURES} figures, {TABLES} tables of {ROWS} x {COLUMNS}; the least CPU time of {ROUNDS} rounds\n")
    print("| figures as | CPU | against matplotlib | HTML kB | PDF kB |\n| --- | --- | --- | --- | --- |")
    for name in pages:
        ratio = seconds[name] / seconds["matplotlib"]
        kilobytes = f"{on_screen[name] / 1e3:.0f} | {sizes[name] / 1e3:.0f}"
        print(f"| {name} | {seconds[name]:.2f} s | {ratio:.2f} | {kilobytes} |")
    ratio = seconds["ours"] / seconds["matplotlib"]
    print(f"\ndrawing, against matplotlib: {drawn:.2f}; verifying, against rendering HTML and PDF: {verified:.2f}")
    print(f"bounds: ratio {RATIO}, drawing {DRAWING}, verifying {VERIFYING}, ", end="")
    print(f"HTML {HTML_BYTES / 1e3:.0f} kB, PDF {PDF_BYTES / 1e3:.0f} kB")
    slow = ratio > RATIO or drawn > DRAWING or verified > VERIFYING
    return int(slow or on_screen["ours"] > HTML_BYTES or sizes["ours"] > PDF_BYTES)


if __name__ == "__main__":
    sys.exit(main())
