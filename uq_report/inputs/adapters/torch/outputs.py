"""What a torch module returned, in the parametrisation of our own distributions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....core.adapter import class_names
from ....core.arrays import FloatArray
from ....core.distributions import Categorical, Normal, Poisson, StudentT
from ....core.errors import ModelError
from ....core.predictive import Distribution
from ..outputs import class_labels

_WRAP = (
    "Wrap the module so that forward returns a torch.distributions object, as in Normal(mean, std) "
    "or Categorical(logits=logits)."
)
_ONE_OUTPUT = "A model with several outputs is audited one output at a time: wrap one module per output."
Build = Callable[[FloatArray], Distribution]


def read(model: Any, given: Any, n: int) -> tuple[Any, Build]:
    """Return the parameters of `given`, a float64 tensor of shape (n, M), and how they become a `Distribution`."""
    dist = given
    while "torch.Independent" in class_names(dist):
        dist = dist.base_dist
    reader = next((_READERS[name] for name in class_names(dist) if name in _READERS), None)
    who = type(model).__name__
    if reader is None:
        shape = f" of shape {tuple(given.shape)}" if hasattr(given, "shape") else ""
        raise ModelError(
            f"{who}.forward must return a torch.distributions object (Normal, StudentT, Poisson, Categorical or "
            f"Bernoulli) or a gpytorch MultivariateNormal; got {type(dist).__name__}{shape}. {_WRAP}"
        )
    size = tuple(dist.event_shape if reader is _marginals else dist.batch_shape)
    if size not in ((n,), (n, 1)):
        raise ModelError(
            f"{who}.forward must return one distribution per row, shape ({n},) or ({n}, 1); "
            f"got {type(dist).__name__} of shape {size}. {_ONE_OUTPUT}"
        )
    columns, build = reader(dist)
    found = _table(columns, n)
    if build is Categorical:
        build = partial(Categorical, classes=class_labels(model, found.shape[1]))
    return found, build


def _table(columns: list[Any], n: int) -> Any:
    """Join tensors of shape (n,), (n, 1) or (n, 1, k) to one of shape (n, M)."""
    import torch

    return torch.cat([column.double().reshape(n, -1) for column in columns], dim=1)


def _normal(dist: Any) -> tuple[list[Any], Build]:
    return [dist.loc, dist.scale.double().square()], _build_normal


def _marginals(dist: Any) -> tuple[list[Any], Build]:
    return [dist.mean, dist.variance], _build_normal


def _build_normal(found: FloatArray) -> Distribution:
    return Normal(found[:, 0], np.sqrt(found[:, 1]))


def _student_t(dist: Any) -> tuple[list[Any], Build]:
    df = dist.df.detach().double().reshape(-1).unique()
    if len(df) != 1:
        raise ModelError(
            f"StudentT.df of a torch module must be one number for all rows; got {len(df)} of them. "
            "Fix df in the module, or pass a function that returns our StudentT with an array of df."
        )
    nu = float(df[0])
    return [dist.loc, dist.scale.double().square()], lambda found: StudentT(nu, found[:, 0], np.sqrt(found[:, 1]))


def _poisson(dist: Any) -> tuple[list[Any], Build]:
    return [dist.rate], lambda found: Poisson(found[:, 0])


def _categorical(dist: Any) -> tuple[list[Any], Build]:
    return [dist.probs], Categorical


def _bernoulli(dist: Any) -> tuple[list[Any], Build]:
    p = dist.probs.double()
    return [1 - p, p], Categorical


_READERS: dict[str, Callable[[Any], tuple[list[Any], Build]]] = {
    "torch.Normal": _normal,
    "torch.StudentT": _student_t,
    "torch.Poisson": _poisson,
    "torch.Categorical": _categorical,
    "torch.Bernoulli": _bernoulli,
    "gpytorch.MultivariateNormal": _marginals,
}
