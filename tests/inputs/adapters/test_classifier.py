"""Classifiers: the model's own probabilities under its own labels, or one clear refusal."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from uq_report.core.support.errors import InputError, ModelError
from uq_report.distributions import Categorical
from uq_report.inputs.adapters.classifier import ClassifierAdapter

from .typed_lines import typed

ADAPTER = ClassifierAdapter()
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
CODES = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=90), [-0.5, 0.5])


class Fixed:
    """Returns what it is given, whatever the rows."""

    def __init__(self, given: Any, classes: Any = None) -> None:
        self.given = given
        if classes is not None:
            self.classes_ = classes

    def predict_proba(self, rows: Any) -> Any:
        return self.given


class Unsorted(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """A classifier whose classes_ are in no order."""

    def fit(self, rows: Any, y: Any) -> "Unsorted":
        self.inner_ = LogisticRegression().fit(rows, y)
        self.order_ = np.array([2, 0, 1])
        self.classes_ = self.inner_.classes_[self.order_]
        return self

    def predict_proba(self, rows: Any) -> Any:
        return self.inner_.predict_proba(rows)[:, self.order_]


def predict(model: Any, rows: Any) -> Categorical:
    dist = ADAPTER.predict(model, rows)
    assert isinstance(dist, Categorical)
    return dist


MODELS = {
    "logistic": LogisticRegression(),
    "calibrated": CalibratedClassifierCV(RandomForestClassifier(5, random_state=0), cv=3),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
    "search of pipelines": GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {}, cv=3),
    "boosted": HistGradientBoostingClassifier(max_iter=5),
    "unsorted": Unsorted(),
}
LABELS: dict[str, Any] = {
    "strings": np.array(["low", "mid", "high"]),
    "objects": np.array(["low", "mid", "high"], dtype=object),
    "negative integers": np.array([5, -1, 3]),
    "booleans": np.array([True, False, False]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize(
    "model", [m for n, m in MODELS.items() if n != "unsorted"], ids=[n for n in MODELS if n != "unsorted"]
)
def test_probability_of_each_label_is_the_models_own(model: Any, labels: Any) -> None:
    y = labels[CODES]
    fitted = model.fit(X, y)
    dist = predict(fitted, X)
    assert dist.classes.tolist() == fitted.classes_.tolist()
    own = fitted.predict_proba(X)
    np.testing.assert_array_equal(dist.probabilities, own)
    column = [fitted.classes_.tolist().index(label) for label in y.tolist()]
    np.testing.assert_allclose(dist.log_prob(dist.encode(y)), np.log(own[np.arange(90), column]), rtol=1e-12)


def test_unsorted_classes_keep_their_columns() -> None:
    y = np.array(["low", "mid", "high"])[CODES]
    model = Unsorted().fit(X, y)
    dist = predict(model, X)
    assert dist.classes.tolist() == ["mid", "high", "low"]
    high = LogisticRegression().fit(X, y).predict_proba(X)[:, 0]
    np.testing.assert_allclose(dist.focus("high").mean(), high, rtol=1e-12)


def test_pipeline_on_a_mixed_frame() -> None:
    frame = pd.DataFrame({"age": X[:, 0], "job": pd.Categorical(np.array(["a", "b", "c"])[CODES])})
    columns = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["job"]))
    model = make_pipeline(columns, LogisticRegression()).fit(frame, CODES == 1)
    dist = predict(model, frame)
    np.testing.assert_array_equal(dist.probabilities, model.predict_proba(frame))
    assert dist.classes.tolist() == [False, True]
    assert ADAPTER.batch_rows(model) is None


def test_the_rows_are_neither_kept_nor_changed() -> None:
    model = LogisticRegression().fit(X, CODES)
    rows = X.copy()
    dist = predict(model, rows)
    before = dist.entropy().copy()
    np.testing.assert_array_equal(rows, X)
    rows[:] = 0
    np.testing.assert_array_equal(dist.entropy(), before)


def test_single_precision_probabilities_are_taken() -> None:
    own = RNG.dirichlet(np.ones(4), size=5).astype(np.float32)
    dist = predict(Fixed(own, np.arange(4)), X[:5])
    assert dist.probabilities.dtype == float
    np.testing.assert_array_equal(dist.probabilities, own)


def test_without_classes_they_are_0_to_k() -> None:
    model = Fixed(np.full((4, 3), 1 / 3))
    match = ADAPTER.matches(model)
    assert match is not None
    assert match.distance == 3
    dist = predict(model, X[:4])
    assert dist.encode(np.array([0, 1, 2, 1])).tolist() == [0, 1, 2, 1]
    with pytest.raises(InputError, match="'low'"):
        dist.encode(np.array(["low", "mid", "mid", "low"]))


MULTI = np.column_stack([CODES > 0, CODES > 1]).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, random_state=0),
        KNeighborsClassifier(),
        MultiOutputClassifier(LogisticRegression()),
        ClassifierChain(LogisticRegression()),
        MultiOutputClassifier(RandomForestClassifier(3, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_several_outputs_are_refused(model: Any) -> None:
    with pytest.raises(InputError, match="one output at a time") as error:
        ADAPTER.predict(model.fit(X, MULTI), X)
    assert "output" in typed(str(error.value), model=model, X=X, y=MULTI).label


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a short fit is enough here
def test_multilabel_probabilities_are_refused() -> None:
    model = MLPClassifier((3,), max_iter=5, random_state=0).fit(X, MULTI)
    with pytest.raises(InputError, match="sum to 1"):
        ADAPTER.predict(model, X)


@pytest.mark.parametrize(
    ("given", "classes", "error", "words"),
    [
        (np.full((4, 3), 1 / 3), np.array(["a", "b"]), ModelError, "one column per class in classes_, 2; got 3"),
        (np.full(4, 0.5), np.array(["a", "b"]), ModelError, r"shape \(4, classes\)"),
        (np.full((2, 2), 0.5), np.array(["a", "b"]), ModelError, r"shape \(4, classes\)"),
        ("probably", np.array(["a", "b"]), ModelError, "got str"),
        (np.full((4, 2), 0.4), np.array(["a", "b"]), InputError, "sum to 1"),
        (np.array([[1.5, -0.5]] * 4), np.array(["a", "b"]), InputError, ">= 0"),
        (np.array([[np.nan, 1.0]] * 4), np.array(["a", "b"]), InputError, "finite"),
        (np.ones((4, 1)), np.array(["a"]), InputError, "at least 2 classes"),
        (np.full((4, 2), 0.5), np.array(["a", "a"]), InputError, "different labels"),
    ],
    ids=["columns", "one dimension", "rows", "text", "sum", "negative", "nan", "one class", "equal labels"],
)
def test_what_is_no_probability_matrix_is_refused(given: Any, classes: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ADAPTER.predict(Fixed(given, classes), X[:4])


def test_search_that_kept_no_model_is_refused_with_the_remedy() -> None:
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2, refit=False).fit(X, CODES)
    match = ADAPTER.matches(search)
    assert match is not None
    assert match.distance == 3
    with pytest.raises(InputError, match="refit must be True; got False") as error:
        ADAPTER.predict(search, X)
    subject = typed(str(error.value), model=search, X=X, y=CODES, X_train=X, y_train=CODES)
    assert subject.model.best_estimator_.C == 1.0
