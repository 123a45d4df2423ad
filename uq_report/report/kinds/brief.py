"""The brief: two pages for decision makers, the conclusion on the first, further findings and owners on the second.

No sentence is cut: one that is too long for two pages is replaced by a reference to the audit.
"""

from dataclasses import replace

from ...core.support.text import count, short
from ...document.blocks import make_section, make_table, paragraphs, tables
from ...document.document import Block, Column, Document, Facts, Paragraph, Section, Verdict
from ...document.text import clean, first_sentence, joined, name, value_words
from ...evidence import columns as col, ids
from ...evidence.finding import Finding
from ...evidence.run import Run
from ...reading.rank_ranges import FeatureRanking, answers, leading
from ...reading.rating import NO_VERDICT
from ...reading.run_reader import RunReader, as_cell, severity_badge
from ...reading.sentences import NUMBERS
from ..answer.section import answer, rest
from ..assemble import framed, read
from ..sections.comparison import comparison

FINDINGS, FEATURES = 10, 8
SENTENCE, LABEL = 160, 26  # characters
PEOPLE = ("purpose", "intended_use", "materiality", "owner", "validator", "approver", "independence")
FILES = (("model", "model"), ("X", "test sample"), ("y", "outcomes"), ("train_X", "training sample"))
METHODS = {
    ids.PFI: "permutation importance (mean change when the feature is permuted)",
    ids.PFI_UNCERTAINTY: "size of the change when the feature is permuted",
    ids.SHAP_IMPORTANCE: "mean absolute Shapley value",
    ids.DALEX_PARTS: f"{ids.DALEX}'s permutation importance",
}
ELSEWHERE = "too long for the brief: see the audit"


def brief(run: Run) -> Document:
    """Return the brief of a run."""
    e = read(run)
    sections = [answer(e), _ranking(e), _further(e), _compared(e), _people(e)]
    whole = framed(e, "brief", f"Brief: {name(as_cell(e.subject.label))}", [*filter(None, sections)])
    facts = tuple((label, whole_text(cell) if isinstance(cell, str) else cell) for label, cell in whole.facts)
    return replace(whole, facts=facts, subtitle=first_sentence(whole.subtitle, SENTENCE).rstrip("."))


def whole_text(text: str) -> str:
    """Return a text, of a long one its first sentence, or where that is too long a reference to the audit.

    Examples
    --------
    >>> whole_text("Credit desk"), whole_text("To lend. " * 40), whole_text("a" * 200)
    ('Credit desk', 'To lend.', 'too long for the brief: see the audit')
    """
    line = clean(text)
    return line if len(line) <= SENTENCE else first_sentence(line, SENTENCE) or ELSEWHERE


def _ranking(e: RunReader) -> Section:
    """Return the leading features with their ranks and importances."""
    title = "Leading features"
    ranked = answers(e)
    if not ranked:
        return make_section("leading", title, paragraphs("No importance was computed in this run."))
    pairs = ((Column("rank"), Column(ranking.facts.role, unit=ranking.facts.unit)) for ranking in ranked)
    rows = [
        (clean(short(feature, LABEL)), *(cell for ranking in ranked for cell in _cells(ranking, feature)))
        for feature in leading(ranked, FEATURES)
    ]
    note = ". ".join(f"{ranking.facts.role.capitalize()}: {METHODS[ranking.result.id]}" for ranking in ranked)
    caption = "Ranks and importances with intervals."
    columns = [Column("feature"), *(column for pair in pairs for column in pair)]
    table = make_table("leading-table", caption, columns, rows, evidence=ranked[-1].result.id, note=f"{note}.")
    return make_section("leading", title, (table,))


def _cells(ranking: FeatureRanking, feature: str) -> tuple[str | None, str | None]:
    row = ranking.table[ranking.table[col.FEATURE] == feature]
    place = ranking.features.get(feature)
    return None if place is None else place.words, value_words(*row.iloc[0][list(NUMBERS)]) if len(row) else None


def _further(e: RunReader) -> Section | None:
    """Return the open findings without an action on page 1."""
    further = rest(e)
    rows = [
        (clean(f.code, 20), severity_badge(f.severity), first_sentence(f.title, SENTENCE) or ELSEWHERE, _about(f))
        for f in further[:FINDINGS]
    ]
    more = len(further) - FINDINGS
    note = f"{count(more, 'further finding')}: see the register in the audit." if more > 0 else ""
    heads = ("code", "severity", "finding", "about")
    blocks = tables("further-table", "In the order of the register.", heads, rows, note=note)
    return make_section("further", "Further open findings", blocks) if blocks else None


def _about(finding: Finding) -> str:
    return joined([clean(short(feature, LABEL)) for feature in finding.features], 3) or "the model"


def _compared(e: RunReader) -> Section | None:
    """Return the differences between two models, in words."""
    section = comparison(e)
    if section is None:
        return None
    texts = [first_sentence(block.text) for block in section.blocks if isinstance(block, Verdict | Paragraph)][:3]
    return make_section("comparison", section.title, paragraphs(*texts))


def _people(e: RunReader) -> Section:
    """Return the responsible people, the open statements, and the hashes of the files."""
    stated = tuple((key.replace("_", " ").capitalize(), whole_text(e.about(key))) for key in PEOPLE if e.about(key))
    hashes = tuple((f"SHA-256 of the {what}", as_cell(e.subject.hashes.get(key))) for key, what in FILES)
    silent = [key.replace("_", " ") for key in PEOPLE if not e.about(key)]
    still = f"To be completed: {joined(silent)}." if silent else ""
    blocks: tuple[Block, ...] = (Facts(rows=(*stated, *hashes)), *paragraphs(still, _unreached(e)))
    return make_section("people", "People and identity", blocks)


def _unreached(e: RunReader) -> str:
    """Name the checks without a verdict and the parts that did not run."""
    silent = [name(o.title or o.check) for o in e.run.outcomes if o.state in NO_VERDICT]
    parts = (("Checks without a verdict", silent), ("Not run", [name(part.name) for part in e.run.not_run]))
    return " ".join(f"{what}: {joined(names, 5)}." for what, names in parts if names)
