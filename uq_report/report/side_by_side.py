"""Two audits of the same rows in one document: the same sections, block beside block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest

from ..document.document import Block, Callout, Columns, Figure, Fold, Section, Split, Table

PREFIX = "challenger-"


def merged(
    left: Sequence[Section | None], right: Sequence[Section | None], names: tuple[str, str]
) -> tuple[Section, ...]:
    """Return the sections of both audits, those of one id as one section with two columns.

    What both say alike stands once, over the whole width; what only one says stands in its column.
    """
    others = {section.id: section for section in right if section is not None}
    here = [section for section in left if section is not None]
    both = [_section(section, others.pop(section.id, None), names) for section in here]
    return (*both, *(_section(None, section, names) for section in others.values()))


def _section(left: Section | None, right: Section | None, names: tuple[str, str]) -> Section:
    """Return one section of both; what stands beside its title stays where both say it alike."""
    either = left or right
    if either is None:
        raise ValueError("a merged section comes from one side at least")
    asides = {side.aside for side in (left, right) if side is not None}
    return replace(
        either,
        aside=asides.pop() if len(asides) == 1 else "",
        blocks=tuple(_rows(left.blocks if left else (), right.blocks if right else (), names)),
        sections=merged(left.sections if left else (), right.sections if right else (), names),
    )


def _rows(left: Sequence[Block], right: Sequence[Block], names: tuple[str, str]) -> Iterator[Block]:
    """Yield what both say once, folds of one title as one fold, and everything else side by side."""
    for a, b in _paired(left, right):
        if a is not None and a == b:
            yield a
        elif isinstance(a, Fold) and isinstance(b, Fold) and a.title == b.title:
            yield Fold(title=a.title, blocks=tuple(_rows(a.blocks, b.blocks, names)))
        else:
            yield Columns(names=names, left=a, right=None if b is None else _renamed(b))


def _paired(left: Sequence[Block], right: Sequence[Block]) -> Iterator[tuple[Block | None, Block | None]]:
    """Yield what both say alike together, and what stands between in pairs of the same type and id."""
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        yield from zip(left[a:b], right[c:d], strict=True) if tag == "equal" else _matched(left[a:b], right[c:d])


def _matched(left: Sequence[Block], right: Sequence[Block]) -> Iterator[tuple[Block | None, Block | None]]:
    """Yield blocks of the same type and id together, in reading order, and others beside what replaces them."""
    matcher = SequenceMatcher(None, [*map(_key, left)], [*map(_key, right)], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag in ("equal", "replace"):
            yield from zip_longest(left[a:b], right[c:d])
        else:
            yield from ((block, None) for block in left[a:b])
            yield from ((None, block) for block in right[c:d])


def _key(block: Block) -> tuple[str, str]:
    """Return what blocks of both audits are told to be the same by."""
    match block:
        case Table() | Figure() | Callout():
            return block.type, block.id
        case Fold():
            return block.type, block.title
        case _:
            return block.type, ""


def _renamed(block: Block) -> Block:
    """Return a block under an id of its own, and those inside it too."""
    match block:
        case Table() | Figure():
            return replace(block, id=PREFIX + block.id)
        case Callout(id=id) if id:
            return replace(block, id=PREFIX + id)
        case Fold():
            return replace(block, blocks=tuple(map(_renamed, block.blocks)))
        case Split():
            return replace(block, left=tuple(map(_renamed, block.left)), right=tuple(map(_renamed, block.right)))
        case _:
            return block
