"""Attribution results as `shap.Explanation`, so that shap's plots draw them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from ..core.arrays import FloatArray
from ..core.errors import InputError, MissingDependencyError, nearest
from ..core.results import Attribution


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
    own = result.frame[result.frame["measure"] == measure]
    if own.empty:
        raise InputError(
            f"to_shap.measure must be one that {result.id!r} has values of; got {measure!r}. "
            f"{nearest(measure, result.frame['measure'].unique())}"
        )
    features = [str(name) for name in dict.fromkeys(result.frame["feature"])]
    values = own.pivot_table(index="row", columns="feature", values="value").reindex(columns=features)
    if values.isna().any(axis=None):
        raise InputError(
            f"to_shap.result must have one value for each feature and row; got {result.id!r} with gaps. "
            "Break-down with interactions has no such table."
        )
    shown = _recorded(result, values.index.tolist(), features) if data is None else _given(data, len(values), features)
    numbers = None if shown is None else np.column_stack([_numbers(shown[name].tolist()) for name in features])
    plain = shown is None or all(map(_is_numeric, shown.to_numpy(dtype=object).T))
    return shap.Explanation(
        values.to_numpy(),
        base_values=own.groupby("row")["base"].first().to_numpy(),
        data=numbers,
        display_data=None if plain or shown is None else shown.to_numpy(dtype=object),
        instance_names=[str(row) for row in values.index],
        feature_names=features,
        error_std=_errors(result, measure, values),
    )


def _shap() -> Any:
    """Import shap."""
    try:
        import shap
    except ImportError as error:
        raise MissingDependencyError("to_shap", "shap", "shap") from error
    return shap


def _recorded(result: Attribution, rows: Sequence[int], features: Sequence[str]) -> pd.DataFrame | None:
    """Return the feature values that the result keeps for its rows, or None if it keeps none."""
    data, explained = result.meta.get("data"), list(result.meta.get("explained", ()))
    if not isinstance(data, Mapping) or not set(features) <= set(data):
        return None
    at = [explained.index(row) for row in rows]
    return pd.DataFrame({name: pd.Series(data[name], dtype=object).iloc[at] for name in features})


def _given(data: pd.DataFrame, rows: int, features: Sequence[str]) -> pd.DataFrame:
    """Return the user's rows with the result's features, or refuse them."""
    missing = [name for name in features if name not in data.columns]
    if missing or len(data) != rows:
        raise InputError(
            f"to_shap.data must hold the {rows} explained rows with the columns {list(features)}; got {len(data)} rows "
            f"without {missing}. Pass subject.X.iloc[result.meta['explained']]."
        )
    return data[list(features)]


def _is_numeric(column: Iterable[Any]) -> bool:
    """Say whether every value is a number or missing; truth values are levels."""
    return all(
        pd.isna(value) or (isinstance(value, Real) and not isinstance(value, bool | np.bool_)) for value in column
    )


def _numbers(column: Sequence[Any]) -> FloatArray:
    """Return a column as numbers: itself, or each level's position among the sorted ones; missing is NaN."""
    missing = pd.isna(pd.Series(column, dtype=object)).to_numpy()
    if _is_numeric(column):
        return np.array([np.nan if gone else float(value) for value, gone in zip(column, missing, strict=True)])
    levels = sorted({str(value) for value, gone in zip(column, missing, strict=True) if not gone})
    return np.array([np.nan if gone else levels.index(str(value)) for value, gone in zip(column, missing, strict=True)])


def _errors(result: Attribution, measure: str, values: pd.DataFrame) -> FloatArray | None:
    """Return the standard errors in the layout of `values`, or None where there are none."""
    table = result.estimates[result.estimates["measure"] == measure]
    if "row" not in table.columns or table["std_error"].isna().any():
        return None
    errors = table.pivot_table(index="row", columns="feature", values="std_error")
    return errors.reindex(index=values.index, columns=values.columns).to_numpy()
