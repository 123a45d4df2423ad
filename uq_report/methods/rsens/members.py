"""What an ensemble's members add to R-sens: the information that their disagreement hides.

Outcome y and member m together have the density w_m p_m(y|x). By the chain rule its Fisher information about a step
of x, the mean of the members' own, is that of the mixture q(y|x), which is R-sens squared, plus the mean information
of the posterior over the members given the outcome (Cover & Thomas 2006, theorem 2.5.3, to second order).
"""

from __future__ import annotations

import numpy as np

from ...core.model.derivatives import finite_differences
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray
from ...distributions import Categorical
from .sample import DerivativeSample

_QUADRATURE = 2e-9  # nats that integrals of equal densities may differ by
_ROUNDING = 1e-8  # of the joint divergence


def hidden(joint: FloatArray, mixed: FloatArray) -> FloatArray:
    """Return the joint divergence less that of the mixtures, 0 where that is rounding, infinite where `joint` is.

    Examples
    --------
    >>> hidden(np.array([0.75, 0.5, np.inf]), np.array([0.25, 0.5, 0.5]))
    array([0.5, 0. , inf])
    """
    rest = np.where(np.isinf(joint), np.inf, joint) - np.where(np.isinf(joint), 0.0, mixed)
    return np.where(rest > _ROUNDING * np.where(np.isinf(joint), 0.0, joint) + _QUADRATURE, rest, 0.0)


def hidden_rate(sample: DerivativeSample, feature: str, precision: float) -> FloatArray:
    """Return √(Σ_mc w_m p_mc (s_mc - s_c)²) of each row, with s the derivatives of log p_mc and of log p_c, (n,).

    Of class probabilities, by central differences of the members' own; infinite where one leaves 0.
    """
    engine, classes = sample.engine, sample.engine.baseline.parameters.shape[1]
    rates = finite_differences(
        sample.subject.X,
        [sample.column(feature)],
        np.array([sample.spreads[feature]]),
        lambda X: joint_table(engine.predict(X)),
        batch=engine.batch_rows,
        precision=precision,
    )
    return hidden_length(*(part.reshape(len(part), -1, classes) for part in (rates.values, rates.first[:, 0])))


def hidden_length(p: FloatArray, slope: FloatArray) -> FloatArray:
    """Return the root of the hidden information of joint probabilities and their slopes (n, m, k), shape (n,).

    Examples
    --------
    >>> hidden_length(np.array([[[0.25, 0.25], [0.25, 0.25]]]), np.array([[[0.1, -0.1], [-0.1, 0.1]]]))
    array([0.4])
    """
    apart = np.square(_score(p, slope) - _score(p.sum(axis=1), slope.sum(axis=1))[:, None])
    leaves_0 = (p == 0) & (slope != 0)
    with np.errstate(invalid="ignore"):
        terms = np.where(leaves_0, np.inf, np.where(p == 0, 0.0, p * apart))
    return np.asarray(np.sqrt(terms.sum(axis=(1, 2))))


def joint_table(dist: Distribution) -> Categorical:
    """Return the probabilities of member and class together, all classes of one member side by side.

    Examples
    --------
    >>> from uq_report.distributions import CategoricalMixture
    >>> joint_table(CategoricalMixture([[[0.5, 0.5], [0.0, 1.0]]])).probabilities
    array([[0.25, 0.25, 0.  , 0.5 ]])
    """
    members = [(weight, member.parameters) for weight, member in dist.members()]
    total = sum(weight for weight, _ in members)
    return Categorical(np.hstack([weight / total * p for weight, p in members]))


def _score(p: FloatArray, slope: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(slope == 0, 0.0, slope / p)
