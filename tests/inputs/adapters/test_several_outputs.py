"""One output of a model that predicts several is audited as what it is, with exactly the model's own predictions."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_regressor
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LogisticRegression, MultiTaskLasso
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import uq_report as uq
from uq_report.core.model.subject import Subject
from uq_report.core.support.errors import InputError, UQReportError
from uq_report.core.validation.multioutput import Output, listed, output_names, whole
from uq_report.distributions import Categorical, Normal
from uq_report.inputs.adapters.several_outputs import SeveralOutputsAdapter

from .whole_audit import whole_audit

RNG = np.random.default_rng(0)
N = 80
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
Y = pd.DataFrame({"height": X["a"] + RNG.normal(size=N), "weight": 50 + 9 * X["b"] + RNG.normal(size=N)})
CLASSES = pd.DataFrame(
    {"sex": np.where(X["a"] > 0, "m", "f"), "size": np.array(["s", "m", "l"])[np.digitize(X["b"], [-0.5, 0.5])]}
)
LABELS = np.column_stack([X["a"] > 0, X["b"] + RNG.normal(size=N) > 0]).astype(int)
FEW: dict[str, Any] = {"n_estimators": 5, "random_state": 0}
KERNEL = RBF(2.0) + WhiteKernel(0.5)

REGRESSORS = {
    "one each": MultiOutputRegressor(BayesianRidge()),
    "chain": RegressorChain(BayesianRidge(), order=[1, 0]),
    "process": GaussianProcessRegressor(KERNEL, optimizer=None),
    "scaled process": GaussianProcessRegressor(KERNEL, optimizer=None, normalize_y=True),
    "process in a pipeline": make_pipeline(StandardScaler(), GaussianProcessRegressor(KERNEL, optimizer=None)),
    "forest": RandomForestRegressor(**FEW, min_samples_leaf=8),
    "extra trees": ExtraTreesRegressor(**FEW, min_samples_leaf=8, bootstrap=True, max_samples=0.7),
    "bagging": BaggingRegressor(**FEW),
    "search": GridSearchCV(RandomForestRegressor(**FEW), {"max_depth": [3]}, cv=2),
}
CLASSIFIERS = {
    "one each": MultiOutputClassifier(LogisticRegression()),
    "forest": RandomForestClassifier(**FEW),
    "extra trees": ExtraTreesClassifier(**FEW),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "neighbours": KNeighborsClassifier(),
    "dummy": DummyClassifier(),
    "forest in a pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(**FEW)),
}
MULTILABEL = {
    "chain of predictions": ClassifierChain(LogisticRegression(), order=[1, 0]),
    "chain of probabilities": ClassifierChain(LogisticRegression(), chain_method="predict_proba"),
    "chain of decisions": ClassifierChain(LogisticRegression(), chain_method="decision_function"),
    "one against the rest": OneVsRestClassifier(LogisticRegression()),
    "perceptron": MLPClassifier((4,), solver="lbfgs", max_iter=15, random_state=0),
}


def predicted(subject: Subject) -> Any:
    return subject.adapter.predict(subject.model, subject.X)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")  # 15 steps of a perceptron are enough here
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressors_mean_of_an_output_is_its_own(name: str) -> None:
    model = REGRESSORS[name].fit(X, Y)
    means = np.asarray(model.predict(X))
    for k, output in enumerate(["height", "weight"]):
        subject = uq.explain(model, X, Y, output=output)
        assert np.allclose(predicted(subject).mean(), means[:, k], rtol=0, atol=1e-12 * np.abs(means).max())
        assert subject.y is not None
        assert np.array_equal(subject.y, Y[output])
        assert subject.label.endswith(f": {output}")


@pytest.mark.parametrize("normalize", [True, False])
def test_a_process_of_several_outputs_keeps_each_ones_std(normalize: bool) -> None:
    process = GaussianProcessRegressor(KERNEL, optimizer=None, normalize_y=normalize).fit(X, Y)
    stds = process.predict(X, return_std=True)[1]
    for k, output in enumerate(["height", "weight"]):
        subject = uq.explain(process, X, Y, output=output)
        q = predicted(subject)
        assert isinstance(q, Normal)
        assert np.allclose(q.scale, stds[:, k], rtol=1e-12)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifiers_probabilities_of_an_output_are_its_own(name: str) -> None:
    model = CLASSIFIERS[name].fit(X, CLASSES)
    each, labels = model.predict_proba(X), model.predict(X)
    for k, output in enumerate(["sex", "size"]):
        subject = uq.explain(model, X, CLASSES, output=output)
        q = predicted(subject)
        assert isinstance(q, Categorical)
        assert np.allclose(q.probabilities, each[k], rtol=0, atol=1e-15)  # asked of the output's own model
        assert list(q.classes) == sorted(set(CLASSES[output]))
        assert np.array_equal(subject.adapter.decide(subject.model, X), labels[:, k])  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")  # 15 steps of a perceptron are enough here
@pytest.mark.parametrize("name", MULTILABEL)
def test_labels_that_do_not_exclude_each_other_are_a_binary_outcome_each(name: str) -> None:
    model = MULTILABEL[name].fit(X.to_numpy(), LABELS)
    p = model.predict_proba(X.to_numpy())
    for k in range(2):
        subject = uq.explain(model, X.to_numpy(), LABELS, output=k)
        ones = p[k][:, 1] if isinstance(p, list) else p[:, k]
        assert np.allclose(predicted(subject).probabilities[:, 1], ones, rtol=0, atol=1e-15)


def test_the_members_of_a_forest_are_those_of_the_output() -> None:
    forest = RandomForestClassifier(**FEW).fit(X, CLASSES)
    q = predicted(uq.explain(forest, X, CLASSES, output="size"))
    members = np.stack([tree.predict_proba(X.to_numpy())[1] for tree in forest.estimators_])
    own = -np.sum(np.where(members > 0, members * np.log(np.where(members > 0, members, 1)), 0), axis=2).mean(axis=0)
    assert np.allclose(q.aleatoric(), own, atol=1e-12)


@pytest.mark.parametrize("name", ["forest", "extra trees"])
def test_members_of_a_forest_of_numbers_are_points(name: str) -> None:
    subject = uq.explain(REGRESSORS[name].fit(X, Y), X, Y, train=(X, Y), output="weight")
    assert "entropy" not in predicted(subject).supports
    assert "so members are points" in subject.notes[0]


@pytest.mark.parametrize("y", [Y, None], ids=["named", "unnamed"])
@pytest.mark.parametrize("name", ["one each", "chain", "process in a pipeline", "forest", "bagging", "search"])
def test_without_output_the_refusal_names_them_and_the_line_to_type(name: str, y: Any) -> None:
    model = REGRESSORS[name].fit(X, Y)
    named, line = ("'height' or 'weight'", "output='height'") if y is not None else ("'0' or '1'", "output=0")
    with pytest.raises(InputError, match=f"one of 2 outputs, {named}; got none(?s:.*)uq.explain.model, X, y, {line}"):
        uq.explain(model, X, y)
    uq.explain(model, X, y, output="height" if y is not None else 0)


@pytest.mark.parametrize("output", ["age", 2, -1, True, 1.0])
def test_an_output_there_is_not_is_refused(output: Any) -> None:
    model = REGRESSORS["one each"].fit(X, Y)
    with pytest.raises(InputError, match=r"explain.output must be 'height' or 'weight' or a position below 2; got"):
        uq.explain(model, X, Y, output=output)
    with pytest.raises(UQReportError, match=r"position below 2"):
        uq.explain(CLASSIFIERS["neighbours"].fit(X, CLASSES), X, output=7)


def test_a_model_of_one_output_needs_none() -> None:
    one, labels = BayesianRidge().fit(X, Y["height"]), LogisticRegression().fit(X, LABELS[:, 0])
    with pytest.raises(InputError, match="left out where y has one column; got 0"):
        uq.explain(one, X, Y["height"], output=0)
    with pytest.raises(UQReportError, match="left out for a model of one output; got 0"):
        uq.explain(one, X, Y, output=0)
    with pytest.raises(UQReportError, match="left out where predict_proba returns one array"):
        uq.explain(labels, X, LABELS, output=0)
    with pytest.raises(InputError, match="left out for a function, which has no predict"):
        uq.explain(lambda rows: Normal(rows["a"], 1.0), X, Y, output="height")
    with pytest.raises(InputError, match=r"explain_outputs\.model must predict several outputs"):
        uq.explain_outputs(one, X, Y["height"])
    assert SeveralOutputsAdapter().matches(one) is None
    assert SeveralOutputsAdapter().matches(RandomForestRegressor) is None


def test_columns_that_are_not_those_of_the_model_are_refused() -> None:
    model = REGRESSORS["one each"].fit(X, Y)
    with pytest.raises(InputError, match="one column per output of MultiOutputRegressor, 2; got 3"):
        uq.explain(model, X, Y.assign(age=1.0), output="age")
    with pytest.raises(InputError, match=r"explain.train y must have one column per output, 2; got shape \(80,\)"):
        uq.explain(model, X, Y, train=(X, Y["height"]), output="height")
    with pytest.raises(InputError, match=r"unique column names; got .'height'."):
        uq.explain_outputs(model, X, Y.set_axis(["height", "height"], axis=1))


def test_an_output_can_be_pickled_and_names_are_listed() -> None:
    model = CLASSIFIERS["neighbours"].fit(X, CLASSES)
    one = pickle.loads(pickle.dumps(Output(model, 1)))
    assert np.array_equal(one.predict_proba(X), model.predict_proba(X)[1])
    assert list(one.feature_names_in_) == ["a", "b", "c"]
    assert output_names(Y.iloc[:, :1]) == output_names(None) == ()
    assert listed(tuple("abcdefghij")).endswith("'h' or 2 more")


def test_all_outputs_give_one_report_each_and_a_page_over_them(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = REGRESSORS["one each"].fit(X, Y)
    subjects = uq.explain_outputs(model, X, Y.rename(columns={"height": "height/cm"}), train=(X, Y), label="Growth")
    assert [subject.label for subject in subjects.values()] == ["Growth: height/cm", "Growth: weight"]
    runs = uq.audit(subjects, explainers=["calibration"], as_of="2026-01-01", progress=False)
    assert list(runs) == ["height/cm", "weight"]
    assert repr(runs).splitlines()[1].startswith("weight: ")
    folder = runs.write(tmp_path / "out", formats=["html"])
    page = (folder / "index.html").read_text()
    links = [part.partition('"')[0] for part in page.split('href="./')[1:]]
    assert len(links) == len(runs) == 2
    assert all((folder / link).is_file() for link in links)
    assert uq.load(folder / "weight").run.subject == runs["weight"].run.subject
    monkeypatch.setattr("uq_report.api.several.scores_of", lambda run: {"log_score": float("inf")})
    assert "<td>–</td>" in (runs.write(tmp_path / "infinite", formats=["markdown"]) / "index.html").read_text()
    assert "<td>–</td>" not in page
    with pytest.raises(InputError, match=r"audit\.previous must be an earlier run of one subject"):
        uq.audit(subjects, previous=folder / "weight")
    with pytest.raises(InputError, match=r"audit\.subject must be at least one"):
        uq.audit({})


def test_a_whole_audit_of_an_output() -> None:
    data = load_diabetes(as_frame=True)
    rows = data.data[["bmi", "bp", "s5"]][:160]
    target = pd.DataFrame({"progression": data.target[:160], "s6": data.data["s6"][:160]})
    model = RandomForestRegressor(8, min_samples_leaf=8, random_state=0).fit(rows[:90], target[:90])
    subject = uq.explain(model, rows[90:], target[90:], train=(rows[:90], target[:90]), output="progression")
    assert whole_audit(subject).subject["label"] == "RandomForestRegressor: progression"


def test_an_output_that_no_adapter_knows_is_refused_by_the_models_own_name() -> None:
    model = MultiTaskLasso(0.1).fit(X, Y)
    with pytest.raises(InputError, match=r"got sklearn.linear_model.\S*MultiTaskLasso"):
        uq.explain(model, X, Y, output="height")
    point = Output(model, 1)
    assert is_regressor(point)
    assert np.array_equal(point.predict(X), model.predict(X)[:, 1])
    subject = uq.explain(CLASSIFIERS["neighbours"].fit(X, CLASSES), X, CLASSES, output="sex")
    assert uq.calibration(subject).result.estimates is not None
    assert whole(subject.model) is CLASSIFIERS["neighbours"]
