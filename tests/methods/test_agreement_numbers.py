"""Rankings by hand: places with and without intervals, who can be first, and which disagreements are told."""

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, RowValues
from uq_report.core.statistics.ranking import ROUNDING, RankIntervals
from uq_report.core.support.arrays import FloatArray
from uq_report.evidence import ids
from uq_report.evidence.information import COVERED, SHARE, RankLine
from uq_report.methods.agreement.check import Ranking
from uq_report.methods.agreement.explain import (
    CLOSE,
    UNEXPLAINED,
    Agreement,
    Method,
    Results,
    _cleared,
    _fuller,
    _rounding,
    _terms,
    _too_few,
    disagreements,
    profiles_part,
)

FEATURES = ("a", "b", "c", "d")


def method(id: str, ranks: Any, ends: Any = None, measure: str = "nll", role: str = "loss") -> Method:
    """Return a ranking of four features; `ends` holds the lower and the upper bound of each."""
    rank = np.array(ranks)
    lower, upper = (rank, rank) if ends is None else np.array(ends).T
    bounds = None if ends is None else RankIntervals(rank, lower, upper, np.zeros((4, 4), dtype=bool), 2.0)
    return Method(
        id=id, title=id, measure=measure, role=role, features=FEATURES, value=-rank.astype(float), rank=rank,
        bounds=bounds, draws=None, why="", sign=1, own=False,
    )  # fmt: skip


FIRM = [(1, 2), (1, 2), (3, 4), (3, 4)]
TURNED = [(4, 4), (2, 3), (2, 3), (1, 1)]


def test_places_are_those_of_the_interval_or_of_the_tie() -> None:
    tied = method("pfi", [1, 2, 2, 4])
    assert [tied.at(name) for name in FEATURES] == [(1, 1, 1), (2, 2, 3), (2, 2, 3), (4, 4, 4)]
    assert method("pfi", [1, 2, 3, 4], FIRM).at("c") == (3, 3, 4)
    assert (tied.label, method("pfi", [1, 2, 3, 4], measure="").label) == ("pfi: nll", "pfi")


def told(*rankings: Method) -> list[tuple[str, str, str, bool]]:
    cases, total = disagreements(rankings, {}, 0.95)
    assert total == len(cases)
    return [(case["feature"], *case["methods"], case["sure"]) for case in cases]


def test_ranks_that_are_apart_disagree_the_widest_first() -> None:
    """d is two places apart as much as a; b and c meet or touch."""
    assert told(method("pfi", [1, 2, 3, 4], FIRM), method("shap", [4, 2, 3, 1], TURNED)) == [
        ("a", "pfi", "shap", True), ("d", "shap", "pfi", True)
    ]  # fmt: skip
    far = [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert told(method("pfi", [1, 2, 3, 4], far), method("shap", [2, 1, 4, 3], [(4, 4), (1, 1), (3, 4), (2, 3)])) == [
        ("a", "pfi", "shap", True), ("b", "shap", "pfi", True), ("d", "shap", "pfi", True)
    ]  # fmt: skip


def test_a_rank_without_an_interval_comes_after_the_sure_ones_and_says_so() -> None:
    sure, other = method("pfi", [1, 2, 3, 4], FIRM), method("shap", [4, 2, 3, 1], TURNED)
    plain = method("dalex.model_parts", [4, 3, 2, 1])
    found = told(sure, other, plain)
    assert [case[3] for case in found] == sorted((case[3] for case in found), reverse=True)
    (first, *_), _ = disagreements((sure, plain), {}, 0.95)
    assert first["sentence"] == (
        "a is ranked 1 to 2 by pfi: nll but 4 by dalex.model_parts: nll. One of the two ranks has no interval, so "
        f"the difference may be due to chance. {UNEXPLAINED}"
    )
    assert (first["explained"], first["evidence"], first["measures"]) == (False, [], ["nll", "nll"])
    assert told(method("shap", [1, 2, 3, 4]), plain) == []


def test_compared_are_one_question_of_two_methods_or_two_of_one() -> None:
    ends: dict[str, Any] = {"ends": FIRM}
    here, turned = method("pfi", [1, 2, 3, 4], **ends), method("pfi", [4, 2, 3, 1], TURNED, "entropy", "uncertainty")
    assert len(told(here, turned)) == 2
    assert told(here, method("pfi", [4, 2, 3, 1], TURNED, "brier")) == []
    assert told(here, method("shap", [4, 2, 3, 1], TURNED, "entropy", "uncertainty")) == []
    assert len(told(here, method("shap", [4, 2, 3, 1], TURNED, "entropy", ""))) == 2


def ranked(places: dict[str, tuple[float, float, float]], id: str = "pfi", role: str = "loss") -> Ranking:
    lines = tuple(
        RankLine(
            measure="nll", feature=feature, estimate=rank, std_error=np.nan, lower=lower, upper=upper, confidence=0.95,
            covers="", item=id, role=role, value=0.0,
        )
        for feature, (rank, lower, upper) in places.items()
    )  # fmt: skip
    return Ranking(id, "nll", lines)


def test_a_ranking_is_sure_where_all_of_its_ranks_have_intervals() -> None:
    firm = ranked({"a": (1, 1, 2), "b": (2, 1, 2)})
    open_ = ranked({"a": (1, 1, 2), "b": (2, np.nan, np.nan)}, "shap.importance")
    other = ranked({"a": (1, 1, 1)}, "rsens", "prediction")
    assert (firm.sure, open_.sure) == (True, False)
    assert other.role == "prediction"


def compared(a: Method, b: Method, **options: Any) -> tuple[dict[str, dict[str, Any]], list[tuple[str, str]]]:
    lines, gaps = Agreement(**options)._compare(a, b)
    return {line["item"]: line for line in lines}, [(gap.measure, gap.reason) for gap in gaps]


def test_two_rankings_are_compared_by_tau_and_by_their_leaders() -> None:
    """One pair of six is turned; both have a and b in front, of whom chance alone shares half."""
    here, there = method("pfi", [1, 2, 3, 4]), method("shap", [2, 1, 4, 3])
    lines, gaps = compared(here, there)
    tau, overlap = lines["Kendall tau-b"], lines["top-k overlap"]
    assert tau["estimate"] == pytest.approx(stats.kendalltau([1, 2, 3, 4], [2, 1, 4, 3]).statistic)
    assert (tau["by_chance"], overlap["estimate"], overlap["by_chance"], overlap["top_k"]) == (0.0, 1.0, 0.5, 2)
    assert (tau["measure"], tau["first"], tau["second"], tau["n_features"]) == ("nll", "pfi: nll", "shap: nll", 4)
    assert gaps == []
    alone, _ = compared(here, there, top_k=1)
    assert (alone["top-k overlap"]["estimate"], alone["top-k overlap"]["by_chance"]) == (0.0, 0.25)
    assert compared(here, method("pfi", [1, 2, 3, 4], measure="entropy"))[0]["Kendall tau-b"]["measure"] == ""


def test_rankings_need_two_features_in_common_and_an_order() -> None:
    here, flat = method("pfi", [1, 2, 3, 4]), method("shap", [1, 1, 1, 1], measure="brier")
    two, one = (replace(here, id="x", features=names) for names in (("a", "b", "y", "z"), ("a", "x", "y", "z")))
    assert compared(here, two)[0]["Kendall tau-b"]["n_features"] == 2
    lines, gaps = compared(here, one)
    reason = "pfi: nll and x: nll have 1 features in common, so no order to compare"
    assert (lines, gaps) == ({}, [("nll", reason)])
    lines, gaps = compared(here, flat)
    assert list(lines) == ["top-k overlap"]
    assert [measure for measure, _ in gaps] == ["brier"]
    assert [measure for measure, _ in compared(flat, flat)[1]] == ["brier", "brier"]


def notes(*rankings: Method, listed: int = 2, total: int = 2, groups: bool = False, **options: Any) -> str:
    engine: Any = SimpleNamespace(confidence=0.9, subject=SimpleNamespace(groups={"g": ("a", "b")} if groups else {}))
    return " ".join(Agreement(**options)._notes(rankings, engine, listed, total))


def test_notes_say_what_holds_of_these_rankings() -> None:
    firm, bare = (
        method("pfi", [1, 2, 3, 4], FIRM),
        replace(method("shap", [1, 2, 3, 4]), why="it has no terms of single observations"),
    )
    turned = replace(firm, sign=-1, measure="accuracy")
    assert notes() == (
        "Importances are ranked by signed value: negative ones rank last; 1 is the largest, and equal values share the "
        "smaller rank."
    )
    assert "ranked by absolute value; 1" in notes(sign="absolute")
    assert "with 90% confidence" in notes(bare, firm)
    assert "confidence" not in notes(bare)
    assert "Lower values of accuracy are worse or less certain: there 1 is the smallest." in notes(firm, turned, turned)
    assert "Lower values" not in notes(firm)
    assert "Ranks only, without intervals: shap: it has no terms of single observations." in notes(firm, bare)
    assert "Ranks only" not in notes(firm)
    assert "2 of 3 disagreements are listed: the clearest." in notes(total=3)
    assert "Groups of features are left out" in notes(groups=True)


SUBJECT = testing.linear_subject(4)


def averaged(off: FloatArray, weights: Any = None, used: Any = None) -> Any:
    """Return the row terms of two features, of means 3 and 0, whose importances are `off` that."""
    rows = np.array([[3.0, 3, 3, 3], [1, -1, 1, -1]])[:, : None if used is None else len(used)]
    (plain,) = results(("x", {"measure": "nll", "feature": ["a", "b"]})).values()
    meta = {} if used is None else {"rows_used": used}
    result = replace(plain, rows=RowValues(("nll",), ("a", "b"), rows[None]), meta=meta)
    subject = SUBJECT if weights is None else replace(SUBJECT, weights=np.array(weights))
    return _terms(result, "nll", ("a", "b"), np.array([3.0, 0.0]) + off, subject, 0.0)


def test_row_terms_must_average_to_the_importances_up_to_a_millionth_of_the_largest() -> None:
    for share, fits in ((2.9, True), (3.1, False), (-2.9, True), (-3.1, False)):
        for at in (0, 1):
            assert isinstance(averaged(share * CLOSE * np.eye(2)[at]), tuple) is fits
    assert averaged(np.array([0.0, 1.0])) == "its terms of single observations do not average to its importances"


def test_row_terms_average_with_the_weights_of_their_rows() -> None:
    rows, weights, clusters = averaged(np.array([0.0, 0.5]), weights=[3.0, 1.0, 3.0, 1.0])
    assert (rows.shape, weights.tolist(), clusters) == ((2, 4), [3.0, 1.0, 3.0, 1.0], None)
    _, weights, _ = averaged(np.array([0.0, -0.5]), weights=[9.0, 1.0, 3.0, 1.0], used=[1, 2])
    assert weights.tolist() == [1.0, 3.0]
    assert averaged(np.zeros(2), used=[1, 2, 3, 0, 0]) == "it does not state to which observations its terms belong"


def test_a_measure_gives_way_to_another_of_its_question_that_ranks_more_features() -> None:
    engine = Engine(SUBJECT, testing.measures())
    (result,) = results(("x", {"measure": "nll", "feature": ["a"]})).values()
    two, three = (pd.DataFrame({"feature": list("abc")[:n]}) for n in (2, 3))
    assert _fuller(result, "nll", {"nll": two, "squared_error": three}, engine) == "squared_error"
    assert _fuller(result, "nll", {"nll": two, "entropy": three}, engine) == ""
    assert _fuller(result, "nll", {"nll": two, "squared_error": two}, engine) == ""
    assert _fuller(result, "own", {"own": two, "other": three}, engine) == ""


def test_rounding_is_a_share_of_the_measures_mean_size() -> None:
    engine = Engine(SUBJECT, testing.measures())
    size = np.abs(engine.unchanged([engine.measures["nll"]])[0]).mean()
    assert _rounding("nll", engine) == pytest.approx(ROUNDING * size)
    assert _rounding("no such measure", engine) == _rounding("brier", engine) == 0.0
    assert _cleared(np.array([0.5, -0.5, 0.51, -0.51]), 0.5).tolist() == [0.0, 0.0, 0.51, -0.51]


def test_ranks_need_two_units_and_errors_over_new_rows() -> None:
    none = "its importances have no interval over new test samples"
    table = pd.DataFrame({"std_error": [0.1, 0.2], "covers": "new test samples"})
    assert _too_few(table, np.ones(2), None) == ""
    assert _too_few(table, np.ones(1), None) == none
    assert _too_few(table.assign(std_error=[0.1, np.nan]), np.ones(2), None) == none
    assert _too_few(table.assign(covers=["new test samples", "none"]), np.ones(2), None) == none
    assert _too_few(table, np.ones(38), np.arange(38) // 2) == (
        "19 clusters cannot show the variation between clusters; at least 20 are needed"
    )
    assert _too_few(table, np.ones(40), np.arange(40) // 2) == ""


def results(*tables: tuple[str, dict[str, Any]]) -> Results:
    """Return results by their id, each with one table of estimates."""
    empty = pd.DataFrame(columns=list(Diagnostic.columns))
    parts: dict[str, Any] = {"explainer": "x", "title": "", "frame": empty}
    whole = {key: pd.DataFrame(dict.fromkeys(ESTIMATE_COLUMNS, np.nan) | table) for key, table in tables}
    return {key: Diagnostic(id=key, estimates=table, **parts) for key, table in whole.items()}


Clash = tuple[Method, Method]


def clash(
    high: str = "shap.importance", low: str = ids.PFI, measures: Any = ("nll", "nll"), role: str = "loss"
) -> Clash:
    """Return two rankings, the first of which has a higher rank of feature a."""
    return (
        method(high, [1, 2, 3, 4], FIRM, measures[0], role),
        method(low, [4, 2, 3, 1], TURNED, measures[1], role),
    )


def explained(pair: Clash, found: Results) -> tuple[str, list[str]]:
    """Return how the ranks of a are explained, and by which results."""
    cases, _ = disagreements(pair, {"x": list(found.values())}, 0.95)
    (case,) = (case for case in cases if case["feature"] == "a")
    return case["sentence"].partition(". ")[2], case["evidence"]


NOTHING: tuple[str, list[str]] = (UNEXPLAINED, [])


def information(lower: float, share: bool = True) -> Results:
    items = [COVERED, *([SHARE] if share else [])]
    both = {"measure": "nll", "feature": "a", "estimate": [0.5, 0.25][: len(items)], "lower": lower, "upper": 0.75}
    return results((ids.CID, {"item": items, **both}))


def test_covered_information_explains_where_it_is_surely_above_zero() -> None:
    why, evidence = explained(clash(), information(0.001))
    assert why.startswith("Other features share information of a about y (0.001 to 0.75 nats, a share of 0.25)")
    assert evidence == [ids.CID]
    assert "(0.001 to 0.75 nats);" in explained(clash(), information(0.001, share=False))[0]
    assert explained(clash(), information(0.0)) == NOTHING
    assert explained(clash(role="uncertainty"), information(0.001)) == NOTHING
    assert explained(clash(ids.PFI, "shap.importance"), information(0.001)) == NOTHING
    assert explained(clash(), results()) == NOTHING


def interaction(strength: float) -> Results:
    table = {
        "measure": ["prediction", "entropy", "prediction"], "feature": "a", "feature_2": ["", "", "b"],
        "estimate": [strength, 0.9, 0.9], "ranked": [1, 0, 1],
    }  # fmt: skip
    return results((ids.H_STATISTIC, table))


def test_a_method_counts_interactions_less_by_averages_or_by_parting_them() -> None:
    average, shap, pfi = ids.RSENS_COMPARATORS, "shap.importance", ids.PFI
    measures = {average: "aed", shap: "nll", pfi: "nll"}
    words = {
        (high, low): explained(clash(high, low, (measures[high], measures[low])), interaction(0.9))[0]
        for high, low in permutations(measures, 2)
    }
    ends = {pair: why.partition("no interval). ")[2].partition(" ")[0] for pair, why in words.items()}
    first = f"{average}:"
    assert {pair: end for pair, end in ends.items() if end} == {
        (shap, average): first, (pfi, average): first, (pfi, shap): "pfi"
    }  # fmt: skip
    both = clash(average, average, ("aed", "aed"))
    assert explained((both[0], replace(both[1], role="uncertainty")), interaction(0.9))[1] == []


@pytest.mark.parametrize(("strength", "said"), [(0.05, True), (0.049, False)])
def test_an_interaction_explains_from_a_twentieth_of_the_variance_on(strength: float, said: bool) -> None:
    found = interaction(strength)
    told = explained(clash(ids.PFI, "shap.importance"), found)
    assert told[1] == ([ids.H_STATISTIC] if said else [])
    assert explained(clash(), found) == NOTHING
    assert explained(clash(ids.PFI, "shap.importance", ("entropy",) * 2), found) == told  # it is not ranked there


@pytest.mark.parametrize(("size", "said"), [(1.0, True), (1.01, False), (0.0, False), (-1.0, False)])
def test_r_sens2_explains_from_a_fifth_of_a_size_above_zero(size: float, said: bool) -> None:
    pairs = {
        "measure": "rsens2", "feature": ["b", "a", "b"], "feature_2": ["a", "c", "c"], "lower": [0.1, 0.2, 0.9],
        "estimate": 1.0,
    }  # fmt: skip
    sizes = {"measure": "rsens", "feature": ["a"], "estimate": [size]}
    found = results((ids.RSENS_INTERACTION, pairs), (ids.RSENS, sizes))
    why, evidence = explained(clash(ids.PFI, "shap.importance"), found)
    assert bool(evidence) is said
    assert why.startswith("a interacts with c: their R-sens₂ is at least 20% of the R-sens of a.") is said


def test_one_negative_entropy_importance_is_enough_where_only_one_method_composes_rows() -> None:
    for high, low, other in ((ids.PFI, ids.RSENS, ids.PFI), (ids.RSENS, "shap.importance", "shap.importance")):
        pair = clash(high, low, tuple("rsens" if one == ids.RSENS else "nll" for one in (high, low)))
        for verdicts, said in ((["negative", "positive"], True), (["positive", "positive"], False)):
            table = {"measure": "entropy", "feature": "a", "verdict": verdicts, "estimate": 1.0}
            why, evidence = explained(pair, results((ids.PFI, table)))
            assert evidence == ([ids.PFI] if said else [])
            assert why.endswith(f"values of a, on which {other} evaluates it.") is said
    both = results((ids.PFI, table | {"verdict": ["negative"] * 2}))
    assert explained(clash(), both) == NOTHING


def test_curves_part_that_are_of_numbers_alone_whatever_their_order() -> None:
    table = {"measure": "nll", "feature": "a", "level": "", "x": [3.0, 1.0, 2.0]}
    line, steep = (table | {"estimate": values, "std_error": 0.01} for values in ([3.0, 1.0, 2.0], [9.0, 1.0, 2.0]))

    def part(local: Any, options: Any = None, **more: Any) -> bool:
        found = results((ids.ALE, local | {"std_error_change": 0.01} | more), (ids.PDP, line))
        return profiles_part({**found, ids.ALE: replace(found[ids.ALE], options=options or {})}, "nll", "a", 0.95)

    assert part(steep)
    assert not part(line)
    assert not part(steep, x=[3.0, np.nan, 2.0])
    assert not part(steep, level=["", "missing", ""])
    assert not part(steep, feature="b")
    assert not part(steep, {"mode": "centred"})
    assert not profiles_part({}, "nll", "a", 0.95)
