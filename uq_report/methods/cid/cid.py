"""Covered information as its paper states it: definition, three closed forms, covering sets and the importance map.

Definition (Pereira et al., definition 2.3). With U all other features,

    CI_i = I(X_i; Y) - I(X_i; Y | U),   ci_i(x, y) = i(x_i; y) - i(x_i; y | u) of each row

positive where the others repeat what X_i says about Y, negative where they only speak together.

1. Gaussian copula (`gaussian_terms`), conditional Gaussian (`mixed_terms`), discrete pairwise field
   (`discrete_terms`): both terms of one fitted Markov random field, in nats.
2. Covering set (`Greedy`): the features that lower I(X_i; Y | X_C) most.
3. Importance map (`importance_map`, eq. 3 and 4): importance regressed on the terms, predicted for no redundant cover.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, logsumexp, ndtri

from ...core.model.sampling import Sampling
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ...core.support.numbers import fixed

# log p(y | x_S) of each row for the feature positions S: i(x_j; y | x_C) is that of C and j less that of C
LogProbability = Callable[[tuple[int, ...]], FloatArray]
MeanLogProbability = Callable[[tuple[int, ...]], float]


class InformationTerms(NamedTuple):
    """Pointwise information of each row and feature about y, in nats, each (rows, features).

    ``mutual`` is i(x_i; y), ``conditional`` is i(x_i; y | u); their averages are the (conditional)
    mutual informations.
    """

    mutual: FloatArray
    conditional: FloatArray

    @property
    def covered(self) -> FloatArray:
        """Pointwise covered information ci = i(x_i; y) - i(x_i; y | u)."""
        return self.mutual - self.conditional


def regressors(terms: InformationTerms, rows: FloatArray | None = None) -> FloatArray:
    """Return [redundant CI, MI, synergistic CI, synergistic MI] per feature, averaged over rows, shape (d, 4).

    Redundant is E[max(., 0)], synergistic E[max(-., 0)], after Ince 2017. Neither part is an
    information of its own. `rows` holds row weights that sum to one; equal ones by default.
    """
    weights = np.full(len(terms.mutual), 1 / len(terms.mutual)) if rows is None else rows
    check_limits()
    parts = (terms.covered, terms.mutual, -terms.covered, -terms.mutual)
    return np.stack([weights @ np.maximum(part, 0) for part in parts], axis=1)


def covered_share(covered: FloatArray, mutual: FloatArray) -> FloatArray:
    """Return max(CI_i, 0) / I(X_i; Y) per feature, in [0, 1]; NaN where I(X_i; Y) is not positive.

    The share is net: the redundant part alone is positive even for a feature independent of all others.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.maximum(covered, 0) / mutual
    return np.where(mutual > 0, np.minimum(share, 1.0), np.nan)


class UnfitError(InputError):
    """An estimator that does not fit the data; `reason` says why in few words."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def normal_scores(X: FloatArray) -> FloatArray:
    """Return each column, which must vary, mapped to normal quantiles by its mid-ranks: a Gaussian copula's scores."""
    from scipy.stats import rankdata  # here: heavy, and a list of plugins ranks nothing

    scores: FloatArray = ndtri((rankdata(X, method="average", axis=0) - 0.5) / len(X))
    return scores / scores.std(axis=0)


def gaussian_terms(Z: FloatArray, precision: FloatArray) -> InformationTerms:
    """Return the pointwise information of each column of `Z` but the last about the last, in nats.

    Parameters
    ----------
    Z : ndarray (n, d + 1)
        Centred rows, the target in the last column.
    precision : ndarray (d + 1, d + 1)
        Symmetric positive definite. Both terms come from this one normal: the covariance is its
        inverse, not the second matrix a graphical lasso returns.

    Notes
    -----
    With a, b standardised and correlation r, ``i(a, b) = -log(1 - r²)/2 + (2 r a b - r² (a² + b²)) / (2 (1 - r²))``.
    The marginal term has r = corr(x_i, y). The conditional one has the residuals of (x_i, y) given
    the rest and r = -T_iy / sqrt(T_ii T_yy): with v - m those residuals, (T z)_{i,y} = P (v - m) for
    the 2 x 2 block P of the precision T, so one product Z T serves all features.

    Examples
    --------
    >>> terms = gaussian_terms(np.array([[1.0, 1.0]]), np.linalg.inv(np.array([[1.0, 0.5], [0.5, 1.0]])))
    >>> bool(np.isclose(terms.mutual[0, 0], terms.conditional[0, 0]))      # nothing to condition on
    True
    """
    covariance = _inverse(precision)
    scale = np.sqrt(np.diag(covariance))
    standard = Z / scale
    marginal = covariance[:-1, -1] / (scale[:-1] * scale[-1])
    mutual = _pointwise(standard[:, :-1], standard[:, -1:], marginal)

    d = np.diag(precision)
    shift = Z @ precision
    p_ii, p_yy, p_iy = d[:-1], d[-1], precision[:-1, -1]
    determinant = p_ii * p_yy - p_iy**2
    # Residuals P^-1 (T z) over their own standard deviations, sqrt of the diagonal of P^-1.
    a = (p_yy * shift[:, :-1] - p_iy * shift[:, -1:]) / np.sqrt(determinant * p_yy)
    b = (p_ii * shift[:, -1:] - p_iy * shift[:, :-1]) / np.sqrt(determinant * p_ii)
    return InformationTerms(mutual, _pointwise(a, b, -p_iy / np.sqrt(p_ii * p_yy)))


def gaussian_log_p(Z: FloatArray, precision: FloatArray) -> LogProbability:
    """Return log p(y | x_S) of the rows by the normal of this precision, y in the last column, for any features S."""
    covariance = _inverse(precision)

    def log_p(chosen: tuple[int, ...]) -> FloatArray:
        at = list(chosen)
        slopes = np.linalg.solve(covariance[np.ix_(at, at)], covariance[at, -1])
        variance = covariance[-1, -1] - covariance[at, -1] @ slopes
        residual = Z[:, -1] - Z[:, at] @ slopes
        return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance))

    return log_p


def half_potential_terms(Z: FloatArray, precision: FloatArray) -> InformationTerms:
    """Return the terms with half of every pair potential in the conditional part, for comparison only.

    Published figures rest on ``exp(-T_ij x_i x_j / 2)`` as the whole potential of a pair, which is
    the conditional term of the normal whose off-diagonal precision is halved, beside the mutual
    information of the whole covariance. The definition has the whole potential: `gaussian_terms`.
    """
    halved = (precision + np.diag(np.diag(precision))) / 2
    return InformationTerms(gaussian_terms(Z, precision).mutual, gaussian_terms(Z, halved).conditional)


def _pointwise(a: FloatArray, b: FloatArray, r: FloatArray) -> FloatArray:
    rest = 1 - r**2
    return -0.5 * np.log(rest) + (2 * r * a * b - r**2 * (a**2 + b**2)) / (2 * rest)


def _inverse(precision: FloatArray) -> FloatArray:
    """Return the inverse of a symmetric positive definite matrix; refuse any other."""
    try:
        factor = np.linalg.cholesky(precision)
    except np.linalg.LinAlgError as error:
        raise InputError(
            "cid.precision must be symmetric positive definite; got a matrix that is not. "
            "Choose a larger penalty, or leave out collinear columns."
        ) from error
    root = np.linalg.solve(factor, np.eye(len(precision)))
    return np.asarray(root.T @ root)


def mixed_terms(
    X: FloatArray, y: IntArray, log_prior: FloatArray, means: FloatArray, precisions: FloatArray
) -> InformationTerms:
    """Return the pointwise information of each feature about the class, in nats.

    Parameters
    ----------
    X : ndarray (n, d)
    y : ndarray of int (n,)
        Class positions.
    log_prior : ndarray (k,)
    means : ndarray (k, d)
    precisions : ndarray (k, d, d)
        One matrix per class; equal ones for a shared covariance.

    Notes
    -----
    ``i(x_i; y) = log p(x_i | y) - log sum_c pi_c p(x_i | c)`` and
    ``i(x_i; y | u) = log p(y | x) - log p(y | u)``. With g = S_c^-1 (x - mu_c), the normal left
    without x_i has ``log p(u | c) = log p(x | c) + g_i² / (2 T_ii) - log(T_ii) / 2 + const``, so one
    product per class serves all features.
    """
    n, d = X.shape
    rows = np.arange(n)
    k = len(log_prior)
    single = np.empty((k, n, d))  # log p(x_i | c)
    full = np.empty((k, n))  # log p(x, c)
    rest = np.empty((k, n, d))  # log p(u, c)
    for c in range(k):
        check_limits()
        centred = X - means[c]
        variance = np.diag(np.linalg.inv(precisions[c]))
        single[c] = -0.5 * (centred**2 / variance + np.log(variance))
        gradient = centred @ precisions[c]
        diagonal = np.diag(precisions[c])
        full[c] = 0.5 * (np.linalg.slogdet(precisions[c])[1] - (gradient * centred).sum(axis=1)) + log_prior[c]
        rest[c] = full[c][:, None] + gradient**2 / (2 * diagonal) - 0.5 * np.log(diagonal)
    of_all = full[y, rows] - logsumexp(full, axis=0)
    mutual = single[y, rows] - logsumexp(single + log_prior[:, None, None], axis=0)
    return InformationTerms(mutual, of_all[:, None] - (rest[y, rows] - logsumexp(rest, axis=0)))


def mixed_log_p(
    X: FloatArray, y: IntArray, log_prior: FloatArray, means: FloatArray, precision: FloatArray
) -> LogProbability:
    """Return log p(y | x_S) of the rows for any features S, of normals that share one precision."""
    covariance = np.linalg.inv(precision)
    rows = np.arange(len(X))

    def log_p(chosen: tuple[int, ...]) -> FloatArray:
        at = list(chosen)
        slopes = np.linalg.solve(covariance[np.ix_(at, at)], means[:, at].T)
        scores = X[:, at] @ slopes - 0.5 * (means[:, at] * slopes.T).sum(axis=1) + log_prior
        return np.asarray(log_softmax(scores, axis=1)[rows, y])

    return log_p


MAX_ENUMERATED = 200_000


class Field(NamedTuple):
    """p(s) proportional to exp(sum_a unary[a, s_a] + sum_{a<b} pair[(a, s_a), (b, s_b)]); the target is the last node.

    States of all nodes stand one after the other: node a has positions ``starts[a] .. starts[a+1]``.
    `pair` is symmetric over states and zero within a node: every unordered pair enters once and whole.
    """

    starts: IntArray
    unary: FloatArray
    pair: FloatArray

    def block(self, a: int) -> slice:
        """Return the positions of node a's states."""
        return slice(int(self.starts[a]), int(self.starts[a + 1]))


def discrete_terms(codes: IntArray, field: Field) -> InformationTerms:
    """Return the pointwise information of each node but the last about the last, in nats.

    The conditional term is exact: ``log F_xy (D'FE) / ((D'F_.y)(F_x.E))`` with F the pair of x_i and
    y, D and E the potentials of each with the others at the row's values. The mutual term has the
    field's own marginals where its states can be enumerated, else the observed pair frequencies,
    which those of a maximum-likelihood field equal.
    """
    n, nodes = codes.shape
    y = nodes - 1
    rows = np.arange(n)
    positions = codes + field.starts[:-1]
    tables = pair_marginals(codes, field)
    of_others = np.zeros((n, len(field.unary)))
    for own in positions.T:  # node by node: all at once are rows x nodes x states
        check_limits()
        of_others += field.pair[own]
    influence = field.unary + of_others
    mutual, conditional = np.empty((n, y)), np.empty((n, y))
    b_y = field.block(y)
    for i in range(y):
        check_limits()
        b_i = field.block(i)
        coupling = field.pair[b_i, b_y]
        d = influence[:, b_i] - field.pair[positions[:, y], b_i]
        e = influence[:, b_y] - field.pair[positions[:, i], b_y]
        conditional[:, i] = _pmi(d[:, :, None] + coupling + e[:, None, :], rows, codes[:, i], codes[:, y])
        with np.errstate(divide="ignore"):
            mutual[:, i] = _pmi(np.log(tables[i])[None], np.zeros(n, dtype=np.int64), codes[:, i], codes[:, y])
    return InformationTerms(mutual, conditional)


def _pmi(log_joint: FloatArray, rows: IntArray, a: IntArray, b: IntArray) -> FloatArray:
    """Return log p(a, b) / (p(a) p(b)) of unnormalised log tables (rows, states, states) at one cell each."""
    largest = log_joint.max(axis=(1, 2), keepdims=True)
    total = np.log(np.exp(log_joint - largest).sum(axis=(1, 2))) + largest[:, 0, 0]
    left, right = logsumexp(log_joint[rows, a], axis=1), logsumexp(log_joint[rows, :, b], axis=1)
    return np.asarray(log_joint[rows, a, b] + total[rows] - left - right)


def pair_marginals(codes: IntArray, field: Field) -> list[FloatArray]:
    """Return p(x_i, y) for each node i, by enumeration if the field has few states, else as observed."""
    sizes = np.diff(field.starts)
    y = len(sizes) - 1
    if np.prod(sizes.astype(float)) > MAX_ENUMERATED:
        states, p = codes, np.full(len(codes), 1 / len(codes))
    else:
        states = np.array(list(product(*map(range, sizes))))
        p = np.exp(log_probabilities(states, field))
        p /= p.sum()
    tables = [np.zeros((sizes[i], sizes[y])) for i in range(y)]
    for i, table in enumerate(tables):
        np.add.at(table, (states[:, i], states[:, y]), p)
    return tables


def log_probabilities(states: IntArray, field: Field) -> FloatArray:
    """Return the unnormalised log probability of each row of states."""
    positions = states + field.starts[:-1]
    pairs = field.pair[positions[:, :, None], positions[:, None, :]].sum(axis=(1, 2)) / 2
    return np.asarray(field.unary[positions].sum(axis=1) + pairs)


def discrete_log_p(codes: IntArray, penalty: float) -> LogProbability:
    """Return log p(y | x_S) of the rows for any features S, y in the last column.

    By the field of S and y alone, fitted to the same cells: a pairwise field has log-odds of y that are additive in
    the other nodes, so this part of it is a logistic regression. To sum the field of all columns over the rest would
    take as many terms as that has states.
    """
    y, sizes = codes[:, -1], codes.max(axis=0) + 1

    def log_p(chosen: tuple[int, ...]) -> FloatArray:
        if not chosen:
            return np.asarray(np.log(np.bincount(y) / len(y))[y])
        from sklearn.linear_model import LogisticRegression  # here: heavy, and a list of plugins fits nothing

        states, first, key, counts = np.unique(
            codes[:, [*chosen, -1]], axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        key = key.ravel()
        hot = np.hstack([states[:, [i]] == np.arange(sizes[k]) for i, k in enumerate(chosen)]).astype(float)
        model = LogisticRegression(C=1 / penalty, tol=1e-6, solver="newton-cholesky", max_iter=1000)
        model.fit(hot, y[first], sample_weight=counts)
        return np.asarray(model.predict_log_proba(hot)[key, y])

    return log_p


LEVEL = 0.05
CHOSEN = (
    "Partners are tried in the order of a normal model of the same columns. Sets are chosen on the observations on "
    "which they are measured, so the remaining information tends to be too small."
)


class CoverStep(NamedTuple):
    """A partner (position; None before the first) and i(x_j; y | x_C) of each row once it is in C."""

    partner: int | None
    information: FloatArray


@dataclass(frozen=True)
class Greedy:
    """Grows a feature's covering set until a step gains too little.

    Parameters
    ----------
    log_p : callable
        log p(y | x_S) of each row.
    mean_log_p : callable
        Its mean by a normal of the same columns: cheap, and used only to say which partner to try.
    related : ndarray of bool (d, d)
        Which features depend on each other. I(x_j; y | x_k) is at least I(x_j; y) where x_k is independent of x_j:
        such a feature covers nothing of it, whatever a sample suggests, and is not tried.
    sampling : Sampling
    min_gain : float
        Nats by which a step must lower I(x_j; y | x_C), beside one standard error of the change.
    max_cover : int
        Largest number of partners.
    """

    log_p: LogProbability
    mean_log_p: MeanLogProbability
    related: BoolArray
    sampling: Sampling
    min_gain: float
    max_cover: int

    def steps(self, j: int) -> Iterator[CoverStep]:
        """Yield i(x_j; y), then each step that gains enough."""
        chosen: tuple[int, ...] = ()
        rest = self._information(j, chosen)
        yield CoverStep(None, rest)
        left = [int(k) for k in np.flatnonzero(self.related[j]) if k != j]
        while left and len(chosen) < self.max_cover and self.sampling.weights @ rest >= self.min_gain:
            best = min(left, key=lambda k: self.mean_log_p((*chosen, k, j)) - self.mean_log_p((*chosen, k)))
            before, rest = rest, self._information(j, (*chosen, best))
            gain, error = map(float, self.sampling.mean(before - rest))
            if not gain >= max(self.min_gain, error):
                return
            chosen = (*chosen, best)
            left.remove(best)
            yield CoverStep(best, rest)

    def _information(self, j: int, others: tuple[int, ...]) -> FloatArray:
        return self.log_p((*others, j)) - self.log_p(others)


def normal_log_p(covariance: FloatArray, starts: IntArray) -> MeanLogProbability:
    """Return the mean of log p(y | x_S), up to a constant, by the normal of a covariance, for any features S.

    Parameters
    ----------
    covariance : ndarray (k, k)
    starts : ndarray of int (d + 2,)
        Feature j has the columns ``starts[j] .. starts[j + 1]``, then y the last ones.
    """
    columns = [np.arange(a, b) for a, b in pairwise(starts)]
    y = columns[-1]
    steady = covariance + 1e-9 * np.diag(np.diag(covariance))  # cells may repeat each other

    def mean_log_p(chosen: tuple[int, ...]) -> float:
        at = np.concatenate([columns[k] for k in chosen])
        shared = steady[np.ix_(at, y)]
        left = steady[np.ix_(y, y)] - shared.T @ np.linalg.solve(steady[np.ix_(at, at)], shared)
        return -0.5 * float(np.linalg.slogdet(left)[1])

    return mean_log_p


COEFFICIENTS = ("redundant CI", "MI", "synergistic CI", "synergistic MI")
MIN_FEATURES = 8
MIN_R2 = 0.5


class ImportanceMap(NamedTuple):
    """The fitted map and what the gate says of it.

    Attributes
    ----------
    corrected : ndarray (sets, d)
        Importance with redundant covered information set to 0.
    coefficients : ndarray (4,)
        Of redundant CI, MI, synergistic CI, synergistic MI.
    left_out : ndarray (d, 4)
        The coefficients of the fit without each feature.
    r2, r2_left_out : float
        In the sample, and predicting each feature from the others; NaN if all importances are equal.
    refusals : tuple of str
        Why corrected values must not be printed; empty if the gate passes.
    """

    corrected: FloatArray
    coefficients: FloatArray
    left_out: FloatArray
    r2: float
    r2_left_out: float
    refusals: tuple[str, ...]

    @property
    def facts(self) -> dict[str, Any]:
        """What is always recorded about a map."""
        return {
            "coefficients": dict(zip(COEFFICIENTS, self.coefficients.tolist(), strict=True)),
            "redundant_left_out": self.left_out[:, 0].tolist(),
            "refusals": list(self.refusals),
            **{name: getattr(self, name) for name in ("r2", "r2_left_out") if np.isfinite(getattr(self, name))},
        }


def importance_map(importance: FloatArray, terms: FloatArray) -> ImportanceMap:
    """Fit the map by Bayesian ridge without intercept, with one zero row per set.

    Parameters
    ----------
    importance : ndarray (sets, d)
    terms : ndarray (sets, d, 4)
        As `regressors` gives them, on the same rows.

    Notes
    -----
    The zero rows (no information, no importance) change the noise estimate only. Sets share rows,
    so the map is learnt from d features: the gate asks for at least 8 of them, a leave-one-feature-out
    R² of at least 0.5, and a negative coefficient of redundant CI in every leave-one-feature-out fit.
    """
    d = importance.shape[1]
    coefficients = _fit(importance, terms)
    left_out, predicted = np.zeros((d, 4)), np.zeros_like(importance)
    for j in range(d if d > 1 else 0):
        check_limits()
        others = np.arange(d) != j
        left_out[j] = _fit(importance[:, others], terms[:, others])
        predicted[:, j] = terms[:, j] @ left_out[j]
    uncovered = terms.copy()
    uncovered[..., 0] = 0
    r2, r2_left_out = _r2(importance, terms @ coefficients), _r2(importance, predicted)
    refusals = _refusals(d, r2_left_out, left_out)
    return ImportanceMap(uncovered @ coefficients, coefficients, left_out, r2, r2_left_out, refusals)


def _fit(importance: FloatArray, terms: FloatArray) -> FloatArray:
    from sklearn.linear_model import BayesianRidge  # here: heavy, and a list of plugins fits nothing

    sets = len(importance)
    rows = np.vstack([terms.reshape(-1, 4), np.zeros((sets, 4))])
    target = np.concatenate([importance.ravel(), np.zeros(sets)])
    return np.asarray(BayesianRidge(tol=1e-6, fit_intercept=False).fit(rows, target).coef_)


def _r2(observed: FloatArray, predicted: FloatArray) -> float:
    total = ((observed - observed.mean()) ** 2).sum()
    return float(1 - ((observed - predicted) ** 2).sum() / total) if total > 0 else float("nan")


def _refusals(d: int, r2: float, left_out: FloatArray) -> tuple[str, ...]:
    """Say why the gate is closed, if it is."""
    positive = int((left_out[:, 0] >= 0).sum())
    score = "undefined" if np.isnan(r2) else fixed(r2, 2)
    sign = "the coefficient of redundant covered information is not negative"
    rules = (
        (d < MIN_FEATURES, f"the map is learnt from {d} features, at least {MIN_FEATURES} are needed"),
        (not r2 >= MIN_R2, f"predicting each feature from the others has R² {score}, at least {MIN_R2} is needed"),
        (positive > 0, f"{sign} in {positive} of {d} leave-one-feature-out fits"),
    )
    return tuple(reason for is_closed, reason in rules if is_closed)
