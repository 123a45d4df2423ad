"""A section, a figure and a renderer of one's own."""

from typing import Any, ClassVar

from matplotlib.figure import Figure

from uq_report.core.model.results import Result
from uq_report.document import slots
from uq_report.document.blocks import interval_columns, intervals_caption, left_out, make_figure, make_table
from uq_report.document.document import Column, Document, Paragraph, Section
from uq_report.document.plots.frames import words
from uq_report.document.text import joined, name
from uq_report.evidence.view import of_measure
from uq_report.reading.run_reader import RunReader

from .screen import ID, Screen


class ScreenSection:
    """Shows the screen beside the calibration; it reads the run alone, never the model."""

    name: ClassVar[str] = ID
    slot: ClassVar[str] = slots.CALIBRATION
    shows: ClassVar[tuple[str, ...]] = (ID,)
    api_version: ClassVar[int] = 1

    def section(self, evidence: RunReader) -> Section | None:
        """Return the figure and the table; None where nothing was screened."""
        view = Screen.find(evidence.run)
        if view is None or not view.lines:
            return None
        titles = joined([evidence.words(measure).title for measure in view.measures])
        text = f"Rank correlation of each feature with {titles}, over {view.n} observations."
        caption = f"Rank correlations. {intervals_caption(view.result.estimates)}"
        alt = f"{text} The largest is that of {name(max(view.lines, key=lambda line: abs(line.estimate)).feature)}."
        figure = make_figure(f"{ID}-figure", caption, alt, lambda: evidence.draw(view.result), ID)
        columns = [Column("measure"), Column("less certain if"), Column("feature"), Column("correlation", "number")]
        rows = [
            (evidence.words(line.measure).title, evidence.words(line.measure).direction, name(line.feature),
             line.estimate, line.lower, line.upper)
            for line in view.lines
        ]  # fmt: skip
        columns += interval_columns(view.result.estimates)
        table = make_table(f"{ID}-table", caption, columns, rows, evidence=ID)
        blocks = (Paragraph(text=text), figure, table, *left_out(view.result))
        return Section(id=ID, title="Log loss in excess of the entropy, by feature", blocks=blocks)


class ScreenFigure:
    """A dot with its interval per feature, a panel per measure; named after the result it draws."""

    name: ClassVar[str] = ID
    api_version: ClassVar[int] = 1

    def draw(self, result: Result, **choice: Any) -> Figure:
        """Return a figure that pyplot does not know of."""
        view = Screen.from_result(result)
        figure = Figure(figsize=(6.5, 0.6 + 0.3 * len(view.features)), layout="constrained")
        panels = figure.subplots(1, len(view.measures), sharex=True, sharey=True, squeeze=False)[0]
        for axes, measure in zip(panels, view.measures, strict=True):
            for line in of_measure(view.lines, measure):
                axes.plot([line.lower, line.upper], [line.feature] * 2, color="#8b94a0")
                axes.plot(line.estimate, line.feature, "o", color="#00785a")
            axes.axvline(0, color="#5d6570", linewidth=0.7)
            axes.set_title(words(measure, result.measures).title, fontsize=7)
        return figure


class DigestRenderer:
    """The recommendation, every check and its findings as plain text, for a mail."""

    name: ClassVar[str] = "digest"
    extension: ClassVar[str] = ".txt"
    api_version: ClassVar[int] = 1

    def render(self, document: Document) -> bytes:
        """Return the lines in UTF-8."""
        lines = [f"{document.title}, {document.as_of}", f"Recommendation: {document.recommendation.text}"]
        for check in document.checks:
            lines.append(f"{check.title}: {check.state}")
            lines += [f"  {code} ({severity}) {text}" for code, severity, text in check.findings]
        return ("\n".join(lines) + "\n").encode()
