"""A whole audit of a small subject, as a user of any library runs it: nothing breaks, and the report prints no NaN."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import uq_report as uq
from uq_report.evidence.run import Run

_FOREIGN = re.compile(r"^(?:it failed: )?\w*(?:Error|Warning|Exception): ")
_QUICK: Mapping[str, Mapping[str, Any]] = {
    "dalex": {"n_repeats": 2, "n_background": 5, "grid_points": 3},
    "h_statistic": {"max_rows": 20},
    "pdp": {"grid_resolution": 4},
    "pfi": {"n_repeats": 3},
    "rsens": {"max_rows": 20},
    "shap": {"n_rows": 3, "n_background": 4},
}
_NO_NUMBER = re.compile(r"(?<![\w-])(?:nan|inf)(?![\w-])", re.IGNORECASE)


def whole_audit(subject: Any, explainers: Sequence[str] | None = None) -> Run:
    """Return the audit of all or these explainers; fail where one broke or the report prints no number.

    Repeats and rows are few: how much is drawn has no part in whether a model's answers are understood.
    """
    options = {name: more for name, more in _QUICK.items() if explainers is None or name in explainers}
    audit = uq.audit(subject, explainers=explainers, options=options, as_of="2026-01-01", progress=False)
    assert not [(entry.name, entry.reason) for entry in audit.run.not_run if _FOREIGN.match(entry.reason)]
    text = bytes(audit.render("markdown")).decode()
    assert not [line for line in text.splitlines() if _NO_NUMBER.search(line)]
    return audit.run
