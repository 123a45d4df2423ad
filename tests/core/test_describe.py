"""What is said of a subject, and its fingerprints."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from uq_report.core.model.describe import describe, task
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.digest import table_sha256, vector_sha256
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, Normal, Poisson
from uq_report.testing import KnownTruth


def subject(X: pd.DataFrame, model: object = None) -> Subject:
    return make_subject(model or (lambda X: X), KnownTruth(), X, np.arange(len(X)) % 2, groups={"g": ["n", "s"]})


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "n": [1.5, np.nan, 3.0, 3.0],
            "s": ["a", "b", "a", None],
            "d": pd.date_range("2026-01-01", periods=4),
            "c": [7, 7, 7, 7],
            "n2": [1.5, np.nan, 3.0, 3.0],
            "i": [1.0, np.inf, 2.0, 3.0],
        }
    )


def test_every_feature_is_described_in_json_values() -> None:
    told = describe(subject(frame()), Normal(np.zeros(4), np.ones(4)))
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    facts = {f.pop("name"): f for f in told["features"]}
    assert facts["n"] | {"kind": "numeric", "missing": 1, "distinct": 2, "min": 1.5, "max": 3.0} == facts["n"]
    assert facts["s"]["top_levels"] == [["a", 2], ["b", 1]]
    assert (facts["d"]["kind"], facts["d"]["min"]) == ("datetime", "2026-01-01 00:00:00")
    assert (facts["c"]["constant"], facts["n"]["constant"]) == (True, False)
    assert (facts["n2"]["duplicate_of"], facts["n"]["duplicate_of"]) == ("n", None)
    assert facts["i"]["max"] == "∞"
    assert told["groups"] == {"g": ["n", "s"]}
    assert told["y_summary"].pop("std") == pytest.approx(3**-0.5)
    assert told["y_summary"] == {"mean": 0.5, "min": 0.0, "quartiles": [0.0, 0.5, 1.0], "max": 1.0}


@pytest.mark.parametrize(("train", "more"), [(None, ""), ((frame().iloc[:3], None), ", 3 training observations")])
def test_a_subject_is_told_in_counts(train: Any, more: str) -> None:
    made = make_subject(lambda X: X, KnownTruth(), frame(), groups={"g": ["n", "s"]}, train=train)
    assert repr(made).partition("adapter ")[2] == (
        f"{KnownTruth.name}, 4 observations, 6 features, no outcomes{more}, 1 group of features"
    )


def test_equal_cells_of_other_types_have_another_digest() -> None:
    one, other = (pd.DataFrame({"a": pd.Series(["a", None, 1, last], dtype=object)}) for last in (1, True))
    assert table_sha256(one) != table_sha256(other)


def test_tasks_are_told_apart() -> None:
    assert task(Categorical([[0.5, 0.5]])) == "classification"
    assert task(Poisson([1.0])) == "count"
    assert task(Normal([0.0], [1.0])) == "regression"


def test_several_models_are_called_by_what_holds_them() -> None:
    several = {0.1: LinearRegression(), 0.5: LinearRegression(), 0.9: Ridge()}
    for model, words in ((several, "dict of 2 LinearRegression and 1 Ridge"), ([Ridge()], "list of 1 Ridge")):
        facts = describe(subject(frame(), model), Normal(np.zeros(4), np.ones(4)))
        assert facts["model_class"] == words
    one = describe(subject(frame(), Ridge()), Normal(np.zeros(4), np.ones(4)))
    assert one["model_class"].endswith(".Ridge")


def test_parameters_that_nobody_chose_are_told_apart() -> None:
    forest = RandomForestClassifier(100, max_depth=2)  # the first is said, and what it would be anyway
    told = describe(subject(frame(), make_pipeline(StandardScaler(), forest)), Normal(np.zeros(4), np.ones(4)))
    chosen = set(told["model_parameters"]) - set(told["parameters_at_default"])
    assert chosen == {"steps", "randomforestclassifier__max_depth"}
    assert set(told["parameters_at_default"]) < set(told["model_parameters"])
    assert describe(subject(frame()), Normal(np.zeros(4), np.ones(4)))["parameters_at_default"] == []


def test_parameters_reach_into_pipelines_and_hold_no_address() -> None:
    steps = make_pipeline(FunctionTransformer(np.log1p), StandardScaler(), RandomForestClassifier(7, max_depth=2))
    told = describe(subject(frame(), steps), Normal(np.zeros(4), np.ones(4)))["model_parameters"]
    assert told["randomforestclassifier__n_estimators"] == "7"
    assert told["steps"] == "functiontransformer, standardscaler, randomforestclassifier"
    assert "log1p" in told["functiontransformer__func"]
    assert not any("0x" in text for text in told.values())


class Sulks:
    """A model whose own code fails where it is described."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def get_params(self, deep: bool = True) -> dict[str, object]:
        if str(self.error) == "get":
            raise self.error
        return {"part": self}

    def __repr__(self) -> str:
        raise self.error


@pytest.mark.parametrize("kind", [AttributeError, SystemExit, RecursionError])
def test_a_model_that_cannot_be_described_is_described_so(kind: type[BaseException]) -> None:
    dist = Normal(np.zeros(4), np.ones(4))
    told = describe(subject(frame(), Sulks(kind("get"))), dist)["model_parameters"]
    assert told == {"get_params": f"it fails: {kind.__name__}: get"}
    told = describe(subject(frame(), Sulks(kind("repr"))), dist)["model_parameters"]
    assert set(told.values()) == {"Sulks"}


def test_equal_content_has_equal_hashes_and_nothing_else_has() -> None:
    X = frame()
    assert table_sha256(X) == table_sha256(X.copy().set_index(pd.Index([9, 9, 9, 9])))
    changed = [
        X.rename(columns={"n": "m"}),
        X[["s", "n", "d", "c", "n2", "i"]],
        X.assign(c=X["c"].astype(float)),
        X.assign(s=["a", "b", "a", "None"]),
        X.assign(s=np.array(["a", "ba", "", None], dtype=object)),
        X.iloc[:3],
    ]
    hashes = [table_sha256(table) for table in (X, *changed)]
    assert len(set(hashes)) == len(hashes)
    assert vector_sha256(np.array(["ab", "c"], dtype=object)) != vector_sha256(np.array(["a", "bc"], dtype=object))
    assert vector_sha256(np.array([1, 0])) != vector_sha256(np.array([True, False]))


def test_hashes_are_the_same_in_every_session() -> None:
    assert vector_sha256(np.array([0.0, 1.0])) == "2347a2b206ed41ba3a75508971b65192520b56dd09861e399b5d8e630ed4a895"


def test_names_of_features_and_groups_are_checked() -> None:
    made = subject(frame())
    assert made.members("g") == ("n", "s")
    assert made.positions("d") == (2,)
    with pytest.raises(InputError, match=r"must include 'nn'; it does not\. Did you mean 'n"):
        made.members("nn")


def test_rows_are_drawn_once_and_in_order() -> None:
    X = pd.DataFrame({"a": np.arange(100.0)})
    drawn = make_subject(
        None, KnownTruth(), X, X["a"], sample_weight=np.ones(100), clusters=X["a"], max_rows=10, seed=3
    )
    again = make_subject(None, KnownTruth(), X, X["a"], max_rows=10, seed=3)
    values = np.asarray(drawn.X)[:, 0]
    assert (drawn.n, drawn.sampled_from) == (10, 100)
    assert list(values) == sorted(values) == list(np.asarray(again.X)[:, 0]) == list(np.asarray(drawn.y))
    assert drawn.weights is not None
    assert drawn.clusters is not None
    assert list(drawn.clusters) == list(values)
    assert make_subject(None, KnownTruth(), X, max_rows=500).sampled_from is None
