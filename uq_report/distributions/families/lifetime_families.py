"""What distributions of outcomes that may be censored have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ...core.support.arrays import AnyArray, FloatArray
from ...core.validation.lifetimes import expected_lifetimes
from ..numerics.rowwise import Rowwise


class Lifetimes(Rowwise):
    """n distributions of the time of an event, of which y may say no more than that it is later.

    `horizon` is the last time of which they say something. `log_prob`, `expected_nll` and `pit_bounds` take y as times
    with events (`core.lifetimes.LIFETIME`); `cdf` takes plain times.
    """

    censored = True
    horizon = float("inf")

    @property
    def usual_loss(self) -> str:
        """The negative log-likelihood, which reads a censored row as what it is."""
        return "nll"

    def encode(self, y: Any) -> AnyArray:
        """Return times with events; refuse plain times."""
        return expected_lifetimes(self.family, y)

    @abstractmethod
    def cumulative_hazard(self, time: AnyArray) -> FloatArray:
        """Return the number of events expected of each row up to a time per row, while it is at risk, shape (n,)."""

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        if method == "crps":
            return "crps is no proper score of censored outcomes (Rindt et al. 2022); use nll"
        return super().why_not(method)
