"""Walks down trees predict changed rows as the models themselves do, or say that they cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import sklearn
from packaging.version import Version
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

pytest.importorskip("numba", reason="walks down trees are compiled")

from uq_report import explain
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.adapter import class_names
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.model.variants import Mix, Variant, mixed_rows, variant_rows
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import AnyArray, ColumnLookup, FloatArray, IntArray, take_rows
from uq_report.core.support.limits import limited
from uq_report.core.validation.residuals import Residuals
from uq_report.distributions import Categorical, CategoricalMixture
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.inputs.adapters.ensemble import EnsembleAdapter
from uq_report.inputs.fast_paths.trees import path as paths, walks as shortcuts, walks as walking
from uq_report.inputs.fast_paths.trees.forest import Forest, Tree
from uq_report.inputs.fast_paths.trees.path import TreePath
from uq_report.inputs.fast_paths.trees.walks import BaseLeaves, Walks, mixed_sums, pick, settled, walk
from uq_report.methods.h_statistic.explain import HStatistic
from uq_report.methods.pdp.explain import PartialDependence
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.methods.shap.explain import ShapleyValues
from uq_report.testing import fast_path_model_checks, measures

N, RNG = 90, np.random.default_rng(0)
WHOLE = RNG.normal(size=(N, 5))
WHOLE[:, 3] = RNG.integers(0, 12, N)
GAPS = np.where(RNG.random((N, 5)) < 0.1, np.nan, WHOLE)
Y3 = np.digitize(WHOLE[:, 0] + WHOLE[:, 1] * WHOLE[:, 2] + RNG.normal(size=N), [-1, 1])
Y2 = (Y3 > 0).astype(int)
YS = WHOLE[:, 0] + WHOLE[:, 1] * WHOLE[:, 2] + 0.3 * np.random.default_rng(1).normal(size=N)
WEIGHTS = RNG.random(N)
COUNTS = RNG.poisson(np.exp(0.5 * WHOLE[:, 0]))
FRAME = pd.DataFrame(GAPS, columns=list("abcde")).assign(
    d=pd.Categorical([f"k{value:.0f}" for value in WHOLE[:, 3]], categories=[f"k{value}" for value in range(14)])
)


@pytest.fixture(autouse=True)
def worth(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Walk however few the rows are; return what says from how many rows, of one tree, walks are worth it."""

    def least(rows: int) -> None:
        monkeypatch.setattr(paths, "WORTH", rows)

    least(0)
    return least


@pytest.fixture
def block(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return what says of how many numbers a table of walked rows is."""
    return partial(monkeypatch.setattr, shortcuts, "BLOCK")


FORESTS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(7, random_state=0),
    "few leaves": lambda: ExtraTreesClassifier(6, max_leaf_nodes=5, random_state=1),
    "tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
}


def readable(model: Any) -> FloatArray:
    """Return rows with missing values if this version of scikit-learn has the model read them, else whole ones."""
    extra = isinstance(model, ExtraTreesClassifier | ExtraTreesRegressor)
    newer = Version(sklearn.__version__) >= Version("1.6")
    return GAPS if newer or not (extra or getattr(model, "criterion", "") == "absolute_error") else WHOLE


def changes(subject: Subject, rows: IntArray, seed: int) -> list[Variant]:
    """Return each column with donors, a constant, and a value for each row, in mixed order."""
    rng = np.random.default_rng(seed)
    source, found = ColumnLookup(subject.X), []
    for c in range(subject.X.shape[1]):
        found.append(Variant((c,), donors=rng.integers(0, subject.n, len(rows))))
        found.append(Variant((c,), (source[c][rng.integers(subject.n)],)))
        found.append(Variant((c,), (source[c][rng.integers(0, subject.n, len(rows))],)))
    return [found[v] for v in rng.permutation(len(found))]


def plain(subject: Subject, group: list[Variant], rows: IntArray) -> Distribution:
    """Predict by the model itself."""
    table = variant_rows(take_rows(subject.X, rows), group, ColumnLookup(subject.X))
    return subject.adapter.predict(subject.model, table)


def walks(subject: Subject) -> Walks:
    shortcut = TreePath().shortcut(subject.model, subject.adapter, subject.X)
    assert isinstance(shortcut, Walks)
    return shortcut


def compare(model: Any, X: Any, y: Any, tolerance: float = 1e-12) -> None:
    """Compare all kinds of changes of all rows and of some, in groups of one and of many."""
    subject = explain(model, X, y)
    shortcut = walks(subject)
    for seed, rows in enumerate((np.arange(N), RNG.permutation(N)[:20])):
        group = changes(subject, rows, seed)
        assert all(map(shortcut.covers, group))
        for part in (group, group[:1]):
            same(shortcut, shortcut.predict(part, rows), plain(subject, part, rows), tolerance)
    mixes = coalitions(subject)
    table = mixed_rows(subject.X, mixes)
    same(shortcut, shortcut.mixed(mixes), subject.adapter.predict(subject.model, table), tolerance)


def coalitions(subject: Subject) -> list[Mix]:
    """Return mixes of two rows with some others: none, all and some of the columns."""
    rng, d = np.random.default_rng(0), subject.X.shape[1]
    some = rng.random((2, 6, d)) < 0.5
    some[:, 0], some[:, 1] = False, True
    return [Mix(row, own, rng.integers(0, subject.n, 3 + row)) for row, own in enumerate(some)]


def same(shortcut: Walks, ours: Distribution, own: Distribution, tolerance: float) -> None:
    """Require that two predictions agree in all that they have in common."""
    assert len(ours) == len(own)
    assert ours.supports == (
        own.supports - {"members", "leave_one_out"} if shortcut.methods is None else shortcut.methods
    )
    assert ours.family == own.family
    splits = {"aleatoric", "aleatoric_variance", "epistemic_variance"}
    for name in {"mean", "variance", "entropy", *splits} & own.supports:
        expected = getattr(own, name)()
        assert np.abs(getattr(ours, name)() - expected).max() <= tolerance * np.abs(expected).max(), name


@pytest.mark.parametrize(("name", "y"), list(product(FORESTS, (Y2, Y3))))
def test_classification_trees_agree_and_keep_the_split_of_members(name: str, y: IntArray) -> None:
    for X in (WHOLE, readable(FORESTS[name]())):
        compare(FORESTS[name]().fit(X, y, sample_weight=WEIGHTS), X, y)


@pytest.mark.parametrize("y", [Y2, Y3])
def test_bags_of_trees_agree_though_members_miss_columns_and_classes(y: IntArray) -> None:
    rare = np.where(np.arange(N) < 3, y.max() + 1, y)
    for classes in (y, rare):
        options = {"max_features": 0.6, "max_samples": 0.3, "bootstrap_features": True, "random_state": 0}
        compare(
            BaggingClassifier(DecisionTreeClassifier(max_depth=4), 7, **options).fit(WHOLE, classes), WHOLE, classes
        )


REGRESSIONS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestRegressor(7, random_state=0),
    "one tree": lambda: RandomForestRegressor(1, random_state=0),
    "deviations": lambda: RandomForestRegressor(5, criterion="absolute_error", min_samples_leaf=5, random_state=0),
    "counts": lambda: RandomForestRegressor(5, criterion="poisson", min_samples_leaf=5, random_state=0),
    "few leaves": lambda: ExtraTreesRegressor(6, max_leaf_nodes=25, random_state=1),
    "bag": lambda: BaggingRegressor(
        DecisionTreeRegressor(max_depth=7), 5, max_features=0.6, bootstrap_features=True, random_state=0
    ),
}


@pytest.mark.parametrize(("shift", "unit"), [(0.0, 1.0), (1e6, 1e-3), (-3.0, 1e8)])
@pytest.mark.parametrize("name", list(REGRESSIONS))
def test_the_moments_of_regression_forests_agree(name: str, shift: float, unit: float) -> None:
    """Also far from 0, where the variance of the members is small beside the square of their mean."""
    y = unit * YS + shift
    y = y if name != "counts" else y - y.min()
    for X in (WHOLE, readable(REGRESSIONS[name]())):
        compare(REGRESSIONS[name]().fit(X, y, sample_weight=WEIGHTS), X, y, tolerance=1e-11)


def test_regression_forests_kept_monotonic_agree_and_have_no_variance_in_leaves() -> None:
    model = ExtraTreesRegressor(5, monotonic_cst=[1, 0, 0, 0, 0], min_samples_leaf=5, random_state=0).fit(WHOLE, YS)
    compare(model, WHOLE, YS)
    subject = explain(model, WHOLE, YS)
    assert not walks(subject).predict([Variant()], np.arange(N)).aleatoric_variance().any()


def test_the_forest_of_one_of_several_outputs_agrees() -> None:
    both = np.c_[YS, WHOLE[:, 4] ** 2]
    subject = explain(RandomForestRegressor(7, random_state=0).fit(WHOLE, both), WHOLE, both, output=1)
    shortcut, rows = walks(subject), np.arange(N)
    group = changes(subject, rows, 4)
    same(shortcut, shortcut.predict(group, rows), plain(subject, group, rows), 1e-12)


@pytest.mark.parametrize(
    "y",
    [np.where(WHOLE[:, 0] > 0, 0.1, np.pi), np.repeat(np.geomspace(1e-12, 1.0, N // 2), 2) * np.tile([1, -1], N // 2)],
    ids=["two values", "of many sizes"],
)
def test_members_that_agree_disagree_by_exactly_nothing(y: FloatArray) -> None:
    """Their squares add up to what only nearly is the square of their sum, and small ones are rounded the most."""
    subject = explain(RandomForestRegressor(7, bootstrap=False).fit(WHOLE[:, :1], y), WHOLE[:, :1], y)
    ours, own = walks(subject).predict([Variant()], np.arange(N)), plain(subject, [Variant()], np.arange(N))
    assert not own.epistemic_variance().any()
    assert not ours.epistemic_variance().any()
    assert np.allclose(ours.mean(), own.mean(), rtol=1e-14, atol=1e-16)


def dense(**options: Any) -> Subject:
    return explain(RandomForestRegressor(7, min_samples_leaf=5, random_state=0).fit(WHOLE, YS), WHOLE, YS, **options)


@pytest.mark.parametrize(
    "subject",
    [
        dense,
        lambda: explain(RandomForestRegressor(7).fit(WHOLE, YS), WHOLE, YS, adapter=EnsembleAdapter(0.5)),
        lambda: explain(
            RandomForestRegressor(30).fit(WHOLE[:60], YS[:60]),
            WHOLE[60:],
            train=(WHOLE[:60], YS[:60]),
            residuals="oob",
        ),
        lambda: make_subject(RandomForestRegressor(7).fit(WHOLE, np.c_[YS, YS]), EnsembleAdapter(), WHOLE, YS),
        lambda: explain(BaggingRegressor(SVR(), 3).fit(WHOLE, YS), WHOLE, YS),
        lambda: explain(RandomForestRegressor(7).fit(WHOLE, YS), pd.DataFrame(WHOLE).astype(object), YS),
    ],
    ids=["leaves with variance", "noise", "residuals", "two outputs", "bag of others", "objects"],
)
def test_regression_forests_of_which_more_than_moments_is_asked_are_left_to_the_model(
    subject: Callable[[], Subject],
) -> None:
    asked = subject()
    assert TreePath().shortcut(asked.model, asked.adapter, asked.X) is None


@pytest.mark.parametrize("name", ["forest", "few leaves"])
@pytest.mark.parametrize(
    "explainer",
    [
        PermutationImportance(n_repeats=3),
        PartialDependence(),
        HStatistic(max_rows=20),
        ShapleyValues(n_rows=2, n_background=4),
    ],
    ids=lambda explainer: explainer.name,
)
def test_methods_audit_regression_forests_by_walks_as_by_the_model(explainer: Any, name: str) -> None:
    X, found = readable(REGRESSIONS[name]()), []
    subject = explain(REGRESSIONS[name]().fit(X, YS), X, YS)
    for path in ((), (TreePath(),)):
        engine = Engine(subject, measures(), fast_paths=path)
        found.append(explainer.explain(subject, engine.bound(explainer.name), {}))
    assert engine.served["trees"].rows > 0
    assert not engine.served["trees"].dropped
    for plain, fast in zip(*found, strict=True):
        assert plain.omissions == fast.omissions
        pd.testing.assert_frame_equal(plain.frame, fast.frame, rtol=1e-9, atol=1e-9)


def test_what_needs_the_members_of_a_regression_forest_is_asked_of_the_model() -> None:
    subject, found = explain(REGRESSIONS["forest"]().fit(WHOLE, YS), WHOLE, YS), []
    variants = [Variant((c,), donors=np.arange(N)[::-1]) for c in range(5)]
    for path in ((), (TreePath(),)):
        engine = Engine(subject, measures(), fast_paths=path)
        asked, moments = (engine.select(names)[0] for names in (["loss", "crps"], ["loss", "decomposition"]))
        found += [np.concatenate([group.values for group in engine.evaluate(variants, asked)], axis=1)]
        found += [engine.mixing(subject.X, asked, 100, engine.y)(coalitions(subject))]
    assert (engine.served["trees"].rows, engine.served["trees"].compared) == (0, 0)
    assert np.array_equal(found[0], found[2])
    assert np.array_equal(found[1], found[3])
    list(engine.evaluate(variants, moments))
    assert engine.served["trees"].rows == 5 * N


@pytest.mark.parametrize("y", [Y2, Y3])
def test_gradient_boosting_agrees(y: IntArray) -> None:
    compare(GradientBoostingClassifier(n_estimators=9, n_iter_no_change=4, random_state=0).fit(WHOLE, y), WHOLE, y)
    compare(GradientBoostingClassifier(n_estimators=4, init="zero").fit(WHOLE, y, sample_weight=WEIGHTS), WHOLE, y)


@pytest.mark.parametrize("y", [Y2, Y3])
def test_histogram_boosting_agrees_with_missing_values_categories_and_early_stopping(y: IntArray) -> None:
    options = {"max_iter": 9, "min_samples_leaf": 4, "early_stopping": True, "random_state": 0}
    compare(HistGradientBoostingClassifier(**options).fit(GAPS, y), GAPS, y)
    compare(HistGradientBoostingClassifier(categorical_features=[3], **options).fit(GAPS, y), GAPS, y)
    compare(HistGradientBoostingClassifier(categorical_features="from_dtype", **options).fit(FRAME, y), FRAME, y)


def test_wrappers_that_predict_by_their_model_are_looked_through() -> None:
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 3]}, cv=2).fit(WHOLE, Y2)
    compare(search, WHOLE, Y2)


@pytest.mark.parametrize("y", [Y2, Y3])
@pytest.mark.parametrize("X", [WHOLE, GAPS, FRAME], ids=["whole", "gaps", "frame"])
def test_lightgbm_agrees(X: Any, y: IntArray) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    options = {"n_estimators": 8, "min_child_samples": 3, "verbose": -1, "num_threads": 1}
    compare(lightgbm.LGBMClassifier(**options).fit(X, y, sample_weight=WEIGHTS), X, y)


def test_lightgbm_stopped_early_counts_and_boosters_agree() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    options = {"min_child_samples": 3, "verbose": -1, "num_threads": 1}
    later = lightgbm.Dataset(GAPS[60:], Y2[60:])
    stop = lightgbm.early_stopping(2, verbose=False)
    fast = {"objective": "binary", "learning_rate": 0.3, **options}
    stopped = lightgbm.train(
        fast, lightgbm.Dataset(GAPS[:60], Y2[:60]), 40, [later], callbacks=[stop], keep_training_booster=True
    )
    assert 0 < stopped.best_iteration < stopped.current_iteration()
    compare(stopped, GAPS, Y2)
    compare(lightgbm.LGBMRegressor(objective="poisson", n_estimators=5, **options).fit(GAPS, COUNTS), GAPS, COUNTS)
    steep = {"objective": "binary", "sigmoid": 2.5, **options}
    compare(lightgbm.train(steep, lightgbm.Dataset(WHOLE, Y2), 5), WHOLE, Y2)


def boosted(kind: str) -> Any:
    """Return a regressor that predicts points."""
    if kind == "histogram":
        return HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=4)
    return pytest.importorskip("lightgbm").LGBMRegressor(n_estimators=8, min_child_samples=3, verbose=-1)


@pytest.mark.parametrize("form", ["normal", "empirical", "conformal"])
@pytest.mark.parametrize(
    ("kind", "tolerance"), [("histogram", 1e-12), ("lightgbm", 1e-12)]
)  # fmt: skip
def test_distributions_laid_over_boosted_points_agree(kind: str, tolerance: float, form: Any) -> None:
    asked = Residuals(form=form, rows=(GAPS[60:], WHOLE[60:, 0]))
    subject = explain(boosted(kind).fit(GAPS[:60], WHOLE[:60, 0]), GAPS[:60], WHOLE[:60, 0], residuals=asked)
    rows = np.arange(60)
    group = changes(subject, rows, 3)
    ours, own = walks(subject).predict(group, rows), plain(subject, group, rows)
    assert ours.family == own.family
    for name in ("mean", "variance"):
        expected = getattr(own, name)()
        assert np.abs(getattr(ours, name)() - expected).max() <= tolerance * np.abs(expected).max()


def test_a_modelled_spread_is_no_function_of_the_score() -> None:
    asked = Residuals(scale="modelled", rows=(GAPS[30:], WHOLE[30:, 0]))
    subject = explain(boosted("histogram").fit(GAPS[:30], WHOLE[:30, 0]), GAPS[:30], residuals=asked)
    assert TreePath().shortcut(subject.model, subject.adapter, subject.X) is None


def refused() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Return models of other structure, with their rows."""
    return {
        "another family": lambda: (LogisticRegression().fit(WHOLE, Y2), WHOLE),
        "a start that is a model": lambda: (
            GradientBoostingClassifier(n_estimators=2, init=DummyClassifier()).fit(WHOLE, Y2),
            WHOLE,
        ),
        "steps before it": lambda: (make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(WHOLE, Y2), WHOLE),
        "bagged lines": lambda: (BaggingClassifier(LogisticRegression(), 2).fit(WHOLE, Y2), WHOLE),
        "a calibrated forest": lambda: (CalibratedClassifierCV(FORESTS["forest"](), cv=2).fit(WHOLE, Y2), WHOLE),
        "a class of its own": lambda: (Stranger(max_depth=2).fit(WHOLE, Y2), WHOLE),
        "linear leaves": lambda: (of_lightgbm(linear_tree=True), WHOLE),
        "zeros as missing": lambda: (of_lightgbm(zero_as_missing=True), WHOLE),
        "averaged trees": lambda: (of_lightgbm(boosting_type="rf", subsample=0.5, subsample_freq=1), WHOLE),
    }


class Stranger(DecisionTreeClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """May predict in a way of its own."""


def of_lightgbm(**options: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    given = {"n_estimators": 3, "min_child_samples": 3, "verbose": -1, "num_threads": 1}
    return lightgbm.LGBMClassifier(**given, **options).fit(WHOLE, Y2)


@pytest.mark.parametrize("name", list(refused()))
def test_other_structures_are_left_to_the_model(name: str) -> None:
    model, X = refused()[name]()
    subject = explain(model, X, Y2)
    assert TreePath().shortcut(subject.model, subject.adapter, subject.X) is None


@pytest.mark.parametrize(("least", "walked"), [(7 * N, True), (7 * N + 1, False)])
def test_few_rows_and_trees_are_left_to_the_model(worth: Callable[[int], None], least: int, walked: bool) -> None:
    worth(least)
    subject = explain(FORESTS["forest"]().fit(WHOLE, Y2), WHOLE, Y2)
    assert (TreePath().shortcut(subject.model, subject.adapter, subject.X) is not None) is walked
    engine = evaluated(subject, fast_paths=(TreePath(),))[1]
    assert (engine.served["trees"].rows > 0) is walked


@pytest.mark.parametrize(
    ("model", "trees"),
    [
        (lambda: FORESTS["forest"]().fit(WHOLE, Y3), 7),
        (lambda: FORESTS["tree"]().fit(WHOLE, Y3), 1),
        (lambda: REGRESSIONS["bag"]().fit(WHOLE, YS), 5),
        (lambda: GradientBoostingClassifier(n_estimators=2).fit(WHOLE, Y3), 6),
        (lambda: HistGradientBoostingClassifier(max_iter=2).fit(WHOLE, Y3), 6),
        (of_lightgbm, 3),
    ],
)
def test_every_tree_of_a_model_counts(worth: Callable[[int], None], model: Any, trees: int) -> None:
    subject = explain(model(), WHOLE, Y2)
    assert paths.READERS[class_names(subject.model)[0]].trees(subject.model) == trees
    for rows, walked in ((trees * N + 1, False), (trees * N, True)):
        worth(rows)
        assert (TreePath().shortcut(subject.model, subject.adapter, subject.X) is not None) is walked


def test_without_numba_the_model_predicts_and_the_run_says_why(without: Callable[..., None]) -> None:
    subject = explain(FORESTS["tree"]().fit(WHOLE, Y2), WHOLE, Y2)
    without("numba")
    values, engine = evaluated(subject, fast_paths=(TreePath(),))
    assert "'trees' needs numba, which is not installed" in str(engine.served["trees"])
    assert np.array_equal(values, evaluated(subject)[0])


def test_a_forest_read_as_a_plain_classifier_has_no_split() -> None:
    subject = explain(FORESTS["forest"]().fit(WHOLE, Y2), WHOLE, Y2, adapter=ClassifierAdapter())
    group = [Variant((0,), donors=np.arange(N)[::-1])]
    ours = walks(subject).predict(group, np.arange(N))
    assert type(ours) is Categorical
    assert np.allclose(ours.mean(), plain(subject, group, np.arange(N)).mean(), rtol=0, atol=1e-15)


def test_one_column_of_many_rows_is_covered_while_a_table_costs_less_than_the_trees(
    block: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = explain(FORESTS["forest"]().fit(WHOLE, Y3), WHOLE, Y3)
    shortcut = walks(subject)
    values = shortcut.distinct[1] * 3  # of three classes
    shuffled, alike = Variant((1,), donors=np.arange(N)), Variant((1,), (0.0,))
    for size, visit, covered in (
        (1, values / 7, True),
        (1, values / 7 - 0.1, False),
        (N * max(values, 7) - 1, 0, False),
        (N * max(shortcut.distinct) * 3, 0, True),
    ):
        block(size)
        monkeypatch.setattr(shortcuts, "_VISIT", visit)
        shortcut = walks(subject)
        assert shortcut.covers(shuffled) is covered
        assert shortcut.covers(alike)
        assert shortcut.covers(Variant((0,), donors=np.arange(N))) is shortcut.covers(Variant())


@pytest.mark.parametrize("name", ["forest", "categories"])
def test_rows_walked_in_blocks_are_what_they_are_together(name: str, block: Callable[[int], None]) -> None:
    """To the last bit, with gaps, lists of categories, stages left out by early stopping, and members' parts."""
    categories = HistGradientBoostingClassifier(
        max_iter=30, early_stopping=True, n_iter_no_change=2, categorical_features="from_dtype", random_state=0
    )
    model, X = {"forest": (FORESTS["forest"](), GAPS), "categories": (categories, FRAME)}[name]
    subject, rows = explain(model.fit(X, Y3), X, Y3), np.arange(N)
    group = changes(subject, rows, 2)
    whole = walks(subject).predict(group, rows)
    block(2**11)
    shortcut = walks(subject)
    assert 1 < shortcut.block < N
    parted = shortcut.predict(group, rows)
    assert np.array_equal(parted.parameters, whole.parameters)
    if name == "forest":
        assert np.array_equal(parted.aleatoric(), whole.aleatoric())


def test_what_is_walked_stays_within_its_limit(block: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of rows is settled once for all columns of a group."""
    subject = explain(FORESTS["forest"]().fit(WHOLE, Y2), WHOLE, Y2)
    rows = np.arange(N)
    group = [Variant((c,), donors=rows[::-1]) for c in (4, 0, 4)]
    usual = walks(subject).predict(group, rows)
    block(2**11)
    walked: list[tuple[int, int]] = []
    sizes: list[int] = []

    def noted(own: Forest, at: BaseLeaves, column: int, asked: AnyArray) -> IntArray:
        sums = walk(own, at, column, asked)
        walked.append((column, sums.size))
        return sums

    def placed(own: Forest, codes: AnyArray) -> Any:
        sizes.append(codes.shape[1])
        return settled(own, codes)

    monkeypatch.setattr(shortcuts, "walk", noted)
    monkeypatch.setattr(shortcuts, "settled", placed)
    shortcut = walks(subject)
    parted = shortcut.predict(group, rows)
    assert np.array_equal(parted.parameters, usual.parameters)
    assert max(size for _, size in walked) <= 2**11
    assert [column for column, _ in walked] == [4, 0] * len(sizes)
    assert sizes == [shortcut.block] * (N // shortcut.block) + [N % shortcut.block] * (N % shortcut.block > 0)


def test_several_columns_are_left_to_the_model() -> None:
    subject = explain(FORESTS["forest"]().fit(WHOLE, Y3), WHOLE, Y3)
    shortcut, rows = walks(subject), np.arange(N)
    group = [Variant((0,), (x,)) for x in (-1.0, -0.5, 0.0, 0.5)]
    ours, own = shortcut.predict(group, rows), plain(subject, group, rows)
    assert np.allclose(ours.parameters, own.parameters, rtol=0, atol=1e-12)
    assert not shortcut.covers(Variant((0, 1), donors=rows))


def test_scores_do_not_depend_on_what_else_is_asked() -> None:
    subject = explain(HistGradientBoostingClassifier(max_iter=20).fit(GAPS, Y3), GAPS, Y3)
    rows = np.arange(N)
    group = changes(subject, rows, 5)
    whole = walks(subject).predict(group, rows).parameters.reshape(N, len(group), -1)
    for v, variant in enumerate(group):
        assert np.array_equal(walks(subject).predict([variant], rows).parameters, whole[:, v])


def stump(threshold: float, left: float, right: float, *, missing_left: bool = False) -> Tree:
    """Return a tree of one split of feature 0."""
    return Tree(
        np.array([0, -2, -2]), np.array([threshold, 0, 0]), np.array([1, -1, -1]), np.array([2, -1, -1]),
        np.array([missing_left, False, False]), np.array([[0.0], [left], [right]]),
    )  # fmt: skip


def all_scores(forest: Forest, X: FloatArray, asked: FloatArray) -> FloatArray:
    """Return the scores (n, m) of rows at asked values of feature 0."""
    distinct, places = np.unique(forest.coded(asked, 0), return_inverse=True)
    table = walk(forest, settled(forest, forest.codes(X)), 0, distinct)
    return pick(forest, table, np.broadcast_to(places, (len(X), len(places))))[:, :, 0]


def test_a_number_goes_left_up_to_its_threshold_and_a_missing_one_where_the_node_says() -> None:
    forest = Forest([stump(0.5, 1.0, 2.0, missing_left=True), stump(1.5, 10.0, 20.0)], 1, 1)
    asked = np.array([-np.inf, 0.5, np.nextafter(0.5, 1), 1.5, np.nextafter(1.5, 2), np.inf, np.nan])
    expected = [11.0, 11.0, 12.0, 12.0, 22.0, 22.0, 21.0]
    assert all_scores(forest, np.array([[0.7], [np.nan]]), asked).tolist() == [expected, expected]


def test_single_precision_rounds_before_it_compares() -> None:
    above = 0.5 + 1e-9
    asked = np.array([above])
    assert all_scores(Forest([stump(0.5, 1.0, 2.0)], 1, 1), asked[:, None], asked).item() == 2.0
    assert all_scores(Forest([stump(0.5, 1.0, 2.0)], 1, 1, single=True), asked[:, None], asked).item() == 1.0


def test_listed_numbers_go_left_known_others_right_and_strange_ones_as_missing() -> None:
    listed = stump(0.0, 1.0, 2.0, missing_left=True)._replace(listed={0: np.array([1.0, 4.0, 40.0])})
    forest = Forest([listed], 1, 1, known={0: np.arange(41.0)})
    asked = np.array([0.0, 1.0, 2.0, 4.0, 40.0, 41.0, -1.0, np.nan])
    assert all_scores(forest, asked[:, None], asked)[0].tolist() == [2.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]


def test_sums_in_fixed_point_are_exact_where_the_leaves_are() -> None:
    rng = np.random.default_rng(3)
    trees = [stump(t, *(2.0 ** rng.integers(-8, 8, 2))) for t in rng.normal(size=300)]
    X = rng.normal(size=(4, 1))
    expected = sum(np.where(X[:, 0] <= tree.threshold[0], tree.values[1, 0], tree.values[2, 0]) for tree in trees)
    for order in (trees, trees[::-1]):
        assert np.array_equal(all_scores(Forest(order, 1, 1), X, X[:, 0]), np.broadcast_to(expected, (4, 4)))
    flat = Forest([stump(0.0, 0.0, 0.0)], 1, 1)
    assert all_scores(flat, X, X[:, 0]).tolist() == np.zeros((4, 4)).tolist()


def test_walks_in_parts_with_looks_at_the_limits_between_are_what_they_are_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Parts are of one of 3 trees, and of one of 4 mixed rows."""

    model = RandomForestClassifier(3, max_depth=4, random_state=0).fit(GAPS, Y3)
    read = paths.READERS[class_names(model)[0]].read(model, model, explain(model, GAPS, Y3).adapter, GAPS)
    assert read is not None
    forest, codes = read.forest, read.forest.codes(GAPS)
    rows, asked = settled(forest, np.ascontiguousarray(codes[:, :72])), np.unique(codes[0])
    owned = np.eye(5, dtype=bool)
    ways: dict[int, Callable[[], AnyArray]] = {
        3: lambda: walk(forest, rows, 0, asked),
        4: lambda: mixed_sums(forest, codes[:, 0].copy(), codes[:, 1:5].copy(), owned),
    }
    together = {count: way() for count, way in ways.items()}
    monkeypatch.setattr(walking, "TOGETHER", 1)
    for count, way in ways.items():
        looks = Mock()
        with limited(looks):
            np.testing.assert_array_equal(way(), together[count])
        assert looks.call_count == count


def test_of_two_class_shares_one_is_walked_and_the_other_is_exact() -> None:
    third = 1 / 3
    trees = [stump(0.0, 0.0, 1.0), stump(1.0, third, 1.0)]
    forest = Forest([tree._replace(values=tree.values[:, :1]) for tree in trees], 1, 1, whole=2)
    X = np.array([[-1.0], [0.5], [2.0]])
    codes = forest.codes(X)
    asked, places = np.unique(codes[0], return_inverse=True)
    table = walk(forest, settled(forest, codes), 0, asked)
    found = pick(forest, table, places[:, None])[:, 0]
    assert found[:, 1].tolist() == [2 - third, 1 - third, 0.0]
    assert found[:, 0].tolist() == [third, 1 + third, 2.0]


def test_members_known_by_their_moments_give_the_split_of_the_members() -> None:
    p = np.random.default_rng(0).dirichlet([1, 1, 1], (6, 4))
    whole = CategoricalMixture(p, list("abc"), 1)
    asked: list[int] = []

    def moments() -> tuple[FloatArray, FloatArray]:
        asked.append(1)
        return -(p * np.log(p)).sum(axis=2).mean(axis=1), np.square(p).mean(axis=1)

    known = CategoricalMixture.of_moments(whole.probabilities, moments, list("abc")).focus("b")
    assert not asked
    for method in ("aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance"):
        assert np.allclose(getattr(known, method)(), getattr(whole, method)(), rtol=1e-12, atol=1e-15)
        few = np.array([4, 1])
        assert np.array_equal(getattr(known.take(few), method)(), getattr(known, method)()[few])
    assert asked == [1]


@pytest.mark.parametrize("check", fast_path_model_checks())
@pytest.mark.parametrize("name", list(FORESTS))
def test_walks_meet_the_contract_in_every_measure(check: Callable[..., None], name: str) -> None:
    check(TreePath, explain(FORESTS[name]().fit(WHOLE, Y3), WHOLE, Y3))


def evaluated(subject: Subject, **options: Any) -> tuple[AnyArray, Engine]:
    engine = Engine(subject, measures(), **options)
    chosen = engine.select(["nll", "entropy"])[0]
    rng = np.random.default_rng(1)
    variants = [Variant((c,), donors=rng.permutation(N)) for c in range(5) for _ in range(3)]
    return np.concatenate([group.values for group in engine.evaluate(variants, chosen)], axis=1), engine


def test_an_engine_predicts_by_walks_in_any_batch_and_with_any_workers() -> None:
    subject = explain(HistGradientBoostingClassifier(max_iter=9).fit(GAPS, Y3), GAPS, Y3)
    fast, engine = evaluated(subject, fast_paths=(TreePath(),))
    assert engine.served["trees"].rows == 15 * N
    assert np.allclose(fast, evaluated(subject)[0], rtol=1e-12, atol=1e-12)
    for options in ({"batch_rows": 40}, {"n_jobs": 2, "backend": "threading"}):
        assert np.array_equal(fast, evaluated(subject, fast_paths=(TreePath(),), **options)[0])


def test_walks_that_differ_from_the_model_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = explain(FORESTS["forest"]().fit(WHOLE, Y2), WHOLE, Y2)
    monkeypatch.setattr(shortcuts, "pick", lambda *given: pick(*given) + 1e-6)
    values, engine = evaluated(subject, fast_paths=(TreePath(),))
    assert "differ from the model's own" in engine.served["trees"].dropped
    assert np.array_equal(values, evaluated(subject)[0])


def test_compiled_walks_are_those_that_python_runs(pytestconfig: pytest.Config) -> None:
    """Tests of one session run walks uncompiled (tests/conftest.py); these are the same tests, compiled."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        __file__,
        "-k",
        "agree",
        *(f"-W{rule}" for rule in pytestconfig.getoption("pythonwarnings") or ()),
    ]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.parametrize(("rows", "walked"), [(99, False), (100, True)])
def test_mixed_rows_count_for_what_walks_are_worth(rows: int, walked: bool, worth: Callable[[int], None]) -> None:
    """7 trees and 100 mixed rows of a table of 90: the table alone would not be worth it."""
    worth(700)
    subject = explain(FORESTS["forest"]().fit(WHOLE, Y2), WHOLE, Y2)
    assert TreePath().shortcut(subject.model, subject.adapter, subject.X) is None
    assert (TreePath().mixer(subject.model, subject.adapter, subject.X, rows) is not None) is walked


def test_shapley_values_by_walks_are_those_of_the_model() -> None:
    """Of three classes with gaps, and entropy with its parts."""
    subject = explain(BaggingClassifier(DecisionTreeClassifier(max_depth=4), 5, random_state=0).fit(GAPS, Y3), GAPS, Y3)
    explainer, found = ShapleyValues(n_rows=2, n_local=0, n_background=4), []
    for path in ((), (TreePath(),)):
        engine = Engine(subject, measures(), fast_paths=path)
        found.append(explainer.explain(subject, engine.bound("shap"), {})[0].frame)
    assert engine.served["trees"].rows > 0
    assert not engine.served["trees"].dropped
    plain, fast = found
    pd.testing.assert_frame_equal(plain, fast, rtol=0, atol=1e-12)
