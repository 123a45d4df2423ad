"""The results of methods in the full appendix: every one by its kind, in its place, with numbers as recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Diagnostic, Importance, Interaction, Profile, Result
from uq_report.core.statistics.curve_gap import parting
from uq_report.document.document import Callout, Document, Figure, Section, Table
from uq_report.document.text import unmarked
from uq_report.evidence import ids
from uq_report.evidence.importance import CLAIMED, DELIVERED
from uq_report.evidence.run import NotRun, Run
from uq_report.methods.ale.section import LocalEffectsSection
from uq_report.reading.default_sections import part
from uq_report.reading.run_reader import RunReader
from uq_report.report.assemble import document, read

from ..document.results import diagnostic
from . import methods_results as made, people_results as people, reading
from .cases import Case, empty, estimates
from .reading import all_blocks, table_of, text_of
from .synthetic import holding, make_run

HOSTILE = ("<script>alert(1)</script>", "$x^2$", "a\x1b[31mb\u202ec", "中文", "=HYPERLINK()")
ABC = ("a", "b", "c")


def run_of(results: Sequence[Result], names: tuple[str, ...] = ABC, not_run: tuple[NotRun, ...] = ()) -> Run:
    case = Case(names=names)
    run = make_run(case)
    importances = [result for result in run.results if result.explainer == ids.PFI]
    return holding(replace(run, not_run=not_run), case, [*importances, *results])


def figures(section: Section) -> list[Figure]:
    return [b for b in all_blocks(section) if isinstance(b, Figure)]


def shown(result: Result, *others: Result) -> Section:
    return part(read(run_of([result, *others])), result)


def heads(table: Table) -> list[str]:
    return [column.label for column in table.columns]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("names", [("only",), ABC, tuple(f"feature {k}" for k in range(60)), HOSTILE], ids=len)
@pytest.mark.parametrize("corrected", [True, False])
def test_documents_of_any_shape_hold_every_section_once(names: tuple[str, ...], corrected: bool) -> None:
    made_of: Document = document(run_of(made.every(names, corrected=corrected), names), appendix="full")
    keys = [s.id for s in reading.sections(made_of)]
    keys += [b.id for b in reading.blocks(made_of) if isinstance(b, Table | Figure)]
    assert max(Counter(keys).values()) == 1
    explainers = (ids.CID, ids.RSENS, ids.AGREEMENT)
    assert {f"explainer-{name}" for name in explainers} | {"local-effects"} <= set(keys)
    assert {f"method-{name}" for name in (ids.CID, ids.RSENS, ids.ALE, ids.AGREEMENT)} <= set(keys)
    assert all("\x1b" not in words and "\u202e" not in words for words in reading.words(made_of))


@pytest.mark.usefixtures("undrawn")
def test_sections_stand_in_the_order_of_questions() -> None:
    keys = [section.id for section in reading.sections(document(run_of(made.every(ABC)), appendix="full"))]
    order = ["local-effects", "explainer-pfi", "explainer-rsens", "explainer-cid", "explainer-agreement"]
    order += ["explainer-h_statistic"]
    assert [key for key in keys if key in order] == order


@pytest.mark.usefixtures("undrawn")
def test_a_missing_result_says_why() -> None:
    run = run_of([], not_run=(NotRun(ids.CID, "uq_report.explainers", "it was denied", "not asked"),))
    assert "It was denied." in reading.words(document(run, appendix="full"))


@pytest.mark.parametrize("names", [("only",), ABC, HOSTILE], ids=len)
def test_every_figure_can_be_drawn(names: tuple[str, ...]) -> None:
    results = [*made.every(names), made.profile("pdp", names, (0.0, 3.0, 1.0))]
    results += [*people.support(names), people.data_quality(names[0]), *people.groups(names, names[0])]
    e = read(run_of(results, names))
    blocks = [block for result in results for block in all_blocks(part(e, result))]
    assert not [b.text for b in blocks if isinstance(b, Callout) and "missing" in b.title]
    drawn = [b for b in blocks if isinstance(b, Figure)]
    assert len(drawn) > 5
    assert all(b"<image" not in figure.svg and figure.alt for figure in drawn)
    assert "\\x1b" not in str(blocks)


@pytest.mark.usefixtures("undrawn")
def test_all_results_stand_in_the_document_once() -> None:
    run = make_run(Case())
    results = [*people.support(("a",)), people.data_quality("a"), *people.groups(("x", "y"))]
    whole = document(holding(run, Case(), [*run.results, *results]), appendix="full")
    cited = {b.evidence for b in reading.blocks(whole) if isinstance(b, Table | Figure)}
    assert {result.id for result in results} - cited == {ids.SUPPORT_ROWS}


# ------------------------------------------------------------------ tables of importances


def importance(rows: Sequence[Mapping[str, Any]], **more: Any) -> Importance:
    table = estimates([{**made.INTERVAL, **row} for row in rows])
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    return Importance(id="mine", explainer="mine", title="Mine", frame=frame, estimates=table, **more)


def sizes(d: int, *measures: str) -> Importance:
    rows = [
        {"measure": m, "feature": f"x{k}", "estimate": k + 1.0, "lower": k + 0.5, "upper": k + 1.5}
        for m in measures
        for k in range(d)
    ]
    return importance(rows, notes=("It is a size.",))


@pytest.mark.usefixtures("undrawn")
def test_each_measure_has_a_table_with_its_ranks_the_largest_first_and_notes_once() -> None:
    section = shown(sizes(3, "nll", "entropy", "aleatoric", "epistemic"))
    tables = [b for b in all_blocks(section) if isinstance(b, Table)]
    assert [table.caption.partition(",")[0] for table in tables] == [
        "Mine: negative log-likelihood", "Mine: entropy", "Mine: aleatoric entropy", "Mine: epistemic entropy"
    ]  # fmt: skip
    assert heads(tables[0]) == ["feature", "rank", "estimate"]
    assert tables[0].columns[2].unit == "nats"
    assert tables[0].rows[0] == ("x2", "1 to 2", "3.0 (2.5 to 3.5)")
    assert [table.note for table in tables] == ["It is a size.", "", "", ""]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("d", "words"), [(20, ""), (21, ", the 20 largest of 21")])
def test_a_figure_of_importances_says_what_it_leaves_out(d: int, words: str) -> None:
    (figure,) = figures(shown(sizes(d, "nll")))
    assert figure.caption.startswith(f"Mine{words}. Intervals: 95%")


@pytest.mark.usefixtures("undrawn")
def test_importance_alone_stands_beside_the_adjusted_one() -> None:
    table = table_of(shown(made.cover(ABC)), "cover-table-1")
    at = [heads(table).index(head) for head in ("feature", "alone", "partners")]
    assert [tuple(row[k] for k in at) for row in table.rows] == [
        ("c", "0.133 (0.113 to 0.153)", "a"), ("a", "0.300 (0.280 to 0.320)", ""), ("b", "0.217 (0.197 to 0.237)", "")
    ]  # fmt: skip


# ------------------------------------------------------------------ tables of estimates


@pytest.mark.usefixtures("undrawn")
def test_estimates_are_printed_with_their_intervals_and_without_columns_for_programs() -> None:
    row = {"measure": "nll", "feature": "a", "estimate": 0.5, "std_error": 0.1, "lower": 0.3, "upper": 0.7}
    row |= {"item": CLAIMED, "share": 0.2, "share_lower": 0.1, "share_upper": 0.3, "p_value": 0.0004, "freedom": 9}
    rows = [row, {**row, "item": DELIVERED, "share": np.nan, "share_lower": np.nan, "share_upper": np.nan}]
    table = table_of(shown(diagnostic("mine", [{**made.INTERVAL, **row} for row in rows])), "mine-table")
    assert heads(table) == ["feature", "item", "measure", "estimate", "share", "p"]
    first, second = table.rows
    assert first == (
        "a",
        "model-implied",
        "negative log-likelihood",
        "0.50 (0.30 to 0.70)",
        "0.20 (0.10 to 0.30)",
        4e-4,
    )
    assert second[1] == "realised"
    assert second[4] is None


@pytest.mark.usefixtures("undrawn")
def test_without_an_interval_the_error_is_printed() -> None:
    row = {"measure": "nll", "feature": "a", "estimate": 0.5, "std_error": 0.1, "item": ""}
    table = table_of(shown(diagnostic("mine", [row])), "mine-table")
    assert (heads(table)[-2:], table.rows[0][-2:]) == (["estimate", "std. error"], (0.5, 0.1))


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("n", "printed"), [(60, True), (61, False)])
def test_many_values_without_estimates_stay_in_the_evidence(n: int, printed: bool) -> None:
    frame = pd.DataFrame({"measure": "", "feature": "a", "item": "", "x": 0.0, "value": np.arange(n) + 0.5})
    bare = Diagnostic(id="mine", explainer="mine", title="Mine", frame=frame, estimates=empty())
    section = shown(bare)
    assert bool([b for b in all_blocks(section) if isinstance(b, Table)]) is printed
    assert (f"{n} values: see the evidence mine." in text_of(section)) is not printed


@pytest.mark.usefixtures("undrawn")
def test_a_diagnostic_is_drawn_by_a_figure_of_its_own_or_where_items_of_a_measure_run_along_x() -> None:
    graph = made.graph(ABC)
    assert [f.evidence for f in figures(shown(graph))] == [ids.CID_GRAPH]
    assert not figures(part(RunReader(run_of([graph])), graph))
    frame = pd.DataFrame({"measure": ["p", "q", "r"], "feature": "a", "item": "", "x": [0.0, 1.0, 2.0], "value": 1.0})
    apart = Diagnostic(id="mine", explainer="mine", title="Mine", frame=frame, estimates=empty())
    assert not figures(shown(apart))
    assert figures(shown(replace(apart, frame=frame.assign(measure="p"))))


def pairs(names: Sequence[str]) -> Interaction:
    result = made.h_statistic(names)
    assert isinstance(result, Interaction)
    return result


@pytest.mark.usefixtures("undrawn")
def test_pairs_that_are_not_ranked_are_marked() -> None:
    table = table_of(shown(pairs(ABC)), "h_statistic-table")
    at = [heads(table).index(head) for head in ("feature", "other feature", "estimate", "ranked")]
    rows = [tuple(row[k] for k in at) for row in table.rows if row[at[1]]]
    assert rows == [("a", "b", 0.3, "yes"), ("a", "c", 0.15, "yes"), ("b", "c", 0.9, "no")]


# ------------------------------------------------------------------ profiles


def profile(key: str, values: tuple[float, ...], names: Sequence[str] = ABC) -> Profile:
    result = made.profile(key, names, values)
    assert isinstance(result, Profile)
    return result


@pytest.mark.usefixtures("undrawn")
def test_four_profiles_are_drawn_and_the_ends_of_all_are_listed() -> None:
    section = shown(profile("pdp", (0.0, 3.0, 1.0), ("a", "b", "c", "d", "e")))
    assert len(figures(section)) == 4
    assert [row[0] for row in table_of(section, "pdp-table").rows] == ["a", "b", "c", "d", "e"]
    assert "1 further feature: see the evidence pdp." in text_of(section)


def test_curves_part_only_beyond_their_errors() -> None:
    straight, bent = made.curve("ale", "a", (0.0, 1.0, 2.0)), made.curve("pdp", "a", (0.0, 1.0, 0.0))
    place = parting(straight, bent, 0.95)
    assert place == (2.0, 0.0, 2.0, 0.0)
    assert parting(straight, made.curve("pdp", "a", (5.0, 6.0, 7.0)), 0.95) is None  # levels do not compare
    wide = bent.assign(std_error=np.full(3, 2.0))
    assert parting(straight, wide, 0.95) is None


def local_effects(*results: Result) -> str:
    section = LocalEffectsSection().section(RunReader(run_of(results)))
    assert section is not None
    return unmarked(text_of(section))


@pytest.mark.usefixtures("undrawn")
def test_ale_beside_pdp_says_where_they_differ() -> None:
    ale = profile("ale", (-1.0, 0.0, 1.0))
    told = local_effects(ale, profile("pdp", (0.0, 1.0, 0.0)))
    assert "from 0 to 2 ALE changes by 2.00, the PDP by 0." in told
    assert "No other local effect is shown to differ from the partial dependence." in told
    alike = local_effects(ale, profile("pdp", (0.0, 1.0, 2.0)))
    assert "No local effect is shown to differ from the partial dependence." in alike
    assert "to differ from" not in local_effects(ale)
    assert LocalEffectsSection().section(RunReader(run_of([]))) is None
