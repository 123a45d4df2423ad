"""Dependence and interactions in words, tables and figures: what is counted, capped, or not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from uq_report.core.results import Diagnostic, Interaction, Result
from uq_report.document.document import Figure, Section
from uq_report.document.evidence import Evidence
from uq_report.document.text import unmarked
from uq_report.evidence import ids
from uq_report.evidence.information import AFTER, BEFORE, WITH_TARGET, WITHOUT_TARGET
from uq_report.evidence.run import Run
from uq_report.methods.ale.section import LocalEffectsSection
from uq_report.methods.h_statistic.section import InteractionsSection
from uq_report.methods.redundancy.section import LEAD, DependenceSection

from ..document.results import diagnostic
from . import methods_results as made
from .reading import all_blocks, table_of, text_of

pytestmark = pytest.mark.usefixtures("undrawn")


def run_of(results: Sequence[Result]) -> Run:
    return Run(as_of="2026-01-01", subject={}, settings={}, environment={}, results=tuple(results))


def skills(values: Mapping[str, tuple[float, float | None]]) -> Diagnostic:
    """Return R² of each feature without the target, and with it where it is a number."""
    rows = [
        {"feature": f, "item": item, "estimate": value, "n": 50}
        for f, pair in values.items()
        for item, value in zip((WITHOUT_TARGET, WITH_TARGET), pair, strict=True)
        if value is not None
    ]
    return diagnostic(ids.REDUNDANCY, rows)


def partner(*lines: tuple[str, str, float]) -> Diagnostic:
    return diagnostic(ids.REDUNDANCY_PARTNER, [{"feature": f, "item": to, "estimate": v} for f, to, v in lines])


def joint(*pairs: tuple[str, str]) -> Diagnostic:
    rows = [{"measure": when, "feature": a, "item": b, "estimate": 0.5} for a, b in pairs for when in (BEFORE, AFTER)]
    return diagnostic(ids.REDUNDANCY_JOINT, rows)


def dependence(*results: Diagnostic) -> Section:
    return DependenceSection().section(Evidence(run_of(results)))


def shown(section: Section) -> dict[str, Any]:
    """Return the figures of a section by id."""
    return {block.id: block for block in all_blocks(section) if isinstance(block, Figure)}


def test_redundancy_is_told_largest_first_with_its_closest_partner() -> None:
    section = dependence(
        skills({"a": (0.2, 0.3), "b": (0.9, None), "c": (0.5, 0.4)}), partner(("a", "c", 0.25), ("b", "c", 0.75))
    )
    most = "Most redundant by R² without the target: b 0.900, c 0.500 and a 0.200."
    assert unmarked(text_of(section)) == f"{LEAD} {most}"
    table = table_of(section, "dependence-table")
    assert [c.label for c in table.columns] == [
        "feature", "R² without target", "R² with target", "closest partner", "association",
    ]  # fmt: skip
    assert [tuple(map(_plain, row)) for row in table.rows] == [
        ("b", "0.900", "not computed", "c", 0.75), ("c", "0.500", "0.400", "", None),
        ("a", "0.200", "0.300", "c", 0.25),
    ]  # fmt: skip
    assert list(shown(section)) == ["dependence-figure"]


def _plain(cell: Any) -> Any:
    return unmarked(cell) if isinstance(cell, str) else cell


def test_without_partners_there_is_no_column_of_them() -> None:
    none = joint(("a", "b"))
    none = replace(none, frame=none.frame.iloc[:0])
    section = dependence(skills({"a": (0.2, 0.3)}), none)
    assert [len(row) for row in table_of(section, "dependence-table").rows] == [3]
    assert list(shown(section)) == ["dependence-figure"]


@pytest.mark.parametrize(("d", "words"), [(20, ""), (21, ", the 20 most redundant of 21")])
def test_a_figure_of_redundancy_says_what_it_leaves_out(d: int, words: str) -> None:
    section = dependence(skills({f"x{k}": (k / 100, None) for k in range(d)}))
    assert shown(section)["dependence-figure"].caption.startswith(
        f"How well all others predict each feature, without and with the target{words}. "
    )


def test_four_pairs_are_shown_before_and_after_the_shuffle() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")]
    caption = shown(dependence(skills({"a": (0.2, 0.3)}), joint(*pairs)))["dependence-joint"].caption
    assert caption.startswith("a with b, b with c, c with d and d with e: rows before and after")


def test_why_nothing_is_told_of_dependence() -> None:
    one = skills({"a": (0.2, None)})
    assert (
        text_of(dependence(replace(one, estimates=one.estimates.iloc[:0])))
        == "No feature could be predicted from the others."
    )
    assert "not" in text_of(dependence())


# ------------------------------------------------------------------ interactions


def interactions(result: Interaction) -> Section:
    return InteractionsSection().section(Evidence(run_of([result])))


def of_measures(result: Interaction, *measures: str) -> Interaction:
    """Return the same lines for each of some measures."""
    table = pd.concat([result.estimates.assign(measure=measure) for measure in measures], ignore_index=True)
    return replace(result, estimates=table)


def parts(section: Section) -> list[tuple[str, str]]:
    return [(part.id, part.title) for part in section.sections]


def test_pairs_of_three_measures_are_shown_and_the_others_named() -> None:
    three, four = ("prediction", "nll", "entropy"), ("prediction", "nll", "entropy", "variance")
    assert len(parts(interactions(of_measures(made.h_statistic(("a", "b")), *three)))) == 3
    section = interactions(of_measures(made.h_statistic(("a", "b")), *four))
    assert [key for key, _ in parts(section)] == ["interactions-1", "interactions-2", "interactions-3"]
    assert "In the evidence: the pairs of" in text_of(section)
    assert "In the evidence" not in text_of(interactions(of_measures(made.h_statistic(("a", "b")), *three)))


@pytest.mark.parametrize(("features", "pairs"), [(7, 20), (6, 15)])
def test_a_table_of_pairs_ends_at_twenty(features: int, pairs: int) -> None:
    section = interactions(made.h_statistic([f"x{k}" for k in range(features)]))
    table = table_of(section, "interactions-1-table")
    assert len(table.rows) == pairs
    assert ("The 20 largest of 21." in table.caption) == (features == 7)


def test_twenty_pairs_are_all_that_there_are() -> None:
    made_of = made.h_statistic([f"x{k}" for k in range(7)])
    section = interactions(replace(made_of, estimates=made_of.estimates.iloc[:-1]))
    assert "largest of" not in table_of(section, "interactions-1-table").caption


def test_a_matrix_needs_three_features_and_has_a_key_for_what_is_not_ranked() -> None:
    assert shown(interactions(made.h_statistic(("a", "b")))) == {}
    caption = shown(interactions(made.h_statistic(("a", "b", "c"))))["interactions-1-figure"].caption
    assert "White, in brackets: not ranked." in caption
    result = made.h_statistic(("a", "b", "c"))
    ranked = replace(result, estimates=result.estimates.assign(ranked=True))
    assert "White" not in shown(interactions(ranked))["interactions-1-figure"].caption


def test_totals_are_listed_by_the_first_measure_and_undefined_ones_last() -> None:
    result = made.h_statistic(("a", "b", "c"))
    of_entropy = result.estimates.assign(measure="entropy")
    lines = result.estimates.assign(estimate=[0.1, 0.3, 0.2, *[0.5] * 3])[
        lambda t: t["feature"].ne("a") | t["feature_2"].ne("")
    ]
    section = interactions(replace(result, estimates=pd.concat([lines, of_entropy], ignore_index=True)))
    rows = table_of(section, "interactions-totals").rows
    assert [tuple(map(_plain, row)) for row in rows] == [
        ("b", "0.300", "0.200"), ("c", "0.200", "0.200"), ("a", "undefined", "0.200"),
    ]  # fmt: skip


def test_without_a_pair_it_is_said_so() -> None:
    result = made.h_statistic(("a", "b"))
    section = interactions(replace(result, estimates=result.estimates.iloc[:2]))
    assert "No pair has a defined H²." in text_of(section)
    none = interactions(replace(result, estimates=result.estimates.iloc[:0]))
    assert text_of(none) == "No H-statistic is defined here."


def test_r_sens_is_pointed_at_where_it_measures_pairs() -> None:
    alone = interactions(made.h_statistic(("a", "b", "c")))
    assert "R-sens₂, below" not in text_of(alone)
    run = run_of([made.h_statistic(("a", "b", "c")), *made.rsens(("a", "b", "c"))])
    assert "R-sens₂, below" in text_of(InteractionsSection().section(Evidence(run)))


# ------------------------------------------------------------------ local effects


def test_local_effects_without_a_curve_say_so() -> None:
    one = made.profile("ale", ("a",), (0.0, 1.0))
    section = LocalEffectsSection().section(Evidence(run_of([replace(one, estimates=one.estimates.iloc[:0])])))
    assert text_of(section) == "No feature has a local effect."
