"""The families of predictive distributions, one file each."""

from .categorical import Categorical
from .categorical_mixture import CategoricalMixture
from .draws import CountDraws, Draws
from .histogram import Histogram
from .intervals import Intervals
from .label_sets import LabelSets
from .normal import Normal
from .normal_mixture import NormalMixture
from .ordinal import Ordinal
from .poisson import Poisson
from .quantiles import Quantiles
from .student_t import StudentT
from .survival import Survival
from .tweedie import Tweedie

__all__ = [
    "Categorical",
    "CategoricalMixture",
    "CountDraws",
    "Draws",
    "Histogram",
    "Intervals",
    "LabelSets",
    "Normal",
    "NormalMixture",
    "Ordinal",
    "Poisson",
    "Quantiles",
    "StudentT",
    "Survival",
    "Tweedie",
]
