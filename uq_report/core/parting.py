"""Where accumulated local effects and partial dependence tell different stories."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

# The share of the larger range below which curves are not called different: more than interpolation makes up.
LEAST = 0.1


class Parting(NamedTuple):
    """The point where two curves part most, the point both start from, and their changes between the two."""

    x: float
    start: float
    ale: float
    pdp: float


def parting(ale: pd.DataFrame, pdp: pd.DataFrame, confidence: float) -> Parting | None:
    """Return where an ALE and a PDP part most beyond their errors, or None if that is not shown.

    Estimates of one measure along one numeric feature, in order of x. Compared are the changes from
    the first point that both have, the PDP interpolated between its points. The error of their
    difference is at most the sum of the standard errors, whatever their dependence; points are
    Bonferroni-corrected, and the difference must exceed a tenth of the larger range.

    Examples
    --------
    >>> x = [0.0, 1.0, 2.0]
    >>> ale = pd.DataFrame({"x": x, "estimate": [0.0, 2.0, 4.0], "std_error_change": 0.1})
    >>> pdp = pd.DataFrame({"x": x, "estimate": [5.0, 6.0, 7.0], "std_error": 0.1})
    >>> parting(ale, pdp, 0.95)
    Parting(x=2.0, start=0.0, ale=4.0, pdp=2.0)
    """
    x, at = (curve["x"].to_numpy(dtype=float) for curve in (ale, pdp))
    inside = (x >= at.min()) & (x <= at.max())
    if inside.sum() < 2:
        return None
    level, error = (np.interp(x, at, pdp[c].to_numpy(dtype=float))[inside] for c in ("estimate", "std_error"))
    value, moved = (ale[c].to_numpy(dtype=float)[inside] for c in ("estimate", "std_error_change"))
    accumulated, partial = value - value[0], level - level[0]
    reach = -ndtri((1 - confidence) / 2 / (len(value) - 1)) * (moved + moved[0] + error + error[0])
    least = LEAST * max(float(np.ptp(value)), float(np.ptp(level)))
    excess = np.abs(accumulated - partial) - np.maximum(reach, least)
    k = int(np.argmax(excess[1:])) + 1
    if not excess[k] > 0:
        return None
    return Parting(float(x[inside][k]), float(x[inside][0]), float(accumulated[k]), float(partial[k]))
