"""Changes of a profile from point to point, with standard errors of the changes themselves."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple, TypeVar

import numpy as np

from ...checks.reading import freedom, measure_words, method_words
from ...core.support.arrays import FloatArray
from ...core.support.errors import UnsupportedError
from ...evidence import columns as col
from ...evidence.profiles import Ale, Pdp, PointLine
from ...evidence.run import Run
from ...evidence.subject import SubjectFacts

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
    UnsupportedError
        With the reason, where the changes have no known error.
    """
    points = _points(view, view.lines, measure, feature)
    if feature in view.result.options.get("edges", {}):
        raise UnsupportedError("the edges of its local effect were given, so the rows between them are not known")
    facts, error = SubjectFacts.of(run), np.array([line.std_error_change for line in points])
    if facts.n is None or np.isnan(error).any():
        raise UnsupportedError("a bin of its local effect has no known error")
    missing = next((f.missing or 0 for f in facts.features if f.name == feature), 0)
    per_bin = (facts.n - missing) / (len(points) - 1)
    ends = np.unique(np.append(np.arange(0, len(points) - 1, ceil(rows_per_step / per_bin)), len(points) - 1))
    if facts.clusters:
        errors, df = error[ends[1:]] + error[ends[:-1]], np.full(len(ends) - 1, freedom(run))
    else:
        variance = np.maximum(np.diff(error**2), 0)
        total, squares = (np.add.reduceat(parts, ends[:-1]) for parts in (variance, variance**2 / max(per_bin - 1, 1)))
        df = np.divide(total**2, squares, out=np.full(len(total), float(facts.n)), where=squares > 0)
        errors = np.sqrt(total)
    return _steps(view.id, points, ends, errors, df)


def pdp_steps(view: Pdp, run: Run, measure: str, feature: str) -> CurveSteps:
    """Return the changes of a PDP between neighbouring points, as paired differences of the recorded ICE curves.

    The intervals of a PDP are of its levels, which move together, so they say little of a change. The recorded
    curves give the mean and the standard error of the change itself; tested is the smaller of their mean
    and the average over all rows, 0 if these point in opposite directions, so that neither few curves nor
    their choice can raise what all rows do not show. With weights, clusters or fewer than 10 curves, the
    error is the sum of those of both levels, which it cannot exceed.

    Raises
    ------
    UnsupportedError
        With the reason, where the changes have no known error.
    """
    mode, facts = view.result.options.get("mode", "plain"), SubjectFacts.of(run)
    if mode == "derivative":
        raise UnsupportedError("its average effect was made as a derivative")
    points = _points(view, view.lines, measure, feature)
    ends, error = np.arange(len(points)), np.array([line.std_error for line in points])
    changes = _changes(view, measure, feature, [line.x for line in points])
    k = changes.shape[1]
    if k >= MIN_CURVES and not (facts.weights or facts.clusters):
        errors = changes.std(axis=1, ddof=1) / np.sqrt(k)
        return _steps(view.id, points, ends, errors, np.full(len(changes), k - 1.0), changes.mean(axis=1))
    if np.isnan(error).any() or mode == "centred":
        raise UnsupportedError("its average effect keeps too few single curves for the error of a change")
    return _steps(view.id, points, ends, error[1:] + error[:-1], np.full(len(points) - 1, freedom(run)))


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
    if not points:
        gaps = [gap for gap in view.omissions if gap.feature in (feature, "") and gap.measure in (measure, "")]
        none = f"{method_words(view.id)} has no value for {measure_words(measure)} along it"
        raise UnsupportedError(gaps[0].reason if gaps else none)
    if any(line.level for line in points):
        raise UnsupportedError("it is not numeric, so its points have no direction")
    if len(points) < 2:
        raise UnsupportedError("it has one value")
    return sorted(points, key=lambda line: line.x)


def _steps(
    id: str,
    points: Sequence[PointLine],
    ends: np.ndarray,
    errors: FloatArray,
    df: FloatArray,
    second: FloatArray | None = None,
) -> CurveSteps:
    """Return the steps between the points `ends`; `second` is another estimate of their changes."""
    every = np.array([line.estimate for line in points])
    x, change = np.array([line.x for line in points])[ends], np.diff(every[ends])
    other = change if second is None else second
    tested = np.where(change * other > 0, np.sign(change) * np.minimum(np.abs(change), np.abs(other)), 0.0)
    spread = float(np.ptp(every))
    whole = spread if spread > FLAT * float(np.abs(every).max()) else 0.0
    return CurveSteps(id, x[:-1], x[1:], change, tested, errors, df, whole)
