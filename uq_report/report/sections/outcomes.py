"""How good the model is on unseen rows: its scores beside those of a forecast without features, and its decisions."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.support.numbers import unit_phrase
from ...core.support.text import count
from ...document.blocks import left_out, make_table, paragraphs
from ...document.document import Block, Column, Section, Table
from ...document.text import clean, joined, name, value_words
from ...evidence.outcomes import CalibrationView, DecisionLine, Decisions, ScoreLine
from ...reading.amounts import amount, is_share, share
from ...reading.run_reader import RunReader
from ...reading.tables import INTERVAL, Field, line_table
from ..placing import PluginSections

COUNTED = 6  # classes up to which the table counts every pair
MOST = 8  # classes in the table of the front part
BASELINE, SKILL = "_baseline", "_skill"
TITLES = {
    "log_score": "log score (surprise at the outcome; lower is better)",
    "brier": "Brier score (lower is better)",
    "accuracy": "right decisions",
    "roc_auc": "area under the ROC curve (how well it orders rows)",
    "crps": "CRPS (distance to the outcome; lower is better)",
    "interval_score": "interval score (width and misses; lower is better)",
    "mean_error": "outcome less prediction, mean",
    "squared_error": "mean squared error (lower is better)",
}
RATES = {"recall": "found", "precision": "right where decided so"}
SHORT = {
    "log_score": "log score",
    "nll": "log score",
    "brier": "Brier score",
    "crps": "CRPS",
    "interval_score": "interval score",
}


def scores(e: RunReader) -> Section:
    """Return what the model's predictions are worth on unseen rows, and what it decides."""
    view = CalibrationView.find(e.run)
    blocks: tuple[Block, ...] = paragraphs(e.why_missing(CalibrationView.id))
    if view is not None:
        blocks = (*paragraphs(_skill(e, view.lines)), _scores(view), *_decisions(e))
    return Section(id="sure-scores", title="How good is it?", blocks=blocks)


def _scores(view: CalibrationView) -> Table:
    """Return a line for each score of the prediction, beside that of the forecast without features."""
    lines = {line.item: line for line in view.lines if not line.judges_uncertainty}
    own = [item for item in lines if not item.endswith((BASELINE, SKILL))]
    heads = {"": "model", BASELINE: "without features", SKILL: "better by"}
    ends = [*heads] if any(f"{item}{SKILL}" in lines for item in own) else [""]
    rows = [(_score(lines[item]), *(_cell(lines.get(f"{item}{end}")) for end in ends)) for item in own]
    columns = ["score", *(heads[end] for end in ends)]
    return make_table("sure-scores-table", f"Scores on {count(view.n, 'unseen row')}.", columns, rows, evidence=view.id)


def _score(line: ScoreLine) -> str:
    """Return a score's name, with the unit that a cell leaves out."""
    title = TITLES.get(line.item, _item(line))
    left_out = " " in line.unit and not unit_phrase(line.unit) and not is_share(line.unit)
    return f"{title}, {name(line.unit)}" if left_out else title


def _cell(line: ScoreLine | None) -> str:
    if line is None:
        return ""
    if line.item == "roc_auc":  # a probability that nobody reads in percent
        return value_words(line.estimate, line.lower, line.upper)
    return amount(line)


def _skill(e: RunReader, lines: Sequence[ScoreLine]) -> str:
    """Say whether the model beats the forecast without features, as far as the intervals tell."""
    sides: dict[str, list[str]] = {}
    for line in lines:
        if line.is_skill:
            side = "better than" if line.lower > 0 else "worse than" if line.upper < 0 else "not told apart from"
            item = line.item.removesuffix(SKILL)
            sides.setdefault(side, []).append(f"the {SHORT.get(item, item.replace('_', ' '))}")
    if not sides:
        return ""
    other = "the class frequencies" if e.subject.classes is not None else "the distribution of past outcomes"
    parts = [f"{side} {other} by {joined(items)}" for side, items in sides.items()]
    return f"Its predictions are {joined(parts)}."


def _decisions(e: RunReader) -> tuple[Block, ...]:
    """Return each class with its counts, the share found, and how often the decision for it is right."""
    view = Decisions.find(e.run)
    if view is None:
        return ()
    labels = [str(label) for label in view.classes]
    counted = labels if len(labels) <= COUNTED and view.counts else []
    by_decision = {k: row[: len(labels)] for k, row in enumerate(view.counts)}
    counts = by_decision if counted else {k: (_rows(view, label),) for k, label in enumerate(labels)}
    rows = [
        (name(label), *counts.get(k, ()), *(_share(view.of_class(label).get(x)) for x in RATES))
        for k, label in _least_recalled(view, labels)
    ]
    heads = [f"decided {name(label)}" for label in counted] or ["rows"]
    columns: list[Column | str] = ["class", *(Column(head, "integer") for head in heads), *RATES.values()]
    least = f" The {len(rows)} of {len(labels)} classes that are found least, by the upper end."
    which = "" if len(rows) == len(labels) else least
    caption = f"Rows of each class by decision: {clean(view.rule)}.{which}"
    return (make_table("sure-decisions", caption, columns, rows, evidence=view.id),)


def _least_recalled(view: Decisions, labels: Sequence[str]) -> list[tuple[int, str]]:
    """Return the classes with their places; of many those that are found least, by the upper end of the interval."""
    placed = [*enumerate(labels)]
    recalls = {line.label: (line.upper, line.estimate) for line in view.lines if line.item == "recall"}
    return placed if len(placed) <= MOST else sorted(placed, key=lambda place: recalls.get(place[1], (1.0, 1.0)))[:MOST]


def _rows(view: Decisions, label: str) -> int:
    """Return the rows of a class."""
    line = view.of_class(label).get("recall")
    return 0 if line is None else line.n


def _share(line: DecisionLine | None) -> str:
    return "" if line is None else share(line)


def outcomes_in_full(e: RunReader, placed: PluginSections) -> Section:
    """Return every score as recorded, and what stands in the chapters on outcomes and on the uncertainty's quality."""
    view = CalibrationView.find(e.run)
    blocks: tuple[Block, ...] = paragraphs(e.why_missing(CalibrationView.id))
    if view is not None:
        lines = [line for line in view.lines if not line.judges_uncertainty]
        table = scores_table(view, lines, "scores-table", "Scores on the audited rows.")
        blocks = (table, *left_out(view.result))
    sections = (*placed.chapter("outcomes"), *placed.chapter("uncertainty-quality"))
    return Section(id="outcomes", title="Outcomes in full", blocks=blocks, sections=sections)


def _item(line: ScoreLine) -> str:
    return name(line.item).replace("_", " ")


def scores_table(
    view: CalibrationView, lines: Sequence[ScoreLine], key: str, caption: str, *, tests: bool = False
) -> Table:
    """Return scores with their intervals, and with their tests where these are asked for and there are any."""
    fields: list[Field] = [("item", _item), ("unit", lambda line: name(line.unit))]
    fields += [(Column("estimate", "number"), "estimate"), INTERVAL]
    if tests and any(line.is_tested for line in lines):
        fields += [(Column("p", "pvalue"), "p_value"), (Column("p, adjusted", "pvalue"), "p_adjusted")]
        fields.append((Column("mean if calibrated", "number"), "null_mean"))
    return line_table(key, caption, lines, fields, of=view.result)
