"""The families of predictive distributions, one file each."""

from .beta import Beta
from .categorical import Categorical
from .categorical_mixture import CategoricalMixture
from .censored import Censored
from .discretised import Discretised
from .draws import CountDraws, Draws
from .gamma import Gamma
from .half_normal import HalfNormal
from .histogram import Histogram
from .intervals import Intervals
from .label_sets import LabelSets
from .laplace import Laplace
from .log_logistic import LogLogistic
from .logistic import Logistic
from .lognormal import LogNormal
from .mixture import Mixture
from .negative_binomial import NegativeBinomial
from .normal import Normal
from .normal_mixture import NormalMixture
from .ordinal import Ordinal
from .poisson import Poisson
from .quantiles import Quantiles
from .scipy_ import Scipy
from .smoothed import Smoothed
from .student_t import StudentT
from .survival import Survival
from .truncated import Truncated
from .tweedie import Tweedie
from .weibull import Weibull
from .zero_inflated import ZeroInflated

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
