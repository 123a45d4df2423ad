"""Bad input: each line of the list works, or is refused with one clear error that names the place and the remedy."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import uq_report as uq
from uq_report.core.model.results import Result
from uq_report.core.support.errors import UQReportError
from uq_report.distributions import Categorical, Normal
from uq_report.evidence.run import Run
from uq_report.runner import plugins

from ..packages import Packages, explainer

N = 40
FAST = {
    "pfi": {"n_repeats": 3},
    "pdp": {"grid_resolution": 3},
    "calibration": {"n_draws": 99},
    "shap": {"n_rows": 5, "n_background": 5},
    "dalex": {"n_repeats": 2, "grid_points": 3, "n_background": 10},
}
OURS = ("pfi", "pdp", "calibration", "redundancy", "shap")
FEW = ("pfi", "pdp")


def rows(n: int = N) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(n, 2)), columns=["a", "b"])


def labels(X: pd.DataFrame) -> Any:
    return (X["a"] > 0).astype(int).to_numpy()


def coin(X: Any) -> Categorical:
    """Give each row two classes by its first number."""
    p = 1 / (1 + np.exp(-np.asarray(X)[:, 0].astype(float)))
    return Categorical(np.column_stack([1 - p, p]), classes=[0, 1])


def audit(model: Any, X: Any, y: Any = None, explainers: tuple[str, ...] = OURS, **given: Any) -> Run:
    subject = uq.explain(model, X, y, **given)
    return uq.audit(
        subject, explainers=explainers, options={k: FAST[k] for k in FAST if k in explainers}, progress=False
    ).run


def failures(run: Run) -> dict[str, str]:
    """Return explainers that were chosen and did not run."""
    return {
        n.name: n.reason for n in run.not_run if n.group == "explainers" and n.reason != "not chosen in the settings"
    }


def value(result: Result, feature: str, measure: str = "entropy") -> float:
    table = result.estimates
    return float(table[(table["feature"] == feature) & (table["measure"] == measure)]["estimate"].iloc[0])


# ---------------------------------------------------------------------- what works


def test_missing_values_work_in_a_model_that_takes_them() -> None:
    X = rows()
    X.loc[::5, "a"] = np.nan
    y = (X["b"] > 0).astype(int)
    run = audit(HistGradientBoostingClassifier(max_iter=5).fit(X, y), X, y)
    assert failures(run) == {}
    assert run.subject["features"][0]["missing"] == 8


def test_missing_values_are_named_by_column_where_a_model_refuses_them() -> None:
    X = rows()
    model = LogisticRegression().fit(X, labels(X))
    X.loc[3, "b"] = np.nan
    with pytest.raises(
        UQReportError, match=r"subject\.X\['b'\] must have no missing values for LogisticRegression; got none in row 3"
    ):
        uq.explain(model, X)


def test_constant_and_duplicate_columns_work_and_are_told() -> None:
    X = rows().assign(same=1.0, copy=lambda t: t["a"])
    run = audit(coin, X, labels(X))
    assert failures(run) == {}
    facts = {f["name"]: f for f in run.subject["features"]}
    assert facts["same"]["constant"]
    assert facts["copy"]["duplicate_of"] == "a"
    assert value(run.result("pfi"), "same") == value(run.result("pfi"), "copy") == 0.0


def gaps(values: Any, a: Any, dtype: Any) -> Any:
    """Return values of a nullable type, missing where `a` is above 1."""
    return pd.Series(values).astype(dtype).mask(a > 1).array


KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "string": (lambda a: np.where(a > 0, "high", "low"), "categorical"),
    "boolean": (lambda a: a > 0, "categorical"),
    "category": (lambda a: pd.Categorical(np.where(a > 0, "high", "low")), "categorical"),
    "datetime": (lambda a: pd.to_datetime("2026-01-01") + pd.to_timedelta(np.arange(len(a)), unit="D"), "datetime"),
    "Int64": (lambda a: gaps(a > 0, a, "Int64"), "numeric"),
    "nullable boolean": (lambda a: gaps(a > 0, a, "boolean"), "categorical"),
    "nullable string": (lambda a: gaps(np.where(a > 0, "x", "z"), a, "string"), "categorical"),
    "Float64": (lambda a: pd.array(a, dtype="Float64"), "numeric"),
}


@pytest.mark.parametrize("name", KINDS)
def test_columns_of_every_kind_work(name: str) -> None:
    make, kind = KINDS[name]
    X = rows()
    X.insert(1, "odd", make(X["a"].to_numpy()))
    run = audit(coin, X, labels(X), FEW)
    assert run.subject["features"][1]["kind"] == kind
    assert failures(run) == {}
    assert value(run.result("pfi"), "odd") == 0.0


def test_columns_of_every_kind_together_give_a_whole_report() -> None:
    X = rows()
    for name, (make, _) in KINDS.items():
        X[f"=<{name}>"] = make(rows()["a"].to_numpy())
    every = tuple(plugin.name for plugin in plugins.find(plugins.EXPLAINERS))
    subject = uq.explain(coin, X, labels(X))
    options = {key: FAST[key] | ({"n_rows": 0, "n_background": 2} if key == "shap" else {}) for key in FAST}
    run = uq.audit(subject, explainers=every, options=options, progress=False)
    refused = failures(run.run)
    absent = {"groups": "groups.protected must be given", "support": "support.train must be given"}
    absent["segments"] = "segments needs at least 80 independent observations; got 40"
    assert {name: word in refused.pop(name) for name, word in absent.items()} == dict.fromkeys(absent, True)
    assert all("must have no missing values; got 8 in '=<Int64>'" in reason for reason in refused.values())
    assert "=&lt;string&gt;" in run.render("html").decode()


def test_string_columns_work_through_a_pipeline() -> None:
    X = pd.DataFrame({"s": np.where(rows()["a"] > 0, "x", "y"), "t": np.where(rows()["b"] > 0, "x", "y")})
    y = (X["s"] == "x").to_numpy()
    run = audit(make_pipeline(OneHotEncoder(), LogisticRegression()).fit(X, y), X, y)
    assert failures(run) == {}
    assert value(run.result("pfi"), "s", "nll") > value(run.result("pfi"), "t", "nll")


def test_a_duplicate_index_works() -> None:
    X = rows()
    plain = audit(coin, X, labels(X), ("pfi",))
    X.index = pd.Index([7] * N)
    doubled = audit(coin, X, pd.Series(labels(X), index=X.index), ("pfi",))
    pd.testing.assert_frame_equal(plain.result("pfi").frame, doubled.result("pfi").frame)


def test_column_names_that_are_no_text_work() -> None:
    X = rows()
    assert failures(audit(coin, X.set_axis([0, 1], axis=1), labels(X), FEW)) == {}


def test_one_row_has_no_audit_and_is_explained_alone() -> None:
    X = rows(1)
    with pytest.raises(UQReportError, match=r"audit\.X must have at least 2 rows; got 1\. Give more rows; uq\.profile"):
        audit(coin, X, labels(X))
    alone = uq.profile(uq.explain(coin, X, labels(X)), progress=False)
    assert set(alone.frame["feature"]) == {"a", "b"}


@pytest.mark.parametrize("weighty", [1, 2])
def test_rows_of_weight_zero_are_no_rows_of_an_audit(weighty: int) -> None:
    X = rows()
    weights = np.r_[np.ones(weighty), np.zeros(N - weighty)]
    if weighty == 2:
        assert failures(audit(coin, X, labels(X), FEW, sample_weight=weights)) == {}
        return
    with pytest.raises(UQReportError, match=r"audit\.X must have at least 2 rows of positive weight; got 1\."):
        audit(coin, X, labels(X), FEW, sample_weight=weights)


def test_a_class_absent_from_the_test_set_works() -> None:
    X = rows()
    y = labels(X)
    forest = RandomForestClassifier(3, min_samples_leaf=10, random_state=0).fit(X, y)
    only = X[y == 1]
    run = audit(forest, only, y[y == 1])
    assert run.subject["y_summary"] == {"counts": [0, len(only)]}
    assert failures(run) == {}


def test_a_probability_of_exactly_0_leaves_nll_out_and_says_on_how_many_rows() -> None:
    X = rows()

    def sure(table: Any) -> Categorical:
        p = (np.asarray(table)[:, 0] > 0.3).astype(float)
        return Categorical(np.column_stack([1 - p, p]), classes=[0, 1])

    run = audit(sure, X, labels(X))
    result = run.result("pfi")
    assert "nll" not in set(result.frame["measure"])
    assert "entropy" in set(result.frame["measure"])
    reasons = [o.reason for o in result.omissions if o.measure == "nll"]
    assert reasons
    assert all(re.search(r"\d+ (of|rows)", reason) for reason in reasons)


def test_without_y_entropy_works_and_the_rest_says_why_not() -> None:
    run = audit(coin, rows())
    result = run.result("pfi")
    assert set(result.frame["measure"]) == {"entropy"}
    assert {o.measure for o in result.omissions} == {"brier", "nll"}
    assert "needs y" in failures(run)["calibration"] or run.find("calibration") is None
    assert run.subject["y_summary"] is None


def test_y_of_every_shape_that_is_one_dimensional_works() -> None:
    X = rows()
    y = labels(X)
    for given in (y, list(y), pd.Series(y), pd.DataFrame({"y": y}), y.reshape(-1, 1), pd.Series(y, dtype="Int64")):
        np.testing.assert_array_equal(np.asarray(uq.explain(coin, X, given).y), y)


def test_a_failing_explainer_is_in_the_report_with_its_reason_and_the_rest_is_delivered(packages: Packages) -> None:
    packages.explainer("odd", explainer("odd", "raise ValueError('the <odd> one')"))
    X = rows()
    run = uq.audit(uq.explain(coin, X, labels(X)), explainers=["odd", "calibration"], progress=False)
    assert {r.explainer for r in run.run.results} - {"sensitivity"} == {"calibration"}
    assert failures(run.run) == {"odd": "ValueError: the <odd> one"}
    assert "ValueError: the &lt;odd&gt; one" in run.render("html").decode()


# ---------------------------------------------------------------------- what is refused


def test_duplicate_column_names_are_refused() -> None:
    with pytest.raises(UQReportError, match=r"subject\.X must have unique column names; got \['a'\] more than once"):
        uq.explain(coin, rows().set_axis(["a", "a"], axis=1))


def test_unseen_labels_are_refused_by_name_on_any_row() -> None:
    X = rows(300)
    y = labels(X)
    y[299] = 7
    with pytest.raises(
        UQReportError, match=r"y: .*must hold the model's classes, 0, 1; got 7 in 1 of 300 rows\. Drop them"
    ):
        uq.explain(coin, X, y)
    with pytest.raises(UQReportError, match=r"explain\.train y: .*got 7 in 1 of 300"):
        uq.explain(coin, X, labels(X), train=(X, y))


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ([0.5, 0.6], "must sum to 1 within 1e-05 in every row; got 1.1 in row 0"),
        ([-0.1, 1.1], "must be finite and >= 0; got -0.1 in row 0"),
        ([np.nan, 1.0], "must be finite and >= 0; got no number in row 0"),
    ],
)
def test_probabilities_that_are_none_are_refused(probabilities: list[float], message: str) -> None:
    class Scores(LogisticRegression):  # type: ignore[misc]
        def predict_proba(self, X: Any) -> Any:
            return np.tile(probabilities, (len(X), 1))

    X = rows()
    with pytest.raises(UQReportError) as caught:
        uq.explain(Scores().fit(X, labels(X)), X)
    assert message in str(caught.value)


@pytest.mark.parametrize(("std", "got"), [(0.0, "0"), (np.nan, "no number"), (-1.0, "-1")])
def test_a_std_that_is_no_spread_is_refused(std: float, got: str) -> None:
    with pytest.raises(UQReportError, match=rf"normal\.std must be .*; got {got}"):
        uq.explain(lambda X: Normal(np.zeros(len(X)), np.full(len(X), std)), rows())


def test_a_bad_row_beyond_the_first_stops_the_audit_with_one_error() -> None:
    def late(X: Any) -> Normal:
        return Normal(np.zeros(len(X)), np.where(np.arange(len(X)) < 250, 1.0, 0.0))

    subject = uq.explain(late, rows(300))
    with pytest.raises(UQReportError, match=r"normal\.std must be greater than 0; got 0"):
        uq.audit(subject, progress=False)


def test_several_outputs_are_refused() -> None:
    X = rows()
    two = np.column_stack([labels(X), labels(X)])
    with pytest.raises(UQReportError, match="one output at a time"):
        uq.explain(RandomForestClassifier(2).fit(X, two), X)
    with pytest.raises(UQReportError, match=r"subject\.y must be one-dimensional; got shape \(40, 2\)"):
        uq.explain(coin, X, two)


def test_a_model_without_a_distribution_is_refused_with_the_line_to_type() -> None:
    X = rows()
    with pytest.raises(UQReportError, match=r"(?s)LinearRegression, which predicts points\. Type:.*residuals="):
        uq.explain(LinearRegression().fit(X, X["a"]), X)
    with pytest.raises(UQReportError, match=r"(?s)not fitted|must be fitted"):
        uq.explain(RandomForestClassifier(), X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0, 1]}, "subject.y must have one value per row, 40; got 2"),
        ({"y": [None] * N}, "subject.y must have no missing values; got 40 of 40, the first in row 0. Drop those rows"),
        ({"y": pd.date_range("2026", periods=N)}, "subject.y must hold numbers or labels; got dtype datetime64"),
        ({"sample_weight": np.ones(3)}, "subject.sample_weight must have shape (40,); got (3,)"),
        ({"sample_weight": -np.ones(N)}, "subject.sample_weight must be finite, not negative and not all zero"),
        ({"sample_weight": ["heavy"] * N}, "subject.sample_weight must be numbers"),
        ({"clusters": [1, 2]}, "subject.clusters must have shape (40,); got (2,)"),
        ({"clusters": [None] * N}, "subject.clusters must have no missing labels; got 40"),
        ({"groups": {"g": ["a", "bb"]}}, "subject.groups['g'] must list features of X; got ['bb']. Did you mean 'b'?"),
        ({"groups": {"a": ["b"]}}, "subject.groups must not reuse feature names; got 'a'"),
        ({"groups": {"g": ["a", "a"]}}, "subject.groups['g'] must list each feature once"),
        ({"categorical": ["bb"]}, "subject.categorical must list features of X; got ['bb']. Did you mean 'b'?"),
        (
            {"train": (rows()[["b", "a"]], None)},
            "subject.train must have the columns of X in the same order, ['a', 'b']",
        ),
        ({"train": rows()}, "subject.train must be a pair (X_train, y_train); got DataFrame"),
        ({"train": (rows().to_numpy(), None)}, "subject.train must be a DataFrame as X is; got a ndarray"),
        ({"max_rows": 0}, "subject.max_rows must be an integer >= 1; got 0"),
        ({"positive_class": 5}, "must be one of [0, 1]; got 5"),
        ({"adapter": "clasifier"}, "adapter must be a registered name; got 'clasifier'. Did you mean 'classifier'?"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UQReportError) as caught:
        uq.explain(coin, rows(), **{"y": labels(rows()), **change})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (None, "explain.X must be the rows to audit; got None"),
        (rows()["a"], "subject.X must be two-dimensional; got a Series"),
        (np.zeros(3), "subject.X must have shape (rows, features); got (3,)"),
        (np.zeros((0, 2)), "subject.X must have at least one row and one column; got shape (0, 2)"),
        ([[1, 2], [3]], "subject.X must be a table; got rows of different lengths"),
        (np.array([["a", "b"]]), "subject.X must be numeric as an array; got dtype <U1. Pass a DataFrame"),
        (rows() * 1j, "subject.X['a'] must be real; got complex numbers"),
        (rows().assign(b=pd.Series([[1]] * N, dtype=object)), "subject.X['b'] must hold single values; got list"),
        (rows().assign(b=pd.to_timedelta(1, "D")), "subject.X['b'] must be a number, text, boolean or date"),
        (rows().set_axis(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), axis=1), "subject.X must have one level"),
    ],
    ids=["none", "series", "vector", "empty", "ragged", "text array", "complex", "lists", "timedelta", "levels"],
)
def test_wrong_rows_are_named(X: Any, message: str) -> None:
    with pytest.raises(UQReportError) as caught:
        uq.explain(coin, X)
    assert message in str(caught.value)


def test_y_of_another_kind_than_the_model_is_named() -> None:
    with pytest.raises(UQReportError, match=r"explain\.y.*normal\.y must .*; got"):
        uq.explain(lambda X: Normal(np.zeros(len(X)), np.ones(len(X))), rows(), ["high"] * N)
