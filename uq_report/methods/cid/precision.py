"""Precisions of the normals of covered information: graphical lasso, a given graph, or a shrunk covariance."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.limits import check_limits
from .cid import Field, UnfitError

PROVEN = 1e-5  # nats: a duality gap up to which an answer is taken as solved
_NEAR = 1e-7  # nats: the bound of the gap, of first order, at which the steps end
_STEPS, _SIGNS, _DIRECTIONS, _HALVINGS = 40, 12, 300, 30
_ROUNDING = 1e-11  # nats: differences of objectives that say nothing
_EXACT = 1e-12  # squared energy norm that may be left of a model's residual, as a share of the first
_WIDEST = 5.0  # the factor between neighbouring penalties of a path


class Solved(NamedTuple):
    """Precisions (m, d, d) of m problems, and their duality gaps (m,): no objective is lower by more, in nats."""

    precision: FloatArray
    gap: FloatArray

    @property
    def proven(self) -> BoolArray:
        """Which answers are solved; the gap of one without a proof is infinite."""
        return self.gap <= PROVEN


class _Problems(NamedTuple):
    """Covariances and penalties (none of the diagonal), each of shape (m, d, d)."""

    S: FloatArray
    a: FloatArray

    def of(self, chosen: IntArray) -> _Problems:
        return _Problems(self.S[chosen], self.a[chosen])

    def objective(self, T: FloatArray) -> FloatArray:
        """Return the objective of each precision; infinite where it is not positive definite."""
        return _dot(self.S, T) + _dot(self.a, np.abs(T)) - _log_determinants(T)


def graphical_lassos(S: FloatArray, penalties: FloatArray, start: FloatArray) -> Solved:
    """Return the sparse precision of each problem: the least ``-log det T + tr(S T) + penalty sum_{i != j} |T_ij|``.

    Every step takes the signs that the answer will have, and the normal equations under these signs
    (a Newton step of the smooth part), corrects the signs until they are those of the quadratic
    model's least value, and goes as far as the objective falls: a proximal Newton method (Hsieh et al.
    2014, doi:10.5555/2627435.2697058) whose models are solved by primal-dual active sets (Hintermüller
    et al. 2002, doi:10.1137/S1052623401383558). Blocks of columns that no entry of S above the penalty
    joins stay apart by themselves (Witten et al. 2011, doi:10.1198/jcgs.2011.11051a).

    Parameters
    ----------
    S : ndarray (m, d, d)
        Covariances, their diagonals positive.
    penalties : ndarray (m,)
    start : ndarray (m, d, d)
        Symmetric positive definite.

    Returns
    -------
    Solved
        With the duality gap (Banerjee et al. 2008, eq. 4) as the proof of every answer.

    Examples
    --------
    >>> S = np.array([[[1.0, 0.5], [0.5, 1.0]]])
    >>> found = graphical_lassos(S, np.array([0.2]), np.eye(2)[None])
    >>> np.linalg.inv(found.precision[0]).round(6)          # the covariance is drawn to 0 by the penalty
    array([[1. , 0.3],
           [0.3, 1. ]])
    """
    problems = _Problems(S, penalties[:, None, None] * ~np.eye(S.shape[1], dtype=bool))
    T = start.copy()
    value = problems.objective(T)
    left, last = np.arange(len(T)), np.full(len(T), np.inf)
    for _ in range(_STEPS):
        check_limits()
        here, t = problems.of(left), T[left]
        W = _inverses(t)
        signs = _signs(t, here.S - W, here.a)
        error = _error(t, here.S - W, here.a, signs)
        far = (error > _NEAR) & (error < last[left])
        last[left] = np.where(far, error, 0.0)
        left, here, t, W, signs = left[far], here.of(np.flatnonzero(far)), t[far], W[far], signs[far]
        if not len(left):
            break
        T[left], now = _towards(_least_of_model(here, t, W, signs), t, value[left], here)
        last[left] = np.where(now < value[left] - _ROUNDING, np.inf, last[left] / 2)
        value[left] = now
    return Solved(T, _gaps(T, problems))


def start_from_afar(S: FloatArray, penalty: float) -> FloatArray:
    """Return precisions near the answers: those of larger penalties, from no edge on."""
    precision = diagonal_start(S)
    stop = float(largest_covariance(S)) / _WIDEST
    while stop > penalty:
        precision = graphical_lassos(S, np.full(len(S), stop), precision).precision
        stop /= _WIDEST
    return precision


def largest_covariance(S: FloatArray) -> FloatArray:
    """Return the largest size of any covariance beside the diagonal: a penalty above it leaves no edge."""
    return np.asarray(np.abs(np.where(np.eye(S.shape[-1], dtype=bool), 0.0, S)).max())


def diagonal_start(S: FloatArray) -> FloatArray:
    """Return the precisions without an edge."""
    d = S.shape[-1]
    return np.where(np.eye(d, dtype=bool), 1 / np.diagonal(S, axis1=1, axis2=2)[:, :, None], 0.0)


def _signs(T: FloatArray, G: FloatArray, a: FloatArray) -> FloatArray:
    """Return the sign of each entry, of those at 0 the one to which the gradient pulls them; 0 where they stay."""
    return np.where(T != 0, np.sign(T), -np.sign(G) * (np.abs(G) > a))


def _error(T: FloatArray, G: FloatArray, a: FloatArray, signs: FloatArray) -> FloatArray:
    """Return, to first order, what bounds the duality gap: the gradient in units of the precision's own scale."""
    scale = np.sqrt(np.diagonal(T, axis1=1, axis2=2))
    return np.asarray(np.einsum("ki,kij,kj->k", scale, np.abs((G + a * signs) * np.abs(signs)), scale))


def _least_of_model(problems: _Problems, T: FloatArray, W: FloatArray, signs: FloatArray) -> FloatArray:
    """Return the least of ``<G, X - T> + |X - T|²_W / 2 + a |X|``, where the objective's Hessian is X -> W X W."""
    S, a = problems
    rest = S - 2 * W  # G - W T W: the model's gradient at X is rest + W X W
    X = T
    for _ in range(_SIGNS):
        free = np.abs(signs)
        X = X * free
        X = X + _solution(W, T, free, -(rest + a * signs + W @ X @ W))
        gradient = rest + W @ X @ W
        entering = -np.sign(gradient) * (np.abs(gradient) > a * (1 + 1e-9))
        corrected = np.where(free > 0, signs * (X * signs > 0), entering)
        if (corrected == signs).all():
            break
        signs = corrected
    return X * (X * signs > 0)


def _solution(W: FloatArray, T: FloatArray, free: FloatArray, right: FloatArray) -> FloatArray:
    """Return X, 0 beside the `free` entries, with ``(W X W) = right`` on them: conjugate gradients led by T · T."""
    R = right * free
    P = M = (T @ R @ T) * free
    X = np.zeros_like(R)
    size = _dot(R, M)
    enough = _EXACT * size
    for _ in range(_DIRECTIONS):
        H = (W @ P @ W) * free
        curvature = _dot(P, H)
        step = (size / np.where(curvature > 0, curvature, np.inf))[:, None, None]
        X = X + step * P
        R = R - step * H
        M = (T @ R @ T) * free
        before, size = size, _dot(R, M)
        if (size <= enough).all():
            break
        P = M + (size / np.where(before > 0, before, np.inf))[:, None, None] * P
    return X


def _towards(aim: FloatArray, T: FloatArray, value: FloatArray, problems: _Problems) -> tuple[FloatArray, FloatArray]:
    """Return the first point from `aim` towards T, halving the way, whose objective is not higher; else T itself."""
    T, value = T.copy(), value.copy()
    at, trial = np.arange(len(T)), aim
    for _ in range(_HALVINGS):
        found = problems.of(at).objective(trial)
        lower = found < value[at] + _ROUNDING
        T[at[lower]], value[at[lower]] = trial[lower], found[lower]
        at, trial = at[~lower], trial[~lower]
        if not len(at):
            break
        trial = (trial + T[at]) / 2
    return T, value


def _gaps(T: FloatArray, problems: _Problems) -> FloatArray:
    """Return the objective less that of the dual at the covariance nearest to the inverse that the penalty allows."""
    S, a = problems
    dual = S + np.clip(_inverses(T) - S, -a, a)
    gap = problems.objective(T) - _log_determinants(dual) - T.shape[1]
    return np.where(np.isfinite(gap), gap, np.inf)


def _inverses(T: FloatArray) -> FloatArray:
    W = np.linalg.inv(T)
    return np.asarray((W + W.transpose(0, 2, 1)) / 2)


def _log_determinants(T: FloatArray) -> FloatArray:
    """Return log det of each, -inf where one is not positive definite."""
    try:
        roots = np.diagonal(np.linalg.cholesky(T), axis1=1, axis2=2)
    except np.linalg.LinAlgError:
        if len(T) == 1:
            return np.array([-np.inf])
        return np.concatenate([_log_determinants(matrix[None]) for matrix in T])
    return np.asarray(2 * np.log(roots).sum(axis=1))


def _dot(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("kij,kij->k", A, B))


MAX_CONDITION = 1e10
BY_FOLDS = "lasso, penalty by 5-fold cross-validation"
_ROUNDS, _PENALTIES, _RANGE = 4, 4, 0.01
# From centred columns of variance 1 to their precision, and how it came about.
Inverter = Callable[[FloatArray], tuple[FloatArray, dict[str, Any]]]


def by_lasso(Z: FloatArray, penalty: float | None, engine: Engine) -> tuple[FloatArray, dict[str, Any]]:
    """Return the penalised precision, the penalty by cross-validation if None; refuse one that does not converge."""
    covariance = Z.T @ Z / len(Z)
    if len(covariance) == 1:
        return np.asarray(np.linalg.inv(covariance), dtype=float), {"penalty": None, "graph": "one column"}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning)  # seen on the way, judged by the result
        if penalty is None:
            chosen, start, graph = *_by_folds(Z, engine), BY_FOLDS
        else:
            chosen, start, graph = penalty, start_from_afar(covariance[None], penalty), "lasso"
        solved = graphical_lassos(covariance[None], np.array([chosen]), start)
    if not solved.proven[0]:
        raise _refused(penalty, f"its duality gap stays at {solved.gap[0]:.1g} nats.")
    return _checked(solved.precision[0], chosen, graph)


def _refused(penalty: float | None, reason: str) -> UnfitError:
    message = (
        f"cid.penalty must make the graphical lasso converge; got {penalty or 'cross-validation'}: {reason} "
        "Set a larger penalty (0.01 to 0.5), give a graph, or drop collinear columns."
    )
    return UnfitError(message, "the graphical lasso did not converge")


class _Tried(NamedTuple):
    """One penalty: its precisions of all folds, and the mean log-likelihood of the rows left out."""

    penalty: float
    precision: FloatArray
    score: float


def _by_folds(Z: FloatArray, engine: Engine) -> tuple[float, FloatArray]:
    """Return the penalty that predicts left-out rows best, all folds solved, and the folds' mean precision.

    Four rounds narrow it down by the penalties that scikit-learn's search would try, whose folds may stop early.
    """
    from sklearn.model_selection import KFold  # here and below: heavy, and a list of plugins fits no graph

    seed = int(engine.rng("folds").integers(2**31))
    folds = list(KFold(max(2, min(5, len(Z) // 2)), shuffle=True, random_state=seed).split(Z))
    S = np.stack([np.cov(Z[fit].T, bias=True) for fit, _ in folds])
    left_out = np.stack([np.cov(Z[rest].T, bias=True) for _, rest in folds])
    largest = float(largest_covariance(Z.T @ Z / len(Z)))
    grid = np.geomspace(largest, _RANGE * largest, _PENALTIES)
    tried: list[_Tried] = []
    for _ in range(_ROUNDS):
        for penalty in grid.tolist():
            tried.append(_solved(S, left_out, penalty, tried))
        tried.sort(key=lambda t: -t.penalty)
        best = max(range(len(tried)), key=lambda i: (tried[i].score, i))
        # between the neighbours of the best, or in a range below the smallest
        low = tried[best + 1].penalty if best + 1 < len(tried) else _RANGE * tried[best].penalty
        high = tried[best].penalty if best + 1 == len(tried) else tried[max(best - 1, 0)].penalty
        grid = np.geomspace(high, low, _PENALTIES + 2)[1:-1]
    if not np.isfinite(tried[best].score):
        raise _refused(None, "no penalty has an answer in every fold.")
    return tried[best].penalty, tried[best].precision.mean(axis=0, keepdims=True)


def _solved(S: FloatArray, left_out: FloatArray, penalty: float, tried: Sequence[_Tried]) -> _Tried:
    """Return a penalty solved in all folds, from the nearest that was tried; without an answer its score is -inf."""
    nearest = min(tried, key=lambda t: abs(np.log(t.penalty / penalty)), default=None)
    start = diagonal_start(S) if nearest is None else nearest.precision
    solved = graphical_lassos(S, np.full(len(S), penalty), start)
    if not solved.proven.all():
        return _Tried(penalty, np.where(solved.proven[:, None, None], solved.precision, diagonal_start(S)), -np.inf)
    T = solved.precision
    fit = np.linalg.slogdet(T)[1] - np.einsum("kij,kij->k", left_out, T)
    return _Tried(penalty, T, float(fit.mean()))


def by_graph(Z: FloatArray, edges: BoolArray) -> tuple[FloatArray, dict[str, Any]]:
    """Return the precision of a graph over all columns; one with y is cut where the rows have no y."""
    size = Z.shape[1]
    return _checked(graph_precision(Z.T @ Z / len(Z), edges[:size, :size]), None, "given")


def by_shrinkage(Z: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
    """Return that of the covariance shrunk towards the identity, oracle-approximating (Chen et al. 2010): all edges."""
    from sklearn.covariance import oas

    covariance, shrinkage = oas(Z, assume_centered=True)
    graph = f"all pairs, covariance shrunk by {shrinkage:.2g} (oracle approximation)"
    return _checked(np.linalg.inv(covariance), None, graph)


def _checked(precision: FloatArray, penalty: float | None, graph: str) -> tuple[FloatArray, dict[str, Any]]:
    """Return a precision with its condition number; refuse one that is ill-conditioned."""
    condition = float(np.linalg.cond(precision))
    if not condition < MAX_CONDITION:
        fault = f"cid.X must not be collinear; the fitted precision has condition number {condition:.1e}"
        remedy = "Drop or combine columns, or set a larger penalty."
        raise UnfitError(f"{fault}. {remedy}", "columns are collinear")
    return precision, {"penalty": penalty, "graph": graph, "condition": condition}


def graph_precision(covariance: FloatArray, edges: BoolArray, tolerance: float = 1e-12) -> FloatArray:
    """Return the maximum-likelihood precision whose zeros are the non-edges (Hastie et al. 2009, algorithm 17.1)."""
    p = len(covariance)
    fitted = covariance.copy()
    for _ in range(1000):
        check_limits()
        before = fitted.copy()
        for j in range(p):
            rest = np.arange(p) != j
            near = edges[j] & rest
            beta = np.zeros(p)
            beta[near] = np.linalg.solve(fitted[np.ix_(near, near)], covariance[near, j])
            fitted[rest, j] = fitted[j, rest] = fitted[np.ix_(rest, rest)] @ beta[rest]
        if np.abs(fitted - before).max() < tolerance:
            break
    precision = np.linalg.inv(fitted)
    return np.where(edges, (precision + precision.T) / 2, 0.0)


def partial_correlations(precision: FloatArray) -> FloatArray:
    """Return -T_ij / sqrt(T_ii T_jj), with a zero diagonal."""
    scale = np.sqrt(np.diag(precision))
    links = -precision / np.outer(scale, scale)
    np.fill_diagonal(links, 0)
    return links


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
