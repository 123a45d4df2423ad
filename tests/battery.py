"""One awkward input through an audit and its page: right, or refused by one clear error."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.api.views import AuditRun
from uq_report.core.support.errors import UQReportError
from uq_report.distributions import Categorical, Normal
from uq_report.evidence.codec import dumps

N = 40
FEW = ("ale", "data_quality", "pfi", "pdp")
FAST = {
    "ale": {"n_bins": 5},
    "calibration": {"n_draws": 99},
    "dalex": {"n_repeats": 2, "grid_points": 3, "n_background": 5},
    "pdp": {"grid_resolution": 4},
    "pfi": {"n_repeats": 3},
    "shap": {"n_rows": 3, "n_background": 4},
}
FOREIGN = re.compile(r"\b[A-Z]\w*(Error|Exception|Warning)\b")
QUOTED = re.compile(r"(?<= failed to predict )\d+ rows: \w+: ")  # what the audited model itself raised, told as its own
NO_NUMBER = re.compile(r"(?<![\w-])[-−+]?(nan|inf|nat)(?![\w-])", re.IGNORECASE)


def rows(n: int = N, d: int = 2) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(n, d)), columns=list("abcdefgh"[:d]))


def first(X: Any) -> Any:
    """Return the numbers of the column a, or of the first one."""
    return np.asarray(X["a"] if isinstance(X, pd.DataFrame) and "a" in X else np.asarray(X)[:, 0]).astype(float)


def labels(X: Any) -> Any:
    return (first(X) + 0.8 * np.random.default_rng(1).normal(size=len(X)) > 0).astype(int)


def coin(X: Any) -> Categorical:
    """Give each row two classes by its first number."""
    p = np.clip(1 / (1 + np.exp(-np.clip(first(X), -30, 30))), 1e-3, 1 - 1e-3)
    return Categorical(np.column_stack([1 - p, p]), classes=[0, 1])


def line(X: Any) -> Normal:
    """Give each row a normal about its first number."""
    return Normal(first(X), np.ones(len(X)))


def audited(given: dict[str, Any], explainers: tuple[str, ...] | None) -> AuditRun:
    """Return the audit of the arguments of `explain`, those of `audit` under that name."""
    given = dict(given)
    fields = {"explainers": explainers, **given.pop("audit", {})}
    options = {name: FAST[name] for name in FAST if explainers is None or name in explainers}
    subject = uq.explain(given.pop("model", coin), given.pop("X", None), given.pop("y", None), **given)
    return uq.audit(subject, options=options, progress=False, as_of="2026-01-01", **fields)


def check_right(given: dict[str, Any], explainers: tuple[str, ...] | None, printed: pytest.CaptureFixture[str]) -> None:
    """Check that an audit comes with no foreign reason, no number that is none on its page, and nothing printed."""
    audit = audited(given, explainers)
    reasons = [each.reason for each in audit.run.not_run]
    reasons += [gap.reason for result in audit.run.results for gap in result.omissions]
    foreign = [reason for reason in reasons if FOREIGN.search(QUOTED.sub("", reason))]
    assert not foreign, foreign
    words = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", audit.render("html").decode(), flags=re.DOTALL)
    assert [words[max(at.start() - 60, 0) : at.end() + 30] for at in NO_NUMBER.finditer(words)] == []
    assert re.findall(rb"\bNaN\b|\b-?Infinity\b|\"-?(?:nan|inf)\"", dumps(audit.run)) == []
    assert "".join(printed.readouterr()) == ""


def check_refused(given: dict[str, Any], message: str, printed: pytest.CaptureFixture[str]) -> None:
    """Check that there is one error of ours, with these words, and nothing printed."""
    with pytest.raises(UQReportError) as caught:
        audited(given, FEW)
    assert message in str(caught.value)
    assert "".join(printed.readouterr()) == ""
