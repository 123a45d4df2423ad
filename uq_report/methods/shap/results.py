"""Shapley values told as results: every row's values, and the mean of their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import AnyArray, FloatArray, IntArray, Table
from ...core.measures import Measure
from ...core.results import ESTIMATE_COLUMNS, Attribution, Importance, Omission, RowValues
from ...core.sampling import Sampling, t_quantile
from ...core.subject import Subject
from ..shared.choice import INFINITE_REMEDY, Roles, plain_values
from .shapley import Shares

EXACT = "exact"


@dataclass(frozen=True)
class Background:
    """Rows that stand in for absent features; `weights` sum to 1, `source` says where the rows come from."""

    rows: Table
    weights: FloatArray
    source: str


@dataclass(frozen=True, kw_only=True)
class Telling:
    """What was explained, and how; `n_permutations` is 0 where all coalitions were evaluated."""

    subject: Subject
    measures: tuple[Measure, ...]
    omitted: tuple[Omission, ...]
    rows: IntArray
    sample: IntArray
    roles: Roles
    background: Background
    n_permutations: int
    confidence: float
    options: Mapping[str, Any]

    def attribution(self, shares: Shares) -> Attribution:
        """Return the values of every row whose measure is finite wherever it was evaluated."""
        m, e = np.nonzero(shares.infinite == 0)
        phi, std_error = shares.phi[m, e], shares.std_error[m, e]
        d = phi.shape[1]
        keys = self._keys(m) | {"row": np.repeat(self.rows[e], d)}
        reach = t_quantile(0.5 + self.confidence / 2, self.n_permutations // 2 - 1) if self.n_permutations else np.nan
        covers = "Monte Carlo (permutations)" if self.n_permutations else EXACT
        estimates = self._estimates(keys, phi, std_error, reach, covers)
        frame = {**keys, "position": 0, "base": np.repeat(shares.base[m, e], d), "value": phi.ravel()}
        return Attribution(
            id="shap",
            explainer="shap",
            title="Shapley values of single rows",
            frame=pd.DataFrame(frame, columns=list(Attribution.columns)),
            estimates=estimates,
            options=self.options,
            notes=self._notes(),
            omissions=(*self.omitted, *self._infinite(shares.infinite, "those rows have no values")),
            meta=self._meta(),
        )

    def importance(self, shares: Shares) -> Importance:
        """Return the mean of |φ| over the sampled rows, and its interval over new test rows."""
        among = np.isin(self.rows, self.sample)
        infinite = shares.infinite[:, among]
        kept = np.flatnonzero((infinite == 0).all(axis=1))
        sizes = np.abs(shares.phi[:, among]).swapaxes(1, 2)[kept]
        sampling = Sampling.of(self.subject, self.sample)
        mean, std_error = sampling.mean(sizes)
        reach = t_quantile(0.5 + self.confidence / 2, sampling.units - 1)
        keys = self._keys(kept)
        frame = {name: np.repeat(key, len(self.sample)) for name, key in keys.items()}
        frame |= {"repeat": np.tile(self.sample, mean.size), "value": sizes.ravel()}
        return Importance(
            id="shap.importance",
            explainer="shap",
            title="Mean size of the Shapley values",
            frame=pd.DataFrame(frame, columns=list(Importance.columns)),
            estimates=self._estimates(keys, mean, std_error, reach, "new test rows given the background"),
            rows=RowValues(tuple(keys["measure"][:: max(1, len(self.subject.features))]), self.subject.features, sizes),
            options=self.options,
            notes=(*self._notes(), *self._sample_notes(), *sampling.notes()),
            omissions=(*self.omitted, *self._infinite(infinite, "a mean without those rows would mislead")),
            meta={"rows_used": self.sample.tolist(), "sizes": True},
        )

    def _keys(self, m: IntArray) -> dict[str, AnyArray]:
        """Return the columns measure and feature, all features for each of the measures numbered `m`."""
        names = np.array([measure.name for measure in self.measures], dtype=object)
        features = np.array(self.subject.features, dtype=object)
        return {"measure": np.repeat(names[m], len(features)), "feature": np.tile(features, len(m))}

    def _estimates(
        self, keys: Mapping[str, AnyArray], estimate: FloatArray, std_error: FloatArray, reach: float, covers: str
    ) -> pd.DataFrame:
        """Return the estimates with their t-intervals, of half width reach · standard error; none of exact values."""
        lower, upper = estimate - reach * std_error, estimate + reach * std_error
        numbers = {"estimate": estimate, "std_error": std_error, "lower": lower, "upper": upper}
        columns = {**keys, **{name: table.ravel() for name, table in numbers.items()}}
        further = [name for name in keys if name not in ESTIMATE_COLUMNS]
        table = pd.DataFrame(columns).assign(confidence=np.nan if covers == EXACT else self.confidence, covers=covers)
        return table[[*ESTIMATE_COLUMNS, *further]]

    def _infinite(self, infinite: IntArray, consequence: str) -> tuple[Omission, ...]:
        """Return, for each measure that is infinite somewhere, how often it is and what follows."""
        gaps = []
        for measure, counts in zip(self.measures, infinite, strict=True):
            if counts.any():
                reason = (
                    f"infinite on {int(counts.sum())} composite rows, which touches {int((counts > 0).sum())} of "
                    f"{len(counts)} explained rows; {consequence}. The cause is {INFINITE_REMEDY}"
                )
                gaps.append(Omission(measure.name, "", reason))
        return tuple(gaps)

    def _notes(self) -> tuple[str, ...]:
        """Say what a reader must know to read any of these numbers."""
        d, size = len(self.subject.features), len(self.background.weights)
        found = [f"Absent features take their values, together, from {size} {self.background.source}."]
        if any(measure.needs_y for measure in self.measures):
            found.append("Measures of y hold y at the explained row's own value.")
        if self.n_permutations:
            found.append(
                f"{self.n_permutations} orders of {d} features for each row, half of them reverses of the others: "
                "values carry a Monte-Carlo error, their sum does not."
            )
        else:
            found.append(f"All {2**d} coalitions of {d} features were evaluated: there is no Monte-Carlo error.")
        return tuple(found)

    def _sample_notes(self) -> tuple[str, ...]:
        """Say which rows the mean is over, and what Monte-Carlo error does to it."""
        found = [f"Mean of |φ| over {len(self.sample)} of {self.subject.n} rows; repeat is the row."]
        if self.n_permutations:
            found.append("The Monte-Carlo error of single values raises means near 0.")
        return tuple(found)

    def _meta(self) -> dict[str, Any]:
        """Return what a figure, or shap itself, needs beside the values; JSON values only."""
        return {
            "rows": {role: list(rows) for role, rows in self.roles.items()},
            "rows_used": self.sample.tolist(),
            "explained": self.rows.tolist(),
            "data": {name: plain_values(self.subject.values(name)[self.rows]) for name in self.subject.features},
            "background": {"rows": len(self.background.weights), "source": self.background.source},
            "exact": not self.n_permutations,
        }
