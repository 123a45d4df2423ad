"""Exactly one adapter is closest to each model, and none needs the model's library to say so."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.linear_model import ARDRegression, BayesianRidge, LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from uq_report.core.model.adapter import Adapter
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.inputs.adapters.dalex_ import DalexAdapter
from uq_report.inputs.adapters.ensemble import EnsembleAdapter, RegressorStdAdapter
from uq_report.inputs.adapters.glm import PoissonAdapter
from uq_report.inputs.adapters.members import FunctionAdapter

ADAPTERS: tuple[Adapter, ...] = (
    ClassifierAdapter(),
    DalexAdapter(),
    EnsembleAdapter(),
    FunctionAdapter(),
    PoissonAdapter(),
    RegressorStdAdapter(),
)
X = np.random.default_rng(0).normal(size=(40, 3))
LABELS = (X[:, 0] > 0).astype(int)
COUNTS = np.arange(40.0) % 5


def closest(model: Any) -> list[str]:
    """Return the adapters at the smallest distance: one if all is well, two for a tie."""
    found = [(match.distance, adapter.name) for adapter in ADAPTERS if (match := adapter.matches(model)) is not None]
    return [name for distance, name in found if distance == min(found)[0]]


class Generous:
    """Like NGBoost: answers None for every attribute it does not have."""

    def __getattr__(self, name: str) -> None:
        return None


class RandomForestClassifierLike:
    classes_ = np.array([0, 1])

    def predict_proba(self, rows: Any) -> Any:
        return np.full((len(rows), 2), 0.5)


RandomForestClassifierLike.__name__ = "RandomForestClassifier"


class WithDefaults(RandomForestRegressor):  # type: ignore[misc] # scikit-learn is untyped
    """Like scikit-optimize's forest: a forest whose predict also takes return_std."""

    def predict(self, X: Any, return_std: bool = False) -> Any:
        return super().predict(X), return_std


class Network:
    """A callable object with predict_proba, as skorch has."""

    def __call__(self, rows: Any) -> Any:
        return rows

    def predict_proba(self, rows: Any) -> Any:
        return rows


def fit_classifier(model: Any) -> Any:
    return model.fit(X, LABELS)


def fit_regressor(model: Any) -> Any:
    return model.fit(X, COUNTS)


FEW: dict[str, Any] = {"n_estimators": 3, "random_state": 0}

CLASSIFIERS = {
    "logistic": (LogisticRegression(), "classifier"),
    "naive bayes": (GaussianNB(), "classifier"),
    "gaussian process": (GaussianProcessClassifier(), "classifier"),
    "boosted": (GradientBoostingClassifier(**FEW), "classifier"),
    "hist boosted": (HistGradientBoostingClassifier(max_iter=2), "classifier"),
    "ada": (AdaBoostClassifier(**FEW), "classifier"),
    "calibrated forest": (CalibratedClassifierCV(RandomForestClassifier(**FEW), cv=2), "classifier"),
    "stack of forests": (StackingClassifier([("f", RandomForestClassifier(**FEW))], cv=2), "classifier"),
    "pipeline": (make_pipeline(StandardScaler(), LogisticRegression()), "classifier"),
    "search": (GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2), "classifier"),
    "forest": (RandomForestClassifier(**FEW), "ensemble"),
    "extra trees": (ExtraTreesClassifier(**FEW), "ensemble"),
    "bagging": (BaggingClassifier(**FEW), "ensemble"),
    "soft vote": (VotingClassifier([("a", GaussianNB())], voting="soft"), "ensemble"),
    "hard vote": (VotingClassifier([("a", GaussianNB())]), "ensemble"),
    "forest in pipeline": (make_pipeline(StandardScaler(), RandomForestClassifier(**FEW)), "ensemble"),
    "forest in search": (GridSearchCV(RandomForestClassifier(**FEW), {"max_depth": [2]}, cv=2), "ensemble"),
    "forest with threshold": (FixedThresholdClassifier(RandomForestClassifier(**FEW), threshold=0.3), "ensemble"),
    "pipeline in search in pipeline": (
        make_pipeline(
            StandardScaler(),
            GridSearchCV(Pipeline([("forest", RandomForestClassifier(**FEW))]), {"forest__max_depth": [2]}, cv=2),
        ),
        "ensemble",
    ),
}
REGRESSORS = {
    "gaussian process": (GaussianProcessRegressor(optimizer=None), "regressor_std"),
    "bayesian ridge": (BayesianRidge(), "regressor_std"),
    "ard": (ARDRegression(), "regressor_std"),
    "std in pipeline": (make_pipeline(StandardScaler(), BayesianRidge()), "regressor_std"),
    "std in search": (GridSearchCV(BayesianRidge(), {"max_iter": [10]}, cv=2), "regressor_std"),
    "forest": (RandomForestRegressor(**FEW), "ensemble"),
    "forest with return_std": (WithDefaults(**FEW), "ensemble"),
    "extra trees": (ExtraTreesRegressor(**FEW), "ensemble"),
    "bagging": (BaggingRegressor(**FEW), "ensemble"),
    "voting": (VotingRegressor([("a", BayesianRidge())]), "ensemble"),
    "poisson": (PoissonRegressor(), "poisson"),
    "poisson in pipeline": (make_pipeline(StandardScaler(), PoissonRegressor()), "poisson"),
    "boosted poisson": (HistGradientBoostingRegressor(loss="poisson", max_iter=2), "poisson"),
}
POINTS = {
    "linear": LinearRegression(),
    "boosted": GradientBoostingRegressor(**FEW),
    "hist boosted": HistGradientBoostingRegressor(max_iter=2),
}
OTHERS: dict[str, tuple[Any, list[str]]] = {
    "function": (lambda rows: rows, ["function"]),
    "partial": (partial(np.add, 1), ["function"]),
    "bound method": (RandomForestClassifierLike().predict_proba, ["function"]),
    "callable model": (Network(), ["classifier"]),
    "same class name, other library": (RandomForestClassifierLike(), ["classifier"]),
    "answers None to everything": (Generous(), []),
    "class, not an object": (RandomForestClassifier, []),
    "class of a classifier": (RandomForestClassifierLike, []),
    "no probabilities": (SVC().fit(X, LABELS), []),
    "outlier detector": (IsolationForest(**FEW).fit(X), []),
    "word": ("forest", []),
    "nothing": (None, []),
}


@pytest.mark.filterwarnings("ignore:The SAMME.R algorithm:FutureWarning")  # scikit-learn 1.5
@pytest.mark.parametrize(("model", "expected"), CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_classifiers_have_one_closest_adapter(model: Any, expected: str) -> None:
    assert closest(fit_classifier(model)) == [expected]


@pytest.mark.parametrize(("model", "expected"), REGRESSORS.values(), ids=REGRESSORS)
def test_regressors_have_one_closest_adapter(model: Any, expected: str) -> None:
    assert closest(fit_regressor(model)) == [expected]


@pytest.mark.parametrize("model", POINTS.values(), ids=POINTS)
def test_point_regressors_match_nothing(model: Any) -> None:
    assert closest(fit_regressor(model)) == []


@pytest.mark.parametrize(("model", "expected"), OTHERS.values(), ids=OTHERS)
def test_other_objects(model: Any, expected: list[str]) -> None:
    assert closest(model) == expected


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_unfitted_models_neither_fail_to_match_nor_to_batch(adapter: Adapter) -> None:
    makers: tuple[Callable[[], Any], ...] = (
        RandomForestClassifier,
        RandomForestRegressor,
        BaggingClassifier,
        GaussianProcessRegressor,
        lambda: GridSearchCV(RandomForestClassifier(), {}),
        lambda: CalibratedClassifierCV(RandomForestClassifier()),
        lambda: Pipeline([("scale", StandardScaler()), ("model", RandomForestClassifier())]),
    )
    for make in makers:
        adapter.matches(make())
        assert adapter.batch_rows(make()) in (None, 25_000, 80_000)


def test_loading_and_asking_every_adapter_imports_no_model_library() -> None:
    code = (
        "import sys\n"
        "from uq_report.inputs.adapters import classifier, dalex_, ensemble, glm, members\n"
        "for cls in (classifier.ClassifierAdapter, dalex_.DalexAdapter, ensemble.EnsembleAdapter,\n"
        "            members.FunctionAdapter, glm.PoissonAdapter, ensemble.RegressorStdAdapter):\n"
        "    cls().matches(object()); cls().batch_rows(object())\n"
        "print(sorted({'sklearn', 'dalex', 'scipy.stats', 'matplotlib'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
