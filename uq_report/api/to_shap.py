"""Attribution results as `shap.Explanation`, so that shap's plots draw them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from ..core.model.results import Attribution
from ..core.support.arrays import FloatArray
from ..core.support.errors import InputError, MissingDependencyError, nearest
from ..evidence import columns as col
from ..evidence import ids
from ..evidence.rows import Attributions


def to_shap(result: Attribution, measure: str, data: pd.DataFrame | None = None) -> Any:
    """Return one measure's attributions as a `shap.Explanation` that every function of `shap.plots` takes.

    Parameters
    ----------
    result : Attribution
        One value for each feature and row; a result of the explainer ``shap``, live or from a saved run.
    measure : str
    data : DataFrame, optional
        The explained rows, in the order of the result; by default the feature values the result keeps.

    Returns
    -------
    shap.Explanation
        ``values`` (rows, features), ``base_values`` (rows,), ``data`` (rows, features) in numbers, where
        levels stand as their position among the sorted ones, and ``display_data`` as they are.
        ``error_std`` holds the Monte-Carlo standard errors; shap's plots do not draw them.
    """
    shap = _shap()
    own = result.frame[result.frame[col.MEASURE] == measure]
    if own.empty:
        raise InputError(
            f"to_shap.measure must be one that {result.id!r} has values of; got {measure!r}. "
            f"{nearest(measure, result.frame[col.MEASURE].unique())}"
        )
    features = [str(name) for name in dict.fromkeys(result.frame[col.FEATURE])]
    rows = [int(row) for row in dict.fromkeys(own[col.ROW])]
    values = own.pivot_table(index=col.ROW, columns=col.FEATURE, values=col.VALUE).reindex(index=rows, columns=features)
    if values.isna().any(axis=None):
        raise InputError(
            f"to_shap.result must have one value for each feature and row; got {result.id!r} with gaps. "
            "Break-down with interactions has no such table."
        )
    table = _recorded(result, rows, features) if data is None else _matching(data, rows, features)
    numbers = None if table is None else np.column_stack([_numbers(table[name].tolist()) for name in features])
    plain = table is None or all(map(_is_numeric, table.to_numpy(dtype=object).T))
    return shap.Explanation(
        values.to_numpy(),
        base_values=own.groupby(col.ROW, sort=False)[col.BASE].first().to_numpy(),
        data=numbers,
        display_data=None if plain or table is None else table.to_numpy(dtype=object),
        instance_names=[str(row) for row in rows],
        feature_names=features,
        error_std=_errors(result, measure, values),
    )


def _shap() -> Any:
    """Import shap."""
    try:
        import shap
    except ImportError as error:
        raise MissingDependencyError("to_shap", ids.SHAP) from error
    return shap


def _recorded(result: Attribution, rows: Sequence[int], features: Sequence[str]) -> pd.DataFrame | None:
    """Return the feature values that the result keeps for its rows, or None if it keeps none."""
    view = Attributions.from_result(result)
    values = [view.values_of(row) for row in rows]
    if not all(set(features) <= set(own) for own in values):
        return None
    return pd.DataFrame({name: pd.Series([own[name] for own in values], dtype=object) for name in features})


def _matching(data: pd.DataFrame, rows: Sequence[int], features: Sequence[str]) -> pd.DataFrame:
    """Return the user's rows with the result's features, or refuse them."""
    missing = [name for name in features if name not in data.columns]
    if missing or len(data) != len(rows):
        raise InputError(
            f"to_shap.data must hold the {len(rows)} explained rows with the columns {list(features)}; got {len(data)} "
            f"rows without {missing}. Pass subject.X.iloc[result.frame['row'].unique()]."
        )
    return data[list(features)]


def _is_numeric(column: Iterable[Any]) -> bool:
    """Say whether every value is a number or missing; truth values are levels."""
    return all(
        pd.isna(value) or (isinstance(value, Real) and not isinstance(value, bool | np.bool_)) for value in column
    )


def _numbers(column: Sequence[Any]) -> FloatArray:
    """Return a column as numbers: itself, or each level's position among the sorted ones; missing is NaN."""
    values = pd.Series(column, dtype=object)
    if not _is_numeric(column):
        codes, _ = pd.factorize(values.map(str, na_action="ignore"), sort=True)
        return np.where(codes < 0, np.nan, codes)
    return values.where(values.notna(), np.nan).to_numpy(dtype=float)


def _errors(result: Attribution, measure: str, values: pd.DataFrame) -> FloatArray | None:
    """Return the standard errors in the layout of `values`, or None where there are none."""
    table = result.estimates[result.estimates[col.MEASURE] == measure]
    if col.ROW not in table.columns or table[col.STD_ERROR].isna().any():
        return None
    errors = table.pivot_table(index=col.ROW, columns=col.FEATURE, values=col.STD_ERROR)
    return errors.reindex(index=values.index, columns=values.columns).to_numpy()
