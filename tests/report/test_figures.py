"""The drawn report: small figures, safe text, equal bytes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import matplotlib.figure
import pytest

from uq_report.api.views import AuditRun
from uq_report.core.support.errors import InputError
from uq_report.document import blocks
from uq_report.document.document import Block, Callout, Document, Figure, inside
from uq_report.document.plots import picture as svg
from uq_report.report import kinds
from uq_report.report.assemble import document
from uq_report.runner import plugins

from . import reading
from .cases import Case
from .synthetic import make_run

SHAPES = (
    Case(),
    Case(task="regression"),
    Case(names=("only",)),
    Case(names=tuple(f"feature {k}" for k in range(40)), has_y=False, gate="not assessed"),
)


def blocks_of(made: Document) -> list[Block]:
    return [block for part in reading.sections(made) for block in inside(part.blocks)]


@pytest.mark.parametrize("unit", ["units of the outcome", "kW"])
def test_axes_and_texts_name_the_unit_of_the_outcome_alike(unit: str) -> None:
    run = make_run(Case(task="regression"))
    about = {} if unit == "units of the outcome" else {"about": {"unit": unit}}
    made = kinds.document(replace(run, settings={**run.settings, **about}), appendix="full")
    drawn = " ".join(figure.svg.decode() for figure in blocks_of(made) if isinstance(figure, Figure))
    text = " ".join(reading.words(made))
    assert f"prediction ({unit})" in drawn
    assert unit in text
    assert re.findall(r"\bunits of (?!the outcome)|\d% interval", drawn + text) == []
    assert ("units of the outcome" in drawn + text) == (not about)


@pytest.fixture(scope="module")
def figures() -> list[Figure]:
    made = document(make_run(Case(names=("<b>$x$</b>", "b\u202e\x1b[31m", "\u4e2d"))), appendix="full")
    return [block for block in blocks_of(made) if isinstance(block, Figure)]


def test_figures_are_vector_small_and_safe(figures: list[Figure]) -> None:
    assert len(figures) > 15
    for figure in figures:
        text = figure.svg.decode().replace("http://www.w3.org/2000/svg", "")
        assert text.startswith("<svg")
        assert len(figure.svg) < 60_000
        for forbidden in ("<image", "<script", "http", "\x1b", "\u202e", "\u4e2d"):
            assert forbidden not in text
    assert any("&lt;b&gt;$x$&lt;/b&gt;" in figure.svg.decode() for figure in figures)


@pytest.mark.parametrize("case", SHAPES, ids=lambda case: f"{case.task}-{len(case.names)}-{case.gate}")
def test_every_figure_of_every_shape_can_be_drawn(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svg, "to_svg", lambda figure: b"<svg/>" if figure.axes else b"")
    found = blocks_of(document(make_run(case), appendix="full"))
    assert sum(isinstance(block, Figure) for block in found) > 10
    assert not [block.text for block in found if isinstance(block, Callout) and "missing" in block.title]


def test_a_figure_that_cannot_be_drawn_becomes_a_callout() -> None:
    def fails() -> matplotlib.figure.Figure:
        raise ValueError("odd numbers")

    made = blocks.make_figure("f", "A caption.", "alt", fails, "stranger")
    assert isinstance(made, Callout)
    assert made.evidence == ("stranger",)
    assert "odd numbers" in made.text


def counted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that grows with every figure drawn."""
    drawn: list[object] = []
    draw = svg.to_svg

    def to_svg(figure: Any) -> Any:
        drawn.append(figure)
        return draw(figure)

    monkeypatch.setattr(svg, "to_svg", to_svg)
    return drawn


@pytest.mark.parametrize("formats", [(), ("junit",), ("markdown", "junit")])
def test_no_figure_is_drawn_for_formats_that_show_none(
    formats: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, run = counted(monkeypatch), make_run(Case(names=("a", "b")))
    reports = AuditRun(run).reports(formats)
    assert len(reports) == len(formats)
    assert drawn == []
    document(run, appendix="none")
    assert len(drawn) > 3


def test_words_are_the_same_with_figures_and_without() -> None:
    run = make_run(Case(names=("a", "b")))
    drawn = kinds.document(run)
    assert drawn != (bare := kinds.document(run, draws=False))
    for name in ("markdown", "junit"):
        renderer = plugins.load(plugins.named(plugins.find(plugins.RENDERERS), name, "format"))()
        assert renderer.render(drawn) == renderer.render(bare)


@pytest.mark.parametrize("style", [{"template": "novel"}, {"appendix": "long"}])
def test_a_style_is_judged_whatever_the_formats(style: Any) -> None:
    with pytest.raises(InputError, match=f"report.{next(iter(style))} must be one of"):
        AuditRun(make_run(Case(names=("a", "b")))).reports((), **style)
