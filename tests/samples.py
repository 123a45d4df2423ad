"""Rebuild the committed sample reports, or check that a rebuild would say the same.

    python tests/samples.py            rewrite every sample
    python tests/samples.py --check    rebuild beside them and compare; exits with 1 if they differ

The check compares every number of run.json to 1e-6 and the structure of the pages: headings, ids,
tables, figures, and the number of PDF pages. Versions may differ; bytes are compared only between two
builds of one environment.
"""

from __future__ import annotations

import argparse
import atexit
import json
import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import uq_report as uq
from uq_report.evidence import run_folder
from uq_report.evidence.run import Run
from uq_report.jobs.demo import BEFORE, SAMPLES, build

SAMPLE_REPORTS = Path(__file__).parents[1] / "sample_reports"
AS_OF, AS_OF_BEFORE, SEED, TOLERANCE = "2026-11-20", "2026-08-20", 0, 1e-6
COMPARED = ("calibration", "groups", "pfi", "support")  # of an earlier run: what the changes are read from
KEPT = ("report.html", "report.pdf", "model-card.md")  # the PDF carries run.json
# Facts of an environment, not of the audit; the hash of the run before covers its environment.
VARYING = frozenset({"environment", "version", "plugins", "sha256"})
FITTED = ".hashes.model"  # the last bits of a fitted model differ from one kind of processor to another
STRUCTURE = frozenset({"h1", "h2", "h3", "h4", "table", "figure", "section", "nav"})


def make(name: str, folder: Path) -> None:
    """Build one sample into a folder."""
    subject, settings = build(name)
    before = BEFORE.get(name)
    common = {"seed": SEED, "progress": False, **settings}
    previous = before and uq.audit(before(), as_of=AS_OF_BEFORE, explainers=COMPARED, **common)
    run = uq.audit(subject, as_of=AS_OF, previous=previous, **common)
    with TemporaryDirectory(dir=folder.parent) as place:
        made = run.write(Path(place))
        run.write_reports(made, ("markdown",), template="model-card")
        folder.mkdir(exist_ok=True)
        for file in KEPT:
            (made / file).replace(folder / file)


def saved_run(name: str, place: Path = SAMPLE_REPORTS) -> bytes:
    """Return the run.json that a sample's PDF carries."""
    import pikepdf

    with pikepdf.open(place / name / "report.pdf") as pdf:
        return bytes(pdf.attachments["run.json"].get_file().read_bytes())


@cache
def unpacked() -> Path:
    """Return a folder that holds NAME/run.json of each committed sample, until this process ends."""
    place = Path(mkdtemp(prefix="uq-report-samples-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    for name in SAMPLES:
        (place / name).mkdir()
        (place / name / "run.json").write_bytes(saved_run(name))
    return place


@cache
def read(file: Path) -> Run:
    """Return the run of a file, read once."""
    return run_folder.read(file)[0]


def differences(old: Path, new: Path) -> Iterator[str]:
    """Yield what differs between two builds of one sample."""
    before, now = (json.loads(saved_run(place.name, place.parent)) for place in (old, new))
    yield from _values(before, now, "run.json")
    pages = [outline((place / "report.html").read_text(encoding="utf-8")) for place in (old, new)]
    if pages[0] != pages[1]:
        yield f"report.html: {_first(*pages)}"
    counts = [_pdf_pages(place / "report.pdf") for place in (old, new)]
    if counts[0] != counts[1]:
        yield f"report.pdf: {counts[0]} pages, now {counts[1]}"


def _values(old: Any, new: Any, where: str) -> Iterator[str]:
    """Yield the places where two JSON values differ by more than the tolerance."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new} - VARYING):
            if f"{where}.{key}".endswith(FITTED):
                continue
            if key in old and key in new:
                yield from _values(old[key], new[key], f"{where}.{key}")
            else:
                yield f"{where}.{key}: {'gone' if key in old else 'new'}"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from _values(a, b, f"{where}[{i}]")
    elif not _equal(old, new):
        yield f"{where}: {str(old)[:60]}, now {str(new)[:60]}"


def _equal(old: Any, new: Any) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new))
    return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE) if numbers else bool(old == new)


class _Outline(HTMLParser):
    """Collects the tags and ids that make a page's structure, and the text of its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.structure: list[str] = []
        self._heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._heading = tag in ("h1", "h2", "h3", "h4")
        if tag in STRUCTURE:
            self.structure.append(f"<{tag} id={dict(attrs).get('id')}>")

    def handle_data(self, data: str) -> None:
        if self._heading and data.strip():
            self.structure.append(data.strip())

    def handle_endtag(self, tag: str) -> None:
        self._heading = self._heading and tag not in ("h1", "h2", "h3", "h4")


def outline(page: str) -> list[str]:
    """Return a page's structure: headings with their text, sections, tables and figures, with ids."""
    parser = _Outline()
    parser.feed(page)
    return parser.structure


def _first(old: list[str], new: list[str]) -> str:
    pairs = enumerate(zip([*old, "the end"], [*new, "the end"], strict=False))
    return next(f"element {i} was {a}, now {b}" for i, (a, b) in pairs if a != b)


def _pdf_pages(file: Path) -> int:
    import pikepdf

    with pikepdf.open(file) as pdf:
        return len(pdf.pages)


def check(name: str) -> list[str]:
    """Rebuild one sample beside the committed one and return what differs."""
    with TemporaryDirectory() as place:
        folder = Path(place, name)
        make(name, folder)
        return [f"{name}/{line}" for line in differences(SAMPLE_REPORTS / name, folder)]


def rebuild(name: str) -> list[str]:
    """Build one committed sample anew; nothing is compared."""
    make(name, SAMPLE_REPORTS / name)
    print(f"built {SAMPLE_REPORTS.name}/{name}")
    return []


def main() -> int:
    """Build or check, as many samples at a time as there are processors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with a rebuild instead of rewriting")
    parser.add_argument("names", nargs="*", choices=[*SAMPLES, []], help="samples; all by default")
    arguments = parser.parse_args()
    names = arguments.names or list(SAMPLES)
    with ProcessPoolExecutor(min(len(names), os.cpu_count() or 1)) as processes:
        changes = list(chain.from_iterable(processes.map(check if arguments.check else rebuild, names)))
    for line in changes[:40]:
        print(line)
    print(f"{len(changes)} differences" if arguments.check else "done")
    return int(bool(changes))


if __name__ == "__main__":
    sys.exit(main())
