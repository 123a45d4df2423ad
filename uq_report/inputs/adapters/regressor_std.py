"""Regressors whose ``predict`` can return a standard deviation: a normal distribution per row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.model.adapter import Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import Table
from ...core.support.errors import InputError, to_type
from ...distributions import Normal
from .outputs import POINTS, check_noise, mean_and_std, refuse_rows
from .sklearn_ import SklearnAdapter, gives_std, is_a, unwrap

_GAUSSIAN_PROCESS = ("GaussianProcessRegressor",)
_NOISE = f"""\
from {__name__} import RegressorStdAdapter

noise = float(((y_calibration - model.predict(X_calibration)) ** 2).mean())
uq.explain(model, X, y, adapter=RegressorStdAdapter(noise_variance=noise))"""


@dataclass(frozen=True)
class RegressorStdAdapter(SklearnAdapter):
    """Regressors with ``predict(X, return_std=True)``, alone, last in a pipeline, or in a search object.

    The std of BayesianRidge and ARDRegression contains the estimated noise. That of a Gaussian
    process contains the noise of a WhiteKernel in its kernel, but never its ``alpha``: without a
    WhiteKernel it is the std of the latent function, and y scatters more than it says.
    `noise_variance` adds what is missing; the match's reason, kept in the run, says which holds.

    Parameters
    ----------
    noise_variance : float, default=0.0
        Added to every variance, in squared units of y (for ``normalize_y=True``: alpha times the
        variance of the training y).

    Examples
    --------
    >>> class Meter:
    ...     def predict(self, X, return_std=False):
    ...         return X[:, 0], np.full(len(X), 3.0)
    >>> adapter = RegressorStdAdapter(noise_variance=16.0)
    >>> adapter.matches(Meter()).distance
    2
    >>> adapter.predict(Meter(), np.zeros((1, 1))).variance()
    array([25.])
    """

    noise_variance: float = 0.0

    name: ClassVar[str] = "regressor_std"

    def __post_init__(self) -> None:
        check_noise(self.name, self.noise_variance)

    def matches(self, model: Any) -> Match | None:
        """Match the named regressors, then any ``predict`` that takes ``return_std``."""
        final = unwrap(model)[1]
        if is_a(final, _GAUSSIAN_PROCESS):
            return Match(1, self._gaussian_process(final))
        if is_a(final, ("BayesianRidge", "ARDRegression")):
            return Match(1, f"{type(final).__name__}: its std contains the estimated noise")
        return Match(2, "predict takes return_std: taken to be normal") if gives_std(final) else None

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return a normal distribution per row; refuse a std that is 0 or no number, by row."""
        final = unwrap(model)[1]
        who = type(final).__name__
        if is_a(final, _GAUSSIAN_PROCESS) and not hasattr(final, "X_train_"):
            raise InputError(f"model must be fitted; got a {who} that would answer from its prior. Call fit first.")
        mean, std = mean_and_std(model, X)
        std = np.hypot(std, math.sqrt(self.noise_variance))
        remedy = to_type(_NOISE if is_a(final, _GAUSSIAN_PROCESS) else POINTS)
        refuse_rows(f"{who}.predict must return a std > 0", std == 0, remedy)
        return Normal(mean, std)

    def _gaussian_process(self, model: Any) -> str:
        kernel = getattr(model, "kernel_", None)
        parts = (kernel, *kernel.get_params(deep=True).values()) if kernel is not None else ()
        if any("sklearn.WhiteKernel" in class_names(part) for part in parts):
            return "GaussianProcessRegressor: its std contains the WhiteKernel's noise, not alpha"
        if self.noise_variance:
            return "GaussianProcessRegressor: std of the latent function, with noise_variance added"
        return "GaussianProcessRegressor: std of the latent function, without the noise of y (no WhiteKernel)"
