"""What is verified: run.json, the tables made from it, a report as a file, and what is claimed of each."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from ...core.support.errors import InputError, words_of
from ...core.support.safe_loading import json_of
from ...evidence import codec
from ...evidence.disk import RUN, file_content
from ...evidence.run import FORMAT, Run

State = Literal["verified", "failed", "not assessed", "error"]
Outcome = Literal["verified", "failed", "not assessed"]


class VerificationVerdict(NamedTuple):
    """What is to be said of one thing, in whatever file."""

    name: str
    state: State
    reason: str

    def of(self, file: str) -> VerificationClaim:
        """Return the claim on a file."""
        return VerificationClaim(file, *self)


def proven(name: str, reason: str) -> VerificationVerdict:
    """Return the verdict on what holds."""
    return VerificationVerdict(name, "verified", reason)


def failed(name: str, reason: str) -> VerificationVerdict:
    """Return the verdict on what does not hold."""
    return VerificationVerdict(name, "failed", reason)


def left_open(name: str, reason: str) -> VerificationVerdict:
    """Return the verdict on what nobody asked to judge, or gave no means to."""
    return VerificationVerdict(name, "not assessed", reason)


def fault(name: str, reason: str) -> VerificationVerdict:
    """Return the verdict on what was to be judged and could not be."""
    return VerificationVerdict(name, "error", reason)


@dataclass(frozen=True)
class VerificationClaim:
    """One thing looked at in one file, always with the reason.

    It is verified, failed, not assessed because nobody asked for it or gave what it needs, or an error: it was to be
    assessed and could not be, which says nothing of the report.

    Examples
    --------
    >>> print(VerificationClaim("report.html", "bytes", "verified", "the report renders to the same 812 bytes"))
    verified      report.html: bytes: the report renders to the same 812 bytes
    """

    file: str
    name: str
    state: State
    reason: str

    def __str__(self) -> str:
        """Return the claim as one line."""
        return f"{self.state:<12}  {self.file}: {self.name}: {self.reason}"


@dataclass(frozen=True)
class Verification:
    """What is proven of a report, PDF, HTML or run folder.

    Parameters
    ----------
    path : str
        What was verified.
    run_sha256 : str
        Of the run.json everything was compared with.
    claims : tuple of Claim
    """

    path: str
    run_sha256: str
    claims: tuple[VerificationClaim, ...]

    @property
    def failed(self) -> tuple[VerificationClaim, ...]:
        """The claims that are disproven."""
        return tuple(claim for claim in self.claims if claim.state == "failed")

    @property
    def outcome(self) -> Outcome:
        """Verified: nothing failed, nothing that was to be judged is open, and the evidence itself is proven."""
        if not self.failed and any(claim.state == "error" for claim in self.claims):
            return "not assessed"
        proven = any(claim.name == "evidence" and claim.state == "verified" for claim in self.claims)
        return "verified" if proven and not self.failed else "failed"

    @property
    def ok(self) -> bool:
        """Whether the outcome is `verified`; claims that nobody asked for may still be open."""
        return self.outcome == "verified"

    @property
    def summary(self) -> str:
        """The outcome in a line."""
        counts = {state: sum(claim.state == state for claim in self.claims) for state in get_args(State)}
        if not counts["error"]:
            del counts["error"]
        listed = ", ".join(f"{number} {state}" for state, number in counts.items())
        return f"{self.outcome.capitalize()}: {listed}; run.json {self.run_sha256}"

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values, for programs."""
        return {
            "ok": self.ok,
            "outcome": self.outcome,
            **asdict(self),
            "claims": [asdict(claim) for claim in self.claims],
        }


NOT_WRITTEN = "it was not written again to compare it; --deep does"


def judge_run(data: bytes, file: str, *, known: str = "") -> tuple[Run | None, list[VerificationVerdict]]:
    """Read the run in `data`, and judge whether its bytes and fields are as they must be; None if there is no run.

    With a reason why its bytes are `known` to be those written, they are not written again.

    Raises
    ------
    InputError
        The run has a format that this version cannot read; that is no fault of it.
    """
    try:
        content = json_of(data, "it")
    except ValueError as error:
        return None, [failed("canonical", f"it is no JSON ({error})")]
    if isinstance(content, dict) and isinstance(content.get("format"), int) and content["format"] != FORMAT:
        codec.current(content, file)
    try:
        run = codec.read(content, file)
        again = data if known else codec.dumps(run)
    except Exception as error:  # noqa: BLE001 - of a changed file anything can be of a type that nobody expects
        return None, [failed("canonical", words_of(error))]
    return run, [
        *_judge_bytes(data, again, known),
        proven("schema", f"it follows the published schema of format {FORMAT}"),
    ]


def _judge_bytes(data: bytes, again: bytes, known: str) -> list[VerificationVerdict]:
    """Compare the bytes of a run with those `again` written, unless they are known."""
    if known:
        return [proven("hash", known), left_open("canonical", NOT_WRITTEN)]
    if again == data:
        return [proven("canonical", f"its {len(data)} bytes are those uq_report writes")]
    return [failed("canonical", f"it is not written as uq_report writes it; {first_change(data, again)}")]


def judge_files(files: Mapping[str, bytes], expected: Mapping[str, bytes], name: str) -> VerificationVerdict:
    """Say whether files are exactly those made again from run.json: none changed, missing or added.

    Only uq_report itself writes them, so that other versions of libraries excuse nothing.
    """
    faults = [f"{n} is missing" for n in expected if n not in files]
    faults += [f"{n} was not made from run.json" for n in files if n not in expected]
    changed = [n for n in expected if n in files and files[n] != expected[n]]
    faults += [f"{n}: {first_change(files[n], expected[n])}" for n in changed]
    if not faults:
        return proven(name, f"{len(expected)} files equal those made again from run.json")
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    return failed(name, "; ".join(faults[:3]) + more)


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


_ID = re.compile(r'\sid="([^"]+)"')
_SILENT = re.compile(r"<!--.*?(?:-->|\Z)|<(style|script|title)\b.*?(?:</\1\s*>|\Z)|<[^>]*>", re.DOTALL | re.IGNORECASE)
Format = Literal["pdf", "html", "other"]


@dataclass(frozen=True)
class Report:
    """A report as it stands in its file; parts are read when they are needed."""

    path: Path
    format: Format
    data: bytes

    @property
    def name(self) -> str:
        """The file name, as claims show it."""
        return self.path.name

    @cached_property
    def sha256(self) -> str:
        """Of its bytes."""
        return sha256(self.data)

    @cached_property
    def sections(self) -> set[str]:
        """The bookmarks of a PDF, the ids of an HTML page, nothing in other formats: they show the template."""
        if self.format == "html":
            return set(_ID.findall(self.data.decode("utf-8", "replace")))
        return _bookmarks(self.data) if self.format == "pdf" else set()

    @cached_property
    def attachments(self) -> Mapping[str, bytes]:
        """The files inside a PDF, by name, as its last revision gives them to a reader.

        Raises
        ------
        InputError
            The PDF cannot be read, or two files inside have one name.
        """
        return _attachments(self.data) if self.format == "pdf" else {}

    @property
    def has_signature(self) -> bool:
        """Whether there is anything like a signature in the file."""
        return self.format == "pdf" and b"/ByteRange" in self.data


def open_report(path: Path) -> Report:
    """Read a report; its first bytes say what it is, or else its name.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    data = file_content(path, "verify.path must be a report or a run folder")
    ending = path.suffix.lower()
    page = data[:100].lstrip().lower().startswith(b"<!doctype html")
    pdf = data.startswith(b"%PDF-") or ending == ".pdf"
    return Report(path, "pdf" if pdf else "html" if page or ending in {".html", ".htm"} else "other", data)


def inside(report: Report, evidence: bytes) -> VerificationVerdict:
    """Judge whether the run.json inside a PDF is the evidence."""
    try:
        own = report.attachments.get(RUN)
    except InputError as error:
        return failed("evidence", str(error))
    if own == evidence:
        return proven("evidence", f"the run.json inside has SHA-256 {sha256(evidence)}")
    fault = "there is no run.json inside" if own is None else first_change(own, evidence)
    return failed("evidence", f"the run.json inside is not that of SHA-256 {sha256(evidence)}: {fault}")


def printed(report: Report, digest: str) -> VerificationVerdict:
    """Judge whether a report prints the SHA-256 of the evidence; comments, styles and scripts are no print."""
    if digest in _SILENT.sub("", report.data.decode("utf-8", "replace")):
        return proven("evidence", f"it is made from run.json of SHA-256 {digest}")
    return failed("evidence", f"it does not print the SHA-256 of run.json, {digest}")


def _attachments(data: bytes) -> dict[str, bytes]:
    from pypdf import PdfReader

    try:
        files = PdfReader(io.BytesIO(data)).attachments
        contents = {name: list(map(bytes, each)) for name, each in files.items()}
    except Exception as error:  # a damaged file can fail in any way in the reader
        raise InputError(f"report must be a PDF that can be read; got one that fails ({words_of(error)}).") from error
    for name, each in contents.items():
        if len(each) != 1:
            raise InputError(f"attachments must have names of their own; got {len(each)} called {name!r}.")
    return {name: each[0] for name, each in contents.items()}


def _bookmarks(data: bytes) -> set[str]:
    """Return the titles of the bookmarks of a PDF; none if they cannot be read."""
    from pypdf import PdfReader

    try:
        return {" ".join(str(mark.title).split()) for mark in _flat(PdfReader(io.BytesIO(data)).outline)}
    except Exception:  # noqa: BLE001 - it only shows the template; a damaged file can fail in any way
        return set()


def _flat(marks: Iterable[Any]) -> Iterator[Any]:
    for mark in marks:
        if isinstance(mark, list):
            yield from _flat(mark)
        else:
            yield mark
