"""Dependence and interactions in words, tables and figures: what is counted, capped, or not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Diagnostic, Interaction, Result
from uq_report.document import blocks
from uq_report.document.document import Figure, Section
from uq_report.document.plots import importance, matrix
from uq_report.document.text import unmarked
from uq_report.evidence import ids
from uq_report.evidence.information import AFTER, BEFORE, WITH_TARGET, WITHOUT_TARGET
from uq_report.evidence.run import Run
from uq_report.methods.ale.section import LocalEffectsSection
from uq_report.methods.h_statistic.section import InteractionsSection
from uq_report.methods.pdp.section import ProfilesSection
from uq_report.methods.redundancy.section import LEAD, DependenceSection
from uq_report.methods.rsens.section import SensitivitySection
from uq_report.reading.run_reader import RunReader

from ..document.results import diagnostic
from . import methods_results as made
from .cases import Case
from .reading import all_blocks, table_of, text_of
from .synthetic import make_run

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
    return DependenceSection().section(RunReader(run_of(results)))


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
        f"Predictability of each feature from all others, without and with the target{words}. "
    )


def test_four_pairs_are_shown_before_and_after_the_shuffle() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")]
    caption = shown(dependence(skills({"a": (0.2, 0.3)}), joint(*pairs)))["dependence-joint"].caption
    assert caption.startswith("a with b, b with c, c with d and d with e: observations before and after")


def test_why_nothing_is_told_of_dependence() -> None:
    one = skills({"a": (0.2, None)})
    assert (
        text_of(dependence(replace(one, estimates=one.estimates.iloc[:0])))
        == "No feature could be predicted from the others."
    )
    assert "not" in text_of(dependence())


# ------------------------------------------------------------------ interactions


def interactions(result: Interaction) -> Section:
    return InteractionsSection().section(RunReader(run_of([result])))


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
    lines = result.estimates.assign(estimate=[0.1, 0.3, 0.2, *[0.5] * 3]).iloc[1:]  # none of a alone
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
    assert text_of(none) == "No H-statistic is defined for this run."


def test_r_sens_is_pointed_at_where_it_measures_pairs() -> None:
    alone = interactions(made.h_statistic(("a", "b", "c")))
    assert "R-sens₂, below" not in text_of(alone)
    run = run_of([made.h_statistic(("a", "b", "c")), *made.rsens(("a", "b", "c"))])
    assert "R-sens₂, below" in text_of(InteractionsSection().section(RunReader(run)))


# ------------------------------------------------------------------ local effects


def test_local_effects_without_a_curve_say_so() -> None:
    one = made.profile("ale", ("a",), (0.0, 1.0))
    section = LocalEffectsSection().section(RunReader(run_of([replace(one, estimates=one.estimates.iloc[:0])])))
    assert text_of(section) == "No feature has a local effect."


def test_local_effects_alone_differ_from_nothing() -> None:
    section = LocalEffectsSection().section(RunReader(run_of([made.profile("ale", ("a",), (0.0, 1.0))])))
    assert "differ from" not in text_of(section)


# ------------------------------------------------------------------ profiles


def test_single_rows_are_shown_of_leading_features_that_are_numbers() -> None:
    profile = made.profile("pdp", ("a", "b"), (0.0, 1.0))
    run = make_run(Case(names=("a", "b", "c")))
    importances = tuple(result for result in run.results if result.explainer == ids.PFI)
    section = ProfilesSection().section(RunReader(run_of([*importances, profile])))
    assert set(shown(section)) == {"profiles-a-figure", "profiles-b-figure"}
    levels = profile.frame["level"].mask(profile.frame["feature"].eq("a"), "red")
    table = profile.estimates["level"].mask(profile.estimates["feature"].eq("a"), "red")
    of_levels = replace(
        profile, frame=profile.frame.assign(level=levels), estimates=profile.estimates.assign(level=table)
    )
    section = ProfilesSection().section(RunReader(run_of([*importances, of_levels])))
    assert set(shown(section)) == {"profiles-b-figure"}


# ------------------------------------------------------------------ R-sens


def sensitivity(results: Sequence[Result]) -> Section:
    return SensitivitySection().section(RunReader(run_of(results)))


def names(d: int) -> list[str]:
    return [f"x{k:02}" for k in range(d)]


@pytest.mark.parametrize(
    ("d", "words"), [(20, "over observations. "), (21, "over observations, the 20 largest of 21. ")]
)
def test_a_figure_of_r_sens_says_what_it_leaves_out(d: int, words: str) -> None:
    caption = shown(sensitivity(made.rsens(names(d))[:1]))["sensitivity-figure"].caption
    assert caption.startswith(f"R-sens per standard deviation of the feature: mean {words}")


@pytest.mark.parametrize(("d", "pairs"), [(7, 15), (6, 15), (3, 3)])
def test_a_table_of_r_sens_2_ends_at_fifteen_pairs(d: int, pairs: int) -> None:
    table = table_of(sensitivity(made.rsens(names(d))), "sensitivity-pairs-table")
    assert len(table.rows) == pairs
    assert ("The 15 largest of 21." in table.caption) == (d == 7)


def test_raw_values_of_one_unit_are_told_as_such() -> None:
    main = made.rsens(("a", "b"))[0]
    own = sensitivity([main])
    raw = sensitivity([replace(main, meta={**main.meta, "ranked_by": "raw"})])
    assert "R-sens per standard deviation of the feature" in shown(own)["sensitivity-figure"].alt
    assert "R-sens per unit" in shown(raw)["sensitivity-figure"].alt
    assert "cannot be ranked" in table_of(own, "sensitivity-table").caption
    assert "in one shared unit" in table_of(raw, "sensitivity-table").caption


def test_steps_of_differences_stand_in_the_order_of_names_with_their_errors() -> None:
    main = made.rsens(("a", "b"))[0]
    meta = {**main.meta, "steps": {"b": 0.5, "a": 0.25}, "relative_error": {"b": 1e-6}}
    table = table_of(sensitivity([replace(main, meta=meta)]), "sensitivity-steps")
    assert table.rows == (("a", 0.25, None), ("b", 0.5, 1e-6))
    assert "sensitivity-steps" not in [getattr(block, "id", "") for block in all_blocks(sensitivity([main]))]


def test_hessians_stand_beside_r_sens_2_where_they_are_known() -> None:
    main, pairs, _ = made.rsens(("a", "b", "c"))
    bent = pairs.estimates.iloc[:2].assign(measure="eah", estimate=[7.0, 8.0])
    table = table_of(
        sensitivity([main, replace(pairs, estimates=pd.concat([pairs.estimates, bent], ignore_index=True))]),
        "sensitivity-pairs-table",
    )
    assert [column.label for column in table.columns][-1] == "E|∂²f|"
    assert [(row[0], row[1], row[-1]) for row in table.rows] == [("a", "b", 7.0), ("a", "c", 8.0), ("b", "c", None)]
    bare = table_of(sensitivity([main, pairs]), "sensitivity-pairs-table")
    assert len(bare.columns) == len(table.columns) - 1


def test_without_values_r_sens_says_so() -> None:
    main, pairs, _ = made.rsens(("a", "b"))
    assert text_of(sensitivity([replace(main, estimates=main.estimates.iloc[:0])])) == (
        "R-sens has no value for any feature."
    )
    assert "No pair has a value." in text_of(sensitivity([main, replace(pairs, estimates=pairs.estimates.iloc[:0])]))


def test_comparators_are_explained_in_a_note_and_each_has_a_column() -> None:
    main, _, other = made.rsens(("a", "b"))
    table = table_of(sensitivity([main, other]), "sensitivity-comparators-table")
    assert [column.label for column in table.columns][2] == "E|∂f|"
    assert len(table.rows[0]) == 3
    assert table.note.startswith("E|∂f|: ")
    foreign = replace(other, estimates=other.estimates.assign(measure="rsens_x"))
    assert "E|∂f|" not in table_of(sensitivity([main, foreign]), "sensitivity-comparators-table").note


# ------------------------------------------------------------------ matrices of pairs


@pytest.fixture
def matrices(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Draw matrices into a list."""
    drawn: list[tuple[Any, ...]] = []

    def draw(values: pd.DataFrame, scale: Any, loose: Any = frozenset(), *, diagonal: bool = False) -> None:
        drawn.append((values, scale, set(loose), diagonal))

    def svg_of(figure: Any) -> bytes:
        return figure() or b"<svg/>"

    monkeypatch.setattr(matrix, "draw", draw)
    monkeypatch.setattr(importance, "draw_panels", lambda *_: None)
    monkeypatch.setattr(blocks, "svg_of", svg_of)
    return drawn


def test_the_matrix_of_h_is_symmetric_and_of_twenty_features_at_most(matrices: list[tuple[Any, ...]]) -> None:
    interactions(made.h_statistic(names(21)))
    ((values, scale, loose, diagonal),) = matrices
    assert list(values.index) == list(values.columns) == ["x19", *names(19)]
    assert values.loc["x00", "x01"] == values.loc["x01", "x00"] == pytest.approx(0.3)
    assert np.isnan(np.diag(values)).all()
    assert values.notna().to_numpy().sum() == 20 * 19
    assert (scale.label, scale.low, scale.high, diagonal) == ("H²", 0.0, None, False)
    assert loose == {("x19", "x20")}


def test_the_matrix_of_r_sens_2_has_a_diagonal_and_three_features_at_least(matrices: list[tuple[Any, ...]]) -> None:
    sensitivity(made.rsens(("b", "a"))[:2])
    assert matrices == []
    sensitivity(made.rsens(("b", "a", "c"))[:2])
    ((values, scale, _, diagonal),) = matrices
    assert list(values.index) == list(values.columns) == ["b", "a", "c"]
    np.testing.assert_allclose(values, 0.1 + 0.1 * np.eye(3))
    assert (scale.label, scale.low, scale.high, diagonal) == ("R-sens₂", 0.0, None, True)
