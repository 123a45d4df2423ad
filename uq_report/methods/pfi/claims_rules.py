"""Over- and under-claiming: whether unseen rows confirm what the model claims its features to be worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import ClassVar, NamedTuple

from ...core.errors import check_options
from ...core.measures import NLL
from ...core.numbers import number, share_words, value_words
from ...core.text import clean, short
from ...core.verdicts import holm
from ...evidence import ids
from ...evidence.finding import Finding, Outcome, Symptom
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, ClaimLine, Claims, Pfi
from ...evidence.run import Run
from ...evidence.view import by_feature
from ...rules.reading import Part, absent, by_reason, close, freedom, lacking, listed, measure_words, two_sided
from ...rules.rule import Grade, Limit, Rule

OVER, UNDER = "UQ401", "UQ402"
RESTS_ON = "E[S(q̃, Y) − S(q, Y)] = divergence of q̃ from q if Y follows q, for a proper score S (docs/claims.md)"
LEAST = 3  # features named


class Seen(NamedTuple):
    """A difference of claimed and delivered importance, with its p-value adjusted over all of them.

    `claimed` is what is claimed, `claim` the same as a share of the largest claim of a feature.
    """

    line: ClaimLine
    p_adjusted: float
    margin: float
    claimed: float
    claim: float

    @property
    def observed(self) -> dict[str, float]:
        """What the rule on over-claiming judges."""
        part = self.line.lower / self.claimed if self.claimed > 0 else nan
        return {"p_adjusted": self.p_adjusted, "beyond": self.beyond, "claim": self.claim, "part": part}

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
    of them together. An interval that is not to be trusted leaves its feature undecided.

    Parameters
    ----------
    level : float, default=0.05
        Of all tests together.
    least : float
        Share of the largest claim from which a feature's claim is large enough to speak of over-claiming.
    part : float
        Share of a claim that must be missing, by the lower end of the interval.
    medium, high : float
        Share of all features' claim, delivered by unseen rows, up to which over-claiming is medium or high. Features
        over-claiming by themselves that deliver less than `high` of their claim are named, the smallest share first.
    """

    level: float = 0.05
    least: float = 0.05
    part: float = 0.05
    medium: float = 0.8
    high: float = 0.5

    name: ClassVar[str] = "claims"
    title: ClassVar[str] = "Claimed and delivered importance"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        names = ("level", "least", "part", "high", "medium")
        check_options(self.name, self, tuple((key, 0 < getattr(self, key) < 1, "a number in (0, 1)") for key in names))

    @property
    def rules(self) -> tuple[Rule, Rule]:
        """The two rules, with this check's thresholds."""
        surely = {"p_adjusted": Limit("at most", "level"), "beyond": Limit("above", 0)}
        return (
            Rule(
                code=OVER,
                title="The model claims more than unseen rows confirm",
                thresholds={
                    "level": self.level,
                    "least": self.least,
                    "part": self.part,
                    "high": self.high,
                    "medium": self.medium,
                },
                when="Claimed less delivered importance of all features together, or of one that claims at least "
                "{least:pct} of the largest claim of one, is above the margin and above {part:pct} of the claim (level "
                "{level}, adjusted over features; lower end of the interval). "
                "High if unseen rows confirm at most {high:pct} of what all features together claim, medium up to "
                "{medium:pct}, else low. Named are features that do so themselves and deliver less than {high:pct} of "
                "their claim, the smallest share first.",
                raised=({**surely, "claim": Limit("at least", "least"), "part": Limit("above", "part")},),
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
                raised=(surely,),
                grades=(Grade("observation"),),
                rests_on=RESTS_ON,
            ),
        )

    def check(self, run: Run) -> Outcome:
        """Judge the run's claims."""
        view = Claims.find(run)
        if view is None or not view.part(DIFFERENCE):
            reason = _no_claims(run) if view is None else _unjudged(view)
            return close(self.name, [Part(code=rule.code, absent=reason) for rule in self.rules])
        over, under = self.rules
        table = differences(view, run)
        reasons = {s.line.feature: s.line.distrust or "no interval" * isnan(s.p_adjusted) for s in table}
        doubted = by_reason({feature: reason for feature, reason in reasons.items() if reason})
        table = [s for s in table if not reasons[s.line.feature]]
        claimed = [s for s in table if s.is_over and over.judge(**s.observed)]
        unused = [s for s in table if not s.is_over and under.judge(p_adjusted=s.p_adjusted, beyond=s.beyond)]
        return close(
            self.name,
            [
                Part(
                    code=OVER,
                    findings=(self._over(over, view, claimed),) if claimed else (),
                    undecided=doubted,
                    passed="Unseen rows confirm what the model claims its features to be worth.",
                ),
                Part(
                    code=UNDER,
                    findings=(_under(under, view, unused),) if unused else (),
                    undecided=doubted,
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
        severity = rule.judge(**worst.observed, share=share) or rule.severity
        features = self._named(raised)
        unit = _unit(worst.line)
        parts = [f"{_together(whole, claimed, delivered, unit)}."] if whole is not None else []
        named = features[:LEAST] if parts else [s.line.feature for s in raised]
        singles = "; ".join(_claims(name, claimed[name], delivered[name], unit) for name in named)
        parts += [f"{singles}."] if singles else []
        return rule.finding(
            severity,
            " ".join(parts),
            (view.id, ids.PFI),
            remedy="Regularise the model, and leave out what it learnt by heart. Look for leaks in the training data.",
            measures=(worst.line.measure,),
            features=tuple(features),
            threshold=view.margin,
            observed=worst.line.estimate,
            lower=worst.line.lower,
            upper=worst.line.upper,
            explains=_symptoms(features, whole),
        )

    def _named(self, raised: Sequence[Seen]) -> list[str]:
        """Return the features that deliver little of what they claim, the smallest share first."""
        lines = sorted((s.line for s in raised if s.line.feature != ALL_FEATURES), key=lambda line: line.share)
        return [line.feature for line in lines if line.share < self.high]


def _no_claims(run: Run) -> str:
    """Say why there is no claim: pfi did not run, or the distribution has no proper score."""
    pfi = Pfi.find(run)
    return absent(run, ids.PFI_CLAIMS) if pfi is None else lacking(pfi, NLL.name)


def _unjudged(view: Claims) -> str:
    """Say why nothing can be compared."""
    if view.lines:
        return "there are no outcomes to show what is delivered"
    reasons = dict.fromkeys(clean(gap.reason) for gap in view.omissions)
    return f"no claim could be computed: {listed(reasons)}" if reasons else "no claim could be computed"


def _symptoms(features: Sequence[str], whole: ClaimLine | None) -> tuple[Symptom, ...]:
    """Return what over-claiming explains: what is left for others, and where it has a place, the bad fit as a whole.

    That the model is of no use it explains only where unseen rows confirm some of what is claimed.
    """
    confirmed = whole is not None and whole.share_lower > 0
    codes = (UNDER, *(("UQ101",) if features else ()), *(("UQ001", "UQ003") if features and confirmed else ()))
    return tuple(Symptom(code=code) for code in codes)


def differences(view: Claims, run: Run) -> list[Seen]:
    """Return every difference with its p-value, Holm-adjusted over features and all of them together."""
    lines, claims = view.part(DIFFERENCE), by_feature(view.part(CLAIMED))
    largest = max((claim.estimate for name, claim in claims.items() if name != ALL_FEATURES), default=nan)
    shares = {name: claim.estimate / largest if largest > 0 else nan for name, claim in claims.items()}
    tested = two_sided([s.estimate for s in lines], [s.std_error for s in lines], freedom(run))
    p_values = [t if isnan(line.p_value) else line.p_value for line, t in zip(lines, tested.tolist(), strict=True)]
    adjusted = holm(p_values).tolist()
    return [
        Seen(x, float(p), view.margin, claims[x.feature].estimate, shares[x.feature])
        for x, p in zip(lines, adjusted, strict=True)
    ]


def _together(whole: ClaimLine, claimed: dict[str, ClaimLine], delivered: dict[str, ClaimLine], unit: str) -> str:
    """Say what all features together claim and deliver, and the share with its interval."""
    K, L = claimed[ALL_FEATURES].estimate, delivered[ALL_FEATURES].estimate
    share = f", {share_words(whole.share, whole.share_lower, whole.share_upper)}" if isfinite(whole.share) else ""
    return (
        f"The model claims that wrong values of all features together cost {number(K, 2)}{unit} a row; unseen rows "
        f"confirm {number(L, 2)}{unit}{share}"
    )


def _claims(feature: str, claimed: ClaimLine, delivered: ClaimLine, unit: str) -> str:
    got = value_words(delivered.estimate, delivered.lower, delivered.upper, unit.strip())
    return f"{_called([feature])} claims {number(claimed.estimate, 2)}{unit} and delivers {got}"


def _called(features: Sequence[str]) -> str:
    """Return features in words, all of them together included."""
    return listed("all features together" if feature == ALL_FEATURES else short(feature) for feature in features)


def _under(rule: Rule, view: Claims, raised: Sequence[Seen]) -> Finding:
    names = [s.line.feature for s in sorted(raised, key=lambda s: s.line.estimate)]
    claimed, delivered = (by_feature(view.part(item)) for item in (CLAIMED, DELIVERED))
    worst = min(raised, key=lambda s: s.line.estimate).line
    unit = _unit(worst)
    return rule.finding(
        rule.severity,
        f"Wrong values of {_called(names)} cost more on unseen rows than the model expects: "
        f"{_claims(names[0], claimed[names[0]], delivered[names[0]], unit)}.",
        (view.id, ids.PFI),
        remedy="Try a weaker penalty or a richer model. Compare the loss on held-out rows.",
        measures=(worst.measure,),
        features=tuple(name for name in names if name != ALL_FEATURES),
        threshold=view.margin,
        observed=worst.estimate,
        lower=worst.lower,
        upper=worst.upper,
    )


def _unit(line: ClaimLine) -> str:
    """Return the unit of a claim with the blank before it."""
    return " nats" if line.measure == NLL.name else f" of {measure_words(line.measure)}"
