"""Mutations of a run.json: of its structure, its values and its bytes; the same ones for the same seed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

Content = dict[str, Any]
_DEEP = 500


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 3.5, 10**9, 10**30, 1e308, -1e-300, float("nan"), float("inf"), "", "x",
    "\u202e<b>", "y" * 5000, "\ud800", "2026-13-45", "1970-01-01", [], {}, [None], [[1]], ["a", 1], {"a": 1},
    {"": None}, _nested(60),
)  # fmt: skip


def mutations(content: Content, seed: int, number: int) -> Iterator[tuple[str, bytes]]:
    """Yield the name and bytes of mutated copies; each has one to three changes."""
    stream = random.Random(seed)
    for _ in range(number):
        if stream.random() < 0.15:
            name = stream.choice(tuple(_OF_BYTES))
            yield name, _OF_BYTES[name](_dumped(content), stream)
            continue
        changed, names = copy.deepcopy(content), []
        for _ in range(stream.choice((1, 1, 1, 2, 3))):
            name = stream.choice(tuple(_OF_NODES))
            place = _node(changed, stream)
            if place is not None:
                _OF_NODES[name](*place, changed, stream)
                names.append(f"{name} {place[1]!r}")
        yield ", ".join(names), _dumped(changed)


def _dumped(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _node(content: Any, stream: random.Random) -> tuple[Any, Any] | None:
    """Return a container and a key in it: a walk from the root that ends anywhere, so that small parts count too."""
    parent, key = None, None
    while isinstance(content, dict | list) and content:
        if parent is not None and stream.random() < 0.25:
            break
        parent, key = content, stream.choice(sorted(content) if isinstance(content, dict) else range(len(content)))
        content = parent[key]
    return None if parent is None else (parent, key)


def _delete(parent: Any, key: Any, _: Any, __: random.Random) -> None:
    del parent[key]


def _replace(parent: Any, key: Any, _: Any, stream: random.Random) -> None:
    parent[key] = copy.deepcopy(stream.choice(VALUES))


def _retype(parent: Any, key: Any, _: Any, stream: random.Random) -> None:
    parent[key] = stream.choice((str, lambda value: [value], lambda value: {"value": value}, bool))(parent[key])


def _graft(parent: Any, key: Any, content: Any, stream: random.Random) -> None:
    place = _node(content, stream)
    if place is not None:
        parent[key] = copy.deepcopy(place[0][place[1]])


def _add(parent: Any, key: Any, _: Any, stream: random.Random) -> None:
    """Add a key nobody knows, or an item twice."""
    if isinstance(parent, dict):
        parent[stream.choice(("unknown", "__class__", "name", "\ud800", ""))] = stream.choice(VALUES)
    else:
        parent.insert(key, copy.deepcopy(parent[key]))


def _rename(parent: Any, key: Any, _: Any, __: random.Random) -> None:
    if isinstance(parent, dict):
        parent[f"{key}_"] = parent.pop(key)
    else:
        parent.reverse()


def _scale(parent: Any, key: Any, _: Any, stream: random.Random) -> None:
    """Change a number or a text a little: it follows the schema still."""
    value = parent[key]
    if isinstance(value, bool) or value is None:
        parent[key] = not value
    elif isinstance(value, int | float):
        parent[key] = stream.choice((-value, value + 1, value * 10**6))
    elif isinstance(value, str):
        parent[key] = stream.choice((value[:-1], value + "'", value.upper()))


def _doubled(data: bytes, _: random.Random) -> bytes:
    """Write a key twice."""
    return data.replace(b'"subject":', b'"subject":{},"subject":', 1)


def _recoded(data: bytes, stream: random.Random) -> bytes:
    return data.decode().encode(stream.choice(("utf-16", "utf-32", "utf-8-sig"))) + stream.choice((b"", b"\xff"))


def _flipped(data: bytes, stream: random.Random) -> bytes:
    place = stream.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << stream.randrange(8))]) + data[place + 1 :]


def _deep(data: bytes, _: random.Random) -> bytes:
    return data.replace(b'"settings":{', b'"settings":{"deep":' + b"[" * _DEEP + b"]" * _DEEP + b",", 1)


_OF_NODES: dict[str, Callable[[Any, Any, Any, random.Random], None]] = {
    "delete": _delete, "replace": _replace, "retype": _retype, "graft": _graft, "add": _add, "rename": _rename,
    "scale": _scale,
}  # fmt: skip
_OF_BYTES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "truncate": lambda data, stream: data[: stream.randrange(len(data))],
    "double a key": _doubled,
    "recode": _recoded,
    "flip a bit": _flipped,
    "nest": _deep,
    "a huge number": lambda data, _: data.replace(b'"rows":', b'"rows":1e999,"rows":', 1),
    "many digits": lambda data, _: data.replace(b'"n":', b'"n":' + b"9" * 5000 + b',"m":', 1),
}
