"""Columns of printed tables: shares add up, what does not break has its room, and the page is set by them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from uq_report.document.document import Badge, Column, Document, Section, Table
from uq_report.render.filters import columns, rows
from uq_report.render.html import page
from uq_report.render.widths import Extent, shares

TABLE = Table(
    id="t",
    caption="Why",
    columns=(Column("code"), Column("state"), Column("n", "integer"), Column("words")),
    rows=(("UQ1", Badge("found", "bad"), 1, "long words " * 40), ("UQ2", Badge("passed", "good"), 2, "a&b")),
)


def percent(table: Table, share: float = 1.0) -> list[float]:
    return [float(part) for part in columns(table, rows(table), share)]


def test_with_room_for_every_line_each_column_gets_its_part() -> None:
    assert shares([Extent(1, 1), Extent(1, 3)], 4) == [0.25, 0.75]
    assert shares([Extent(2, 2), Extent(6, 6)], 4) == [0.25, 0.75]


@pytest.mark.parametrize("room", [3.0, 5.0, 9.99])
def test_without_it_what_does_not_break_has_its_room(room: float) -> None:
    extents = [Extent(1, 1), Extent(1, 7), Extent(1, 2)]
    parts = shares(extents, room)
    assert sum(parts) == pytest.approx(1)
    assert all(part * room >= extent.least - 1e-12 for part, extent in zip(parts, extents, strict=True))


def test_the_least_shrinks_in_proportion_where_even_that_has_no_room() -> None:
    assert shares([Extent(2, 9), Extent(6, 7)], 4) == [0.25, 0.75]


@pytest.mark.parametrize("share", [1.0, 0.54])
def test_widths_of_a_table_fill_it_and_long_text_gets_most(share: float) -> None:
    parts = percent(TABLE, share)
    assert sum(parts) == pytest.approx(100, abs=0.02)
    assert parts[3] == max(parts)
    assert parts[1] > parts[2]  # a badge does not break; a number is short


def test_the_last_column_does_not_break_beside_a_figure() -> None:
    other = replace(TABLE, rows=tuple((*row[:3], "1 to 2 of 9") for row in TABLE.rows))
    other = replace(other, rows=(("long words " * 40, *other.rows[0][1:]),))
    assert percent(other, 0.999)[3] > percent(other)[3]


def test_a_printed_table_has_its_widths_and_one_on_a_screen_none(document: Document) -> None:
    document = replace(document, sections=(Section(id="s", title="S", blocks=(TABLE,)),))
    assert page(document, paged=True).count("<col style=") == len(TABLE.columns)
    assert "<col" not in page(document)
