"""The families of predictive distributions, one file each."""

from .categorical import Categorical
from .categorical_mixture import CategoricalMixture
from .normal import Normal
from .normal_mixture import NormalMixture
from .poisson import Poisson
from .student_t import StudentT

__all__ = ["Categorical", "CategoricalMixture", "Normal", "NormalMixture", "Poisson", "StudentT"]
