"""Class probabilities."""

from copy import copy
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from ...core.predictive import DecisionRule
from ...core.support.arrays import AnyArray, FloatArray, IntArray
from ...core.support.errors import InputError, check_choice
from ...core.support.numbers import show_value
from ..numerics.numeric import DIVERGENCES, FISHER
from ..numerics.quadrature import half_of, kl_of
from ..numerics.validate import Rowwise, levels, numbers, row_sum

_LOWEST = -750.0  # below the logarithm of every number above 0
TOLERANCE = 1e-5  # of a row's sum: single precision leaves about 1e-6
_SUPPORTS = frozenset({"mean", "variance", "entropy", "log_prob", "sample", "proba"}) | FISHER | DIVERGENCES


class Categorical(Rowwise):
    """n categorical distributions over k classes.

    Parameters
    ----------
    probabilities : array of shape (n, k), k >= 2
        Not negative; each row sums to 1 within 1e-5.
    classes : sequence of k labels, optional
        In the order of the columns; 0 .. k-1 by default.
    positive : int, optional
        Position of the class whose probability is the prediction; the last by default.

    Raises
    ------
    InputError
        If the probabilities are none, or the classes do not fit them.

    Notes
    -----
    ``proba`` in `supports` promises the attributes `probabilities`, `classes` and `positive`.

    Examples
    --------
    >>> q = Categorical([[0.5, 0.5], [1.0, 0.0]], classes=["no", "yes"])
    >>> q.entropy().round(4)
    array([0.6931, 0.    ])
    >>> q.focus("no").mean()
    array([0.5, 1. ])
    """

    family = "categorical"
    by_row: ClassVar[tuple[str, ...]] = ("probabilities",)
    discrete = True
    decided: AnyArray | None = None

    def __init__(self, probabilities: Any, classes: Any = None, positive: int | None = None) -> None:
        self.probabilities = checked_probabilities("categorical.probabilities", probabilities)
        k = self.probabilities.shape[1]
        self.classes = _checked_classes(classes, k)
        self.positive = k - 1 if positive is None else positive
        if not 0 <= self.positive < k:
            raise InputError(f"categorical.positive must be a class position, 0 to {k - 1}; got {positive}.")
        self.parametrisation = tuple(f"p[{label}]" for label in self.classes.tolist())

    @property
    def supports(self) -> frozenset[str]:
        """All that needs no order of the classes; ``log_odds`` for two classes, ``decisions`` by a known rule."""
        decisions = set() if self.rule is not None and self.rule.own else {"decisions"}
        return _SUPPORTS | decisions | ({"log_odds"} if len(self.classes) == 2 else set())

    def why_not(self, method: str) -> str:
        """Say why `method` cannot answer."""
        if method == "log_odds":
            return f"log_odds needs two classes; this model has {len(self.classes)}"
        if method == "decisions":
            return "the model decides by a rule of its own, which its probabilities do not tell for changed rows"
        if method in ("cdf", "quantile", "crps"):
            return f"{method} needs an ordered target; the classes of a categorical distribution have no order"
        return super().why_not(method)

    @property
    def usual_loss(self) -> str:
        """The Brier score."""
        return "brier"

    def encode(self, y: Any) -> IntArray:
        """Return the class positions of labels y; refuse labels that are no class, naming them."""
        if np.ndim(y) != 1:
            raise InputError(f"categorical.y must be one-dimensional; got shape {np.shape(y)}.")
        codes, labels = pd.factorize(pd.Series(y))
        places = {label: position for position, label in enumerate(self.classes.tolist())}
        unseen = [label for label in labels.tolist() if label not in places]
        # the last entry is that of code -1, a missing value
        positions = np.array([places.get(label, -1) for label in labels.tolist()] + [-1], dtype=np.int64)[codes]
        if (positions < 0).any():
            listed = [*map(repr, unseen[:5]), *(["missing values"] if (codes < 0).any() else [])]
            raise InputError(
                f"categorical.y must hold the model's classes, {self._listed()}; got {', '.join(listed)} in "
                f"{int((positions < 0).sum())} of {len(codes)} rows. Drop them, or give the labels of the fitted model."
            )
        return positions

    def default_focus(self, y: AnyArray | None) -> Any:
        """Return the second of two classes, else the most frequent class in y (the last class without y)."""
        position = len(self.classes) - 1
        if len(self.classes) > 2 and y is not None:
            position = int(np.argmax(np.bincount(self.encode(y), minlength=len(self.classes))))
        return self.classes.tolist()[position]

    def focus(self, label: Any) -> Self:
        """Return the same distributions with `label` as the positive class."""
        check_choice("categorical.positive_class", label, self.classes.tolist())
        other = copy(self)
        other.positive = self.classes.tolist().index(label)
        return other

    def deciding(self, rule: DecisionRule, decided: AnyArray | None = None) -> Self:
        """Return the same distributions with the model's decision rule, and its own decisions on these rows."""
        other = copy(self)
        other.rule, other.decided = rule, decided
        return other

    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""
        other = super().take(index)
        other.decided = None if self.decided is None else self.decided[index]
        other.__dict__.pop("logs", None)
        return other

    def decisions(self) -> IntArray:
        """Return the position of the class decided for: the model's own decision where known, else by its rule."""
        if self.decided is not None:
            return np.asarray(self.decided)
        if self.rule is None or self.rule.threshold is None:
            if self.rule is not None and self.rule.own:
                self._cannot("decisions")
            return self.probabilities.argmax(axis=1)
        position = self.rule.position
        return np.where(self.probabilities[:, position] >= self.rule.threshold, position, 1 - position)

    def mean(self) -> FloatArray:
        """Return the probability of the positive class."""
        return self.probabilities[:, self.positive]

    def variance(self) -> FloatArray:
        """Return p (1 - p) of the positive class."""
        p = self.mean()
        return p * (1 - p)

    @cached_property
    def logs(self) -> FloatArray:
        """Their logarithms, -inf where p is 0, shape (k, n), which measures of the same rows share."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities.T))

    def log_odds(self) -> FloatArray:
        """Return log p - log(1 - p) of the positive of two classes, shape (n,); infinite at 0 and 1."""
        if len(self.classes) != 2:
            self._cannot("log_odds")
        return np.asarray(self.logs[self.positive] - self.logs[1 - self.positive])

    def entropy(self) -> FloatArray:
        """Return -sum p log p with 0 log 0 = 0."""
        return _entropy(self.probabilities, self.logs.T)

    def kl(self, other: Self) -> FloatArray:
        """Return sum p log(p / q); infinite where `other` has probability 0 and this has not."""
        return kl_of(self.probabilities, other.probabilities)

    def renyi_half(self, other: Self) -> FloatArray:
        """Return -2 log sum √(p q); infinite where no class is possible for both."""
        return half_of(self.probabilities, other.probabilities)

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log p of the classes at positions y; -inf where the probability is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities[np.arange(len(self)), y])

    def sample(self, rng: np.random.Generator, size: int) -> IntArray:
        """Draw `size` class positions from each, shape (size, n)."""
        reached = np.cumsum(self.probabilities, axis=1)
        draws = rng.random((size, len(self))) * reached[:, -1]
        positions = np.zeros(draws.shape, dtype=np.int64)
        for c in range(reached.shape[1] - 1):
            positions += draws >= reached[:, c]
        return positions

    @property
    def parameters(self) -> FloatArray:
        """The probabilities, shape (n, k)."""
        return self.probabilities

    def fisher_information(self) -> FloatArray:
        """Return diag(1 / p), shape (n, k, k), valid for derivatives that sum to 0; infinite at p = 0."""
        information = np.zeros((*self.probabilities.shape, self.probabilities.shape[1]))
        with np.errstate(divide="ignore"):
            np.einsum("nii->ni", information)[:] = 1 / self.probabilities
        return information

    def fisher_norm(self, derivatives: FloatArray) -> FloatArray:
        """Return sqrt(sum p'^2 / p): terms with p' = 0 are 0, those with p = 0 and p' != 0 infinite."""
        square = np.square(derivatives)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(square == 0, 0.0, square / self.probabilities)
        return np.sqrt(row_sum(terms))

    def _listed(self) -> str:
        labels = self.classes.tolist()
        return ", ".join(map(repr, labels[:10])) + (f" ... ({len(labels)} in all)" if len(labels) > 10 else "")


def entropy_of(p: FloatArray) -> FloatArray:
    """Return -sum p log p over the last axis, in nats, with 0 log 0 = 0."""
    with np.errstate(divide="ignore"):
        return _entropy(p, np.log(p))


def _entropy(p: FloatArray, logs: FloatArray) -> FloatArray:
    terms = np.maximum(logs, _LOWEST)
    terms *= p
    return 0.0 - row_sum(terms)


def checked_probabilities(who: str, probabilities: Any) -> FloatArray:
    """Return class probabilities as an (n, k) array of floats, or refuse them with the worst row."""
    p = numbers(who, probabilities)
    if p.ndim != 2 or p.shape[1] < 2:
        raise InputError(f"{who} must have the shape (rows, classes) with at least 2 classes; got {p.shape}.")
    if not (p.min(initial=0.0) >= 0 and p.max(initial=0.0) < np.inf):  # NaN is neither
        valid = np.isfinite(p) & (p >= 0)
        row, c = np.argwhere(~valid)[0]
        bad = int((~valid).any(axis=1).sum())
        raise InputError(
            f"{who} must be finite and >= 0; got {show_value(p[row, c])} in row {row} ({bad} of {len(p)} rows). "
            "Check that the model returns probabilities, not scores.",
            row=int(row),
        )
    excess = np.abs(p @ np.ones(p.shape[1]) - 1)
    if (excess > TOLERANCE).any():
        row, bad = int(np.argmax(excess)), int((excess > TOLERANCE).sum())
        raise InputError(
            f"{who} must sum to 1 within {TOLERANCE:g} in every row; got {p[row].sum():.7g} in row {row}, "
            f"the worst of {bad} of {len(p)} rows. Check that they are probabilities, or normalise them in the model.",
            row=row,
        )
    return p


def _checked_classes(classes: Any, k: int) -> AnyArray:
    if classes is None:
        return np.arange(k)
    labels: AnyArray = classes if isinstance(classes, np.ndarray) else np.array(list(classes), dtype=object)
    if labels.shape != (k,) or len(set(labels.tolist())) < k:
        raise InputError(f"categorical.classes must be {k} different labels, one per column; got {labels.tolist()}.")
    return labels


_ORDERED = frozenset({"cdf", "quantile", "crps", "class_mean"})


class Ordinal(Categorical):
    """n categorical distributions over k classes that are numbers in increasing order.

    Parameters
    ----------
    probabilities : array of shape (n, k), k >= 2
        Not negative; each row sums to 1 within 1e-5.
    classes : sequence of k increasing numbers, optional
        0 .. k-1 by default. Distances between them count: for crps and `class_mean`.
    positive : int, optional
        As for `Categorical`: the prediction of a class model is the probability of one class.

    Raises
    ------
    InputError
        If the classes are no increasing numbers.

    Notes
    -----
    As in every class model y is encoded as class positions, so `cdf` takes and `quantile` returns positions.

    Examples
    --------
    >>> q = Ordinal([[0.25, 0.5, 0.25]], classes=[1, 2, 5])
    >>> q.class_mean(), q.crps(q.encode([5])), q.cdf([1])
    (array([2.5]), array([1.75]), array([0.75]))
    """

    family = "ordinal"

    def __init__(self, probabilities: Any, classes: Any = None, positive: int | None = None) -> None:
        super().__init__(probabilities, classes, positive)
        self.numbers = _increasing(self.classes)

    @property
    def supports(self) -> frozenset[str]:
        """What a categorical can do, and what needs the order of the classes."""
        return super().supports | _ORDERED

    def class_mean(self) -> FloatArray:
        """Return the mean of the class numbers, shape (n,)."""
        return row_sum(self.probabilities, self.numbers)

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return the probability of the classes up to position y."""
        place = np.clip(np.floor(np.asarray(y, dtype=float)), -1, len(self.classes) - 1).astype(int)
        reached = np.column_stack([np.zeros(len(self)), self._reached()])
        return np.asarray(reached[np.arange(len(self)), place + 1])

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the smallest positions with P(class <= position) >= p, shape (n, L)."""
        level = levels("ordinal.quantile.p", p)
        return np.stack([(self._reached()[:, :-1] < at * (1 - 1e-14)).sum(axis=1) for at in level], axis=1).astype(
            float
        )

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the ranked probability score: sum_k (F_k - 1[y <= k])² (c_k+1 - c_k), in units of the classes.

        Epstein 1969; of classes that are 1 apart it is the usual form.
        """
        below = np.asarray(y)[:, None] <= np.arange(len(self.classes) - 1)
        return row_sum(np.square(self._reached()[:, :-1] - below), np.diff(self.numbers))

    def _reached(self) -> FloatArray:
        reached = np.cumsum(self.probabilities, axis=1)
        return np.asarray(reached / reached[:, -1:])


def _increasing(classes: AnyArray) -> FloatArray:
    try:
        floats = classes.astype(float)
    except (TypeError, ValueError):
        floats = np.full(len(classes), np.nan)
    if not (np.isfinite(floats).all() and (np.diff(floats) > 0).all()):
        raise InputError(
            f"ordinal.classes must be increasing numbers in the order of the columns; got {classes.tolist()}. "
            "Give each class its number, or use Categorical for classes without an order."
        )
    return floats
