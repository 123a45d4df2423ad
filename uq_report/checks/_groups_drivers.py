"""Whether a protected attribute, or what gives it away, is among the drivers of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan

from ..core.text import short
from ..core.verdicts import holm
from ..evidence import ids
from ..evidence.finding import Finding
from ..evidence.importance import POSITIVE, UNDETERMINED, Pfi, PfiLine
from ..evidence.outcomes import Groups, GroupsProxy
from ..evidence.run import Run
from ..evidence.view import Estimate
from ..rules.reading import Part, absent, listed, spanned, two_sided
from ..rules.rule import Rule

MITCHELL = "mitchell:section 4"


def drivers(rule: Rule, run: Run, groups: Groups) -> Part:
    """Judge the importance of protected features and proxies, Holm-adjusted over them and all measures."""
    pfi, proxies = Pfi.find(run), GroupsProxy.find(run)
    if proxies is None or pfi is None:
        return Part(code=rule.code, absent=absent(run, ids.GROUPS_PROXY if proxies is None else ids.PFI))
    suspects = _suspects(rule, groups, proxies)
    lines = [line for line in pfi.lines if line.feature in suspects]
    p_values = two_sided([x.estimate for x in lines], [x.std_error for x in lines], pfi.degrees_of_freedom)
    raised: dict[str, list[PfiLine]] = {}
    unsure = []
    for line, p in zip(lines, holm(p_values), strict=True):
        p_positive = p if line.verdict == POSITIVE else nan
        if rule.judge(p_positive=p_positive, association=suspects[line.feature][1]) is not None:
            raised.setdefault(line.feature, []).append(line)
        elif line.verdict in (POSITIVE, UNDETERMINED):
            unsure.append(line.feature)
    findings = [_driver(rule, feature, suspects[feature][0], several) for feature, several in raised.items()]
    return Part(
        code=rule.code,
        findings=(*findings, *_together(rule, proxies)),
        undecided=tuple(feature for feature in dict.fromkeys(unsure) if feature not in raised),
        passed="No protected attribute or proxy of one is among the drivers.",
    )


def interval_words(line: Estimate, unit: str = "") -> str:
    """Return the estimate of a line with its interval in words."""
    return spanned(line.estimate, line.lower, line.upper, line.confidence, unit)


def _suspects(rule: Rule, groups: Groups, proxies: GroupsProxy) -> dict[str, tuple[str, float]]:
    """Return the features that are protected, or proxies: why, and the association; of a feature with itself 1."""
    suspects = {name: ("is protected", 1.0) for name, facts in groups.attributes.items() if facts["feature"]}
    for line in proxies.lines:
        if not line.has_interval and line.estimate >= rule.thresholds["proxy"]:
            why = f"is a proxy of {short(line.feature)} (association {line.estimate:.2f})"
            suspects.setdefault(line.item, (why, line.estimate))
    return suspects


def _driver(rule: Rule, feature: str, why: str, lines: Sequence[PfiLine]) -> Finding:
    """Return what is to say of a protected feature, or a proxy, that the model relies on."""
    first, measures = lines[0], tuple(line.measure for line in lines)
    return rule.finding(
        rule.severity,
        f"{short(feature)} {why}, and shuffling it matters for {listed(measures)} ({first.measure}: "
        f"{interval_words(first)}).",
        (ids.PFI, ids.GROUPS_PROXY),
        remedy="Say why the model may use it, or train without it and its proxies.",
        measures=measures,
        features=(feature,),
        threshold=0.0,
        observed=first.estimate,
        lower=first.lower,
        upper=first.upper,
    )


def _together(rule: Rule, proxies: GroupsProxy) -> Iterator[Finding]:
    """Yield the attributes that all features together tell."""
    for line in proxies.lines:
        severity = rule.judge(skill=line.lower)
        if severity is not None:
            yield rule.finding(
                severity,
                f"The model's features together tell {short(line.feature)}: out-of-bag R² {interval_words(line)}. "
                "Leaving the attribute out does not hide it from the model.",
                (ids.GROUPS_PROXY,),
                remedy="Say why the features that tell the attribute are needed.",
                features=(line.feature,),
                threshold=rule.thresholds["skill"],
                observed=line.estimate,
                lower=line.lower,
                upper=line.upper,
            )
