"""ONNX graphs become distributions that agree with scikit-learn's to single precision; others say what is missing."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import uq_report as uq
from uq_report.core.support.errors import InputError, ModelError, UQReportError
from uq_report.distributions import Categorical, Normal
from uq_report.inputs.adapters.onnx_ import OnnxAdapter
from uq_report.inputs.loaders.model_files import OnnxLoader

from .typed_lines import typed

onnx = pytest.importorskip("onnx", reason="these tests read and write ONNX files")
runtime = pytest.importorskip("onnxruntime", reason="ONNX graphs are run by onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx", reason="these tests convert scikit-learn models")
types = pytest.importorskip("skl2onnx.common.data_types", reason="these tests convert scikit-learn models")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.where(X[:, 0] + RNG.normal(size=120) > 0, "yes", "no")
SINGLE = 2e-6  # float32 has 24 bits; sums of a few terms lose a few of them


def loaded(file: Path, model: Any, **how: Any) -> Any:
    how.setdefault("X", X[:1].astype(np.float32))
    file.write_bytes(skl2onnx.to_onnx(model, **how).SerializeToString())
    return OnnxLoader().load(str(file))


@pytest.mark.parametrize("zipmap", [True, False])
def test_class_probabilities_agree_with_scikit_learn(tmp_path: Path, zipmap: bool) -> None:
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0))):
        model.fit(X.astype(np.float32), Y)
        graph = loaded(tmp_path / "m.onnx", model, options={id(model): {"zipmap": zipmap}})
        dist = OnnxAdapter().predict(graph, X)
        assert isinstance(dist, Categorical)
        assert dist.classes.tolist() == ["no", "yes"]
        expected = model.predict_proba(X.astype(np.float32))
        np.testing.assert_allclose(dist.probabilities, expected, atol=SINGLE)


def test_a_gaussian_process_with_its_std_is_normal(tmp_path: Path) -> None:
    model = GaussianProcessRegressor(RBF() + WhiteKernel(0.5), optimizer=None).fit(X, X[:, 0])
    graph = loaded(tmp_path / "m.onnx", model, options={GaussianProcessRegressor: {"return_std": True}}, X=X[:1])
    dist = OnnxAdapter().predict(graph, X)
    assert isinstance(dist, Normal)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(dist.mean(), mean, atol=1e-6)
    np.testing.assert_allclose(np.sqrt(dist.variance()), std, atol=1e-6)
    assert "float32" not in str(OnnxAdapter().matches(graph))  # this graph takes doubles


def test_frames_are_split_into_named_inputs_of_their_types(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": X[:, 0], "count": RNG.integers(0, 5, 120), "sex": RNG.choice(["f", "m"], 120)})
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["sex"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(frame, Y)
    kinds = [("age", types.FloatTensorType([None, 1])), ("count", types.Int64TensorType([None, 1]))]
    kinds.append(("sex", types.StringTensorType([None, 1])))
    graph = loaded(tmp_path / "m.onnx", model, X=None, initial_types=kinds)
    shuffled = frame[["sex", "age", "count"]]
    dist = OnnxAdapter().predict(graph, shuffled)
    assert isinstance(dist, Categorical)
    np.testing.assert_allclose(dist.probabilities, model.predict_proba(frame), atol=SINGLE)
    for changed, message in (
        (frame.rename(columns={"sex": "sexe"}), "The data has no 'sex'. Did you mean 'sexe'"),
        (frame.assign(extra=1.0), "or leave other columns out"),
        (frame.assign(age="old"), "age must be a number for the input 'age'"),
        (frame.assign(age=1e300), "age must fit tensor.float., .*got 1e.300 in 120 of 120 rows"),
        (frame.assign(count=1.5), "count must fit tensor.int64."),
        (frame.assign(sex=None), "sex must have no missing values"),
    ):
        with pytest.raises(InputError, match=message):
            OnnxAdapter().predict(graph, changed)
    with pytest.raises(InputError, match="Pass a DataFrame"):
        OnnxAdapter().predict(graph, X)


def test_what_states_no_distribution_is_refused_with_what_is_needed(tmp_path: Path) -> None:
    graph = loaded(tmp_path / "m.onnx", LinearRegression().fit(X, X[:, 0]))
    assert OnnxAdapter().matches(graph) is not None
    with pytest.raises(
        UQReportError, match=r"onnx\.outputs must .*variable tensor\(float\).*'return_std': True"
    ) as error:
        uq.explain(graph, X)
    held = {"X_calibration": X[60:], "y_calibration": X[60:, 1]}
    assert typed(str(error.value), model=graph, X=X[:60], y=X[:60, 1], **held).assumption.form == "normal"


def hand_made(labels: bool, name: str = "out", by: str = "ArgMax") -> Any:
    """Return a session that turns 3 inputs into 3 probabilities, with or without a label, and names no class."""
    make = onnx.helper.make_node
    nodes = [make("Softmax", ["x"], [name])]
    out = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, 3])]
    if labels:
        nodes.append(make(by, [name], ["label"], axis=1, keepdims=0))
        out.append(onnx.helper.make_tensor_value_info("label", onnx.TensorProto.INT64, [None]))
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 3])
    graph = onnx.helper.make_graph(nodes, "g", [x], out)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    return runtime.InferenceSession(model.SerializeToString())


def test_a_session_is_taken_as_it_is_and_unstated_labels_are_numbers_or_given() -> None:
    softmax = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)
    for session in (hand_made(labels=True), hand_made(labels=False, name="probabilities")):
        dist = OnnxAdapter().predict(session, X)
        assert isinstance(dist, Categorical)
        assert dist.classes.tolist() == [0, 1, 2]
        np.testing.assert_allclose(dist.probabilities, softmax, atol=SINGLE)
    named = OnnxAdapter(classes=("a", "b", "c")).predict(hand_made(labels=True), X)
    assert isinstance(named, Categorical)
    assert named.classes.tolist() == ["a", "b", "c"]
    with pytest.raises(ModelError, match="one per probability, 3"):
        OnnxAdapter(classes=("a", "b")).predict(hand_made(labels=True), X)
    other = hand_made(labels=True, by="ArgMin")
    with pytest.raises(InputError, match=r"onnx\.classes must be given") as error:
        OnnxAdapter().predict(other, X)
    letters = np.array(["a", "b", "c"])[X.argmax(axis=1)]
    assert typed(str(error.value), model=other, X=X, y=letters, y_train=letters).adapter.classes == ("a", "b", "c")
    with pytest.raises(InputError, match="It needs an output of class probabilities"):
        OnnxAdapter().predict(hand_made(labels=False), X)


def test_an_audit_of_a_graph_agrees_with_that_of_its_model(tmp_path: Path) -> None:
    """Importance is a mean of differences of losses: an error e of each probability moves it by a few e."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LogisticRegression().fit(frame, Y)
    subject = uq.explain(loaded(tmp_path / "m.onnx", model), frame, Y)
    assert "rounded to float32" in subject.adapter_reason
    assert subject.adapter.batch_rows(subject.model) is None
    graph = uq.importance(subject, ["nll", "entropy"], n_repeats=3, n_jobs=2, backend="threading").frame
    own = uq.importance(uq.explain(model, frame, Y), ["nll", "entropy"], n_repeats=3).frame
    np.testing.assert_allclose(graph["value"], own["value"], atol=1e-5)
