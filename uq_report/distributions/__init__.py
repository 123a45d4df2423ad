"""Predictive distributions: the families, mixtures, tables and wrappers that a model of your own returns.

References
----------
https://uq-report.readthedocs.io/en/stable/methods/distributions.html

Examples
--------
>>> Normal([0.0, 1.0], [1.0, 2.0]).entropy().round(2).tolist()
[1.42, 2.11]
"""

from ..core.support.errors import nearest
from .families.categorical import Categorical as Categorical, Ordinal as Ordinal
from .families.gamma import Beta as Beta, Gamma as Gamma
from .families.laplace import HalfNormal as HalfNormal, Laplace as Laplace, Logistic as Logistic
from .families.normal import Normal as Normal
from .families.poisson import NegativeBinomial as NegativeBinomial, Poisson as Poisson
from .families.student_t import StudentT as StudentT
from .families.tweedie import Tweedie as Tweedie
from .families.weibull import LogLogistic as LogLogistic, LogNormal as LogNormal, Weibull as Weibull
from .mixtures.categorical_mixture import CategoricalMixture as CategoricalMixture
from .mixtures.mixture import Mixture as Mixture
from .mixtures.normal_mixture import NormalMixture as NormalMixture
from .tables.draws import CountDraws as CountDraws, Draws as Draws
from .tables.intervals import Intervals as Intervals, LabelSets as LabelSets
from .tables.piecewise import Histogram as Histogram
from .tables.quantiles import Quantiles as Quantiles
from .tables.smoothed import Smoothed as Smoothed
from .tables.survival import Survival as Survival
from .wrappers.censored import Censored as Censored
from .wrappers.wrapping import (
    Discretised as Discretised,
    Scipy as Scipy,
    Truncated as Truncated,
    ZeroInflated as ZeroInflated,
)


def __getattr__(name: str) -> object:
    """Answer a name that no distribution has with the one that is meant (PEP 562)."""
    known = [one for one in globals() if one[0].isupper()]
    hint = "" if name.startswith("_") else nearest(name, known)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {hint}")
