"""Over- and under-claiming: whether unseen rows confirm what the model claims its features to be worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import ClassVar, NamedTuple

from ..core.errors import check_options
from ..core.measures import NLL
from ..core.text import short
from ..core.verdicts import holm
from ..evidence import ids
from ..evidence.finding import Finding, Outcome, Symptom
from ..evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, ClaimLine, Claims
from ..evidence.run import Run
from ..evidence.view import by_feature
from ..rules.reading import Part, absent, close, freedom, listed, two_sided
from ..rules.rule import Grade, Limit, Rule

OVER, UNDER = "UQ401", "UQ402"
RESTS_ON = "E[S(q̃, Y) − S(q, Y)] = divergence of q̃ from q if Y follows q, for a proper score S (METHODS: claims)"
LEAST = 3  # features named


class Seen(NamedTuple):
    """A difference of claimed and delivered importance, with its p-value adjusted over all of them."""

    line: ClaimLine
    p_adjusted: float
    margin: float

    @property
    def beyond(self) -> float:
        """How far the interval lies above the margin, or below its negative; at most 0 where it does not."""
        return max(self.line.lower - self.margin, -self.margin - self.line.upper)

    @property
    def is_over(self) -> bool:
        """Whether more is claimed than delivered."""
        return self.line.estimate > 0


@dataclass(frozen=True)
class ClaimsCheck:
    """Holds the importance that a model claims against the importance that unseen rows deliver.

    Claimed is the mean divergence of the shuffled rows' distributions from the unchanged ones, delivered the rise of
    the score's loss. If outcomes follow the model both are equal in expectation, for every model and any dependence
    between features. Tests are exact where the evidence has them, else t-tests; Holm-adjusted over features and all
    of them together.

    Parameters
    ----------
    level : float, default=0.05
        Of all tests together.
    medium, high : float
        Share of all features' claim, delivered by unseen rows, up to which over-claiming is medium or high. Features
        that deliver less than `high` of their own claim, interval included, are named.
    """

    level: float = 0.05
    medium: float = 0.8
    high: float = 0.5

    name: ClassVar[str] = "claims"
    title: ClassVar[str] = "Claimed and delivered importance"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        rules = ((key, 0 < getattr(self, key) < 1, "a number in (0, 1)") for key in ("level", "high", "medium"))
        check_options(self.name, self, tuple(rules))

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The two rules, with this check's thresholds."""
        significant, beyond = Limit("at most", "level"), Limit("above", 0)
        raised = ({"p_adjusted": significant, "beyond": beyond},)
        return (
            Rule(
                code=OVER,
                title="The model claims more than unseen rows confirm",
                thresholds={"level": self.level, "high": self.high, "medium": self.medium},
                when="Claimed less delivered importance of a feature, or of all together, is above the margin (level "
                "{level}, adjusted over features). High if unseen rows confirm at most {high:pct} of what all features "
                "together claim, medium up to {medium:pct}, else low. Named are features that deliver less than "
                "{high:pct} of their claim, the largest gap first, down to {high:pct} of it.",
                raised=raised,
                grades=(
                    Grade("high", {"share": Limit("at most", "high")}),
                    Grade("medium", {"share": Limit("at most", "medium")}),
                    Grade("low"),
                ),
                rests_on=RESTS_ON,
            ),
            Rule(
                code=UNDER,
                title="The model makes less of a feature than it could",
                thresholds={"level": self.level},
                when="Claimed less delivered importance of a feature, or of all together, is below the margin's "
                "negative (level {level}, adjusted over features).",
                raised=raised,
                grades=(Grade("observation"),),
                rests_on=RESTS_ON,
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's claims."""
        view = Claims.find(run)
        if view is None or not view.lines:
            reason = absent(run, ids.PFI_CLAIMS) if view is None else "no claim could be computed"
            return close(self.name, [Part(code=rule.code, absent=reason) for rule in self.rules])
        over, under = self.rules
        table = differences(view, run)
        claimed = [s for s in table if s.is_over and over.judge(p_adjusted=s.p_adjusted, beyond=s.beyond)]
        unused = [s for s in table if not s.is_over and under.judge(p_adjusted=s.p_adjusted, beyond=s.beyond)]
        return close(
            self.name,
            [
                Part(
                    code=OVER,
                    findings=(self._over(over, view, claimed),) if claimed else (),
                    passed="Unseen rows confirm what the model claims its features to be worth.",
                ),
                Part(
                    code=UNDER,
                    findings=(_under(under, view, unused),) if unused else (),
                    passed="No feature is shown to be worth more than the model makes of it.",
                ),
            ],
        )

    def _over(self, rule: Rule, view: Claims, raised: Sequence[Seen]) -> Finding:
        """Return the finding, with the features that deliver least of what they claim, worst first."""
        claimed, delivered = (by_feature(view.part(item)) for item in (CLAIMED, DELIVERED))
        whole = by_feature(view.part(DIFFERENCE)).get(ALL_FEATURES)
        share = whole.share if whole is not None else nan
        worst = max(raised, key=lambda seen: seen.beyond)
        severity = rule.judge(p_adjusted=worst.p_adjusted, beyond=worst.beyond, share=share) or rule.severity
        features = self._named(raised)
        unit = _unit(worst.line)
        parts = [_together(whole, claimed, delivered, unit)] if whole is not None else []
        parts += [_claims(name, claimed[name], delivered[name], unit) for name in features[:LEAST]]
        if not parts:
            parts = [_claims(s.line.feature, claimed[s.line.feature], delivered[s.line.feature], unit) for s in raised]
        return rule.finding(
            severity,
            " ".join(parts),
            (view.id, ids.PFI),
            remedy="Regularise the model, leave out what it learnt by heart, look for columns that leak in training.",
            measures=(worst.line.measure,),
            features=tuple(features),
            threshold=view.margin,
            observed=worst.line.estimate,
            lower=worst.line.lower,
            upper=worst.line.upper,
            explains=_symptoms(features),
        )

    def _named(self, raised: Sequence[Seen]) -> list[str]:
        """Return the features that deliver least of what they claim, the largest gap first."""
        single = sorted((s.line for s in raised if s.line.feature != ALL_FEATURES), key=lambda line: -line.estimate)
        largest = single[0].estimate if single else nan
        return [
            line.feature for line in single if line.share_upper < self.high and line.estimate >= self.high * largest
        ]


def _symptoms(features: Sequence[str]) -> tuple[Symptom, ...]:
    """Return what over-claiming explains: what is left for others, and where it has a place, the bad fit as a whole."""
    return tuple(Symptom(code=code) for code in ((UNDER, "UQ101", "UQ001") if features else (UNDER,)))


def differences(view: Claims, run: Run) -> list[Seen]:
    """Return every difference with its p-value, Holm-adjusted over features and all of them together."""
    lines = view.part(DIFFERENCE)
    tested = two_sided([s.estimate for s in lines], [s.std_error for s in lines], freedom(run))
    p_values = [t if isnan(line.p_value) else line.p_value for line, t in zip(lines, tested.tolist(), strict=True)]
    return [Seen(line, float(p), view.margin) for line, p in zip(lines, holm(p_values).tolist(), strict=True)]


def _together(whole: ClaimLine, claimed: dict[str, ClaimLine], delivered: dict[str, ClaimLine], unit: str) -> str:
    """Say what all features together claim and deliver, and the share with its interval."""
    K, L = claimed[ALL_FEATURES].estimate, delivered[ALL_FEATURES].estimate
    share = f"{100 * whole.share:.0f} %" if isfinite(whole.share) else "no share"
    low, high = 100 * whole.share_lower, 100 * whole.share_upper
    around = f" ({low:.0f} to {high:.0f} %)" if isfinite(low) else ""
    return (
        f"The model claims that wrong values of all features together cost {K:.2g} {unit} a row; unseen rows confirm "
        f"{_signed(L)} {unit}, {share} of it{around}.".replace("  ", " ")
    )


def _claims(feature: str, claimed: ClaimLine, delivered: ClaimLine, unit: str) -> str:
    return (
        f"{short(feature)} claims {claimed.estimate:.2g} {unit} and delivers {_signed(delivered.estimate)}, between "
        f"{_signed(delivered.lower)} and {_signed(delivered.upper)}."
    )


def _under(rule: Rule, view: Claims, raised: Sequence[Seen]) -> Finding:
    names = [s.line.feature for s in sorted(raised, key=lambda s: s.line.estimate)]
    claimed, delivered = (by_feature(view.part(item)) for item in (CLAIMED, DELIVERED))
    worst = min(raised, key=lambda s: s.line.estimate).line
    unit = _unit(worst)
    return rule.finding(
        rule.severity,
        f"Wrong values of {listed(names)} cost more on unseen rows than the model expects: "
        f"{_claims(names[0], claimed[names[0]], delivered[names[0]], unit)} It could make more of them.",
        (view.id, ids.PFI),
        remedy="Try a weaker penalty or a richer model, and compare the likelihood on held-out rows.",
        measures=(worst.measure,),
        features=tuple(name for name in names if name != ALL_FEATURES),
        threshold=view.margin,
        observed=worst.estimate,
        lower=worst.lower,
        upper=worst.upper,
    )


def _unit(line: ClaimLine) -> str:
    return "nats" if line.measure == NLL.name else f"of {line.measure.capitalize()} score"


def _signed(value: float) -> str:
    return f"{value:.2g}".replace("-", "−")
