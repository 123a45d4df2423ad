"""Why two methods rank a feature differently, where another result says so, and only as far as it says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import pandas as pd

from ...core.explainer import Prior
from ...core.parting import parting
from ...core.results import Result
from .rankings import Method

SHUFFLES = ("pfi", "pfi.train", "dalex.model_parts")
COMPOSES = (*SHUFFLES, "shap.importance")
DERIVATIVES = ("rsens", "ead", "aed")
AVERAGES = ("aed", "apc", "pd")
INTERACTS_FROM = 0.05
BENDS_FROM = 0.2
UNEXPLAINED = "Not explained by any result here."
OTHER_QUESTION = "The two measures ask different questions; no other result here says more."
MOST = 60


class Reason(NamedTuple):
    """A sentence and the ids of the results that say so."""

    sentence: str
    evidence: tuple[str, ...]


class Known(NamedTuple):
    """Every result so far by id, and the confidence of what is concluded from them."""

    results: Mapping[str, Result]
    confidence: float

    def verdict(self, measure: str, feature: str) -> str:
        """Return pfi's verdict on a feature, or the empty string."""
        found = self.results.get("pfi")
        if found is None or "verdict" not in found.estimates:
            return ""
        rows = found.estimates[(found.estimates["measure"] == measure) & (found.estimates["feature"] == feature)]
        return str(rows["verdict"].iloc[0]) if len(rows) else ""


class Case(NamedTuple):
    """A feature that one method ranks higher than another; `sure` if both ranks have intervals, and they are apart."""

    feature: str
    high: Method
    low: Method
    sure: bool
    gap: int


def disagreements(found: Sequence[Method], prior: Prior, confidence: float) -> tuple[list[dict[str, Any]], int]:
    """Return the leading disagreements with their explanations as JSON values, and how many there are.

    Compared are rankings of the same features: methods that answer the same question, and the measures
    of one method. Ranks disagree where their intervals are apart, or where a rank without an interval
    lies outside the other's interval, which then is no proof.
    """
    cases = [case for a, b in combinations(found, 2) if _comparable(a, b) for case in _cases(a, b)]
    cases.sort(key=lambda case: (not case.sure, -case.gap))
    known = Known({result.id: result for made in prior.values() for result in made}, confidence)
    return [_told(case, known) for case in cases[:MOST]], len(cases)


def _comparable(a: Method, b: Method) -> bool:
    one_method = a.id == b.id and not (a.own and b.own)
    intervals = a.bounds is not None or b.bounds is not None
    return intervals and set(a.features) == set(b.features) and one_method != _same_question(a, b)


def _same_question(a: Method, b: Method) -> bool:
    return a.role == b.role or "" in (a.role, b.role)


def _cases(a: Method, b: Method) -> Iterator[Case]:
    sure = a.bounds is not None and b.bounds is not None
    for feature in a.features:
        (_, low_a, high_a), (_, low_b, high_b) = a.at(feature), b.at(feature)
        if high_a < low_b:
            yield Case(feature, a, b, sure, low_b - high_a)
        elif high_b < low_a:
            yield Case(feature, b, a, sure, low_a - high_b)


def _told(case: Case, known: Known) -> dict[str, Any]:
    reasons = [reason for rule in RULES if (reason := rule(case, known)) is not None]
    places = " but ".join(f"{_place(method, case.feature)} by {method.label}" for method in (case.high, case.low))
    unsure = "" if case.sure else " One of the two ranks has no interval, so this may be chance."
    why = " ".join(sentence for sentence, _ in reasons) or (
        UNEXPLAINED if _same_question(case.high, case.low) else OTHER_QUESTION
    )
    return {
        "feature": case.feature,
        "methods": [case.high.id, case.low.id],
        "measures": [case.high.measure, case.low.measure],
        "sentence": f"{case.feature} is ranked {places}.{unsure} {why}",
        "evidence": sorted({id_ for reason in reasons for id_ in reason.evidence}),
        "sure": case.sure,
        "explained": bool(reasons),
    }


def _place(method: Method, feature: str) -> str:
    rank, low, high = method.at(feature)
    return f"{rank}" if low == high else f"{low} to {high}"


def _covered(case: Case, known: Known) -> Reason | None:
    """Return covered information whose interval is above 0, where a shuffle of a loss is the lower one."""
    cid = known.results.get("cid")
    if cid is None or not _shuffles_only(case.low, case.high) or case.low.role != "loss":
        return None
    rows = cid.estimates[cid.estimates["feature"] == case.feature].set_index("item")
    if "covered information" not in rows.index:
        return None
    line = {name: float(rows[rows.index == "covered information"][name].iloc[0]) for name in ("lower", "upper")}
    if not line["lower"] > 0:
        return None
    net = rows["estimate"][rows.index == "covered share"]
    share = f", a share of {float(net.iloc[0]):.2f}" if len(net) else ""
    return Reason(
        f"Other features cover information of {case.feature} about y ({line['lower']:.3g} to {line['upper']:.3g} "
        f"nats{share}); {case.low.id} shuffles it alone and leaves them as they are.",
        ("cid",),
    )


def _interacts(case: Case, known: Known) -> Reason | None:
    """Return the H-statistic, where the lower method counts interactions less than the other."""
    found, difference = known.results.get("h_statistic"), _counts_less(case)
    if found is None or not difference:
        return None
    rows = found.estimates[(found.estimates["feature"] == case.feature) & (found.estimates["feature_2"] == "")]
    rows = rows[rows["ranked"].astype(bool)]
    by_measure = dict(zip(rows["measure"], rows["estimate"], strict=True))
    measure = next((name for name in (case.low.measure, "prediction") if name in by_measure), None)
    if measure is None or by_measure[measure] < INTERACTS_FROM:
        return None
    return Reason(
        f"{case.feature} interacts: its H² with all other features is {by_measure[measure]:.2f} for {measure} on the "
        f"rows used (an additive model has 0; it has no interval). {difference}",
        ("h_statistic",),
    )


def _counts_less(case: Case) -> str:
    """Return how the lower method counts interactions less than the other, or the empty string."""
    high, low = case.high, case.low
    averages = [method.id == "rsens.comparators" and method.measure in AVERAGES for method in (high, low)]
    if averages == [False, True]:
        return (
            f"{low.label} averages effects over the other features, where opposite ones cancel; {high.label} does not."
        )
    if _shuffles_only(high, low):
        return f"{high.id} counts an interaction whole for each of its features; {low.id} does not."
    return ""


def _bends(case: Case, known: Known) -> Reason | None:
    """Return R-sens₂ with another feature, where its interval is above a share of the feature's R-sens."""
    pairs, main = known.results.get("rsens.interaction"), known.results.get("rsens")
    difference = _counts_less(case)
    if pairs is None or main is None or not difference:
        return None
    with_it = (pairs.estimates[["feature", "feature_2"]] == case.feature).any(axis=1)
    rows = pairs.estimates[with_it & (pairs.estimates["measure"] == "rsens2")]
    size = main.estimates.loc[main.estimates["feature"] == case.feature, "estimate"]
    if not len(rows) or not len(size) or not rows["lower"].max() >= BENDS_FROM * size.iloc[0] > 0:
        return None
    top = rows.sort_values("lower").iloc[-1]
    other = top["feature_2"] if top["feature"] == case.feature else top["feature"]
    return Reason(
        f"{case.feature} interacts with {other}: their R-sens₂ is at least {top['lower'] / size.iloc[0]:.0%} of the "
        f"R-sens of {case.feature}. {difference}",
        ("rsens", "rsens.interaction"),
    )


def _extrapolates(case: Case, known: Known) -> Reason | None:
    """Return where the model is surer, or ALE and PDP part, if only one of the methods leaves the data."""
    composes = [method.id in COMPOSES for method in (case.high, case.low)]
    local = [method.id.startswith("rsens") and method.measure in DERIVATIVES for method in (case.high, case.low)]
    if not (any(composes) and any(local)):
        return None
    composing = case.high if composes[0] else case.low
    if known.verdict("entropy", case.feature) == "negative":
        return Reason(
            f"Its Entropy-PFI is negative: the model is surer on shuffled values of {case.feature}, on which "
            f"{composing.id} evaluates it.",
            ("pfi",),
        )
    measures = [case.low.measure, case.high.measure, "prediction"]
    measure = next((m for m in measures if profiles_part(known.results, m, case.feature, known.confidence)), None)
    if measure is None:
        return None
    return Reason(
        f"ALE and PDP of {measure} along {case.feature} differ by more than their intervals, and {composing.id} "
        "evaluates the model on combinations that ALE leaves out.",
        ("ale", "pdp"),
    )


def _read(case: Case, known: Known) -> Reason | None:
    """Return the reading of Likelihood- and Entropy-PFI, where these two are what differs."""
    reading = known.results.get("pfi.reading")
    if reading is None or {case.high.id, case.low.id} != {"pfi"}:
        return None
    if {case.high.measure, case.low.measure} != {"entropy", reading.meta.get("likelihood")}:
        return None
    items = dict(zip(reading.frame["feature"], reading.frame["item"], strict=True))
    if items.get(case.feature, "undetermined") == "undetermined":
        return None
    return Reason(str(reading.meta["sentences"][case.feature]), ("pfi.reading",))


RULES: tuple[Callable[[Case, Known], Reason | None], ...] = (
    _covered,
    _interacts,
    _bends,
    _extrapolates,
    _read,
)


def profiles_part(results: Mapping[str, Result], measure: str, feature: str, confidence: float) -> bool:
    """Say whether ALE and PDP change by amounts that differ by more than their errors allow, at any point."""
    ale, pdp = (_curve(results.get(name), measure, feature) for name in ("ale", "pdp"))
    return ale is not None and pdp is not None and parting(ale, pdp, confidence) is not None


def _curve(result: Result | None, measure: str, feature: str) -> pd.DataFrame | None:
    """Return the points of a plain numeric curve in order, or None."""
    if result is None or result.options.get("mode", "plain") != "plain":
        return None
    rows = result.estimates[(result.estimates["measure"] == measure) & (result.estimates["feature"] == feature)]
    numeric = len(rows) and (rows["level"] == "").all() and rows["x"].notna().all()
    return rows.sort_values("x") if numeric else None


def _shuffles_only(one: Method, other: Method) -> bool:
    return one.id in SHUFFLES and other.id not in SHUFFLES
