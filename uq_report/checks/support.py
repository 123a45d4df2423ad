"""Support: rows, shuffled rows and values where the model had nothing to learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..core.errors import check_options
from ..core.finding import Finding, Outcome, Rule, Severity
from ..core.results import Result
from ..core.run import Run
from ..core.text import short
from ..core.verdicts import holm
from ._reading import Part, absent, close, freedom, listed, two_sided

CONFORMAL = "Conformal p-values: rows drawn as the training rows are exchangeable with them (Vovk et al. 2005)"
OUTSIDE = "Audited rows lie outside the training support"
SHUFFLED = "Shuffling a feature leaves the training support"
VALUES = "Audited rows hold values that the training rows do not have"


@dataclass(frozen=True)
class SupportCheck:
    """Judges whether audited rows, and the rows that permutations make, lie where the model was trained.

    UQ301 asks for an exact one-sided test, at half of `level`: more rows outside than rows drawn as the
    training rows would be. UQ302 asks for a share of shuffled rows outside above `shuffled`, by a
    one-sided t-test, Holm-adjusted over the features at `level`: there the feature's permutation results
    rest on rows that do not occur. UQ303 asks for more values beyond the training range, unseen
    levels or newly missing values than chance gives, at the other half of `level`, Holm-adjusted.

    Parameters
    ----------
    level : float
    shuffled : float
        Share of shuffled rows outside.
    tolerance : float
        UQ301 is undetermined, not cleared, if the interval of the share reaches this far above the expected share.
    """

    level: float = 0.05
    shuffled: float = 0.2
    tolerance: float = 0.1

    name: ClassVar[str] = "support"
    title: ClassVar[str] = "Training support"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        rules = (
            ("level", 0 < self.level < 1, "a number in (0, 1)"),
            ("shuffled", 0 < self.shuffled < 1, "a number in (0, 1)"),
            ("tolerance", 0 < self.tolerance < 1, "a number in (0, 1)"),
        )
        check_options(self.name, self, rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The three rules, with this check's thresholds."""
        return (
            Rule(
                code="UQ301",
                title=OUTSIDE,
                severity="high",
                when="More audited rows are outside than rows drawn as the training rows would be (exact test, level "
                f"{self.level / 2:g}). High if at least 25 % of the rows are outside, medium from 10 %, else low.",
                rests_on=CONFORMAL,
            ),
            Rule(
                code="UQ302",
                title=SHUFFLED,
                severity="medium",
                when=f"More than {100 * self.shuffled:g} % of the rows are outside after the feature is shuffled "
                f"(level {self.level:g}, Holm-adjusted over features). Medium if at least half are, else low.",
                rests_on="lecture:extrapolation",
            ),
            Rule(
                code="UQ303",
                title=VALUES,
                severity="medium",
                when="More audited values lie beyond the training range, have an unseen level or are newly missing "
                f"than chance gives (exact tests, level {self.level / 2:g}, Holm-adjusted over features). Medium if at "
                "least 5 % of the rows are concerned, else low.",
                rests_on="Audited and training rows drawn alike are exchangeable: any deal of them is as likely",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's results on support."""
        result, values = run.find("support"), run.find("support.values")
        if result is None or values is None:
            reason = absent(run, "support" if result is None else "support.values")
            return close(self.name, [Part(code=rule.code, absent=reason) for rule in self.rules])
        return close(self.name, [self._outside(result), self._shuffled(run, result), self._values(values)])

    def _outside(self, result: Result) -> Part:
        line = _of(result, "outside").iloc[0]
        share, expected, p = (float(line[name]) for name in ("estimate", "expected", "p_value"))
        if not p <= self.level / 2:
            unsure = float(line["upper"]) > expected + self.tolerance
            return Part(
                code="UQ301",
                undecided=(f"the share of rows outside ({_span(line)})",) if unsure else (),
                passed=f"{_span(line)} of the audited rows are outside; {expected:.3g} expected (p = {p:.3g}).",
            )
        finding = Finding(
            code="UQ301",
            title=OUTSIDE,
            severity=_graded(share),
            statement=f"{_span(line)} of the audited rows are farther from the training rows than held-out training "
            f"rows usually are; by construction at most {100 * expected:.3g} % of rows drawn alike would be (p = "
            f"{p:.2g}). There the model extrapolates, and so does its uncertainty.",
            evidence=("support", "support.rows"),
            rests_on=CONFORMAL,
            remedy="Look at the rows outside: restrict the model's use to the support, or train on rows like them.",
            threshold=expected,
            observed=share,
            lower=_bound(line, "lower"),
            upper=_bound(line, "upper"),
        )
        return Part(code="UQ301", findings=(finding,))

    def _shuffled(self, run: Run, result: Result) -> Part:
        table = _of(result, "shuffled")
        df = freedom(run, float(result.meta.get("units", np.inf)) - 1)
        excess = np.asarray(table["estimate"], dtype=float) - self.shuffled
        p_values = holm(np.where(excess > 0, two_sided(excess, table["std_error"], df) / 2, 1.0))
        found, unsure = [], []
        for line, p in zip(table.to_dict("records"), p_values, strict=True):
            if p <= self.level:
                found.append(self._extrapolates(line))
            elif line["upper"] > self.shuffled:
                unsure.append(str(line["feature"]))
        passed = f"After no feature's shuffle more than {100 * self.shuffled:g} % of the rows are outside."
        return Part(code="UQ302", findings=tuple(found), undecided=tuple(unsure), passed=passed)

    def _extrapolates(self, line: Any) -> Finding:
        share, feature = float(line["estimate"]), str(line["feature"])
        return Finding(
            code="UQ302",
            title=SHUFFLED,
            severity="medium" if share >= 0.5 else "low",
            statement=f"After {short(feature)} is shuffled, {_span(line)} of the rows are outside the training "
            "support. Its permutation results rest on rows that do not occur: they say what the model does there, not "
            "what the feature is worth.",
            evidence=("support",),
            rests_on="lecture:extrapolation",
            remedy="Read accumulated local effects beside the permutation results, or shuffle the feature together "
            "with those it depends on (a group).",
            features=(feature,),
            threshold=self.shuffled,
            observed=share,
            lower=_bound(line, "lower"),
            upper=_bound(line, "upper"),
        )

    def _values(self, values: Result) -> Part:
        table = values.estimates
        tests = int(values.meta.get("tests", len(table)))
        given = np.asarray(table["p_value"], dtype=float)
        adjusted = holm(np.concatenate([given, np.ones(max(0, tests - len(given)))]))[: len(given)]
        found = table[adjusted <= self.level / 2]
        findings = tuple(_unseen(feature, part) for feature, part in found.groupby("feature", sort=False))
        return Part(code="UQ303", findings=findings, passed="Values new to the model are no more than chance gives.")


def _unseen(feature: Any, part: pd.DataFrame) -> Finding:
    """Return what is said of one feature with values that the training rows do not have."""
    share = float(part["share"].max())
    words = {
        "below range": "{count} below the training minimum {bound}",
        "above range": "{count} above the training maximum {bound}",
        "unseen level": "{count} with a level that no training row has ({bound})",
        "newly missing": "{count} missing, while no training row lacks it",
    }
    said = [
        words[str(line["item"])].format(count=int(line["estimate"]), bound=line["bound"])
        for line in part.to_dict("records")
    ]
    return Finding(
        code="UQ303",
        title=VALUES,
        severity="medium" if share >= 0.05 else "low",
        statement=f"{short(feature)}: {listed(said)}, of {int(part['n'].iloc[0])} rows. That is more than chance "
        "gives; the model never saw such values.",
        evidence=("support.values",),
        rests_on="Audited and training rows drawn alike are exchangeable: any deal of them is as likely",
        remedy="Check how the column was filled and coded; say what the model does with such values.",
        features=(str(feature),),
        threshold=0.0,
        observed=share,
    )


def _of(result: Result, item: str) -> pd.DataFrame:
    return result.estimates[result.estimates["item"] == item]


def _graded(share: float) -> Severity:
    return "high" if share >= 0.25 else "medium" if share >= 0.1 else "low"


def _span(line: Any) -> str:
    """Return a share with its interval in words."""
    low, high = (100 * float(line[name]) for name in ("lower", "upper"))
    held = f"{100 * float(line['estimate']):.1f} %"
    return (
        held if np.isnan(low) else f"{held} ({100 * float(line['confidence']):g} % interval {low:.1f} to {high:.1f} %)"
    )


def _bound(line: Any, side: str) -> float | None:
    return None if np.isnan(line[side]) else float(line[side])
