"""The facts of a subject: every recorded key has a field, and what is not recorded or not right has a default."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from uq_report import testing
from uq_report.core.model.describe import describe
from uq_report.evidence.run import Run
from uq_report.evidence.subject import FeatureFacts, SubjectFacts


def run_of(subject: dict[str, Any]) -> Run:
    return Run(as_of="2026-11-21", subject=subject, settings={}, environment={})


@pytest.fixture(scope="module", params=[testing.linear_subject, testing.logistic_subject])
def recorded(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What a real audit records of a subject with everything."""
    subject = request.param(train=True)
    subject = replace(subject, groups={"both": ("a", "b")}, protected={"group": np.arange(subject.n) % 2})
    return describe(subject, subject.model.distribution(subject.X))


def test_every_recorded_key_is_a_field_and_back(recorded: dict[str, Any]) -> None:
    assert {f.name for f in fields(SubjectFacts)} == set(recorded)
    assert {f.name for f in fields(FeatureFacts)} == set(recorded["features"][0])


def test_the_fields_hold_what_was_recorded(recorded: dict[str, Any]) -> None:
    facts = SubjectFacts.of(run_of(recorded))
    for name in ("label", "task", "family", "n", "d", "has_y", "has_train", "n_train", "weights", "hashes"):
        assert getattr(facts, name) == recorded[name]
    assert facts.groups == {"both": ("a", "b")}
    assert facts.protected == ("group",)
    assert [feature.name for feature in facts.features] == ["a", "b", "c", "d"]
    assert facts.features[0].max == recorded["features"][0]["max"]
    assert facts.classes == (None if recorded["classes"] is None else tuple(recorded["classes"]))


def test_an_empty_run_has_facts() -> None:
    facts = SubjectFacts.of(run_of({}))
    assert facts == SubjectFacts()
    assert (facts.n, facts.has_y, facts.features, facts.classes) == (None, None, (), None)


@pytest.mark.parametrize("wrong", [3, "text", True, ["a", 3], {"a": 1}, {"a": [1]}, [{"name": 3}], [["a", 3]], 0.5])
def test_values_of_another_type_never_cost_a_report(wrong: Any) -> None:
    facts = SubjectFacts.of(run_of({f.name: wrong for f in fields(SubjectFacts)}))
    assert isinstance(facts.label, str)
    assert facts.n is None or isinstance(facts.n, int)
    assert all(isinstance(feature, FeatureFacts) for feature in facts.features)
    nested = SubjectFacts.of(run_of({"features": [{f.name: wrong for f in fields(FeatureFacts)}]})).features[0]
    assert isinstance(nested.name, str)
    assert all(len(level) == 2 for level in nested.top_levels)


def test_mappings_stand_in_the_order_of_a_saved_run() -> None:
    facts = SubjectFacts.of(run_of({"hashes": {"y": "2", "X": "1"}}))
    assert list(facts.hashes) == ["X", "y"]
