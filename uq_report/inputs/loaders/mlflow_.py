"""Models from an MLflow registry or run."""

import hashlib
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from ...core.support import processes
from ...core.support.errors import InputError, optional, words_of
from .base import ModelLoader
from .model_files import USED, OnnxModel, SkopsLoader, loaded, refuse_unless

_REMEDY = "log the model with serialization_format='skops', or as ONNX."
_NOTE = "registered_model_meta"
# No bars, and a store that does not answer is asked three times at most; what the user sets stays.
_SETTINGS = {
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
}
_NATIVE = ("sklearn", "xgboost", "lightgbm", "catboost")


class MlflowLoader(ModelLoader):
    """Reads ``models:/name/version``, ``models:/name@alias`` and ``runs:/id/path``.

    The tracking store is that of MLFLOW_TRACKING_URI. A model's folder is copied once; what is hashed
    is what is loaded. A scikit-learn flavor in the skops format is read with the reviewed list of types
    of this package, never with the list in the model's own folder, which its author wrote; an ONNX
    flavor runs no code of the file's. Every other way (pickled flavors, pyfunc) runs code of the model
    and needs `allow_pickle`.
    """

    name: ClassVar[str] = "mlflow"
    libraries: ClassVar[tuple[str, ...]] = ("mlflow",)
    options: ClassVar[tuple[str, ...]] = ("trusted", "allow_pickle")

    def __init__(self) -> None:
        self._copies: dict[str, Path] = {}

    def matches(self, source: str) -> bool:
        """Match ``models:/`` and ``runs:/``."""
        return re.match(r"(models|runs):/[^/]", source) is not None

    def sha256(self, source: str) -> str:
        """Return the SHA-256 of the names and bytes of all files of the model, in the order of their names.

        The note of a registry on the copy is left out: a model has one hash under all its names.
        """
        folder = self._folder(source)
        whole = hashlib.sha256()
        for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _NOTE):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            whole.update(f"{file.relative_to(folder).as_posix()}\x00{content}\n".encode())
        return whole.hexdigest()

    def load(self, source: str, *, trusted: Iterable[str] = (), allow_pickle: bool = False) -> Any:
        """Return the model inside, by the safest of its flavors."""
        folder = self._folder(source)
        flavors = _flavors(folder, source)
        if _is_skops(flavors):
            name = flavors["sklearn"].get("pickled_model", "model.skops")
            return SkopsLoader().load(str(_inside(folder, name, source)), trusted=trusted, named=source)
        if "onnx" in flavors:
            return OnnxModel(_inside(folder, flavors["onnx"].get("data", ""), source).read_bytes(), source)
        native = next((name for name in _NATIVE if name in flavors), None)
        what = f"whose {native} flavor is a pickle" if native else "which is Python code behind MLflow's pyfunc"
        refuse_unless(allow_pickle, source, what, _REMEDY)
        model = loaded(lambda: import_module(f"mlflow.{native or 'pyfunc'}").load_model(str(folder)), source)
        return model if native else _unwrapped(model, source)

    def caution(self, source: str, *, trusted: Iterable[str] = (), allow_pickle: bool = False) -> str:
        """Say whether code of the model was run, or types beyond the reviewed ones were trusted."""
        flavors = _flavors(self._folder(source), source)
        if _is_skops(flavors):
            return SkopsLoader().caution(source, trusted=trusted)
        return "" if "onnx" in flavors else USED

    def _folder(self, source: str) -> Path:
        """Return the local copy of a model, made on first use and deleted with this object."""
        if source not in self._copies:
            artifacts = optional("mlflow.artifacts", "the MLflow loader", "mlflow")
            place = processes.make_folder()
            delete = weakref.finalize(self, processes.remove_folder, place)
            try:
                inside = place / "model"  # its hash is of its files alone
                inside.mkdir()
                with _quiet_and_brief():
                    folder = artifacts.download_artifacts(artifact_uri=source, dst_path=str(inside))
            except Exception as error:  # MLflow, its stores and their clients raise classes of their own
                delete()
                raise InputError(
                    f"model must be in the MLflow store; got {source!r}: {error}. "
                    "Check the name and MLFLOW_TRACKING_URI."
                ) from error
            self._copies[source] = Path(folder)
        return self._copies[source]


@contextmanager
def _quiet_and_brief() -> Iterator[None]:
    """Keep MLflow from drawing progress bars and from waiting for many minutes, unless the user asked for it."""
    own = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own:
            del os.environ[name]


def _flavors(folder: Path, source: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the flavors that a model's MLmodel file states."""
    try:
        stated = import_module("mlflow.models").Model.load(str(folder)).flavors
        return {str(name): dict(conf or {}) for name, conf in stated.items()}
    except Exception as error:  # a broken file raises errors of MLflow, of its YAML reader, or of neither
        raise InputError(
            f"model must be an MLflow model with a readable MLmodel file; got {source!r}: {words_of(error)}."
        ) from error


def _is_skops(flavors: Mapping[str, Mapping[str, Any]]) -> bool:
    return flavors.get("sklearn", {}).get("serialization_format") == "skops"


def _inside(folder: Path, name: str, source: str) -> Path:
    """Return a file of the model's folder that MLmodel names; refuse one elsewhere."""
    file = (folder / str(name)).resolve()
    if not file.is_relative_to(folder.resolve()) or not file.is_file():
        raise InputError(f"model must hold its own files; got {source!r}, whose MLmodel names {name!r}. Log it again.")
    return file


def _unwrapped(wrapper: Any, source: str) -> Any:
    """Return the model behind pyfunc that gives probabilities or a std; refuse one that gives neither."""
    for method in ("get_raw_model", "unwrap_python_model"):
        try:
            inner = getattr(wrapper, method)()
        except Exception:  # noqa: BLE001, S112 - a flavor without such a model says so in ways of its own
            continue
        if callable(getattr(inner, "predict_proba", None)):
            return inner
    raise InputError(
        f"model must give class probabilities or a std; got {source!r}, whose pyfunc gives plain predictions. "
        "Log it with a flavor of its library, or name a function that returns the model (module:factory)."
    )
