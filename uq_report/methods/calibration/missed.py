"""UQ002: classes that the model's own decisions miss."""

from __future__ import annotations

from math import nan
from typing import Final, NamedTuple

from ...core.numbers import share_words
from ...core.text import short
from ...core.verdicts import holm
from ...evidence import ids
from ...evidence.finding import Finding, Severity
from ...evidence.outcomes import Calibration, DecisionLine, Decisions
from ...evidence.run import Run
from ...rules.reading import Part, absent
from ...rules.rule import Grade, Limit, Rule
from ..shared.checks import LEAST, observed
from .promised import at_most

MISSED: Final = "UQ002"


class Class(NamedTuple):
    """The recall of one class with its adjusted p-value, the class's share of the rows, and its precision if any."""

    line: DecisionLine
    p_adjusted: float
    share: float
    precision: DecisionLine | None


def recall_rule(recall: float) -> Rule:
    """Return the rule with the recall that would pass."""
    raised = {
        "upper": Limit("below", "recall"),
        "p_adjusted": Limit("at most", "level"),
        "rows": Limit("at least", "rows"),
    }
    common = {
        "share": Limit("at least", "common"),
        "upper": Limit("below", "least"),
        "order": Limit("at least", "order"),
    }
    return Rule(
        code=MISSED,
        title="The model's own decisions miss most of a class",
        thresholds={"recall": recall, "level": 0.05, "rows": LEAST, "common": 0.2, "least": 0.1, "order": 0.9},
        when="Of a class with at least {rows} rows, the model decides for less than {recall:pct} (its recall): the "
        "upper end of the exact interval is below, and the p-value of a share that large, Holm-adjusted over the "
        "classes, is {level} or less. Low if the class is {common:pct} of the rows or more, its recall ends below "
        "{least:pct}, and the area under the ROC curve is at least {order}, else an observation: the probabilities "
        "may be right, and the threshold not for this use.",
        raised=(raised,),
        grades=(Grade("low", common), Grade("observation")),
        rests_on="Exact binomial test of the recall (Clopper & Pearson 1934)",
    )


def missed(rule: Rule, run: Run) -> Part:
    """Judge the recall of every class at the model's own decisions."""
    view = Decisions.find(run)
    if view is None:
        return Part(code=rule.code, absent=absent(run, Decisions.id))
    scores = Calibration.find(run)
    area = None if scores is None else scores.of("roc_auc")
    order = nan if area is None else area.estimate
    findings, few = [], []
    for row in _classes(view, rule.thresholds["recall"]):
        n = row.line.n_effective
        severity = rule.judge(upper=row.line.upper, p_adjusted=row.p_adjusted, rows=n, share=row.share, order=order)
        findings += [_finding(rule, severity, row, view)] if severity else []
        few += (
            [f"the recall of {short(row.line.label)}, a class of too few rows"] if n < rule.thresholds["rows"] else []
        )
    return Part(
        code=rule.code,
        findings=tuple(findings),
        undecided=tuple(few),
        passed="No class is shown to be missed by the model's own decisions.",
    )


def _classes(view: Decisions, expected: float) -> list[Class]:
    """Return the classes, with the exact p-value of a recall of at least `expected`, adjusted over them."""
    lines = [line for line in view.lines if line.item == "recall"]
    adjusted = holm([at_most(line.estimate * line.n_effective, line.n_effective, expected) for line in lines]).tolist()
    total = sum(line.n for line in lines)
    return [
        Class(line, p, line.n / total, view.of_class(line.label).get("precision"))
        for line, p in zip(lines, adjusted, strict=True)
    ]


def _finding(rule: Rule, severity: Severity, row: Class, view: Decisions) -> Finding:
    line, label, precision = row.line, short(row.line.label), row.precision
    recall = share_words(line.estimate, line.lower, line.upper, confidence=line.confidence)
    statement = (
        f"Deciding for {short(view.rule, 160)}, the model finds {round(line.estimate * line.n)} of the {line.n} rows "
        f"of {label}, {recall}; {share_words(rule.thresholds['recall'])} would pass."
    )
    if precision is not None:
        statement += f" Of the {precision.n} rows that it calls {label}, {share_words(precision.estimate)} are."
    return rule.finding(
        severity,
        statement,
        (ids.CALIBRATION_DECISIONS, ids.CALIBRATION),
        remedy="Choose the threshold by what a miss and a false alarm cost.",
        threshold=rule.thresholds["recall"],
        **observed(line),
    )
