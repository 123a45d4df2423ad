"""A list of fitted models: the members of an ensemble.

A user's own function ``f(X) -> Distribution``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from ...core.model.adapter import Adapter, Match, Remarks, SharesCalls, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import Table
from ...core.support.errors import InputError, ModelError, UQReportError
from ...core.support.text import count
from ...core.traits.stochastic import mixture
from ...distributions import Categorical

_MODULES = "torch.ModuleList"
_CELLS = 2_500_000


@dataclass(frozen=True)
class MembersAdapter(Adapter):
    """A list or tuple of fitted models, or a ``torch.nn.ModuleList``: a deep ensemble, or one of any models.

    Every model is read by the adapter that is closest to it. The predictions are mixed with equal weights, so that
    uncertainty splits into the members' own (aleatoric) and their disagreement (epistemic). Classifiers must have
    the same classes in the same order. Of a member that is itself an ensemble of classifiers only the mean counts.

    Parameters
    ----------
    adapters : tuple of Adapter
        One for each model; `uq_report.explain` chooses them.

    Examples
    --------
    >>> import uq_report as uq
    >>> from uq_report.distributions import Normal
    >>> models = [lambda X: Normal(X[:, 0], 1.0), lambda X: Normal(X[:, 0] + 2.0, 1.0)]
    >>> subject = uq.explain(models, np.zeros((3, 1)))
    >>> subject.adapter.predict(models, np.zeros((1, 1))).epistemic_variance()
    array([1.])
    """

    adapters: tuple[Adapter, ...] = ()

    name: ClassVar[str] = "members"

    def matches(self, model: Any) -> Match | None:
        """Match lists and tuples of models, and torch's list of modules."""
        listed = isinstance(model, list | tuple) and all(map(_is_model, model))
        if not listed and _MODULES not in class_names(model):
            return None
        kinds = dict.fromkeys(type(part).__name__ for part in model)
        return Match(0, f"{count(len(model), 'model')} ({', '.join(kinds)}) as members of a mixture") if kinds else None

    def parts(self, model: Any) -> Sequence[Any]:
        """Return the models."""
        return tuple(model)

    def combining(self, adapters: Sequence[Adapter]) -> MembersAdapter:
        """Return the adapter that reads model i by ``adapters[i]``."""
        return replace(self, adapters=tuple(adapters))

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the mixture of all predictions."""
        members = [adapter.predict(part, X) for part, adapter in self._read(model)]
        _check_classes(members)
        try:
            return mixture(members)
        except UQReportError as error:
            families = " and ".join(sorted({member.family for member in members}))
            raise InputError(
                f"model must be a list of models whose distributions can be mixed; got {families}. Leave out those of "
                "another kind, or pass a function that returns a distribution."
            ) from error

    def batch_rows(self, model: Any) -> int | None:
        """Return what all members allow, fewer where all predictions would be many numbers; else None."""
        rows = [adapter.batch_rows(part) for part, adapter in self._read(model)]
        known = [number for number in rows if number is not None]
        return min(*known, max(1_000, _CELLS // len(rows))) if len(known) == len(rows) else None

    def rows_together(self, model: Any) -> int | None:
        """Return what all members allow, else None."""
        pairs = self._read(model)
        known = [rows for part, adapter in pairs if (rows := _together(adapter, part)) is not None]
        return min(known) if len(known) == len(pairs) else None

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Say what the members are, then what their adapters have to say, each once."""
        own = [adapter.remarks(part) for part, adapter in self._read(model) if isinstance(adapter, Remarks)]
        mixed = f"The model is a list of {len(model)} models, read as members of a mixture with equal weights."
        return (mixed, *dict.fromkeys(sentence for sentences in own for sentence in sentences))

    def _read(self, model: Any) -> list[tuple[Any, Adapter]]:
        if len(self.adapters) != len(model):
            raise InputError(
                f"members.adapters must be one for each of {count(len(model), 'model')}; got {len(self.adapters)}. "
                "Leave the argument adapter out: uq.explain chooses them."
            )
        return list(zip(model, self.adapters, strict=True))


def _is_model(thing: Any) -> bool:
    return callable(thing) or any(callable(getattr(thing, method, None)) for method in ("predict", "predict_proba"))


def _together(adapter: Adapter, model: Any) -> int | None:
    """Return how many rows of variants a call of one member may hold, None if that is not known."""
    rows = adapter.batch_rows(model)
    return adapter.rows_together(model) if rows is None and isinstance(adapter, SharesCalls) else rows


def _check_classes(members: Sequence[Distribution]) -> None:
    """Refuse classifiers with other classes, or the same in another order."""
    if not all("proba" in member.supports for member in members):
        return
    classes = [np.asarray(cast("Categorical", member).classes).tolist() for member in members]
    other = next((position for position, own in enumerate(classes) if own != classes[0]), None)
    if other is not None:
        raise InputError(
            f"model[{other}].classes_ must be those of model[0] in their order, {classes[0]}; got {classes[other]}. "
            "Fit all members on rows of every class, with the same labels."
        )


_HINTS = {
    1: "One number per row is no distribution: give its spread too, as in uq.dist.Normal(mean, std).",
    2: "For class probabilities return uq.dist.Categorical(probabilities, classes=...).",
}


@dataclass(frozen=True)
class FunctionAdapter(Adapter):
    """A function, method, partial or callable object that takes rows and returns a `Distribution`.

    Parameters
    ----------
    batch_rows_per_call : int, optional
        Rows per call for a function whose rows do not influence each other to the last bit; by
        default calls hold the subject's own rows.

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report.distributions import Normal
    >>> def f(X):
    ...     return Normal(X[:, 0], np.full(len(X), 0.5))
    >>> FunctionAdapter().predict(f, np.ones((2, 1))).mean()
    array([1., 1.])
    """

    batch_rows_per_call: int | None = None

    name: ClassVar[str] = "function"

    def __post_init__(self) -> None:
        rows = self.batch_rows_per_call
        if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 1):
            raise InputError(f"function.batch_rows_per_call must be an integer >= 1 or None; got {rows!r}.")

    def matches(self, model: Any) -> Match | None:
        """Match callables that are no class and no model with ``predict`` or ``predict_proba``."""
        if isinstance(model, type) or not callable(model):
            return None
        if any(callable(getattr(model, method, None)) for method in ("predict", "predict_proba")):
            return None
        return Match(3, "a function of rows")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return what the function returns, which must be a distribution."""
        dist = model(X)
        if isinstance(dist, Distribution):
            return dist
        shape = getattr(dist, "shape", None)
        got = type(dist).__name__ + (f" of shape {shape}" if shape is not None else "")
        hint = _HINTS.get(len(shape), "") if isinstance(shape, tuple) else ""
        if isinstance(dist, tuple) and len(dist) == 2:
            hint = "For a mean and a std return uq.dist.Normal(mean, std)."
        raise ModelError(
            f"{getattr(model, '__name__', type(model).__name__)} must return a distribution of "
            f"uq.dist, or a Distribution of your own; got {got}. {hint}".rstrip()
        )

    def batch_rows(self, model: Any) -> int | None:
        """Return the rows per call the user stated."""
        return self.batch_rows_per_call
