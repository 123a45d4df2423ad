"""Rows through a torch module: its distributions, and their derivatives by automatic differentiation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ....core.model.adapter import class_names
from ....core.model.derivatives import Derivatives
from ....core.predictive import Distribution
from ....core.support.arrays import FloatArray, Table
from ....core.support.errors import InputError
from .outputs import Build, read

METHOD = "automatic differentiation"
_BLOCK = 1024  # rows of a gpytorch call, which holds their joint covariance


def predict(model: Any, X: Table, *, dropout: bool = False) -> Distribution:
    """Return the distributions of all rows, without gradients; with `dropout` its layers draw."""
    import torch

    with _evaluating(model), torch.no_grad():
        for layer in dropouts(model) if dropout else ():
            layer.train()
        parts = [_parameters(model, x) for x in _blocks(model, X)]
    return parts[0][1](np.concatenate([_array(values) for values, _ in parts]))


def derivatives(model: Any, X: Table, order: int) -> Derivatives:
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
