"""dalex's attributions of single rows, and its performance metrics, as results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import IntArray
from ...core.foreign import to_frame
from ...core.measures import Measure
from ...core.results import Attribution, Diagnostic, Omission
from ..shared.choice import INFINITE_REMEDY, Roles, plain_values, positions
from .calls import PREDICTION, Dalex, bare_estimates, stacked

CUTOFF = 0.5


def predict_parts(dalex: Dalex, background: IntArray, roles: Roles, predict_type: str, n_paths: int) -> Attribution:
    """Return dalex's break-down, or its Shapley values, of chosen rows; y is fixed to the explained row's."""
    frames: list[pd.DataFrame] = []
    gaps: list[Omission] = []
    rows = positions(roles)
    for row in rows:
        for measure in dalex.measures:
            table = _attribution(dalex, measure, row, background, predict_type, n_paths)
            if isinstance(table, Omission):
                gaps.append(table)
            elif not np.isfinite(table[["base", "value"]].to_numpy(dtype=float)).all():
                gaps.append(Omission(measure.name, "", f"infinite for row {row}. The cause is {INFINITE_REMEDY}"))
            else:
                frames.append(table)
    spread = ("spread_low", "spread_high")
    frame = stacked(frames, (*Attribution.columns, *spread))
    return Attribution(
        **dalex.told("predict_parts", f"dalex: {predict_type.replace('_', ' ')} of single rows", gaps),
        frame=frame[list(Attribution.columns)],
        estimates=bare_estimates(
            frame.rename(columns={"value": "estimate"})[["measure", "feature", "estimate", "row", "position", *spread]]
        ),
        notes=_row_notes(dalex, len(background), predict_type, n_paths),
        meta={
            "rows": {role: list(held) for role, held in roles.items()},
            "explained": rows,
            "data": {name: plain_values(dalex.subject.values(name)[rows]) for name in dalex.subject.features},
        },
    )


def _row_notes(dalex: Dalex, size: int, predict_type: str, n_paths: int) -> tuple[str, ...]:
    found = [f"Features not yet set take their values from {size} of {dalex.subject.n} rows."]
    if any(measure.needs_y for measure in dalex.measures):
        found.append("Measures of y hold y at the explained row's own value.")
    if predict_type == "shap":
        found.append(f"Means over {n_paths} random orders; the spread is the least and the most of them.")
    else:
        found.append("The position is DALEX's order, from 1: contributions depend on it.")
    return tuple(found)


def _attribution(
    dalex: Dalex, measure: Measure, row: int, background: IntArray, predict_type: str, n_paths: int
) -> Any:
    """Return one row's contributions to one measure, or an omission."""
    y = None if dalex.engine.y is None else dalex.engine.y[row]
    new = to_frame(dalex.subject, [row])

    def call() -> Any:
        return dalex.explainer(measure, background, y).predict_parts(new, type=predict_type, B=n_paths)

    found = dalex.ask("predict_parts", measure, call)
    if isinstance(found, Omission):
        return found
    table = _shapley(found) if predict_type == "shap" else _break_down(found.result)
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


def _shapley(found: Any) -> pd.DataFrame:
    """Return dalex's means over orders (its path 0) and the range over the orders."""
    mean = found.result[found.result["B"] == 0].set_index("variable_name")["contribution"]
    paths = found.result[found.result["B"] > 0].groupby("variable_name")["contribution"]
    columns = {
        "feature": mean.index.astype(str).to_numpy(dtype=object),
        "position": 0,
        "base": float(found.intercept),
        "value": mean.to_numpy(dtype=float),
        "spread_low": paths.min().reindex(mean.index).to_numpy(dtype=float),
        "spread_high": paths.max().reindex(mean.index).to_numpy(dtype=float),
    }
    return pd.DataFrame(columns)


def model_performance(dalex: Dalex, rows: IntArray) -> Diagnostic:
    """Return dalex's metrics of the prediction, at a cutoff of 0.5 where they need one."""
    measure = next((one for one in dalex.measures if one.name == PREDICTION), None)
    found: Any = Omission(PREDICTION, "", "it needs predictions and outcomes")
    if measure is not None and dalex.subject.y is not None:
        chosen = measure
        found = dalex.ask(
            "model_performance", chosen, lambda: dalex.explainer(chosen, rows).model_performance(cutoff=CUTOFF)
        )
    gaps = [found] if isinstance(found, Omission) else []
    metrics = {} if gaps else {str(name): float(value) for name, value in found.result.iloc[0].items()}
    undefined = [name for name, value in metrics.items() if not np.isfinite(value)]
    gaps += [Omission(PREDICTION, "", f"DALEX's {name} is undefined on these rows") for name in undefined]
    kept = {name: value for name, value in metrics.items() if name not in undefined}
    frame = pd.DataFrame(
        {"measure": PREDICTION, "feature": "", "item": list(kept), "x": 0.0, "value": list(kept.values())}
    )
    cutoff = (
        f"Recall, precision, F1 and accuracy at a cutoff of {CUTOFF}." if dalex.classifies else "dalex's own metrics."
    )
    return Diagnostic(
        **dalex.told("model_performance", "dalex: performance", gaps),
        frame=frame,
        estimates=bare_estimates(
            frame.rename(columns={"value": "estimate"})[["measure", "feature", "item", "estimate"]]
        ),
        notes=(cutoff, *dalex.notes(rows)),
        meta={"cutoff": CUTOFF} if dalex.classifies else {},
    )
