"""Both parts of the uncertainty stand beside each other in the section of every method, and nowhere without members."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import uq_report as uq
from uq_report.document.document import Document, Section, Table, inside, texts
from uq_report.reading.tables import CAUTION, CURVES, SIZES, SUMS
from uq_report.report.assemble import document

KEYS = ("drivers-split-table", "profiles-split-table", "local-effects-split-table", "shap-split-table")
EXPLAINERS = ["pfi", "pdp", "ale", "shap"]
pytestmark = pytest.mark.usefixtures("undrawn")


@cache
def audited(members: bool) -> Document:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(110, 3)), columns=["a", "b", "c"])
    y = X["a"] + 0.5 * rng.normal(size=110) > 0
    model: Any = RandomForestClassifier(6, min_samples_leaf=5, random_state=0) if members else LogisticRegression()
    subject = uq.explain(model.fit(X[:70], y[:70]), X[70:], y[70:])
    options = {"pfi": {"n_repeats": 3}, "pdp": {"grid_resolution": 4}, "shap": {"n_rows": 10, "n_background": 5}}
    run = uq.audit(subject, explainers=EXPLAINERS, options=options, as_of="2026-01-01", progress=False).run
    return document(run, appendix="full")


def tables(sections: Iterable[Section]) -> dict[str, Table]:
    found: dict[str, Table] = {}
    for section in sections:
        found |= {block.id: block for block in inside(section.blocks) if isinstance(block, Table)}
        found |= tables(section.sections)
    return found


@pytest.mark.parametrize("key", KEYS)
def test_every_method_shows_both_parts_of_every_feature(key: str) -> None:
    table = tables(audited(members=True).sections)[key]
    heads = " ".join(column.label for column in table.columns)
    assert heads.index("aleatoric") < heads.index("epistemic")
    assert sorted(str(row[0]) for row in table.rows) == ["a", "b", "c"]
    assert all(cell for row in table.rows for cell in row)


@pytest.mark.parametrize(("key", "note"), [*zip(KEYS, (SUMS, CURVES, CURVES, SIZES), strict=True)])
def test_the_note_says_what_adds_up(key: str, note: str) -> None:
    assert tables(audited(members=True).sections)[key].note == note


def test_without_members_no_method_speaks_of_parts() -> None:
    sections = audited(members=False).sections
    assert not set(KEYS) & set(tables(sections))
    words = " ".join(texts(sections))
    assert CAUTION not in words
    assert "two parts" not in words
    assert "epistemic part" not in words


def test_the_glossary_warns_of_what_disagreement_is_not() -> None:
    words = " ".join(texts(audited(members=True).sections))
    assert words.count(CAUTION) == 1
    assert "It covers only sources that differ between the members" in words.replace("\xa0", " ")
    assert "Identical members have none" in words
