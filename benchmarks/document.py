"""What a report costs its reader and its maker: pages, words, figures, bytes, white at page ends, CPU seconds.

Run: python benchmarks/document.py [RUN ...] [--features 9 20 50] [--against FILE]

Each RUN is a run.json or its folder; without one, quick forests with so many features are audited. The table is
Markdown; with --against, a table printed before, each number is followed by the one it had there. Pages are those of
the PDF, its annex from the heading of its first section on. White is the share of a page's body below the last ink,
averaged over pages but the last one of the front part and of the annex. CPU seconds hold those of child processes.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from pypdf import PdfReader
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import uq_report as uq
from uq_report.api.views import AuditRun
from uq_report.document.document import Block, Figure, Section, inside
from uq_report.document.reading import texts
from uq_report.evidence.run import Run
from uq_report.report.kinds import document

FEATURES = (9, 20, 50)
ROWS, TRAINING = 300, 900
HEAD, FOOT, PAPER = 24 / 297, 20 / 297, 235  # margins of a page as shares of its height; what is darker is ink
BUDGETS = {
    "front pages": 18,
    "annex pages": 15,
    "front words": 5000,
    "front figures": 14,
    "brief pages": 2,
    "white %": 15,
}
COLUMNS = (
    "run", "front pages", "annex pages", "front words", "front figures", "HTML figures", "HTML kB", "PDF kB",
    "brief pages", "white %", "HTML CPU s", "PDF CPU s",
)  # fmt: skip


def audited(features: int) -> Run:
    """Return the audit of a quick forest on rows with so many features, some correlated and one categorical."""
    rng = np.random.default_rng(features)
    values, y = make_classification(
        TRAINING + ROWS, features, n_informative=min(8, features - 2), n_redundant=2, shuffle=False, random_state=0
    )
    X = pd.DataFrame(values, columns=[f"feature_{k}" for k in range(1, features + 1)])
    X.iloc[:, -1] = rng.integers(0, 4, len(X))
    order = rng.permutation(len(X))
    seen, unseen = order[:TRAINING], order[TRAINING:]
    forest = RandomForestClassifier(40, max_depth=6, random_state=0).fit(X.iloc[seen], y[seen])
    subject = uq.explain(
        forest,
        X.iloc[unseen].reset_index(drop=True),
        y[unseen],
        train=(X.iloc[seen].reset_index(drop=True), y[seen]),
        categorical=[X.columns[-1]],
        label=f"Forest of {features} features",
    )
    return uq.audit(subject, as_of="2026-11-22", progress=False).run


def blocks(sections: Iterable[Section]) -> Iterator[Block]:
    """Yield the blocks of sections and of those inside them."""
    for section in sections:
        yield from inside(section.blocks)
        yield from blocks(section.sections)


def words(sections: Sequence[Section]) -> int:
    """Count the words a reader sees, alternative texts apart."""
    heard = sum(len(block.alt.split()) for block in blocks(sections) if isinstance(block, Figure))
    return sum(len(text.split()) for text in texts(sections)) - heard


def cpu() -> float:
    """Return the CPU seconds of this process and of those it waited for."""
    return sum(use.ru_utime + use.ru_stime for use in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def rendered(run: Run, form: str, template: str = "audit") -> tuple[bytes, float]:
    """Return a report in one format, and what it cost."""
    start = cpu()
    return AuditRun(run).render(form, template=template), cpu() - start


def annex_at(pdf: PdfReader, annex: Sequence[Section]) -> int:
    """Return the page before which the annex begins: the number of pages of the front part."""
    titles = [mark for mark in flat(pdf.outline) if str(mark.title).split()[0] == "A"]
    first = next(mark for mark in titles if str(mark.title).endswith(annex[0].title))
    return int(pdf.get_destination_page_number(first) or 0)


def flat(marks: Iterable[Any]) -> Iterator[Any]:
    """Yield bookmarks, those inside others behind them."""
    for mark in marks:
        if isinstance(mark, list):
            yield from flat(mark)
        else:
            yield mark


def white(pdf: bytes, last_pages: Iterable[int]) -> float:
    """Return the mean share of white at the end of pages, those numbered `last_pages` apart."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "report.pdf")
        file.write_bytes(pdf)
        subprocess.run(["pdftoppm", "-r", "30", "-gray", "-png", file, Path(folder, "page")], check=True)
        pages = [np.asarray(Image.open(page).convert("L")) for page in sorted(Path(folder).glob("page-*.png"))]
    shares = [_end(page) for number, page in enumerate(pages, 1) if number not in set(last_pages)]
    return float(np.mean(shares)) if shares else 0.0


def _end(page: np.ndarray) -> float:
    height = len(page)
    body = page[round(HEAD * height) : round((1 - FOOT) * height)]
    inked = np.flatnonzero((body < PAPER).any(axis=1))
    return 1 - (int(inked[-1]) + 1) / len(body) if len(inked) else 1.0


def measured(name: str, run: Run) -> dict[str, str]:
    """Return the line of a run."""
    whole = document(run)
    front = [section for section in whole.sections if not section.appendix]
    annex = [section for section in whole.sections if section.appendix]
    html, of_html = rendered(run, "html")
    pdf, of_pdf = rendered(run, "pdf")
    brief, _ = rendered(run, "pdf", "brief")
    reader = PdfReader(io.BytesIO(pdf))
    pages, ahead = len(reader.pages), annex_at(reader, annex)
    values = (
        ahead,
        pages - ahead,
        words(front),
        sum(isinstance(block, Figure) for block in blocks(front)),
        html.count(b"<figure"),
        round(len(html) / 1e3),
        round(len(pdf) / 1e3),
        len(PdfReader(io.BytesIO(brief)).pages),
        round(100 * white(pdf, (ahead, pages)), 1),
        round(of_html, 2),
        round(of_pdf, 2),
    )
    return dict(zip(COLUMNS, (name, *map(str, values)), strict=True))


def line(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def read(file: Path) -> dict[str, dict[str, str]]:
    """Return the lines of a table that was printed before, by run."""
    rows = [
        [cell.strip() for cell in row.strip("| \n").split("|")]
        for row in file.read_text().splitlines()
        if row.startswith("|")
    ]
    heads = next((row for row in rows if row[0] == "run"), [])
    return {row[0]: dict(zip(heads, row, strict=False)) for row in rows if row[0] != "run" and "---" not in row[0]}


def beside(now: dict[str, str], before: dict[str, str]) -> list[str]:
    """Return the cells of a line, each number with what it was, where that is another."""
    then = {column: before.get(column, "").split(" ")[0] for column in COLUMNS[1:]}
    return [
        f"{value} (was {then[column]})" if then.get(column) not in (None, "", value) else value
        for column, value in now.items()
    ]


def over(now: dict[str, str]) -> Iterator[str]:
    """Yield each budget that a line exceeds."""
    for column, most in BUDGETS.items():
        if float(now[column]) > most or (column == "brief pages" and float(now[column]) != most):
            yield f"{now['run']}: {column} {now[column]}, budget {most}"


def main() -> int:
    """Print the table, and on stderr every budget that is missed; say by the exit code whether any is."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("runs", nargs="*", type=Path, help="run.json files or their folders")
    ask.add_argument("--features", nargs="*", type=int, help="audit forests with so many features")
    ask.add_argument("--against", type=Path, help="a table printed before")
    asked = ask.parse_args()
    before = read(asked.against) if asked.against else {}
    many = asked.features if asked.features is not None else () if asked.runs else FEATURES
    print(f"{line(COLUMNS)}\n{line('---' for _ in COLUMNS)}")
    missed: list[str] = []
    named = ((path.parent.name if path.is_file() else path.name, uq.load(path).run) for path in asked.runs)
    made = ((f"{count} features", audited(count)) for count in many)
    for name, run in (*named, *made):
        now = measured(name, run)
        missed += over(now)
        print(line(beside(now, before.get(name, {}))), flush=True)
    print("\n".join(missed), file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
