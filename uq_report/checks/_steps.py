"""Changes of a profile from point to point, with standard errors of the changes themselves."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..core.arrays import FloatArray
from ..core.errors import UnsupportedError
from ..core.results import Result
from ..core.run import Run
from ._reading import freedom, lines

MIN_CURVES = 10
FLAT = 1e-9


class Steps(NamedTuple):
    """The changes of one curve over consecutive stretches of one feature, all arrays of shape (steps,).

    `shown` is the change of the curve, `tested` what is tested: the same, or what two estimates of it have
    in common. `range` is the curve's own, 0 where it is flat up to rounding.
    """

    method: str
    start: FloatArray
    end: FloatArray
    shown: FloatArray
    tested: FloatArray
    std_error: FloatArray
    df: FloatArray
    range: float


def ale_steps(result: Result, run: Run, measure: str, feature: str, rows_per_step: int) -> Steps:
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
    table = _curve(result, measure, feature)
    if feature in result.options.get("edges", {}):
        raise UnsupportedError("the edges of its ALE were given, so the rows between them are not known")
    n, error = run.subject.get("n"), table["std_error_change"].to_numpy(dtype=float)
    if n is None or np.isnan(error).any():
        raise UnsupportedError("a bin of its ALE has no known error")
    missing = next((f.get("missing", 0) for f in run.subject.get("features", ()) if f.get("name") == feature), 0)
    per_bin = (n - missing) / (len(table) - 1)
    ends = np.unique(np.append(np.arange(0, len(table) - 1, ceil(rows_per_step / per_bin)), len(table) - 1))
    if run.subject.get("clusters"):
        errors, df = error[ends[1:]] + error[ends[:-1]], np.full(len(ends) - 1, freedom(run))
    else:
        variance = np.maximum(np.diff(error**2), 0)
        total, squares = (np.add.reduceat(one, ends[:-1]) for one in (variance, variance**2 / max(per_bin - 1, 1)))
        df = np.divide(total**2, squares, out=np.full(len(total), float(n)), where=squares > 0)
        errors = np.sqrt(total)
    return _steps("ALE", table, ends, errors, df, None)


def pdp_steps(result: Result, run: Run, measure: str, feature: str) -> Steps:
    """Return the changes of a PDP between neighbouring points, as paired differences of the kept ICE curves.

    The intervals of a PDP are of its levels, which move together, so they say little of a change. The kept
    curves give the mean and the standard error of the change itself; tested is the smaller of their mean
    and the average over all rows, 0 if these point in opposite directions, so that neither few curves nor
    their choice can raise what all rows do not show. With weights, clusters or fewer than 10 curves, the
    error is the sum of those of both levels, which it cannot exceed.

    Raises
    ------
    UnsupportedError
        With the reason, where the changes have no known error.
    """
    mode = result.options.get("mode", "plain")
    if mode == "derivative":
        raise UnsupportedError("its PDP was made in the mode 'derivative', not 'plain' or 'centred'")
    table = _curve(result, measure, feature)
    frame = result.frame[(result.frame["measure"] == measure) & (result.frame["feature"] == feature)]
    kept = frame[frame["curve"] >= 0]
    ends, error = np.arange(len(table)), table["std_error"].to_numpy(dtype=float)
    alike = not (run.subject.get("weights", False) or run.subject.get("clusters"))
    k = kept["curve"].nunique()
    if alike and k >= MIN_CURVES:
        curves = kept.pivot_table(index="x", columns="curve", values="value").loc[table["x"]]
        moved = np.diff(curves.to_numpy(dtype=float), axis=0)
        errors = moved.std(axis=1, ddof=1) / np.sqrt(k)
        return _steps("PDP", table, ends, errors, np.full(len(moved), k - 1.0), moved.mean(axis=1))
    if np.isnan(error).any() or mode == "centred":
        raise UnsupportedError("its PDP keeps too few ICE curves for the error of a change")
    return _steps("PDP", table, ends, error[1:] + error[:-1], np.full(len(table) - 1, freedom(run)), None)


def _curve(result: Result, measure: str, feature: str) -> pd.DataFrame:
    """Return the points of a numeric curve in order."""
    table = lines(result, measure=measure, feature=feature)
    if not len(table):
        reasons = [
            gap.reason for gap in result.omissions if gap.feature in (feature, "") and gap.measure in (measure, "")
        ]
        raise UnsupportedError(reasons[0] if reasons else f"{result.id} has no {measure} along it")
    if (table["level"] != "").any():
        raise UnsupportedError("it is not numeric, so its points have no direction")
    if len(table) < 2:
        raise UnsupportedError("it has one value")
    return table.sort_values("x")


def _steps(
    method: str, table: pd.DataFrame, ends: np.ndarray, errors: FloatArray, df: FloatArray, second: FloatArray | None
) -> Steps:
    x, value = (table[name].to_numpy(dtype=float)[ends] for name in ("x", "estimate"))
    shown, every = np.diff(value), table["estimate"].to_numpy(dtype=float)
    other = shown if second is None else second
    tested = np.where(shown * other > 0, np.sign(shown) * np.minimum(np.abs(shown), np.abs(other)), 0.0)
    spread = float(np.ptp(every))
    whole = spread if spread > FLAT * float(np.abs(every).max()) else 0.0
    return Steps(method, x[:-1], x[1:], shown, tested, errors, df, whole)
