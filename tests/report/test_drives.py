"""What drives it: one ranking whose ranks, words and causes are those of the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from uq_report.core.model.results import MeasureFacts
from uq_report.document.document import Figure, Paragraph, Section, Table
from uq_report.document.text import unmarked
from uq_report.evidence import ids
from uq_report.evidence.importance import CoverCorrected, Pfi
from uq_report.evidence.information import CONVENTIONS, SIGNED_CHANGE, SIZE
from uq_report.evidence.run import Run
from uq_report.evidence.view import by_feature, of_measure
from uq_report.reading.rank_ranges import RankedFeature, ranked_features
from uq_report.reading.run_reader import RunReader
from uq_report.report.sections import drivers as ranking
from uq_report.report.sections.appendix import ranked
from uq_report.report.sections.drivers import ROWS, SOURCES, RankingColumn, changed, drives, rankings

from .. import samples
from . import methods_results as made
from .cases import Case
from .reading import all_blocks, table_of, text_of
from .synthetic import make_run
from .test_sections_methods import run_of

ABC = ("a", "b", "c")
MANY = tuple(f"feature {k}" for k in range(60))
SAMPLES = sorted(samples.unpacked().glob("*/run.json"))
SHAPLEY, ALONE, COVERED, DROPPED, CHANGED, MOVES, WHOLE = SOURCES

pytestmark = pytest.mark.usefixtures("undrawn")


def told(run: Run) -> Section:
    return drives(RunReader(run))


def column(source: ranking.Source, held: Mapping[str, tuple[int, int, int]], *, known: bool = True) -> RankingColumn:
    """A column of ranks: the rank of each feature, and the first and last it may have."""
    result = made.rsens(ABC)[0]
    facts = MeasureFacts(source.id, "", source.role)
    ranks = {feature: rank for feature, (rank, *_) in held.items()}
    spans = {
        feature: RankedFeature(feature, 0.0, 0.0, 0.0, first, last, known) for feature, (_, first, last) in held.items()
    }
    table = pd.DataFrame({"feature": [*held], "estimate": 1.0})
    return RankingColumn(result, source.id, facts, table, spans, "n = 400", source, ranks, together=True)


def numbers(run: Run) -> Section:
    """The part of the appendix that has the ranking in numbers."""
    return ranked(RunReader(run), Section(id="methods", title="Methods"))


def words(run: Run) -> str:
    """Everything a reader sees of the section, tables included."""
    section = told(run)
    parts = [unmarked(text_of(section)), *(part.title for part in (section, *section.sections))]
    for block in all_blocks(section):
        if isinstance(block, Table):
            cells = [str(cell) for row in block.rows for cell in row if cell is not None]
            parts += [block.caption, block.note, *(c.label for c in block.columns), *cells]
        elif isinstance(block, Figure):
            parts.append(block.caption)
    return " ".join(parts)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
def test_a_sample_stays_within_its_budget_and_names_no_result(path: Path) -> None:
    run = samples.read(path)
    section = told(run)
    assert len([b for b in all_blocks(section) if isinstance(b, Figure)]) <= 4
    assert len(table_of(numbers(run), "drives-table").columns) <= 9
    every = words(run)
    assert len([word for word in every.split() if word != "·"]) <= 450
    for key in (ids.SHAP_IMPORTANCE, ids.DALEX_PARTS, ids.RSENS_COMPARATORS, "nan", "inf ", "pfi:", "dalex"):
        assert key not in every


def test_no_column_mixes_sizes_and_changes() -> None:
    found = rankings(RunReader(run_of([*made.cid(ABC), made.cover(ABC), *made.rsens(ABC)])))
    kinds = {one.source.id: "mean size" if one.is_size else "mean change" for one in found}
    assert {key for key, kind in kinds.items() if kind == "mean change"} == {ids.PFI, ids.COVER}
    assert {key for key, kind in kinds.items() if kind == "mean size"} == {ids.PFI_UNCERTAINTY, ids.RSENS}
    assert all(one.column().label.endswith(kinds[one.source.id]) for one in found)
    assert {SIZE, SIGNED_CHANGE} == {CONVENTIONS[source.id] for source in SOURCES}


def test_cells_are_numbers_with_the_ranks_that_intervals_leave() -> None:
    run = make_run()
    table = table_of(numbers(run), "drives-table")
    position = [c.label for c in table.columns].index("loss: alone, mean change")
    view = Pfi.find(run)
    assert view is not None
    lines = by_feature(of_measure(view.lines, "nll"))
    for row in table.rows:
        feature, cell = str(row[0]), str(row[position])
        number, _, place = cell.partition(" · ")
        line = lines[feature]
        assert abs(float(number.replace("−", "-")) - line.estimate) <= 0.0005
        first, *_, last = [int(end) for end in place.partition("(")[2].rstrip(")").split(ranking.DASH) if end] or [
            0,
            0,
        ]
        assert int(place.partition(" ")[0]) == 1 + sum(other.estimate > line.estimate for other in lines.values())
        assert not first or first == 1 + sum(other.lower > line.upper for other in lines.values())
        assert not last or last == len(lines) - sum(other.upper < line.lower for other in lines.values())


def test_a_group_has_a_number_and_no_rank() -> None:
    run = make_run()
    result = run.result(ids.PFI)
    group = result.estimates[result.estimates["feature"] == "duration"].assign(feature="both")
    table = pd.concat([result.estimates, group], ignore_index=True)
    grouped = replace(run, results=tuple(replace(r, estimates=table) if r.id == ids.PFI else r for r in run.results))
    row = next(row for row in table_of(numbers(grouped), "drives-table").rows if row[0] == "both")
    assert "·" not in "".join(str(cell) for cell in row if cell)
    assert any(cell for cell in row[1:])
    nll = table[table["measure"] == "nll"]
    assert ranked_features(grouped, ids.PFI, "nll", nll) == ranked_features(
        run, ids.PFI, "nll", nll[nll["feature"] != "both"]
    )


@pytest.mark.parametrize(
    ("largest", "numbers", "text"),
    [
        (0.1, (0.07297, 0.0415, 0.1045), "0.073"),
        (0.1, (0.00013, 0.00010, 0.00016), "0.000"),
        (21.0, (5e-6, 4e-6, 6e-6), "0.0"),
        (0.13, (0.13466, float("nan"), float("nan")), "0.13"),
        (0.0, (0.0, 0.0, 0.0), "0"),
        (0.1, (-0.0051, -0.0160, 0.0060), "−0.005"),
    ],
)
def test_numbers_are_rounded_to_their_error_and_not_finer_than_their_column(
    largest: float, numbers: tuple[float, float, float], text: str
) -> None:
    assert ranking._rounded(largest, *numbers) == text


@pytest.mark.parametrize("names", [("only",), ABC, MANY], ids=len)
def test_tables_print_the_leaders_of_every_column_and_hold_the_rest(names: tuple[str, ...]) -> None:
    table = table_of(numbers(run_of(made.every(names), names)), "drives-table")
    assert len(table.rows) == min(len(names), ROWS)
    assert len(table.rows) + len(table.rest) == table.total_rows == len(names)
    printed = {row[0] for row in table.rows}
    for k in range(1, len(table.columns)):
        leader = [row[0] for row in (*table.rows, *table.rest) if " · 1" in f"{row[k]} ".replace(" · 1 ", " · 1")]
        assert printed & set(leader)


def test_who_leads_is_said_only_of_what_intervals_leave_alone_at_the_head() -> None:
    sure, open_ = {"a": (1, 1, 1), "b": (2, 2, 3)}, {"a": (1, 1, 2), "b": (2, 1, 2)}
    wide = {feature: (k, 1, 5) for k, feature in enumerate("abcde", 1)}
    found = [column(SHAPLEY, sure), column(ALONE, open_), column(CHANGED, wide), column(DROPPED, sure, known=False)]
    assert unmarked(ranking.leads(found)) == (
        "a leads the prediction. Which feature leads the loss (a or b) and the uncertainty (any of 5) is inconclusive "
        "(n = 400)."
    )
    assert unmarked(ranking.leads([column(SHAPLEY, sure), column(WHOLE, sure)])) == (
        "a leads all 2 rankings that have intervals."
    )
    assert "not tested" in ranking.leads(found[3:])


def test_what_no_feature_moves_has_no_leader_that_more_rows_would_tell() -> None:
    open_ = {"a": (1, 1, 2), "b": (1, 1, 2)}
    changed_ = column(CHANGED, open_)
    still = replace(changed_, table=changed_.table.assign(estimate=0.0))
    assert "the uncertainty" in ranking.leads([column(ALONE, open_), changed_])
    assert "uncertainty" not in ranking.leads([column(ALONE, open_), still])


def disagreement(feature: str, one: ranking.Source, other: ranking.Source, *evidence: str) -> dict[str, Any]:
    pair = [one.id, other.id]
    return {"feature": feature, "methods": pair, "measures": pair, "evidence": list(evidence), "explained": True}


def explained(*cases: Mapping[str, Any]) -> RunReader:
    (ranks, *_) = made.agreement(ABC)
    return RunReader(run_of([replace(ranks, meta={"disagreements": list(cases), "n_disagreements": len(cases)})]))


@pytest.mark.parametrize(("last", "apart"), [(1, True), (2, False)])
def test_rankings_part_only_where_their_intervals_do(last: int, apart: bool) -> None:
    high, low = {"a": (1, 1, last), "b": (2, 1, 2)}, {"a": (2, 2, 2), "b": (1, 1, 2)}
    found = [column(MOVES, high), column(WHOLE, low)]
    assert [case.feature for case in ranking.partings(found)] == ["a"] * apart
    assert ranking.partings([found[0], column(SHAPLEY, low)]) == []  # another question
    assert ranking.partings([found[0], column(WHOLE, low, known=False)]) == []


def test_each_parting_has_its_cause() -> None:
    high, low = {"a": (1, 1, 1), "b": (2, 2, 2)}, {"a": (2, 2, 2), "b": (1, 1, 1)}
    nothing, other = explained(), MOVES._replace(words="another size")
    (by_size,) = ranking.contradictions(nothing, [column(CHANGED, low), column(MOVES, high)])
    assert unmarked(by_size) == (
        f"{ranking.UNKNOWN}: a ranks 1 in the uncertainty (Shapley), but 2 in the uncertainty; "
        "b ranks 1 in the uncertainty, but 2 in the uncertainty (Shapley)."
    )
    (whole,) = ranking.contradictions(nothing, [column(MOVES, high), column(WHOLE, low)])
    assert whole.startswith(ranking.WHOLE)
    (unknown,) = ranking.contradictions(nothing, [column(MOVES, high), column(other, low)])
    assert unknown.startswith(ranking.UNKNOWN)
    shown = explained(disagreement("a", MOVES, WHOLE, ids.ALE, ids.PDP))
    causes = ranking.contradictions(shown, [column(MOVES, high), column(WHOLE, low)])
    assert [cause.partition(":")[0] for cause in causes] == [ranking.CAUSES[ids.ALE], ranking.WHOLE]


@pytest.mark.parametrize(
    ("lower", "upper", "unreliable", "beyond"),
    [
        (0.011, 0.03, "", True),
        (0.009, 0.03, "", False),
        (-0.03, -0.011, "", True),
        (-0.03, -0.009, "", False),
        (0.011, 0.03, "heavy tails", False),
    ],
)
def test_a_correction_is_told_beyond_its_margin_where_it_is_trusted(
    lower: float, upper: float, unreliable: str, beyond: bool
) -> None:
    result = made.cover(ABC)
    table = result.estimates.assign(unreliable="")
    for name, value in (("change_lower", lower), ("change_upper", upper), ("unreliable", unreliable)):
        table[name] = table[name].mask(table["feature"] == "c", value)
    view = CoverCorrected.from_result(replace(result, estimates=table))
    assert [line.feature for line in changed(view, "nll")] == ["c"] * beyond


def test_a_correction_says_who_moves_from_where_to_where_and_by_whom() -> None:
    section = told(run_of([*made.cid(ABC), made.cover(ABC)]))
    assert "carry part of the same information: in the loss c (rank 3 to 1, partner a)." in unmarked(text_of(section))
    assert [b.id for b in all_blocks(section) if isinstance(b, Figure)] == ["drives-ranks", "drives-map-figure"]
    still = made.cover(ABC)
    still.estimates[["change", "change_lower", "change_upper"]] = 0.0
    unmoved = told(run_of([*made.cid(ABC), still]))
    assert ranking.UNMOVED in text_of(unmoved)
    alone = replace(made.cover(ABC), meta={"partners": {feature: [] for feature in ABC}})
    bare = run_of([*made.cid(ABC), alone])
    assert "no importance is adjusted for redundancy" in text_of(told(bare))
    assert ids.COVER not in [one.source.id for one in rankings(RunReader(bare))]


def test_the_readings_are_told_in_at_most_four_items_with_every_feature_once() -> None:
    (part,) = [part for part in told(make_run()).sections if part.id == "drives-map"]
    _, items = part.blocks
    assert len(items.items) <= 4  # type: ignore[union-attr]
    every = unmarked(" ".join(items.items))  # type: ignore[union-attr]
    assert sorted(name for name in Case().names if name in every) == sorted(Case().names)


def test_without_outcomes_the_map_says_what_it_lacks() -> None:
    (part,) = [p for p in told(make_run(Case(has_y=False, gate="not assessed"))).sections if p.id == "drives-map"]
    (text,) = part.blocks
    assert isinstance(text, Paragraph)
    assert text.text.endswith("no importance for the loss was computed: no outcomes were given.")
    nothing = drives(RunReader(replace(make_run(), results=())))
    assert text_of(nothing) == "No importance was computed in this run."
