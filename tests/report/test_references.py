"""Works and terms: those this report uses, all of them, and no others."""

from __future__ import annotations

import re

import pytest

from uq_report.core.support.references import WORKS, cite
from uq_report.document.document import (
    Badge,
    Bullets,
    Callout,
    Column,
    Columns,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
)
from uq_report.report.assemble import document
from uq_report.report.sections.reproducibility import TERMS, references
from uq_report.runner import plugins

from . import reading
from .synthetic import make_run


def works(*blocks: object) -> list[str]:
    """Return the works listed for a section of these blocks."""
    section = references((Section(id="s", title="t", blocks=blocks),))  # type: ignore[arg-type] # blocks
    (listed,) = section.sections[0].blocks
    return list(listed.items) if isinstance(listed, Bullets) else []


def terms(text: str) -> list[str]:
    (block,) = references((Section(id="s", title=text),)).sections[1].blocks
    return [label for label, _ in block.rows] if isinstance(block, Facts) else []


def test_a_work_is_cited_by_key_and_place() -> None:
    assert cite("wood:section 3.5") == "Wood et al., section 3.5"
    assert cite("a rule of ours: none") == "a rule of ours: none"
    assert (
        cite("breiman; A rule; errors: apley:section 2") == "Breiman 2001; A rule; errors: Apley & Zhu 2020, section 2"
    )
    assert cite("driftwood:a") == "driftwood:a"


def test_works_can_be_told_apart_and_found_in_a_text() -> None:
    shorts = [work.short for work in WORKS.values()]
    assert not [(a, b) for a in shorts for b in shorts if a != b and a in b]
    for work in WORKS.values():
        year = re.search(r"\d{4}$", work.short)
        assert year is None or year[0] in work.full
        assert work.full.endswith(".")


@pytest.mark.parametrize("explainer", plugins.find(plugins.EXPLAINERS), ids=lambda plugin: plugin.name)
def test_every_card_rests_on_known_works(explainer: plugins.Plugin) -> None:
    cited = plugins.load(explainer).card.references.split("; ")
    assert {one.partition(":")[0] for one in cited} <= set(WORKS)


def test_only_cited_works_are_listed_in_full() -> None:
    assert works(Paragraph(text="As in Breiman 2001.")) == [
        "Breiman 2001. L. Breiman: Random forests. Machine Learning 45, 2001."
    ]
    assert works(Paragraph(text="Nothing.")) == []
    assert works(Paragraph(text="Wood et al., section 3"))[0].startswith("Wood et al. D. Wood")


def test_a_citation_is_found_wherever_it_stands() -> None:
    said = "Holm 1979"
    table = Table(id="t", caption="c", columns=(Column("a"),), rows=((Badge(said),),))
    places = (
        Callout(tone="bad", title="t", text=said),
        Bullets(items=(said,)),
        Facts(rows=(("a", said),)),
        table,
        Table(id="u", caption=said, columns=(), rows=()),
        Table(id="v", caption="c", columns=(Column("a"),), rows=((1,),), note=said),
        Figure(id="f", caption=said, alt="a", svg=b""),
        Columns(names=("a", "b"), left=None, right=Paragraph(text=said)),
    )
    assert [len(works(place)) for place in places] == [1] * len(places)


def test_terms_are_whole_words_that_the_report_uses() -> None:
    assert terms("The Entropy of it") == ["entropy"]
    assert terms("PFIs and iceland") == []
    assert terms("nothing") == []
    assert all(told.endswith(".") for told in TERMS.values())


@pytest.mark.usefixtures("undrawn")
def test_a_report_lists_what_its_method_cards_cite() -> None:
    made = document(make_run())
    (block,) = reading.section(made, "works").blocks
    assert isinstance(block, Bullets)
    listed = " ".join(block.items)
    assert "Wood et al. D. Wood" in listed
    assert "Breiman 2001. L. Breiman" in listed
    assert "Paananen" not in listed  # there is no R-sens in this run
