"""The regulatory mapping: what an outside text asks, and which evidence of this run stands under that heading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ...document.blocks import make_table
from ...document.document import Badge, Facts, Paragraph, Section
from ...document.evidence import Evidence
from ...document.text import clean, joined
from ..mappings import Framework, Requirement, frameworks

JUDGED = ("found", "passed", "ignored")  # states in which a check came to a verdict
LEAD = (
    "Evidence of this report is arranged here under the headings of other texts. A heading is filled if all the "
    "evidence listed for it is in this run, partly filled if some of it is, and open if none is. Filled says that "
    "there is something to judge, not what the judgement is. A text is one that people give in the settings."
)
FILLED, PARTLY, OPEN = Badge("filled", "neutral"), Badge("partly filled", "warning"), Badge("open", "unknown")
PEOPLE = "for people: this report holds nothing on it"
COLUMNS = ("what is asked", "sections", "evidence in this run", "not in this run", "state")


class Match(NamedTuple):
    """What of the needed evidence a run has, and what it lacks."""

    present: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def state(self) -> Badge:
        """Filled only by evidence; where nothing is needed of a run, open."""
        if not self.present:
            return OPEN
        return PARTLY if self.missing else FILLED


def mapping(e: Evidence, sections: Iterable[Section | None]) -> Section:
    """Return one part for each text; `sections` are those of this report, by which evidence is found."""
    titles = dict(_titles(sections))
    parts = tuple(_part(e, framework, titles) for framework in frameworks())
    return Section(
        id="mapping", title="Regulatory mapping", blocks=(Paragraph(text=LEAD),), sections=parts, appendix=True
    )


def _part(e: Evidence, framework: Framework, titles: Mapping[str, str]) -> Section:
    facts = (
        ("Text", framework.source),
        ("Status", framework.status),
        ("Read from", framework.basis),
        ("Date of this mapping", framework.mapped),
    )
    rows = [_row(e, requirement, titles) for requirement in framework.requirements]
    key = "mapping-" + "-".join(framework.title.lower().replace(",", "").replace("/", " ").split())
    caption = f"Evidence arranged under the headings of {framework.title}, as of {framework.mapped}."
    return Section(
        id=key,
        title=framework.title,
        blocks=(Facts(rows=facts), make_table(f"{key}-table", caption, COLUMNS, rows)),
    )


def _row(e: Evidence, requirement: Requirement, titles: Mapping[str, str]) -> tuple[str | Badge, ...]:
    match = evidence_for(e, requirement)
    sections = list(dict.fromkeys(titles[key] for key in requirement.sections if key in titles))
    nothing = "" if requirement.evidence else PEOPLE
    return (
        f"{requirement.place}: {requirement.asks}",
        "; ".join(sections),
        "; ".join(match.present),
        "; ".join(match.missing) or nothing,
        match.state,
    )


def evidence_for(e: Evidence, requirement: Requirement) -> Match:
    """Return which of the evidence that a requirement names is in the run."""
    present, missing = [], []
    for needed in requirement.evidence:
        choices = needed.split(" | ")
        words = [words for choice in choices if (words := _present(e, choice))]
        if words:
            present.append("; ".join(words))
        else:
            missing.append(" or ".join(map(_words, choices)))
    return Match(tuple(present), tuple(missing))


def _present(e: Evidence, name: str) -> str:
    """Return the words for a piece of evidence that is in the run, else the empty string."""
    kind, _, key = name.rpartition(":")
    if kind == "about":
        return _words(name) if e.about(key) else ""
    if kind == "check":
        return _words(name) if any(o.check == key and o.state in JUDGED for o in e.run.outcomes) else ""
    if kind == "run":
        return _words(name) if RECORDS[key](e) else ""
    keys = [clean(result.id, 60) for result in e.results if name in (result.id, result.explainer) and len(result.frame)]
    return joined(keys, 2)


def _words(name: str) -> str:
    kind, _, key = name.rpartition(":")
    words = key.replace("_", " ")
    return {"about": f"text: {words}", "check": f"check {words}", "run": words}.get(kind, words)


# name -> whether a run holds it
RECORDS: Mapping[str, Callable[[Evidence], bool]] = {
    "challenger": lambda e: e.run.challenger is not None,
    "changes": lambda e: e.run.changes is not None,
    "checks": lambda e: any(outcome.state in JUDGED for outcome in e.run.outcomes),
    "features": lambda e: bool(e.subject.features),
    "hashes": lambda e: bool(e.subject.hashes),
    "parameters": lambda e: bool(e.subject.model_parameters),
    "plugins": lambda e: bool(e.run.plugins),
    "record of what did not run": lambda e: bool(e.run.results or e.run.outcomes or e.run.not_run),
    "settings": lambda e: bool(e.run.settings),
    "training rows": lambda e: bool(e.subject.has_train),
    "versions": lambda e: bool(e.run.environment),
}


def _titles(sections: Iterable[Section | None]) -> Iterator[tuple[str, str]]:
    for section in sections:
        if section is not None:
            yield section.id, section.title
            yield from _titles(section.sections)
