"""Subjects whose permutation importance can be worked out, and shuffles that are given instead of drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model import measures
from uq_report.core.model.adapter import Match
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray, IntArray, Table
from uq_report.distributions import Categorical
from uq_report.evidence.importance import ALL_FEATURES
from uq_report.methods.pfi.explain import PermutationImportance

MEASURES = {
    m.name: m
    for m in (
        *(measures.PREDICTION, measures.SQUARED_ERROR, measures.BRIER, measures.ZERO_ONE, measures.ONE_MINUS_AUC),
        *(measures.NLL, measures.NLL_CLIPPED, measures.ENTROPY),
    )
}


@dataclass(frozen=True)
class Direct:
    """An adapter for a function from rows to a distribution."""

    rows: int | None = None

    name: ClassVar[str] = "direct"
    api_version: ClassVar[int] = 1

    def matches(self, model: Any) -> Match | None:
        return Match(3, "a test model") if callable(model) else None

    def predict(self, model: Any, X: Table) -> Distribution:
        dist: Distribution = model(np.asarray(X, dtype=float))
        return dist

    def batch_rows(self, model: Any) -> int | None:
        return self.rows


def subject(model: Callable[[FloatArray], Distribution], X: Any, y: Any = None, **more: Any) -> Subject:
    """Return a subject with features a, b, c ..."""
    frame = pd.DataFrame(np.asarray(X), columns=list("abcdefgh")[: np.shape(X)[1]])
    return make_subject(model, Direct(more.pop("rows", None)), frame, y, **more)


def explained(of: Subject, engine: Engine | None = None, **options: Any) -> dict[str, Result]:
    """Return the results by id."""
    own = engine or Engine(of, MEASURES)
    results = PermutationImportance(**options).explain(of, own.bound("pfi"), {})
    return {result.id: result for result in results}


def line(result: Result, measure: str, feature: str) -> Any:
    """Return one line of the estimates."""
    table = result.estimates
    return table[(table["measure"] == measure) & (table["feature"] == feature)].iloc[0]


def repeats(result: Result, measure: str, feature: str) -> FloatArray:
    """Return the values of one measure and feature, by repeat."""
    table = result.frame
    return table[(table["measure"] == measure) & (table["feature"] == feature)]["value"].to_numpy()


@dataclass(frozen=True)
class Given:
    """A generator that gives the shuffle it was made for."""

    order: IntArray

    def permutation(self, n: int) -> IntArray:
        assert n == len(self.order)
        return self.order


def give(monkeypatch: pytest.MonkeyPatch, shuffles: Callable[[str], Sequence[Any]]) -> None:
    """Make every engine use ``shuffles(feature)[repeat]`` for single features."""
    own = Engine.rng

    def rng(engine: Engine, feature: str, repeat: int) -> Given | np.random.Generator:
        if feature in (ALL_FEATURES, "claims"):
            return own(engine, feature, repeat)
        return Given(np.asarray(shuffles(feature)[repeat]))

    monkeypatch.setattr(Engine, "rng", rng)


def three_features(X: FloatArray) -> Categorical:
    """A model with an interaction, so that nothing is additive by accident."""
    p = 1 / (1 + np.exp(-(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 0] * X[:, 1])))
    return Categorical(np.column_stack([1 - p, p]))


def rows(n: int, seed: int = 0) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (rng.random(n) < three_features(X).mean()).astype(int)
