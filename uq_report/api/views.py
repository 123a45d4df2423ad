"""Thin views on results: they add drawing, conversion and the notebook display, and hold no number of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import pandas as pd

from ..core.engine.fast_path_evaluator import Progress
from ..core.model.results import Attribution, Result
from ..core.support.errors import InputError, UnsupportedError
from ..core.support.text import clean
from ..document.plots.picture import pictured
from ..evidence import run_folder
from ..evidence.finding import by_cause
from ..evidence.run import Run, RunChanges
from ..reading.run_reader import RunReader
from ..report.answer.section import answer_of, as_html, as_lines
from ..runner import figures
from .interop import to_dalex, to_shap
from .reports import FORMATS, reports_of
from .tables import TextTable, compact, estimates_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Style(TypedDict, total=False):
    """How a report looks; see `AuditRun.render`."""

    template: str
    templates: str | Path | None
    appendix: str
    pdf_cpu_seconds: float | None
    pdf_memory_mb: int | None
    template_cpu_seconds: float | None
    template_memory_mb: int | None
    progress: bool | Callable[[Progress], None] | None


class ResultView:
    """One result, and the other results its explainer gave with it.

    Attributes
    ----------
    result : Result
    frame : pandas.DataFrame
        Raw values with their repeats and signs.
    estimates : pandas.DataFrame
        Estimates with standard errors, intervals, and what these cover.

    Examples
    --------
    ``view["pfi.train"]`` is the view of another result of the same call; ``view.ids`` lists them.
    """

    def __init__(self, results: Sequence[Result], id: str = "", deny: Iterable[str] = ()) -> None:
        self._results = tuple(results)
        self._deny = tuple(deny)
        filled = (r for r in self._results if len(r.frame))
        self.result = next((r for r in self._results if r.id == id), next(filled, self._results[0]))

    @property
    def frame(self) -> pd.DataFrame:
        """The raw values."""
        return self.result.frame

    @property
    def estimates(self) -> pd.DataFrame:
        """The estimates, in the explainer's order."""
        return self.result.estimates

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know to read the numbers, and what was left out and why."""
        left_out = (f"{o.measure} {o.feature}".strip() + f" left out: {o.reason}" for o in self.result.omissions)
        return (*self.result.notes, *left_out)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all results of the call."""
        return tuple(result.id for result in self._results)

    def __getitem__(self, id: str) -> ResultView:
        """Return the view of another result of the same call."""
        if id not in self.ids:
            raise InputError(f"view id must be one of {list(self.ids)}; got {id!r}.")
        return ResultView(self._results, id, self._deny)

    def summary(self) -> pd.DataFrame:
        """Return the estimates, largest first within each measure."""
        return self.result.summary()

    def plot(self, **choice: Any) -> Figure:
        """Return a matplotlib figure; `choice` picks what is drawn (``measure=``, ``feature=``, ``row=`` ...)."""
        return pictured(figures.draw(self.result, others=self._results, deny=self._deny, **choice))

    def to_dalex(self, label: str = "", variable_type: str = "numerical") -> dict[str, Any]:
        """Return dalex's own object for each measure, which plots beside dalex's results; needs dalex."""
        return to_dalex(self.result, label, variable_type)

    def to_shap(self, measure: str) -> Any:
        """Return one measure as a `shap.Explanation`, which every shap plot takes; needs shap."""
        if not isinstance(self.result, Attribution):
            raise UnsupportedError(
                f"to_shap.result must be an attribution; got {self.result.id!r}. Use uq.attributions."
            )
        return to_shap(self.result, measure)

    def __repr__(self) -> str:
        """Return the title and the head of the summary."""
        head = compact(self.summary()).head(12).to_string(index=False) if len(self.estimates) else "\n".join(self.notes)
        return f"{self.result.title} ({', '.join(self.ids)})\n{head}"

    def _repr_html_(self) -> str:
        return estimates_page(self.result.title, self.summary(), self.notes)


class AuditRun:
    """A whole audit: its results, findings and what did not run; writes and renders the report."""

    def __init__(self, run: Run, clock: Mapping[str, Any] | None = None) -> None:
        self.run = run
        self.clock = dict(clock or {})

    @property
    def results(self) -> tuple[Result, ...]:
        """Every result, in the order of the run."""
        return self.run.results

    @property
    def findings(self) -> pd.DataFrame:
        """All open findings, most severe first: code, severity, title, statement, remedy, features and evidence."""
        listed = [
            (f.code, f.severity, f.title, f.statement, f.remedy, ", ".join(f.features), ", ".join(f.evidence))
            for f, _ in by_cause(self.run.findings)
        ]
        columns = ["code", "severity", "title", "statement", "remedy", "features", "evidence"]
        return TextTable([tuple(map(clean, row)) for row in listed], columns=columns)

    @property
    def not_run(self) -> pd.DataFrame:
        """What did not run: group, name, reason, and the kind of cause."""
        rows = [(n.group, n.name, clean(n.reason), n.cause) for n in self.run.not_run]
        return TextTable(rows, columns=["group", "name", "reason", "cause"])

    @property
    def changes(self) -> RunChanges | None:
        """What changed since the previous run, where there was one to compare with."""
        return self.run.changes

    def result(self, id: str) -> ResultView:
        """Return the view of one result, with those of the same explainer."""
        result = self.run.result(id)
        return ResultView([r for r in self.results if r.explainer == result.explainer], id, self.run.denied)

    def summary(self) -> pd.DataFrame:
        """Return one row per explainer and check: what it gave, or why it did not run."""
        rows = [("explainers", r.explainer, f"result {r.id}", clean(r.title)) for r in self.results]
        rows += [("checks", o.check, o.state.replace("_", " "), clean(o.reason)) for o in self.run.outcomes]
        rows += [(n.group, n.name, "not run", clean(n.reason)) for n in self.run.not_run if n.group != "checks"]
        return TextTable(rows, columns=["group", "name", "outcome", "detail"])

    def render(self, format: str = "html", **style: Unpack[Style]) -> bytes:
        """Return the report in one format, from the saved numbers alone.

        Parameters
        ----------
        format : str
            A registered renderer: ``html``, ``pdf``, ``markdown``, ``junit`` ...
        template : {"audit", "brief", "model-card"}
            What is told.
        templates : path, optional
            A theme for formats that have templates: a directory; see templates/README.md.
        appendix : {"none", "short", "full"}
            What follows the sign-off of an audit: nothing, what a check of the report needs, or all tables and
            figures of every method as well. run.json and the numbers of every result travel in a PDF with any.
        pdf_cpu_seconds : float, optional
            Processor time that printing a PDF may take; 300 by default.
        pdf_memory_mb : int, optional
            Memory that printing a PDF may take; 2048 by default.
        template_cpu_seconds : float, optional
            Processor time that filling the templates of a theme may take; 60 by default.
        template_memory_mb : int, optional
            Memory that filling them may take; 2048 by default.
        progress : bool or callable, optional
            As for `uq_report.audit`.

        Raises
        ------
        InputError
            For another template or appendix.
        RenderError
            If the document cannot be rendered; the message names the cause.
        PluginError
            If no renderer of that name is registered.
        """
        (content,) = self.reports([format], **style).values()
        return content

    def write(self, folder: str | Path, formats: Iterable[str] = FORMATS, **style: Unpack[Style]) -> Path:
        """Write the report, run.json, evidence/*.csv, clock.json and SHA256SUMS into `folder`; return the folder.

        An audit is called report.html, other templates by their name: brief.html. What the report needs is looked at
        first, then all but the report is written, then each of its files that can be made. Of the others a RenderError
        says why not, and `write_reports` makes them later; an old report of that name stays.
        """
        files = self._files(formats, style)
        return run_folder.write_first(self.run, folder, reports=files, clock=self.clock)

    def write_reports(self, folder: str | Path, formats: Iterable[str] = FORMATS, **style: Unpack[Style]) -> Path:
        """Write the report files alone into `folder`, each that can be made; return the folder."""
        return run_folder.write_reports(self.run, folder, self._files(formats, style))

    def reports(self, formats: Iterable[str] = FORMATS, **style: Unpack[Style]) -> dict[str, bytes]:
        """Return the report files by name, as `write` puts them into a folder; see `render` for the arguments."""
        return dict(self._files(formats, style))

    def _files(self, formats: Iterable[str], style: Style) -> Iterator[tuple[str, bytes]]:
        """Return the report files as they are made, once it is sure that nothing they need is missing."""
        look: dict[str, Any] = {name: value for name, value in style.items() if name != "progress"}
        return reports_of(formats, self.run.denied, **look).of(self.run, style.get("progress"))

    def __repr__(self) -> str:
        """Return the answer in about ten lines."""
        return "\n".join((self._title, *as_lines(answer_of(RunReader(self.run)))))

    def _repr_html_(self) -> str:
        return as_html(self._title, answer_of(RunReader(self.run)))

    @property
    def _title(self) -> str:
        return f"Audit of {clean(self.run.subject['label'])}, {clean(self.run.as_of)}"
