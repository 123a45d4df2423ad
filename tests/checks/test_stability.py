"""Stability judges the audit: leaders that are open, seeds that move the numbers, importances of a few rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Importance, RowValues
from uq_report.core.support.errors import InputError
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.importance import Pfi, PfiLine
from uq_report.evidence.information import AgreementView, RankLine
from uq_report.evidence.run import NotRun
from uq_report.methods.agreement.check import Leader, ShuffleShare, Stability, shufflings, without_few
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.testing import linear_subject, measures

from .rankings import NONE, Place, agreement, line, pfi, ranking, run

SURE: dict[str, Place] = {"a": (1, 1, 1), "b": (2, 2, 3), "c": (3, 2, 3), "d": (4, 4, 4)}
WIDE: dict[str, Place] = {"a": (1, 1, 3), "b": (2, 1, 3), "c": (3, 1, 4), "d": (4, 3, 4)}
CALM = (0.50, 0.51, 0.49, 0.50, 0.50, 0.49, 0.51, 0.50, 0.505, 0.495)
WILD = (0.2, 0.8, 0.3, 0.7, 0.5, 0.4, 0.6, 0.9, 0.1, 0.5)
SHARE = float(np.var(WILD, ddof=1)) / 10 / 0.1**2  # of the shuffles, at the standard error of `line`


def even(n: int = 400) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return row terms of mean 0.5 that all rows share."""
    return 0.5 + np.tile([-0.1, 0.1], n // 2)


def exactly(pair: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of permutation importance of which all pairs of rows are known."""
    return {**pair, "shuffling_error": 0.0}


def importance(verdict: str = "positive", **parts: Any) -> Importance:
    given: dict[str, Any] = {"repeats": {"a": CALM}, "rows": {"a": even()}}
    return pfi(line("a", verdict), **(given | parts))


def codes(outcome: Outcome) -> list[str]:
    return [finding.code for finding in outcome.findings]


def first_line() -> RankLine:
    view = AgreementView.find(run(agreement(ranking("pfi", "nll", SURE))))
    assert view is not None
    return view.lines[0]


def only(outcome: Outcome) -> Finding:
    assert len(outcome.findings) == 1
    return outcome.findings[0]


# ------------------------------------------------------------------ UQ501: the leader


@pytest.mark.parametrize(("n", "last"), [(2, 1), (4, 2), (5, 2), (6, 3), (20, 3)])
def test_a_determined_leader_stays_within_the_first_or_half_of_the_features(n: int, last: int) -> None:
    leader = Leader(first_line(), n, (), "positive")
    assert leader.limit({"top": 3, "half": 0.5}) == last


def test_an_open_leader_is_an_observation_that_names_the_candidates() -> None:
    finding = only(Stability().check(run(agreement(ranking("pfi", "nll", WIDE)), importance())))
    assert (finding.code, finding.severity) == ("UQ501", "observation")
    assert "the ranking of a, b and c is not statistically distinguishable" in finding.statement
    assert "This is no defect of the model." in finding.statement
    assert (finding.features, finding.measures, finding.evidence) == (("a",), ("nll",), ("agreement", "pfi"))
    assert (finding.threshold, finding.lower, finding.upper) == (2.0, 1.0, 3.0)


def test_a_determined_leader_passes_with_its_name() -> None:
    outcome = Stability().check(run(agreement(ranking("pfi", "nll", SURE)), importance()))
    assert outcome.state == "passed"
    assert "Leaders whose ranks are determined: a." in outcome.reason


def test_an_open_leader_that_does_not_matter_is_no_finding() -> None:
    outcome = Stability().check(run(agreement(ranking("pfi", "nll", WIDE)), importance("about 0")))
    assert outcome.state == "passed"
    assert "No ranking has a leader" in outcome.reason


def test_a_leader_of_unknown_sign_neither_raises_nor_clears() -> None:
    outcome = Stability().check(run(agreement(ranking("pfi", "nll", WIDE)), importance("undetermined")))
    assert (outcome.state, outcome.findings) == ("skipped", ())
    assert (
        "UQ501 is undetermined for the leader by permutation importance for the loss, whose importance has no "
        "determined sign" in outcome.reason
    )


def test_methods_without_verdicts_are_judged_by_their_interval() -> None:
    shap = pfi({**line("a", ""), "measure": "prediction"}, id="pfi.shap")
    held = type(shap)(**{**vars(shap), "estimates": shap.estimates.drop(columns="verdict"), "id": "pfi.shap"})
    results = (agreement(ranking("pfi.shap", "prediction", WIDE)), held, importance())
    assert codes(Stability().check(run(*results))) == ["UQ501"]


@pytest.mark.parametrize(("lower", "raised"), [(0.009, []), (0.011, ["UQ501"])])
def test_a_size_leads_nothing_where_it_is_within_the_margin(lower: float, raised: list[str]) -> None:
    """Sizes are positive by nature; those of a doubt that follows no feature have no leader to be named."""
    sizes = pfi({**line("a", "", measure="entropy"), "lower": lower}, id="pfi.shap")
    shap = replace(sizes, estimates=sizes.estimates.drop(columns="verdict"))
    changes = pfi({**line("a", "about 0", measure="entropy"), "margin": 0.01}, repeats={"a": CALM})
    found = Stability().check(run(agreement(ranking("pfi.shap", "entropy", WIDE)), shap, changes))
    assert codes(found) == raised


def test_one_observation_for_each_question() -> None:
    rankings = (
        ranking("pfi", "nll", WIDE),
        ranking("pfi", "squared_error", WIDE),
        ranking("pfi", "entropy", WIDE),
    )
    lines = [exactly(line("a", "positive", measure=name)) for name in ("nll", "squared_error", "entropy")]
    found = Stability().check(run(agreement(*rankings), pfi(*lines, repeats={"a": CALM})))
    open_ones = [finding for finding in found.findings if finding.code == "UQ501"]
    assert [finding.measures for finding in open_ones] == [("nll", "squared_error"), ("entropy",)]


@pytest.mark.parametrize(("top", "raised"), [(1, True), (2, True), (3, True)])
def test_no_more_than_half_of_the_features_lead(top: int, raised: bool) -> None:
    outcome = Stability(top=top).check(run(agreement(ranking("pfi", "nll", WIDE)), importance()))
    assert (codes(outcome) == ["UQ501"]) == raised
    six = {name: (rank, 1, 3) for rank, name in enumerate("abcdef", 1)}
    outcome = Stability(top=top).check(run(agreement(ranking("pfi", "nll", six)), importance()))
    assert (codes(outcome) == ["UQ501"]) == (top < 3)


def test_rankings_without_intervals_do_not_apply() -> None:
    bare = {name: (rank, NONE, NONE) for name, (rank, _, _) in WIDE.items()}
    outcome = Stability().check(run(agreement(ranking("pfi", "nll", bare)), importance()))
    assert outcome.state == "skipped"
    assert "UQ501 was not judged: no ranking of two or more features has intervals" in outcome.reason


def test_of_several_open_rankings_the_one_farthest_beyond_its_limit_gives_the_numbers() -> None:
    """Rank 3 of four features is one beyond the second; rank 3 of six is the last that is allowed, and 4 of two not."""
    two: dict[str, Place] = {"a": (1, 1, 2), "b": (2, 1, 2)}
    lines = [exactly(line("a", "positive", measure=name)) for name in ("nll", "squared_error")]
    for rankings in ((two, WIDE), (WIDE, two)):
        both = agreement(ranking("pfi", "nll", rankings[0]), ranking("pfi", "squared_error", rankings[1]))
        finding = only(Stability().check(run(both, pfi(*lines, repeats={"a": CALM}))))
        assert "inconclusive by permutation importance: the ranking of" in finding.statement
        worst = rankings[0]  # both are one beyond: the first
        assert (finding.threshold, finding.upper) == ((1.0, 2.0) if worst is two else (2.0, 3.0))
    eight: dict[str, Place] = {name: (k, 1, 8) for k, name in enumerate("abcdefgh", 1)}
    both = agreement(ranking("pfi", "nll", two), ranking("pfi", "squared_error", eight))
    finding = only(Stability().check(run(both, pfi(*lines, repeats={"a": CALM}))))
    assert (finding.threshold, finding.upper) == (3.0, 8.0)


def test_a_ranking_with_a_place_that_is_not_known_has_no_leader() -> None:
    some = {**WIDE, "d": (4, NONE, NONE)}
    outcome = Stability().check(run(agreement(ranking("pfi", "nll", some)), importance()))
    assert "no ranking of two or more features has intervals" in outcome.reason


def test_a_ranking_of_one_feature_has_no_leader() -> None:
    for places, judged in (({"a": (1, 1, 1)}, False), ({"a": (1, 1, 1), "b": (2, 2, 2)}, True)):
        outcome = Stability().check(run(agreement(ranking("pfi", "nll", places)), importance()))
        assert ("no ranking of two or more features" in outcome.reason) is not judged


# ------------------------------------------------------------------ UQ502: seeds


def test_one_feature_with_shuffles_is_enough_for_a_seed_to_enter() -> None:
    lines = (line("a", "positive"), exactly(line("b", "positive")))
    given = pfi(*lines, repeats={"a": CALM, "b": CALM}, rows={"a": even(), "b": even()})
    outcome = Stability().check(run(agreement(ranking("pfi", "nll", SURE)), given))
    assert "do not depend on a seed" not in outcome.reason
    assert "The random permutations have at most" in outcome.reason


def test_three_shuffles_can_be_judged_and_the_largest_share_is_told() -> None:
    lines = (line("a", "positive"), line("a", "positive", 0.5, 0.2, measure="squared_error"))
    few = pfi(*lines, repeats={"a": CALM[:3]})
    both = pd.concat([few.frame, few.frame.assign(measure="squared_error")])
    rows = RowValues(("nll", "squared_error"), ("a",), np.tile(even(), (2, 1, 1)))
    given = replace(few, frame=both, rows=rows)
    outcome = Stability(max_shuffle_variance=0.2).check(run(agreement(ranking("pfi", "nll", SURE)), given))
    assert "fewer than 3" not in outcome.reason
    share = float(np.var(CALM[:3], ddof=1)) / 3 / 0.1**2
    assert f"The random permutations have at most {100 * share:.2g}% of the variance" in outcome.reason


def test_of_two_measures_each_has_half_of_the_level() -> None:
    lines = (line("a", "positive"), line("a", "positive", 0.5, 0.2, measure="squared_error"))
    one = pfi(*lines, repeats={"a": WILD})
    view = Pfi.from_result(replace(one, frame=pd.concat([one.frame, one.frame.assign(measure="squared_error")])))
    first, second = shufflings(view, {"level": 0.05, "max_shuffle_variance": 0.1})
    assert (first.share, second.share) == pytest.approx((SHARE, SHARE / 4))
    assert (first.lower, first.upper) == pytest.approx(SHARE * 9 / stats.chi2.ppf([0.975, 0.025], 9))
    assert first.p_adjusted == pytest.approx(2 * stats.chi2.sf(SHARE * 9 / 0.1, 9))


def test_the_most_shuffles_of_any_feature_are_told() -> None:
    given = pfi(line("a", "positive"), line("b", "positive"), repeats={"a": WILD[:5], "b": WILD})
    (found,) = shufflings(Pfi.from_result(given), {"level": 0.05, "max_shuffle_variance": 0.1})
    noise = np.array([np.var(WILD[:5], ddof=1) / 5, np.var(WILD, ddof=1) / 10])
    assert found.n_repeats == 10
    assert found.share == pytest.approx(noise.sum() / 0.02)


def test_importances_without_an_error_or_without_noise_have_no_share() -> None:
    for given in (line("a", "positive", se=0.0), exactly(line("a", "positive"))):
        assert not list(
            shufflings(Pfi.from_result(pfi(given, repeats={"a": WILD})), {"level": 0.05, "max_shuffle_variance": 0.1})
        )


def test_shuffles_that_move_the_numbers_are_found_with_the_number_that_would_do() -> None:
    finding = only(Stability().check(run(agreement(ranking("pfi", "nll", SURE)), importance(repeats={"a": WILD}))))
    assert (finding.code, finding.severity, finding.features) == ("UQ502", "observation", ("a",))
    share = SHARE
    assert finding.observed == pytest.approx(share)
    assert finding.lower == pytest.approx(share * 9 / stats.chi2.ppf(0.95, 9))
    assert finding.upper == pytest.approx(share * 9 / stats.chi2.ppf(0.05, 9))
    assert f"about {int(np.ceil(10 * share * 0.9 / (0.1 * (1 - share))))} permutations per feature" in finding.remedy


def test_shuffles_that_do_not_matter_pass() -> None:
    outcome = Stability().check(run(agreement(ranking("pfi", "nll", SURE)), importance()))
    assert "The random permutations have at most 0.05% of the variance" in outcome.reason


def test_a_share_whose_interval_holds_the_threshold_is_undetermined() -> None:
    outcome = Stability(max_shuffle_variance=SHARE).check(
        run(agreement(ranking("pfi", "nll", SURE)), importance(repeats={"a": WILD}))
    )
    assert outcome.state == "skipped"
    assert "UQ502 is undetermined for the loss" in outcome.reason


def test_features_that_are_about_0_do_not_count() -> None:
    lines = (line("a", "positive"), line("b", "about 0"))
    result = pfi(*lines, repeats={"a": CALM, "b": WILD}, rows={"a": even(), "b": even()})
    assert Stability().check(run(agreement(ranking("pfi", "nll", SURE)), result)).state == "passed"


def test_a_feature_of_which_all_pairs_are_known_has_no_noise_of_shuffles() -> None:
    """Its error is the rows'; the shuffles' share of both errors is that of the other feature."""
    lines, repeats = (line("a", "positive"), line("b", "positive")), {"a": WILD, "b": WILD}
    views = (Pfi.from_result(pfi(*two, repeats=repeats)) for two in (lines, (lines[0], exactly(lines[1]))))
    both, one = (next(shufflings(view, {"level": 0.05, "max_shuffle_variance": 0.1})) for view in views)
    assert one.share == pytest.approx(both.share / 2)
    assert one.share < SHARE


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (pfi(exactly(line("a", "positive")), repeats={"a": WILD}, rows={"a": even()}), "do not depend on a seed"),
        (pfi(line("a", "positive"), repeats={"a": WILD[:2]}, rows={"a": even()}), "fewer than 3 random permutations"),
    ],
    ids=["exact", "two shuffles"],
)
def test_where_no_seed_enters_or_none_can_be_judged(result: Importance, words: str) -> None:
    outcome = Stability().check(run(agreement(ranking("pfi", "nll", SURE)), result))
    assert codes(outcome) == []
    assert words in outcome.reason


@pytest.mark.parametrize(("n_repeats", "share"), [(3, 1 / 4), (10, 1 / 11), (30, 1 / 31)])
def test_the_share_of_an_independent_feature_is_that_of_one_shuffle_in_m_plus_one(n_repeats: int, share: float) -> None:
    """For f = a(x) + c(u) + r(x, u) with x independent of u, g is -r and the residual is r: σ²/m over σ² + σ²/m."""
    subject = linear_subject(1000)
    engine = Engine(subject, measures(), seed=1)
    options = PermutationImportance(measures=("nll",), features=("c",), n_repeats=n_repeats, train=False)
    result = options.explain(subject, engine.bound("pfi"), {})[0]
    noise = result.frame["value"].var(ddof=1) / n_repeats / result.estimates["std_error"].iloc[0] ** 2
    ratio = noise / share * (n_repeats - 1)  # about χ², within a factor of 2 for the error of se²
    assert stats.chi2.ppf(1e-4, n_repeats - 1) / 2 < ratio < 2 * stats.chi2.ppf(1 - 1e-4, n_repeats - 1)


def test_the_shuffles_share_has_the_chi2_interval_of_its_variances() -> None:
    """Of two features: variances over ten shuffles, Satterthwaite's degrees of freedom, the squared errors summed."""
    result = pfi(
        line("a", "positive"), line("b", "negative", -0.5, 0.2), repeats={"a": WILD, "b": [2 * x for x in CALM]}
    )
    view = Pfi.find(run(result))
    assert view is not None
    (found,) = shufflings(view, {"level": 0.05, "max_shuffle_variance": 0.1})
    noise = np.array([np.var(WILD, ddof=1), 4 * np.var(CALM, ddof=1)]) / 10
    df, share = noise.sum() ** 2 / (noise**2 / 9).sum(), noise.sum() / (0.1**2 + 0.2**2)
    assert (found.features, found.n_repeats) == (("a", "b"), 10)
    assert found.share == pytest.approx(share)
    assert (found.lower, found.upper) == pytest.approx(share * df / stats.chi2.ppf([0.95, 0.05], df))
    assert found.p_adjusted == pytest.approx(stats.chi2.sf(share * df / 0.1, df))


@pytest.mark.parametrize(("share", "allowed", "needed"), [(0.5, 0.1, 90), (0.5, 0.25, 30), (0.2, 0.3, 6)])
def test_as_many_shuffles_are_needed_as_leave_the_share_allowed(share: float, allowed: float, needed: int) -> None:
    """v/m of the variance a + v/m: 10 shuffles of a share s need 10 s (1 - c)/(c (1 - s)) for a share c."""
    assert ShuffleShare("nll", ("a",), share, 0.0, 1.0, 0.0, 10).needed(allowed) == needed


def test_a_share_of_everything_needs_a_finite_number_of_shuffles() -> None:
    assert ShuffleShare("nll", ("a",), 1.0, 0.0, 1.0, 0.0, 10).needed(0.1) in (8910, 8911)


# ------------------------------------------------------------------ UQ503: a few rows


def pfi_line(estimate: float) -> PfiLine:
    view = Pfi.find(run(pfi(line("a", "positive", estimate))))
    assert view is not None
    return view.lines[0]


@pytest.mark.parametrize(
    ("terms", "share", "rest", "left_out", "turning"),
    [
        ([5.0, -1, -1, -1, 1], 0.01, -0.5, 1, 1),
        ([5.0, -1, -1, -1, 1], 0.4, -1.0, 2, 1),
        ([1.0, 1, 1], 0.4, 1.0, 1, 3),
        ([-1.0, 1, 2], 0.01, 0.0, 1, 1),
        ([1.0] * 100, 0.29, 1.0, 29, 100),  # 0.29 × 100 is a little less than 29
    ],
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_is_left_without_the_rows_that_support_the_sign(
    terms: list[float], share: float, rest: float, left_out: int, turning: int, sign: float
) -> None:
    rows = RowValues(("nll",), ("a",), sign * np.array(terms)[None, None])
    few_rows = without_few(rows, pfi_line(0.5 * sign), share)
    assert few_rows == pytest.approx((sign * rest, left_out, turning, len(terms)))


def few(n: int, k: int, sign: float = 1.0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return row terms that only the first k rows make positive."""
    terms = np.full(n, -0.001)
    terms[:k] = 50.0
    return sign * terms


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_importance_of_a_few_rows_is_found(sign: float) -> None:
    verdict = "positive" if sign > 0 else "negative"
    result = pfi(line("a", verdict, sign * 0.5), repeats={"a": CALM}, rows={"a": few(1000, 10, sign)})
    finding = only(Stability().check(run(agreement(ranking("pfi", "nll", SURE)), result)))
    assert (finding.code, finding.severity) == ("UQ503", "observation")
    assert finding.observed == pytest.approx(-sign * 0.001)
    words = f"{sign * 0.5:.2f} on all 1000 observations, but {-sign * 0.001:.4f} without the 10"
    assert words.replace("-", "−") in finding.statement


@pytest.mark.parametrize(
    ("verdict", "terms"),
    [("positive", few(1000, 11)), ("positive", even()), ("undetermined", few(1000, 10)), ("about 0", few(1000, 10))],
)
def test_more_rows_or_no_sign_stay_silent(verdict: str, terms: Any) -> None:
    result = pfi(line("a", verdict), repeats={"a": CALM}, rows={"a": terms})
    assert codes(Stability().check(run(agreement(ranking("pfi", "nll", SURE)), result))) == []


def test_weighted_rows_and_missing_terms_are_not_judged() -> None:
    results = (agreement(ranking("pfi", "nll", SURE)), importance())
    assert (
        "UQ503 was not judged: the observations are weighted"
        in Stability().check(run(*results, subject={"weights": True})).reason
    )
    bare = importance(rows=None)
    assert (
        "UQ503 was not judged: permutation importance has no terms of single observations"
        in Stability().check(run(results[0], bare)).reason
    )


# ------------------------------------------------------------------ the check


def test_without_results_it_does_not_apply() -> None:
    outcome = Stability().check(run(not_run=(NotRun("pfi", "explainers", "y was not given", "data"),)))
    assert outcome.state == "not_applicable"
    assert "permutation importance was not computed: y was not given" in outcome.reason
    assert "the comparison of rankings was not computed" in outcome.reason


def test_nothing_here_is_more_than_an_observation() -> None:
    assert {rule.severity for rule in Stability().rules} == {"observation"}


def test_every_code_has_its_rule_with_the_thresholds() -> None:
    rules = {rule.code: rule.text for rule in Stability(top=2, max_shuffle_variance=0.2, row_share=0.02).rules}
    assert list(rules) == ["UQ501", "UQ502", "UQ503"]
    assert "rank 2" in rules["UQ501"]
    assert "20%" in rules["UQ502"]
    assert "2%" in rules["UQ503"]


@pytest.mark.parametrize("option", [{"top": 0}, {"max_shuffle_variance": 1.0}, {"row_share": 0.6}, {"level": 0.0}])
def test_thresholds_that_cannot_be_used_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=rf"stability\.{next(iter(option))} must be"):
        Stability(**option)
