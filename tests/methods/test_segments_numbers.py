"""Segments by hand: words of ranges and levels, contrasts, and whose exchange brings a segment closer."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import uq_report as uq
from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, MeasureFacts, RowValues
from uq_report.core.model.sampling import Sampling
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical
from uq_report.evidence import ids
from uq_report.evidence.outcomes import CONFIDENCE_GAP
from uq_report.evidence.segments import ALL_ROWS
from uq_report.methods.segments.explain import Judged, SegmentTerm, _closer, changes, terms
from uq_report.methods.segments.tree import CodedFeature, Contrast, Grower, contrast, shortest

CODES = np.array([0, 1, 2, 3])


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0, 0, "age at most 10"),
        (1, 2, "age above 10 and at most 30"),
        (2, 3, "age above 20"),
        (-1, -1, "age missing"),
        (0, 3, "age not missing"),
        (-1, 1, "age at most 20"),
    ],
)
def test_ranges_are_named_by_their_ends(low: int, high: int, words: str) -> None:
    assert CodedFeature("age", CODES, 3, ("10", "20", "30")).words(low, high) == words


def test_missing_values_and_dates_have_their_words() -> None:
    gaps = CodedFeature("age", np.array([-1, 0, 1]), 1, ("10",))
    assert (gaps.words(-1, 0), gaps.words(-1, 1)) == ("age at most 10 or missing", "age not missing or missing")
    assert gaps.words(0, 0) == "age at most 10"
    days = CodedFeature("day", CODES, 3, ("a", "b", "c"), dates=True)
    assert days.words(1, 1) == "day after a and up to b"


@pytest.mark.parametrize(
    ("other", "low", "high", "words"),
    [
        (None, 0, 0, "= u"),
        (None, 0, 1, "= u or v"),
        (None, 0, 2, "other than x or y"),
        (None, 0, 3, "other than y"),
        (None, 1, 4, "other than u"),
        (0, 0, 1, "other than w, x or y"),
        (4, 0, 3, "= u, v, w or 1 more"),
        (0, 1, 1, "= v"),
    ],
)
def test_levels_are_named_by_those_inside_or_the_fewer_outside(
    other: int | None, low: int, high: int, words: str
) -> None:
    assert CodedFeature("kind", CODES, 4, levels=tuple("uvwxy"), other=other).words(low, high) == f"kind {words}"
    assert CodedFeature("kind", CODES, 3, levels=tuple("uvwx")).words(0, 1) == "kind = u or v"


@pytest.mark.parametrize(
    ("low", "high", "cut"),
    [(-1.0, 1.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, -0.5), (1.0, 2.0, 1.0), (1.2, 1.4, 1.3), (-np.inf, 3.0, 0.0)],
)
def test_the_shortest_number_between_two(low: float, high: float, cut: float) -> None:
    assert shortest(low, high) == cut
    assert low <= cut < high


def test_intervals_are_those_of_t_with_the_freedom_of_each() -> None:
    found = Contrast(mean=2.0, mean_std_error=0.5, difference=-1.0, std_error=0.25, units=8, freedom=4)
    own, both = found.intervals(0.9)
    assert own == pytest.approx(stats.t.interval(0.9, 7, 2.0, 0.5))
    assert both == pytest.approx(stats.t.interval(0.9, 4, -1.0, 0.25))
    assert found.p_value == pytest.approx(2 * stats.t.sf(4.0, 4))


@pytest.mark.parametrize("n", [3, 7])
def test_the_freedom_is_that_of_the_smaller_part(n: int) -> None:
    segment = np.arange(10) < n
    found = contrast(np.arange(10.0), segment, ~segment, Sampling(np.full(10, 0.1), 10))
    assert (found.units, found.freedom) == (n, 2)
    single = contrast(np.arange(10.0), np.arange(10) < 1, np.arange(10) > 0, Sampling(np.full(10, 0.1), 10))
    assert np.isnan(single.std_error)


def closer(before: float, measure: str = "nll", **terms: FloatArray) -> dict[str, tuple[float, float]]:
    """Return what each feature changes in the first four of six rows, and what is left; `terms` by measure."""
    values = np.stack([np.tile(row, (1, 1)) for row in terms.values()])
    delta = RowValues(tuple(terms), ("a",), values)
    rows = np.arange(6) < 4
    record: dict[str, Any] = {"measure": measure, "difference": before, "item": "i", "segment": "s", "n": 4}
    lines = _closer(record, delta, rows, Sampling(np.full(4, 0.25), 4), ["a", "b"], 0.95)
    return {line["feature"]: (line["estimate"], line["after"]) for line in lines}


SMALL = np.array([-1.01, -0.99, -1.0, -1.0, 50.0, 50.0])


def test_a_change_towards_the_rest_must_be_shown_and_bring_it_closer() -> None:
    assert closer(1.5, nll=SMALL) == {"a": pytest.approx((-1.0, 0.5))}
    assert closer(-1.5, nll=-SMALL) == {"a": pytest.approx((1.0, -0.5))}
    assert closer(1.5, nll=-SMALL) == closer(-1.5, nll=SMALL) == {}  # away from the rest
    assert closer(0.4, nll=SMALL) == {}  # as far on the other side, or farther
    assert closer(0.6, nll=SMALL) == {"a": pytest.approx((-1.0, -0.4))}
    assert closer(1.5, nll=np.array([-3.0, 1.0, -2.0, 0.0, 50.0, 50.0])) == {}  # not beyond chance
    assert closer(1.5, entropy=SMALL) == {}


@pytest.mark.parametrize(("size", "shown"), [(0.9e-12, False), (1.1e-12, True)])
def test_a_change_that_is_rounding_brings_nothing_closer(size: float, shown: bool) -> None:
    assert bool(closer(1.0, nll=size * SMALL)) == shown


def test_the_confidence_gap_changes_by_loss_less_entropy() -> None:
    found = closer(1.5, CONFIDENCE_GAP, nll=1.5 * SMALL, entropy=0.5 * SMALL)
    assert found == {"a": pytest.approx((-1.0, 0.5))}
    assert closer(1.5, CONFIDENCE_GAP, nll=SMALL) == {}


def test_a_change_whose_interval_ends_at_zero_shows_nothing() -> None:
    """All four rows alike have no error, so the interval is the mean: 0 moves nothing towards the rest."""
    assert closer(1.5, nll=np.zeros(6)) == closer(-1.5, nll=np.zeros(6)) == {}


def test_infinite_rows_are_counted() -> None:
    def of_outcomes(y: list[int]) -> Any:
        sure = uq.explain(lambda X: Categorical(np.tile([1.0, 0.0], (len(X), 1))), np.zeros((5, 1)), y)
        return terms(Engine(sure, testing.measures()).bound("segments"), ("nll",))

    found, (gap,) = of_outcomes([0, 1, 1, 0, 0])
    assert (found, gap.measure, gap.reason) == ([], "nll", "it is infinite in 2 of 5 observations")
    (finite,), gaps = of_outcomes([0, 0, 0, 0, 0])
    assert (finite.rows.tolist(), gaps) == ([0.0] * 5, ())


def leaves_of(target: FloatArray, weights: FloatArray) -> int:
    codes = np.arange(len(target))[:, None]
    grower = Grower(codes[:, 0], weights, codes[:, 0], max_leaf_nodes=4, min_samples_leaf=5, seed=0)
    return grower._leaves(codes, target)


def test_leaves_are_as_many_as_the_weighted_rows_ask_for() -> None:
    """Four steps ask for four leaves; where the upper half of the rows counts for nothing, for the two of the lower."""
    target = np.repeat([0.0, 10.0, 30.0, 100.0], 40)
    assert leaves_of(target, np.full(160, 1 / 160)) == 4
    fine = np.repeat([0.0, 0.02, 10.0, 10.02], 40)  # the small steps are a hundred-thousandth of the variance
    assert leaves_of(fine, np.full(160, 1 / 160)) == 4
    half = np.where(np.arange(160) < 80, 1.0, 1e-12)
    assert leaves_of(target, half / half.sum()) == 2


@pytest.mark.parametrize(("p_adjusted", "named"), [(0.05, ["a"]), (0.051, [])])
def test_features_are_named_for_segments_that_differ_at_the_level(p_adjusted: float, named: list[str]) -> None:
    delta = RowValues(("nll",), ("a",), SMALL[None, None])
    empty = pd.DataFrame(columns=list(Diagnostic.columns))
    table = pd.DataFrame(columns=list(ESTIMATE_COLUMNS))
    result = Diagnostic(id=ids.PFI_DELTA, explainer="pfi", title="", frame=empty, estimates=table, rows=delta)
    record = {"measure": "nll", "difference": 1.5, "item": "i", "segment": "s", "n": 4, "p_adjusted": p_adjusted}
    whole = record | {"segment": ALL_ROWS, "p_adjusted": 0.0}
    terms = [SegmentTerm(name, MeasureFacts(name, "nats", "loss"), np.zeros(6)) for name in ("nll", "brier")]
    subject = replace(testing.linear_subject(6), features=("a",))

    def judged(found: list[SegmentTerm]) -> Judged:
        engine: Any = SimpleNamespace(subject=subject, confidence=0.95)
        made = Judged(engine, found, np.ones(6, dtype=bool), np.zeros(6, dtype=bool))
        made.rows_of["s"] = np.arange(6) < 4
        return made

    lines, reason = changes([whole, record], judged(terms), {ids.PFI: [result]})
    assert [line["feature"] for line in lines] == named
    assert reason == "permutation importance has no changes of single observations in brier"
    assert changes([record], judged(terms[:1]), {ids.PFI: [result]})[1] == ""
    bare = replace(result, rows=None)
    assert changes([record], judged(terms), {ids.PFI: [bare]})[0] == []
