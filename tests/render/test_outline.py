"""Numbers, link targets, and what a document must not be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from uq_report.core.support.errors import RenderError
from uq_report.document.document import Badge, Cell, Column, Document, Figure, Section, Table
from uq_report.render.filters import breakable, capped, csp_hash, density, rows
from uq_report.render.outline import RESERVED, Outline, outline
from uq_report.render.text import anchor, clean


def with_sections(document: Document, *sections: Section) -> Document:
    return replace(document, sections=sections)


def test_sections_are_numbered_by_place_and_headed_by_depth(document: Document) -> None:
    plan = outline(document)
    points = plan.parts[1]
    inner = points.parts[0]
    assert [(p.number, p.level) for p in (points, inner, *inner.parts)] == [("2", 2), ("2.1", 3), ("2.1.1", 4)]


def test_appendices_are_lettered_behind_the_numbered_sections(document: Document) -> None:
    inner = Section(id="inner-a", title="Inner")
    appendices = [Section(id=f"app{k}", title="A", sections=(inner,) * (k == 0), appendix=True) for k in range(2)]
    plan = outline(with_sections(document, Section(id="one", title="One"), *appendices))
    assert [part.number for part in plan.parts] == ["1", "A", "B"]
    assert [part.number for part in plan.parts[1].parts] == ["A.1"]


def test_more_appendices_than_letters_are_refused(document: Document) -> None:
    many = [Section(id=f"a{k}", title="A", appendix=True) for k in range(27)]
    with pytest.raises(RenderError, match="at most 26 appendices; got 27"):
        outline(with_sections(document, *many))


def test_tables_and_figures_are_counted_apart(document: Document) -> None:
    assert outline(document).labels == {"map": "Figure 1", "pfi": "Table 1"}


def test_evidence_points_at_the_first_block_made_from_it(document: Document) -> None:
    assert outline(document).evidence["pfi.test"] == "map"
    assert "calibration" not in outline(document).evidence


def test_headings_below_level_six_stay_there(document: Document) -> None:
    section = Section(id="s9", title="9")
    for depth in range(8, 0, -1):
        section = Section(id=f"s{depth}", title=str(depth), sections=(section,))
    part = outline(with_sections(document, section)).parts[0]
    levels = [part.level]
    while part.parts:
        part = part.parts[0]
        levels.append(part.level)
    assert levels == [2, 3, 4, 5, 6, 6, 6, 6, 6]


@pytest.mark.parametrize("id_", ["summary", *RESERVED])
def test_an_id_used_twice_is_refused(document: Document, id_: str) -> None:
    twice = with_sections(document, Section(id="summary", title="a"), Section(id=id_, title="b"))
    with pytest.raises(RenderError, match=f"document.id must be unique; got '{id_}' 2 times"):
        outline(twice)


def test_a_figure_without_alternative_text_is_refused(document: Document) -> None:
    silent = Figure(id="f", caption="c", alt=" ", svg=b"<svg/>")
    with pytest.raises(RenderError, match=r"figure 'f'\.alt must say"):
        outline(with_sections(document, Section(id="s", title="t", blocks=(silent,))))


def test_a_ragged_table_is_refused(document: Document) -> None:
    ragged = Table(id="t", caption="c", columns=(Column("a"), Column("b")), rows=(("x", 1), ("y",)))
    with pytest.raises(RenderError, match=r"table 't'\.rows must have 2 cells each; got \[1, 2\]"):
        outline(with_sections(document, Section(id="s", title="t", blocks=(ragged,))))


def test_anchors_of_different_ids_differ() -> None:
    ids = ["a b", "a_b", "a-b", "a.b", "ab", "A b", "ä", "a", "", "1", "id-1x", "a\u202eb", "n" * 400, "n" * 401]
    assert len({anchor(name) for name in ids}) == len(ids)
    assert all(anchor(name).isascii() and " " not in anchor(name) and len(anchor(name)) < 160 for name in ids)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b\x1b[0m", "a[U+0000]b[U+001B][0m"),
        ("\u202eevil\u2066", "[U+202E]evil[U+2066]"),
        ("\ud800", "[U+D800]"),
        ("\ufffe\ufeff", "[U+FFFE][U+FEFF]"),
        ("e\u0301", "é"),
        (" tab\tand\nline ", "tab\tand\nline"),
        ("Größe ≤ 5 µm", "Größe ≤ 5 µm"),
        (f"a {'b' * 199} {'c' * 200}", f"a {'b' * 199} {'c' * 100}… (200 characters)"),
    ],
)
def test_what_cannot_be_printed_is_shown_by_its_code_point(text: str, shown: str) -> None:
    assert clean(text) == shown
    clean(text).encode()


def test_rows_are_text_with_heads_and_tones() -> None:
    table = Table(
        id="t",
        caption="c",
        columns=(Column("name"), Column("n", "integer"), Column("v")),
        rows=(("a", 10000, Badge("fails", "bad")), ("b", None, "text"), ("c", 1, "")),
    )
    first, second, _ = rows(table)
    assert [tuple(cell) for cell in first] == [
        ("a", "a", "name", "text", "", True),
        ("10\u202f000", "10\u202f000", "n", "integer", "", False),
        ("fails", "fails", "v", "text", "bad", False),
    ]
    assert [cell.text for cell in second] == ["b", "–", "text"]
    assert rows(replace(table, rows=())) == []
    few = rows(replace(table, rows=table.rows[:2]))
    assert not any(cell.head for row in few for cell in row)  # 5 heads and 4 other cells


@pytest.mark.parametrize(("column", "cell"), [(Column("n", "integer"), 1), (Column("name"), "")])
def test_a_number_or_nothing_names_no_row(column: Column, cell: Cell) -> None:
    table = Table(id="t", caption="c", columns=(column,), rows=((cell,),))
    assert not rows(table)[0][0].head


def test_cells_lead_to_the_sheets_of_features_and_to_findings() -> None:
    plan = Outline((), {}, {}, {"age": "sheet-age"}, {"UQ101": "f1"})
    columns = (Column("Feature"), Column("code"), Column("n", "integer"))
    cells = (("age", "UQ101 (high)", 1), ("sex", "age", 2))
    (age, found, number), (sex, other, _) = rows(Table(id="t", caption="c", columns=columns, rows=cells), plan)
    assert age.content == '<a class="feature" href="#sheet-age">age</a>'
    assert found.content == '<a class="code" href="#f1">UQ101</a> (high)'
    assert (number.content, sex.content, other.content) == ("1", "sex", "age")


def test_the_answer_has_no_number_only_where_it_stands_first(document: Document) -> None:
    answer = Section(id="answer", title="The answer", sections=(Section(id="inner-a", title="Inner"),))
    one, last = Section(id="one", title="One", feature="age"), Section(id="last", title="Last", appendix=True)
    plan = outline(with_sections(document, answer, one, last))
    assert [(part.number, part.role) for part in plan.parts] == [("", "answer"), ("1", "sheet"), ("A", "")]
    assert (plan.answer, plan.front, plan.appendix) == (plan.parts[:1], plan.parts[1:2], plan.parts[2:])
    assert [part.number for part in plan.parts[0].parts] == [""]
    assert [part.number for part in outline(with_sections(document, one, answer)).parts] == ["1", "2"]


@pytest.mark.parametrize(
    ("columns", "how"),
    [(1, "slim"), (3, "slim"), (4, "normal"), (7, "normal"), (8, "dense"), (10, "dense"), (11, "wide")],
)
def test_density_follows_from_the_number_of_columns(columns: int, how: str) -> None:
    rows = (("x",) * columns,) * 7
    assert density(Table(id="t", caption="c", columns=(Column("a"),) * columns, rows=rows)) == how
    assert density(Table(id="t", caption="c", columns=(Column("a"),) * columns, rows=rows[:6])) == f"{how} few"


def test_only_a_table_with_more_rows_than_shown_is_capped() -> None:
    table = Table(id="t", caption="c", columns=(Column("a"),), rows=(("x",),))
    assert [capped(replace(table, total_rows=n)) for n in (0, 1, 2)] == [False, False, True]


def test_names_break_at_their_joints_and_stay_escaped() -> None:
    assert breakable("a_b/c.d 0.5 <x>") == "a_<wbr>b/<wbr>c.<wbr>d 0.5 &lt;x&gt;"
    assert breakable("m" * 60).split("<wbr>") == ["m" * 24, "m" * 24, "m" * 12]


def test_a_style_sheet_cannot_end_its_element() -> None:
    with pytest.raises(RenderError, match="css and script must hold no '</'"):
        csp_hash("a { } </style><script>")
