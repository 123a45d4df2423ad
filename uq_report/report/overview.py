"""One page over many audits, as data: a row per audit with recommendation, findings and links to its reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..document.document import Badge
from ..evidence.finding import SEVERITIES
from ..reading.rating import RULE


class Spark(NamedTuple):
    """A drawing, the same in words, and the last value as text."""

    svg: bytes
    alt: str
    now: str


@dataclass(frozen=True)
class Link:
    """An address relative to the page, and its text."""

    text: str
    href: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """One audit: its last run, and how it came there; `score` is its log score where there is no trend of it."""

    name: str
    label: str
    as_of: str
    recommendation: Badge
    findings: str
    links: tuple[Link, ...]
    filed: str = ""
    runs: int = 1
    score: Spark | str | None = None
    trend: Spark | None = None


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The page; the fields of a `Document` that its head and foot need have the same names.

    `trends` says whether the audits have a history, which has columns of its own.
    """

    title: str
    as_of: str
    generator: str
    caption: str
    source: str
    rows: tuple[Row, ...]
    trends: bool = False
    rule: str = RULE
    language: str = "en"
    kind: str = "overview"
    layout: str = "portrait"


def counted(findings: Mapping[str, int]) -> str:
    """Return the open findings by severity in words, and those that are waived.

    Examples
    --------
    >>> counted({"low": 2, "high": 1}), counted({})
    ('1 high, 2 low', 'none')
    """
    parts = [f"{findings[name]} {name}" for name in (*SEVERITIES, "waived") if findings.get(name)]
    return ", ".join(parts) or "none"
