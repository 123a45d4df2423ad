"""What the results of R-sens hold, of a quadratic mean with a known spread: units, ranks, rows, pairs and errors."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.subject import make_subject
from uq_report.distributions import Normal
from uq_report.methods.rsens.estimator import unstable_rows
from uq_report.methods.rsens.explain import RSens
from uq_report.testing import KnownTruth, measures

GAP = float("nan")
A = np.array([0.0, 1.0, 2.0, 4.0, 5.0, 6.0, -1.0, 3.0])
B = np.array([0.5, -0.5, 0.25, 0.0, -0.25, 0.75, 1.0, -0.75])
C = np.array([9.0, 7.0, 5.0, 3.0, 3.0, 5.0, 7.0, 9.0])
FRAME = {"a": A, "b": B, "c": C}
SPREAD = {name: values.std() for name, values in FRAME.items()}


class Quadratic(KnownTruth):
    """Predicts the mean a² + ab/2 - 3bc with a standard deviation of 1."""

    def predict(self, model: Any, X: Any) -> Any:
        a, b, c = (np.asarray(X[name], dtype=float) for name in "abc")
        return Normal(a**2 + a * b / 2 - 3 * b * c, np.ones(len(X)))


class Jagged(KnownTruth):
    """Predicts the mean 2a - b with teeth that no difference resolves."""

    def predict(self, model: Any, X: Any) -> Any:
        a, b = np.asarray(X["a"], dtype=float), np.asarray(X["b"], dtype=float)
        return Normal(2 * a - b + 1e-3 * np.sin(1e6 * (a + b)), np.ones(len(X)))


def explained(frame: Any = None, adapter: Any = None, **options: Any) -> dict[str, Result]:
    given = make_subject(None, adapter or Quadratic(), pd.DataFrame(FRAME if frame is None else frame))
    engine = Engine(given, measures()).bound("rsens")
    return {result.id: result for result in RSens(**options).explain(given, engine, {})}


def lines(result: Result, measure: str) -> pd.DataFrame:
    return result.estimates[result.estimates["measure"] == measure].set_index("feature")


def test_a_size_is_raw_per_spread_and_ranked_from_the_largest() -> None:
    main = explained(interactions=False, comparators=False)["rsens"]
    table = lines(main, "rsens")
    raw = {"a": np.abs(2 * A + B / 2).mean(), "b": np.abs(A / 2 - 3 * C).mean(), "c": np.abs(3 * B).mean()}
    sizes = {name: raw[name] * SPREAD[name] for name in raw}
    for name, value in raw.items():
        found = table.loc[name]
        assert (found["raw"], found["spread"]) == pytest.approx((value, SPREAD[name]), rel=1e-6)
        assert found["estimate"] == found["per_spread"] == pytest.approx(sizes[name], rel=1e-6)
        assert found["rank"] == 1 + sum(size > sizes[name] for size in sizes.values())
    values = main.frame.groupby("feature")["value"].mean()
    np.testing.assert_allclose(values, table["estimate"].loc[values.index])
    assert main.notes[-1].startswith("Means over 8 observations;")
    shared = lines(explained(interactions=False, comparators=False, shared_unit=True)["rsens"], "rsens")
    np.testing.assert_allclose(shared["estimate"], [raw[name] for name in "abc"], rtol=1e-6)


@pytest.mark.parametrize(
    ("most", "words"), [(8, "Means over 8 observations;"), (7, "Means over a random sample of 7 of 8 observations;")]
)
def test_a_sample_is_told_where_there_is_one(most: int, words: str) -> None:
    result = explained(interactions=False, comparators=False, max_rows=most)["rsens"]
    assert any(note.startswith(words) for note in result.notes)


def test_pairs_have_second_derivatives_in_units_of_both_spreads() -> None:
    pairs = explained(comparators=False)["rsens.interaction"]
    assert pairs.estimates["measure"].tolist() == ["rsens2"] * 3 + ["eah"] * 3 + ["aeh"] * 3
    bent = {("a", "b"): 0.5, ("a", "c"): 0.0, ("b", "c"): 3.0}
    for _, line in pairs.estimates.iterrows():
        key = (line["feature"], line["feature_2"])
        area = SPREAD[key[0]] * SPREAD[key[1]]
        assert (line["raw"], line["spread"]) == pytest.approx((bent[key], area), rel=1e-4, abs=1e-4)
        assert line["estimate"] == line["per_spread"] == pytest.approx(bent[key] * area, rel=1e-4, abs=1e-4)
    assert lines(pairs, "rsens2")["rank"].tolist() == [2, 3, 1]
    assert lines(pairs, "rsens2")["raw"].tolist()[1] == 0  # rounding
    square = pairs.frame.set_index(["feature", "feature_2"])["value"]
    assert len(square) == 9
    for (one, other), size in {**bent, ("a", "a"): 2.0, ("b", "b"): 0.0}.items():
        expected = pytest.approx(size * SPREAD[one] * SPREAD[other], rel=1e-4, abs=1e-4)
        assert square[one, other] == square[other, one] == expected
    assert pairs.rows is not None
    np.testing.assert_allclose(
        [pairs.rows.of("rsens2", f"{a} x {b}") for a, b in bent],
        [np.full(8, size * SPREAD[a] * SPREAD[b]) for (a, b), size in bent.items()],
        rtol=1e-4,
        atol=1e-4,
    )


def test_features_with_gaps_have_no_values_for_all_rows() -> None:
    gaps = {name: np.where(np.arange(8) == k, GAP, values) for k, (name, values) in enumerate(FRAME.items())}
    made = explained({name: np.nan_to_num(values) for name, values in gaps.items()})
    assert made["rsens"].rows is not None

    class Filled(Quadratic):
        def predict(self, model: Any, X: Any) -> Any:
            return super().predict(model, X.fillna(0.0))

    found = explained(gaps, Filled())
    assert found["rsens"].rows is None
    assert found["rsens.interaction"].rows is None
    others = found["rsens.comparators"]
    assert others.frame["value"].tolist() == others.estimates["estimate"].tolist()  # means alone
    compared = lines(others, "apc")
    assert np.isfinite(compared["estimate"]).all()
    assert found["rsens"].frame.groupby("feature").size().tolist() == [7, 7, 7]


def test_two_numeric_features_are_a_pair() -> None:
    pairs = explained(features=("b", "c"), comparators=False)["rsens.interaction"]
    assert pairs.estimates["measure"].tolist() == ["rsens2", "eah", "aeh"]


def test_changes_over_steps_keep_their_sign_and_their_unit() -> None:
    found = explained(adapter=Jagged(), interactions=False)
    assert "finite-step form" in found["rsens"].meta["method"]
    for measure in ("ead", "aed"):
        np.testing.assert_allclose(lines(found["rsens.comparators"], measure)["raw"], [2, 1, 0], atol=0.01)
    assert any("No exact rule for this model" in note for note in explained()["rsens"].notes)


def test_rows_without_a_value_are_left_out_of_comparisons() -> None:
    class Line(KnownTruth):
        def predict(self, model: Any, X: Any) -> Any:
            rows = X.fillna(0.0)
            return Normal(np.asarray(2 * rows["a"] - rows["b"], dtype=float), np.ones(len(X)))

    gaps = FRAME | {"a": np.where(np.arange(8) == 2, GAP, A), "b": np.where(np.arange(8) == 5, GAP, B)}
    compared = lines(explained(gaps, Line(), interactions=False)["rsens.comparators"], "apc")
    np.testing.assert_allclose(compared["raw"], [2, 1, 0], atol=1e-8)


def test_an_error_of_a_twentieth_of_a_value_or_of_the_floor_is_believed() -> None:
    norms, errors = np.array([2.0, 2.0, 0.0, 0.0, 2.0]), np.array([0.0999, 0.1001, 0.3, 0.31, GAP])
    assert unstable_rows(norms, errors, np.array([0.0, 0.0, 0.3, 0.3, 9.0])).tolist() == [
        False,
        True,
        False,
        True,
        True,
    ]
