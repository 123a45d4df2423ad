"""Shapley values as results: every row's values, and the mean of their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import AnyArray, FloatArray, IntArray, Table
from ...core.engine import Engine
from ...core.measures import Measure
from ...core.results import ESTIMATE_COLUMNS, Attribution, Importance, Omission, RowValues
from ...core.sampling import Sampling, t_quantile
from ...evidence import ids
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
class Explained:
    """What was explained, and how; `n_permutations` is 0 where all coalitions were evaluated."""

    engine: Engine
    measures: tuple[Measure, ...]
    omitted: tuple[Omission, ...]
    rows: IntArray
    sample: IntArray
    roles: Roles
    background: Background
    n_permutations: int
    options: Mapping[str, Any]

    @property
    def features(self) -> tuple[str, ...]:
        """The players."""
        return self.engine.subject.features

    def attribution(self, shares: Shares) -> Attribution:
        """Return the values of every row whose measure is finite wherever it was evaluated."""
        m, e = np.nonzero(shares.infinite == 0)
        phi, std_error = shares.phi[m, e], shares.std_error[m, e]
        d = phi.shape[1]
        keys = self._keys(m) | {"row": np.repeat(self.rows[e], d)}
        covers = "Monte Carlo (permutations)" if self.n_permutations else EXACT
        estimates = self._estimates(keys, phi, std_error, self.n_permutations // 2 - 1, covers)
        frame = {**keys, "position": 0, "base": np.repeat(shares.base[m, e], d), "value": phi.ravel()}
        return Attribution(
            id=ids.SHAP,
            explainer=ids.SHAP,
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
        finite = np.flatnonzero((infinite == 0).all(axis=1))
        sizes = np.abs(shares.phi[:, among]).swapaxes(1, 2)[finite]
        sampling = Sampling.of(self.engine.subject, self.sample)
        mean, std_error = sampling.mean(sizes)
        keys = self._keys(finite)
        frame = {name: np.repeat(key, len(self.sample)) for name, key in keys.items()}
        frame |= {"repeat": np.tile(self.sample, mean.size), "value": sizes.ravel()}
        mean_of = f"Mean of |φ| over {len(self.sample)} of {self.engine.subject.n} rows; repeat is the row."
        noise = ("The Monte-Carlo error of single values raises means near 0.",) if self.n_permutations else ()
        return Importance(
            id=ids.SHAP_IMPORTANCE,
            explainer=ids.SHAP,
            title="Mean size of the Shapley values",
            frame=pd.DataFrame(frame, columns=list(Importance.columns)),
            estimates=self._estimates(keys, mean, std_error, sampling.units - 1, "new test rows given the background"),
            rows=RowValues(tuple(self.measures[m].name for m in finite), self.features, sizes),
            options=self.options,
            notes=(*self._notes(), mean_of, *noise, *sampling.notes()),
            omissions=(*self.omitted, *self._infinite(infinite, "a mean without those rows would mislead")),
            meta={"rows_used": self.sample.tolist(), "sizes": True},
        )

    def _keys(self, m: IntArray) -> dict[str, AnyArray]:
        """Return the columns measure and feature, all features for each of the measures numbered `m`."""
        names = np.array([measure.name for measure in self.measures], dtype=object)
        features = np.array(self.features, dtype=object)
        return {"measure": np.repeat(names[m], len(features)), "feature": np.tile(features, len(m))}

    def _estimates(
        self, keys: Mapping[str, AnyArray], estimate: FloatArray, std_error: FloatArray, dof: int, covers: str
    ) -> pd.DataFrame:
        """Return the estimates with their t-intervals; none of exact values, which have no degrees of freedom."""
        level = self.engine.confidence
        reach = t_quantile(0.5 + level / 2, dof) * std_error
        numbers = {"estimate": estimate, "std_error": std_error, "lower": estimate - reach, "upper": estimate + reach}
        table = pd.DataFrame({**keys, **{name: values.ravel() for name, values in numbers.items()}})
        table = table.assign(confidence=np.nan if covers == EXACT else level, covers=covers)
        return table[list(dict.fromkeys([*ESTIMATE_COLUMNS, *keys]))]

    def _infinite(self, infinite: IntArray, consequence: str) -> tuple[Omission, ...]:
        """Return, for each measure that is infinite somewhere, how often it is and what follows."""
        return tuple(
            Omission(
                measure.name,
                "",
                f"infinite on {counts.sum()} composite rows, which touches {(counts > 0).sum()} of {len(counts)} "
                f"explained rows; {consequence}. The cause is {INFINITE_REMEDY}",
            )
            for measure, counts in zip(self.measures, infinite, strict=True)
            if counts.any()
        )

    def _notes(self) -> tuple[str, ...]:
        """Say what a reader must know to read any of these numbers."""
        d, size, source = len(self.features), len(self.background.weights), self.background.source
        error = f"All {2**d} coalitions of {d} features were evaluated: there is no Monte-Carlo error."
        if self.n_permutations:
            error = (
                f"{self.n_permutations} orders of {d} features for each row, half of them reverses of the others: "
                "values carry a Monte-Carlo error, their sum does not."
            )
        fixed = "Measures of y hold y at the explained row's own value."
        return (
            f"Absent features take their values, together, from {size} {source}.",
            *((fixed,) if any(measure.needs_y for measure in self.measures) else ()),
            error,
        )

    def _meta(self) -> dict[str, Any]:
        """Return what a figure, or shap itself, needs beside the values; JSON values only."""
        return {
            "rows": {role: list(rows) for role, rows in self.roles.items()},
            "rows_used": self.sample.tolist(),
            "explained": self.rows.tolist(),
            "data": {name: plain_values(self.engine.subject.values(name)[self.rows]) for name in self.features},
            "background": {"rows": len(self.background.weights), "source": self.background.source},
            "exact": not self.n_permutations,
        }
