"""Redundancy: how well each feature is predicted by the others, without and with the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

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
from ..shared import association
from ..shared.association import NumericColumn, associations, coded, kind_of
from ..shared.cards import card_of
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
    card: ClassVar[MethodCard] = card_of(name)

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
        blocks = association.row_groups(take_rows(subject.X, rows), clusters)
        tasks, omissions = _tasks(columns)
        known = engine.y is not None and not engine.baseline.censored  # classes are levels of a column
        y = np.asarray(engine.y, dtype=float)[rows] if known else np.zeros(0)
        target = [NumericColumn("", y, ordered="proba" not in engine.baseline.supports)] if known else []
        if not known:
            omissions.append(Omission("", "", "outcomes were not given, so nothing is predicted with them"))
        table = []
        forecasts = self._forecasts(engine, [*columns, *target], len(columns), tasks, blocks)
        for task, answers in zip(tasks, forecasts, strict=True):
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
                table.append(association.skill(*of) | {"item": item, "n": len(task.rows)})
        note = f"Models and associations use {len(rows)} of {subject.n} observations, drawn at random."
        sampled = (note,) if len(rows) < subject.n else ()
        notes = (*sampled, *self._notes(columns), *Sampling.of(subject, rows).notes())
        facts: dict[str, Any] = {"options": asdict(self), "notes": notes, "omissions": tuple(omissions)}
        title = "Predictability of each feature from the others"
        return diagnostic(ids.REDUNDANCY, title, table, ("item", "n"), x="n", **facts)

    def _forecasts(
        self, engine: Engine, columns: Sequence[NumericColumn], d: int, tasks: list[FeaturePrediction], blocks: IntArray
    ) -> Iterator[list[FloatArray]]:
        """Yield each task's forecasts by the first d columns and, where there is one more, by all of them.

        Rows of one block never predict each other.
        """
        predictors, with_target = Predictors.of(columns), len(columns) > d
        folds = engine.rng("folds").permutation(int(blocks.max()) + 1)[blocks] % self.n_splits
        own, truths = [task.at for task in tasks], [task.truth for task in tasks]
        leading = [stacked.leaders(predictors.first(d), truths, own, folds != k) for k in range(self.n_splits)]
        for t, task in enumerate(tasks):
            engine.check(t, len(tasks))  # about the same work for each
            rng, known = engine.rng("forest", task.feature), predictors.at_rows(task.rows)
            Y, fold = task.truth[task.rows], folds[task.rows]
            chosen = [[np.array([*best[t], *more], dtype=np.int64) for best in leading] for more in ([], [d])]
            yield [stacked.forecasts(known, Y, fold, using, rng) for using in chosen[: 1 + with_target]]

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
