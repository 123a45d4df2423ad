"""Models behind pipelines get several variants a call, of the same columns only; memory-hungry ones do not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, NLL
from uq_report.core.model.subject import make_subject
from uq_report.core.model.variants import Variant
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.inputs.adapters.ensemble import RegressorStdAdapter
from uq_report.inputs.adapters.glm import PoissonAdapter

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.normal(size=60), "c": RNG.choice(["x", "y", "z"], 60)})
Y = (X["a"] + RNG.normal(size=60) > 0).astype(int).to_numpy()


def behind(model: Any) -> Any:
    encode = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    return make_pipeline(encode, model).fit(X, Y)


@pytest.mark.parametrize(
    ("adapter", "model", "rows"),
    [
        (ClassifierAdapter(), LogisticRegression(), 25_000),
        (ClassifierAdapter(), GaussianProcessClassifier(optimizer=None), 2**20 // 60),
        (RegressorStdAdapter(), GaussianProcessRegressor(optimizer=None), 2**20 // 60),
        (RegressorStdAdapter(), BayesianRidge(), 25_000),
        (PoissonAdapter(), PoissonRegressor(), 25_000),
    ],
)
def test_rows_that_variants_of_the_same_columns_share(adapter: Any, model: Any, rows: int | None) -> None:
    assert adapter.batch_rows(behind(model)) is None
    assert adapter.rows_together(behind(model)) == rows


@pytest.mark.parametrize(("trained", "rows"), [(0, 250), (500, 2097), (4194, 250), (4195, 250), (4000, 262)])
def test_gaussian_processes_get_fewer_rows_the_more_they_were_trained_on(trained: int, rows: int) -> None:
    model = GaussianProcessRegressor()
    model.X_train_ = np.empty((trained, 1))
    assert RegressorStdAdapter().rows_together(model) == rows
    assert RegressorStdAdapter().rows_together(GaussianProcessRegressor()) == 250


def test_models_of_other_libraries_are_left_to_the_engine() -> None:
    class Own(LogisticRegression):  # type: ignore[misc]
        pass

    assert ClassifierAdapter().rows_together(Own()) is None


@pytest.mark.parametrize("backwards", [False, True])
def test_a_features_bytes_do_not_depend_on_the_order_of_features(backwards: bool) -> None:
    subject = make_subject(behind(LogisticRegression()), ClassifierAdapter(), X, Y)
    engine = Engine(subject, {"nll": NLL, "entropy": ENTROPY})
    shuffles = {
        j: [Variant((j,), donors=np.random.default_rng([j, k]).permutation(60)) for k in range(7)] for j in range(3)
    }

    def values(order: list[int]) -> dict[int, Any]:
        groups = list(engine.evaluate([v for j in order for v in shuffles[j]], [NLL, ENTROPY]))
        assert [group.values.shape[1] for group in groups] == [7, 7, 7]
        return {j: group.values for j, group in zip(order, groups, strict=True)}

    one, other = values([0, 1, 2]), values([2, 0, 1] if backwards else [1, 2, 0])
    for j in range(3):
        np.testing.assert_array_equal(one[j], other[j])
