"""Methods that contradict each other, and drivers of the prediction that do not help it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import pandas as pd

from ..core.errors import check_options
from ..core.finding import Finding, Outcome, Rule
from ..core.results import Result
from ..core.run import Run
from ._reading import Part, Sign, absent, close, listed, signs

RANKS = "klein:rank intervals that are apart"
SIGNS = "breiman:permutation importance"
CONTRADICT = "Two methods contradict each other about a leading feature"
USELESS = "A leading driver of the prediction does not lower the loss"
EXPLAINING = (
    "copy or spurious link",
    "better without it",
    "extrapolation alarm",
    "extrapolation alarm, better without it",
)


@dataclass(frozen=True)
class Disagreement:
    """Looks for two methods that answer one question and surely give a leading feature different places.

    One question: the same measure, or rankings of the prediction by two methods; variants of one method,
    and measures that ask different things (nll and squared error, R-sens and entropy), are not compared.
    Ranks without intervals prove nothing and raise nothing.

    Parameters
    ----------
    top : int
        Leading places; half of the features if they are fewer.
    apart : int
        How many places the two rank intervals must be apart.
    level : float
        Level of the signs of permutation importance, Holm-adjusted over features.
    """

    top: int = 3
    apart: int = 2
    level: float = 0.05

    name: ClassVar[str] = "disagreement"
    title: ClassVar[str] = "Disagreement between methods"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        rules = (
            ("top", isinstance(self.top, int) and self.top >= 1, "an integer >= 1"),
            ("apart", isinstance(self.apart, int) and self.apart >= 1, "an integer >= 1"),
            ("level", 0 < self.level < 1, "a number in (0, 1)"),
        )
        check_options(self.name, self, rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The two rules, with this object's thresholds."""
        return (
            Rule(
                code="UQ601",
                title=CONTRADICT,
                severity="medium",
                when=f"One method's rank interval lies within the first {self.top} (half of the features if fewer), "
                f"another's of the same question starts {self.apart} or more places behind it. Medium if no other "
                "result explains it, low if one does.",
                rests_on=RANKS,
            ),
            Rule(
                code="UQ602",
                title=USELESS,
                severity="medium",
                when=f"Every ranking of the prediction with intervals places the feature within the first {self.top} "
                "(half of the features if fewer), its permutation importance for every loss is about 0 or negative "
                f"(level {self.level:g}, Holm-adjusted over features), and another feature's is positive. Medium, or "
                "low if another result explains it.",
                rests_on=SIGNS,
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the rankings of the run."""
        agreement = run.find("agreement")
        if agreement is None:
            return close(self.name, [Part(code=rule.code, absent=absent(run, "agreement")) for rule in self.rules])
        sure = agreement.estimates[agreement.estimates["lower"].notna()]
        return close(self.name, [self._contradictions(agreement, sure), self._without_benefit(run, sure)])

    def _limit(self, table: pd.DataFrame) -> int:
        """Return the leading places of one ranking."""
        return min(self.top, len(table) // 2)

    def _contradictions(self, agreement: Result, sure: pd.DataFrame) -> Part:
        """Judge every two rankings of one question."""
        pairs = _pairs(sure)
        if not pairs:
            return Part(code="UQ601", absent="no two rankings with intervals answer the same question")
        cases = agreement.meta["disagreements"]
        cut = len(cases) < agreement.meta["n_disagreements"] and cases[-1]["sure"]  # the clearest are listed first
        told: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for case in cases:
            high, low = (_ranking(sure, *key) for key in zip(case["methods"], case["measures"], strict=True))
            if case["sure"] and _same_question(high, low) and self._contradict(high, low, case["feature"]):
                told.setdefault((case["feature"], str(high["role"].iloc[0])), []).append(case)
        return Part(
            code="UQ601",
            findings=tuple(self._contradiction(feature, found, sure) for (feature, _), found in told.items()),
            undecided=("the disagreements that agreement found and does not list",) if cut else (),
            passed=f"No rank interval contradicts another: compared were {'; '.join(pairs)}.",
        )

    def _contradict(self, high: pd.DataFrame, low: pd.DataFrame, feature: str) -> bool:
        places = [table[table["feature"] == feature].iloc[0] for table in (high, low)]
        return places[0]["upper"] <= self._limit(high) and places[1]["lower"] - places[0]["upper"] >= self.apart

    def _contradiction(self, feature: str, cases: Sequence[Mapping[str, Any]], sure: pd.DataFrame) -> Finding:
        """Return the finding for one feature and question, in the words of its clearest pair of methods."""
        clearest = next((case for case in cases if not case["explained"]), cases[0])
        high, low = (_ranking(sure, *key) for key in zip(clearest["methods"], clearest["measures"], strict=True))
        second = low[low["feature"] == feature].iloc[0]
        more = f" So do {len(cases) - 1} more pairs of methods." if len(cases) > 1 else ""
        return Finding(
            code="UQ601",
            title=CONTRADICT,
            severity="low" if all(case["explained"] for case in cases) else "medium",
            statement=f"{clearest['sentence']}{more}",
            evidence=_distinct(["agreement"], *(case["methods"] + case["evidence"] for case in cases)),
            rests_on=RANKS,
            remedy="Say which method's question is the one of the model's use, and quote that ranking.",
            measures=_distinct(*(case["measures"] for case in cases)),
            features=(feature,),
            threshold=float(self._limit(high)),
            observed=float(second["estimate"]),
            lower=float(second["lower"]),
            upper=float(second["upper"]),
        )

    def _without_benefit(self, run: Run, sure: pd.DataFrame) -> Part:
        """Judge whether what drives the prediction lowers a loss."""
        pfi = run.find("pfi")
        if pfi is None:
            return Part(code="UQ602", absent=absent(run, "pfi"))
        losses = [name for name, facts in pfi.meta.get("measures", {}).items() if facts["role"] == "loss"]
        judged = [(name, signs(pfi, name, self.level)) for name in losses]
        leading, methods = self._leading(sure)
        if not methods or not judged:
            reason = "no ranking of the prediction has intervals" if judged else "pfi has no loss"
            return Part(code="UQ602", absent=reason)
        useful = {sign.feature for _, table in judged for sign in table.values() if sign.verdict == "positive"}
        found, undecided = [], []
        for feature in leading:
            own = {name: table[feature] for name, table in judged if feature in table}
            small = all(sign.verdict in ("about 0", "negative") for sign in own.values())
            if own and small and useful - {feature}:
                found.append(self._useless(feature, methods, own, run))
            elif feature not in useful:
                undecided.append(feature)
        helped = f"Each leading driver of the prediction lowers a loss: {listed(leading)}."
        passed = helped if leading else "No feature surely leads in every ranking of the prediction."
        return Part(code="UQ602", findings=tuple(found), undecided=tuple(undecided), passed=passed)

    def _leading(self, sure: pd.DataFrame) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the features that every ranking of the prediction surely places first, and those methods."""
        tables = [table for _, table in sure[sure["role"] == "prediction"].groupby(["item", "measure"], sort=False)]
        first = [set(table.loc[table["upper"] <= self._limit(table), "feature"]) for table in tables]
        leading = sorted(set.intersection(*first)) if first else []
        return tuple(leading), _distinct(*(table["item"] for table in tables))

    def _useless(self, feature: str, methods: tuple[str, ...], own: Mapping[str, Sign], run: Run) -> Finding:
        why, evidence = _explanation(feature, run)
        words = "; ".join(f"{sign.verdict} for {name} ({sign.words('')})" for name, sign in own.items())
        worst = min(own.values(), key=lambda sign: sign.estimate)
        return Finding(
            code="UQ602",
            title=USELESS,
            severity="low" if why else "medium",
            statement=f"{feature} is among the leading drivers of the prediction by {listed(methods)}, but its "
            f"permutation importance is {words}: on these rows the model relies on it without a benefit. "
            + (why or "Not explained by any result here."),
            evidence=_distinct(["agreement", "pfi"], methods, evidence),
            rests_on=SIGNS,
            remedy=f"Refit the model without {feature} and compare the losses.",
            measures=_distinct(own),
            features=(feature,),
            threshold=worst.margin,
            observed=worst.estimate,
            lower=worst.lower,
            upper=worst.upper,
        )


def _ranking(sure: pd.DataFrame, method: str, measure: str) -> pd.DataFrame:
    return sure[(sure["item"] == method) & (sure["measure"] == measure)]


def _same_question(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Say whether two rankings by different methods answer one question, and both have intervals."""
    if one.empty or other.empty:
        return False
    a, b = one.iloc[0], other.iloc[0]
    alike = a["measure"] == b["measure"] or a["role"] == "prediction"
    return bool(a["item"] != b["item"] and a["role"] == b["role"] and alike)


def _pairs(sure: pd.DataFrame) -> tuple[str, ...]:
    """Return the pairs of methods that are compared, and on what."""
    tables = [table for _, table in sure.groupby(["item", "measure"], sort=False)]
    asked = [
        (one["item"].iloc[0], other["item"].iloc[0], _question(one, other))
        for one, other in combinations(tables, 2)
        if _same_question(one, other)
    ]
    return _distinct(f"{a} and {b} on {question}" for a, b, question in asked)


def _question(one: pd.DataFrame, other: pd.DataFrame) -> str:
    """Return what both rankings are about: their measure, or the prediction."""
    measures = _distinct(one["measure"], other["measure"])
    return measures[0] if len(measures) == 1 else str(one["role"].iloc[0])


def _explanation(feature: str, run: Run) -> tuple[str, list[str]]:
    """Return why a driver does not help, where another result says so, and the ids of those results."""
    reasons, evidence = [], []
    train, reading = run.find("pfi.train"), run.find("pfi.reading")
    if train is not None and any(one["feature"] == feature for one in train.meta.get("overfit", ())):
        reasons.append(f"{feature} matters for the loss on the training rows only: the model is over-fitted to it.")
        evidence.append("pfi.train")
    if reading is not None:
        items = dict(zip(reading.frame["feature"], reading.frame["item"], strict=True))
        if items.get(feature) in EXPLAINING:
            reasons.append(str(reading.meta["sentences"][feature]))
            evidence.append("pfi.reading")
    return " ".join(reasons), evidence


def _distinct(*parts: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(name) for part in parts for name in part))
