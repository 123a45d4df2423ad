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
from uq_report.reading.tables import CAUTION
from uq_report.report.assemble import document

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


@pytest.mark.parametrize("explainer", EXPLAINERS)
def test_every_method_shows_both_parts_of_every_feature(explainer: str) -> None:
    shown = [t for t in tables(audited(members=True).sections).values() if t.evidence.startswith(explainer)]
    for words in ("aleatoric", "epistemic"):
        rows = [row for t in shown for row in t.rows if words in f"{t.caption} {row[1]}".lower()]
        assert {"a", "b", "c"} <= {str(row[0]) for row in rows}


def test_without_members_no_method_speaks_of_parts() -> None:
    sections = audited(members=False).sections
    assert not [t for t in tables(sections).values() if "aleatoric" in t.caption]
    words = " ".join(texts(sections))
    assert CAUTION not in words
    assert "two parts" not in words
    assert "epistemic part" not in words


def test_the_glossary_warns_of_what_disagreement_is_not() -> None:
    words = " ".join(texts(audited(members=True).sections))
    assert words.count(CAUTION) == 1
    assert "It covers only sources that differ between the members" in words.replace("\xa0", " ")
    assert "Identical members have none" in words
