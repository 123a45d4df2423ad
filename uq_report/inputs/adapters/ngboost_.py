"""NGBoost: the distribution that it boosts, family by family."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import distributions as families
from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import AnyArray, Table
from ...core.support.errors import InputError, to_type
from .boosted import softmax_of
from .outputs import POINTS, predicted_labels, refuse_unfitted
from .sklearn_ import ROWWISE_BATCH, each_alone, refitted, transform, unwrap

_MODELS = {"ngboost.NGBRegressor", "ngboost.NGBClassifier", "ngboost.NGBSurvival", "ngboost.NGBoost"}
# the nearest class decides, so a Cauchy is one before it is a t
_FAMILIES: dict[str, Callable[[Any], Distribution]] = {
    "Normal": lambda q: families.Normal(q.loc, q.scale),
    "LogNormal": lambda q: families.LogNormal(q.loc, q.scale),
    "Exponential": lambda q: families.Gamma(1.0, q.scale),
    "Gamma": lambda q: families.Gamma(q.alpha, 1 / q.beta),
    "Weibull": lambda q: families.Weibull(q.shape, q.scale),
    "Laplace": lambda q: families.Laplace(q.loc, q.scale),
    "HalfNormal": lambda q: families.HalfNormal(q.scale),
    "Poisson": lambda q: families.Poisson(q.mu),
    "Beta": lambda q: families.Beta(q.alpha, q.beta),
    "T": lambda q: families.StudentT(q.df, q.loc, q.scale),
    "TFixedDf": lambda q: families.StudentT(float(q.fixed_df), q.loc, q.scale),
    "TFixedDfFixedVar": lambda q: families.StudentT(float(q.fixed_df), q.loc, q.scale),
}
_BY_NAME = {f"ngboost.{name}": make for name, make in _FAMILIES.items()}
_BETA = "from ngboost.distns import Beta\n"
_MARGIN = """\
def margin(X):
    q = model.pred_dist(X)
    return uq.dist.Normal(q.loc[:, 0], q.cov[:, 0, 0] ** 0.5)

uq.explain(margin, X, y[:, 0])"""


@dataclass(frozen=True)
class NGBoostAdapter(Adapter):
    """NGBRegressor of every univariate family, NGBClassifier, and NGBSurvival, alone or last in a pipeline.

    The parameters are read from ``pred_dist``, on their natural scale: a standard deviation, not its logarithm; of
    the gamma a rate, turned into a scale. Classes are 0 .. K-1, as NGBoost wants them. NGBSurvival gives the
    distribution of the time itself: y must hold times of events, none censored.

    Examples
    --------
    >>> NGBoostAdapter().matches(object()) is None
    True
    """

    name: ClassVar[str] = "ngboost"
    libraries: ClassVar[tuple[str, ...]] = ("ngboost",)

    def matches(self, model: Any) -> Match | None:
        """Match NGBoost's models by name."""
        final = unwrap(model)[1]
        if _MODELS.isdisjoint(class_names(final)):
            return None
        return Match(1, f"{type(final).__name__}: its boosted distribution")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the boosted distributions; refuse those of several outputs, and families that are not known."""
        steps, final = unwrap(model)
        refuse_unfitted(final, final.base_models, "without trees")
        dist = final.pred_dist(transform(steps, X))
        names = class_names(dist)
        if "ngboost.ClassificationDistn" in names:
            return families.Categorical(softmax_of(np.ascontiguousarray(dist.logits.T)))
        make = next((_BY_NAME[name] for name in names if name in _BY_NAME), None)
        if make is not None:
            return make(dist)
        own = getattr(dist, "dist", None)
        if not hasattr(own, "ppf"):
            raise InputError(_unknown(model, names[0].partition(".")[2]))
        return families.Scipy(own)

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the labels of a classifier's own ``predict``; None for others."""
        return predicted_labels(model, X) if "ngboost.NGBClassifier" in class_names(unwrap(model)[1]) else None

    def batch_rows(self, model: Any) -> int | None:
        """Return 25 000 where all base learners are trees, else None."""
        steps, final = unwrap(model)
        learners = [learner for stage in final.base_models for learner in stage]
        trees = all(class_names(learner)[0] == "sklearn.DecisionTreeRegressor" for learner in learners)
        return ROWWISE_BATCH if trees and each_alone(steps) else None

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say that the outcomes of a survival model must be events."""
        if "ngboost.NGBSurvival" not in class_names(unwrap(model)[1]):
            return ()
        return ("NGBSurvival gives the distribution of the time itself: y is read as times of events, none censored.",)


def _unknown(model: Any, family: str) -> str:
    if family == "MVN":
        return f"ngboost.Dist must have one output; got {family}. Audit one margin at a time. {to_type(_MARGIN)}"
    known = ", ".join(sorted(_FAMILIES))
    must = f"ngboost.Dist must be one of {known}, classes, or built on a scipy distribution; got {family}."
    if family == "LogitNormal":  # whose predictions are random, so that residuals are of no use
        return f"{must} Fit a beta. {to_type(_BETA + refitted(model, 'Dist', 'Beta'))}"
    return f"{must} Lay residuals over its predictions. {to_type(POINTS)}"
