"""Random alterations, by a seed: of bytes, of JSON values, of the files of a folder."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCRAPS = (
    *(b"", b"\x00", b"\xff\xfe", b"{", b"null", b"endobj", b"9" * 400),
    *(b"startxref\n0\n%%EOF\n", b"\n1 0 obj\n<<>>\nendobj\n"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1e308, 10**400, 2**63, "", "x", "\x00", "../..", "2026-13-45"),
    *([], {}, [[]], [None] * 3, {"a": {}}),
)


def of_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return other bytes: flipped, cut, filled in, repeated or moved."""
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice((1, 2, 8, 64, 1000)))
    part = data[start:end]
    made = {
        0: lambda: data[:start] + bytes([data[start] ^ (1 << rng.randrange(8))]) + data[start + 1 :],
        1: lambda: data[:start] + data[end:],
        2: lambda: data[:start] + rng.choice(SCRAPS) + data[start:],
        3: lambda: data[:end] + part + data[end:],
        4: lambda: data[:start] + rng.randbytes(len(part)) + data[end:],
        5: lambda: data[:start],
        6: lambda: data + rng.choice(SCRAPS),
        7: lambda: data[:start] + part[::-1] + data[end:],
    }[rng.randrange(8)]()
    return made if made != data else of_bytes(data, rng)


def places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in JSON values: what holds it, and its key."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield content, key
        yield from places(value)


def of_json(data: bytes, rng: random.Random) -> bytes:
    """Return JSON written as before with a value exchanged, taken out, or added; or other bytes."""
    if rng.random() < 0.2:
        return of_bytes(data, rng)
    content = json.loads(data)
    holder, key = rng.choice(list(places(content)))
    action = rng.randrange(3)
    if action == 0:
        holder[key] = rng.choice(VALUES)
    elif action == 1:
        del holder[key]
    elif isinstance(holder, dict):
        holder[f"{key}_"] = rng.choice(VALUES)
    else:
        holder.insert(key, rng.choice(VALUES))
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    made = text.encode("utf-8", "backslashreplace") + b"\n"
    return made if made != data else of_json(data, rng)


def of_folder(root: Path, rng: random.Random) -> str:
    """Alter one file or folder in a folder; return what was done. Locks say nothing, and are left alone."""
    everything = sorted(place for place in root.rglob("*") if place.name != ".lock")
    place = rng.choice(everything)
    action = rng.choice(("delete", "alter", "alter", "exchange", "add"))
    if action == "add":
        folder = rng.choice([one for one in everything if one.is_dir() and one.parent != root])
        (folder / rng.choice(("a.csv", "report.md", "pruned.txt ", "entry.json.bak"))).write_bytes(rng.randbytes(3))
        return f"add in {folder.name}"
    if action == "delete" or place.is_dir():
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        return f"delete {place.name}"
    data = place.read_bytes()
    other = rng.choice([one for one in everything if one.is_file()]).read_bytes()
    change = of_json if place.suffix == ".json" else of_bytes
    place.write_bytes(other if action == "exchange" and other != data else change(data, rng))
    return f"{action} {place.name}"
