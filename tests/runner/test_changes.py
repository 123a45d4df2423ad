"""What changed between two runs: closed forms, noise against planted changes, findings, inputs, refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

import uq_report as uq
from uq_report.api.views import AuditRun
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Result, RowValues
from uq_report.distributions import Normal
from uq_report.evidence import codec
from uq_report.evidence.finding import Finding, Outcome, RuleRecord, Severity, State, Waived, Waiver
from uq_report.evidence.run import Run, RunChanges, ValueChange
from uq_report.runner.changes import changes
from uq_report.runner.differences import BOUND, INDEPENDENT, PAIRED, RANKS, differences

Rows = NDArray[np.float64]
FEATURES = ("a", "b", "c")


def importance(
    terms: Rows, *, kept: bool = True, covers: str = "new test samples", meta: Mapping[str, Any] | None = None
) -> Importance:
    """Return an importance whose row terms have shape (features, rows)."""
    names = tuple(f"x{j}" for j in range(len(terms))) if len(terms) != len(FEATURES) else FEATURES
    n = terms.shape[1]
    table = [
        ("nll", name, t.mean(), t.std(ddof=1) / np.sqrt(n), np.nan, np.nan, 0.95, covers)
        for name, t in zip(names, terms, strict=True)
    ]
    return Importance(
        id="pfi",
        explainer="pfi",
        title="Importance",
        frame=pd.DataFrame(columns=list(Importance.columns)),
        estimates=pd.DataFrame(table, columns=list(ESTIMATE_COLUMNS)),
        rows=RowValues(("nll",), names, terms[None]) if kept else None,
        meta=meta or {},
    )


def scores(estimate: float, error: float) -> Diagnostic:
    """Return a table with one score."""
    line = ("", "", estimate, error, np.nan, np.nan, 0.95, "new test samples", "log_score", "nats")
    return Diagnostic(
        id="calibration",
        explainer="calibration",
        title="Scores",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame([line], columns=[*ESTIMATE_COLUMNS, "item", "unit"]),
    )


def run(*results: Result, rows: str = "1", n: int = 50, outcomes: tuple[Outcome, ...] = (), **facts: Any) -> Run:
    """Return a run on the rows named `rows`."""
    subject = {
        "label": "m", "task": "classification", "model_class": "a.B", "model_parameters": {}, "adapter": "f", "n": n,
        "weights": False, "clusters": None, "has_train": False, "features": [{"name": "a", "kind": "numeric"}],
        "classes": [0, 1], "positive_class": 1, "hashes": {"model": "a" * 64, "X": rows, "y": f"y{rows}"},
    }  # fmt: skip
    return Run(
        as_of="2026-01-31",
        subject=subject | facts,
        settings={"seed": 0, "options": {"pfi": {"n_repeats": 3}}, "as_of": "2026-01-31"},
        environment={"python": "3", "platform": "p", "numpy": "2"},
        results=results,
        outcomes=outcomes,
    )


def ends(value: ValueChange) -> tuple[float, float]:
    """Return the interval of a difference, which must have one."""
    assert value.lower is not None
    assert value.upper is not None
    return value.lower, value.upper


def normal(seed: int, *shape: int) -> Rows:
    return np.random.default_rng(seed).normal(size=shape)


def test_paired_intervals_are_those_of_the_paired_t_test() -> None:
    before, now = normal(0, 3, 50), normal(1, 3, 50) + 0.3
    values, _ = differences(run(importance(before)), run(importance(now)))
    assert [v.interval for v in values] == [f"95%, {PAIRED}"] * 3
    for j, value in enumerate(values):
        oracle = stats.ttest_rel(now[j], before[j])
        interval = oracle.confidence_interval(0.95)
        np.testing.assert_allclose(ends(value), [interval.low, interval.high], rtol=1e-9)
        np.testing.assert_allclose(value.difference, value.now - value.before, rtol=1e-12)


def test_without_pairs_the_errors_are_added_on_the_same_rows_and_in_squares_on_others() -> None:
    t = float(stats.t.ppf(0.975, 49))
    same, _ = differences(run(scores(1.0, 0.3)), run(scores(2.0, 0.4)))
    np.testing.assert_allclose(ends(same[0]), (1 - 0.7 * t, 1 + 0.7 * t), rtol=1e-9)
    apart, _ = differences(run(scores(1.0, 0.3)), run(scores(2.0, 0.4), rows="2", n=80))
    np.testing.assert_allclose(ends(apart[0]), (1 - 0.5 * t, 1 + 0.5 * t), rtol=1e-9)
    assert (same[0].interval, apart[0].interval) == (f"95%, {BOUND}", f"95%, {INDEPENDENT}")
    assert (same[0].result, same[0].measure, same[0].feature) == ("calibration", "log_score", "")


@pytest.mark.parametrize(
    ("facts", "kept", "meta", "interval"),
    [
        ({}, True, {"rows_used": [1, 2]}, BOUND),
        ({}, False, {}, BOUND),
        ({"weights": True}, True, {}, BOUND),
        ({"clusters": 30}, True, {}, BOUND),
        ({"hashes": {"model": "", "X": "2", "y": "y1"}}, True, {}, BOUND),
        ({"hashes": {"model": "", "X": "2", "y": "y2"}}, True, {}, INDEPENDENT),
    ],
)
def test_pairs_need_row_terms_of_the_same_rows(
    facts: dict[str, Any], kept: bool, meta: dict[str, Any], interval: str
) -> None:
    before, now = run(importance(normal(0, 3, 50))), run(importance(normal(1, 3, 50), kept=kept, meta=meta), **facts)
    values, _ = differences(before, now)
    assert {value.interval for value in values} == {f"95%, {interval}"}


def test_row_terms_that_do_not_average_to_the_estimate_are_no_pairs() -> None:
    odd = importance(normal(1, 3, 50))
    odd = replace(odd, estimates=odd.estimates.assign(estimate=5.0))
    values, _ = differences(run(importance(normal(0, 3, 50))), run(odd))
    assert {value.interval for value in values} == {f"95%, {BOUND}"}


@pytest.mark.parametrize("same_rows", [True, False])
def test_noise_is_no_change_in_19_of_20_comparisons(same_rows: bool) -> None:
    """Null: 12 importances that differ by noise alone; an alarm is any of them called changed."""
    reps, alarms = 300, 0
    for rep in range(reps):
        rng = np.random.default_rng([7, rep])
        terms = rng.normal(size=(12, 60))
        now = terms + 0.5 * rng.normal(size=terms.shape) if same_rows else rng.normal(size=(12, 60))
        values, _ = differences(
            run(importance(terms), n=60), run(importance(now), rows="1" if same_rows else "2", n=60)
        )
        alarms += any(value.changed for value in values)
    assert stats.binomtest(alarms, reps).proportion_ci(0.99).low <= 0.05
    assert alarms > 0  # the level is used: a procedure that never alarms could not find a change either


def test_holm_stands_between_one_interval_and_a_change() -> None:
    before = np.zeros((40, 50))
    now = normal(3, 40, 50)
    now -= now.mean(axis=1, keepdims=True)
    now[0] += 2.5 * now[0].std(ddof=1) / np.sqrt(50)  # p is about 0.016: apart from 0 alone, not among 40
    before += 1e-3 * normal(4, 40, 50)
    before -= before.mean(axis=1, keepdims=True)
    values, _ = differences(run(importance(before)), run(importance(now)))
    assert ends(values[0])[0] > 0
    assert not any(value.changed for value in values)
    alone, _ = differences(run(importance(before[:1])), run(importance(now[:1])))
    assert alone[0].changed


def test_rounding_is_no_change() -> None:
    terms = normal(0, 3, 50) + 1
    values, _ = differences(run(importance(terms)), run(importance(terms * (1 + 1e-13))))
    assert [(value.difference, value.changed) for value in values] == [(0.0, False)] * 3
    values, _ = differences(run(importance(terms * 0)), run(importance(terms * 0 + 1.0)))
    assert all(value.changed and value.lower == value.upper == 1.0 for value in values)


def test_what_cannot_be_compared_is_listed_with_its_reason() -> None:
    def gaps(before: Run, now: Run) -> str:
        values, found = differences(before, now)
        assert values == ()
        return " ".join(found)

    base = run(importance(normal(0, 3, 50)))
    unknown = importance(normal(0, 3, 50))
    unknown = replace(unknown, estimates=unknown.estimates.assign(std_error=np.nan))
    assert "pfi, nll of a, nll of b, nll of c: no standard error" in gaps(base, run(unknown))
    shuffles = importance(normal(0, 3, 50), covers="shuffles")
    assert "cover different things" in gaps(base, run(shuffles))
    assert "pfi: it is only in the previous run." in gaps(base, run())
    assert "pfi: it is not in the previous run." in gaps(run(), base)
    other = gaps(base, run(importance(normal(0, 5, 50))))
    assert "x0, nll of x1, nll of x2 and 2 more: only in this run." in other
    assert "pfi, nll of a, nll of b, nll of c: only in the previous run." in other
    assert "the positive class of the two runs differ" in gaps(
        base, run(importance(normal(0, 3, 50)), positive_class=0)
    )
    twice = importance(normal(0, 3, 50))
    twice = replace(twice, estimates=pd.concat([twice.estimates, twice.estimates]))
    assert "several values of one measure and feature" in gaps(base, run(twice))


def test_what_is_given_must_be_the_same() -> None:
    given = importance(normal(0, 3, 50), covers="new test samples given the background")
    hashes = {"model": "", "X": "2", "train_X": "t"}
    before = run(given, has_train=True, hashes={"X": "1", "train_X": "t"})
    assert len(differences(before, run(given, has_train=True, hashes=hashes))[0]) == 3
    values, gaps = differences(before, run(given, has_train=True, hashes=hashes | {"train_X": "u"}))
    assert values == ()
    assert any("take as given what may differ" in gap for gap in gaps)
    seeded = replace(run(given, has_train=True, hashes=hashes), settings={"seed": 1})
    assert differences(before, seeded)[0] == ()


def ranking(ranks: Mapping[str, tuple[int, float, float]]) -> Diagnostic:
    lines = [
        ("nll", f, rank, np.nan, low, high, 0.95, "new test samples, all ranks together", "pfi")
        for f, (rank, low, high) in ranks.items()
    ]
    return Diagnostic(
        id="agreement",
        explainer="agreement",
        title="Ranks",
        frame=pd.DataFrame(columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(lines, columns=[*ESTIMATE_COLUMNS, "item"]),
    )


def test_ranks_shift_only_if_no_rank_is_in_both_intervals() -> None:
    before = run(ranking({"a": (1, 1, 1), "b": (2, 2, 3), "c": (3, 2, 3)}))
    now = run(ranking({"a": (3, 2, 3), "b": (1, 1, 2), "c": (2, 1, 3)}))
    values, _ = differences(before, now)
    assert [(v.measure, v.feature, v.before, v.now, v.lower, v.upper, v.changed) for v in values] == [
        ("pfi: nll", "a", 1, 3, 1, 2, True),
        ("pfi: nll", "b", 2, 1, -2, 0, False),
        ("pfi: nll", "c", 3, 2, -2, 1, False),
    ]
    assert {v.interval for v in values} == {RANKS}
    fewer = run(ranking({"a": (1, 1, 1), "b": (2, 2, 2)}))
    assert "do not rank the same features" in " ".join(differences(before, fewer)[1])
    bare = run(ranking({"a": (1, np.nan, np.nan), "b": (2, 2, 2), "c": (3, 3, 3)}))
    assert "the ranks of pfi have no interval" in " ".join(differences(before, bare)[1])


def finding(code: str, severity: Severity, *features: str) -> Finding:
    return Finding(
        code=code,
        title=f"T {code}",
        severity=severity,
        statement="S",
        evidence=("pfi",),
        rests_on="r",
        features=features,
    )


def outcome(
    *findings: Finding, state: State | None = None, waived: tuple[Waived, ...] = (), check: str = "c"
) -> Outcome:
    rule = RuleRecord(code="UQ1", title="T", severity="high", when="w", rests_on="r")
    ended = state or ("found" if findings else "passed")
    return Outcome(check=check, state=ended, reason="why.", findings=findings, waived=waived, rules=(rule,))


def waived(one: Finding) -> Waived:
    return Waived(finding=one, waiver=Waiver(code=one.code, owner="o", reason="r", expires="2027-01-01"))


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ((), ("low",), ("new", "", "low")),
        (("low",), ("high",), ("worse", "low", "high")),
        (("high",), ("low",), ("better", "high", "low")),
        (("high",), (), ("closed", "high", "")),
        (("high",), ("high",), ("unchanged", "high", "high")),
        (("low", "high"), ("high",), ("unchanged", "high", "high")),
    ],
)
def test_findings_are_matched_by_code_and_features(
    before: tuple[Severity, ...], now: tuple[Severity, ...], expected: tuple[str, str, str]
) -> None:
    made = [run(outcomes=(outcome(*(finding("UQ1", s, "b", "a") for s in each)),)) for each in (before, now)]
    found = changes(*made).findings
    assert [(f.change, f.before, f.now) for f in found] == [expected]
    assert (found[0].code, found[0].features, found[0].title) == ("UQ1", ("a", "b"), "T UQ1")


def test_findings_come_worst_first() -> None:
    before = run(outcomes=(outcome(finding("UQ3", "high"), finding("UQ4", "critical"), finding("UQ5", "low")),))
    now = run(
        outcomes=(
            outcome(finding("UQ1", "low"), finding("UQ2", "high"), finding("UQ3", "high"), finding("UQ5", "medium")),
        )
    )
    found = [(one.code, one.change) for one in changes(before, now).findings]
    assert found == [("UQ2", "new"), ("UQ5", "worse"), ("UQ1", "new"), ("UQ4", "closed"), ("UQ3", "unchanged")]


def test_a_worse_score_comes_before_larger_changes_of_importance_and_those_before_noise() -> None:
    """Rows are different, so the errors add; the score rises by 5 of them, the importances by far more or less."""
    terms = normal(3, 3, 50)
    moved = terms + np.array([[9.0], [0.0], [4.0]])
    before = run(scores(1.0, 0.1), importance(terms))
    now = run(scores(1.0 + 5 * np.sqrt(0.02), 0.1), importance(moved), rows="2")
    found = [(one.result, one.feature, one.changed) for one in changes(before, now).values]
    assert found == [("calibration", "", True), ("pfi", "a", True), ("pfi", "c", True), ("pfi", "b", False)]
    better = changes(now, before).values
    assert [one.feature for one in better if one.changed] == ["a", "c", ""]


def test_a_finding_about_other_features_has_moved() -> None:
    before = run(outcomes=(outcome(finding("UQ1", "low", "a")),))
    now = run(outcomes=(outcome(finding("UQ1", "low", "b")),))
    assert [(f.features, f.change) for f in changes(before, now).findings] == [(("b",), "moved")]


def test_a_waiver_closes_a_finding_and_its_end_opens_it_again() -> None:
    one = finding("UQ1", "high")
    still = run(outcomes=(outcome(one),))
    held = run(outcomes=(outcome(state="ignored", waived=(waived(one),)),))
    clear = run(outcomes=(outcome(),))

    def moved(before: Run, now: Run) -> list[tuple[str, str, str]]:
        return [(f.change, f.before, f.now) for f in changes(before, now).findings]

    assert moved(still, held) == [("closed", "high", "waived")]
    assert moved(held, still) == [("new", "waived", "high")]
    assert moved(held, held) == [("unchanged", "waived", "waived")]
    assert moved(held, clear) == [("closed", "waived", "")]
    assert moved(clear, held) == [("unchanged", "", "waived")]


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ((outcome(state="not_applicable"),), "why."),
        ((outcome(state="skipped"),), "why."),
        ((), "its check is not installed."),
    ],
)
def test_a_finding_is_not_closed_by_a_check_that_did_not_run(now: tuple[Outcome, ...], words: str) -> None:
    found = changes(run(outcomes=(outcome(finding("UQ1", "high", "a")),)), run(outcomes=now))
    assert found.findings == ()
    assert f"UQ1 (a), found before, is not cleared: {words}" in found.not_compared


def test_inputs_that_differ_are_listed_with_both_values() -> None:
    before = run()
    now = replace(
        run(rows="2", label="n", model_parameters={"C": "1"}),
        settings={"seed": 1, "options": {"pfi": {"n_repeats": 9}}, "as_of": "2027-01-31"},
        environment={"python": "3", "platform": "p", "numpy": "3"},
    )
    found = {one.what: (one.before, one.now) for one in changes(before, now).inputs}
    assert found == {
        "hash of X": ("1", "2"),
        "hash of y": ("y1", "y2"),
        "label": ("m", "n"),
        "model parameter C": ("", "1"),
        "version of numpy": ("2", "3"),
        "setting seed": ("0", "1"),
        "setting options.pfi.n_repeats": ("3", "9"),
    }


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"task": "regression"}, "the previous one is of classification, this one of regression"),
        (
            {"features": [{"name": "z", "kind": "numeric"}]},
            "they have no feature in common (a before, z now)",
        ),
        ({"classes": ["x", "y"]}, "they predict other classes (0 and 1 before, x and y now)"),
    ],
)
def test_unrelated_models_have_no_changes_and_say_why(facts: dict[str, Any], words: str) -> None:
    found = changes(run(scores(1, 0.1), outcomes=(outcome(finding("UQ1", "high")),)), run(scores(2, 0.1), **facts))
    assert found.unrelated == f"The two runs are of unrelated models: {words}"
    assert (found.findings, found.values, found.inputs) == ((), (), ())
    assert found.not_compared == ("Findings, values and inputs: a difference between the two runs would be no change.",)


def test_what_both_runs_have_is_compared_and_named() -> None:
    before, now = ([{"name": name, "kind": "numeric"} for name in names] for names in ("abx", "aby"))
    raised = outcome(finding("UQ1", "high", "a"), finding("UQ2", "high", "y"))
    found = changes(run(features=before), run(features=now, outcomes=(raised,)))
    assert not found.unrelated
    assert [one.code for one in found.findings] == ["UQ1"]
    text = "x, only in the previous run; y, only in this run. Compared is what both runs have: a and b."
    assert text in found.not_compared


def test_another_label_is_noted() -> None:
    found = changes(run(), run(label="n", hashes={"model": "not available", "X": "1"}))
    assert any("audited 'm', this one 'n'" in line for line in found.not_compared)
    assert any("Whether the model is the same" in line for line in found.not_compared)
    assert found.previous == {"as_of": "2026-01-31", "label": "m", "sha256": codec.sha256(run())}


class Linear:
    """Normal predictions around slopes times x."""

    def __init__(self, *slopes: float) -> None:
        self.slopes = np.array(slopes)

    def __call__(self, X: Any) -> Normal:
        return Normal(np.asarray(X, dtype=float) @ self.slopes, np.ones(len(X)))


def audit(model: Linear, seed: int, previous: Any = None, n: int = 300) -> AuditRun:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list(FEATURES))
    y = X["a"] + 0.5 * X["b"] + rng.normal(size=n)
    subject = uq.explain(model, X, y, label="m")
    return uq.audit(
        subject,
        explainers=["pfi", "calibration"],
        checks=["calibration"],
        options={"pfi": {"n_repeats": 5}},
        as_of="2026-01-31",
        progress=False,
        previous=previous,
    )


def test_the_same_audit_again_has_no_change_and_a_regression_is_found(tmp_path: Any) -> None:
    good, bad = Linear(1.0, 0.5, 0.0), Linear(0.2, 0.5, 0.0)
    first = audit(good, 0)
    first.write(tmp_path, formats=())
    for previous in (first.run, str(tmp_path / "run.json")):
        again = audit(good, 0, previous).changes
        assert isinstance(again, RunChanges)
        assert again.inputs == ()
        assert not any(value.changed or value.difference for value in again.values)
        assert {f.change for f in again.findings} <= {"unchanged"}
    fresh = audit(good, 1, first).changes
    assert fresh is not None
    assert [v for v in fresh.values if v.changed] == []
    assert {v.interval for v in fresh.values} == {f"95%, {INDEPENDENT}"}
    for seed, kind in ((0, PAIRED), (1, INDEPENDENT)):
        worse = audit(bad, seed, first)
        assert worse.changes is not None
        found = {(v.result, v.measure, v.feature): v for v in worse.changes.values if v.changed}
        assert found["pfi", "nll", "a"].difference < 0
        assert found["pfi", "nll", "a"].interval == f"95%, {kind}"
        assert found["calibration", "log_score", ""].difference > 0
        assert ("pfi", "nll", "c") not in found
        assert codec.loads(codec.dumps(worse.run)).changes == worse.changes


def test_compare_replaces_what_a_run_was_compared_with() -> None:
    first, second = run(scores(1.0, 0.1)), run(scores(2.0, 0.1), rows="2")
    done = AuditRun(replace(second, changes=changes(second, second))).compare(first)
    assert done.changes == changes(first, second)
