"""What sections of methods say of small tables made by hand: order, counts, ties, and where nothing is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Diagnostic
from uq_report.evidence import ids
from uq_report.evidence.information import CidGraph, ItemLine
from uq_report.evidence.profiles import HStatisticView
from uq_report.methods.agreement.section import StabilitySection
from uq_report.methods.cid.section import _cover_words, _graph_text, _reading
from uq_report.methods.h_statistic.section import _largest, _total
from uq_report.methods.segments.section import labelled
from uq_report.reading.run_reader import RunReader

from .cases import estimates
from .methods_results import h_statistic
from .reading import table_of, text_of
from .test_rankings import ranked
from .test_sections_methods import run_of

UNKNOWN = float("nan")


def stability(entropies: Mapping[tuple[str, str], Mapping[str, float]], largest: float = 2.0) -> Diagnostic:
    """Return how much ranks move, by method and measure: of each feature, and their mean under an empty name."""
    rows = [
        {"measure": measure, "feature": feature, "estimate": value, "item": method, "largest": largest}
        for (method, measure), values in entropies.items()
        for feature, value in values.items()
    ]
    frame, table = pd.DataFrame(columns=list(Diagnostic.columns)), estimates(rows)
    return Diagnostic(id=ids.AGREEMENT_STABILITY, explainer=ids.AGREEMENT, title="", frame=frame, estimates=table)


def told(result: Diagnostic) -> Any:
    return StabilitySection().section(RunReader(run_of([result])))


def test_ranks_are_listed_from_the_steadiest_with_their_extreme_features() -> None:
    section = told(
        stability(
            {
                (ids.PFI, "nll"): {"a": 0.9, "b": 0.1, "c": 0.5, "": 0.5},
                (ids.RSENS, "rsens"): {"a": 0.2, "b": 0.0, "c": 0.1, "": 0.1},
                (ids.SHAP_IMPORTANCE, "nll"): {"": 0.3},
                (ids.DALEX_PARTS, "nll"): {"a": 0.3, "b": 0.3},
            }
        )
    )
    table = table_of(section, "agreement-stability-table")
    assert [(row[0], *row[2:]) for row in table.rows] == [
        ("R-sens", 0.1, 0.05, "b", "a"), ("PFI", 0.5, 0.25, "b", "a"),
    ]  # fmt: skip
    assert text_of(section) == (
        "Most stable ranks: R-sens (rsens); least stable: PFI (negative log-likelihood). An entropy of 0 means that "
        "ranks never change."
    )


def test_of_one_feature_no_rank_can_move() -> None:
    table = table_of(told(stability({(ids.PFI, "nll"): {"a": 0.0, "": 0.0}}, largest=0.0)), "agreement-stability-table")
    assert table.rows[0][2:] == (0.0, None, "a", "a")


# ------------------------------------------------------------------ covered information


def cover(*lines: tuple[str, float, float, float]) -> dict[str, ItemLine]:
    """Return covered information with its interval, by feature."""
    return {
        feature: ItemLine(
            measure="", feature=feature, estimate=value, std_error=0.1, lower=low, upper=high, confidence=0.95,
            covers="", item="covered information",
        )
        for feature, value, low, high in lines
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            [("a", 0.2, 0.1, 0.3)],
            "The other features share part of the information of a (covered share 40%) about the target.",
        ),
        (
            [("a", 0.2, 0.1, 0.3), ("b", 0.4, 0.3, 0.5)],
            "The other features share part of the information of b and a (covered share 40%) about the target.",
        ),
        ([("a", -0.2, -0.3, -0.1)], "a is more informative once the others are known (synergy)."),
        (
            [("a", -0.2, -0.3, -0.1), ("b", -0.1, -0.2, -0.05)],
            "b and a are more informative once the others are known (synergy).",
        ),
        ([("a", 0.1, 0.0, 0.2)], "For 1 feature the interval of covered information holds 0: neither way is shown."),
        ([("a", -0.1, -0.2, 0.0)], "For 1 feature the interval of covered information holds 0: neither way is shown."),
        ([], ""),
    ],
)
def test_cover_is_told_where_its_interval_leaves_0(lines: Sequence[Any], words: str) -> None:
    assert _cover_words(cover(*lines), {"a": 0.4}) == words


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0.01, 0.2), "redundant"),
        ((0.0, 0.2), "not shown to differ from 0"),
        ((-0.2, 0.0), "not shown to differ from 0"),
        ((-0.2, -0.01), "synergistic"),
        ((UNKNOWN, UNKNOWN), "no interval"),
    ],
)
def test_the_reading_of_cover_is_that_of_its_interval(ends: tuple[float, float], words: str) -> None:
    assert _reading(cover(("a", 0.0, *ends))["a"]) == words
    assert _reading(None) == "no interval"


def edges(*ends: tuple[str, str, float], nodes: Sequence[str] = ("a", "b", "y"), unlisted: int = 0) -> CidGraph:
    frame = pd.DataFrame(
        [("", a, b, np.nan, value) for a, b, value in ends], columns=["measure", "feature", "item", "x", "value"]
    )
    meta = {"nodes": list(nodes), "edge": "partial correlation", "unlisted": unlisted}
    return CidGraph.from_result(
        Diagnostic(
            id=ids.CID_GRAPH, explainer=ids.CID, title="", frame=frame[list(Diagnostic.columns)],
            estimates=estimates([{"measure": "", "feature": "a", "estimate": 0.0, "item": ""}]), meta=meta,
        )
    )  # fmt: skip


def test_the_graph_is_told_by_its_strongest_edges_and_those_of_the_target() -> None:
    some = edges(("a", "b", 0.1), ("b", "y", -0.5))
    assert _graph_text(some) == (
        "2 edges between 2 features and the target. Strongest: b and y −0.500 and a and b 0.100. Tied to the target: b."
    )
    every = edges(("a", "b", 0.1), ("b", "y", -0.5), ("y", "a", 0.2))
    assert _graph_text(every).endswith("b and y −0.500, y and a 0.200 and a and b 0.100. Every pair is joined.")
    apart = edges(("a", "b", 0.1), nodes=("a", "b", "c", "y"))
    assert _graph_text(apart).endswith("3 features and the target. Strongest: a and b 0.100. Tied to the target: none.")
    capped = edges(("a", "b", 0.1), ("b", "y", -0.5), nodes=("a", "b", "c", "y"), unlisted=3)
    assert _graph_text(capped).startswith("5 edges between 3 features and the target. Strongest: b and y −0.500")
    whole = edges(("a", "b", 0.1), ("b", "y", -0.5), nodes=("a", "b", "c", "y"), unlisted=4)
    assert _graph_text(whole).endswith("Every pair is joined.")


# ------------------------------------------------------------------ rankings, interactions, segments


@pytest.mark.parametrize(
    ("able", "words"),
    [
        (1, "only a can be first"),
        (2, "a and b can be first"),
        (3, "a, b and c can be first"),
        (4, "4 features can be first"),
    ],
)
def test_features_that_can_be_first_are_named_while_they_are_few(able: int, words: str) -> None:
    places = [(name, k + 1.0, 1.0 if k < able else 2.0, 5.0) for k, name in enumerate("abcde")]
    assert ranked(*places).first_words == words


def test_pairs_are_told_with_those_that_are_not_ranked() -> None:
    lines = HStatisticView.from_result(h_statistic(("a", "b", "c", "d"))).lines
    pairs = [line for line in lines if line.feature_2]
    assert _largest(pairs) == (
        "Largest H²: a with b 0.300, a with c 0.150 and a with d 0.100. "
        "1 pair of 6 have little joint effect on the measure and are not ranked."
    )
    assert _largest(pairs[:1]) == "Largest H²: a with b 0.300."
    assert _largest(pairs[-1:]) == (
        "No pair is ranked. 1 pair of 1 have little joint effect on the measure and are not ranked."
    )
    assert (_total(None), _total(lines[0]), _total(pairs[-1])) == ("undefined", "0.200", "0.900 (not ranked)")


def test_segments_beyond_the_alphabet_have_a_number() -> None:
    letters = [letter for letter, _ in labelled([str(k) for k in range(53)])]
    assert (letters[0], letters[25], letters[26], letters[51], letters[52]) == ("A", "Z", "A1", "Z1", "A2")
