"""Work in blocks, so that what is drawn at a time stays small."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.support.limits import check_limits


def blocks(size: int, n: int, cells: int) -> Iterator[int]:
    """Yield how many of `size` draws of n rows to make at a time, of about `cells` numbers; limits are looked at.

    Examples
    --------
    >>> list(blocks(5, 10, 20))
    [2, 2, 1]
    """
    step = max(1, cells // n)
    for start in range(0, size, step):
        check_limits()
        yield min(step, size - start)
