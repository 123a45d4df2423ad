"""What is explained: a number per row, computed from the predictive distribution and, if needed, y and the base.

The base is the distribution of the same rows unchanged: `KL` is the distance from it.

The constants below are the built-in measures; each is named like its constant in lower case. Larger
losses are worse. Values may be infinite where the formula is: `LOG_ODDS` at a probability of 0 or 1,
`NLL` where the outcome had probability 0. `NLL_CLIPPED` is the same with a bound, for who asks for it.

Examples
--------
>>> from uq_report.distributions import Categorical, Normal
>>> classes = Categorical([[0.75, 0.25], [0.0, 1.0]])
>>> BRIER.rows(classes, np.array([0, 0]), None)
array([0.125, 2.   ])
>>> NLL.rows(classes, np.array([0, 0]), None).round(4)
array([0.2877,    inf])
>>> BRIER.why_not(Normal([0.0], 1.0), has_y=True)
'it needs class probabilities, which a normal predictive distribution has not; use squared_error or nll'
>>> KL.rows(Normal([0.0, 1.0], 1.0), None, Normal([0.0, 0.0], 1.0))
array([0. , 0.5])
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np

from ...distributions import Categorical, Intervals, LabelSets, Ordinal
from ...distributions.numerics.validate import row_sum
from ..predictive import Distribution
from ..statistics.score_intervals import mid_cdf
from ..support.arrays import AnyArray, FloatArray
from ..support.errors import InputError, UnsupportedError, nearest
from ..support.numbers import OUTCOME_UNIT, SQUARED_UNIT


class OneMinusAUC:
    """1 - AUC of scores for class position 1 against 0, ties counted half.

    Influence values: with A the AUC and pi the share of class 1, -(F0(s) - A) / pi for a row of class 1
    and -(1 - F1(s) - A) / (1 - pi) for one of class 0; F0, F1 are the classes' distribution functions of
    the scores, at a tie the middle of the step (Hampel's influence function of the Mann-Whitney statistic;
    DeLong et al. 1988 take their variance). Their weighted mean over the reference scores is 0.

    Examples
    --------
    >>> scores, y, weights = np.array([0.1, 0.4, 0.4, 0.8]), np.array([0, 0, 1, 1]), np.ones(4)
    >>> OneMinusAUC().value(scores, y, weights)
    0.125
    >>> OneMinusAUC().influence(scores, y, weights, scores)
    array([-0.25,  0.25,  0.25, -0.25])
    """

    def value(self, rows: FloatArray, y: AnyArray, weights: FloatArray) -> float:
        """Return 1 - AUC of scores `rows`; needs rows of both classes with positive weight."""
        zeros, ones, _ = _masses(y, weights)
        return 1.0 - float(mid_cdf(rows, zeros) @ ones)

    def influence(self, rows: FloatArray, y: AnyArray, weights: FloatArray, pool: FloatArray) -> FloatArray:
        """Return the influence values of `rows` with A, F0, F1 and pi those of `pool`."""
        zeros, ones, share = _masses(*(np.broadcast_to(values, pool.shape).ravel() for values in (y, weights)))
        scores = pool.ravel()
        auc = mid_cdf(scores, zeros) @ ones
        below, above = mid_cdf(scores, zeros, rows) - auc, 1 - mid_cdf(scores, ones, rows) - auc
        return np.where(np.broadcast_to(y, rows.shape) == 1, -below / share, -above / (1 - share))


def _masses(y: AnyArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the mass of each row within class 0 and within class 1, 0 in the other, and the share of class 1."""
    zeros, ones = (weights * (y == label) for label in (0, 1))
    for label, mass in ((1, ones), (0, zeros)):
        if not mass.sum() > 0:
            raise InputError(
                f"one_minus_auc.y must have observations of both classes; got none of class position {label} with a "
                "positive weight. Pass observations of both classes, or omit this measure."
            )
    return zeros / zeros.sum(), ones / ones.sum(), float(ones.sum() / (ones.sum() + zeros.sum()))


_ROUNDING = 1e-12  # of an uncertainty's size: a smaller change is rounding
Role = Literal["prediction", "loss", "uncertainty"]
Direction = Literal["larger", "smaller"]
# of a distribution, y and the base; each rule states the kinds that it needs, which the engine sees to
Rows: TypeAlias = Callable[[Any, Any, Any], FloatArray]


@runtime_checkable
class Statistic(Protocol):
    """A summary over rows that is no plain mean (1 - AUC): its value and each row's influence."""

    def value(self, rows: FloatArray, y: AnyArray, weights: FloatArray) -> float:
        """Return the statistic of row values `rows`, shape (n,)."""

    def influence(self, rows: FloatArray, y: AnyArray, weights: FloatArray, pool: FloatArray) -> FloatArray:
        """Return the influence value of each of `rows` among the reference scores `pool`, both (..., n).

        `y` and `weights` belong to the last axis, or to each score of `pool`.
        """


@dataclass(frozen=True)
class Measure:
    """One number per row.

    Parameters
    ----------
    name : str
        The name users write, and the value of the column ``measure`` in every frame.
    rows : callable
        ``rows(distribution, y, base) -> (n,)``. `y` is encoded; `base` is the predictive distribution of the
        same rows unchanged, row by row. Each may be None unless the measure needs it.
    unit : str
        ``"nats"``, ``"units of the outcome"``, ``"probability"`` ...; printed beside every number.
    role : {"prediction", "loss", "uncertainty"}
        Which question it answers; chooses the section of the report.
    requires : frozenset of str
        Methods the distribution must have.
    needs_y : bool
    statistic : Statistic, optional
        Only where the summary over rows is not the mean.
    title : str
        How the report names it in running text.
    unsuited : callable, optional
        ``unsuited(distribution)`` returns why this family makes no sense here, or the empty string;
        for what `requires` cannot say.
    needs_base : bool
        Whether it compares with the rows unchanged; then `Engine.measure_rows` refuses it.
    direction : {"larger", "smaller"}
        Which way is worse (loss) or less certain (uncertainty); for predictions it has no meaning.

    Raises
    ------
    InputError
        If the role or the direction is another word.
    """

    name: str
    rows: Rows
    unit: str
    role: Role
    requires: frozenset[str]
    needs_y: bool = False
    statistic: Statistic | None = None
    title: str = ""
    unsuited: Callable[[Distribution], str] | None = None
    needs_base: bool = False
    direction: Direction = "larger"
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a role or a direction that does not exist."""
        for field, allowed in (("role", get_args(Role)), ("direction", get_args(Direction))):
            value = getattr(self, field)
            if value not in allowed:
                raise InputError(
                    f"measure {self.name!r}.{field} must be {' or '.join(map(repr, allowed))}; got {value!r}. "
                    f"{nearest(str(value), allowed)}"
                )

    def why_not(self, dist: Distribution, has_y: bool) -> str:
        """Return the reason why this measure cannot be evaluated, without its name, or the empty string."""
        reason = self.unsuited(dist) if self.unsuited else ""
        if reason:
            return f"it {reason}"
        if self.needs_y and not has_y:
            return "it needs outcomes, which were not given"
        missing = sorted(self.requires - dist.supports)
        return dist.why_not(missing[0]) if missing else ""


@dataclass(frozen=True)
class Own:
    """The rows of a measure that is a method of the distribution; unlike a lambda they can be sent to a worker."""

    method: str

    def __call__(self, dist: Distribution, _y: object, _base: object) -> FloatArray:
        """Return what the method returns."""
        return np.asarray(getattr(dist, self.method)())


def squared_error(dist: Distribution, y: AnyArray, _base: object) -> FloatArray:
    """Return (y - mean)^2; of classes in order, of their numbers."""
    return np.asarray(np.square(_error(dist, y)))


def absolute_error(dist: Distribution, y: AnyArray, _base: object) -> FloatArray:
    """Return the absolute value of y - mean; of classes in order, of their numbers."""
    return np.abs(_error(dist, y))


def _error(dist: Distribution, y: AnyArray) -> FloatArray:
    if isinstance(dist, Ordinal):
        return np.asarray(dist.numbers[y] - dist.class_mean())
    return np.asarray(y - dist.mean())


def brier(dist: Categorical, y: AnyArray, _base: object) -> FloatArray:
    """Return sum_c (p_c - 1[y = c])^2, in [0, 2]: for two classes twice the one-column form."""
    return row_sum(np.square(dist.probabilities - (y[:, None] == np.arange(len(dist.classes)))))


def zero_one(dist: Categorical, y: AnyArray, _base: object) -> FloatArray:
    """Return 1 where the class that the model decides for is not y, else 0."""
    return np.asarray(dist.decisions() != y, dtype=float)


def score_of_class_1(dist: Categorical, _y: object, _base: object) -> FloatArray:
    """Return the probability of class position 1, the score that `OneMinusAUC` summarises."""
    return dist.probabilities[:, 1]


def crps(dist: Distribution, y: AnyArray, _base: object) -> FloatArray:
    """Return the continuous ranked probability score, the integral of (F(t) - 1[y <= t])²."""
    return dist.crps(y)


def nll(dist: Distribution, y: AnyArray, _base: object) -> FloatArray:
    """Return -log q(y | x); infinite where the outcome had probability 0."""
    return -dist.log_prob(y)


def nll_clipped(dist: Distribution, y: AnyArray, _base: object) -> FloatArray:
    """Return -log max(q(y | x), smallest normal float): at most 708.4 nats."""
    return np.minimum(nll(dist, y, None), -float(np.log(np.finfo(float).tiny)))


def width(dist: Intervals, _y: object, _base: object) -> FloatArray:
    """Return upper - lower of the interval at the level nearest to 90%."""
    return np.asarray(dist.upper[:, dist.main] - dist.lower[:, dist.main])


def interval_score(dist: Intervals, y: AnyArray, _base: object) -> FloatArray:
    """Return (u - l) + 2/a (l - y)+ + 2/a (y - u)+ at level 1 - a (Gneiting & Raftery 2007, eq. 43); proper."""
    lower, upper = dist.lower[:, dist.main], dist.upper[:, dist.main]
    outside = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return np.asarray(upper - lower + 2 / (1 - dist.levels[dist.main]) * outside)


def miscoverage(dist: Intervals | LabelSets, y: AnyArray, _base: object) -> FloatArray:
    """Return 1 where the interval or label set at the level nearest to 90% does not hold y, else 0."""
    return np.asarray(~dist.covered(y)[:, dist.main], dtype=float)


def set_size(dist: LabelSets, _y: object, _base: object) -> FloatArray:
    """Return how many classes the label set at the level nearest to 90% holds."""
    return np.asarray(dist.sets[:, :, dist.main].sum(axis=1), dtype=float)


def kl(dist: Distribution, _y: object, base: Distribution) -> FloatArray:
    """Return KL(base ‖ dist): the rise of the nll that the model itself expects if `dist` replaces `base`."""
    return divergence(base, dist, "kl")


@dataclass(frozen=True)
class Change:
    """The rows of a measure that compares an uncertainty with that of the rows unchanged: |u - u unchanged|.

    Parameters
    ----------
    of : Measure
        The uncertainty.
    is_root : bool
        Whether u is the square root of the measure: the standard deviation of a variance.
    power : {0, 1, 2}
        Of the change; 0 says whether there is any, beyond rounding.

    Examples
    --------
    >>> from uq_report.distributions import Normal
    >>> base = Normal([0.0, 0.0], [1.0, 2.0])
    >>> Change(VARIANCE, is_root=True)(Normal([5.0, 5.0], [4.0, 2.0]), None, base)
    array([3., 0.])
    """

    of: Measure
    is_root: bool = False
    power: int = 1

    def __call__(self, dist: Distribution, y: AnyArray | None, base: Distribution) -> FloatArray:
        """Return the change of each row."""
        return self.between(self.of.rows(dist, y, None), self.uncertainty(self.of.rows(base, y, None)))

    def uncertainty(self, values: FloatArray) -> FloatArray:
        """Return u of values of the measure."""
        return np.sqrt(values) if self.is_root else values

    def between(self, values: FloatArray, unchanged: FloatArray) -> FloatArray:
        """Return the change of values of the measure against u `unchanged`; infinite where either is."""
        with np.errstate(invalid="ignore"):
            change = np.abs(self.uncertainty(values) - unchanged)
        change = np.where(np.isnan(change), np.inf, change)
        if not self.power:
            size = np.abs(unchanged[np.isfinite(unchanged)]).max(initial=0.0)
            return np.asarray(change > _ROUNDING * size, dtype=float)
        return np.asarray(np.square(change) if self.power > 1 else change)


def _no_classes(dist: Distribution) -> str:
    if "proba" in dist.supports:
        return ""
    return f"needs class probabilities, which a {dist.family} predictive distribution has not; use squared_error or nll"


def _not_two_classes(dist: Distribution) -> str:
    classes = getattr(dist, "classes", ()) if "proba" in dist.supports else ()
    if len(classes) not in (0, 2):
        return f"needs two classes; this model has {len(classes)}; use prediction, brier or nll"
    return _no_classes(dist)


def _no_number(dist: Distribution) -> str:
    if dist.censored:
        return "needs the time of every event, which is unknown for censored observations; use nll"
    if "proba" in dist.supports and not isinstance(dist, Ordinal):
        return "needs a numeric target; this model predicts classes, which have no distance; use brier or nll"
    return ""


@dataclass(frozen=True)
class Lacks:
    """Says that a measure needs what a distribution does not hold, and what to use; it can be sent to a worker."""

    method: str
    needs: str
    use: str

    def __call__(self, dist: Distribution) -> str:
        """Return the reason; empty where the distribution supports the method."""
        if self.method in dist.supports:
            return ""
        return f"needs {self.needs}, which a {dist.family} predictive distribution does not hold; use {self.use}"


_NO_INTERVALS = Lacks("intervals", "prediction intervals", "entropy")
_NO_SETS = Lacks("label_sets", "label sets", "entropy")
_NOT_COVERING = Lacks("covered", "intervals or label sets", "nll")


def _no_order(dist: Distribution) -> str:
    if "proba" in dist.supports and "crps" not in dist.supports:
        return "needs an ordered target; this model predicts classes, which have no order; use brier or nll"
    return ""


def _uncertainty(
    name: str, unit: str, title: str, rows: Rows | None = None, requires: str = "", unsuited: Lacks | None = None
) -> Measure:
    """Return a measure by its rows, or the distribution's method of its name."""
    needs = frozenset({requires or name})
    return Measure(name, rows or Own(name), unit, "uncertainty", needs, title=title, unsuited=unsuited)


def _loss(name: str, rows: Rows, unit: str, requires: set[str], title: str, **more: Any) -> Measure:
    return Measure(name, rows, unit, "loss", frozenset(requires), needs_y=True, title=title, **more)


_AUC = OneMinusAUC()

PREDICTION = Measure(
    "prediction", Own("mean"), f"{OUTCOME_UNIT}, or probability", "prediction", frozenset({"mean"}), title="prediction"
)
_PROBA = frozenset({"proba"})
LOG_ODDS = Measure(
    "log_odds", Own("log_odds"), "log-odds", "prediction", _PROBA, title="log-odds", unsuited=_not_two_classes
)
SQUARED_ERROR = _loss("squared_error", squared_error, SQUARED_UNIT, {"mean"}, "squared error", unsuited=_no_number)
ABSOLUTE_ERROR = _loss("absolute_error", absolute_error, OUTCOME_UNIT, {"mean"}, "absolute error", unsuited=_no_number)
CRPS = _loss("crps", crps, OUTCOME_UNIT, {"crps"}, "continuous ranked probability score (CRPS)", unsuited=_no_order)
BRIER = _loss("brier", brier, "0 to 2", {"proba"}, "Brier score (sum over classes)", unsuited=_no_classes)
ZERO_ONE = _loss(
    "zero_one", zero_one, "share of observations", {"proba", "decisions"}, "0-1 loss", unsuited=_no_classes
)
ONE_MINUS_AUC = _loss(
    "one_minus_auc", score_of_class_1, "probability", {"proba"}, "1 − AUC", unsuited=_not_two_classes, statistic=_AUC
)
NLL = _loss("nll", nll, "nats", {"log_prob"}, "negative log-likelihood")
NLL_CLIPPED = _loss("nll_clipped", nll_clipped, "nats", {"log_prob"}, "negative log-likelihood, at most 708.4")
ENTROPY = _uncertainty("entropy", "nats", "entropy")
VARIANCE = _uncertainty("variance", SQUARED_UNIT, "predictive variance")
ALEATORIC = _uncertainty("aleatoric", "nats", "aleatoric entropy")
EPISTEMIC = _uncertainty("epistemic", "nats", "epistemic entropy")
ALEATORIC_VARIANCE = _uncertainty("aleatoric_variance", SQUARED_UNIT, "aleatoric variance")
EPISTEMIC_VARIANCE = _uncertainty("epistemic_variance", SQUARED_UNIT, "epistemic variance")
WIDTH = _uncertainty(
    "width", OUTCOME_UNIT, "width of the prediction interval", width, "intervals", unsuited=_NO_INTERVALS
)
SET_SIZE = _uncertainty("set_size", "classes", "size of the label set", set_size, "label_sets", unsuited=_NO_SETS)
INTERVAL_SCORE = _loss(
    "interval_score", interval_score, OUTCOME_UNIT, {"intervals"}, "interval score", unsuited=_NO_INTERVALS
)
MISCOVERAGE = _loss(
    "miscoverage", miscoverage, "share of observations", {"covered"}, "miscoverage", unsuited=_NOT_COVERING
)
# A prediction, because it measures the change of the prediction. It is no loss: it uses no outcome. It is no
# uncertainty: it increases both where the model becomes more confident and where it becomes less confident.
_KL = "model-implied increase in loss (Kullback-Leibler divergence from the unchanged prediction)"
KL = Measure("kl", kl, "nats", "prediction", frozenset({"kl"}), title=_KL, needs_base=True)


def _change(name: str, of: Measure, unit: str, title: str, *, is_root: bool = False) -> Measure:
    rows = Change(of, is_root)
    return Measure(name, rows, unit, "uncertainty", of.requires, title=title, unsuited=of.unsuited, needs_base=True)


UNCERTAINTY_CHANGE = _change("uncertainty_change", ENTROPY, "nats", "change of the predictive entropy")
SD_CHANGE = _change("sd_change", VARIANCE, OUTCOME_UNIT, "change of the predictive standard deviation", is_root=True)
WIDTH_CHANGE = _change("width_change", WIDTH, OUTCOME_UNIT, "change of the width of the prediction interval")
EPISTEMIC_CHANGE = _change("epistemic_change", EPISTEMIC, "nats", "change of the epistemic entropy")
# of each uncertainty, how far permuted values change it
CHANGES = {
    ENTROPY.name: UNCERTAINTY_CHANGE,
    VARIANCE.name: SD_CHANGE,
    WIDTH.name: WIDTH_CHANGE,
    EPISTEMIC.name: EPISTEMIC_CHANGE,
}
LOSS, DECOMPOSITION = "loss", "decomposition"  # words that stand for measures, which depend on the distribution
PARTS = (
    (ENTROPY.name, ALEATORIC.name, EPISTEMIC.name),
    (VARIANCE.name, ALEATORIC_VARIANCE.name, EPISTEMIC_VARIANCE.name),
)


def split_of(dist: Distribution) -> tuple[str, ...]:
    """Return the measures of the uncertainty, of its aleatoric and of its epistemic part; none without members.

    The parts add up to the first: in nats, or of the variance where there is no entropy (members that are points).

    Examples
    --------
    >>> from uq_report.distributions import Normal, NormalMixture
    >>> split_of(NormalMixture([[0.0, 1.0]], [[1.0, 1.0]]))
    ('entropy', 'aleatoric', 'epistemic')
    >>> split_of(NormalMixture([[0.0, 1.0]], [[0.0, 0.0]]))
    ('variance', 'aleatoric_variance', 'epistemic_variance')
    >>> split_of(Normal([0.0], 1.0))
    ()
    """
    return next((names for names in PARTS if dist.supports.issuperset(names)), ())


def without_parts(names: Iterable[str]) -> list[str]:
    """Return measures, each once, without the parts of an uncertainty that is itself among them.

    Examples
    --------
    >>> without_parts(["nll", "entropy", "aleatoric", "epistemic", "epistemic_variance"])
    ['nll', 'entropy', 'epistemic_variance']
    """
    every = list(dict.fromkeys(names))
    parts = {part for whole, *both in PARTS if whole in every for part in both}
    return [name for name in every if name not in parts]


Order = Literal["kl", "half"]


def divergence(p: Distribution, q: Distribution, order: Order) -> FloatArray:
    """Return the divergence of each row's p from its q, shape (n,): the family's own; it may be infinite.

    Examples
    --------
    >>> from uq_report.distributions import Normal
    >>> divergence(Normal([0.0], 1.0), Normal([0.1], 1.0), "kl").round(6)
    array([0.005])
    >>> divergence(Categorical([[0.5, 0.5]]), Categorical([[1.0, 0.0]]), "kl")
    array([inf])
    """
    if not (isinstance(q, type(p)) or isinstance(p, type(q))):
        raise UnsupportedError(
            f"divergence must get two distributions of one family; got a {p.family} and a {q.family} one. "
            "The model must predict the same family for all rows."
        )
    return p.kl(q) if order == "kl" else p.renyi_half(q)


def sensitivity(divergences: FloatArray, order: Order) -> FloatArray:
    """Return √(2 KL) or √(4 D_half): the Fisher length of the change, to first order (Paananen et al., section 2.5)."""
    return np.sqrt((2.0 if order == "kl" else 4.0) * divergences)


def in_cells(dist: Distribution, edges: FloatArray) -> Categorical:
    """Return the probabilities of the cells between the edges and beyond them.

    Divergences of cells can only be lower than those of the distributions, which need a ``cdf``.
    """
    n = len(dist)
    below = np.column_stack([np.zeros(n), *(dist.cdf(np.full(n, edge)) for edge in edges), np.ones(n)])
    return Categorical(np.maximum(np.diff(below, axis=1), 0.0))
