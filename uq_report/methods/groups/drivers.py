"""How far predictions change with a protected attribute, or with a feature that tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan, nan

from ...checks.family import Said, family, needed, require
from ...checks.reading import RuleOutcome, absent, listed
from ...checks.rule import Rule
from ...core.support.numbers import number, value_words
from ...core.support.text import clean, short
from ...evidence import ids
from ...evidence.finding import SEVERITIES, Symptom
from ...evidence.outcomes import (
    DifferenceLine,
    GroupLine,
    GroupsDifference,
    GroupsProxy,
    GroupsUse,
    ProxyLine,
    UseLine,
)
from ...evidence.run import Run
from ..shared.checks import line_words, observed

POINTS = ("probability", "share of")  # how units begin that are told in percentage points
Place = tuple[str, str, str]  # a line's measure, attribute and group
Contrasts = Mapping[Place, DifferenceLine]
MITCHELL = "mitchell:section 4"
MISPREDICTED = "UQ801"


def drivers(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the contrasts that are lost when an attribute or a proxy is exchanged, Holm-adjusted over all of them."""
    missing = any(view.find(run) is None for view in (GroupsUse, GroupsProxy, GroupsDifference))
    require(not missing, absent(run, ids.GROUPS_USE))
    used, proxies, apart = needed(GroupsUse, run), needed(GroupsProxy, run), needed(GroupsDifference, run)
    unable = listed(gap.feature for gap in used.omissions)
    require(used.lines or not used.omissions, f"no feature could be exchanged for {unable}")
    contrasts = {place_of(line): line for line in apart.lines}
    lines = [x for x in used.lines if not isnan(x.p_value) and x.association >= rule.thresholds["proxy"]]
    margin = rule.thresholds["spread"]
    part = family(
        rule,
        lines,
        lambda x: _numbers(x, contrasts),
        lambda *raised: _use(rule, raised, contrasts),
        p_values=[line.p_value for line in lines],
        by=lambda x: (x.feature, x.by),
        undecided=lambda rest: [short(by) for _, by in _open(rest, lines, margin)],
        passed="No contrast of predictions between groups goes through an attribute or a proxy beyond the margin.",
    )
    named = {finding.features[-1] for finding in part.findings}
    told = family(
        rule,
        [line for line in proxies.lines if line.feature not in named],
        lambda line: {"skill": line.lower},
        lambda line: _together(rule, line),
    )
    return replace(part, findings=(*part.findings, *told.findings))


def _open(rest: Sequence[UseLine], lines: Sequence[UseLine], margin: float) -> dict[tuple[str, str], None]:
    """Return which pairs of feature and attribute raise nothing, and have an interval beyond the margin."""
    raised = {(x.feature, x.by) for x in lines if x not in rest}
    wide = (x for x in rest if max(abs(x.lower), abs(x.upper)) > margin * x.scale)
    return dict.fromkeys((x.feature, x.by) for x in wide if (x.feature, x.by) not in raised)


def _numbers(line: UseLine, contrasts: Contrasts) -> dict[str, float]:
    """Return the numbers of one contrast that is lost; none where the outcome does not vary."""
    if not line.scale > 0:
        return {}
    rest = contrasts.get((line.measure.replace("prediction", "residual", 1), line.feature, line.item))
    # by how much, at least, predictions differ more than outcomes in the direction that is lost
    exceeding = nan if rest is None else (-rest.upper if line.estimate > 0 else rest.lower) / line.scale
    lost = max(line.lower, -line.upper) / line.scale
    return {"lost": lost, "association": line.association, "exceeding": exceeding}


def _use(rule: Rule, raised: Sequence[UseLine], contrasts: Contrasts) -> Said:
    """Return what to say of one feature that stands for an attribute: the largest of its contrasts of most severity."""
    graded = [(rule.judge(p_adjusted=0.0, **_numbers(x, contrasts)) or rule.severity, x) for x in raised]
    worst = min((severity for severity, _ in graded), key=SEVERITIES.index)
    line = max((x for severity, x in graded if severity == worst), key=lambda x: abs(x.estimate) / x.scale)
    proxy = f", which goes together with {short(line.feature)} (association {number(line.association, 2)}),"
    in_all = listed(f"{what} differ by {size}" for what, size in both_contrasts(line, contrasts))
    return {
        "statement": f"Exchanging {short(line.by)}{'' if line.by == line.feature else proxy} moves the predictions"
        f"{of_class(line.measure)} for {group_words(line)} against the rest by {contrast(line, size=True)}."
        f"{f' In all, {in_all}.' if in_all else ''}",
        "evidence": (ids.GROUPS_USE, ids.GROUPS_DIFFERENCE, ids.GROUPS_PROXY),
        "remedy": "Say why the model may use it, or train without it and its proxies.",
        "measures": (line.measure,),
        "features": tuple(dict.fromkeys((line.by, line.feature))),
        "threshold": rule.thresholds["spread"] * line.scale,
        "explains": () if worst == "observation" else (Symptom(code=MISPREDICTED, feature=line.feature),),
        **observed(line),
    }


def _together(rule: Rule, line: ProxyLine) -> Said:
    """Return what to say of an attribute that all features together tell."""
    return {
        "statement": f"The model's features together tell {short(line.feature)}, with R² "
        f"{line_words(line, confidence=line.confidence)} on rows left out. Leaving the attribute out does not hide it "
        "from the model.",
        "evidence": (ids.GROUPS_PROXY,),
        "remedy": "Say why the features that tell the attribute are needed.",
        "features": (line.feature,),
        "threshold": rule.thresholds["skill"],
        **observed(line),
    }


def place_of(line: GroupLine) -> Place:
    """Return what a line is about."""
    return line.measure, line.feature, line.item


def contrast(line: GroupLine, *, size: bool = False) -> str:
    """Return a difference with its interval, probabilities and shares in points; without its sign if `size`."""
    sign = -1 if size and line.estimate < 0 else 1
    points = line.unit.startswith(POINTS)
    low, high = sorted((sign * line.lower, sign * line.upper))
    value, low, high = ((100 if points else 1) * number for number in (sign * line.estimate, low, high))
    return value_words(value, low, high, "points" if points else line.unit, confidence=line.confidence)


def both_contrasts(line: GroupLine, contrasts: Contrasts) -> list[tuple[str, str]]:
    """Return how far predictions and outcomes of a group differ from the rest, of the same class as `line`."""
    label = line.measure[len(line.measure.partition("[")[0]) :]
    places = [(name, (f"{name}{label}", line.feature, line.item)) for name in ("prediction", "outcome")]
    return [(f"{name}s", contrast(contrasts[place])) for name, place in places if place in contrasts]


def group_words(line: GroupLine) -> str:
    """Name a group by its attribute."""
    return f"{short(line.feature)} = {clean(line.item)}"


def of_class(measure: str) -> str:
    """Say which class a measure is about; empty where there is one."""
    label = measure.partition("[")[2].removesuffix("]")
    return f" of {short(label)}" if label else ""
