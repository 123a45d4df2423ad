"""Stored predictions in place of a model: scored tables, distributions, and posterior draws of ArviZ and xarray."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from ...core.model.adapter import Adapter, Match, class_names
from ...core.predictive import Distribution
from ...core.support.arrays import IntArray, Table
from ...core.support.errors import InputError, to_type
from ...core.traits.stored_predictions import ONLY_GIVEN, FixedRows
from ...distributions import Categorical, CountDraws, Draws


@dataclass(frozen=True)
class PredictionsAdapter(Adapter):
    """Predictions that were made elsewhere, audited without their model: a scored table, or a `Distribution`.

    Whatever looks at predictions as they are can be computed.
    Whatever changes a row and asks again is refused by the engine, with `only_given_rows` as the reason.

    Examples
    --------
    >>> import numpy as np
    >>> from uq_report.core.traits.stored_predictions import scored_rows
    >>> scored = scored_rows(np.array([[1.0], [2.0]]), np.array([[0.5, 0.5], [0.9, 0.1]]), classes=("no", "yes"))
    >>> PredictionsAdapter().predict(scored, np.array([[2.0]])).probabilities
    array([[0.9, 0.1]])
    >>> import uq_report as uq
    >>> from uq_report.distributions import Normal
    >>> uq.explain(Normal([0.0, 1.0], 2.0), np.array([[1.0], [2.0]])).adapter_reason
    'stored predictions (normal); the model itself was not at hand'
    """

    name: ClassVar[str] = "predictions"
    only_given_rows: ClassVar[str] = ONLY_GIVEN

    def matches(self, model: Any) -> Match | None:
        """Match stored rows, and distributions, which are then of the rows of the audit."""
        dist = model.distributions if isinstance(model, FixedRows) else model
        if not isinstance(dist, Distribution):
            return None
        kind = dist.family
        if isinstance(model, FixedRows) and model.numbers is not None:
            kind = "class probabilities" if "proba" in dist.supports else "mean and std: taken to be normal"
        return Match(0, f"stored predictions ({kind}); the model itself was not at hand")

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the stored distributions of these rows, if they were all predicted."""
        return model.predict(X)

    def bind(self, model: Any, X: Table) -> FixedRows:
        """Return distributions with the rows they are of; stored rows as they are."""
        return FixedRows(X, model) if isinstance(model, Distribution) else model

    def take(self, model: Any, rows: IntArray) -> FixedRows:
        """Return the stored predictions of some rows, for a subject that keeps only these."""
        return model.take(rows)


_TREES = ("arviz.InferenceData", "xarray.DataTree")
_GROUPS = ("predictions", "posterior_predictive")
_SAMPLES = ("chain", "draw", "sample")


@dataclass(frozen=True)
class DrawsAdapter(Adapter):
    """Draws of y for the rows of the audit: an ArviZ ``InferenceData``, or a Dataset or DataArray of xarray.

    Read is the one variable of the group ``predictions`` (of new rows), else of ``posterior_predictive``; chains are
    joined. Whole numbers are draws of counts, booleans shares of two classes. The draws are of these rows only: what
    changes a row is listed as not run. A function ``f(X) -> Draws`` that samples for any rows runs everything.

    Examples
    --------
    >>> DrawsAdapter().matches({"posterior": 1}) is None
    True
    """

    name: ClassVar[str] = "draws"

    def matches(self, model: Any) -> Match | None:
        """Match by the names of the classes."""
        kinds = (*_TREES, "xarray.Dataset", "xarray.DataArray")
        kind = next((name for name in class_names(model) if name in kinds), None)
        return None if kind is None else Match(0, f"posterior predictive draws in an {kind.replace('.', ' ')}")

    def unpack(self, model: Any) -> Mapping[str, Any]:
        """Return the draws as a distribution, the model of an audit of stored predictions."""
        draws, path = _variable(model)
        samples = [name for name in _SAMPLES if name in draws.dims]
        others = [name for name in draws.dims if name not in samples]
        if not samples or len(others) != 1:
            raise InputError(
                f"{draws.name or 'draws'}.dims must be chain and draw (or sample) and one of the rows; got "
                f"{list(map(str, draws.dims))}. {_of_one(path, others) if samples and others else ''}".rstrip()
            )
        values = draws.transpose(*samples, *others).to_numpy()
        label = f"draws of {draws.name}" if draws.name else "draws"
        return {"model": _distribution(values.reshape(-1, values.shape[-1])), "label": label}

    def predict(self, model: Any, X: Table) -> NoReturn:
        """Refuse: the object must be unpacked."""
        raise InputError(
            f"model must be a distribution; got a {type(model).__name__} for {len(X)} rows. Open it "
            f"with unpack. {to_type('uq.explain(model, X, y)')}"
        )


def _of_one(path: str, dims: list[Any]) -> str:
    """Return what to type where draws have dimensions beside that of the rows, taken to be the first."""
    first = ", ".join(f"{name}=0" for name in dims[1:])
    return f"Pass those of one outcome. {to_type(f'uq.explain({path}.isel({first}), X, y)')}"


def _variable(model: Any) -> tuple[Any, str]:
    """Return the one variable of an object that holds draws, and the expression that gives it."""
    names = class_names(model)
    if "xarray.DataArray" in names:
        return model, "model"
    data, who, path = model, type(model).__name__, "model"
    if not set(names).isdisjoint(_TREES):
        group = next((name for name in _GROUPS if hasattr(model, name)), None)
        if group is None:
            raise InputError(
                f"{who} must have a group predictions or posterior_predictive; got none of them. Draw it, as in "
                "pm.sample_posterior_predictive(idata, predictions=True, extend_inferencedata=True)."
            )
        data, who, path = model[group], f"{who}.{group}", f'model["{group}"]'
    variables = list(map(str, data.data_vars))
    first = f"{path}[{variables[0]!r}]" if variables else path
    if len(variables) != 1:
        line = to_type(f"uq.explain({first}, X, y)")
        raise InputError(f"{who} must hold one variable, the draws of y; got {variables}. Pass one. {line}")
    return data[variables[0]], first


def _distribution(values: Any) -> Distribution:
    if values.dtype.kind == "b":
        share = values.mean(axis=0)
        return Categorical(np.column_stack([1 - share, share]), classes=[0, 1])
    return CountDraws(values) if values.dtype.kind in "iu" else Draws(values)
