"""A run of any shape becomes a complete document: every number from its evidence, every gap with its reason."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from uq_report.core.explainer import MethodCard
from uq_report.core.model import results
from uq_report.core.model.results import Importance
from uq_report.core.support.errors import InputError
from uq_report.document.document import (
    Badge,
    Block,
    Callout,
    Document,
    Facts,
    Figure,
    Paragraph,
    Table,
    inside,
    texts,
)
from uq_report.document.text import value_words
from uq_report.evidence import ids
from uq_report.evidence.codec import dumps, loads, sha256
from uq_report.evidence.run import Run
from uq_report.render.environment import templates_dir
from uq_report.render.html import HtmlRenderer
from uq_report.render.markdown import MarkdownRenderer
from uq_report.report.assemble import document
from uq_report.report.kinds import KINDS, document as document_of
from uq_report.runner.settings import About

from .. import samples
from . import reading
from .cases import Case
from .synthetic import make_run

pytestmark = pytest.mark.usefixtures("undrawn")

SAMPLES = samples.unpacked()
HOSTILE = (
    "<script>alert(1)</script>",
    "{{7*7}}",
    "=HYPERLINK()",
    "a\x0b\x1b[31mb\u202ec",
    "中文😀",
    "x" * 10_000,
    "$x^2$ & \\frac",
    '"onerror=',
)
SHAPES = {
    "classification": Case(),
    "regression": Case(task="regression"),
    "one feature": Case(names=("only",)),
    "sixty features": Case(names=tuple(f"feature {k}" for k in range(70))),
    "without y": Case(has_y=False, gate="not assessed"),
    "hostile names": Case(names=HOSTILE),
}


FRONT = ("answer", "findings", "performance", "drives", "features", "limitations", "sign-off")
RECORD = ("rules", "methods", "model", "data", "reproducibility")
BY_METHOD = (
    "outcomes", "soundness", "prediction", "uncertainty", "relations", "robustness", "monitoring", "not-run",
    "limitations-methods",
)  # fmt: skip
ANNEXES = {
    "none": (),
    "short": (*RECORD, "plugins-shown", "mapping", "references"),
    "full": (*RECORD, *BY_METHOD, "mapping", "references"),
}


@cache
def report(shape: str, appendix: str = "full") -> Document:
    """Return the document of a shape, made once, without its figures."""
    return document(make_run(SHAPES[shape]), appendix=appendix)


@pytest.fixture(params=SHAPES, ids=str)
def made(request: pytest.FixtureRequest) -> Document:
    return report(str(request.param))


def every_block(made: Document) -> list[Block]:
    """Return the blocks of a document, those inside others instead of their holders."""
    return [block for part in reading.sections(made) for block in inside(part.blocks)]


def test_every_shape_makes_a_complete_document(made: Document) -> None:
    ids = [s.id for s in reading.sections(made)] + [b.id for b in every_block(made) if isinstance(b, Table | Figure)]
    assert max(Counter(ids).values()) == 1
    assert tuple(part.id for part in made.sections) == (*FRONT, *ANNEXES["full"])
    assert tuple(part.id for part in made.sections if part.appendix) == ANNEXES["full"]


@pytest.mark.parametrize("appendix", ANNEXES)
def test_the_annex_follows_the_same_front_part(appendix: str) -> None:
    made = report("classification", appendix)
    assert tuple(part.id for part in made.sections if part.appendix) == ANNEXES[appendix]
    front = [part for part in made.sections if not part.appendix]
    assert front == [part for part in report("classification").sections if not part.appendix]


@pytest.mark.parametrize("kind", KINDS)
def test_another_annex_is_refused_with_what_is_allowed(kind: str) -> None:
    with pytest.raises(InputError, match=r"report.appendix must be one of .*; got 'ful'. Did you mean 'full'"):
        document_of(make_run(), kind, appendix="ful")


def test_every_figure_has_words_and_every_table_fits(made: Document) -> None:
    for block in every_block(made):
        if isinstance(block, Figure):
            assert len(block.alt) > 30
            assert block.evidence
        if isinstance(block, Table):
            assert {len(row) for row in block.rows} <= {len(block.columns)}
            assert len(block.rows) <= 60
            assert len(block.rows) + len(block.rest) == (block.total_rows or len(block.rows))


def test_the_renderer_takes_every_shape(made: Document) -> None:
    page = HtmlRenderer().render(made).decode()
    own = f"<script>{(templates_dir() / 'script.js').read_text().rstrip()}</script>"
    assert page.count(own) == 1
    assert "<script" not in page.replace(own, "")
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_nothing_is_called_compliant_and_no_number_is_nan(made: Document) -> None:
    told = " ".join((*reading.words(made), *texts(made.sections)))
    assert "complian" not in told.lower()
    assert not re.search(r"\bnan\b|\binf\b|None\b", told)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file", sorted(SAMPLES.glob("*/run.json")), ids=lambda file: file.parent.name)
def test_stored_runs_become_documents(file: Path, kind: str) -> None:
    made = document_of(samples.read(file), kind)
    assert not [part.id for part in reading.sections(made) if part.id.startswith("missing-")]
    assert HtmlRenderer().render(made)
    assert MarkdownRenderer().render(made)


@pytest.mark.parametrize("appendix", ["short", "full"])
def test_cards_without_text_are_left_out(appendix: str) -> None:
    run = make_run()
    bare = tuple(
        replace(method, section="", card=MethodCard(title=method.name, definition="")) for method in run.methods
    )
    made = document(replace(run, methods=bare), appendix=appendix)
    assert not [part.id for part in reading.sections(made) if part.id.startswith("method-")]
    told = reading.section(made, "methods")
    assert told.blocks == (Paragraph(text="The methods of this run were not recorded."),)
    limits = [part.blocks for part in reading.sections(made) if part.id == "limitations-methods"]
    assert limits == [(Paragraph(text="They were not recorded."),)] * (appendix == "full")


def test_a_saved_run_gives_the_same_document() -> None:
    run = loads(dumps(make_run()))
    assert document(loads(dumps(run))) == document(run)


def test_the_report_names_its_run() -> None:
    run = make_run()
    made = document(run)
    assert made.evidence_sha256 == sha256(run)
    assert made.as_of == "2026-11-21"
    assert made.generator == "uq_report 0.1"


@pytest.mark.parametrize("absent", ["pfi", "pdp", "redundancy", "calibration", "dalex", "shap"])
def test_a_missing_explainer_is_told_with_its_reason_and_the_rest_stands(absent: str) -> None:
    made = document(make_run(leave_out=(absent,)), appendix="full")
    assert absent in [row[1] for row in reading.table(made, "not-run-table").rows]
    assert " ".join(reading.words(made)).count("It was denied.") >= 2


def test_a_run_of_nothing_is_a_report_of_gaps() -> None:
    empty = Run(as_of="2026-11-21", subject={}, settings={}, environment={})
    made = document(empty)
    told = reading.words(made)
    assert "not recorded" in told
    assert any("not part of this run" in text for text in told)
    assert any("Calibration was not tested." in text for text in told)
    assert made.recommendation == Badge("Inconclusive", "unknown")
    assert [one.name for one in made.attachments] == ["run.json"]


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("fails", "Calibration is not acceptable"),
        ("cannot be judged", "Calibration is inconclusive"),
        ("not assessed", "Calibration was not tested"),
        ("passes", "Calibration is acceptable"),
    ],
)
@pytest.mark.parametrize("appendix", ["short", "full"])
def test_the_annex_says_once_at_its_head_how_the_calibration_check_ended(gate: str, words: str, appendix: str) -> None:
    behind = [part for part in document(make_run(Case(gate=gate)), appendix=appendix).sections if part.appendix]
    first = behind[0].blocks[0]
    assert isinstance(first, Paragraph)
    assert first.text.startswith(words)
    told = " ".join(texts(behind))
    assert told.count(words) == told.count("intervals are over new observations") == 1


def test_tables_hold_the_estimates_of_the_evidence() -> None:
    run = make_run()
    result = run.result(ids.PFI)
    assert isinstance(result, Importance)
    made = reading.table(document(run, appendix="full"), "pfi-table-2")
    part = result.estimates[result.estimates["measure"] == "nll"].sort_values("estimate", ascending=False)
    heads = [column.label for column in made.columns]
    for head, values in (
        ("estimate", [value_words(*row) for row in part[["estimate", "lower", "upper"]].itertuples(index=False)]),
        ("verdict", part["verdict"].tolist()),
    ):
        assert [row[heads.index(head)] for row in made.rows] == values


def test_every_result_of_a_stranger_is_shown_by_its_kind() -> None:
    made = report("classification")
    stranger = reading.section(made, "explainer-stranger")
    assert stranger.blocks[0].text == "From the plugin package uq-stranger 2.0."  # type: ignore[union-attr]
    assert [part.id for part in stranger.sections] == [
        "result-stranger",
        "result-stranger.surface",
        "result-stranger.table",
    ]
    assert all(any(isinstance(b, Figure | Table) for b in part.blocks) for part in stranger.sections)


def test_no_result_is_lost() -> None:
    run = make_run()
    made = document(run, appendix="full")
    cited = {b.evidence for b in reading.blocks(made) if isinstance(b, Table | Figure)}
    beside = {ids.PDP_OWN, ids.PDP_DISTRIBUTION}
    assert {result.id for result in run.results} - cited == beside


def test_an_extra_result_of_a_known_explainer_gets_a_part_of_its_own() -> None:
    run = make_run()
    extra = replace(run.result(ids.SHAP_IMPORTANCE), id="pfi.conditional", explainer=ids.PFI)
    made = document(replace(run, results=(*run.results, extra)), appendix="full")
    assert reading.section(made, "result-pfi.conditional") in reading.section(made, "explainer-pfi").sections


def test_a_result_that_cannot_be_told_costs_no_report() -> None:
    run = make_run()
    broken = replace(run.result("stranger"), estimates=run.result("stranger").estimates.assign(lower="no number"))
    made = document(replace(run, results=tuple(broken if r.id == "stranger" else r for r in run.results)))
    callouts = [b for b in reading.blocks(made) if isinstance(b, Callout) and b.title == "A part is missing"]
    assert len(callouts) == 1
    assert "no number" in callouts[0].text


def test_capped_figures_and_tables_say_so() -> None:
    made = report("sixty features")
    capped = reading.table(made, "pfi-table-2")
    assert (len(capped.rows), capped.total_rows) == (60, 70)
    figure = next(b for b in reading.section(made, "result-pfi").blocks if isinstance(b, Figure))
    assert "the 20 largest of 70" in figure.caption


def test_what_people_must_judge_stays_open() -> None:
    made = report("classification")
    (facts,) = (block for block in reading.section(made, "model").blocks if isinstance(block, Facts))
    assert {cell for _, cell in facts.rows} == {Badge("to be completed", "unknown")}
    told = " ".join(texts([reading.section(made, "sign-off")]))
    (listed,) = re.findall(r"To be completed: the texts on (.+?); the status \(draft\)\.", told)
    optional = {"title", "status", "classification", "signers", "legal_basis", "observation", "unit"}
    shown = {"preparer", "validator", "approver", "author", "independence"}  # to be completed in the section itself
    asked = {key.replace("_", " ") for key in set(About.model_fields) - optional - shown}
    assert set(re.split(r", | and ", listed)) == asked


def test_omissions_stand_once_with_all_results_that_share_them() -> None:
    made = report("without y")
    rows = reading.table(made, "not-run-omissions").rows
    assert rows == (("pfi", "nll", "all", "It needs outcomes, which were not given."),)


def test_checks_without_a_verdict_are_listed_with_their_reason() -> None:
    made = report("classification")
    assert reading.table(made, "not-run-checks").rows == (("fairness", "skipped", "No group was named."),)


def test_synthetic_runs_hold_every_kind() -> None:
    assert {result.kind for result in make_run().results} == set(results.KINDS)


def test_a_challenger_has_its_recommendation_on_the_cover_and_its_checks_have_names_of_their_own() -> None:
    run, other = make_run(), make_run(Case(gate="fails"))
    made = document(replace(run, challenger=replace(other, subject={**other.subject, "label": "Other"})))
    assert [part.id for part in made.sections] == ["comparison", *FRONT, *ANNEXES["short"]]
    assert made.recommendation == Badge("Fit for purpose", "good")
    assert ("Recommendation for the challenger", Badge("Not fit for purpose", "bad")) in made.facts
    assert [check.name for check in made.checks] == [
        "calibration", "fairness", "challenger.calibration", "challenger.fairness"
    ]  # fmt: skip
    (code, severity, _) = made.checks[2].findings[0]
    assert (code, severity) == ("UQ101", "high")
