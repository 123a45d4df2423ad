"""docs/models.md says of each family of models what an audit of it shows.

``UQ_GOLDEN=write pytest tests/inputs/adapters/test_models_table.py`` writes the rows anew, family by family.
"""

import os
from pathlib import Path

import pytest

from .families import FAMILIES
from .family import Family
from .models_table import EXPLAINERS, MEASURES, rows

ROOT = Path(__file__).parents[3]
FILE = "docs/models.md"
HEADS = (("model", "distribution", *MEASURES, "why not"), ("model", *EXPLAINERS, "why not"))


def table(head: tuple[str, ...]) -> list[str]:
    """Return the rows below a table's head."""
    lines = (ROOT / FILE).read_text(encoding="utf-8").splitlines()
    start = lines.index(f"| {' | '.join(head)} |") + 2
    stop = next(k for k, line in enumerate([*lines[start:], ""]) if not line.startswith("|"))
    return lines[start : start + stop]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.words)
def test_a_row_says_what_an_audit_shows(family: Family) -> None:
    for module in family.library.split():
        pytest.importorskip(module, reason=f"this row is about models of {module}")
    made = rows(family)
    for head, row in zip(HEADS, made, strict=True):
        if os.environ.get("UQ_GOLDEN") == "write":
            write(head, family.words, row)
        assert row in table(head)


@pytest.mark.parametrize("head", HEADS)
def test_a_table_has_a_row_for_each_family_and_no_other(head: tuple[str, ...]) -> None:
    assert [row.split(" | ")[0] for row in table(head)] == [f"| {family.words}" for family in FAMILIES]


def write(head: tuple[str, ...], words: str, row: str) -> None:
    """Put the row in its table, in the order of the families."""
    old = table(head)
    by_words = {line.split(" | ")[0]: line for line in old} | {f"| {words}": row}
    new = [by_words[key] for key in (f"| {family.words}" for family in FAMILIES) if key in by_words]
    title = f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n"
    text = (ROOT / FILE).read_text(encoding="utf-8")
    before, after = text.split(title)
    rest = after.removeprefix("".join(f"{line}\n" for line in old))
    (ROOT / FILE).write_text(before + title + "".join(f"{line}\n" for line in new) + rest, encoding="utf-8")
