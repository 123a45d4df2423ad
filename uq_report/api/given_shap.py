"""Values that a user has computed with shap, in an audit beside ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..core.engine.fast_path_evaluator import Engine
from ..core.explainer import BuiltInExplainer, MethodCard, Prior
from ..core.model.measures import PREDICTION
from ..core.model.results import Attribution, Importance, Result, bare_estimates
from ..core.model.subject import Subject
from ..core.support.arrays import AnyArray, IntArray
from ..core.support.errors import InputError
from ..evidence import ids

ROWS = 100  # explained where an explainer is given, at most
CLOSE = 1e-4  # of the largest prediction: shap cuts trees in single precision
OUTPUT = "explained output"


@dataclass(frozen=True)
class GivenShap(BuiltInExplainer):
    """Shapley values that were computed by the caller with shap.

    Measures are called ``"prediction"`` where base and values add up to the model's own prediction, else ``"explained
    output"``.
    """

    name: ClassVar[str] = ids.GIVEN_SHAP
    section: ClassVar[str] = "prediction.shapley"
    card: ClassVar[MethodCard] = MethodCard(
        title="Shapley values computed by the user",
        definition="Values of a shap.Explanation that was passed to the audit, as they are.",
        assumes="As for the explainer of shap that made them, which the audit does not check.",
        interval="Not available.",
        references="lundberg",
    )
    source: ClassVar[Any]

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``given_shap``, the values of every explained row, and ``given_shap.importance``."""
        explanation = self.source
        if not hasattr(explanation, "values"):
            explanation = explanation(subject.X[:ROWS])
        values, base = np.asarray(explanation.values, dtype=float), np.asarray(explanation.base_values, dtype=float)
        if values.ndim == 3:
            at = getattr(engine.baseline, "positive", None) or 0
            values, base = values[..., at], base[..., at] if base.ndim else base
        rows = _rows(subject, values)
        base = np.broadcast_to(base, len(rows))
        (prediction,) = engine.unchanged([PREDICTION]) if "mean" in engine.baseline.supports else (None,)
        apart = np.inf if prediction is None else np.abs(base + values.sum(axis=1) - prediction[rows]).max()
        known = prediction is not None and apart <= CLOSE * np.abs(prediction).max()
        name, (n, d) = PREDICTION.name if known else OUTPUT, values.shape
        keys = {"measure": name, "feature": np.tile(np.array(subject.features, dtype=object), n)}
        note = f"{n} observations, as the user's {type(self.source).__module__.split('.')[0]} object has them"
        local = pd.DataFrame(keys | {"row": np.repeat(rows, d), "position": 0, "base": np.repeat(base, d)})
        local["value"] = values.ravel()
        sizes = np.abs(values)
        single = pd.DataFrame(keys | {"repeat": np.repeat(rows, d), "value": sizes.ravel()})
        means = pd.DataFrame({"measure": name, "feature": list(subject.features), "estimate": sizes.mean(axis=0)})
        facts: dict[str, Any] = {"explainer": self.name, "notes": (f"{note}; no interval.",)}
        by_row = facts | {"frame": local[list(Attribution.columns)], "estimates": bare_estimates(local, "row")}
        means_of = facts | {"frame": single[list(Importance.columns)], "estimates": bare_estimates(means)}
        return [
            Attribution(id=self.name, title=self.card.title, **by_row),
            Importance(id=f"{self.name}.importance", title=f"Mean absolute {self.card.title}", **means_of),
        ]


def given_explainers(explainers: Any) -> Any:
    """Return explainers with objects of shap wrapped as explainers."""
    if isinstance(explainers, str) or explainers is None:
        return explainers
    if _of_shap(explainers):
        return [_wrapped(explainers)]
    several = isinstance(explainers, list | tuple)
    return [_wrapped(each) if _of_shap(each) else each for each in explainers] if several else explainers


def _of_shap(thing: Any) -> bool:
    return not isinstance(thing, type) and type(thing).__module__.split(".")[0] == "shap"


def _wrapped(source: Any) -> type[GivenShap]:
    return type("GivenShapValues", (GivenShap,), {"source": source, "__doc__": GivenShap.__doc__})


def _rows(subject: Subject, values: AnyArray) -> IntArray:
    """Return the subject's rows that have values: all, or the first ones."""
    shape = values.shape
    if len(shape) != 2 or shape[1] != len(subject.features) or shape[0] > subject.n:
        raise InputError(
            f"{ids.GIVEN_SHAP}.values must have shape ({subject.n} or fewer first observations, "
            f"{len(subject.features)} features); got {shape}. Explain the rows that are audited, in their order."
        )
    return np.arange(shape[0])
