"""dalex's permutation importance of every measure as one result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import IntArray
from ...core.foreign import mean_measure
from ...core.measures import PREDICTION, Measure
from ...core.results import Importance, Omission
from ..shared.choice import INFINITE_REMEDY
from .calls import Dalex, GapError, bare_estimates, listing, stacked

QUANTILES_FROM = 20


def model_parts(dalex: Dalex, rows: IntArray, n_repeats: int) -> Importance:
    """Return dalex's permutation importance: the loss after shuffling minus the full model's, per round."""
    frames: list[pd.DataFrame] = []
    gaps: list[Omission] = []
    facts: dict[str, dict[str, Any]] = {"full_model": {}, "baseline": {}, "losses": {}}
    for measure in dalex.measures:
        with listing(gaps):
            rounds = _rounds(dalex, measure, rows, n_repeats)
            finite = np.isfinite(rounds).all()
            for name in (name for name in dalex.subject.features if not finite[name]):
                where = f"in {int((~np.isfinite(rounds[name])).sum())} of {n_repeats} rounds"
                gaps.append(Omission(measure.name, name, _infinite(where)))
            changes = rounds[[name for name in dalex.subject.features if finite[name]]]
            if len(changes.columns):
                long = changes.sub(rounds["_full_model_"], axis=0).melt(var_name="feature", ignore_index=False)
                frames.append(long.reset_index(names="repeat").assign(measure=measure.name))
            facts["losses"][measure.name] = _loss_name(dalex, measure)
            facts["full_model"][measure.name] = float(rounds["_full_model_"].mean())
            if finite["_baseline_"] and measure.name == PREDICTION.name:
                facts["baseline"][measure.name] = float(rounds["_baseline_"].mean())
    frame = stacked(frames, Importance.columns)
    losses = ", ".join(f"{loss} for {name}" for name, loss in facts["losses"].items()) or "none"
    return Importance(
        **dalex.fields("model_parts", "dalex: permutation importance", gaps),
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


def _rounds(dalex: Dalex, measure: Measure, rows: IntArray, n_repeats: int) -> pd.DataFrame:
    """Return dalex's losses, a column per feature and a row per round, finite for the full model."""
    if measure.name == PREDICTION.name and dalex.subject.y is None:
        raise GapError(measure.name, "", "it needs outcomes, which were not given")
    loss = None if measure.name == PREDICTION.name else mean_measure

    def call() -> Any:
        explainer = dalex.explainer(measure, rows)
        return explainer.model_parts(loss_function=loss, N=None, B=n_repeats).permutation

    rounds: pd.DataFrame = dalex.ask("model_parts", measure, call).reset_index(drop=True)
    if not np.isfinite(rounds["_full_model_"]).all():
        raise GapError(measure.name, "", _infinite("before any shuffle"))
    return rounds


def _infinite(where: str) -> str:
    return f"the mean over rows is infinite {where}. The cause is {INFINITE_REMEDY}"


def _loss_name(dalex: Dalex, measure: Measure) -> str:
    if measure.name != PREDICTION.name:
        return f"mean {measure.name}"
    return "1 - AUC" if dalex.classifies else "RMSE"


def _spread(frame: pd.DataFrame, n_repeats: int) -> pd.DataFrame:
    """Return the means over rounds and the spread: 5 % and 95 % quantiles, the extremes below 20 rounds."""
    low, high = (0.05, 0.95) if n_repeats >= QUANTILES_FROM else (0.0, 1.0)
    rounds = frame.groupby(["measure", "feature"], sort=False)["value"]
    columns = {"estimate": rounds.mean(), "spread_low": rounds.quantile(low), "spread_high": rounds.quantile(high)}
    return bare_estimates(pd.DataFrame(columns).reset_index(), "spread_low", "spread_high")
