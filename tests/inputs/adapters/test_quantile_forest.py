"""Quantile regression forests: their quantiles, their levels, and their own ranks of the outcomes as the PIT."""

import re
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import uq_report as uq
from uq_report.core.support.errors import InputError
from uq_report.distributions import Quantiles
from uq_report.inputs.adapters.quantiles import QuantileForestAdapter

from .typed_lines import typed
from .whole_audit import whole_audit

forests = pytest.importorskip("quantile_forest", reason="these tests use quantile-forest")

FRAME, TARGET = load_diabetes(return_X_y=True, as_frame=True)
FRAME = FRAME[["bmi", "s5"]]
X, Y, ROWS, OUTCOMES = FRAME[:300], TARGET[:300], FRAME[300:360], TARGET[300:360]
FEW: dict[str, Any] = {"n_estimators": 20, "min_samples_leaf": 8, "random_state": 0}
FOREST = forests.RandomForestQuantileRegressor(**FEW).fit(X, Y)
ADAPTER = QuantileForestAdapter()
RNG, GRID = np.random.default_rng(0), np.arange(1, 100) / 100
FINE = QuantileForestAdapter(levels=tuple(GRID.tolist()))


def edges(model: Any, rows: Any) -> Any:
    """Return the quantiles predicted, in order."""
    dist: Any = ADAPTER.predict(model, rows)
    return dist.edges


@pytest.mark.parametrize("forest", [FOREST, forests.ExtraTreesQuantileRegressor(**FEW).fit(X, Y)])
def test_the_quantiles_are_the_forests_own(forest: Any) -> None:
    dist = FINE.predict(forest, ROWS)
    assert isinstance(dist, Quantiles)
    own = forest.predict(ROWS, quantiles=GRID.tolist())
    np.testing.assert_allclose(dist.edges, own, rtol=1e-12)


def test_the_pit_is_the_rank_that_the_forest_gives_an_outcome() -> None:
    """Both read the same weights of about 200 training outcomes a row; a rank steps where the table is linear."""
    forest = forests.RandomForestQuantileRegressor(max_samples_leaf=None, **FEW).fit(X, Y)
    ranks = forest.quantile_ranks(ROWS, OUTCOMES)
    gap = np.abs(FINE.predict(forest, ROWS).cdf(OUTCOMES) - ranks)
    assert gap.max() < 0.04
    assert gap.mean() < 0.01


def test_three_levels_of_its_own_are_used_and_fewer_are_not() -> None:
    own = forests.RandomForestQuantileRegressor(default_quantiles=[0.9, 0.1, 0.5], **FEW).fit(X, Y)
    match = ADAPTER.matches(own)
    assert match is not None
    assert match.reason == "RandomForestQuantileRegressor: quantiles at 3 levels, 0.1 to 0.9"
    np.testing.assert_allclose(
        ADAPTER.predict(own, ROWS).quantile(np.array([0.1, 0.5, 0.9])), own.predict(ROWS)[:, [1, 2, 0]]
    )
    for few in ([0.1, 0.9], "mean", 0.5):
        few_levels = forests.RandomForestQuantileRegressor(default_quantiles=few, **FEW)
        assert ADAPTER.matches(few_levels).reason.endswith("7 levels, 0.05 to 0.95")  # type: ignore[union-attr]


def test_every_row_has_the_same_bits_alone_and_in_company() -> None:
    scaled = make_pipeline(StandardScaler(), forests.RandomForestQuantileRegressor(**FEW)).fit(X, Y)
    for model in (FOREST, scaled):
        assert ADAPTER.batch_rows(model) == 25_000
        whole = edges(model, ROWS)
        for index in (
            np.arange(7, 8),
            np.arange(10, 13),
            np.random.default_rng(0).permutation(60),
            np.arange(120) // 2,
        ):
            np.testing.assert_array_equal(edges(model, ROWS.iloc[index]), whole[index])
    mixing = make_pipeline(PolynomialFeatures(), forests.RandomForestQuantileRegressor(**FEW)).fit(X, Y)
    assert ADAPTER.batch_rows(mixing) is None


def test_a_forest_is_audited_whole() -> None:
    assert whole_audit(uq.explain(FOREST, ROWS, OUTCOMES)).subject["adapter"] == "quantile_forest"


def test_equal_quantiles_of_fine_levels_are_joined_and_the_report_says_where() -> None:
    subject = uq.explain(FOREST, ROWS, OUTCOMES, adapter=FINE)
    # Interpolation can part two equal quantiles by rounding, in a row on some processors.
    joined = r"Neighbouring quantiles are equal in (59|60) of 60 rows \(rows 0, 1, 2, 3, 4 ...\)"
    (note,) = subject.notes
    assert re.fullmatch(f"{joined}: there a value keeps the middle of its levels\\.", note)


def test_unfitted_and_several_outputs_are_refused() -> None:
    with pytest.raises(InputError, match=r"must be fitted; got a RandomForestQuantileRegressor without trees"):
        ADAPTER.predict(forests.RandomForestQuantileRegressor(), ROWS)
    two = forests.RandomForestQuantileRegressor(**FEW).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(InputError, match=r"n_outputs_ must be 1; got 2\.") as error:
        ADAPTER.predict(two, ROWS)
    y = {"y": np.column_stack([OUTCOMES, OUTCOMES]), "y_train": np.column_stack([Y, Y])}
    assert typed(str(error.value), model=two, X=ROWS, X_train=X, **y).model.n_outputs_ == 1
