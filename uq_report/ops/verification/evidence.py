"""The evidence itself: run.json as it must be written, and the tables made from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, NamedTuple

from ...evidence import codec
from ...evidence.codec import canonical
from ...evidence.migrations import STEPS
from ...evidence.run import FORMAT, Run
from .claims import Claim, sayer

RUN = "run.json"


class Recorded(NamedTuple):
    """The run in a file, None if there is none, the format it was written in, and what is said of the file."""

    run: Run | None
    format: int
    claims: list[Claim]


def judge_run(data: bytes, file: str) -> Recorded:
    """Read the run in `data`, and judge whether its bytes and fields are as they must be.

    Raises
    ------
    InputError
        The run has a format that this version cannot read; that is no fault of it.
    """
    say = sayer(file)
    try:
        content = json.loads(data)
    except ValueError as error:
        return Recorded(None, FORMAT, [say("canonical", "FAILED", f"it is no JSON ({error})")])
    number = content.get("format") if isinstance(content, dict) else None
    written = number if isinstance(number, int) else FORMAT
    if written not in (FORMAT, *STEPS):
        codec.loads(data, file)
    try:
        run = codec.loads(data, file)
        again = codec.dumps(run) if written == FORMAT else canonical(content)
    except ValueError as error:
        return Recorded(None, written, [say("canonical", "FAILED", str(error))])
    if again != data:
        reason = f"it is not written as uq_report writes it; {first_change(data, again)}"
        return Recorded(run, written, [say("canonical", "FAILED", reason)])
    claim = say("canonical", "ok", f"its {len(data)} bytes are those uq_report writes")
    return Recorded(run, written, [claim, _schema(content, written, file)])


def judge_files(
    files: Mapping[str, bytes], expected: Mapping[str, bytes], name: str, file: str, excuse: str = ""
) -> Iterator[Claim]:
    """Say whether files are exactly those made again from run.json: none changed, missing or added.

    With an `excuse`, what differs here from where they were made, other files disprove nothing.
    """
    say = sayer(file)
    faults = [f"{n} is missing" for n in expected if n not in files]
    faults += [f"{n} was not made from run.json" for n in files if n not in expected]
    shared = [n for n in expected if n in files]
    faults += [f"{n}: {first_change(files[n], expected[n])}" for n in shared if files[n] != expected[n]]
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    listed = "; ".join(faults[:3]) + more
    if faults and excuse:
        yield say(name, "not judged", f"{excuse}, which may make other files: {listed}")
    elif faults:
        yield say(name, "FAILED", listed)
    else:
        yield say(name, "ok", f"{len(expected)} files equal those made again from run.json")


def first_change(data: bytes, expected: bytes) -> str:
    """Say where two byte strings part.

    Examples
    --------
    >>> first_change(b"abc", b"abd"), first_change(b"ab", b"abc")
    ('first change at byte 2', 'it has 2 bytes instead of 3')
    """
    low, high = 0, min(len(data), len(expected))
    if data[:high] == expected[:high]:
        return f"it has {len(data)} bytes instead of {len(expected)}"
    while low < high:  # the longest common start, by halves
        middle = (low + high + 1) // 2
        low, high = (middle, high) if data[:middle] == expected[:middle] else (low, middle - 1)
    return f"first change at byte {low}"


def sha256(data: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(data).hexdigest()


def _schema(content: Any, written: int, file: str) -> Claim:
    say = sayer(file)
    if written != FORMAT:
        reason = f"it was written in format {written}; this version has the schema of format {FORMAT}"
        return say("schema", "not judged", reason)
    try:
        import jsonschema
    except ImportError:
        return say("schema", "not judged", "jsonschema is not installed: pip install 'uq_report[verify]'")
    schema = json.loads(resources.files("uq_report.evidence").joinpath("run.schema.json").read_bytes())
    fault = next(jsonschema.Draft202012Validator(schema).iter_errors(content), None)
    if fault is None:
        return say("schema", "ok", f"it follows the published schema of format {FORMAT}")
    return say("schema", "FAILED", f"{'.'.join(map(str, fault.absolute_path)) or 'it'}: {fault.message[:200]}")
