"""Shapley values of any measure, entropy above all, from one batched prediction pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from itertools import chain, combinations
from math import ceil, factorial, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.measures import DECOMPOSITION, PREDICTION, Measure
from ...core.model.results import ESTIMATE_COLUMNS, Attribution, Importance, Interaction, Omission, Result, RowValues
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.model.variants import Mix
from ...core.statistics.inference import pooled_error
from ...core.support import options as opt
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, column, take_rows
from ...core.support.errors import InputError
from ...distributions import Categorical
from ...evidence import ids
from ..shared import choice
from ..shared.cards import CardedExplainer

ROUNDING = 1e-14  # of the largest worth: a value below it is what sums leave of a player that changes nothing
CALL_ROWS, CALL_VALUES = 50000, 2_500_000  # of one call of the model, at most
KEPT_VALUES = 2_500_000  # of the distinct coalitions that are kept, at most


class Coalitions:
    """The coalitions that are asked of a row, and which of them make the same rows.

    Parameters
    ----------
    masks : ndarray of bool, shape (coalitions, players)
    """

    def __init__(self, masks: BoolArray) -> None:
        self.masks = masks
        self._distinct = lru_cache(max(1, KEPT_VALUES // masks.size))(self._of_pattern)

    def distinct(self, differs: BoolArray) -> tuple[BoolArray, IntArray]:
        """Return the distinct coalitions of the players that make a difference, and which of them each coalition is."""
        return self._distinct(differs.tobytes())

    def _of_pattern(self, pattern: bytes) -> tuple[BoolArray, IntArray]:
        masks = self.masks & np.frombuffer(pattern, dtype=bool)
        _, at, inverse = np.unique(np.packbits(masks, axis=1), axis=0, return_index=True, return_inverse=True)
        return masks[at], inverse.reshape(-1)


class Enumeration:
    """Every coalition: phi_j = sum over S without j of |S|! (d-|S|-1)! / d! (v(S+j) - v(S)), Shapley (1953).

    Examples
    --------
    >>> Enumeration(2).solve(np.array([0.0, 1.0, 2.0, 5.0]))[0]      # worth of {}, {0}, {1}, {0, 1}
    array([2., 3.])
    """

    def __init__(self, players: int) -> None:
        codes = np.arange(2**players)
        masks = (codes[:, None] >> np.arange(players)) % 2 == 1
        self.coalitions = Coalitions(masks)
        size = masks.sum(axis=1)
        share = np.array([factorial(s) * factorial(players - s - 1) / factorial(players) for s in range(players)])
        joins, leaves = np.append(0.0, share)[size], np.append(share, 0.0)[size]
        self._weights = np.where(masks, joins[:, None], -leaves[:, None])

    def solve(self, worth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the exact values, and standard errors of 0."""
        values = worth @ self._weights
        return values, np.zeros_like(values)


class PairEnumeration(Enumeration):
    """Every coalition, for the interaction of pairs (Grabisch & Roubens 1999).

    phi_ij = sum over S without i and j of |S|! (d-|S|-2)! / (d-1)! [v(S+i+j) - v(S+i) - v(S+j) + v(S)].

    Examples
    --------
    >>> PairEnumeration(2).solve(np.array([0.0, 1.0, 2.0, 5.0]))[0]
    array([2.])
    """

    def __init__(self, players: int) -> None:
        super().__init__(players)
        masks, pairs = self.coalitions.masks, list(combinations(range(players), 2))
        share = [factorial(s) * factorial(players - s - 2) / factorial(players - 1) for s in range(players - 1)]
        others = masks.sum(axis=1)[:, None] - np.column_stack([masks[:, i].astype(int) + masks[:, j] for i, j in pairs])
        signs = np.column_stack([np.where(masks[:, i] == masks[:, j], 1.0, -1.0) for i, j in pairs])
        self._weights = np.array(share)[others] * signs


class AntitheticPermutations:
    """Players join one by one in given orders and in each order's reverse (Mitchell et al. 2022).

    A permutation's contributions telescope, so the values add up to v(all) - v(none) exactly. The
    standard error is that of the mean over pairs (an order and its reverse), which are independent.

    Parameters
    ----------
    orders : ndarray of int, shape (pairs, players)
        At least two permutations of the players.
    """

    def __init__(self, orders: IntArray) -> None:
        both = np.stack([orders, orders[:, ::-1]], axis=1)
        self._rank = np.argsort(both, axis=2)
        steps = np.arange(orders.shape[1] + 1)
        chains = self._rank[:, :, None, :] < steps[:, None]
        self.coalitions = Coalitions(chains.reshape(-1, orders.shape[1]))

    def solve(self, worth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the means over all permutations, and the standard errors over pairs."""
        pairs, _, players = self._rank.shape
        steps = np.diff(worth.reshape(*worth.shape[:-1], pairs, 2, players + 1), axis=-1)
        rank = np.broadcast_to(self._rank, steps.shape)
        per_pair = np.take_along_axis(steps, rank, axis=-1).mean(axis=-2)
        return per_pair.mean(axis=-2), per_pair.std(axis=-2, ddof=1) / np.sqrt(pairs)


# `coalitions` are asked, the first one is empty; `solve` makes values of their worth.
Solver = Enumeration | AntitheticPermutations


@dataclass(frozen=True)
class Composites:
    """The distinct rows that coalitions of one explained row make with the background.

    A mix for each set of features that background rows differ in; `inverse` says which coalition of the mix, shape
    (coalitions,), makes the same rows as each coalition.
    """

    mixes: tuple[Mix, ...]
    inverse: tuple[IntArray, ...]

    def __len__(self) -> int:
        """Return the number of distinct rows."""
        return sum(map(len, self.mixes))

    def worth(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the mean over the background of the rows' values, shapes (measures, rows), (measures, coalitions).

        `weights` are those of the rows of the pool.
        """
        means = [
            (weights[mix.others] @ part)[:, inverse]
            for mix, inverse, part in zip(self.mixes, self.inverse, self._parts(values), strict=True)
        ]
        return np.asarray(sum(means[1:], start=means[0]))

    def by_background(self, values: FloatArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the worth against some background rows, by their positions: (rows,), (measures, rows, coalitions)."""
        for mix, inverse, part in zip(self.mixes, self.inverse, self._parts(values), strict=True):
            step = max(1, CALL_VALUES // (len(values) * len(inverse)))
            for start in range(0, len(mix.others), step):
                yield mix.others[start : start + step], part[:, start : start + step, inverse]

    def _parts(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the values of each mix, shape (measures, others, own)."""
        parts = np.split(values, np.cumsum([len(mix) for mix in self.mixes])[:-1], axis=1)
        for mix, part in zip(self.mixes, parts, strict=True):
            yield part.reshape(len(values), len(mix.others), -1)


@dataclass(frozen=True)
class Pool:
    """Explained rows and then background rows in one table, so that values move without a cast.

    `codes`, shape (rows, players), are equal within a column exactly where the values are.
    """

    table: Table
    codes: IntArray
    explained: int

    @classmethod
    def of(cls, explained: Table, background: Table) -> Pool:
        """Join both tables, which must have equal column types."""
        if isinstance(explained, pd.DataFrame) and isinstance(background, pd.DataFrame):
            table: Table = pd.concat([explained, background], ignore_index=True)
        else:
            table = np.concatenate([explained, background])
        columns = [_codes(pd.Series(column(table, j))) for j in range(table.shape[1])]
        return cls(table, np.column_stack(columns), len(explained))

    def composites(self, row: int, coalitions: Coalitions) -> Composites:
        """Return the rows of explained row number `row` with what is outside a coalition from each background row.

        Where the two rows agree on a feature, coalitions with and without it make one and the same
        row, which is predicted once.
        """
        differs = self.codes[row] != self.codes[self.explained :]
        patterns, which = np.unique(differs, axis=0, return_inverse=True)
        own, inverse = zip(*map(coalitions.distinct, patterns), strict=True)
        others = (self.explained + np.flatnonzero(which.ravel() == k) for k in range(len(patterns)))
        return Composites(tuple(Mix(row, *pair) for pair in zip(own, others, strict=True)), inverse)


def _codes(values: pd.Series[Any]) -> IntArray:
    """Return a number for each distinct value; in a column of mixed types 1, True and "1" differ."""
    if values.dtype == object:
        values = pd.Series([f"{type(value).__name__} {value!r}" for value in values], dtype=object)
    return np.asarray(pd.factorize(values, use_na_sentinel=False)[0], dtype=np.int64)


class Shares(NamedTuple):
    """Shapley values of E explained rows.

    `phi` and `std_error` have shape (measures, rows, players), `base` (the worth of nobody) and
    `infinite` (how many composite rows are infinite; the values are 0 there) shape (measures, rows).
    `background` has shape (measures, background rows, players): by how much each background row moves the mean of
    |phi|, ``mean over the rows of sign(phi) (psi - phi)`` with psi the values against this background row alone.
    """

    phi: FloatArray
    std_error: FloatArray
    base: FloatArray
    infinite: IntArray
    background: FloatArray

    def background_error(self, weights: FloatArray) -> FloatArray:
        """Return the standard error of the mean of |phi| over new background rows, shape (measures, players).

        ``B/(B-1) Σ_b ω_b² h_b²``, the delta method: phi is the mean of psi. NaN against a single background row.
        """
        size = len(weights)
        if size < 2:
            return np.full((len(self.phi), self.phi.shape[2]), np.nan)
        moved = np.einsum("b,mbj->mj", np.square(weights), np.square(self.background))
        return np.asarray(np.sqrt(size / (size - 1) * moved))


def play(
    mixing: Callable[[Sequence[Mix]], FloatArray],
    pool: Pool,
    solvers: Iterable[Solver],
    weights: FloatArray,
    row_weights: FloatArray,
) -> Shares:
    """Return the Shapley values of the pool's explained rows, one solver each.

    `mixing` returns measures of mixes of the pool's rows; `weights`, those of the background rows, sum to 1, as do
    `row_weights` of the explained rows in the mean of |phi|, unless there is no such mean.
    """
    parts, background = [], np.zeros(1)
    of_pool = np.append(np.zeros(pool.explained), weights)
    most = max(1, min(CALL_ROWS, CALL_VALUES // pool.codes.shape[1]))
    for row, solver in enumerate(solvers):
        composites = pool.composites(row, solver.coalitions)
        calls = chain.from_iterable(_parts(mix, most) for mix in composites.mixes)
        values = np.concatenate([mixing(call) for call in _calls(calls, most)], axis=1)
        own = _shares(values, composites, solver, of_pool, pool.explained)
        background = background + row_weights[row] * own.background
        parts.append(own[:-1])
    phi, std_error, base, infinite = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
    return Shares(phi, std_error, base, infinite, background)


def _calls(mixes: Iterable[Mix], most: int) -> Iterator[list[Mix]]:
    """Yield mixes in their order, as many as make at most `most` rows together."""
    call: list[Mix] = []
    for mix in mixes:
        if call and sum(map(len, call)) + len(mix) > most:
            yield call
            call = []
        call.append(mix)
    yield call


def _parts(mix: Mix, most: int) -> Iterator[Mix]:
    """Yield parts of at most `most` rows, in their order: several other rows, or some coalitions of one."""
    step = max(1, most // len(mix.own))
    for first in range(0, len(mix.others), step):
        for start in range(0, len(mix.own), most):
            yield Mix(mix.row, mix.own[start : start + most], mix.others[first : first + step])


def _shares(values: FloatArray, composites: Composites, solver: Solver, weights: FloatArray, explained: int) -> Shares:
    """Return one row's Shapley values from the measures of its distinct composite rows."""
    infinite = np.isinf(values).sum(axis=1)
    finite = np.where(infinite[:, None] > 0, 0.0, values)
    worth = composites.worth(finite, weights)
    phi, std_error = solver.solve(worth)
    rounding = ROUNDING * np.abs(worth).max(axis=1)[:, None]
    phi = np.where(np.abs(phi) <= rounding, 0.0, phi)
    background = np.zeros((len(phi), len(weights) - explained, phi.shape[1]))
    for others, part in composites.by_background(finite):
        background[:, others - explained] = np.sign(phi)[:, None] * (solver.solve(part)[0] - phi[:, None])
    return Shares(phi, std_error, worth[:, 0], infinite, background)


MIN_SAMPLE = 10
MIN_BACKGROUND = 5
EXACT = "exact"
FORESTS = ("sklearn.ensemble._forest", "sklearn.tree")  # whose probabilities are means of leaves
BOOSTING = ("sklearn.ensemble", "lightgbm", "xgboost")  # exact for numbers; of a probability shap rescales log-odds
LINEAR = "sklearn.linear_model"  # exact for numbers
CLOSE = 1e-6  # of a sum of values that are to explain one prediction


@dataclass(frozen=True)
class ShapleyValues(CardedExplainer):
    """Shapley values: the prediction, entropy or nll of an observation, attributed to its features.

    The worth of a coalition S of features is the mean of the measure over background rows b that
    take the features in S from the explained row x, ``v(S) = mean_b measure(q(.|x_S, b_-S))``, with y
    fixed to that of x (marginal game: Lundberg & Lee 2017; of entropy: Watson et al. 2023). Then
    ``φ_j = Σ_S |S|!(d-|S|-1)!/d! [v(S+j) - v(S)]`` and ``measure(x) = v(none) + Σ_j φ_j`` exactly.
    Values have the unit of the measure (nats for entropy and nll).

    Up to `max_exact` features every coalition is evaluated; above, features join in random orders
    and in their reverses, which leaves a Monte-Carlo error. There the prediction of a forest, or of boosted
    trees or a linear model for a number, is explained by shap's TreeExplainer or LinearExplainer, which are exact.
    Cost for each explained row: at most ``2^d``, or ``n_permutations (d-1) + 2``, times `n_background` predicted
    rows, and fewer where rows share values.

    Parameters
    ----------
    measures : tuple of str
        What is explained, by the names of measures; ``"decomposition"`` adds the aleatoric and epistemic part of the
        uncertainty where a prediction has members.
    rows : tuple of int, optional
        Rows to explain one by one; by default `n_local` each of the most uncertain, the most wrong
        and the typical ones.
    n_local : int
        Rows of each of these kinds.
    n_rows : int
        Rows sampled for the global importance, the mean of |φ|; 0 for none.
    max_evaluations : int
        Predicted rows to plan for: with many features the rows are explained against fewer background rows, but at
        least half as many as there are rows, and at least 5; then fewer rows are sampled, but at least 10.
    n_background : int
        Background rows, from the training rows where given, else from the explained table.
    max_exact : int
        Features up to which all coalitions are evaluated.
    n_permutations : int
        Orders above that, reverses included: an even number from 4.
    interactions : bool
        Whether pairs are given too, as ``shap.interaction``: the mean of |φ_ij| over the sampled rows. They need all
        coalitions, so at most `max_exact` features, and cost the predictions of the values once more.

    References
    ----------
    Lundberg & Lee (2017). Watson et al. (2023), arXiv:2306.05724. Mitchell et al. (2022), JMLR 23(43).
    """

    measures: tuple[str, ...] = ("prediction", "entropy", "nll", DECOMPOSITION)
    rows: tuple[int, ...] | None = None
    n_local: int = opt.at_least(0, 1)
    n_rows: int = opt.at_least(0, 50)
    max_evaluations: int = opt.at_least(1, 1_000_000)
    n_background: int = opt.at_least(1, 100)
    max_exact: int = opt.option(10, "an integer from 0 to 20", lambda value: 0 <= value <= 20)
    n_permutations: int = opt.option(20, "an even number >= 4", lambda value: value >= 4 and value % 2 == 0)
    interactions: bool = False

    name: ClassVar[str] = "shap"
    libraries: ClassVar[tuple[str, ...]] = ("shap",)
    section: ClassVar[str] = "prediction.shapley"
    priority: ClassVar[int] = 11

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        object.__setattr__(self, "measures", choice.as_names(self.name, "measures", self.measures))
        object.__setattr__(self, "rows", choice.as_rows(self.name, self.rows))
        super().__post_init__()

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return about how many rows it will have predicted: all coalitions of every row on the background."""
        players = len(subject.features)
        local = len(choice.positions(choice.chosen_rows(self.name, self.rows, engine, self.n_local)))
        background = self._background_size(players, local)
        rows = local + self._sample_size(players, background, local)
        return min(rows, subject.n) * self._coalitions(players) * background

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``shap``, the values of every explained row, and ``shap.importance``, the mean of their sizes."""
        measures, omitted = choice.row_measures(self.name, engine, self.measures)
        roles = choice.chosen_rows(self.name, self.rows, engine, self.n_local)
        local = choice.positions(roles)
        background = _background(subject, engine, self._background_size(len(subject.features), len(local)))
        size = self._sample_size(len(subject.features), len(background.weights), len(local))
        sample = choice.draw(engine.rng("rows"), subject.n, size, subject.weights)
        rows = np.array(sorted({*local, *sample.tolist()}), dtype=np.int64)
        if len(rows) == 0:
            raise InputError("shap.n_rows must be >= 1 where no rows are chosen; got 0. Name rows, or sample some.")
        pool = Pool.of(take_rows(subject.X, rows), background.rows)
        y = None if engine.y is None else engine.y[rows]
        asked = len(rows) * len(background.weights) * self._coalitions(len(subject.features))
        mixing = engine.mixing(pool.table, measures, asked, y)
        row_weights = np.zeros(len(rows))
        row_weights[np.isin(rows, sample)] = Sampling.of(subject, sample).weights
        shares = play(mixing, pool, self._solvers(subject, engine, rows), background.weights, row_weights)
        exact = np.full(len(measures), len(subject.features) <= self.max_exact)
        explained = Explained(engine, measures, omitted, rows, sample, roles, background, exact, self)
        shares = shares if exact.all() else explained.with_tree_values(shares)
        results: list[Result] = [explained.attribution(shares)]
        if len(sample):
            results.append(explained.importance(shares))
        if self.interactions:
            results.append(self._interactions(explained, mixing, pool, row_weights))
        return results

    def _interactions(
        self, explained: Explained, mixing: Callable[[Sequence[Mix]], FloatArray], pool: Pool, row_weights: FloatArray
    ) -> Interaction:
        """Return the mean size of the interaction of each pair."""
        d, rows = len(explained.features), len(explained.rows)
        if not 2 <= d <= self.max_exact or not len(explained.sample):
            raise InputError(
                f"shap.interactions must have 2 to max_exact = {self.max_exact} features and sampled rows; got {d} "
                f"features and n_rows={self.n_rows}. Raise max_exact, or use uq.interactions(subject, 'h_statistic')."
            )
        shares = play(mixing, pool, [PairEnumeration(d)] * rows, explained.background.weights, row_weights)
        return explained.interaction(shares)

    def _coalitions(self, players: int) -> int:
        """Return how many coalitions are evaluated for each row, at most."""
        return 2**players if players <= self.max_exact else self.n_permutations * (players - 1) + 2

    def _background_size(self, players: int, local: int) -> int:
        """Return how many background rows to draw: those asked for, or those that the planned evaluations allow."""
        pairs = self.max_evaluations // self._coalitions(players)  # of an explained and a background row
        half = ceil(sqrt(pairs / 2))  # of the rows that are then allowed
        return min(self.n_background, max(MIN_BACKGROUND, pairs // max(1, local + self.n_rows), half))

    def _sample_size(self, players: int, background: int, local: int) -> int:
        """Return how many rows to sample: those asked for, or those that the planned evaluations allow."""
        planned = self.max_evaluations // (self._coalitions(players) * background)
        return min(self.n_rows, max(MIN_SAMPLE, planned - local))

    def _solvers(self, subject: Subject, engine: Engine, rows: IntArray) -> Iterable[Solver]:
        """Return one solver for each row; orders belong to the row and the feature names."""
        if len(subject.features) <= self.max_exact:
            return [Enumeration(len(subject.features))] * len(rows)
        start = np.tile(np.argsort(subject.features, kind="stable"), (self.n_permutations // 2, 1))
        orders = (engine.rng("orders", row).permuted(start, axis=1) for row in rows.tolist())
        return map(AntitheticPermutations, orders)


def _background(subject: Subject, engine: Engine, size: int) -> Background:
    """Return background rows of the training table, or of the explained one where the former cannot be used."""
    table, weights, source = subject.X, subject.weights, "explained observations"
    differing = [] if subject.train is None else _differing(subject, subject.train[0])
    if differing:
        source += f", because {', '.join(differing)} has another type in the training sample"
    elif subject.train is not None:
        table, weights, source = subject.train[0], None, "training observations"
    chosen = choice.draw(engine.rng("background"), len(table), size, weights)
    own = np.ones(len(chosen)) if weights is None else weights[chosen]
    return Background(take_rows(table, chosen), own / own.sum(), source)


def _differing(subject: Subject, train: Table) -> list[str]:
    """Return the features whose column type in `train` is not that of X, so that mixing rows would cast values."""
    pairs = zip(subject.features, _column_types(subject.X), _column_types(train), strict=True)
    return [name for name, own, other in pairs if own != other]


def _column_types(table: Table) -> list[tuple[type, object]]:
    """Return the type of every column; a column of an array is no column of a frame."""
    dtypes = table.dtypes if isinstance(table, pd.DataFrame) else [table.dtype] * table.shape[1]
    return [(type(table), dtype) for dtype in dtypes]


@dataclass(frozen=True)
class Background:
    """Rows that replace absent features; `weights` sum to 1, `source` says where the rows come from."""

    rows: Table
    weights: FloatArray
    source: str


@dataclass(frozen=True)
class Explained:
    """What was explained, and how; `exact`, shape (measures,), says which values have no Monte-Carlo error."""

    engine: Engine
    measures: tuple[Measure, ...]
    omitted: tuple[Omission, ...]
    rows: IntArray
    sample: IntArray
    roles: choice.Roles
    background: Background
    exact: BoolArray
    method: ShapleyValues
    players: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The features, or what takes their place."""
        return self.players or self.engine.subject.features

    @property
    def by_tree_explainer(self) -> bool:
        """Whether shap computed the values of the prediction."""
        return bool(self.exact.any() and not self.exact.all())

    def with_tree_values(self, shares: Shares) -> Shares:
        """Return the shares with shap's exact values of a tree model's prediction, and mark them in `exact`.

        Only where they add up to the engine's own predictions, so that both explain one function on one background.
        """
        m = next((k for k, measure in enumerate(self.measures) if measure.name == PREDICTION.name), None)
        if m is None or not np.allclose(self.background.weights, self.background.weights[0]):
            return shares
        subject, dist, own = self.engine.subject, self.engine.baseline, shares.phi[m]
        positive = dist.positive if isinstance(dist, Categorical) else None
        phi = _tree_values(subject.model, self.background.rows, take_rows(subject.X, self.rows), positive)
        if phi is None or phi.shape != own.shape:
            return shares
        if not np.allclose(phi.sum(axis=1), own.sum(axis=1), rtol=0, atol=CLOSE):
            return shares
        self.exact[m] = True
        values, errors = shares.phi.copy(), shares.std_error.copy()
        values[m], errors[m] = phi, 0.0
        return shares._replace(phi=values, std_error=errors)

    def attribution(self, shares: Shares) -> Attribution:
        """Return the values of every row whose measure is finite wherever it was evaluated."""
        m, e = np.nonzero(shares.infinite == 0)
        phi, std_error = shares.phi[m, e], shares.std_error[m, e]
        d = phi.shape[1]
        keys = self._keys(m) | {"row": np.repeat(self.rows[e], d)}
        covers = np.where(np.repeat(self.exact[m], d), EXACT, "Monte Carlo (permutations)").astype(object)
        estimates = self._estimates(keys, phi, std_error, self.method.n_permutations // 2 - 1, covers)
        frame = {**keys, "position": 0, "base": np.repeat(shares.base[m, e], d), "value": phi.ravel()}
        return Attribution(
            id=ids.SHAP,
            explainer=ids.SHAP,
            title="Shapley values of single observations",
            frame=pd.DataFrame(frame, columns=list(Attribution.columns)),
            estimates=estimates,
            options=asdict(self.method),
            notes=self._notes(),
            omissions=(*self.omitted, *self._infinite(shares.infinite, "these observations have no values")),
            meta={
                "rows": {role: list(rows) for role, rows in self.roles.items()},
                "rows_used": self.sample.tolist(),
                "explained": self.rows.tolist(),
                "data": {
                    name: choice.plain_values(self.engine.subject.values(name)[self.rows]) for name in self.features
                },
                "background": {"rows": len(self.background.weights), "source": self.background.source},
                "exact": bool(self.exact.all()),
                "by_tree_explainer": self.by_tree_explainer,
            },
        )

    def importance(self, shares: Shares) -> Importance:
        """Return the mean of |φ| over the sampled rows, and its interval over new test samples."""
        among = np.isin(self.rows, self.sample)
        infinite = shares.infinite[:, among]
        finite = np.flatnonzero((infinite == 0).all(axis=1))
        sizes = np.abs(shares.phi[:, among]).swapaxes(1, 2)[finite]
        sampling, others = Sampling.of(self.engine.subject, self.sample), self.background.weights
        mean, by_rows = sampling.mean(sizes)
        errors = by_rows, shares.background_error(others)[finite]
        std_error, freedom = pooled_error(errors, (sampling.units - 1, len(others) - 1))
        keys = self._keys(finite)
        frame = {name: np.repeat(key, len(self.sample)) for name, key in keys.items()}
        frame |= {"repeat": np.tile(self.sample, mean.size), "value": sizes.ravel()}
        mean_of = (
            f"Mean of |φ| over {len(self.sample)} of {self.engine.subject.n} observations against {len(others)} "
            "background observations; repeat is the observation."
        )
        noise = () if self.exact.all() else ("The Monte-Carlo error of single values biases means near 0 upwards.",)
        return Importance(
            id=ids.SHAP_IMPORTANCE,
            explainer=ids.SHAP,
            title="Mean absolute Shapley values",
            frame=pd.DataFrame(frame, columns=list(Importance.columns)),
            estimates=self._estimates(
                keys, mean, std_error, freedom.ravel(), "new test samples and new background samples"
            ),
            rows=RowValues(tuple(self.measures[m].name for m in finite), self.features, sizes),
            options=asdict(self.method),
            notes=(*self._notes(), mean_of, *noise, *sampling.notes()),
            omissions=(*self.omitted, *self._infinite(infinite, "a mean without these observations would be biased")),
            meta={"rows_used": self.sample.tolist(), "sizes": True},
        )

    def interaction(self, shares: Shares) -> Interaction:
        """Return the mean of |φ_ij| over the sampled rows, with intervals as those of the importance."""
        pairs = list(combinations(self.features, 2))
        mean = replace(self, players=tuple(map(str, range(len(pairs))))).importance(shares)

        def named(table: pd.DataFrame) -> pd.DataFrame:
            first, second = zip(*(pairs[int(k)] for k in table["feature"]), strict=True)
            return table.assign(feature=first, feature_2=second)

        return Interaction(
            id=ids.SHAP_INTERACTION,
            explainer=ids.SHAP,
            title="Mean absolute Shapley interactions",
            frame=named(mean.frame)[list(Interaction.columns)],
            estimates=named(mean.estimates),
            options=asdict(self.method),
            notes=(*mean.notes, "φ_ij is the sum of both entries of the pair in the matrix of Lundberg et al. (2018)."),
            omissions=mean.omissions,
            meta=mean.meta,
        )

    def _keys(self, m: IntArray) -> dict[str, AnyArray]:
        """Return the columns measure and feature, all features for each of the measures numbered `m`."""
        names = np.array([measure.name for measure in self.measures], dtype=object)
        features = np.array(self.features, dtype=object)
        return {"measure": np.repeat(names[m], len(features)), "feature": np.tile(features, len(m))}

    def _estimates(
        self, keys: Mapping[str, AnyArray], estimate: FloatArray, std_error: FloatArray, dof: Any, covers: Any
    ) -> pd.DataFrame:
        """Return the estimates with their t-intervals; none of exact values, which have no degrees of freedom."""
        level, values, error = self.engine.confidence, estimate.ravel(), std_error.ravel()
        exact = np.equal(covers, EXACT)
        reach = np.where(exact, np.nan, stdtrit(np.maximum(dof, 1), 0.5 + level / 2) * error)
        numbers = {"estimate": values, "std_error": error, "lower": values - reach, "upper": values + reach}
        unknown = np.isnan(reach)
        covers = np.where(unknown & ~exact, "none", covers).astype(object)
        table = pd.DataFrame({**keys, **numbers}).assign(confidence=np.where(unknown, np.nan, level), covers=covers)
        return table[list(dict.fromkeys([*ESTIMATE_COLUMNS, *keys]))]

    def _infinite(self, infinite: IntArray, consequence: str) -> tuple[Omission, ...]:
        """Return, for each measure that is infinite somewhere, how often it is and what follows."""
        omissions = []
        for measure, counts in zip(self.measures, infinite, strict=True):
            rows = f"{(counts > 0).sum()} of {len(counts)} explained observations"
            words = f"infinite for {counts.sum()} combinations of values, for {rows}; {consequence}"
            omissions.append(Omission(measure.name, "", f"{words}. The cause is {choice.INFINITE_REMEDY}"))
        return tuple(gap for gap, counts in zip(omissions, infinite, strict=True) if counts.any())

    def _notes(self) -> tuple[str, ...]:
        """Say what a reader must know to read any of these numbers."""
        d, size, source = len(self.features), len(self.background.weights), self.background.source
        error = f"All {2**d} coalitions of {d} features were evaluated: there is no Monte-Carlo error."
        if not self.exact.all():
            error = (
                f"{self.method.n_permutations} orders of {d} features per observation, half of them the reverse of the "
                "others: values have a Monte-Carlo error, their sum has none."
            )
        if self.by_tree_explainer:
            error += " Values of the prediction are exact, by the explainer of shap for this kind of model."
        fixed = "Measures of y use the outcome of the explained observation."
        return (
            f"Absent features take their values jointly from {size} {source}.",
            *((fixed,) if any(measure.needs_y for measure in self.measures) else ()),
            error,
        )


def _tree_values(model: Any, background: Table, rows: Table, positive: int | None) -> FloatArray | None:
    """Return the values of shap's exact explainers, shape (rows, features), or None where it refuses the model."""
    known = FORESTS if positive is not None else (*FORESTS, *BOOSTING, LINEAR)
    if not type(model).__module__.startswith(known) or find_spec("shap") is None:
        return None
    import shap  # here: heavy

    try:
        reference, explained = np.asarray(background, dtype=float), np.asarray(rows, dtype=float)
        if type(model).__module__.startswith(LINEAR):
            masker = shap.maskers.Independent(reference, max_samples=len(reference))
            return np.asarray(shap.LinearExplainer(model, masker).shap_values(explained))
        phi = np.asarray(shap.TreeExplainer(model, reference).shap_values(explained, check_additivity=False))
    except Exception:  # noqa: BLE001 - shap raises what it likes for models, versions and types it does not know
        return None
    return phi[..., positive] if phi.ndim == 3 else phi
