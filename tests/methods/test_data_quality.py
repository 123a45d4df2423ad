"""Data quality: planted faults are counted, and ordinary columns and coarse tables raise nothing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Diagnostic
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.statistics.score_intervals import newcombe
from uq_report.core.support.errors import InputError
from uq_report.evidence.rows import MissingLine, MissingView
from uq_report.methods.data_quality.explain import DataQuality, keys, stand_ins

MODEL = testing.KnownLogistic((1.0,))


class Anything(testing.KnownTruth):
    """A classifier that looks at no column."""

    def predict(self, model: Any, X: Any) -> Any:
        return model.distribution(np.zeros((len(X), 1)))


def subject(test: pd.DataFrame, train: pd.DataFrame | None = None, **more: Any) -> Subject:
    def target(rows: pd.DataFrame) -> Any:
        return np.where(np.arange(len(rows)) % 2, "no", "yes")

    pair = None if train is None else (train, target(train))
    return make_subject(MODEL, Anything(), test, target(test), train=pair, **more)


def explain(given: Subject, **options: Any) -> Diagnostic:
    results = DataQuality(**options).explain(given, Engine(given, {}).bound("data_quality"), {})
    assert isinstance(results[0], Diagnostic)
    return results[0]


def counts(result: Diagnostic, measure: str) -> dict[tuple[str, str], int]:
    table = result.estimates[result.estimates["measure"] == measure]
    return {(str(f), str(i)): int(c) for f, i, c in zip(table["feature"], table["item"], table["count"], strict=True)}


def normal(n: int, seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 3)), columns=list("abc"))


def test_clean_data_has_no_faults() -> None:
    result = explain(subject(normal(200), normal(600, 1)))
    assert set(result.estimates["measure"]) == {"duplicate_rows", "overlap", "class"}
    assert sum(counts(result, "duplicate_rows").values()) == sum(counts(result, "overlap").values()) == 0
    assert counts(result, "class") == {("", "no"): 100, ("", "yes"): 100}


def test_columns() -> None:
    frame = normal(200).assign(
        one=1.0,
        flag=[1] + [0] * 199,
        again=lambda f: f["a"],
        level=["u", "v"] * 100,
        lent=pd.Categorical(["u", "v"] * 100),
        gone=np.array([None] * 40 + ["x", "y"] * 80, dtype=object),
    )
    result = explain(subject(frame))
    assert counts(result, "constant") == {("one", "1.0"): 200}
    assert counts(result, "sparse") == {("flag", "0"): 199}
    assert counts(result, "copied_column") == {("again", "a"): 200, ("lent", "level"): 200}
    assert counts(result, "missing") == {("gone", ""): 40}
    assert {gap.measure for gap in result.omissions} == {"overlap", "overlap_other_y", "missing_train", "type_change"}


def test_a_line_is_a_count_and_its_share_and_gaps_are_a_value_of_their_own() -> None:
    frame = normal(10).assign(half=[1.0] * 5 + [np.nan] * 5, most=[2.0] + [np.nan] * 9)
    result = explain(subject(frame), sparse=0.9)
    assert counts(result, "sparse") == {("most", "missing"): 9}
    assert not counts(result, "constant")
    gaps = result.estimates.query("measure == 'missing' and feature == 'half'")
    assert gaps[["estimate", "count", "n"]].to_numpy().tolist() == [[0.5, 5, 10]]


def test_types_and_missing_values_of_the_training_rows() -> None:
    train = normal(100, 1).assign(c=np.arange(100))
    train.loc[:9, "b"] = np.nan
    result = explain(subject(normal(50), train))
    assert counts(result, "type_change") == {("c", "int64 -> float64"): 50}
    assert counts(result, "missing_train") == {("b", ""): 10}


def test_rows_that_occur_twice_and_in_training() -> None:
    train, test = normal(500, 1), normal(100)
    test.iloc[:10] = train.iloc[:10]  # the same y, as both alternate
    test.iloc[10:15] = train.iloc[11:16]  # the other y
    test.iloc[95:] = test.iloc[90:95].to_numpy()
    result = explain(subject(test, train))
    assert counts(result, "overlap") == {("", "all"): 15, ("", "distinctive"): 15}
    assert counts(result, "overlap_other_y") == {("", "all"): 5, ("", "distinctive"): 5}
    assert counts(result, "duplicate_rows") == {("", "all"): 5, ("", "distinctive"): 5}
    clusters = [*range(95), *range(90, 95)]
    held = explain(subject(test, train, clusters=clusters))
    assert counts(held, "duplicate_rows")["", "all"] == 0
    assert [any("within a cluster" in note for note in one.notes) for one in (held, result)] == [True, False]


def test_a_copy_in_another_cluster_counts_once_a_cluster() -> None:
    rows = pd.DataFrame({"a": [1.0, 1.0, 1.0, 1.0, 2.0]})
    assert counts(explain(subject(rows, clusters=[0, 1, 1, 2, 1])), "duplicate_rows")["", "all"] == 2


def test_copies_in_a_coarse_table_are_not_distinctive() -> None:
    rng = np.random.default_rng(0)

    def coarse(n: int) -> pd.DataFrame:
        return pd.DataFrame(rng.integers(0, 3, size=(n, 4)).astype(float)).rename(columns=str)

    result = explain(subject(coarse(200), coarse(400)))
    assert counts(result, "overlap")["", "all"] > 150
    assert counts(result, "overlap")["", "distinctive"] == 0
    assert counts(result, "duplicate_rows")["", "distinctive"] == 0


def test_missing_values_are_equal_to_each_other() -> None:
    frame = pd.DataFrame({"a": [np.nan, np.nan, 1.0], "b": pd.Categorical(["x", "x", None])})
    assert len(set(keys(subject(frame)).test[:2])) == 1


def pima_like(rng: np.random.Generator) -> pd.DataFrame:
    """Return columns in the shape of the well-known ones: whole numbers, with 0 for a value nobody took."""
    n = 700
    frame = pd.DataFrame(
        {
            "pregnancies": rng.poisson(3.8, n),
            "glucose": np.clip(rng.normal(120, 31, n).round(), 44, 199),
            "pressure": np.clip(rng.normal(72, 12, n).round(), 24, 122),
            "skin": np.clip(rng.normal(29, 10, n).round(), 7, 99),
            "insulin": np.clip(rng.lognormal(4.8, 0.7, n).round(), 14, 846),
            "bmi": np.clip(rng.normal(32.5, 7, n).round(1), 18.2, 67),
            "age": 21 + rng.exponential(12, n).round(),
        }
    )
    for name, count in {"glucose": 5, "pressure": 35, "skin": 200, "insulin": 340, "bmi": 11}.items():
        frame.loc[rng.choice(n, count, replace=False), name] = 0
    return frame


def test_zeros_that_stand_for_missing_are_found_where_they_do() -> None:
    found = counts(explain(subject(pima_like(np.random.default_rng(0)))), "placeholder")
    assert {name for name, _ in found} == {"glucose", "pressure", "skin", "insulin", "bmi"}
    assert found["pressure", "0"] == 35


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(lambda rng: rng.poisson(2, 500), id="counts near 0"),
        pytest.param(lambda rng: rng.poisson(40, 500), id="counts far from 0"),
        pytest.param(lambda rng: np.where(rng.random(500) < 0.6, 0, rng.exponential(3, 500)), id="rain"),
        pytest.param(lambda rng: np.where(rng.random(500) < 0.9, 0, rng.lognormal(8, 1, 500).round()), id="gains"),
        pytest.param(lambda rng: rng.integers(0, 101, 500), id="percentages"),
        pytest.param(lambda rng: rng.normal(size=500).round(1), id="rounded normal"),
        pytest.param(lambda rng: rng.integers(18, 100, 500), id="ages up to 99"),
        pytest.param(lambda rng: rng.choice([0, 5, 10], 500), id="few values"),
        pytest.param(lambda rng: np.r_[0.0, rng.normal(50, 3, 499)], id="a single 0"),
        pytest.param(lambda rng: np.r_[np.full(9, 7.0), rng.normal(50, 3, 491)], id="another number"),
    ],
)
def test_ordinary_numbers_are_no_codes(values: Any) -> None:
    alarms = sum(bool(stand_ins(values(np.random.default_rng(seed)).astype(float))) for seed in range(200))
    assert alarms <= 10  # 5%


@pytest.mark.parametrize("code", [0, -1, *(sign * nines for nines in (9, 99, 999, 9999, 99999) for sign in (-1, 1))])
def test_codes_are_found_at_either_end_and_numbers_beside_them_are_none(code: float) -> None:
    ordinary = np.random.default_rng(0).normal(170, 8, 300).round()
    assert stand_ins(np.r_[np.full(5, code), ordinary]) == [code]
    assert stand_ins(np.r_[np.full(5, code + 0.5), ordinary]) == []


@pytest.mark.parametrize("end", [1, -1])
@pytest.mark.parametrize(
    ("rows", "gap", "others", "is_code"),
    [
        (3, 5.0, 40, True),
        (2, 5.0, 40, False),
        (3, 4.9, 40, False),
        (3, 5.0, 20, True),
        (3, 5.0, 19, False),
        (39, 5.0, 40, True),
        (40, 5.0, 40, False),
    ],
)
def test_both_sides_of_what_makes_a_code(rows: int, gap: float, others: int, is_code: bool, end: int) -> None:
    """Three rows, fewer than half of them, five mean steps away, of more than twenty values."""
    values = end * np.array([0.0] * rows + [gap + step for step in range(others)])
    assert stand_ins(values) == ([0.0] if is_code else [])


@pytest.mark.parametrize(("last", "is_code"), [(14.0, True), (14.1, False)])
def test_the_step_is_the_mean_of_the_ten_values_that_follow(last: float, is_code: bool) -> None:
    """Nine steps from 5 to 14, of 1 on average; the values after them are ten times as far apart."""
    values = np.r_[np.zeros(3), 5.0 + np.arange(9), last, 20 + 10 * np.arange(20.0)]
    assert stand_ins(values) == ([0.0] if is_code else [])


def test_codes_of_the_training_rows_help_to_see_those_of_the_audited_rows() -> None:
    rng = np.random.default_rng(0)
    train = pd.DataFrame({"a": np.r_[np.zeros(5), rng.normal(100, 5, 295)]})
    test = pd.DataFrame({"a": np.r_[np.zeros(1), rng.normal(100, 5, 99)]})
    assert counts(explain(subject(test, train)), "placeholder") == {("a", "0"): 1}
    assert not counts(explain(subject(test)), "placeholder")


def test_numbers_without_classes_and_without_y() -> None:
    regression = testing.linear_subject()
    result = explain(regression)
    assert not counts(result, "class")
    bare = make_subject(MODEL, Anything(), normal(20))
    assert "class" in {gap.measure for gap in explain(bare).omissions}


def test_nullable_boolean_and_date_columns() -> None:
    n = 400
    frame = pd.DataFrame(
        {
            "whole": pd.array([None, *range(n - 1)], dtype="Int64"),
            "yes": pd.array([True, False] * (n // 2), dtype="boolean"),
            "flag": [True, False] * (n // 2),
            "day": pd.date_range("2020-01-01", periods=n),
        }
    )
    result = explain(subject(frame, frame))
    assert counts(result, "missing") == {("whole", ""): 1}
    assert counts(result, "overlap")["", "distinctive"] == n
    assert counts(result, "copied_column") == {("flag", "yes"): n}


def test_constant_columns_with_gaps_may_be_copies_of_each_other() -> None:
    frame = normal(3).assign(d=[1.0, np.nan, 1.0], e=[1.0, np.nan, 1.0])
    assert counts(explain(subject(frame)), "copied_column") == {("e", "d"): 3}


@pytest.mark.parametrize(("n", "distinctive"), [(400, 1), (399, 0)])
def test_a_copy_is_distinctive_up_to_a_hundredth_of_an_expected_row(n: int, distinctive: int) -> None:
    """Both columns hold each value once and the copied one twice: n (2/n)² = 4/n other rows are expected."""
    numbers = np.r_[np.arange(1.0, n), 1.0]
    found = counts(explain(subject(pd.DataFrame({"a": numbers, "b": -numbers}))), "duplicate_rows")
    assert found == {("", "all"): 1, ("", "distinctive"): distinctive}


@pytest.mark.parametrize(("levels", "kind", "fine"), [(21, float, True), (20, float, False), (21, str, False)])
def test_columns_of_more_than_twenty_numbers_are_finely_graded(levels: int, kind: type, fine: bool) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({c: rng.permutation(np.arange(10 * levels) % levels).astype(kind) for c in "abcdef"})
    assert set(keys(subject(frame)).distinctive) == {fine}


def test_rows_are_counted_in_the_facts_of_the_result() -> None:
    alone, both = explain(subject(normal(20))), explain(subject(normal(20), normal(30, 1)))
    assert alone.meta == {"n": 20, "n_train": None, "has_train": False, "columns_checked": 3}
    assert both.meta == {"n": 20, "n_train": 30, "has_train": True, "columns_checked": 3}


@pytest.mark.parametrize(("own", "trained"), [(True, False), (False, True)])
def test_copies_with_another_outcome_need_both_outcomes(own: bool, trained: bool) -> None:
    rows = normal(30)
    y = np.resize(["no", "yes"], 30)
    result = explain(make_subject(MODEL, Anything(), rows, y if own else None, train=(rows, y if trained else None)))
    assert counts(result, "overlap") == {("", "all"): 30, ("", "distinctive"): 30}
    assert not counts(result, "overlap_other_y")
    assert {gap.measure for gap in result.omissions} == {"overlap_other_y", *(() if own else ("class",))}


def test_the_option_is_checked() -> None:
    for wrong in (0.5, 1.0):
        with pytest.raises(InputError, match=r"data_quality\.sparse must be"):
            DataQuality(sparse=wrong)
    assert DataQuality(sparse=0.51).sparse == 0.51
    assert counts(explain(subject(normal(10).assign(d=[1.0] * 8 + [2.0, 3.0])), sparse=0.8), "sparse")


def changes(given: Subject) -> dict[str, MissingLine]:
    results = {r.id: r for r in DataQuality().explain(given, Engine(given, {}).bound("data_quality"), {})}
    return {line.feature: line for line in MissingView.from_result(results[MissingView.id]).lines}


def lacking(n: int, **shares: float) -> pd.DataFrame:
    """Return three columns whose first values are missing, in these shares."""
    frame = normal(n)
    for name, share in shares.items():
        frame.loc[: round(share * n) - 1, name] = np.nan
    return frame


def test_shares_of_missing_values_are_compared_with_training_for_all_columns_at_once() -> None:
    found = changes(subject(lacking(200, a=0.2, b=0.1), lacking(500, b=0.1, c=0.04)))
    assert [*found] == ["a", "b", "c"]
    z = norm.ppf(1 - 0.05 / 3 / 2)
    for name, own, trained in (("a", 0.2, 0.0), ("b", 0.1, 0.1), ("c", 0.0, 0.04)):
        line = found[name]
        assert (line.share, line.share_train) == pytest.approx((own, trained))
        assert line.estimate == pytest.approx(own - trained)
        assert (line.n, line.n_train) == (200, 500)
        assert (line.lower, line.upper) == pytest.approx(newcombe(own, 200 * 199 / 199, trained, 500, z), abs=1e-3)
        assert line.confidence == 0.95


def test_complete_columns_and_no_training_rows_have_no_difference() -> None:
    assert changes(subject(normal(100), normal(100, 1))) == {}
    assert changes(subject(lacking(100, a=0.5))) == {}


def test_clusters_that_are_missing_together_count_once() -> None:
    rows, train = lacking(200, a=0.2), lacking(500, a=0.1)
    single = changes(subject(rows, train))["a"]
    together = changes(subject(rows, train, clusters=np.repeat(np.arange(20), 10)))["a"]
    assert together.estimate == single.estimate
    assert together.lower < single.lower - 0.05
    # 20 clusters, all or none of whose values are missing: as 20 draws, and 500 training rows as 50
    assert together.lower == pytest.approx(newcombe(0.2, 20, 0.1, 50, norm.ppf(1 - 0.05 / 3 / 2))[0], abs=0.01)
