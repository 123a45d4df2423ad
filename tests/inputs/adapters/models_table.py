"""The rows of the tables of models: which measures and explainers a family has, or why not, by auditing it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from uq_report.core.engine import Engine
from uq_report.core.subject import Subject
from uq_report.runner import load_measures

from .families import Family
from .whole_audit import whole_audit

MEASURES = (
    "nll", "entropy", "variance", "kl", "aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance",
)  # fmt: skip
SHORT = ("nll", "entropy", "epistemic part")
EXPLAINERS = ("pfi", "cover", "pdp", "ale", "h_statistic", "shap", "dalex", "cid", "rsens", "calibration", "agreement")


class Rows(NamedTuple):
    """The rows of one family: measures and explainers in docs/models.md, and the short one in README.md."""

    measures: str
    explainers: str
    short: str


def rows(family: Family) -> Rows:
    """Audit the family's model and return its rows."""
    subject = family.subject()
    distribution, missing = of_measures(subject)
    not_run = of_explainers(subject)
    split = "epistemic_variance" not in missing
    short = (_mark("nll" not in missing), _mark("entropy" not in missing), _mark(split))
    return Rows(
        _row(family.words, distribution, *_cells(MEASURES, missing)),
        _row(family.words, *_cells(EXPLAINERS, not_run)),
        _row(family.words, distribution, *short),
    )


def of_measures(subject: Subject) -> tuple[str, Mapping[str, str]]:
    """Return the family of the distribution, and why measures cannot be evaluated on it."""
    measures = load_measures()
    baseline = Engine(subject, measures).baseline
    reasons = {name: measures[name].why_not(baseline, has_y=True) for name in MEASURES}
    return baseline.family, {name: reason for name, reason in reasons.items() if reason}


def of_explainers(subject: Subject) -> Mapping[str, str]:
    """Return why explainers did not run on it, or had nothing to show."""
    run = whole_audit(subject)
    empty = {result.explainer: [o.reason for o in result.omissions] for result in run.results if result.frame.empty}
    full = {result.explainer for result in run.results if not result.frame.empty}
    nothing = {name: "; ".join(dict.fromkeys(reasons)) for name, reasons in empty.items() if name not in full}
    not_run = {entry.name: entry.reason for entry in run.not_run if entry.group == "explainers"} | nothing
    return {name: not_run[name] for name in EXPLAINERS if name in not_run}


def _cells(columns: Iterable[str], reasons: Mapping[str, str]) -> Iterable[str]:
    """Yield a mark for each column, and then the reasons, each once with the columns that it keeps out."""
    yield from (_mark(name not in reasons) for name in columns)
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(re.sub(r"^(it|\w+) (?=needs |is )", "", reason), []).append(name)
    yield "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())


def _mark(works: bool) -> str:
    return "✓" if works else "–"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
