"""Other sensitivity measures of the prediction on the same rows, for comparison with R-sens.

Each is given as one term per row whose weighted mean is the estimate, so that its standard error is that
of a mean (for ratios and spreads by linearisation).
"""

import numpy as np

from ...core.model.measures import PREDICTION
from ...core.model.results import Omission
from ...core.model.variants import Variant
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ..shared.terms import ROUNDING
from .estimator import PD_POINTS, DerivativeSample, Local, Terms

Donors = list[tuple[IntArray, FloatArray]]  # the donor of each row, and f with its value

NAMES = ("ead", "aed", "apc", "var", "pd")
_PER_UNIT = frozenset({"ead", "aed", "apc"})
_DONORS = 3
_NODES, _MASS = np.polynomial.hermite_e.hermegauss(5)
MOVES = _DONORS + PD_POINTS + len(_NODES)  # predictions of a row and numeric feature


def comparators(sample: DerivativeSample, local: Local) -> tuple[Terms, tuple[Omission, ...]]:
    """Return the terms of every comparator and feature, per unit (ead, aed, apc) or in units of the prediction.

    ``ead`` E|∂f|, ``aed`` |E ∂f| (Cui et al. 2020); ``apc`` average predictive comparison (Gelman & Pardoe
    2007); ``var`` mean variance of f along the feature given the others, taken as jointly normal, by
    Gauss-Hermite quadrature (Paananen et al. 2019); ``pd`` spread of the partial dependence (Greenwell et
    al. 2018). f is the mean, or the positive class's probability.
    """
    base = sample.engine.baseline
    if not local.changes:
        return {}, (Omission("", "", f"comparators need a mean; {base.why_not('mean')}"),)
    f = base.mean()
    terms: Terms = {}
    for feature, change in local.changes.items():
        terms["ead", feature] = np.abs(change)
        if feature in sample.numeric:
            present = ~np.isnan(change)
            terms["aed", feature] = _sign(float(sample.sampling.weights[present] @ change[present])) * change
    geometry = _Geometry(sample)
    for feature in sample.features:
        if feature in sample.numeric:
            reach, donors, curve, spread = _moves(sample, geometry, feature)
            terms["apc", feature] = _comparison(sample, feature, reach, donors, f)
            mean = _MASS @ spread / _MASS.sum()
            terms["var", feature] = _MASS @ np.square(spread - mean) / _MASS.sum()
            terms["pd", feature] = _standard_deviation(sample, curve)
        else:
            levels, shares, weights = local.levels[feature], sample.shares(feature), geometry.closeness(feature)
            terms["apc", feature] = _level_comparison(sample, feature, weights, levels, f)
            terms["var", feature] = shares @ np.square(levels - shares @ levels)
            average = levels @ sample.sampling.weights
            terms["pd", feature] = (levels[average.argmax()] - levels[average.argmin()]) / 4
    reason = "a change of level has a size but no sign, so it has no mean"
    known = [(m, feature) for m in NAMES for feature in sample.features if (m, feature) in terms]
    size = ROUNDING * float(np.abs(f).max())
    terms = {key: _beyond(size, terms[key], *key, sample) for key in known}
    return terms, tuple(Omission("aed", feature, reason) for feature in sample.categorical)


class _Geometry:
    """Distances between rows without one feature, and each numeric feature given the others.

    With P the precision of the standardised numeric features, a row difference D has the squared
    Mahalanobis distance D'PD - (PD)_u² / P_uu without feature u. Differing levels count 1 each.
    """

    def __init__(self, sample: DerivativeSample) -> None:
        self.sample, self.at = sample, {f: i for i, f in enumerate(sample.numeric)}
        n = len(sample.rows)
        z = np.column_stack([np.zeros(n), *(self._standardised(f) for f in sample.numeric)])[:, 1:]
        d = z.shape[1]
        covariance = (z * sample.sampling.weights[:, None]).T @ z + 1e-6 * np.eye(d)
        self.precision = np.linalg.inv(covariance) if d else covariance
        self.whitened = z @ self.precision
        inner = np.einsum("nd,nd->n", self.whitened, z)
        self.total = np.maximum(inner[:, None] + inner - 2 * self.whitened @ z.T, 0.0)
        for feature in sample.categorical:
            self.total += self._differs(feature)

    def closeness(self, feature: str) -> FloatArray:
        """Return 1 / (1 + squared distance in all other features), (rows, rows), 0 on the diagonal."""
        if feature in self.at:
            u = self.at[feature]
            own = self.whitened[:, u]
            distance = self.total - np.square(own[:, None] - own) / self.precision[u, u]
        else:
            distance = self.total - self._differs(feature)
        present = self.sample.has_value(feature)
        weights = present * self.sample.sampling.weights / (np.maximum(distance, 0.0) + 1)
        weights[~present] = 0.0
        np.fill_diagonal(weights, 0.0)
        return weights

    def conditional(self, feature: str) -> tuple[FloatArray, float]:
        """Return a numeric feature's mean given the others, per row, and its standard deviation."""
        u, spread = self.at[feature], self.sample.spreads[feature]
        values = self.sample.values(feature)
        own = np.where(np.isnan(values), np.nanmean(values), values)
        mean = own - self.whitened[:, u] / self.precision[u, u] * spread
        return mean, float(spread / np.sqrt(self.precision[u, u]))

    def _differs(self, feature: str) -> BoolArray:
        codes = self.sample.values(feature)
        return np.asarray(codes[:, None] != codes)

    def _standardised(self, feature: str) -> FloatArray:
        values, present = self.sample.values(feature), self.sample.has_value(feature)
        weights = self.sample.sampling.weights[present]
        centred = values - weights @ values[present] / weights.sum()
        return np.where(present, centred, 0.0) / self.sample.spreads[feature]


def _moves(
    sample: DerivativeSample, geometry: _Geometry, feature: str
) -> tuple[FloatArray, Donors, FloatArray, FloatArray]:
    """Return each row's total closeness by a numeric feature, (donors, f) of drawn ones, and f on grid and nodes."""
    weights, engine, at = geometry.closeness(feature), sample.engine, (sample.column(feature),)
    drawn, (mean, std) = _donors(sample, feature, weights), geometry.conditional(feature)
    values = (*(sample.values(feature)[d] for d in drawn), *sample.grids[feature].x.tolist())
    moves = [Variant(at, (v,)) for v in (*values, *(mean + std * node for node in _NODES))]
    (prediction,), _ = engine.select((PREDICTION.name,))
    f = np.concatenate([part.values[0] for part in engine.evaluate(moves, (prediction,), total=len(moves))])
    moved, curve, spread = np.split(f, [len(drawn), len(moves) - len(_NODES)])
    return weights.sum(axis=1), list(zip(drawn, moved, strict=True)), curve, spread


def _donors(sample: DerivativeSample, feature: str, weights: FloatArray) -> list[IntArray]:
    """Draw donors of each row in proportion to their closeness; a row without any is its own."""
    reached = np.cumsum(weights, axis=1)
    rng, n = sample.engine.rng("donors", feature), len(weights)
    total = reached[:, -1]
    places = (np.count_nonzero(reached < (rng.random(n) * total)[:, None], axis=1) for _ in range(_DONORS))
    return [np.where(total > 0, np.minimum(at, n - 1), np.arange(n)) for at in places]


def _comparison(sample: DerivativeSample, feature: str, reach: FloatArray, donors: Donors, f: FloatArray) -> FloatArray:
    """Return terms of |Σ W (Δf sign Δx)| / Σ W |Δx| over drawn pairs, W a row's total closeness (eq. 4)."""
    u = sample.values(feature)
    paired = reach > 0  # rows without a value have no donors, and are none
    gained = np.where(paired, np.mean([(moved - f) * np.sign(u[d] - u) for d, moved in donors], axis=0) * reach, 0.0)
    moved_by = np.where(paired, np.mean([np.abs(u[d] - u) for d, _ in donors], axis=0) * reach, 0.0)
    omega = sample.sampling.weights
    below = float(omega @ moved_by)
    ratio = float(omega @ gained) / below if below > 0 else 0.0
    return np.asarray(_sign(ratio) * (ratio + (gained - ratio * moved_by) / (below if below > 0 else 1.0)))


def _level_comparison(
    sample: DerivativeSample, feature: str, weights: FloatArray, levels: FloatArray, f: FloatArray
) -> FloatArray:
    """Return terms of the root mean square change between pairs of rows of different levels (section 3.3)."""
    codes = np.nan_to_num(sample.values(feature), nan=0.0).astype(int)
    gained = (weights * np.square(levels[codes].T - f[:, None])).sum(axis=1)
    moved_by = (weights * (codes[:, None] != codes)).sum(axis=1)
    omega = sample.sampling.weights
    below = omega @ moved_by
    ratio = np.sqrt(omega @ gained / below) if below > 0 else 0.0
    if ratio == 0:
        return np.zeros(len(f))
    return np.asarray(ratio + (gained - ratio**2 * moved_by) / (2 * ratio * below))


def _standard_deviation(sample: DerivativeSample, curve: FloatArray) -> FloatArray:
    """Return terms of the standard deviation of a partial dependence over its points, (points, rows)."""
    average = curve @ sample.sampling.weights
    spread = average.std(ddof=1)
    if spread <= 1e-12 * np.abs(average).max():
        return np.zeros(curve.shape[1])
    lever = (average - average.mean()) / ((len(average) - 1) * spread)
    return np.asarray(spread + lever @ (curve - average[:, None]))


def _beyond(size: float, term: FloatArray, measure: str, feature: str, sample: DerivativeSample) -> FloatArray:
    """Return a term with 0 for what moves a prediction by no more than `size`, which is its rounding."""
    unit = sample.spreads[feature] if feature in sample.numeric and measure in _PER_UNIT else 1.0
    return np.where(np.abs(term) <= (size**2 if measure == "var" else size / unit), 0.0, term)


def _sign(value: float) -> float:
    return -1.0 if value < 0 else 1.0
