"""Covered information, losses that the model does not notice, and pairs that repeat each other."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from uq_report.adapters.classifier import ClassifierAdapter
from uq_report.checks.dependence import Dependence
from uq_report.core.errors import InputError
from uq_report.core.results import Diagnostic, Importance, RowValues
from uq_report.core.subject import make_subject
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.testing import KnownLogistic, KnownTruth

from .importances import audited, diagnostic, outcome, pfi, run

PLUS, ZERO, MINUS, OPEN = (0.1, 0.01), (0.0, 0.003), (-0.1, 0.01), (0.01, 0.01)
NONE = float("nan")
UNCOVERED = {"a": (-0.1, 0.02, 0.3, 0.02), "b": (-0.1, 0.02, 0.3, 0.02)}
UNRELATED = {"a": (0.1, 0.05), "b": (0.1, 0.05)}


def read(error: float = 0.003, /, **pairs: tuple[tuple[float, float], tuple[float, float]]) -> Importance:
    """Return ``pfi`` with Entropy- and Likelihood-PFI of each feature; `error` is that of their difference."""
    made = pfi({"entropy": {f: E for f, (E, _) in pairs.items()}, "nll": {f: L for f, (_, L) in pairs.items()}})
    shared, own = np.tile([-1.0, 1.0], 100), error * np.sqrt(199) * np.repeat([-1.0, 1.0], 100)
    terms = [[pair[m][0] + shared + m * own for pair in pairs.values()] for m in (0, 1)]
    return replace(made, rows=RowValues(("entropy", "nll"), tuple(pairs), np.array(terms)))


def cid(table: dict[str, tuple[float, float, float, float]], rows: RowValues | None = None) -> Diagnostic:
    """Return ``cid`` from covered and mutual information and their standard errors."""
    lines = [
        {
            "feature": f,
            "item": item,
            "estimate": value,
            "std_error": error,
            "lower": value - error,
            "upper": value + error,
        }
        for f, (ci, ci_error, mi, mi_error) in table.items()
        for item, value, error in (("covered information", ci, ci_error), ("mutual information", mi, mi_error))
    ]
    return diagnostic("cid", lines, rows=rows)


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
    covered: Diagnostic | None = None,
    repeated: Diagnostic | None = None,
    pairs: Diagnostic | None = STRANGERS,
    check: Dependence | None = None,
) -> Outcome:
    given = (importance, covered or cid(UNCOVERED), repeated or redundancy(UNRELATED), pairs)
    return (check or Dependence()).check(run(*(one for one in given if one is not None)))


def codes(found: Outcome) -> list[tuple[str, tuple[str, ...]]]:
    return [(finding.code, finding.features) for finding in found.findings]


def test_a_loss_that_the_model_does_not_notice_is_an_observation_with_its_share_and_size() -> None:
    scores = diagnostic("calibration", [{"item": "log_score_skill", "estimate": 0.2}])
    found = Dependence().check(run(read(a=(ZERO, PLUS), b=(PLUS, PLUS)), cid(UNCOVERED), scores))
    assert codes(found) == [("UQ202", ("a",))]
    finding = found.findings[0]
    assert (finding.severity, finding.evidence) == ("observation", ("pfi", "pfi.reading"))
    assert finding.threshold == 0.01
    assert (finding.observed, finding.size) == pytest.approx((0.1, 0.5))
    assert "predicts worse by 0.100 nats (95 % interval 0.080 to 0.120), and all of it" in finding.statement
    assert "in how unsure it is: 0.100 nats (95 % interval 0.094 to 0.106), above 0.01" in finding.statement
    half = judged(read(a=((0.05, 0.01), PLUS))).findings[0]
    assert ("and 50 % of it" in half.statement, half.size) == (True, None)


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


def test_the_adjustment_over_features_may_take_it_away() -> None:
    weak = (0.08, 0.01)
    assert codes(judged(read(0.0045, a=(weak, PLUS)))) == [("UQ202", ("a",))]
    assert codes(judged(read(0.0045, a=(weak, PLUS), b=(weak, PLUS), c=(PLUS, PLUS)))) == []


def test_weights_clusters_and_missing_row_terms_are_not_judged() -> None:
    results = read(a=(ZERO, PLUS)), cid(UNCOVERED), redundancy(UNRELATED), STRANGERS
    for facts in ({"weights": True}, {"clusters": 30}):
        found = Dependence().check(run(*results, **facts))
        assert "UQ202 was not judged: the rows are weighted or in clusters." in found.reason
    assert "UQ202 was not judged: pfi has no row terms." in judged(replace(CALM, rows=None)).reason


def test_a_high_covered_share_fires_with_its_interval() -> None:
    found = judged(covered=cid({"a": (0.28, 0.02, 0.3, 0.02), "b": UNCOVERED["b"]}))
    assert codes(found) == [("UQ201", ("a",))]
    finding = found.findings[0]
    assert (finding.severity, finding.evidence, finding.threshold) == ("observation", ("cid",), 0.5)
    assert finding.observed == pytest.approx(0.28 / 0.3)
    assert "to a share of 93 %: 0.280 nats (95 % interval 0.260 to 0.300)" in finding.statement


@pytest.mark.parametrize(
    ("cover", "state"),
    [
        pytest.param((0.1, 0.01, 0.4, 0.01), "passed", id="a low share"),
        pytest.param((0.001, 0.002, 0.001, 0.002), "passed", id="next to no information"),
        pytest.param((0.22, 0.05, 0.4, 0.05), "skipped", id="a share that may be high"),
        pytest.param((0.02, 0.02, 0.02, 0.02), "skipped", id="an amount that may matter"),
        pytest.param((0.28, NONE, 0.3, NONE), "skipped", id="no errors"),
    ],
)
def test_cover_below_its_thresholds_or_undetermined_raises_nothing(
    cover: tuple[float, float, float, float], state: str
) -> None:
    found = judged(covered=cid({"a": cover, "b": UNCOVERED["b"]}))
    assert (found.state, codes(found)) == (state, [])
    assert ("UQ201 is undetermined for a." in found.reason) == (state == "skipped")


def test_row_terms_sharpen_the_share_unless_rows_count_unequally() -> None:
    rng = np.random.default_rng(0)
    mutual = rng.normal(0.3, 0.5, size=200)
    covered = 0.65 * mutual + rng.normal(0, 0.05, size=200)
    rows = RowValues(("covered", "mutual"), ("a",), np.stack([covered, mutual])[:, None])
    both = [float(one) for v in (covered, mutual) for one in (v.mean(), v.std(ddof=1) / np.sqrt(200))]
    result = cid({"a": (both[0], both[1], both[2], both[3])}, rows)
    facts = {"n": 200, "clusters": None}
    states = []
    for weights in (False, True):
        made = Run(
            as_of="2026-01-01", subject=facts | {"weights": weights}, settings={}, environment={}, results=(result,)
        )
        states.append(Dependence().check(made).state)
    assert states == ["found", "skipped"]


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
    found = Dependence().check(run(CALM, not_run=(NotRun("redundancy", "explainers", "denied"),)))
    assert found.state == "skipped"
    assert "UQ203 was not judged: redundancy was not run: denied." in found.reason
    found = judged(importance=None)
    assert "UQ202 was not judged: pfi was not run." in found.reason
    assert "UQ201 was not judged" not in found.reason
    assert "pfi has no nll" in judged(importance=pfi({"entropy": {"a": PLUS}})).reason


def test_without_any_evidence_it_does_not_apply() -> None:
    found = Dependence().check(run())
    assert (found.state, found.findings) == ("not_applicable", ())
    assert found.reason.startswith("cid was not run; pfi was not run")


def test_thresholds_are_options_and_printed() -> None:
    share = cid({"a": (0.2, 0.005, 0.3, 0.005)})
    assert codes(judged(covered=share)) == [("UQ201", ("a",))]
    assert codes(judged(covered=share, check=Dependence(share=0.8))) == []
    assert "more than 80 % of a feature's information" in Dependence(share=0.8).rules[0].text
    assert {rule.code for rule in Dependence().rules} == {"UQ201", "UQ202", "UQ203"}
    for options in ({"level": 1.0}, {"share": 1.0}, {"margin": -1.0}, {"repeated": 0.0}):
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
    done = audited(subject, ["pfi", "cid", "redundancy"], rules=["dependence"], options=options)
    found = outcome(done, "dependence")
    # c alone shows that a model cannot know that a value is wrong; a and b betray each other
    assert {("UQ201", ("a",)), ("UQ201", ("b",)), ("UQ203", ("a", "b")), ("UQ202", ("c",))} <= set(codes(found))
    assert ("UQ201", ("c",)) not in codes(found)
    assert {finding.severity for finding in found.findings} == {"observation", "low"}


CORRELATED = 0.7 + 0.3 * np.eye(4)


@pytest.mark.parametrize("slopes", [(1.0, 0.8, 0.5, 0.0), (1.5, -1.5, 0.7, 0.0)], ids=["positive", "mixed signs"])
@pytest.mark.parametrize("seed", [0, 1])
def test_honest_models_of_correlated_features_get_observations_only(slopes: tuple[float, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.multivariate_normal(np.zeros(4), CORRELATED, size=5600), columns=list("abcd"))
    y = np.where(rng.random(5600) < 1 / (1 + np.exp(-X.to_numpy() @ np.array(slopes))), "yes", "no")
    model = LogisticRegression().fit(X[:5000], y[:5000])
    subject = make_subject(model, ClassifierAdapter(), X[5000:], y[5000:], train=(X[:5000], y[:5000]))
    curves = {"measures": ("prediction", "log_odds", "entropy")}
    done = audited(
        subject,
        ["pfi", "cid", "support", "ale", "pdp", "agreement"],
        rules=["dependence", "extrapolation", "disagreement", "stability"],
        options={"cid": {"n_sets": 10}, "ale": curves, "pdp": curves},
    )
    assert {finding.severity for finding in done.findings} == {"observation"}, [f.statement for f in done.findings]
    assert not {"UQ203", "UQ312"} & {finding.code for finding in done.findings}
