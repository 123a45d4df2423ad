"""Real runs come back as they were, with their methods, measures, thresholds and causes, and follow the schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest

from uq_report.checks.rule import Rule
from uq_report.core.model.results import MeasureFacts
from uq_report.core.support.errors import Cause
from uq_report.evidence import codec, ids
from uq_report.evidence.finding import Finding, Outcome, Symptom
from uq_report.evidence.run import Run
from uq_report.evidence.schema import run_schema

from .runs import runs

SCHEMA = json.loads(Path(codec.__file__).with_name("run.schema.json").read_text(encoding="utf-8"))
RULE = Rule(
    code="X1", title="T", thresholds={"share": 0.1, "rows": 3}, when="{share:pct} of {rows}", grades=("low",),
    rests_on="counting",
)  # fmt: skip
CAUSE = RULE.finding(
    "low",
    "S",
    (ids.PFI,),
    affected="3 of 9 rows",
    size=0.25,
    explains=(Symptom(code="X2", feature="age"), Symptom(code="X3"), Symptom(code="X4", possible=True)),
)


def again(run: Run) -> Run:
    return codec.loads(codec.dumps(run))


@pytest.mark.parametrize("name", ["normal", "logistic", "over-confident", "two models"])
def test_a_real_run_comes_back_equal(name: str) -> None:
    run, read = runs()[name], again(runs()[name])
    assert codec.dumps(read) == codec.dumps(run)
    assert read.methods == run.methods
    assert read.outcomes == run.outcomes
    for before, after in zip(run.results, read.results, strict=True):
        assert after.measures == before.measures
        pd.testing.assert_frame_equal(after.estimates, before.estimates)


def test_methods_and_measures_of_a_real_run_say_what_was_done() -> None:
    run = again(runs()["normal"])
    pfi = next(method for method in run.methods if method.name == ids.PFI)
    assert pfi.card.definition
    assert pfi.options["n_repeats"] > 0
    assert run.result(ids.PFI).measures["nll"] == MeasureFacts("negative log-likelihood", "nats", "loss", "larger")
    thresholds = {rule.code: rule.thresholds for outcome in run.outcomes for rule in outcome.rules}
    gate = {"level": 0.05, "effect": 0.02, "medium": 0.05, "high": 0.1, "missed": 0.02, "some": 0.05, "many": 0.1}
    assert thresholds["UQ101"] == gate


def test_thresholds_causes_and_sizes_come_back() -> None:
    outcome = Outcome(check="x", state="found", findings=(CAUSE,), rules=(RULE.record,))
    read = again(replace(runs()["normal"], outcomes=(outcome,))).outcomes[0]
    assert read == outcome
    assert dict(read.rules[0].thresholds) == {"share": 0.1, "rows": 3}
    assert read.rules[0].when == "10% of 3"
    (finding,) = read.findings
    assert (finding.affected, finding.size) == ("3 of 9 rows", 0.25)
    symptom = Finding(code="X2", title="T", severity="low", statement="S", evidence=("pfi",), rests_on="x")
    assert not symptom.is_explained_by(finding)
    assert replace(symptom, features=("age",)).is_explained_by(finding)
    assert replace(symptom, code="X3").is_explained_by(finding)


@pytest.fixture(scope="module")
def validate() -> Callable[[Any], None]:
    jsonschema = pytest.importorskip("jsonschema", reason="validating needs jsonschema")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    return validator.validate


def short(part: Any) -> Any:
    """Return a part of a run with one cell of each type and sign in long lists: the schema asks no more of cells."""
    if isinstance(part, dict):
        return {key: short(value) for key, value in part.items()}
    if not isinstance(part, list):
        return part
    if len(part) <= 20 or any(isinstance(item, dict | list) for item in part):
        return [short(item) for item in part]
    return [*{(type(item), str(item).startswith("-")): item for item in part}.values()]


@pytest.mark.parametrize("name", ["normal", "logistic", "over-confident", "two models"])
def test_the_schema_accepts_a_real_run(name: str, validate: Callable[[Any], None]) -> None:
    validate(short(codec.encode(runs()[name])))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("methods",), "'methods' is a required property"),
        (("methods", 0, "card"), "'card' is a required property"),
        (("results", 0, "measures"), "'measures' is a required property"),
        (("outcomes", 0, "rules", 0, "thresholds"), "'thresholds' is a required property"),
    ],
)
def test_the_schema_refuses_a_run_that_lacks_a_part(
    path: tuple[Any, ...], message: str, validate: Callable[[Any], None]
) -> None:
    whole = runs()["logistic"]
    one_each = replace(whole, methods=whole.methods[:1], results=whole.results[:1], outcomes=whole.outcomes[:1])
    content = json.loads(codec.dumps(one_each))
    validate(content)
    *inner, last = path
    part = content
    for key in inner:
        part = part[key]
    del part[last]
    with pytest.raises(Exception, match=message):
        validate(content)


def test_the_schema_has_every_cause() -> None:
    assert run_schema()["properties"]["not_run"]["items"]["properties"]["cause"]["enum"] == [*get_args(Cause)]
