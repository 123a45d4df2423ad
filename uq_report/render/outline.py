"""The document as it stands on paper: numbered sections, tables and figures, and the targets of links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, repeat

from ..core.support.errors import RenderError
from ..core.support.text import file_stem
from ..document.document import ANSWER, Callout, Document, Facts, Figure, Section, Table, blocks_in, numbers
from ..document.text import name
from .text import anchor

# Targets that base.html and report.html use themselves.
GLOSSARY = "glossary"  # the section whose facts are terms
RESERVED = ("contents", "contents-title", "main", "title")


@dataclass(frozen=True)
class OutlinePart:
    """A section with its number, such as 3.2 or A.1 in an appendix, its heading level and its link target.

    What belongs to the answer has no number.
    """

    section: Section
    number: str
    level: int
    anchor: str
    parts: tuple[OutlinePart, ...]

    @property
    def role(self) -> str:
        """What the part is to a reader: the ``answer``, the ``sheet`` of a feature, or nothing special."""
        return "sheet" if self.section.feature else "" if self.number else ANSWER


@dataclass(frozen=True)
class Outline:
    """What templates need beside the document.

    Attributes
    ----------
    parts : tuple of Part
        The answer, the numbered sections, and the lettered appendices.
    answer, front, appendix : tuple of Part
        The same apart: page 1 (none or one part), the other sections, the appendices.
    labels : mapping
        Block id to the words it is cited by, such as ``Table 3``.
    evidence : mapping
        Result id to the link target of the first table or figure made from it.
    features : mapping
        Name of a feature to the link target of the section about it.
    findings : mapping
        Code of a finding to the link target of the first callout about it.
    terms : mapping
        Term of the glossary, in small letters, to its link target.
    linked : set
        The terms that have their link: the first use in the document.
    """

    parts: tuple[OutlinePart, ...]
    labels: Mapping[str, str]
    evidence: Mapping[str, str]
    features: Mapping[str, str]
    findings: Mapping[str, str]
    terms: Mapping[str, str] = field(default_factory=dict)
    linked: set[str] = field(default_factory=set)

    @property
    def answer(self) -> tuple[OutlinePart, ...]:
        """The part that is page 1, if there is one."""
        return tuple(part for part in self.parts if part.role == ANSWER)

    @property
    def front(self) -> tuple[OutlinePart, ...]:
        """The numbered sections."""
        return tuple(part for part in self.parts if part.role != ANSWER and not part.section.appendix)

    @property
    def appendix(self) -> tuple[OutlinePart, ...]:
        """The lettered appendices."""
        return tuple(part for part in self.parts if part.section.appendix)


UNLINKED = Outline((), {}, {}, {}, {})  # of a text that stands alone


def outline(document: Document) -> Outline:
    """Return the document numbered; refuse ids used twice and figures without alternative text.

    Examples
    --------
    >>> inner = Section(id="age", title="Age")
    >>> plan = outline(Document(title="t", subtitle="s", as_of="2026-11-21", generator="g", evidence_sha256="0",
    ...                         sections=(Section(id="profiles", title="Profiles", sections=(inner,)),)))
    >>> [(part.number, part.level, part.anchor) for part in plan.parts[0].parts]
    [('1.1', 3, 'age')]
    """
    parts = _parts(document.sections, "", 2, numbers(document.sections))
    placed = [block for block in blocks_in(document.sections) if isinstance(block, Table | Figure)]
    callouts = [block for block in blocks_in(document.sections) if isinstance(block, Callout) and block.id]
    _check(parts, placed, [callout.id for callout in callouts])
    labels: dict[str, str] = {}
    evidence: dict[str, str] = {}
    placed_of: Counter[str] = Counter()
    behind = blocks_in(section for section in document.sections if section.appendix)
    full = {block.evidence: anchor(block.id) for block in behind if isinstance(block, Table)}
    for block in placed:
        placed_of[block.type] += 1
        labels[block.id] = f"{block.type.capitalize()} {placed_of[block.type]}"
        evidence.setdefault(block.evidence, full.get(block.evidence, anchor(block.id)))
    features = {name(part.section.feature): part.anchor for part in _walk(parts) if part.section.feature}
    findings: dict[str, str] = {}
    for callout in callouts:
        findings.setdefault(callout.code, anchor(callout.id))
    glossary = (block for part in _walk(parts) if part.section.id == GLOSSARY for block in part.section.blocks)
    terms = [label for block in glossary if isinstance(block, Facts) for label, _ in block.rows]
    targets = {term.lower(): anchor(f"term-{file_stem(term)}") for term in sorted(terms, key=len, reverse=True)}
    return Outline(parts, labels, evidence, features, findings, targets)


def _parts(sections: tuple[Section, ...], prefix: str, level: int, names: Iterable[object]) -> tuple[OutlinePart, ...]:
    """Return sections under their names; headings below level 6 stay at 6."""
    parts = []
    for own, section in zip(names, sections, strict=False):
        number = f"{prefix}{own}" if own else ""
        inner = _parts(section.sections, f"{number}.", level + 1, count(1) if number else repeat(""))
        parts.append(OutlinePart(section, number, min(level, 6), anchor(section.id), inner))
    return tuple(parts)


def _walk(parts: tuple[OutlinePart, ...]) -> Iterator[OutlinePart]:
    """Yield all parts in reading order."""
    for part in parts:
        yield part
        yield from _walk(part.parts)


def _check(parts: tuple[OutlinePart, ...], placed: list[Table | Figure], callouts: list[str]) -> None:
    """Refuse what would give broken links, a figure that cannot be heard, or a table that does not close."""
    ids = [*RESERVED, *(part.section.id for part in _walk(parts)), *(block.id for block in placed), *callouts]
    for target, times in Counter(map(anchor, ids)).items():
        if times > 1:
            raise RenderError(f"document.id must be unique; got {target!r} {times} times. Rename a section or block.")
    for block in placed:
        if isinstance(block, Figure) and not block.alt.strip():
            raise RenderError(f"figure {block.id!r}.alt must say what the figure shows; got no text. Write it.")
        if isinstance(block, Table) and {len(row) for row in block.rows} - {len(block.columns)}:
            widths = sorted({len(row) for row in block.rows})
            raise RenderError(
                f"table {block.id!r}.rows must have {len(block.columns)} cells each; got {widths}. "
                "Give every row a cell for every column."
            )
