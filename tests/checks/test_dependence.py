"""Importance that partners hide, losses that the model does not notice, and pairs that repeat each other."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.linear_model import LogisticRegression

from uq_report.checks.reading import signs
from uq_report.core.model.results import Diagnostic, Importance, RowValues
from uq_report.core.model.subject import make_subject
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Outcome
from uq_report.evidence.importance import Pfi
from uq_report.evidence.run import NotRun
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.methods.redundancy.check import Dependence, Unnoticed, _above_zero, affected
from uq_report.testing import KnownLogistic, KnownTruth

from .importances import audited, diagnostic, outcome, pfi, run

PLUS, ZERO, MINUS, OPEN = (0.1, 0.01), (0.0, 0.003), (-0.1, 0.01), (0.01, 0.01)
NONE = float("nan")
UNCOVERED = {"a": (0.3, 0.3, 0.0, ()), "b": (0.2, 0.201, 0.003, ("a",))}
UNRELATED = {"a": (0.1, 0.05), "b": (0.1, 0.05)}


def read(error: float = 0.003, /, **pairs: tuple[tuple[float, float], tuple[float, float]]) -> Importance:
    """Return ``pfi`` with Entropy- and Likelihood-PFI of each feature; `error` is that of their difference."""
    made = pfi({"entropy": {f: E for f, (E, _) in pairs.items()}, "nll": {f: L for f, (_, L) in pairs.items()}})
    shared, own = np.tile([-1.0, 1.0], 100), error * np.sqrt(199) * np.repeat([-1.0, 1.0], 100)
    terms = [[pair[m][0] + shared + m * own for pair in pairs.values()] for m in (0, 1)]
    return replace(made, rows=RowValues(("entropy", "nll"), tuple(pairs), np.array(terms)))


def cover(table: Mapping[str, tuple[float, float, float, tuple[str, ...]]], measure: str = "nll") -> Importance:
    """Return ``cover`` from plain and corrected importance, the error of their difference, and the partners."""
    made = pfi({measure: {f: (both, error) for f, (_, both, error, _) in table.items()}})
    lines = made.estimates
    alone = np.array([plain for plain, _, _, _ in table.values()])
    errors = np.array([error for _, _, error, _ in table.values()])
    change = lines["estimate"].to_numpy() - alone
    blank = dict.fromkeys(("plain_lower", "plain_upper", "joint", "joint_lower", "joint_upper"), 0.0)
    lines = lines.assign(
        **blank,
        plain=alone,
        change=change,
        change_std_error=errors,
        change_lower=change - 2 * errors,
        change_upper=change + 2 * errors,
        partners=[", ".join(partners) for *_, partners in table.values()],
        rank=(-lines["estimate"]).rank(method="min").astype(int),
        plain_rank=pd.Series(-alone).rank(method="min").astype(int),
    )
    meta = {"degrees_of_freedom": 199, "partners": {f: list(partners) for f, (*_, partners) in table.items()}}
    return replace(made, id="cover", explainer="cover", estimates=lines, meta=meta)


def redundancy(skill: dict[str, tuple[float, float]], n: int = 200) -> Diagnostic:
    """Return ``redundancy`` from R² and its standard error."""
    lines = [
        {"feature": f, "item": item, "estimate": v, "std_error": e, "lower": v - 2 * e, "upper": v + 2 * e, "n": n}
        for f, (v, e) in skill.items()
        for item in ("without target", "with target")
    ]
    return diagnostic("redundancy", lines)


def partners(**pairs: tuple[str, float]) -> Diagnostic:
    lines: list[dict[str, Any]] = [{"feature": f, "item": to, "estimate": v} for f, (to, v) in pairs.items()]
    return diagnostic("redundancy.partner", lines)


CALM = read(a=(PLUS, PLUS), b=(PLUS, PLUS))
STRANGERS = partners(a=("b", 0.1), b=("a", 0.1))


def judged(
    importance: Importance | None = CALM,
    covered: Importance | None = None,
    repeated: Diagnostic | None = None,
    pairs: Diagnostic | None = STRANGERS,
    check: Dependence | None = None,
) -> Outcome:
    given = (importance, covered or cover(UNCOVERED), repeated or redundancy(UNRELATED), pairs)
    return (check or Dependence()).check(run(*(one for one in given if one is not None)))


def codes(found: Outcome) -> list[tuple[str, tuple[str, ...]]]:
    return [(finding.code, finding.features) for finding in found.findings]


def test_a_loss_that_the_model_does_not_notice_is_an_observation_with_its_share_and_size() -> None:
    scores = diagnostic("calibration", [{"item": "log_score_skill", "estimate": 0.2}])
    known = redundancy(UNRELATED)
    found = Dependence().check(run(read(a=(ZERO, PLUS), b=(PLUS, PLUS)), cover(UNCOVERED), scores, known))
    assert codes(found) == [("UQ202", ("a",))]
    finding = found.findings[0]
    assert (finding.severity, finding.evidence) == ("observation", ("pfi", "pfi.reading", "redundancy"))
    assert finding.threshold == 0.01
    assert (finding.observed, finding.size) == pytest.approx((0.1, 0.5))
    assert finding.statement.startswith(
        "Permuting a increases the negative log-likelihood by 0.100 nats, and the stated uncertainty is not shown to "
        "increase: 0.100 nats (95% CI 0.094 to 0.106) are not signalled, 50% of the model's skill"
    )
    little = diagnostic("calibration", [{"item": "log_score_skill", "estimate": 0.04}])
    two = run(read(a=(ZERO, PLUS)), little, known, classes=["no", "yes"])
    assert Dependence().check(two).findings[0].statement.endswith("not signalled, 2.5 times the model's skill.")
    assert Dependence().check(two).findings[0].statement.startswith("Permuting a increases the log loss by 0.100")
    half = judged(read(a=((0.05, 0.01), PLUS))).findings[0]
    assert half.statement == (
        "The stated uncertainty does not signal 0.050 nats (95% CI 0.044 to 0.056) of the 0.100 nats by which "
        "permuting a increases the negative log-likelihood."
    )
    assert half.size is None
    no_skill = diagnostic("calibration", [{"item": "log_score_skill", "estimate": 0.0}])
    assert Dependence().check(run(read(a=(ZERO, PLUS)), no_skill, known)).findings[0].size is None


@pytest.mark.parametrize(("skill", "raised"), [(0.101, True), (0.099, False)])
def test_a_loss_that_is_not_signalled_counts_where_the_other_features_predict_its_cause(
    skill: float, raised: bool
) -> None:
    found = judged(read(a=(ZERO, PLUS), b=(PLUS, PLUS)), repeated=redundancy(dict.fromkeys("ab", (skill, 0.0001))))
    assert codes(found) == [("UQ202", ("a",))] * raised
    assert raised or "UQ202 is undetermined" not in found.reason
    assert (
        "UQ202 is undetermined for a"
        in judged(read(a=(ZERO, PLUS), b=(PLUS, PLUS)), repeated=redundancy({"b": (0.5, 0.1)})).reason
    )
    alone = Dependence().check(run(read(a=(ZERO, PLUS))))
    assert "UQ202" not in {finding.code for finding in alone.findings}


def test_the_loss_as_a_whole_has_the_decimals_of_the_part_that_goes_unnoticed() -> None:
    (finding,) = judged(read(0.04, a=(ZERO, (0.4, 0.01)), b=((0.3, 0.01), (0.7, 0.01)))).findings
    assert finding.features == ("a", "b")
    sentence = judged(read(0.04, b=((0.3, 0.01), (0.7, 0.01)))).findings[0].statement
    assert sentence.startswith("The stated uncertainty does not signal 0.40 nats (95% CI 0.32 to 0.48) of the 0.70")


def test_a_row_is_concerned_by_more_than_the_margin() -> None:
    terms = np.stack([np.zeros(4), np.array([0.5, 0.25, 0.75, 0.0])])
    delta = diagnostic("pfi.delta", [{"feature": "a", "item": "quantile", "estimate": 0.0}])
    rows = RowValues(("entropy", "nll"), ("a",), terms[:, None])
    loss = signs(Pfi.from_result(CALM), "nll", 0.05)["a"]
    feature = Unnoticed(loss, 0.1, 0.0, 0.2, 0.01)
    assert affected(run(replace(delta, rows=rows)), feature, 0.5) == 0.25
    assert affected(run(replace(delta, rows=rows)), feature, 0.49) == 0.5
    assert affected(run(delta), feature, 0.5) is None


def test_the_rules_print_their_defaults() -> None:
    texts = [rule.text for rule in Dependence().rules]
    for words, text in zip(("level 0.05", "more than 0.01 nats", "above 0.9 (level 0.05"), texts, strict=True):
        assert words in text


def test_a_feature_alone_is_told_alone() -> None:
    (finding,) = judged(covered=cover({"a": (0.2, 0.35, 0.02, ("b",))})).findings
    assert finding.statement.endswith("larger by 0.150 nats (95% CI 0.110 to 0.190).")


def test_features_whose_wrong_values_go_unnoticed_are_one_finding_with_the_rows_it_concerns() -> None:
    results = read(a=((0.05, 0.01), PLUS), b=(ZERO, PLUS), c=(PLUS, PLUS))
    changes = np.stack([np.tile([0.5, 0.0, 0.02, 0.0], 50), np.tile([1.0, 0.0, 0.0, 0.005], 50)])
    rows = RowValues(("entropy", "nll"), ("b",), changes[:, None])
    delta = replace(diagnostic("pfi.delta", [{"feature": "b", "item": "quantile", "estimate": 0.0}]), rows=rows)
    (finding,) = Dependence().check(run(results, delta, redundancy(UNRELATED))).findings
    assert (finding.code, finding.features) == ("UQ202", ("b", "a"))
    assert "Permuting b increases" in finding.statement
    assert finding.statement.endswith(", in 25% of the observations. The same applies to a (0.050 of 0.10 nats).")


@pytest.mark.parametrize("pair", [(ZERO, ZERO), (MINUS, ZERO), (PLUS, PLUS), (PLUS, ZERO), (ZERO, MINUS)])
def test_a_positive_entropy_importance_or_no_loss_raises_nothing(
    pair: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    found = judged(read(a=pair, b=(PLUS, PLUS)))
    assert (found.state, codes(found)) == ("passed", [])


@pytest.mark.parametrize(
    ("E", "L", "error"),
    [
        pytest.param((0.09, 0.01), PLUS, 0.003, id="at the margin"),
        pytest.param((0.05, 0.01), PLUS, 0.03, id="an unsure difference"),
        pytest.param(ZERO, (0.02, 0.02), 0.001, id="an unsure loss"),
    ],
)
def test_what_may_go_unnoticed_is_undetermined(E: tuple[float, float], L: tuple[float, float], error: float) -> None:
    found = judged(read(error, a=(E, L), b=(PLUS, PLUS)))
    assert (found.state, codes(found)) == ("skipped", [])
    assert "UQ202 is undetermined for a" in found.reason


@pytest.mark.parametrize("measure", ["nll", "entropy"])
def test_an_interval_that_is_not_to_be_trusted_gives_no_verdict_but_its_reason(measure: str) -> None:
    made = read(a=(ZERO, PLUS), b=(PLUS, PLUS))
    at = (made.estimates["feature"] == "a") & (made.estimates["measure"] == measure)
    why = np.where(at, "few events (7 of 200 rows)", "")
    verdict = made.estimates["verdict"].mask(at, "undetermined")
    found = judged(replace(made, estimates=made.estimates.assign(unreliable=why, verdict=verdict)))
    assert (found.state, codes(found)) == ("skipped", [])
    assert "UQ202 is undetermined for a (few events, 7 of 200 rows" in found.reason


def test_the_adjustment_over_features_may_take_it_away() -> None:
    weak = (0.08, 0.01)
    assert codes(judged(read(0.0045, a=(weak, PLUS)))) == [("UQ202", ("a",))]
    assert codes(judged(read(0.0045, a=(weak, PLUS), b=(weak, PLUS), c=(PLUS, PLUS)))) == []


def test_weights_clusters_and_missing_row_terms_are_not_judged() -> None:
    results = read(a=(ZERO, PLUS)), cover(UNCOVERED), redundancy(UNRELATED), STRANGERS
    for facts in ({"weights": True}, {"clusters": 30}):
        found = Dependence().check(run(*results, **facts))
        assert "UQ202 was not judged: the observations are weighted or in clusters." in found.reason
    assert (
        "UQ202 was not judged: permutation importance has no terms of single observations."
        in judged(replace(CALM, rows=None)).reason
    )


def test_what_partners_hide_is_one_observation_with_both_importances_and_names() -> None:
    table = {"a": (0.2, 0.35, 0.02, ("b", "c")), "b": (0.3, 0.5, 0.02, ("a",)), "c": (0.1, 0.1, 0.0, ())}
    found = judged(covered=cover(table))
    assert codes(found) == [("UQ201", ("b", "a"))]
    finding = found.findings[0]
    assert (finding.severity, finding.evidence, finding.measures) == ("observation", ("cover", "cid.cover"), ("nll",))
    assert (finding.threshold, finding.size) == (0.01, None)
    assert finding.observed == pytest.approx(0.2)
    assert finding.statement == (
        "Adjusted for redundancy with a, the increase in the loss when b is permuted is larger by 0.200 nats (95% "
        "CI 0.160 to 0.240). The same applies to a (by 0.15 nats, with b and c)."
    )


def test_a_feature_that_leads_only_with_its_partners_lost_is_named() -> None:
    strong = {name: (0.3 - k / 100, 0.3 - k / 100, 0.0, ()) for k, name in enumerate("abc")}
    (finding,) = judged(
        covered=cover({**strong, "d": (0.1, 0.5, 0.02, ("e",)), "e": (0.01, 0.2, 0.02, ("d",))})
    ).findings
    assert (finding.severity, finding.features) == ("observation", ("d", "e"))
    assert "; only then d is among the first 3." in finding.statement


@pytest.mark.parametrize(
    ("one", "state"),
    [
        pytest.param((0.3, 0.1, 0.01, ("b",)), "passed", id="cheaper with its partner lost"),
        pytest.param((0.3, 0.305, 0.002, ("b",)), "passed", id="within the margin"),
        pytest.param((0.3, 0.3, 0.0, ()), "passed", id="nothing covers it"),
        pytest.param((0.3, 0.33, 0.02, ("b",)), "skipped", id="a change that may matter"),
        pytest.param((0.3, 0.5, NONE, ("b",)), "skipped", id="no errors"),
    ],
)
def test_what_is_not_shown_to_be_hidden_raises_nothing(
    one: tuple[float, float, float, tuple[str, ...]], state: str
) -> None:
    found = judged(covered=cover({"a": one, "b": UNCOVERED["b"]}))
    assert (found.state, codes(found)) == (state, [])
    assert ("UQ201 is undetermined for a." in found.reason) == (state == "skipped")


def test_the_adjustment_over_covered_features_may_take_it_away() -> None:
    weak, sure = (0.1, 0.16, 0.0205, ("b",)), (0.1, 0.101, 0.001, ("a",))
    assert codes(judged(covered=cover({"a": weak}))) == [("UQ201", ("a",))]
    assert codes(judged(covered=cover({"a": weak, **dict.fromkeys("bcde", sure)}))) == []


def test_without_a_likelihood_the_loss_is_judged() -> None:
    found = judged(covered=cover({"a": (0.1, 0.5, 0.01, ("b",))}, "brier"))
    assert [finding.measures for finding in found.findings] == [("brier",)]
    assert (
        "UQ201 was not judged: importance adjusted for redundancy has no value for the loss"
        in judged(covered=cover(UNCOVERED, "entropy")).reason
    )


def test_a_pair_that_repeats_each_other_fires_once() -> None:
    found = judged(
        repeated=redundancy({"a": (0.97, 0.005), "b": (0.96, 0.005), "c": (0.1, 0.05)}),
        pairs=partners(a=("b", 0.98), b=("a", 0.98), c=("a", 0.1)),
    )
    assert codes(found) == [("UQ203", ("a", "b"))]
    finding = found.findings[0]
    assert (finding.observed, finding.threshold, finding.severity) == (0.96, 0.9, "low")
    assert finding.evidence == ("redundancy", "redundancy.partner")
    assert "their association is 0.98" in finding.statement


@pytest.mark.parametrize(
    ("skill", "association"),
    [
        pytest.param(0.8, 0.98, id="one is not repeated"),
        pytest.param(0.97, 0.5, id="repeated by several others"),
    ],
)
def test_no_pair_stays_silent(skill: float, association: float) -> None:
    found = judged(
        repeated=redundancy({"a": (0.97, 0.005), "b": (skill, 0.005)}),
        pairs=partners(a=("b", association), b=("a", association)),
    )
    assert (found.state, codes(found)) == ("passed", [])


def test_a_pair_may_be_undetermined() -> None:
    found = judged(
        repeated=redundancy({"a": (0.97, 0.005), "b": (0.91, 0.05)}), pairs=partners(a=("b", 0.95), b=("a", 0.95))
    )
    assert "UQ203 is undetermined for a with b." in found.reason
    assert codes(found) == []


def test_rules_without_evidence_are_named_and_nothing_passes() -> None:
    not_run = (NotRun("redundancy", "explainers", "denied", "not asked"),)
    found = Dependence().check(run(CALM, cover(UNCOVERED), not_run=not_run))
    assert found.state == "skipped"
    for code in ("UQ202", "UQ203"):
        assert f"{code} was not judged: the redundancy analysis was not computed: denied." in found.reason
    found = judged(importance=None)
    assert "UQ202 was not judged: permutation importance was not computed." in found.reason
    assert "UQ201 was not judged" not in found.reason
    assert "permutation importance has no value for the loss" in judged(importance=pfi({"entropy": {"a": PLUS}})).reason


def test_without_any_evidence_it_does_not_apply() -> None:
    found = Dependence().check(run())
    assert (found.state, found.findings) == ("not_applicable", ())
    assert found.reason.startswith(
        "importance adjusted for redundancy was not computed; permutation importance was not computed"
    )


def test_thresholds_that_cannot_be_used_are_refused() -> None:
    assert {rule.code for rule in Dependence().rules} == {"UQ201", "UQ202", "UQ203"}
    for options in ({"level": 1.0}, {"margin": -1.0}, {"repeated": 0.0}):
        with pytest.raises(InputError, match=rf"dependence\.{next(iter(options))} must be"):
            Dependence(**options)


def test_copies_are_found_end_to_end_and_independent_features_are_not() -> None:
    rng = np.random.default_rng(5)
    shared = rng.normal(size=400)
    X = pd.DataFrame({"a": shared, "b": shared + 0.05 * rng.normal(size=400), "c": rng.normal(size=400)})
    model = KnownLogistic((1.0, 1.0, 1.0))
    y = np.where(rng.random(400) < model.distribution(X).mean(), "yes", "no")
    subject = make_subject(model, KnownTruth(), X, y)
    options = {"pfi": {"n_repeats": 5}, "cid": {"n_sets": 10}}
    done = audited(subject, ["pfi", "cid", "cover", "redundancy"], checks=["dependence"], options=options)
    found = outcome(done, "dependence")
    # no model can detect values of c, which nothing predicts; a and b betray each other
    named = {code: set(features) for code, features in codes(found)}
    assert named["UQ201"] == named["UQ203"] == {"a", "b"}
    assert "c" not in named.get("UQ202", ())
    assert {finding.severity for finding in found.findings} == {"observation", "low"}


CORRELATED = 0.7 + 0.3 * np.eye(4)


@pytest.mark.parametrize("slopes", [(1.0, 0.8, 0.5, 0.0), (1.5, -1.5, 0.7, 0.0)], ids=["positive", "mixed signs"])
@pytest.mark.parametrize("seed", [0, 1])
def test_honest_models_of_correlated_features_get_no_more_than_a_change_of_the_lead(
    slopes: tuple[float, ...], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.multivariate_normal(np.zeros(4), CORRELATED, size=5600), columns=list("abcd"))
    y = np.where(rng.random(5600) < 1 / (1 + np.exp(-X.to_numpy() @ np.array(slopes))), "yes", "no")
    model = LogisticRegression().fit(X[:5000], y[:5000])
    subject = make_subject(model, ClassifierAdapter(), X[5000:], y[5000:], train=(X[:5000], y[:5000]))
    curves = {"measures": ("prediction", "log_odds", "entropy")}
    done = audited(
        subject,
        ["pfi", "cid", "cover", "support", "ale", "pdp", "agreement"],
        checks=["dependence", "extrapolation", "disagreement", "stability"],
        options={"cid": {"n_sets": 10}, "ale": curves, "pdp": curves},
    )
    severities = {finding.severity for finding in done.findings if finding.code != "UQ201"}
    assert severities <= {"observation"}, [f.statement for f in done.findings]
    assert not {"UQ203", "UQ312"} & {finding.code for finding in done.findings}


def test_what_goes_unnoticed_has_the_interval_of_the_mean_of_its_row_terms() -> None:
    (finding,) = judged(read(0.004, a=((0.05, 0.01), PLUS))).findings
    reach = t.ppf(0.975, 199) * 0.004
    assert (finding.lower, finding.upper) == pytest.approx((0.05 - reach, 0.05 + reach), rel=1e-7)


@pytest.mark.parametrize(("ratio", "state"), [(3.2, "skipped"), (3.6, "found")])
def test_few_rows_repeat_by_a_t_test_with_a_degree_of_freedom_less(ratio: float, state: str) -> None:
    """Of five rows and two features the limit is the 97.5% point of t with 4 degrees of freedom at 2.5%: 3.50."""
    assert t.ppf(1 - 0.025 / 2, 4) == pytest.approx(3.495, abs=1e-3)
    alike = redundancy(dict.fromkeys("ab", (0.9 + 0.01 * ratio, 0.01)), n=5)
    assert judged(repeated=alike, pairs=partners(a=("b", 0.95), b=("a", 0.95))).state == state


@pytest.mark.parametrize(("strength", "found"), [(0.9, 1), (0.899, 0)])
def test_two_features_repeat_from_an_association_of_the_limit(strength: float, found: int) -> None:
    alike = redundancy(dict.fromkeys("ab", (0.97, 0.001)))
    outcome = judged(repeated=alike, pairs=partners(a=("b", strength), b=("a", strength)))
    assert len(outcome.findings) == found


def test_without_a_forecast_or_a_partner_pairs_are_not_judged() -> None:
    assert "UQ203 was not judged: no feature could be predicted" in judged(repeated=redundancy({})).reason
    assert "UQ203 was not judged" in judged(pairs=None).reason


def test_p_values_are_two_sided_above_zero_and_one_below() -> None:
    nan = float("nan")
    found = _above_zero(np.array([3.0, 0.0, -9.0, 2.0]), np.array([1.0, 1.0, 1.0, nan]), 9)
    assert found[0] == pytest.approx(2 * t.sf(3, 9))
    assert found[1:3].tolist() == [1, 1]
    assert np.isnan(found[3])
