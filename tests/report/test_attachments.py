"""Files inside a report: the run's own bytes, and guarded tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from uq_report.core.support.text import file_stem
from uq_report.document.blocks import MAX_ROWS, make_table
from uq_report.document.document import Badge, Column, Columns, Section
from uq_report.evidence import ids
from uq_report.evidence.codec import dumps
from uq_report.evidence.run_folder import guarded_csv
from uq_report.reading.run_reader import RunReader
from uq_report.report.assemble import POINTS, attachments, document

from .cases import Case
from .synthetic import make_run

pytestmark = pytest.mark.usefixtures("undrawn")


def long_table(key: str = "big", rows: int = MAX_ROWS + 5) -> Section:
    cells = [(f"=A{k}", k, Badge("fails", "bad")) for k in range(rows)]
    columns = (Column("=head"), Column("n", "integer", "rows"), Column("state"))
    return Section(id=f"of-{key}", title="t", blocks=(make_table(key, "Caption", columns, cells),))


def test_the_first_attachment_is_the_run_to_the_byte() -> None:
    run = make_run()
    first = document(run).attachments[0]
    assert (first.name, first.media_type) == ("run.json", "application/json")
    assert first.content == dumps(run)


def test_estimates_are_the_files_of_the_folder_without_curves_and_single_rows() -> None:
    run = make_run()
    held = {one.name: one.content for one in document(run).attachments}
    assert held["pfi.train.estimates.csv"] == guarded_csv(run.result(ids.PFI_TRAIN).estimates)
    assert not {"pdp.estimates.csv", "shap.estimates.csv"} & set(held)


@pytest.mark.parametrize("appendix", ["none", "short", "full"])
def test_the_numbers_of_every_result_travel_whatever_the_annex(appendix: str) -> None:
    run = make_run()
    held = {one.name: one.content for one in document(run, appendix=appendix).attachments}
    shown = [result for result in run.results if len(result.estimates) and result.kind not in POINTS]
    assert held["run.json"] == dumps(run)
    assert {f"{file_stem(result.id)}.estimates.csv" for result in shown} <= set(held)


def test_a_table_that_is_not_printed_in_full_is_attached_with_every_row_guarded() -> None:
    section = long_table()
    (table,) = section.blocks
    assert table.type == "table"
    found = attachments(RunReader(make_run()), [Section(id="outer", title="o", sections=(section,))])[-1]
    assert found.name == getattr(table, "attachment", "") == "table-big.csv"
    lines = found.content.decode().splitlines()
    assert len(lines) == MAX_ROWS + 6
    assert lines[:2] == ['"\'=head","n (rows)","state"', '"\'=A0",0,"fails"']
    assert lines[-1] == f'"\'=A{MAX_ROWS + 4}",{MAX_ROWS + 4},"fails"'


def test_tables_inside_columns_count_and_short_ones_do_not() -> None:
    left, right = long_table("left").blocks[0], long_table("right", 3).blocks[0]
    both = Section(id="s", title="t", blocks=(Columns(names=("a", "b"), left=left, right=right),))
    names = [one.name for one in attachments(RunReader(make_run()), [both])]
    assert "table-left.csv" in names
    assert "table-right.csv" not in names


def test_names_of_attachments_differ_and_fit_a_file_system() -> None:
    run = make_run(Case(names=tuple(f"feature {k}" for k in range(70))))
    table = run.result(ids.PFI)
    odd = tuple(replace(table, id=key) for key in ("a b", "a_b", "a/b", "x" * 10_000))
    names = [one.name for one in document(replace(run, results=(*run.results, *odd)), appendix="full").attachments]
    assert len(set(names)) == len(names)
    assert all(len(name) < 120 and "/" not in name and " " not in name for name in names)
    assert "table-pfi-table-2.csv" in names


@pytest.mark.parametrize("id", ["a b", "\ud800", "中文", "../../etc"])
def test_a_changed_name_ends_in_its_digest(id: str) -> None:
    assert file_stem(id).rpartition("-")[2].isalnum()
    assert "/" not in file_stem(id)
