"""A report held against the one that its evidence makes again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...core.errors import InputError
from .claims import Verdict
from .evidence import RUN, judge_files, sha256
from .rendering import Maker, Rendered, judge_rendering, of_ours
from .reports import Report
from .signatures import starts_with
from .tied import inside, printed

__all__ = ["Maker", "compare"]


def compare(maker: Maker, report: Report, evidence: bytes, signatures: Sequence[Verdict]) -> Iterator[Verdict]:
    """Compare one report with the one its evidence renders to."""
    rendered = maker.like(report)
    tied = inside(report, evidence) if report.format == "pdf" and rendered is None else None
    yield tied or printed(report, rendered, sha256(evidence))
    if report.format == "pdf" and rendered is not None:
        yield _judge_attachments(report, rendered, evidence, of_ours(maker.differing))
    states = {verdict.state for verdict in signatures if verdict.name.startswith(("signature", "revisions"))}
    signed = False if "FAILED" in states else True if states == {"ok"} else None
    if signed and rendered is not None:
        signed = starts_with(report.data, rendered.data)
    yield from judge_rendering(report, rendered, maker.differing, signed=signed, fault=maker.fault)


def _judge_attachments(report: Report, rendered: Rendered, evidence: bytes, excuse: str) -> Verdict:
    """Compare what travels inside a PDF with the evidence, and what is made from it again if that has no excuse."""
    expected = {attachment.name: attachment.content for attachment in rendered.document.attachments} | {RUN: evidence}
    try:
        excused = excuse if report.attachments.get(RUN) == evidence else ""
        return judge_files(report.attachments, expected, "attachments", excused)
    except InputError as error:
        return Verdict("attachments", "FAILED", str(error))
