"""The result ``pfi.claims``: what each feature, and all together, claims and delivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...core.engine.batching import rows_of
from ...core.engine.fast_path_evaluator import Engine
from ...core.model.measures import Measure
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, Omission
from ...core.model.sampling import t_quantile
from ...core.support.arrays import FloatArray
from ...evidence import ids
from ...evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE
from ..shared.changes import ChangedMeasures
from ..shared.estimates import estimate
from ..shared.rows import ShuffledRows
from ..shared.terms import usual_margin
from .claims import ModelImplied, ProperScore, claim_terms, exact_p_values
from .shuffling import FeatureShuffles

PARTS = (CLAIMED, DELIVERED, DIFFERENCE)


@dataclass
class Claiming:
    """The claims of one audit in work: what is compared, and what the shuffles gave so far.

    `measures` are those of the rows and what the score adds to them, `base` (measures, n) their values unchanged. The
    first `n_full` are needed shuffle by shuffle, of the others, the coefficients, the mean. Without a score nothing
    is added to the measures of the rows, and there are no claims.
    """

    score: ProperScore | None
    engine: Engine
    rows: ShuffledRows
    compared: Sequence[Measure]
    measures: Sequence[Measure]
    base: FloatArray
    n_full: int
    claims: dict[str, ModelImplied] = field(default_factory=dict)
    omissions: list[Omission] = field(default_factory=list)

    @classmethod
    def of(cls, score: ProperScore | None, engine: Engine, rows: ShuffledRows) -> Claiming:
        """Return the claims before any shuffle: what to evaluate is what the rows have, and what they lack."""
        outcomes = engine.y is not None
        compared = () if score is None else (score.divergence, score.loss) if outcomes else (score.divergence,)
        full = (*rows.measures, *(measure for measure in compared if measure not in rows.measures))
        further = (*full[len(rows.measures) :], *(score.coefficients if score is not None and outcomes else ()))
        base = np.concatenate([rows.b, engine.unchanged(further)])
        return cls(score, engine, rows, compared, (*rows.measures, *further), base, len(full))

    @cached_property
    def at(self) -> slice:
        """Positions of the compared measures: of two at most a slice, which copies nothing."""
        if not self.compared:
            return slice(0)
        first, last = (self.measures.index(self.compared[k]) for k in (0, -1))
        step = last - first or 1
        end = last + step
        return slice(first, None if end < 0 else end, step)

    def add(self, name: str, changes: ChangedMeasures, means: FloatArray) -> None:
        """Add a set of features: the first `n_full` measures of its changed rows, and mean coefficients (P, n)."""
        self._add(name, changes.of(self.at), means)

    def add_all(self, held: FeatureShuffles) -> None:
        """Add all features together: a row with all values of another has its distribution, so nothing is predicted."""
        q, y, further = self.engine.baseline, self.engine.y, self.base[self.n_full :]
        for r in held.left(len(held.donors)):
            self.engine.check()
            sources = held.sources(r)
            held.take(np.concatenate([rows_of(q.take(sources), self.compared, y, q), further[:, sources]]))
        self._add(ALL_FEATURES, held.changes, held.means)

    @property
    def own_base(self) -> FloatArray:
        """The compared measures unchanged, then the coefficients."""
        return np.concatenate([self.base[self.at], self.base[self.n_full :]])

    def _add(self, name: str, changes: ChangedMeasures, means: FloatArray) -> None:
        if self.score is None:
            return
        base = self.base[self.at]
        infinite = int((changes.hit | ~np.isfinite(base)).any(axis=0).sum())
        if infinite:
            what = "divergence or the loss" if len(base) > 1 else "divergence"
            reason = f"the {what} is infinite in {infinite} of {self.rows.n} rows, and none was dropped"
            self.omissions.append(Omission(self.score.loss.name, name, reason))
            return
        fitted = changes if changes.effects is not None else changes.fitted(self.rows)
        self.claims[name] = claim_terms(fitted, base, self.rows, means - self.base[self.n_full :])

    def result(self, score: ProperScore, options: Mapping[str, Any]) -> Diagnostic:
        """Return the result, with exact p-values where the score allows them and rows count alike."""
        claims, y, q = list(self.claims.values()), self.engine.y, self.engine.baseline
        p_values = np.full(len(claims), np.nan)
        if claims and self.rows.exchangeable and y is not None:
            p_values = exact_p_values(claims, score, q, y, self.engine.rng("claims", 0))
        lines = [
            line
            for name, p in zip(self.claims, p_values.tolist(), strict=True)
            for line in self._lines(score.loss.name, name, p)
        ]
        records = [
            (score.loss.name, name, part, float(repeat), value)
            for name, claim in self.claims.items()
            for part, values in zip(PARTS, claim.repeats.tolist(), strict=False)
            for repeat, value in enumerate(values)
        ]
        # without outcomes the mean loss is not known, so there is a margin in nats only
        loss = np.nan if y is None else float(self.base[self.at][1].mean())
        margin = usual_margin(score.loss, loss)
        return Diagnostic(
            id=ids.PFI_CLAIMS,
            explainer=ids.PFI,
            title="Claimed importance" if y is None else "Claimed and delivered importance",
            frame=pd.DataFrame(records, columns=list(Diagnostic.columns)),
            estimates=pd.DataFrame(lines, columns=list(_COLUMNS)),
            options=options,
            notes=(_UNCONFIRMED,) if y is None else _NOTES,
            omissions=tuple(self.omissions),
            meta=({"margin": margin} if np.isfinite(margin) else {}) | {"exact": bool(np.isfinite(p_values).any())},
        )

    def _lines(self, measure: str, name: str, p_value: float) -> list[dict[str, Any]]:
        """Return what a set of features claims and, with outcomes, delivers, and their difference with its test."""
        claim, confidence = self.claims[name], self.engine.confidence
        reach = t_quantile(0.5 + confidence / 2, self.rows.units - 1)
        lines = []
        for k, (part, value, se) in enumerate(zip(PARTS, claim.estimate, claim.se, strict=False)):
            line = estimate(value, se, (value - reach * se, value + reach * se), confidence, measure, name)
            lines.append(line | {"item": part, "unreliable": claim.unreliable[k]})
        if len(lines) == len(PARTS):
            ends = {"share_lower": claim.share - reach * claim.share_se}
            ends["share_upper"] = claim.share + reach * claim.share_se
            lines[-1] |= {"p_value": p_value, "share": claim.share, **ends}
        return lines


_COLUMNS = (*ESTIMATE_COLUMNS, "item", "p_value", "share", "share_lower", "share_upper", "unreliable")
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
