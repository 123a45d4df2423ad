"""How far predictions change with a protected attribute, or with a feature that tells it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan, nan

from ...core.numbers import number, value_words
from ...core.text import short
from ...core.verdicts import holm
from ...evidence import ids
from ...evidence.finding import Finding, Severity, Symptom
from ...evidence.outcomes import DifferenceLine, GroupsDifference, GroupsProxy, GroupsUse, ProxyLine, UseLine
from ...evidence.run import Run
from ...rules.reading import Part, absent, listed
from ...rules.rule import Rule
from .words import contrast, group_words, of_class

MITCHELL = "mitchell:section 4"
Contrasts = dict[tuple[str, str, str], DifferenceLine]


def drivers(rule: Rule, run: Run) -> Part:
    """Judge the contrasts that are lost when an attribute or a proxy is exchanged, Holm-adjusted over all of them."""
    used, proxies, apart = GroupsUse.find(run), GroupsProxy.find(run), GroupsDifference.find(run)
    if used is None or proxies is None or apart is None:
        return Part(code=rule.code, absent=absent(run, ids.GROUPS_USE))
    unable = [gap.feature for gap in used.omissions]
    if unable and not used.lines:
        return Part(code=rule.code, absent=f"no feature could be exchanged for {listed(unable)}")
    known = {(line.measure, line.feature, line.item): line for line in apart.lines}
    lines = [x for x in used.lines if not isnan(x.p_value) and x.association >= rule.thresholds["proxy"]]
    raised: dict[tuple[str, str], list[tuple[Severity, UseLine]]] = {}
    unsure = []
    for line, p in zip(lines, holm([x.p_value for x in lines]) if lines else (), strict=True):
        severity = _judged(rule, line, float(p), known)
        if severity is not None:
            raised.setdefault((line.feature, line.by), []).append((severity, line))
        elif max(abs(line.lower), abs(line.upper)) > rule.thresholds["spread"] * line.scale:
            unsure.append((line.feature, line.by))
    told = {feature for feature, _ in raised}
    together = _together(rule, [line for line in proxies.lines if line.feature not in told])
    return Part(
        code=rule.code,
        findings=(*(_use(rule, several, known) for several in raised.values()), *together),
        undecided=tuple(short(by) for feature, by in dict.fromkeys(unsure) if (feature, by) not in raised),
        passed="No contrast of predictions between groups goes through an attribute or a proxy beyond the margin.",
    )


def _judged(rule: Rule, line: UseLine, p: float, known: Contrasts) -> Severity | None:
    """Return the severity of one contrast that is lost; none where the outcome does not vary."""
    if not line.scale > 0:
        return None
    rest = known.get((line.measure.replace("prediction", "residual", 1), line.feature, line.item))
    return rule.judge(
        p_adjusted=p,
        lost=max(line.lower, -line.upper) / line.scale,
        association=line.association,
        exceeding=nan if rest is None else _exceeding(line, rest) / line.scale,
    )


def _exceeding(line: UseLine, residual: DifferenceLine) -> float:
    """Return by how much, at least, predictions differ more than outcomes in the direction that is lost."""
    return -residual.upper if line.estimate > 0 else residual.lower


def _use(rule: Rule, raised: Sequence[tuple[Severity, UseLine]], known: Contrasts) -> Finding:
    """Return what is to say of one feature that stands for an attribute: its largest contrast."""
    severities = [severity for severity, _ in raised]
    severity = next(one for one in ("medium", "low", "observation") if one in severities)
    line = max((x for s, x in raised if s == severity), key=lambda x: abs(x.estimate) / x.scale)
    own = line.by == line.feature
    tie = (
        "" if own else f", which goes together with {short(line.feature)} (association {number(line.association, 2)}),"
    )
    features = tuple(dict.fromkeys((line.by, line.feature)))
    return rule.finding(
        severity,
        f"Exchanging {short(line.by)}{tie} moves the predictions{of_class(line.measure)} for {group_words(line)} "
        f"against the rest by {contrast(line, size=True)}. {_beside(line, known)}".rstrip(),
        (ids.GROUPS_USE, ids.GROUPS_DIFFERENCE, ids.GROUPS_PROXY),
        remedy="Say why the model may use it, or train without it and its proxies.",
        measures=(line.measure,),
        features=features,
        threshold=rule.thresholds["spread"] * line.scale,
        observed=line.estimate,
        lower=line.lower,
        upper=line.upper,
        explains=() if severity == "observation" else (Symptom(code="UQ801", feature=line.feature),),
    )


def _beside(line: UseLine, known: Contrasts) -> str:
    """Say how far predictions and outcomes of the group differ from the rest in all."""
    suffix = line.measure.removeprefix("prediction")
    told = [(what, known.get((f"{name}{suffix}", line.feature, line.item))) for what, name in
            (("predictions", "prediction"), ("outcomes", "outcome"))]  # fmt: skip
    words = listed([f"{what} differ by {contrast(one)}" for what, one in told if one is not None])
    return f"In all, {words}." if words else ""


def _together(rule: Rule, lines: Sequence[ProxyLine]) -> Iterator[Finding]:
    """Yield the attributes that all features together tell."""
    for line in lines:
        severity = rule.judge(skill=line.lower)
        if severity is not None:
            yield rule.finding(
                severity,
                f"The model's features together tell {short(line.feature)}, with R² "
                f"{value_words(line.estimate, line.lower, line.upper, confidence=line.confidence)} on rows left out. "
                "Leaving the attribute out does not hide it from the model.",
                (ids.GROUPS_PROXY,),
                remedy="Say why the features that tell the attribute are needed.",
                features=(line.feature,),
                threshold=rule.thresholds["skill"],
                observed=line.estimate,
                lower=line.lower,
                upper=line.upper,
            )
