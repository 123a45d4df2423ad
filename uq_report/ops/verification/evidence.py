"""The evidence itself: run.json as it must be written, and the tables made from it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...core.support.errors import words_of
from ...core.support.safe_loading import json_of
from ...evidence import records
from ...evidence.run import FORMAT, Run
from .claims import VerificationVerdict

RUN = "run.json"
NOT_WRITTEN = "it was not written again to compare it; --deep does"


@dataclass(frozen=True)
class Recorded:
    """What is recorded in a file, as JSON, and verdicts.

    `content` is None if there is no run in it.
    """

    content: Mapping[str, Any] | None
    verdicts: list[VerificationVerdict]

    @cached_property
    def run(self) -> Run:
        """The run with its tables: what makes them is loaded here, and not to read facts."""
        from ...evidence import codec

        return codec.decode(self.content or {})

    def written_again(self) -> bytes:
        """Return the bytes that uq_report writes of the run."""
        from ...evidence import codec

        return codec.dumps(self.run)


def judge_run(data: bytes, file: str, *, known: str = "") -> Recorded:
    """Read the run in `data`, and judge whether its bytes and fields are as they must be.

    With a reason why its bytes are `known` to be those written, they are not written again, and no table is made.

    Raises
    ------
    InputError
        The run has a format that this version cannot read; that is no fault of it.
    """
    try:
        content = json_of(data, "it")
    except ValueError as error:
        return Recorded(None, [VerificationVerdict("canonical", "FAILED", f"it is no JSON ({error})")])
    if isinstance(content, dict) and isinstance(content.get("format"), int) and content["format"] != FORMAT:
        records.current(content, file)
    try:
        recorded = Recorded(records.readable(content, file), [])
        again = data if known else recorded.written_again()
    except Exception as error:  # noqa: BLE001 - of a changed file anything can be of a type that nobody expects
        return Recorded(None, [VerificationVerdict("canonical", "FAILED", words_of(error))])
    schema = VerificationVerdict("schema", "ok", f"it follows the published schema of format {FORMAT}")
    recorded.verdicts.extend([*_judge_bytes(data, again, known), schema])
    return recorded


def _judge_bytes(data: bytes, again: bytes, known: str) -> list[VerificationVerdict]:
    """Compare the bytes of a run with those `again` written, unless they are known."""
    if known:
        return [VerificationVerdict("hash", "ok", known), VerificationVerdict("canonical", "not judged", NOT_WRITTEN)]
    if again == data:
        return [VerificationVerdict("canonical", "ok", f"its {len(data)} bytes are those uq_report writes")]
    return [
        VerificationVerdict(
            "canonical", "FAILED", f"it is not written as uq_report writes it; {first_change(data, again)}"
        )
    ]


def judge_files(
    files: Mapping[str, bytes], expected: Mapping[str, bytes], name: str, excuse: str = ""
) -> VerificationVerdict:
    """Say whether files are exactly those made again from run.json: none changed, missing or added.

    With an `excuse`, what differs here from where they were made, other files disprove nothing.
    """
    faults = [f"{n} is missing" for n in expected if n not in files]
    faults += [f"{n} was not made from run.json" for n in files if n not in expected]
    changed = [n for n in expected if n in files and files[n] != expected[n]]
    faults += [f"{n}: {first_change(files[n], expected[n])}" for n in changed]
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    listed = "; ".join(faults[:3]) + more
    if not faults:
        return VerificationVerdict(name, "ok", f"{len(expected)} files equal those made again from run.json")
    if excuse:
        return VerificationVerdict(name, "not judged", f"{excuse}, which may make other files: {listed}")
    return VerificationVerdict(name, "FAILED", listed)


def first_change(data: bytes, expected: bytes) -> str:
    """Say where two byte strings part.

    Examples
    --------
    >>> first_change(b"abc", b"abd"), first_change(b"ab", b"abc")
    ('first change at byte 2', 'it has 2 bytes instead of 3')
    """
    place = next((k for k, (byte, other) in enumerate(zip(data, expected, strict=False)) if byte != other), None)
    return f"it has {len(data)} bytes instead of {len(expected)}" if place is None else f"first change at byte {place}"


def sha256(data: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(data).hexdigest()
