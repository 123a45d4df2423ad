"""Over-claiming in words: what over-claims stands first, and where nothing can be claimed the reason is its own."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Omission
from uq_report.evidence import ids
from uq_report.evidence.finding import Outcome
from uq_report.evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE
from uq_report.evidence.run import Run
from uq_report.methods.pfi.check import ClaimsCheck

COLUMNS = ("item", "p_value", "share", "share_lower", "share_upper", "unreliable")
Over = dict[str, tuple[float, float]]  # of each feature the claim, and the part of it that is missing


def run(*results: Any) -> Run:
    return Run(as_of="2026-01-01", subject={"n": 500}, settings={}, environment={}, results=results)


def claims(over: Over, measure: str = "nll", **parts: Any) -> Diagnostic:
    """Return claims whose missing part is surely above 0 if it is above 0; `parts` of the differences' lines."""
    rows: list[dict[str, Any]] = []
    for feature, (claim, missing) in over.items():
        share = 1 - missing / claim
        for item, value in ((CLAIMED, claim), (DELIVERED, claim - missing), (DIFFERENCE, missing)):
            line = {"measure": measure, "feature": feature, "item": item, "estimate": value, "std_error": 0.001}
            line |= {"lower": value - 0.002, "upper": value + 0.002, "confidence": 0.95, "unreliable": ""}
            p = 0.0001 if missing else 0.9
            line |= {"p_value": p, "share": share, "share_lower": share - 0.1, "share_upper": share + 0.1}
            rows.append(line | (parts if item == DIFFERENCE else {}))
    return Diagnostic(
        id=ids.PFI_CLAIMS,
        explainer=ids.PFI,
        title="",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(rows, columns=[*ESTIMATE_COLUMNS, *COLUMNS]),
        meta={"margin": 0.01},
    )


@pytest.mark.parametrize(("over", "first", "second"), [
    ({"age": (0.1, 0.08), ALL_FEATURES: (0.5, -0.05)}, "age: a model-implied", "By the model's own distributions"),
    ({"age": (0.1, 0.08), ALL_FEATURES: (0.5, 0.2)}, "By the model's own distributions", "age: a model-implied"),
    ({"age": (0.1, 0.03), ALL_FEATURES: (0.5, -0.05)}, "age: a model-implied", "By the model's own distributions"),
])  # fmt: skip
def test_what_over_claims_stands_first(over: Over, first: str, second: str) -> None:
    """That all features together deliver 110% is no over-claim, so it does not open the finding."""
    finding = ClaimsCheck().check(run(claims(over))).findings[0]
    assert finding.code == "UQ401"
    assert finding.statement.startswith(first)
    assert finding.statement.find(second) > 0


def test_features_that_deliver_little_are_named_the_smallest_share_first() -> None:
    over = {"half": (0.1, 0.05), "fifth": (0.1, 0.08), "tenth": (0.1, 0.09), "third": (0.1, 0.07), "0": (0.1, 0.1)}
    (finding,) = ClaimsCheck().check(run(claims(over))).findings
    assert finding.features == ("0", "tenth", "fifth", "third")
    assert finding.statement.count(": a model-implied") == 3


def judged(over: Over, **parts: Any) -> Outcome:
    return ClaimsCheck().check(run(claims(over, **parts)))


def severity(outcome: Outcome) -> str | None:
    return outcome.findings[0].severity if outcome.findings else None


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, "high"), (0.51, "medium"), (0.8, "medium"), (0.81, "low"), (float("nan"), "low")]
)
def test_the_severity_is_that_of_the_share_that_all_features_deliver(share: float, expected: str) -> None:
    assert severity(judged({"a": (0.4, 0.2), ALL_FEATURES: (0.4, 0.2)}, share=share)) == expected


def test_without_all_features_together_over_claiming_is_low() -> None:
    (finding,) = judged({"a": (0.4, 0.3), "b": (0.4, 0.0)}).findings
    assert (finding.severity, finding.features, finding.statement) == (
        "low",
        ("a",),
        "a: a model-implied importance of 0.40 nats, a realised importance of 0.1000 nats (0.0980 to 0.1020).",
    )


@pytest.mark.parametrize(
    ("claim", "missing", "raised"),
    [
        (0.06, 0.013, True),  # the lower end is 0.011, the margin 0.01
        (0.06, 0.0119, False),
        (1.0, 0.153, True),  # the lower end is 0.151 of a claim of 1
        (1.0, 0.1519, False),
        (0.05, 0.03, True),  # a twentieth of the largest claim
        (0.0499, 0.03, False),
    ],
)
def test_a_claim_must_be_large_and_lack_more_than_the_margin_and_a_seventh(
    claim: float, missing: float, *, raised: bool
) -> None:
    found = judged({"a": (claim, missing), "b": (1.0, 0.0), ALL_FEATURES: (9.0, 0.0)})
    assert bool(found.findings) is raised
    assert (found.state == "passed") is not raised


@pytest.mark.parametrize(("p_value", "raised"), [(0.025, True), (0.026, False)])
def test_both_rules_are_adjusted_over_features(p_value: float, *, raised: bool) -> None:
    for missing, code in ((0.05, "UQ401"), (-0.05, "UQ402")):
        found = judged({"a": (0.1, missing), "b": (0.1, missing)}, p_value=p_value)
        assert [finding.code for finding in found.findings] == ([code] if raised else [])


def test_without_an_exact_test_it_is_a_t_test_by_rows() -> None:
    """0.05 with an error of 0.025: t = 2 of 499 degrees of freedom is 4.6%, and 5.1% of 54."""
    lines = claims({"a": (0.1, 0.05)}, p_value=float("nan"), std_error=0.025)
    many, few = (replace(run(lines), subject={"n": n}) for n in (500, 55))
    assert ClaimsCheck().check(many).findings
    assert not ClaimsCheck().check(few).findings


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"unreliable": "few events (7 of 500 rows)"}, "a and b (few events, 7 of 500 rows)"),
        ({"p_value": float("nan"), "std_error": float("nan")}, "a and b (no interval)"),
    ],
)
def test_an_interval_that_is_not_to_be_trusted_decides_nothing(parts: dict[str, Any], words: str) -> None:
    found = judged({"a": (0.1, 0.09), "b": (0.1, -0.09)}, **parts)
    assert (found.state, found.findings) == ("skipped", ())
    assert f"UQ401 is undetermined for {words}" in found.reason
    assert f"UQ402 is undetermined for {words}" in found.reason


def test_what_the_model_makes_too_little_of_is_named_the_largest_first() -> None:
    (finding,) = judged({"a": (0.1, -0.03), "b": (0.2, -0.3), "c": (0.1, 0.0), ALL_FEATURES: (0.3, -0.2)}).findings
    assert (finding.code, finding.severity, finding.features) == ("UQ402", "observation", ("b", "a"))
    assert finding.statement == (
        "Permuting b, all features together and a increases the loss by more than the model implies. "
        "b: a model-implied importance of 0.20 nats, a realised importance of 0.5000 nats (0.4980 to 0.5020)."
    )
    assert finding.observed == pytest.approx(-0.3)
    assert finding.threshold == 0.01
    assert not judged({"a": (0.1, -0.0119)}).findings  # the upper end is within the margin
    assert judged({"a": (0.1, -0.0121)}).findings


@pytest.mark.parametrize(
    ("over", "codes"),
    [
        ({"a": (0.1, 0.03), ALL_FEATURES: (0.5, 0.3)}, ["UQ402"]),  # a delivers 70%: it is not named
        ({"a": (0.1, 0.08), ALL_FEATURES: (0.5, 0.4)}, ["UQ402", "UQ101", "UQ001", "UQ003"]),
        ({"a": (0.1, 0.08), ALL_FEATURES: (0.5, 0.45)}, ["UQ402", "UQ101"]),  # the interval of 10% reaches to 0
        ({"a": (0.1, 0.08)}, ["UQ402", "UQ101"]),
    ],
)
def test_over_claiming_explains_a_bad_fit_where_it_has_a_place_and_no_use_where_some_is_confirmed(
    over: Over, codes: list[str]
) -> None:
    finding = judged(over).findings[0]
    assert [symptom.code for symptom in finding.explains] == codes


HARMED: Over = {"a": (0.1, 0.09), "flipped": (0.2, 0.3), ALL_FEATURES: (0.5, 0.4)}


def test_a_feature_that_makes_predictions_worse_is_named_alone_as_the_cause() -> None:
    """Without it a, which delivers a tenth of its claim, is named."""
    (finding,) = judged(HARMED).findings
    assert finding.features == ("flipped",)
    assert finding.statement.startswith(
        "On these observations flipped makes predictions worse: permuting it lowers the loss by 0.1000 nats (95% "
        "CI 0.0980 to 0.1020). "
    )
    assert [symptom.code for symptom in finding.explains] == ["UQ402", "UQ101", "UQ001", "UQ003", "UQ123", "UQ301"]
    assert finding.remedy.startswith("Check how the feature is populated, coded and signed")
    (rest,) = judged({**HARMED, "flipped": (0.2, 0.0)}).findings
    assert (rest.features, rest.remedy.partition(",")[0]) == (("a",), "Reduce over-fitting: regularise")


def test_of_several_features_that_make_predictions_worse_the_worst_is_the_cause() -> None:
    (finding,) = judged({**HARMED, "worst": (0.2, 0.5)}).findings
    assert finding.features == ("worst",)
    assert "worst makes predictions worse: permuting it lowers the loss by 0.3000 nats" in finding.statement
    assert "; so does flipped." in finding.statement


@pytest.mark.parametrize(("claim", "cause"), [(0.05, "slight"), (0.049, "leaky")])
def test_what_makes_predictions_worse_is_no_cause_of_a_shortfall_that_others_have(claim: float, cause: str) -> None:
    """A twentieth of the largest claim is large enough: 1.0 is claimed of a column that leaks in training only."""
    over: Over = {"leaky": (1.0, 0.9), "slight": (claim, claim + 0.06), ALL_FEATURES: (1.1, 0.9)}
    finding = judged(over).findings[0]
    assert finding.features == (cause,)
    assert ("makes predictions worse" in finding.statement) is (cause == "slight")


@pytest.mark.parametrize(
    ("delivered", "others", "harmful"),
    [
        (-0.0118, 0, True),  # the error is 0.001, the margin 0.01: one-sided 5% of 499 are 1.648 errors
        (-0.0116, 0, False),
        (-0.0118, 1, False),  # of two features one-sided 2.5%, 1.965 errors
        (-0.0121, 1, True),
        (0.5, 0, False),
    ],
)
def test_a_delivered_importance_must_be_below_the_margin_beyond_chance(
    delivered: float, others: int, *, harmful: bool
) -> None:
    over: Over = {"flipped": (0.2, 0.2 - delivered), ALL_FEATURES: (0.5, 0.4)}
    over |= dict.fromkeys("ab"[:others], (0.1, 0.0))
    (finding,) = judged(over).findings[:1]
    assert ("makes predictions worse" in finding.statement) is harmful


def test_what_is_certain_makes_predictions_worse_or_not_and_what_is_unreliable_does_not() -> None:
    given = claims(HARMED)
    for error, unreliable, worse in ((0.0, "", True), (0.001, "few events", False)):
        delivered = given.estimates["item"] == DELIVERED
        table = given.estimates.assign(
            std_error=given.estimates["std_error"].where(~delivered, error),
            unreliable=given.estimates["unreliable"].where(~delivered, unreliable),
        )
        finding = ClaimsCheck().check(run(replace(given, estimates=table))).findings[0]
        assert ("makes predictions worse" in finding.statement) is worse


def test_features_that_deliver_half_are_named_only_where_nothing_else_over_claims() -> None:
    """Of those of half of their claim or more three stand in the sentence, or the first after all together."""
    four: Over = dict.fromkeys("abcd", (0.1, 0.04))
    (alone,) = judged(four).findings
    assert (alone.features, alone.statement.count(": a model-implied")) == ((), 3)
    (together,) = judged({**four, ALL_FEATURES: (0.4, 0.16)}).findings
    assert (together.features, together.statement.count(": a model-implied")) == ((), 1)


def test_other_scores_have_their_unit() -> None:
    (finding,) = judged({"a": (0.4, 0.3), ALL_FEATURES: (0.4, 0.3)}, measure="brier").findings
    assert "together increases the loss by 0.40 of the Brier score per observation; 0.10 of the Brier score, or 25" in (
        finding.statement
    )
    assert finding.measures == ("brier",)


def test_claims_without_outcomes_or_numbers_say_why() -> None:
    bare = claims({"a": (0.4, 0.3)})
    claimed = replace(bare, estimates=bare.estimates[bare.estimates["item"] == CLAIMED])
    nothing = replace(bare, estimates=bare.estimates[:0])
    gap = replace(nothing, omissions=(Omission("nll", "a", "it is constant"), Omission("nll", "b", "it is constant")))
    for result, reason in (
        (claimed, "realised importance needs outcomes, which were not given"),
        (nothing, "model-implied importance could not be computed"),
        (gap, "model-implied importance could not be computed: it is constant"),
    ):
        assert ClaimsCheck().check(run(result)).reason == reason


def test_all_features_together_claim_and_deliver() -> None:
    (finding,) = ClaimsCheck().check(run(claims({ALL_FEATURES: (0.3, -0.1), "age": (0.3, 0.0)}))).findings
    assert (
        "all features together: a model-implied importance of 0.30 nats, a realised importance of 0.4000 nats"
        in finding.statement
    )


def test_without_a_score_to_claim_in_its_own_reason_is_given() -> None:
    omission = Omission(CLAIMED, "", "outcomes may be censored: so it is")
    frame = pd.DataFrame(columns=list(Importance.columns))
    pfi = Importance(
        id=ids.PFI,
        explainer=ids.PFI,
        title="",
        frame=frame,
        estimates=pd.DataFrame(columns=[*ESTIMATE_COLUMNS, "margin", "verdict"]),
        omissions=(omission,),
    )
    outcome = ClaimsCheck().check(run(pfi))
    assert outcome.state == "not_applicable"
    assert "outcomes may be censored: so it is" in outcome.reason


def test_a_share_that_may_be_none_confirms_nothing() -> None:
    """Only where some is surely confirmed does over-claiming explain that the model is of no use."""
    over: Over = {"age": (0.1, 0.08), ALL_FEATURES: (0.5, 0.4)}
    for lower, some in ((0.0, False), (0.01, True)):
        given = claims(over)
        table = given.estimates.assign(share_lower=lower)
        finding = ClaimsCheck().check(run(replace(given, estimates=table))).findings[0]
        assert ("UQ003" in {symptom.code for symptom in finding.explains}) is some


def test_where_nothing_is_claimed_no_share_of_the_largest_is_taken() -> None:
    given = claims({"age": (1.0, 0.9)})
    table = given.estimates.assign(estimate=given.estimates["estimate"].where(given.estimates["item"] != CLAIMED, 0.0))
    assert ClaimsCheck().check(run(replace(given, estimates=table))).findings == ()


def test_all_features_together_stand_after_the_features_that_over_claim_alone() -> None:
    over: Over = {"age": (0.1, 0.08), "bmi": (0.1, 0.09), ALL_FEATURES: (0.5, 0.0)}
    statement = ClaimsCheck().check(run(claims(over))).findings[0].statement
    places = [
        statement.index(words)
        for words in ("bmi: a model-implied", "age: a model-implied", "By the model's own distributions")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(("share", "possible"), [(0.8, False), (0.81, True)])
def test_where_almost_all_is_realised_a_bad_fit_is_no_consequence(share: float, *, possible: bool) -> None:
    (finding,) = judged({"a": (0.1, 0.08), ALL_FEATURES: (0.5, 0.1)}, share=share).findings
    assert {symptom.code: symptom.possible for symptom in finding.explains}["UQ101"] is possible
