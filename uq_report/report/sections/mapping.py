"""The regulatory cross-reference: the requirements of a text, the sections that address them, and what is missing."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ...document.blocks import bullets, make_section, make_table, paragraphs
from ...document.document import Block, Figure, Section, Table, inside, numbers
from ...document.text import joined, name
from ...evidence import ids
from ...evidence.view import by_key
from ...reading.run_reader import RunReader
from .model import chosen

DECIDED = ("found", "passed", "ignored")  # states in which a check came to a verdict
LEAD = (
    "The sections of this report that address a requirement, in part where evidence is missing, and what people must "
    "add. “Addressed” means that evidence is given; whether a text is met is not assessed."
)
COLUMNS = ("requirement", "addressed in section", "not addressed")
EVIDENCE = "evidence files"
FIRST = "page 1"
# the section with the evidence of a kind that no table or figure names as its own: the first of these present
OF_TEXTS = {
    "assumptions": "assumptions", "response": "monitoring", "validator": "sign-off", "approver": "sign-off",
    "independence": "sign-off", "version": "model-identity", "data_origin": "data", "data_licence": "data",
    "data_split": "data",
}  # fmt: skip
OF_RESULTS = {
    ids.CALIBRATION: "performance", ids.GROUPS: "performance", ids.PFI: "drives", ids.SHAP: "drives",
    ids.DALEX: "drives", ids.RSENS: "drives", ids.PDP: "features", ids.ALE: "features",
}  # fmt: skip

FOLDER = Path(__file__).parents[1] / "mappings"  # dated data files, one per text


class Requirement(NamedTuple):
    """One point of a text.

    `evidence` names all that is needed: a result or an explainer by its id, a check (``check:calibration``), a stated
    text (``about:purpose``) or a record of the run (``run:hashes``); ``a | b`` means either. Empty where only people
    can provide evidence. `people` is what they must add to that evidence in any case.
    """

    place: str
    asks: str
    evidence: tuple[str, ...]
    people: str


class Framework(NamedTuple):
    """One text: its status, the source and date of the cross-reference, and its points."""

    title: str
    source: str
    status: str
    basis: str
    mapped: str
    requirements: tuple[Requirement, ...]


@lru_cache
def frameworks() -> tuple[Framework, ...]:
    """Return all mappings, by file name.

    Examples
    --------
    >>> [framework.title for framework in frameworks()][:2]
    ['EU AI Act, Annex IV', 'ISO/IEC 42001']
    """
    return tuple(_read(file) for file in sorted(FOLDER.glob("*.toml")))


def _read(file: Path) -> Framework:
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    points = (Requirement(**{**point, "evidence": tuple(point["evidence"])}) for point in content.pop("requirement"))
    return Framework(**content, requirements=tuple(points))


def mapping(e: RunReader, sections: Iterable[Section], *, whole: bool) -> Section:
    """Return every requirement in one table, or in full a part for each text; `sections` are those of this report."""
    places = Places.of(sections)
    blocks: tuple[Block, ...] = paragraphs(LEAD)
    parts = tuple(_part(e, framework, places) for framework in frameworks()) if whole else ()
    if not whole:
        blocks += _condensed(e, places)
    return Section(id="mapping", title="Regulatory cross-reference", blocks=blocks, sections=parts, appendix=True)


def _condensed(e: RunReader, places: Places) -> tuple[Block, ...]:
    """Return the requirements that this run addresses, and by text those that it does not address."""
    every = frameworks()
    rows = [(text.title, *_row(e, point, places, named=False)) for text in every for point in text.requirements]
    caption = f"Requirements of {joined([text.title for text in every])}, as of {max(text.mapped for text in every)}."
    addressed = [row for row in rows if row[2] is not None]
    missing = by_key((title, heading.rstrip(".")) for title, heading, where, _ in rows if where is None)
    items = bullets(f"{title}: {'; '.join(headings)}." for title, headings in missing.items())
    lead = paragraphs("Not addressed in this run:" if items else "")
    return (make_table("mapping-table", caption, ("text", *COLUMNS), addressed), *lead, *items)


class Places(NamedTuple):
    """The sections of a report with content: their numbers, and where each result is shown first."""

    numbers: Mapping[str, str]
    results: Mapping[str, str]

    @classmethod
    def of(cls, sections: Iterable[Section]) -> Places:
        """Collect them from the sections of a report, numbered as renderers number them."""
        listed = list(sections)
        places: dict[str, str] = {}
        results: dict[str, str] = {}
        for number, section in zip(numbers(listed), listed, strict=True):
            for place, part in _numbered(number or FIRST, section):
                places[part.id] = place
                for block in inside(part.blocks) if number else ():  # page 1 only sums up
                    if isinstance(block, Table | Figure) and block.evidence:
                        results.setdefault(block.evidence, place)
        return cls(places, results)

    def of_result(self, key: str) -> str:
        """Return the place of a result: the section that shows it, else that of its explainer, else the files."""
        explainer = ids.explainer_of(key)
        return self.results.get(key) or self.numbers.get(OF_RESULTS.get(explainer, ""), EVIDENCE)


def _numbered(number: str, section: Section) -> Iterator[tuple[str, Section]]:
    """Yield a section and those inside it with their numbers, without empty ones; sheets have that of their section."""
    if not _holds(section):
        return
    yield number, section
    for k, part in enumerate(section.sections, 1):
        yield from _numbered(number if part.feature or number == FIRST else f"{number}.{k}", part)


def _holds(section: Section) -> bool:
    return bool(section.blocks) or any(map(_holds, section.sections))


def _part(e: RunReader, framework: Framework, places: Places) -> Section:
    key = "mapping-" + "-".join(framework.title.lower().replace(",", "").replace("/", " ").split())
    about = f"{framework.source}. {framework.status} Read from: {framework.basis}"
    rows = [_row(e, requirement, places, named=True) for requirement in framework.requirements]
    caption = f"{framework.title}: sections that address its requirements, as of {framework.mapped}."
    table = make_table(f"{key}-table", caption, COLUMNS, rows)
    return make_section(key, framework.title, (*paragraphs(about), table))


def _row(e: RunReader, requirement: Requirement, places: Places, *, named: bool) -> tuple[str, str | None, str | None]:
    """Return a requirement, the sections that address it, if `named` with their evidence, and what is missing."""
    sections, missing = answer_of(e, requirement, places)
    shown = [f"{place} ({joined(what, len(what))})" if named else place for place, what in sections.items()]
    where = f"{'in part: ' * bool(missing)}{', '.join(shown)}" if shown else None
    lacking = f"not in this run: {joined(missing, len(missing))}" if missing else ""
    still = "; ".join(filter(None, (lacking, requirement.people)))
    return f"{requirement.place}: {requirement.asks}", where, still or None


def answer_of(e: RunReader, requirement: Requirement, places: Places) -> tuple[dict[str, list[str]], list[str]]:
    """Return the evidence for a requirement that is in the run, by the section that shows it, and what is missing."""
    sections: dict[str, list[str]] = {}
    missing: list[str] = []
    for choices in (needed.split(" | ") for needed in requirement.evidence):
        present = [choice for choice in choices if is_there(e, choice)]
        for choice in present:
            sections.setdefault(_place(e, choice, places), []).append(_words(choice))
        missing += [] if present else [" or ".join(map(_words, choices))]
    return {place: list(dict.fromkeys(what)) for place, what in sections.items()}, missing


def is_there(e: RunReader, needed: str) -> bool:
    """Say whether a piece of evidence is in the run: a result with rows, a verdict, a text, a record."""
    kind, _, key = needed.rpartition(":")
    if kind == "about":
        return bool(e.about(key))
    if kind == "check":
        return any(o.check == key and o.state in DECIDED for o in e.run.outcomes)
    if kind == "run":
        return RECORDS[key][1](e)
    return any(needed in (result.id, result.explainer) and len(result.frame) for result in e.results)


def _place(e: RunReader, needed: str, places: Places) -> str:
    """Return the number of the section with a piece of evidence."""
    kind, _, key = needed.rpartition(":")
    if not kind:
        return places.of_result(needed)
    if kind == "check":
        raised = any(o.check == key and o.findings for o in e.run.outcomes)
        home = "findings" if raised or "rules" not in places.numbers else "rules"
    else:
        home = RECORDS[key][0] if kind == "run" else OF_TEXTS.get(key, "model")
    return places.numbers.get(home) or places.numbers.get("model" if kind == "about" else "", EVIDENCE)


def _words(needed: str) -> str:
    """Return a piece of evidence in words."""
    kind, _, key = needed.rpartition(":")
    words = name(key.replace("_", " "))
    return {"check": f"check of {CHECKS.get(key, words)}", "": RESULTS.get(key, words)}.get(kind, words)


REALISED = ids.PFI_CLAIMS.partition(".")[2]  # the check of realised importance
CHECKS: Mapping[str, str] = {REALISED: "realised importance"}
RESULTS: Mapping[str, str] = {
    ids.ALE: "local effects", ids.CALIBRATION: "scores and calibration", ids.DALEX: "drop-out loss",
    ids.GROUPS: "groups", ids.PDP: "profiles", ids.PFI: "importance", ids.REDUNDANCY: "dependence between features",
    ids.RSENS: "sensitivity", ids.SHAP: "Shapley values", ids.SUPPORT: "training domain",
}  # fmt: skip

# name -> the section with it, and whether a run has it
RECORDS: Mapping[str, tuple[str, Callable[[RunReader], bool]]] = {
    "challenger": ("comparison", lambda e: e.run.challenger is not None),
    "changes": ("changes", lambda e: e.run.changes is not None),
    "checks": ("findings", lambda e: any(outcome.state in DECIDED for outcome in e.run.outcomes)),
    "chosen parameters": ("model-parameters", lambda e: bool(chosen(e))),
    "features": ("features", lambda e: bool(e.subject.features)),
    "hashes": ("hashes", lambda e: bool(e.subject.hashes)),
    "plugins": ("plugins", lambda e: bool(e.run.plugins)),
    "record of what did not run": ("limitations", lambda e: bool(e.run.results or e.run.outcomes or e.run.not_run)),
    "settings": ("reproducibility-settings", lambda e: bool(e.run.settings)),
    "training sample": ("data-rows", lambda e: bool(e.subject.has_train)),
    "versions": ("reproducibility-versions", lambda e: bool(e.run.environment)),
}
