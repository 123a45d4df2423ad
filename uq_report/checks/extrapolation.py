"""Extrapolation: what the model does on combinations of values that the data does not hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ..core import measures as known
from ..core.errors import check_options
from ..core.finding import Finding, Outcome, Rule
from ..core.parting import LEAST, Parting, parting
from ..core.results import Result
from ..core.run import Run
from ..core.text import short
from ._reading import Part, Sign, absent, close, lacking, signs

CONFIDENT = "The model is more confident off the data"
PARTED = "Partial dependence and accumulated local effects part"
NEED_Y = tuple(one.name for one in vars(known).values() if isinstance(one, known.Measure) and one.needs_y)
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
    def rules(self) -> tuple[Rule, ...]:
        """The two rules, with this check's level."""
        return (
            Rule(
                code="UQ311",
                title=CONFIDENT,
                severity="high",
                when=f"The Entropy-PFI of a feature is negative (level {self.level:g}, Holm-adjusted over features).",
                rests_on="wood:section 3.5",
            ),
            Rule(
                code="UQ312",
                title=PARTED,
                severity="medium",
                when=f"PDP and ALE of {' or '.join(self.measures)} along a numeric feature change by amounts that "
                f"differ by more than their errors and the grid allow (level {self.level / 2:g}, adjusted over all "
                f"points and curves), and by more than {100 * LEAST:g} % of the larger range.",
                rests_on="apley:section 1",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's Entropy-PFI and profiles."""
        return close(self.name, [self._confident(run), self._parted(run)])

    def _confident(self, run: Run) -> Part:
        result = run.find("pfi")
        if result is None:
            return Part(code="UQ311", absent=absent(run, "pfi"))
        judged = signs(result, "entropy", self.level)
        if not judged:
            return Part(code="UQ311", absent=lacking(result, "entropy"))
        return Part(
            code="UQ311",
            findings=tuple(_confidence(sign, run) for sign in judged.values() if sign.verdict == "negative"),
            undecided=tuple(name for name, sign in judged.items() if sign.verdict == "undetermined"),
            passed="No feature has a negative Entropy-PFI.",
        )

    def _parted(self, run: Run) -> Part:
        ale, pdp = run.find("ale"), run.find("pdp")
        if ale is None or pdp is None:
            missing = (name for name, found in (("ale", ale), ("pdp", pdp)) if found is None)
            return Part(code="UQ312", absent=" and ".join(absent(run, name) for name in missing))
        pairs = curves(ale, pdp, self.measures)
        if not pairs:
            return Part(code="UQ312", absent="no numeric feature has both a plain PDP and an ALE of these measures")
        confidence = 1 - self.level / 2 / len(pairs)
        findings, unsure = [], []
        for (measure, feature), (local, partial) in pairs.items():
            found = judged(local, partial, confidence)
            if found == "unknown":
                unsure.append(feature)
            elif found is not None:
                findings.append(self._difference(measure, feature, found, run))
        return Part(
            code="UQ312",
            findings=tuple(findings),
            undecided=tuple(dict.fromkeys(unsure)),
            passed="No PDP is shown to part from its ALE.",
        )

    def _difference(self, measure: str, feature: str, apart: Apart, run: Run) -> Finding:
        shown, found = short(feature), apart.at
        return Finding(
            code="UQ312",
            title=PARTED,
            severity="medium",
            statement=f"Between {shown} = {found.start:.4g} and {found.x:.4g} the {measure} changes by "
            f"{found.ale:+.3g} near the data (ALE), and by {found.pdp:+.3g} when every row is set to these values "
            f"(PDP): more than their errors allow. The model behaves differently on combinations with {shown} that the "
            "data lacks, and partial dependence and shuffles evaluate it there.",
            evidence=("ale", "pdp", *pictured(run, feature)),
            rests_on="apley:section 1",
            remedy="Read ALE rather than PDP for this feature, and importance by shuffles with care.",
            measures=(measure,),
            features=(feature,),
            threshold=0.0,
            observed=apart.least,
            lower=apart.lower,
            upper=apart.upper,
        )


def curves(
    ale: Result, pdp: Result, measures: tuple[str, ...]
) -> dict[tuple[str, str], tuple[pd.DataFrame, pd.DataFrame]]:
    """Return ALE and PDP in order of x, by measure and numeric feature, where both are there."""
    if pdp.options.get("mode", "plain") == "derivative":
        return {}
    tables = [dict(iter(one.estimates.groupby(["measure", "feature"], sort=False))) for one in (ale, pdp)]
    pairs = {}
    for key, local in tables[0].items():
        partial = tables[1].get(key)
        measure, feature = (str(part) for part in key)
        if partial is not None and measure in measures and (local["level"] == "").all():
            pairs[measure, feature] = (local.sort_values("x"), partial.sort_values("x"))
    return pairs


class Apart(NamedTuple):
    """Where two curves part, the difference of their changes that the grid leaves at least, and its interval."""

    at: Parting
    least: float
    lower: float
    upper: float


def judged(local: pd.DataFrame, partial: pd.DataFrame, confidence: float) -> Apart | Literal["unknown"] | None:
    """Return where ALE and PDP part, None if that is not shown, or ``unknown`` where an error is not known."""
    values = [curve["estimate"].to_numpy(dtype=float) for curve in (local, partial)]
    if max(np.ptp(one) for one in values) <= FLAT * max(np.abs(one).max() for one in values):
        return None
    if local["std_error_change"].isna().any() or partial["std_error"].isna().any():
        return "unknown"
    nearest = nearest_partial(local, partial)
    found = parting(local, nearest, confidence)
    if found is None:
        return None
    ends = [found.start, found.x]
    moved = local.set_index("x")["std_error_change"].loc[ends].sum()
    error = float(moved + nearest.set_index("x")["std_error"].loc[ends].sum())
    reach, least = -ndtri((1 - confidence) / 2 / (len(nearest) - 1)) * error, found.ale - found.pdp
    at, level = (partial[name].to_numpy(dtype=float) for name in ("x", "estimate"))
    start, end = np.interp(ends, at, level)
    return Apart(found._replace(pdp=float(end - start)), least, float(least - reach), float(least + reach))


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
    at, level, error = (partial[name].to_numpy(dtype=float) for name in ("x", "estimate", "std_error"))
    local = local[(local["x"] >= at[0]) & (local["x"] <= at[-1])]
    if not len(local):
        return partial
    x = local["x"].to_numpy(dtype=float)
    after = np.searchsorted(at, x, side="left")
    before = np.where(at[after] == x, after, after - 1)
    ends = np.stack([level[before], level[after]])
    wished = local["estimate"].to_numpy(dtype=float)
    wished = wished - wished[0] + np.interp(x[0], at, level)
    value = np.clip(wished, ends.min(axis=0), ends.max(axis=0))
    return pd.DataFrame({"x": x, "estimate": value, "std_error": np.maximum(error[before], error[after])})


def pictured(run: Run, feature: str) -> tuple[str, ...]:
    """Return the result that shows the feature and its partner before and after a shuffle, if it is among them."""
    joint = run.find("redundancy.joint")
    return ("redundancy.joint",) if joint is not None and (joint.frame["feature"] == feature).any() else ()


def _confidence(sign: Sign, run: Run) -> Finding:
    shown = pictured(run, sign.feature)
    where = " The pairs before and after a shuffle show where the data ends." if shown else ""
    return Finding(
        code="UQ311",
        title=CONFIDENT,
        severity="high",
        statement=f"The Entropy-PFI of {short(sign.feature)} is negative: {sign.words()}. The model is more confident "
        "on shuffled values of it, combinations that the data lacks, than on the data: its confidence there "
        f"means little.{where}",
        evidence=("pfi", *shown),
        rests_on="wood:section 3.5",
        remedy="Do not rely on the stated uncertainty off the data; detect such rows before the model is asked.",
        measures=("entropy",),
        features=(sign.feature,),
        threshold=0.0,
        observed=sign.estimate,
        lower=sign.lower,
        upper=sign.upper,
    )
