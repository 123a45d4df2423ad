"""Linear and generalised linear models: of a changed row only the changed columns' share of its score is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from ...core.adapter import Adapter, Scores
from ...core.arrays import FloatArray, IntArray, Table
from ...core.mixed import Mixer
from ...core.predictive import Distribution
from ...core.variants import Mix, Variant
from ..adapters.sklearn_ import unwrap
from .columnwise import Columnwise, columns_of


class AdditivePath:
    """Estimators with ``coef_`` whose prediction is a function of a linear score, behind column-wise steps or none.

    The score of a changed row is that of the row, less the changed columns' share, plus the share of the new values;
    link and distribution are the adapter's own. No matrix is multiplied, so a row's bits depend on nothing else.
    """

    name: ClassVar[str] = "additive"
    title: ClassVar[str] = "additive score"
    rank: ClassVar[int] = 10
    api_version: ClassVar[int] = 1

    def shortcut(self, model: Any, adapter: Adapter, X: Table) -> _Additive | None:
        """Return the shortcut of an estimator with one weight for each column and score."""
        steps, final = unwrap(model)
        coefficients = getattr(final, "coef_", None)
        if coefficients is None or not isinstance(adapter, Scores):
            return None
        columns = Columnwise.of(steps, X)
        scores = None if columns is None else adapter.score(final, columns.rows)
        if columns is None or scores is None:
            return None
        weights = np.atleast_2d(_dense(coefficients)).T
        if weights.shape != (columns.rows.shape[1], scores.shape[1]):
            return None
        each = tuple(weights[made] for made in columns.made)
        shares = tuple(
            _share(columns_of(columns.rows, made), own) for made, own in zip(columns.made, each, strict=True)
        )
        return _Additive(columns, final, adapter, scores, each, shares)

    def mixer(self, model: Any, adapter: Adapter, X: Table, rows: int) -> Mixer | None:
        """Return what predicts mixed rows: the same as for changed ones."""
        return self.shortcut(model, adapter, X)


@dataclass(frozen=True, eq=False)
class _Additive:
    """Predicts from scores (n, k): `weights` (columns it makes, k) and `shares` (n, k) by column of the table."""

    columns: Columnwise
    final: Any
    adapter: Scores
    scores: FloatArray
    weights: tuple[FloatArray, ...]
    shares: tuple[FloatArray, ...]

    def covers(self, variant: Variant) -> bool:
        """Cover every change of columns."""
        return True

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Distribution:
        """Return the distributions of the rows' scores with the shares of each variant's columns replaced."""
        scores = np.repeat(self.scores[rows][:, None], len(group), axis=1)
        for variant, column, values, at in self.columns.changes(group):
            own = self.shares[column]
            share = own if values is None else _share(values, self.weights[column])
            scores[:, variant] += share.take(at, axis=0) - own.take(rows, axis=0)
        return self.adapter.from_score(self.final, scores.reshape(-1, scores.shape[2]))

    def mixed(self, mixes: Sequence[Mix]) -> Distribution:
        """Return the distributions of the other rows' scores with the shares of what the first row owns replaced.

        What stays adds 0, so that it leaves no rounding.
        """
        sizes = [len(mix.others) for mix in mixes]
        rows, times = (np.repeat(each, sizes) for each in zip(*((mix.row, len(mix.own)) for mix in mixes), strict=True))
        others = np.concatenate([mix.others for mix in mixes])
        owned = np.concatenate([np.tile(mix.own.T, len(mix.others)) for mix in mixes], axis=1)
        scores = np.repeat(self.scores[others].T, times, axis=1)
        for share, own in zip(self.shares, owned, strict=True):
            scores += np.repeat((share[rows] - share[others]).T, times, axis=1) * own
        return self.adapter.from_score(self.final, scores.T)


def _share(values: Any, weights: FloatArray) -> FloatArray:
    """Return the sum of values times weights, shape (n, k), each row added up alone and in the same order."""
    return np.asarray(csr_array(values, dtype=float) @ weights)


def _dense(values: Any) -> FloatArray:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=float)
