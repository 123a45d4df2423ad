"""Dependence: importance that partners hide, losses that are not signalled, pairs that repeat."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import stdtrit

from ...checks import reading
from ...checks.family import Judge, Said, TableCheck, family, needed, require, together
from ...checks.reading import RuleOutcome, and_with, listed, two_sided
from ...checks.rule import Rule
from ...core.model.measures import ENTROPY, NLL, NLL_CLIPPED
from ...core.statistics.verdicts import holm
from ...core.support import options as opt
from ...core.support.arrays import FloatArray
from ...core.support.numbers import fixed, number, places, share_words, unit_phrase, value_words
from ...core.support.text import short
from ...evidence import ids
from ...evidence.importance import POSITIVE, UNDETERMINED, CoverCorrected, CoverCorrectedLine, Pfi, PfiDelta
from ...evidence.information import WITHOUT_TARGET, RedundancyLine, RedundancyPartner, RedundancyView
from ...evidence.outcomes import LOG_SCORE_SKILL, scores_of
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ...evidence.view import by_feature, of_measure
from ..shared.checks import about

LEADING = 3  # places of the ranking that the sentence of UQ201 looks at

HIDDEN = Rule.stated("UQ201")
UNNOTICED = Rule.stated("UQ202")
REPEATED = Rule.stated("UQ203")


def _hidden(rule: Rule, run: Run) -> RuleOutcome:
    """Judge importance with the partners lost too against importance alone, features with partners only."""
    view = needed(CoverCorrected, run)
    measure = _main_loss(view)
    require(measure, reading.lacking(view, NLL.name))
    lines = [line for line in of_measure(view.lines, measure) if view.partners.get(line.feature)]
    lines.sort(key=lambda line: -line.change)
    excess = np.array([line.change - line.margin for line in lines])
    errors = np.array([nan if line.unreliable else line.change_std_error for line in lines])
    return family(
        rule,
        lines,
        lambda x: {"beyond": x.change_lower - x.margin},
        lambda *raised: _hidden_words(raised, view, run),
        p_values=_above_zero(excess, errors, view.degrees_of_freedom),
        by=together,
        undecided=lambda rest: [x.feature for x in rest if x.unreliable or not x.change_upper <= x.margin],
        size=reading.size_beyond(run, [(x.change_std_error, x.margin) for x in lines if not x.unreliable]),
        passed="No feature is shown to be more important once its partner features are permuted too.",
    )


def _main_loss(view: CoverCorrected) -> str:
    """Return the likelihood measure, else the first loss, else the empty string."""
    facts = view.result.measures
    losses = [name for name in view.measures if name in facts and facts[name].role == "loss"]
    return next((name for name in (NLL.name, NLL_CLIPPED.name, *losses) if name in view.measures), "")


def _above_zero(excess: FloatArray, errors: FloatArray, df: float) -> FloatArray:
    """Return two-sided p-values; 1 for what is not above 0, NaN without an error."""
    return np.where(excess > 0, two_sided(excess, errors, df), np.where(np.isnan(errors), np.nan, 1.0))


def _hidden_words(lines: Sequence[CoverCorrectedLine], view: CoverCorrected, run: Run) -> Said:
    """Return one finding on all features that their partners hide, the largest change first."""
    line, unit = lines[0], view.result.measures[lines[0].measure].unit
    partners = {line.feature: listed(view.partners[line.feature]) for line in lines}
    in_unit = f" {unit_phrase(unit)}".rstrip()
    others = [f"{short(x.feature)} (by {number(x.change, 2)}{in_unit}, with {partners[x.feature]})" for x in lines[1:]]
    entering = [line.feature for line in lines if line.rank <= LEADING < line.plain_rank]
    verb = "is" if len(entering) == 1 else "are"
    lead = f"; only then {listed(entering)} {verb} among the first {LEADING}" if entering else ""
    more = value_words(line.change, line.change_lower, line.change_upper, unit, confidence=line.confidence)
    return {
        "statement": f"Adjusted for redundancy with {partners[line.feature]}, the increase in "
        f"{reading.measure_words(line.measure)} when {short(line.feature)} is permuted is larger by {more}{lead}."
        f"{_so_with(others)}",
        "remedy": "Read its importance together with that of its partner features.",
        "measures": (line.measure,),
        "features": tuple(line.feature for line in lines),
        "size": _of_skill(line.change, run) if line.measure == NLL.name else None,
        **about((line.change, line.change_lower, line.change_upper), ids.COVER, ids.CID_COVER, threshold=line.margin),
    }


def _so_with(others: Sequence[str]) -> str:
    return f"{and_with(' The same applies to', others)}." if others else ""


def _of_skill(value: float, run: Run) -> float | None:
    """Return nats as a share of the model's skill, where it has any."""
    skill = scores_of(run).get(LOG_SCORE_SKILL, nan)
    return value / skill if skill > 0 else None


class Unnoticed(NamedTuple):
    """L - E of one feature with its interval, in nats, and the adjusted p-value of its excess over the margin."""

    loss: reading.SignVerdict
    estimate: float
    lower: float
    upper: float
    p_value: float

    def sentence(self, score: str) -> str:
        """Return by how much permuting increases the log score, and how much of it is not signalled."""
        loss = self.loss
        part = value_words(self.estimate, self.lower, self.upper, "nats", confidence=loss.confidence)
        whole = fixed(loss.estimate, places(self.lower, self.upper) or 3)
        if self.estimate < loss.estimate:
            what = f"{part} of the {whole} nats by which permuting {short(loss.feature)} increases the {score}"
            return f"The stated uncertainty does not signal {what}"
        rise = f"Permuting {short(loss.feature)} increases the {score} by {whole} nats"
        return f"{rise}, and the stated uncertainty is not shown to increase: {part} are not signalled"


def _unnoticed(rule: Rule, run: Run) -> RuleOutcome:
    """Judge by how much more the loss rises than the stated uncertainty."""
    importance, facts = needed(Pfi, run), SubjectFacts.of(run)
    margin, predictable = rule.thresholds["margin"], rule.thresholds["predictable"]
    loss = reading.likelihood(importance)
    require(loss, reading.lacking(importance, NLL.name))
    require(ENTROPY.name in importance.measures, reading.lacking(importance, ENTROPY.name))
    require(facts.weights is False and not facts.clusters, "the observations are weighted or in clusters")
    features = _differences(rule, importance, loss)
    require(features, "permutation importance has no terms of single observations")
    redundancy = needed(RedundancyView, run)
    predicted = {line.feature: line for line in redundancy.lines if line.item == WITHOUT_TARGET}

    def inconclusive(rest: Sequence[Unnoticed]) -> tuple[str, ...]:
        # an interval not to be trusted rules nothing out
        wide = [f.loss for f in features if f in rest and (isnan(f.p_value) or f.upper > margin)]
        named = [sign.feature for sign in wide if sign.verdict in (POSITIVE, UNDETERMINED)]
        names = [name for name in named if name not in predicted or predicted[name].upper >= predictable]
        return reading.with_reasons(importance, names, loss, ENTROPY.name)

    return family(
        rule,
        sorted(features, key=lambda feature: -feature.estimate),
        lambda x: {
            "p_likelihood": x.loss.p_for(POSITIVE),
            "p_unnoticed": x.p_value,
            "unnoticed": x.estimate,
            "predicted": predicted[x.loss.feature].estimate if x.loss.feature in predicted else nan,
        },
        lambda *raised: _unnoticed_words(margin, raised, run),
        by=together,
        undecided=inconclusive,
        passed="No predictable feature is shown to increase the log loss without a signal of the stated uncertainty.",
    )


def _differences(rule: Rule, view: Pfi, nll: str) -> list[Unnoticed]:
    """Return what is not signalled, feature by feature, from the paired row terms; rows count alike.

    Both importances come from the same shuffles, so the standard error is that of the differences of their
    row terms. Their noise of the shuffles is left in: never too narrow. Where either has an interval that is not to
    be trusted there is no p-value.
    """
    rows, pair = view.result.rows, (nll, ENTROPY.name)
    if rows is None or not set(pair) <= set(rows.measures):
        return []
    df = view.degrees_of_freedom
    losses, entropies = (reading.signs(view, measure, rule.thresholds["level"]) for measure in pair)
    both = [(losses[f], entropies[f]) for f in losses if f in entropies]
    terms = [rows.of(pair[0], loss.feature) - rows.of(pair[1], loss.feature) for loss, _ in both]
    estimates = np.array([loss.estimate - entropy.estimate for loss, entropy in both])
    errors = np.array([term.std(ddof=1) / np.sqrt(len(term)) for term in terms])
    trusted = np.where([bool(loss.unreliable or entropy.unreliable) for loss, entropy in both], np.nan, errors)
    p_values = holm(_above_zero(estimates - rule.thresholds["margin"], trusted, df)).tolist()
    features = []
    for (loss, _), value, error, p in zip(both, estimates.tolist(), errors.tolist(), p_values, strict=True):
        reach = float(stdtrit(df, (1 + loss.confidence) / 2)) * error
        features.append(Unnoticed(loss, value, value - reach, value + reach, p))
    return features


def _unnoticed_words(margin: float, raised: Sequence[Unnoticed], run: Run) -> Said:
    """Return one finding on all features whose permuted values are not signalled, the largest loss first."""
    worst, size = raised[0], _of_skill(raised[0].estimate, run)
    rows = affected(run, worst, margin)
    score = "negative log-likelihood" if SubjectFacts.of(run).classes is None else "log loss"
    part = "" if size is None else f"{number(size, 2)} times" if size > 1 else f"{share_words(size)} of"
    share = part and f", {part} the model's skill"
    hit = "" if rows is None else f", in {share_words(rows)} of the observations"
    parts = [(x.loss.feature, number(x.estimate, 2), number(x.loss.estimate, 2)) for x in raised[1:]]
    others = [f"{short(feature)} ({part} of {whole} nats)" for feature, part, whole in parts]
    return {
        "statement": f"{worst.sentence(score)}{share}{hit}.{_so_with(others)}",
        "remedy": "Check these inputs at data entry. The other features predict them in part.",
        "measures": (NLL.name, ENTROPY.name),
        "features": tuple(feature.loss.feature for feature in raised),
        "size": size,
        **about((worst.estimate, worst.lower, worst.upper), ids.PFI, ids.PFI_READING, ids.REDUNDANCY, threshold=margin),
    }


def affected(run: Run, feature: Unnoticed, margin: float) -> float | None:
    """Return the share of rows whose own loss rises by more than `margin` nats above their own stated uncertainty."""
    view = PfiDelta.find(run)
    rows, name = None if view is None else view.result.rows, feature.loss.feature
    if rows is None or name not in rows.features or not {NLL.name, ENTROPY.name} <= set(rows.measures):
        return None
    return float((rows.of(NLL.name, name) - rows.of(ENTROPY.name, name) > margin).mean())


def _repeated(rule: Rule, run: Run) -> RuleOutcome:
    """Judge the R² of both features of every pair of partners, each pair once."""
    partners, redundancy = needed(RedundancyPartner, run), RedundancyView.find(run)
    lines = by_feature(line for line in redundancy.lines if line.item == WITHOUT_TARGET) if redundancy else {}
    require(lines, "no feature could be predicted")
    p_above, cleared = _skills(rule, lines)
    pairs: dict[frozenset[str], tuple[str, str, float]] = {}
    for line in partners.lines:
        if line.estimate >= rule.thresholds["repeated"]:
            pairs.setdefault(frozenset((line.feature, line.item)), (line.feature, line.item, line.estimate))
    return family(
        rule,
        list(pairs.values()),
        lambda x: {"p_one": p_above.get(x[0], nan), "p_other": p_above.get(x[1], nan), "association": x[2]},
        lambda x: _pair(rule, lines[x[0]], lines[x[1]], x[2]),
        undecided=lambda rest: [f"{short(a)} with {short(b)}" for a, b, _ in rest if not {a, b} & cleared],
        passed="No two features are shown to be near copies.",
    )


def _skills(rule: Rule, lines: Mapping[str, RedundancyLine]) -> tuple[dict[str, float], set[str]]:
    """Return each feature's adjusted p-value of an R² above the threshold, 1 below it; and those shown to be below."""
    estimates, errors, n = np.array([(line.estimate, line.std_error, line.n) for line in lines.values()]).T
    excess = estimates - rule.thresholds["repeated"]
    p_values = holm(two_sided(excess, errors, np.maximum(n - 1, 1)))
    p_above = dict(zip(lines, np.where(excess > 0, p_values, 1.0).tolist(), strict=True))
    below = (excess < 0) & (p_values <= rule.thresholds["level"])
    return p_above, {feature for feature, is_below in zip(lines, below, strict=True) if is_below}


def _pair(rule: Rule, a: RedundancyLine, b: RedundancyLine, strength: float) -> Said:
    skills = listed(f"R² {value_words(x.estimate, x.lower, x.upper)}" for x in (a, b))
    weaker = min(a, b, key=lambda line: line.lower)
    return {
        "statement": f"{short(a.feature)} and {short(b.feature)} are nearly copies: each is predicted by the other "
        f"features, with {skills}, and their association is {number(strength, 2)}. Permuting one leaves "
        "its information in the other.",
        "remedy": "Keep one of the two, or name them as a group.",
        "features": (a.feature, b.feature),
        "threshold": rule.thresholds["repeated"],
        **about((weaker.estimate, weaker.lower, weaker.upper), ids.REDUNDANCY, ids.REDUNDANCY_PARTNER),
    }


@dataclass(frozen=True)
class Dependence(TableCheck):
    """Reads importance adjusted for redundancy, the part of a loss that is not signalled, and redundancy.

    UQ201 is raised where permuted values of a feature cost more by the margin of the importance once those of its
    partners are wrong too, of the likelihood, or else of the loss. UQ202 is raised where Likelihood-PFI is positive
    and larger than Entropy-PFI by more than `margin` nats, of features that the others predict in part: of others
    Entropy-PFI is 0 in expectation for every model. Neither is a fault. Each is one finding that names its features.

    Parameters
    ----------
    level : float, default=0.05
        Of each family of tests, Holm-adjusted over features; all are two-sided, and raise on one side.
    margin : float, default=0.01
        Loss that matters where it is not signalled, in nats.
    repeated : float, default=0.9
        From which two features repeat each other: the R² of each from the others, and their association.
    """

    level: float = opt.share(0.05)
    margin: float = opt.not_negative(0.01)
    repeated: float = opt.share(0.9)

    name: ClassVar[str] = "dependence"
    title: ClassVar[str] = "Dependence between features"
    table: ClassVar[tuple[Rule, ...]] = (HIDDEN, UNNOTICED, REPEATED)
    judges: ClassVar[tuple[Judge, ...]] = (_hidden, _unnoticed, _repeated)
