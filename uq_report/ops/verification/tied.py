"""What ties a report to its evidence: the run.json inside a PDF, or the SHA-256 that is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.errors import InputError
from .claims import Verdict
from .evidence import RUN, first_change, sha256
from .reports import Report

if TYPE_CHECKING:
    from .rendering import Rendered


def inside(report: Report, evidence: bytes) -> Verdict:
    """Say whether the run.json inside a PDF is the evidence."""
    try:
        own = report.attachments.get(RUN)
    except InputError as error:
        return Verdict("evidence", "FAILED", str(error))
    if own == evidence:
        return Verdict("evidence", "ok", f"the run.json inside has SHA-256 {sha256(evidence)}")
    fault = "there is no run.json inside" if own is None else first_change(own, evidence)
    return Verdict("evidence", "FAILED", f"the run.json inside is not that of SHA-256 {sha256(evidence)}: {fault}")


def printed(report: Report, rendered: Rendered | None, digest: str) -> Verdict:
    """Say whether the report prints the SHA-256 of the evidence."""
    try:
        if rendered is not None and report.data.startswith(rendered.data):
            printed = rendered.document.evidence_sha256 == digest
        else:
            printed = report.says(digest)
    except InputError as error:
        return Verdict("evidence", "FAILED", str(error))
    if printed:
        return Verdict("evidence", "ok", f"it is made from run.json of SHA-256 {digest}")
    return Verdict("evidence", "FAILED", f"it does not print the SHA-256 of run.json, {digest}")
