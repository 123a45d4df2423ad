"""Shapley values of any measure, entropy above all, from one batched prediction pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import combinations
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model.measures import DECOMPOSITION, PREDICTION, Measure
from ...core.model.results import ESTIMATE_COLUMNS, Attribution, Importance, Interaction, Omission, Result, RowValues
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.model.variants import Mix
from ...core.statistics.inference import pooled_error
from ...core.support import options as opt
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, Table, take_rows
from ...core.support.errors import InputError
from ...distributions import Categorical
from ...evidence import ids
from ..shared.cards import card_of
from ..shared.choice import (
    INFINITE_REMEDY,
    Roles,
    as_names,
    as_rows,
    chosen_rows,
    draw,
    plain_values,
    positions,
    row_measures,
)
from .shapley import AntitheticPermutations, Enumeration, PairEnumeration, Pool, Shares, Solver, play

MIN_SAMPLE = 10
MIN_BACKGROUND = 5
EXACT = "exact"
FORESTS = ("sklearn.ensemble._forest", "sklearn.tree")  # whose probabilities are means of leaves
BOOSTING = ("sklearn.ensemble", "lightgbm", "xgboost")  # exact for numbers; of a probability shap rescales log-odds
LINEAR = "sklearn.linear_model"  # exact for numbers
CLOSE = 1e-6  # of a sum of values that are to explain one prediction


@dataclass(frozen=True)
class ShapleyValues(BuiltInExplainer):
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
    card: ClassVar[MethodCard] = card_of(name)

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        object.__setattr__(self, "measures", as_names(self.name, "measures", self.measures))
        object.__setattr__(self, "rows", as_rows(self.name, self.rows))
        super().__post_init__()

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return about how many rows it will have predicted: all coalitions of every row on the background."""
        players = len(subject.features)
        local = len(positions(chosen_rows(self.name, self.rows, engine, self.n_local)))
        background = self._background_size(players, local)
        rows = local + self._sample_size(players, background, local)
        return min(rows, subject.n) * self._coalitions(players) * background

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``shap``, the values of every explained row, and ``shap.importance``, the mean of their sizes."""
        measures, omitted = row_measures(self.name, engine, self.measures)
        roles = chosen_rows(self.name, self.rows, engine, self.n_local)
        local = positions(roles)
        background = _background(subject, engine, self._background_size(len(subject.features), len(local)))
        size = self._sample_size(len(subject.features), len(background.weights), len(local))
        sample = draw(engine.rng("rows"), subject.n, size, subject.weights)
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
        if not exact.all():
            shares = _with_tree_values(shares, engine, measures, background, rows, exact)
        explained = Explained(
            engine=engine,
            measures=measures,
            omitted=omitted,
            rows=rows,
            sample=sample,
            roles=roles,
            background=background,
            n_permutations=self.n_permutations,
            exact=exact,
            options=asdict(self),
        )
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
    chosen = draw(engine.rng("background"), len(table), size, weights)
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


@dataclass(frozen=True, kw_only=True)
class Explained:
    """What was explained, and how; `exact`, shape (measures,), says which values have no Monte-Carlo error."""

    engine: Engine
    measures: tuple[Measure, ...]
    omitted: tuple[Omission, ...]
    rows: IntArray
    sample: IntArray
    roles: Roles
    background: Background
    n_permutations: int
    exact: BoolArray
    options: Mapping[str, Any]

    players: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The features, or what takes their place."""
        return self.players or self.engine.subject.features

    @property
    def by_tree_explainer(self) -> bool:
        """Whether shap computed the values of the prediction."""
        return bool(self.exact.any() and not self.exact.all())

    def attribution(self, shares: Shares) -> Attribution:
        """Return the values of every row whose measure is finite wherever it was evaluated."""
        m, e = np.nonzero(shares.infinite == 0)
        phi, std_error = shares.phi[m, e], shares.std_error[m, e]
        d = phi.shape[1]
        keys = self._keys(m) | {"row": np.repeat(self.rows[e], d)}
        covers = np.where(np.repeat(self.exact[m], d), EXACT, "Monte Carlo (permutations)").astype(object)
        estimates = self._estimates(keys, phi, std_error, self.n_permutations // 2 - 1, covers)
        frame = {**keys, "position": 0, "base": np.repeat(shares.base[m, e], d), "value": phi.ravel()}
        return Attribution(
            id=ids.SHAP,
            explainer=ids.SHAP,
            title="Shapley values of single observations",
            frame=pd.DataFrame(frame, columns=list(Attribution.columns)),
            estimates=estimates,
            options=self.options,
            notes=self._notes(),
            omissions=(*self.omitted, *self._infinite(shares.infinite, "these observations have no values")),
            meta={
                "rows": {role: list(rows) for role, rows in self.roles.items()},
                "rows_used": self.sample.tolist(),
                "explained": self.rows.tolist(),
                "data": {name: plain_values(self.engine.subject.values(name)[self.rows]) for name in self.features},
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
            options=self.options,
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
            options=self.options,
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
        return tuple(
            Omission(
                measure.name,
                "",
                f"infinite for {counts.sum()} combinations of values, for {(counts > 0).sum()} of {len(counts)} "
                f"explained observations; {consequence}. The cause is {INFINITE_REMEDY}",
            )
            for measure, counts in zip(self.measures, infinite, strict=True)
            if counts.any()
        )

    def _notes(self) -> tuple[str, ...]:
        """Say what a reader must know to read any of these numbers."""
        d, size, source = len(self.features), len(self.background.weights), self.background.source
        error = f"All {2**d} coalitions of {d} features were evaluated: there is no Monte-Carlo error."
        if not self.exact.all():
            error = (
                f"{self.n_permutations} orders of {d} features per observation, half of them the reverse of the "
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


def _with_tree_values(
    shares: Shares,
    engine: Engine,
    measures: Sequence[Measure],
    background: Background,
    rows: IntArray,
    exact: BoolArray,
) -> Shares:
    """Return the shares with shap's exact values of a tree model's prediction, and mark them in `exact`.

    Only where they add up to the engine's own predictions, so that both explain one function on one background.
    """
    m = next((k for k, measure in enumerate(measures) if measure.name == PREDICTION.name), None)
    if m is None or not np.allclose(background.weights, background.weights[0]):
        return shares
    dist = engine.baseline
    positive = dist.positive if isinstance(dist, Categorical) else None
    phi = _tree_values(engine.subject.model, background.rows, take_rows(engine.subject.X, rows), positive)
    total = shares.phi[m].sum(axis=1)
    if phi is None or phi.shape != shares.phi[m].shape or not np.allclose(phi.sum(axis=1), total, rtol=0, atol=CLOSE):
        return shares
    exact[m] = True
    values, errors = shares.phi.copy(), shares.std_error.copy()
    values[m], errors[m] = phi, 0.0
    return shares._replace(phi=values, std_error=errors)


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
