"""The classes that a model decides for: its own `predict`, and the rule that this follows."""

from collections.abc import Iterator
from math import floor
from typing import Any, cast

import numpy as np

from ...distributions import Categorical
from ..predictive import DecisionRule, Distribution
from ..support.arrays import AnyArray
from ..support.errors import FOREIGN, UQReportError
from .adapter import Decides
from .subject import Subject

_TIE = 1e-9  # classes so close in probability are equally probable: predict and predict_proba may round apart


MOST_PROBABLE = DecisionRule("the most probable class")
OWN = DecisionRule("the model's own rule: its predict, which does not follow from its probabilities", own=True)


def decided(subject: Subject, dist: Distribution) -> Distribution:
    """Return the distributions of the subject's rows with the decisions of the model's own `predict`.

    It is asked for all rows in one call. Numbers, and models without decisions of their own, stay as they are: the
    most probable class counts.
    """
    adapter = subject.adapter
    if "proba" not in dist.supports or not isinstance(adapter, Decides):
        return dist
    q = cast("Categorical", dist)
    try:
        labels = adapter.decide(subject.model, subject.X.copy())
        positions = None if labels is None else np.asarray(q.encode(labels))
        reason = "" if labels is None or len(labels) == len(q) else f"it gave {len(labels)} decisions"
    except UQReportError as error:
        positions, reason = None, str(error)
    except FOREIGN as error:  # predict is foreign code; whatever it raises is told in the report
        positions, reason = None, f"it failed: {error}"
    if reason:
        words = f"{MOST_PROBABLE.words}, as the model's predict gives no class for each row ({reason})"
        return q.deciding(DecisionRule(words))
    return q if positions is None else q.deciding(rule_of(q, positions, subject.model), positions)


def rule_of(q: Categorical, positions: AnyArray, model: Any = None) -> DecisionRule:
    """Return the rule that decisions for the classes at `positions` follow.

    Of two classes a threshold that the model names is taken where it fits the decisions, else the roundest one that
    does.

    Examples
    --------
    >>> from uq_report.distributions import Categorical
    >>> q = Categorical([[0.9, 0.1], [0.78, 0.22], [0.65, 0.35]], classes=["good", "bad"])
    >>> rule_of(q, np.array([0, 0, 1])).words
    "'bad' from a probability of 0.3 on, read off the decisions, which fit 0.22 to 0.35"
    """
    p = q.probabilities
    likely = bool((p[np.arange(len(p)), positions] >= p.max(axis=1) - _TIE).all())
    if p.shape[1] != 2:
        return MOST_PROBABLE if likely else OWN
    position = _named_class(q, model)
    chosen = positions == position
    # the largest probability not decided for, and the smallest that is; no threshold if they overlap
    below, above = float(p[~chosen, position].max(initial=0.0)), float(p[chosen, position].min(initial=1.0))
    named = next((t for t in _thresholds(model) if below < t <= above), 0.5 if likely else None)
    if named == 0.5:
        return MOST_PROBABLE
    label = repr(q.classes.tolist()[position])
    if named is not None:
        return DecisionRule(f"{label} from a probability of {named:.4g} on, the model's threshold", position, named)
    if not below < above:
        return OWN
    threshold = roundest(below, above)
    fits = f"read off the decisions, which fit {below:.3g} to {above:.3g}"
    return DecisionRule(f"{label} from a probability of {threshold:.4g} on, {fits}", position, threshold)


def roundest(below: float, above: float) -> float:
    """Return the number of the fewest decimals in (below, above], the middlemost of them.

    Examples
    --------
    >>> roundest(0.21, 0.36), roundest(0.4999, 0.5001), roundest(0.81, 1.0)
    (0.3, 0.5, 0.9)
    """
    middle = (below + above) / 2
    for digits in range(1, 17):
        steps = 10**digits
        first, last = floor(below * steps) + 1, floor(above * steps)
        if first <= last:
            return min(max(round(middle * steps), first), last) / steps
    return above


def _parts(model: Any) -> Iterator[Any]:
    """Yield the model, and what stands last in a pipeline or best in a search."""
    while model is not None:
        yield model
        steps = getattr(model, "steps", None)
        model = steps[-1][1] if isinstance(steps, list) and steps else getattr(model, "best_estimator_", None)


def _thresholds(model: Any) -> Iterator[float]:
    """Yield the thresholds on a probability that the model names."""
    for part in _parts(model):
        if getattr(part, "response_method", "") != "decision_function":
            for name in ("best_threshold_", "threshold"):
                value = getattr(part, name, None)
                if isinstance(value, float | np.floating):
                    yield float(value)


def _named_class(q: Categorical, model: Any) -> int:
    """Return the position of the class that a threshold is of: the model's `pos_label`, else the second."""
    labels = q.classes.tolist()
    positive = (getattr(part, "pos_label", None) for part in _parts(model))
    return next((labels.index(label) for label in positive if label is not None and label in labels), 1)
