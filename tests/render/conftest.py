"""Documents to render: one with every kind of block, one made of hostile text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from uq_report.document.document import (
    Badge,
    Bullets,
    Callout,
    Column,
    Document,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
)
from uq_report.render import environment

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"><path d="M5 55L85 5" stroke="#17456f"/></svg>'
HOSTILE = (
    "<script>alert(1)</script>",
    "{{7*7}}{% raw %}",
    '" onerror="alert(1)" x=\'',
    "javascript:alert(1)",
    "</style><style>*{display:none}</style>",
    "url(http://example.org/x.png) ]]> &amp; <!--",
)


@pytest.fixture
def filled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill themes in this process, without limits of time and memory: a process for each takes a second."""

    def here(house: Path, kind: str, data: Mapping[str, object] | None, _: object) -> str:
        return environment.fill(house, kind, data)

    monkeypatch.setattr(environment, "filled_apart", here)


def make(*sections: Section, title: str = "Audit of a model") -> Document:
    return Document(
        title=title,
        subtitle="Test data",
        as_of="2026-11-21",
        generator="uq_report 0.1.0",
        evidence_sha256="ab" * 32,
        facts=(("Model", "forest"), ("Rows", 1200), ("Gate", Badge("passes", "good"))),
        sections=sections,
    )


def table(id: str = "pfi", *, rows: int = 3, evidence: str = "pfi.test") -> Table:
    columns = (Column("Feature"), Column("Importance", "number", "nats"), Column("p", "pvalue"), Column("Verdict"))
    cells = tuple((f"x_{i}", 0.1 / (i + 1), None, Badge("about 0", "neutral")) for i in range(rows))
    return Table(id=id, caption="Importance", columns=columns, rows=cells, evidence=evidence, note="A note.")


def figure(id: str = "map") -> Figure:
    return Figure(id=id, caption="A map.", alt="The line rises from 0 to 1.", svg=SVG, evidence="pfi.test")


@pytest.fixture(scope="session")
def document() -> Document:
    """Every block type, three levels of sections."""
    deep = Section(id="deep", title="Deep", blocks=(Paragraph(text="Deep text."),))
    inner = Section(id="inner", title="Inner", blocks=(figure(), table()), sections=(deep,))
    callout = Callout(tone="bad", title="Fails", text="The gate fails.", evidence=("pfi.test", "calibration"))
    facts = Facts(rows=(("Missing", None), ("Share", 0.25), ("State", Badge("failed", "bad"))))
    summary = Section(id="summary", title="Summary", blocks=(Paragraph(text="Text."), callout, facts))
    points = Section(id="points", title="Points", blocks=(Bullets(items=("One.", "Two.")),), sections=(inner,))
    return make(summary, points)


@pytest.fixture(scope="session")
def hostile() -> Document:
    """Hostile text in every place that takes text."""
    sections = []
    for number, text in enumerate(HOSTILE):
        rows = ((text, 1.0, None, Badge(text, "bad")), (None, None, None, text))
        columns = (Column(text), Column(text, "number", text), Column("p", "pvalue"), Column("v"))
        blocks = (
            Paragraph(text=text),
            Bullets(items=(text,)),
            Callout(tone="warning", title=text, text=text, evidence=(text,)),
            Facts(rows=((text, text),)),
            Table(id=f"t{text}", caption=text, columns=columns, rows=rows, evidence=text, note=text, total_rows=9),
            Figure(id=f"f{text}", caption=text, alt=text, svg=SVG, evidence=text),
        )
        inner = Section(id=f"i{number} {text}", title=text)
        sections.append(Section(id=f"s{text}", title=text, blocks=blocks, sections=(inner,)))
    return make(*sections, title=" ".join(HOSTILE))
