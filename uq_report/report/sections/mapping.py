"""The regulatory mapping: what an outside text asks, which section of this report answers it, and what is open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...document.blocks import make_table
from ...document.document import Block, Bullets, Figure, Paragraph, Section, Table, inside
from ...document.evidence import Evidence
from ...document.numbering import numbers
from ...document.text import joined, name
from ...evidence import ids
from ..mappings import Framework, Requirement, frameworks
from .model import chosen

TITLE = "Headings of other texts"
JUDGED = ("found", "passed", "ignored")  # states in which a check came to a verdict
LEAD = (
    "Where this report answers a heading of another text, and what people must add. An answer is something to judge, "
    "not a judgement, and no statement on whether a text is met."
)
COLUMNS = ("heading", "answered by section", "open")
EVIDENCE = "evidence files"
FIRST = "page 1"
# where the evidence of a kind stands that no table or figure names as its own: the first of these that is there
OF_TEXTS = {
    "assumptions": "assumptions", "response": "monitoring", "validator": "sign-off", "approver": "sign-off",
    "independence": "sign-off", "version": "model-identity", "data_origin": "data", "data_licence": "data",
    "data_split": "data",
}  # fmt: skip
OF_RECORDS = {
    "challenger": "comparison", "changes": "changes", "checks": "findings", "features": "features", "hashes": "hashes",
    "chosen parameters": "model-parameters", "plugins": "plugins", "record of what did not run": "limitations",
    "settings": "reproducibility-settings", "training rows": "data-rows", "versions": "reproducibility-versions",
}  # fmt: skip
OF_RESULTS = {
    ids.CALIBRATION: "sure", ids.GROUPS: "sure", ids.PFI: "drives", ids.SHAP: "drives", ids.DALEX: "drives",
    ids.RSENS: "drives", ids.PDP: "features", ids.ALE: "features",
}  # fmt: skip


class Answer(NamedTuple):
    """What of the evidence a heading needs is in a run, section by section, and what is not."""

    sections: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...]


def mapping(e: Evidence, sections: Iterable[Section], *, whole: bool) -> Section:
    """Return every heading in one table, or in full a part for each text; `sections` are those of this report."""
    places = Places.of(sections)
    lead = Paragraph(text=LEAD)
    if whole:
        parts = tuple(_part(e, framework, places) for framework in frameworks())
        return Section(id="mapping", title=TITLE, blocks=(lead,), sections=parts)
    pairs = [(one.title, *_row(e, point, places, named=False)) for one in frameworks() for point in one.requirements]
    rows = [row for row in pairs if row[2] is not None]
    bare = [(text, heading) for text, heading, answer, _ in pairs if answer is None]
    names, dated = joined([one.title for one in frameworks()]), max(one.mapped for one in frameworks())
    table = make_table("mapping-table", f"Headings of {names}, as of {dated}.", ("text", *COLUMNS), rows)
    return Section(id="mapping", title=TITLE, blocks=(lead, table, *_unanswered(bare)))


def _unanswered(headings: Sequence[tuple[str | None, str | None]]) -> tuple[Block, ...]:
    """Name the headings that nothing in this run answers, by their texts."""
    texts = {text: [str(one) for name_, one in headings if name_ == text] for text, _ in headings}
    items = tuple(f"{text}: {'; '.join(one.rstrip('.') for one in listed)}." for text, listed in texts.items())
    return (Paragraph(text="Open, as nothing in this run answers them:"), Bullets(items=items)) if items else ()


class Places(NamedTuple):
    """The sections of a report that hold something: their numbers, and where each result is shown first."""

    numbers: Mapping[str, str]
    results: Mapping[str, str]

    @classmethod
    def of(cls, sections: Iterable[Section]) -> Places:
        """Read them off a report's sections, numbered as renderers number them."""
        listed = list(sections)
        places: dict[str, str] = {}
        results: dict[str, str] = {}
        for number, section in zip(numbers(listed), listed, strict=True):
            for place, part in _numbered(number or FIRST, section):
                places[part.id] = place
                for evidence in _shown(part) if number else ():  # page 1 only sums up
                    results.setdefault(evidence, place)
        return cls(places, results)

    def of_result(self, key: str) -> str:
        """Return where a result stands: the section that shows it, else that of its explainer, else the files."""
        explainer = ids.explainer_of(key)
        return self.results.get(key) or self.numbers.get(OF_RESULTS.get(explainer, ""), EVIDENCE)


def _numbered(number: str, section: Section) -> Iterator[tuple[str, Section]]:
    """Yield a section and those inside it with their numbers, but for what is empty; sheets go by their section's."""
    if not _holds(section):
        return
    yield number, section
    for k, part in enumerate(section.sections, 1):
        yield from _numbered(number if part.feature or number == FIRST else f"{number}.{k}", part)


def _holds(section: Section) -> bool:
    return bool(section.blocks) or any(map(_holds, section.sections))


def _shown(section: Section) -> Iterator[str]:
    yield from (b.evidence for b in inside(section.blocks) if isinstance(b, Table | Figure) and b.evidence)


def _part(e: Evidence, framework: Framework, places: Places) -> Section:
    key = "mapping-" + "-".join(framework.title.lower().replace(",", "").replace("/", " ").split())
    about = f"{framework.source}. {framework.status} Read from: {framework.basis}"
    rows = [_row(e, requirement, places, named=True) for requirement in framework.requirements]
    caption = f"{framework.title}: where its headings are answered, as of {framework.mapped}."
    table = make_table(f"{key}-table", caption, COLUMNS, rows)
    return Section(id=key, title=framework.title, blocks=(Paragraph(text=about), table))


def _row(e: Evidence, requirement: Requirement, places: Places, *, named: bool) -> tuple[str | None, ...]:
    """Return a heading, the sections that answer it, if `named` with the evidence in them, and what is open."""
    answer = answer_of(e, requirement, places)
    found = answer.sections.items()
    where = [f"{place} ({joined(what, len(what))})" if named else place for place, what in found]
    lacking = f"not in this run: {joined(answer.missing, len(answer.missing))}" if answer.missing else ""
    still = "; ".join(filter(None, (lacking, requirement.people)))
    return f"{requirement.place}: {requirement.asks}", ", ".join(where) or None, still or None


def answer_of(e: Evidence, requirement: Requirement, places: Places) -> Answer:
    """Return which of the evidence that a requirement names is in the run, by the section that shows it."""
    sections: dict[str, list[str]] = {}
    missing = []
    for needed in requirement.evidence:
        choices = needed.split(" | ")
        there = [choice for choice in choices if is_there(e, choice)]
        for choice in there:
            sections.setdefault(_place(e, choice, places), []).append(_words(choice))
        missing += [] if there else [" or ".join(map(_words, choices))]
    return Answer({place: tuple(dict.fromkeys(what)) for place, what in sections.items()}, tuple(missing))


def is_there(e: Evidence, needed: str) -> bool:
    """Say whether a piece of evidence is in the run: a result with rows, a verdict, a text, a record."""
    kind, _, key = needed.rpartition(":")
    if kind == "about":
        return bool(e.about(key))
    if kind == "check":
        return any(o.check == key and o.state in JUDGED for o in e.run.outcomes)
    if kind == "run":
        return RECORDS[key](e)
    return any(needed in (result.id, result.explainer) and len(result.frame) for result in e.results)


def _place(e: Evidence, needed: str, places: Places) -> str:
    """Return the number of the section in which a piece of evidence stands."""
    kind, _, key = needed.rpartition(":")
    if not kind:
        return places.of_result(needed)
    if kind == "check":
        found = any(o.check == key and o.findings for o in e.run.outcomes)
        home = "findings" if found or "rules" not in places.numbers else "rules"
    else:
        home = OF_RECORDS[key] if kind == "run" else OF_TEXTS.get(key, "model")
    return places.numbers.get(home) or places.numbers.get("model" if kind == "about" else "", EVIDENCE)


def _words(needed: str) -> str:
    """Return a piece of evidence in a reader's words."""
    kind, _, key = needed.rpartition(":")
    words = name(key.replace("_", " "))
    return {"check": f"check of {words}", "": RESULTS.get(key, words)}.get(kind, words)


RESULTS: Mapping[str, str] = {
    ids.ALE: "local effects",
    ids.CALIBRATION: "scores and calibration",
    ids.DALEX: "drop-out loss",
    ids.GROUPS: "groups",
    ids.PDP: "profiles",
    ids.PFI: "importance",
    ids.REDUNDANCY: "dependence between features",
    ids.RSENS: "sensitivity",
    ids.SHAP: "Shapley values",
    ids.SUPPORT: "distance from the training rows",
}

# name -> whether a run holds it
RECORDS: Mapping[str, Callable[[Evidence], bool]] = {
    "challenger": lambda e: e.run.challenger is not None,
    "changes": lambda e: e.run.changes is not None,
    "checks": lambda e: any(outcome.state in JUDGED for outcome in e.run.outcomes),
    "chosen parameters": lambda e: bool(chosen(e)),
    "features": lambda e: bool(e.subject.features),
    "hashes": lambda e: bool(e.subject.hashes),
    "plugins": lambda e: bool(e.run.plugins),
    "record of what did not run": lambda e: bool(e.run.results or e.run.outcomes or e.run.not_run),
    "settings": lambda e: bool(e.run.settings),
    "training rows": lambda e: bool(e.subject.has_train),
    "versions": lambda e: bool(e.run.environment),
}
