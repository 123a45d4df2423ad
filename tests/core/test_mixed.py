"""Mixed rows are predicted by a fast path that agrees with the model, else by the model itself; all are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from uq_report.core.engine.fast_path_evaluator import COMPARED, Engine
from uq_report.core.model.measures import ENTROPY, KL, NLL, PREDICTION
from uq_report.core.model.subject import make_subject
from uq_report.core.model.variants import Mix, mixed_rows
from uq_report.core.support.arrays import BoolArray, FloatArray
from uq_report.core.support.errors import BudgetError, UnsupportedError
from uq_report.distributions import Normal
from uq_report.inputs.adapters.members import FunctionAdapter

RNG = np.random.default_rng(0)
X, POOL, Y = RNG.normal(size=(12, 3)), RNG.normal(size=(9, 3)), RNG.normal(size=12)
MEASURES = (PREDICTION, ENTROPY, NLL)
TARGET = np.array([0.5, -1.0])


def model(rows: Any) -> Normal:
    return Normal(rows @ [1.0, 2.0, 3.0], np.exp(0.1 * rows[:, 0]))


class Path:
    """Mixes the rows by itself; `wrong` is added to the mean, and calls from number `breaks` on fail."""

    title, api_version = "a path", 1

    def __init__(
        self, name: str = "p", rank: int = 1, wrong: float = 0.0, breaks: int = 99, methods: set[str] | None = None
    ) -> None:
        self.name, self.rank, self.wrong, self.breaks, self.methods = name, rank, wrong, breaks, methods
        self.asked: list[int] = []

    def shortcut(self, model: Any, adapter: Any, X: Any) -> Any:
        return None

    def mixer(self, model: Any, adapter: Any, X: Any, rows: int) -> Any:
        if rows == 0:
            raise ValueError("no rows")
        self.table = X
        return self if rows >= 10 else None

    def mixed(self, mixes: Any) -> Any:
        rows = mixed_rows(self.table, mixes)
        self.asked.append(len(rows))
        if len(self.asked) > self.breaks:
            raise ValueError("broken")
        known = model(rows)
        return Normal(known.mean() + self.wrong, np.sqrt(known.variance()))


def mixes(seed: int = 0) -> list[Mix]:
    """Two mixes of the first two rows of the pool with others."""
    rng = np.random.default_rng(seed)
    return [Mix(row, rng.random((3, 3)) < 0.5, np.arange(2, 6 + row)) for row in (0, 1)]


def expected(asked: list[Mix]) -> FloatArray:
    """Measures of every mixed row, made one by one."""
    found = []
    for mix in asked:
        for other in mix.others:
            for own in mix.own:
                row = np.array([POOL[mix.row if own[j] else other, j] for j in range(3)])
                found.append([m.rows(model(row[None]), TARGET[[mix.row]], None)[0] for m in MEASURES])
    return np.array(found).T


def engine(*paths: Any, **settings: Any) -> Engine:
    return Engine(
        make_subject(model, FunctionAdapter(), X, Y), {m.name: m for m in MEASURES}, fast_paths=paths, **settings
    )


def test_a_path_that_agrees_predicts_what_is_asked_later() -> None:
    path = Path()
    own = engine(path).bound("odd")
    mixing = own.mixing(POOL, MEASURES, 100, TARGET)
    before = sum(own.rows_predicted.values())
    for seed in (0, 1):
        np.testing.assert_allclose(mixing(mixes(seed)), expected(mixes(seed)), rtol=1e-12)
    assert path.asked == [COMPARED, 27, 27]
    assert (own.served["p"].rows, own.served["p"].compared, own.served["p"].failed) == (54, COMPARED, 0)
    assert sum(own.rows_predicted.values()) - before == 54


def test_every_measure_is_compared_and_a_path_that_differs_is_left() -> None:
    wrong, right = Path("a", 0, wrong=1e-6), Path("b", 1)
    own = engine(right, wrong)
    for measure in (ENTROPY, PREDICTION):  # the wrong mean is not seen in the entropy
        own.mixing(POOL, [measure], 100)(mixes())
    assert "differ from the model's own" in own.served["a"].dropped
    assert (own.served["a"].rows, own.served["b"].rows) == (27, 27)


def test_a_path_is_not_asked_for_measures_that_need_more_than_it_answers() -> None:
    path = Path(methods={"mean", "entropy"})
    own = engine(path)
    own.mixing(POOL, [ENTROPY, PREDICTION], 100)(mixes())
    assert path.asked == [COMPARED, 27]
    path.methods = {"mean"}
    own.mixing(POOL, [ENTROPY, PREDICTION], 100)(mixes())
    assert path.asked == [COMPARED, 27]
    assert not own.served["p"].dropped


def test_a_path_that_fails_later_leaves_the_rows_to_the_model() -> None:
    path = Path(breaks=2)
    own = engine(path)
    mixing = own.mixing(POOL, MEASURES, 100, TARGET)
    for seed in (0, 1):
        np.testing.assert_allclose(mixing(mixes(seed)), expected(mixes(seed)), rtol=1e-12)
    assert (own.served["p"].rows, own.served["p"].failed) == (27, 27)
    assert sum(own.rows_predicted.values()) == len(X) + 54


@pytest.mark.parametrize(("rows", "dropped"), [(9, ""), (0, "ValueError: no rows")])
def test_without_a_path_the_model_is_asked(rows: int, dropped: str) -> None:
    own = engine(Path())
    np.testing.assert_allclose(own.mixing(POOL, MEASURES, rows, TARGET)(mixes()), expected(mixes()), rtol=1e-12)
    assert own.served["p"].dropped == dropped
    assert own.served["p"].rows == 0


@pytest.mark.parametrize("paths", [(), (Path(),)])
def test_rows_beyond_the_budget_are_refused(paths: Any) -> None:
    own = engine(*paths, row_budget=len(X) + 26)
    mixing = own.mixing(POOL, MEASURES, 100, TARGET)
    with pytest.raises(BudgetError, match="the next 27 rows"):
        mixing(mixes())


def test_comparisons_mix_every_column_of_every_kind_of_row() -> None:
    seen: list[BoolArray] = []

    class Seeing(Path):
        def mixed(self, mixes: Any) -> Any:
            seen.extend(mix.own[0] for mix in mixes)
            assert {mix.row for mix in mixes} == {0, 1}
            return super().mixed(mixes)

    engine(Seeing()).mixing(POOL, MEASURES, 100, TARGET)(mixes())
    own = np.array(seen[:COMPARED])
    assert (abs(own.sum(axis=0) - COMPARED / 2) <= COMPARED / 4).all()
    assert (abs(np.asarray(np.corrcoef(own.T))[np.triu_indices(3, 1)]) < 0.6).all()


def test_a_distance_from_unchanged_rows_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="kl compares each row with itself unchanged"):
        engine().mixing(POOL, [KL], 100)
