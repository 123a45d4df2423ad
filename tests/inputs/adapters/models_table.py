"""The rows of the tables of models: which measures and explainers a family has, or why not, by auditing it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.subject import Subject
from uq_report.runner import load_measures

from .family import Family
from .whole_audit import whole_audit

MEASURES: Mapping[str, tuple[str, ...]] = {
    "nll": ("nll",),
    "entropy": ("entropy",),
    "crps": ("crps",),
    "variance": ("variance",),
    "kl": ("kl",),
    "entropy split": ("aleatoric", "epistemic"),
    "variance split": ("aleatoric_variance", "epistemic_variance"),
    "intervals or sets": ("width", "set_size"),
}
EXPLAINERS = (
    "pfi", "cover", "pdp", "ale", "h_statistic", "shap", "dalex", "cid", "rsens", "segments", "support", "calibration",
    "agreement",
)  # fmt: skip
ABOVE_THE_TABLE = re.compile(r"needs (the members of an ensemble|prediction intervals|label sets|an ordered target)")

NOT_OF_THE_FAMILY = re.compile(r"^(it|\w+) (?=needs |is )|(?<=did not run): .*|; \d+ of \d+ rows are others|\. [A-Z].*")


class Rows(NamedTuple):
    """The rows of one family in docs/models.md: measures and explainers."""

    measures: str
    explainers: str


def rows(family: Family) -> Rows:
    """Audit the family's model and return its rows."""
    subject = family.subject()
    distribution, missing = of_measures(subject)
    not_run = of_explainers(subject)
    return Rows(
        _row(family.words, distribution, *_cells(MEASURES, missing)),
        _row(family.words, *_cells(EXPLAINERS, not_run)),
    )


def of_measures(subject: Subject) -> tuple[str, Mapping[str, str]]:
    """Return the family of the distribution, and why none of a column's measures can be evaluated on it."""
    measures = load_measures()
    baseline = Engine(subject, measures).baseline
    missing = {}
    for column, names in MEASURES.items():
        reasons = [measures[name].why_not(baseline, has_y=True) for name in names]
        if all(reasons):
            missing[column] = reasons[0]
    return baseline.family, missing


def of_explainers(subject: Subject) -> Mapping[str, str]:
    """Return why explainers did not run on it, or had nothing to show."""
    run = whole_audit(subject)
    empty = {result.explainer: [o.reason for o in result.omissions] for result in run.results if result.frame.empty}
    full = {result.explainer for result in run.results if not result.frame.empty}
    nothing = {name: "; ".join(dict.fromkeys(reasons)) for name, reasons in empty.items() if name not in full}
    not_run = {entry.name: entry.reason for entry in run.not_run if entry.group == "explainers"} | nothing
    return {name: not_run[name] for name in EXPLAINERS if name in not_run}


def _cells(columns: Iterable[str], reasons: Mapping[str, str]) -> Iterable[str]:
    """Yield a mark for each column, and then the reasons, each once with the columns that it keeps out.

    What the page says above its table is not repeated in its rows.
    """
    yield from (_mark(name not in reasons) for name in columns)
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if not ABOVE_THE_TABLE.search(reason):
            by_reason.setdefault(NOT_OF_THE_FAMILY.sub("", reason), []).append(name)
    yield "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())


def _mark(works: bool) -> str:
    return "✓" if works else "–"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
