"""The families of predictive distributions, one file each."""

from ..core.support.errors import nearest
from .families.beta import Beta
from .families.categorical import Categorical, Ordinal
from .families.gamma import Gamma
from .families.laplace import HalfNormal, Laplace, Logistic
from .families.normal import Normal
from .families.poisson import NegativeBinomial, Poisson
from .families.scipy_distribution import Scipy
from .families.student_t import StudentT
from .families.tweedie import Tweedie
from .families.weibull import LogLogistic, LogNormal, Weibull
from .mixtures.categorical_mixture import CategoricalMixture
from .mixtures.mixture import Mixture
from .mixtures.normal_mixture import NormalMixture
from .tables.draws import CountDraws, Draws
from .tables.histogram import Histogram
from .tables.intervals import Intervals, LabelSets
from .tables.quantiles import Quantiles
from .tables.smoothed import Smoothed
from .tables.survival import Survival
from .wrappers.censored import Censored
from .wrappers.wrapping import Discretised, Truncated
from .wrappers.zero_inflated import ZeroInflated

__all__ = [
    "Beta",
    "Categorical",
    "CategoricalMixture",
    "Censored",
    "CountDraws",
    "Discretised",
    "Draws",
    "Gamma",
    "HalfNormal",
    "Histogram",
    "Intervals",
    "LabelSets",
    "Laplace",
    "LogLogistic",
    "LogNormal",
    "Logistic",
    "Mixture",
    "NegativeBinomial",
    "Normal",
    "NormalMixture",
    "Ordinal",
    "Poisson",
    "Quantiles",
    "Scipy",
    "Smoothed",
    "StudentT",
    "Survival",
    "Truncated",
    "Tweedie",
    "Weibull",
    "ZeroInflated",
]


def __getattr__(name: str) -> object:
    """Answer a name that no distribution has with the one that is meant (PEP 562)."""
    hint = "" if name.startswith("_") else nearest(name, __all__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {hint}")
