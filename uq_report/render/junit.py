"""How the checks ended as JUnit XML, which CI systems show beside their tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar
from xml.etree import ElementTree as ET

from ..document.document import CheckEntry, Document
from ..evidence.finding import SEVERITIES
from .text import clean

SUITE = "uq_report.checks"


@dataclass(frozen=True)
class JunitRenderer:
    r"""Write the checks of a document as one JUnit test suite.

    A check is a test case: one with findings, whatever their severity, fails with the worst severity as its
    type; one that was not applicable, skipped, or whose findings are all waived is skipped with the reason. The
    recommendation is a property of the suite. There are no times in it, so the same document gives the same bytes.

    Examples
    --------
    >>> done = CheckEntry("leak", "Leak", "passed", "")
    >>> audit = Document(title="Audit", subtitle="", as_of="2026-11-21", generator="uq", evidence_sha256="0",
    ...                  checks=(done,))
    >>> print(JunitRenderer().render(audit).decode().split("\n")[5].strip())
    <testcase classname="uq_report.checks.leak" name="Leak" />
    """

    name: ClassVar[str] = "junit"
    extension: ClassVar[str] = ".junit.xml"
    api_version: ClassVar[int] = 1
    draws: ClassVar[bool] = False

    def render(self, document: Document) -> bytes:
        """Return the XML in UTF-8."""
        checks = document.checks
        failed, passed = (sum(check.state == state for check in checks) for state in ("found", "passed"))
        skipped = len(checks) - failed - passed
        counts = {"tests": len(checks), "failures": failed, "errors": 0, "skipped": skipped}
        texts = {name: str(number) for name, number in counts.items()}
        suite = ET.Element("testsuite", {"name": _text(document.title), **texts})
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", {"name": "recommendation", "value": _text(document.recommendation.text)})
        for check in checks:
            suite.append(_case(check))
        ET.indent(suite)
        return ET.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n"


def _case(check: CheckEntry) -> ET.Element:
    """Return one check as a test case."""
    name = _text(check.title or check.name)
    case = ET.Element("testcase", {"classname": f"{SUITE}.{_text(check.name)}", "name": name})
    if check.state == "found":
        severities = {severity for _, severity, _ in check.findings}
        worst = next((severity for severity in SEVERITIES if severity in severities), "unknown")
        codes = ", ".join(dict.fromkeys(code for code, _, _ in check.findings))
        failure = ET.SubElement(case, "failure", {"type": _text(worst), "message": _text(codes)})
        failure.text = "\n".join(_text(f"{code} ({severity}): {text}") for code, severity, text in check.findings)
    elif check.state != "passed":
        state = check.state.replace("_", " ")
        ET.SubElement(case, "skipped", {"message": _text(f"{state}: {check.reason}" if check.reason else state)})
    elif check.reason:
        ET.SubElement(case, "system-out").text = _text(check.reason)
    return case


def _text(text: str) -> str:
    """Return text on one line, with only characters that XML 1.0 can hold."""
    return " ".join(clean(text).split())
