"""Redundancy: how well each feature is predicted by the others, without and with the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import eigh
from scipy.optimize import nnls
from scipy.special import chdtri

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.results import Diagnostic, Omission, Result
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support import options as opt
from ...core.support.arrays import BoolArray, FloatArray, IntArray, take_rows
from ...core.support.errors import InputError
from ...core.support.limits import check_limits
from ...evidence import ids
from ...evidence.information import AFTER, BEFORE, WITH_TARGET, WITHOUT_TARGET
from ..shared import association
from ..shared.association import NumericColumn, associations, coded, kind_of
from ..shared.cards import CardedExplainer
from ..shared.choice import draw
from ..shared.estimates import diagnostic, points

MAX_LEVELS = 20
LEADING = 20
FEW, MORE = 2, 4  # trees of each fold, and further ones where the first add something
LEAST_GAIN = 0.01  # of the variance: what they must add to the linear fit
SMALL = 200  # rows; fewer get all trees: two of them forecast noise, and more cost little
LEVEL = 0.01  # of the test of what the linear fit leaves, without which no tree grows
# rows for each column of the linear fit; with fewer, trees are better at passing over what tells nothing
PER_COLUMN = 15
MIN_LEAF = 5
BINS = 8
PENALTIES = 10.0 ** np.arange(-6, 2)


class Predictors(NamedTuple):
    """The columns in the four forms that are read here, `owner` and `binned` saying whose each of theirs is.

    `ranks` (n, d), NaN where missing, is for trees. `scaled` (n, p) has mean 0 and variance 1, or is 0: numbers, and
    indicators of levels; `even` has ranks in place of numbers. `bins` (n, b) are indicators of levels, or of eighths
    of the ranks, and of what is missing.
    """

    ranks: FloatArray
    scaled: FloatArray
    even: FloatArray
    owner: IntArray
    bins: FloatArray
    binned: IntArray

    @classmethod
    def of(cls, columns: Sequence[NumericColumn]) -> Predictors:
        """Return columns in these forms."""
        scaled, bins = [_scaled(c) for c in columns], [_bins(c) for c in columns]
        # ranks, equal for equal values: trees need no more, and infinite or huge values fit
        ranks = [np.asarray(pd.Series(c.numbers).rank(method="dense")) if c.ordered else c.numbers for c in columns]
        even = [
            _scaled(NumericColumn("", own, True)) if c.ordered else block
            for c, own, block in zip(columns, ranks, scaled, strict=True)
        ]
        owners = (np.repeat(np.arange(len(columns)), [x.shape[1] for x in blocks]) for blocks in (scaled, bins))
        owner, binned = owners
        return cls(np.column_stack(ranks), np.hstack(scaled), np.hstack(even), owner, np.hstack(bins), binned)

    def first(self, d: int) -> Predictors:
        """Return these forms of the first columns."""
        own, binned = self.owner < d, self.binned < d
        scaled, even, bins = self.scaled[:, own], self.even[:, own], self.bins[:, binned]
        return Predictors(self.ranks[:, :d], scaled, even, self.owner[own], bins, self.binned[binned])

    def at_rows(self, rows: IntArray) -> Predictors:
        """Return these forms of some rows, in their order."""
        if len(rows) == len(self.ranks):
            return self
        return self._replace(**{name: getattr(self, name)[rows] for name in ("ranks", "scaled", "even", "bins")})


def truth(column: NumericColumn) -> FloatArray:
    """Return a numeric column scaled to at most 1 in size, or the indicators of its levels; NaN where missing.

    Beyond the `MAX_LEVELS` - 1 most frequent levels all are one.
    """
    known = ~np.isnan(column.numbers)
    if column.ordered:
        centred = column.numbers - np.median(column.numbers[known])
        return np.asarray(centred / (np.abs(centred[known]).max() or 1.0))[:, None]
    levels, codes, counts = np.unique(column.numbers[known], return_inverse=True, return_counts=True)
    if len(levels) > MAX_LEVELS:
        rare = np.argsort(-counts, kind="stable")[MAX_LEVELS - 1 :]
        codes = np.where(np.isin(codes, rare), rare[0], codes)
    indicators = np.full((len(known), len(np.unique(codes))), np.nan)
    indicators[known] = codes[:, None] == np.unique(codes)[None, :]
    return indicators


def _scaled(column: NumericColumn) -> FloatArray:
    """Return numbers and their squares, or indicators of levels, with mean 0 and variance 1.

    What is missing stands at the mean, what is infinite at the nearest value.
    """
    numbers = column.numbers
    if not np.isfinite(numbers).any():
        return np.zeros((len(numbers), 1 + column.ordered))
    finite = numbers[np.isfinite(numbers)]
    values = _standard(truth(NumericColumn(column.name, np.clip(numbers, finite.min(), finite.max()), column.ordered)))
    return np.nan_to_num(np.hstack([values, _standard(np.square(values))]) if column.ordered else values)


def _standard(values: FloatArray) -> FloatArray:
    values = values - np.nanmean(values, axis=0)
    spread = np.sqrt(np.nanmean(np.square(values), axis=0))
    return np.divide(values, spread, out=np.zeros_like(values), where=spread > 1e-12)


def _bins(column: NumericColumn) -> FloatArray:
    missing = np.isnan(column.numbers)
    if column.ordered:
        eighth = np.ceil(pd.Series(column.numbers).rank(pct=True).to_numpy(dtype=float, na_value=0.0) * BINS)
        inside = eighth[:, None] == np.arange(1, BINS + 1)
    else:
        inside = np.nan_to_num(truth(column)) > 0
    return np.column_stack([inside, missing]).astype(float)


def leaders(
    predictors: Predictors, truths: Sequence[FloatArray], own: Sequence[int], train: BoolArray
) -> list[IntArray]:
    """Return the `LEADING` columns that most tell each truth in the training rows; all others, of that many columns.

    `own` is each truth's own column, which is none of them. Half have the largest share of variance between their
    bins; half the largest of what a linear fit on these leaves, or of its square, where products show.
    """
    d = predictors.ranks.shape[1]
    if d <= LEADING + 1:
        return [np.delete(np.arange(d), j) for j in own]
    Y = [_centred(truth, train) for truth in truths]
    first = _largest(_strength(predictors, Y, own, train), LEADING // 2)
    left = []
    for values, columns in zip(Y, first, strict=True):
        check_limits()
        Z = predictors.scaled[np.ix_(train, np.isin(predictors.owner, columns))]
        left.append(values - ridge(Z, values, Z))
    squares = [np.square(values) - np.square(values).mean(axis=0) for values in left]
    rest = np.maximum(*(_strength(predictors, values, own, train) for values in (left, squares)))
    np.put_along_axis(rest, first, -np.inf, axis=1)
    return list(np.hstack([first, _largest(rest, LEADING - LEADING // 2)]))


def _centred(truth: FloatArray, train: BoolArray) -> FloatArray:
    """Return the training rows less their mean; 0 where missing."""
    values, known = np.nan_to_num(truth[train]), ~np.isnan(truth[train])
    return np.asarray((values - values.sum(axis=0) / np.maximum(known.sum(axis=0), 1)) * known)


def _largest(strength: FloatArray, count: int) -> IntArray:
    return np.argsort(-strength, axis=1, kind="stable")[:, :count]


def _strength(predictors: Predictors, Y: Sequence[FloatArray], own: Sequence[int], train: BoolArray) -> FloatArray:
    """Return the share of each centred truth's variance between each column's bins, less chance's; own: -inf."""
    bins, stacked = predictors.bins[train], np.hstack(Y)
    counts = bins.sum(axis=0)
    first_bins = np.flatnonzero(np.diff(predictors.binned, prepend=-1))
    first_values = np.cumsum([0, *(values.shape[1] for values in Y[:-1])])
    between = np.square((bins / np.sqrt(np.maximum(counts, 1))).T @ stacked)
    explained = np.add.reduceat(np.add.reduceat(between, first_bins, axis=0), first_values, axis=1).T
    total = np.add.reduceat(np.square(stacked).sum(axis=0), first_values)[:, None]
    share = np.divide(explained, total, out=np.zeros_like(explained), where=total > 0)
    used = np.add.reduceat(counts > 0, first_bins, dtype=float) - 1
    share -= (1 - share) * used / np.maximum(len(bins) - 1 - used, 1)
    share[np.arange(len(Y)), own] = -np.inf
    return share


def ridge(X: FloatArray, Y: FloatArray, new: FloatArray) -> FloatArray:
    """Return the forecasts for `new` of a ridge regression of centred Y, the penalty of least generalised CV error.

    Like those of trees, they stay within the range of Y: squares of outliers would not.

    ``GCV(α) = |Y - Ŷ|² / (n - 1 - df)²`` (Golub, Heath & Wahba 1979), with df = Σ s/(s + α) over the eigenvalues s of
    the centred XᵀX, and α from `PENALTIES` times n.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> np.allclose(ridge(x, 3 * x, x[:2]), [[-3], [-2.8775510]], atol=1e-4)
    True
    """
    n, mean = len(X), X.mean(axis=0)
    Z = X - mean
    sizes, vectors = eigh(Z.T @ Z, check_finite=False)
    sizes, c = np.maximum(sizes, 0), vectors.T @ (Z.T @ Y)
    penalties = PENALTIES[:, None] * n
    fitted = (sizes + 2 * penalties) / np.square(sizes + penalties) @ np.square(c).sum(axis=1)
    df = (sizes / (sizes + penalties)).sum(axis=1)
    errors = np.maximum(np.square(Y).sum() - fitted, 0) / np.square(np.maximum(n - 1 - df, 1e-3))
    best = penalties[int(errors.argmin())]
    return np.clip((new - mean) @ (vectors @ (c / (sizes + best)[:, None])), Y.min(axis=0), Y.max(axis=0))


def trees(X: FloatArray, Y: FloatArray, new: FloatArray, stream: np.random.RandomState, count: int) -> FloatArray:
    """Return the sum of forecasts for `new` of extremely randomised trees (Geurts, Ernst & Wehenkel 2006)."""
    from sklearn.tree import ExtraTreeRegressor  # here: heavy, and a list of plugins grows no tree

    data, asked = (np.ascontiguousarray(a, dtype=np.float32) for a in (X, new))
    total = np.zeros((len(new), Y.shape[1]))
    if (
        np.isnan(data).any() and find_spec("sklearn.frozen") is None
    ):  # before scikit-learn 1.6 these trees read no missing value
        least = 2 * np.fmin.reduce(data, initial=0) - np.fmax.reduce(data, initial=0) - 1
        data, asked = (np.where(np.isnan(a), least, a) for a in (data, asked))
    tree = ExtraTreeRegressor(min_samples_leaf=MIN_LEAF, random_state=stream)
    for _ in range(count):
        total += tree.fit(data, Y).predict(asked).reshape(total.shape)
    return total


def leaves(predictors: Predictors, left: FloatArray, columns: IntArray) -> bool:
    """Say whether what a linear fit on some columns leaves, (n, k), goes with the bins of one, or a product of two.

    Under independence, n times the share of its squares that lies between the bins of a column is χ² of as many
    degrees of freedom, and n times the share along a product of `even` forms χ² of one; of several columns of `left`
    the tail is no longer. Every column and every product is tested at its part of `LEVEL`.
    """
    n, total = len(left), np.square(left).sum()
    first = np.flatnonzero(np.diff(predictors.binned, prepend=-1))
    counts = predictors.bins.sum(axis=0)
    between = np.square(predictors.bins.T @ left).sum(axis=1) / np.maximum(counts, 1)
    used = np.add.reduceat(counts > 0, first, dtype=float)[columns]
    if (n * np.add.reduceat(between, first)[columns] > total * chdtri(used, LEVEL / 2 / len(columns))).any():
        return True
    even = predictors.even[:, np.isin(predictors.owner, columns)]
    along = sum(np.square(even.T @ (values[:, None] * even)) for values in left.T)
    size = np.square(even).T @ np.square(even)
    return bool((n * along > total * size * chdtri(1, LEVEL / len(even.T) ** 2)).any())


def forecasts(
    predictors: Predictors, Y: FloatArray, folds: IntArray, chosen: Sequence[IntArray], rng: np.random.Generator
) -> FloatArray:
    """Predict every row of Y, shape (n, k) without NaN, by models that saw no row of its fold.

    `chosen` are the predictors of each fold. The forecast is the training mean and, with weights from 0 to 1 that
    fit the other folds best (stacking, Breiman 1996), what a linear fit and trees add to it. Of `SMALL` rows or
    more, no tree grows where the linear fit has `PER_COLUMN` rows for each of its columns and `leaves` nothing, and a
    fold gets no more than the first trees where those of the other folds add less than `LEAST_GAIN` of the variance
    there. NaN where no row is left to learn from.
    """
    centre, parts, width = np.full(Y.shape, np.nan), np.zeros((2, *Y.shape)), 0
    used = [(folds == k, columns) for k, columns in enumerate(chosen)]
    used = [(out, columns) for out, columns in used if out.any() and not out.all()]
    for out, columns in used:
        Z = predictors.scaled[:, np.isin(predictors.owner, columns)]
        width = max(width, Z.shape[1])
        centre[out] = mean = Y[~out].mean(axis=0)
        parts[0][out] = ridge(Z[~out], Y[~out] - mean, Z[out])
    rest = Y - centre
    enough = bool(used) and len(Y) >= max(SMALL, PER_COLUMN * width)
    if enough and not leaves(predictors, rest - parts[0], np.unique(np.concatenate(chosen))):
        return centre + _weighed(parts[:1], rest, folds)
    streams = [np.random.RandomState(int(rng.integers(2**31))) for _ in used]

    def grow(f: int, count: int) -> FloatArray:
        out, columns = used[f]
        X = predictors.ranks[:, columns]
        return trees(X[~out], Y[~out] - Y[~out].mean(axis=0), X[out], streams[f], count)

    for f, (out, _) in enumerate(used):
        parts[1][out] = grow(f, FEW) / FEW
    gain = _gains(parts, rest, folds)
    for f, (out, _) in enumerate(used):
        if len(Y) < SMALL or gain[~out].sum() >= LEAST_GAIN * np.nansum(np.square(rest[~out])):
            parts[1][out] = (FEW * parts[1][out] + grow(f, MORE)) / (FEW + MORE)
    return centre + _weighed(parts, rest, folds)


def _gains(parts: FloatArray, Y: FloatArray, folds: IntArray) -> FloatArray:
    """Return by how much the squared error of each row falls by the second part beside the first, shape (n,)."""
    alone, both = (np.square(Y - _weighed(some, Y, folds)) for some in (parts[:1], parts))
    return np.asarray(np.nansum(alone - both, axis=1))


def _weighed(parts: FloatArray, Y: FloatArray, folds: IntArray) -> FloatArray:
    """Return the sum of the parts, each fold's weights those that fit Y best in the other folds, 1 at most."""
    answer = np.zeros(Y.shape)
    for k in np.unique(folds):
        out = folds == k
        if not out.all():
            weights = nnls(parts[:, ~out].reshape(len(parts), -1).T, np.nan_to_num(Y[~out]).ravel())[0]
            answer[out] = np.tensordot(np.minimum(weights, 1), parts[:, out], axes=1)
    return answer


FLAGGED = 0.5
JOINT_ROWS = 200


def partners(columns: Sequence[NumericColumn]) -> Diagnostic:
    """Return each feature's most dependent partner."""
    strength = associations(columns)
    best = strength.argmax(axis=1).tolist()
    pairs = zip(columns, (columns[k] for k in best), strength.max(axis=1), strict=True)
    return diagnostic(
        ids.REDUNDANCY_PARTNER,
        "The feature with which each feature is most associated",
        [(kind_of(a, b), a.name, size, *[np.nan] * 4, "none", b.name) for a, b, size in pairs],
        ("item",),
        notes=(
            "The item is the partner, the measure names the association.",
            "Of two ordered features it is the size of Spearman's rank correlation.",
            "Cramér's V (two unordered) and the correlation ratio (one of each) are bias corrected.",
        ),
    )


def joint(columns: Sequence[NumericColumn], strongest: Diagnostic, engine: Engine) -> list[Diagnostic]:
    """Return strong pairs before and after a permutation of the feature: what extrapolation looks like."""
    by_name = {c.name: c for c in columns}
    frames = []
    flagged = strongest.estimates[strongest.estimates["estimate"] >= FLAGGED]
    for feature, item in zip(flagged["feature"], flagged["item"], strict=True):
        u, v = by_name[feature].numbers, by_name[item].numbers
        rng = engine.rng("joint", feature)
        rows = rng.permutation(np.flatnonzero(np.isfinite(u) & np.isfinite(v)))[:JOINT_ROWS]
        for when, x in ((BEFORE, u[rows]), (AFTER, rng.permutation(u[rows]))):
            names = {"measure": when, "feature": feature, "item": item}
            frames.append(pd.DataFrame(names | {"x": x, "value": v[rows]}))
    if not frames:
        return []
    notes = (
        f"Pairs with an association of {FLAGGED} or more, at most {JOINT_ROWS} observations.",
        "x is the feature, value its partner (item), levels as positions.",
        "Points after the permutation that lie where no observation lay are extrapolations.",
    )
    title, frame = "Strongest pairs before and after permuting the feature", pd.concat(frames, ignore_index=True)
    return [points(ids.REDUNDANCY_JOINT, title, frame, notes=notes)]


class FeaturePrediction(NamedTuple):
    """One feature to predict, the column at position `at`: its truth (n, k), NaN outside of `rows`."""

    measure: str
    feature: str
    at: int
    rows: IntArray
    truth: FloatArray


@dataclass(frozen=True)
class Redundancy(CardedExplainer):
    """Out-of-sample R² of each feature from all others (Wood et al., figure 9).

    Each feature is predicted from the others, and again with the target beside them, in folds of rows: by a ridge
    regression (of numbers, and indicators of levels) and by extremely randomised trees (of ranks, and codes of
    levels), weighed as fits the other folds best. Of 200 rows or more, and 15 for each column of the regression,
    trees grow where it leaves something: a feature's eighths, or a product of two features, tell what is left (tests
    at level 0.01 together); more than two where two add something. Of more than 21 features each is predicted from
    the 20 that tell it most in the training rows. Equal rows, and rows of one cluster, stay together. Missing values
    stand at the mean in the regression; trees see them as such.

    ``R² = 1 - Σ|y - ŷ|² / Σ|y - ȳ|²``. For a categorical feature y are the indicators of its
    levels, and the same formula is the Brier skill against the level frequencies. High without the
    target: the feature is redundant. Higher with it: feature and target share something the other
    features lack. The interval covers new rows for the fitted models; of a feature that the others tell
    nothing of, R² and its error are of order 1/n, and it covers 0.72 to 0.75 in place of 0.95.

    Parameters
    ----------
    n_splits : int
        Folds.
    max_rows : int, optional
        Rows used at most. None: as many as keep the work that of 1000 rows of 20 features, 200 at least.

    References
    ----------
    Breiman (1996), Stacked regressions, doi:10.1007/BF00117832. Geurts, Ernst & Wehenkel (2006), Extremely randomized
    trees, doi:10.1007/s10994-006-6226-1.
    """

    n_splits: int = opt.at_least(2, 5)
    max_rows: int | None = opt.option(None, "an integer >= 10 or None", lambda value: value is None or value >= 10)

    name: ClassVar[str] = "redundancy"
    section: ClassVar[str] = "relations.dependence"
    priority: ClassVar[int] = 10

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``redundancy``, ``redundancy.partner`` and, for strong partners, ``redundancy.joint``."""
        if len(subject.features) < 2:
            few = len(subject.features)
            raise InputError(f"redundancy.features must be two or more; got {few}. Nothing can repeat.")
        most = self.max_rows or max(200, 20_000 // len(subject.features))
        rows = draw(engine.rng("rows"), subject.n, most)
        whole = (coded(subject, feature) for feature in subject.features)
        columns = [NumericColumn(c.name, c.numbers[rows], c.ordered) for c in whole]
        strongest = partners(columns)
        return [self._skills(subject, engine, columns, rows), strongest, *joint(columns, strongest, engine)]

    def _skills(self, subject: Subject, engine: Engine, columns: Sequence[NumericColumn], rows: IntArray) -> Diagnostic:
        clusters = None if subject.clusters is None else subject.clusters[rows]
        blocks = association.row_groups(take_rows(subject.X, rows), clusters)
        tasks, table = _tasks(columns)
        known = engine.y is not None and not engine.baseline.censored  # classes are levels of a column
        y = np.asarray(engine.y, dtype=float)[rows] if known else np.zeros(0)
        target = [NumericColumn("", y, ordered="proba" not in engine.baseline.supports)] if known else []
        if not known:
            table.append(Omission("", "", "outcomes were not given, so nothing is predicted with them"))
        answered = self._forecasts(engine, [*columns, *target], len(columns), tasks, blocks)
        for task, answers in zip(tasks, answered, strict=True):
            for item, forecast in zip((WITHOUT_TARGET, WITH_TARGET), answers, strict=False):
                sampling, reason = Sampling.of(subject, rows[task.rows]), ""
                if not np.ptp(task.truth[task.rows][sampling.weights > 0], axis=0).any():
                    reason = "it is constant in the observations of positive weight"
                elif np.isnan(forecast).any():
                    reason = "too few distinct observations to predict some from others"
                if reason:
                    table.append(Omission("", task.feature, reason))
                    continue
                of = (task.truth[task.rows], forecast, sampling, engine.confidence, task.measure, task.feature)
                table.append(association.skill(*of) | {"item": item, "n": len(task.rows)})
        note = f"Models and associations use {len(rows)} of {subject.n} observations, drawn at random."
        sampled = (note,) if len(rows) < subject.n else ()
        notes = (*sampled, *self._notes(columns), *Sampling.of(subject, rows).notes())
        title = "Predictability of each feature from the others"
        return diagnostic(ids.REDUNDANCY, title, table, ("item", "n"), x="n", options=asdict(self), notes=notes)

    def _forecasts(
        self, engine: Engine, columns: Sequence[NumericColumn], d: int, tasks: list[FeaturePrediction], blocks: IntArray
    ) -> Iterator[list[FloatArray]]:
        """Yield each task's forecasts by the first d columns and, where there is one more, by all of them.

        Rows of one block never predict each other.
        """
        predictors, with_target = Predictors.of(columns), len(columns) > d
        folds = engine.rng("folds").permutation(int(blocks.max()) + 1)[blocks] % self.n_splits
        own, truths = [task.at for task in tasks], [task.truth for task in tasks]
        leading = [leaders(predictors.first(d), truths, own, folds != k) for k in range(self.n_splits)]
        for t, task in enumerate(tasks):
            engine.check(t, len(tasks))  # about the same work for each
            rng, known = engine.rng("forest", task.feature), predictors.at_rows(task.rows)
            Y, fold = task.truth[task.rows], folds[task.rows]
            chosen = [[np.array([*best[t], *more], dtype=np.int64) for best in leading] for more in ([], [d])]
            yield [forecasts(known, Y, fold, using, rng) for using in chosen[: 1 + with_target]]

    def _notes(self, columns: Sequence[NumericColumn]) -> tuple[str, ...]:
        by = f"A linear fit and trees, weighed by the other folds, scored in {self.n_splits} folds"
        many = [c.name for c in columns if not c.ordered and len(np.unique(c.numbers)) > MAX_LEVELS]
        merged = f"Levels beyond the {MAX_LEVELS - 1} most frequent are one level in: {', '.join(many)}."
        leading = f"Each feature is predicted from the {LEADING} others that predict it best in the training sample."
        return (
            f"{by}; intervals cover new test samples for the fitted models.",
            *((leading,) if len(columns) > LEADING + 1 else ()),
            "Copies of an observation, and observations of a cluster, never predict each other.",
            "R² of a numeric feature, R² of the level indicators of a categorical one.",
            *((merged,) if many else ()),
        )


def _tasks(columns: Sequence[NumericColumn]) -> tuple[list[FeaturePrediction], list[Omission | dict[str, Any]]]:
    """Return what to predict, and the features that cannot be predicted."""
    tasks: list[FeaturePrediction] = []
    omissions: list[Omission | dict[str, Any]] = []
    for j, column in enumerate(columns):
        rows = np.flatnonzero(~np.isnan(column.numbers))
        if reason := _unpredictable(column.numbers[rows]):
            omissions.append(Omission("", column.name, reason))
        else:
            measure = "r_squared" if column.ordered else "brier_skill"
            tasks.append(FeaturePrediction(measure, column.name, j, rows, truth(column)))
    return tasks, omissions


def _unpredictable(values: FloatArray) -> str:
    if len(values) < 10:
        return f"it has only {len(values)} known values; 10 are needed"
    if np.isinf(values).any():
        return f"it has {int(np.isinf(values).sum())} infinite values, so it has no variance"
    return "it is constant" if np.ptp(values) == 0 else ""
