"""MLflow models: the safest flavor is taken, what would run code is refused, what is hashed is what is loaded."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from uq_report.core.support.errors import InputError
from uq_report.inputs.loaders.mlflow_ import MlflowLoader

mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
sio = pytest.importorskip("skops.io", reason="MLflow's default format for scikit-learn is skops")
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own

X = np.random.default_rng(0).normal(size=(60, 2))
MODEL = LogisticRegression().fit(X, X[:, 0] > 0)


class Trap:
    """Makes a folder when it is unpickled or built by skops."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.marker,)


class Store(NamedTuple):
    """Names of one logged model."""

    run: str
    model: str


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder, before = tmp_path_factory.mktemp("mlflow"), mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{folder}/m.db")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            place = mlflow.create_experiment("e", artifact_location=folder.joinpath("artifacts").as_uri())
            with mlflow.start_run(experiment_id=place) as run:
                found = mlflow.sklearn.log_model(
                    MODEL, name="model", registered_model_name="credit", pip_requirements=[]
                )
        yield Store(run.info.run_id, found.model_uri)
    finally:
        mlflow.set_tracking_uri(before)


def saved(folder: Path, flavors: str, **files: bytes) -> tuple[MlflowLoader, str]:
    """Return a loader whose copy of a model is a folder made here."""
    folder.mkdir()
    (folder / "MLmodel").write_text(flavors)
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_bytes(content)
    loader = MlflowLoader()
    loader._copies["models:/made/1"] = folder
    return loader, "models:/made/1"


def test_a_model_is_read_by_every_name_and_has_one_hash(store: Store) -> None:
    hashes = set()
    for source in ("models:/credit/1", f"runs:/{store.run}/model", store.model):
        loader = MlflowLoader()
        assert loader.matches(source)
        hashes.add(loader.sha256(source))
        np.testing.assert_array_equal(loader.load(source).predict_proba(X), MODEL.predict_proba(X))
        assert loader.caution(source) == ""
    assert len(hashes) == 1
    assert len(hashes.pop()) == 64


def test_what_is_not_in_the_store_is_told(store: Store) -> None:
    for source in ("models:/credit/9", "models:/nothing/1", f"runs:/{store.run}/other", "runs:/none/model"):
        with pytest.raises(InputError, match=f"model must be in the MLflow store; got '{source}'"):
            MlflowLoader().load(source)


def test_what_was_hashed_is_what_is_loaded(tmp_path: Path) -> None:
    loader, source = saved(tmp_path / "m", "flavors: {sklearn: {serialization_format: skops}}")
    first = loader.sha256(source)
    (tmp_path / "m" / "registered_model_meta").write_text("version: 3")
    assert loader.sha256(source) == first
    (tmp_path / "m" / "other").write_text("x")
    assert loader.sha256(source) != first


def test_a_pickle_is_refused_and_nothing_of_it_runs(tmp_path: Path) -> None:
    import pickle

    marker = tmp_path / "ran"
    flavors = "flavors: {sklearn: {pickled_model: model.pkl, serialization_format: cloudpickle}}"
    loader, source = saved(tmp_path / "m", flavors, model_pkl=pickle.dumps(Trap(str(marker))))
    with pytest.raises(InputError, match=r"sklearn flavor is a pickle.*serialization_format='skops', or as ONNX"):
        loader.load(source)
    assert not marker.exists()
    loader.load(source, allow_pickle=True)
    assert marker.exists()  # the trap works: the flag is what kept it shut
    assert "allow_pickle" in loader.caution(source, allow_pickle=True)


def test_the_list_of_trusted_types_in_the_models_own_folder_counts_for_nothing(tmp_path: Path) -> None:
    content = sio.dumps(Trap("x"))
    name = f"{Trap.__module__}.Trap"
    flavors = (
        "flavors: {sklearn: {pickled_model: model.skops, serialization_format: skops, "
        f"skops_trusted_types: [{name}, os.mkdir, posix.mkdir]}}}}"
    )
    loader, source = saved(tmp_path / "m", flavors, model_skops=content)
    with pytest.raises(InputError, match=r"model must hold reviewed types only; got .* in 'models:/made/1'"):
        loader.load(source)


def test_a_file_elsewhere_is_refused(tmp_path: Path) -> None:
    sio.dump(MODEL, tmp_path / "outside.skops")
    flavors = "flavors: {sklearn: {pickled_model: ../outside.skops, serialization_format: skops}}"
    loader, source = saved(tmp_path / "m", flavors)
    with pytest.raises(InputError, match=r"must hold its own files; got .*'\.\./outside\.skops'"):
        loader.load(source)


def test_an_onnx_flavor_needs_no_pickle(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="ONNX graphs are run by onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx", reason="this test converts a scikit-learn model")
    content = skl2onnx.to_onnx(MODEL, X[:1].astype(np.float32)).SerializeToString()
    loader, source = saved(
        tmp_path / "m", "flavors: {onnx: {data: model.onnx}, python_function: {}}", model_onnx=content
    )
    assert type(loader.load(source)).__name__ == "OnnxModel"
    assert loader.caution(source) == ""


def python_models() -> dict[str, Any]:
    """Return a model of plain predictions, and one that gives probabilities as well."""

    base: Any = mlflow.pyfunc.PythonModel

    class Plain(base):  # type: ignore[misc]
        def predict(self, context: Any, model_input: list[float]) -> list[float]:
            return [2 * value for value in model_input]

    class Certain(Plain):
        def predict_proba(self, rows: Any) -> Any:
            return np.full((len(rows), 2), 0.5)

    return {"plain": Plain(), "certain": Certain()}


def test_python_code_is_run_only_if_allowed_and_must_give_probabilities(tmp_path: Path) -> None:
    for name, model in python_models().items():
        mlflow.pyfunc.save_model(tmp_path / name, python_model=model, pip_requirements=[])
        loader = MlflowLoader()
        loader._copies["models:/made/1"] = tmp_path / name
        with pytest.raises(InputError, match="Python code behind MLflow's pyfunc"):
            loader.load("models:/made/1")
        if name == "certain":
            assert loader.load("models:/made/1", allow_pickle=True).predict_proba([1, 2]).shape == (2, 2)
        else:
            with pytest.raises(InputError, match="whose pyfunc gives plain predictions"):
                loader.load("models:/made/1", allow_pickle=True)


@pytest.mark.parametrize("content", ["", "flavors: [1]", "flavors: {a: {", "no: flavors"])
def test_a_broken_description_is_one_clear_error(tmp_path: Path, content: str) -> None:
    loader, source = saved(tmp_path / "m", content)
    with pytest.raises(InputError, match="readable MLmodel file; got 'models:/made/1'"):
        loader.load(source)
