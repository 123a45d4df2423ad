"""The columns of an estimate, shares with exact intervals, means, differences of two means, and diagnostics."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, Omission
from ...core.model.sampling import Sampling, share_interval, t_quantile
from ...core.statistics import score_intervals as ends
from ...core.support.arrays import BoolArray, FloatArray
from ...evidence import ids

TEST_ROWS = "new test samples"
_ROUNDING = 1e-12  # of weights that sum to 1
_LEAST_DESIGN = 0.5  # weights and clusters are not taken to halve a variance by more than that


def estimate(
    value: Any,
    std_error: Any,
    interval: tuple[Any, Any],
    confidence: float,
    measure: str = "",
    feature: Any = "",
    covers: str = TEST_ROWS,
) -> dict[str, Any]:
    """Return the columns every estimate has, of a line or of all points of a curve; no interval covers nothing."""
    lower, upper = interval
    has_interval = np.isfinite(lower)
    return {
        "measure": measure,
        "feature": feature,
        "estimate": value,
        "std_error": std_error,
        "lower": lower,
        "upper": upper,
        "confidence": np.where(has_interval, confidence, np.nan)[()],
        "covers": np.where(has_interval, covers, "none").astype(object)[()],
    }


def share_of(hits: FloatArray, sampling: Sampling, level: float) -> dict[str, Any]:
    """Return the share of hits with its Clopper-Pearson interval, at the effective number of rows."""
    mean, error = (float(value) for value in sampling.mean(hits))
    share = min(max(mean, 0.0), 1.0)
    return estimate(share, error, share_interval(share, sampling.effective_n(share, error), level), level)


def mean_of(
    values: FloatArray, sampling: Sampling, confidence: float, measure: str = "", feature: str = ""
) -> dict[str, Any]:
    """Return the mean of rows with its t-interval."""
    mean, error = (float(number) for number in sampling.mean(values))
    return estimate(mean, error, sampling.interval(mean, error, confidence), confidence, measure, feature)


def rate_of(hits: FloatArray, sampling: Sampling, level: float) -> dict[str, Any]:
    """Return the share of hits with its Wilson interval, at the effective number of rows."""
    mean, error = (float(value) for value in sampling.mean(hits))
    share = min(max(mean, 0.0), 1.0)
    n, z = sampling.effective_n(share, error), ends.normal_quantile(level)
    return estimate(share, error, ends.wilson(share, n, z), level)


def size_of(values: FloatArray, sampling: Sampling, level: float, most: float = np.inf) -> dict[str, Any]:
    """Return the mean of rows that are never below 0, nor above `most`, with its interval on the log scale."""
    mean, error, t = _parts(values, sampling, level)
    lower, upper = ends.on_log_scale(mean, error, t)
    return estimate(mean, error, (lower, min(upper, most)), level)


def explained_of(values: FloatArray, sampling: Sampling, level: float) -> dict[str, Any]:
    """Return R², the mean of its row values, with its interval on the scale of log(1 − R²)."""
    mean, error, t = _parts(values, sampling, level)
    return estimate(mean, error, ends.explained_interval(mean, error, t), level)


def area_of(
    values: FloatArray, sampling: Sampling, level: float, *, score: FloatArray, event: BoolArray
) -> dict[str, Any]:
    """Return an area under the ROC curve, the mean of its row values `auc_rows`, with an interval inside [0, 1].

    With clusters or weights Newcombe's part is widened by the variance over that of independent, equal rows.
    """
    mean, error, t = _parts(values, sampling, level)
    mean = float(np.round(mean)) if abs(mean - np.round(mean)) < _ROUNDING else mean  # 0 and 1 have no logit
    used = sampling.weights > 0
    counts = int(event[used].sum()), int((~event)[used].sum())
    design = 1.0
    if sampling.codes is not None or np.ptp(sampling.weights[used]) > _ROUNDING:
        rows = np.full(int(used.sum()), 1 / used.sum())
        plain = float(np.var(ends.auc_rows(score[used], event[used], rows), ddof=1)) / len(rows)
        design = max(error**2 / plain, _LEAST_DESIGN) if plain > 0 else 1.0
    return estimate(mean, error, ends.area_interval(mean, error, counts, t, design), level)


def _parts(values: FloatArray, sampling: Sampling, level: float) -> tuple[float, float, float]:
    """Return the mean, its standard error and the quantile of Student's t."""
    mean, error = (float(value) for value in sampling.mean(values))
    return mean, error, t_quantile(0.5 + level / 2, sampling.freedom)


def row_pieces(values: FloatArray, group: BoolArray, rest: BoolArray, sampling: Sampling) -> FloatArray:
    """Return what each row adds to the sampling error of a difference of two means, shape (n,); 0 for other rows."""
    pieces = np.zeros(len(values))
    for sign, rows in ((1, group), (-1, rest)):
        part = sampling.part(rows)
        factor = np.sqrt(part.units / (part.units - 1)) if part.units > 1 else np.nan
        pieces[rows] = sign * factor * part.weights * (values[rows] - part.weights @ values[rows])
    return pieces


def error_of(pieces: FloatArray, rows: BoolArray, sampling: Sampling) -> float:
    """Return the standard error from what each row adds, rows of a cluster together."""
    sums = pieces[rows] if sampling.codes is None else np.bincount(sampling.codes[rows], pieces[rows])
    return float(np.sqrt(np.square(sums).sum()))


def band_quantile(
    influences: FloatArray, sampling: Sampling, confidence: float, rng: np.random.Generator, draws: int
) -> float:
    """Return what takes the place of 1.96 in limits that hold for all points at once, by a multiplier bootstrap.

    Parameters
    ----------
    influences : ndarray of shape (points, n)
    sampling : Sampling
    confidence : float
    rng : numpy.random.Generator
    draws : int
        Standard normal multipliers of each independent unit.
    """
    parts = influences * sampling.weights
    if sampling.codes is not None:
        parts = np.stack([np.bincount(sampling.codes, row) for row in parts])
    errors = np.sqrt(np.square(parts).sum(axis=1))
    moving = errors > 0
    if not moving.any():
        return float("nan")
    standard = parts[moving] / errors[moving, None]
    largest = np.abs(rng.standard_normal((draws, standard.shape[1])) @ standard.T).max(axis=1)
    return float(np.quantile(largest, confidence))


T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def diagnostic(
    id: str,
    title: str,
    records: Iterable[Any],
    columns: Sequence[str] = (),
    x: str | float = 0.0,
    value: str = "estimate",
    omissions: Iterable[Omission] = (),
    **parts: Any,
) -> Diagnostic:
    """Return a result whose frame repeats two columns of its estimates, `x` (or has one number there) and `value`.

    Parameters
    ----------
    records : iterable
        One estimate each: a mapping, or a sequence in the order of the columns; or the omission in its place. Or a
        table of the estimates.
    columns : sequence of str
        The result's own columns, behind those of every estimate; a table has them.
    omissions : iterable of Omission
        Those that no record stands for; they come first.
    **parts
        Notes, meta and the other fields of a result.
    """
    lines = [] if isinstance(records, pd.DataFrame) else list(records)
    found = [line for line in lines if not isinstance(line, Omission)]
    estimates = pd.DataFrame(found, columns=[*ESTIMATE_COLUMNS, *columns])
    estimates = records if isinstance(records, pd.DataFrame) else estimates
    at = estimates[x].astype(float) if isinstance(x, str) else x
    frame = estimates.assign(x=at, value=estimates[value])[list(Diagnostic.columns)]
    parts["omissions"] = (*omissions, *(line for line in lines if isinstance(line, Omission)))
    return Diagnostic(id=id, explainer=ids.explainer_of(id), title=title, frame=frame, estimates=estimates, **parts)


def points(id: str, title: str, records: Any, columns: Sequence[str] = (), **parts: Any) -> Diagnostic:
    """Return a result of points without estimates; `records` are a table, or tuples in the order of its columns."""
    frame = pd.DataFrame(records, columns=list(Diagnostic.columns))
    none = pd.DataFrame(columns=[*ESTIMATE_COLUMNS, *columns])
    return Diagnostic(id=id, explainer=ids.explainer_of(id), title=title, frame=frame, estimates=none, **parts)


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return items by their key, both in their order.

    Examples
    --------
    >>> grouped(["age", "income", "area"], lambda name: name[0])
    {'a': ['age', 'area'], 'i': ['income']}
    """
    parts: dict[K, list[T]] = {}
    for item in items:
        parts.setdefault(key(item), []).append(item)
    return parts
