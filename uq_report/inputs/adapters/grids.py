"""Regressors that predict probabilities on a grid of bars, as TabPFN does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import FloatArray, Table
from ...core.support.errors import ModelError
from ...distributions import Histogram
from .sklearn_ import predict_takes

_NEEDED = ("criterion", "logits")
_FULL_SUPPORT = "FullSupportBarDistribution"


@dataclass(frozen=True)
class GridsAdapter(Adapter):
    """Regressors whose ``predict(X, output_type="full")`` returns logits and a bar distribution, as TabPFN's.

    The probability of a bar is the softmax of its logit; its edges are ``criterion.borders``, in units of y. The
    outermost bars of a ``FullSupportBarDistribution`` are half-normal tails; see `Histogram`. TabPFN's classifier is
    read by its ``predict_proba`` like any other.

    Examples
    --------
    >>> GridsAdapter().matches(object()) is None
    True
    """

    name: ClassVar[str] = "grids"

    def matches(self, model: Any) -> Match | None:
        """Match TabPFN's regressor by name, others by ``output_type`` among the arguments of ``predict``."""
        if isinstance(model, type) or callable(getattr(model, "predict_proba", None)):
            return None
        if "tabpfn.TabPFNRegressor" in class_names(model):
            return Match(0, "TabPFNRegressor: its bar distribution")
        return (
            Match(1, "predict takes output_type: a bar distribution") if predict_takes(model, "output_type") else None
        )

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the bar distributions as histograms."""
        who, output = type(model).__name__, model.predict(X, output_type="full")
        missing = [name for name in _NEEDED if not isinstance(output, Mapping) or name not in output]
        if missing:
            raise ModelError(
                f"{who}.predict(X, output_type='full') must return a mapping with criterion and logits; got "
                f"{type(output).__name__} without {' and '.join(missing)}. Pass a function that returns a Histogram."
            )
        edges, logits = _floats(output["criterion"].borders), _floats(output["logits"])
        if logits.shape != (len(X), len(edges) - 1):
            raise ModelError(
                f"{who}.predict(X, output_type='full') must return logits of shape ({len(X)}, {len(edges) - 1}), one "
                f"for each bar; got {logits.shape}. Audit one output, with the edges of the same fit."
            )
        ends = any(name.endswith(f".{_FULL_SUPPORT}") for name in class_names(output["criterion"]))
        return Histogram(edges, softmax(logits, axis=1), half_normal_ends=ends)


def _floats(values: Any) -> FloatArray:
    """Return a tensor of any device, or an array, as floats."""
    return np.asarray(values.detach().cpu().numpy() if hasattr(values, "detach") else values, dtype=float)
