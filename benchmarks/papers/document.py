"""The replication document: sections of the package's own document model, printed by its renderers."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from uq_report.core.statistics.score_intervals import wilson
from uq_report.document.blocks import make_figure, make_section, make_table, paragraphs
from uq_report.document.document import Attachment, Badge, Block, Card, Cards, Column, Document, Section, Tone
from uq_report.render.html import HtmlRenderer
from uq_report.render.pdf import PdfRenderer

from .claims import SOURCES, Claim, Number, Picture, Verdict, Z, verdict
from .experiments import EXPERIMENTS

TONES: Mapping[Verdict, Tone] = {
    "agrees": "good",
    "in part": "warning",
    "does not agree": "bad",
    "not reproduced": "unknown",
}
CHAPTERS = {
    "wood": ("W", "Wood et al.: entropy and likelihood importance"),
    "lecture": ("LM", "The lecture and the Modeva documentation"),
    "pereira": ("C", "Pereira et al.: covered information"),
    "paananen": ("R", "Paananen et al.: R-sens"),
    "beyond": ("", "The same data by every method"),
}
AS_OF = "2026-11-28"


class Findings(NamedTuple):
    """What a run found."""

    claims: Mapping[str, Claim]
    hits: Mapping[str, Sequence[bool]]
    facts: Mapping[str, str]
    missing: Mapping[str, str]
    numbers: Sequence[Number]
    pictures: Mapping[str, Sequence[Picture]]
    quick: bool

    def verdict(self, claim: str) -> Verdict:
        """Return the verdict on a claim."""
        hits = self.hits.get(claim)
        if not hits:
            return "not reproduced"
        if self.claims[claim].kind == "exact":
            return "agrees" if all(hits) else "does not agree"
        return verdict(sum(hits), len(hits), quick=self.quick)

    def counts(self, letters: str = "WLMCR") -> dict[Verdict, int]:
        """Count verdicts over the claims of some sources."""
        verdicts = [self.verdict(key) for key in self.claims if key[0] in letters]
        return {each: verdicts.count(each) for each in TONES}

    def reason(self, claim: str) -> str:
        """Return what a verdict rests on, in a sentence."""
        return self.facts.get(claim) or self.missing.get(claim) or self.claims[claim].why

    def rate(self, claim: str) -> str:
        """Return the hit rate with its interval; "yes" or "no" for a comparison."""
        hits = self.hits.get(claim)
        if not hits:
            return "–"
        if self.claims[claim].kind == "exact":
            return "yes" if all(hits) else "no"
        lower, upper = wilson(sum(hits) / len(hits), len(hits), Z)
        return f"{sum(hits)} of {len(hits)} ({lower:.2f}–{upper:.2f})"


def document(found: Findings) -> Document:
    """Return the whole document."""
    evidence = json.dumps({key: list(map(bool, hits)) for key, hits in sorted(found.hits.items())}).encode()
    sections = [_opening(found), *(_chapter(found, key) for key in CHAPTERS), *_tables(found), _rerun(found)]
    return Document(
        title="The sources, reproduced",
        subtitle="Replication of five documents on uncertainty and variable importance",
        as_of=AS_OF,
        generator=f"uq_report {version('uq_report')}",
        evidence_sha256=hashlib.sha256(evidence).hexdigest(),
        sections=tuple(sections),
        kind="audit",
        recommendation=Badge("none: a replication", "neutral"),
        attachments=(Attachment("hits.json", evidence, "application/json", "Every repetition of every claim"),),
    )


def _opening(found: Findings) -> Section:
    counts = found.counts()
    total = sum(counts.values())
    cards = tuple(
        Card(title=SOURCES[letter], headline=f"{found.counts(letter)['agrees']} agree", aside=_aside(found, letter))
        for letter in "WCR"
    ) + (Card(title="Lecture, Modeva", headline=f"{found.counts('LM')['agrees']} agree", aside=_aside(found, "LM")),)
    text = (
        f"The five sources make {total} claims. {counts['agrees']} agree with what this package computes, {counts['in part']} agree in "
        f"part, {counts['does not agree']} do not, and {counts['not reproduced']} were not reproduced."
    )
    rule = (
        "A claim is a function of one repetition with its own random seed. It agrees if the lower 95% Wilson limit of its hit rate is at "
        "least .8, does not agree if the upper limit is below .5, and agrees in part otherwise."
        + (
            " This is the quick run: a claim agrees unless a rate of .8 is refuted at the 5% level."
            if found.quick
            else ""
        )
    )
    failing = [key for key in found.claims if found.verdict(key) in ("does not agree", "in part")]
    rows = [(key, found.claims[key].states, _badge(found, key), found.reason(key)) for key in failing]
    heads = ("claim", "the source states", "verdict", "reason")
    table = (
        (make_table("failing", "Claims that do not agree, or agree in part, with the reason.", heads, rows),)
        if rows
        else ()
    )
    return make_section("reproduced", "What was reproduced", [Cards(cards=cards), *paragraphs(text, rule), *table])


def _aside(found: Findings, letters: str) -> str:
    counts = found.counts(letters)
    others = [f"{number} {words}" for words, number in counts.items() if words != "agrees" and number]
    return f"of {sum(counts.values())} claims" + (f"; {', '.join(others)}" if others else "")


def _badge(found: Findings, claim: str) -> Badge:
    return Badge(found.verdict(claim), TONES[found.verdict(claim)])


def _chapter(found: Findings, key: str) -> Section:
    parts = []
    for experiment in EXPERIMENTS:
        if experiment.run.__module__.rpartition(".")[2] == key:
            blocks = [*_claims(found, experiment.name, experiment.claims), *_pictures(found, experiment.name)]
            parts.append(make_section(experiment.name, experiment.title, blocks))
    return make_section(key, CHAPTERS[key][1], parts=parts)


def _claims(found: Findings, name: str, claims: Sequence[str]) -> Iterator[Block]:
    rows = [(key, found.claims[key].states, found.rate(key), _badge(found, key), found.reason(key)) for key in claims]
    if rows:
        heads = ("claim", "the source states", "hits", "verdict", "what was found")
        yield make_table(f"{name}-claims", "Claims of this experiment.", heads, rows)
    numbers = [n for n in found.numbers if n.claim in claims]
    if numbers:
        columns = [
            "claim",
            "number",
            Column("here", "number"),
            Column("standard error", "number"),
            Column("paper", "number"),
            "verdict",
        ]
        table = [
            (
                n.claim,
                n.what,
                n.ours,
                n.se,
                n.paper,
                Badge("agrees", "good") if n.agrees else Badge("differs", "warning"),
            )
            for n in numbers
        ]
        yield make_table(
            f"{name}-numbers",
            "Numbers beside those of the source; they agree within two joint standard errors.",
            columns,
            table,
        )


def _pictures(found: Findings, name: str) -> Iterator[Block]:
    for picture in found.pictures.get(name, ()):
        yield from paragraphs(picture.reading)
        yield make_figure(picture.key, picture.title, f"{picture.title}. {picture.reading}", picture.draw, "")


def _tables(found: Findings) -> Iterator[Section]:
    heads = ("claim", "place", "statement", "hits", "verdict")
    for letters, title in (("W", SOURCES["W"]), ("LM", "Lecture and Modeva"), ("C", SOURCES["C"]), ("R", SOURCES["R"])):
        rows = [
            (key, claim.place, claim.states, found.rate(key), _badge(found, key))
            for key, claim in found.claims.items()
            if key[0] in letters
        ]
        table = make_table(f"claims-{letters.lower()}", "Every claim of the source.", heads, rows)
        yield make_section(f"table-{letters.lower()}", f"Claim table: {title}", (table,))
    rows = [
        (key, found.claims[key].states, found.reason(key))
        for key in found.claims
        if found.verdict(key) == "not reproduced"
    ]
    text = "Nothing is left out: every claim was reproduced." if not rows else ""
    table = (
        (make_table("missing", "Claims without a run, and why.", ("claim", "statement", "reason"), rows),)
        if rows
        else ()
    )
    yield make_section("missing-claims", "What could not be reproduced", [*paragraphs(text), *table])


def _rerun(found: Findings) -> Section:
    command = "python -m benchmarks.papers --data DIR" + (" --quick" if found.quick else "")
    rows = [(name, version(name)) for name in ("uq_report", "numpy", "scipy", "scikit-learn", "pandas", "shap")]
    blocks = [
        *paragraphs(
            f"This document was made by `{command}`. DIR holds the data sets of the papers, which are not part of the package.",
            "Repetition k of an experiment uses the seed k. Every hit of every repetition is attached to the PDF.",
        ),
        make_table("versions", "Versions.", ("library", "version"), [("Python", platform.python_version()), *rows]),
    ]
    return make_section("rerun", "How to run it again", blocks)


def write(found: Findings, folder: Path) -> None:
    """Write the document as HTML and PDF."""
    made = document(found)
    (folder / "replication.html").write_bytes(HtmlRenderer().render(made))
    (folder / "replication.pdf").write_bytes(PdfRenderer().render(made))
