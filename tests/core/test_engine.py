"""The engine: one pass for all measures, the same bytes however it is computed, and clear refusals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.evaluator import VariantGroup
from uq_report.core.engine.fast_path_evaluator import Engine, Progress
from uq_report.core.model.adapter import Match
from uq_report.core.model.measures import ENTROPY, KL, NLL, PREDICTION, SQUARED_ERROR, Measure
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.model.variants import Variant
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray, Table
from uq_report.core.support.errors import BudgetError, InputError, UnsupportedError, UQReportError
from uq_report.distributions import Categorical, Normal
from uq_report.testing import linear_subject

MEASURES = {m.name: m for m in (PREDICTION, SQUARED_ERROR, NLL, ENTROPY, KL)}


@dataclass(frozen=True)
class Direct:
    """An adapter for a function from rows to (mean, std); counts its calls."""

    name: ClassVar[str] = "direct"
    api_version: ClassVar[int] = 1
    rows: int | None = None

    def matches(self, model: Any) -> Match | None:
        return Match(3, "a test model") if callable(model) else None

    def predict(self, model: Any, X: Table) -> Distribution:
        mean, std = model(np.asarray(X, dtype=float))
        return Normal(mean, std)

    def batch_rows(self, model: Any) -> int | None:
        return self.rows


def smooth(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    return X[:, 0] + 2 * X[:, 1] * X[:, 2], np.exp(0.3 * X[:, 1])


def subject(n: int = 40, rows: int | None = None, model: Callable[..., Any] = smooth, frame: bool = False) -> Subject:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + rng.normal(size=n)
    return make_subject(model, Direct(rows), pd.DataFrame(X, columns=list("abc")) if frame else X, y)


def collect(groups: Any) -> FloatArray:
    return np.concatenate([g.values for g in groups], axis=1)


def permutations(s: Subject, count: int = 7) -> list[Variant]:
    rng = np.random.default_rng(1)
    return [Variant((k % 3,), donors=rng.permutation(s.n)) for k in range(count)]


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("rows", [None, 40, 100, 1000, 13])
def test_each_variant_is_the_model_on_the_replaced_rows(frame: bool, rows: int | None) -> None:
    s = subject(rows=rows, frame=frame)
    engine = Engine(s, MEASURES)
    measures, _ = engine.select(["prediction", "nll", "entropy"])
    values = collect(engine.evaluate(permutations(s), measures))
    X = np.asarray(s.X)
    for v, variant in enumerate(permutations(s)):
        changed = X.copy()
        assert variant.donors is not None
        changed[:, variant.columns[0]] = X[variant.donors, variant.columns[0]]
        dist = Normal(*smooth(changed))
        expected = np.stack([m.rows(dist, engine.y, None) for m in measures])
        np.testing.assert_allclose(values[:, v], expected, rtol=0, atol=1e-12)


def test_the_subject_is_never_changed() -> None:
    for frame in (False, True):
        s = subject(rows=100, frame=frame)
        before = s.X.copy()
        collect(Engine(s, MEASURES).evaluate(permutations(s), [ENTROPY]))
        np.testing.assert_array_equal(np.asarray(s.X), np.asarray(before))


@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_any_number_of_threads_gives_the_same_bytes(frame: bool, n_jobs: int) -> None:
    s = subject(rows=100, frame=frame)
    one = collect(Engine(s, MEASURES).evaluate(permutations(s, 20), [NLL, ENTROPY]))
    many = collect(
        Engine(s, MEASURES, n_jobs=n_jobs, backend="threading").evaluate(permutations(s, 20), [NLL, ENTROPY])
    )
    assert one.tobytes() == many.tobytes()


def test_a_grid_point_and_unchanged_rows() -> None:
    s = subject()
    engine = Engine(s, MEASURES)
    values = collect(
        engine.evaluate([Variant(), Variant((0,), (5.0,)), Variant((0, 1), (s.X[:, 1], 0.0))], [PREDICTION])
    )
    X = np.asarray(s.X)
    np.testing.assert_array_equal(values[0, 0], smooth(X)[0])
    np.testing.assert_allclose(values[0, 1], 5 + 2 * X[:, 1] * X[:, 2])
    np.testing.assert_allclose(values[0, 2], X[:, 1])


def test_chosen_rows_take_their_own_y_and_values() -> None:
    s = subject(rows=1000)
    engine = Engine(s, MEASURES)
    chosen = np.array([3, 30, 7])
    values = collect(engine.evaluate([Variant(), Variant((2,), (np.arange(3.0),))], [SQUARED_ERROR], rows=chosen))
    X, y = np.asarray(s.X)[chosen], np.asarray(s.y)[chosen]
    np.testing.assert_allclose(values[0, 0], (y - smooth(X)[0]) ** 2)
    np.testing.assert_allclose(values[0, 1], (y - X[:, 0] - 2 * X[:, 1] * np.arange(3)) ** 2)


def test_mixed_frames_keep_their_dtypes() -> None:
    seen = []

    def model(X: Any) -> Any:
        return X

    @dataclass(frozen=True)
    class Typed(Direct):
        def predict(self, model: Any, X: Table) -> Distribution:
            assert isinstance(X, pd.DataFrame)
            seen.append(tuple(map(str, X.dtypes)))
            return Normal(X["count"].to_numpy(dtype=float), np.ones(len(X)))

    X = pd.DataFrame(
        {
            "count": np.arange(6),
            "cat": pd.Categorical(list("abcabc")),
            "text": list("uvwxyz"),
            "flag": [True, False] * 3,
            "int": pd.array([1, None, 3, 4, 5, 6], dtype="Int64"),
            "when": pd.date_range("2026-01-01", periods=6),
        }
    )
    s = make_subject(model, Typed(rows=30), X)
    donors = np.array([5, 4, 3, 2, 1, 0])
    variants = [Variant((c,), donors=donors) for c in range(6)] + [Variant((1,), ("a",)), Variant((4,), (7,))]
    values = collect(Engine(s, MEASURES).evaluate(variants, [PREDICTION]))
    assert len(set(seen)) == 1
    assert seen[0] == tuple(map(str, X.dtypes))
    np.testing.assert_array_equal(values[0, 0], donors)


def test_a_model_that_writes_to_its_input_gets_copies() -> None:
    def vandal(X: FloatArray) -> tuple[FloatArray, FloatArray]:
        result = smooth(X)
        X[:] = 0
        return result

    clean, dirty = subject(rows=100), subject(rows=100, model=vandal)
    variants = permutations(clean)
    expected = collect(Engine(clean, MEASURES).evaluate(variants, [NLL]))
    np.testing.assert_array_equal(collect(Engine(dirty, MEASURES).evaluate(variants, [NLL])), expected)
    np.testing.assert_array_equal(dirty.X, clean.X)


def test_streams_belong_to_names() -> None:
    engine = Engine(subject(), MEASURES, seed=3)
    a = engine.bound("pfi").rng("age", 0).random(4)
    np.testing.assert_array_equal(a, Engine(subject(), MEASURES, seed=3).bound("pfi").rng("age", 0).random(4))
    others = [("pfi", "age", 1), ("pfi", "sex", 0), ("pdp", "age", 0)]
    assert all((engine.bound(e).rng(f, k).random(4) != a).all() for e, f, k in others)


def test_budget_counts_and_refuses_before_predicting() -> None:
    s = subject()
    engine = Engine(s, MEASURES, row_budget=200)
    bound = engine.bound("pfi")
    with pytest.raises(BudgetError, match="row_budget must allow the next 40 rows; got 200 with 200 spent"):
        collect(bound.evaluate(permutations(s), [ENTROPY]))
    assert engine.rows_predicted == {"pfi": 200}


def test_progress_is_told() -> None:
    told: list[Progress] = []
    s = subject()
    engine = Engine(s, MEASURES, progress=told.append).bound("pfi")
    collect(engine.evaluate(permutations(s), [ENTROPY], total=7))
    assert told[-1] == Progress("pfi", 7, 7)


def test_function_looks_y_up_by_the_row_index() -> None:
    s = subject(frame=True)
    engine = Engine(s, MEASURES)
    assert isinstance(s.X, pd.DataFrame)
    shuffled = s.X.sample(frac=1.0, random_state=0)
    expected = NLL.rows(engine.baseline, engine.y, None)[shuffled.index]
    np.testing.assert_allclose(engine.function(NLL)(shuffled), expected)
    with pytest.raises(InputError, match="or a y"):
        engine.function(NLL)(np.asarray(s.X))
    fixed = engine.function(NLL, y=0.5)(np.asarray(s.X))
    np.testing.assert_allclose(fixed, NLL.rows(engine.baseline, np.full(s.n, 0.5), None))


def test_a_measure_without_y_is_a_function_of_any_rows() -> None:
    s = subject()
    X = np.asarray(s.X)[::-1]
    for given in ({}, {"y": 0.5}):
        np.testing.assert_allclose(Engine(s, MEASURES).function(ENTROPY, **given)(X), Normal(*smooth(X)).entropy())


def test_the_first_rows_are_asked_for_alone_and_leave_nothing_but_the_pace() -> None:
    asked: list[int] = []

    def counted(X: FloatArray) -> tuple[FloatArray, FloatArray]:
        asked.append(len(X))
        X[:] = np.where(len(X) > 5, 0.0, X)  # written to in a call of all rows alone
        return smooth(X)

    s = subject(40, model=counted)
    before, engine = np.array(s.X), Engine(s, MEASURES)
    few, seconds = engine.first(4)
    assert asked == [4]
    assert (len(few.baseline), few.subject.n) == (4, 4)
    assert engine.row_seconds <= seconds
    assert not engine.rows_predicted
    assert len(engine.baseline) == 40
    np.testing.assert_array_equal(s.X, before)


def test_rows_that_are_withheld_are_asked_for_by_nobody() -> None:
    engine = Engine(subject(40), MEASURES)
    engine.withheld = "it takes too long"
    with pytest.raises(BudgetError, match=r"it takes too long; pfi was stopped\. Raise the limit"):
        _ = engine.bound("pfi").baseline
    assert not engine.rows_predicted


@pytest.mark.parametrize(
    ("called", "seconds"),
    [
        ([(10, 1.0), (110, 3.0)], 0.02),
        ([(10, 1.0), (21, 2.1)], 0.1),
        ([(10, 1.0), (20, 2.0)], 0.1),  # too few rows more to tell a row's time from a call's
        ([(10, 1.0), (100, 1.0)], 0.01),  # no slower
        ([(10, 1.0), (10, 1.0)], 0.1),
    ],
)
def test_the_seconds_of_a_further_row(called: list[tuple[int, float]], seconds: float) -> None:
    engine = Engine(subject(), MEASURES)
    assert engine.row_seconds == np.inf
    engine._called[:] = called
    assert engine.row_seconds == pytest.approx(seconds)


def test_a_budget_allows_its_last_row() -> None:
    exactly = Engine(subject(), MEASURES, row_budget=40)
    exactly.predict(exactly.subject.X)
    assert exactly.rows_predicted == {"engine": 40}
    with pytest.raises(BudgetError, match=r"must allow the next 40 rows; got 39 with 0 spent"):
        Engine(subject(), MEASURES, row_budget=39).predict(exactly.subject.X)


@pytest.mark.parametrize("name", ["batch_rows", "row_budget"])
def test_limits_of_rows_are_at_least_one(name: str) -> None:
    assert getattr(Engine(subject(), MEASURES, **{name: 1}), name) == 1  # type: ignore[arg-type]
    with pytest.raises(InputError, match=rf"engine\.{name} must be >= 1 or None; got 0"):
        Engine(subject(), MEASURES, **{name: 0})  # type: ignore[arg-type]


def test_limits_are_told_what_is_done_and_what_is_ahead() -> None:
    told: list[tuple[int, int, float]] = []

    def limits(done: int, total: int, ahead: float) -> str:
        told.append((done, total, ahead))
        return "enough" if done > 40 else ""

    engine = Engine(subject(), MEASURES, limits=limits, costs={"pfi": 80}).bound("pfi")
    engine.predict(engine.subject.X)
    assert told == [(0, 80, 0.0), (0, 0, 0.0)]  # nothing was called yet, so nothing is known of what is ahead
    engine._called[:] = [(10, 1.0), (110, 3.0)]
    engine.predict(engine.subject.X)
    assert told[2:] == [(40, 80, 0.0), (0, 0, pytest.approx(0.8))]
    with pytest.raises(BudgetError, match=r"^enough; pfi was stopped\."):
        engine.predict(engine.subject.X)


def test_select_says_why_not() -> None:
    s = subject()
    blind = make_subject(smooth, Direct(), s.X)
    chosen, omitted = Engine(blind, MEASURES).select(["loss", "nll", "entropy"])
    assert [m.name for m in chosen] == ["entropy"]
    assert {o.measure: o.reason for o in omitted}["nll"] == "it needs outcomes, which were not given"
    with pytest.raises(InputError, match="Did you mean 'entropy'"):
        Engine(blind, MEASURES).select(["entrpy"])


@pytest.mark.parametrize(
    ("cell", "said", "error"),
    [
        (
            np.nan,
            "Input contains NaN",
            r"subject\.X\['a'\] must have no missing values for .*; got none in row 1 ",
        ),
        (
            np.inf,
            "Input has infinity",
            r"subject\.X\['a'\] must be finite for .*; got inf in row 1 \(1 of 2 rows",
        ),
        (
            np.nan,
            "singular",
            r"failed to predict 2 rows: ValueError: singular \(subject\.X has none in row 1 .* column 'a'",
        ),
        (2.0, "Input contains NaN", r"^function failed to predict 2 rows: ValueError: Input contains NaN$"),
    ],
)
def test_a_failing_model_is_named_after_the_cell_that_it_refuses(cell: float, said: str, error: str) -> None:
    def picky(X: FloatArray) -> tuple[FloatArray, FloatArray]:
        raise ValueError(said)

    X = pd.DataFrame({"a": [1.0, cell], "b": [1.0, 2.0]})
    with pytest.raises(UQReportError, match=error):
        _ = Engine(make_subject(picky, Direct(), X), MEASURES).baseline


def test_the_positive_class_is_the_most_frequent_of_many_and_carries_to_train_rows() -> None:
    @dataclass(frozen=True)
    class Three(Direct):
        def predict(self, model: Any, X: Table) -> Distribution:
            return Categorical(np.tile([0.2, 0.3, 0.5], (len(X), 1)), classes=["a", "b", "c"])

    X = np.zeros((5, 1))
    s = make_subject(smooth, Three(), X, ["b", "b", "a", "c", "b"], train=(X, ["c"] * 5))
    engine = Engine(s, MEASURES)
    assert engine.baseline.mean()[0] == pytest.approx(0.3)
    training = s.training()
    assert training is not None
    assert engine.bound("pfi", training).baseline.mean()[0] == pytest.approx(0.3)


def test_rows_of_the_audited_ones_are_not_predicted_again() -> None:
    whole = Engine(subject(), MEASURES)
    rows = np.array([2, 7, 3])
    few = whole.bound("rsens", whole.subject.take(rows), rows)
    np.testing.assert_array_equal(few.baseline.parameters, whole.baseline.parameters[rows])
    np.testing.assert_array_equal(few.y, np.asarray(whole.y)[rows])
    assert whole.rows_predicted == {"engine": whole.subject.n}


def test_groups_number_their_variants() -> None:
    s = subject(rows=80)
    groups: list[VariantGroup] = list(Engine(s, MEASURES).evaluate(permutations(s, 5), [ENTROPY]))
    assert [(g.first, g.values.shape) for g in groups] == [(0, (1, 2, 40)), (2, (1, 2, 40)), (4, (1, 1, 40))]


class TestTheBase:
    """A measure that needs it sees each row's own distribution unchanged, whatever shares its call."""

    @staticmethod
    def expected(s: Subject, variants: list[Variant], rows: Any) -> FloatArray:
        X, values = np.asarray(s.X), []
        for variant in variants:
            assert variant.donors is not None
            changed = X[rows].copy()
            changed[:, variant.columns[0]] = X[variant.donors, variant.columns[0]]
            values.append(Normal(*smooth(X[rows])).kl(Normal(*smooth(changed))))
        return np.stack(values)

    @pytest.mark.parametrize("frame", [False, True])
    @pytest.mark.parametrize("batch", [None, 40, 100, 1000, 13])
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_kl_of_each_variant(self, frame: bool, batch: int | None, n_jobs: int) -> None:
        s = subject(frame=frame)
        engine = Engine(s, MEASURES, batch_rows=batch, n_jobs=n_jobs, backend="threading")
        values = collect(engine.evaluate(permutations(s), [ENTROPY, KL]))
        np.testing.assert_allclose(values[1], self.expected(s, permutations(s), np.arange(40)), rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("batch", [None, 4, 15, 1000])
    def test_kl_of_chosen_rows(self, batch: int | None) -> None:
        s, rows, rng = subject(), np.array([30, 3, 30, 7, 12]), np.random.default_rng(2)
        variants = [Variant((k % 3,), donors=rng.integers(40, size=5)) for k in range(6)]
        values = collect(Engine(s, MEASURES, batch_rows=batch).evaluate(variants, [KL], rows=rows))
        np.testing.assert_allclose(values[0], self.expected(s, variants, rows), rtol=1e-12, atol=1e-14)

    def test_a_shift_of_the_mean_alone(self) -> None:
        """With sd 2 for all rows, KL = (change of the mean)^2 / 8: column 0 enters with the weight 1."""
        s = subject(model=lambda X: (smooth(X)[0], 2.0), rows=100)
        (variant,), X = permutations(s, 1), np.asarray(s.X)
        values = collect(Engine(s, MEASURES).evaluate([variant], [KL]))
        np.testing.assert_allclose(values[0, 0], (X[variant.donors, 0] - X[:, 0]) ** 2 / 8, rtol=1e-9, atol=1e-15)

    def test_unchanged_rows_are_their_own_base(self) -> None:
        engine = Engine(subject(), MEASURES)
        np.testing.assert_array_equal(engine.unchanged([KL]), 0.0)
        np.testing.assert_array_equal(collect(engine.evaluate([Variant()], [KL])), 0.0)

    def test_other_rows_have_their_own_base(self) -> None:
        s, training = subject(), subject(n=25)
        engine = Engine(s, MEASURES).bound("pfi", training)
        variants = permutations(training, 4)
        values = collect(engine.evaluate(variants, [KL]))[0]
        np.testing.assert_allclose(values, self.expected(training, variants, np.arange(25)), rtol=1e-12, atol=1e-14)

    def test_rows_that_are_no_changes_have_none(self) -> None:
        engine = Engine(subject(), MEASURES)
        for ask in (lambda: engine.function(KL), lambda: engine.measure_rows(engine.subject.X, [ENTROPY, KL])):
            with pytest.raises(UnsupportedError, match="kl compares each row with itself unchanged"):
                ask()
        assert not engine.rows_predicted

    def test_others_are_not_given_it(self) -> None:
        seen: list[Any] = []

        def spy(dist: Distribution, _y: Any, base: Distribution | None) -> FloatArray:
            seen.append(base)
            return dist.mean()

        s = subject()
        plain = Measure("plain", spy, "units of the outcome", "prediction", frozenset({"mean"}))
        collect(Engine(s, MEASURES).evaluate(permutations(s, 2), [plain]))
        assert set(seen) == {None}


@pytest.mark.parametrize(("confidence", "allowed"), [(0.5, False), (0.51, True), (0.999, True), (1.0, False)])
def test_the_confidence_is_within_its_limits(confidence: float, *, allowed: bool) -> None:
    def made() -> float:
        return Engine(linear_subject(5), {"prediction": PREDICTION}, confidence=confidence).confidence

    if allowed:
        assert made() == confidence
    else:
        with pytest.raises(InputError, match="confidence"):
            made()
