"""A whole audit of a small subject, as a user of any library runs it: nothing breaks, and the report prints no NaN."""

import re
from typing import Any

import uq_report as uq
from uq_report.evidence.run import Run

_FOREIGN = re.compile(r"^(?:it failed: )?\w*(?:Error|Warning|Exception): ")
_NO_NUMBER = re.compile(r"(?<![\w-])(?:nan|inf)(?![\w-])", re.IGNORECASE)


def whole_audit(subject: Any, **settings: Any) -> Run:
    """Return the audit of every explainer and check; fail where one of them broke or the report prints no number."""
    audit = uq.audit(subject, as_of="2026-01-01", progress=False, **settings)
    assert not [(entry.name, entry.reason) for entry in audit.run.not_run if _FOREIGN.match(entry.reason)]
    text = bytes(audit.render("markdown")).decode()
    assert not [line for line in text.splitlines() if _NO_NUMBER.search(line)]
    return audit.run
