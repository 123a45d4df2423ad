"""Groups: whether errors or uncertainty differ by a protected attribute, and whether the model reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.errors import check_options
from ..core.finding import Finding, Outcome, Rule
from ..core.results import Result
from ..core.run import Run
from ..core.text import clean, short
from ..core.verdicts import holm
from ._groups_drivers import DRIVER, MITCHELL, drivers, spanned_line
from ._reading import Part, absent, close, lines, listed

DIFFERS = "The model's errors differ for a group"
MISSTATED = "The model's uncertainty is misstated for a group"
UNJUDGED = "Groups are too small to be judged"
GAP_RESTS = "E_q[-log q(Y)] = H(q): nll and entropy agree on average in any group of rows when y follows the model"
LOSSES = ("brier", "squared_error")
RATES = ("coverage_90", "false_positive_rate", "false_negative_rate")
WORDS = {
    "brier": "Brier score",
    "squared_error": "squared error",
    "confidence_gap": "confidence gap",
    "coverage_90": "coverage of the central 90 % intervals",
    "false_positive_rate": "false-positive rate at a probability of 0.5",
    "false_negative_rate": "false-negative rate at a probability of 0.5",
}


@dataclass(frozen=True)
class GroupsCheck:
    """Judges errors and uncertainty by protected attribute.

    UQ801 and UQ802 share `level` in halves, each Holm-adjusted over all its groups and measures, so that
    both together raise something in at most that share of audits of a model that treats all groups alike.

    Parameters
    ----------
    level : float
    loss : float
        Difference of the usual loss that matters, as a share of the loss of all rows.
    rate : float
        Difference of coverage or of an error rate that matters.
    effect : float
        Confidence gap, or difference of two, that matters, in nats.
    proxy : float
        Association with a protected attribute (0 to 1) from which a feature is its proxy.
    skill : float
        Out-of-bag R² from which all features together are one.
    """

    level: float = 0.05
    loss: float = 0.1
    rate: float = 0.05
    effect: float = 0.05
    proxy: float = 0.5
    skill: float = 0.5

    name: ClassVar[str] = "groups"
    title: ClassVar[str] = "Groups and protected attributes"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        shares = ("level", "rate", "proxy", "skill")
        rules = (
            *((name, 0 < getattr(self, name) < 1, "a number in (0, 1)") for name in shares),
            ("loss", self.loss > 0, "a number > 0"),
            ("effect", self.effect > 0, "a number > 0"),
        )
        check_options(self.name, self, rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The four rules, with this check's thresholds."""
        adjusted = f"level {self.level / 2:g}, Holm-adjusted over groups and measures"
        return (
            Rule(
                code="UQ801",
                title=DIFFERS,
                severity="high",
                when=f"A group differs from the rest ({adjusted}) and by at least {100 * self.loss:g} % of the overall "
                f"loss, {100 * self.rate:g} percentage points of coverage or an error rate, or {self.effect:g} nats of "
                "confidence gap. High if the interval of the difference lies beyond that, else medium.",
                rests_on=MITCHELL,
            ),
            Rule(
                code="UQ802",
                title=MISSTATED,
                severity="high",
                when=f"The confidence gap of a group is not 0 ({adjusted}) and at least {self.effect:g} nats. High if "
                "the interval lies beyond that, else medium.",
                rests_on=GAP_RESTS,
            ),
            Rule(
                code="UQ803",
                title=DRIVER,
                severity="medium",
                when="The permutation importance of a protected attribute, or of a feature associated with it by at "
                f"least {self.proxy:g}, is positive (level {self.level:g}, Holm-adjusted over these features and all "
                f"measures). Observation if all features together tell the attribute with an R² above {self.skill:g}.",
                rests_on=MITCHELL,
            ),
            Rule(
                code="UQ804",
                title=UNJUDGED,
                severity="observation",
                when="A group has fewer rows or clusters than the least that is shown, or would give away one.",
                rests_on=MITCHELL,
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's results by group."""
        result = run.find("groups")
        if result is None:
            reason = absent(run, "groups")
            return close(self.name, [Part(code=rule.code, absent=reason) for rule in self.rules])
        return close(
            self.name, [self._differs(run), self._misstated(result), drivers(run, result, self), _small(result)]
        )

    def _margin(self, line: Mapping[Any, Any]) -> float:
        """Return the smallest difference that matters for a measure."""
        if line["measure"] in LOSSES:
            return self.loss * abs(float(line["overall"]))
        return self.rate if line["measure"] in RATES else self.effect

    def _differs(self, run: Run) -> Part:
        table = lines(run.find("groups.difference"))
        table = table[table["p_value"].notna()] if len(table) else table
        if not len(table):
            return Part(code="UQ801", absent="no difference between groups could be tested")
        found, unsure = [], []
        for line, p in zip(table.to_dict("records"), holm(table["p_value"]), strict=True):
            margin = self._margin(line)
            if p <= self.level / 2 and abs(float(line["estimate"])) >= margin:
                found.append(self._difference(line, float(p), margin))
            elif max(abs(float(line["lower"])), abs(float(line["upper"]))) >= margin:
                unsure.append(f"{WORDS.get(line['measure'], line['measure'])} of {_group(line)}")
        passed = f"No group differs from the rest beyond the margins, by {len(table)} differences."
        return Part(code="UQ801", findings=tuple(found), undecided=tuple(unsure), passed=passed)

    def _difference(self, line: Mapping[Any, Any], p: float, margin: float) -> Finding:
        unit = str(line["unit"])
        beyond = line["lower"] >= margin or line["upper"] <= -margin
        return Finding(
            code="UQ801",
            title=DIFFERS,
            severity="high" if beyond else "medium",
            statement=f"For {_group(line)} ({line['n']} rows) the {WORDS.get(line['measure'], line['measure'])} "
            f"differs from that of the other {line['n_rest']} rows by {spanned_line(line, unit)} (adjusted p = "
            f"{p:.2g}). The estimate is at least the margin of {margin:.3g}.",
            evidence=("groups.difference", "groups"),
            rests_on=MITCHELL,
            remedy="Look at the group by itself; say why its errors differ, or train and calibrate for it.",
            measures=(str(line["measure"]),),
            features=(str(line["feature"]),),
            threshold=margin,
            observed=float(line["estimate"]),
            lower=float(line["lower"]),
            upper=float(line["upper"]),
        )

    def _misstated(self, result: Result) -> Part:
        table = lines(result, measure="confidence_gap")
        table = table[(table["feature"] != "") & table["p_value"].notna()] if len(table) else table
        if not len(table):
            return Part(code="UQ802", absent="no group has a confidence gap")
        found, unsure = [], []
        for line, p in zip(table.to_dict("records"), holm(table["p_value"]), strict=True):
            if p <= self.level / 2 and abs(float(line["estimate"])) >= self.effect:
                found.append(self._gap(line, float(p)))
            elif not (abs(float(line["lower"])) < self.effect and abs(float(line["upper"])) < self.effect):
                unsure.append(_group(line))
        passed = f"The confidence gap of each of {len(table)} groups lies within ±{self.effect:g} nats."
        return Part(code="UQ802", findings=tuple(found), undecided=tuple(unsure), passed=passed)

    def _gap(self, line: Mapping[Any, Any], p: float) -> Finding:
        side = "over-confident" if line["estimate"] > 0 else "under-confident"
        beyond = line["lower"] >= self.effect or line["upper"] <= -self.effect
        return Finding(
            code="UQ802",
            title=MISSTATED,
            severity="high" if beyond else "medium",
            statement=f"For {_group(line)} ({line['n']} rows) the model is {side}: confidence gap "
            f"{spanned_line(line, 'nats')} (adjusted p = {p:.2g}). Its entropy misstates this group's uncertainty.",
            evidence=("groups",),
            rests_on=GAP_RESTS,
            remedy="Recalibrate on rows of this group, or report its uncertainty with this gap.",
            measures=("confidence_gap", "nll", "entropy"),
            features=(str(line["feature"]),),
            threshold=self.effect,
            observed=float(line["estimate"]),
            lower=float(line["lower"]),
            upper=float(line["upper"]),
        )


def _small(result: Result) -> Part:
    """Say which groups are not shown; never how small they are."""
    known = result.meta.get("attributes", {})
    least = int(result.meta.get("n_min", 0))
    found = []
    for name, facts in known.items():
        if facts["withheld"]:
            found.append(
                Finding(
                    code="UQ804",
                    title=UNJUDGED,
                    severity="observation",
                    statement=f"Of {short(name)}, {listed(map(clean, facts['withheld']))} cannot be judged: fewer than "
                    f"{least} rows or clusters, or held back to protect such a group. Nothing is known there.",
                    evidence=("groups",),
                    rests_on=MITCHELL,
                    remedy="Audit the model on more rows of these groups.",
                    features=(name,),
                    threshold=float(least),
                )
            )
    return Part(code="UQ804", findings=tuple(found), passed=f"Every group has at least {least} rows or clusters.")


def _group(line: Mapping[Any, Any]) -> str:
    return f"{short(line['feature'])} = {clean(line['item'])}"
