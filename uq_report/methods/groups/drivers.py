"""How far predictions change with a protected attribute, or with a feature that tells it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan, nan

from ...core.numbers import number, value_words
from ...core.text import short
from ...core.verdicts import holm
from ...evidence import ids
from ...evidence.finding import SEVERITIES, Finding, Severity, Symptom
from ...evidence.outcomes import GroupsDifference, GroupsProxy, GroupsUse, ProxyLine, UseLine
from ...evidence.run import Run
from ...rules.reading import Part, absent, listed
from ...rules.rule import Rule
from ..shared.checks import observed
from ..shared.tidy import grouped
from .words import Contrasts, both_contrasts, contrast, group_words, of_class, place_of

MITCHELL = "mitchell:section 4"
MISPREDICTED = "UQ801"


def drivers(rule: Rule, run: Run) -> Part:
    """Judge the contrasts that are lost when an attribute or a proxy is exchanged, Holm-adjusted over all of them."""
    used, proxies, apart = GroupsUse.find(run), GroupsProxy.find(run), GroupsDifference.find(run)
    if used is None or proxies is None or apart is None:
        return Part(code=rule.code, absent=absent(run, ids.GROUPS_USE))
    if used.omissions and not used.lines:
        unable = listed(gap.feature for gap in used.omissions)
        return Part(code=rule.code, absent=f"no feature could be exchanged for {unable}")
    contrasts = {place_of(line): line for line in apart.lines}
    lines = [x for x in used.lines if not isnan(x.p_value) and x.association >= rule.thresholds["proxy"]]
    adjusted = holm([line.p_value for line in lines]).tolist()
    graded = [(_severity(rule, x, p, contrasts), x) for x, p in zip(lines, adjusted, strict=True)]
    raised = grouped([(s, x) for s, x in graded if s is not None], lambda pair: (pair[1].feature, pair[1].by))
    margin = rule.thresholds["spread"]
    wide = [x for s, x in graded if s is None and max(abs(x.lower), abs(x.upper)) > margin * x.scale]
    unsure = dict.fromkeys(pair for x in wide if (pair := (x.feature, x.by)) not in raised)
    others = [line for line in proxies.lines if line.feature not in {feature for feature, _ in raised}]
    return Part(
        code=rule.code,
        findings=(*(_use(rule, several, contrasts) for several in raised.values()), *_together(rule, others)),
        undecided=tuple(short(by) for _, by in unsure),
        passed="No contrast of predictions between groups goes through an attribute or a proxy beyond the margin.",
    )


def _severity(rule: Rule, line: UseLine, p: float, contrasts: Contrasts) -> Severity | None:
    """Return the severity of one contrast that is lost; none where the outcome does not vary."""
    if not line.scale > 0:
        return None
    rest = contrasts.get((line.measure.replace("prediction", "residual", 1), line.feature, line.item))
    # by how much, at least, predictions differ more than outcomes in the direction that is lost
    exceeding = nan if rest is None else (-rest.upper if line.estimate > 0 else rest.lower) / line.scale
    lost = max(line.lower, -line.upper) / line.scale
    return rule.judge(p_adjusted=p, lost=lost, association=line.association, exceeding=exceeding)


def _use(rule: Rule, raised: Sequence[tuple[Severity, UseLine]], contrasts: Contrasts) -> Finding:
    """Return what is to say of one feature that stands for an attribute: its largest contrast."""
    severity = min((severity for severity, _ in raised), key=SEVERITIES.index)
    line = max((x for s, x in raised if s == severity), key=lambda x: abs(x.estimate) / x.scale)
    proxy = f", which goes together with {short(line.feature)} (association {number(line.association, 2)}),"
    in_all = listed(f"{what} differ by {size}" for what, size in both_contrasts(line, contrasts))
    return rule.finding(
        severity,
        f"Exchanging {short(line.by)}{'' if line.by == line.feature else proxy} moves the predictions"
        f"{of_class(line.measure)} for {group_words(line)} against the rest by {contrast(line, size=True)}."
        f"{f' In all, {in_all}.' if in_all else ''}",
        (ids.GROUPS_USE, ids.GROUPS_DIFFERENCE, ids.GROUPS_PROXY),
        remedy="Say why the model may use it, or train without it and its proxies.",
        measures=(line.measure,),
        features=tuple(dict.fromkeys((line.by, line.feature))),
        threshold=rule.thresholds["spread"] * line.scale,
        explains=() if severity == "observation" else (Symptom(code=MISPREDICTED, feature=line.feature),),
        **observed(line),
    )


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
                **observed(line),
            )
