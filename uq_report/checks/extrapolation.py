"""Extrapolation: what the model does on combinations of values that the data does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd

from ..core import measures as registered
from ..core.errors import check_options
from ..core.parting import LEAST, Parting, widest_parting
from ..core.text import short
from ..evidence import columns as col
from ..evidence import ids
from ..evidence.finding import Finding, Outcome
from ..evidence.importance import NEGATIVE, UNDETERMINED, Pfi
from ..evidence.information import RedundancyJoint
from ..evidence.profiles import Ale, Pdp
from ..evidence.run import Run
from ..rules.reading import Part, Sign, absent, close, lacking, signs
from ..rules.rule import Grade, Limit, Rule

ENTROPY = registered.ENTROPY.name
NEED_Y = tuple(one.name for one in vars(registered).values() if isinstance(one, registered.Measure) and one.needs_y)
FLAT = 1e-9


@dataclass(frozen=True)
class Extrapolation:
    """Looks for what the model does off the data, where shuffles and partial dependence take it.

    UQ311 asks for a negative Entropy-PFI, two-sided and Holm-adjusted over features: with independent
    features it is 0 in expectation (Wood et al., proposition 1).

    UQ312 asks for a point where a PDP and an ALE have changed by amounts that differ by more than the sum
    of their standard errors allows (`uq_report.core.parting`), by more than a tenth of the larger range,
    and by more than the grid of the PDP leaves open: between its points the PDP may be anything from one
    neighbour to the other. All points, features and measures are Bonferroni-adjusted together, at half
    the level, so that both rules together keep the level.

    Parameters
    ----------
    level : float, default=0.05
    measures : tuple of str, default=("prediction", "entropy")
        Whose curves are compared. A measure of y has no place here: where y depends on the feature, its
        PDP and ALE differ even if all features are independent.
    """

    level: float = 0.05
    measures: tuple[str, ...] = ("prediction", "entropy")

    name: ClassVar[str] = "extrapolation"
    title: ClassVar[str] = "Extrapolation"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        given: object = self.measures
        named = not isinstance(given, str) and len(self.measures) > 0
        free = not set(self.measures) & set(NEED_Y)
        rules = (
            ("level", 0 < self.level < 1, "a number in (0, 1)"),
            ("measures", named and free, f"names of measures that need no y (not {', '.join(NEED_Y)})"),
        )
        check_options(self.name, self, rules)
        object.__setattr__(self, "measures", tuple(self.measures))

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The two rules, with this check's level."""
        measures = " or ".join(self.measures).replace("{", "{{").replace("}", "}}")
        return (
            Rule(
                code="UQ311",
                title="The model is more confident off the data",
                thresholds={"level": self.level},
                when="The Entropy-PFI of a feature is negative (level {level}, Holm-adjusted over features).",
                raised=({"p_adjusted": Limit("at most", "level")},),
                grades=(Grade("high"),),
                rests_on="wood:section 3.5",
            ),
            Rule(
                code="UQ312",
                title="Partial dependence and accumulated local effects part",
                thresholds={"level": self.level / 2, "range": LEAST},
                when=f"PDP and ALE of {measures} along a numeric feature change by amounts that "
                "differ by more than their errors and the grid allow (level {level}, adjusted over all "
                "points and curves), and by more than {range:pct} of the larger range.",
                raised=({"share": Limit("above", "range"), "p_adjusted": Limit("at most", "level")},),
                grades=(Grade("medium"),),
                rests_on="apley:section 1",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's Entropy-PFI and profiles."""
        confident, parted = self.rules
        return close(self.name, [_confident(confident, run), self._parted(parted, run)])

    def _parted(self, rule: Rule, run: Run) -> Part:
        ale, pdp = Ale.find(run), Pdp.find(run)
        if ale is None or pdp is None:
            missing = (name for name, view in ((ids.ALE, ale), (ids.PDP, pdp)) if view is None)
            return Part(code=rule.code, absent=" and ".join(absent(run, name) for name in missing))
        pairs = curves(ale, pdp, self.measures)
        if not pairs:
            reason = "no numeric feature has both a plain PDP and an ALE of these measures"
            return Part(code=rule.code, absent=reason)
        findings, unsure = [], []
        for (measure, feature), (local, partial) in pairs.items():
            apart = compared(local, partial, rule.thresholds, len(pairs))
            if apart == "unknown":
                unsure.append(feature)
            elif apart and rule.judge(share=apart.share, p_adjusted=apart.p_adjusted):
                findings.append(_difference(rule, measure, feature, apart, run))
        return Part(
            code=rule.code,
            findings=tuple(findings),
            undecided=tuple(dict.fromkeys(unsure)),
            passed="No PDP is shown to part from its ALE.",
        )


class Apart(NamedTuple):
    """Where two curves part, by which share of the larger range, and the p-value adjusted for points and curves.

    `least` is the difference of their changes that the grid leaves at least, `lower` and `upper` its interval.
    """

    at: Parting
    share: float
    p_adjusted: float
    least: float
    lower: float
    upper: float


def curves(ale: Ale, pdp: Pdp, measures: tuple[str, ...]) -> dict[tuple[str, str], tuple[pd.DataFrame, pd.DataFrame]]:
    """Return ALE and PDP in order of x, by measure and numeric feature, where both are there."""
    if pdp.result.options.get("mode", "plain") == "derivative":
        return {}
    columns = [col.MEASURE, col.FEATURE]
    tables = [dict(iter(view.result.estimates.groupby(columns, sort=False))) for view in (ale, pdp)]
    pairs = {}
    for key, local in tables[0].items():
        partial = tables[1].get(key)
        measure, feature = (str(part) for part in key)
        if partial is not None and measure in measures and (local[col.LEVEL] == "").all():
            pairs[measure, feature] = (local.sort_values(col.X), partial.sort_values(col.X))
    return pairs


def compared(
    local: pd.DataFrame, partial: pd.DataFrame, thresholds: Mapping[str, float], n_curves: int
) -> Apart | Literal["unknown"] | None:
    """Return where ALE and PDP part most, None where they cannot, or ``unknown`` where an error is not known."""
    values = [curve[col.ESTIMATE].to_numpy(dtype=float) for curve in (local, partial)]
    if max(np.ptp(one) for one in values) <= FLAT * max(np.abs(one).max() for one in values):
        return None
    if local[col.STD_ERROR_CHANGE].isna().any() or partial[col.STD_ERROR].isna().any():
        return "unknown"
    confidence = 1 - thresholds["level"] / n_curves
    widest = widest_parting(local, nearest_partial(local, partial), confidence, thresholds["range"])
    if widest is None:
        return None
    x, level = (partial[name].to_numpy(dtype=float) for name in (col.X, col.ESTIMATE))
    start, end = np.interp([widest.at.start, widest.at.x], x, level)
    reach, least = widest.reach(confidence), widest.at.ale - widest.at.pdp
    return Apart(
        at=widest.at._replace(pdp=float(end - start)),
        share=widest.share,
        p_adjusted=widest.p_value * n_curves,
        least=least,
        lower=least - reach,
        upper=least + reach,
    )


def nearest_partial(local: pd.DataFrame, partial: pd.DataFrame) -> pd.DataFrame:
    """Return the PDP at the points of the ALE, as near to it as its neighbouring grid points allow.

    Between two grid points the PDP may be anything from one of their values to the other: a step of the
    model that the ALE's bins and the PDP's grid place differently is no difference.

    Examples
    --------
    >>> ale = pd.DataFrame({"x": [0.0, 1.0, 2.0], "estimate": [0.0, 1.0, 1.0]})
    >>> pdp = pd.DataFrame({"x": [0.0, 0.9, 2.0], "estimate": [0.0, 0.0, 1.0], "std_error": 0.1})
    >>> nearest_partial(ale, pdp)["estimate"].tolist()
    [0.0, 1.0, 1.0]
    """
    at, level, error = (partial[name].to_numpy(dtype=float) for name in (col.X, col.ESTIMATE, col.STD_ERROR))
    local = local[(local[col.X] >= at[0]) & (local[col.X] <= at[-1])]
    if not len(local):
        return partial
    x = local[col.X].to_numpy(dtype=float)
    after = np.searchsorted(at, x, side="left")
    before = np.where(at[after] == x, after, after - 1)
    ends = np.stack([level[before], level[after]])
    accumulated = local[col.ESTIMATE].to_numpy(dtype=float)
    target = accumulated - accumulated[0] + np.interp(x[0], at, level)
    value = np.clip(target, ends.min(axis=0), ends.max(axis=0))
    return pd.DataFrame({col.X: x, col.ESTIMATE: value, col.STD_ERROR: np.maximum(error[before], error[after])})


def pictured(run: Run, feature: str) -> tuple[str, ...]:
    """Return the result that shows the feature and its partner before and after a shuffle, if it is among them."""
    joint = RedundancyJoint.find(run)
    return (joint.id,) if joint is not None and (joint.result.frame[col.FEATURE] == feature).any() else ()


def _confident(rule: Rule, run: Run) -> Part:
    view = Pfi.find(run)
    if view is None:
        return Part(code=rule.code, absent=absent(run, ids.PFI))
    table = signs(view, ENTROPY, rule.thresholds["level"])
    if not table:
        return Part(code=rule.code, absent=lacking(view, ENTROPY))
    return Part(
        code=rule.code,
        findings=tuple(
            _confidence(rule, sign, run) for sign in table.values() if rule.judge(p_adjusted=sign.p_for(NEGATIVE))
        ),
        undecided=tuple(name for name, sign in table.items() if sign.verdict == UNDETERMINED),
        passed="No feature has a negative Entropy-PFI.",
    )


def _confidence(rule: Rule, sign: Sign, run: Run) -> Finding:
    pictures = pictured(run, sign.feature)
    where = " The pairs before and after a shuffle show where the data ends." if pictures else ""
    return rule.finding(
        rule.severity,
        f"The Entropy-PFI of {short(sign.feature)} is negative: {sign.words()}. The model is more confident on "
        "shuffled values of it, combinations that the data lacks, than on the data: its confidence there "
        f"means little.{where}",
        (ids.PFI, *pictures),
        remedy="Do not rely on the stated uncertainty off the data; detect such rows before the model is asked.",
        measures=(ENTROPY,),
        features=(sign.feature,),
        threshold=0.0,
        observed=sign.estimate,
        lower=sign.lower,
        upper=sign.upper,
    )


def _difference(rule: Rule, measure: str, feature: str, apart: Apart, run: Run) -> Finding:
    name, at = short(feature), apart.at
    return rule.finding(
        rule.severity,
        f"Between {name} = {at.start:.4g} and {at.x:.4g} the {measure} changes by {at.ale:+.3g} near the data (ALE), "
        f"and by {at.pdp:+.3g} when every row is set to these values (PDP): more than their errors allow. The model "
        f"behaves differently on combinations with {name} that the data lacks, and partial dependence and shuffles "
        "evaluate it there.",
        (ids.ALE, ids.PDP, *pictured(run, feature)),
        remedy="Read ALE rather than PDP for this feature, and importance by shuffles with care.",
        measures=(measure,),
        features=(feature,),
        threshold=0.0,
        observed=apart.least,
        lower=apart.lower,
        upper=apart.upper,
    )
