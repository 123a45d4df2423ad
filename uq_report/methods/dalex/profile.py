"""dalex's partial-dependence profiles of every measure as one result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import AnyArray, IntArray
from ...core.measures import Measure
from ...core.results import Importance, Omission, Profile
from ...core.subject import Subject
from ..shared.choice import INFINITE_REMEDY
from ..shared.grids import Grid, make_grid
from .calls import Dalex, bare_estimates, stacked

MAX_LEVELS = 30


def leading_features(importance: Importance | None, subject: Subject, count: int) -> list[str]:
    """Return the features that lead for some measure: best rank by size over measures, then the mean rank.

    Dates have no profile in dalex and are passed over.
    """
    candidates = [name for name in subject.features if subject.kinds[name] != "datetime"]
    if importance is None or importance.estimates.empty:
        return candidates[:count]
    table = importance.estimates.assign(size=importance.estimates["estimate"].abs())
    ranks = table.pivot_table(index="feature", columns="measure", values="size").rank(ascending=False)
    ranks = ranks.reindex([name for name in candidates if name in ranks.index])
    order = pd.DataFrame({"best": ranks.min(axis=1), "mean": ranks.mean(axis=1)})
    return [str(name) for name in order.sort_values(["best", "mean"], kind="stable").index[:count]]


def model_profile(dalex: Dalex, rows: IntArray, features: Sequence[str], grid_points: int) -> Profile:
    """Return dalex's partial-dependence profiles: the mean over rows at each point, per measure."""
    grids, gaps = _grids(dalex, features, grid_points)
    frames: list[pd.DataFrame] = []
    means: dict[str, float] = {}
    for measure in dalex.measures:
        for chosen in _by_kind(grids):
            found = _ask(dalex, measure, rows, chosen)
            if isinstance(found, Omission):
                gaps.append(found)
                continue
            if np.isfinite(found.mean_prediction):
                means[measure.name] = float(found.mean_prediction)
            for grid in chosen:
                profile = _profile(measure, grid, found.result)
                if isinstance(profile, Omission):
                    gaps.append(profile)
                else:
                    frames.append(profile)
    frame = stacked(frames, Profile.columns)
    estimates = frame.rename(columns={"value": "estimate"})[["measure", "feature", "x", "level", "estimate"]]
    return Profile(
        **dalex.told("model_profile", "dalex: partial-dependence profiles", gaps),
        frame=frame,
        estimates=bare_estimates(estimates),
        notes=(
            f"Profiles of {', '.join(grids) or 'no feature'}.",
            *(note for grid in grids.values() for note in grid.notes),
            *dalex.notes(rows),
        ),
        meta={"mean": means},
    )


def _grids(dalex: Dalex, features: Sequence[str], grid_points: int) -> tuple[dict[str, Grid], list[Omission]]:
    """Return the points of each feature, those of the explainer pdp: quantiles of a numeric one, else levels."""
    grids: dict[str, Grid] = {}
    gaps = []
    for name in features:
        grid = make_grid(dalex.subject, name, grid_points, (0.0, 1.0), MAX_LEVELS)
        if grid is None:
            gaps.append(Omission("", name, "all of its values are missing, so there is nothing to put on the grid"))
        else:
            grids[name] = grid
    return grids, gaps


def _by_kind(grids: Mapping[str, Grid]) -> list[list[Grid]]:
    """Return numeric and other features apart, for dalex profiles one kind at a time."""
    parts = [[grid for grid in grids.values() if grid.numeric is numeric] for numeric in (True, False)]
    return [part for part in parts if part]


def _ask(dalex: Dalex, measure: Measure, rows: IntArray, grids: Sequence[Grid]) -> Any:
    """Return dalex's aggregated profiles of features of one kind, or an omission."""
    splits = {grid.feature: grid.x if grid.numeric else _objects(grid.steps) for grid in grids}

    def call() -> Any:
        return dalex.explainer(measure, rows).model_profile(
            type="partial",
            N=None,
            variables=list(splits),
            variable_type="numerical" if grids[0].numeric else "categorical",
            variable_splits=splits,
            verbose=False,
        )

    return dalex.ask("model_profile", measure, call)


def _objects(values: Sequence[Any]) -> AnyArray:
    """Return values as an array that keeps each one's type."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _profile(measure: Measure, grid: Grid, result: pd.DataFrame) -> pd.DataFrame | Omission:
    """Return one feature's profile, in the order of its grid, or why there is none."""
    values = result.loc[result["_vname_"] == grid.feature, "_yhat_"].to_numpy(dtype=float)
    if not np.isfinite(values).all():
        reason = f"the mean over rows is infinite at some points. The cause is {INFINITE_REMEDY}"
        return Omission(measure.name, grid.feature, reason)
    if len(values) != len(grid.x):
        return Omission(measure.name, grid.feature, f"DALEX's profile has {len(values)} of {len(grid.x)} levels")
    columns = {
        "measure": measure.name,
        "feature": grid.feature,
        "feature_2": "",
        "x": grid.x,
        "level": list(grid.levels),
        "x_2": np.nan,
        "level_2": "",
        "curve": -1,
        "value": values,
    }
    return pd.DataFrame(columns)
