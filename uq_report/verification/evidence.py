"""The evidence itself: run.json as it must be written, and the tables made from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from .. import store
from ..core.errors import InputError
from ..core.run import FORMAT, Run
from .claims import Claim, sayer

RUN = "run.json"


def judge_run(data: bytes, file: str) -> tuple[Run | None, list[Claim]]:
    """Return the run in `data`, None if there is none, and whether its bytes and fields are as they must be.

    Raises
    ------
    InputError
        The run has another format than this version reads; that is no fault of it.
    """
    say = sayer(file)
    try:
        content = json.loads(data)
    except ValueError as error:
        return None, [say("canonical", "FAILED", f"it is no JSON ({error})")]
    found = content.get("format") if isinstance(content, dict) else None
    if isinstance(found, int) and found != FORMAT:
        store.loads(data, file)
    try:
        run = store.loads(data, file)
        again = store.dumps(run)
    except InputError as error:
        return None, [say("canonical", "FAILED", str(error))]
    if again != data:
        return run, [
            say("canonical", "FAILED", f"it is not written as uq_report writes it; {first_change(data, again)}")
        ]
    return run, [say("canonical", "ok", f"its {len(data)} bytes are those uq_report writes"), _schema(content, file)]


def judge_files(found: Mapping[str, bytes], expected: Mapping[str, bytes], name: str, file: str) -> Iterator[Claim]:
    """Say whether files are exactly those made again from run.json: none changed, missing or added."""
    say = sayer(file)
    faults = [f"{n} is missing" for n in expected if n not in found]
    faults += [f"{n} was not made from run.json" for n in found if n not in expected]
    shared = [n for n in expected if n in found]
    faults += [f"{n}: {first_change(found[n], expected[n])}" for n in shared if found[n] != expected[n]]
    if faults:
        more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
        yield say(name, "FAILED", "; ".join(faults[:3]) + more)
    else:
        yield say(name, "ok", f"{len(expected)} files equal those made again from run.json")


def first_change(found: bytes, expected: bytes) -> str:
    """Say where two byte strings part.

    Examples
    --------
    >>> first_change(b"abc", b"abd"), first_change(b"ab", b"abc")
    ('first change at byte 2', 'it has 2 bytes instead of 3')
    """
    low, high = 0, min(len(found), len(expected))
    if found[:high] == expected[:high]:
        return f"it has {len(found)} bytes instead of {len(expected)}"
    while low < high:  # the longest common start, by halves
        middle = (low + high + 1) // 2
        low, high = (middle, high) if found[:middle] == expected[:middle] else (low, middle - 1)
    return f"first change at byte {low}"


def sha256(data: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(data).hexdigest()


def _schema(content: Any, file: str) -> Claim:
    say = sayer(file)
    try:
        import jsonschema
    except ImportError:
        return say("schema", "not judged", "jsonschema is not installed: pip install 'uq_report[verify]'")
    schema = json.loads(resources.files("uq_report.store").joinpath("run.schema.json").read_bytes())
    fault = next(jsonschema.Draft202012Validator(schema).iter_errors(content), None)
    if fault is None:
        return say("schema", "ok", f"it follows the published schema of format {FORMAT}")
    return say("schema", "FAILED", f"{'.'.join(map(str, fault.absolute_path)) or 'it'}: {fault.message[:200]}")
