"""What the section on agreement says of rankings, pairs and draws made by hand: every cell, order and caption."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Diagnostic, Omission, Result
from uq_report.document.blocks import TOP, undrawn
from uq_report.document.document import Figure, Paragraph, Section
from uq_report.evidence.information import KENDALL, OVERLAP
from uq_report.methods.agreement.explain import PAIR_COLUMNS
from uq_report.methods.agreement.section import AgreementSection, StabilitySection
from uq_report.reading.run_reader import RunReader

from ..checks.rankings import NONE, agreement, case, ranking, run
from ..report.reading import all_blocks, table_of, text_of

FIRM = {"a": (1, 1, 1), "b": (2, 2, 3), "c": (3, 2, 3)}
BARE = {"a": (1, NONE, NONE), "b": (2, NONE, NONE), "c": (2, NONE, NONE)}
SHORT = {"a": (1, 1, 2), "b": (2, 1, 2)}


def shown(*results: Result) -> Section:
    with undrawn():
        return AgreementSection().section(RunReader(run(*results)))


def pairs(*lines: tuple[str, str, str, float]) -> Diagnostic:
    """Return pairs of rankings: item, first, second and estimate."""
    rows = [
        {"item": item, "first": first, "second": second, "estimate": value, "measure": "", "feature": "", "top_k": 2,
         "by_chance": 0.25, "n_features": 3, "covers": "none"}
        for item, first, second, value in lines
    ]  # fmt: skip
    estimates = pd.DataFrame(rows, columns=PAIR_COLUMNS)
    empty = pd.DataFrame(columns=list(Diagnostic.columns))
    return Diagnostic(id="agreement.pairs", explainer="agreement", title="", frame=empty, estimates=estimates)


def captions(section: Section) -> dict[str, tuple[str, str]]:
    return {block.id: (block.caption, block.alt) for block in all_blocks(section) if isinstance(block, Figure)}


def test_the_first_table_has_a_row_for_every_ranking_by_question() -> None:
    turned = dict(reversed(FIRM.items()))
    found = shown(
        agreement(ranking("pfi", "nll", BARE), ranking("rsens", "prediction", FIRM), ranking("shap", "nll", turned))
    )
    assert table_of(found, "agreement-table").rows == (
        ("prediction", "R-sens prediction", "only a can be first", "a (1), b (2 to 3) and c (2 to 3)"),
        ("loss", "shap nll", "only a can be first", "a (1), b (2 to 3) and c (2 to 3)"),
        ("loss", "PFI nll", "no rank intervals", "a, b (tied, 2 to 3) and c (tied, 2 to 3)"),
    )
    assert [part.id for part in found.sections] == ["agreement-1", "agreement-2", "agreement-reasons"]
    assert [part.title for part in found.sections[:2]] == ["Ranks for the prediction (the mean)", "Ranks for the loss"]
    alts = [alt for _, alt in captions(found).values()]
    assert alts[0].endswith("The prediction (the mean): only a can be first by R-sens prediction.")
    assert alts[1].endswith("The loss: only a can be first by shap nll.")


def test_ranks_without_any_interval_have_a_matrix_only_where_there_is_no_other() -> None:
    prediction, loss = ranking("rsens", "prediction", FIRM), ranking("pfi", "nll", BARE)
    assert [part.id for part in shown(agreement(prediction, loss)).sections] == ["agreement-1", "agreement-reasons"]
    found = shown(agreement(loss))
    assert [part.id for part in found.sections] == ["agreement-1", "agreement-reasons"]
    assert captions(found)["agreement-1-figure"][1].endswith("The loss: no method has intervals on its ranks.")


def test_a_role_of_its_own_is_another_question() -> None:
    own = ranking("x.own", "x.own", FIRM).assign(role="")
    found = shown(agreement(own))
    assert table_of(found, "agreement-table").rows[0][:2] == ("other", "x.own")
    assert found.sections[0].title == "Ranks for another question"


@pytest.mark.parametrize(("n", "words"), [(10, ""), (11, "In the evidence: 1 further ranking.")])
def test_a_matrix_holds_ten_rankings_and_counts_the_others(n: int, words: str) -> None:
    caption, _ = captions(shown(agreement(*(ranking(f"x{k}", "nll", FIRM) for k in range(n)))))["agreement-1-figure"]
    assert caption.endswith(words)
    assert ("In the evidence" in caption) is bool(words)


@pytest.mark.parametrize("n", [TOP, TOP + 1])
def test_a_matrix_shows_twenty_features_and_says_so(n: int) -> None:
    places = {f"x{k}": (k, k, k) for k in range(1, n + 1)}
    caption, _ = captions(shown(agreement(ranking("pfi", "nll", places))))["agreement-1-figure"]
    assert (f"Ranks for the loss, the first 20 of {n} features by mean rank:" in caption) is (n > TOP)


def test_a_column_of_fewer_features_is_explained() -> None:
    words = "A panel with gaps ranks only part of the features."
    whole, part = ranking("pfi", "nll", FIRM), ranking("shap", "nll", SHORT)
    for several, said in (((whole, part), True), ((whole,), False), ((part,), False)):
        caption, _ = captions(shown(agreement(*several)))["agreement-1-figure"]
        assert (words in caption) is said


THREE = agreement(
    ranking("pfi", "nll", BARE), ranking("rsens", "prediction", FIRM), ranking("shap.importance", "nll", FIRM)
)
PFI, SENS, SHAP = "pfi: nll", "rsens: prediction", "shap.importance: nll"


def test_pairs_of_one_question_stand_in_a_table_the_least_alike_first() -> None:
    four = agreement(*(ranking(name, "nll", FIRM) for name in ("pfi", "x", "y", "z")), ranking("s", "entropy", FIRM))
    found = shown(
        four,
        pairs(
            (KENDALL, "x: nll", "y: nll", 0.5),
            (OVERLAP, "x: nll", "z: nll", 1.0),
            (KENDALL, "pfi: nll", "x: nll", -0.25),
            (OVERLAP, "pfi: nll", "x: nll", 0.5),
            (KENDALL, "pfi: nll", "s: entropy", -1.0),
            (KENDALL, "gone: nll", "x: nll", -1.0),
        ),
    )
    table = table_of(found, "agreement-alike-table")
    assert table.rows == (
        ("loss", "PFI nll", "x nll", -0.25, "50% of the first 2 (25%)"),
        ("loss", "x nll", "y nll", 0.5, ""),
        ("loss", "x nll", "z nll", None, "100% of the first 2 (25%)"),
    )
    assert table.caption.endswith("least similar first. There are no intervals.")


@pytest.mark.parametrize("n", [TOP, TOP + 1])
def test_twenty_pairs_are_shown(n: int) -> None:
    names = [f"x{k}" for k in range(8)]
    keys = [(f"{a}: nll", f"{b}: nll") for k, a in enumerate(names) for b in names[k + 1 :]][:n]
    lines = [(KENDALL, *key, k / 100) for k, key in enumerate(keys)]
    table = table_of(
        shown(agreement(*(ranking(x, "nll", FIRM) for x in names)), pairs(*lines)), "agreement-alike-table"
    )
    assert len(table.rows) == TOP
    assert table.caption.endswith(f"There are no intervals.{f' 20 of {n} pairs.' if n > TOP else ''}")


def test_three_rankings_of_all_features_have_a_matrix_of_their_likeness() -> None:
    lines = [(KENDALL, PFI, SENS, 0.75), (KENDALL, PFI, SHAP, 0.1), (KENDALL, SENS, SHAP, 0.5)]
    _, alt = captions(shown(THREE, pairs(*lines)))["agreement-alike-figure"]
    assert alt == "Symmetric matrix of Kendall's tau-b. Least similar: PFI nll and SHAP nll, 0.10."
    assert "agreement-alike-figure" not in captions(shown(THREE, pairs(*lines[:1])))
    assert "agreement-alike-figure" not in captions(shown(THREE, pairs((OVERLAP, PFI, SENS, 0.5))))
    assert [part.id for part in shown(THREE, pairs()).sections][-1] == "agreement-reasons"
    assert len(shown(THREE, pairs()).sections) == len(shown(THREE).sections) == 3


def test_the_matrix_of_likeness_counts_the_rankings_it_leaves_out() -> None:
    part = ranking("x.part", "nll", SHORT)
    more = agreement(THREE.estimates, part)
    lines = [(KENDALL, a, b, 0.5) for a, b in ((PFI, SENS), (PFI, SHAP), (SENS, SHAP), (PFI, "x.part: nll"))]
    caption, _ = captions(shown(more, pairs(*lines)))["agreement-alike-figure"]
    assert caption.endswith(
        " 3 of 4 rankings are drawn, starting with rankings of all features that have rank intervals."
    )
    caption, _ = captions(shown(THREE, pairs(*lines[:3])))["agreement-alike-figure"]
    assert caption.endswith("It has no interval.")


def drawn_matrix(monkeypatch: pytest.MonkeyPatch, lowest: float) -> tuple[pd.DataFrame, Any]:
    """Return the square and the scale that the matrix of likeness is drawn from."""
    kept: list[Any] = []
    monkeypatch.setattr("uq_report.document.plots.matrix.draw", lambda *given: kept.extend(given))
    lines = [(KENDALL, PFI, SENS, 0.75), (KENDALL, PFI, SHAP, lowest), (KENDALL, SENS, SHAP, 0.5)]
    AgreementSection().section(RunReader(run(THREE, pairs(*lines))))
    return kept[0], kept[1]


@pytest.mark.parametrize(("lowest", "low"), [(0.0, 0.0), (-0.1, -1.0)])
def test_the_matrix_of_likeness_is_symmetric_and_its_scale_reaches_below_zero_where_needed(
    monkeypatch: pytest.MonkeyPatch, lowest: float, low: float
) -> None:
    square, scale = drawn_matrix(monkeypatch, lowest)
    assert list(square.index) == list(square.columns) == ["R-sens prediction", "SHAP nll", "PFI nll"]
    expected = [[np.nan, 0.5, 0.75], [0.5, np.nan, lowest], [0.75, lowest, np.nan]]
    np.testing.assert_array_equal(square.to_numpy(dtype=float), expected)
    assert (scale.low, scale.high) == (low, 1.0)


def parted(*cases: Any, total: int | None = None) -> Section:
    rankings = (ranking("pfi", "nll", FIRM), ranking("shap.importance", "nll", BARE))
    found = shown(agreement(*rankings, disagreements=cases, total=total))
    return next(part for part in found.sections if part.id == "agreement-reasons")


def test_disagreements_that_are_sure_have_their_places_and_reasons() -> None:
    key = ("pfi", "nll"), ("shap.importance", "nll")
    long = "y" * 80
    found = parted(
        case("b", *key, evidence=["pfi", long]),
        case("c", *key[::-1], sure=False),
        case("a", ("gone", "nll"), key[1]),
        total=7,
    )
    table = table_of(found, "agreement-reasons-table")
    why = table.rows[0][-1]
    assert table.rows[0][:3] == ("b", "PFI nll: 2 to 3", "SHAP nll: 2")
    assert isinstance(why, str)
    assert why.startswith("PFI and y")
    assert len(why) == len("PFI and ") + 60
    assert table.rows[1:] == (("a", "", "SHAP nll: 1", "not explained"),)
    assert table.caption.startswith("7 disagreements between comparable rankings")
    assert parted(case("b", *key)).blocks[0].caption.startswith("1 disagreement between")  # type: ignore[union-attr]


@pytest.mark.parametrize("cases", [(), (case("b", ("pfi", "nll"), ("shap.importance", "nll"), sure=False),)])
def test_without_a_sure_disagreement_a_sentence_says_so(cases: Sequence[Any]) -> None:
    (block,) = parted(*cases).blocks
    assert isinstance(block, Paragraph)
    assert block.text.startswith("No rank intervals of comparable methods contradict each other")


def steadiness(*lines: tuple[str, str, str, float, float]) -> Diagnostic:
    """Return entropies of ranks: method, measure, feature, estimate and the largest."""
    names = ("item", "measure", "feature", "estimate", "largest")
    table = pd.DataFrame(lines, columns=names).assign(
        std_error=NONE, lower=NONE, upper=NONE, confidence=NONE, covers="none"
    )
    empty = pd.DataFrame(columns=list(Diagnostic.columns))
    return Diagnostic(id="agreement.stability", explainer="agreement", title="", frame=empty, estimates=table)


def test_the_steadiest_ranking_stands_first_with_its_extreme_features() -> None:
    long = "z" * 80
    found = StabilitySection().section(
        RunReader(
            run(
                steadiness(
                    ("pfi", "nll", "", 0.5, 2.0),
                    ("pfi", "nll", "a", 0.75, 2.0),
                    ("pfi", "nll", "b", 0.125, 2.0),
                    ("pfi", "nll", "c", 0.5, 2.0),
                    (long, "nll", "", 0.25, 0.0),
                    (long, "nll", "a", 0.25, 0.0),
                    ("shap", "nll", "", 0.75, 0.5),
                    ("shap", "nll", "b", 0.75, 0.5),
                    ("few", "nll", "", 0.0, 0.5),
                    ("bare", "nll", "a", 0.0, 0.5),
                )
            )
        )
    )
    rows = table_of(found, "agreement-stability-table").rows
    assert [len(str(row[0])) for row in rows] == [60, 3, 4]
    assert [row[2:] for row in rows] == [
        (0.25, None, "a", "a"),
        (0.5, 0.25, "b", "a"),
        (0.75, 1.5, "b", "b"),
    ]
    assert isinstance(found.blocks[0], Paragraph)
    assert "least stable: shap" in found.blocks[0].text


def test_three_omissions_are_named() -> None:
    gaps = tuple(Omission("nll", "", f"reason {k}") for k in range(5))
    first = shown(replace(THREE, omissions=gaps))
    steady = replace(steadiness(("pfi", "nll", "", 0.5, 2.0), ("pfi", "nll", "a", 0.5, 2.0)), omissions=gaps)
    second = StabilitySection().section(RunReader(run(steady)))
    for section in (first, second):
        text = text_of(section)
        assert [f"reason {k}" in text.lower() for k in range(5)] == [True, True, True, False, False]
