"""Models that get 25 000 rows a call or more must give each row the same bits in any company."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
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
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from uq_report.core.model.adapter import Adapter
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.inputs.adapters.ensemble import EnsembleAdapter
from uq_report.inputs.adapters.glm import PoissonAdapter
from uq_report.inputs.adapters.sklearn_ import unwrap

RNG = np.random.default_rng(0)
N = 61
X = RNG.normal(size=(N, 5))
SCORE = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=N)
BINARY = (SCORE > 1).astype(int)
MANY = np.digitize(SCORE, np.quantile(SCORE, np.linspace(0, 1, 12)[1:-1]))  # 11 classes: sums long enough to reorder
FEW: dict[str, Any] = {"n_estimators": 7, "random_state": 0}
FOREST = RandomForestClassifier(**FEW)

CLASSIFIERS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "extra tree": ExtraTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(**FEW, n_jobs=2),
    "extra trees": ExtraTreesClassifier(**FEW),
    "boosted": GradientBoostingClassifier(n_estimators=5, init="zero"),
    "bagging": BaggingClassifier(**FEW, max_features=0.6),
    "voting": VotingClassifier([(f"f{i}", FOREST) for i in range(3)], voting="soft", weights=[3, 2, 1]),
    "sigmoid": CalibratedClassifierCV(FOREST, cv=2),
    "isotonic": CalibratedClassifierCV(FOREST, method="isotonic", cv=2, ensemble=False),
    "search": GridSearchCV(FOREST, {"max_depth": [3]}, cv=2),
    "scaled": make_pipeline(SimpleImputer(), StandardScaler(), SelectKBest(k=3), FOREST),
    "scaled otherwise": make_pipeline(RobustScaler(), MinMaxScaler(), "passthrough", MaxAbsScaler(), FOREST),
}
BINARY_ONLY = {
    "hist boosted": HistGradientBoostingClassifier(max_iter=5),
    "boosted from the prior": GradientBoostingClassifier(n_estimators=5),
    "threshold": FixedThresholdClassifier(CalibratedClassifierCV(FOREST, cv=2), threshold=0.2),
}
REGRESSORS = {
    "forest": RandomForestRegressor(40, min_samples_leaf=4, random_state=0),
    "extra trees": ExtraTreesRegressor(min_samples_leaf=4, **FEW),
    "bagging": BaggingRegressor(**FEW),
    "voting": VotingRegressor(
        [(f"t{i}", DecisionTreeRegressor(min_samples_leaf=i + 1, random_state=0)) for i in range(9)]
    ),
}


def batchings() -> Iterator[Any]:
    """Yield the row positions of calls: single rows, small calls at any offset, neighbours exchanged, rows doubled."""
    for first, size in ((0, 1), (7, 1), (60, 1), (3, 2), (10, 3), (21, 7), (30, 31)):
        yield np.arange(first, first + size)
    yield np.random.default_rng(1).permutation(N)
    yield np.repeat(np.arange(N), 3)


def assert_same_bits(adapter: Adapter, model: Any, parts: Callable[[Any], Any], rows: Any = X) -> None:
    """Compare every batching's parts, rows first, with those of one call."""
    whole = parts(adapter.predict(model, rows))
    for index in batchings():
        some = rows.iloc[index] if isinstance(rows, pd.DataFrame) else rows[index]
        np.testing.assert_array_equal(parts(adapter.predict(model, some)), whole[index])


def of_classes(dist: Any) -> Any:
    """Return the probabilities, the entropy, and the members' mean entropy where there are members."""
    split = [dist.aleatoric()] if "aleatoric" in dist.supports else []
    return np.column_stack([dist.probabilities, dist.entropy(), *split])


def of_mixtures(dist: Any) -> Any:
    density = [dist.entropy(), dist.aleatoric()] if "entropy" in dist.supports else []
    return np.column_stack([dist.means, dist.stds, dist.mean(), dist.variance(), *density])


def of_counts(dist: Any) -> Any:
    return np.column_stack([dist.rate, dist.entropy()])


@pytest.mark.parametrize(("columns", "rows"), [(1, 80_000), (26, 80_000), (27, 77_672), (83, 25_266), (84, 25_000)])
def test_calls_of_trees_hold_more_rows_unless_these_have_many_columns(columns: int, rows: int) -> None:
    stub: Any = RandomForestClassifier()
    stub.estimators_, stub.n_features_in_ = [], columns
    assert EnsembleAdapter().batch_rows(stub) == rows


def test_calls_hold_fewer_rows_where_the_number_of_columns_is_not_told() -> None:
    stub: Any = RandomForestClassifier()
    stub.estimators_ = []
    assert EnsembleAdapter().batch_rows(stub) == 25_000


def rows_of_calls(model: Any) -> int:
    """Return the rows of a call of few columns, and where a library's own model does not tell how many it has."""
    return 80_000 if hasattr(unwrap(model)[1], "n_features_in_") else 25_000


def adapter_of(model: Any) -> Adapter:
    ensemble = EnsembleAdapter()
    return ensemble if ensemble.matches(model) else ClassifierAdapter()


@pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_eleven_classes_give_the_same_bits_in_any_batch(model: Any) -> None:
    model.fit(X, MANY)
    adapter = adapter_of(model)
    assert adapter.batch_rows(model) == 80_000
    assert_same_bits(adapter, model, of_classes)


@pytest.mark.parametrize("model", (CLASSIFIERS | BINARY_ONLY).values(), ids=CLASSIFIERS | BINARY_ONLY)
def test_two_classes_give_the_same_bits_in_any_batch(model: Any) -> None:
    model.fit(X, BINARY)
    adapter = adapter_of(model)
    assert adapter.batch_rows(model) == 80_000
    assert_same_bits(adapter, model, of_classes)


def test_single_rows_of_many_classes_keep_boosted_histograms_to_the_subjects_rows() -> None:
    """A softmax over columns in Fortran order is summed in another order where it has one row."""
    assert ClassifierAdapter().batch_rows(HistGradientBoostingClassifier(max_iter=2).fit(X, MANY)) is None


@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_regressors_give_the_same_bits_in_any_batch(model: Any) -> None:
    model.fit(X, SCORE)
    adapter = EnsembleAdapter(noise_variance=0.1)
    assert adapter.batch_rows(model) == min(80_000, 2_500_000 // len(model.estimators_))
    assert_same_bits(adapter, model, of_mixtures)


def test_boosted_counts_give_the_same_bits_in_any_batch() -> None:
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=50).fit(X, np.exp(2 + SCORE // 1))
    adapter = PoissonAdapter()
    assert adapter.batch_rows(model) == 80_000
    assert_same_bits(adapter, model, of_counts)


def test_native_categories_give_the_same_bits_in_any_batch() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.array(list("xyz"))[MANY % 3])})
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype").fit(frame, BINARY)
    assert ClassifierAdapter().batch_rows(model) == 80_000
    assert_same_bits(ClassifierAdapter(), model, of_classes, frame)


class MyForest(RandomForestClassifier):  # type: ignore[misc] # scikit-learn is untyped
    """May predict in any way."""


OTHERS = {
    "logistic": LogisticRegression(),
    "neighbours": KNeighborsClassifier(),
    "subclass": MyForest(**FEW),
    "forest behind polynomials": make_pipeline(PolynomialFeatures(), FOREST),
    "forest behind quantiles": make_pipeline(QuantileTransformer(n_quantiles=9), FOREST),
    "calibrated logistic": CalibratedClassifierCV(LogisticRegression(), cv=2),
    "bagged logistic": BaggingClassifier(LogisticRegression(), **FEW),
    "forest and logistic": VotingClassifier([("a", FOREST), ("b", LogisticRegression())], voting="soft"),
    "boosted from a logistic": GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()),
}


@pytest.mark.parametrize("model", OTHERS.values(), ids=OTHERS)
def test_all_others_keep_the_subjects_rows(model: Any) -> None:
    model.fit(X, BINARY)
    for adapter in (ClassifierAdapter(), EnsembleAdapter()):
        assert adapter.batch_rows(model) is None


def test_voting_regressor_with_one_matrix_member_keeps_the_subjects_rows() -> None:
    model = VotingRegressor([("a", RandomForestRegressor(**FEW)), ("b", Ridge())]).fit(X, SCORE)
    assert EnsembleAdapter().batch_rows(model) is None


@pytest.mark.parametrize("encoder", ["ordinal", "one hot"])
def test_a_forest_behind_column_wise_encoders_predicts_each_row_alone(encoder: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"level": rng.choice(list("abcd"), N), "flag": rng.random(N) < 0.5, "u": rng.normal(size=N), "v": np.arange(N)}
    )
    levels = OrdinalEncoder() if encoder == "ordinal" else OneHotEncoder()
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer((levels, ["level"]), (scaled, ["u"]), ("drop", ["v"]), remainder="passthrough")
    target = (frame["u"] + (frame["level"] == "a") > 0).to_numpy()
    model = CalibratedClassifierCV(make_pipeline(columns, FOREST), cv=2).fit(frame, target)
    adapter = ClassifierAdapter()
    assert adapter.batch_rows(model) == 80_000
    assert_same_bits(adapter, model, of_classes, frame)


def test_a_transformer_that_mixes_columns_does_not() -> None:
    columns = make_column_transformer((PCA(2), [0, 1]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(X, BINARY)
    assert ClassifierAdapter().batch_rows(model) is None
