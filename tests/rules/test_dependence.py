"""Wood's reading, covered information, and pairs that repeat each other."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

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


def read(**pairs: tuple[tuple[float, float], tuple[float, float]]) -> Importance:
    """Return ``pfi`` with Entropy- and Likelihood-PFI of each feature."""
    return pfi({"entropy": {f: E for f, (E, _) in pairs.items()}, "nll": {f: L for f, (_, L) in pairs.items()}})


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


CALM = read(a=(ZERO, PLUS), b=(ZERO, PLUS))
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


def test_shared_information_fires() -> None:
    found = judged(read(a=(PLUS, PLUS), b=(ZERO, PLUS)))
    assert codes(found) == [("UQ201", ("a",))]
    finding = found.findings[0]
    assert finding.evidence == ("pfi", "pfi.reading")
    assert (finding.observed, finding.threshold) == (0.1, 0.0)
    assert "Its Entropy-PFI (+0.1 nats, 95 % interval +0.0803 to +0.12)" in finding.statement


def test_a_copy_fires() -> None:
    found = judged(read(a=(PLUS, ZERO), b=(ZERO, PLUS)))
    assert codes(found) == [("UQ202", ("a",))]
    assert "costs confidence (Entropy-PFI +0.1 nats" in found.findings[0].statement
    assert "about 0: within ±0.01" in found.findings[0].statement


@pytest.mark.parametrize("pair", [(ZERO, PLUS), (ZERO, ZERO), (MINUS, PLUS), (PLUS, MINUS), (OPEN, MINUS)])
def test_other_readings_stay_silent(pair: tuple[tuple[float, float], tuple[float, float]]) -> None:
    found = judged(read(a=pair, b=(ZERO, PLUS)))
    assert (found.state, codes(found)) == ("passed", [])
    assert found.reason.startswith("No importance is shown to be under-reported. ")


@pytest.mark.parametrize(
    ("pair", "open_codes"),
    [
        ((OPEN, PLUS), ["UQ201"]),
        ((OPEN, ZERO), ["UQ202"]),
        ((PLUS, OPEN), ["UQ201", "UQ202"]),
        ((OPEN, OPEN), ["UQ201", "UQ202"]),
    ],
)
def test_undetermined_neither_raises_nor_clears(
    pair: tuple[tuple[float, float], tuple[float, float]], open_codes: list[str]
) -> None:
    found = judged(read(a=pair, b=(ZERO, PLUS)))
    assert found.state == "skipped"
    assert [code for code in ("UQ201", "UQ202") if f"{code} is undetermined for a." in found.reason] == open_codes


def test_a_sign_that_the_adjustment_takes_away_raises_nothing() -> None:
    weak = (0.023, 0.011)
    assert codes(judged(read(a=(weak, PLUS)))) == [("UQ201", ("a",))]
    found = judged(read(a=(weak, PLUS), b=(ZERO, PLUS), c=(ZERO, PLUS)))
    assert codes(found) == []
    assert "UQ201 is undetermined for a." in found.reason


def test_what_was_found_says_what_else_is_open() -> None:
    found = judged(read(a=(PLUS, ZERO), b=(OPEN, PLUS)))
    assert (found.state, found.reason) == ("found", "UQ201 is undetermined for b.")


def test_a_high_covered_share_fires_with_its_interval() -> None:
    found = judged(covered=cid({"a": (0.28, 0.02, 0.3, 0.02), "b": UNCOVERED["b"]}))
    assert codes(found) == [("UQ201", ("a",))]
    finding = found.findings[0]
    assert (finding.evidence, finding.threshold, finding.observed) == (("cid",), 0.01, 0.28)
    assert (finding.lower, finding.upper) == pytest.approx((0.26, 0.3))
    assert "a share of 93%, shown to be above 50%" in finding.statement


def test_both_evidences_make_one_finding() -> None:
    found = judged(read(a=(PLUS, PLUS), b=(ZERO, PLUS)), cid({"a": (0.28, 0.02, 0.3, 0.02), "b": UNCOVERED["b"]}))
    assert [finding.evidence for finding in found.findings] == [("pfi", "pfi.reading", "cid")]


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


def test_without_covered_information_the_reading_stands_and_says_so() -> None:
    found = Dependence().check(run(CALM, redundancy(UNRELATED), STRANGERS))
    assert (found.state, "(cid was not run)" in found.reason) == ("passed", True)


def test_without_any_evidence_it_does_not_apply() -> None:
    found = Dependence().check(run())
    assert (found.state, found.findings) == ("not_applicable", ())
    assert found.reason.startswith("pfi was not run; cid was not run")


def test_thresholds_are_options_and_printed() -> None:
    share = cid({"a": (0.2, 0.005, 0.3, 0.005)})
    assert codes(judged(covered=share)) == [("UQ201", ("a",))]
    assert codes(judged(covered=share, check=Dependence(share=0.8))) == []
    assert "more than 80 % of its information" in Dependence(share=0.8).rules[0].text
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
    assert {("UQ201", ("a",)), ("UQ201", ("b",)), ("UQ203", ("a", "b"))} == set(codes(found))
    assert found.findings[0].evidence == ("pfi", "pfi.reading", "cid")
