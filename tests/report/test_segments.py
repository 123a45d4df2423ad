"""Segments in the report: the leading ones in front, table and figure in the appendix, or why there are none."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Normal
from uq_report.document.document import Figure, Table
from uq_report.evidence import ids
from uq_report.evidence.run import Run
from uq_report.reading.default_sections import part
from uq_report.reading.run_reader import RunReader
from uq_report.report.assemble import document
from uq_report.report.sections.outcomes import LISTED, NO_SEGMENT, segments
from uq_report.runner import figures

from .reading import all_blocks, table_of, text_of


def stated(X: pd.DataFrame) -> Normal:
    """Return a distribution whose scale is half of the truth where age is above 62."""
    return Normal(np.zeros(len(X)), np.where(X["age"] > 62, 1.0, 0.5))


@cache
def audited(noisy: bool = True) -> Run:
    """Return an audit of rows whose scale is 1, or 2 above 55 if `noisy`, and half of that where age is up to 62."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, 600), "size <m>": rng.normal(size=600)})
    scale: FloatArray = stated(X).variance() ** 0.5 * np.where((X["age"] > 55) & noisy, 2.0, 1.0)
    subject = uq.explain(stated, X, rng.normal(size=600) * scale)
    explainers = [ids.PFI, ids.SEGMENTS]
    options = {ids.PFI: {"n_repeats": 3}}
    return uq.audit(subject, explainers=explainers, options=options, as_of="2026-01-01", progress=False).run


def evidence(run: Run) -> RunReader:
    return RunReader(run, figures.draw)


def test_the_annex_shows_the_figure_and_every_segment() -> None:
    run = audited()
    section = part(RunReader(run, figures.draw, {ids.SEGMENTS}), run.result(ids.SEGMENTS))
    table = table_of(section, "segments-table")
    heads = [column.label for column in table.columns]
    assert heads[:5] == ["item", "measure", "estimate", "n", "share"]
    assert {"difference", "p, adjusted"} <= {*heads}
    assert {"all judged observations", "age above 56", "age above 62"} <= {row[0] for row in table.rows}
    assert [block.evidence for block in all_blocks(section) if isinstance(block, Figure)] == [ids.SEGMENTS]


def test_the_front_part_shows_the_leading_segments() -> None:
    section = segments(evidence(audited()))
    assert section is not None
    rows = table_of(section, "performance-segments-table").rows
    assert {"age above 56", "age above 62"} <= {row[0] for row in rows}
    assert len(rows) <= 4
    doubt = next(row for row in rows if row[0] == "age above 62")
    assert "age" in str(doubt[-1])


def test_the_finding_is_that_of_the_segment() -> None:
    findings = {f.code: f for f in audited().findings}
    assert findings["UQ121"].statement.startswith("For age above 5")
    assert findings["UQ122"].statement.startswith("For age above 62")


def test_without_segments_that_stand_out_a_sentence_says_so() -> None:
    run = audited(noisy=False)
    result = run.result(ids.SEGMENTS)
    flat = replace(result, estimates=result.estimates.assign(p_adjusted=1.0))
    e = evidence(replace(run, results=tuple(flat if r.id == ids.SEGMENTS else r for r in run.results)))
    section = segments(e)
    assert section is not None
    assert text_of(section) == f"{NO_SEGMENT} {LISTED}"


def test_without_the_result_the_front_is_silent() -> None:
    assert segments(evidence(replace(audited(), results=()))) is None


@pytest.mark.parametrize(("extent", "behind"), [("short", 0), ("full", 1)])
def test_the_report_shows_segments_in_front_and_in_full_behind(extent: str, behind: int) -> None:
    whole = document(audited(), appendix=extent)
    shown = [b.id for s in whole.sections for b in all_blocks(s) if isinstance(b, Table) and b.evidence == ids.SEGMENTS]
    assert shown == ["performance-segments-table", *["segments-table"] * behind]
