"""What stability is judged by: leaders with their ranks, the shuffles' share, and importances without a few rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtri

from ..core.results import Result, RowValues
from ..core.run import Run
from ._reading import lines, listed


class Leader(NamedTuple):
    """Who leads one ranking by estimate, how far its rank may reach, and who else may lead."""

    method: str
    measure: str
    role: str
    feature: str
    upper: int
    limit: int
    candidates: tuple[str, ...]
    verdict: str

    @property
    def label(self) -> str:
        """The method and what it explains."""
        return f"{self.method} of {self.measure}"

    @property
    def matters(self) -> bool:
        """Whether its importance is surely above 0."""
        return self.verdict == "positive"

    @property
    def unsure(self) -> bool:
        """Whether it is not known if it matters."""
        return self.verdict in ("undetermined", "")

    def words(self) -> str:
        """Say who may lead."""
        return (
            f"By {self.label}, {self.feature} leads by estimate, but its rank may be anything from 1 to {self.upper}; "
            f"any of {listed(self.candidates)} may lead."
        )


class Shuffling(NamedTuple):
    """The shuffles' share of one measure's variance, with its interval, and how many shuffles were made."""

    measure: str
    features: tuple[str, ...]
    share: float
    lower: float
    upper: float
    n_repeats: int

    def needed(self, allowed: float) -> int:
        """Return the number of shuffles that brings the share down to what is allowed."""
        share = min(self.share, 0.99)
        return ceil(self.n_repeats * share * (1 - allowed) / (allowed * (1 - share)))


class FewRows(NamedTuple):
    """An importance, and what is left of it without the rows that support it most."""

    measure: str
    feature: str
    estimate: float
    rest: float
    n_left_out: int
    n: int


def leaders(agreement: Result, run: Run, top: int) -> Iterator[Leader]:
    """Yield the leader of every ranking with rank intervals of two or more features."""
    for (method, measure), table in agreement.estimates.groupby(["item", "measure"], sort=False):
        limit = min(top, len(table) // 2)
        if not limit or table[["lower", "upper"]].isna().to_numpy().any():
            continue
        first = table.iloc[int(table["estimate"].to_numpy(dtype=float).argmin())]
        yield Leader(
            method=str(method),
            measure=str(measure),
            role=str(first["role"]) or str(measure),
            feature=str(first["feature"]),
            upper=int(first["upper"]),
            limit=limit,
            candidates=tuple(map(str, table.loc[table["lower"] == 1, "feature"])),
            verdict=_verdict(run.find(str(method)), str(measure), str(first["feature"])),
        )


def _verdict(result: Result | None, measure: str, feature: str) -> str:
    """Return the verdict on an importance, or what its interval says where it has none."""
    line = lines(result, measure=measure, feature=feature).to_dict("records")
    if not line:
        return ""
    return str(line[0].get("verdict", "positive" if line[0]["lower"] > 0 else "about 0"))


def shufflings(pfi: Result, level: float) -> Iterator[Shuffling]:
    """Yield the shuffles' share for each measure, over the features that are not about 0.

    ``Σ_j s_j²/m / Σ_j se_j²`` with s_j² the variance over the m shuffles, and the χ² interval of its numerator
    with Satterthwaite's degrees of freedom: the shuffles of different features are drawn independently.
    """
    table = pfi.estimates[(pfi.estimates["verdict"] != "about 0") & (pfi.estimates["std_error"] > 0)]
    measures = list(dict.fromkeys(table["measure"]))
    for measure in measures:
        rows = table[table["measure"] == measure]
        values = pfi.frame[pfi.frame["measure"] == measure].groupby("feature")["value"]
        m = int(values.size().iloc[0])
        noise = (values.var(ddof=1) / m).reindex(rows["feature"]).to_numpy(dtype=float)
        if not noise.sum() > 0:
            continue
        df = (m - 1) * noise.sum() ** 2 / (noise**2).sum()
        share = float(noise.sum() / (rows["std_error"] ** 2).sum())
        tail = level / len(measures)
        low, high = (share * df / float(chdtri(df, p)) for p in (tail, 1 - tail))
        yield Shuffling(str(measure), tuple(map(str, rows["feature"])), share, low, high, m)


def without_few(rows: RowValues, line: Mapping[Hashable, Any], row_share: float) -> FewRows:
    """Return what is left of an importance without the rows that support it most."""
    measure, feature, estimate = str(line["measure"]), str(line["feature"]), float(line["estimate"])
    terms = rows.of(measure, feature) * np.sign(estimate)
    k = max(int(row_share * len(terms)), 1)
    rest = float(np.sort(terms)[: len(terms) - k].mean() * np.sign(estimate))
    return FewRows(measure, feature, estimate, rest, k, len(terms))
