"""A model of several outputs in an audit.toml: all columns are the target, one is audited."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.support.errors import InputError
from uq_report.jobs import subject_of
from uq_report.jobs.audit_file import AuditFile
from uq_report.jobs.reading import describe_audit

MODEL = """
import numpy as np
import pandas as pd
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor

def sizes():
    rows = pd.read_csv("rows.csv")
    return MultiOutputRegressor(BayesianRidge()).fit(rows[["a", "b"]], rows[["height", "weight"]])

def kinds():
    rows = pd.read_csv("rows.csv")
    return MultiOutputClassifier(LogisticRegression()).fit(rows[["a", "b"]], rows[["tall", "kind"]])
"""
RNG = np.random.default_rng(0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = pd.DataFrame(RNG.normal(size=(40, 2)), columns=["a", "b"])
    rows = rows.assign(height=rows["a"] + 1.0, weight=rows["b"] * 3 + RNG.normal(size=40))
    rows.assign(tall=(rows["height"] > 1).astype(int), kind=np.where(rows["b"] > 0, 7, 3)).to_csv(
        tmp_path / "rows.csv", index=False
    )
    (tmp_path / "made_of_outputs.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def described(factory: str = "sizes", **data: Any) -> AuditFile:
    ignore = ["tall", "kind"] if factory == "sizes" else ["height", "weight"]
    description = describe_audit(
        None,
        {
            "model": {"source": f"made_of_outputs:{factory}"},
            "data": {"source": "rows.csv", "train": "rows.csv", "ignore": ignore, **data},
        },
    )
    assert not description.mistakes, description.mistakes
    return description.left()


@pytest.mark.usefixtures("folder")
def test_one_of_several_target_columns_is_audited() -> None:
    subject = subject_of(described(target=["height", "weight"], output="weight"))
    rows = pd.read_csv("rows.csv")
    assert subject.features == ("a", "b")
    assert subject.y is not None
    assert np.array_equal(subject.y, rows["weight"])
    assert subject.train is not None
    assert np.array_equal(np.asarray(subject.train[1]), rows["weight"])
    assert subject.sources["target"] == "weight"
    assert subject.label == "MultiOutputRegressor: weight"


@pytest.mark.usefixtures("folder")
def test_the_positive_class_is_one_of_the_output() -> None:
    audit = described("kinds", target=["tall", "kind"], output="kind")
    assert audit.model is not None
    positive = audit.model.model_copy(update={"positive_class": "3"})
    assert subject_of(audit.model_copy(update={"model": positive})).positive_class == 3


@pytest.mark.usefixtures("folder")
def test_without_an_output_they_are_named() -> None:
    with pytest.raises(InputError, match="one of 2 outputs, 'height' or 'weight'; got none"):
        subject_of(described(target=["height", "weight"]))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"target": ["height"], "output": "weight"}, r"data.output must be one of data.target; got 'weight' and"),
        ({"output": "weight"}, r"data.output must be one of data.target; got 'weight' and \[\]"),
        (
            {"target": ["height", "weight"], "predictions": {"mean": "a", "std": "b"}},
            r"data.target must be one column with data.predictions; got \['height', 'weight'\]",
        ),
    ],
)
def test_a_wrong_output_is_a_mistake_of_the_description(data: dict[str, Any], message: str) -> None:
    description = describe_audit(None, {"data": {"source": "rows.csv", **data}})
    with pytest.raises(InputError, match=message):
        subject_of(description.left(), description.mistakes)


@pytest.mark.usefixtures("folder")
def test_columns_of_outputs_are_looked_for_by_name() -> None:
    with pytest.raises(
        InputError, match=r"data.target\[1\] must be a column of rows.csv; got 'wieght'. Did you mean 'weight'"
    ):
        subject_of(described(target=["height", "wieght"]))
