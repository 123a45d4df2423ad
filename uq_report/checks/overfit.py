"""Over-fitting: what matters on the training rows only, and what the model is better without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from ..core.errors import check_options
from ..core.finding import Finding, Outcome, Rule
from ..core.results import Result
from ..core.run import Run
from ..core.text import short
from ..core.verdicts import holm
from ._reading import Part, Sign, absent, close, lacking, likelihood, signs, spanned, titles, two_sided

TRAIN_ONLY = "A feature matters on the training rows only"
WITHOUT = "The model does better without a feature"
MANY = 10**6


@dataclass(frozen=True)
class OverFit:
    """Compares importance on test and training rows, and looks for features that do harm.

    UQ401 asks for all of these, for a loss: the test verdict is about 0 or negative; the training
    importance is above the margin and above the test interval; and it is above the test importance by
    more than both samples of rows explain, ``t = (train - test) / (se √(1 + units_test/units_train))``,
    two-sided and Holm-adjusted over features and losses. The standard error is that of the test rows: a
    model that has learnt nothing of its own from the training rows has the same row terms on both. The
    training value itself is given without an interval, as none holds for any population.

    UQ402 asks for a negative Likelihood-PFI, Holm-adjusted over features.

    Parameters
    ----------
    level : float, default=0.05
    """

    level: float = 0.05

    name: ClassVar[str] = "overfit"
    title: ClassVar[str] = "Over-fitting"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a level that cannot be used."""
        check_options(self.name, self, (("level", 0 < self.level < 1, "a number in (0, 1)"),))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The two rules, with this check's level."""
        adjusted = f"level {self.level:g}, Holm-adjusted over features"
        return (
            Rule(
                code="UQ401",
                title=TRAIN_ONLY,
                severity="high",
                when="For a loss, the importance on test rows is about 0 or negative, and that on training rows is "
                f"above the margin, above the test interval, and above what both samples explain ({adjusted}).",
                rests_on="lecture:train against test",
            ),
            Rule(
                code="UQ402",
                title=WITHOUT,
                severity="high",
                when=f"The Likelihood-PFI of a feature is negative ({adjusted}).",
                rests_on="wood:section 3.5",
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's permutation importances."""
        test = run.find("pfi")
        if test is None:
            reason = absent(run, "pfi")
            return close(self.name, [Part(code=rule.code, absent=reason) for rule in self.rules])
        return close(self.name, [self._trained(run, test), self._harmful(test)])

    def _trained(self, run: Run, test: Result) -> Part:
        """Judge training against test importance, all losses together."""
        train = run.find("pfi.train")
        if train is None:
            given = run.subject.get("has_train", True)
            return Part(code="UQ401", absent=absent(run, "pfi.train") if given else "no training rows were given")
        table = both(test, train)
        if not len(table):
            return Part(code="UQ401", absent="no loss has an importance on test and on training rows")
        small, beyond = table["verdict"].isin(["about 0", "negative"]), table["trained"] > table["upper"]
        suspect = (table["trained"] > table["margin"]) & (table["verdict"] != "positive")
        found = suspect & small & beyond & (table["p_adjusted"] <= self.level)
        flagged = tuple(dict.fromkeys(table["feature"][found]))
        names = titles(test)
        findings = tuple(_learnt(table[found & (table["feature"] == feature)], names) for feature in flagged)
        unsure = dict.fromkeys(f for f in table["feature"][suspect & ~found] if f not in flagged)
        losses = ", ".join(names.get(m, m) for m in dict.fromkeys(table["measure"]))
        return Part(
            code="UQ401",
            findings=findings,
            undecided=tuple(unsure),
            passed=f"No feature matters on the training rows only, by {losses}.",
        )

    def _harmful(self, test: Result) -> Part:
        """Judge the signs of Likelihood-PFI."""
        measure = likelihood(test)
        if not measure:
            return Part(code="UQ402", absent=lacking(test, "nll"))
        judged = signs(test, measure, self.level)
        return Part(
            code="UQ402",
            findings=tuple(_harm(sign, measure) for sign in judged.values() if sign.verdict == "negative"),
            undecided=tuple(name for name, sign in judged.items() if sign.verdict == "undetermined"),
            passed="No feature has a negative Likelihood-PFI.",
        )


def both(test: Result, train: Result) -> pd.DataFrame:
    """Return a line per loss and feature with test and training importance, and the p-value of their difference.

    The p-value is two-sided and Holm-adjusted over the lines; it is NaN where no shuffle changed a test
    row, as such a feature cannot be judged on them.
    """
    losses = [name for name, facts in test.meta.get("measures", {}).items() if facts["role"] == "loss"]
    trained = train.estimates[["measure", "feature", "estimate"]].rename(columns={"estimate": "trained"})
    table = test.estimates.merge(trained, on=["measure", "feature"])
    table = table[table["measure"].isin(losses)].reset_index(drop=True)
    df, trained_df = (float(one.meta.get("degrees_of_freedom", MANY)) for one in (test, train))
    error = table["std_error"].astype(float).where(table["std_error"] != 0)
    difference = table["trained"].astype(float) - table["estimate"].astype(float)
    p_values = two_sided(difference, error * np.sqrt(1 + (df + 1) / (trained_df + 1)), df)
    return table.assign(p_adjusted=holm(p_values))


def _learnt(table: pd.DataFrame, names: Mapping[str, str]) -> Finding:
    """Return the finding on one feature, told by the loss in which it stands out most."""
    line = table.iloc[int((table["trained"] / table["margin"]).argmax())]
    feature, measure = str(line["feature"]), str(line["measure"])
    tested = spanned(line["estimate"], line["lower"], line["upper"], line["confidence"])
    told = "about 0" if line["verdict"] == "about 0" else "negative"
    return Finding(
        code="UQ401",
        title=TRAIN_ONLY,
        severity="high",
        statement=f"Shuffling {short(feature)} raises the {names.get(measure, measure)} by {line['trained']:.3g} on "
        f"the training rows, but on the test rows its importance is {told}: {tested}. What the model learnt from "
        "it does not hold on new rows.",
        evidence=("pfi", "pfi.train"),
        rests_on="lecture:train against test",
        remedy="Leave the feature out or regularise the model, and compare the loss on held-out rows.",
        measures=tuple(table["measure"]),
        features=(feature,),
        threshold=float(line["margin"]),
        observed=float(line["trained"]),
    )


def _harm(sign: Sign, measure: str) -> Finding:
    return Finding(
        code="UQ402",
        title=WITHOUT,
        severity="high",
        statement=f"The Likelihood-PFI of {short(sign.feature)} is negative: {sign.words()}. The model predicts these "
        "rows better when the feature is shuffled, so it is over-fitted to it.",
        evidence=("pfi",),
        rests_on="wood:section 3.5",
        remedy="Leave the feature out or regularise the model, and compare the likelihood on held-out rows.",
        measures=(measure,),
        features=(sign.feature,),
        threshold=0.0,
        observed=sign.estimate,
        lower=sign.lower,
        upper=sign.upper,
    )
