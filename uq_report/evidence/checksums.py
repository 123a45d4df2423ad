"""Which files a run has, with their hashes: SHA256SUMS, in the form that ``sha256sum --check`` reads."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from ..core.support.safe_loading import bytes_of

RUN, CLOCK, EVIDENCE, SUMS = "run.json", "clock.json", "evidence", "SHA256SUMS"
_LINE = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>.+)")


def hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of files by name."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def dumps(listed: Mapping[str, str]) -> bytes:
    """Return a list of hashes by file name.

    Examples
    --------
    >>> dumps(hashes({"a": b""}))[:8], dumps(hashes({"a": b""})).decode().split()[1]
    (b'e3b0c442', 'a')
    """
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(listed.items())).encode()


def loads(folder: Path) -> dict[str, str]:
    """Return the hashes a folder's SHA256SUMS lists; nothing if there is none, or it is no such file."""
    try:
        lines = [_LINE.fullmatch(line) for line in bytes_of(folder / SUMS).decode().splitlines()]
    except (OSError, ValueError):
        return {}
    sums = {match["name"]: match["digest"] for match in lines if match}
    inside = all(not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts for name in sums)
    return sums if inside and len(sums) == len(lines) else {}


def match(folder: Path, sums: Mapping[str, str], names: Iterable[str]) -> bool:
    """Say whether each of these files is in a folder with the hash that `sums` lists for it."""
    for name in names:
        try:
            data = (folder / name).read_bytes()
        except (OSError, ValueError):  # a name may hold what no file system takes
            return False
        if hashlib.sha256(data).hexdigest() != sums.get(name):
            return False
    return True
