"""What a torch module returned, in the parametrisation of our own distributions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....core.model.adapter import class_names
from ....core.predictive import Distribution
from ....core.support.arrays import FloatArray
from ....core.support.errors import ModelError, to_type
from ....distributions import Categorical, Normal, Poisson, StudentT
from ..outputs import POINTS, class_labels

_WRAP = (
    "Wrap the module so that forward returns a torch.distributions object, as in Normal(mean, std) "
    "or Categorical(logits=logits)."
)
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
    return uq.Normal(d.mean[:, 0].numpy(), d.stddev[:, 0].numpy())

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
            f"{_WRAP if shape not in points else f'Lay residuals over its predictions. {to_type(_POINTS)}'}"
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
