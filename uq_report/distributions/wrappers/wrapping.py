"""What distributions made of others share."""

from __future__ import annotations

from copy import copy
from typing import TypeVar

from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray
from ...core.support.errors import InputError
from ..families.normal import DIVERGENCES, FISHER

SHAPE = frozenset({"mean", "variance", "cdf", "quantile", "sample", "crps"})
DENSITY = frozenset({"log_prob", "entropy"}) | DIVERGENCES
T = TypeVar("T", bound=Distribution)


def require(who: str, of: object, *methods: str) -> None:
    """Refuse what is no distribution of numbers, or cannot answer what the wrapper asks it."""
    if not isinstance(of, Distribution):
        raise InputError(f"{who} must be a distribution; got {type(of).__name__}. Give Normal(mean, std) or the like.")
    if "proba" in of.supports:
        raise InputError(f"{who} must be a distribution of numbers; got a {of.family} one. Use its probabilities.")
    missing = [method for method in methods if method not in of.supports]
    if missing:
        raise InputError(f"{who} must support {', '.join(methods)}; got a {of.family} one: {of.why_not(missing[0])}.")


def taken(dist: T, index: AnyArray, *rows: str) -> T:
    """Return a copy with those attributes, arrays or distributions, at positions `index`."""
    other = copy(dist)
    for name in rows:
        part = getattr(dist, name)
        setattr(other, name, part.take(index) if isinstance(part, Distribution) else part[index])
    return other


def no_parameters(dist: Distribution, method: str) -> str:
    """Return why a Fisher method cannot answer, or the empty string."""
    return (
        f"{method} is not defined for a {dist.family} distribution, which has no one set of parameters"
        if method in FISHER
        else ""
    )
