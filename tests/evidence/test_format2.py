"""A run stored in format 2 loads for ever: what did not run gets the cause its words name, and nothing else moves."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from uq_report.core.errors import Cause
from uq_report.evidence import codec, migrations
from uq_report.evidence.run import FORMAT, Run
from uq_report.evidence.schema import run_schema

STORED = gzip.decompress((Path(__file__).parent / "format2" / "run.json.gz").read_bytes())


def without_causes(run: Any) -> Any:
    """Return a run's JSON as format 2 has it."""
    parts = [{key: value for key, value in entry.items() if key != "cause"} for entry in run["not_run"]]
    outcomes = [{key: o[key] for key in o if key not in ("undecided", "missing")} for o in run["outcomes"]]
    inner = run["challenger"] and without_causes(run["challenger"])
    return {**run, "format": 2, "not_run": parts, "outcomes": outcomes, "challenger": inner}


def causes(run: Run) -> dict[str, Cause]:
    return {entry.name: entry.cause for entry in run.not_run if entry.group == "explainers"}


def test_all_but_the_causes_is_as_it_was_stored() -> None:
    run, content = codec.loads(STORED), json.loads(STORED)
    assert content["format"] == content["challenger"]["format"] == 2
    assert run.format == FORMAT
    assert without_causes(codec.encode(run)) == content


def test_a_cause_is_what_the_words_of_format_2_name() -> None:
    run = codec.loads(STORED)
    expected = {
        "ale": "", "odd": "fault", "bare": "missing library", "rsens": "limit", "h_statistic": "limit",
        "groups": "not recorded", "segments": "not recorded", "cid": "not asked", "pdp": "not asked",
    }  # fmt: skip
    assert {name: causes(run).get(name, "") for name in expected} == expected
    assert run.challenger is not None
    assert causes(run.challenger)["odd"] == "fault"


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("the time limit of 1 s was reached", "limit"),
        ("it does not fit the 0.5 s left of the time limit of 1 s", "limit"),
        ("the memory limit of 9 MB was reached (12 MB in use); pfi was stopped. Raise the limit.", "limit"),
        ("it needs pfi, which did not run: ValueError: no", "fault"),
        ("it failed with KeyError: 'a'", "fault"),
        ("the dalex explainer needs dalex, which is not installed. Install it.", "missing library"),
        ("support.train must be given; got None. Pass the training rows.", "not recorded"),
    ],
)
def test_the_rule_of_format_2(reason: str, cause: Cause) -> None:
    entry = {"name": "a", "group": "rules", "reason": reason}
    assert migrations.STEPS[2]({"not_run": [entry]}) == {"not_run": [{**entry, "cause": cause}]}


def test_the_schema_has_every_cause() -> None:
    assert run_schema()["properties"]["not_run"]["items"]["properties"]["cause"]["enum"] == [*get_args(Cause)]
