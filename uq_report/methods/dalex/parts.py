"""dalex's results as ours: permutation importance, profiles, attributions of single rows, and performance."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property, partial
from io import StringIO
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import CoalitionEvaluator, Engine
from ...core.model.measures import PREDICTION, Measure, OneMinusAUC
from ...core.model.results import Attribution, Diagnostic, Importance, Omission, Profile, bare_estimates
from ...core.model.subject import Subject
from ...core.model.variants import Mix, Variant
from ...core.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, take_rows
from ...core.support.errors import MissingDependencyError, UQReportError, words_of
from ...core.traits.interop import global_random_state_restored, mean_measure, numeric_target
from ...evidence import ids
from ..shared.choice import INFINITE_REMEDY, Roles, plain_values, positions
from ..shared.grids import FeatureGrid, make_grid, stacked


class Cells:
    """Makes the tables that dalex gets, and reads what it asks for.

    Parameters
    ----------
    subject : Subject
    features : tuple of str
        The features that dalex gets, in the order of the subject's. Beside them a table may have one column for all
        `others` together.

    Examples
    --------
    >>> from uq_report import testing
    >>> subject = testing.linear_subject(3)
    >>> cells = Cells(subject, subject.features[:2])
    >>> table = cells.table([0, 2], others=False)
    >>> table.to_numpy().tolist()
    [[0, 0], [2, 2]]
    >>> table.iloc[:, 1] = [2, 0]
    >>> cells.change(table)
    Variant(columns=(1,), values=(), donors=array([2, 0]))
    """

    def __init__(self, subject: Subject, features: tuple[str, ...]) -> None:
        self._n, self._names, self._features = subject.n, subject.features, features
        own = [(subject.features.index(name),) for name in features]
        rest = tuple(c for c in range(len(subject.features)) if (c,) not in own)
        self.groups: list[tuple[int, ...]] = [*own, *([rest] if rest else [])]

    @property
    def player(self) -> IntArray:
        """Return the group of each of the subject's columns: one for each feature, and one for all others."""
        return np.array([next(g for g, at in enumerate(self.groups) if c in at) for c in range(len(self._names))])

    @property
    def others(self) -> str:
        """What the other features are called, as one of them; empty where there are none."""
        rest = len(self._names) - len(self._features)
        name = f"{rest} other features" if rest else ""
        while name in self._names:
            name += "'"
        return name

    def table(self, rows: IntArray | list[int], *, others: bool) -> pd.DataFrame:
        """Return rows of the subject as dalex gets them, with the column of all other features or without it."""
        names = [*self._features, *([self.others] if others and self.others else [])]
        return pd.DataFrame(np.repeat(np.asarray(rows)[:, None], len(names), axis=1), rows, names)

    def change(self, table: pd.DataFrame) -> Variant:
        """Return the change of the rows of the index: of one column, from the rows that its cells name."""
        cells = table.to_numpy()
        moved = np.flatnonzero((cells != table.index.to_numpy()[:, None]).any(axis=0))
        return Variant(self.groups[moved[0]], donors=cells[:, moved[0]]) if len(moved) else Variant()

    def points(self, grids: Sequence[FeatureGrid]) -> dict[str, IntArray]:
        """Return numbers of no row for the points of each grid, in order."""
        return {grid.feature: self._n + np.arange(len(grid.x)) for grid in grids}

    def curve(
        self, table: pd.DataFrame, rows: IntArray, own: FloatArray, curves: Mapping[str, FloatArray]
    ) -> FloatArray:
        """Return what a table of `rows`, or each of them many times, asks for.

        Parameters
        ----------
        table : DataFrame
        rows : ndarray of int, shape (n,)
            In order.
        own : ndarray, shape (n,)
            The values of these rows as they are.
        curves : mapping of ndarray, shape (points, n)
            Their values at the points that `points` numbers, by feature.
        """
        at = np.searchsorted(rows, table.index.to_numpy())
        for name, values in curves.items():
            point = table[name].to_numpy().astype(int) - self._n
            if (point >= 0).all():
                return values[point, at]
        return own[at]


Predict: TypeAlias = Callable[[Any, pd.DataFrame], AnyArray]


class GapError(Exception):
    """Something that dalex cannot give here; it becomes an omission."""

    def __init__(self, measure: str, feature: str, reason: str) -> None:
        super().__init__(reason)
        self.omission = Omission(measure, feature, reason)


@contextmanager
def listing(gaps: list[Omission]) -> Iterator[None]:
    """Put what is not there into `gaps`, and go on."""
    try:
        yield
    except GapError as gap:
        gaps.append(gap.omission)


@contextmanager
def contained(seed: int) -> Iterator[None]:
    """Seed numpy's global stream for dalex and give the caller's back; print nothing, hide dalex's own warnings.

    0/0 and inf - inf are no warnings here either: what is not finite becomes an omission.
    """
    quiet = redirect_stdout(StringIO()), warnings.catch_warnings(), np.errstate(all="ignore")
    with global_random_state_restored(), quiet[0], quiet[1], quiet[2]:
        warnings.filterwarnings("ignore", module=r"dalex(\.|$)")
        warnings.filterwarnings("ignore", "The behavior of Series.argsort", FutureWarning)  # where nll is infinite
        np.random.seed(seed)  # noqa: NPY002 - dalex draws from the global stream
        yield


@dataclass(frozen=True, eq=False)
class Dalex:
    """dalex bound to a subject: its explainers, its calls contained, its failures listed.

    dalex explains one number at a time. It gets the columns `features` of tables of row numbers, so that what it asks
    for is read as changes of the subject's rows, which the engine predicts for all measures at once.

    `tables` is about how many tables dalex will shuffle: by them an audit with a limit of time judges whether the rest
    fits.

    Raises
    ------
    MissingDependencyError
        If dalex is not installed.
    """

    subject: Subject
    engine: Engine
    measures: tuple[Measure, ...]
    omitted: tuple[Omission, ...]
    options: Mapping[str, Any]
    features: tuple[str, ...]
    tables: int = 0
    _tables_so_far: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        """Refuse to go on without dalex."""
        try:
            import dalex  # noqa: F401 - optional
        except ImportError as error:
            raise MissingDependencyError("explainer dalex", ids.DALEX, ids.DALEX) from error

    @property
    def classifies(self) -> bool:
        """Whether the target is a class."""
        return "proba" in self.engine.baseline.supports

    @cached_property
    def cells(self) -> Cells:
        """The tables that dalex gets."""
        return Cells(self.subject, self.features)

    @cached_property
    def own(self) -> FloatArray:
        """All measures of the subject's rows as they are, shape (measures, n)."""
        return self.engine.unchanged(self.measures)

    def check(self) -> None:
        """Stop where a limit is reached, or the tables that dalex has yet to shuffle do not fit it."""
        self.engine.check(next(self._tables_so_far), self.tables)

    def values(self, variants: Sequence[Variant], rows: IntArray) -> FloatArray:
        """Return all measures of changes of rows, shape (measures, variants, rows)."""
        groups = self.engine.evaluate(variants, self.measures, rows, len(variants))
        return np.concatenate([group.values for group in groups], axis=1)

    def ask(
        self, part: str, label: str, data: pd.DataFrame, y: AnyArray | None, predict: Predict, **options: Any
    ) -> Any:
        """Return the answer of a method of dalex's explainer; where dalex itself fails, that is a gap.

        The stream belongs to the part, not to the measure, so that all measures see the same shuffles. Where there is
        no y, dalex gets zeros, which a mean over rows never reads. It gets y last, as it looks for it in the columns.
        """
        import dalex

        seed = int(self.engine.rng(part).integers(2**31))
        classes = self.classifies and label == PREDICTION.name
        how = {"label": label, "model_type": "classification" if classes else "regression"}
        try:
            with contained(seed):
                explainer = dalex.Explainer(self, data, None, predict, verbose=False, precalculate=False, **how)
                explainer.y = np.zeros(len(data)) if y is None else y
                return getattr(explainer, part)(**options)
        except UQReportError:
            raise
        except Exception as error:
            raise GapError(label, "", f"DALEX's {part.replace('_', ' ')} failed: {words_of(error)}") from error

    def fields(self, part: str, title: str, gaps: Sequence[Omission]) -> dict[str, Any]:
        """Return the fields that dalex's results have in common."""
        names = {"id": f"{ids.DALEX}.{part}", "explainer": ids.DALEX, "title": title}
        return names | {"options": dict(self.options), "omissions": (*self.omitted, *gaps)}

    def notes(self, rows: IntArray) -> tuple[str, ...]:
        """Say on which observations dalex was computed, and what it does not use."""
        n, columns = self.subject.n, {"sample weights": self.subject.weights, "clusters": self.subject.clusters}
        some = f"{len(rows)} of {n} observations, drawn once" if len(rows) < n else f"all {n} observations"
        used = f"Computed on {some}."
        unread = [name for name, values in columns.items() if values is not None]
        ignored = f"dalex does not use {' or '.join(unread)}: every observation counts once."
        return (used, ignored) if unread else (used,)


Loss: TypeAlias = Callable[[Any, FloatArray], float]


class DalexShuffles(NamedTuple):
    """What dalex shuffled: per round and column the number of a loss, and whose.

    Parameters
    ----------
    numbers : DataFrame
        A column per feature, the full model and the baseline; a row per round.
    orders : ndarray of int, shape (losses, rows)
        In which order y stands.
    tables : ndarray of int, shape (losses,)
        Whose prediction it is set beside.
    values : ndarray, shape (measures, tables, rows)
    y : ndarray, shape (rows,), optional
    """

    numbers: pd.DataFrame
    orders: IntArray
    tables: IntArray
    values: FloatArray
    y: FloatArray | None

    @classmethod
    def of(cls, dalex: Dalex, rows: IntArray, n_repeats: int) -> DalexShuffles:
        """Return dalex's shuffles, which do not depend on predictions: all measures share them."""
        variants: list[Variant] = []
        losses: list[tuple[IntArray, int]] = []

        def predict(model: Any, X: pd.DataFrame) -> IntArray:  # noqa: ARG001 - dalex's signature
            dalex.check()
            variants.append(dalex.cells.change(X))
            return np.full(len(X), len(variants) - 1)

        def loss(observed: IntArray, predicted: IntArray) -> float:
            losses.append((observed, int(predicted[0])))
            return float(len(losses) - 1)

        options: dict[str, Any] = {"N": None, "B": n_repeats, "variables": list(dalex.features)}
        data, at = dalex.cells.table(rows, others=False), np.arange(len(rows))
        answer = dalex.ask("model_parts", "", data, at, predict, loss_function=loss, **options)
        shuffled = sorted((t for t, v in enumerate(variants) if v.columns), key=lambda t: variants[t].columns)
        values = np.repeat(dalex.own[:, None, rows], len(variants), axis=1)
        values[:, shuffled] = dalex.values([variants[t] for t in shuffled], rows)
        target = numeric_target(dalex.engine)
        orders, tables = (np.array(each) for each in zip(*losses, strict=True))
        numbers = answer.permutation.reset_index(drop=True).astype(int)
        return cls(numbers, orders, tables, values, None if target is None else target[rows])

    def rounds(self, measure: int, loss: Loss) -> pd.DataFrame:
        """Return the losses of one measure in place of their numbers."""
        y = np.zeros(self.orders.shape[1]) if self.y is None else self.y
        pairs = zip(self.orders, self.tables, strict=True)
        losses = np.array([loss(y[order], self.values[measure, table]) for order, table in pairs])
        return pd.DataFrame(losses[self.numbers.to_numpy()], columns=self.numbers.columns)


def one_minus_auc(observed: FloatArray, predicted: FloatArray) -> float:
    """Return 1 - AUC, ties counted half.

    Examples
    --------
    >>> one_minus_auc(np.array([0.0, 0.0, 1.0]), np.array([0.1, 0.5, 0.5]))
    0.25
    """
    return OneMinusAUC().value(predicted, observed, np.ones(len(observed)))


def rmse(observed: FloatArray, predicted: FloatArray) -> float:
    """Return the root of the mean squared error.

    Examples
    --------
    >>> rmse(np.array([1.0, 2.0]), np.array([4.0, 5.0]))
    3.0
    """
    return float(np.sqrt(np.square(observed - predicted).mean()))


@dataclass(frozen=True, eq=False)
class BackgroundMixtures:
    """All measures of explained rows whose features are their own, or those of background rows.

    Parameters
    ----------
    dalex : Dalex
    mixing : Mixing
        Of the explained rows and, after them, the background rows.
    measures : sequence of Measure
    explained : sequence of int
        Their positions in the subject.
    background : ndarray of int
    """

    dalex: Dalex
    mixing: CoalitionEvaluator
    measures: Sequence[Measure]
    explained: Sequence[int]
    background: IntArray
    _known: dict[tuple[int, bytes], FloatArray] = field(default_factory=dict)

    @classmethod
    def of(
        cls, dalex: Dalex, measures: Sequence[Measure], explained: Sequence[int], background: IntArray
    ) -> BackgroundMixtures:
        """Return the mixtures of some rows with others, none predicted yet."""
        engine = dalex.engine
        table = take_rows(dalex.subject.X, np.array([*explained, *background], dtype=np.int64))
        y = None if engine.y is None else engine.y[list(explained)]
        asked = len(explained) * len(background) * len(measures) * len(dalex.cells.groups)
        return cls(dalex, engine.mixing(table, measures, asked, y), measures, explained, background)

    def predict_break_down(self, row: int) -> None:
        """Predict what a break-down of a row asks for: each feature alone, then all in order of their effect.

        dalex orders them by the mean that each has alone, the largest first. What it asks for beyond is predicted then.
        """
        alone = np.vstack([np.zeros(self._players), np.eye(self._players)]).astype(bool)
        means = self.values(row, alone)[:, 1:].mean(axis=2)
        places = np.argsort(np.argsort(means, axis=1)[:, ::-1], axis=1)
        steps = places[:, None] < np.arange(2, self._players)[:, None]
        if steps.size:
            self.values(row, np.unique(steps.reshape(-1, self._players), axis=0))

    def measured(self, table: pd.DataFrame, row: int, measure: Measure) -> FloatArray:
        """Return one measure of the rows that dalex asks for, shape (rows,)."""
        own = (table.to_numpy() == row).all(axis=0)
        if own.all():
            return np.full(len(table), self.dalex.own[self.dalex.measures.index(measure), row])
        return self.values(row, own[None])[self.measures.index(measure), 0]

    def values(self, row: int, own: BoolArray) -> FloatArray:
        """Return all measures of mixtures of a row, shape (measures, mixtures, background rows).

        `own`, shape (mixtures, players), says what is the row's own: each of dalex's features, all others together.
        """
        new = [flags for flags in own if (row, flags.tobytes()) not in self._known]
        if new:
            others = len(self.explained) + np.arange(len(self.background))
            mix = Mix(self.explained.index(row), np.array(new)[:, self.dalex.cells.player], others)
            values = self.mixing([mix]).reshape(len(self.measures), -1, len(new))
            self._known.update(((row, flags.tobytes()), values[:, :, k]) for k, flags in enumerate(new))
        return np.stack([self._known[row, flags.tobytes()] for flags in own], axis=1)

    @property
    def _players(self) -> int:
        return len(self.dalex.cells.groups)


QUANTILES_FROM = 20
MAX_LEVELS = 30
CUTOFF = 0.5
COMPARES = "it compares an observation with its unchanged self, and the intermediate steps combine several observations"


_BASELINE = (
    "DALEX's baseline permutes the outcomes, which only the loss of the prediction uses: other measures have none."
)


def model_parts(dalex: Dalex, rows: IntArray, n_repeats: int, which: str) -> Importance:
    """Return dalex's permutation importance: the loss after shuffling minus the full model's, per round.

    `which` is the rule that chose the features if they are not all.
    """
    frames: list[pd.DataFrame] = []
    gaps: list[Omission] = []
    facts: dict[str, dict[str, Any]] = {"full_model": {}, "baseline": {}, "losses": {}}
    for measure, rounds in _rounds(dalex, rows, n_repeats, gaps).items():
        finite: Any = np.isfinite(rounds).all()
        if not finite["_full_model_"]:
            gaps.append(Omission(measure.name, "", _infinite("before any permutation")))
            continue
        kept = [name for name in dalex.features if finite[name]]
        for name in (name for name in dalex.features if name not in kept):
            where = f"in {int((~np.isfinite(rounds[name])).sum())} of {n_repeats} rounds"
            gaps.append(Omission(measure.name, name, _infinite(where)))
        changes = rounds[kept]
        if len(changes.columns):
            long = changes.sub(rounds["_full_model_"], axis=0).melt(var_name="feature", ignore_index=False)
            frames.append(long.reset_index(names="repeat").assign(measure=measure.name))
        of_prediction = "1 - AUC" if dalex.classifies else "RMSE"
        is_prediction = measure.name == PREDICTION.name
        facts["losses"][measure.name] = of_prediction if is_prediction else f"mean {measure.name}"
        facts["full_model"][measure.name] = float(rounds["_full_model_"].mean())
        if finite["_baseline_"] and is_prediction:
            facts["baseline"][measure.name] = float(rounds["_baseline_"].mean())
    frame = stacked(frames, Importance.columns)
    losses = ", ".join(f"{loss} for {name}" for name, loss in facts["losses"].items()) or "none"
    return Importance(
        **dalex.fields("model_parts", "dalex: permutation importance", gaps),
        frame=frame,
        estimates=_spread(frame, n_repeats),
        notes=(
            f"Values are DALEX's drop-out loss minus its full-model loss, by round. Losses: {losses}.",
            "The spread is that of the permutations only and is no interval.",
            *([f"DALEX permuted {which}."] if which else []),
            _BASELINE,
            *dalex.notes(rows),
        ),
        meta=facts,
    )


def _rounds(dalex: Dalex, rows: IntArray, n_repeats: int, gaps: list[Omission]) -> dict[Measure, pd.DataFrame]:
    """Return dalex's losses of each measure, a column per feature and a row per round."""
    losses: dict[Measure, Loss] = {}
    for measure in dalex.measures:
        with listing(gaps):
            losses[measure] = _loss(dalex, measure, rows)
    found: dict[Measure, pd.DataFrame] = {}
    if losses:
        with listing(gaps):
            shuffles = DalexShuffles.of(dalex, rows, n_repeats)
            found = {measure: shuffles.rounds(dalex.measures.index(measure), loss) for measure, loss in losses.items()}
    return found


def _loss(dalex: Dalex, measure: Measure, rows: IntArray) -> Loss:
    """Return dalex's loss of a measure, 1 - AUC at a tenth of the time of dalex's own; or say why there is none."""
    if measure.name != PREDICTION.name:
        return mean_measure
    if numeric_target(dalex.engine) is None:
        known = "are not known for censored observations" if dalex.engine.baseline.censored else "were not given"
        raise GapError(measure.name, "", f"it needs outcomes, which {known}")
    _need_two_classes(dalex, rows)
    return one_minus_auc if dalex.classifies else rmse


def _need_two_classes(dalex: Dalex, rows: IntArray) -> None:
    """Refuse rows on which an AUC is undefined."""
    target = numeric_target(dalex.engine)
    if dalex.classifies and target is not None and np.ptp(target[rows]) == 0:
        reason = f"the AUC needs both classes, and the {len(rows)} observations used have one only"
        raise GapError(PREDICTION.name, "", reason)


def _infinite(where: str) -> str:
    return f"the mean over observations is infinite {where}. The cause is {INFINITE_REMEDY}"


def _spread(frame: pd.DataFrame, n_repeats: int) -> pd.DataFrame:
    """Return the means over rounds and the spread: 5% and 95% quantiles, the extremes below 20 rounds."""
    low, high = (0.05, 0.95) if n_repeats >= QUANTILES_FROM else (0.0, 1.0)
    rounds = frame.astype({"value": float}).groupby(["measure", "feature"], sort=False)["value"]
    columns = {"estimate": rounds.mean(), "spread_low": rounds.quantile(low), "spread_high": rounds.quantile(high)}
    return bare_estimates(pd.DataFrame(columns).reset_index(), "spread_low", "spread_high")


def leading_features(importance: Importance | None, dalex: Dalex, count: int) -> list[str]:
    """Return the features that lead for some measure: best rank by size over measures, then the mean rank.

    Dates have no profile in dalex and are passed over.
    """
    candidates = [name for name in dalex.features if dalex.subject.kinds[name] != "datetime"]
    if importance is None or importance.estimates.empty:
        return candidates[:count]
    table = importance.estimates.assign(size=importance.estimates["estimate"].abs())
    ranks = table.pivot_table(index="feature", columns="measure", values="size").rank(ascending=False)
    ranks = ranks.reindex([name for name in candidates if name in ranks.index])
    order = pd.DataFrame({"best": ranks.min(axis=1), "mean": ranks.mean(axis=1)})
    return [str(name) for name in order.sort_values(["best", "mean"], kind="stable").index[:count]]


def model_profile(dalex: Dalex, rows: IntArray, features: Sequence[str], grid_points: int) -> Profile:
    """Return dalex's partial-dependence profiles: the mean over rows at each point, per measure."""
    grids, gaps = _grids(dalex, features, grid_points)
    tables: list[dict[str, Any]] = []
    means: dict[str, float] = {}
    curves = {g.feature: dalex.values([Variant((g.column,), (step,)) for step in g.steps], rows) for g in grids}
    for m, measure in enumerate(dalex.measures if grids else ()):
        with listing(gaps):
            own = {name: values[m] for name, values in curves.items()}
            read = partial(dalex.cells.curve, rows=rows, own=dalex.own[m, rows], curves=own)
            answer = _ask(dalex, measure.name, rows, grids, read)
            if np.isfinite(answer.mean_prediction):
                means[measure.name] = float(answer.mean_prediction)
            for grid in grids:
                with listing(gaps):
                    tables.append(_profile(measure, grid, answer.result))
    frame = stacked(tables, Profile.columns)
    return Profile(
        **dalex.fields("model_profile", "dalex: partial-dependence profiles", gaps),
        frame=frame,
        estimates=bare_estimates(frame, "x", "level"),
        notes=(
            f"Profiles of {', '.join(grid.feature for grid in grids) or 'no feature'}.",
            *(note for grid in grids for note in grid.notes),
            *dalex.notes(rows),
        ),
        meta={"mean": means},
    )


def _grids(dalex: Dalex, features: Sequence[str], grid_points: int) -> tuple[list[FeatureGrid], list[Omission]]:
    """Return the points of each feature as our own profiles have them: quantiles of a numeric one, else levels."""
    grids = {name: make_grid(dalex.subject, name, grid_points, (0.0, 1.0), MAX_LEVELS) for name in features}
    reason = "all of its values are missing, so it has no grid"
    gaps = [Omission("", name, reason) for name, grid in grids.items() if grid is None]
    return [grid for grid in grids.values() if grid is not None], gaps


def _ask(
    dalex: Dalex, label: str, rows: IntArray, grids: Sequence[FeatureGrid], read: Callable[..., FloatArray]
) -> Any:
    """Return dalex's aggregated profiles; to dalex all points are numbers."""

    def predict(model: Any, X: pd.DataFrame) -> FloatArray:  # noqa: ARG001 - dalex's signature
        dalex.engine.check()
        return read(X)

    splits = dalex.cells.points(grids)
    points: dict[str, Any] = {"variables": list(splits), "variable_type": "numerical", "variable_splits": splits}
    data = dalex.cells.table(rows, others=False)
    return dalex.ask("model_profile", label, data, None, predict, type="partial", N=None, verbose=False, **points)


def _profile(measure: Measure, grid: FeatureGrid, result: pd.DataFrame) -> dict[str, Any]:
    """Return one feature's profile, in the order of its grid."""
    values = result.loc[result["_vname_"] == grid.feature, "_yhat_"].to_numpy(dtype=float)
    if not np.isfinite(values).all():
        raise GapError(measure.name, grid.feature, _infinite("at some points"))
    points = {"x": grid.x, "level": np.array(grid.levels, dtype=object), "value": values}
    named = {"measure": measure.name, "feature": grid.feature}
    return points | named | {"feature_2": "", "x_2": np.nan, "level_2": "", "curve": -1}


def predict_parts(
    dalex: Dalex, background: IntArray, roles: Roles, which: str, predict_type: str, n_paths: int
) -> Attribution:
    """Return dalex's break-down, or its Shapley values, of chosen rows; y is fixed to the explained row's.

    `which` is the rule that chose the features if they are not all: the others are then one more.
    """
    tables: list[dict[str, Any]] = []
    gaps: list[Omission] = []
    rows = positions(roles)
    measures = [measure for measure in dalex.measures if not measure.needs_base]
    gaps += [Omission(measure.name, "", COMPARES) for measure in dalex.measures if measure.needs_base]
    mixtures = BackgroundMixtures.of(dalex, measures, rows, background)
    for row in rows if measures else ():
        if predict_type == "break_down":
            mixtures.predict_break_down(row)
        for measure in measures:
            with listing(gaps):
                tables.append(_attribution(mixtures, measure, row, predict_type, n_paths))
    spread = ("spread_low", "spread_high")
    frame = stacked(tables, (*Attribution.columns, *spread))
    notes = [f"Features not yet set take their values from {len(background)} of {dalex.subject.n} observations."]
    if which:
        notes.append(f"DALEX's features are {which}, and the {dalex.cells.others} as a single one.")
    if any(measure.needs_y for measure in dalex.measures):
        notes.append("Measures of y use the outcome of the explained observation.")
    if predict_type == "shap":
        notes.append(f"Means over {n_paths} random orders; the spread is their minimum and maximum.")
    else:
        notes.append("The position is DALEX's order, from 1: contributions depend on it.")
    return Attribution(
        **dalex.fields("predict_parts", f"dalex: {predict_type.replace('_', ' ')} of single observations", gaps),
        frame=frame[list(Attribution.columns)],
        estimates=bare_estimates(frame, "row", "position", *spread),
        notes=tuple(notes),
        meta={
            "rows": {role: list(numbers) for role, numbers in roles.items()},
            "explained": rows,
            "data": {name: plain_values(dalex.subject.values(name)[rows]) for name in dalex.features},
        },
    )


def _attribution(
    mixtures: BackgroundMixtures, measure: Measure, row: int, predict_type: str, n_paths: int
) -> dict[str, Any]:
    """Return one row's contributions to one measure."""
    dalex = mixtures.dalex

    def predict(model: Any, X: pd.DataFrame) -> FloatArray:  # noqa: ARG001 - dalex's signature
        dalex.engine.check()
        return mixtures.measured(X, row, measure)

    data, new = (dalex.cells.table(of, others=True) for of in (mixtures.background, [row]))
    options = {"new_observation": new, "type": predict_type, "B": n_paths}
    answer = dalex.ask("predict_parts", measure.name, data, None, predict, **options)
    table = _shapley(answer) if predict_type == "shap" else _break_down(answer.result)
    if not (np.isfinite(table["base"]) and np.isfinite(table["value"]).all()):
        raise GapError(measure.name, "", f"infinite for observation {row}. The cause is {INFINITE_REMEDY}")
    return table | {"measure": measure.name, "row": row}


def _break_down(result: pd.DataFrame) -> dict[str, Any]:
    """Return the steps between dalex's first line, the mean, and its last, the row's own value."""
    names, values = (result[name].to_numpy()[1:-1] for name in ("variable_name", "contribution"))
    steps = {"feature": names.astype(str).astype(object), "value": values.astype(float)}
    places = {"position": np.arange(1, len(values) + 1), "base": float(result["cumulative"].iloc[0])}
    return steps | places | {"spread_low": np.nan, "spread_high": np.nan}


def _shapley(answer: Any) -> dict[str, Any]:
    """Return dalex's means over orders (its path 0) and the range over the orders."""
    mean = answer.result[answer.result["B"] == 0].set_index("variable_name")["contribution"]
    paths = answer.result[answer.result["B"] > 0].groupby("variable_name")["contribution"]
    low, high = (spread.reindex(mean.index).to_numpy(dtype=float) for spread in (paths.min(), paths.max()))
    names, values = mean.index.to_numpy().astype(str).astype(object), mean.to_numpy(dtype=float)
    base = float(answer.intercept)
    return {"feature": names, "value": values, "position": 0, "base": base, "spread_low": low, "spread_high": high}


def model_performance(dalex: Dalex, rows: IntArray) -> Diagnostic:
    """Return dalex's metrics of the prediction, at a cutoff of 0.5 where they need one."""
    gaps: list[Omission] = []
    metrics: dict[str, float] = {}
    with listing(gaps):
        measure = next((measure for measure in dalex.measures if measure.name == PREDICTION.name), None)
        y = numeric_target(dalex.engine)
        if measure is None or y is None:
            raise GapError(PREDICTION.name, "", "it needs predictions and outcomes")
        _need_two_classes(dalex, rows)
        own = dalex.own[dalex.measures.index(measure), rows]
        if dalex.classifies and not ((own >= CUTOFF) & (y[rows] == 1)).any():
            raise GapError(PREDICTION.name, "", f"no observation is a true positive at the cutoff of {CUTOFF}")
        data = dalex.cells.table(rows, others=False)
        answer = dalex.ask("model_performance", measure.name, data, y[rows], lambda *_: own, cutoff=CUTOFF)
        metrics = {str(name): float(value) for name, value in answer.result.iloc[0].items()}
    finite = {name: value for name, value in metrics.items() if np.isfinite(value)}
    undefined = (name for name in metrics if name not in finite)
    gaps += [Omission(PREDICTION.name, "", f"DALEX's {name} is undefined on this sample") for name in undefined]
    columns = {"measure": PREDICTION.name, "feature": "", "item": list(finite), "x": 0.0, "value": finite.values()}
    frame = pd.DataFrame(columns)
    cutoff = f"Recall, precision, F1 and accuracy at a cutoff of {CUTOFF}."
    return Diagnostic(
        **dalex.fields("model_performance", "dalex: performance", gaps),
        frame=frame,
        estimates=bare_estimates(frame, "item"),
        notes=(cutoff if dalex.classifies else "Metrics of dalex.", *dalex.notes(rows)),
        meta={"cutoff": CUTOFF} if dalex.classifies else {},
    )
