"""What stability is judged by: leaders with their ranks, the shuffles' share, and importances without a few rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri

from ...core.results import Result, RowValues
from ...evidence import columns as col
from ...evidence.importance import ABOUT_0, POSITIVE, UNDETERMINED, Pfi, PfiLine
from ...evidence.information import Agreement, RankLine
from ...evidence.run import Run
from ...evidence.view import Estimate, lines_of, of_measure
from ...rules.reading import measure_words, method_words

BY_INTERVAL = "by its interval"


class SignedLine(Estimate):
    """An importance of any method; its interval is its verdict where the method gives none."""

    verdict: str = BY_INTERVAL


class Leader(NamedTuple):
    """Who leads one ranking of `n` features by estimate, how far its rank may reach, and who else may lead."""

    method: str
    measure: str
    role: str
    feature: str
    upper: int
    n: int
    candidates: tuple[str, ...]
    verdict: str

    def limit(self, thresholds: Mapping[str, float]) -> int:
        """Return the last rank that a determined leader may reach."""
        return int(min(thresholds["top"], thresholds["half"] * self.n))

    @property
    def label(self) -> str:
        """The method and what it explains."""
        return f"{method_words(self.method)} for {measure_words(self.measure)}"

    @property
    def matters(self) -> bool:
        """Whether its importance is surely above 0."""
        return self.verdict == POSITIVE

    @property
    def unsure(self) -> bool:
        """Whether it is not known if it matters."""
        return self.verdict in (UNDETERMINED, "")


class Shuffling(NamedTuple):
    """The shuffles' share of one measure's variance, with its interval, and how many shuffles were made.

    `p_adjusted` is that of a share no larger than allowed, adjusted for the number of measures.
    """

    measure: str
    features: tuple[str, ...]
    share: float
    lower: float
    upper: float
    p_adjusted: float
    n_repeats: int

    def needed(self, allowed: float) -> int:
        """Return the number of shuffles that brings the share down to what is allowed."""
        share = min(self.share, 0.99)
        return ceil(self.n_repeats * share * (1 - allowed) / (allowed * (1 - share)))


class FewRows(NamedTuple):
    """An importance, what is left of it without the rows that support it most, and how many rows turn its sign."""

    measure: str
    feature: str
    estimate: float
    rest: float
    n_left_out: int
    n_turning: int
    n: int


def leaders(view: Agreement, run: Run) -> Iterator[Leader]:
    """Yield the leader of every ranking with rank intervals of two or more features."""
    rankings: dict[tuple[str, str], list[RankLine]] = {}
    for line in view.lines:
        rankings.setdefault((line.item, line.measure), []).append(line)
    for (method, measure), lines in rankings.items():
        if len(lines) < 2 or not all(line.has_interval for line in lines):
            continue
        first = min(lines, key=lambda line: line.estimate)
        yield Leader(
            method=method,
            measure=measure,
            role=first.role or measure,
            feature=first.feature,
            upper=int(first.upper),
            n=len(lines),
            candidates=tuple(line.feature for line in lines if line.lower == 1),
            verdict=_verdict(run.find(method), measure, first.feature),
        )


def _verdict(result: Result | None, measure: str, feature: str) -> str:
    """Return the verdict on an importance, or what its interval says where it has none."""
    lines = () if result is None else lines_of(result, SignedLine)
    line = next((line for line in lines if (line.measure, line.feature) == (measure, feature)), None)
    if line is None or line.verdict != BY_INTERVAL:
        return "" if line is None else line.verdict
    return POSITIVE if line.lower > 0 else ABOUT_0


def shufflings(view: Pfi, thresholds: Mapping[str, float]) -> Iterator[Shuffling]:
    """Yield the shuffles' share for each measure, over the features that are not about 0.

    ``Σ_j s_j²/m / Σ_j se_j²`` with s_j² the variance over the m shuffles, and the χ² interval of its numerator
    with Satterthwaite's degrees of freedom: the shuffles of different features are drawn independently.
    """
    used = [line for line in view.lines if line.verdict != ABOUT_0 and line.std_error > 0]
    measures, frame = list(dict.fromkeys(line.measure for line in used)), view.result.frame
    for measure in measures:
        lines = of_measure(used, measure)
        features = tuple(line.feature for line in lines)
        values = frame[frame[col.MEASURE] == measure].groupby(col.FEATURE)[col.VALUE]
        m = int(values.size().iloc[0])
        noise = (values.var(ddof=1) / m).reindex(features).to_numpy(dtype=float)
        if not noise.sum() > 0:
            continue
        df = (m - 1) * noise.sum() ** 2 / (noise**2).sum()
        share = float(noise.sum() / sum(line.std_error**2 for line in lines))
        tail = thresholds["level"] / len(measures)
        low, high = (share * df / float(chdtri(df, p)) for p in (tail, 1 - tail))
        p_adjusted = len(measures) * float(chdtrc(df, share * df / thresholds["seed_share"]))
        yield Shuffling(measure, features, share, low, high, p_adjusted, m)


def without_few(rows: RowValues, line: PfiLine, row_share: float) -> FewRows:
    """Return what is left of an importance without the rows that support it most."""
    sign = np.sign(line.estimate)
    totals = np.cumsum(np.sort(rows.of(line.measure, line.feature) * sign))  # of the rows that support it least
    n = len(totals)
    k = max(int(round(row_share * n, 9)), 1)
    rest = float(totals[n - k - 1] / (n - k) * sign)
    turning = max(n - int((totals <= 0).sum()), 1)
    return FewRows(line.measure, line.feature, line.estimate, rest, k, turning, n)
