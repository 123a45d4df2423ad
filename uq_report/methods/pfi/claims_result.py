"""The result ``pfi.claims``: what each feature, and all together, claims and delivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray, IntArray
from ...core.engine import Engine
from ...core.measures import Measure
from ...core.passes import rows_of
from ...core.results import Diagnostic, Omission
from ...core.sampling import t_quantile
from ...evidence import ids
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE
from ..shared.terms import Rows, effects_of, usual_margin
from .claims import Claim, Score, claim_terms, exact_p_values

PARTS = (CLAIMED, DELIVERED, DIFFERENCE)


@dataclass
class Claiming:
    """The claims of one audit in work: what is compared, and what the shuffles gave so far.

    `measures` are those of the rows and what the score adds to them, `base` (measures, n) their values unchanged. The
    first `kept` are needed shuffle by shuffle, of the others, the coefficients, the mean.
    """

    score: Score
    engine: Engine
    rows: Rows
    compared: Sequence[Measure]
    measures: Sequence[Measure]
    base: FloatArray
    kept: int
    claims: dict[str, Claim] = field(default_factory=dict)
    omissions: list[Omission] = field(default_factory=list)

    @classmethod
    def of(cls, score: Score, engine: Engine, rows: Rows) -> Claiming:
        """Return the claims before any shuffle: what to evaluate is what the rows have, and what they lack."""
        compared = (score.divergence, score.loss) if engine.y is not None else (score.divergence,)
        kept = (*rows.measures, *(measure for measure in compared if measure not in rows.measures))
        further = (*kept[len(rows.measures) :], *(score.coefficients if engine.y is not None else ()))
        base = np.concatenate([rows.b, engine.unchanged(further)])
        return cls(score, engine, rows, compared, (*rows.measures, *further), base, len(kept))

    @cached_property
    def at(self) -> list[int]:
        """Positions of the compared measures."""
        return [self.measures.index(measure) for measure in self.compared]

    def add(
        self, name: str, T: FloatArray, means: FloatArray, donors: IntArray, effects: FloatArray | None = None
    ) -> None:
        """Add a set of features: its shuffles `T` (`kept`, m, n) with their effects, and mean coefficients (P, n)."""
        self._add(name, T[self.at], means, donors, None if effects is None else effects[:, self.at])

    def add_all(self, donors: IntArray) -> None:
        """Add all features together: a row with all values of another has its distribution, so nothing is predicted."""
        q, y = self.engine.baseline, self.engine.y
        T = np.stack([rows_of(q.take(one), self.compared, y, q) for one in donors], axis=1)
        means = self.base[self.kept :][:, donors].mean(axis=1)
        self._add(ALL_FEATURES, T, means, donors, None)

    def _add(self, name: str, T: FloatArray, means: FloatArray, donors: IntArray, effects: FloatArray | None) -> None:
        base = self.base[self.at]
        infinite = int((~np.isfinite(T).all(axis=1) | ~np.isfinite(base)).any(axis=0).sum())
        if infinite:
            what = "divergence or the loss" if len(base) > 1 else "divergence"
            reason = f"the {what} is infinite in {infinite} of {self.rows.n} rows, and none was dropped"
            self.omissions.append(Omission(self.score.loss.name, name, reason))
            return
        effects = effects_of(T, donors, self.rows) if effects is None else effects
        excess = means - self.base[self.kept :]
        self.claims[name] = claim_terms(T, base, donors, self.rows, excess, effects)

    def result(self, options: Mapping[str, Any], confidence: float) -> Diagnostic:
        """Return the result, with exact p-values where the score allows them and rows count alike."""
        names, claims = tuple(self.claims), tuple(self.claims.values())
        p_values = np.full(len(claims), np.nan)
        if claims and self.rows.exchangeable and self.engine.y is not None:
            rng = self.engine.rng("claims", 0)
            p_values = exact_p_values(claims, self.score, self.engine.baseline, self.engine.y, rng)
        reach = t_quantile(0.5 + confidence / 2, self.rows.units - 1)
        lines = [
            line
            for name, claim, p in zip(names, claims, p_values.tolist(), strict=True)
            for line in self._lines(name, claim, p, reach, confidence)
        ]
        outcomes = self.engine.y is not None
        return Diagnostic(
            id=ids.PFI_CLAIMS,
            explainer=ids.PFI,
            title="Claimed and delivered importance" if outcomes else "Claimed importance",
            frame=_frame(self.score.loss.name, names, claims),
            estimates=pd.DataFrame(lines, columns=list(_COLUMNS)),
            options=options,
            notes=_NOTES if outcomes else (_UNCONFIRMED,),
            omissions=tuple(self.omissions),
            meta={**self._margin(), "exact": bool(np.isfinite(p_values).any())},
        )

    def _margin(self) -> dict[str, float]:
        """Return the margin; without outcomes none in a unit other than nats, as the mean loss is not known."""
        margin = usual_margin(self.score.loss, float(self.base[self.at[1]].mean()) if len(self.at) > 1 else np.nan)
        return {"margin": margin} if np.isfinite(margin) else {}

    def _lines(self, name: str, claim: Claim, p: float, reach: float, confidence: float) -> list[dict[str, Any]]:
        known = np.isfinite(claim.se)
        share = {"share": claim.share, "share_lower": claim.share - reach * claim.share_se}
        share["share_upper"] = claim.share + reach * claim.share_se
        return [
            {
                "measure": self.score.loss.name,
                "feature": name,
                "estimate": claim.estimate[k],
                "std_error": claim.se[k],
                "lower": claim.estimate[k] - reach * claim.se[k],
                "upper": claim.estimate[k] + reach * claim.se[k],
                "confidence": confidence if known[k] else np.nan,
                "covers": "new test rows" if known[k] else "none",
                "item": part,
                "distrust": self.rows.distrust(claim.rows[k], float(claim.se[k]), outcomes=k > 0).reason,
                **({"p_value": p, **share} if part == DIFFERENCE else {}),
            }
            for k, part in enumerate(PARTS[: len(claim.estimate)])
        ]


_COLUMNS = (
    *("measure", "feature", "estimate", "std_error", "lower", "upper", "confidence", "covers", "item"),
    *("p_value", "share", "share_lower", "share_upper", "distrust"),
)
_CLAIMED = (
    "Claimed: the rise of the loss that the model's own distributions expect; delivered: the rise that the outcomes "
    "show. If outcomes follow the model, both are equal in expectation, whatever the model and the features."
)
_UNCONFIRMED = (
    "Claimed: the rise of the loss that the model's own distributions expect. Without outcomes nothing shows whether "
    "it is delivered."
)
_NOTES = (
    _CLAIMED,
    "p-values are exact for that hypothesis, given the shuffles: outcomes drawn from the model itself.",
)


def _frame(measure: str, names: Sequence[str], claims: Sequence[Claim]) -> pd.DataFrame:
    records = [
        (measure, name, part, float(repeat), value)
        for name, claim in zip(names, claims, strict=True)
        for part, values in zip(PARTS[: len(claim.repeats)], claim.repeats, strict=True)
        for repeat, value in enumerate(values.tolist())
    ]
    return pd.DataFrame(records, columns=list(Diagnostic.columns))
