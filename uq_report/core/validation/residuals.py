"""An assumption laid over predictions that come without a spread: what is asked for, and what was found.

The rows whose residuals are taken must be neither rows of the fit nor rows of the audit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from ..support.errors import InputError, check_options, nearest
from ..support.numbers import OUTCOME_UNIT, number, share_words, value_words

Form = Literal["normal", "student_t", "empirical", "conformal"]
Source = Literal["held_out", "cross_validation", "oob"]
Scale = Literal["constant", "modelled"]
Shorthand = Literal["normal", "empirical", "conformal", "oob"]
DISTRIBUTIONS = {
    "normal": "a normal distribution",
    "student_t": "a Student-t distribution",
    "empirical": "the smoothed distribution of residuals",
    "conformal": "a conformal distribution",
}


@dataclass(frozen=True, kw_only=True)
class Residuals:
    """The assumption by which residuals become a distribution around each prediction.

    Parameters
    ----------
    form : {"normal", "student_t", "empirical", "conformal"}
        ``"normal"``: N(f(x), s²), with s² the mean squared residual; the residuals are of rows outside the fit, so no
        degree of freedom is lost, and their mean is not corrected: it counts in s². ``"student_t"``: a centred
        Student-t around f(x) whose squared scale is a + b times the variance of the members of a forest, bagging or
        voting, with a, b and the degrees of freedom by the likelihood of the residuals; other models have no members,
        and b is 0. The members' share b s²/(a + b s²) of the variance is recorded. ``"empirical"``: f(x) plus the
        residuals, smoothed by a normal kernel. ``"conformal"``: f(x) plus the residuals at the levels k / (m + 1)
        of the split-conformal distribution (Vovk et al. 2017), a density between them; its central intervals hold
        their level on rows exchangeable with held-out ones, approximately for the other sources.
    source : {"held_out", "cross_validation", "oob"}, optional
        By default the first that is there: `rows`; out of bag, of a fitted forest or bagging with bootstrap;
        cross-validation. The last two need the training rows.
    rows : pair (X, y), optional
        Held-out rows, neither in the fit nor audited.
    scale : {"constant", "modelled"}
        ``"modelled"`` fits small boosted trees to the absolute residuals, by the features and the prediction;
        residuals are standardised by folds, so that none grades itself.
    n_splits : int
        Folds, of cross-validation and of the modelled scale.
    seed : int
        Of the folds, and of models fitted again that have no seed of their own.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/howto/point_regressors.html

    Examples
    --------
    >>> Residuals(scale="modelled").form
    'normal'
    """

    form: Form = "normal"
    source: Source | None = None
    rows: tuple[Any, Any] | None = None
    scale: Scale = "constant"
    n_splits: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        pair = self.rows is None or (isinstance(self.rows, tuple | list) and len(self.rows) == 2)
        if not pair:
            raise InputError(f"residuals.rows must be a pair (X, y); got {type(self.rows).__name__}. Pass the pair.")
        held = self.source in (None, "held_out") if self.rows is not None else self.source != "held_out"
        allowed = (
            "left out where rows are given, and given with rows for 'held_out'"
            if self.source in get_args(Source)
            else f"one of {', '.join(map(repr, get_args(Source)))}"
        )
        check_options(
            "residuals",
            self,
            (
                ("form", self.form in get_args(Form), f"one of {', '.join(map(repr, get_args(Form)))}"),
                ("source", self.source in (None, *get_args(Source)) and held, allowed),
                ("scale", self.scale in get_args(Scale), f"one of {', '.join(map(repr, get_args(Scale)))}"),
                ("n_splits", _whole(self.n_splits, 2), "an integer >= 2"),
                ("seed", _whole(self.seed, 0), "an integer >= 0"),
            ),
        )

    @classmethod
    def of(cls, asked: str | Residuals) -> Residuals:
        """Return what a word stands for; ``"oob"`` is the Student-t form from out-of-bag residuals."""
        if isinstance(asked, Residuals):
            return asked
        if asked not in get_args(Shorthand):
            got = f"{asked!r}. {nearest(asked, get_args(Shorthand))}" if isinstance(asked, str) else repr(asked)
            raise InputError(f"explain.residuals must be a word or a Residuals object; got {got}")
        return cls(form="student_t", source="oob") if asked == "oob" else cls(form=asked)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Assumption:
    """What was laid over a model: `n` residuals of mean `mean` and root mean square `spread`, in units of y.

    `df` are the degrees of freedom of a Student-t, and `members_share` the mean share of its variance that follows the
    variance of an ensemble's members, None where members are not used. `replaces` names the adapter whose distribution
    is not used.
    """

    form: Form
    source: Source
    scale: Scale
    n: int
    n_splits: int | None
    seed: int
    mean: float
    spread: float
    df: float | None = None
    members_share: float | None = None
    replaces: str = ""

    @property
    def origin(self) -> str:
        """Where the residuals are from, in words."""
        return {
            "held_out": f"residuals of {self.n} held-out observations",
            "cross_validation": f"residuals of {self.n_splits}-fold cross-validation on {self.n} training observations",
            "oob": f"out-of-bag residuals of {self.n} training observations",
        }[self.source]

    @property
    def words(self) -> str:
        """The assumption in one sentence, for the first page.

        Examples
        --------
        >>> Assumption(
        ...     form="normal", source="held_out", scale="constant", n=80, n_splits=None, seed=0, mean=0.1, spread=2.0
        ... ).words.partition(", from ")[2]
        'residuals of 80 held-out observations.'
        """
        size = value_words(self.spread, unit=OUTCOME_UNIT)
        spread = {
            "constant": f"constant spread {size}",
            "modelled": f"a spread modelled by small boosted trees (on average {size})",
        }[self.scale]
        share = ""
        if self.members_share:
            spread = {"constant": "a", "modelled": f"{spread} and a"}[self.scale]
            spread += " part that follows the spread of its members"
            spread += f" (on average {size})" if self.scale == "constant" else ""
            share = f" The members' share of the variance (epistemic) is {share_words(self.members_share)} on average."
        own = (
            f"The model's own distribution ({self.replaces}) is not used"
            if self.replaces
            else "The model states no uncertainty"
        )
        laid = DISTRIBUTIONS[self.form] + ("" if self.df is None else f" ({number(self.df, 2)} degrees of freedom)")
        return f"{own}. The audit assumes {laid} with {spread} around its predictions, from {self.origin}.{share}"

    def facts(self) -> dict[str, Any]:
        """Return the assumption as JSON values."""
        return asdict(self) | {"words": self.words}


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
