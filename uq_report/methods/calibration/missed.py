"""UQ002: classes that the model's own decisions miss."""

from __future__ import annotations

from math import nan

from ...checks.family import Said, family, needed
from ...checks.reading import RuleOutcome
from ...checks.rule import Rule
from ...core.support.numbers import share_words
from ...core.support.text import short
from ...evidence import ids
from ...evidence.outcomes import CalibrationView, DecisionLine, Decisions
from ...evidence.run import Run
from ..shared.checks import LEAST, observed
from .promised import at_most


def recall_rule(recall: float) -> Rule:
    """Return the rule with the recall that would pass."""
    return Rule(
        code="UQ002",
        title="The model's own decisions miss most of a class",
        thresholds={"recall": recall, "level": 0.05, "rows": LEAST, "common": 0.2, "least": 0.1, "order": 0.9},
        when="Of a class with at least {rows} rows, the model decides for less than {recall:pct} (its recall): the "
        "upper end of the exact interval is below, and the p-value of a share that large, Holm-adjusted over the "
        "classes, is {level} or less. Low if the class is {common:pct} of the rows or more, its recall ends below "
        "{least:pct}, and the area under the ROC curve is at least {order}, else an observation: the probabilities "
        "may be right, and the threshold not for this use.",
        raised=("upper < recall and p_adjusted <= level and rows >= rows",),
        grades=("low if share >= common and upper < least and order >= order", "observation"),
        rests_on="Exact binomial test of the recall (Clopper & Pearson 1934)",
    )


def missed(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the recall of every class at the model's own decisions."""
    view, scores = needed(Decisions, run), CalibrationView.find(run)
    area = None if scores is None else scores.of("roc_auc")
    order, expected = nan if area is None else area.estimate, rule.thresholds["recall"]
    lines = [line for line in view.lines if line.item == "recall"]
    total = sum(line.n for line in lines)
    few = (line for line in lines if line.n_effective < rule.thresholds["rows"])
    unsure = [f"the recall of {short(line.label)}, a class of too few rows" for line in few]
    return family(
        rule,
        lines,
        lambda x: {"upper": x.upper, "rows": x.n_effective, "share": x.n / total, "order": order},
        lambda x: _said(rule, x, view),
        p_values=[at_most(x.estimate * x.n_effective, x.n_effective, expected) for x in lines],
        undecided=lambda _: unsure,
        passed="No class is shown to be missed by the model's own decisions.",
    )


def _said(rule: Rule, line: DecisionLine, view: Decisions) -> Said:
    label, precision = short(line.label), view.of_class(line.label).get("precision")
    recall = share_words(line.estimate, line.lower, line.upper, confidence=line.confidence)
    statement = (
        f"Deciding for {short(view.rule, 160)}, the model finds {round(line.estimate * line.n)} of the {line.n} rows "
        f"of {label}, {recall}; {share_words(rule.thresholds['recall'])} would pass."
    )
    if precision is not None:
        statement += f" Of the {precision.n} rows that it calls {label}, {share_words(precision.estimate)} are."
    return {
        "statement": statement,
        "evidence": (ids.CALIBRATION_DECISIONS, ids.CALIBRATION),
        "remedy": "Choose the threshold by what a miss and a false alarm cost.",
        "threshold": rule.thresholds["recall"],
        **observed(line),
    }
