"""Each number of a document is computed once: wherever a quantity is printed again, it is the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import NamedTuple

import pytest

from uq_report.document.document import Callout, Card, Cards, Document, Figure, Table, inside, texts
from uq_report.document.text import unmarked
from uq_report.evidence.run import Run
from uq_report.evidence.subject import SubjectFacts
from uq_report.reading.run_reader import RunReader
from uq_report.report import kinds
from uq_report.report.answer.section import answer_of, as_lines

from .. import samples
from ..fresh_audits import FRESH, run_of
from .reading import all_blocks, words

SAMPLES = {path.parent.name: path for path in sorted(samples.unpacked().glob("*/run.json"))}
AUDITS = [*SAMPLES, *(pytest.param(name, marks=pytest.mark.minute) for name in FRESH)]
NUMBER = r"[−-]?\d[\d,]*(?:\.\d+)?"
UNIT = r"(?: ?(?:nats|points|%|units of the outcome|kW))?"
ENDS = rf"(?:(?: \(|, )(?:\d+% CI )?({NUMBER}) to ({NUMBER}))?"
SIZE = rf"({NUMBER})({UNIT}){ENDS}"
# a quantity -> how texts print it; FEATURE is any feature
TEXTS = {
    "AUC": (rf"(?<!training observations: )AUC {SIZE}", rf"(?<!true )(?:area under the ROC curve|roc_auc) is {SIZE}"),
    "gap": (rf"[Cc]alibration gap(?: is)? {SIZE}", rf"exceeds mean entropy by {SIZE}"),
    "ratio": (rf"Realisation ratio of the importance: {SIZE}",),
    "recalibration": (rf"Recalibration gains {SIZE}",),
    "failures": (rf"AUROC of failures {SIZE}", rf"[Gg]ain {SIZE} of the largest possible"),
    "threshold of referral": (rf"most uncertain observations \([a-z ]+ above ({NUMBER})()()\)",),
    "loss of FEATURE": (
        rf"FEATURE by {SIZE}",
        rf"Permuting FEATURE increases the [a-z -]+(?: most: by|, by| by) {SIZE}",
        rf"Corrupted values of FEATURE increase the [a-z -]+ by {SIZE}",
        rf"FEATURE: .*?a realised importance of {SIZE}",
    ),
    "model-implied importance of FEATURE": (rf"FEATURE: a model-implied importance of {SIZE}",),
    "prediction of FEATURE": (rf"FEATURE has the largest effect on [^:]*: {SIZE}",),
    "uncertainty of FEATURE": (rf"driven (?:mainly|most) by FEATURE: permuting it changes the [a-z ]+ by {SIZE}",),
}
ALTS = {"prediction": "prediction of", "loss": "loss of", "uncertainty": "uncertainty of"}
# a line of a feature's sheet, or the head of a column -> the quantity
LINES = {
    "mean absolute Shapley value": "prediction of",
    "increase in loss": "loss of",
    "model-implied importance": "model-implied importance of",
    "size of change in uncertainty": "uncertainty of",
    "prediction: Shapley, mean size": "prediction of",
    "loss: alone, mean change": "loss of",
    "loss: adjusted for redundancy, mean change": "adjusted importance of",
    "uncertainty: permuted, mean size": "uncertainty of",
    "R-sens per standard deviation": "R-sens of",
    "distribution: R-sens, mean size": "R-sens of",
    "model-implied": "model-implied importance of",
    "realised": "loss of",
    "adjusted for redundancy": "adjusted importance of",
    "alone": "loss of",
}
SCORES = {"area under the ROC curve (AUC)": "AUC", "log loss (lower is better)": "log loss", "accuracy": "accuracy"}


OF_FEATURES = ("drives-table", "performance-realised-table", "features-others-table", "cover-1-table")


class Printed(NamedTuple):
    """A number as it is printed: its place, the number, and the ends of its interval where they are printed too."""

    place: str
    numbers: tuple[str, ...]
    scale: float = 1.0

    def ranges(self) -> list[tuple[float, float]]:
        """Return the values that each printed number may be rounded from."""
        return [_rounded_from(number, self.scale) for number in self.numbers if number]


def _rounded_from(number: str, scale: float) -> tuple[float, float]:
    value = float(number.replace("−", "-").replace(",", ""))
    half = 0.5000001 * 10.0 ** -len(number.partition(".")[2])
    whole = number.rstrip("0")
    if "." not in number and len(whole) < len(number):  # 1,900 is rounded to hundreds
        half *= 10.0 ** (len(number) - len(whole))
    return (value - half) * scale, (value + half) * scale


def agree(first: Printed, second: Printed) -> bool:
    """Say whether two printed numbers can be one quantity; an interval that only one prints is not compared."""
    pairs = zip(first.ranges(), second.ranges(), strict=False)
    return all(low <= high_2 and low_2 <= high for (low, high), (low_2, high_2) in pairs)


def printed(run: Run) -> dict[str, list[Printed]]:
    """Return every quantity of a run's documents with each of its printed numbers."""
    found: dict[str, list[Printed]] = defaultdict(list)
    features = [feature.name for feature in SubjectFacts.of(run).features]
    for form in ("audit", "brief", "model-card"):
        made = kinds.document(run, form, appendix="full" if form == "audit" else "short", draws=False)
        for key, number in _of_document(made, features):
            found[key].append(number._replace(place=f"{form}: {number.place}"))
    for line in as_lines(answer_of(RunReader(run))):
        for key, number in _of_text(line, features):
            found[key].append(number._replace(place=f"terminal: {number.place}"))
    return found


def _of_document(made: Document, features: list[str]) -> Iterator[tuple[str, Printed]]:
    for text in (unmarked(text) for text in words(made)):
        yield from _of_text(text, features)
    for block in inside(block for section in made.sections for block in all_blocks(section)):
        if isinstance(block, Table):
            yield from _of_table(block, features)
        elif isinstance(block, Figure) and block.id == "answer-picture":
            yield from _of_picture(block.alt, features)
        elif isinstance(block, Cards):
            for card in block.cards:
                yield from _of_card(card, features)


def _of_text(text: str, features: list[str]) -> Iterator[tuple[str, Printed]]:
    for key, patterns in TEXTS.items():
        for pattern in patterns:
            for feature in features if "FEATURE" in pattern else [""]:
                whole = pattern.replace("FEATURE", rf"(?<![\w.]){re.escape(feature)}")
                if feature and feature not in text:
                    continue
                for match in re.finditer(whole, text):
                    yield key.replace("FEATURE", feature), _number(text, *match.groups())


def _number(place: str, value: str, unit: str, *ends: str) -> Printed:
    scale = 0.01 if unit.strip() in ("%", "points") else 1.0
    return Printed(place, (value, *(end or "" for end in ends)), scale)


def _of_card(card: Card, features: list[str]) -> Iterator[tuple[str, Printed]]:
    for text in card.texts:
        yield from _of_text(text, features)
    if card.aside.startswith(("AUC", "accuracy")):
        key, around = card.aside.split(" ", 1)
        yield key, next(_cell(f"{card.headline} {around}"))


def _of_picture(alt: str, features: list[str]) -> Iterator[tuple[str, Printed]]:
    for role, text in re.findall(r"Drivers of the (\w+): Largest: (.*?)\.(?= |$)", alt):
        for feature in features:
            if match := re.search(rf"(?:^|, |and ){re.escape(feature)} {SIZE}", text):
                yield f"{ALTS[role]} {feature}", _number(text, *match.groups())


def _of_table(table: Table, features: list[str]) -> Iterator[tuple[str, Printed]]:
    """Yield the cells of known quantities: of a sheet and of the scores by line, of tables of features by column."""
    sheet = re.fullmatch(r"(.*) in numbers.*", unmarked(table.caption)) if table.id.startswith("sheet-") else None
    for row in table.rows:
        first = unmarked(str(row[0]))
        cells: dict[str, str] = {}
        if sheet is not None and (key := LINES.get(first.partition(" with ")[0])):
            cells[f"{key} {sheet[1]}"] = str(row[1])
        elif table.id == "performance-scores-table" and first in SCORES:
            cells[SCORES[first]] = str(row[1])
        elif table.id in OF_FEATURES and first in features:
            heads = (LINES.get(column.label) for column in table.columns)
            cells = {f"{key} {first}": str(cell) for key, cell in zip(heads, row, strict=True) if key and cell}
        for key, cell in cells.items():
            yield from ((key, number._replace(place=f"{table.id}, {key}")) for number in _cell(cell))


def _cell(cell: str) -> Iterator[Printed]:
    if match := re.match(SIZE, cell):
        yield _number(cell, *match.groups())


def contradictions(found: dict[str, list[Printed]]) -> list[str]:
    """Return the quantities that are printed with two numbers."""
    return [
        f"{key}: {first.place[:120]} | {second.place[:120]}: {first.numbers} against {second.numbers}"
        for key, numbers in found.items()
        for first, second in combinations(numbers, 2)
        if not agree(first, second)
    ]


@cache
def run(name: str) -> Run:
    """Return the run of a sample, or of a fresh audit."""
    return samples.read(SAMPLES[name]) if name in SAMPLES else run_of(name)


@pytest.mark.parametrize("name", AUDITS)
def test_no_quantity_is_printed_with_two_numbers(name: str) -> None:
    found = printed(run(name))
    again = {key: numbers for key, numbers in found.items() if len({number.place for number in numbers}) > 1}
    assert len(again) >= 8
    assert contradictions(found) == []


@pytest.mark.parametrize("name", AUDITS)
def test_headings_count_what_is_printed(name: str) -> None:
    made = kinds.document(run(name), draws=False)
    (section,) = (section for section in made.sections if section.id == "findings")
    graded = [finding for finding in run(name).findings if finding.severity != "observation"]
    register = next((b for b in section.blocks if isinstance(b, Table) and b.id == "findings-register"), None)
    boxes = [block for block in inside(section.blocks) if isinstance(block, Callout)]
    assert (0 if register is None else len(register.rows)) == len(graded)
    assert {block.code for block in boxes} == {finding.code for finding in graded}
    if register is not None:
        assert register.caption.startswith(f"{len(graded)} open finding")
    noted = len(run(name).findings) - len(graded)
    behind = next(part for part in made.sections if part.id == "rules")
    stated = re.search(r"(\d+) observations?, for information", " ".join(texts([section])))
    assert int(stated[1] if stated else 0) == noted
    kept = [part for part in behind.sections if part.id == "observations"]
    listed = {block.code for part in kept for block in part.blocks if isinstance(block, Callout)}
    assert listed == {finding.code for finding in run(name).findings if finding.severity == "observation"}


def test_every_finding_that_changed_is_in_the_table_of_changes() -> None:
    since = run("faulty").changes
    assert since is not None
    made = kinds.document(run("faulty"), draws=False)
    (section,) = (section for section in made.sections if section.id == "changes")
    rows = next(block.rows for block in inside(section.blocks) if isinstance(block, Table))
    moved = [change.code for change in since.findings if change.change != "unchanged"]
    assert sorted(code for code in moved) == sorted(str(row[0]).split()[0] for row in rows if str(row[0])[:2] == "UQ")


def test_two_numbers_of_one_quantity_are_noticed() -> None:
    same = Printed("a", ("0.073", "0.043", "0.103"))
    assert agree(same, Printed("b", ("0.07",)))
    assert agree(same, Printed("b", ("7.3", "4", "10"), 0.01))
    assert not agree(same, Printed("b", ("0.063",)))
    assert not agree(same, Printed("b", ("0.073", "0.033", "0.103")))
    assert len(contradictions({"loss of a": [same, Printed("b", ("0.063",))]})) == 1
