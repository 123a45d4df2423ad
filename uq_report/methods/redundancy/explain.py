"""Redundancy: how well each feature is predicted by the others, without and with the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from ...core.arrays import FloatArray, IntArray, take_rows
from ...core.engine import Engine
from ...core.errors import InputError, check_options
from ...core.explainer import BuiltIn, Card, Prior
from ...core.results import ESTIMATE_COLUMNS, Diagnostic, Omission, Result
from ...core.sampling import Sampling
from ...core.subject import Subject
from ...evidence import ids
from ...evidence.information import AFTER, BEFORE, WITH_TARGET, WITHOUT_TARGET
from ..shared.association import Coded, association, coded
from ..shared.choice import draw
from ..shared.forest import forecasts, row_groups

MAX_LEVELS = 20
FLAGGED = 0.5
JOINT_ROWS = 200


class Task(NamedTuple):
    """One feature to predict: its truth Y (rows, k) at positions `rows`, from `X` (rows, predictors)."""

    measure: str
    feature: str
    item: str
    rows: IntArray
    X: FloatArray
    Y: FloatArray


@dataclass(frozen=True)
class Redundancy(BuiltIn):
    """Out-of-sample R² of each feature from all others (Wood et al., figure 9).

    A random forest (Breiman 2001; 100 trees, all features at each split, leaves of 5 rows) predicts
    each feature from the others, and again with the target beside them. Rows are predicted by trees
    that saw neither them nor a copy of them: equal rows, and rows of one cluster, stay together.
    Trees see numbers as ranks and levels as ordinal codes; missing values are passed as such.

    ``R² = 1 - Σ|y - ŷ|² / Σ|y - ȳ|²``. For a categorical feature y are the indicators of its
    levels, and the same formula is the Brier skill against the level frequencies. High without the
    target: the feature is redundant. Higher with it: feature and target share something the other
    features lack. The interval covers new rows for the fitted forest.

    Parameters
    ----------
    n_splits : int, optional
        None predicts out of bag, a fifth of the work. A number grows 100 trees for each fold.
    max_rows : int, optional
        Rows used at most. None: as many as keep the work that of 1000 rows of 20 features, 200 at least.
    n_jobs : int, optional
        Threads; None takes the engine's. Results do not depend on it.
    """

    n_splits: int | None = None
    max_rows: int | None = None
    n_jobs: int | None = None

    name: ClassVar[str] = "redundancy"
    section: ClassVar[str] = "relations.dependence"
    priority: ClassVar[int] = 10
    card: ClassVar[Card] = Card(
        title="Redundancy",
        definition="R² of predicting each feature from all others by a random forest, scored on rows its trees have "
        "not seen, without and with the target.",
        assumes="A forest finds the dependence if there is one.",
        fails="A low R² does not prove independence: the forest may have missed it.",
        interval="Over new rows, for the fitted forest.",
        references="wood:figure 9; breiman",
    )

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        rules = (
            ("n_splits", self.n_splits is None or self.n_splits >= 2, "an integer >= 2 or None"),
            ("max_rows", self.max_rows is None or self.max_rows >= 10, "an integer >= 10 or None"),
        )
        check_options("redundancy", self, rules)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``redundancy``, ``redundancy.partner`` and, for strong partners, ``redundancy.joint``."""
        if len(subject.features) < 2:
            raise InputError(
                f"redundancy.features must be two or more; got {len(subject.features)}. Nothing can repeat."
            )
        most = self.max_rows or max(200, 400_000 // len(subject.features) ** 2)
        rows = draw(engine.rng("rows"), subject.n, most)
        columns = [Coded(c.name, c.numbers[rows], c.ordered) for c in (coded(subject, f) for f in subject.features)]
        strongest = partners(columns)
        return [self._skills(subject, engine, columns, rows), strongest, *joint(columns, strongest, engine)]

    def _skills(self, subject: Subject, engine: Engine, columns: Sequence[Coded], rows: IntArray) -> Diagnostic:
        clusters = None if subject.clusters is None else subject.clusters[rows]
        blocks = row_groups(take_rows(subject.X, rows), clusters)
        tasks, omissions = _tasks(columns, _target(engine, rows))
        jobs = self.n_jobs if self.n_jobs is not None else engine.n_jobs
        answers = Parallel(n_jobs=jobs, backend="threading")(
            delayed(forecasts)(t.X, t.Y, blocks[t.rows], engine.rng("forest", t.feature), self.n_splits) for t in tasks
        )
        table = []
        for task, forecast in zip(tasks, answers, strict=True):
            if np.isnan(forecast).any():
                omissions.append(Omission("", task.feature, "too few different rows to leave some out of every tree"))
            else:
                table.append(_estimate(task, forecast, Sampling.of(subject, rows[task.rows]), engine.confidence))
        note = f"Forests and associations use {len(rows)} of {subject.n} rows, drawn at random."
        sampled = (note,) if len(rows) < subject.n else ()
        estimates = pd.DataFrame(table, columns=[*ESTIMATE_COLUMNS, "item", "n"])
        frame = estimates.rename(columns={"n": "x", "estimate": "value"})[list(Diagnostic.columns)]
        return Diagnostic(
            id=ids.REDUNDANCY,
            explainer=self.name,
            title="How well each feature is predicted by the others",
            frame=frame,
            estimates=estimates,
            options=asdict(self),
            notes=(*sampled, *_notes(self.n_splits, columns), *Sampling.of(subject, rows).notes()),
            omissions=tuple(omissions),
        )


def _estimate(task: Task, forecast: FloatArray, sampling: Sampling, confidence: float) -> tuple[object, ...]:
    """Return one line of the estimates."""
    value, influence = skill(task.Y, forecast, sampling.weights)
    error = float(sampling.mean(influence)[1])
    interval = (*sampling.interval(value, error, confidence), confidence, "new test rows")
    return task.measure, task.feature, value, error, *interval, task.item, len(task.rows)


def skill(truth: FloatArray, forecast: FloatArray, weights: FloatArray) -> tuple[float, FloatArray]:
    """Return ``R² = 1 - A/B`` and each row's influence on it, shape (n,).

    A and B are the weighted means of a_i = |y_i - ŷ_i|² and b_i = |y_i - ȳ|² (rows of `truth` and
    `forecast` may be vectors); the influence is ``-(a_i - (A/B) b_i)/B``, the delta method for a ratio.

    Examples
    --------
    >>> y = np.array([[1.0], [2.0], [3.0]])
    >>> skill(y, y, np.full(3, 1 / 3))[0]
    1.0
    """
    a = np.square(truth - forecast).sum(axis=1)
    b = np.square(truth - weights @ truth).sum(axis=1)
    ratio = float(weights @ a / (weights @ b))
    return 1 - ratio, -(a - ratio * b) / (weights @ b)


def _target(engine: Engine, rows: IntArray) -> FloatArray | None:
    """Return y as numbers for trees: class positions, or ranks; None without y or where it may be censored."""
    if engine.y is None or engine.baseline.censored:
        return None
    values = np.asarray(engine.y, dtype=float)[rows]
    return values if "proba" in engine.baseline.supports else _dense_ranks(values)


def _tasks(columns: Sequence[Coded], target: FloatArray | None) -> tuple[list[Task], list[Omission]]:
    """Return what to predict from what, and the features that cannot be predicted."""
    inputs = np.column_stack([_dense_ranks(c.numbers) if c.ordered else c.numbers for c in columns])
    tasks, omissions = [], []
    for j, column in enumerate(columns):
        rows = np.flatnonzero(~np.isnan(column.numbers))
        if reason := _unpredictable(column.numbers[rows]):
            omissions.append(Omission("", column.name, reason))
            continue
        measure, Y = "r_squared" if column.ordered else "brier_skill", _truth(column, rows)
        others = np.delete(inputs, j, axis=1)[rows]
        tasks.append(Task(measure, column.name, WITHOUT_TARGET, rows, others, Y))
        if target is not None:
            with_y = np.column_stack([others, target[rows]])
            tasks.append(Task(measure, column.name, WITH_TARGET, rows, with_y, Y))
    if target is None:
        omissions.append(Omission("", "", "outcomes were not given, so nothing is predicted with them"))
    return tasks, omissions


def _unpredictable(values: FloatArray) -> str:
    if len(values) < 10:
        return f"it has only {len(values)} known values; a forest needs 10"
    if np.isinf(values).any():
        return f"it has {int(np.isinf(values).sum())} infinite values, so it has no variance"
    return "it is constant" if np.ptp(values) == 0 else ""


def _truth(column: Coded, rows: IntArray) -> FloatArray:
    """Return a numeric column scaled to at most 1 in size, or the indicators of its levels."""
    values = column.numbers[rows]
    if column.ordered:
        centred = values - np.median(values)
        return np.asarray(centred / np.abs(centred).max())[:, None]
    levels, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(levels) > MAX_LEVELS:
        rare = np.argsort(-counts, kind="stable")[MAX_LEVELS - 1 :]
        codes = np.where(np.isin(codes, rare), rare[0], codes)
    return np.asarray(codes[:, None] == np.unique(codes)[None, :], dtype=float)


def _dense_ranks(values: FloatArray) -> FloatArray:
    """Return ranks, equal for equal values: trees need no more, and infinite or huge values fit."""
    return np.asarray(pd.Series(values).rank(method="dense"), dtype=float)


def _notes(n_splits: int | None, columns: Sequence[Coded]) -> tuple[str, ...]:
    split = "out of bag" if n_splits is None else f"in {n_splits} folds"
    many = [c.name for c in columns if not c.ordered and len(np.unique(c.numbers)) > MAX_LEVELS]
    merged = f"Levels beyond the {MAX_LEVELS - 1} most frequent are one level in: {', '.join(many)}."
    return (
        f"Random forest of 100 trees, scored {split}; intervals cover new rows for the fitted forest.",
        "Copies of a row, and rows of a cluster, never predict each other.",
        "Of a numeric feature it is R², of a categorical one the R² of its level indicators.",
        *((merged,) if many else ()),
    )


def partners(columns: Sequence[Coded]) -> Diagnostic:
    """Return each feature's most dependent partner."""
    strength = np.full((len(columns), len(columns)), -1.0)
    kinds = {}
    for j, k in combinations(range(len(columns)), 2):
        kinds[j, k], strength[j, k] = kinds[k, j], strength[k, j] = association(columns[k], columns[j])
    best = strength.argmax(axis=1).tolist()
    bare = dict.fromkeys(("std_error", "lower", "upper", "confidence"), np.nan)
    keys = {
        "measure": [kinds[j, k] for j, k in enumerate(best)],
        "feature": [column.name for column in columns],
        "estimate": strength.max(axis=1),
    }
    table = pd.DataFrame({**keys, **bare, "covers": "none", "item": [columns[k].name for k in best]})
    frame = table.assign(x=0.0, value=table["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(
        id=ids.REDUNDANCY_PARTNER,
        explainer=ids.REDUNDANCY,
        title="The feature that each feature depends on most",
        frame=frame,
        estimates=table,
        notes=(
            "The item is the partner, the measure names the association.",
            "Of two ordered features it is the size of Spearman's rank correlation.",
            "Cramér's V (two unordered) and the correlation ratio (one of each) are bias corrected.",
        ),
    )


def joint(columns: Sequence[Coded], strongest: Diagnostic, engine: Engine) -> list[Diagnostic]:
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
    return [
        Diagnostic(
            id=ids.REDUNDANCY_JOINT,
            explainer=ids.REDUNDANCY,
            title="Strongest pairs before and after permuting the feature",
            frame=pd.concat(frames, ignore_index=True),
            estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
            notes=(
                f"Pairs with an association of {FLAGGED} or more, at most {JOINT_ROWS} rows.",
                "x is the feature, value its partner (item), levels as positions.",
                "After the permutation, points where none were before are extrapolation.",
            ),
        )
    ]
