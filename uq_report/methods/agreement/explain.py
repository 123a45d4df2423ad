"""Agreement between methods: every ranking of the features, how sure its ranks are, and where methods part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model import results as kinds
from ...core.model.subject import Subject
from ...core.statistics.ranking import rank_entropy, top_overlap
from ...core.support import options as opt
from ...evidence import ids
from ...evidence.information import KENDALL, OVERLAP
from ..shared.cards import card_of
from ..shared.estimates import diagnostic
from .rankings import Method, disagreements, methods

SIGNS = ("signed", "absolute")
GINI = "gini"
NOTHING = "no importance was computed that can be ranked"
PAIR_COLUMNS = [*kinds.ESTIMATE_COLUMNS, "item", "first", "second", "n_features", "top_k", "by_chance"]

PAIR_NOTES = (
    "Kendall's tau-b: 1 for the same order, −1 for the reverse, about 0 for unrelated ones.",
    "The overlap is the share of the leading features in common, with the value expected for unrelated rankings.",
    "Both compare the estimated ranks and have no interval.",
)
STABILITY_NOTES = (
    "In nats: 0 where a rank is the same in every sample, log d (column largest) where all are equally frequent.",
    "Without a feature, it is the mean over features. The model is fixed.",
    "It describes the bootstrap samples and is no interval: bootstrapped ranks are misleading near ties.",
)


def _impurity(subject: Subject) -> kinds.Importance | None:
    """Return the impurity-based importance that a model of trees has of the subject's features, or None."""
    values = np.asarray(getattr(subject.model, "feature_importances_", ()), dtype=float)
    if values.shape != (len(subject.features),):
        return None
    title, facts = (
        "Impurity-based importance of the model (Gini)",
        kinds.MeasureFacts("mean decrease of impurity", "", ""),
    )
    frame = pd.DataFrame({"measure": GINI, "feature": list(subject.features), "repeat": 0, "value": values})
    frame, estimates = frame[list(kinds.Importance.columns)], kinds.bare_estimates(frame)
    names: dict[str, Any] = {"id": GINI, "explainer": ids.AGREEMENT, "title": title}
    return kinds.Importance(**names, frame=frame, estimates=estimates, measures={GINI: facts})


@dataclass(frozen=True)
class Agreement(BuiltInExplainer):
    """Rankings of the features by every importance that ran, side by side, with intervals on the ranks.

    The rank of j lies in ``[1 + #{l significantly above j}, d - #{l significantly below j}]``, for all
    features together; all pairwise differences of a method's row terms are tested at once by a bootstrap
    max-t (`uq_report.core.statistics.ranking`). Methods without row terms have ranks only. Two methods are compared
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
    gini : bool, default=False
        Whether the impurity-based importance that a forest or a tree has of its own (Breiman 2001) is ranked too.

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

    sign: str = opt.one_of(SIGNS, "signed")
    n_draws: int = opt.at_least(100, 2000)
    top_k: int = opt.at_least(1, 5)
    gini: bool = False

    name: ClassVar[str] = "agreement"
    section: ClassVar[str] = "relations.agreement"
    card: ClassVar[MethodCard] = card_of(name)
    after: ClassVar[tuple[str, ...]] = (ids.PFI, "*")

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[kinds.Result]:
        """Return ``agreement``, ``agreement.pairs`` and ``agreement.stability`` from the results so far."""
        own = _impurity(subject) if self.gini else None
        prior = prior if own is None else {**prior, GINI: [own]}
        rankings, gaps = methods(prior, engine, self.sign == "absolute", self.n_draws)
        if self.gini and own is None:
            gaps = (*gaps, kinds.Omission("", "", "the model has no impurity-based importance of these features"))
        gaps = gaps if rankings else (*gaps, kinds.Omission("", "", NOTHING))
        return [self._ranks(rankings, gaps, prior, engine), self._pairs(rankings, engine), self._stability(rankings)]

    def _ranks(
        self, rankings: Sequence[Method], gaps: tuple[kinds.Omission, ...], prior: Prior, engine: Engine
    ) -> kinds.Diagnostic:
        cases, total = disagreements(rankings, prior, engine.confidence)
        facts = [
            {"method": m.id, "measure": m.measure, "role": m.role, "title": m.title, "why_no_interval": m.why}
            for m in rankings
        ]
        return diagnostic(
            self.name,
            "Drivers of the prediction, the loss and the uncertainty by every method",
            [line for method in rankings for line in _lines(method, engine.confidence)],
            ("item", "role", "value"),
            x="estimate",
            value="value",
            options=asdict(self),
            notes=self._notes(rankings, engine, len(cases), total),
            omissions=tuple(gaps),
            meta={"sign": self.sign, "methods": facts, "disagreements": cases, "n_disagreements": total},
        )

    def _notes(self, rankings: Sequence[Method], engine: Engine, listed: int, total: int) -> tuple[str, ...]:
        order = "by absolute value" if self.sign == "absolute" else "by signed value: negative ones rank last"
        notes = [f"Importances are ranked {order}; 1 is the largest, and equal values share the smaller rank."]
        if any(method.bounds is not None for method in rankings):
            notes.append(
                f"A method's rank intervals are simultaneous with {100 * engine.confidence:g}% confidence, for "
                "new test samples and the fixed model; each method and measure has its own."
            )
        below = ", ".join(dict.fromkeys(method.measure for method in rankings if method.sign < 0))
        notes += [f"Lower values of {below} are worse or less certain: there 1 is the smallest."] if below else []
        bare = {f"{m.id}: {m.why}" for m in rankings if m.why}
        notes += [f"Ranks only, without intervals: {'; '.join(sorted(bare))}."] if bare else []
        notes += ["Groups of features are left out: they overlap the features."] if engine.subject.groups else []
        notes += [f"{listed} of {total} disagreements are listed: the clearest."] if total > listed else []
        return tuple(notes)

    def _pairs(self, rankings: Sequence[Method], engine: Engine) -> kinds.Diagnostic:
        pairs = []
        for a, b in combinations(rankings, 2):
            engine.check()
            pairs.append(self._compare(a, b))
        lines = [line for lines, _ in pairs for line in lines]
        gaps = tuple(dict.fromkeys(gap for _, gaps in pairs for gap in gaps))
        estimates = pd.DataFrame(lines, columns=PAIR_COLUMNS)
        names = [f"{line['item']}: {line['first']} | {line['second']}" for line in lines]
        frame = estimates.assign(item=names, x=estimates["top_k"], value=estimates["estimate"])
        none = kinds.Omission("", "", "fewer than two rankings ran, so there is nothing to compare")
        return kinds.Diagnostic(
            id=ids.AGREEMENT_PAIRS,
            explainer=self.name,
            title="Agreement of every two rankings",
            frame=frame[list(kinds.Diagnostic.columns)],
            estimates=estimates,
            options=asdict(self),
            notes=PAIR_NOTES,
            omissions=gaps if pairs else (none,),
        )

    def _compare(self, a: Method, b: Method) -> tuple[list[dict[str, Any]], list[kinds.Omission]]:
        """Return the lines of one pair over their common features, or why there are none."""
        common = tuple(name for name in a.features if name in b.features)
        measure = a.measure if a.measure == b.measure else ""
        if len(common) < 2:
            reason = f"{a.label} and {b.label} have {len(common)} features in common, so no order to compare"
            return [], [kinds.Omission(measure, "", reason)]
        x, y = a.among(common), b.among(common)
        k = min(self.top_k, len(common) // 2)
        pair: dict[str, Any] = {"measure": measure, "feature": "", "covers": "none", "n_features": len(common)}
        pair |= {"first": a.label, "second": b.label, "top_k": k}
        overlap = pair | {"item": OVERLAP, "estimate": top_overlap(x, y, k), "by_chance": k / len(common)}
        if flat := [method for method, own in ((a, x), (b, y)) if not np.ptp(own)]:
            reason = "one of two rankings gives all features the same rank, so its tau-b with another is undefined"
            return [overlap], [kinds.Omission(method.measure, "", reason) for method in flat]
        from scipy.stats import kendalltau  # here: heavy, and a list of plugins ranks nothing

        return [pair | {"item": KENDALL, "estimate": float(kendalltau(x, y).statistic), "by_chance": 0.0}, overlap], []

    def _stability(self, rankings: Sequence[Method]) -> kinds.Diagnostic:
        lines = []
        for method in rankings:
            if method.draws is None:
                continue
            entropy, most = rank_entropy(method.draws), float(np.log(len(method.features)))
            for feature, value in (("", float(entropy.mean())), *zip(method.features, entropy.tolist(), strict=True)):
                lines.append((method.measure, feature, value, *[np.nan] * 4, "none", method.id, most))
        gaps = [kinds.Omission(method.measure, "", method.why) for method in rankings if method.draws is None]
        omissions = tuple(gaps) if rankings else (kinds.Omission("", "", NOTHING),)
        facts: dict[str, Any] = {"options": asdict(self), "notes": STABILITY_NOTES, "omissions": omissions}
        title = "Entropy of the ranks over bootstrap samples"
        return diagnostic(ids.AGREEMENT_STABILITY, title, lines, ("item", "largest"), x="largest", **facts)


def _lines(method: Method, confidence: float) -> Iterator[tuple[Any, ...]]:
    """Yield the rank of every feature, with its interval where there is one."""
    for feature, value in zip(method.features, method.value.tolist(), strict=True):
        rank, *ends = map(float, method.at(feature))
        interval: tuple[Any, ...] = (*ends, confidence, "new test samples, all ranks together")
        if method.bounds is None:
            interval = (np.nan, np.nan, np.nan, "none")
        yield (method.measure, feature, rank, np.nan, *interval, method.id, method.role, value)
