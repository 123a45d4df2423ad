"""Check of the importance that a model implies against the importance that is realised out of sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import ClassVar, NamedTuple

from scipy.special import stdtr, stdtrit

from ...checks.family import NotJudgedError, Said, TableCheck, family, outcome, together
from ...checks.reading import RuleOutcome, absent, by_reason, freedom, lacking, listed, measure_words, two_sided
from ...checks.rule import Rule
from ...core.model.measures import NLL
from ...core.statistics.verdicts import holm
from ...core.support.errors import check_options
from ...core.support.numbers import number, share_words, value_words
from ...core.support.text import clean, short
from ...evidence import ids
from ...evidence.finding import Outcome, Symptom
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE, ClaimLine, Claims, Pfi
from ...evidence.run import Run
from ...evidence.view import by_feature
from ..shared.checks import line_words, observed, shares

OVER, UNDER = "UQ401", "UQ402"
RESTS_ON = "E[S(q̃, Y) − S(q, Y)] = divergence of q̃ from q if Y follows q, for a proper score S"
NAMED = 3  # features named
_REMEDY_OF_CAUSE = (
    "Check how the feature is populated, coded and signed in both samples. Correct or remove it, then repeat the audit."
)
PASSED = {
    OVER: "The importance implied by the model is realised out of sample.",
    UNDER: "No feature is shown to have a realised importance above the model-implied one.",
}


class Tested(NamedTuple):
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
        """The numbers that the rules judge."""
        missing = self.line.lower / self.claimed if self.claimed > 0 else nan
        return {"p_adjusted": self.p_adjusted, "beyond": self.beyond, "claim": self.claim, "missing": missing}

    @property
    def beyond(self) -> float:
        """How far the interval lies above the margin, or below its negative; at most 0 where it does not."""
        return max(self.line.lower - self.margin, -self.margin - self.line.upper)


OVER_CLAIMED = Rule(
    code=OVER,
    title="Realised importance falls short of model-implied importance",
    options=("level", "min_size", "min_share", "medium", "high"),
    when="Model-implied minus realised importance of all features together, or of one with at least {min_size:pct} of "
    "the largest model-implied importance, is above the margin and above {min_share:pct} of the model-implied one "
    "(level {level}, adjusted over features; lower end of the interval). High if the realisation ratio of all features "
    "together is at most {high:pct}, medium up to {medium:pct}, else low. The features named exceed the limits "
    "themselves, and the 80 % interval of their ratio ends below {high:pct}; the smallest is first. Where a feature's "
    "realised importance is below the margin's negative (one-sided test, level {level}, Holm-adjusted over features), "
    "it makes predictions worse: the lowest that exceeds the limits itself is named alone, as the cause.",
    raised=("p_adjusted <= level and beyond > 0 and claim >= min_size and missing > min_share",),
    grades=("high if share <= high", "medium if share <= medium", "low"),
    rests_on=RESTS_ON,
)
UNDER_CLAIMED = Rule(
    code=UNDER,
    title="Realised importance exceeds model-implied importance",
    options=("level",),
    when="Model-implied minus realised importance of a feature, or of all together, is below the margin's "
    "negative (level {level}, adjusted over features).",
    raised=("p_adjusted <= level and beyond > 0",),
    rests_on=RESTS_ON,
)


@dataclass(frozen=True)
class ClaimsCheck(TableCheck):
    """Compares the importance that a model implies with the importance that is realised out of sample.

    Claimed is the mean divergence of the shuffled rows' distributions from the unchanged ones, delivered the rise of
    the score's loss. If outcomes follow the model both are equal in expectation, for every model and any dependence
    between features. Tests are exact where the evidence has them, else t-tests; Holm-adjusted over features and all
    of them together. An interval that is not to be trusted leaves its feature undecided.

    Parameters
    ----------
    level : float, default=0.05
        Of all tests together.
    min_size : float
        Share of the largest claim from which a feature's claim is large enough to speak of over-claiming.
    min_share : float
        Share of a claim that must be missing, by the lower end of the interval.
    medium, high : float
        Share of all features' claim, delivered by unseen rows, up to which over-claiming is medium or high. Features
        over-claiming by themselves that surely deliver less than `high` of their claim are named, the smallest first.
    """

    level: float = 0.05
    min_size: float = 0.05
    min_share: float = 0.15
    medium: float = 0.8
    high: float = 0.5

    name: ClassVar[str] = "claims"
    title: ClassVar[str] = "Model-implied and realised importance"
    table: ClassVar[tuple[Rule, ...]] = (OVER_CLAIMED, UNDER_CLAIMED)

    def __post_init__(self) -> None:
        """Refuse thresholds that cannot be used."""
        check_options(self.name, self, shares(self, "level", "min_size", "min_share", "high", "medium"))

    def check(self, run: Run) -> Outcome:
        """Judge the run's claims."""
        return outcome(self, run, self._over, _under)

    def _over(self, rule: Rule, run: Run) -> RuleOutcome:
        view = _view(run)
        whole = by_feature(view.part(DIFFERENCE)).get(ALL_FEATURES)
        share = {"share": nan if whole is None else whole.share}
        return _part(
            rule,
            view,
            run,
            1,
            lambda t: t.observed | share,
            lambda *raised: self._claimed(view, whole, raised, freedom(run)),
        )

    def _claimed(self, view: Claims, whole: ClaimLine | None, raised: Sequence[Tested], dof: float) -> Said:
        """Return the finding: with the features that make predictions worse, else with those that deliver least."""
        alone = [t.line.feature for t in raised if t.line.feature != ALL_FEATURES]
        harmful = [line for line in _harmful(view, self.level, dof) if line.feature in alone]
        features = [line.feature for line in harmful[:1]] or self._named(raised, dof)
        singles = (features or ([] if len(alone) < len(raised) else alone))[:NAMED]
        sentences = [f"{'; '.join(_claims(view, feature) for feature in singles)}."] if singles else []
        if whole is not None:  # first where it over-claims itself, else after the features that do
            sentences.insert(0 if len(alone) < len(raised) else 1, f"{_together(view, whole)}.")
        if harmful:
            sentences.insert(0, _worse(harmful))
        return {
            "statement": " ".join(sentences),
            "remedy": _REMEDY_OF_CAUSE
            if harmful
            else "Reduce over-fitting: regularise, and remove memorised features. Look for leaks in the training data.",
            "features": tuple(features),
            "explains": _symptoms(features, whole, cause=bool(harmful)),
            **_about(view, max(raised, key=lambda t: t.beyond).line),
        }

    def _named(self, raised: Sequence[Tested], dof: float) -> list[str]:
        """Return the features that surely deliver little of what they claim, the smallest share first."""
        lines = sorted((t.line for t in raised if t.line.feature != ALL_FEATURES), key=lambda line: line.share)
        return [line.feature for line in lines if _upper_80(line, dof) < self.high]


def _upper_80(line: ClaimLine, dof: float) -> float:
    """Return the upper end of the 80 % interval of a share."""
    narrower = stdtrit(dof, 0.9) / stdtrit(dof, 0.5 + line.confidence / 2)
    return float(line.share + narrower * (line.share_upper - line.share))


def _view(run: Run) -> Claims:
    """Return the claims; without any the rules are not judged, with the reason."""
    view = Claims.find(run)
    if view is None:
        raise NotJudgedError(_unclaimed(run))
    if not view.part(DIFFERENCE):
        raise NotJudgedError(_unjudged(view))
    return view


def _part(
    rule: Rule,
    view: Claims,
    run: Run,
    side: int,
    numbers: Callable[[Tested], dict[str, float]],
    said: Callable[..., Said],
) -> RuleOutcome:
    """Judge the differences above 0 (`side` 1), or all others; intervals not to be trusted leave theirs undecided."""
    table = differences(view, run)
    reasons = {t.line.feature: t.line.unreliable or "no interval" * isnan(t.p_adjusted) for t in table}
    doubted = by_reason({feature: reason for feature, reason in reasons.items() if reason})
    sure = [t for t in table if not reasons[t.line.feature] and (t.line.estimate > 0) == (side > 0)]
    passed = PASSED[rule.code]
    return family(rule, sure, numbers, said, by=together, undecided=lambda _: doubted, passed=passed)


def _unclaimed(run: Run) -> str:
    """Say why there are no claims: permutation importance did not run, or there is no proper score to claim in."""
    pfi = Pfi.find(run)
    if pfi is None:
        return absent(run, ids.PFI_CLAIMS)
    reasons = (clean(gap.reason) for gap in pfi.omissions if gap.measure == CLAIMED)
    return next(reasons, lacking(pfi, NLL.name))


def _unjudged(view: Claims) -> str:
    """Say why nothing can be compared."""
    if view.lines:
        return "realised importance needs outcomes, which were not given"
    reasons = dict.fromkeys(clean(gap.reason) for gap in view.omissions)
    return (
        f"model-implied importance could not be computed: {listed(reasons)}"
        if reasons
        else "model-implied importance could not be computed"
    )


def _harmful(view: Claims, level: float, dof: float) -> list[ClaimLine]:
    """Return the features whose delivered importance is below the margin's negative, the lowest first."""
    lines = [x for x in view.part(DELIVERED) if x.feature != ALL_FEATURES and not x.unreliable]
    tests = [_p_below(-view.margin - x.estimate, x.std_error, dof) for x in lines]
    below = [x for x, p in zip(lines, holm(tests).tolist(), strict=True) if p <= level]
    return sorted(below, key=lambda line: line.estimate)


def _p_below(excess: float, std_error: float, dof: float) -> float:
    return float(not excess > 0) if std_error == 0 else float(stdtr(dof, -excess / std_error))


def _worse(lines: Sequence[ClaimLine]) -> str:
    """Say by how much permuting the first of the features lowers the loss, and which others do so."""
    first = lines[0]
    size = value_words(-first.estimate, -first.upper, -first.lower, _unit(first).strip(), confidence=first.confidence)
    others = f"; so does {listed(line.feature for line in lines[1:])}" if len(lines) > 1 else ""
    words = f"On these observations {short(first.feature)} makes predictions worse"
    return f"{words}: permuting it lowers the loss by {size}{others}."


def _symptoms(features: Sequence[str], whole: ClaimLine | None, *, cause: bool) -> tuple[Symptom, ...]:
    """Return what over-claiming explains: what is left for others, and where it has a place, the bad fit as a whole.

    That the model is of no use it explains only where unseen rows confirm some of what is claimed, or where a feature
    makes predictions worse. Such a feature may also be what puts rows outside the training domain.
    """
    confirmed = cause or (whole is not None and whole.share_lower > 0)
    codes = (UNDER, *(("UQ101",) if features else ()), *(("UQ001", "UQ003") if features and confirmed else ()))
    return tuple(Symptom(code=code) for code in (*codes, *(("UQ123", "UQ301") if cause else ())))


def differences(view: Claims, run: Run) -> list[Tested]:
    """Return every difference with its p-value, Holm-adjusted over features and all of them together."""
    lines, claims = view.part(DIFFERENCE), by_feature(view.part(CLAIMED))
    largest = max((claim.estimate for name, claim in claims.items() if name != ALL_FEATURES), default=nan)
    tested = two_sided([line.estimate for line in lines], [line.std_error for line in lines], freedom(run))
    p_values = [t if isnan(line.p_value) else line.p_value for line, t in zip(lines, tested.tolist(), strict=True)]
    rows = [(line, p, claims[line.feature].estimate) for line, p in zip(lines, holm(p_values).tolist(), strict=True)]
    return [Tested(line, p, view.margin, claim, claim / largest if largest > 0 else nan) for line, p, claim in rows]


def _together(view: Claims, whole: ClaimLine) -> str:
    """State the model-implied and the realised importance of all features together, and their ratio."""
    claimed, delivered = (number(line.estimate, 2) + _unit(line) for line in _sides(view, ALL_FEATURES))
    share = f", or {share_words(whole.share, whole.share_lower, whole.share_upper)}," if isfinite(whole.share) else ""
    return (
        f"By the model's own distributions, permuting all features together increases the loss by {claimed} per "
        f"observation; {delivered}{share} of this is realised out of sample"
    )


def _sides(view: Claims, feature: str) -> tuple[ClaimLine, ClaimLine]:
    """Return the model-implied and the realised importance of a feature."""
    return by_feature(view.part(CLAIMED))[feature], by_feature(view.part(DELIVERED))[feature]


def _claims(view: Claims, feature: str) -> str:
    claimed, delivered = _sides(view, feature)
    value = line_words(delivered, _unit(delivered).strip())
    implied = f"a model-implied importance of {number(claimed.estimate, 2)}{_unit(claimed)}"
    return f"{_called([feature])}: {implied}, a realised importance of {value}"


def _called(features: Sequence[str]) -> str:
    """Return features in words, all of them together included."""
    return listed("all features together" if feature == ALL_FEATURES else short(feature) for feature in features)


def _under(rule: Rule, run: Run) -> RuleOutcome:
    view = _view(run)
    return _part(rule, view, run, -1, lambda t: t.observed, lambda *raised: _underclaimed(view, raised))


def _underclaimed(view: Claims, raised: Sequence[Tested]) -> Said:
    lines = sorted((t.line for t in raised), key=lambda line: line.estimate)
    names = [line.feature for line in lines]
    return {
        "statement": f"Permuting {_called(names)} increases the loss by more than the model implies. "
        f"{_claims(view, names[0])}.",
        "remedy": "Try a weaker penalty or a richer model. Compare the loss on held-out observations.",
        "features": tuple(name for name in names if name != ALL_FEATURES),
        **_about(view, lines[0]),
    }


def _about(view: Claims, worst: ClaimLine) -> Said:
    evidence = (view.id, ids.PFI)
    return {"evidence": evidence, "measures": (worst.measure,), "threshold": view.margin, **observed(worst)}


def _unit(line: ClaimLine) -> str:
    """Return the unit of a claim with the blank before it."""
    return " nats" if line.measure == NLL.name else f" of {measure_words(line.measure)}"
