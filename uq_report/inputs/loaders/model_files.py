"""Models from code: pickles, only where the user allows the danger by name, and functions that return a model.

Models from skops files, with a reviewed list of types.

Models from ONNX files.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar
from zipfile import BadZipFile

import joblib

from ...core.support.errors import FOREIGN, InputError, optional, words_of
from ...core.support.processes import look_in
from .base import ModelLoader

USED = "a pickle: loading it ran code of the file, allowed by allow_pickle"


class PickleLoader(ModelLoader):
    """Reads ``.joblib``, ``.pkl`` and ``.pickle`` with joblib, if `allow_pickle` is True.

    Loading a pickle runs whatever code its author put in it. A hash (``model.sha256``) is compared
    before the file is opened here; it says that the file is the one you know, not that it is harmless.
    """

    name: ClassVar[str] = "pickle"
    endings: ClassVar[tuple[str, ...]] = (".joblib", ".pkl", ".pickle")  # also to refuse them with the remedy
    options: ClassVar[tuple[str, ...]] = ("allow_pickle",)

    def load(self, source: str, *, allow_pickle: bool = False) -> Any:
        """Return the model, or refuse before the file is opened."""
        remedy = "save the model with skops.io.dump, or name a function that returns it."
        refuse_unless(allow_pickle, source, "a pickle", remedy)
        return loaded(lambda: joblib.load(source), source)

    def caution(self, source: str, *, allow_pickle: bool = False) -> str:
        """Say that code of the file was run."""
        return USED if allow_pickle else ""


def refuse_unless(allowed: bool, source: str, what: str, remedy: str) -> None:
    """Refuse a pickle that the user has not allowed, before a byte of it is read."""
    if not allowed:
        raise InputError(
            f"model must be in a format that runs no code; got {source!r}, {what}. A pickle runs code when it is "
            f"loaded: {remedy} If the file is your own, allow it: --allow-pickle (model.allow_pickle), "
            "best with its hash in model.sha256."
        )


def loaded(load: Callable[[], Any], source: str) -> Any:
    """Return what `load` returns; whatever unpickling raises becomes one clear error."""
    try:
        return load()
    except FOREIGN as error:  # a pickle may raise anything: it is code
        raise InputError(
            f"model must be a readable pickle; got {source!r}: {words_of(error)}. "
            "Check the file, and that the libraries it was made with are installed in the same versions."
        ) from error


class FactoryLoader(ModelLoader):
    """Imports a module, installed or of the working folder, and calls the named function to get the model.

    It, and what it imports from beside it, is the only code that is taken from that folder, and only under names that
    no installed or standard module has. This runs the module's code: name only code you trust.
    """

    name: ClassVar[str] = "factory"

    def matches(self, source: str) -> bool:
        """Match ``package.module:function``."""
        return re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", source) is not None

    def load(self, source: str, **options: Any) -> Any:
        """Return what the function returns; `options` are its arguments."""
        module_name, _, function = source.partition(":")
        look_in(str(Path.cwd()), [module_name.partition(".")[0]])
        try:
            module = import_module(module_name)
        except FOREIGN as error:
            raise InputError(
                f"model must be module:function of a module that can be imported; got {source!r}: {words_of(error)}. "
                "Run from the folder that holds the module, or install it."
            ) from error
        factory = getattr(module, function, None)
        if not callable(factory):
            raise InputError(
                f"model must be module:function; got {source!r}, and {module_name} has no function {function!r} "
                f"({getattr(module, '__file__', None) or 'built in'}). Check the spelling; a module of the "
                "working folder needs a name that no installed one has."
            )
        try:
            return factory(**options)
        except FOREIGN as error:  # the user's code: whatever it raises is told with its name
            raise InputError(
                f"model: the function {source!r} must return the model; got {words_of(error)}. Fix it."
            ) from error


# Read in scikit-learn's source: each holds fitted arrays and numbers, and runs nothing on load.
# No list makes an untrusted file safe: compiled types trust the sizes they are given.
REVIEWED = tuple(Path(__file__).with_name("reviewed_types.txt").read_text(encoding="utf-8").split())


class SkopsLoader(ModelLoader):
    """Reads ``.skops`` files whose types are all reviewed, or trusted by the user by name."""

    name: ClassVar[str] = "skops"
    libraries: ClassVar[tuple[str, ...]] = ("skops",)
    endings: ClassVar[tuple[str, ...]] = (".skops",)
    options: ClassVar[tuple[str, ...]] = ("trusted",)

    def load(self, source: str, *, trusted: Iterable[str] = (), named: str = "") -> Any:
        """Return the model.

        Parameters
        ----------
        source : str
        trusted : iterable of str
            Full names of further types that the file may hold. Read their source first.
        named : str
            How errors name the source, where the file is a copy or a part of it.
        """
        sio = optional("skops.io", "the skops loader", "skops")
        file, source = source, named or source
        try:
            types = set(sio.get_untrusted_types(file=file))
            unknown = sorted(types - {*REVIEWED, *trusted})
            model = None if unknown else sio.load(file, trusted=sorted(types))
        except (OSError, BadZipFile, KeyError, ValueError, TypeError, EOFError, zlib.error, struct.error) as error:
            raise InputError(f"model must be a readable .skops file; got {source!r}: {error}. Check it.") from error
        if unknown:
            raise InputError(
                f"model must hold reviewed types only; got {', '.join(unknown)} in {source!r}. "
                "If you know where the file comes from and have read these types, trust them by name "
                f"(--trusted {' --trusted '.join(unknown)})."
            )
        return model

    def caution(self, source: str, *, trusted: Iterable[str] = ()) -> str:
        """Name the types that were trusted beyond the reviewed ones."""
        names = ", ".join(sorted(trusted))
        return f"a skops file; trusted by name beyond the reviewed types: {names}" if names else ""


_LABELS = ("classlabels_strings", "classlabels_int64s", "classlabels_ints")
_EXTERNAL = 1  # TensorProto.DataLocation.EXTERNAL


class OnnxLoader(ModelLoader):
    """Reads self-contained ``.onnx`` files with onnxruntime: a graph of known operators, no code of the file's."""

    name: ClassVar[str] = "onnx"
    libraries: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    endings: ClassVar[tuple[str, ...]] = (".onnx",)

    def load(self, source: str) -> OnnxModel:
        """Return the graph, ready to be called."""
        try:
            content = Path(source).read_bytes()
        except OSError as error:
            raise InputError(f"model must be a readable .onnx file; got {source!r}: {error}. Check it.") from error
        return OnnxModel(content, Path(source).name)


class OnnxModel:
    """An inference session of one thread, made from the bytes of a self-contained ONNX file.

    It speaks as an ``onnxruntime.InferenceSession`` does (`get_inputs`, `get_outputs`, `run`); one
    thread, so that equal rows give equal bits.

    Parameters
    ----------
    content : bytes
    source : str
        For messages.
    """

    def __init__(self, content: bytes, source: str = "onnx") -> None:
        self.content = content
        self.source = source
        self.class_labels = _class_labels(content, source)
        self._session = _session(content, source)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the bytes alone: a session cannot be, and workers make their own."""
        return type(self), (self.content, self.source)

    def get_inputs(self) -> Sequence[Any]:
        """Return the inputs, with name, type and shape."""
        inputs: Sequence[Any] = self._session.get_inputs()
        return inputs

    def get_outputs(self) -> Sequence[Any]:
        """Return the outputs, with name, type and shape."""
        outputs: Sequence[Any] = self._session.get_outputs()
        return outputs

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[Any]:
        """Return the named outputs for the inputs `feeds`."""
        values: list[Any] = self._session.run(names, dict(feeds))
        return values


def _session(content: bytes, source: str) -> Any:
    onnxruntime = optional("onnxruntime", "the ONNX loader", "onnxruntime", "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; the library would print them too
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no class
        raise InputError(f"model must be an ONNX graph that onnxruntime runs; got {source!r}: {error}.") from error


def _class_labels(content: bytes, source: str) -> tuple[Any, ...] | None:
    """Return the labels the graph itself states in the order of its probabilities, or None."""
    onnx = optional("onnx", "the ONNX loader", "onnx")
    try:
        graph = onnx.load_model_from_string(content).graph
    except Exception as error:  # a broken protocol buffer raises classes of its own library
        raise InputError(f"model must be a readable .onnx file; got {source!r}: {error}. Check it.") from error
    if any(tensor.data_location == _EXTERNAL for tensor in graph.initializer):
        raise InputError(
            f"model must be one self-contained .onnx file; got {source!r}, which keeps weights in other files. "
            "Save it with save_as_external_data=False, so that one hash covers it."
        )
    stated = {
        tuple(map(_plain, a.strings or a.ints)) for node in graph.node for a in node.attribute if a.name in _LABELS
    } - {()}
    indexed = {node.input[0] for node in graph.node if node.op_type == "ArrayFeatureExtractor"}
    if not stated:
        tensors = (onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer if tensor.name in indexed)
        stated = {tuple(map(_plain, array.ravel().tolist())) for array in tensors if array.ndim == 1}
    return stated.pop() if len(stated) == 1 else None


def _plain(label: Any) -> Any:
    return label.decode("utf-8", "replace") if isinstance(label, bytes) else label
