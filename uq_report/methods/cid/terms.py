"""What every estimator of covered information returns, and what is read from it.

``CI_i = I(X_i; Y) - I(X_i; Y | U)`` with U all other features (Pereira et al., definition 2.3): positive where
the others repeat what X_i says about Y, negative where they only speak together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import BoolArray, FloatArray
from ...core.results import Omission

# log p(y | x_S) of each row for the feature positions S: i(x_j; y | x_C) is that of C and j less that of C
LogProbability = Callable[[tuple[int, ...]], FloatArray]
MeanLogProbability = Callable[[tuple[int, ...]], float]


class Terms(NamedTuple):
    """Pointwise information of each row and feature about y, in nats, each (rows, features).

    ``mutual`` is i(x_i; y), ``conditional`` is i(x_i; y | u); their averages are the (conditional)
    mutual informations.
    """

    mutual: FloatArray
    conditional: FloatArray

    @property
    def covered(self) -> FloatArray:
        """Pointwise covered information ci = i(x_i; y) - i(x_i; y | u)."""
        return self.mutual - self.conditional


@dataclass(frozen=True)
class Estimate:
    """Terms of the features that have them, how they were estimated, and the dependence graph.

    ``links`` is over the `nodes` and y: partial correlations, or for a discrete field the
    largest pair potential; 0 where the graph has no edge. ``log_p`` is log p(y | x_S) of each row for
    any positions S of features, ``mean_log_p`` about its mean, and ``related`` says which features depend on each
    other.
    """

    features: tuple[str, ...]
    terms: Terms
    estimator: str
    links: FloatArray
    log_p: LogProbability
    mean_log_p: MeanLogProbability
    related: BoolArray
    notes: tuple[str, ...]
    facts: dict[str, Any]
    omissions: tuple[Omission, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The features in the graph: all but copies."""
        return tuple(f for f in self.features if f not in self.copies)


def regressors(terms: Terms, rows: FloatArray | None = None) -> FloatArray:
    """Return [redundant CI, MI, synergistic CI, synergistic MI] per feature, averaged over rows, shape (d, 4).

    Redundant is E[max(., 0)], synergistic E[max(-., 0)], after Ince 2017. Neither part is an
    information of its own. `rows` holds row weights that sum to one; equal ones by default.
    """
    weights = np.full(len(terms.mutual), 1 / len(terms.mutual)) if rows is None else rows
    parts = (terms.covered, terms.mutual, -terms.covered, -terms.mutual)
    return np.stack([weights @ np.maximum(part, 0) for part in parts], axis=1)


def covered_share(covered: FloatArray, mutual: FloatArray) -> FloatArray:
    """Return max(CI_i, 0) / I(X_i; Y) per feature, in [0, 1]; NaN where I(X_i; Y) is not positive.

    The share is net: the redundant part alone is positive even for a feature independent of all others.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.maximum(covered, 0) / mutual
    return np.where(mutual > 0, np.minimum(share, 1.0), np.nan)
