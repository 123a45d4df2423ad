"""The discrete pairwise field by penalised pseudo-likelihood (Besag 1975)."""

from __future__ import annotations

import numpy as np

from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from .cid import Field, UnfitError

GRADIENT = 1e-7  # of the mean over rows: that of a sum grows with them


class PseudoLikelihood:
    """The negative pseudo-likelihood of rows of states, in nats a row, with a ridge on the pair potentials.

    Parameters are the unary potentials and those of every allowed pair, each once. Indicators of states are centred,
    so that a pair moves no mean of a node's logits; equal rows are counted, not repeated.
    """

    def __init__(self, codes: IntArray, starts: IntArray, allowed: BoolArray, penalty: float) -> None:
        states, counts = np.unique(codes, axis=0, return_counts=True)
        self.starts, self.sizes, self.ridge = starts[:-1], np.diff(starts), penalty / len(codes)
        self.weights = counts[:, None] / len(codes)
        self.hot = np.zeros((len(states), len(allowed)))
        self.hot[np.arange(len(states))[:, None], states + self.starts] = 1
        self.shares = (self.weights * self.hot).sum(axis=0)
        self.centred, self.pairs = self.hot - self.shares, np.nonzero(np.triu(allowed))

    def unpack(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the unary potentials (k,) and the symmetric ones of pairs (k, k)."""
        k = len(self.shares)
        pair = np.zeros((k, k))
        pair[self.pairs] = x[k:]
        return x[:k], pair + pair.T

    def logits(self, x: FloatArray) -> FloatArray:
        """Return the logit of each row's states given its other nodes, shape (rows, k)."""
        check_limits()
        unary, pair = self.unpack(x)
        return unary + self.centred @ pair

    def probabilities(self, x: FloatArray) -> FloatArray:
        """Return p(state | other nodes) of each row, shape (rows, k)."""
        logits = self.logits(x)
        p = np.exp(logits - self._of_states(np.maximum.reduceat(logits, self.starts, axis=1)))
        return p / self._sums(p)

    def loss(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the penalised loss and its gradient."""
        p = self.probabilities(x)
        observed = np.log(np.maximum(p, np.finfo(float).tiny)) * self.hot
        value = self.ridge / 2 * float(np.square(x[len(self.shares) :]).sum()) - float((self.weights * observed).sum())
        return value, self._gradient(self.weights * (p - self.hot), x)

    def curvature(self, x: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the product of the Hessian with a direction."""
        p = self.probabilities(x)
        moved = p * self.logits(direction)
        return self._gradient(self.weights * (moved - p * self._sums(moved)), direction)

    def _gradient(self, of_logits: FloatArray, x: FloatArray) -> FloatArray:
        pair = self.centred.T @ of_logits
        return np.concatenate([of_logits.sum(axis=0), (pair + pair.T)[self.pairs] + self.ridge * x[len(pair) :]])

    def _sums(self, values: FloatArray) -> FloatArray:
        """Return the sum over the states of each node, repeated for each of them."""
        return self._of_states(np.add.reduceat(values, self.starts, axis=1))

    def _of_states(self, of_nodes: FloatArray) -> FloatArray:
        return of_nodes.repeat(self.sizes, axis=1)


def fit_field(codes: IntArray, edges: BoolArray | None = None, penalty: float = 1.0) -> Field:
    """Fit the field to rows of states by penalised pseudo-likelihood.

    Parameters
    ----------
    codes : ndarray of int (n, nodes)
        States 0 .. k-1 of each node, every one seen, the target last.
    edges : ndarray of bool (nodes, nodes), optional
        A given graph; every pair by default.
    penalty : float
        Half the weight of the squared pair potentials, each pair once, against n terms of the likelihood.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 0]])
    >>> fit_field(codes, penalty=0.1).pair[:2, 2:].round(3)      # the first state of one goes with that of the other
    array([[ 0.334, -0.334],
           [-0.334,  0.334]])
    """
    from scipy.optimize import minimize  # here: heavy, and a list of plugins fits nothing

    starts = np.concatenate([[0], np.cumsum(codes.max(axis=0) + 1)])
    nodes = np.repeat(np.arange(codes.shape[1]), np.diff(starts))
    allowed = nodes[:, None] != nodes
    if edges is not None:
        allowed &= edges[np.ix_(nodes, nodes)]
    field = PseudoLikelihood(codes, starts, allowed, penalty)
    start = np.concatenate([np.log(field.shares), np.zeros(len(field.pairs[0]))])
    found = minimize(
        field.loss, start, jac=True, hessp=field.curvature, method="trust-ncg", options={"gtol": GRADIENT / 10}
    )
    left = float(np.abs(field.loss(found.x)[1]).max())
    if left > GRADIENT:
        message = f"cid.penalty must make the discrete field converge; got {penalty:g}, which leaves a gradient of "
        reason = "the discrete field did not converge"
        raise UnfitError(f"{message}{left:.1g}. Set a larger penalty, or fewer bins.", reason)
    unary, pair = field.unpack(found.x)
    return Field(starts, unary - pair @ field.shares, pair)
