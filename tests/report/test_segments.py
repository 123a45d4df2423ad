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
from uq_report.evidence.run import NotRun, Run
from uq_report.methods.segments.section import SegmentsSection
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


def test_the_annex_shows_table_and_figure_with_the_same_letters() -> None:
    section = SegmentsSection().section(evidence(audited()))
    table = table_of(section, "segments-table")
    assert [column.label for column in table.columns][1:4] == ["observations where", "n", "share"]
    assert table.columns[-1].label == "brought closest by"
    assert [row[0] for row in table.rows] == [*"ABC"[: len(table.rows) - 1], ""]
    assert table.rows[-1][1] == "all judged observations"
    assert {"age above 56", "age above 62"} <= {row[1] for row in table.rows}
    figure = next(block for block in all_blocks(section) if isinstance(block, Figure))
    assert figure.alt.startswith("A dot with its interval per segment. confidence gap: A ")
    assert "Above the other observations, adjusted for all tests: 1 of 1 segment by entropy" in text_of(section)


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
    assert not [block for block in all_blocks(SegmentsSection().section(e)) if isinstance(block, Figure)]


def test_without_the_result_the_annex_says_why_and_the_front_is_silent() -> None:
    reason = NotRun(ids.SEGMENTS, "explainers", "segments needs at least 80 independent rows; got 60", "data")
    run = replace(audited(), results=(), not_run=(reason,))
    assert segments(evidence(run)) is None
    assert "at least 80 independent rows; got 60" in text_of(SegmentsSection().section(evidence(run)))


@pytest.mark.parametrize(("extent", "behind"), [("short", 0), ("full", 1)])
def test_the_report_shows_segments_in_front_and_in_full_behind(extent: str, behind: int) -> None:
    whole = document(audited(), appendix=extent)
    shown = [b.id for s in whole.sections for b in all_blocks(s) if isinstance(b, Table) and b.evidence == ids.SEGMENTS]
    assert shown == ["performance-segments-table", *["segments-table"] * behind]
