"""JUnit: each check ends as a passed, failed or skipped case, in XML that every parser takes."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from uq_report.document.document import Badge, CheckEntry, Document, Renderer
from uq_report.render.junit import JunitRenderer

CHECKS = (
    CheckEntry("calibration", "Calibration", "passed", "The gap is small."),
    CheckEntry(
        "dependence", "Dependence", "found", "", (("UQ201", "low", "First."), ("UQ202", "high", "Second & third."))
    ),
    CheckEntry("groups", "", "not_applicable", "no group was named"),
    CheckEntry("policy", "Policy", "skipped", ""),
    CheckEntry("data", "Data", "ignored", "all findings are waived"),
)


def parsed(document: Document) -> ET.Element:
    return ET.fromstring(JunitRenderer().render(document))


@pytest.fixture
def suite(document: Document) -> ET.Element:
    return parsed(replace(document, checks=CHECKS))


def test_the_renderer_fulfils_the_contract(document: Document) -> None:
    renderer = JunitRenderer()
    assert isinstance(renderer, Renderer)
    assert (renderer.name, renderer.extension, renderer.api_version) == ("junit", ".junit.xml", 1)
    assert renderer.render(document) == renderer.render(document)


def test_the_counts_sum_to_the_checks(suite: ET.Element) -> None:
    assert suite.attrib == {"name": "Audit of a model", "tests": "5", "failures": "1", "errors": "0", "skipped": "3"}
    assert len(suite.findall("testcase")) == 5
    assert not {"time", "timestamp", "hostname"} & {key for e in suite.iter() for key in e.attrib}


def test_a_finding_is_a_failure_of_its_worst_severity(suite: ET.Element) -> None:
    case = suite.findall("testcase")[1]
    assert case.attrib == {"classname": "uq_report.checks.dependence", "name": "Dependence"}
    (failure,) = case
    assert failure.tag == "failure"
    assert failure.attrib == {"type": "high", "message": "UQ201, UQ202"}
    assert failure.text == "UQ201 (low): First.\nUQ202 (high): Second & third."


def test_what_was_not_judged_is_skipped_with_its_reason(suite: ET.Element) -> None:
    told = [(case.get("name"), [(e.tag, e.get("message")) for e in case]) for case in suite.findall("testcase")[2:]]
    assert told == [
        ("groups", [("skipped", "not applicable: no group was named")]),
        ("Policy", [("skipped", "skipped")]),
        ("Data", [("skipped", "ignored: all findings are waived")]),
    ]


def test_the_recommendation_is_a_property_of_the_suite(document: Document) -> None:
    suite = parsed(replace(document, checks=CHECKS, recommendation=Badge("Fit for purpose", "good")))
    assert suite[0][0].attrib == {"name": "recommendation", "value": "Fit for purpose"}


def test_a_pass_has_its_reason_as_output(suite: ET.Element) -> None:
    assert [(e.tag, e.text) for e in suite.findall("testcase")[0]] == [("system-out", "The gap is small.")]


def test_hostile_text_stays_text(document: Document) -> None:
    bad = '\x00\x0b\x1b[31m\ud800\ufffe\u202e"]]></failure><x/>&\n'
    entry = CheckEntry(bad, bad, "found", bad, ((bad, bad, bad),))
    suite = parsed(replace(document, title=bad, checks=(entry,)))
    assert [e.tag for e in suite.iter()] == ["testsuite", "properties", "property", "testcase", "failure"]
    assert "[U+0000][U+000B][U+001B][31m[U+D800][U+FFFE][U+202E]" in str(suite.get("name"))
    assert "]]></failure><x/>&" in str(suite.findall("testcase")[0][0].text)


def test_no_check_is_an_empty_suite(document: Document) -> None:
    assert parsed(document).get("tests") == "0"
