"""Audit how a model's uncertainty arises, and report it.

    import uq_report as uq

    subject = uq.explain(model, X, y, train=(X_train, y_train))   # a fitted model and its data, validated once
    run = uq.audit(subject)                                       # every explainer and check that applies
    run.recommendation; run.findings; run.not_run                 # what follows, as text and tables
    run.save("report.html"); run.save("report.pdf"); run.save("folder/")

Every verb takes a subject, or a model with its data, and returns a view with .frame, .estimates, .plot(), .show() and
.save(); view["nll"] is the part of one measure:

    uq.importance(subject)            permutation importance of prediction, loss and uncertainty
    uq.profile(subject, "age")        partial dependence and ICE; ("age", "income") gives a surface
    uq.effects(subject)               accumulated local effects (ALE)
    uq.interactions(subject)          H-statistic, or method="pdp", "shap", "rsens"
    uq.sensitivity(subject)           uncertainty-aware sensitivity (R-sens)
    uq.attributions(subject, rows=3)  Shapley values of single observations
    uq.covered_information(subject)   information shared by features;  uq.adjusted_importance, uq.redundancy
    uq.calibration(subject)           scores, reliability, coverage;   uq.segments, uq.groups, uq.drift
    uq.agreement(subject)             rankings of several explainers side by side
    uq.case(subject, 17)              one observation: why, how sure, how typical, and what would change it

uq.plugins("explainers") lists what is installed, uq.options("pfi") what it takes, uq.scorer("nll") is a scorer for
scikit-learn. uq.dist has the predictive distributions, for models that are functions: lambda X: uq.dist.Normal(m, s).
uq.load reads a saved run, uq.run an audit.toml; uq.verify checks a report. help(uq.importance) says more of each.
"""

from __future__ import annotations

# Public names are resolved on first use, so that the import costs next to nothing. Nothing is imported here that Python
# has not loaded before: ``python -m uq_report`` looks in the working folder first until `__main__` runs.
import sys
from importlib import import_module

TYPE_CHECKING = False  # for type checkers, as that of `typing`
if TYPE_CHECKING:
    from typing import Any

    from . import distributions as dist  # noqa: F401 - by another name
    from .api.auditing import audit as audit, load as load
    from .api.catalogue import options as options, plugins as plugins
    from .api.explaining import explain as explain, explain_outputs as explain_outputs
    from .api.scoring import scorer as scorer
    from .api.verbs import *  # noqa: F403 - its `__all__`
    from .core.support.errors import UQReportError as UQReportError
    from .core.validation.residuals import Residuals as Residuals
    from .ops.run import run as run
    from .ops.verification import verify as verify
    from .runner.settings import Settings as Settings

__version__ = "0.1.0"

_HOMES = {
    "api.auditing": "audit load",
    "api.catalogue": "options plugins",
    "api.explaining": "explain explain_outputs",
    "api.scoring": "scorer",
    "api.verbs": "adjusted_importance agreement attributions calibration case covered_information dalex_explainer "
    "drift effects groups importance interactions profile redundancy segments selective sensitivity",
    "runner.settings": "Settings",
    "core.support.errors": "UQReportError",
    "core.validation.residuals": "Residuals",
    "ops.run": "run",
    "ops.verification": "verify",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_INSTEAD = {
    "report": "A run writes its report: uq.audit(model, X, y).save('report.html').",
    "render": "A run renders its report: uq.load('run.json').save('report.pdf').",
    "compare": "A run compares itself: run.compare(previous).",
    **dict.fromkeys(("measures", "explainers", "checks"), "uq.plugins lists them: uq.plugins('measures')."),
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name == "dist":
        value = import_module(".distributions", __name__)
    elif name in _HOME_OF:
        value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {_hint(name)}")
    globals()[name] = value
    return value


def _hint(name: str) -> str:
    """Say what is meant by a name that is not there."""
    if name in _INSTEAD or name.startswith("_"):
        return _INSTEAD.get(name, "")
    if hasattr(import_module(".distributions", __name__), name):
        return f"The distributions are in uq.dist: uq.dist.{name}."
    nearest = import_module(".core.support.errors", __name__).nearest
    return str(nearest(name, (*_HOME_OF, "dist")))


def __dir__() -> list[str]:
    """List the public names."""
    return [*_HOME_OF, "dist", "__version__"]


class _Root(type(sys)):  # type: ignore[misc]  # the type of modules, without another import
    """The package, of which sub-packages called like verbs are no attributes: `uq.report` gives a hint instead."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _INSTEAD or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Root
