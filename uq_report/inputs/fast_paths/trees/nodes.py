"""Read the node table of a forest in compiled code: which child a row visits, and which rows visit each child.

Imports numba. Import it only where a forest is evaluated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

FEATURE, LOW, HIGH, LEFT, RIGHT, LISTED, BELOW = range(7)
LEAF = -1
TOGETHER = 1 << 19  # steps, about, of compiled code between two looks at the limits
# numba would compile once more for every constant
_TYPES = {"push": "int64(int64[:, ::1], int64, int64, int64, int64, int64, int64)"}


def compiled(function: Any) -> Any:
    """Return a compiled function, kept on disk where numba finds a folder it can write to."""
    types = _TYPES.get(function.__name__)
    try:
        return njit(types, cache=True, nogil=True)(function)
    except RuntimeError:  # no folder for the cache
        return njit(types, nogil=True)(function)


@compiled
def goes_left(nodes, bits, node, code):  # type: ignore[no-untyped-def]  # compiled
    """Say (1 or 0) whether a code goes to the left child: it is in the node's list, or between its bounds."""
    if nodes[node, LISTED] >= 0:
        return np.int64((bits[nodes[node, LISTED] + (code >> 5)] >> np.uint32(code & 31)) & np.uint32(1))
    return np.int64((code >= nodes[node, LOW]) & (code < nodes[node, HIGH]))


@compiled
def push(stack, top, node, begin, end, start, stop):  # type: ignore[no-untyped-def]  # compiled
    """Put an entry on a stack; return how many it holds."""
    stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4] = node, begin, end, start, stop
    return top + 1


@compiled
def parted(nodes, bits, node, codes, rows, spare, first, last):  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917  # compiled
    """Put those of rows[first:last] that go left in front, all in their order; return where the others start."""
    low, listed = nodes[node, LOW], nodes[node, LISTED] >= 0
    width = np.uint32(nodes[node, HIGH] - low)
    begin, size, left = np.uint64(first), np.uint64(last - first), np.uint64(0)
    for place in range(size):  # compiled code looks at the sign of every index that can have one
        row = rows[begin + place]
        code = codes[np.uint32(row)]
        goes = np.uint64(goes_left(nodes, bits, node, code) if listed else np.uint32(code - low) < width)
        rows[begin + left] = row
        spare[place - left] = row
        left += goes
    for place in range(size - left):
        rows[begin + left + place] = spare[place]
    return first + np.int64(left)


def parts(count: int, size: int) -> list[slice]:
    """Return parts of so many trees, or rows, of `size` steps each: compiled code looks at no limit."""
    step = max(1, TOGETHER // size)
    return [slice(start, start + step) for start in range(0, count, step)]
