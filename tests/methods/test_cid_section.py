"""What the section on covered information says of results made by hand: words, tables, figures and gaps."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.measures import NLL
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, MeasureFacts, Omission, Result
from uq_report.document.blocks import TOP, undrawn
from uq_report.document.document import Bullets, Figure, Section, Table
from uq_report.evidence.run import Run
from uq_report.methods.cid.figure import STRONGEST
from uq_report.methods.cid.section import CoverSection
from uq_report.reading.run_reader import RunReader

from ..report.methods_results import cover
from ..report.reading import all_blocks, table_of, text_of

Part = tuple[float, float]  # a value and half of its interval


def shown(*results: Result) -> Section:
    run = Run(as_of="2026-01-01", subject={"n": 400}, settings={}, environment={}, results=results)
    with undrawn():
        return CoverSection().section(RunReader(run))


def line(feature: str, item: str, value: float, reach: float) -> dict[str, Any]:
    ends = {"lower": value - reach, "upper": value + reach, "std_error": reach / 2, "confidence": 0.95}
    return {"measure": "", "feature": feature, "item": item, "estimate": value, "covers": "new test samples"} | ends


def information(features: Mapping[str, tuple[float, Part | None, float]], **meta: Any) -> Diagnostic:
    """Return ``cid``: of each feature what it says, what is covered of it, and the share."""
    rows = []
    for feature, (mutual, covered, share) in features.items():
        rows.append(line(feature, "mutual information", mutual, 0.01))
        rows += [line(feature, "covered information", *covered)] if covered else []
        rows.append(line(feature, "covered share", share, np.nan))
    empty = pd.DataFrame(columns=list(Diagnostic.columns))
    table = pd.DataFrame(rows, columns=[*ESTIMATE_COLUMNS, "item"])
    facts = {"estimator": "Gaussian copula", "graph": "given", "penalty": None} | meta
    return Diagnostic(id="cid", explainer="cid", title="", frame=empty, estimates=table, meta=facts)


PLAIN = {"a": (0.3, (0.1, 0.05), 0.33), "b": (0.5, (-0.1, 0.05), 0.0), "c": (0.2, (0.01, 0.05), 0.05)}


def test_features_stand_by_their_information_with_the_reading_of_their_interval() -> None:
    found = shown(information(PLAIN | {"d": (0.1, None, np.nan)}))
    rows = table_of(found, "covered-table").rows
    assert [(row[0], row[3], row[4]) for row in rows] == [
        ("b", "synergistic", 0.0), ("a", "redundant", 0.33), ("c", "not shown to differ from 0", 0.05),
        ("d", "no interval", None),
    ]  # fmt: skip
    assert rows[-1][2] == "no number"
    assert (
        "The other features share part of the information of a (covered share 33%) about the target. b is more "
        "informative once the others are known (synergy). For 1 feature the interval of covered information holds 0: "
        "neither way is shown."
    ) in text_of(found)


def test_several_features_say_and_an_interval_that_ends_at_0_shows_nothing() -> None:
    both = {"a": (0.3, (0.1, 0.05), 0.33), "b": (0.4, (0.2, 0.05), np.nan)}
    less = {"c": (0.3, (-0.1, 0.05), 0.0), "d": (0.4, (-0.2, 0.05), 0.0), "e": (0.5, (0.125, 0.125), 0.5)}
    text = text_of(shown(information(both | less | {"f": (0.1, (-0.125, 0.125), 0.0)})))
    assert (
        "part of the information of b and a (covered share 33%) about the target. c and d are more informative once"
        in text
    )
    assert "For 2 features the interval of covered information holds 0" in text
    rows = table_of(shown(information(less)), "covered-table").rows
    assert [row[3] for row in rows] == ["not shown to differ from 0", "synergistic", "synergistic"]


@pytest.mark.parametrize("n", [TOP, TOP + 1])
def test_a_figure_of_twenty_features_says_of_how_many(n: int) -> None:
    found = shown(information({f"x{k}": (k / 100, (0.0, 0.1), 0.0) for k in range(n)}))
    (figure,) = (b for b in all_blocks(found) if isinstance(b, Figure) and b.id == "covered-figure")
    assert (f"with the others, the 20 most informative of {n}. " in figure.caption) is (n > TOP)
    assert f"Most informative: x{n - 1} " in figure.alt


@pytest.mark.parametrize(
    ("meta", "rows"),
    [
        ({}, [("Estimator", "Gaussian copula"), ("Graph", "given"), ("Penalty", "none")]),
        (
            {"penalty": 0.5, "bins": 4, "condition": 7.0},
            [("Estimator", "Gaussian copula"), ("Graph", "given"), ("Penalty", 0.5), ("Bins", 4), ("Condition", 7.0)],
        ),
    ],
)
def test_facts_are_those_of_the_estimator(meta: dict[str, Any], rows: list[Any]) -> None:
    found = next(part for part in shown(information(PLAIN, **meta)).sections if part.id == "covered-graph")
    assert list(found.blocks[0].rows) == rows  # type: ignore[union-attr]
    assert len(found.blocks) == 1


def graph(edges: list[tuple[str, str, float]], nodes: str = "abcy", meaning: str = "partial correlation") -> Diagnostic:
    frame = pd.DataFrame([("", a, b, np.nan, v) for a, b, v in edges], columns=list(Diagnostic.columns))
    empty = pd.DataFrame(columns=[*ESTIMATE_COLUMNS, "item"])
    meta = {"nodes": list(nodes), "edge": meaning}
    return Diagnostic(id="cid.graph", explainer="cid", title="", frame=frame, estimates=empty, meta=meta)


def test_the_graph_in_words_names_the_strongest_edges_and_those_with_the_target() -> None:
    some = text_of(shown(information(PLAIN), graph([("a", "b", 0.5), ("b", "y", -0.25)])))
    assert "2 edges between 3 features and the target. Strongest: a and b 0.500 and b and y −0.250." in some
    assert "Tied to the target: b." in some
    one = text_of(shown(information(PLAIN), graph([("a", "b", 0.5)])))
    assert "1 edge between 3 features and the target" in one
    assert "Tied to the target: none." in one
    whole = text_of(shown(information(PLAIN), graph([("a", "b", 0.5), ("a", "y", 0.25), ("b", "y", 0.125)], "aby")))
    assert "Every pair is joined." in whole
    assert "The graph has no edges" in text_of(shown(information(PLAIN), graph([])))


@pytest.mark.parametrize("left", [0, 1])
def test_the_strongest_edges_are_drawn_and_the_others_counted(left: int) -> None:
    n = STRONGEST + left
    names = [chr(ord("A") + k) for k in range(n + 1)]
    edges = [(a, b, 1 / (k + 2)) for k, (a, b) in enumerate(pairwise(names))]
    found = shown(information(PLAIN), graph(edges, "".join(names) + "y", "s" * 80))
    (figure,) = (b for b in all_blocks(found) if isinstance(b, Figure) and b.id == "covered-graph-figure")
    words = f"Of {n} edges the {STRONGEST} strongest are drawn, {left} weaker ones are left out."
    assert (words in figure.caption) is bool(left)
    assert f"size of the {'s' * 59}" in figure.caption
    assert "s" * 61 not in figure.caption
    table = table_of(found, "covered-graph-table")
    assert table.caption == f"The 10 strongest of {n} edges."
    assert len(table.rows) == 10
    few = table_of(shown(information(PLAIN), graph(edges[:10], "".join(names) + "y")), "covered-graph-table")
    assert (few.caption, len(few.rows)) == ("Edges, strongest first.", 10)


def test_corrected_importance_stands_first_the_likelihood_before_other_measures() -> None:
    corrected = replace(cover(("a", "b", "c")), notes=("A note.",))
    found = shown(information(PLAIN), corrected)
    tables = [block.id for block in all_blocks(found) if isinstance(block, Table) and block.id.startswith("cover-")]
    measures = list(dict.fromkeys(corrected.estimates["measure"]))
    assert tables == [f"cover-{k}-table" for k in range(1, len(measures) + 1)]
    first = table_of(found, "cover-1-table")
    assert [column.label for column in first.columns] == [
        "feature",
        "alone",
        "adjusted for redundancy",
        "partners",
        "rank",
    ]
    notes = [table_of(found, key).note for key in tables]
    assert [bool(note) for note in notes] == [True, *[False] * (len(notes) - 1)]
    own = corrected.estimates[corrected.estimates["measure"] == NLL.name].sort_values("rank")
    assert [row[0] for row in first.rows] == own["feature"].tolist()
    for row, (plain_rank, rank) in zip(first.rows, own[["plain_rank", "rank"]].to_numpy().tolist(), strict=True):
        assert row[4] == (str(rank) if rank == plain_rank else f"{plain_rank} to {rank}")
    bare = shown(information(PLAIN))
    assert not [block for block in all_blocks(bare) if getattr(block, "id", "").startswith("cover-")]
    assert [part.id for part in bare.sections] == ["covered-information", "covered-graph"]


def mapped(ranks: dict[str, tuple[int, int]], *reasons: str) -> Diagnostic:
    rows = [
        line(feature, "", 1 / rank, 0.1) | {"measure": "nll", "plain": 1 / plain, "plain_rank": plain, "rank": rank}
        for feature, (plain, rank) in ranks.items()
    ]
    columns = [*ESTIMATE_COLUMNS, "plain", "rank", "plain_rank"]
    made: Any = Importance(
        id="cid.corrected", explainer="cid", title="", frame=pd.DataFrame(columns=list(Importance.columns)),
        estimates=pd.DataFrame(rows, columns=columns), omissions=tuple(Omission("nll", "", text) for text in reasons),
        measures={"nll": MeasureFacts("nll", "nats", "loss")},
    )  # fmt: skip
    return made


def test_moves_of_ranks_are_named_and_what_is_not_shown_has_its_reason() -> None:
    found = shown(information(PLAIN), mapped({"a": (1, 2), "b": (2, 1), "c": (3, 3)}))
    part = found.sections[-1]
    assert part.id == "covered-map-1"
    assert "Ranks move for b from 2 to 1 and a from 1 to 2. Every corrected value" in text_of(part)
    assert [row[:2] for row in table_of(found, "covered-map-1-table").rows] == [("b", 2), ("a", 1), ("c", 3)]
    still = shown(information(PLAIN), mapped({"a": (1, 1)})).sections[-1]
    assert text_of(still).startswith("No feature changes its rank. Every")
    closed = shown(information(PLAIN), mapped({}, "it is closed")).sections[-1]
    assert closed.id == "covered-map"
    assert isinstance(closed.blocks[0], Bullets)
    assert closed.blocks[0].items[0].endswith(": It is closed.")


@pytest.mark.parametrize("n", [TOP, TOP + 1])
def test_moves_of_twenty_features_are_drawn(n: int) -> None:
    found = shown(information(PLAIN), mapped({f"x{k}": (k, k) for k in range(1, n + 1)}))
    (figure,) = (b for b in all_blocks(found) if isinstance(b, Figure) and b.id == "covered-map-1-figure")
    assert (f"The first 20 of {n} are drawn." in figure.caption) is (n > TOP)
