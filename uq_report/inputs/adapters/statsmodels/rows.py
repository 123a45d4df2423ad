"""New rows for a model of statsmodels: its columns, its constant, its formula, its exposure and offset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ....core.support.arrays import AnyArray, FloatArray, Table
from ....core.support.errors import InputError, to_type
from ..outputs import refuse_rows

_NAMED = """\
from uq_report.inputs.adapters.statsmodels.adapter import StatsmodelsAdapter

uq.explain(model, X, y, adapter=StatsmodelsAdapter({name}="{name}"))"""


@dataclass(frozen=True)
class StatsmodelsRows:
    """`exog` as the model's ``predict`` takes it, raw rows for a formula, and exposure and offset by keyword.

    `given` are the rows that may lack the constant.
    """

    exog: Any
    given: Table
    keywords: dict[str, FloatArray] = field(default_factory=dict)

    def new_outcome(self, model: Any) -> Any:
        """Return the prediction with the standard error of a new outcome."""
        return model.get_prediction(self.exog)

    def mean(self, model: Any) -> FloatArray:
        """Return the mean of each row, shape (n,)."""
        return np.asarray(model.predict(self.exog, **self.keywords), dtype=float)

    def table(self, model: Any) -> FloatArray:
        """Return the probabilities of the classes, shape (n, k)."""
        return np.asarray(model.predict(self.exog), dtype=float)


def rows_of(results: Any, X: Table, exposure: str | None, offset: str | None) -> StatsmodelsRows:
    """Return the rows as the model of `results` takes them; refuse other columns, and an exposure left out."""
    own = results.model
    keywords: dict[str, FloatArray] = {}
    for name, column in (("exposure", exposure), ("offset", offset)):
        if _has(own, name) != (column is not None):
            raise InputError(_which(own, name, column))
        if column is not None:
            X, keywords[name] = _without(X, column, name)
    if getattr(own.data, "model_spec", None) is not None:
        if not isinstance(X, pd.DataFrame):
            raise InputError(f"X must be a DataFrame with the columns of the formula {own.formula!r}; got an array.")
        missing = X.isna().any(axis=1).to_numpy()
        refuse_rows("X of a formula must have no missing values", missing, "statsmodels would drop these rows.")
        return StatsmodelsRows(X, X, keywords)
    return StatsmodelsRows(_exog(own, X), X, keywords)


def added_constant(results: Any) -> str:
    """Return the name of the constant that new rows may lack; empty for a formula and for a model without one."""
    own = getattr(results, "model", None)
    formula = getattr(getattr(own, "data", None), "model_spec", None) is not None
    return "const" if "const" in getattr(own, "exog_names", ()) and not formula else ""


def labels(results: Any, k: int) -> AnyArray:
    """Return the k class labels in the order of the probabilities."""
    outcomes = results.model.data.orig_endog
    column = outcomes.iloc[:, 0] if isinstance(outcomes, pd.DataFrame) else pd.Series(outcomes)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column.cat.categories)
    found = np.unique(column.to_numpy())
    return found if len(found) == k else np.arange(k)


def _exog(own: Any, X: Table) -> FloatArray:
    """Return the numbers of the model's columns, with the constant where only that is lacking."""
    names = [str(name) for name in own.exog_names][getattr(own, "k_inflate", 0) :][: own.exog.shape[1]]
    place = names.index("const") if "const" in names else None
    rest = [name for position, name in enumerate(names) if position != place]
    given = [str(name) for name in X.columns] if isinstance(X, pd.DataFrame) else None
    trained = type(own.data).__name__ == "PandasData" and given is not None
    whole = given == names if trained else X.shape[1] == len(names)
    lacking = place is not None and (given == rest if trained else X.shape[1] == len(rest))
    if not (whole or lacking):
        raise InputError(
            f"X must have the columns the model was fitted on, in their order, {names}; got "
            f"{given if given is not None else f'{X.shape[1]} columns'}. statsmodels itself goes by position alone: "
            f"pass X[{rest}]."
        )
    values = np.asarray(X, dtype=float)
    return values if whole or place is None else np.insert(values, place, 1.0, axis=1)


def _has(own: Any, name: str) -> bool:
    """Say whether a model was fitted with an exposure or offset; a GLM keeps the attribute even without one."""
    given = getattr(own, f"_has_{name}", None)
    return bool(given) if given is not None else getattr(own, name, None) is not None


def _which(own: Any, name: str, column: str | None) -> str:
    if column is None:
        return (
            f"{type(own).__name__}.{name} must be known of new rows; the model was fitted with one. Keep it as a "
            f"column of X and name it. {to_type(_NAMED.format(name=name))}"
        )
    return f"statsmodels.{name} must be None for a model fitted without one; got {column!r}."


def _without(X: Table, column: str, name: str) -> tuple[Table, FloatArray]:
    """Return the table without a column, and that column."""
    if not isinstance(X, pd.DataFrame) or column not in X.columns:
        got = list(X.columns) if isinstance(X, pd.DataFrame) else "an array"
        raise InputError(f"statsmodels.{name} must be a column of X, a DataFrame; got {column!r}, not in {got}.")
    return X.drop(columns=column), X[column].to_numpy(dtype=float)
