"""No retired word stands in a rendered document, and every technical term that it uses is in the glossary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from uq_report.document.text import clean, unmarked
from uq_report.evidence.run import Run
from uq_report.evidence.subject import SubjectFacts
from uq_report.jobs.audit_file import EmailPart
from uq_report.ops import mail
from uq_report.reading.run_reader import RunReader
from uq_report.render.html import HtmlRenderer
from uq_report.report import kinds
from uq_report.report.answer.section import answer_of, as_lines
from uq_report.report.sections.reproducibility import TERMS

from ..test_words import WORDS
from .reading import words
from .test_one_source import AUDITS, run

RETIRED = re.compile("|".join([*WORDS["text"], *WORDS["sentences"], *WORDS["rendered"]]), re.IGNORECASE)
ABBREVIATION = re.compile(r"\b[A-Z]{2,}(?:-[A-Z]+)?\b")
KNOWN = frozenset(WORDS["abbreviations"])  # of files, laws and units
CALL = re.compile(r"\w+(?=\()")  # names of classes in the parameters of a model
CODE = re.compile(
    r"\b[a-z_0-9]+(?:[._][a-z_0-9]+)+\b|[\w.]*::?[\w.]+|uq\.\w+\([^)]*\)|“[^”]*”|'[^']*'|\b\w+ = "
    "|^claims$|^rows $"
)


def told(name: str) -> Iterator[str]:
    """Yield every text of the documents on a run, of the terminal and of a mail, without what the owner wrote."""
    made = run(name)
    own = sorted(owned(made), key=len, reverse=True)
    for form in ("audit", "brief", "model-card"):
        for text in words(kinds.document(made, form, appendix="full" if form == "audit" else "short", draws=False)):
            yield without(own, text)
    for text in (*as_lines(answer_of(RunReader(made))), *mailed(made)):
        yield without(own, text)


def owned(made: Run) -> Iterator[str]:
    """Yield the texts of the owner: about the model, names of features and levels, waivers and actions."""
    yield from texts_in([made.settings, *map(CALL.findall, texts_in(made.subject.get("model_parameters")))])
    facts = SubjectFacts.of(made)
    yield from (str(name) for name in (*(feature.name for feature in facts.features), *(facts.classes or ())))
    yield from (str(facts.label), *facts.groups)


def texts_in(thing: Any) -> Iterator[str]:
    """Yield the texts inside JSON values."""
    if isinstance(thing, str):
        yield clean(thing)
    elif isinstance(thing, Mapping):
        for part in thing.values():
            yield from texts_in(part)
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from texts_in(part)


def without(own: list[str], text: str) -> str:
    """Return a text without what others wrote, and without code."""
    text = unmarked(text)
    for theirs in own:
        text = text.replace(theirs, "…") if len(theirs) > 2 else text
    return CODE.sub("…", text)


def mailed(made: Run) -> list[str]:
    """Return the lines on the findings in a mail."""
    part = EmailPart(host="h", sender="a@b.org", to=("c@d.org",))
    return mail.body(part, mail.RunEnd("m", 0, open=made.findings), None).splitlines()


@pytest.mark.parametrize("name", AUDITS)
def test_no_retired_word_is_rendered(name: str) -> None:
    found = {f"{match[0]}: {text[:160]}" for text in told(name) for match in RETIRED.finditer(text)}
    assert sorted(found) == []


@pytest.mark.parametrize("name", AUDITS)
def test_every_abbreviation_is_in_the_glossary(name: str) -> None:
    glossary = {word for term in TERMS for word in ABBREVIATION.findall(term)}
    found = {match for text in told(name) for match in ABBREVIATION.findall(text)}
    assert sorted(found - glossary - KNOWN) == []


def test_every_term_of_the_vocabulary_is_in_the_glossary() -> None:
    assert set(WORDS["terms"]) <= set(TERMS)


def test_each_term_is_linked_where_it_is_first_used() -> None:
    page = HtmlRenderer().render(kinds.document(run("credit"), draws=False)).decode()
    targets = re.findall(r'<a class="term" href="#([^"]+)"', page)
    assert len(targets) > 15
    assert len(set(targets)) == len(targets)
    assert all(page.count(f'id="{target}"') == 1 for target in targets)
    assert page.index(">AUC</a>") < page.index("Feature sheets</h2>")
