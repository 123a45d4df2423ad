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
from uq_report.inputs.fast_paths import chebyshev, process, process_moves, process_spreads
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
    assert engine.served["process"].compared == 2 * 3 * 3  # three rows, every column and both kinds of change
    entropies = [group.values for group in engine.evaluate(variants, engine.select(["entropy"])[0])]
    assert np.isfinite(entropies).all()
    assert "nobody asked for" in engine.served["process"].dropped


@pytest.mark.parametrize(
    ("kernel", "fast", "settings", "widths"),
    [
        (KERNEL, True, {}, [30]),
        (KERNEL, False, {}, [30]),
        (KERNEL, True, {"batch_rows": 80}, [2] * 15),
        (KERNEL + DotProduct(), True, {}, [30]),
    ],
    ids=["curves", "the model", "the user's calls", "no curves"],
)
def test_curves_are_read_for_many_changes_at_once(
    kernel: Any, fast: bool, settings: Any, widths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all rows of a call, but kernels are made for 250 of them at most."""
    engine = Engine(of(GaussianProcessRegressor(kernel, optimizer=None)), measures(),
                    fast_paths=[ProcessPath()] if fast else (), **settings)  # fmt: skip
    variants = [Variant((1,), (value,)) for value in np.linspace(0, 6, 30)]
    chosen = engine.select(["prediction", "entropy"])[0]
    plain = [
        engine.measure_rows(np.column_stack([X[:, 0], np.full(40, v.values[0]), X[:, 2]]), chosen) for v in variants
    ]
    made: list[int] = []
    kernels_of = process.ProcessMeans._kernels

    def counted(self: Any, group: Any, rows: Any) -> Any:
        for K, own in kernels_of(self, group, rows):
            made.append(len(K))
            yield K, own

    monkeypatch.setattr(process.ProcessMeans, "_kernels", counted)
    found = [group.values for group in engine.evaluate(variants, chosen)]
    assert [values.shape[1] for values in found] == widths
    assert max(made, default=0) <= 250
    np.testing.assert_allclose(np.concatenate(found, axis=1), np.stack(plain, axis=1), rtol=1e-9)


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


CLOSED = {
    "rbf": 2.0 * RBF([1.0, 2.0, 3.0]) + WhiteKernel(0.3),
    "rbf of many scales": RBF(1e-2) + 3.0 * RBF(1e3) + WhiteKernel(),
    "matern 3/2": Matern(2.0, nu=1.5),
    "sum": SUM,
}


@pytest.mark.parametrize("kernel", CLOSED.values(), ids=CLOSED)
@pytest.mark.parametrize(("scaled", "most"), [(False, 2_000_000), (True, 2_000_000), (False, 0)])
def test_a_moved_column_needs_no_kernel_of_the_others(
    kernel: Any, scaled: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One value for all rows, one for each row and those of donors, in turn by column, against the model.

    Also where distances of so many rows are not kept.
    """
    monkeypatch.setattr(process_moves, "_MOST", most)
    gp = GaussianProcessRegressor(kernel, alpha=1e-3, normalize_y=True, optimizer=None)
    subject = of(make_pipeline(StandardScaler(), gp) if scaled else gp)
    path = ProcessPath().shortcut(subject.model, subject.adapter, subject.X)
    assert path is not None
    rows = np.array([3, 1, 4, 15, 9, 2, 6])
    calls = []
    for column in (0, 2, 0, 1):
        order = np.arange(40)[::-1][rows]
        for variant in (
            Variant((column,), (1.5,)),
            Variant((column,), (X[rows, column] * 1.1,)),
            Variant((column,), donors=order),
        ):
            table = X[rows].copy()
            table[:, column] = variant.values[0] if variant.values else X[order, column]
            calls.append((path.predict([variant], rows), subject.model.predict(table, return_std=True)))
    for found, (mean, std) in calls:
        np.testing.assert_allclose(found.mean(), mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.parameters[:, 1], std**2, rtol=1e-6)
    kernels = []
    monkeypatch.setattr(type(kernel), "__call__", lambda *_, **__: kernels.append(1))
    path.predict([Variant((1,), (0.5,)), Variant((1,), (X[rows, 1],))], rows).mean()
    assert not kernels


@pytest.mark.parametrize(("kernel", "told"), [(KERNEL, True), (SUM, False), (RBF(0.01), False)])
@pytest.mark.parametrize(("most", "few"), [(40 * 40 * 2, True), (40 * 40 - 1, False)])
def test_means_of_many_rows_are_told_by_curves_alone(
    kernel: Any, told: bool, most: int, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few rows' distances are kept for sums over the training rows, where curves do not tell."""
    monkeypatch.setattr(process_moves, "_MOST", most)
    subject = of(GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None))
    path = ProcessPath().shortcut(subject.model, subject.adapter, subject.X)
    assert path is not None
    made: list[int] = []
    plain = process_moves.Moves.kernel

    def making(self: Any, inner: Any) -> Any:
        made.append(len(inner))
        return plain(self, inner)

    monkeypatch.setattr(process_moves.Moves, "kernel", making)
    path.predict([Variant((1,), (2.5,))], np.arange(40)).mean()
    assert made == ([] if few or told else [40])


@pytest.mark.parametrize(("room", "made"), [(3, [0, 1, 2]), (2, [0, 1, 2, 1, 2])], ids=["of all", "of two"])
def test_curves_are_kept_from_one_explainer_to_the_next(
    room: int, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of columns asked in turn, those that came first stay where there is no room for all."""
    subject = of(GaussianProcessRegressor(RBF(4.0) + WhiteKernel(0.3), optimizer=None))
    path = ProcessPath().shortcut(subject.model, subject.adapter, subject.X)
    assert path is not None
    assert path.spreads is not None
    points = [len(along.span.points) for along in path.spreads._along if along]
    monkeypatch.setattr(chebyshev, "_KEPT", 40 * (sum(points) if room == 3 else max(points) * 2))
    plain, asked = process_spreads.Spreads._made, []

    def making(self: Any, j: int, rows: Any, along: Any) -> Any:
        asked.append((j, len(rows)))
        return plain(self, j, rows, along)

    monkeypatch.setattr(process_spreads.Spreads, "_made", making)
    for column in (0, 1, 2) * 2:
        path.predict([Variant((column,), (2.5,))], np.arange(40)).variance()
    assert [j for j, rows in asked if rows == 40] == made


def test_a_column_that_moves_several_inputs_is_left_to_the_kernel() -> None:
    """A step mixes columns: the first moves two inputs, the second an input that is not alike in all rows."""
    mix = FunctionTransformer(lambda rows: rows @ np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]]))
    subject = of(make_pipeline(mix, GaussianProcessRegressor(KERNEL, optimizer=None)))
    path = ProcessPath().shortcut(subject.model, subject.adapter, subject.X)
    assert path is not None
    rows = np.arange(10)
    for column in range(3):
        table = X[rows].copy()
        table[:, column] = 2.5
        found = path.predict([Variant((column,), (2.5,))], rows)
        np.testing.assert_allclose(found.mean(), subject.model.predict(table), rtol=1e-10)


@pytest.mark.parametrize(("scale", "known"), [(2.0, True), (0.01, False)])
def test_a_curve_tells_values_to_a_quarter_of_the_range_beyond_the_rows(scale: float, known: bool) -> None:
    """Further away, and where it would take too many points, the training rows are summed again."""
    subject = of(GaussianProcessRegressor(RBF(scale) + 0.5 * RBF(3.0), alpha=0.1, optimizer=None))
    path = ProcessPath().shortcut(subject.model, subject.adapter, subject.X)
    assert path is not None
    moves = path.moves
    assert moves is not None
    low, high = X[:, 1].min(), X[:, 1].max()
    ends = low - 0.25 * (high - low), high + 0.25 * (high - low)
    rows = np.arange(8)
    summed: list[list[int]] = []
    at = np.array([ends[0] + 1e-9, ends[1] - 1e-9, X[5, 1], 3.0, ends[0] - 1e-9, ends[1] + 1e-9, low - 50, high + 50])
    path.predict([Variant((1,), (at,))], rows)
    plain = type(moves)._summed

    def summing(*args: Any) -> Any:
        summed.append(args[-1].tolist())
        return plain(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(moves), "_summed", summing)
        found = path.predict([Variant((1,), (at,))], rows).mean()
    table = X[rows].copy()
    table[:, 1] = at
    np.testing.assert_allclose(found, subject.model.predict(table), rtol=1e-10, atol=1e-12)
    assert summed == [[4, 5, 6, 7] if known else [*range(8)], [4, 5, 6, 7]]
    assert (moves._spans[1][0] is not None, moves._spans[1][1] is not None) == (known, True)


@pytest.mark.parametrize(
    ("kernel", "served"),
    [
        (RBF(4.0) + WhiteKernel(0.3), True),
        (RBF(4.0) + WhiteKernel(1e-9), False),
        (RBF(0.7) + WhiteKernel(0.3), False),
        (SUM, False),
    ],
    ids=["curves", "too little noise for them", "more solves than changes", "no product"],
)
@pytest.mark.parametrize(
    ("change", "whole"),
    [
        (Variant((1,), (2.5,)), True),
        (Variant((1,), donors=np.arange(40)[::-1]), True),
        (Variant((1,), (X[:, 2],)), False),
    ],
    ids=["a value", "a permutation", "values of few"],
)
def test_variances_along_a_column_are_those_of_solves(kernel: Any, served: bool, change: Variant, whole: bool) -> None:
    """Curves of all rows serve where they pay and agree with solves; the distributions are the model's either way."""
    subject, rows = of(GaussianProcessRegressor(kernel, optimizer=None)), np.arange(40)
    path = ProcessPath().shortcut(subject.model, subject.adapter, subject.X)
    assert path is not None
    found = path.predict([change], rows)
    table = X.copy()
    (table[:, 1],) = change.filling(path._source, 0, 40)
    _, std = subject.model.predict(table, return_std=True)
    np.testing.assert_allclose(np.sqrt(found.variance()), std, rtol=1e-7)
    kept = path.spreads is not None and any(curve.size for curve in path.spreads._curves.values())
    assert kept == (served and whole)
