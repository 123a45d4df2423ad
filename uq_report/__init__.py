"""Audit how a model's uncertainty arises, and report it.

The public names are resolved on first use, so that ``import uq_report`` costs next to nothing. Nothing is imported here
that Python has not loaded before: ``python -m uq_report`` looks in the working folder first until `__main__` runs.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # for type checkers, as that of `typing`
if TYPE_CHECKING:
    from typing import Any

    from .api import attributions as attributions
    from .api import audit as audit
    from .api import calibration as calibration
    from .api import compare as compare
    from .api import dalex_explainer as dalex_explainer
    from .api import explain as explain
    from .api import explain_outputs as explain_outputs
    from .api import importance as importance
    from .api import load as load
    from .api import profile as profile
    from .api import segments as segments
    from .api import selective as selective
    from .core.support.errors import UQReportError as UQReportError
    from .core.validation.residuals import Residuals as Residuals
    from .distributions import Beta as Beta
    from .distributions import Categorical as Categorical
    from .distributions import CategoricalMixture as CategoricalMixture
    from .distributions import Censored as Censored
    from .distributions import CountDraws as CountDraws
    from .distributions import Discretised as Discretised
    from .distributions import Draws as Draws
    from .distributions import Gamma as Gamma
    from .distributions import HalfNormal as HalfNormal
    from .distributions import Histogram as Histogram
    from .distributions import Intervals as Intervals
    from .distributions import LabelSets as LabelSets
    from .distributions import Laplace as Laplace
    from .distributions import Logistic as Logistic
    from .distributions import LogLogistic as LogLogistic
    from .distributions import LogNormal as LogNormal
    from .distributions import Mixture as Mixture
    from .distributions import NegativeBinomial as NegativeBinomial
    from .distributions import Normal as Normal
    from .distributions import NormalMixture as NormalMixture
    from .distributions import Ordinal as Ordinal
    from .distributions import Poisson as Poisson
    from .distributions import Quantiles as Quantiles
    from .distributions import Scipy as Scipy
    from .distributions import Smoothed as Smoothed
    from .distributions import StudentT as StudentT
    from .distributions import Survival as Survival
    from .distributions import Truncated as Truncated
    from .distributions import Tweedie as Tweedie
    from .distributions import Weibull as Weibull
    from .distributions import ZeroInflated as ZeroInflated
    from .ops.run import run as run
    from .ops.verification import verify as verify
    from .runner.settings import Settings as Settings

__version__ = "0.1.0"

_HOMES = {
    "api": "attributions audit calibration compare dalex_explainer explain explain_outputs importance "
    "load profile segments selective",
    "distributions": "Beta Categorical CategoricalMixture Censored CountDraws Discretised Draws Gamma HalfNormal "
    "Histogram Intervals LabelSets Laplace LogLogistic LogNormal Logistic Mixture "
    "NegativeBinomial Normal NormalMixture Ordinal Poisson Quantiles Scipy Smoothed StudentT "
    "Survival Truncated Tweedie Weibull ZeroInflated",
    "runner.settings": "Settings",
    "core.support.errors": "UQReportError",
    "core.validation.residuals": "Residuals",
    "ops.run": "run",
    "ops.verification": "verify",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
