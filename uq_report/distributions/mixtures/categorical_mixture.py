"""The class probabilities of an ensemble, with what its members disagree on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from ...core.support.arrays import FloatArray
from ...core.support.errors import InputError, UnsupportedError
from ...core.support.limits import check_limits
from ..families.categorical import Categorical, checked_probabilities, entropy_of
from ..numerics.validate import numbers, row_sum, shares

_WEIGHTS = "categorical_mixture.weights"
_AGREE = 1e-6  # how far the mean of the members may lie from the probabilities: single precision
_SPLIT = frozenset({"aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance", "members", "leave_one_out"})


class CategoricalMixture(Categorical):
    """n mixtures of m categorical distributions.

    Parameters
    ----------
    members : array of shape (n, m, k), or a callable
        The members' probabilities. A callable returns that array, or an iterable of m arrays (n, k), of which
        one is held at a time; a member that tells few rows apart, as a tree does, may instead be a pair: a table
        (kinds, k), and of each row its place in it. It is called when the split is first asked for, and for the
        `members`.
    classes, positive
        As for `Categorical`.
    weights : array of shape (m,), optional
        Relative weights of the members; equal by default.
    probabilities : array of shape (n, k), optional
        The weighted mean of the members; required with a callable, and checked against it.

    Notes
    -----
    ``entropy`` of the mean = ``aleatoric``, the mean entropy of the members, + ``epistemic``, the mutual
    information of class and member, which lies between 0 and the entropy of the weights.

    Examples
    --------
    >>> q = CategoricalMixture([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> q.aleatoric().round(4), q.epistemic().round(4)
    (array([0.    , 0.6931]), array([0.6931, 0.    ]))
    """

    family = "categorical mixture"
    by_row = ("probabilities", "rows")  # the members stay shared

    def __init__(
        self,
        members: Any,
        classes: Any = None,
        positive: int | None = None,
        *,
        weights: Any = None,
        probabilities: Any = None,
    ) -> None:
        if probabilities is None:
            members, probabilities = _mean_of(members, weights)
        super().__init__(probabilities, classes, positive)
        relative = None if weights is None else shares(_WEIGHTS, weights, np.size(weights))
        self._split: _Split | _MemberMoments = _Split(members, relative, self.probabilities)
        self.rows = np.arange(len(self))

    @classmethod
    def of_moments(cls, probabilities: Any, moments: Callable[[], tuple[FloatArray, FloatArray]], classes: Any) -> Self:
        """Return mixtures whose members are known by their moments only.

        `moments` returns the members' mean entropy (n,) and mean squared probabilities (n, k); it is called at most
        once, when the split is first asked for.
        """
        own = cls((), classes, probabilities=probabilities)
        own._split = _MemberMoments(moments)
        return own

    @property
    def supports(self) -> frozenset[str]:
        """What a categorical can do, the split, and the members where they are there."""
        split = _SPLIT if isinstance(self._split, _Split) else _SPLIT - {"members", "leave_one_out"}
        return super().supports | split

    def aleatoric(self) -> FloatArray:
        """Return the weighted mean entropy of the members."""
        return self._split.moments[0][self.rows]

    def epistemic(self) -> FloatArray:
        """Return the entropy of the mean less the mean entropy; what rounding leaves below 0 is 0."""
        return np.maximum(self.entropy() - self.aleatoric(), 0.0)

    def aleatoric_variance(self) -> FloatArray:
        """Return the weighted mean of the members' p (1 - p), positive class."""
        return self.mean() - self._mean_square()

    def epistemic_variance(self) -> FloatArray:
        """Return the weighted variance of the members' p, positive class; rounding below 0 is 0."""
        return np.maximum(self._mean_square() - np.square(self.mean()), 0.0)

    def members(self) -> Iterator[tuple[float, Categorical]]:
        """Yield the relative weight and the class probabilities of each member."""
        if isinstance(self._split, _MemberMoments):
            raise UnsupportedError("categorical_mixture.members must be asked of members; these are moments only.")
        for weight, p, at in self._split.members():
            yield weight, Categorical(p[at][self.rows], self.classes, self.positive)

    def leave_one_out(self) -> tuple[CategoricalMixture, ...]:
        """Return the mixtures without each member: ``(p - w_k p_k) / (1 - w_k)``, and likewise its moments.

        What rounding leaves below 0 is 0.
        """
        if isinstance(self._split, _MemberMoments):
            self._cannot("leave_one_out")
        members = [(weight, p[at][self.rows]) for weight, p, at in self._split.members()]
        total = sum(weight for weight, _ in members)
        entropy, square = (moment[self.rows] for moment in self._split.moments)
        others = []
        for weight, p in members:
            share, own = weight / total, ((self.probabilities, p), (entropy, entropy_of(p)), (square, np.square(p)))
            left, *moments = (np.maximum((whole - share * part) / (1 - share), 0.0) for whole, part in own)
            other = self.of_moments(left, partial(_pair, *moments), self.classes)
            other.positive, other.rule, other.decided = self.positive, self.rule, self.decided
            others.append(other)
        return tuple(others)

    def _mean_square(self) -> FloatArray:
        return np.asarray(self._split.moments[1][self.rows, self.positive])


@dataclass(eq=False)
class _Split:
    """The members, reduced on first use to their mean entropy (n,) and mean squared probabilities (n, k).

    `source` is an array (n, m, k), or a callable that returns one or an iterable of arrays (n, k) or tables.
    """

    source: Any
    weights: FloatArray | None
    mean: FloatArray

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """The mean entropy and the mean square, for which the members are evaluated once."""
        entropy, square, total = np.zeros(len(self.mean)), np.zeros(self.mean.shape), 0.0
        for weight, p, at in self.members():
            entropy += weight * entropy_of(p)[at]
            square += weight * np.square(p)[at]
            total += weight
        return entropy / total, square / total

    def members(self) -> Iterator[tuple[float, FloatArray, Any]]:
        """Yield weight, probabilities and the rows' places in them; refuse members whose mean is not the given one."""
        members = self.source() if callable(self.source) else self.source
        if isinstance(members, np.ndarray) and members.ndim == 3:
            members = np.moveaxis(members, 1, 0)
        weights, shape = self.weights, self.mean.shape
        mean, count, total = np.zeros(shape), 0, 0.0
        for member in members:
            check_limits()
            given, at = member if isinstance(member, tuple) else (member, slice(None))
            p = checked_probabilities(f"categorical_mixture.members[{count}]", given)
            of_rows = p[at]
            if of_rows.shape != shape:
                raise InputError(f"categorical_mixture.members must each have the shape {shape}; got {of_rows.shape}.")
            weight = 1.0 if weights is None else float(weights[count]) if count < len(weights) else 0.0
            mean += weight * of_rows
            count, total = count + 1, total + weight
            if weight > 0:
                yield weight, p, at
        if count == 0 or (weights is not None and count != len(weights)):
            needed = "at least 1" if weights is None else len(weights)
            raise InputError(f"categorical_mixture.members must hold {needed} members; got {count}.")
        self._compare(mean / total)

    def _compare(self, mean: FloatArray) -> None:
        """Refuse members whose mean is not the given one: the split would not add up."""
        off = np.abs(mean - self.mean).max(axis=1)
        if (off > _AGREE).any():
            row = int(np.argmax(off))
            raise InputError(
                f"categorical_mixture.probabilities must be the weighted mean of the members within {_AGREE:g}; "
                f"got a difference of {off[row]:.3g} in row {row}. Check the weights and the order of the classes.",
                row=row,
            )


@dataclass(eq=False)
class _MemberMoments:
    """The members' moments, by a function that is called once."""

    source: Callable[[], tuple[FloatArray, FloatArray]]

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """The mean entropy and the mean square."""
        return self.source()


def _pair(entropy: FloatArray, square: FloatArray) -> tuple[FloatArray, FloatArray]:
    return entropy, square


def _mean_of(members: Any, weights: Any) -> tuple[FloatArray, FloatArray]:
    """Return given members as an array, and their weighted mean."""
    if callable(members):
        raise InputError("categorical_mixture.probabilities must be given with a callable for the members; got None.")
    parts = numbers("categorical_mixture.members", members)
    if parts.ndim != 3 or parts.shape[1] == 0:
        raise InputError(f"categorical_mixture.members must be of shape (rows, members, classes); got {parts.shape}.")
    return parts, row_sum(np.moveaxis(parts, 1, 2), shares(_WEIGHTS, weights, parts.shape[1]))
