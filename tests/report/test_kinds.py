"""Kinds of documents: the brief that fits two pages whatever is in it, and the model card under nine headings."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pikepdf
import pytest
from typer.testing import CliRunner

from uq_report.api.views import AuditRun
from uq_report.cli import app
from uq_report.core.support.errors import InputError
from uq_report.document.document import Badge, Bullets, Cards, Document, Facts, Figure, Paragraph, Steps, Verdict
from uq_report.evidence import ids
from uq_report.evidence.codec import dumps, sha256
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun, Run
from uq_report.render.pdf import PdfRenderer
from uq_report.report.assemble import document as audit
from uq_report.report.kinds import KINDS, document
from uq_report.report.kinds.brief import ELSEWHERE, whole_text
from uq_report.runner.settings import About

from . import reading
from .cases import Case
from .findings_made import finding
from .synthetic import make_run

HEADINGS = [
    "Conclusion",
    "Model details",
    "Intended use",
    "Factors",
    "Metrics",
    "Evaluation data",
    "Training data",
    "Quantitative analyses",
    "Ethical considerations",
    "Caveats and recommendations",
]
ALONE = ("brief", "model-card")


def worst() -> Run:
    """A run with the longest texts everywhere, two models, and much that did not run."""
    long = "A long sentence about what was seen, with its figures. " * 40
    names = tuple(f"{'very_long_name_of_a_feature_' * 3}{k}" for k in range(20))
    run = make_run(Case(names=names, gate="fails"))
    found = tuple(finding(f"UQ{k}", "high", names[0], title=long, statement=long) for k in range(200, 230))
    gate = Outcome(check="calibration", state="found", findings=(finding("UQ101", "high", statement=long),))
    outcomes: tuple[Outcome, ...] = (gate, Outcome(check="dependence", state="found", findings=found))
    outcomes += tuple(Outcome(check=f"check number {k}", state="skipped", reason=long) for k in range(40))
    subject = {**run.subject, "label": "L" * 10_000, "model_class": "module." * 900, "adapter_reason": long}
    hashes = dict.fromkeys(("model", "X", "y", "train_X", "train_y"), "0123456789abcdef" * 4)
    about = {**dict.fromkeys(About.model_fields, long), "status": "draft", "observation": "case", "unit": "kW"}
    missing = tuple(NotRun(f"explainer {k} {'n' * 900}", "uq_report.explainers", long, "data") for k in range(30))
    made = replace(
        run,
        subject={**subject, "hashes": hashes},
        settings={**run.settings, "about": about},
        outcomes=outcomes,
        not_run=missing,
    )
    return replace(made, challenger=made)


def pages(made: Document) -> list[tuple[float, float]]:
    """Return the size of each page in points."""
    with pikepdf.open(io.BytesIO(PdfRenderer(strict=True, isolated=False).render(made))) as pdf:
        return [(float(page.mediabox[2]), float(page.mediabox[3])) for page in pdf.pages]


@pytest.mark.parametrize(
    "run",
    [make_run(), make_run(Case(task="regression", gate="fails")), worst(), make_run(Case(has_y=False))],
    ids=["classification", "regression", "worst case", "without y"],
)
def test_the_brief_fits_two_pages_of_a4(run: Run) -> None:
    sizes = pages(document(run, "brief"))
    assert len(sizes) == 2
    assert all(size == pytest.approx((595.28, 841.89), abs=0.1) for size in sizes)


def test_an_empty_run_has_a_brief_and_a_card() -> None:
    empty = Run(as_of="2026-11-21", subject={}, settings={}, environment={})
    assert len(pages(document(empty, "brief"))) <= 2
    assert [section.title for section in document(empty, "model-card").sections] == HEADINGS


def test_an_unknown_kind_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InputError, match=r"report.template must be one of .*; got 'brif'. .*brief"):
        document(make_run(), "brif")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("kind", ALONE)
def test_a_kind_is_tied_to_its_run_and_shares_what_is_said_of_it(kind: str) -> None:
    run = make_run(Case(gate="fails"))
    made, whole = document(run, kind), audit(run)
    assert (made.kind, made.layout) == (kind, "portrait")
    assert made.evidence_sha256 == sha256(run)
    assert made.attachments[0].content == dumps(run)
    assert (made.recommendation, made.banner, made.checks, made.as_of) == (
        whole.recommendation,
        whole.banner,
        whole.checks,
        whole.as_of,
    )
    assert (whole.kind, document(run).kind) == ("audit", "audit")


@pytest.mark.usefixtures("undrawn")
def test_the_brief_holds_what_a_decision_needs() -> None:
    run = make_run(Case(gate="fails"))
    made = document(
        replace(run, not_run=(NotRun("cid", "uq_report.explainers", "it was denied", "not asked"),)), "brief"
    )
    assert [section.id for section in made.sections] == ["answer", "leading", "people"]
    blocks = list(reading.blocks(made))
    kinds = [type(block) for block in blocks]
    assert kinds[:6] == [Verdict, Paragraph, Cards, Steps, Figure, Steps]
    table = reading.table(made, "leading-table")
    assert len(table.rows) == 8
    told = [block.text for block in blocks if isinstance(block, Paragraph)]
    assert "To be completed: purpose, intended use, materiality, owner" in told[-2]
    assert told[-1] == "Checks without a verdict: fairness. Not run: cid."
    labels = {label for block in blocks if isinstance(block, Facts) for label, _ in block.rows}
    assert {"SHA-256 of the model", "SHA-256 of the test sample"} <= labels


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(("further", "there"), [(0, False), (1, True)])
def test_the_brief_lists_the_findings_that_the_answer_does_not_name(further: int, there: bool) -> None:
    found = tuple(finding(f"UQ70{k}", "low", remedy=f"Do thing {k}.") for k in range(3 + further))
    outcome = Outcome(check="x", state="found", findings=found)
    made = document(replace(make_run(), outcomes=(outcome,)), "brief")
    assert ("further" in [section.id for section in made.sections]) == there
    if there:
        assert [row[0] for row in reading.table(made, "further-table").rows] == ["UQ703"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("case", [Case(), Case(gate="fails"), Case(has_y=False), Case(task="regression")])
def test_no_sentence_of_the_brief_is_cut(case: Case) -> None:
    assert not [text for text in reading.words(document(make_run(case), "brief")) if "\u2026" in text]


@pytest.mark.usefixtures("undrawn")
def test_the_brief_of_two_models_says_what_sets_them_apart() -> None:
    run = make_run()
    made = document(replace(run, challenger=run), "brief")
    section = reading.section(made, "comparison")
    assert section.title == "Champion against challenger"
    assert all(isinstance(block, Paragraph) for block in section.blocks)


@pytest.mark.usefixtures("undrawn")
def test_the_model_card_opens_with_the_answer_and_has_nine_headings_and_leaves_open_what_was_not_said() -> None:
    made = document(make_run(), "model-card")
    assert [section.title for section in made.sections] == HEADINGS
    facts = {label: cell for block in reading.blocks(made) if isinstance(block, Facts) for label, cell in block.rows}
    for label in ("Purpose", "Out-of-scope use", "Risks, harms and mitigations", "Owner, for questions"):
        assert facts[label] == Badge("to be completed", "unknown")
    assert reading.table(made, "data-features").rows
    assert reading.table(made, "performance-scores-table").evidence == ids.CALIBRATION
    assert reading.section(made, "performance-scores").title == "Performance"


@pytest.mark.usefixtures("undrawn")
def test_the_model_card_repeats_what_people_said_and_findings_on_groups() -> None:
    run = make_run()
    about = {"purpose": "To lend.", "owner": "Credit desk"}
    one = finding("UQ801", "high", "sex", statement="the error differs by sex", remedy="look at it")
    outcome = Outcome(check="groups", state="found", findings=(one,))
    protected = {**run.subject, "protected": {"sex": ["a", "b"]}}
    made = document(
        replace(run, subject=protected, settings={"about": about}, outcomes=(*run.outcomes, outcome)), "model-card"
    )
    facts = {label: cell for block in reading.blocks(made) if isinstance(block, Facts) for label, cell in block.rows}
    assert (facts["Purpose"], facts["Owner, for questions"]) == ("To lend.", "Credit desk")
    assert facts["Open findings on groups and protected attributes"] == "UQ801"
    items = [item for block in reading.blocks(made) if isinstance(block, Bullets) for item in block.items]
    assert "UQ801: The error differs by sex." in items
    assert "UQ801 (high): Title of UQ801. Look at it." in items


@pytest.mark.usefixtures("undrawn")
def test_files_are_called_by_their_template(tmp_path: Path) -> None:
    run = AuditRun(make_run())
    run.write_reports(tmp_path, ["html"])
    run.write_reports(tmp_path, ["html", "markdown", "junit"], template="model-card")
    run.write(tmp_path, ["html"], template="brief")
    names = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert {"report.html", "model-card.html", "model-card.md", "model-card.junit.xml", "brief.html"} <= names


OURS = """{% extends "uq_report/report.html" %}{% block banner %}<p>Our bank: {{ document.kind }}</p>{% endblock %}"""


@pytest.mark.usefixtures("undrawn")
def test_a_house_style_reaches_the_renderers_that_take_one(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(OURS)
    run = AuditRun(make_run())
    assert b"<p>Our bank: brief</p>" in run.render("html", template="brief", templates=tmp_path)
    assert set(KINDS) == {"audit", *ALONE}
    with pytest.raises(InputError, match=r"report.templates must go with a format that has templates.*got \['junit'\]"):
        run.render("junit", templates=tmp_path)


def test_a_long_text_is_told_by_its_first_sentence_or_not_at_all() -> None:
    assert whole_text("x" * 160) == "x" * 160
    assert whole_text("x" * 161) == ELSEWHERE
    assert whole_text(f"To lend. {'Or not. ' * 100}") == "To lend."


@pytest.mark.usefixtures("undrawn")
def test_the_command_line_chooses_template_and_house_style(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(dumps(make_run()))
    house = tmp_path / "house"
    house.mkdir()
    (house / "report.html").write_text(OURS.replace("kind }}", "kind }}\n{{ document.titel }}"))
    command = ["render", str(tmp_path), "--format", "html", "--template", "brief", "--templates", str(house)]
    broken = CliRunner().invoke(app, command)
    assert broken.exit_code == 4
    assert "report.html, line 2" in broken.stderr
    assert "'titel'" in broken.stderr
    (house / "report.html").write_text(OURS)
    assert CliRunner().invoke(app, command).exit_code == 0
    assert "<p>Our bank: brief</p>" in (tmp_path / "brief.html").read_text()
    unknown = CliRunner().invoke(app, ["render", str(tmp_path), "--template", "poster"])
    assert (unknown.exit_code, "report.template must be one of" in unknown.stderr) == (3, True)
