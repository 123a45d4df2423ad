"""ONNX graphs: class probabilities, or a mean with its standard deviation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, Table
from ...core.support.errors import InputError, ModelError, nearest, to_type
from ...distributions import Categorical, Normal
from .outputs import POINTS

_FLOATS = ("tensor(float)", "tensor(double)")
_LABELS = ("tensor(int64)", "tensor(string)", "tensor(bool)", "tensor(int32)")
_NEEDED = (
    "It needs an output of class probabilities (a ZipMap, a tensor beside a label, or one with 'prob' in its name), or "
    "a mean with a std (skl2onnx: options={GaussianProcessRegressor: {'return_std': True}})."
)
_CLASSES = f"""\
import numpy as np
from {__name__} import OnnxAdapter

uq.explain(model, X, y, adapter=OnnxAdapter(classes=tuple(np.unique(y_train).tolist())))"""
_RUN = "model.run(None, {model.get_inputs()[0].name: np.asarray(X, dtype=np.float32)})[0].reshape(-1)"
_POINTS = "import numpy as np\n\n" + POINTS.replace("model", f"lambda X: {_RUN}")


@dataclass(frozen=True)
class OnnxAdapter(Adapter):
    """ONNX graphs that state how sure they are; others are refused with what is needed.

    Frames are split into the graph's named inputs, or handed over as one tensor. Class labels come
    from the graph's ZipMap or classifier node, else from `classes`. Single precision is the graph's
    own: the match's reason says so.

    Parameters
    ----------
    classes : tuple of labels, optional
        In the order of the probabilities, for a graph that does not state them.
    """

    classes: tuple[Any, ...] | None = None

    name: ClassVar[str] = "onnx"
    libraries: ClassVar[tuple[str, ...]] = ("onnxruntime",)

    def matches(self, model: Any) -> Match | None:
        """Match what the ONNX loader makes, and an ``onnxruntime.InferenceSession``."""
        if {"uq_report.OnnxModel", "onnxruntime.InferenceSession"}.isdisjoint(class_names(model)):
            return None
        single = any(tensor.type == "tensor(float)" for tensor in model.get_inputs())
        precision = "; features are rounded to float32, so numbers agree with the original model's to about 7 digits"
        return Match(0, f"an ONNX graph run by onnxruntime{precision if single else ''}")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the graph's probabilities as a categorical, or its mean and std as a normal distribution."""
        outputs = {tensor.name: tensor for tensor in model.get_outputs()}
        fed = feeds(model.get_inputs(), X)
        probable, spread = _probabilities(outputs), _mean_and_std(outputs)
        if len(probable) == 1:
            return self._categorical(model, fed, probable[0], outputs)
        if spread and not probable:
            mean, std = (np.asarray(part, dtype=float) for part in model.run(spread, fed))
            return Normal(mean.reshape(-1), std.reshape(-1))
        got = ", ".join(f"{tensor.name} {tensor.type}{list(tensor.shape)}" for tensor in outputs.values())
        points = [tensor.shape[1:] for tensor in outputs.values() if tensor.type == "tensor(float)"] in ([[]], [[1]])
        line = f" Or lay residuals over its predictions. {to_type(_POINTS)}" if points and len(fed) == 1 else ""
        raise InputError(f"onnx.outputs must state one predictive distribution; got {got}. {_NEEDED}{line}")

    def _categorical(self, model: Any, fed: Mapping[str, Any], name: str, outputs: Mapping[str, Any]) -> Categorical:
        label = next((tensor for tensor in outputs.values() if tensor.type in _LABELS), None)
        names = [name] if label is None else [name, label.name]
        values, *labels = model.run(names, fed)
        stated = tuple(self.classes or getattr(model, "class_labels", None) or ())
        if isinstance(values, list):  # a ZipMap: one mapping of label to probability per row
            classes = stated if self.classes or set(stated) == set(values[0]) else tuple(values[0])
            return Categorical([[row[key] for key in classes] for row in values], classes=list(classes))
        p = np.asarray(values, dtype=float)
        if stated and len(stated) != p.shape[1]:
            raise ModelError(f"onnx.classes must be one per probability, {p.shape[1]}; got {list(stated)}.")
        return Categorical(p, classes=list(stated or _numbered(p, labels)))


def _probabilities(outputs: Mapping[str, Any]) -> list[str]:
    """Return the outputs that are probabilities: maps by label, or tensors of several columns."""
    maps = [name for name, tensor in outputs.items() if tensor.type.startswith("seq(map(")]
    labelled = any(tensor.type in _LABELS for tensor in outputs.values())
    shapes = {name: tensor.shape for name, tensor in outputs.items() if tensor.type in _FLOATS}
    wide = [name for name, shape in shapes.items() if len(shape) == 2 and shape[1] != 1]
    named = [name for name in wide if "prob" in name.lower()]
    return maps or named or (wide if labelled else [])


def _mean_and_std(outputs: Mapping[str, Any]) -> list[str]:
    """Return the names of the mean and the std, or nothing."""
    numbers = [name for name, tensor in outputs.items() if tensor.type in _FLOATS]
    std = [name for name in numbers if "std" in name.lower()]
    mean = [name for name in numbers if name not in std]
    return [*mean, *std] if len(std) == len(mean) == 1 else []


def _numbered(p: AnyArray, labels: Sequence[Any]) -> range:
    """Return 0 .. k-1 for a graph whose own label output agrees with it; refuse others."""
    k = p.shape[1]
    if not labels:
        return range(k)
    best = p.argmax(axis=1)
    single = (p == p.max(axis=1, keepdims=True)).sum(axis=1) == 1
    own = np.asarray(labels[0]).reshape(-1)
    if own.dtype.kind not in "iub" or (own[single] != best[single]).any():
        raise InputError(
            f"onnx.classes must be given, since the graph does not state the labels of its {k} probabilities; "
            f"got None. Give them in the order of the probabilities, here that of the alphabet. {to_type(_CLASSES)}"
        )
    return range(k)


_DTYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


def feeds(inputs: Sequence[Any], X: Table) -> dict[str, AnyArray]:
    """Return the arrays a graph wants: one tensor of all columns, or one column for each named input.

    Raises
    ------
    InputError
        If the names, the number of columns, or the types do not fit.
    """
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    columns = {str(name): frame.iloc[:, j].to_numpy() for j, name in enumerate(frame.columns)}
    if len(inputs) == 1 and _takes_all(inputs[0], len(columns)):
        return {inputs[0].name: np.column_stack([_cast(v, inputs[0], name) for name, v in columns.items()])}
    got = ", ".join(f"{tensor.name} {tensor.type}{list(tensor.shape)}" for tensor in inputs)
    if not isinstance(X, pd.DataFrame):
        raise InputError(f"onnx.inputs must fit the {X.shape[1]} columns of an array; got {got}. Pass a DataFrame.")
    names = {tensor.name for tensor in inputs}
    if set(columns) != names or any(len(tensor.shape) == 2 and tensor.shape[1] not in (1, None) for tensor in inputs):
        lacking = sorted(names - set(columns))
        hint = f"The data has no {lacking[0]!r}. {nearest(lacking[0], columns)}" if lacking else ""
        raise InputError(
            f"onnx.inputs must be one tensor of all {len(columns)} columns, or one input per column by name; "
            f"got {got}. {hint or 'Convert the model with one input per column, or leave other columns out.'}"
        )
    values = {tensor.name: _cast(columns[tensor.name], tensor, tensor.name) for tensor in inputs}
    return {t.name: values[t.name] if len(t.shape) == 1 else values[t.name].reshape(-1, 1) for t in inputs}


def _takes_all(tensor: Any, n_columns: int) -> bool:
    """Say whether an input takes all columns: rows by columns, of a width that fits."""
    width = tensor.shape[1] if len(tensor.shape) == 2 else 0
    return width == n_columns or width is None or isinstance(width, str)


def _cast(values: AnyArray, tensor: Any, name: str) -> AnyArray:
    """Return a column in the input's type; refuse what the type cannot hold."""
    dtype = _DTYPES.get(tensor.type)
    if dtype is None:
        raise InputError(
            f"onnx.inputs must be of {', '.join(_DTYPES)}; got {tensor.name} {tensor.type}. Convert the model."
        )
    if dtype is np.object_:
        if pd.isna(values).any():
            raise InputError(f"{name} must have no missing values for the text input {tensor.name!r} of an ONNX graph.")
        return values.astype(str).astype(object)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            cast: AnyArray = np.asarray(values).astype(dtype)
            numbers = np.asarray(values).astype(float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} must be a number for the input {tensor.name!r} {tensor.type} of an ONNX graph; "
            f"got {values.dtype}: {error}."
        ) from error
    whole = np.issubdtype(dtype, np.integer) or dtype is np.bool_
    lost = (cast != numbers) if whole else np.isfinite(numbers) & ~np.isfinite(cast)
    if lost.any():
        raise InputError(
            f"{name} must fit {tensor.type}, the type of the graph's input {tensor.name!r}; "
            f"got {values[lost][0]} in {int(lost.sum())} of {len(values)} rows."
        )
    return cast
