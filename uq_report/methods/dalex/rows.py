"""dalex's attributions of single rows, and its performance metrics, as results."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import IntArray
from ...core.foreign import to_frame
from ...core.measures import PREDICTION, Measure
from ...core.results import Attribution, Diagnostic, Omission
from ..shared.choice import INFINITE_REMEDY, Roles, plain_values, positions
from .calls import Dalex, GapError, bare_estimates, listing, stacked

CUTOFF = 0.5


def predict_parts(dalex: Dalex, background: IntArray, roles: Roles, predict_type: str, n_paths: int) -> Attribution:
    """Return dalex's break-down, or its Shapley values, of chosen rows; y is fixed to the explained row's."""
    frames: list[pd.DataFrame] = []
    gaps: list[Omission] = []
    rows = positions(roles)
    for row, measure in product(rows, dalex.measures):
        with listing(gaps):
            frames.append(_attribution(dalex, measure, row, background, predict_type, n_paths))
    spread = ("spread_low", "spread_high")
    frame = stacked(frames, (*Attribution.columns, *spread))
    notes = [f"Features not yet set take their values from {len(background)} of {dalex.subject.n} rows."]
    if any(measure.needs_y for measure in dalex.measures):
        notes.append("Measures of y hold y at the explained row's own value.")
    if predict_type == "shap":
        notes.append(f"Means over {n_paths} random orders; the spread is the least and the most of them.")
    else:
        notes.append("The position is DALEX's order, from 1: contributions depend on it.")
    return Attribution(
        **dalex.fields("predict_parts", f"dalex: {predict_type.replace('_', ' ')} of single rows", gaps),
        frame=frame[list(Attribution.columns)],
        estimates=bare_estimates(frame, "row", "position", *spread),
        notes=tuple(notes),
        meta={
            "rows": {role: list(numbers) for role, numbers in roles.items()},
            "explained": rows,
            "data": {name: plain_values(dalex.subject.values(name)[rows]) for name in dalex.subject.features},
        },
    )


def _attribution(
    dalex: Dalex, measure: Measure, row: int, background: IntArray, predict_type: str, n_paths: int
) -> pd.DataFrame:
    """Return one row's contributions to one measure."""
    y = None if dalex.engine.y is None else dalex.engine.y[row]
    new = to_frame(dalex.subject, [row])

    def call() -> Any:
        return dalex.explainer(measure, background, y).predict_parts(new, type=predict_type, B=n_paths)

    answer = dalex.ask("predict_parts", measure, call)
    table = _shapley(answer) if predict_type == "shap" else _break_down(answer.result)
    if not np.isfinite(table[["base", "value"]].to_numpy(dtype=float)).all():
        raise GapError(measure.name, "", f"infinite for row {row}. The cause is {INFINITE_REMEDY}")
    return table.assign(measure=measure.name, row=row)


def _break_down(result: pd.DataFrame) -> pd.DataFrame:
    """Return the steps between dalex's first line, the mean, and its last, the row's own value."""
    steps = result.iloc[1:-1]
    columns = {
        "feature": steps["variable_name"].astype(str).to_numpy(dtype=object),
        "position": np.arange(1, len(steps) + 1),
        "base": float(result["cumulative"].iloc[0]),
        "value": steps["contribution"].to_numpy(dtype=float),
        "spread_low": np.nan,
        "spread_high": np.nan,
    }
    return pd.DataFrame(columns)


def _shapley(answer: Any) -> pd.DataFrame:
    """Return dalex's means over orders (its path 0) and the range over the orders."""
    mean = answer.result[answer.result["B"] == 0].set_index("variable_name")["contribution"]
    paths = answer.result[answer.result["B"] > 0].groupby("variable_name")["contribution"]
    columns = {
        "feature": mean.index.astype(str).to_numpy(dtype=object),
        "position": 0,
        "base": float(answer.intercept),
        "value": mean.to_numpy(dtype=float),
        "spread_low": paths.min().reindex(mean.index).to_numpy(dtype=float),
        "spread_high": paths.max().reindex(mean.index).to_numpy(dtype=float),
    }
    return pd.DataFrame(columns)


def model_performance(dalex: Dalex, rows: IntArray) -> Diagnostic:
    """Return dalex's metrics of the prediction, at a cutoff of 0.5 where they need one."""
    gaps: list[Omission] = []
    metrics: dict[str, float] = {}
    with listing(gaps):
        measure = next((measure for measure in dalex.measures if measure.name == PREDICTION.name), None)
        if measure is None or dalex.subject.y is None:
            raise GapError(PREDICTION.name, "", "it needs predictions and outcomes")
        explainer = partial(dalex.explainer, measure, rows)
        answer = dalex.ask("model_performance", measure, lambda: explainer().model_performance(cutoff=CUTOFF))
        metrics = {str(name): float(value) for name, value in answer.result.iloc[0].items()}
    finite = {name: value for name, value in metrics.items() if np.isfinite(value)}
    undefined = (name for name in metrics if name not in finite)
    gaps += [Omission(PREDICTION.name, "", f"DALEX's {name} is undefined on these rows") for name in undefined]
    columns = {"measure": PREDICTION.name, "feature": "", "item": list(finite), "x": 0.0, "value": finite.values()}
    frame = pd.DataFrame(columns)
    cutoff = f"Recall, precision, F1 and accuracy at a cutoff of {CUTOFF}."
    return Diagnostic(
        **dalex.fields("model_performance", "dalex: performance", gaps),
        frame=frame,
        estimates=bare_estimates(frame, "item"),
        notes=(cutoff if dalex.classifies else "dalex's own metrics.", *dalex.notes(rows)),
        meta={"cutoff": CUTOFF} if dalex.classifies else {},
    )
