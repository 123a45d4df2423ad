"""Importance over random splits with the model refitted on each, for estimators that can be cloned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit

from ...core.arrays import FloatArray, take_rows
from ...core.engine import Engine
from ...core.errors import InputError
from ...core.measures import Measure
from ...core.subject import Subject
from ...core.variants import Variant
from .estimate import Estimate
from .terms import regressors

SHUFFLES = 5
TEST_SHARE = 0.2


def refitted_sets(
    subject: Subject, engine: Engine, found: Estimate, names: Sequence[str], sets: int
) -> tuple[dict[str, FloatArray], FloatArray, tuple[str, ...]]:
    """Return importance (sets, d) per measure and terms (sets, d, 4) of the same held-out rows."""
    if not hasattr(subject.model, "get_params") or not hasattr(subject.model, "fit"):
        raise InputError(f"cid.refit must get an estimator that can be cloned; got {type(subject.model).__name__}.")
    if subject.y is None or subject.weights is not None or subject.clusters is not None:
        raise InputError("cid.refit must get y, and neither weights nor clusters: its splits know neither.")
    measures = [m for m in engine.select(names)[0] if m.statistic is None]
    if not measures:
        raise InputError(f"cid.refit must get a measure that is a mean over rows; got {list(names)}.")
    seed = int(engine.rng("splits").integers(2**31))
    importances = np.empty((len(measures), sets, len(found.features)))
    terms = np.empty((sets, len(found.features), 4))
    for s, (fit, held) in enumerate(
        ShuffleSplit(sets, test_size=TEST_SHARE, random_state=seed).split(np.asarray(subject.y))
    ):
        model: Any = clone(subject.model).fit(take_rows(subject.X, fit), subject.y[fit])
        part = replace(subject, model=model, X=take_rows(subject.X, held), y=subject.y[held], train=None)
        importances[:, s] = _importance(engine.bound("cid", part), measures, found.features, s)
        rows = np.zeros(subject.n)
        rows[held] = 1 / len(held)
        terms[s] = regressors(found.terms, rows)
    by_name = {m.name: values for m, values in zip(measures, importances, strict=True) if np.isfinite(values).all()}
    note = f"The model is refitted on {sets} random splits of the rows, scored on the {TEST_SHARE:.0%} left out."
    return by_name, terms, (note,)


def _importance(engine: Engine, measures: Sequence[Measure], features: Sequence[str], split: int) -> FloatArray:
    """Return the permutation importance (measures, d) of a refitted model on its held-out rows."""
    subject = engine.subject
    variants = [Variant()]
    for feature in features:
        rng = engine.rng("refit", feature, split)
        variants += [Variant(subject.positions(feature), donors=rng.permutation(subject.n)) for _ in range(SHUFFLES)]
    means = np.concatenate(
        [g.values.mean(axis=2) for g in engine.evaluate(variants, measures, total=len(variants))], axis=1
    )
    shuffled = means[:, 1:].reshape(len(measures), len(features), SHUFFLES).mean(axis=2)
    importance: FloatArray = shuffled - means[:, :1]
    return importance
