"""Means of Gaussian processes: the model's own, without its standard deviations until a measure asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic, WhiteKernel
from sklearn.linear_model import BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.model.variants import Variant
from uq_report.inputs.adapters.regressor_std import RegressorStdAdapter
from uq_report.inputs.fast_paths import process
from uq_report.inputs.fast_paths.process import ProcessPath
from uq_report.testing import fast_path_model_checks, measures

RNG = np.random.default_rng(0)
X = RNG.normal(3, 2, size=(40, 3))
Y = 5 + 4 * np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + RNG.normal(size=40)
KERNEL = 2.0 * RBF([1.0, 2.0, 3.0]) + WhiteKernel(0.3)


SUM = ConstantKernel(0.4) + 2.0 * Matern([1.0, 2.0, 3.0], nu=2.5) + RationalQuadratic(2.0, 0.7) + WhiteKernel(0.1)
NORMED = GaussianProcessRegressor(RBF(2.0), alpha=0.5, normalize_y=True, optimizer=None)


def of(model: Any, rows: Any = X, noise: float = 0.0) -> Subject:
    return make_subject(model.fit(rows, Y), RegressorStdAdapter(noise_variance=noise), rows, Y)


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "array": lambda: of(GaussianProcessRegressor(KERNEL, optimizer=None)),
    "units and noise": lambda: of(NORMED, noise=0.7),
    "several scales": lambda: of(GaussianProcessRegressor(SUM, optimizer=None)),
    "frame behind a scaler": lambda: of(
        make_pipeline(StandardScaler(), GaussianProcessRegressor(RBF() + DotProduct() + WhiteKernel(), optimizer=None)),
        pd.DataFrame(X, columns=list("abc")),
    ),
}


@pytest.mark.parametrize("check", fast_path_model_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", SUBJECTS)
def test_processes_meet_the_contract(name: str, check: Callable[..., None]) -> None:
    check(ProcessPath, SUBJECTS[name]())


def test_work_that_asks_for_the_mean_alone_solves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the solve there is no standard deviation, and entropy would fail: the model itself answers then."""

    def unwanted(*_: Any, **__: Any) -> None:
        raise AssertionError("a solve nobody asked for")

    monkeypatch.setattr(process, "solve_triangular", unwanted)
    engine = Engine(SUBJECTS["array"](), measures(), fast_paths=[ProcessPath()])
    variants = [Variant((0,), (1.5,)), Variant((2,), donors=np.arange(40)[::-1])]
    means = engine.evaluate(variants, engine.select(["prediction"])[0])
    plain = GaussianProcessRegressor(KERNEL, optimizer=None).fit(X, Y)
    moved = X.copy(), X.copy()
    moved[0][:, 0], moved[1][:, 2] = 1.5, X[::-1, 2]
    found = np.concatenate([group.values[0] for group in means])
    assert np.allclose(found, [plain.predict(rows) for rows in moved], rtol=1e-12)
    assert engine.served["process"].rows == 80
    assert engine.served["process"].compared == 2 * 20  # half of the rows for each kind of change
    entropies = [group.values for group in engine.evaluate(variants, engine.select(["entropy"])[0])]
    assert np.isfinite(entropies).all()
    assert "nobody asked for" in engine.served["process"].dropped


def test_a_variance_of_0_is_the_model_s_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "solve_triangular", lambda _, k, **__: 1e9 + k)
    subject = SUBJECTS["array"]()
    path = ProcessPath().shortcut(subject.model, subject.adapter, subject.X)
    assert path is not None
    with pytest.raises(Exception, match="variances of the process must be > 0"):
        path.predict([Variant((0,), (1.5,))], np.arange(3)).entropy()


@pytest.mark.parametrize(
    "model",
    [
        BayesianRidge().fit(X, Y),
        GaussianProcessRegressor(KERNEL, optimizer=None).fit(X, np.column_stack([Y, Y])),
        GaussianProcessRegressor(KERNEL),
    ],
    ids=["no process", "two outputs", "not fitted"],
)
def test_other_models_have_no_such_path(model: Any) -> None:
    assert ProcessPath().shortcut(model, RegressorStdAdapter(), X) is None
