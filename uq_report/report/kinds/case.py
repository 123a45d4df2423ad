"""The case sheet: one observation on one page, for a complaint or an adverse decision."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...core.model.results import MeasureFacts, Result
from ...document.blocks import make_figure, make_section, make_table, paragraphs
from ...document.document import Attachment, Block, Cell, Column, Document, Facts, Section
from ...document.plots import attribution, style
from ...document.plots.frames import axis_label
from ...document.text import clean, joined, name, number
from ...evidence import columns as col, ids
from ...runner import plugins
from ...runner.cases import CaseFacts

TOP = 5  # features with a bar
NEAREST = 3  # observations beside this one
SHOWN = 5  # features of the nearest observations
LINES = 3  # changes of each kind


def leading_features(facts: CaseFacts) -> list[str]:
    """Return the features by the size of their Shapley values, each measure in units of its largest."""
    if not facts.attributions:
        return list(facts.subject.features)
    frame = facts.attributions[0].frame
    sizes = frame.assign(size=frame[col.VALUE].abs())
    largest = sizes.groupby(col.MEASURE)["size"].transform("max").replace(0.0, 1.0)
    means = (sizes["size"] / largest).groupby(sizes[col.FEATURE], sort=False).mean()
    return [str(feature) for feature in means.sort_values(ascending=False, kind="stable").index]


def case_figure(facts: CaseFacts) -> Any:
    """Return the figure of the distribution, the percentiles and the profiles."""
    shown = facts.measures[facts.measures["role"] != "loss"]
    known = {str(m): MeasureFacts(str(t), str(u), str(r)) for m, t, u, r in shown.iloc[:, :4].to_numpy().tolist()}
    first = {m: fact for m, fact in known.items() if m in ("prediction", facts.uncertainty)}
    return draw_case(facts.distribution, shown, facts.profiles, leading_features(facts), first)


def case_document(facts: CaseFacts, as_of: str, csv: bytes) -> Document:
    """Return the case sheet; `csv` is the table of all its numbers, which travels inside a PDF.

    Parameters
    ----------
    facts : CaseFacts
    as_of : str
        The date of the sheet.
    csv : bytes
    """
    return Document(
        title=f"Case sheet: {name(facts.label)}",
        subtitle=f"Prediction of {clean(facts.subject.label, 120)}",
        as_of=as_of,
        generator=f"uq_report {plugins.versions(['uq_report']).get('uq_report', '')}".strip(),
        evidence_sha256=hashlib.sha256(csv).hexdigest(),
        sections=tuple(_sections(facts)),
        kind="case",
        attachments=(Attachment("case.csv", csv, "text/csv", "All numbers of the case"),),
    )


def _sections(facts: CaseFacts) -> list[Section]:
    notes = " ".join((*facts.notes, *(note for result in _explained(facts) for note in result.notes)))
    return [
        make_section("case-prediction", "Prediction and uncertainty", (_facts(facts), _overview(facts))),
        make_section("case-reasons", "Contributions of the features", _reasons(facts)),
        make_section("case-changes", "Smallest changes", _changes(facts)),
        make_section("case-compared", "Comparison", (*_groups(facts), *_neighbours(facts), *paragraphs(clean(notes)))),
    ]


def _facts(facts: CaseFacts) -> Facts:
    rows: list[tuple[str, Cell]] = [("Decision", clean(facts.decision) if facts.decision else "not defined")]
    for line in facts.measures.to_dict("records"):
        if line["role"] != "loss" or line["measure"] == "nll":
            of = f"{number(line['value'])} {line['unit']}; percentile {100 * line['percentile']:.0f}"
            rows.append((str(line["title"]).capitalize(), of))
    return Facts(rows=(*rows, ("Training domain", domain_words(facts))))


def domain_words(facts: CaseFacts) -> str:
    """Return whether the observation is within the domain, and by which numbers."""
    domain = facts.domain
    if domain is None:
        return "not assessed"
    words = "inside" if domain.inside else "outside"
    distance = f"distance {number(domain.distance)}, limit {number(domain.limit)}, {domain.n} {domain.reference}"
    return f"{words} ({'; '.join([distance, *map(clean, domain.beyond)])})"


def _overview(facts: CaseFacts) -> Block:
    alt = joined([f"{item}: {number(value)}" for item, value in facts.distribution.to_numpy().tolist()], 6)
    caption = "Predictive distribution, percentiles in the test sample, and profiles through the observation (dot)."
    return make_figure("case-figure", caption, alt, lambda: case_figure(facts), "")


def _explained(facts: CaseFacts) -> Sequence[Result]:
    return [result for result in facts.attributions if result.id == ids.SHAP]


def _reasons(facts: CaseFacts) -> tuple[Block, ...]:
    explained = _explained(facts)
    if not explained:
        return paragraphs("No Shapley values were computed.")
    caption = "Shapley values: from the mean over background observations (base) to this observation (value)."
    leading = joined(leading_features(facts), 3)
    draw = lambda: attribution.draw(explained[0], row=facts.row, top=TOP)  # noqa: E731 - drawn where it is needed
    return (make_figure("case-shap", caption, f"Largest contributions: {leading}.", draw, ids.SHAP),)


def _changes(facts: CaseFacts) -> tuple[Block, ...]:
    if facts.changes.empty:
        what = "decision or takes the uncertainty across the median of the test sample"
        return paragraphs(f"No change of a single feature within the domain changes the {what}.")
    table = facts.changes.groupby("changes", sort=False).head(LINES)
    rows = [
        (line["changes"], name(line["feature"]), _value(line["from"]), _value(line["to"]), line["size"], line["result"])
        for line in table.to_dict("records")
    ]
    columns = [*map(Column, ("changes", "feature", "from", "to")), Column("size", "percent"), Column("then")]
    caption = (
        "Smallest change of one feature, to an observed value within the domain, that changes the decision or takes "
        "the uncertainty across the median of the test sample. Size: share of reference observations between."
    )
    note = "It describes the model. It is no statement about causes, and no advice."
    return (make_table("case-changes-table", caption, columns, rows, note=note),)


def _groups(facts: CaseFacts) -> tuple[Block, ...]:
    """Return the medians of groups, and where the observation stands among them."""
    names = [m for m in ("prediction", facts.uncertainty) if (facts.groups["measure"] == m).any()]
    parts = {m: facts.groups[facts.groups["measure"] == m].to_dict("records") for m in names}
    columns = [Column("group"), Column("n", "integer")]
    for measure in names:
        columns += [Column(f"median {measure}", "number"), Column("percentile of this", "percent")]
    rows = [
        (clean(lines[0]["group"]), lines[0]["n"], *(line[what] for line in lines for what in ("median", "percentile")))
        for lines in zip(*parts.values(), strict=True)
    ]
    return (make_table("case-groups", "This observation among others of the test sample.", columns, rows),)


def _neighbours(facts: CaseFacts) -> tuple[Block, ...]:
    if facts.neighbours.empty or facts.domain is None:
        return ()
    outcome = [c for c in ("outcome",) if c in facts.neighbours]
    shown = leading_features(facts)[:SHOWN]
    own = facts.values.set_index("feature")["value"]
    table = facts.neighbours[["distance", *outcome, *shown]]
    rows = [("this", *[""] * len(outcome), *(_value(own[feature]) for feature in shown))]
    rows += [(number(line[0]), *map(_value, line[1:])) for line in table.head(NEAREST).to_numpy(dtype=object).tolist()]
    caption = f"Nearest {facts.domain.reference} (Gower's distance over all features), with the leading features."
    return (make_table("case-nearest", caption, ["distance", *outcome, *map(name, shown)], rows),)


def _value(value: Any) -> str:
    """Return a value of the data as text."""
    if value is None or value is pd.NaT or (isinstance(value, float) and pd.isna(value)):
        return "missing"
    return number(value) if isinstance(value, float) else clean(value, 40)


CLASSES = 6  # the most probable
LEVELS = 4  # of a feature
MEASURES, FEATURES = 2, 3
OWN: dict[str, Any] = {"marker": "o", "markersize": 6, "markeredgecolor": "white", "linestyle": ""}


def draw_case(
    distribution: pd.DataFrame,
    percentiles: pd.DataFrame,
    profiles: pd.DataFrame,
    features: Sequence[str],
    measures: Mapping[str, MeasureFacts],
) -> style.Figure:
    """Draw the distribution and the percentiles of the measures, and profiles of the first features.

    Parameters
    ----------
    distribution : DataFrame
        item and value: probabilities of classes, or quantiles.
    percentiles : DataFrame
        measure and percentile.
    profiles : DataFrame
        feature, x, level, measure, value, own; may be empty.
    features : sequence of str
        In their order; the first three are drawn.
    measures : mapping of str to MeasureFacts
        Those drawn, the first two.
    """
    names = [] if profiles.empty else [m for m in measures if (profiles[col.MEASURE] == m).any()][:MEASURES]
    drawn = list(features[:FEATURES]) if names else []
    with style.drawing(2.45) as figure:
        panels = figure.subplots(2, 1 + len(drawn), squeeze=False)
        _bars(panels[0, 0], distribution)
        _percentiles(panels[1, 0], percentiles)
        for c, feature in enumerate(drawn, 1):
            for r in range(2):
                panels[r, c].set_visible(r < len(names))
            for r, name in enumerate(names):
                part = profiles[(profiles[col.FEATURE] == feature) & (profiles[col.MEASURE] == name)]
                _profile(panels[r, c], part, style.ROLE.get(measures[name].role, style.INK))
                if c == 1:
                    panels[r, c].set_title(axis_label(name, measures), fontsize=style.SMALL)
                if r == len(names) - 1:
                    panels[r, c].set_xlabel(style.name(feature, 22))
    return figure


def _bars(axes: style.Axes, distribution: pd.DataFrame) -> None:
    table = distribution
    if len(table) > CLASSES:
        table = table.sort_values("value", ascending=False, kind="stable").head(CLASSES)
    style.plain(axes, "x").xaxis.set_major_locator(style.round_numbers(3))
    axes.barh(range(len(table)), table["value"], height=0.6, color=style.ROLE["prediction"])
    for k, value in enumerate(table["value"]):
        axes.annotate(
            number(float(value)), (value, k), (2, 0), textcoords="offset points", va="center", fontsize=style.SMALL
        )
    axes.margins(x=0.25)
    axes.set_yticks(range(len(table)), [style.name(item, 14) for item in table["item"]])
    axes.invert_yaxis()
    axes.set_title("prediction", fontsize=style.SMALL)


def _percentiles(axes: style.Axes, table: pd.DataFrame) -> None:
    style.plain(axes, "x")
    axes.plot(100 * table["percentile"], range(len(table)), color=style.INK, **OWN)
    axes.set_xlim(-6, 106)
    axes.set_xticks([0, 50, 100])
    style.name_rows([axes], [style.name(m, 14) for m in table["measure"]], room=0.5)
    axes.set_xlabel("percentile")


def _profile(axes: style.Axes, part: pd.DataFrame, color: str) -> None:
    """Draw one profile, with a ring where the observation is."""
    for axis in (style.plain(axes, "y").xaxis, axes.yaxis):
        axis.set_major_locator(style.round_numbers(3))
    own = part["own"].to_numpy(dtype=bool)
    if not part[col.LEVEL].astype(bool).any():
        axes.plot(part[col.X], part[col.VALUE], color=color, linewidth=1.4)
        axes.plot(part[col.X][own], part[col.VALUE][own], color=style.INK, **OWN)
        return
    keep = np.flatnonzero(own | (np.arange(len(part)) < LEVELS))
    part, own = part.iloc[keep], own[keep]
    places = np.arange(len(part))
    axes.plot(places, part[col.VALUE], linestyle="", marker="s", markersize=4, color=color)
    axes.plot(places[own], part[col.VALUE][own], color=style.INK, **OWN)
    axes.margins(x=0.25)
    axes.set_xticks(places, [style.name(level, 9) for level in part[col.LEVEL]])
    style.aslant(axes, 35)
