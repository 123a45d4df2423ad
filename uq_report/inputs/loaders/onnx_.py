"""Models from ONNX files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from ...core.errors import InputError
from .onnx_model import OnnxModel


class OnnxLoader:
    """Reads self-contained ``.onnx`` files with onnxruntime: a graph of known operators, no code of the file's."""

    name: ClassVar[str] = "onnx"
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
