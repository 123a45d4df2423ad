"""Agreement between methods: every ranking of the features, how sure its ranks are, and where methods part."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model import results as kinds
from ...core.model.measures import CHANGES, ENTROPY, PREDICTION, without_parts
from ...core.model.results import Importance, Interaction, MeasureFacts, Omission, Result
from ...core.model.subject import Subject
from ...core.statistics.curve_gap import parting
from ...core.statistics.inference import MIN_CLUSTERS, n_units
from ...core.statistics.ranking import (
    ROUNDING,
    RankIntervals,
    normal_draws,
    rank_entropy,
    rank_intervals,
    ranks,
    term_covariance,
    top_overlap,
)
from ...core.support import options as opt
from ...core.support.arrays import FloatArray, IntArray
from ...core.support.text import count
from ...evidence import columns as col, ids
from ...evidence.importance import NEGATIVE, RSENS, RSENS2, directed
from ...evidence.information import CONVENTIONS, COVERED, KENDALL, OVERLAP, SHARE, SIGNED_CHANGE
from ..shared.cards import CardedExplainer
from ..shared.estimates import diagnostic

CLOSE = 1e-6


@dataclass(frozen=True)
class Method:
    """One result's importances of one measure: values (d,), ranks, bounds where there are any, draws of the values.

    `sign` is -1 where the smallest value is ranked first; `own` says that the measure is no registered one but the
    name of a method.
    """

    id: str
    title: str
    measure: str
    role: str
    features: tuple[str, ...]
    value: FloatArray
    rank: IntArray
    bounds: RankIntervals | None
    draws: FloatArray | None
    why: str
    sign: int
    own: bool

    @property
    def label(self) -> str:
        """The method and what it explains, as text."""
        return f"{self.id}: {self.measure}" if self.measure else self.id

    def among(self, features: Sequence[str]) -> IntArray:
        """Return the ranks among some of the features."""
        values = [-self.rank[self.features.index(name)] for name in features]  # the smallest rank leads
        return ranks(np.array(values, dtype=float))

    def at(self, feature: str) -> tuple[int, int, int]:
        """Return rank, lower and upper bound of a feature; those of its tie where there is no interval."""
        j = self.features.index(feature)
        rank = int(self.rank[j])
        if self.bounds is None:
            return rank, rank, rank + int((self.rank == rank).sum()) - 1
        return rank, int(self.bounds.lower[j]), int(self.bounds.upper[j])


def methods(
    prior: Prior, engine: Engine, absolute: bool, n_draws: int
) -> tuple[tuple[Method, ...], tuple[Omission, ...]]:
    """Return every ranking that the results give, in their order, and the features that have no place in one.

    Ranked are importances by their size where `absolute`, else with their sign; bounds take `n_draws` draws.
    """
    names = engine.subject.features
    rankings, gaps = [], []
    every = list(chain.from_iterable(prior.values()))
    sized = any(result.id == ids.PFI_UNCERTAINTY for result in every)
    for result in every:
        tables = {measure: rows[rows[col.FEATURE].isin(names)] for measure, rows in _tables(result)}
        signed = sized and CONVENTIONS.get(result.id) == SIGNED_CHANGE
        for measure in without_parts(tables):
            if signed and measure in CHANGES:  # a mean change of an uncertainty names no driver
                continue
            table = tables[measure]
            if table[col.FEATURE].duplicated().any():
                gaps.append(Omission(measure, "", "one method has several values per feature: no ranking"))
                continue
            present = set(table[col.FEATURE])
            missing = [name for name in names if name not in present]
            fuller = _fuller(result, measure, tables, engine) if missing and len(table) else ""
            if fuller:
                reason = f"it has no value for {count(len(missing), 'feature')}, and {fuller} ranks more of them"
                gaps.append(Omission(measure, "", reason))
                continue
            gaps += [Omission(measure, name, "one method has no value for it") for name in missing]
            if len(table):
                rankings.append(_method(result, measure, table, engine, absolute, n_draws))
    return tuple(rankings), tuple(gaps)


def _fuller(result: Result, measure: str, tables: Mapping[str, pd.DataFrame], engine: Engine) -> str:
    """Return another measure of the question that has values of more features; empty if there is none.

    A log score that is infinite for some features ranks the others alone, and so none of those that cost most.
    """
    role = _facts(result, measure, engine).role
    others = (m for m in tables if role and m != measure and _facts(result, m, engine).role == role)
    return next((m for m in others if len(tables[m]) > len(tables[measure])), "")


def _tables(result: Result) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield measure and estimates of an importance, or of interactions with all other features together."""
    table = result.estimates
    if result.kind == Interaction.kind and col.FEATURE_2 in table:
        table = table[table[col.FEATURE_2] == ""]
    elif result.kind != Importance.kind:
        return
    if "ranked" in table:
        table = table[table["ranked"].astype(bool)]
    for measure, rows in table.groupby(col.MEASURE, sort=False):
        yield str(measure), rows[rows[col.ESTIMATE].notna()]


def _method(result: Result, measure: str, table: pd.DataFrame, engine: Engine, absolute: bool, n_draws: int) -> Method:
    features, facts = tuple(map(str, table[col.FEATURE])), _facts(result, measure, engine)
    sign, rounding = directed(result, facts).sign, _rounding(measure, engine)
    value = _cleared(table[col.ESTIMATE].to_numpy(dtype=float), rounding)
    directed_value = sign * value
    bounds, draws = None, None
    terms = _terms(result, measure, features, value, engine.subject, rounding)
    why = terms if isinstance(terms, str) else _too_few(table, *terms[1:])
    if not isinstance(terms, str) and not why:
        covariance, units = term_covariance(*terms), n_units(*terms[1:])  # that of values of the other sign is the same
        error = table[col.STD_ERROR].to_numpy(dtype=float)
        noise = normal_draws(covariance, n_draws, engine.rng("draws", result.id, measure))
        level = engine.confidence
        bounds = rank_intervals(directed_value, covariance, error, noise, units, confidence=level, absolute=absolute)
        draws = np.abs(noise + directed_value) if absolute else noise + directed_value
    return Method(
        id=result.id,
        title=result.title,
        measure=measure,
        role=_role(result, measure, facts),
        features=features,
        value=value,
        rank=ranks(np.abs(value) if absolute else directed_value),
        bounds=bounds,
        draws=draws,
        why=why,
        sign=sign,
        own=measure not in engine.measures,
    )


def _facts(result: Result, measure: str, engine: Engine) -> MeasureFacts:
    """Return what the result records of a measure, else what is registered."""
    registered = engine.measures.get(measure)
    if measure in result.measures or registered is None:
        return result.measures.get(measure, MeasureFacts(measure, "", ""))
    return MeasureFacts(registered.title, registered.unit, registered.role, registered.direction)


def _terms(
    result: Result, measure: str, features: Sequence[str], value: FloatArray, subject: Subject, rounding: float
) -> tuple[FloatArray, FloatArray, IntArray | None] | str:
    """Return row terms (d, n), weights and clusters, or why there are none to be had."""
    values = result.rows
    if values is None or measure not in values.measures or not set(features) <= set(values.features):
        return "it has no terms of single observations"
    rows = _cleared(np.stack([values.of(measure, name) for name in features]), rounding)
    used = result.meta.get("rows_used", range(subject.n))
    sample = np.atleast_1d(np.asarray(used, dtype=np.int64))
    if rows.shape[1] != len(sample):
        return "it does not state to which observations its terms belong"
    weights = np.ones(len(sample)) if subject.weights is None else subject.weights[sample]
    with np.errstate(invalid="ignore"):
        off = np.abs(rows @ (weights / weights.sum()) - value)
    if not (off <= CLOSE * max(float(np.abs(value).max()), float(np.abs(rows).mean()))).all():
        return "its terms of single observations do not average to its importances"
    return rows, weights, None if subject.clusters is None else subject.clusters[sample]


def _rounding(measure: str, engine: Engine) -> float:
    """Return the size below which an importance is rounding, from that of the measure itself where it is known."""
    registered = engine.measures.get(measure)
    if registered is None or registered.why_not(engine.baseline, engine.subject.y is not None):
        return 0.0
    values = np.abs(engine.unchanged([registered])[0])
    return ROUNDING * float(values[np.isfinite(values)].mean()) if np.isfinite(values).any() else 0.0


def _cleared(values: FloatArray, rounding: float) -> FloatArray:
    """Return the values with 0 for rounding, so that what is exactly 0 ties."""
    return np.where(np.abs(values) <= rounding, 0.0, values)


def _too_few(table: pd.DataFrame, weights: FloatArray, clusters: IntArray | None) -> str:
    """Return why the ranks have no intervals, or the empty string."""
    units = n_units(weights, clusters)
    if clusters is not None and units < MIN_CLUSTERS:
        few = f"{count(units, 'cluster')} cannot show the variation between clusters"
        return f"{few}; at least {MIN_CLUSTERS} are needed"
    known = table[col.STD_ERROR].notna().all()
    covers = known and all(str(cell).startswith("new test samples") for cell in table[col.COVERS])
    return "" if covers and units > 1 else "its importances have no interval over new test samples"


def _role(result: Result, measure: str, facts: MeasureFacts) -> str:
    """Return which question a method answers: a measure's role, or interaction; empty where nobody says.

    DALEX's importance of the prediction is the rise of a loss.
    """
    if result.kind == Interaction.kind:
        return "interaction"
    losses: Mapping[str, str] = result.meta.get("losses", {})
    return facts.role if losses.get(measure, f"mean {measure}") == f"mean {measure}" else "loss"


SHUFFLES = (ids.PFI, ids.PFI_UNCERTAINTY, ids.PFI_TRAIN, ids.DALEX_PARTS)
COMPOSES = (*SHUFFLES, ids.SHAP_IMPORTANCE)
DERIVATIVES = (RSENS, "ead", "aed")
AVERAGES = ("aed", "apc", "pd")
INTERACTS_FROM = 0.05
BENDS_FROM = 0.2
UNEXPLAINED = "No result of this run explains it."
OTHER_QUESTION = "The two measures answer different questions; no result of this run explains more."
MOST = 60
Results = Mapping[str, Result]  # every result so far by id
Reason = tuple[str, tuple[str, ...]]  # a sentence, and the ids of the results that say so


def lines(results: Results, id: str, **where: str) -> pd.DataFrame:
    """Return the estimates of a result whose columns have the given values; none if there is no such result."""
    result = results.get(id)
    if result is None:
        return pd.DataFrame(columns=["measure", "feature", "estimate"])
    selected = np.all([result.estimates[name].to_numpy() == value for name, value in where.items()], axis=0)
    return result.estimates[selected]


class RankedCase(NamedTuple):
    """A feature that one method ranks higher than another; `sure` if both ranks have intervals, and they are apart."""

    feature: str
    high: Method
    low: Method
    sure: bool
    gap: int


def disagreements(rankings: Sequence[Method], prior: Prior, confidence: float) -> tuple[list[dict[str, Any]], int]:
    """Return the leading disagreements with their explanations as JSON values, and how many there are.

    Compared are rankings of the same features: methods that answer the same question, and the measures
    of one method. Ranks disagree where their intervals are apart, or where a rank without an interval
    lies outside the other's interval, which then is no proof.
    """
    cases = [case for a, b in combinations(rankings, 2) if _comparable(a, b) for case in _cases(a, b)]
    cases.sort(key=lambda case: (not case.sure, -case.gap))
    results = {result.id: result for several in prior.values() for result in several}
    return [_explained(case, results, confidence) for case in cases[:MOST]], len(cases)


def _comparable(a: Method, b: Method) -> bool:
    same_method = a.id == b.id and not (a.own and b.own)
    intervals = a.bounds is not None or b.bounds is not None
    return intervals and set(a.features) == set(b.features) and same_method != _same_question(a, b)


def _same_question(a: Method, b: Method) -> bool:
    return a.role == b.role or "" in (a.role, b.role)


def _cases(a: Method, b: Method) -> Iterator[RankedCase]:
    sure = a.bounds is not None and b.bounds is not None
    for feature in a.features:
        for high, low in ((a, b), (b, a)):
            gap = low.at(feature)[1] - high.at(feature)[2]
            if gap > 0:
                yield RankedCase(feature, high, low, sure, gap)


def _explained(case: RankedCase, results: Results, confidence: float) -> dict[str, Any]:
    explanations = (_covered, _interacts, _bends, partial(_extrapolates, confidence=confidence))
    reasons = [reason for explanation in explanations if (reason := explanation(case, results)) is not None]
    places = " but ".join(f"{_place(method, case.feature)} by {method.label}" for method in (case.high, case.low))
    caveat = "" if case.sure else " One of the two ranks has no interval, so the difference may be due to chance."
    none = UNEXPLAINED if _same_question(case.high, case.low) else OTHER_QUESTION
    why = " ".join(sentence for sentence, _ in reasons) or none
    return {
        "feature": case.feature,
        "methods": [case.high.id, case.low.id],
        "measures": [case.high.measure, case.low.measure],
        "sentence": f"{case.feature} is ranked {places}.{caveat} {why}",
        "evidence": sorted({result for _, evidence in reasons for result in evidence}),
        "sure": case.sure,
        "explained": bool(reasons),
    }


def _place(method: Method, feature: str) -> str:
    rank, low, high = method.at(feature)
    return f"{rank}" if low == high else f"{low} to {high}"


def _covered(case: RankedCase, results: Results) -> Reason | None:
    """Return covered information whose interval is above 0, where a shuffle of a loss is the lower one."""
    covered = lines(results, ids.CID, feature=case.feature, item=COVERED) if ids.CID in results else pd.DataFrame()
    if covered.empty or not _shuffles_only(case.low, case.high) or case.low.role != "loss":
        return None
    lower, upper = covered[[col.LOWER, col.UPPER]].iloc[0]
    if not lower > 0:
        return None
    net = lines(results, ids.CID, feature=case.feature, item=SHARE)[col.ESTIMATE]
    share = f", a share of {net.iloc[0]:.2f}" if len(net) else ""
    return (
        f"Other features share information of {case.feature} about y ({lower:.3g} to {upper:.3g} nats{share}); "
        f"{case.low.id} permutes it alone and leaves them unchanged."
    ), (ids.CID,)


def _interacts(case: RankedCase, results: Results) -> Reason | None:
    """Return the H-statistic, where the lower method counts interactions less than the other."""
    difference = _counts_less(case)
    if ids.H_STATISTIC not in results or not difference:
        return None
    rows = lines(results, ids.H_STATISTIC, feature=case.feature, feature_2="")
    columns = (rows[name].tolist() for name in (col.MEASURE, col.ESTIMATE, "ranked"))
    strengths = {measure: strength for measure, strength, ranked in zip(*columns, strict=True) if ranked}
    measure = next((name for name in (case.low.measure, PREDICTION.name) if name in strengths), None)
    if measure is None or strengths[measure] < INTERACTS_FROM:
        return None
    return (
        f"{case.feature} interacts: its H² with all other features is {strengths[measure]:.2f} for {measure} on the "
        f"sample used (0 for an additive model; no interval). {difference}"
    ), (ids.H_STATISTIC,)


def _counts_less(case: RankedCase) -> str:
    """Return how the lower method counts interactions less than the other, or the empty string."""
    high, low = case.high, case.low
    averages = [method.id == ids.RSENS_COMPARATORS and method.measure in AVERAGES for method in (high, low)]
    if averages == [False, True]:
        cancels = f"{low.label} averages effects over the other features, where opposite ones cancel"
        return f"{cancels}; {high.label} does not."
    if _shuffles_only(high, low):
        return f"{high.id} attributes an interaction in full to each of its features; {low.id} does not."
    return ""


def _bends(case: RankedCase, results: Results) -> Reason | None:
    """Return R-sens₂ with another feature, where its interval is above a share of the feature's R-sens."""
    difference = _counts_less(case)
    size = lines(results, ids.RSENS, feature=case.feature)[col.ESTIMATE]
    if ids.RSENS_INTERACTION not in results or not len(size) or not difference:
        return None
    rows = lines(results, ids.RSENS_INTERACTION, measure=RSENS2)
    rows = rows[np.any([rows[name].to_numpy() == case.feature for name in (col.FEATURE, col.FEATURE_2)], axis=0)]
    if not len(rows) or not rows[col.LOWER].max() >= BENDS_FROM * size.iloc[0] > 0:
        return None
    top = rows.sort_values(col.LOWER).iloc[-1]
    other = top[col.FEATURE_2] if top[col.FEATURE] == case.feature else top[col.FEATURE]
    return (
        f"{case.feature} interacts with {other}: their R-sens₂ is at least {top[col.LOWER] / size.iloc[0]:.0%} of the "
        f"R-sens of {case.feature}. {difference}"
    ), (ids.RSENS, ids.RSENS_INTERACTION)


def _extrapolates(case: RankedCase, results: Results, *, confidence: float) -> Reason | None:
    """Return where the model is more confident, or ALE and PDP part, if only one of the methods leaves the data."""
    composes = [method.id in COMPOSES for method in (case.high, case.low)]
    local = [ids.explainer_of(m.id) == ids.RSENS and m.measure in DERIVATIVES for m in (case.high, case.low)]
    if not (any(composes) and any(local)):
        return None
    composing = (case.high if composes[0] else case.low).id
    entropy = lines(results, ids.PFI, feature=case.feature, measure=ENTROPY.name)
    if col.VERDICT in entropy and (entropy[col.VERDICT] == NEGATIVE).any():
        why = f"the model is more confident on permuted values of {case.feature}, on which {composing} evaluates it"
        return f"Its Entropy-PFI is negative: {why}.", (ids.PFI,)
    for measure in (case.low.measure, case.high.measure, PREDICTION.name):
        if profiles_part(results, measure, case.feature, confidence):
            differ = f"ALE and PDP of {measure} along {case.feature} differ by more than their intervals"
            where = f"{composing} evaluates the model on combinations that ALE leaves out"
            return f"{differ}, and {where}.", (ids.ALE, ids.PDP)
    return None


def profiles_part(results: Results, measure: str, feature: str, confidence: float) -> bool:
    """Say whether ALE and PDP change by amounts that differ by more than their errors allow, at any point."""
    local, average = (_curve(results, name, measure, feature) for name in (ids.ALE, ids.PDP))
    return local is not None and average is not None and parting(local, average, confidence) is not None


def _curve(results: Results, id: str, measure: str, feature: str) -> pd.DataFrame | None:
    """Return the points of a plain numeric curve in order, or None."""
    if id not in results or results[id].options.get("mode", "plain") != "plain":
        return None
    rows = lines(results, id, measure=measure, feature=feature)
    numeric = len(rows) and (rows[col.LEVEL] == "").all() and rows[col.X].notna().all()
    return rows.sort_values(col.X) if numeric else None


def _shuffles_only(method: Method, other: Method) -> bool:
    return method.id in SHUFFLES and other.id not in SHUFFLES


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
    title = "Impurity-based importance of the model (Gini)"
    facts = kinds.MeasureFacts("mean decrease of impurity", "", "")
    frame = pd.DataFrame({"measure": GINI, "feature": list(subject.features), "repeat": 0, "value": values})
    frame, estimates = frame[list(kinds.Importance.columns)], kinds.bare_estimates(frame)
    names: dict[str, Any] = {"id": GINI, "explainer": ids.AGREEMENT, "title": title}
    return kinds.Importance(**names, frame=frame, estimates=estimates, measures={GINI: facts})


@dataclass(frozen=True)
class Agreement(CardedExplainer):
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
