"""How two processes hand each other one JSON head and some files: a line of JSON, then the files end to end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def pack(head: Mapping[str, Any], files: Sequence[bytes] = ()) -> bytes:
    r"""Return a head of JSON values and files as one message.

    Examples
    --------
    >>> unpack(pack({"a": 1}, [b"x\n", b""]))
    ({'a': 1}, [b'x\n', b''])
    """
    line = json.dumps({"head": dict(head), "sizes": [len(file) for file in files]}).encode()
    return b"\n".join([line, b"".join(files)])


def unpack(message: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return head and files of a message.

    Raises
    ------
    ValueError
        If the message is cut off, or none.
    """
    line, _, body = message.partition(b"\n")
    content = json.loads(line)
    files, place = [], 0
    for size in content["sizes"]:
        files.append(body[place : place + size])
        place += size
    if place != len(body):
        raise ValueError(f"the message must hold {place} bytes of files; got {len(body)}")
    return content["head"], files
