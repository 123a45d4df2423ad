"""A run stored in format 3 loads for ever: its outcomes name what their reasons say, and nothing else moves."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from uq_report.evidence import codec, migrations
from uq_report.evidence.run import FORMAT

STORED = gzip.decompress((Path(__file__).parent / "format3" / "run.json.gz").read_bytes())


def test_all_but_the_new_fields_is_as_it_was_stored() -> None:
    run, content = codec.loads(STORED), json.loads(STORED)
    assert (content["format"], run.format) == (3, FORMAT)
    now = codec.encode(run)
    outcomes = [{key: o[key] for key in o if key not in ("undecided", "missing")} for o in now["outcomes"]]
    assert now | {"format": 3, "outcomes": outcomes} == content


def test_outcomes_name_what_they_left_open_and_what_they_looked_for() -> None:
    outcomes = {o.check: o for o in codec.loads(STORED).outcomes}
    assert outcomes["extrapolation"].undecided == ("UQ311", "UQ312")
    assert outcomes["extrapolation"].missing == ("ale", "pdp")
    assert outcomes["dependence"].missing == ("cover", "redundancy")
    assert (outcomes["claims"].undecided, outcomes["claims"].missing) == ((), ())


@pytest.mark.parametrize(
    ("state", "reason", "undecided", "missing"),
    [
        ("found", "UQ1 was not judged: my method was not computed.", ["UQ1"], ["my_method"]),
        ("skipped", "No verdict. UQ1 is undetermined for a. UQ2 was not judged: why.", ["UQ1", "UQ2"], []),
        ("skipped", "it failed: KeyError: 'a'", [], []),
        ("not_applicable", "UQ1 was not judged: DALEX was not computed", [], ["dalex"]),
    ],
)
def test_the_rule_of_format_3(state: str, reason: str, undecided: list[str], missing: list[str]) -> None:
    absent: list[dict[str, Any]] = [{"name": name, "group": "explainers"} for name in ("my_method", "dalex")]
    old = {"state": state, "reason": reason}
    new = migrations.STEPS[3]({"not_run": absent, "outcomes": [old]})
    assert new["outcomes"] == [{**old, "undecided": undecided, "missing": missing}]
