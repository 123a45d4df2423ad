"""A run with a fast path: its numbers are the model's, and what the path did is counted and reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from uq_report import audit, importance
from uq_report.core.engine.fast_path_evaluator import Engine, FastPathStats
from uq_report.core.model.adapter import Adapter
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.model.variants import Variant, variant_rows
from uq_report.core.support.arrays import ColumnLookup, FloatArray, IntArray, take_rows
from uq_report.distributions import Categorical
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.testing import fast_path_checks, fast_path_model_checks, measures

N = 70
X = np.random.default_rng(0).normal(size=(N, 4))
Y = (X[:, 0] + np.random.default_rng(1).logistic(size=N) > 0).astype(int)
NAMES = ["nll", "entropy", "prediction"]


@dataclass
class Products:
    """Predicts by the model's coefficients; off by a share `off` where column `bad` changes, or failing there."""

    model: Any
    X: Any
    bad: int = 3
    off: float = 0.0
    broken: bool = False

    def covers(self, variant: Variant) -> bool:
        return True

    def predict(self, group: Sequence[Variant], rows: IntArray) -> Categorical:
        bad = any(self.bad in variant.columns for variant in group)
        if bad and self.broken and len(rows) > 32:
            raise MemoryError
        table = variant_rows(take_rows(self.X, rows), group, ColumnLookup(self.X))
        p = 1 / (1 + np.exp(-(np.asarray(table) @ self.model.coef_[0] + self.model.intercept_[0])))
        p = p + self.off * bad * p * (1 - p)
        return Categorical(np.column_stack([1 - p, p]), classes=self.model.classes_)


class ProductsPath:
    """Finds a logistic regression on plain rows."""

    name: ClassVar[str] = "products"
    title: ClassVar[str] = "logistic regression"
    rank: ClassVar[int] = 5
    api_version: ClassVar[int] = 1

    def __init__(self, **options: Any) -> None:
        self.options = options

    def shortcut(self, model: Any, adapter: Adapter, X: Any) -> Any:
        if "error" in self.options:
            raise self.options["error"]
        return Products(model, X, **self.options) if type(model) is LogisticRegression and len(X) <= N else None


def subject() -> Subject:
    return make_subject(LogisticRegression().fit(X, Y), ClassifierAdapter(), X, Y)


def permuted(of: Subject) -> Iterator[Variant]:
    for c in range(len(of.features)):
        yield from (Variant((c,), donors=np.random.default_rng(r).permutation(of.n)) for r in range(3))


def values(*paths: Any, **how: Any) -> tuple[FloatArray, dict[str, FastPathStats]]:
    """All measures (measures, variants, rows), and what the paths did."""
    engine = Engine(subject(), measures(), fast_paths=paths, **how)
    groups = engine.evaluate(permuted(engine.subject), engine.select(NAMES)[0])
    return np.concatenate([group.values for group in groups], axis=1), engine.served


@pytest.mark.parametrize("check", fast_path_model_checks(), ids=lambda check: check.__name__)
def test_a_path_meets_the_contract(check: Any) -> None:
    check(ProductsPath, subject())


@pytest.mark.parametrize("check", fast_path_checks()[:1], ids=lambda check: check.__name__)
def test_a_path_declares_itself(check: Any) -> None:
    check(ProductsPath)


def test_all_rows_are_predicted_by_a_path_that_agrees_for_any_number_of_workers() -> None:
    plain, (one, served) = values()[0], values(ProductsPath())
    assert_allclose(one, plain, rtol=1e-10)
    assert served["products"].rows == one[0].size
    two, also = values(ProductsPath(), n_jobs=2, backend="threading")
    assert_array_equal(one, two)
    assert served == also


def test_explainers_of_one_run_share_what_was_compared_and_other_rows_are_compared_anew() -> None:
    of = subject()
    engine = Engine(of, measures(), fast_paths=[ProductsPath()])
    compared = []
    for bound in (engine.bound("a"), engine.bound("b"), engine.bound("c", of.take(np.arange(40)))):
        list(bound.evaluate(permuted(bound.subject), engine.select(["nll"])[0]))
        compared.append(engine.served["products"].compared)
    assert 0 < compared[0] == compared[1] < compared[2]


def test_parts_of_rows_and_rows_chosen() -> None:
    of, rows, donors = subject(), np.array([5, 3, 60, 11]), np.array([1, 2, 3, 4])
    for batch in (None, 3):
        plain, fast = (
            next(engine.evaluate([Variant((0, 3), donors=donors)], engine.select(["nll"])[0], rows)).values
            for engine in (Engine(of, measures(), batch_rows=batch, fast_paths=p) for p in ((), (ProductsPath(),)))
        )
        assert_allclose(fast, plain, rtol=1e-12)


def test_a_path_that_differs_in_a_column_is_left_for_the_rest_of_the_run_and_that_is_reported() -> None:
    found, served = values(ProductsPath(off=1e-6))
    path = served["products"]
    assert_allclose(found, values()[0], rtol=1e-10)
    assert path.rows == 3 * 3 * N  # of the columns before
    assert 1e-8 < path.difference < 1e-5
    assert "then not used: its predictions differ from the model's own by" in str(path)
    assert not values(ProductsPath(off=1e-11))[1]["products"].dropped


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_path_raises_when_it_is_asked_leaves_it(n_jobs: int) -> None:
    found, served = values(ProductsPath(error=RuntimeError("no\n such tree")), n_jobs=n_jobs, backend="threading")
    assert_array_equal(found, values()[0])
    assert served["products"].dropped == "RuntimeError: no such tree"


def test_rows_that_a_path_cannot_predict_are_the_model_s_and_counted() -> None:
    found, served = values(ProductsPath(broken=True))
    assert_allclose(found, values()[0], rtol=1e-10)
    assert (served["products"].failed, served["products"].rows) == (3 * N, found[0].size - 3 * N)
    assert f"{3 * N} further predictions by the model itself" in str(served["products"])


def test_the_run_says_that_the_setting_turned_them_off() -> None:
    of, options = subject(), {"pfi": {"n_repeats": 3}}
    fast, plain = (
        audit(of, explainers=["pfi"], checks=[], options=options, as_of="2026-01-01", fast_paths=on).run
        for on in (True, False)
    )
    assert plain.settings["fast_paths"] is False
    outcomes = [{p.outcome for p in run.plugins if p.group == "fast_paths"} for run in (fast, plain)]
    assert outcomes == [{"not used"}, {"turned off by the settings"}]
    for ours, theirs in zip(fast.results, plain.results, strict=True):
        pd.testing.assert_frame_equal(ours.estimates, theirs.estimates, rtol=1e-9, atol=1e-12)


def test_one_verb_takes_the_setting() -> None:
    fast, plain = (importance(subject(), ["nll"], n_repeats=3, fast_paths=on).frame["value"] for on in (True, False))
    assert_allclose(fast, plain, atol=1e-12)
