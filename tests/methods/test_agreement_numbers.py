"""Rankings by hand: places with and without intervals, who can be first, and which disagreements are told."""

from typing import Any

import numpy as np
import pytest

from uq_report.core.ranking import RankIntervals
from uq_report.evidence.information import RankLine
from uq_report.methods.agreement.ranked import Ranked, by_question
from uq_report.methods.agreement.rankings import Method
from uq_report.methods.agreement.reasons import UNEXPLAINED, disagreements

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
        "a is ranked 1 to 2 by pfi: nll but 4 by dalex.model_parts: nll. "
        f"One of the two ranks has no interval, so this may be chance. {UNEXPLAINED}"
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


def ranked(places: dict[str, tuple[float, float, float]], id: str = "pfi", role: str = "loss") -> Ranked:
    lines = tuple(
        RankLine(
            measure="nll", feature=feature, estimate=rank, std_error=np.nan, lower=lower, upper=upper, confidence=0.95,
            covers="", item=id, role=role, value=0.0,
        )
        for feature, (rank, lower, upper) in places.items()
    )  # fmt: skip
    return Ranked(id, "nll", lines)


@pytest.mark.parametrize(
    ("able", "words"),
    [
        (1, "only a can be first"),
        (2, "a and b can be first"),
        (3, "a, b and c can be first"),
        (4, "4 features can be first"),
    ],
)
def test_who_can_be_first_is_named_up_to_three(able: int, words: str) -> None:
    places = {name: (float(k), 1.0 if k <= able else 2.0, 4.0) for k, name in enumerate(FEATURES, 1)}
    assert ranked(places).first_words == words


def test_a_ranking_is_sure_where_all_of_its_ranks_have_intervals() -> None:
    firm = ranked({"a": (1, 1, 2), "b": (2, 1, 2)})
    open_ = ranked({"a": (1, 1, 2), "b": (2, np.nan, np.nan)}, "shap.importance")
    other = ranked({"a": (1, 1, 1)}, "rsens", "prediction")
    assert (firm.sure, open_.sure) == (True, False)
    assert (firm.places("a"), open_.places("a")) == ("1 to 2", "1")
    assert (firm.leaders(1), open_.leaders(2)) == ("a (1 to 2)", "a and b")
    assert by_question([open_, firm, other]) == {"prediction": [other], "loss": [firm, open_]}
    assert list(by_question([firm, other])) == ["prediction", "loss"]
