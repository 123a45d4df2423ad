"""Two documents in one: every kind of block, ids of their own inside and out, and nothing alike said twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from uq_report.document.document import (
    Badge,
    Block,
    Bullets,
    Callout,
    Card,
    Cards,
    Column,
    Columns,
    Facts,
    Figure,
    Fold,
    Paragraph,
    Section,
    Split,
    Step,
    Steps,
    Table,
    Verdict,
    inside,
)
from uq_report.report.sections.comparison import merged

NAMES = ("Champion: a", "Challenger: b")


def every_block(who: str) -> tuple[Block, ...]:
    """One of each kind, what it says being of one model; one sentence is of both."""
    table = Table(id="t", caption=who, columns=(Column("x"),), rows=((who,),))
    figure = Figure(id="f", caption=who, alt=who, svg=b"<svg/>")
    split = Split(left=(replace(figure, id="f2"),), right=(replace(table, id="t2"),))
    return (
        Verdict(badge=Badge(who), text=who),
        Cards(cards=(Card(title="How good is it?", headline=who),)),
        Steps(steps=(Step(lead=who),)),
        Paragraph(text=f"{who} alone says this first."),
        Paragraph(text="Both say this."),
        Bullets(items=(who,)),
        Facts(rows=(("model", who),)),
        Callout(tone="bad", title=who, text=who, code="UQ101", id="finding-UQ101"),
        Fold(title="Evidence", blocks=(split, Paragraph(text="Both say this inside."), Paragraph(text=who))),
        table,
        figure,
    )


def one(who: str, aside: str = "") -> tuple[Section, ...]:
    return (
        Section(
            id="sheet-age", title="age", feature="age", aside=aside, blocks=every_block(who),
            sections=(Section(id="more", title="More", blocks=(Paragraph(text=who),)),),
        ),
    )  # fmt: skip


def ids(sections: tuple[Section, ...]) -> Iterator[str]:
    for section in sections:
        yield section.id
        yield from (block.id for block in inside(section.blocks) if isinstance(block, Table | Figure | Callout))
        yield from ids(section.sections)


@pytest.fixture
def both() -> Section:
    (section,) = merged(one("a"), one("b"), NAMES)
    return section


def test_every_id_is_there_once_and_the_challengers_have_names_of_their_own(both: Section) -> None:
    found = Counter(ids((both,)))
    assert set(found.values()) == {1}
    assert {"t", "t2", "f", "f2", "finding-UQ101"} <= set(found)
    assert {f"challenger-{key}" for key in ("t", "t2", "f", "f2", "finding-UQ101")} <= set(found)


def test_what_both_say_stands_once_inside_folds_too(both: Section) -> None:
    texts = Counter(block.text for block in inside(both.blocks) if isinstance(block, Paragraph))
    assert (texts["Both say this."], texts["Both say this inside."]) == (1, 1)
    assert sum(isinstance(block, Fold) for block in both.blocks) == 1


def test_what_only_one_says_is_lost_on_neither_side(both: Section) -> None:
    pairs = [block for block in both.blocks if isinstance(block, Columns)]
    assert {type(pair.left) for pair in pairs} >= {Verdict, Cards, Steps, Paragraph, Bullets, Facts, Callout, Table}
    assert all(type(pair.left) is type(pair.right) for pair in pairs)


def test_a_sentence_moved_down_on_one_side_is_still_said_once() -> None:
    left = (Section(id="s", title="S", blocks=(Paragraph(text="same"),)),)
    right = (Section(id="s", title="S", blocks=(Paragraph(text="new"), Paragraph(text="same"))),)
    (section,) = merged(left, right, NAMES)
    assert section.blocks[1] == Paragraph(text="same")
    assert section.blocks[0] == Columns(names=NAMES, left=None, right=Paragraph(text="new"))


def test_sections_keep_their_feature_and_what_both_say_beside_the_title() -> None:
    assert [section.feature for section in merged(one("a"), one("b"), NAMES)] == ["age"]
    assert merged(one("a", "rank 1"), one("b", "rank 1"), NAMES)[0].aside == "rank 1"
    assert not merged(one("a", "rank 1"), one("b", "rank 2"), NAMES)[0].aside


def test_a_section_of_one_side_stands_in_its_column() -> None:
    (section,) = merged((), one("b"), NAMES)
    assert {type(block) for block in section.blocks} == {Columns}
    assert all(block.left is None for block in section.blocks if isinstance(block, Columns))
