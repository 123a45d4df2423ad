"""torch modules whose forward returns a distribution, and gpytorch models with their likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ....core.model.adapter import Adapter, Match, class_names
from ....core.model.derivatives import Derivatives
from ....core.predictive import Distribution
from ....core.support.arrays import Table
from ....core.support.text import count
from .rows import derivatives, dropouts, predict


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
        if isinstance(model, type) or "torch.Module" not in names:
            return None
        if "gpytorch.GP" in names:
            return Match(1, f"{type(model).__name__}: a gpytorch model, with the noise of its likelihood")
        return Match(1, f"{type(model).__name__}: a torch module, its forward returns the distribution")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the module's distributions; refuse a forward that returns anything else."""
        return predict(model, X, dropout=self.dropout)

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
        return derivatives(model, X, order)
