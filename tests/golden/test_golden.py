"""Whole documents word for word: a change of the report is seen as a change of these files.

``UQ_GOLDEN=write pytest tests/golden`` writes them anew; read the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from uq_report.evidence.run import FindingChange, InputChange, Run, RunChanges, ValueChange
from uq_report.render.junit import JunitRenderer
from uq_report.render.markdown import MarkdownRenderer
from uq_report.report.kinds import document

from ..report.cases import Case
from ..report.synthetic import make_run

HERE = Path(__file__).parent
CHANGES = RunChanges(
    previous={"as_of": "2026-08-21", "label": "Forest", "sha256": "ef" * 32},
    findings=(
        FindingChange(code="UQ101", title="Calibration", features=(), change="worse", before="medium", now="high"),
        FindingChange(code="UQ401", title="Over-fit", features=("age",), change="closed", before="high", now=""),
    ),
    values=(
        ValueChange(
            result="pfi", measure="nll", feature="age", before=0.1, now=0.2, difference=0.1, lower=0.05, upper=0.15,
            interval="95%, paired rows", changed=True,
        ),
    ),
    inputs=(InputChange(what="hash of X", before="aa", now="bb"),),
    not_compared=("pdp: curves are not compared",),
)  # fmt: skip


def run(gate: str) -> Run:
    """A run with results of every kind, and changes since a previous one."""
    made = make_run(Case(gate=gate))
    return Run(**{**vars(made), "changes": CHANGES})


@pytest.mark.parametrize("kind", ["audit", "brief", "model-card"])
@pytest.mark.parametrize("gate", ["fails", "passes"])
@pytest.mark.usefixtures("undrawn")
def test_the_words_of_a_document(kind: str, gate: str) -> None:
    compare(f"{kind}.{gate}.md", MarkdownRenderer().render(document(run(gate), kind)))


@pytest.mark.usefixtures("undrawn")
def test_the_checks_for_machines() -> None:
    compare("audit.junit.xml", JunitRenderer().render(document(run("fails"), "audit")))


def compare(name: str, made: bytes) -> None:
    """Compare with the file, or write it where that is asked for."""
    file = HERE / name
    if os.environ.get("UQ_GOLDEN") == "write":
        file.write_bytes(made)
    assert made.decode() == file.read_text(encoding="utf-8")
