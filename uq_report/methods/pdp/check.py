"""Expected directions: whether the model's curves go against what its owner says they must do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from scipy.special import stdtrit

from ...checks.family import NotJudgedError, Said, TableCheck, family, needed, outcome, require
from ...checks.reading import RuleOutcome, freedom, listed, measure_words, method_words, two_sided
from ...checks.rule import Rule, verbatim
from ...core.statistics.verdicts import holm
from ...core.support import options as opt
from ...core.support.arrays import FloatArray, IntArray
from ...core.support.errors import nearest
from ...core.support.numbers import number, plain, value_words
from ...core.support.text import clean, short
from ...evidence import columns as col
from ...evidence.finding import Outcome
from ...evidence.profiles import Ale, Pdp, PointLine
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts
from ..shared.checks import about

L = TypeVar("L", bound=PointLine)
MIN_CURVES = 10
FLAT = 1e-9


class CurveSteps(NamedTuple):
    """The changes of the curve of a result over consecutive stretches of one feature, all arrays of shape (steps,).

    `change` is that of the curve, `tested` what is tested: the same, or what two estimates of it have
    in common. `range` is the curve's own, 0 where it is flat up to rounding.
    """

    id: str
    start: FloatArray
    end: FloatArray
    change: FloatArray
    tested: FloatArray
    std_error: FloatArray
    df: FloatArray
    range: float

    @property
    def method(self) -> str:
        """What the curve is called."""
        return method_words(self.id)


def ale_steps(view: Ale, run: Run, measure: str, feature: str, rows_per_step: int) -> CurveSteps:
    """Return the changes of an ALE over stretches of at least about `rows_per_step` rows.

    Bins hold different rows, so the variance of a change is the difference of the squares of
    ``std_error_change`` at its ends: exact, given the edges. Its degrees of freedom are Satterthwaite's,
    for bins of equally many rows, as quantile bins have without ties. With clusters, whose rows may lie in
    several bins, the sum of both errors is taken, which it cannot exceed.

    Raises
    ------
    NotJudgedError
        With the reason, where the changes have no known error.
    """
    points = _points(view, view.lines, measure, feature)
    given = "the edges of its local effect were given, so the number of observations between them is unknown"
    require(feature not in view.result.options.get("edges", {}), given)
    facts, error = SubjectFacts.of(run), np.array([line.std_error_change for line in points])
    n, known = facts.n or 0, facts.n is not None and not np.isnan(error).any()
    require(known, "a bin of its local effect has no standard error")
    missing = next((f.missing or 0 for f in facts.features if f.name == feature), 0)
    per_bin = (n - missing) / (len(points) - 1)
    ends = np.unique(np.append(np.arange(0, len(points) - 1, ceil(rows_per_step / per_bin)), len(points) - 1))
    if facts.clusters:
        errors, df = error[ends[1:]] + error[ends[:-1]], np.full(len(ends) - 1, freedom(run))
    else:
        variance = np.maximum(np.diff(error**2), 0)
        total, squares = (np.add.reduceat(parts, ends[:-1]) for parts in (variance, variance**2 / max(per_bin - 1, 1)))
        df = np.divide(total**2, squares, out=np.full(len(total), float(n)), where=squares > 0)
        errors = np.sqrt(total)
    return _steps(view.id, points, ends, errors, df, None)


def pdp_steps(view: Pdp, run: Run, measure: str, feature: str) -> CurveSteps:
    """Return the changes of a PDP between neighbouring points, as paired differences of the recorded ICE curves.

    The intervals of a PDP are of its levels, which move together, so they say little of a change. The recorded
    curves give the mean and the standard error of the change itself; tested is the smaller of their mean
    and the average over all rows, 0 if these point in opposite directions, so that neither few curves nor
    their choice can raise what all rows do not show. With weights, clusters or fewer than 10 curves, the
    error is the sum of those of both levels, which it cannot exceed.

    Raises
    ------
    NotJudgedError
        With the reason, where the changes have no known error.
    """
    mode, facts = view.result.options.get("mode", "plain"), SubjectFacts.of(run)
    require(mode != "derivative", "its partial dependence was computed as a derivative")
    points = _points(view, view.lines, measure, feature)
    ends, error = np.arange(len(points)), np.array([line.std_error for line in points])
    changes = _changes(view, measure, feature, [line.x for line in points])
    k = changes.shape[1]
    if k >= MIN_CURVES and not (facts.weights or facts.clusters):
        errors = changes.std(axis=1, ddof=1) / np.sqrt(k)
        return _steps(view.id, points, ends, errors, np.full(len(changes), k - 1.0), changes.mean(axis=1))
    few = "its partial dependence has too few ICE curves for the standard error of a change"
    require(mode != "centred" and not np.isnan(error).any(), few)
    return _steps(view.id, points, ends, error[1:] + error[:-1], np.full(len(points) - 1, freedom(run)), None)


def _changes(view: Pdp, measure: str, feature: str, x: list[float]) -> FloatArray:
    """Return the changes of the single ICE curves between the points `x`, shape (steps, curves)."""
    frame = view.result.frame
    chosen = (frame[col.MEASURE] == measure) & (frame[col.FEATURE] == feature) & (frame[col.CURVE] >= 0)
    if not chosen.any():
        return np.empty((len(x) - 1, 0))
    curves = frame[chosen].pivot_table(index=col.X, columns=col.CURVE, values=col.VALUE).loc[x]
    return np.diff(curves.to_numpy(dtype=float), axis=0)


def _points(view: Ale | Pdp, lines: Sequence[L], measure: str, feature: str) -> list[L]:
    """Return the points of a numeric curve in order."""
    points = [line for line in lines if (line.measure, line.feature) == (measure, feature)]
    gaps = (x.reason for x in view.omissions if x.feature in (feature, "") and x.measure in (measure, ""))
    require(points, next(gaps, f"{method_words(view.id)} has no value for {measure_words(measure)} along it"))
    require(not any(line.level for line in points), "it is not numeric, so its points have no direction")
    require(len(points) > 1, "it has one value")
    return sorted(points, key=lambda line: line.x)


def _steps(
    id: str, points: Sequence[PointLine], ends: IntArray, errors: FloatArray, df: FloatArray, second: FloatArray | None
) -> CurveSteps:
    """Return the steps between the points `ends`; `second` is another estimate of their changes."""
    every = np.array([line.estimate for line in points])
    x, change = np.array([line.x for line in points])[ends], np.diff(every[ends])
    other = change if second is None else second
    tested = np.where(change * other > 0, np.sign(change) * np.minimum(np.abs(change), np.abs(other)), 0.0)
    spread = float(np.ptp(every))
    whole = spread if spread > FLAT * float(np.abs(every).max()) else 0.0
    return CurveSteps(id, x[:-1], x[1:], change, tested, errors, df, whole)


SIGNS = {"increasing": 1.0, "decreasing": -1.0}
AGAINST = Rule.stated("UQ901")


class DirectionCurve(NamedTuple):
    """One curve of a feature: its steps, and by step how far it goes the wrong way and whether that raises the rule.

    `against` is a share of the curve's range, NaN where a step goes the stated way; `clear` says that no step can go
    the wrong way by as much as the rule asks.
    """

    steps: CurveSteps
    p_values: FloatArray
    against: FloatArray
    wrong: FloatArray
    clear: bool

    @property
    def share(self) -> float:
        """The wrong steps together, as a share of the curve's range."""
        return float(np.abs(self.steps.change[self.wrong > 0]).sum() / self.steps.range) if self.wrong.any() else 0.0


@dataclass(frozen=True)
class Direction(TableCheck):
    """Holds PDP and ALE against the directions that the model's owner states.

    A step from one point to the next goes the wrong way where its two-sided t test against 0, Holm-adjusted
    over all steps of all stated features and both curves, says so, and where it is at least `min_size` of
    the curve's range. Errors are those of the steps, not of the levels. Nothing speaks against a feature where
    no step can go the wrong way by as much as that: one-sided tests of every step.

    Parameters
    ----------
    monotone : mapping of feature to {"increasing", "decreasing"}
        What is expected; none by default.
    measure : str, default="prediction"
        Whose curves; those of the average or the local effects must have it.
    level : float, default=0.05
    min_size : float, default=0.02
        How much of the curve's range a step the wrong way must make up.
    high_size : float, default=0.25
        From which share of the curve's range the steps the wrong way together are of high severity.
    rows_per_step : int, default=60
        Bins of an ALE are joined to steps of about as many rows, so that a t test holds; effects that differ very
        unevenly between rows need more.
    """

    monotone: Mapping[str, str] = field(default_factory=dict)
    measure: str = opt.option("prediction", "the name of a measure", bool)
    level: float = opt.share(0.05)
    min_size: float = opt.share(0.02)
    high_size: float = opt.positive(0.25)
    rows_per_step: int = opt.at_least(5, 60)

    name: ClassVar[str] = "direction"
    title: ClassVar[str] = "Expected directions"
    table: ClassVar[tuple[Rule, ...]] = (AGAINST,)

    def limits(self) -> Iterable[opt.Limit]:
        """Return the limits of options that depend on each other."""
        stated: object = self.monotone
        holds = isinstance(stated, Mapping) and all(isinstance(f, str) and str(v) in SIGNS for f, v in stated.items())
        return (("monotone", holds, f"a mapping of features to one of {', '.join(SIGNS)}"),)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule, with this check's thresholds and measure."""
        (rule,) = super().rules
        return (replace(rule, when=rule.when.replace("{measure}", verbatim(self.measure))),)

    def check(self, run: Run) -> Outcome:
        """Judge the stated features, by the curves that have an error."""
        return outcome(self, run, self._judge)

    def _judge(self, rule: Rule, run: Run) -> RuleOutcome:
        require(self.monotone, "no direction was stated")
        found = {feature: self._steps(run, feature) for feature in self.monotone}
        curves = self._tested(rule, {feature: steps for feature, (steps, _) in found.items() if steps})
        untested = [f"{short(feature)} ({why})" for feature, (steps, why) in found.items() if not steps]
        require(curves, "; ".join(untested))
        used = dict.fromkeys(curve.steps.method for several in curves.values() for curve in several)
        methods, keep = listed(used).capitalize(), "has" if len(used) == 1 else "have"
        return family(
            rule,
            list(curves.items()),
            lambda test: self._worst(test[1])[0],
            lambda test: self._against(*test),
            undecided=lambda rest: [*(f for f, few in rest if not all(curve.clear for curve in few)), *untested],
            passed=f"{methods} of {measure_words(self.measure)} {keep} the stated direction for {listed(curves)}.",
        )

    def _steps(self, run: Run, feature: str) -> tuple[list[CurveSteps], str]:
        """Return the steps of both curves of a feature, and why one of them, or both, are not there."""
        names = [known.name for known in SubjectFacts.of(run).features]
        if names and feature not in names:
            return [], f"no feature of this run. {clean(nearest(feature, names), 200)}"
        steps, why = [], []
        curves: tuple[Callable[[], CurveSteps], ...] = (
            lambda: ale_steps(needed(Ale, run), run, self.measure, feature, self.rows_per_step),
            lambda: pdp_steps(needed(Pdp, run), run, self.measure, feature),
        )
        for steps_of in curves:
            try:
                steps.append(steps_of())
            except NotJudgedError as error:
                why.append(str(error))
        return steps, " and ".join(dict.fromkeys(why))

    def _tested(self, rule: Rule, every: Mapping[str, list[CurveSteps]]) -> dict[str, list[DirectionCurve]]:
        """Return every curve with its wrong steps; all steps of all curves are adjusted together."""
        p_values = [two_sided(s.tested, s.std_error, s.df) for several in every.values() for s in several]
        adjusted = iter(np.split(holm(np.concatenate([*p_values, []])), np.cumsum([len(p) for p in p_values])))
        return {
            feature: [self._curve(rule, SIGNS[self.monotone[feature]], steps, next(adjusted)) for steps in several]
            for feature, several in every.items()
        }

    def _curve(self, rule: Rule, sign: float, steps: CurveSteps, p_values: FloatArray) -> DirectionCurve:
        none = np.zeros(len(p_values))
        if steps.range == 0:
            return DirectionCurve(steps, p_values, none, none, clear=True)
        along = sign * steps.change / steps.range
        against = np.where(sign * steps.tested < 0, -along, np.nan)
        raised = [rule.judge(p_adjusted=p, step=step) is not None for p, step in zip(p_values, against, strict=True)]
        reach = stdtrit(steps.df, 1 - self.level) * steps.std_error / steps.range
        clear = bool((along - reach > -self.min_size).all())
        return DirectionCurve(steps, p_values, against, np.array(raised, dtype=float), clear)

    def _worst(self, curves: list[DirectionCurve]) -> tuple[dict[str, float], DirectionCurve, int]:
        """Return the numbers of the largest step the wrong way, its curve and its place."""
        worst = max(curves, key=lambda curve: curve.share)
        k = int(np.argmax(np.abs(worst.steps.change) * worst.wrong))
        return {"p_adjusted": worst.p_values[k], "step": worst.against[k], "steps": worst.share}, worst, k

    def _against(self, feature: str, curves: list[DirectionCurve]) -> Said:
        """Return the finding on one feature, worded by its largest step the wrong way."""
        _, worst, k = self._worst(curves)
        steps, expected, measure = worst.steps, self.monotone[feature], measure_words(self.measure)
        change, reach = steps.change[k], stdtrit(steps.df[k], 1 - self.level / 2) * steps.std_error[k]
        interval = (float(change), float(change - reach), float(change + reach))
        evidence = [curve.steps.id for curve in curves if curve.wrong.any()]
        return {
            "statement": f"{measure[0].upper()}{measure[1:]} is expected to be {expected} in {short(feature)}, but "
            f"between {plain(steps.start[k])} and {plain(steps.end[k])} {steps.method} changes by "
            f"{value_words(*interval, confidence=1 - self.level)}. Steps in the wrong direction add up to "
            f"{number(worst.share * steps.range)}; the range of the curve is {number(steps.range)}.",
            "remedy": "Constrain the model to be monotone, or correct the stated expectation.",
            "measures": (self.measure,),
            **about(interval, *evidence, features=(feature,), threshold=0.0),
        }
