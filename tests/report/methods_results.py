"""Results of CID, R-sens, ALE, H-statistic and agreement made of numbers from a formula, for any names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from uq_report.core.model.results import Diagnostic, Importance, Interaction, Omission, Profile, Result
from uq_report.evidence import ids
from uq_report.evidence.information import COVERED, KENDALL, MUTUAL, OVERLAP, SHARE

from .cases import empty, estimates

INTERVAL: dict[str, Any] = {"confidence": 0.95, "covers": "new test samples"}
REFUSAL = "corrected importance is not shown: predicting each feature from the others has R² 0.12"


def cid(names: Sequence[str], *, corrected: bool = True) -> list[Result]:
    """Information that falls by feature, a third of it covered; the second feature is synergistic."""
    rows = []
    for j, name in enumerate(names):
        mutual = 0.3 / (j + 1)
        covered = -mutual / 2 if j == 1 else mutual / 3
        for item, value in ((COVERED, covered), (MUTUAL, mutual)):
            low, high = value - 0.02, value + 0.02
            rows.append(
                {
                    "measure": "",
                    "feature": name,
                    "estimate": value,
                    "lower": low,
                    "upper": high,
                    "item": item,
                    **INTERVAL,
                }
            )
        rows.append({"measure": "", "feature": name, "estimate": max(covered, 0) / mutual, "item": SHARE})
    table = estimates(rows)
    meta = {"estimator": "Gaussian copula", "graph": "lasso", "penalty": 0.05}
    first = Diagnostic(
        id=ids.CID,
        explainer=ids.CID,
        title="Covered",
        frame=table.assign(x=np.nan, value=table["estimate"])[list(Diagnostic.columns)],
        estimates=table,
        meta=meta,
    )
    return [first, graph(names), _corrected(names) if corrected else _refused()]


def graph(names: Sequence[str]) -> Diagnostic:
    """A chain of features, and y tied to the first, with one negative edge."""
    ends = [*pairwise(names), (names[0], "y")]
    edges = [("", a, b, np.nan, -0.4 if k == 1 else 0.5 / (k + 1)) for k, (a, b) in enumerate(ends)]
    return Diagnostic(
        id=ids.CID_GRAPH,
        explainer=ids.CID,
        title="Graph",
        frame=pd.DataFrame(edges, columns=list(Diagnostic.columns)),
        estimates=empty(),
        meta={"nodes": [*names, "y"], "edge": "partial correlation"},
    )


def _corrected(names: Sequence[str]) -> Importance:
    """The last feature comes first once corrected, and all others fall by one rank."""
    d = len(names)
    rows = [
        {
            "measure": "nll",
            "feature": name,
            "estimate": 1.0 if j == d - 1 else 0.5 - j / d / 4,
            "lower": 0.1,
            "upper": 1.2,
            "confidence": 0.95,
            "covers": "sets of rows, given the map",
            "plain": 0.3 - j / d / 4,
            "rank": 1 if j == d - 1 else j + 2,
            "plain_rank": j + 1,
        }
        for j, name in enumerate(names)
    ]
    table = estimates(rows)
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    return Importance(id=ids.CID_CORRECTED, explainer=ids.CID, title="Corrected", frame=frame, estimates=table)


def cover(names: Sequence[str]) -> Importance:
    """The last feature is hidden by the first and comes first once that is lost; all others have no partners."""
    d, rows = len(names), []
    for j, name in enumerate(names):
        alone, hidden = 0.3 - j / d / 4, j == d - 1 and d > 1
        both, change = (1.0, 1.0 - alone) if hidden else (alone, 0.0)
        ends = {
            f"{key}{end}": value + side * 0.02 * (hidden or key != "change")
            for key, value in (("plain", alone), ("joint", both), ("change", change))
            for end, side in (("", 0), ("_lower", -1), ("_upper", 1))
        }
        rows.append(
            {
                "measure": "nll",
                "feature": name,
                "estimate": both,
                "lower": both - 0.02,
                "upper": both + 0.02,
                "verdict": "positive",
                "margin": 0.01,
                "partners": names[0] if hidden else "",
                "change_std_error": 0.01 * hidden,
                "rank": 1 if hidden or d == 1 else j + 2,
                "plain_rank": j + 1,
                "exact_zero": False,
                **ends,
                **INTERVAL,
            }
        )
    table = estimates(rows)
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    partners = {name: [names[0]] if j == d - 1 and d > 1 else [] for j, name in enumerate(names)}
    return Importance(
        id=ids.COVER, explainer=ids.COVER, title="Cover", frame=frame, estimates=table, meta={"partners": partners}
    )


def _refused() -> Importance:
    frame = pd.DataFrame(columns=list(Importance.columns))
    gaps = (Omission("nll", "", REFUSAL),)
    return Importance(
        id=ids.CID_CORRECTED, explainer=ids.CID, title="Corrected", frame=frame, estimates=empty(), omissions=gaps
    )


def rsens(names: Sequence[str], method: str = "exact derivatives") -> list[Result]:
    """R-sens that falls by feature, pairs, and one comparator in the reverse order."""
    meta = {"method": method, "ranked_by": "per_spread"}
    main = _sizes(ids.RSENS, "rsens", [(name, 1.0 / (j + 1)) for j, name in enumerate(names)], meta)
    other = _sizes(ids.RSENS_COMPARATORS, "ead", [(name, 0.1 * (j + 1)) for j, name in enumerate(names)], meta)
    rows = [
        {
            "measure": "rsens2",
            "feature": a,
            "feature_2": b,
            "estimate": 0.1,
            "lower": 0.05,
            "upper": 0.15,
            "raw": 0.1,
            "per_spread": 0.1,
            "spread": 1.0,
            "rank": 1,
            **INTERVAL,
        }
        for a, b in combinations(names, 2)
    ]
    if not rows:
        return [main, other]
    square = [("rsens2", a, b, 0, 0.2 if a == b else 0.1) for a in names for b in names]
    pairs = Interaction(
        id=ids.RSENS_INTERACTION,
        explainer=ids.RSENS,
        title="Pairs",
        frame=pd.DataFrame(square, columns=list(Interaction.columns)),
        estimates=estimates(rows),
        meta=meta,
    )
    return [main, pairs, other]


def _sizes(id: str, measure: str, values: Sequence[tuple[str, float]], meta: dict[str, Any]) -> Importance:
    table = estimates(
        {
            "measure": measure,
            "feature": name,
            "estimate": value,
            "lower": 0.9 * value,
            "upper": 1.1 * value,
            "raw": value / 2,
            "per_spread": value,
            "spread": 2.0,
            "rank": 1 + sum(other > value for _, other in values),
            **INTERVAL,
        }
        for name, value in values
    )
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    return Importance(id=id, explainer=ids.RSENS, title=id, frame=frame, estimates=table, meta=meta)


def curve(id: str, name: str, values: Sequence[float], error: float = 0.01) -> pd.DataFrame:
    """The estimates of one numeric curve of the prediction at 0, 1, 2 ..."""
    table = estimates(
        {
            "measure": "prediction",
            "feature": name,
            "feature_2": "",
            "estimate": value,
            "std_error": error,
            "lower": value - 2 * error,
            "upper": value + 2 * error,
            "x": float(k),
            "level": "",
            "x_2": np.nan,
            "level_2": "",
            **INTERVAL,
        }
        for k, value in enumerate(values)
    )
    return table.assign(std_error_change=error) if id == ids.ALE else table


def profile(id: str, names: Sequence[str], values: Sequence[float]) -> Profile:
    """The same curve for every feature."""
    table = pd.concat([curve(id, name, values) for name in names], ignore_index=True)
    frame = table.assign(curve=-1, value=table["estimate"])[list(Profile.columns)]
    return Profile(id=id, explainer=id, title=id, frame=frame, estimates=table)


def h_statistic(names: Sequence[str]) -> Interaction:
    """H² that falls along the pairs; the last pair is not ranked."""
    pairs = list(combinations(names, 2))
    rows: list[dict[str, Any]] = [
        {
            "measure": "prediction",
            "feature": name,
            "feature_2": "",
            "estimate": 0.2,
            "ranked": True,
        }
        for name in names
    ]
    rows += [
        {
            "measure": "prediction",
            "feature": a,
            "feature_2": b,
            "estimate": 0.9 if k == len(pairs) - 1 else 0.3 / (k + 1),
            "ranked": k < len(pairs) - 1,
        }
        for k, (a, b) in enumerate(pairs)
    ]
    table = estimates(rows, strength=0.1, joint_sd=0.2)
    frame = table.assign(repeat=0, value=table["estimate"])[list(Interaction.columns)]
    return Interaction(id=ids.H_STATISTIC, explainer=ids.H_STATISTIC, title="H", frame=frame, estimates=table)


def agreement(names: Sequence[str]) -> list[Result]:
    """Two rankings of the loss with intervals, the reverse of each other, and one of the uncertainty without."""
    d = len(names)
    rows: list[dict[str, Any]] = []
    for item, measure, role in (
        (ids.PFI, "nll", "loss"),
        (ids.SHAP_IMPORTANCE, "nll", "loss"),
        (ids.DALEX_PARTS, "entropy", "uncertainty"),
    ):
        for j, name in enumerate(names):
            rank = float(j + 1 if item == ids.PFI else d - j)
            sure = {
                "lower": max(rank - 1, 1.0) if rank > 2 else rank,
                "upper": min(rank + 1, float(d)) if rank > 1 else 1.0,
            }
            rows.append(
                {"measure": measure, "feature": name, "estimate": rank, "item": item, "role": role, "value": -rank}
                | ({**sure, **INTERVAL} if role == "loss" else {})
            )
    table = estimates(rows)
    told = {
        "feature": names[0],
        "sentence": f"{names[0]} is ranked 1 by pfi: nll but {d} by shap.importance: nll.",
        "methods": [ids.PFI, ids.SHAP_IMPORTANCE],
        "measures": ["nll", "nll"],
        "evidence": [ids.CID],
        "sure": True,
        "explained": True,
    }
    ranks = Diagnostic(
        id=ids.AGREEMENT,
        explainer=ids.AGREEMENT,
        title="Ranks",
        frame=table.assign(x=table["estimate"])[list(Diagnostic.columns)],
        estimates=table,
        meta={"disagreements": [told], "n_disagreements": 3},
    )
    return [ranks, _pairs(d), _stability(names)]


def _pairs(d: int) -> Diagnostic:
    keys = ("pfi: nll", "shap.importance: nll", "dalex.model_parts: entropy")
    rows = [
        {
            "measure": "",
            "feature": "",
            "estimate": value,
            "item": item,
            "first": a,
            "second": b,
            "n_features": d,
            "top_k": 1,
            "by_chance": 1 / d,
        }
        for a, b in combinations(keys, 2)
        for item, value in ((KENDALL, -1.0 if a == keys[0] else 1.0), (OVERLAP, 0.0))
    ]
    table = estimates(rows)
    frame = table.assign(x=1.0, value=table["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(id=ids.AGREEMENT_PAIRS, explainer=ids.AGREEMENT, title="Pairs", frame=frame, estimates=table)


def _stability(names: Sequence[str]) -> Diagnostic:
    rows = [
        {
            "measure": "nll",
            "feature": name,
            "estimate": 0.1 * k,
            "item": ids.PFI,
            "largest": float(np.log(len(names) or 1)),
        }
        for k, name in enumerate(("", *names))
    ]
    table = estimates(rows)
    frame = table.assign(x=table["largest"], value=table["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(
        id=ids.AGREEMENT_STABILITY, explainer=ids.AGREEMENT, title="Stability", frame=frame, estimates=table
    )


def every(names: Sequence[str], *, corrected: bool = True) -> list[Result]:
    """All of them; a PDP that bends where the ALE is straight."""
    return [
        *cid(names, corrected=corrected),
        cover(names),
        *rsens(names),
        profile(ids.ALE, names, (-1.0, 0.0, 1.0)),
        *([h_statistic(names)] if len(names) > 1 else []),
        *agreement(names),
    ]
