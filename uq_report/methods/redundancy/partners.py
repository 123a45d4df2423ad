"""Each feature's most dependent partner, and strong pairs before and after a permutation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic
from ...evidence import ids
from ...evidence.information import AFTER, BEFORE
from ..shared.association import NumericColumn, associations, kind_of

FLAGGED = 0.5
JOINT_ROWS = 200


def partners(columns: Sequence[NumericColumn]) -> Diagnostic:
    """Return each feature's most dependent partner."""
    strength = associations(columns)
    best = strength.argmax(axis=1).tolist()
    bare = dict.fromkeys(("std_error", "lower", "upper", "confidence"), np.nan)
    keys = {
        "measure": [kind_of(columns[j], columns[k]) for j, k in enumerate(best)],
        "feature": [column.name for column in columns],
        "estimate": strength.max(axis=1),
    }
    table = pd.DataFrame({**keys, **bare, "covers": "none", "item": [columns[k].name for k in best]})
    frame = table.assign(x=0.0, value=table["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(
        id=ids.REDUNDANCY_PARTNER,
        explainer=ids.REDUNDANCY,
        title="The feature that each feature depends on most",
        frame=frame,
        estimates=table,
        notes=(
            "The item is the partner, the measure names the association.",
            "Of two ordered features it is the size of Spearman's rank correlation.",
            "Cramér's V (two unordered) and the correlation ratio (one of each) are bias corrected.",
        ),
    )


def joint(columns: Sequence[NumericColumn], strongest: Diagnostic, engine: Engine) -> list[Diagnostic]:
    """Return strong pairs before and after a permutation of the feature: what extrapolation looks like."""
    by_name = {c.name: c for c in columns}
    frames = []
    flagged = strongest.estimates[strongest.estimates["estimate"] >= FLAGGED]
    for feature, item in zip(flagged["feature"], flagged["item"], strict=True):
        u, v = by_name[feature].numbers, by_name[item].numbers
        rng = engine.rng("joint", feature)
        rows = rng.permutation(np.flatnonzero(np.isfinite(u) & np.isfinite(v)))[:JOINT_ROWS]
        for when, x in ((BEFORE, u[rows]), (AFTER, rng.permutation(u[rows]))):
            names = {"measure": when, "feature": feature, "item": item}
            frames.append(pd.DataFrame(names | {"x": x, "value": v[rows]}))
    if not frames:
        return []
    return [
        Diagnostic(
            id=ids.REDUNDANCY_JOINT,
            explainer=ids.REDUNDANCY,
            title="Strongest pairs before and after permuting the feature",
            frame=pd.concat(frames, ignore_index=True),
            estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
            notes=(
                f"Pairs with an association of {FLAGGED} or more, at most {JOINT_ROWS} rows.",
                "x is the feature, value its partner (item), levels as positions.",
                "After the permutation, points where none were before are extrapolation.",
            ),
        )
    ]
