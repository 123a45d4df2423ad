"""Outcomes that may be censored: every form they come in, and what is refused instead of being misread."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report import runner
from uq_report.core.model import measures
from uq_report.core.model.results import Omission
from uq_report.core.support.digest import vector_sha256
from uq_report.core.support.errors import InputError, UQReportError
from uq_report.core.validation.inputs import vector
from uq_report.core.validation.lifetimes import LIFETIME, is_lifetimes, lifetimes, recorded
from uq_report.distributions import Normal, Survival
from uq_report.methods.groups.contrasts import row_values
from uq_report.methods.segments.explain import SegmentTerm, term_of
from uq_report.runner.settings import make_settings

TIMES, EVENTS = [2.0, 3.0, 4.0], [True, False, True]
WANTED = recorded(np.array(TIMES), np.array(EVENTS))
X = np.arange(3.0)[:, None]

FORMS: dict[str, Any] = {
    "tuple": (TIMES, EVENTS),
    "tuple of numbers": (pd.Series(TIMES, index=[7, 8, 9]), np.array([1.0, 0.0, 1.0])),
    "frame": pd.DataFrame({"week": TIMES, "arrest": [1, 0, 1]}),
    "scikit-survival": np.array(list(zip(EVENTS, TIMES, strict=True)), dtype=[("fstat", "?"), ("lenfol", "<f8")]),
    "time first": np.array(list(zip(TIMES, EVENTS, strict=True)), dtype=[("lenfol", "<i8"), ("fstat", "?")]),
    "their own": WANTED,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_becomes_one_array(form: str) -> None:
    y = vector(FORMS[form], 3, "y")
    assert y is not None
    assert y.dtype == LIFETIME
    np.testing.assert_array_equal(y, WANTED)


@pytest.mark.parametrize(
    "other",
    [
        [1.0, 2.0],
        pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 0.5]}),
        np.ones((2, 2)),
        (1.0, 2.0),
        pd.DataFrame({"a": [1]}),
    ],
    ids=["numbers", "two outputs", "matrix", "pair of numbers", "one column"],
)
def test_other_outcomes_are_not_taken_for_lifetimes(other: Any) -> None:
    assert lifetimes(other, 2, "y") is None


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ((TIMES, [False] * 3), r"at least one event; got 3 censored rows. Check the sign of the flags"),
        ((TIMES, [1, 2, 1]), r"events that are True or False, or 1 or 0; got 1, 2"),
        ((TIMES, ["dead", "alive", "dead"]), r"got 'dead', 'alive'"),
        ((TIMES, [1, np.nan, 1]), r"got 1.0, nan"),
        (([2.0, -3.0, 4.0], EVENTS), r"finite times >= 0; got -3 in row 1 \(1 of 3 rows\)"),
        (([2.0, np.inf, np.nan], EVENTS), r"got infinity in row 1 \(2 of 3 rows\)"),
        ((["a", "b", "c"], EVENTS), r"times that are numbers"),
        ((TIMES[:2], EVENTS[:2]), r"one time and one event per row, 3; got 2 and 2"),
        ((TIMES, EVENTS[:2]), r"one time and one event per row, 3; got 3 and 2"),
        (np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]), r"one boolean and one numeric field"),
    ],
)
def test_what_does_not_say_what_was_seen_is_refused(y: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        vector(y, 3, "y")


def test_no_arithmetic_takes_a_lifetime_for_a_number() -> None:
    """What a measure of a stranger does with y stops, whatever it is."""
    assert is_lifetimes(WANTED)
    assert not is_lifetimes(np.ones(3))
    for misread in (lambda y: y - 1.0, lambda y: np.asarray(y, dtype=float), np.sort(WANTED).__lt__, np.isnan):
        with pytest.raises(TypeError):
            misread(WANTED)


def _ending(end: float, X: Any) -> Survival:
    return Survival([1.0, 3.0], np.tile([[0.6, end]], (len(X), 1)))


def _survival(X: Any) -> Survival:
    return _ending(0.3, X)


NUMBERS = (measures.SQUARED_ERROR, measures.ABSOLUTE_ERROR, measures.BRIER, measures.ZERO_ONE)


@pytest.mark.parametrize("measure", NUMBERS, ids=lambda measure: measure.name)
def test_losses_that_need_the_time_of_every_event_say_so(measure: measures.Measure) -> None:
    assert "use" in measure.why_not(_survival(X), has_y=True)
    assert "nll" in measure.why_not(_survival(X), has_y=True)


def test_the_loss_of_a_survival_model_is_the_nll() -> None:
    subject = uq.explain(_survival, X, (TIMES, EVENTS))
    frame = uq.importance(subject, measures=["loss"], n_repeats=2).frame
    assert set(frame["measure"]) == {"nll"}


def test_the_loss_beyond_what_is_expected_is_that_of_the_time_observed() -> None:
    """Groups and segments compare the nll with `expected_nll`, never with the entropy or a variance."""
    rows = np.tile(X, (40, 1))
    y = (TIMES * 40, EVENTS * 40)
    for end in (0.3, 0.0):  # at 0 the events beyond the last time have no mass, and their loss is infinite
        subject = uq.explain(partial(_ending, end), rows, y)
        engine = runner.make_engine(subject, runner.load_measures(), make_settings({}), None)
        gap = term_of(engine, "confidence_gap")
        assert isinstance(gap, SegmentTerm)
        assert engine.y is not None
        q = _ending(end, rows)
        np.testing.assert_array_equal(gap.rows, -q.log_prob(engine.y) - q.expected_nll(engine.y))
        assert isinstance(term_of(engine, "excess_loss"), Omission)
        assert "excess_loss" not in {value.measure for value in row_values(engine)[0]}


def test_models_and_outcomes_of_two_kinds_are_refused() -> None:
    with pytest.raises(UQReportError, match=r"explain.y.* times with events; got float64.*y=\(times, events\)"):
        uq.explain(_survival, X, TIMES)
    with pytest.raises(UQReportError, match=r"explain.y.*may be censored"):
        uq.explain(lambda X: Normal(X[:, 0], 1.0), X, (TIMES, EVENTS))


def test_rows_are_drawn_and_hashed_with_their_flags() -> None:
    subject = uq.explain(_survival, X, (TIMES, EVENTS), train=(X, (TIMES, EVENTS)))
    assert subject.y is not None
    np.testing.assert_array_equal(subject.take(np.array([2, 0])).y, WANTED[[2, 0]])
    other = WANTED.copy()
    other["event"][0] = False
    assert vector_sha256(WANTED) != vector_sha256(other)
    assert vector_sha256(WANTED) == vector_sha256(WANTED.copy())
