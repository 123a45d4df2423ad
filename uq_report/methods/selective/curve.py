"""The algebra of selective prediction: risk-coverage curve, its areas, and the influence of each row on them.

Rows are kept in order of their uncertainty u, the least uncertain first; rows of equal u share their mean loss. With
loss ℓ of mean L, weights w that sum to 1, and a share c kept: ``R(c)`` is the mean loss of the kept rows (the risk),
``κ(c) = 1 − c R(c)/L`` the share of all loss among the referred rows, ``G`` the mid-point distribution function of u,
``AUGRC = mean ℓ (1 − G)``, and ``g = L/2 − AUGRC = cov(ℓ, G)`` the gain over a random order in rank form.

Influence values have mean 0; a mean of a quantity plus its influence carries weights and clusters to its error.
Geifman & El-Yaniv (2017); Traub et al. (2024), arXiv:2407.01032.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.model.sampling import Sampling
from ...core.statistics.score_intervals import mid_cdf
from ...core.support.arrays import FloatArray, IntArray

WINDOW = 8  # rows on each side of a threshold, at least, that give the loss there
_DIGITS = 9  # of the share kept of rows of one uncertainty


@dataclass(frozen=True)
class RiskCoverage:
    """Rows with their uncertainty and loss, both of shape (n,), and how they enter a mean; weights are above 0.

    Examples
    --------
    >>> rows = Sampling(np.full(5, 0.2), 5)
    >>> one = RiskCoverage(np.arange(5.0), np.array([0.0, 0.0, 1.0, 0.0, 1.0]), rows)
    >>> [round(one.risk(k / 5), 4) for k in range(1, 6)]
    [0.0, 0.0, 0.3333, 0.25, 0.4]
    >>> round(one.augrc, 6), round(one.gain, 6)
    (0.12, 0.08)
    """

    uncertainty: FloatArray
    loss: FloatArray
    sampling: Sampling

    @property
    def weights(self) -> FloatArray:
        """The weights, which sum to 1."""
        return self.sampling.weights

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.loss)

    @cached_property
    def mean_loss(self) -> float:
        """L, the risk of keeping all."""
        return float(self.weights @ self.loss)

    @cached_property
    def place(self) -> FloatArray:
        """G, the share of rows below in uncertainty plus half of those beside."""
        return mid_cdf(self.uncertainty, self.weights)

    @property
    def _even(self) -> bool:
        return bool(np.ptp(self.weights) <= 1e-12)

    def share(self, kept: float) -> float:
        """Return the share nearest to `kept` that whole rows make up, where all weigh the same."""
        return round(kept * self.n) / self.n if self._even else kept

    def kept(self, share: float) -> FloatArray:
        """Return D, which part of each row is kept: 1 below the threshold, 0 above, between for rows tied there."""
        _, at, beside = self._levels
        below = np.cumsum(at) - at
        part = np.round((self.share(share) - below) / at, _DIGITS)
        return np.asarray(np.clip(part, 0.0, 1.0)[beside])

    @cached_property
    def _levels(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """The distinct uncertainties in order, the mass at each, and which of them each row has."""
        values, beside = np.unique(self.uncertainty, return_inverse=True)
        return values, np.bincount(beside, self.weights).astype(float), beside.astype(np.int64)

    def threshold(self, share: float) -> float:
        """Return the largest uncertainty of a kept row: referred are the rows above, and of tied rows some."""
        return float(self.uncertainty[self.kept(share) > 0].max())

    def mean_of(self, values: FloatArray, share: float) -> float:
        """Return the mean of any values over the kept rows."""
        kept = self.weights * self.kept(share)
        return float(kept @ values / kept.sum())

    def risk(self, share: float) -> float:
        """Return R(c)."""
        return self.mean_of(self.loss, share)

    def captured(self, share: float) -> float:
        """Return κ(c), the share of all loss among the referred rows."""
        return 1 - self.share(share) * self.risk(share) / self.mean_loss

    def oracle(self, share: float) -> float:
        """Return the risk if rows were kept in order of their loss, which nobody knows before."""
        return RiskCoverage(self.loss, self.loss, self.sampling).risk(share)

    def loss_at(self, share: float) -> float:
        """Return m, the mean loss of the max(8, n^(2/3)/2) rows on each side of the threshold."""
        order = np.argsort(self.uncertainty, kind="stable")
        at = round(float(self.kept(share).sum()))
        reach = max(WINDOW, round(self.n ** (2 / 3) / 2))
        near = order[max(at - reach, 0) : at + reach]
        _, mass, beside = self._levels
        shared = (np.bincount(beside, self.weights * self.loss) / mass)[beside]
        return float(np.average(shared[near], weights=self.weights[near]))

    def risk_influence(self, share: float) -> FloatArray:
        """Return the influence of each row on R(c), ``[D (ℓ − m) − mean D (ℓ − m)] / c``."""
        moved = self.kept(share) * (self.loss - self.loss_at(share))
        return np.asarray((moved - self.weights @ moved) / self.share(share))

    def saving_influence(self, share: float) -> FloatArray:
        """Return the influence of each row on the saving L − R(c)."""
        return np.asarray(self.loss - self.mean_loss - self.risk_influence(share))

    def captured_influence(self, share: float) -> FloatArray:
        """Return the influence of each row on κ(c)."""
        c, level = self.share(share), self.mean_loss
        beyond = c * self.risk(share) / level**2 * (self.loss - level)
        return np.asarray(beyond - c / level * self.risk_influence(share))

    @cached_property
    def augrc(self) -> float:
        """The area under the generalised risk-coverage curve; L/2 for a random order."""
        return float(self.weights @ (self.loss * (1 - self.place)))

    @cached_property
    def gain(self) -> float:
        """The gain over a random order in rank form, g = L/2 − AUGRC."""
        return self.mean_loss / 2 - self.augrc

    def gain_of(self, values: FloatArray) -> float:
        """Return cov(values, G): the gain of any loss in this order."""
        return float(self.weights @ (values * (self.place - 0.5)))

    @cached_property
    def augrc_influence(self) -> FloatArray:
        """The influence of each row on the AUGRC."""
        below = mid_cdf(self.uncertainty, self.weights * self.loss)
        return np.asarray(self.loss * (1 - self.place) + below - 2 * self.augrc)

    @cached_property
    def gain_influence(self) -> FloatArray:
        """The influence of each row on g."""
        return np.asarray((self.loss - self.mean_loss) / 2 - self.augrc_influence)


def order_statistic(curve: RiskCoverage) -> float:
    """Return z of the test that the order is a random one; NaN where losses or uncertainties do not differ.

    ``Σ (ℓ − L)(G − ½) / √(Σ (ℓ − L)² Σ (G − ½)² / (n − 1))``: of a loss of 0 or 1 Wilcoxon's statistic with ties. It
    takes rows as independent and of equal weight.
    """
    loss, place = curve.loss - curve.loss.mean(), curve.place - 0.5
    if not (np.ptp(curve.loss) > 0 and np.ptp(curve.uncertainty) > 0):
        return float("nan")
    return float(loss @ place / np.sqrt(np.square(loss).sum() * np.square(place).sum() / (curve.n - 1)))
