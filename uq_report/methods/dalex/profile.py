"""dalex's partial-dependence profiles of every measure as one result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import IntArray
from ...core.measures import Measure
from ...core.results import Importance, Omission, Profile
from ...core.subject import Subject
from ..shared.choice import INFINITE_REMEDY
from ..shared.grids import Grid, make_grid
from .calls import Dalex, GapError, bare_estimates, listing, stacked

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
        # dalex profiles one kind at a time
        for kind in ([g for g in grids if g.numeric], [g for g in grids if not g.numeric]):
            with listing(gaps):
                answer = _ask(dalex, measure, rows, kind) if kind else None
                if kind and np.isfinite(answer.mean_prediction):
                    means[measure.name] = float(answer.mean_prediction)
                for grid in kind:
                    with listing(gaps):
                        frames.append(_profile(measure, grid, answer.result))
    frame = stacked(frames, Profile.columns)
    return Profile(
        **dalex.fields("model_profile", "dalex: partial-dependence profiles", gaps),
        frame=frame,
        estimates=bare_estimates(frame, "x", "level"),
        notes=(
            f"Profiles of {', '.join(grid.feature for grid in grids) or 'no feature'}.",
            *(note for grid in grids for note in grid.notes),
            *dalex.notes(rows),
        ),
        meta={"mean": means},
    )


def _grids(dalex: Dalex, features: Sequence[str], grid_points: int) -> tuple[list[Grid], list[Omission]]:
    """Return the points of each feature as our own profiles have them: quantiles of a numeric one, else levels."""
    grids = {name: make_grid(dalex.subject, name, grid_points, (0.0, 1.0), MAX_LEVELS) for name in features}
    reason = "all of its values are missing, so there is nothing to put on the grid"
    gaps = [Omission("", name, reason) for name, grid in grids.items() if grid is None]
    return [grid for grid in grids.values() if grid is not None], gaps


def _ask(dalex: Dalex, measure: Measure, rows: IntArray, grids: Sequence[Grid]) -> Any:
    """Return dalex's aggregated profiles of features of one kind."""
    splits = {g.feature: g.x if g.numeric else pd.Series(g.steps, dtype=object).to_numpy() for g in grids}

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


def _profile(measure: Measure, grid: Grid, result: pd.DataFrame) -> pd.DataFrame:
    """Return one feature's profile, in the order of its grid."""
    values = result.loc[result["_vname_"] == grid.feature, "_yhat_"].to_numpy(dtype=float)
    if not np.isfinite(values).all():
        reason = f"the mean over rows is infinite at some points. The cause is {INFINITE_REMEDY}"
        raise GapError(measure.name, grid.feature, reason)
    if len(values) != len(grid.x):
        reason = f"DALEX's profile has {len(values)} of {len(grid.x)} levels"
        raise GapError(measure.name, grid.feature, reason)
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
