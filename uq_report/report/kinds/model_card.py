"""The model card: the conclusion, then the headings of Mitchell et al. 2019; missing statements are open."""

from typing import TypeAlias

from ...core.support.references import cite
from ...core.support.text import count
from ...document.blocks import bullets, make_section, paragraphs, tables
from ...document.document import Block, Bullets, Document, Facts, Section, Table
from ...document.text import clean, items, joined, sentence
from ...evidence.importance import Pfi
from ...evidence.run import Run
from ...reading.rank_ranges import answers
from ...reading.run_reader import OPEN, RunReader, as_cell
from ..answer.section import answer
from ..assemble import framed, read, tables_in
from ..placing import PluginSections
from ..sections.limitations import omissions
from ..sections.model import ORIGIN, data, trained_words
from ..sections.outcomes import sure

# the id and title of a section, and its facts
Stated: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...]]
DETAILS: Stated = ("details", "Model details", (
    ("Name", "label"), ("Version", "about.version"), ("Class", "model_class"), ("Task", "task"),
    ("Predictive distribution", "family"), ("Classes", "classes"), ("Owner, for questions", "about.owner"),
    ("Tier", "about.tier"), ("SHA-256 of the model", "hashes.model"),
))  # fmt: skip
USE: Stated = ("use", "Intended use", (
    ("Purpose", "about.purpose"), ("Intended use", "about.intended_use"), ("Intended users", "about.users"),
    ("Out-of-scope use", "about.out_of_scope"),
))  # fmt: skip
EVALUATION: Stated = ("evaluation", "Evaluation data", (
    *ORIGIN, ("Observations", "n"), ("Features", "d"), ("Outcomes given", "has_y"),
    ("SHA-256 of the test sample", "hashes.X"),
))  # fmt: skip
GROUPS = "UQ8"  # codes of findings on protected attributes
FINDINGS = 10


def model_card(run: Run) -> Document:
    """Return the model card of a run."""
    e = read(run)
    # scores overall and by group; their drivers are in the conclusion
    quantitative = make_section("quantitative", "Quantitative analyses", parts=sure(e).sections)
    own = (
        _stated(e, DETAILS),
        _stated(e, USE),
        _factors(e),
        _metrics(e),
        _stated(e, EVALUATION, *paragraphs(scope(e))),
        _training(e),
        quantitative,
    )
    sections = (answer(e), *own, _ethics(e), _caveats(e))
    return framed(e, "model-card", f"Model card: {clean(as_cell(e.subject.label), 120)}", sections)


def _stated(e: RunReader, section: Stated, *lead: Block) -> Section:
    """Return a section of recorded facts."""
    key, title, rows = section
    return make_section(key, title, (*lead, Facts(rows=e.facts(rows))))


def _factors(e: RunReader) -> Section:
    protected = e.subject.protected
    facts = (
        ("Protected attributes", as_cell(protected) if protected else "none named"),
        ("Groups of features, permuted together", e.group_words or "none"),
        ("Relevant factors in use, instruments and environments included", OPEN),
    )
    return make_section("factors", "Factors", (Facts(rows=facts), *_table(data(e, PluginSections(e)), "data-features")))


def _metrics(e: RunReader) -> Section:
    """Return the measures of this run, and their intervals."""
    answered, permuted = (answer.measure for answer in answers(e)), Pfi.find(e.run)
    measures = dict.fromkeys((*answered, *(permuted.measures if permuted is not None else ())))
    rows = [(facts.title, facts.role, facts.unit) for facts in map(e.words, measures) if facts.role]
    columns = ("measure", "role", "unit")
    table = tables("metrics-table", "Measures of this card.", columns, rows)
    text = (
        "Intervals are over new observations for the fitted model, unless a caption states otherwise. No decision "
        "threshold is part of the model; the owner of the model chooses the measure that suits its use."
    )
    return make_section("metrics", "Metrics", (*paragraphs(text), *table))


def scope(e: RunReader) -> str:
    """Return the scope of the audit in one sentence."""
    about = e.subject
    sample = "the test sample"
    if about.n is not None and about.d is not None:
        sample = f"{count(about.n, 'observation')} of {count(about.d, 'feature')}"
    sampled = f", drawn at random from {about.sampled_from}" if about.sampled_from else ""
    truth = "" if about.has_y else " Outcomes were not given."
    return (
        f"This card describes “{as_cell(about.label)}” ({as_cell(about.model_class)}). Its {as_cell(about.family)} "
        f"predictive distribution was evaluated on {sample}{sampled}, as of {clean(e.run.as_of, 20)}.{truth}"
    )


def _training(e: RunReader) -> Section:
    facts = (
        ("Training sample given to the audit", trained_words(e.subject)),
        ("SHA-256 of the training sample", as_cell(e.subject.hashes.get("train_X"))),
        ("Collection, consent and preprocessing", OPEN),
    )
    return make_section("training", "Training data", (Facts(rows=facts),))


def _ethics(e: RunReader) -> Section:
    findings = [f for f in e.findings if f.code.startswith(GROUPS)]
    facts = (
        ("Risks, harms and mitigations", OPEN),
        ("Sensitive data and human life", OPEN),
        ("Open findings on groups and protected attributes", joined([f.code for f in findings]) or "none"),
    )
    none = "" if e.subject.protected else "No protected attribute was named, so groups were not assessed."
    statements = bullets(f"{f.code}: {sentence(f.statement)}" for f in findings)
    return make_section("ethics", "Ethical considerations", (Facts(rows=facts), *paragraphs(none), *statements))


def _caveats(e: RunReader) -> Section:
    worst, more = e.findings[:FINDINGS], len(e.findings) - FINDINGS
    missing = items(part.name for part in e.run.not_run)
    caveats = (
        *(f"{f.code} ({f.severity}): {sentence(f.title)} {sentence(f.remedy)}".strip() for f in worst),
        *([f"{count(more, 'further finding')}: see the audit."] if more > 0 else []),
        f"Not run: {joined(missing)}." if missing else "Every requested explainer and check ran.",
        "No interval covers refitting the model to other training data.",
        "Importance describes the model on the test sample; it is not a causal effect.",
        f"The headings of this card are those of {cite('mitchell')}.",
    )
    blocks: tuple[Block, ...] = (Bullets(items=caveats), *_table(omissions(e), "not-run-table"))
    return make_section("caveats", "Caveats and recommendations", blocks)


def _table(section: Section, key: str) -> tuple[Table, ...]:
    """Return the table of this id from a section, if it has one."""
    return tuple(table for table in tables_in((section,)) if table.id == key)
