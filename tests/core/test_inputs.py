"""Outside data as they become those of a subject, and what is refused of them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.errors import InputError
from uq_report.core.validation import inputs

X = pd.DataFrame(
    {"a": [3.0, 1.0, 2.0], "b": ["u", "v", "u"], "t": pd.to_datetime(["2026-03-01", "2026-01-01", "2026-02-01"])}
)
FEATURES = ("a", "b", "t")
NAN = np.nan


@pytest.mark.parametrize(
    ("y", "values"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0]),
        (pd.Series(["a", "b", "a"], index=[9, 8, 7]), ["a", "b", "a"]),
        (np.array([1, 2, 3], dtype=">i4"), [1, 2, 3]),
        (np.array([1, 2, 3], dtype=object), [1, 2, 3]),
        ([True, False, True], [True, False, True]),
    ],
)
def test_a_target_is_one_value_per_row(y: Any, values: list[Any]) -> None:
    found = inputs.vector(y, 3, "y")
    assert found is not None
    assert found.tolist() == values
    assert found.dtype.isnative
    assert inputs.vector(None, 3, "y") is None


def test_a_target_of_whole_numbers_as_objects_holds_numbers() -> None:
    found = inputs.vector(np.array([1, 2, 3], dtype=object), 3, "y")
    assert found is not None
    assert found.dtype.kind == "i"


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([1, 2], "must have one value per row, 3; got 2"),
        (5, "must hold one value per row; got 5, a int"),
        ("abc", "must hold one value per row; got 'abc', a str"),
        (np.zeros((3, 2)), r"must be one-dimensional; got shape \(3, 2\)"),
        (np.zeros((3, 1, 1)), r"must be one-dimensional; got shape \(3, 1, 1\)"),
        ([1.0, NAN, NAN], "must have no missing values; got 2 of 3, the first in row 1"),
        ([1.0, np.inf, 2.0], r"must be finite; got inf in row 1 \(1 of 3 rows\)"),
        ([1.0, 1e80, 2.0], r"must be at most 1e\+75 in size"),
        ([1j, 2j, 3j], "must hold numbers or labels; got dtype complex"),
        ([[1], [2, 3], [4]], "must hold single values; got lists of different lengths"),
        (np.ma.array([1, 2, 3], mask=[False, True, False]), "must have no masked values"),
    ],
)
def test_other_targets_are_refused(y: Any, words: str) -> None:
    with pytest.raises(InputError, match=rf"^subject\.y {words}"):
        inputs.vector(y, 3, "y")


@pytest.mark.parametrize("weights", [[1, 0, 2], [0.0, 0.0, 5e-324], np.array([1, 2, 3], dtype=">f4")])
def test_weights_are_floats(weights: Any) -> None:
    found = inputs.weights(weights, 3)
    assert found is not None
    assert found.dtype == np.float64
    assert found.tolist() == [float(w) for w in weights]
    assert inputs.weights(None, 3) is None


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 2], r"must have shape \(3,\); got \(2,\)\. Give one weight per row"),
        ([[1], [2], [3]], r"must have shape \(3,\); got \(3, 1\)"),
        ([1, NAN, -1], r"must be finite, not negative and not all zero; got nan in row 1 \(2 of 3 rows\)"),
        ([1, np.inf, 1], "must be finite, not negative and not all zero; got inf in row 1"),
        ([0, 0, 0], "must be finite, not negative and not all zero; got 3 zeros"),
        ([1, "x", 2], "must be numbers; got list"),
        ([1, 1e80, 2], r"must be at most 1e\+75"),
    ],
)
def test_other_weights_are_refused(weights: Any, words: str) -> None:
    with pytest.raises(InputError, match=rf"^subject\.sample_weight {words}"):
        inputs.weights(weights, 3)


@pytest.mark.parametrize(
    ("labels", "codes"),
    [("b", [0, 1, 0]), (["x", "y", "x"], [0, 1, 0]), (pd.Series([7, 7, 2], index=[5, 4, 3]), [0, 0, 1])],
)
def test_clusters_are_codes_of_labels_or_of_a_column(labels: Any, codes: list[int]) -> None:
    found = inputs.clusters(labels, X, FEATURES)
    assert found is not None
    assert found.tolist() == codes
    assert inputs.clusters(None, X, FEATURES) is None


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["x", None, None], "must have no missing labels; got 2"),
        (["x", "y"], r"must have shape \(3,\); got \(2,\)\. Give one label per row"),
        ("bb", r"must list features of X, or hold one label per row; got \['bb'\]\. Did you mean 'b'"),
    ],
)
def test_other_clusters_are_refused(labels: Any, words: str) -> None:
    with pytest.raises(InputError, match=rf"^subject\.clusters {words}"):
        inputs.clusters(labels, X, FEATURES)


@pytest.mark.parametrize(
    ("time", "ranks"),
    [
        ("t", [2, 0, 1]),
        ("a", [2, 0, 1]),
        ([5, 5, 1], [1, 1, 0]),
        (["2026-01-31", "2025-12-31", "2026-01-31"], [1, 0, 1]),
        (["2026-01-01T00:30:00+01:00", "2026-01-01T00:00:00+00:00", "2026-01-01"], [0, 1, 1]),
        (pd.period_range("2026-01", periods=3, freq="M")[::-1], [2, 1, 0]),
        (pd.Series([2, 9, 1], index=[2, 1, 0]), [1, 2, 0]),
    ],
)
def test_moments_are_ranks_of_times(time: Any, ranks: list[int]) -> None:
    found = inputs.moments(time, X, FEATURES)
    assert found is not None
    assert found.tolist() == ranks
    assert inputs.moments(None, X, FEATURES) is None


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ([1, NAN, NAN], r"must have no missing times; got 2 of 3 \(rows 1, 2\)"),
        ([True, False, True], "must be numbers or dates; got booleans"),
        (["now", "then", "x"], "must be numbers, dates or text by ISO 8601 such as 2026-01-31; got 'now' in row 0 "),
        (["2026-01-31", "2026-02-01", "today"], "must be numbers, dates or text by .*; got 'today' in row 2 "),
        ([1, 2], r"must have shape \(3,\)"),
    ],
)
def test_other_times_are_refused(time: Any, words: str) -> None:
    with pytest.raises(InputError, match=rf"^subject\.time {words}"):
        inputs.moments(time, X, FEATURES)


def test_at_most_five_rows_without_a_time_are_named() -> None:
    table = pd.DataFrame({"a": np.zeros(6)})
    for missing, words in ((5, "(rows 0, 1, 2, 3, 4)"), (6, "(rows 0, 1, 2, 3, 4)")):
        with pytest.raises(InputError) as refused:
            inputs.moments([NAN] * missing + [1.0] * (6 - missing), table, ("a",))
        assert f"got {missing} of 6 {words}" in str(refused.value)


def test_protected_attributes_are_features_or_bring_their_values() -> None:
    assert {name: list(v) for name, v in inputs.protected(["b"], X, FEATURES).items()} == {"b": ["u", "v", "u"]}
    assert list(inputs.protected("b", X, FEATURES)) == ["b"]
    assert inputs.protected({"sex": [1, 2, 1]}, X, FEATURES)["sex"].tolist() == [1, 2, 1]
    assert inputs.protected(None, X, FEATURES) == {}
    with pytest.raises(InputError, match=r"subject\.protected\['sex'\] must have shape \(3,\); got \(2,\)"):
        inputs.protected({"sex": [1, 2]}, X, FEATURES)
    with pytest.raises(InputError, match=r"subject\.protected must list features of X, or map .*; got \['sex'\]"):
        inputs.protected(["sex"], X, FEATURES)
    with pytest.raises(InputError, match=r"subject\.protected must list features of X.*; got 3"):
        inputs.protected(3, X, FEATURES)  # type: ignore[arg-type]


def test_groups_are_features_under_a_name() -> None:
    assert inputs.groups({"g": ["a", "b"], "h": "t"}, FEATURES) == {"g": ("a", "b"), "h": ("t",)}
    assert inputs.groups(None, FEATURES) == {}
    refused: tuple[tuple[Any, str], ...] = (
        ({"a": ["b"]}, r"groups must not reuse feature names; got 'a'"),
        ({"g": []}, r"groups\['g'\] must list features of X; got \(\)"),
        ({"g": ["a", "a"]}, r"groups\['g'\] must list each feature once; got \['a', 'a'\]"),
        ({"g": ["c"]}, r"groups\['g'\] must list features of X; got \['c'\]"),
        (["a"], r"groups must map names to lists of features; got \['a'\]"),
    )
    for blocks, words in refused:
        with pytest.raises(InputError, match=rf"^subject\.{words}"):
            inputs.groups(blocks, FEATURES)


def test_kinds_are_read_from_types_unless_stated() -> None:
    table = X.assign(yes=[True, False, True], code=[1, 2, 3])
    names = (*FEATURES, "yes", "code")
    kinds = {"a": "numeric", "b": "categorical", "t": "datetime", "yes": "categorical", "code": "numeric"}
    assert inputs.kinds(table, names, None) == kinds
    assert inputs.kinds(table, names, ["code", "t"]) == kinds | {"code": "categorical"}
    assert inputs.kinds(np.zeros((2, 2)), ("x0", "x1"), ["x1"]) == {"x0": "numeric", "x1": "categorical"}
    assert inputs.kinds(np.zeros((2, 1), dtype=bool), ("x0",), None) == {"x0": "categorical"}
    with pytest.raises(InputError, match=r"subject\.categorical must list features of X; got \['c'\]"):
        inputs.kinds(table, names, ["c"])


def test_training_rows_have_the_columns_of_the_rows() -> None:
    rows, y = inputs.training((X, [1, 2, 3]), X, FEATURES, None) or (None, None)
    assert isinstance(rows, pd.DataFrame)
    assert y is not None
    assert y.tolist() == [1, 2, 3]
    assert inputs.training(None, X, FEATURES, None) is None
    assert inputs.training([X, None], X, FEATURES, None) is not None  # type: ignore[arg-type]
    refused: tuple[tuple[Any, str], ...] = (
        (X, r"train must be a pair \(X_train, y_train\); got DataFrame"),
        ((X, None, None), r"train must be a pair \(X_train, y_train\); got tuple"),
        ((np.zeros((3, 3)), None), "train must be a DataFrame as X is; got a ndarray"),
        ((X[["b", "a", "t"]], None), r"train must have the columns of X in the same order, \['a', 'b', 't'\]; got"),
        ((X, [1, 2]), "train y must have one value per row, 3; got 2"),
    )
    for train, words in refused:
        with pytest.raises(InputError, match=rf"^subject\.{words}"):
            inputs.training(train, X, FEATURES, None)
