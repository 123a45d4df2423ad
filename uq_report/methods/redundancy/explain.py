"""Redundancy: how well each feature is predicted by the others, without and with the target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, Omission, Result
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support import options as opt
from ...core.support.arrays import FloatArray, IntArray, take_rows
from ...core.support.errors import InputError
from ...evidence import ids
from ...evidence.information import AFTER, BEFORE, WITH_TARGET, WITHOUT_TARGET
from ..shared import forest
from ..shared.association import NumericColumn, associations, coded, kind_of
from ..shared.choice import draw
from ..shared.estimates import diagnostic
from . import stacked
from .stacked import LEADING, MAX_LEVELS, Predictors, truth

FLAGGED = 0.5
JOINT_ROWS = 200


def partners(columns: Sequence[NumericColumn]) -> Diagnostic:
    """Return each feature's most dependent partner."""
    strength = associations(columns)
    best = strength.argmax(axis=1).tolist()
    bare = dict.fromkeys(("std_error", "lower", "upper", "confidence"), np.nan)
    measures = [kind_of(columns[j], columns[k]) for j, k in enumerate(best)]
    keys = {"measure": measures, "feature": [column.name for column in columns], "estimate": strength.max(axis=1)}
    table = pd.DataFrame({**keys, **bare, "covers": "none", "item": [columns[k].name for k in best]})
    frame = table.assign(x=0.0, value=table["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(
        id=ids.REDUNDANCY_PARTNER,
        explainer=ids.REDUNDANCY,
        title="The feature with which each feature is most associated",
        frame=frame,
        estimates=table,
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
    return [
        Diagnostic(
            id=ids.REDUNDANCY_JOINT,
            explainer=ids.REDUNDANCY,
            title="Strongest pairs before and after permuting the feature",
            frame=pd.concat(frames, ignore_index=True),
            estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
            notes=(
                f"Pairs with an association of {FLAGGED} or more, at most {JOINT_ROWS} observations.",
                "x is the feature, value its partner (item), levels as positions.",
                "Points after the permutation that lie where no observation lay are extrapolations.",
            ),
        )
    ]


class FeaturePrediction(NamedTuple):
    """One feature to predict, the column at position `at`: its truth (n, k), NaN outside of `rows`."""

    measure: str
    feature: str
    at: int
    rows: IntArray
    truth: FloatArray


class PredictionWork(NamedTuple):
    """What is predicted from what: `tasks` from `columns`, and again with `target` where there is one.

    Rows of one of the `blocks` never predict each other.
    """

    engine: Engine
    columns: Sequence[NumericColumn]
    target: NumericColumn | None
    tasks: Sequence[FeaturePrediction]
    blocks: IntArray

    @property
    def every(self) -> Predictors:
        """The columns, and the target after them."""
        return Predictors.of(self.columns if self.target is None else [*self.columns, self.target])


@dataclass(frozen=True)
class Redundancy(BuiltInExplainer):
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
    n_jobs : int, optional
        Threads; None takes the engine's. Results do not depend on it.

    References
    ----------
    Breiman (1996), Stacked regressions, doi:10.1007/BF00117832. Geurts, Ernst & Wehenkel (2006), Extremely randomized
    trees, doi:10.1007/s10994-006-6226-1.
    """

    n_splits: int = opt.at_least(2, 5)
    max_rows: int | None = opt.option(None, "an integer >= 10 or None", lambda value: value is None or value >= 10)
    n_jobs: int | None = None

    name: ClassVar[str] = "redundancy"
    section: ClassVar[str] = "relations.dependence"
    priority: ClassVar[int] = 10
    card: ClassVar[MethodCard] = MethodCard(
        title="Redundancy",
        definition=(
            "Out-of-fold R² of predicting each feature from all others by a linear fit and trees together, without and "
            "with the target."
        ),
        assumes="A linear fit or trees can represent the dependence.",
        fails=(
            "A low R² does not prove independence: a dependence that only three features together show may be missed."
        ),
        interval=(
            "Over new observations, for the fitted models. For an independent feature R² and its error are of order "
            "1/n, and the interval covers 0.72 to 0.75 instead of 0.95."
        ),
        references="wood:figure 9; breiman",
    )

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``redundancy``, ``redundancy.partner`` and, for strong partners, ``redundancy.joint``."""
        if len(subject.features) < 2:
            raise InputError(
                f"redundancy.features must be two or more; got {len(subject.features)}. Nothing can repeat."
            )
        most = self.max_rows or max(200, 20_000 // len(subject.features))
        rows = draw(engine.rng("rows"), subject.n, most)
        whole = (coded(subject, feature) for feature in subject.features)
        columns = [NumericColumn(c.name, c.numbers[rows], c.ordered) for c in whole]
        strongest = partners(columns)
        return [self._skills(subject, engine, columns, rows), strongest, *joint(columns, strongest, engine)]

    def _skills(self, subject: Subject, engine: Engine, columns: Sequence[NumericColumn], rows: IntArray) -> Diagnostic:
        clusters = None if subject.clusters is None else subject.clusters[rows]
        blocks = forest.row_groups(take_rows(subject.X, rows), clusters)
        tasks, omissions = _tasks(columns)
        target = _target(engine, rows)
        if target is None:
            omissions.append(Omission("", "", "outcomes were not given, so nothing is predicted with them"))
        table = []
        work = PredictionWork(engine, columns, target, tasks, blocks)
        for task, answers in zip(tasks, self._forecasts(work), strict=True):
            for item, forecast in zip((WITHOUT_TARGET, WITH_TARGET), answers, strict=False):
                sampling, reason = Sampling.of(subject, rows[task.rows]), ""
                if not np.ptp(task.truth[task.rows][sampling.weights > 0], axis=0).any():
                    reason = "it is constant in the observations of positive weight"
                elif np.isnan(forecast).any():
                    reason = "too few distinct observations to predict some from others"
                if reason:
                    omissions.append(Omission("", task.feature, reason))
                    continue
                of = (task.truth[task.rows], forecast, sampling, engine.confidence, task.measure, task.feature)
                table.append(forest.skill(*of) | {"item": item, "n": len(task.rows)})
        note = f"Models and associations use {len(rows)} of {subject.n} observations, drawn at random."
        sampled = (note,) if len(rows) < subject.n else ()
        return diagnostic(
            ids.REDUNDANCY,
            "Predictability of each feature from the others",
            table,
            ("item", "n"),
            x="n",
            options=asdict(self),
            notes=(*sampled, *self._notes(columns), *Sampling.of(subject, rows).notes()),
            omissions=tuple(omissions),
        )

    def _forecasts(self, work: PredictionWork) -> Iterable[Sequence[FloatArray]]:
        """Return each task's forecasts, without the target and with it, from a random stream of its own."""
        predictors, d, tasks = work.every, len(work.columns), work.tasks
        folds = work.engine.rng("folds").permutation(int(work.blocks.max()) + 1)[work.blocks] % self.n_splits
        own, truths = [task.at for task in tasks], [task.truth for task in tasks]
        leading = [stacked.leaders(predictors.first(d), truths, own, folds != k) for k in range(self.n_splits)]

        def forecasts(task: FeaturePrediction, t: int, rng: np.random.Generator) -> list[FloatArray]:
            known, extra = predictors.at_rows(task.rows), ([],) if work.target is None else ([], [d])
            chosen = [[np.array([*fold[t], *more], dtype=np.int64) for fold in leading] for more in extra]
            return [stacked.forecasts(known, task.truth[task.rows], folds[task.rows], using, rng) for using in chosen]

        def stream(t: int) -> np.random.Generator:
            work.engine.check(t, len(tasks))  # about the same work for each
            return work.engine.rng("forest", tasks[t].feature)

        jobs = self.n_jobs if self.n_jobs is not None else work.engine.n_jobs
        calls = (delayed(forecasts)(task, t, stream(t)) for t, task in enumerate(tasks))
        answers: Iterable[Sequence[FloatArray]] = Parallel(n_jobs=jobs, backend="threading")(calls)
        return answers

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


def _target(engine: Engine, rows: IntArray) -> NumericColumn | None:
    """Return y as a column: classes as levels; None without y or where it may be censored."""
    if engine.y is None or engine.baseline.censored:
        return None
    return NumericColumn("", np.asarray(engine.y, dtype=float)[rows], ordered="proba" not in engine.baseline.supports)


def _tasks(columns: Sequence[NumericColumn]) -> tuple[list[FeaturePrediction], list[Omission]]:
    """Return what to predict, and the features that cannot be predicted."""
    tasks, omissions = [], []
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
