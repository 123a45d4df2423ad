"""Permutation importance as tidy results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray
from ...core.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Omission, RowValues
from ...core.verdicts import judge, permutation_p_value
from ...evidence.importance import ABOUT_0, UNDETERMINED
from ..shared.notes import infinite_values, reader_notes
from ..shared.terms import Rows, Terms

OWN_COLUMNS = (
    *("verdict", "margin", "p_value", "spread_low", "spread_high"),
    *("unpermuted", "n_needed", "exact_zero", "remark", "distrust"),
)
QUANTILES_FROM = 20
DELTA_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Tables:
    """What the shuffles gave, feature by feature, and how to judge it."""

    rows: Rows
    features: Sequence[str]
    terms: Sequence[Terms]
    margins: Sequence[float]
    confidence: float
    options: Mapping[str, Any]
    omitted: tuple[Omission, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the measures."""
        return tuple(measure.name for measure in self.rows.measures)

    @property
    def first(self) -> int:
        """Position of the first real shuffle: all pairs begin with the unchanged rows."""
        return int(self.rows.exact)

    @property
    def n_shuffles(self) -> int:
        """Number of shuffles, the unchanged rows not counted."""
        return len(self.terms[0].repeats[0]) - self.first

    def stacked(self, field: str) -> FloatArray:
        """Return one field of all features, shape (measures, features, ...)."""
        return np.stack([getattr(term, field) for term in self.terms], axis=1)

    def row_values(self, field: str) -> RowValues:
        """Return per-row terms; NaN where a measure and feature are among the omissions."""
        return RowValues(self.names, tuple(self.features), self.stacked(field))


def importance_result(tables: Tables) -> Importance:
    """Return the result ``pfi``."""
    return Importance(
        id="pfi",
        explainer="pfi",
        title="Permutation importance",
        frame=_frame(tables),
        estimates=_estimates(tables),
        rows=tables.row_values("rows") if tables.rows.exact or tables.n_shuffles >= 3 else None,
        options=tables.options,
        notes=reader_notes(tables.rows, tables.n_shuffles, len(tables.features), 1 - tables.confidence),
        omissions=(*tables.omitted, *infinite_values(tables.rows, tables.features, tables.terms)),
        meta=_meta(tables),
    )


def training_result(tables: Tables, sampled_from: int | None) -> Importance:
    """Return the result ``pfi.train``: values without an interval, as the model has seen these rows."""
    estimates = _estimates(tables)
    estimates[["std_error", "lower", "upper", "confidence", "p_value", "n_needed"]] = np.nan
    estimates[["covers", "verdict", "distrust"]] = ["none", "", ""]
    estimates["remark"] = np.where(estimates["exact_zero"], "exact", "")
    sample = f"{tables.rows.n} of {sampled_from} training rows, drawn at random, were used." if sampled_from else ""
    return Importance(
        id="pfi.train",
        explainer="pfi",
        title="Permutation importance on the training rows",
        frame=_frame(tables),
        estimates=estimates,
        options=tables.options,
        notes=("The model has seen these rows, so no interval would hold for any population.", *filter(None, [sample])),
        omissions=(*tables.omitted, *infinite_values(tables.rows, tables.features, tables.terms)),
        meta=_meta(tables),
    )


def untrained_result(main: Importance, omitted: tuple[Omission, ...]) -> Importance:
    """Return the result ``pfi.train`` where no measure exists for the training rows, with the reasons."""
    return Importance(
        id="pfi.train",
        explainer="pfi",
        title="Permutation importance on the training rows",
        frame=main.frame.iloc[:0],
        estimates=main.estimates.iloc[:0],
        options=main.options,
        omissions=omitted,
    )


def delta_result(tables: Tables) -> Diagnostic:
    """Return the result ``pfi.delta``: how the change of each row, averaged over shuffles, is distributed."""
    delta, still = tables.stacked("delta"), tables.stacked("still")
    quantiles = np.quantile(delta, DELTA_LEVELS, axis=2)
    records = [
        (measure, feature, item, x, value)
        for m, measure in enumerate(tables.names)
        for f, feature in enumerate(tables.features)
        if np.isfinite(quantiles[:, m, f]).all()
        for item, x, value in (
            *(("quantile", level, float(value)) for level, value in zip(DELTA_LEVELS, quantiles[:, m, f], strict=True)),
            ("share of rows unchanged", 0.0, float(still[m, f])),
        )
    ]
    return Diagnostic(
        id="pfi.delta",
        explainer="pfi",
        title="Change of each row when a feature is shuffled",
        frame=pd.DataFrame(records, columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
        rows=tables.row_values("delta"),
        options=tables.options,
        notes=("A row's change is its mean over shuffles; without weights the mean of the rows is the importance.",),
    )


def _frame(tables: Tables) -> pd.DataFrame:
    """Return one line per measure, feature and repeat, without the omitted ones."""
    values = tables.stacked("repeats")
    M, F, R = values.shape
    frame = pd.DataFrame(
        {
            "measure": np.repeat(np.array(tables.names, dtype=object), F * R),
            "feature": np.tile(np.repeat(np.array(tables.features, dtype=object), R), M),
            "repeat": np.tile(np.arange(R), M * F),
            "value": values.ravel(),
        }
    )
    return frame[frame["value"].notna()].reset_index(drop=True)


def _estimates(tables: Tables) -> pd.DataFrame:
    lines = [
        _line(tables, m, feature, term)
        for m in range(len(tables.names))
        for feature, term in zip(tables.features, tables.terms, strict=True)
        if np.isfinite(term.estimate[m])
    ]
    return pd.DataFrame(lines, columns=[*ESTIMATE_COLUMNS, *OWN_COLUMNS])


def _line(tables: Tables, m: int, feature: str, term: Terms) -> dict[str, Any]:
    """Return one line of the estimates."""
    rows, estimate, se, zero = tables.rows, float(term.estimate[m]), float(term.se[m]), bool(term.zero[m])
    margin, shuffled = tables.margins[m], term.repeats[m, tables.first :]
    judged = judge(estimate, se, rows.units - 1, margin, n=rows.n, confidence=tables.confidence)
    distrust = rows.distrust(term.rows[m], se, outcomes=rows.measures[m].needs_y)
    verdict = UNDETERMINED if distrust.reason else judged.verdict
    known = not np.isnan(se)
    low, high = _spread(shuffled)
    return {
        "measure": tables.names[m],
        "feature": feature,
        "estimate": estimate,
        "std_error": se,
        "lower": judged.lower,
        "upper": judged.upper,
        "confidence": tables.confidence if known else np.nan,
        "covers": "new test rows" if known else "none",
        "verdict": ABOUT_0 if zero and known else verdict,
        "margin": margin,
        "p_value": permutation_p_value(shuffled) if rows.exchangeable else np.nan,
        "spread_low": low,
        "spread_high": high,
        "unpermuted": float(rows.unpermuted[m]),
        "n_needed": np.nan if zero else _needed(judged.n_needed, distrust.rows, rows.n),
        "exact_zero": zero,
        "remark": _remark(zero=zero, excludes=verdict == ABOUT_0 and judged.lower * judged.upper > 0),
        "distrust": distrust.reason,
    }


def _needed(to_decide: float, to_trust: float, n: int) -> float:
    """Return the rows that would decide, where they are more than these."""
    needed = float(np.fmax(to_decide, to_trust))
    return needed if needed > n else float("nan")


def _remark(*, zero: bool, excludes: bool) -> str:
    return "exact" if zero else "but not 0" if excludes else ""


def _spread(shuffled: FloatArray) -> tuple[float, float]:
    """Return the 5 % and 95 % quantiles of enough shuffles, else the smallest and largest."""
    levels = (0.05, 0.95) if len(shuffled) >= QUANTILES_FROM else (0.0, 1.0)
    low, high = np.quantile(shuffled, levels)
    return float(low), float(high)


def _meta(tables: Tables) -> dict[str, Any]:
    kept = tables.n_shuffles >= QUANTILES_FROM
    return {
        "spread": f"{'5 % and 95 % quantiles' if kept else 'smallest and largest'} of {tables.n_shuffles} shuffles",
        "degrees_of_freedom": tables.rows.units - 1,
    }
