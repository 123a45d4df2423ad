"""The sections on agreement, local effects, covered information, interactions and sensitivity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from uq_report.core.model.results import Result
from uq_report.core.statistics.curve_gap import parting
from uq_report.document.document import Callout, Document, Figure, Section, Table
from uq_report.document.text import unmarked
from uq_report.evidence import ids
from uq_report.evidence.run import NotRun, Run
from uq_report.methods.agreement.section import AgreementSection
from uq_report.methods.ale.section import LocalEffectsSection
from uq_report.methods.cid.section import CoverSection
from uq_report.methods.h_statistic.section import InteractionsSection
from uq_report.methods.pfi.section import MapSection
from uq_report.methods.rsens.section import SensitivitySection
from uq_report.reading.run_reader import RunReader
from uq_report.report.assemble import document

from . import methods_results as made
from . import reading
from .cases import Case
from .reading import all_blocks, table_of, text_of
from .synthetic import holding, make_run

HOSTILE = ("<script>alert(1)</script>", "$x^2$", "a\x1b[31mb\u202ec", "中文", "=HYPERLINK()")
ABC = ("a", "b", "c")
SECTIONS: dict[str, Any] = {
    ids.AGREEMENT: AgreementSection(),
    ids.ALE: LocalEffectsSection(),
    ids.CID: CoverSection(),
    ids.H_STATISTIC: InteractionsSection(),
    ids.RSENS: SensitivitySection(),
}
IN_DOCUMENT = {"agreement", "local-effects", "covered", "interactions", "sensitivity"}


def run_of(results: Sequence[Result], names: tuple[str, ...] = ABC, not_run: tuple[NotRun, ...] = ()) -> Run:
    case = Case(names=names)
    run = make_run(case)
    importances = [result for result in run.results if result.explainer == ids.PFI]
    return holding(replace(run, not_run=not_run), case, [*importances, *results])


def figures(section: Section) -> list[Figure]:
    return [b for b in all_blocks(section) if isinstance(b, Figure)]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("names", [("only",), ABC, tuple(f"feature {k}" for k in range(60)), HOSTILE], ids=len)
@pytest.mark.parametrize("corrected", [True, False])
def test_documents_of_any_shape_hold_every_section_once(names: tuple[str, ...], corrected: bool) -> None:
    made_of: Document = document(run_of(made.every(names, corrected=corrected), names), appendix="full")
    keys = [s.id for s in reading.sections(made_of)]
    keys += [b.id for b in reading.blocks(made_of) if isinstance(b, Table | Figure)]
    assert max(Counter(keys).values()) == 1
    assert set(keys) >= IN_DOCUMENT
    explainers = (ids.CID, ids.RSENS, ids.ALE, ids.AGREEMENT)
    assert not {f"explainer-{name}" for name in explainers} & set(keys)
    assert {f"method-{name}" for name in explainers} <= set(keys)
    assert all("\x1b" not in words and "\u202e" not in words for words in reading.words(made_of))


@pytest.mark.usefixtures("undrawn")
def test_sections_stand_in_the_order_of_questions() -> None:
    keys = [section.id for section in reading.sections(document(run_of(made.every(ABC)), appendix="full"))]
    order = ["profiles", "local-effects", "explainer-shap", "explainer-dalex", "drivers-nll", "map", "sensitivity"]
    order += ["dependence", "covered", "agreement", "interactions", "agreement-stability"]
    assert [key for key in keys if key in order] == order


@pytest.mark.parametrize("name", SECTIONS)
def test_a_missing_result_says_why(name: str) -> None:
    run = run_of([], not_run=(NotRun(name, "uq_report.explainers", "it was denied", "not asked"),))
    section = SECTIONS[name].section(RunReader(run))
    assert text_of(section) == "It was denied."
    assert not figures(section)


@pytest.mark.parametrize("names", [("only",), ABC, HOSTILE], ids=len)
def test_every_figure_can_be_drawn(names: tuple[str, ...]) -> None:
    evidence = RunReader(run_of([*made.every(names), made.profile("pdp", names, (0.0, 3.0, 1.0))], names))
    for plugin in SECTIONS.values():
        section = plugin.section(evidence)
        assert not [b.text for b in all_blocks(section) if isinstance(b, Callout) and "missing" in b.title]
        assert all(b"<image" not in figure.svg and figure.alt for figure in figures(section))


@pytest.mark.usefixtures("undrawn")
def test_cover_is_only_claimed_where_the_interval_allows_it() -> None:
    told = text_of(CoverSection().section(RunReader(run_of(made.cid(("a", "b", "c", "d", "e", "f"))))))
    # covered: 0.1, -0.075, 0.033, 0.025, 0.02 and 0.0167, each ±0.02
    assert "The other features share part of the information of a (covered share 33%), c (covered share 33%)" in told
    assert "b is more informative once the others are known" in told
    assert "For 2 features the interval of covered information holds 0" in told


@pytest.mark.usefixtures("undrawn")
def test_the_map_shows_rank_moves_and_a_refusal_its_reason() -> None:
    passed = CoverSection().section(RunReader(run_of(made.cid(ABC))))
    assert "Ranks move for c from 3 to 1, a from 1 to 2 and b from 2 to 3." in text_of(passed)
    assert [row[:2] for row in table_of(passed, "covered-map-1-table").rows] == [("c", 3), ("a", 1), ("b", 2)]
    refused = CoverSection().section(RunReader(run_of(made.cid(ABC, corrected=False))))
    assert "R² 0.12" in text_of(refused)


@pytest.mark.usefixtures("undrawn")
def test_importance_alone_and_corrected_stand_first_with_partners_ranks_and_r_sens() -> None:
    told = CoverSection().section(RunReader(run_of([*made.cid(ABC), made.cover(ABC), *made.rsens(ABC)])))
    table = table_of(told, "cover-1-table")
    assert [column.label for column in table.columns] == [
        *("feature", "alone", "adjusted for redundancy", "partners", "rank", "R-sens, rank")
    ]
    assert [(row[0], row[3], row[4]) for row in table.rows] == [
        ("c", "a", "3 to 1"),
        ("a", "none", "1 to 2"),
        ("b", "none", "2 to 3"),
    ]
    assert table.rows[0][5] == "0.333 (0.300 to 0.367), 3"
    without = CoverSection().section(RunReader(run_of([*made.cid(ABC), made.cover(ABC)])))
    assert [column.label for column in table_of(without, "cover-1-table").columns][-1] == "rank"


@pytest.mark.usefixtures("undrawn")
def test_the_map_says_where_its_reading_and_cover_part() -> None:
    run = run_of([*made.cid(ABC), made.cover(ABC)])
    table = run.result(ids.PFI).estimates
    verdicts = {"a": "positive", "b": "about 0", "c": "about 0"}
    of_entropy = table["measure"] == "entropy"
    table.loc[of_entropy, "verdict"] = table.loc[of_entropy, "feature"].map(verdicts)
    section = MapSection().section(RunReader(run))
    assert section is not None
    told = text_of(section)
    assert "shows partner features: c (with a). Entropy-PFI other than 0 without partner features: a." in told


@pytest.mark.usefixtures("undrawn")
def test_the_form_of_r_sens_is_named() -> None:
    exact = SensitivitySection().section(RunReader(run_of(made.rsens(ABC))))
    assert "How it was computed: exact derivatives." in text_of(exact)
    assert "Finite changes" not in " ".join(b.title for b in all_blocks(exact) if isinstance(b, Callout))
    finite = SensitivitySection().section(RunReader(run_of(made.rsens(ABC, "finite-step form √(2 KL) / |Δx|"))))
    assert any(isinstance(b, Callout) and b.title.startswith("Finite changes") for b in all_blocks(finite))
    assert "finite-step form" in figures(finite)[0].caption
    compared = table_of(exact, "sensitivity-comparators-table")
    assert compared.rows[0] == ("a", "1.00 (1)", "0.100 (3)")


@pytest.mark.usefixtures("undrawn")
def test_pairs_that_are_not_ranked_are_no_finding() -> None:
    section = InteractionsSection().section(RunReader(run_of([made.h_statistic(ABC)])))
    assert "Largest H²: a with b 0.300 and a with c 0.150. 1 pair of 3 have little joint effect" in text_of(section)
    assert table_of(section, "interactions-1-table").rows[0][4] == "no: unstable"


@pytest.mark.usefixtures("undrawn")
def test_agreement_claims_what_rank_intervals_allow() -> None:
    section = AgreementSection().section(RunReader(run_of(made.agreement(("a", "b", "c", "d")))))
    alts = [figure.alt for figure in figures(section)]
    assert any("The loss: only a can be first by PFI nll; only d can be first by SHAP nll." in alt for alt in alts)
    parted = table_of(section, "agreement-reasons-table")
    assert parted.rows == (("a", "PFI nll: 1", "SHAP nll: 3 to 4", "cid"),)
    assert parted.caption.startswith("3 disagreements")
    least = table_of(section, "agreement-alike-table").rows[0]
    assert least == ("loss", "PFI nll", "SHAP nll", -1.0, "0% of the first 1 (25%)")


def test_curves_part_only_beyond_their_errors() -> None:
    straight, bent = made.curve("ale", "a", (0.0, 1.0, 2.0)), made.curve("pdp", "a", (0.0, 1.0, 0.0))
    place = parting(straight, bent, 0.95)
    assert place == (2.0, 0.0, 2.0, 0.0)
    assert parting(straight, made.curve("pdp", "a", (5.0, 6.0, 7.0)), 0.95) is None  # levels do not compare
    wide = bent.assign(std_error=np.full(3, 2.0))
    assert parting(straight, wide, 0.95) is None


@pytest.mark.usefixtures("undrawn")
def test_ale_beside_pdp_says_where_they_differ() -> None:
    both = [made.profile("ale", ABC, (-1.0, 0.0, 1.0)), made.profile("pdp", ABC, (0.0, 1.0, 0.0))]
    told = unmarked(text_of(LocalEffectsSection().section(RunReader(run_of(both)))))
    assert "from 0 to 2 ALE changes by 2.00, the PDP by 0." in told
    alike = text_of(
        LocalEffectsSection().section(RunReader(run_of([both[0], made.profile("pdp", ABC, (0.0, 1.0, 2.0))])))
    )
    assert "No local effect is shown to differ from the partial dependence." in alike
    alone = LocalEffectsSection().section(RunReader(run_of(both[:1])))
    assert "differ from" not in text_of(alone)
    assert table_of(alone, "local-effects-table").rows
