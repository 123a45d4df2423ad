"""The H-statistic by hand: its ratio, what is rounding, what it costs, and what its result says."""

from typing import Any

import numpy as np
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine, Progress
from uq_report.core.model.subject import make_subject
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.methods.h_statistic.explain import HStatistic, Strength, pairwise
from uq_report.testing import KnownTruth, measures


class Product(KnownTruth):
    """Predicts x0 x1 + x2."""

    def predict(self, model: Any, X: Any) -> Any:
        return Normal(X[:, 0] * X[:, 1] + X[:, 2], np.ones(len(X)))


def test_h_is_the_share_of_the_joint_variance_that_is_no_sum() -> None:
    """Centred by the weights the parts are (-1.5, 0.5), (-3, 1) and (-7.5, 2.5): (-3, 1) is left."""
    first, second, both = np.array([[0.0, 2.0], [0.0, 4.0], [0.0, 10.0]])
    found = pairwise(first, second, both, np.array([0.25, 0.75]))
    assert found == pytest.approx((3 / 18.75, np.sqrt(3), np.sqrt(18.75)))


@pytest.mark.parametrize(("more", "left"), [(3.9e-12, 0.0), (4.1e-12, 2.05e-12)])
def test_what_is_left_by_rounding_is_none(more: float, left: float) -> None:
    half = np.full(2, 0.5)
    found = pairwise(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0.0, 2.0 + more]), half)
    assert found.strength == pytest.approx(left, rel=1e-2)
    assert np.isnan(pairwise(half, half, half, half).h2)


def result(X: Any, **options: Any) -> Any:
    engine = Engine(make_subject(None, Product(), X), measures()).bound("h_statistic")
    return HStatistic(measures=("prediction",), **options).explain(engine.subject, engine, {})[0]


def test_what_the_result_says() -> None:
    X = np.random.default_rng(0).normal(size=(51, 3))
    sampled, whole = result(X), result(X[:6], top=None)
    drawn = "PDs are evaluated at and averaged over 50 of 51 observations."
    assert sampled.notes == (
        f"{drawn} Pairs are among the 6 features with the largest total H².",
        "H² of a small sample is biased upwards; it has no interval.",
        "Joint PDs with a standard deviation below 1% of the measure's are not ranked.",
    )
    assert whole.notes[0] == "PDs are evaluated at and averaged over all 6 observations."
    assert set(whole.frame["repeat"]) == {0}
    assert whole.frame["value"].tolist() == whole.estimates["estimate"].tolist()
    assert whole.estimates[["std_error", "lower", "upper", "confidence"]].isna().all(axis=None)
    assert set(whole.estimates["covers"]) == {"none"}
    assert len(result(X[:3]).estimates) == 6


@pytest.mark.parametrize(("top", "pairs"), [(None, 10), (2, 1), (4, 6), (5, 10), (9, 10)])
@pytest.mark.parametrize(("n", "rows"), [(7, 7), (8, 8), (30, 8)])
def test_what_it_will_cost_is_every_ordered_pair_of_rows(top: int | None, pairs: int, n: int, rows: int) -> None:
    subject = make_subject(None, Product(), np.random.default_rng(0).normal(size=(n, 5)))
    engine = Engine(subject, measures()).bound("h_statistic")
    assert HStatistic(max_rows=8, top=top).cost(subject, engine) == rows * (rows - 1) * (5 + pairs)
    some = HStatistic(max_rows=8, features=("x0", "x1", "x2"))
    assert some.cost(subject, engine) == rows * (rows - 1) * 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"top": 1}, "top must be an integer >= 2 or None; got 1"),
        ({"unstable_below": 1.0}, r"unstable_below must be a number in \[0, 1\); got 1.0"),
        ({"unstable_below": -0.1}, r"unstable_below must be a number in \[0, 1\); got -0.1"),
    ],
)
def test_options_are_refused_beyond_their_limits(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        HStatistic(**options)
    HStatistic(max_rows=3, top=2, unstable_below=0.0)


def test_pairs_are_among_the_features_that_lead_by_any_measure_in_order() -> None:
    totals = {"a": (0.2, 0.2), "b": (0.0, 0.9), "c": (0.5, 0.4), "d": (np.nan, np.nan)}
    strengths = {(f, ""): [Strength(h2, 1.0, 1.0) for h2 in values] for f, values in totals.items()}
    for top, chosen in ((2, ("b", "c")), (3, ("a", "b", "c")), (4, tuple("abcd")), (None, tuple("abcd"))):
        assert HStatistic(top=top)._leading(tuple("abcd"), strengths) == chosen


def test_as_many_variants_are_announced_as_there_are_shifts() -> None:
    steps: list[Progress] = []
    X = np.random.default_rng(0).normal(size=(5, 3))
    engine = Engine(make_subject(None, Product(), X), measures(), progress=steps.append)
    HStatistic(measures=("prediction",)).explain(engine.subject, engine.bound("h_statistic"), {})
    assert {step.total for step in steps} == {4}
    assert [step.done for step in steps].count(4) == 6, "three features, then three pairs"


def test_a_hundredth_of_the_spread_is_the_least_that_is_ranked() -> None:
    assert HStatistic() == HStatistic(unstable_below=0.01, top=6, max_rows=50)
