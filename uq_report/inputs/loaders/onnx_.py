"""Models from ONNX files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from ...core.support.errors import InputError, MissingDependencyError

_LABELS = ("classlabels_strings", "classlabels_int64s", "classlabels_ints")
_EXTERNAL = 1  # TensorProto.DataLocation.EXTERNAL


class OnnxLoader:
    """Reads self-contained ``.onnx`` files with onnxruntime: a graph of known operators, no code of the file's."""

    name: ClassVar[str] = "onnx"
    libraries: ClassVar[tuple[str, ...]] = ("onnxruntime",)
    kind: ClassVar[Literal["model"]] = "model"
    api_version: ClassVar[int] = 1

    def matches(self, source: str) -> bool:
        """Match names that end in .onnx."""
        return Path(source.lower()).suffix == ".onnx"

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
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingDependencyError("the ONNX loader", "onnxruntime", "onnx") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; the library would print them too
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no class
        raise InputError(f"model must be an ONNX graph that onnxruntime runs; got {source!r}: {error}.") from error


def _class_labels(content: bytes, source: str) -> tuple[Any, ...] | None:
    """Return the labels the graph itself states in the order of its probabilities, or None."""
    try:
        import onnx
    except ImportError as error:
        raise MissingDependencyError("the ONNX loader", "onnx", "onnx") from error
    try:
        graph = onnx.load_model_from_string(content).graph
    except Exception as error:  # a broken protocol buffer raises classes of its own library
        raise InputError(f"model must be a readable .onnx file; got {source!r}: {error}. Check it.") from error
    if any(tensor.data_location == _EXTERNAL for tensor in graph.initializer):
        raise InputError(
            f"model must be one self-contained .onnx file; got {source!r}, which keeps weights in other files. "
            "Save it with save_as_external_data=False, so that one hash covers it."
        )
    stated = {_labels(a) for node in graph.node for a in node.attribute if a.name in _LABELS} - {()}
    indexed = {node.input[0] for node in graph.node if node.op_type == "ArrayFeatureExtractor"}
    if not stated:
        tensors = (onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer if tensor.name in indexed)
        stated = {tuple(map(_plain, array.ravel().tolist())) for array in tensors if array.ndim == 1}
    return stated.pop() if len(stated) == 1 else None


def _labels(attribute: Any) -> tuple[Any, ...]:
    return tuple(map(_plain, attribute.strings or attribute.ints))


def _plain(label: Any) -> Any:
    return label.decode("utf-8", "replace") if isinstance(label, bytes) else label
