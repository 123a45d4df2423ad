"""The report as Markdown, for a repository: headings, lists and tables, and figures in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..document import document as kinds
from ..document.text import unmarked
from .filters import SIGNS, capped, rows, short
from .outline import Outline, OutlinePart, outline
from .text import clean, integer, show

# What Markdown, or GitHub's reading of it, takes for markup: anywhere, and at the start of a line.
_MARKUP = re.compile(r"[\\`*{}\[\]<|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])")
_START = re.compile(r"^(\d*)([-+>#=.)])(?=\s|$|[-+>#=])")
# Words that readers of Markdown turn into links or mentions by themselves: shown as code, which is never a link.
_LINKED = re.compile(r"\S*(?:[a-z][a-z0-9+.-]*:[^\s\d]|www\.|@)\S*", re.IGNORECASE)


def escape(text: str) -> str:
    r"""Return text that Markdown prints as it is: no markup, no HTML, no links, on one line.

    Examples
    --------
    >>> escape("car_age <b>"), escape("see http://example.org")
    ('car_age \\<b>', 'see `http://example.org`')
    """
    line = " ".join(clean(short(unmarked(text), 5000)).split())
    parts, end = [], 0
    for match in _LINKED.finditer(line):
        parts += [_plain(line[end : match.start()]), code(match[0])]
        end = match.end()
    return _START.sub(r"\1\\\2", "".join([*parts, _plain(line[end:])]))


def code(text: str) -> str:
    """Return text as code, fenced by more backticks than it holds.

    Examples
    --------
    >>> code("age.test"), code("a`b")
    ('`age.test`', '``a`b``')
    """
    line = " ".join(clean(short(text, 5000)).split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line[:1] == "`" or line[-1:] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}" if line else ""


def _plain(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", text)


@dataclass(frozen=True)
class MarkdownRenderer:
    """Write a document as GitHub-flavoured Markdown without HTML, links and images.

    A figure is its words and the id of its evidence.

    Examples
    --------
    >>> empty = kinds.Document(title="Model card", subtitle="", as_of="2026-11-21", generator="uq", evidence_sha256="0")
    >>> MarkdownRenderer().render(empty).splitlines()[0]
    b'# Model card'
    """

    name: ClassVar[str] = "markdown"
    extension: ClassVar[str] = ".md"
    api_version: ClassVar[int] = 1
    draws: ClassVar[bool] = False

    def render(self, document: kinds.Document) -> bytes:
        """Return the file in UTF-8."""
        plan = outline(document)
        stated = (("Classification", document.banner),) if document.banner else ()
        made = (("As of", document.as_of), ("Made by", document.generator))
        facts = _facts((*stated, ("Recommendation", document.recommendation), *document.facts, *made))
        head = [f"# {escape(document.title)}", escape(document.subtitle), facts]
        body = [piece for part in plan.parts for piece in _part(part, plan)]
        foot = f"Evidence SHA-256: {code(document.evidence_sha256)}"
        return ("\n\n".join(filter(None, [*head, *body, foot])) + "\n").encode()


def _part(part: OutlinePart, plan: Outline) -> Iterator[str]:
    """Yield a section and its sub-sections."""
    yield f"{'#' * part.level} {escape(f'{part.number} {part.section.title}')}"
    for block in part.section.blocks:
        yield _block(block, plan)
    for inner in part.parts:
        yield from _part(inner, plan)


def _block(block: kinds.Block, plan: Outline) -> str:
    return _BLOCKS[type(block)](block, plan)


def _callout(block: kinds.Callout, _: Outline) -> str:
    sign = SIGNS[block.tone]
    lines = [f"> **{sign.shape} {sign.word}: {escape(block.title)}**", f"> {escape(block.text)}"]
    if block.evidence:
        lines.append(f"> Evidence: {', '.join(map(code, block.evidence))}")
    return "\n>\n".join(lines)


def _facts(rows_: tuple[tuple[str, kinds.Cell], ...]) -> str:
    return "\n".join(f"- **{escape(label)}:** {_cell(cell)}" for label, cell in rows_)


def _cell(cell: kinds.Cell) -> str:
    return _badge(cell.text, cell.tone) if isinstance(cell, kinds.Badge) else escape(show(cell))


def _badge(text: str, tone: str) -> str:
    return f"{SIGNS[tone].shape} {escape(text)}"


def _table(block: kinds.Table, plan: Outline) -> str:
    heads = [escape(f"{c.label} ({c.unit})" if c.unit else c.label) or " " for c in block.columns]
    rules = ["---" if c.kind == "text" else "---:" for c in block.columns]
    lines = [[_badge(cell.text, cell.tone) if cell.tone else escape(cell.text) for cell in row] for row in rows(block)]
    # bars that code may hold would end a cell
    cells = ([re.sub(r"(?<!\\)\|", r"\|", cell) for cell in row] for row in (heads, rules, *lines))
    table = "\n".join(f"| {' | '.join(row)} |" for row in cells)
    notes = [escape(block.note)] if block.note else []
    if capped(block):
        notes.append(f"The first {integer(len(block.rows))} of {integer(block.total_rows)} rows.")
    return "\n\n".join([_caption(block, plan), table, *notes])


def _caption(block: kinds.Table | kinds.Figure, plan: Outline) -> str:
    evidence = f" Evidence: {code(block.evidence)}" if block.evidence else ""
    return f"**{plan.labels[block.id]}.** {escape(block.caption)}{evidence}"


def _columns(block: kinds.Columns, plan: Outline) -> str:
    """Return two blocks one below the other, each under its name."""
    sides = zip(block.names, (block.left, block.right), strict=True)
    return "\n\n".join(
        f"**{escape(name)}**\n\n{'Not in this audit.' if side is None else _block(side, plan)}" for name, side in sides
    )


def _verdict(block: kinds.Verdict, _: Outline) -> str:
    lines = [f"**{_badge(block.badge.text, block.badge.tone)}.** {escape(block.text)}", escape(block.note)]
    return "\n\n".join(filter(None, lines))


def _card(card: kinds.Card) -> str:
    """Return a card: its question and answer, and sentences."""
    head = f"**{escape(card.title)}** {escape(card.headline)} {escape(card.aside)}".strip()
    return "\n\n".join(filter(None, [head, " ".join(map(escape, card.texts))]))


def _steps(block: kinds.Steps, _: Outline) -> str:
    signs = (f"{k}." if block.numbered else "-" for k in range(1, len(block.steps) + 1))
    return "\n".join(f"{sign} {_step(step)}" for sign, step in zip(signs, block.steps, strict=True))


def _step(step: kinds.Step) -> str:
    lead = f"**{escape(step.lead)}**" if step.lead else ""
    aside = f"({escape(step.aside)})" if step.aside else ""
    return " ".join(filter(None, (lead, escape(step.text), aside)))


def _several(blocks: Iterable[kinds.Block], plan: Outline) -> str:
    return "\n\n".join(_block(block, plan) for block in blocks)


_BLOCKS: Mapping[type, Callable[[Any, Outline], str]] = {
    kinds.Paragraph: lambda block, _: escape(block.text),
    kinds.Bullets: lambda block, _: "\n".join(f"- {escape(item)}" for item in block.items),
    kinds.Callout: _callout,
    kinds.Facts: lambda block, _: _facts(block.rows),
    kinds.Table: _table,
    kinds.Figure: lambda block, plan: f"{_caption(block, plan)}\n\n{escape(block.alt)}",
    kinds.Verdict: _verdict,
    kinds.Cards: lambda block, _: "\n\n".join(map(_card, block.cards)),
    kinds.Steps: _steps,
    kinds.Fold: lambda block, plan: f"**{escape(block.title)}**\n\n{_several(block.blocks, plan)}",
    kinds.Split: lambda block, plan: _several((*block.left, *block.right), plan),
    kinds.Columns: _columns,
}
