"""The one form of JSON that is written and hashed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import chain
from typing import Any


@dataclass(frozen=True)
class Block:
    """A part of JSON that is text already."""

    text: bytes


def canonical(content: Any) -> bytes:
    r"""Return JSON values, blocks of text among them, as bytes: equal values give equal bytes.

    Examples
    --------
    >>> canonical({"b": Block(b"[1,null]"), "a": [0.5, "x"]})
    b'{"a":[0.5,"x"],"b":[1,null]}\n'
    """
    blocks: list[bytes] = []
    mark = os.urandom(16).hex()  # stands for each block, and nowhere else

    def marked(value: Any) -> str:
        if not isinstance(value, Block):
            raise TypeError(f"{type(value).__name__} is no JSON value")
        blocks.append(value.text)
        return mark

    text = json.dumps(
        content, sort_keys=True, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=marked
    )
    first, *others = text.encode("utf-8", "backslashreplace").split(f'"{mark}"'.encode())
    return b"".join([first, *chain.from_iterable(zip(blocks, others, strict=True)), b"\n"])
