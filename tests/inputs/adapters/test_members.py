"""Lists of fitted models as members of a mixture: scikit-learn's, functions, and torch modules."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import BayesianRidge, Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.support.errors import InputError
from uq_report.distributions import CategoricalMixture, Normal, NormalMixture, Poisson
from uq_report.inputs.adapters.members import MembersAdapter

from .whole_audit import whole_audit

RNG = np.random.default_rng(0)
FRAME, TARGET = load_diabetes(return_X_y=True, as_frame=True)
FRAME = FRAME[["bmi", "s5"]]
X, Y, ROWS, OUTCOMES = FRAME[:300], TARGET[:300], FRAME[300:360], TARGET[300:360]
CANCER, BENIGN = load_breast_cancer(return_X_y=True, as_frame=True)
CANCER = CANCER[["mean radius", "mean texture"]]


def bootstrapped(model: Any, features: Any, target: Any, seed: int) -> Any:
    rows = np.random.default_rng(seed).integers(300, size=300)
    return model.fit(features.iloc[rows], target.iloc[rows])


RIDGES = [bootstrapped(BayesianRidge(), X, Y, seed) for seed in range(3)]
TREES = [
    bootstrapped(DecisionTreeClassifier(min_samples_leaf=20, random_state=0), CANCER[:300], BENIGN[:300], seed)
    for seed in range(3)
]


def test_regressors_are_mixed_with_equal_weights_and_split() -> None:
    subject = uq.explain(RIDGES, ROWS, OUTCOMES)
    assert subject.label == "3 models"
    assert subject.adapter_reason == "3 models (BayesianRidge) as members of a mixture"
    assert subject.notes == ("The model is a list of 3 models, read as members of a mixture with equal weights.",)
    dist = Engine(subject, {}).baseline
    assert isinstance(dist, NormalMixture)
    own = [ridge.predict(ROWS, return_std=True) for ridge in RIDGES]
    means, stds = (np.stack([pair[part] for pair in own], axis=1) for part in (0, 1))
    np.testing.assert_allclose(dist.aleatoric_variance(), (stds**2).mean(axis=1))
    np.testing.assert_allclose(dist.epistemic_variance(), means.var(axis=1))


def test_classifiers_are_mixed_and_split() -> None:
    rows = CANCER[300:360]
    subject = uq.explain(tuple(TREES), rows, BENIGN[300:360])
    dist = Engine(subject, {}).baseline
    assert isinstance(dist, CategoricalMixture)
    np.testing.assert_allclose(dist.probabilities, np.mean([tree.predict_proba(rows) for tree in TREES], axis=0))
    assert (dist.epistemic() > 0).any()
    assert subject.adapter.batch_rows(subject.model) == 80_000
    whole_audit(subject, explainers=["pfi", "pdp", "calibration"])


def test_identical_members_do_not_disagree() -> None:
    dist: Any = Engine(uq.explain([RIDGES[0]] * 3, ROWS), {}).baseline
    np.testing.assert_allclose(dist.epistemic_variance(), 0.0, atol=1e-9)
    np.testing.assert_allclose(dist.entropy(), Normal(*RIDGES[0].predict(ROWS, return_std=True)).entropy(), atol=1e-6)


def test_members_of_several_kinds_share_the_smallest_calls() -> None:
    pipeline = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, Y)
    forest = RandomForestRegressor(10, min_samples_leaf=9, random_state=0).fit(X, Y)
    subject = uq.explain([pipeline, forest, RIDGES[0]], ROWS, OUTCOMES)
    dist: Any = Engine(subject, {}).baseline
    assert dist.means.shape == (60, 12)
    assert dist.weights[[0, 1, 11]] == pytest.approx([1 / 3, 1 / 30, 1 / 3])
    adapter: Any = subject.adapter
    assert adapter.batch_rows(subject.model) is None
    assert adapter.rows_together(subject.model) == 25_000
    functions = uq.explain([RIDGES[0], lambda rows: Normal(np.zeros(len(rows)), 1.0)], ROWS)
    assert functions.adapter.rows_together(functions.model) is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([RIDGES[0], Lasso().fit(X, Y)], r"model\[1\]: model must give a distribution"),
        ([RIDGES[0], 3], r"model must give a distribution of the target for every row; got builtins\.list"),
        (
            [RIDGES[0], lambda rows: Poisson(np.ones(len(rows)))],
            r"distributions can be mixed; got Poisson and normal\. Leave out those of another kind",
        ),
        (
            [LogisticRegression().fit(X, labels) for labels in (Y > 100, np.where(Y > 100, "a", "b"))],
            r"model\[1\]\.classes_ must be those of model\[0\] in their order, \[False, True\]; got \['a', 'b'\]",
        ),
    ],
)
def test_members_that_do_not_mix_are_refused(models: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        uq.explain(models, ROWS)


def test_an_empty_list_and_a_wrong_number_of_adapters_are_refused() -> None:
    assert MembersAdapter().matches([]) is None
    assert MembersAdapter().matches("ab") is None
    with pytest.raises(InputError, match=r"one for each of 3 models; got 0\. Leave the argument adapter out"):
        MembersAdapter().predict(RIDGES, ROWS)
    assert uq.explain(RIDGES, ROWS, adapter="members").label == "3 models"
