"""Subjects from descriptions: roles of columns, drift, hashes before loading, options of loaders."""

import ast
import hashlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from uq_report import jobs as files
from uq_report.core.model.subject import Subject
from uq_report.core.support.errors import InputError
from uq_report.jobs.audit_file import AuditFile, ModelPart

from ..packages import Packages
from . import audits_made

IGNORED = ["application", "household", "exposure"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder with a model and its tables."""
    monkeypatch.chdir(tmp_path)
    audits_made.write(tmp_path)
    return tmp_path


def described(model: dict[str, Any] | None = None, **data: Any) -> AuditFile:
    rows = {"source": "test.csv", "target": "risk", "ignore": IGNORED, "protected": ["sex"]} | data
    part = {"source": "model.skops"} | (model or {})
    return AuditFile.model_validate({"model": part, "data": rows})


def subject(model: dict[str, Any] | None = None, **data: Any) -> Subject:
    return files.subject_of(described(model, **data))


def test_columns_take_their_roles_and_features_the_order_of_the_model(folder: Path) -> None:
    made = subject(
        {"label": "L", "positive_class": "bad"},
        sample_weight="exposure",
        clusters="household",
        ignore=["application"],
        groups={"wealth": ["income", "savings"]},
        categorical=["age"],
        train="train.csv",
    )
    rows = pd.read_csv("test.csv")
    assert made.features == tuple(audits_made.FEATURES)
    assert list(made.protected) == ["sex"]
    assert (made.protected["sex"] == rows["sex"].to_numpy()).all()
    assert made.weights is not None
    assert np.allclose(made.weights, rows["exposure"])
    assert made.clusters is not None
    assert len(set(made.clusters.tolist())) == 30
    assert made.kinds["age"] == "categorical"
    assert (made.label, made.positive_class, made.groups) == ("L", "bad", {"wealth": ("income", "savings")})
    assert made.train is not None
    assert len(made.train[0]) == 120


def test_rows_in_order_of_a_column_of_times(folder: Path) -> None:
    made = subject(time="application", block_size=4, ignore=["household", "exposure"])
    rows = pd.read_csv("test.csv")
    assert made.blocks is not None
    np.testing.assert_array_equal(made.blocks.order, np.argsort(rows["application"], kind="stable"))
    assert (made.blocks.length, made.sources["time"]) == (4, "application")
    with pytest.raises(InputError, match=r"subject\.time must be None where clusters are given"):
        subject(time="application", clusters="household", ignore=["exposure"])


def test_protected_attributes_that_the_model_uses_stay_features(folder: Path) -> None:
    made = subject(protected=["sex", "age"])
    assert set(made.protected) == {"sex", "age"}
    assert "age" in made.features
    assert "sex" not in made.features


class Silent:
    """A model that does not say which features it has."""

    classes_ = np.array(["bad", "good"])

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), 0.5)


def test_a_model_without_a_list_of_features_is_told_which_attributes_it_uses(folder: Path) -> None:
    silent = {"source": f"{__name__}:Silent"}
    assert "sex" in subject(silent).features
    assert "sex" not in subject(silent, protected_features=[]).features
    some = subject(silent, protected=["sex", "region"], protected_features=["region"])
    assert "region" in some.features
    assert "sex" not in some.features


def test_sources_hashes_and_schemas_of_every_input_are_recorded(folder: Path) -> None:
    made = subject(train="train.csv")
    digest = {
        name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in ("model.skops", "test.csv", "train.csv")
    }
    assert made.hashes == {
        "model": digest["model.skops"], "data_file": digest["test.csv"], "train_file": digest["train.csv"],
    }  # fmt: skip
    assert made.sources["data_columns"].startswith("application: int64, age: int64, income: float64")
    assert made.sources["train_columns"] == made.sources["data_columns"]
    assert (made.sources["ignored"], made.sources["target"]) == ("application, household, exposure", "risk")


class Tells:
    """An object whose pickle makes a file where it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("loaded"),)


def test_the_hash_is_checked_before_the_model_is_loaded(folder: Path) -> None:
    right = hashlib.sha256(Path("model.skops").read_bytes()).hexdigest()
    assert subject({"sha256": right.upper()}).hashes["model"] == right
    Path("model.pkl").write_bytes(pickle.dumps(Tells()))
    other = {"source": "model.pkl", "allow_pickle": True, "sha256": "0" * 64}
    with pytest.raises(InputError, match=r"model.sha256 must be the hash of model.pkl; got 0+, and the source has"):
        subject(other)
    assert files.mistakes_of(described(other))[0].startswith("model.sha256 must be the hash")
    assert not Path("loaded").exists()
    files.read_model(ModelPart(source="model.pkl", allow_pickle=True))
    assert Path("loaded").exists()
    with pytest.raises(InputError, match="the source has a source without a hash"):
        files.read_model(ModelPart(source="made:model", sha256="0" * 64))


def test_a_file_that_changes_while_it_is_read_is_refused(folder: Path, packages: Packages) -> None:
    packages.loader("moving", "data", "os.utime(source, ns=(0, 0)); return pd.read_csv(source)")
    Path("test.csv").rename("test.moving")
    with pytest.raises(InputError, match=r"test.moving must stay as it is while it is read; it was changed. Try again"):
        subject(source="test.moving")


def test_missing_and_extra_columns_of_the_training_rows_are_one_error(folder: Path) -> None:
    rows = pd.read_csv("train.csv")
    rows.rename(columns={"income": "earnings"}).to_csv("other.csv", index=False)
    with pytest.raises(InputError) as caught:
        subject(train="other.csv")
    assert str(caught.value) == (
        "data.train must have the feature columns of test.csv; got other.csv: it lacks 'income' and it also has "
        "'earnings'. Correct the file, or list columns that are no features in data.ignore."
    )
    rows.drop(columns="age").to_csv("other.csv", index=False)
    with pytest.raises(InputError, match=r"other.csv: it lacks 'age'"):
        subject(train="other.csv", protected=["age", "sex"])
    rows.drop(columns=["sex", "exposure"]).to_csv("other.csv", index=False)
    assert subject(train="other.csv").train is not None  # neither is a feature


def test_other_types_and_new_levels_are_reported(folder: Path) -> None:
    rows = pd.read_csv("test.csv")
    rows.loc[:2, "region"] = "west "
    rows.assign(age=rows["age"].astype(float) + 0.5).to_csv("drifted.csv", index=False)
    trained = pd.read_csv("train.csv")
    trained.assign(region=trained["region"].replace("east", "west ")).to_csv("other.csv", index=False)
    told = subject(source="test.csv", train="other.csv").sources["train_against_data"]
    assert told.startswith("region has levels that do not occur in the training sample: east (")
    from uq_report.jobs import description_errors

    sentences = list(description_errors.drift(pd.read_csv("drifted.csv"), trained, ()))
    assert "age is float64 here and int64 in the training sample" in sentences
    assert "region has levels that do not occur in the training sample: west (3 rows)" in sentences
    assert list(description_errors.drift(rows[["age"]] * 0 + 99, trained, ["age"])) == [
        "age has levels that do not occur in the training sample: 99 (60 rows)"
    ]


def test_columns_that_the_model_does_not_know_are_one_error(folder: Path) -> None:
    pd.read_csv("test.csv").drop(columns="age").to_csv("rows.csv", index=False)
    with pytest.raises(InputError, match=r"rows.csv: it lacks 'age' and it also has 'application', 'household'"):
        subject(source="rows.csv", ignore=["exposure"])


def test_a_class_is_named_as_it_is_spelled(folder: Path) -> None:
    assert subject({"positive_class": "good"}).positive_class == "good"
    trained = pd.read_csv("train.csv")
    import skops.io as sio

    sio.dump(audits_made.model(trained.assign(risk=(trained["risk"] == "bad").astype(int))), "coded.skops")
    pd.read_csv("test.csv").drop(columns="risk").to_csv("rows.csv", index=False)
    assert subject({"source": "coded.skops", "positive_class": "0"}, source="rows.csv", target=None).positive_class == 0


def test_options_reach_only_loaders_that_take_them(folder: Path, packages: Packages) -> None:
    with pytest.raises(InputError, match=r"data.query must be left out; the loader 'csv' of test.csv does not take it"):
        subject(query="select 1")
    with pytest.raises(InputError, match=r"model.trusted must be left out; the loader 'factory' of made:model"):
        files.read_model(ModelPart(source="made:model", trusted=("a.B",)))
    load = """Path("taken").write_text(repr(options))
        rows = pd.read_csv(source).head(options["max_rows"])
        rows.attrs["sampled_from"] = 60
        return rows"""
    packages.loader("asked", "data", load, 'options = ("max_rows", "seed", "query")')
    Path("test.csv").rename("test.asked")
    made = subject(source="test.asked", query="select 1", max_rows=20)
    assert ast.literal_eval(Path("taken").read_text()) == {"query": "select 1", "max_rows": 20, "seed": 0}
    assert (made.n, made.sampled_from) == (20, 60)


def test_a_loader_of_its_own_hash_is_asked(folder: Path, packages: Packages) -> None:
    load = "import skops.io; return skops.io.load('model.skops', trusted=[])"
    packages.loader("served", "model", load, 'sha256 = lambda self, source: "ab" * 32')
    assert subject({"source": "credit.served", "sha256": "ab" * 32}).hashes["model"] == "ab" * 32


def test_predictions_without_a_model_are_a_subject(folder: Path) -> None:
    rows = pd.read_csv("test.csv")
    rows.assign(p=np.linspace(0.1, 0.9, len(rows))).to_csv("scored.csv", index=False)
    part = {"probability": "p", "positive_class": "bad", "label": "Scores"}
    data = {
        "source": "scored.csv",
        "target": "risk",
        "ignore": IGNORED,
        "predictions": part,
        "max_rows": 20,
        "protected": ["sex"],
    }
    made = files.subject_of(AuditFile.model_validate({"data": data}))
    assert "p" not in made.features
    assert (made.label, made.positive_class, made.n) == ("Scores", "bad", 20)
    assert made.sources["model"] == "predictions only"
    assert made.hashes["model"] == "not available: the predictions were given, not the model"
    with pytest.raises(InputError, match=r"data.predictions.probability must be a column of scored.csv; got 'q'"):
        files.subject_of(AuditFile.model_validate({"data": data | {"predictions": {"probability": "q"}}}))


def test_a_pickle_is_loaded_only_if_allowed_and_the_subject_says_so(folder: Path) -> None:
    import joblib

    joblib.dump(audits_made.model(pd.read_csv("train.csv")), "model.joblib")
    with pytest.raises(InputError, match="--allow-pickle"):
        subject({"source": "model.joblib"})
    made = subject({"source": "model.joblib", "allow_pickle": True})
    assert "loading it ran code of the file" in made.sources["model_loading"]


def test_point_predictions_get_the_distribution_that_the_file_names(folder: Path) -> None:
    import joblib

    train = pd.read_csv("train.csv")
    joblib.dump(LinearRegression().fit(train[["savings", "age"]], train["income"]), "line.joblib")
    rows = {"target": "income", "train": "train.csv", "protected": [], "ignore": [*IGNORED, "region", "sex", "risk"]}
    model = {"source": "line.joblib", "allow_pickle": True}
    laid = subject(model, **rows, residuals="empirical", residual_scale="modelled").assumption
    assert laid is not None
    assert (laid.form, laid.scale, laid.source, laid.n) == ("empirical", "modelled", "cross_validation", 120)
    even = subject(model, **rows, residuals="normal").assumption
    assert even is not None
    assert even.scale == "constant"
    with pytest.raises(InputError, match="model must"):
        subject(model, **rows)


def test_a_scale_of_no_residuals_is_a_mistake() -> None:
    assert described(residual_scale="modelled").mistakes() == [
        "data.residuals must be given where data.residual_scale is; it is missing."
    ]


@pytest.fixture
def lifetimes(folder: Path) -> Path:
    """Return the working folder with a model of lifetimes and the tables of its rows."""
    rng = np.random.default_rng(0)
    for name in ("lives.csv", "lived.csv"):
        frame = pd.DataFrame(
            {"age": rng.normal(size=20), "week": rng.uniform(1, 9, 20), "died": rng.integers(0, 2, 20)}
        )
        frame.to_csv(name, index=False)
    (folder / "made_of_lives.py").write_text(
        "import numpy as np\nfrom uq_report.distributions import Censored, Weibull\n\n"
        "def model():\n    return lambda X: Censored(Weibull(1.0, np.exp(X['age'].to_numpy())))\n"
    )
    return folder


def of_lives(**data: Any) -> AuditFile:
    return AuditFile.model_validate(
        {"model": {"source": "made_of_lives:model"}, "data": {"source": "lives.csv", **data}}
    )


def test_a_column_of_events_makes_the_target_a_time_that_may_be_censored(
    lifetimes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(lifetimes)
    made = files.subject_of(of_lives(target="week", event="died", train="lived.csv"))
    rows = pd.read_csv("lives.csv")
    assert made.features == ("age",)
    assert made.y is not None
    np.testing.assert_array_equal(made.y["time"], rows["week"])
    np.testing.assert_array_equal(made.y["event"], rows["died"] == 1)
    assert made.train is not None
    assert made.train[1] is not None
    assert made.train[1].dtype == made.y.dtype
    assert made.sources["event"] == "died"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"event": "died"}, r"data.target must be the column with the times; got None beside event='died'"),
        ({"target": "week", "event": "dead"}, r"data.event must be a column of lives.csv; got 'dead'"),
        ({"target": "week", "event": "week"}, r"data.event must be another column than data.target"),
        ({"target": "week", "event": "died", "train": "test.csv"}, r"data.event must be a column of test.csv too"),
    ],
)
def test_events_that_belong_to_no_time_are_refused(
    lifetimes: Path, monkeypatch: pytest.MonkeyPatch, data: dict[str, Any], says: str
) -> None:
    monkeypatch.syspath_prepend(lifetimes)
    with pytest.raises(InputError, match=says):
        files.subject_of(of_lives(**data))
