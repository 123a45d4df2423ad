"""Agreement between methods: every ranking of the features, how sure its ranks are, and where methods part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from ...core.arrays import FloatArray
from ...core.engine import Engine
from ...core.errors import check_options
from ...core.explainer import Card, Prior
from ...core.ranking import rank_entropy, top_overlap
from ...core.results import ESTIMATE_COLUMNS, Diagnostic, Omission, Result
from ...core.subject import Subject
from .rankings import Choice, Method, methods
from .reasons import disagreements

SIGNS = ("signed", "absolute")
NOTHING = "no importance was computed that could be ranked"
PAIR_COLUMNS = [*ESTIMATE_COLUMNS, "item", "first", "second", "n_features", "top_k", "by_chance"]

PAIR_NOTES = (
    "Kendall's tau-b: 1 for the same order, −1 for the reverse, about 0 for unrelated ones.",
    "The overlap is the share of the leading features in common; beside it is what unrelated rankings would have.",
    "Both compare the estimated ranks and have no interval.",
)
STABILITY_NOTES = (
    "In nats: 0 where a feature keeps its rank in every sample, log d (column largest) where all are equally frequent.",
    "Without a feature, it is the mean over features. The model is kept.",
    "It describes the samples and is no interval: ranks over bootstrap samples mislead near ties.",
)


@dataclass(frozen=True)
class Agreement:
    """Rankings of the features by every importance that ran, side by side, with intervals on the ranks.

    The rank of j lies in ``[1 + #{l significantly above j}, d - #{l significantly below j}]``, for all
    features together; all pairwise differences of a method's row terms are tested at once by a bootstrap
    max-t (`uq_report.core.ranking`). Methods without row terms have ranks only. Two methods are compared
    by Kendall's tau-b and by the overlap of their leading features; disagreements are explained from the
    verdicts and intervals of other results, or said to be unexplained.

    Parameters
    ----------
    sign : {"signed", "absolute"}
        Whether a negative importance ranks last, or by its size; one convention for all methods.
    n_draws : int, default=2000
        Draws for the max-t quantile and the rank entropy.
    top_k : int, default=5
        Leading features to compare; at most half of the features, as all of them always overlap.

    Notes
    -----
    Results: ``agreement`` (rank of every feature by every method), ``agreement.pairs``,
    ``agreement.stability`` (mean entropy of the features' ranks over draws, after Table 2 of Paananen et
    al.; the model is kept, so it shows the rows' part only).

    References
    ----------
    Klein, Wright & Wieczorek (2020), doi:10.1111/rssa.12521. Mogstad et al. (2024), doi:10.1093/restud/rdad006.
    Paananen, Andersen & Vehtari, Uncertainty-aware sensitivity analysis using Rényi divergences, section 3.3.
    """

    sign: str = "signed"
    n_draws: int = 2000
    top_k: int = 5

    name: ClassVar[str] = "agreement"
    section: ClassVar[str] = "relations.agreement"
    card: ClassVar[Card] = Card(
        title="Agreement between methods",
        definition="Ranks of the features by every importance; intervals from all pairwise differences of a method's "
        "row terms, tested at once by a bootstrap max-t. Two rankings are compared by Kendall's τ-b and by "
        "their leaders.",
        assumes="The row terms of an importance average to it, and rows (or clusters) are independent.",
        fails="Methods answer different questions, so agreement is no proof of either. τ-b and overlap compare "
        "estimated ranks and take ties and noise as they come. A stated reason is what another result shows, not "
        "a cause.",
        interval="Of ranks: simultaneous for all features of one method, over new test rows. None between methods.",
        references="klein; mogstad; kendall",
    )
    needs: ClassVar[tuple[str, ...]] = ()
    after: ClassVar[tuple[str, ...]] = ("pfi", "*")
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        rules = (
            ("sign", self.sign in SIGNS, f"one of {SIGNS}"),
            ("n_draws", self.n_draws >= 100, "an integer >= 100"),
            ("top_k", self.top_k >= 1, "an integer >= 1"),
        )
        check_options(self.name, self, rules)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``agreement``, ``agreement.pairs`` and ``agreement.stability`` from the results so far."""
        choice = Choice(self.sign == "absolute", engine.confidence, self.n_draws)
        found, gaps = methods(prior, subject, engine, choice)
        gaps = gaps if found else (*gaps, Omission("", "", NOTHING))
        return [self._ranks(found, gaps, prior, engine), self._pairs(found), self._stability(found)]

    def _ranks(self, found: Sequence[Method], gaps: tuple[Omission, ...], prior: Prior, engine: Engine) -> Diagnostic:
        lines = [line for method in found for line in self._lines(method, engine.confidence)]
        estimates = pd.DataFrame(lines, columns=[*ESTIMATE_COLUMNS, "item", "role", "value"])
        frame = estimates.assign(x=estimates["estimate"], value=estimates["value"])[list(Diagnostic.columns)]
        told, total = disagreements(found, prior, engine.confidence)
        return Diagnostic(
            id=self.name,
            explainer=self.name,
            title="What drives the mean, the loss and the uncertainty, by every method",
            frame=frame,
            estimates=estimates,
            options=asdict(self),
            notes=self._notes(found, engine, len(told), total),
            omissions=gaps,
            meta={
                "sign": self.sign,
                "methods": [
                    {"method": m.id, "measure": m.measure, "role": m.role, "title": m.title, "why_no_interval": m.why}
                    for m in found
                ],
                "disagreements": told,
                "n_disagreements": total,
            },
        )

    def _lines(self, method: Method, confidence: float) -> list[dict[str, Any]]:
        known = method.bounds is not None
        lines = []
        for j, feature in enumerate(method.features):
            rank, lower, upper = method.at(feature)
            lines.append(
                {
                    "measure": method.measure,
                    "feature": feature,
                    "estimate": float(rank),
                    "std_error": np.nan,
                    "lower": float(lower) if known else np.nan,
                    "upper": float(upper) if known else np.nan,
                    "confidence": confidence if known else np.nan,
                    "covers": "new test rows, all ranks together" if known else "none",
                    "item": method.id,
                    "role": method.role,
                    "value": float(method.value[j]),
                }
            )
        return lines

    def _notes(self, found: Sequence[Method], engine: Engine, told: int, total: int) -> tuple[str, ...]:
        order = "by size, whatever the sign" if self.sign == "absolute" else "with their sign: negative ones rank last"
        notes = [f"Importances are ranked {order}; 1 is the largest, and equal values share the better rank."]
        if any(method.bounds is not None for method in found):
            notes.append(
                f"A method's intervals hold all its ranks together with {100 * engine.confidence:g} % confidence, for "
                "new test rows and this model; each method and measure has its own."
            )
        below = ", ".join(dict.fromkeys(method.measure for method in found if method.sign < 0))
        notes += [f"Lower values of {below} are worse or less certain: there 1 is the smallest."] if below else []
        bare = {f"{m.id}: {m.why}" for m in found if m.why}
        notes += [f"Ranks only, without intervals: {'; '.join(sorted(bare))}."] if bare else []
        notes += ["Groups of features are left out: they overlap the features."] if engine.subject.groups else []
        notes += [f"{told} of {total} disagreements are listed: the clearest."] if total > told else []
        return tuple(notes)

    def _pairs(self, found: Sequence[Method]) -> Diagnostic:
        pairs = [(a, b, *self._compare(a, b)) for a, b in combinations(found, 2)]
        lines = [line for pair in pairs for line in pair[2]]
        gaps = tuple(dict.fromkeys(gap for pair in pairs for gap in pair[3]))
        estimates = pd.DataFrame(lines, columns=PAIR_COLUMNS)
        labels = estimates["first"].astype(str) + " | " + estimates["second"].astype(str)
        names = estimates["item"] + ": " + labels if len(estimates) else estimates["item"]
        frame = estimates.assign(item=names, x=estimates["top_k"], value=estimates["estimate"])
        none = Omission("", "", "fewer than two rankings ran, so there is nothing to compare")
        return Diagnostic(
            id="agreement.pairs",
            explainer=self.name,
            title="Agreement of every two rankings",
            frame=frame[list(Diagnostic.columns)],
            estimates=estimates,
            options=asdict(self),
            notes=PAIR_NOTES,
            omissions=gaps if pairs else (none,),
        )

    def _compare(self, a: Method, b: Method) -> tuple[list[dict[str, Any]], list[Omission]]:
        """Return the lines of one pair over their common features, or why there are none."""
        common = [name for name in a.features if name in b.features]
        measure = a.measure if a.measure == b.measure else ""
        if len(common) < 2:
            reason = f"{a.label} and {b.label} have {len(common)} features in common, so no order to compare"
            return [], [Omission(measure, "", reason)]
        x, y = (self._values(method, common) for method in (a, b))
        k = min(self.top_k, len(common) // 2)
        shared: dict[str, Any] = {"measure": measure, "feature": "", "covers": "none", "n_features": len(common)}
        shared |= {"first": a.label, "second": b.label, "top_k": k}
        overlap = {"item": "top-k overlap", "estimate": top_overlap(x, y, k), "by_chance": k / len(common)}
        flat = [method for method, values in ((a, x), (b, y)) if np.ptp(values) == 0]
        if flat:
            reason = "gives all features the same rank, so its tau-b with another is undefined"
            return [shared | overlap], [
                Omission(method.measure, "", f"one of two rankings {reason}") for method in flat
            ]
        tau = {"item": "Kendall tau-b", "estimate": float(kendalltau(x, y).statistic), "by_chance": 0.0}
        return [shared | tau, shared | overlap], []

    def _values(self, method: Method, features: Sequence[str]) -> FloatArray:
        """Return the ranks of some features, the largest first, as values of which the largest leads."""
        return -np.array([method.at(name)[0] for name in features], dtype=float)

    def _stability(self, found: Sequence[Method]) -> Diagnostic:
        lines, gaps = [], []
        for method in found:
            if method.draws is None:
                gaps.append(Omission(method.measure, "", method.why))
                continue
            entropy, most = rank_entropy(method.draws), float(np.log(len(method.features)))
            for feature, value in (("", float(entropy.mean())), *zip(method.features, entropy.tolist(), strict=True)):
                lines.append((method.measure, feature, value, *[np.nan] * 4, "none", method.id, most))
        estimates = pd.DataFrame(lines, columns=[*ESTIMATE_COLUMNS, "item", "largest"])
        return Diagnostic(
            id="agreement.stability",
            explainer=self.name,
            title="Entropy of the ranks over bootstrap samples of the rows",
            frame=estimates.assign(x=estimates["largest"], value=estimates["estimate"])[list(Diagnostic.columns)],
            estimates=estimates,
            options=asdict(self),
            notes=STABILITY_NOTES,
            omissions=tuple(gaps) if found else (Omission("", "", NOTHING),),
        )
