"""A user's own function ``f(X) -> Distribution``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...core.model.adapter import Adapter, Match
from ...core.predictive import Distribution
from ...core.support.arrays import Table
from ...core.support.errors import InputError, ModelError

_HINTS = {
    1: "One number per row is no distribution: give its spread too, as in uq.dist.Normal(mean, std).",
    2: "For class probabilities return uq.dist.Categorical(probabilities, classes=...).",
}


@dataclass(frozen=True)
class FunctionAdapter(Adapter):
    """A function, method, partial or callable object that takes rows and returns a `Distribution`.

    Parameters
    ----------
    batch_rows_per_call : int, optional
        Rows per call for a function whose rows do not influence each other to the last bit; by
        default calls hold the subject's own rows.

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report.distributions import Normal
    >>> def f(X):
    ...     return Normal(X[:, 0], np.full(len(X), 0.5))
    >>> FunctionAdapter().predict(f, np.ones((2, 1))).mean()
    array([1., 1.])
    """

    batch_rows_per_call: int | None = None

    name: ClassVar[str] = "function"

    def __post_init__(self) -> None:
        rows = self.batch_rows_per_call
        if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 1):
            raise InputError(f"function.batch_rows_per_call must be an integer >= 1 or None; got {rows!r}.")

    def matches(self, model: Any) -> Match | None:
        """Match callables that are no class and no model with ``predict`` or ``predict_proba``."""
        if isinstance(model, type) or not callable(model):
            return None
        if any(callable(getattr(model, method, None)) for method in ("predict", "predict_proba")):
            return None
        return Match(3, "a function of rows")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return what the function returns, which must be a distribution."""
        dist = model(X)
        if isinstance(dist, Distribution):
            return dist
        shape = getattr(dist, "shape", None)
        got = type(dist).__name__ + (f" of shape {shape}" if shape is not None else "")
        hint = _HINTS.get(len(shape), "") if isinstance(shape, tuple) else ""
        if isinstance(dist, tuple) and len(dist) == 2:
            hint = "For a mean and a std return uq.dist.Normal(mean, std)."
        raise ModelError(
            f"{getattr(model, '__name__', type(model).__name__)} must return a distribution of "
            f"uq.dist, or a Distribution of your own; got {got}. {hint}".rstrip()
        )

    def batch_rows(self, model: Any) -> int | None:
        """Return the rows per call the user stated."""
        return self.batch_rows_per_call
