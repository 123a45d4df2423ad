"""The discrete pairwise field by penalised pseudo-likelihood: Newton steps by conjugate gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from .cid import Field, UnfitError

GRADIENT = 1e-7  # of the mean over rows: that of a sum grows with them
_STEPS, _DIRECTIONS, _HALVINGS = 100, 500, 40
_LOOSE = 0.3  # share of the gradient that a step may leave, far from the least
_DESCENT = 1e-4  # share of the slope by which a step must lower the loss
_ROUNDING = 1e-13  # share of the loss that says nothing
_SINGLE = 1e-5  # the penalty's share of the curvature, of which single precision leaves 1 % or less
_TOGETHER = 2**18  # entries of the rows x states that are held in double precision


class Least(NamedTuple):
    """Potentials of the states (k,) and of their pairs (k, k), and the largest gradient left there."""

    unary: FloatArray
    pair: FloatArray
    gradient: float


class _Point(NamedTuple):
    """Potentials (k, k + 1), the unary ones last, their loss and its gradient, and p(state | other nodes) of rows."""

    potentials: FloatArray
    loss: float
    gradient: FloatArray
    p: list[AnyArray]

    @property
    def largest(self) -> float:
        return float(np.abs(self.gradient).max())


def least_pseudo(codes: IntArray, starts: IntArray, allowed: BoolArray, penalty: float) -> Least:
    """Return the potentials whose penalised pseudo-likelihood is least (Besag 1975), in nats a row.

    Each Newton step is solved by conjugate gradients to a share of its gradient that falls with it (Nocedal and
    Wright 2006, algorithm 7.1), led by the Hessian that independent nodes would have; its products are in single
    precision where the penalty allows that. Over-parametrised as the states are, the penalty alone bends the loss
    along some directions: the leading Hessian has these exactly.

    Parameters
    ----------
    codes : ndarray of int (n, nodes)
        States of each node, every one seen.
    starts : ndarray of int (nodes + 1,)
        Node a has the positions ``starts[a] .. starts[a + 1]`` of the k states.
    allowed : ndarray of bool (k, k)
        Which pairs of states have a potential: symmetric, none within a node.
    penalty : float
        Half the weight of the squared pair potentials, each pair once, against n terms of the likelihood.

    Examples
    --------
    >>> codes, nodes = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 0]]), np.array([0, 0, 1, 1])
    >>> least = least_pseudo(codes, np.array([0, 2, 4]), nodes[:, None] != nodes, 0.1)
    >>> least.pair[:2, 2:].round(3)                      # the first state of one goes with that of the other
    array([[ 0.334, -0.334],
           [-0.334,  0.334]])
    """
    loss = _Loss(codes, starts, allowed, penalty)
    k = int(starts[-1])
    at = loss.at(np.column_stack([np.zeros((k, k)), np.log(loss.shares)]))
    for _ in range(_STEPS):
        if at.largest <= GRADIENT:
            break
        lower = _lower(loss, at, loss.newton(at, min(_LOOSE, at.largest**0.5)))
        if lower is None:
            break
        at = lower
    pair = at.potentials[:, :k]
    return Least(at.potentials[:, k] - pair @ loss.shares, pair, at.largest)


def _lower(loss: _Loss, at: _Point, direction: FloatArray) -> _Point | None:
    """Return the first point from a whole step back, halving it, whose loss is lower by enough; None if none is."""
    slope = float(np.vdot(at.gradient, direction))
    for halving in range(_HALVINGS):
        step = 0.5**halving
        found = loss.at(at.potentials + step * direction)
        if found.loss <= at.loss + _DESCENT * step * slope + _ROUNDING * at.loss:
            return found
    return None


@dataclass(frozen=True)
class _Loss:
    """The penalised loss of rows of states, in centred indicators: a pair moves no mean of a node's logits.

    Arrays of potentials are (k, k + 1): symmetric pairs, of which both halves count half, and the unary ones.
    """

    codes: IntArray
    starts: IntArray
    allowed: BoolArray
    penalty: float

    @property
    def precision(self) -> type[np.floating[Any]]:
        """The precision of the Hessian's products: double where the penalty bends less than rounding would."""
        return np.float32 if self.ridge[0] >= _SINGLE else np.float64

    @cached_property
    def batches(self) -> list[tuple[AnyArray, FloatArray]]:
        """Indicators (k, rows) of the states of distinct rows, and the share of all rows that each is, in batches."""
        states, counts = np.unique(self.codes, axis=0, return_counts=True)
        size, found = max(1, _TOGETHER // len(self.allowed)), []
        for first in range(0, len(states), size):
            batch = states[first : first + size]
            hot = np.zeros((len(self.allowed), len(batch)), dtype=self.precision)
            hot[(batch + self.starts[:-1]).T, np.arange(len(batch))] = 1
            found.append((hot, counts[first : first + size] / len(self.codes)))
        return found

    @cached_property
    def shares(self) -> FloatArray:
        """The share of rows in each state."""
        return np.sum([hot @ weights for hot, weights in self.batches], axis=0)

    @cached_property
    def ridge(self) -> FloatArray:
        """The curvature that the penalty adds to each column of potentials."""
        return np.append(np.full(len(self.allowed), self.penalty / len(self.codes) / 2), 0.0)

    def at(self, potentials: FloatArray) -> _Point:
        """Return the loss at these potentials, its gradient and the probabilities of each row's states."""
        loss = 0.5 * float(np.vdot(self.ridge * potentials, potentials))
        gradient = np.zeros_like(potentials)
        found = []
        for hot, weights in self.batches:
            check_limits()
            indicators = hot.astype(float)
            logits = self._logits(potentials, indicators)
            logits -= self._of_states(np.maximum.reduceat(logits, self.starts[:-1]))
            loss -= float(np.einsum("ij,ij,j->", indicators, logits, weights))
            p = np.exp(logits, out=logits)
            totals = np.add.reduceat(p, self.starts[:-1])
            loss += float(np.log(totals).sum(axis=0) @ weights)
            p /= self._of_states(totals)
            found.append(p.astype(self.precision))
            p -= indicators
            p *= weights
            gradient += self._back(p, indicators)
        return _Point(potentials, loss, self._projected(gradient) + self.ridge * potentials, found)

    def newton(self, at: _Point, share: float) -> FloatArray:
        """Return the direction of a Newton step, of whose gradient at most this share is left."""
        from scipy.sparse.linalg import LinearOperator, cg  # here: heavy, and a list of plugins fits nothing

        shape, size = at.gradient.shape, at.gradient.size
        found, _ = cg(
            LinearOperator((size, size), lambda x: self._curvature(at.p, x.reshape(shape)).ravel(), dtype=float),
            -at.gradient.ravel(),
            rtol=share,
            atol=GRADIENT / 2,
            maxiter=_DIRECTIONS,
            M=LinearOperator((size, size), lambda x: self._led(x.reshape(shape)).ravel(), dtype=float),
        )
        return self._projected(np.asarray(found).reshape(shape))

    def _curvature(self, p: list[AnyArray], direction: FloatArray) -> FloatArray:
        """Return the Hessian's product with a direction, where the states of the rows have these probabilities."""
        single = direction.astype(self.precision)
        found = np.zeros_like(direction)
        for (hot, weights), here in zip(self.batches, p, strict=True):
            check_limits()
            moved = self._logits(single, hot)
            moved *= here
            moved -= here * self._of_states(np.add.reduceat(moved, self.starts[:-1]))
            moved *= weights.astype(self.precision)
            found += self._back(moved, hot)
        return self._projected(found) + self.ridge * direction

    def _led(self, residual: FloatArray) -> FloatArray:
        """Return the product with the inverse of the Hessian of independent nodes, kept to the allowed pairs."""
        basis, spread = self._spread
        bends = np.multiply.outer(spread, spread) + self.ridge[0]
        pair = basis @ (basis.T @ residual[:, :-1] @ basis / bends) @ basis.T
        alone = basis.T @ residual[:, -1] / np.where(spread > 0, spread, np.inf)
        return np.column_stack([np.where(self.allowed, pair, 0.0), basis @ alone])

    @cached_property
    def _spread(self) -> tuple[FloatArray, FloatArray]:
        """The principal axes of each node's indicators and the variances along them, 0 where all move together."""
        basis, spread = np.zeros(self.allowed.shape), np.zeros(len(self.shares))
        for a, b in zip(self.starts, self.starts[1:], strict=False):
            shares = self.shares[a:b]
            spread[a:b], basis[a:b, a:b] = np.linalg.eigh(np.diag(shares) - np.outer(shares, shares))
            spread[a] = 0.0  # the least of each node: its indicators add up to 1
        return basis, spread

    def _logits(self, potentials: AnyArray, hot: AnyArray) -> AnyArray:
        shift = potentials[:, -1] - potentials[:, :-1] @ self.shares.astype(potentials.dtype)
        logits = potentials[:, :-1] @ hot
        logits += shift[:, None]
        return logits

    def _back(self, of_logits: AnyArray, hot: AnyArray) -> FloatArray:
        """Return what derivatives by the logits of rows are by the potentials."""
        unary = of_logits.sum(axis=1, dtype=float)
        return np.column_stack([of_logits @ hot.T - np.multiply.outer(unary, self.shares), unary])

    def _projected(self, potentials: FloatArray) -> FloatArray:
        pair = potentials[:, :-1]
        return np.column_stack([np.where(self.allowed, (pair + pair.T) / 2, 0.0), potentials[:, -1]])

    def _of_states(self, of_nodes: AnyArray) -> AnyArray:
        """Return rows of nodes repeated for each of their states."""
        return of_nodes.repeat(np.diff(self.starts), axis=0)


def fit_field(codes: IntArray, edges: BoolArray | None = None, penalty: float = 1.0) -> Field:
    """Fit the field to rows of states by penalised pseudo-likelihood (Besag 1975).

    Parameters
    ----------
    codes : ndarray of int (n, nodes)
        States 0 .. k-1 of each node, every one seen, the target last.
    edges : ndarray of bool (nodes, nodes), optional
        A given graph; every pair by default.
    penalty : float
        Half the weight of the squared pair potentials, against n terms of the likelihood.
    """
    starts = np.concatenate([[0], np.cumsum(codes.max(axis=0) + 1)])
    nodes = np.repeat(np.arange(codes.shape[1]), np.diff(starts))
    allowed = nodes[:, None] != nodes
    if edges is not None:
        allowed &= edges[np.ix_(nodes, nodes)]
    least = least_pseudo(codes, starts, allowed, penalty)
    if least.gradient > GRADIENT:
        message = f"cid.penalty must make the discrete field converge; got {penalty:g}, which leaves a gradient of "
        reason = "the discrete field did not converge"
        raise UnfitError(f"{message}{least.gradient:.1g}. Set a larger penalty, or fewer bins.", reason)
    return Field(starts, least.unary, least.pair)
