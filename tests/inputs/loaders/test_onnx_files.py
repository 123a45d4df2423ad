"""ONNX files: labels from the graph, one self-contained file, copies for workers, clear errors."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from uq_report.core.support.errors import InputError
from uq_report.inputs.loaders.model_files import OnnxLoader

onnx = pytest.importorskip("onnx", reason="these tests read and write ONNX files")
pytest.importorskip("onnxruntime", reason="ONNX graphs are run by onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx", reason="these tests convert scikit-learn models")
X = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
TEXT = np.where(X[:, 0] > 0.3, "yes", np.where(X[:, 0] < -0.3, "no", "maybe"))


def written(file: Path, model: Any, **options: Any) -> str:
    file.write_bytes(skl2onnx.to_onnx(model, X[:1], **options).SerializeToString())
    return str(file)


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("labels", ["text", "numbers"])
def test_the_graph_states_its_labels_in_order(tmp_path: Path, labels: str, zipmap: bool) -> None:
    y = TEXT if labels == "text" else np.searchsorted(np.unique(TEXT), TEXT) * 2 + 3
    for model in (RandomForestClassifier(2, random_state=0), LogisticRegression(), MLPClassifier(4, tol=1.0)):
        model.fit(X, y)
        file = written(tmp_path / "m.onnx", model, options={id(model): {"zipmap": zipmap}})
        assert OnnxLoader().load(file).class_labels == tuple(model.classes_.tolist())


def test_a_copy_for_a_worker_gives_the_same_numbers(tmp_path: Path) -> None:
    model = OnnxLoader().load(written(tmp_path / "m.onnx", LogisticRegression().fit(X, TEXT)))
    other = pickle.loads(pickle.dumps(model))
    name = model.get_inputs()[0].name
    assert other.run(None, {name: X})[1] == model.run(None, {name: X})[1]
    assert other.class_labels == model.class_labels


def test_weights_in_other_files_are_refused(tmp_path: Path) -> None:
    tensor = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [1], [1.0])
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../etc/passwd")
    value = onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [1])
    graph = onnx.helper.make_graph([], "g", [], [value], [tensor])
    (tmp_path / "m.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())
    with pytest.raises(InputError, match=r"one self-contained \.onnx file; got 'm\.onnx'"):
        OnnxLoader().load(str(tmp_path / "m.onnx"))


def test_what_is_no_graph_is_one_clear_error(tmp_path: Path) -> None:
    whole = Path(written(tmp_path / "whole.onnx", LogisticRegression().fit(X, TEXT))).read_bytes()
    for content in (b"", b"no graph", whole[: len(whole) // 2], whole[:-1]):
        (tmp_path / "m.onnx").write_bytes(content)
        with pytest.raises(InputError, match=r"model must be .*got 'm\.onnx'"):
            OnnxLoader().load(str(tmp_path / "m.onnx"))
    with pytest.raises(InputError, match=r"readable \.onnx file; got '.*missing\.onnx'"):
        OnnxLoader().load(str(tmp_path / "missing.onnx"))
    assert OnnxLoader().matches("M.ONNX")
    assert not OnnxLoader().matches("m.skops")
