"""Out-of-fold forecasts of a feature from others: a linear fit and trees, weighed by what they did in other folds."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import eigh
from scipy.optimize import nnls
from scipy.special import chdtri

from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from ..shared.association import NumericColumn

MAX_LEVELS = 20
LEADING = 20
FEW, MORE = 2, 4  # trees of each fold, and further ones where the first add something
LEAST_GAIN = 0.01  # of the variance: what they must add to the linear fit
SMALL = 200  # rows; fewer get all trees: two of them forecast noise, and more cost little
LEVEL = 0.01  # of the test of what the linear fit leaves, without which no tree grows
# rows for each column of the linear fit; with fewer, trees are better at passing over what tells nothing
PER_COLUMN = 15
MIN_LEAF = 5
BINS = 8
PENALTIES = 10.0 ** np.arange(-6, 2)


class Predictors(NamedTuple):
    """The columns in the four forms that are read here, `owner` and `binned` saying whose each of theirs is.

    `ranks` (n, d), NaN where missing, is for trees. `scaled` (n, p) has mean 0 and variance 1, or is 0: numbers, and
    indicators of levels; `even` has ranks in place of numbers. `bins` (n, b) are indicators of levels, or of eighths
    of the ranks, and of what is missing.
    """

    ranks: FloatArray
    scaled: FloatArray
    even: FloatArray
    owner: IntArray
    bins: FloatArray
    binned: IntArray

    @classmethod
    def of(cls, columns: Sequence[NumericColumn]) -> Predictors:
        """Return columns in these forms."""
        scaled, bins = [_scaled(c) for c in columns], [_bins(c) for c in columns]
        # ranks, equal for equal values: trees need no more, and infinite or huge values fit
        ranks = [np.asarray(pd.Series(c.numbers).rank(method="dense")) if c.ordered else c.numbers for c in columns]
        even = [
            _scaled(NumericColumn("", own, True)) if c.ordered else block
            for c, own, block in zip(columns, ranks, scaled, strict=True)
        ]
        owners = (np.repeat(np.arange(len(columns)), [x.shape[1] for x in blocks]) for blocks in (scaled, bins))
        owner, binned = owners
        return cls(np.column_stack(ranks), np.hstack(scaled), np.hstack(even), owner, np.hstack(bins), binned)

    def first(self, d: int) -> Predictors:
        """Return these forms of the first columns."""
        own, binned = self.owner < d, self.binned < d
        scaled, even, bins = self.scaled[:, own], self.even[:, own], self.bins[:, binned]
        return Predictors(self.ranks[:, :d], scaled, even, self.owner[own], bins, self.binned[binned])

    def at_rows(self, rows: IntArray) -> Predictors:
        """Return these forms of some rows, in their order."""
        if len(rows) == len(self.ranks):
            return self
        return self._replace(**{name: getattr(self, name)[rows] for name in ("ranks", "scaled", "even", "bins")})


def truth(column: NumericColumn) -> FloatArray:
    """Return a numeric column scaled to at most 1 in size, or the indicators of its levels; NaN where missing.

    Beyond the `MAX_LEVELS` - 1 most frequent levels all are one.
    """
    known = ~np.isnan(column.numbers)
    if column.ordered:
        centred = column.numbers - np.median(column.numbers[known])
        return np.asarray(centred / (np.abs(centred[known]).max() or 1.0))[:, None]
    levels, codes, counts = np.unique(column.numbers[known], return_inverse=True, return_counts=True)
    if len(levels) > MAX_LEVELS:
        rare = np.argsort(-counts, kind="stable")[MAX_LEVELS - 1 :]
        codes = np.where(np.isin(codes, rare), rare[0], codes)
    indicators = np.full((len(known), len(np.unique(codes))), np.nan)
    indicators[known] = codes[:, None] == np.unique(codes)[None, :]
    return indicators


def _scaled(column: NumericColumn) -> FloatArray:
    """Return numbers and their squares, or indicators of levels, with mean 0 and variance 1.

    What is missing stands at the mean, what is infinite at the nearest value.
    """
    numbers = column.numbers
    if not np.isfinite(numbers).any():
        return np.zeros((len(numbers), 1 + column.ordered))
    finite = numbers[np.isfinite(numbers)]
    values = _standard(truth(NumericColumn(column.name, np.clip(numbers, finite.min(), finite.max()), column.ordered)))
    return np.nan_to_num(np.hstack([values, _standard(np.square(values))]) if column.ordered else values)


def _standard(values: FloatArray) -> FloatArray:
    values = values - np.nanmean(values, axis=0)
    spread = np.sqrt(np.nanmean(np.square(values), axis=0))
    return np.divide(values, spread, out=np.zeros_like(values), where=spread > 1e-12)


def _bins(column: NumericColumn) -> FloatArray:
    missing = np.isnan(column.numbers)
    if column.ordered:
        eighth = np.ceil(pd.Series(column.numbers).rank(pct=True).to_numpy(dtype=float, na_value=0.0) * BINS)
        inside = eighth[:, None] == np.arange(1, BINS + 1)
    else:
        inside = np.nan_to_num(truth(column)) > 0
    return np.column_stack([inside, missing]).astype(float)


def leaders(
    predictors: Predictors, truths: Sequence[FloatArray], own: Sequence[int], train: BoolArray
) -> list[IntArray]:
    """Return the `LEADING` columns that most tell each truth in the training rows; all others, of that many columns.

    `own` is each truth's own column, which is none of them. Half have the largest share of variance between their
    bins; half the largest of what a linear fit on these leaves, or of its square, where products show.
    """
    d = predictors.ranks.shape[1]
    if d <= LEADING + 1:
        return [np.delete(np.arange(d), j) for j in own]
    Y = [_centred(truth, train) for truth in truths]
    first = _largest(_strength(predictors, Y, own, train), LEADING // 2)
    left = []
    for values, columns in zip(Y, first, strict=True):
        check_limits()
        Z = predictors.scaled[np.ix_(train, np.isin(predictors.owner, columns))]
        left.append(values - ridge(Z, values, Z))
    squares = [np.square(values) - np.square(values).mean(axis=0) for values in left]
    rest = np.maximum(*(_strength(predictors, values, own, train) for values in (left, squares)))
    np.put_along_axis(rest, first, -np.inf, axis=1)
    return list(np.hstack([first, _largest(rest, LEADING - LEADING // 2)]))


def _centred(truth: FloatArray, train: BoolArray) -> FloatArray:
    """Return the training rows less their mean; 0 where missing."""
    values, known = np.nan_to_num(truth[train]), ~np.isnan(truth[train])
    return np.asarray((values - values.sum(axis=0) / np.maximum(known.sum(axis=0), 1)) * known)


def _largest(strength: FloatArray, count: int) -> IntArray:
    return np.argsort(-strength, axis=1, kind="stable")[:, :count]


def _strength(predictors: Predictors, Y: Sequence[FloatArray], own: Sequence[int], train: BoolArray) -> FloatArray:
    """Return the share of each centred truth's variance between each column's bins, less chance's; own: -inf."""
    bins, stacked = predictors.bins[train], np.hstack(Y)
    counts = bins.sum(axis=0)
    first_bins = np.flatnonzero(np.diff(predictors.binned, prepend=-1))
    first_values = np.cumsum([0, *(values.shape[1] for values in Y[:-1])])
    between = np.square((bins / np.sqrt(np.maximum(counts, 1))).T @ stacked)
    explained = np.add.reduceat(np.add.reduceat(between, first_bins, axis=0), first_values, axis=1).T
    total = np.add.reduceat(np.square(stacked).sum(axis=0), first_values)[:, None]
    share = np.divide(explained, total, out=np.zeros_like(explained), where=total > 0)
    used = np.add.reduceat(counts > 0, first_bins, dtype=float) - 1
    share -= (1 - share) * used / np.maximum(len(bins) - 1 - used, 1)
    share[np.arange(len(Y)), own] = -np.inf
    return share


def ridge(X: FloatArray, Y: FloatArray, new: FloatArray) -> FloatArray:
    """Return the forecasts for `new` of a ridge regression of centred Y, the penalty of least generalised CV error.

    Like those of trees, they stay within the range of Y: squares of outliers would not.

    ``GCV(α) = |Y - Ŷ|² / (n - 1 - df)²`` (Golub, Heath & Wahba 1979), with df = Σ s/(s + α) over the eigenvalues s of
    the centred XᵀX, and α from `PENALTIES` times n.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> np.allclose(ridge(x, 3 * x, x[:2]), [[-3], [-2.8775510]], atol=1e-4)
    True
    """
    n, mean = len(X), X.mean(axis=0)
    Z = X - mean
    sizes, vectors = eigh(Z.T @ Z, check_finite=False)
    sizes, c = np.maximum(sizes, 0), vectors.T @ (Z.T @ Y)
    penalties = PENALTIES[:, None] * n
    fitted = (sizes + 2 * penalties) / np.square(sizes + penalties) @ np.square(c).sum(axis=1)
    df = (sizes / (sizes + penalties)).sum(axis=1)
    errors = np.maximum(np.square(Y).sum() - fitted, 0) / np.square(np.maximum(n - 1 - df, 1e-3))
    best = penalties[int(errors.argmin())]
    return np.clip((new - mean) @ (vectors @ (c / (sizes + best)[:, None])), Y.min(axis=0), Y.max(axis=0))


def trees(X: FloatArray, Y: FloatArray, new: FloatArray, stream: np.random.RandomState, count: int) -> FloatArray:
    """Return the sum of forecasts for `new` of extremely randomised trees (Geurts, Ernst & Wehenkel 2006)."""
    from sklearn import config_context  # here: heavy, and a list of plugins grows no tree
    from sklearn.tree import ExtraTreeRegressor

    data, asked = (np.ascontiguousarray(a, dtype=np.float32) for a in (X, new))
    incomplete, total = bool(np.isnan(data).any()), np.zeros((len(new), Y.shape[1]))
    if incomplete and find_spec("sklearn.frozen") is None:  # before scikit-learn 1.6 these trees read no missing value
        least = 2 * np.fmin.reduce(data, initial=0) - np.fmax.reduce(data, initial=0) - 1
        data, asked = (np.where(np.isnan(a), least, a) for a in (data, asked))
    tree = ExtraTreeRegressor(min_samples_leaf=MIN_LEAF, random_state=stream)
    for _ in range(count):
        with config_context(skip_parameter_validation=True):
            tree.fit(data, Y, check_input=incomplete)
        total += tree.tree_.predict(asked).reshape(total.shape)
    return total


def leaves(predictors: Predictors, left: FloatArray, columns: IntArray) -> bool:
    """Say whether what a linear fit on some columns leaves, (n, k), goes with the bins of one, or a product of two.

    Under independence, n times the share of its squares that lies between the bins of a column is χ² of as many
    degrees of freedom, and n times the share along a product of `even` forms χ² of one; of several columns of `left`
    the tail is no longer. Every column and every product is tested at its part of `LEVEL`.
    """
    n, total = len(left), np.square(left).sum()
    first = np.flatnonzero(np.diff(predictors.binned, prepend=-1))
    counts = predictors.bins.sum(axis=0)
    between = np.square(predictors.bins.T @ left).sum(axis=1) / np.maximum(counts, 1)
    used = np.add.reduceat(counts > 0, first, dtype=float)[columns]
    if (n * np.add.reduceat(between, first)[columns] > total * chdtri(used, LEVEL / 2 / len(columns))).any():
        return True
    even = predictors.even[:, np.isin(predictors.owner, columns)]
    along = sum(np.square(even.T @ (values[:, None] * even)) for values in left.T)
    size = np.square(even).T @ np.square(even)
    return bool((n * along > total * size * chdtri(1, LEVEL / len(even.T) ** 2)).any())


def forecasts(
    predictors: Predictors, Y: FloatArray, folds: IntArray, chosen: Sequence[IntArray], rng: np.random.Generator
) -> FloatArray:
    """Predict every row of Y, shape (n, k) without NaN, by models that saw no row of its fold.

    `chosen` are the predictors of each fold. The forecast is the training mean and, with weights from 0 to 1 that
    fit the other folds best (stacking, Breiman 1996), what a linear fit and trees add to it. Of `SMALL` rows or
    more, no tree grows where the linear fit has `PER_COLUMN` rows for each of its columns and `leaves` nothing, and a
    fold gets no more than the first trees where those of the other folds add less than `LEAST_GAIN` of the variance
    there. NaN where no row is left to learn from.
    """
    centre, parts, width = np.full(Y.shape, np.nan), np.zeros((2, *Y.shape)), 0
    used = [(folds == k, columns) for k, columns in enumerate(chosen)]
    used = [(out, columns) for out, columns in used if out.any() and not out.all()]
    for out, columns in used:
        Z = predictors.scaled[:, np.isin(predictors.owner, columns)]
        width = max(width, Z.shape[1])
        centre[out] = mean = Y[~out].mean(axis=0)
        parts[0][out] = ridge(Z[~out], Y[~out] - mean, Z[out])
    rest = Y - centre
    enough = bool(used) and len(Y) >= max(SMALL, PER_COLUMN * width)
    if enough and not leaves(predictors, rest - parts[0], np.unique(np.concatenate(chosen))):
        return centre + _weighed(parts[:1], rest, folds)
    streams = [np.random.RandomState(int(rng.integers(2**31))) for _ in used]

    def grow(f: int, count: int) -> FloatArray:
        out, columns = used[f]
        X = predictors.ranks[:, columns]
        return trees(X[~out], Y[~out] - Y[~out].mean(axis=0), X[out], streams[f], count)

    for f, (out, _) in enumerate(used):
        parts[1][out] = grow(f, FEW) / FEW
    gain = _gains(parts, rest, folds)
    for f, (out, _) in enumerate(used):
        if len(Y) < SMALL or gain[~out].sum() >= LEAST_GAIN * np.nansum(np.square(rest[~out])):
            parts[1][out] = (FEW * parts[1][out] + grow(f, MORE)) / (FEW + MORE)
    return centre + _weighed(parts, rest, folds)


def _gains(parts: FloatArray, Y: FloatArray, folds: IntArray) -> FloatArray:
    """Return by how much the squared error of each row falls by the second part beside the first, shape (n,)."""
    alone, both = (np.square(Y - _weighed(some, Y, folds)) for some in (parts[:1], parts))
    return np.asarray(np.nansum(alone - both, axis=1))


def _weighed(parts: FloatArray, Y: FloatArray, folds: IntArray) -> FloatArray:
    """Return the sum of the parts, each fold's weights those that fit Y best in the other folds, 1 at most."""
    answer = np.zeros(Y.shape)
    for k in np.unique(folds):
        out = folds == k
        if not out.all():
            weights = nnls(parts[:, ~out].reshape(len(parts), -1).T, np.nan_to_num(Y[~out]).ravel())[0]
            answer[out] = np.tensordot(np.minimum(weights, 1), parts[:, out], axes=1)
    return answer
