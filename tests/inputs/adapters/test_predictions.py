"""A scored table without its model: what looks at predictions runs, what asks again says why it does not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY
from uq_report.core.model.variants import Variant
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.core.traits.stored_predictions import ONLY_GIVEN, scored_rows
from uq_report.distributions import Categorical, Normal

RNG = np.random.default_rng(0)
N = 400
X = pd.DataFrame(
    {
        "age": RNG.normal(size=N).round(2),
        "job": pd.Series(RNG.choice(["a", "b", ""], N)).replace("", None),
        "day": pd.Timestamp("2026-01-01"),
    }
)
P = 1 / (1 + np.exp(-X["age"].to_numpy() - (X["job"] == "a")))
Y = np.where(RNG.random(N) < P, "good", "bad")
SCORED = scored_rows(X, np.column_stack([1 - P, P]), ("bad", "good"))


def probability(dist: Any) -> Any:
    assert isinstance(dist, Categorical)
    return dist.probabilities[:, 1]


def test_the_given_rows_are_found_whole_in_part_and_in_any_order() -> None:
    np.testing.assert_array_equal(probability(SCORED.predict(X)), P)
    np.testing.assert_array_equal(probability(SCORED.predict(X[:7])), P[:7])
    rows = RNG.permutation(N)
    np.testing.assert_array_equal(probability(SCORED.predict(X.iloc[rows])), P[rows])
    np.testing.assert_array_equal(probability(SCORED.take(rows[:50]).predict(X.iloc[rows[:50]])), P[rows[:50]])
    array = scored_rows(X[["age"]].to_numpy(), np.column_stack([P, P + 1]))
    assert isinstance(array.predict(X[["age"]].to_numpy()[:9]), Normal)
    np.testing.assert_array_equal(array.predict(X[["age"]].to_numpy()).mean(), P)


def test_other_rows_are_refused() -> None:
    other = X.assign(age=X["age"].where(X.index != 5, 99.0))
    with pytest.raises(UnsupportedError, match=f"{ONLY_GIVEN}; 1 of 400 rows are others"):
        SCORED.predict(other)


def test_equal_rows_with_other_predictions_are_told_by_their_place_or_not_at_all() -> None:
    twice = scored_rows(np.array([[1.0], [1.0], [2.0]]), np.array([[0.1, 1.0], [0.2, 1.0], [0.3, 1.0]]))
    np.testing.assert_array_equal(twice.predict(np.array([[1.0], [1.0]])).mean(), [0.1, 0.2])
    np.testing.assert_array_equal(twice.predict(np.array([[2.0]])).mean(), [0.3])
    with pytest.raises(UnsupportedError, match="1 of 2 rows equal several given rows"):
        twice.predict(np.array([[2.0], [1.0]]))
    subject = uq.explain(twice, twice.X, max_rows=2, seed=1)
    kept = [[0.1, 0.2, 0.3][i] for i in range(3)]
    assert set(Engine(subject, {}).baseline.mean()) < set(kept)


def test_the_engine_refuses_changed_rows_even_if_they_were_all_given() -> None:
    subject = uq.explain(SCORED, X, Y)
    engine = Engine(subject, {"entropy": ENTROPY})
    np.testing.assert_array_equal(engine.unchanged([ENTROPY])[0], SCORED.predict(X).entropy())
    for ask in (
        lambda: list(engine.evaluate([Variant(())], [ENTROPY])),
        lambda: engine.measure_rows(X, [ENTROPY]),
        lambda: engine.derivatives([0]),
    ):
        with pytest.raises(UnsupportedError, match=ONLY_GIVEN):
            ask()


@pytest.fixture(scope="module")
def audited() -> Any:
    subject = uq.explain(SCORED, X, Y, train=(X, Y), protected=["job"], max_rows=300)
    return uq.audit(subject, progress=False).run


def test_an_audit_computes_what_needs_no_model_and_lists_the_rest_with_the_reason(audited: Any) -> None:
    ran = {result.explainer for result in audited.results}
    assert {"calibration", "data_quality", "groups", "redundancy", "support"} <= ran
    reasons = {entry.name: entry.reason for entry in audited.not_run if entry.group == "explainers"}
    for name in ("pfi", "pdp", "ale", "h_statistic", "rsens", "shap"):
        assert ONLY_GIVEN in reasons[name] or "not installed" in reasons[name]
    assert reasons["cid"].startswith("it needs pfi, which did not run: it needs the model")
    assert ran.isdisjoint(reasons)


def test_the_numbers_are_those_of_the_model_that_made_the_predictions(audited: Any) -> None:
    model = uq.explain(SCORED.predict, X, Y, max_rows=300)
    expected = uq.audit(model, progress=False, explainers=["calibration"]).run
    calibration = next(r for r in audited.results if r.id == "calibration.reliability")
    own = next(r for r in expected.results if r.id == "calibration.reliability")
    pd.testing.assert_frame_equal(calibration.frame, own.frame)
    assert audited.subject["sampled_from"] == N
    assert "stored predictions (class probabilities)" in audited.subject["adapter_reason"]


def test_what_is_no_distribution_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="probabilities"):
        scored_rows(X[:2], np.array([[0.5, 0.6], [0.5, 0.5]]), (0, 1))
    with pytest.raises(InputError, match=r"normal\.std"):
        scored_rows(X[:1], np.array([[0.5, 0.0]]))
    with pytest.raises(InputError, match="one row per row of X, 400; got 1"):
        scored_rows(X, np.array([[0.5, 1.0]]))
