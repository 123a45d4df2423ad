"""What is installed and what it takes, as tables, and measures as scorers of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import runner
from ..core.engine.fast_path_evaluator import Engine
from ..core.model.measures import Measure
from ..core.support.calls import known_arguments
from ..core.support.errors import InputError, UnsupportedError, nearest
from ..runner import plugins as registry
from ..runner.options import options_of
from .explaining import explain
from .tables import TextTable


@known_arguments
def plugins(group: str | None = None) -> TextTable:
    """Return the installed plugins: group, name, distribution and version.

    Parameters
    ----------
    group : str, optional
        ``"explainers"``, ``"measures"``, ``"checks"``, ``"adapters"``, ``"renderers"`` ...; all by default.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/reference/plugins.html

    Examples
    --------
    >>> plugins("renderers")["name"].tolist()
    ['html', 'junit', 'markdown', 'pdf']
    """
    known = {name.removeprefix("uq_report."): name for name in registry.GROUPS}
    if group is not None and group not in known:
        raise InputError(f"plugins.group must be one of {sorted(known)}; got {group!r}. {nearest(str(group), known)}")
    chosen = [known[group]] if group is not None else list(registry.GROUPS)
    rows = [(p.short_group, p.name, p.distribution, p.version) for name in chosen for p in registry.find(name)]
    return TextTable(rows, columns=["group", "name", "distribution", "version"])


@known_arguments
def options(name: str) -> TextTable:
    """Return the options of an explainer or check: name, what is allowed, default and description.

    Parameters
    ----------
    name : str
        An explainer, ``"pfi"``, or a check, ``"checks.leak"``.

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/reference/explainers.html

    Examples
    --------
    >>> table = options("segments").set_index("option")
    >>> table.loc["max_leaf_nodes", ["allowed", "default"]].tolist()
    ['an integer', '6']
    """
    if not isinstance(name, str):
        raise InputError(f"options.name must be the name of an explainer, or checks.<name>; got {name!r}.")
    is_check = name.startswith("checks.")
    group, what = (registry.CHECKS, "check") if is_check else (registry.EXPLAINERS, "explainer")
    cls = registry.load(registry.named(registry.find(group), name.removeprefix("checks."), what))
    rows = [(o.name, o.allowed, o.default_text, o.about) for o in options_of(cls).values()]
    return TextTable(rows, columns=["option", "allowed", "default", "description"])


@dataclass(frozen=True)
class Scorer:
    """A measure's mean as a score of scikit-learn: greater is better, so losses and uncertainties are negative."""

    measure: str | Measure

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the score of a fitted model on data."""
        subject = explain(estimator, X, y)
        extra = {self.measure.name: self.measure} if isinstance(self.measure, Measure) else {}
        engine = Engine(subject, {**runner.load_measures(), **extra})
        selected, omitted = engine.select([self.measure if isinstance(self.measure, str) else self.measure.name])
        if not selected:
            raise UnsupportedError(f"scorer.measure must apply here; got {omitted[0].measure!r}: {omitted[0].reason}.")
        chosen = selected[0]
        if chosen.role == "prediction":
            raise InputError(
                f"scorer.measure must be a loss or an uncertainty; got {chosen.name!r}. Use nll or entropy."
            )
        sign = 1.0 if chosen.direction == "smaller" else -1.0
        rows, target = engine.unchanged([chosen])[0], engine.y
        if chosen.statistic is None or target is None:
            return sign * float(rows.mean())
        return sign * float(chosen.statistic.value(rows, target, np.ones(subject.n)))


@known_arguments
def scorer(measure: str | Measure = "nll") -> Scorer:
    """Return a scorer for ``cross_val_score`` and searches: the negative mean of a loss or an uncertainty.

    Parameters
    ----------
    measure : str or Measure

    References
    ----------
    https://uq-report.readthedocs.io/en/stable/reference/measures.html

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0, 1, 1, 0])
    >>> round(scorer("entropy")(LogisticRegression().fit(X, y), X, y), 3)
    -0.693
    """
    if not isinstance(measure, Measure) and measure not in runner.load_measures():
        raise InputError(
            f"scorer.measure must be a registered measure; got {measure!r}. "
            f"{nearest(str(measure), runner.load_measures())}"
        )
    return Scorer(measure)
