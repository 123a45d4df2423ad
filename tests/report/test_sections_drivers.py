"""The sections on importance, claims, training rows and cover: cells, captions and what is left out, by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Diagnostic, Omission, Result
from uq_report.document.document import Section
from uq_report.evidence import ids
from uq_report.evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE
from uq_report.methods.cid.section import CoverSection
from uq_report.methods.pfi.section import ClaimsSection, ImportanceSection, TrainingSection, UnsureImportanceSection
from uq_report.reading.run_reader import RunReader

from . import methods_results as made
from .cases import estimates
from .reading import all_blocks, table_of, text_of
from .test_sections_methods import ABC, figures, run_of

pytestmark = pytest.mark.usefixtures("undrawn")


def claims(parts: Mapping[str, tuple[float, float]], *, outcomes: bool = True) -> Diagnostic:
    """Return claims of features: what each claims and what is missing of it, with half an interval of 0.02."""
    rows: list[dict[str, Any]] = []
    for feature, (claim, missing) in parts.items():
        values = [(CLAIMED, claim), (DELIVERED, claim - missing), (DIFFERENCE, missing)]
        share = 1 - missing / claim
        for item, value in values if outcomes else values[:1]:
            line = {"measure": "nll", "feature": feature, "item": item, "estimate": value, "lower": value - 0.02}
            line |= {"upper": value + 0.02, "p_value": 0.5, "share": share, "share_lower": share - 0.1}
            rows.append(line | {"share_upper": share + 0.1, "unreliable": "", **made.INTERVAL})
    frame = pd.DataFrame(columns=list(Diagnostic.columns))
    meta = {"margin": 0.01}
    return Diagnostic(id=ids.PFI_CLAIMS, explainer=ids.PFI, title="", frame=frame, estimates=estimates(rows), meta=meta)


def claimed(result: Result) -> Section:
    section = ClaimsSection().section(RunReader(run_of([result])))
    assert section is not None
    return section


def test_claims_stand_beside_what_is_delivered_the_largest_first() -> None:
    parts = {"a": (0.1, 0.025), "b": (0.4, 0.1), "c": (0.0099, 0.0), "d": (0.01, 0.0), ALL_FEATURES: (0.5, 0.1)}
    section = claimed(claims(parts))
    table = table_of(section, "claims-table")
    assert [row[0] for row in table.rows] == [ALL_FEATURES, "b", "a", "d", "c"]
    assert [float(str(cell)) for cell in table.rows[1][1:5]] == pytest.approx([0.4, 0.3, 0.28, 0.32])
    shares = [row[5] for row in table.rows]
    assert shares[:4] == pytest.approx([0.8, 0.75, 0.75, 1.0]), "d claims the margin itself"
    assert shares[4] is None
    told = text_of(section)
    assert "All features together: model-implied importance 0.500 nats (0.480 to 0.520)" in told
    assert "realised importance 0.400 nats (0.380 to 0.420); realisation ratio 80% (70 to 90)." in told
    alone = text_of(claimed(claims({"a": (0.1, 0.0)})))
    assert "All features together were not assessed." in alone


def test_a_share_in_doubt_is_not_told() -> None:
    made_of = claims({"a": (0.1, 0.025), ALL_FEATURES: (0.5, 0.1)})
    doubted = replace(made_of, estimates=made_of.estimates.assign(unreliable="few events"))
    assert "realisation ratio 8" not in text_of(claimed(doubted))
    unknown = replace(made_of, estimates=made_of.estimates.assign(share_lower=np.nan))
    assert "realisation ratio 8" not in text_of(claimed(unknown))
    part = made_of.estimates
    lost = replace(made_of, estimates=part[(part["feature"] != ALL_FEATURES) | (part["item"] != DIFFERENCE)])
    assert "were not assessed" in text_of(claimed(lost))


def test_without_outcomes_the_leading_claims_are_named() -> None:
    parts = {f"f{k}": (0.1 + 0.1 * k, 0.0) for k in range(6)} | {ALL_FEATURES: (2.0, 0.0)}
    section = claimed(claims(parts, outcomes=False))
    told = text_of(section)
    assert "Model-implied importance is largest for f5" in told
    assert "Whether it is realised is unknown without outcomes." in told
    table = table_of(section, "claims-table")
    assert [row[0] for row in table.rows][:2] == [ALL_FEATURES, "f5"]
    assert len(table.columns) == 4


def test_no_claims_are_no_section_and_lines_that_failed_say_why() -> None:
    run = run_of([])
    bare = replace(run, results=tuple(r for r in run.results if r.id != ids.PFI_CLAIMS))
    assert ClaimsSection().section(RunReader(bare)) is None
    empty = claims({"a": (0.1, 0.0)})
    gap = Omission("nll", "a", "the divergence is infinite")
    section = claimed(replace(empty, estimates=empty.estimates[:0], omissions=(gap,)))
    assert "divergence is infinite" in text_of(section)


def test_importances_of_predictions_and_of_doubt_stand_apart() -> None:
    run = run_of([])
    loss, doubt = (section.section(RunReader(run)) for section in (ImportanceSection(), UnsureImportanceSection()))
    assert [part.id for part in loss.sections] == ["drivers-brier"]
    assert [part.id for part in doubt.sections] == ["drivers-nll", "drivers-entropy"]
    assert not any(block for block in doubt.blocks)
    bare = replace(run, results=())
    assert [part.section(RunReader(bare)).sections for part in (ImportanceSection(), UnsureImportanceSection())] == [
        (),
        (),
    ]


@pytest.mark.parametrize(("features", "words"), [(20, ""), (21, ", the 20 largest of 21")])
def test_a_figure_of_importances_says_what_it_leaves_out(features: int, words: str) -> None:
    names = tuple(f"f{k}" for k in range(features))
    section = ImportanceSection().section(RunReader(run_of([], names)))
    (figure,) = figures(section)
    assert (", the 20 largest" in figure.caption) is bool(words)
    assert f"{words}. " in figure.caption


def test_training_rows_stand_beside_test_rows_with_what_they_add() -> None:
    run = run_of([])
    section = TrainingSection().section(RunReader(run))
    assert section is not None
    table = table_of(section, "drivers-train-nll")
    for row in table.rows:
        test, train, more = (float(str(row[at]).replace("−", "-")) for at in (1, 4, 5))
        assert more == pytest.approx(train - test, abs=2e-4)
    for gone, words in (((ids.PFI_TRAIN,), "No importance was computed on the training sample."), ((ids.PFI,), "")):
        left = replace(run, results=tuple(r for r in run.results if r.id not in gone))
        text = text_of(TrainingSection().section(RunReader(left)))
        assert words in text
        assert ("No importance was computed on the training sample" in text) is bool(words)


@pytest.mark.parametrize(("features", "edges"), [(10, ""), (11, ""), (12, ""), (13, "1 weaker ones")])
def test_the_graph_draws_12_edges_and_lists_10(features: int, edges: str) -> None:
    """A chain of d features has d edges, that of the target included."""
    names = tuple(f"f{k}" for k in range(features))
    section = CoverSection().section(RunReader(run_of(made.cid(names), names)))
    caption = next(one.caption for one in figures(section) if one.id == "covered-graph-figure")
    assert ("are drawn" in caption) is bool(edges)
    assert edges in caption
    table = table_of(section, "covered-graph-table")
    assert len(table.rows) == 10
    assert table.caption.startswith(f"The 10 strongest of {features} edges." if features > 10 else "Edges, strongest")


@pytest.mark.parametrize(("features", "words"), [(20, ""), (21, ", the 20 most informative of 21")])
def test_figures_of_cover_say_what_they_leave_out(features: int, words: str) -> None:
    names = tuple(f"f{k}" for k in range(features))
    drawn = {one.id: one for one in figures(CoverSection().section(RunReader(run_of(made.cid(names), names))))}
    assert f"the part that it shares with the others{words}. " in drawn["covered-figure"].caption
    assert ("The first 20 of 21 are drawn." in drawn["covered-map-1-figure"].caption) is bool(words)
    assert ("The first" in drawn["covered-map-1-figure"].caption) is bool(words)


def test_covered_information_is_told_feature_by_feature() -> None:
    section = CoverSection().section(RunReader(run_of(made.cid(ABC))))
    table = table_of(section, "covered-table")
    assert [(row[0], row[3]) for row in table.rows] == [("a", "redundant"), ("b", "synergistic"), ("c", "redundant")]
    assert str(table.rows[0][1]).startswith("0.300 (0.280 to 0.320)")
    assert "Most informative: a 0.300" in next(one.alt for one in figures(section) if one.id == "covered-figure")
    facts = [block for block in all_blocks(section) if type(block).__name__ == "Facts"]
    assert [row[0] for row in facts[0].rows] == ["Estimator", "Graph", "Penalty"]  # type: ignore[union-attr]
    missing = CoverSection().section(RunReader(run_of([])))
    assert not missing.sections
