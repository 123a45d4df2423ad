"""Over-claiming in words: what over-claims stands first, and where nothing can be claimed the reason is its own."""

from typing import Any

import pandas as pd
import pytest

from uq_report.core.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Omission
from uq_report.evidence import ids
from uq_report.evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE
from uq_report.evidence.run import Run
from uq_report.methods.pfi.claims_rules import ClaimsCheck

COLUMNS = ("item", "p_value", "share", "share_lower", "share_upper", "distrust")
Over = dict[str, tuple[float, float]]  # of each feature the claim, and the part of it that is missing


def run(*results: Any) -> Run:
    return Run(as_of="2026-01-01", subject={"n": 500}, settings={}, environment={}, results=results)


def claims(over: Over) -> Diagnostic:
    """Return claims whose missing part is surely above 0 if it is above 0."""
    rows: list[dict[str, Any]] = []
    for feature, (claim, missing) in over.items():
        share = 1 - missing / claim
        for item, value in ((CLAIMED, claim), (DELIVERED, claim - missing), (DIFFERENCE, missing)):
            line = {"measure": "nll", "feature": feature, "item": item, "estimate": value, "std_error": 0.001}
            line |= {"lower": value - 0.002, "upper": value + 0.002, "confidence": 0.95, "distrust": ""}
            p = 0.0001 if missing else 0.9
            rows.append(line | {"p_value": p, "share": share, "share_lower": share - 0.1, "share_upper": share + 0.1})
    return Diagnostic(
        id=ids.PFI_CLAIMS,
        explainer=ids.PFI,
        title="",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(rows, columns=[*ESTIMATE_COLUMNS, *COLUMNS]),
        meta={"margin": 0.01},
    )


@pytest.mark.parametrize(("over", "first", "second"), [
    ({"age": (0.1, 0.08), ALL_FEATURES: (0.5, -0.05)}, "age claims", "The model claims that wrong values of all"),
    ({"age": (0.1, 0.08), ALL_FEATURES: (0.5, 0.2)}, "The model claims that wrong values of all", "age claims"),
    ({"age": (0.1, 0.03), ALL_FEATURES: (0.5, -0.05)}, "age claims", "The model claims that wrong values of all"),
])  # fmt: skip
def test_what_over_claims_stands_first(over: Over, first: str, second: str) -> None:
    """That all features together deliver 110 % is no over-claim, so it does not open the finding."""
    finding = ClaimsCheck().check(run(claims(over))).findings[0]
    assert finding.code == "UQ401"
    assert finding.statement.startswith(first)
    assert finding.statement.find(second) > 0


def test_features_that_deliver_little_are_named_the_smallest_share_first() -> None:
    over = {"half": (0.1, 0.05), "fifth": (0.1, 0.08), "tenth": (0.1, 0.09), "third": (0.1, 0.07), "0": (0.1, 0.1)}
    (finding,) = ClaimsCheck().check(run(claims(over))).findings
    assert finding.features == ("0", "tenth", "fifth", "third")
    assert finding.statement.count(" claims ") == 3


def test_all_features_together_claim_and_deliver() -> None:
    (finding,) = ClaimsCheck().check(run(claims({ALL_FEATURES: (0.3, -0.1), "age": (0.3, 0.0)}))).findings
    assert "all features together claim 0.30 nats and deliver 0.4000 nats" in finding.statement


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
