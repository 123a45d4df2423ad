"""torch modules whose forward returns a distribution, and gpytorch models with their likelihood."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.model.adapter import Adapter, Match, class_names
from ...core.model.derivatives import Derivatives
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray, Table
from ...core.support.errors import InputError, ModelError, to_type
from ...core.support.text import count
from ...distributions import Categorical, Normal, Poisson, StudentT
from .outputs import POINTS, class_labels

METHOD = "automatic differentiation"
_BLOCK = 1024  # rows of a gpytorch call, which holds their joint covariance


def predict_rows(model: Any, X: Table, *, dropout: bool = False) -> Distribution:
    """Return the distributions of all rows, without gradients; with `dropout` its layers draw."""
    import torch

    with _evaluating(model), torch.no_grad():
        for layer in dropouts(model) if dropout else ():
            layer.train()
        parts = [_parameters(model, x) for x in _blocks(model, X)]
    return parts[0][1](np.concatenate([_array(values) for values, _ in parts]))


def module_derivatives(model: Any, X: Table, order: int) -> Derivatives:
    """Return the parameters and their derivatives with respect to all columns up to `order`.

    Rows are independent, so the slope of a parameter's sum over all rows is, row by row, the row's own.
    """
    import torch
    from torch.autograd.functional import jacobian

    def totals(x: Any) -> Any:
        return _parameters(model, x)[0].sum(dim=0)

    def slopes(x: Any) -> Any:
        return jacobian(totals, x, create_graph=True).sum(dim=1)

    blocks: list[tuple[FloatArray, ...]] = []
    with _evaluating(model), torch.enable_grad():
        for x in _blocks(model, X):
            values, first = _parameters(model, x)[0], jacobian(totals, x).permute(1, 2, 0)
            second = [jacobian(slopes, x).permute(2, 3, 1, 0)] if order == 2 else []
            blocks.append(tuple(_array(part) for part in (values, first, *second)))
            precision = float(torch.finfo(x.dtype).eps)
    values, first, *more = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
    return Derivatives(values, first, more[0] if more else None, method=METHOD, precision=precision)


def _parameters(model: Any, x: Any) -> tuple[Any, Build]:
    """Return the parameters of the model's distributions at the rows of a tensor."""
    if "gpytorch.GP" not in class_names(model):
        return read(model, model(x), len(x))
    likelihood = getattr(model, "likelihood", None)
    if not callable(likelihood):
        raise InputError(
            f"{type(model).__name__}.likelihood must be a gpytorch likelihood; got {type(likelihood).__name__}. "
            "Set model.likelihood to the likelihood the model was trained with."
        )
    return read(model, likelihood(model(x)), len(x))


def _blocks(model: Any, X: Table) -> tuple[Any, ...]:
    """Return the rows as tensors of the dtype and device of the model."""
    import torch

    like = next((t for t in chain(model.parameters(), model.buffers()) if t.is_floating_point()), None)
    dtype, device = (torch.float64, None) if like is None else (like.dtype, like.device)
    x = torch.tensor(_numeric(model, X), dtype=dtype, device=device)
    return x.split(_BLOCK) if "gpytorch.GP" in class_names(model) else (x,)


def _numeric(model: Any, X: Table) -> FloatArray:
    """Return the rows as floats; refuse columns that hold no numbers."""
    if not isinstance(X, pd.DataFrame):
        return np.asarray(X, dtype=float)
    other = [str(name) for name, kind in X.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
    if other:
        raise InputError(
            f"{type(model).__name__}.X must hold numeric columns only; got {other}. "
            "Pass a function that encodes them, calls the module and returns a Distribution."
        )
    return X.to_numpy(dtype=float, na_value=np.nan)


def dropouts(model: Any) -> list[Any]:
    """Return the dropout layers of a module."""
    return [module for module in model.modules() if "torch._DropoutNd" in class_names(module)]


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Hold the model, and a likelihood it does not own, in evaluation mode; give every training flag back."""
    parts: tuple[Any, ...] = (model, getattr(model, "likelihood", None))
    before = [(m, m.training) for part in parts if "torch.Module" in class_names(part) for m in part.modules()]
    with ExitStack() as stack:
        if "gpytorch.GP" in class_names(model):
            from gpytorch import settings

            stack.enter_context(settings.debug(state=False))  # auditing the training rows is no mistake
        try:
            for module, training in before:
                if training:
                    module.eval()
            yield
        finally:
            for module, training in before:
                if training:
                    module.train()  # a gpytorch model drops what it computed from its parameters
            for module, training in before:
                module.training = training


def _array(tensor: Any) -> FloatArray:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=float)


_WRAP = """\
import torch

class Stated(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return torch.distributions.Categorical(logits=self.module(x))  # or probs=..., or Normal(mean, std)

uq.explain(Stated(model), X, y)"""
_SEVERAL = (
    "A model with several outputs is audited one output at a time: wrap the module in one whose forward returns that "
    "output's, as in Normal(d.mean[:, 0], d.stddev[:, 0])."
)
_CALL = """\
import numpy as np
import torch

def call(X):
    rows = torch.as_tensor(np.asarray(X), dtype=next(model.parameters()).dtype)
    with torch.no_grad():
        return model.eval()(rows)

"""
_POINTS = _CALL + POINTS.replace("model", "lambda X: call(X).numpy().reshape(-1)")
_FIRST = f"""\
{_CALL}def first(X):
    d = call(X)
    return uq.dist.Normal(d.mean[:, 0].numpy(), d.stddev[:, 0].numpy())

uq.explain(first, X, y[:, 0])"""
_JOINT = "gpytorch.MultivariateNormal"  # read row by row
Build = Callable[[FloatArray], Distribution]


def read(model: Any, output: Any, n: int) -> tuple[Any, Build]:
    """Return the parameters of `output`, a float64 tensor of shape (n, M), and how they become a `Distribution`."""
    import torch

    dist = output
    while "torch.Independent" in class_names(dist):
        dist = dist.base_dist
    kind = next((name for name in class_names(dist) if name in _READERS), None)
    who = type(model).__name__
    if kind is None:
        shape = f" of shape {tuple(output.shape)}" if hasattr(output, "shape") else ""
        points = (f" of shape {(n,)}", f" of shape {(n, 1)}")
        raise ModelError(
            f"{who}.forward must return a torch.distributions object (Normal, StudentT, Poisson, Categorical or "
            f"Bernoulli) or a gpytorch MultivariateNormal; got {type(dist).__name__}{shape}. "
            + (
                "Return Bernoulli(logits=...) of logits; lay residuals over numbers. "
                if shape in points
                else "Wrap it. "
            )
            + to_type(_POINTS if shape in points else _WRAP)
        )
    size = tuple(dist.event_shape if kind == _JOINT else dist.batch_shape)
    if size not in ((n,), (n, 1)):
        raise ModelError(
            f"{who}.forward must return one distribution per row, shape ({n},) or ({n}, 1); "
            f"got {type(dist).__name__} of shape {size}. "
            f"{to_type(_FIRST) if kind == 'torch.Normal' and len(size) == 2 else _SEVERAL}"
        )
    columns, build = _READERS[kind](dist)
    # of shape (n,), (n, 1) or (n, 1, k)
    parameters = torch.cat([column.double().reshape(n, -1) for column in columns], dim=1)
    if build is Categorical:
        build = partial(Categorical, classes=class_labels(model, parameters.shape[1]))
    return parameters, build


def _student_t(dist: Any) -> tuple[list[Any], Build]:
    df = dist.df.detach().double().reshape(-1).unique()
    if len(df) != 1:
        raise ModelError(
            f"StudentT.df of a torch module must be one number for all rows; got {len(df)} of them. "
            "Fix df in the module, or pass a function that returns our StudentT with an array of df."
        )
    nu = float(df[0])
    return [dist.loc, dist.scale.double().square()], lambda p: StudentT(nu, p[:, 0], np.sqrt(p[:, 1]))


def _build_normal(p: FloatArray) -> Distribution:
    return Normal(p[:, 0], np.sqrt(p[:, 1]))


_READERS: dict[str, Callable[[Any], tuple[list[Any], Build]]] = {
    "torch.Normal": lambda dist: ([dist.loc, dist.scale.double().square()], _build_normal),
    "torch.StudentT": _student_t,
    "torch.Poisson": lambda dist: ([dist.rate], lambda p: Poisson(p[:, 0])),
    "torch.Categorical": lambda dist: ([dist.probs], Categorical),
    "torch.Bernoulli": lambda dist: ([1 - dist.probs.double(), dist.probs.double()], Categorical),
    _JOINT: lambda dist: ([dist.mean, dist.variance], _build_normal),
}


@dataclass(frozen=True)
class TorchAdapter(Adapter):
    """A ``torch.nn.Module`` that maps rows to a ``torch.distributions`` object, or a gpytorch model.

    Normal, StudentT (one df for all rows), Poisson, Categorical and Bernoulli, of shape (n,) or (n, 1),
    alone or in an Independent. Class labels are ``model.classes_`` where the module has it, else 0 .. k-1.
    A gpytorch model is read as ``model.likelihood(model(x))``, noise included, row by row (marginals).

    Rows become a tensor of the dtype and device of the module's first floating parameter or buffer
    (float64 on the CPU without one). The module is called in evaluation mode and gets its training
    flags back; rows must not influence each other, as in evaluation mode they do not.

    Parameters
    ----------
    dropout : bool, default=False
        Whether dropout layers are on, as ``stochastic="members"`` has them: then each call draws anew.

    Examples
    --------
    >>> TorchAdapter().matches(object()) is None
    True
    """

    dropout: bool = False

    name: ClassVar[str] = "torch"
    libraries: ClassVar[tuple[str, ...]] = ("torch",)

    def matches(self, model: Any) -> Match | None:
        """Match instances of ``torch.nn.Module`` by the names of their classes."""
        names = class_names(model)
        if "torch.Module" not in names:
            return None
        if "gpytorch.GP" in names:
            return Match(1, f"{type(model).__name__}: a gpytorch model, with the noise of its likelihood")
        return Match(1, f"{type(model).__name__}: a torch module, its forward returns the distribution")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the module's distributions; refuse a forward that returns anything else."""
        return predict_rows(model, X, dropout=self.dropout)

    def as_random(self, model: Any) -> TorchAdapter:
        """Return the adapter with dropout on."""
        return replace(self, dropout=True)

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say that dropout is off, where the module has any."""
        layers = len(dropouts(model))
        if self.dropout or not layers:
            return ()
        off = f"Dropout is off in {count(layers, 'layer')}, as in evaluation mode"
        return (f"{off}; stochastic='members' makes its draws the members of a mixture.",)

    def derivatives(self, model: Any, X: Table, order: int) -> Derivatives | None:
        """Return derivatives of the parameters with respect to all columns by automatic differentiation."""
        return module_derivatives(model, X, order)
