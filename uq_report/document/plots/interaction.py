"""Interaction strength of pairs: drawn as importances of pairs."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from ...core.results import Importance, Interaction
from ...evidence import columns as col
from .importance import draw as draw_importance


def draw(result: Interaction, measure: str | None = None, top: int = 20) -> Figure:
    """Draw the strongest pairs with their intervals; a feature without a partner stands for all its pairs.

    A strength need not have the unit of its measure: axes name only a unit the result itself records.

    Parameters
    ----------
    result : Interaction
        Its estimates have a column ``feature_2``.
    """
    bare = {name: replace(facts, unit="") for name, facts in result.measures.items()}
    estimates = result.estimates.assign(feature=paired(result.estimates))
    frame = result.frame.assign(feature=paired(result.frame))[list(Importance.columns)]
    pairs = Importance(
        id=result.id,
        explainer=result.explainer,
        title=result.title,
        frame=frame,
        estimates=estimates,
        measures=bare,
    )
    return draw_importance(pairs, measure, top=top)


def paired(table: pd.DataFrame) -> list[str]:
    """Return ``"a × b"`` for every row, ``"a"`` where there is no partner."""
    partners = table[col.FEATURE_2] if col.FEATURE_2 in table.columns else [""] * len(table)
    return [f"{a} × {b}" if b and not pd.isna(b) else str(a) for a, b in zip(table[col.FEATURE], partners, strict=True)]
