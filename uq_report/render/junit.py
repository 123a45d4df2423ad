"""How the checks ended as JUnit XML, which CI systems show beside their tests."""

from dataclasses import dataclass
from typing import ClassVar

from ..document.document import Document
from ..evidence.finding import SEVERITIES
from .environment import environment

SUITE = "uq_report.checks"


@dataclass(frozen=True)
class JunitRenderer:
    r"""Write the checks of a document as one JUnit test suite.

    A check is a test case: one with findings, whatever their severity, fails with the worst severity as its
    type; one that was not applicable, skipped, or whose findings are all waived is skipped with the reason. The
    recommendation is a property of the suite. There are no times in it, so the same document gives the same bytes.

    Examples
    --------
    >>> from uq_report.document.document import CheckEntry
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
        template = environment().get_template("junit.xml")
        return template.render(document=document, suite=SUITE, severities=SEVERITIES).strip().encode() + b"\n"
