"""What a model predicts: n distributions, held as arrays.

A distribution says in `supports` what it can do. Whatever it cannot do raises `UnsupportedError`
with the reason, so that a measure that needs it is listed as not run rather than guessed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np

from .support.arrays import AnyArray, BoolArray, FloatArray, IntArray
from .support.calls import known_arguments, no_attribute
from .support.errors import UnsupportedError


@dataclass(frozen=True)
class DecisionRule:
    """How a class follows from probabilities; `words` names it in the report.

    Parameters
    ----------
    words : str
    position : int
        The class that the threshold is of.
    threshold : float, optional
        Of two classes, the one at `position` is decided for from this probability on. Without one, the most
        probable class is, unless the rule is the model's `own`.
    own : bool
        Decisions do not follow from the probabilities: those of changed rows are not known.
    """

    words: str
    position: int = 1
    threshold: float | None = None
    own: bool = False


class Distribution(ABC):
    """n predictive distributions q(y | x_i), vectorised over i.

    All entropies and log probabilities are in nats. `y` means values as `encode` returns them:
    floats for a continuous or count target, class positions for a categorical one, and an array of
    `lifetimes.LIFETIME` where outcomes may be `censored`.
    """

    family: str
    discrete: bool = False
    # measures that it cannot answer -> those that are given in their place
    stand_ins: ClassVar[Mapping[str, str]] = {}
    censored: bool = False
    parametrisation: tuple[str, ...] = ()
    rule: DecisionRule | None = None

    def __init_subclass__(cls) -> None:
        """Answer parameters of other names with the one that is meant."""
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = known_arguments(cls.__init__, cls.__name__)  # type: ignore[method-assign]  # the same

    if not TYPE_CHECKING:  # who know the names
        __getattr__ = no_attribute

    @property
    @abstractmethod
    def supports(self) -> frozenset[str]:
        """Names of the methods that can answer, of those defined on this class."""

    @abstractmethod
    def __len__(self) -> int:
        """Return n, the number of distributions."""

    @abstractmethod
    def take(self, index: AnyArray) -> Self:
        """Return the distributions at positions `index`."""

    @property
    def atoms(self) -> bool:
        """Whether single values have a probability, as of every discrete distribution and of mixed ones."""
        return self.discrete

    def encode(self, y: Any) -> FloatArray | IntArray:
        """Return outside target values as the array `log_prob` takes; refuse values it cannot hold."""
        return np.asarray(y, dtype=float)

    def default_focus(self, y: AnyArray | None) -> Any:
        """Return the class whose probability is "the prediction" unless the user names one, or None."""
        return None

    def focus(self, label: Any) -> Self:
        """Return the same distributions with `label` as the positive class; itself if there are no classes."""
        return self

    def deciding(self, rule: DecisionRule, decided: AnyArray | None = None) -> Self:
        """Return the same distributions with a rule that decides for a class; itself if there are no classes."""
        return self

    @property
    def usual_loss(self) -> str:
        """Name of the measure that ``"loss"`` stands for."""
        return "squared_error"

    def mean(self) -> FloatArray:
        """Return the mean, shape (n,); of a categorical, the probability of its positive class."""
        self._cannot("mean")

    def variance(self) -> FloatArray:
        """Return the variance, shape (n,); of a categorical, that of its positive class's indicator."""
        self._cannot("variance")

    def entropy(self) -> FloatArray:
        """Return the Shannon or differential entropy in nats, shape (n,)."""
        self._cannot("entropy")

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log q(y_i | x_i) in nats, shape (n,)."""
        self._cannot("log_prob")

    def expected_nll(self, y: AnyArray) -> FloatArray:
        """Return what -log_prob(y) is on average if y follows this distribution, shape (n,): the entropy.

        Where outcomes are censored it depends on how long each was observed.
        """
        return self.entropy()

    def pit_bounds(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the range that the probability integral transform of y lies in, two arrays of shape (n,).

        From F(y-) to F(y): one number unless the distribution has an atom there.
        """
        return self.cdf(np.nextafter(y, -np.inf)), self.cdf(y)

    def kl(self, other: Self) -> FloatArray:
        """Return the Kullback-Leibler divergence KL(self ‖ other) of each row in nats, shape (n,).

        `other` is of the same family and length. Infinite where it gives no probability to what this
        distribution allows; such a value is never clipped.
        """
        self._cannot("kl")

    def renyi_half(self, other: Self) -> FloatArray:
        """Return the Rényi divergence of order 1/2 of each row from `other`, -2 log ∫ √(p q) in nats, shape (n,)."""
        self._cannot("renyi_half")

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y_i <= y_i), shape (n,)."""
        self._cannot("cdf")

    def log_survival(self, y: AnyArray) -> FloatArray:
        """Return log P(Y_i > y_i) in nats, shape (n,)."""
        with np.errstate(divide="ignore"):
            return np.log1p(-self.cdf(y))

    def quantile(self, p: AnyArray) -> FloatArray:
        """Return the quantiles at levels `p` of shape (L,), shape (n, L)."""
        self._cannot("quantile")

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray | IntArray:
        """Draw `size` values from each distribution, shape (size, n)."""
        self._cannot("sample")

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the continuous ranked probability score, in units of y, shape (n,)."""
        self._cannot("crps")

    def covered(self, y: AnyArray) -> BoolArray:
        """Return whether the interval or label set of each stated coverage level holds y_i, shape (n, L)."""
        self._cannot("covered")

    @property
    def parameters(self) -> FloatArray:
        """The parameters, shape (n, M), in the order of `parametrisation`."""
        self._cannot("parameters")

    def fisher_information(self) -> FloatArray:
        """Return the Fisher information in `parametrisation`, shape (n, M, M)."""
        self._cannot("fisher_information")

    def fisher_norm(self, derivatives: FloatArray) -> FloatArray:
        """Return sqrt(v' I v) of derivatives v of the parameters, (..., n, M) to (..., n): Paananen et al., eq. 4.

        It may be infinite where a parameter leaves the edge of its range.
        """
        information, square = self.fisher_information(), np.zeros(derivatives.shape[:-1])
        for i, j in np.ndindex(information.shape[1:]):  # a product of matrices rounds a row by its place among others
            square += derivatives[..., i] * information[:, i, j] * derivatives[..., j]
        return np.sqrt(np.maximum(square, 0.0))

    def aleatoric(self) -> FloatArray:
        """Return the mean entropy of the members, in nats, shape (n,)."""
        self._cannot("aleatoric")

    def epistemic(self) -> FloatArray:
        """Return the mutual information of outcome and member, in nats, shape (n,)."""
        self._cannot("epistemic")

    def aleatoric_variance(self) -> FloatArray:
        """Return the mean variance of the members, shape (n,)."""
        self._cannot("aleatoric_variance")

    def epistemic_variance(self) -> FloatArray:
        """Return the variance of the members' means, shape (n,)."""
        self._cannot("epistemic_variance")

    def members(self) -> Iterator[tuple[float, Distribution]]:
        """Yield the relative weight, greater than 0, and the n distributions of each member, in one order always.

        Their weighted mean is this distribution.
        """
        self._cannot("members")

    def leave_one_out(self) -> tuple[Distribution, ...]:
        """Return the n distributions without each member, in the order of `members`."""
        self._cannot("leave_one_out")

    def why_not(self, method: str) -> str:
        """Say in one sentence why `method` is not among `supports`."""
        if method.startswith(("aleatoric", "epistemic", "members", "leave_one_out")):
            return f"{method} needs the members of an ensemble; a {self.family} predictive distribution has none"
        return f"{method} is not defined for a {self.family} predictive distribution"

    def _cannot(self, method: str) -> NoReturn:
        raise UnsupportedError(f"{self.why_not(method)}. It supports: {', '.join(sorted(self.supports))}.")
