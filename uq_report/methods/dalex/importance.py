"""dalex's permutation importance of every measure as one result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import IntArray
from ...core.foreign import mean_measure
from ...core.measures import Measure
from ...core.results import Importance, Omission
from ..shared.choice import INFINITE_REMEDY
from .calls import PREDICTION, Dalex, bare_estimates, stacked

QUANTILES_FROM = 20


def model_parts(dalex: Dalex, rows: IntArray, n_repeats: int) -> Importance:
    """Return dalex's permutation importance: the loss after shuffling minus the full model's, per round."""
    frames, gaps = [], []
    facts: dict[str, dict[str, Any]] = {"full_model": {}, "baseline": {}, "losses": {}}
    for measure in dalex.measures:
        rounds = _rounds(dalex, measure, rows, n_repeats)
        if isinstance(rounds, Omission):
            gaps.append(rounds)
            continue
        finite = np.isfinite(rounds).all()
        if not finite["_full_model_"]:
            gaps.append(_infinite(measure, "", rounds))
        else:
            kept = [name for name in dalex.subject.features if finite[name]]
            gaps += [_infinite(measure, name, rounds) for name in dalex.subject.features if name not in kept]
            frames.append(_changes(measure, rounds, kept))
            facts["losses"][measure.name] = _loss_name(dalex, measure)
            facts["full_model"][measure.name] = float(rounds["_full_model_"].mean())
            if finite["_baseline_"] and measure.name == PREDICTION:
                facts["baseline"][measure.name] = float(rounds["_baseline_"].mean())
    frame = stacked(frames, Importance.columns)
    losses = ", ".join(f"{loss} for {name}" for name, loss in facts["losses"].items()) or "none"
    return Importance(
        **dalex.told("model_parts", "dalex: permutation importance", gaps),
        frame=frame,
        estimates=_spread(frame, n_repeats),
        notes=(
            f"Values are DALEX's drop-out loss minus its full-model loss, by round. Losses: {losses}.",
            "The spread shows the shuffles only and is no interval.",
            "DALEX's baseline shuffles the outcomes, which only the loss of the prediction reads: others have none.",
            *dalex.notes(rows),
        ),
        meta=facts,
    )


def _rounds(dalex: Dalex, measure: Measure, rows: IntArray, n_repeats: int) -> Any:
    """Return dalex's losses, a column per feature and a row per round, or an omission."""
    if measure.name == PREDICTION and dalex.subject.y is None:
        return Omission(measure.name, "", "it needs outcomes, which were not given")
    loss = None if measure.name == PREDICTION else mean_measure

    def call() -> Any:
        explainer = dalex.explainer(measure, rows)
        return explainer.model_parts(loss_function=loss, N=None, B=n_repeats).permutation

    return dalex.ask("model_parts", measure, call)


def _loss_name(dalex: Dalex, measure: Measure) -> str:
    if measure.name != PREDICTION:
        return f"mean {measure.name}"
    return "1 - AUC" if dalex.classifies else "RMSE"


def _infinite(measure: Measure, feature: str, rounds: pd.DataFrame) -> Omission:
    """Say in how many rounds the mean over rows is infinite; without a feature, that it always is."""
    where = "before any shuffle"
    if feature:
        where = f"in {int((~np.isfinite(rounds[feature])).sum())} of {len(rounds)} rounds"
    return Omission(measure.name, feature, f"the mean over rows is infinite {where}. The cause is {INFINITE_REMEDY}")


def _changes(measure: Measure, rounds: pd.DataFrame, features: Sequence[str]) -> pd.DataFrame:
    changes = rounds[list(features)].sub(rounds["_full_model_"], axis=0)
    columns = {
        "measure": measure.name,
        "feature": np.repeat(np.array(features, dtype=object), len(rounds)),
        "repeat": np.tile(np.arange(len(rounds)), len(features)),
        "value": changes.to_numpy().T.ravel(),
    }
    return pd.DataFrame(columns)


def _spread(frame: pd.DataFrame, n_repeats: int) -> pd.DataFrame:
    """Return the means over rounds and the spread: 5 % and 95 % quantiles, the extremes below 20 rounds."""
    tails = (0.05, 0.95) if n_repeats >= QUANTILES_FROM else (0.0, 1.0)
    groups = frame.groupby(["measure", "feature"], sort=False)["value"]
    table = pd.DataFrame({"estimate": groups.mean(), "spread_low": groups.quantile(tails[0])})
    table["spread_high"] = groups.quantile(tails[1])
    return bare_estimates(table.reset_index())
