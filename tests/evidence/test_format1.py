"""A run stored in format 1 loads for ever: nothing of it is lost or computed anew, and it still renders."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.errors import InputError
from uq_report.evidence import codec
from uq_report.evidence.run import FORMAT
from uq_report.render.markdown import MarkdownRenderer
from uq_report.report.kinds import document

from ..report.conftest import undrawn
from .runs import STORED, stored, stored_bytes, stored_json

__all__ = ["undrawn"]
TABLES = ("frame", "estimates")


def cells(column: dict[str, Any]) -> list[Any]:
    """Return a stored column's cells, read from the JSON alone."""
    return column["values"] if "values" in column else [column["levels"][code] for code in column["codes"]]


def test_the_sample_is_of_format_1_and_small() -> None:
    assert stored_json()["format"] == 1
    assert STORED.stat().st_size < 400_000


def test_every_number_and_word_of_its_tables_is_as_it_was_stored() -> None:
    for result, content in zip(stored().results, stored_json()["results"], strict=True):
        assert (result.id, result.kind, result.title) == (content["id"], content["kind"], content["title"])
        for part in TABLES:
            table = getattr(result, part)
            assert list(table.columns) == [column["name"] for column in content[part]["columns"]]
            for column in content[part]["columns"]:
                read = [None if pd.isna(cell) else cell for cell in table[column["name"]].tolist()]
                assert read == cells(column), (result.id, part, column["name"])
        assert (result.rows is None) == (content["rows"] is None)
        if result.rows is not None:
            expected = np.array(content["rows"]["values"], dtype=float).reshape(content["rows"]["shape"])
            np.testing.assert_array_equal(result.rows.values, expected)


def test_what_was_written_beside_the_tables_stays() -> None:
    run, content = stored(), stored_json()
    assert run.format == FORMAT
    for part in ("as_of", "subject", "environment", "not_reproducible"):
        assert getattr(run, part) == content[part]
    for result, old in zip(run.results, content["results"], strict=True):
        assert dict(result.meta) == {key: fact for key, fact in old["meta"].items() if key != "measures"}
        assert (list(result.notes), dict(result.options)) == (old["notes"], old["options"])
    for outcome, old in zip(run.outcomes, content["outcomes"], strict=True):
        assert (outcome.check, outcome.state, outcome.reason) == (old["check"], old["state"], old["reason"])
        assert [finding.statement for finding in outcome.findings] == [one["statement"] for one in old["findings"]]
        assert [rule.when for rule in outcome.rules] == [rule["when"] for rule in old["rules"]]


def test_it_has_the_words_of_format_2() -> None:
    run = stored()
    assert {"checks"}.isdisjoint({*(entry.group for entry in run.plugins), *(entry.group for entry in run.not_run)})
    assert "rules" in {entry.group for entry in run.plugins}
    assert "checks" not in run.settings
    assert not any(key.startswith("checks.") for key in run.settings["options"])
    assert {method.name for method in run.methods} == {result.explainer for result in run.results}
    entropy = run.result("pfi").measures["entropy"]
    assert (entropy.title, entropy.unit, entropy.role, entropy.direction) == (
        "entropy",
        "nats",
        "uncertainty",
        "larger",
    )
    assert all(rule.thresholds == {} for outcome in run.outcomes for rule in outcome.rules)
    assert all(finding.explains == () and finding.size is None for finding in run.findings)


def test_saved_again_it_is_the_same_run() -> None:
    again = codec.dumps(stored())
    assert json.loads(again)["format"] == FORMAT
    assert codec.dumps(codec.loads(again)) == again


@pytest.mark.parametrize("kind", ["audit", "brief", "model-card"])
@pytest.mark.usefixtures("undrawn")
def test_it_renders(kind: str) -> None:
    text = MarkdownRenderer().render(document(stored(), kind)).decode()
    assert stored().subject["label"] in text
    assert "could not be shown" not in text
    assert "could not be drawn" not in text


def test_a_file_of_format_1_that_is_none_is_refused() -> None:
    content = stored_json() | {"results": [{"id": "pfi"}]}
    with pytest.raises(InputError, match=r"old\.json must follow the schema of format 1"):
        codec.loads(json.dumps(content).encode(), "old.json")
    assert stored_bytes().startswith(b'{"as_of"')
