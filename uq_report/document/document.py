"""The report as data: sections of typed blocks that hold text, numbers and image bytes only.

Renderers see nothing else, and block fields are public API for templates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import count
from string import ascii_uppercase
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias, runtime_checkable

from ..core.support.errors import RenderError
from ..core.support.text import file_stem
from ..evidence.frozen import Frozen

ANSWER: Final = "answer"
OPENING: Final = (ANSWER, "comparison")  # sections of which the one that stands first is page 1 and has no number
Tone = Literal["good", "warning", "bad", "neutral", "unknown"]


@dataclass(frozen=True)
class Badge:
    """A word with a tone; renderers add a shape, so that colour is never the only sign."""

    text: str
    tone: Tone = "neutral"


@dataclass(frozen=True)
class Tint:
    """A count of a matrix on a ground that is stronger the larger its `share` of the row; `right` on the diagonal."""

    value: int
    share: float
    right: bool

    @property
    def name(self) -> str:
        """The name of the ground, of one of four strengths."""
        return f"{'right' if self.right else 'wrong'}-{min(4, 1 + int(4 * self.share))}" if self.value else ""


Cell: TypeAlias = str | int | float | Badge | Tint | None


@dataclass(frozen=True)
class Column:
    """A table column; `kind` chooses the number format and the alignment."""

    label: str
    kind: Literal["text", "number", "integer", "percent", "pvalue"] = "text"
    unit: str = ""


class BlockType(Frozen):
    """A block that a renderer shows by its `type`, the name of its class in small letters."""

    type: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Name the type."""
        super().__init_subclass__()
        cls.type = cls.__name__.lower()


class Paragraph(BlockType):
    """Running text, no markup."""

    text: str


class Bullets(BlockType):
    """A list of sentences."""

    items: tuple[str, ...]


class Callout(BlockType):
    """A finding or warning the reader must not miss.

    Mentions of its `code` lead to the first callout that has it, by its `id`, which is then unique in the document.
    """

    tone: Tone
    title: str
    text: str
    evidence: tuple[str, ...] = ()
    code: str = ""
    id: str = ""


class Facts(BlockType):
    """Label and value pairs."""

    rows: tuple[tuple[str, Cell], ...]


class Table(BlockType):
    """A table; `evidence` is the id of the result its numbers come from.

    `rest` holds the rows beyond the printed ones: `total_rows` is then larger than ``len(rows)``, and the
    full table is the attachment of that name.
    """

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    evidence: str = ""
    note: str = ""
    total_rows: int = 0
    rest: tuple[tuple[Cell, ...], ...] = ()

    @property
    def attachment(self) -> str:
        """The name of the attached CSV with every row, empty where all rows are printed."""
        return f"table-{file_stem(self.id)}.csv" if self.rest else ""


class Figure(BlockType):
    """A figure as SVG bytes; `alt` states what it shows, findings included, and `narrow` is for small screens."""

    id: str
    caption: str
    alt: str
    svg: bytes
    evidence: str = ""
    narrow: bytes = b""


class Verdict(BlockType):
    """The recommendation, its reasons, and who decides."""

    badge: Badge
    text: str
    note: str = ""


class Card(Frozen):
    """A title, a number or word with what is beside it, and sentences."""

    title: str
    headline: str
    aside: str = ""
    texts: tuple[str, ...] = ()


class Cards(BlockType):
    """Up to four cards side by side."""

    cards: tuple[Card, ...]


class Step(Frozen):
    """An action: in a few words, with its reason, and its owner or finding."""

    lead: str
    text: str = ""
    aside: str = ""
    tone: Tone = "neutral"


class Steps(BlockType):
    """Actions in order; `numbered` where sentences or actions are counted."""

    steps: tuple[Step, ...]
    numbered: bool = True


class Fold(BlockType):
    """Blocks that a screen shows on demand under their title; paper prints them."""

    title: str
    blocks: tuple[Block, ...]


class Split(BlockType):
    """Blocks side by side where there is room: a figure and what it means."""

    left: tuple[Block, ...]
    right: tuple[Block, ...]


class Columns(BlockType):
    """A block of each of two models, side by side under their names; None where one has no such block."""

    names: tuple[str, str]
    left: Block | None
    right: Block | None


Block: TypeAlias = (
    Paragraph | Bullets | Callout | Facts | Table | Figure | Verdict | Cards | Steps | Fold | Split | Columns
)


def inside(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks in reading order, those that others hold instead of their holders.

    Examples
    --------
    >>> [block.text for block in inside([Fold(title="Why", blocks=(Paragraph(text="Because."),))])]
    ['Because.']
    """
    for block in blocks:
        match block:
            case Columns():
                yield from inside(side for side in (block.left, block.right) if side is not None)
            case Split():
                yield from inside((*block.left, *block.right))
            case Fold():
                yield from inside(block.blocks)
            case _:
                yield block


class Section(Frozen):
    """A heading with blocks, then sub-sections; `id` is unique in the document and the anchor of links.

    An `appendix` is lettered, not numbered, and stands behind the sections. Mentions of a `feature` lead to the section
    that is about it; `aside` stands small beside the title. `evidence` names the results behind its sentences.
    """

    id: str
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    appendix: bool = False
    feature: str = ""
    aside: str = ""
    evidence: tuple[str, ...] = ()


def blocks_in(sections: Iterable[Section]) -> Iterator[Block]:
    """Yield all blocks of sections and of those inside them, in reading order."""
    for section in sections:
        yield from inside(section.blocks)
        yield from blocks_in(section.sections)


@dataclass(frozen=True)
class Attachment:
    """A file that travels inside the report where the format can hold one (PDF)."""

    name: str
    content: bytes
    media_type: str
    description: str


@dataclass(frozen=True)
class CheckEntry:
    """How one check ended, for machines (JUnit): its state, reason, and each finding as (code, severity, text)."""

    name: str
    title: str
    state: str
    reason: str
    findings: tuple[tuple[str, str, str], ...] = ()


class Document(Frozen):
    """A whole report.

    `kind` chooses the template of that name, `layout` is that of its printed pages; `banner` is the
    classification and draft mark on every page, empty for none; `recommendation` is that of the validation.
    `evidence_sha256` is that of run.json, which is among the `attachments`. `methods` has the addresses of the
    documentation on the methods of results.
    """

    title: str
    subtitle: str
    as_of: str
    generator: str
    evidence_sha256: str
    facts: tuple[tuple[str, Cell], ...] = ()
    sections: tuple[Section, ...] = field(default=())
    language: str = "en"
    layout: Literal["portrait", "landscape"] = "portrait"
    kind: str = "audit"
    banner: str = ""
    recommendation: Badge = Badge("not assessed", "unknown")
    attachments: tuple[Attachment, ...] = ()
    checks: tuple[CheckEntry, ...] = ()
    methods: Mapping[str, str] = field(default_factory=dict)


def numbers(sections: Sequence[Section]) -> list[str]:
    """Return a number for each section of the first level, a letter for each appendix, and nothing for the answer.

    Examples
    --------
    >>> numbers([Section(id=key, title=key, appendix=key == "rules") for key in ("answer", "findings", "rules")])
    ['', '1', 'A']
    """
    figures, letters = count(1), iter(ascii_uppercase)
    opens = bool(sections) and sections[0].id in OPENING
    appendices = sum(section.appendix for section in sections)
    if appendices > len(ascii_uppercase):
        raise RenderError(
            f"document.sections must hold at most 26 appendices; got {appendices}. Make some sub-sections."
        )
    named = [next(letters) if section.appendix else str(next(figures)) for section in sections[opens:]]
    return [*[""] * opens, *named]


# Fields that hold no words for a reader, or words that stand elsewhere too.
_WORDLESS = frozenset((
    "id", "appendix", "feature", "evidence", "code", "tone", "svg", "kind", "unit", "total_rows", "rest",
    "numbered", "names",
))  # fmt: skip


def texts(part: Any) -> Iterator[str]:
    """Yield every text of a section, a block or a cell, or of several of them; numbers and empty texts have none.

    Examples
    --------
    >>> list(texts([Section(id="s", title="Title", blocks=(Paragraph(text="Words."),))]))
    ['Title', 'Words.']
    """
    if isinstance(part, str):
        yield from [part] if part else []
    elif is_dataclass(part):
        for each in fields(part):
            if each.name not in _WORDLESS:
                yield from texts(getattr(part, each.name))
    elif isinstance(part, Iterable):
        for item in part:
            yield from texts(item)


@runtime_checkable
class DrawsFigures(Protocol):
    """A renderer that says whether its files show figures: for one that shows none, none is drawn."""

    draws: ClassVar[bool]


@runtime_checkable
class Prepares(Protocol):
    """A renderer that can say before an audit whether what it needs is there."""

    def ready(self, kind: str) -> None:
        """Refuse what would make every document of a kind fail: a template, a library; raises `RenderError`."""


@runtime_checkable
class Renderer(Protocol):
    """Turns a document into the bytes of one file.

    Class variables
    ---------------
    name : the entry-point name, and what users type: ``run.render("html")``
    extension : of the file written, with its dot
    """

    name: ClassVar[str]
    extension: ClassVar[str]
    api_version: ClassVar[int]

    def render(self, document: Document) -> bytes:
        """Return the whole file; the same document gives the same bytes, without a clock or a network.

        Raises `RenderError` where that is not possible.
        """
