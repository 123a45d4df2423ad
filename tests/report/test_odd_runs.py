"""Odd models, rows and names: each gives documents that open with the answer, hold no empty part, and print no NaN."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import html5lib
import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.distributions import Categorical, Normal
from uq_report.document.document import Document, Section
from uq_report.evidence.run import Run
from uq_report.render.html import page
from uq_report.report.kinds import document
from uq_report.runner import plugins

pytestmark = pytest.mark.usefixtures("undrawn")
KINDS = ("audit", "brief", "model-card")
FAST = {"pfi": {"n_repeats": 2}, "pdp": {"grid_resolution": 3, "max_ice": 3}, "calibration": {"n_draws": 99}}
FEW = ("pfi", "calibration", "data_quality")
NAMES = (
    "x" * 200,
    "the monthly income of everybody in the household " * 4,
    "גיל הלקוח",
    "عمر",
    "🏠 home",
    "<b>bold</b>",
    "{{ 7 * 7 }}",
    "$x_1^2$",
    "a & b",
    "=1+1",
)
# Words of a machine for what is missing; "None of them" is a sentence.
MISSING = re.compile(r"(?<![\w.])(?:[nN]a[nN]|[+−-]?inf|None(?! (?:of|is|are|above)\b)|Traceback)(?![\w])")


def numbers(X: Any) -> Normal:
    """Predict a number from the first column, less surely where the second is large."""
    values = np.asarray(X, dtype=float)
    return Normal(values[:, 0], 1.0 + 0.1 * np.abs(values[:, 1]))


def classes(X: Any) -> Categorical:
    p = 1 / (1 + np.exp(-np.asarray(X, dtype=float)[:, 0]))
    return Categorical(np.column_stack([1 - p, p]), classes=["no", "yes"])


def rows(n: int, names: tuple[str, ...] = ("a", "b"), seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, len(names))), columns=list(names))


def outcomes(X: pd.DataFrame) -> Any:
    noise = np.random.default_rng(1).normal(size=len(X))
    return X.iloc[:, 0].to_numpy() + noise


def audit(subject: Any, explainers: tuple[str, ...] = FEW, **settings: Any) -> Run:
    options = {name: given for name, given in FAST.items() if name in explainers}
    given = {"explainers": explainers, "options": options, **settings}
    return uq.audit(subject, as_of="2026-11-20", progress=False, **given).run


def usual(n: int = 60, names: tuple[str, ...] = ("a", "b"), **given: Any) -> Any:
    X, train = rows(n, names), rows(n, names, seed=2)
    return uq.explain(numbers, X, outcomes(X), train=(train, outcomes(train)), **given)


def five_hundred() -> Run:
    return audit(usual(40, tuple(f"feature {k}" for k in range(500))), ("pfi", "calibration"))


def hundred_thousand_rows() -> Run:
    return audit(usual(100_000), ("pfi", "calibration"))


def unlabelled() -> Run:
    X = rows(60)
    return audit(uq.explain(numbers, X, train=(rows(60, seed=2), None)), ("pfi", "pdp"))


def untrained() -> Run:
    X = rows(60)
    return audit(uq.explain(classes, X, np.where(outcomes(X) > 0, "yes", "no")))


def odd_names() -> Run:
    subject = usual(60, NAMES, label="<i>{{ label }}</i> & 🏠", groups={"גיל <b>": NAMES[:2]})
    return audit(subject, ("pfi", "pdp", "redundancy", "calibration", "data_quality"))


def odd_classes() -> Run:
    labels = ("<b>no</b> & {{ 1 }}", "כן 🏠 " * 40)

    def model(X: Any) -> Categorical:
        p = 1 / (1 + np.exp(-np.asarray(X, dtype=float)[:, 0]))
        return Categorical(np.column_stack([1 - p, p]), classes=labels)

    X = rows(60)
    y = np.where(outcomes(X) > 0, labels[1], labels[0])
    return audit(uq.explain(model, X, y, protected={"<b>group</b>": np.arange(60) % 2}), (*FEW, "groups"))


def everything_failed() -> Run:
    asked = rows(60)

    known = {row.tobytes() for row in asked.to_numpy()}

    def model(X: Any) -> Normal:
        if not all(row.tobytes() in known for row in np.ascontiguousarray(X)):
            raise RuntimeError("the model <b>answers</b> no more: None, nan")
        return numbers(X)

    return audit(uq.explain(model, asked), ("pfi", "pdp", "ale", "shap", "rsens", "h_statistic"))


def everything_denied() -> Run:
    return uq.audit(
        usual(), deny=[plugin.name for plugin in plugins.find(plugins.EXPLAINERS)], as_of="2026-11-20", progress=False
    ).run


CASES: dict[str, Callable[[], Run]] = {
    "two features": lambda: audit(usual()),
    "one feature": lambda: audit(uq.explain(lambda X: Normal(np.asarray(X)[:, 0], np.ones(len(X))), rows(40, ("a",)))),
    "500 features": five_hundred,
    "3 rows": lambda: audit(usual(3)),
    "100000 rows": hundred_thousand_rows,
    "no outcomes": unlabelled,
    "no training data": untrained,
    "odd names": odd_names,
    "odd classes": odd_classes,
    "nothing looked for": lambda: audit(usual(), (), checks=()),
    "everything failed": everything_failed,
    "everything denied": everything_denied,
}


@cache
def made(case: str) -> Run:
    return CASES[case]()


@pytest.fixture(params=list(CASES))
def run(request: pytest.FixtureRequest) -> Run:
    return made(request.param)


def sections(parts: tuple[Section, ...]) -> Iterator[Section]:
    for part in parts:
        yield part
        yield from sections(part.sections)


def values(part: Any) -> Iterator[str | float]:
    """Yield every text and number of a document's part, ids and bytes aside."""
    if isinstance(part, str | float):
        yield part
    elif isinstance(part, tuple):
        for one in part:
            yield from values(one)
    elif dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            if field.name not in ("id", "attachments", "checks", "evidence", "feature"):
                yield from values(getattr(part, field.name))


def faults(made: Document) -> Iterator[str]:
    """Yield what a reader would stumble over."""
    if made.sections[0].id != "answer":
        yield f"it opens with {made.sections[0].id}"
    for section in sections(made.sections):
        if not section.blocks and not section.sections:
            yield f"section {section.id} is empty"
        if not section.title.strip():
            yield f"section {section.id} has no title"
        yield from (f"an empty {block.type} in {section.id}" for block in section.blocks if not any(values(block)))
    for value in values(made):
        if isinstance(value, float) and not math.isfinite(value):
            yield f"a number is {value}"
        if isinstance(value, str) and MISSING.search(value) and "answers" not in value:
            yield f"missing said by a machine: {value[:160]}"


@pytest.mark.parametrize("kind", KINDS)
def test_an_odd_run_gives_a_document_to_read(run: Run, kind: str) -> None:
    found = document(run, kind)
    assert list(faults(found)) == []
    html5lib.HTMLParser(strict=True).parse(page(found))


def test_the_full_annex_of_a_run_with_nothing_in_it_holds_no_empty_part() -> None:
    for case in ("nothing looked for", "everything failed", "3 rows", "odd names"):
        assert list(faults(document(made(case), appendix="full"))) == [], case


def test_names_stay_text_in_the_page() -> None:
    text = page(document(made("odd names"))).replace("<wbr>", "")  # where a name may break
    assert "<b>bold</b>" not in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert "{{ 7 * 7 }}" in text
    assert "<i>" not in re.sub(r"(?s)<style>.*?</style>", "", text)


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("the loss is nan", True),
        ("from −inf to 1", True),
        ("value: None", True),
        ("NaN nats", True),
        ("None of them is larger", False),
        ("financial information", False),
        ("banana", False),
    ],
)
def test_the_pattern_tells_a_machines_words_from_a_sentence(text: str, caught: bool) -> None:
    assert bool(MISSING.search(text)) == caught
