"""Every sentence: no code words, no digits beyond the error, nothing twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import uq_report
from uq_report.document import blocks
from uq_report.document.document import Document
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.run import Run
from uq_report.evidence.subject import SubjectFacts
from uq_report.report.assemble import document
from uq_report.runner import plugins

from .. import samples
from .cases import Case
from .sentences import Said, problems, repeated, said
from .synthetic import make_run

PACKAGE = Path(uq_report.__file__).parent
SAMPLES = sorted(samples.unpacked().glob("*/run.json"))
RUNS = (*(path.parent.name for path in SAMPLES), "classes", "numbers", "without outcomes")
# Sections of the front part whose sentences are held to the table of patterns; the appendix to those for numbers.
FRONT = ("answer", "findings", "performance", "drives", "features", "changes", "limitations", "sign-off")
TITLE, LEAD = 60, 70  # characters


@cache
def checks() -> tuple[object, ...]:
    """The built-in checks, as they are configured by default."""
    catalog = plugins.catalog()
    own = [one for one in catalog[plugins.CHECKS] if one.distribution == "uq_report"]
    return tuple(plugins.load(one)() for one in own)


@cache
def run(key: str) -> Run:
    """A stored sample or a made run, judged by the checks of today."""
    made = {
        "classes": Case(),
        "numbers": Case(task="regression"),
        "without outcomes": Case(has_y=False),
    }
    path = next((path for path in SAMPLES if path.parent.name == key), None)
    found = make_run(made[key]) if path is None else samples.read(path)
    outcomes = tuple(
        replace(check.check(found), title=check.title, rules=tuple(rule.record for rule in check.rules))  # type: ignore[attr-defined]
        for check in checks()
    )
    return replace(found, outcomes=outcomes)


def names(one: Run) -> tuple[str, ...]:
    """Names of features, levels and classes."""
    facts = SubjectFacts.of(one)
    levels = [str(level) for feature in one.subject.get("features", ()) for level, *_ in feature.get("top_levels", ())]
    return (*(feature.name for feature in facts.features), *map(str, facts.classes or ()), *levels)


@cache
def whole(key: str) -> Document:
    """The document of a run, without its figures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "svg_of", lambda figure: b"<svg/>" if callable(figure) else b"")
        return document(run(key), appendix="full")


def findings() -> Iterator[tuple[str, Finding]]:
    """Every finding of the runs."""
    for key in RUNS:
        yield from ((key, finding) for outcome in run(key).outcomes for finding in outcome.findings)


def outcomes() -> Iterator[tuple[str, Outcome]]:
    """Every outcome of the runs."""
    for key in RUNS:
        yield from ((key, outcome) for outcome in run(key).outcomes)


def told(texts: list[str]) -> None:
    """Fail with one line a problem."""
    assert not texts, "\n" + "\n".join(texts)


def test_titles_are_short_and_end_without_a_stop() -> None:
    titles = {rule.title for check in checks() for rule in check.rules}  # type: ignore[attr-defined]
    assert len(titles) > 30
    told([title for title in titles if len(title) > TITLE or title.endswith(".")])


@pytest.mark.parametrize("key", RUNS)
def test_statements_are_two_sentences_without_code_words(key: str) -> None:
    given = names(run(key))
    wrong: list[str] = []
    for where, one in findings():
        if where == key:
            wrong += problems(Said(f"{one.code}, statement", one.statement, prose=True), given)
            wrong += problems(Said(f"{one.code}, remedy", one.remedy, prose=True), given)
            if len(_sentences(one.statement)) > 2:
                wrong.append(f"{one.code}: more than two sentences: {one.statement}")
            if len(_sentences(one.remedy)[0]) > LEAD:
                wrong.append(f"{one.code}: the first sentence is too long for page 1: {one.remedy}")
    told(wrong)


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?]) (?=[A-Z“])", text)


@pytest.mark.parametrize("key", RUNS)
def test_reasons_of_checks_have_no_code_words(key: str) -> None:
    given = names(run(key))
    reasons = [Said(o.check, o.reason, prose=o.state == "passed") for where, o in outcomes() if where == key]
    texts = [replaced for one in reasons for replaced in problems(one._replace(prose=True), given)]
    told([text for text in texts if "no full stop" not in text])


def _constants(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and text of every string of a module that reads as a sentence: no docstrings, no patterns."""
    tree = ast.parse(path.read_text())
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    skipped |= {id(arg) for node in ast.walk(tree) if isinstance(node, ast.Raise) for arg in ast.walk(node)}
    conditions = (node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in {"raised", "grades"})
    skipped |= {id(part) for node in conditions for part in ast.walk(node)}  # parsed, never printed
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            text = re.sub(r"\{[\w:]*\}", "X", node.value)  # thresholds in the words of a rule
            if text.count(" ") > 3 and "\\" not in text:
                yield node.lineno, text


CHECKS = sorted(path for path in (PACKAGE / "methods").rglob("*.py") if "checks.rule import" in path.read_text())


@pytest.mark.parametrize("path", CHECKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_text_of_a_check_has_code_words_even_where_no_run_here_raises_it(path: Path) -> None:
    wrong = [text for line, one in _constants(path) for text in problems(Said(f"line {line}", one, prose=True), ())]
    told([text for text in wrong if "no full stop" not in text and "two blanks" not in text])


@pytest.mark.parametrize("section", FRONT)
@pytest.mark.parametrize("key", RUNS)
def test_sentences_of_the_front_part(key: str, section: str) -> None:
    parts = [part for part in whole(key).sections if part.id == section]
    told([text for one in said(parts) for text in problems(one, names(run(key)))])


@pytest.mark.parametrize("key", RUNS)
def test_nothing_is_said_twice_in_the_front_part(key: str) -> None:
    behind = set(FRONT) - {"answer", "features"}  # page 1 is complete by itself, and a sheet is of one feature
    given = names(run(key))
    told(list(repeated(said(part for part in whole(key).sections if part.id in behind), given)))
    sheets = [sheet for part in whole(key).sections if part.id == "features" for sheet in part.sections]
    assert sheets
    told([text for sheet in sheets for text in repeated(said([sheet]), ())])
    told(list(repeated(said(part for part in whole(key).sections if part.id == "answer"), given)))


@pytest.mark.parametrize("key", RUNS)
def test_numbers_of_the_annex(key: str) -> None:
    parts = [part for part in whole(key).sections if part.id not in FRONT]
    told([text for one in said(parts) for text in problems(one, names(run(key)), everywhere=True)])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Shuffling raises the nll by 0.02.", "a name of"),
        ("See pfi.train for more.", "a name of"),
        ("Raise n_repeats to 30.", "an option"),
        ("It falls by -0.5 nats.", "hyphen"),
        ("It rises by +0.5 nats.", "plus"),
        ("The gap is NaN.", "no number"),
        ("The model is compliant.", "law"),
        ("One  blank too many.", "two blanks"),
        ("The table below says so.", "place on the page"),
        ("It is 0.0224 nats (−0.00452 to 0.00578).", "digits that differ"),
        ("It is 0.02241 nats (0.01712 to 0.02743).", "more digits"),
        ("It is unfinished", "full stop"),
    ],
)
def test_every_pattern_finds_what_it_forbids(text: str, why: str) -> None:
    assert any(why in problem for problem in problems(Said("here", text, prose=True), ()))


@pytest.mark.parametrize(
    "text",
    [
        "Shuffling credit_amount raises the loss by 0.022 nats (0.017 to 0.027).",
        "It falls by −0.5 nats, from 2026-01-02 on.",
        "Outcomes below 0 are read as 0.",
    ],
)
def test_a_sound_sentence_passes(text: str) -> None:
    assert list(problems(Said("here", text, prose=True), ("credit_amount",))) == []


def test_a_sentence_that_stands_twice_is_found_whatever_names_it_has() -> None:
    texts = [
        Said("a", f"Its importance can be trusted on 20 rows, as {one} shows.", prose=True) for one in ("age", "job")
    ]
    assert len(list(repeated(texts, ("age", "job")))) == 1
    assert not list(repeated(texts[:1], ("age", "job")))
