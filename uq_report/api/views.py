"""Thin views on results: they add drawing, conversion and the notebook display, and hold no number of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack

import numpy as np
import pandas as pd

from ..core.engine.fast_path_evaluator import Progress
from ..core.model.results import Attribution, Result
from ..core.model.subject import Subject
from ..core.support.calls import answering, known_arguments
from ..core.support.errors import InputError, UnsupportedError, nearest
from ..core.support.numbers import number
from ..core.support.text import clean
from ..document.plots.frames import RowLabels
from ..document.plots.picture import pictured, placed, save_figure, stacked, to_svg
from ..document.plots.profile import CURVES
from ..document.plots.style import Figure
from ..evidence import columns as col, ids, run_folder
from ..evidence.codec import dumps
from ..evidence.finding import by_cause
from ..evidence.run import Run, RunChanges
from ..reading.rating import rating
from ..reading.run_reader import RunReader
from ..render.environment import render
from ..report.answer.section import answer_of, as_lines
from ..runner import changes as runner_changes, figures
from .interop import SHAP_PLOTS, shap_figure, to_dalex, to_shap
from .reports import FORMATS, renderers, reports_of
from .showing import in_notebook, open_file, show, show_page
from .tables import ByName, TextTable, compact, estimates_page

LEVELS = 6  # with a label of their own; the others share one
PARTS = 3


def row_labels(subject: Subject, feature: str) -> RowLabels:
    """Return the labels of all observations by a feature or protected attribute; missing values have their own.

    Examples
    --------
    >>> from uq_report.testing import linear_subject
    >>> labels = row_labels(linear_subject(30), linear_subject(30).features[0])
    >>> len(labels.order), len(labels.of_row)
    (3, 30)
    """
    column = subject.values(feature) if feature in subject.features else subject.protected[feature]
    values = pd.Series(np.asarray(column, dtype=object) if not isinstance(column, pd.Series) else column.to_numpy())
    if subject.kinds.get(feature) == "numeric" and values.nunique() > LEVELS:
        return _thirds(feature, values.astype(float))
    texts = values.map(clean).where(values.notna(), "missing")
    frequent = texts.value_counts().index[:LEVELS]
    texts = texts.where(texts.isin(frequent), "other levels")
    return RowLabels(feature, tuple(sorted(set(texts))), dict(enumerate(texts)))


def _thirds(feature: str, values: pd.Series[float]) -> RowLabels:
    cuts = sorted(set(np.nanquantile(values, [k / PARTS for k in range(1, PARTS)]).tolist()))
    texts = [number(cut) for cut in cuts]
    between = (f"{low} to {high}" for low, high in pairwise(texts))
    names = [f"at most {texts[0]}", *between, f"above {texts[-1]}"]
    place = np.searchsorted(cuts, values, side="left")
    labels = [names[k] if known else "missing" for k, known in zip(place, values.notna(), strict=True)]
    order = [name for name in (*names, "missing") if name in set(labels)]
    return RowLabels(feature, tuple(order), dict(enumerate(labels)))


CALIBRATION_CURVES = (ids.CALIBRATION_RELIABILITY, ids.CALIBRATION_PIT, ids.CALIBRATION_COVERAGE)
Earlier: TypeAlias = "str | Path | Run | AuditRun"


def earlier_run(source: Earlier) -> Run:
    """Return the run of an earlier audit, from wherever it is."""
    if isinstance(source, AuditRun | Run):
        return source.run if isinstance(source, AuditRun) else source
    if not isinstance(source, str | Path):
        raise InputError(f"An earlier audit must be a run, its folder or run.json; got a {type(source).__name__}.")
    return run_folder.read(source)[0]


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


@answering
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
    ``view["nll"]`` is the part of one measure, ``view["pfi.train"]`` or ``view["train"]`` another result of the same
    call; ``view.ids`` lists them.
    """

    def __init__(
        self,
        results: Sequence[Result],
        id: str = "",
        deny: Iterable[str] = (),
        subject: Subject | None = None,
        choice: Mapping[str, Any] | None = None,
    ) -> None:
        self._results = tuple(results)
        self._deny = tuple(deny)
        self._subject = subject
        self._choice = dict(choice or {})
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

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that the result has values of."""
        return tuple(dict.fromkeys(str(name) for name in self.frame[col.MEASURE]))

    def keys(self) -> tuple[str, ...]:
        """Return the ids of all results of the call; `view[key]` is the view of one."""
        return self.ids

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids."""
        return iter(self.ids)

    def __len__(self) -> int:
        """Return how many results the call gave."""
        return len(self.ids)

    def __getitem__(self, name: str) -> ResultView:
        """Return the view of another result of the same call, or of one measure of this one."""
        return self._part("view id", name)

    def _part(self, who: str, name: str) -> ResultView:
        for key in (name, f"{self.result.explainer}.{name}"):
            if key in self.ids:
                return ResultView(self._results, key, self._deny, self._subject, self._choice)
        tables = (self.frame, self.estimates)
        for columns in ([col.MEASURE], [col.FEATURE, col.FEATURE_2]):
            frame, estimates = (t[(t.filter(columns) == name).any(axis=1)].reset_index(drop=True) for t in tables)
            if len(frame) or len(estimates):
                part = replace(self.result, frame=frame, estimates=estimates)
                others = [part if result.id == part.id else result for result in self._results]
                return ResultView(others, part.id, self._deny, self._subject, self._choice)
        ends = [key.removeprefix(f"{self.result.explainer}.") for key in self.ids]
        raise InputError(
            f"{who} must be one of {[*ends, *self._kinds]}, a measure of {list(self.measures)}, or a feature of the "
            f"result; got {name!r}. {nearest(str(name), {*self._known_keys, *ends, *self._kinds})}"
        )

    @property
    def _known_keys(self) -> tuple[str, ...]:
        """What may stand in brackets behind the view."""
        features = self.frame[col.FEATURE].unique() if col.FEATURE in self.frame else ()
        return (*self.measures, *self.ids, *map(str, features))

    @property
    def _kinds(self) -> tuple[str, ...]:
        """Kinds of figures that are no results."""
        return SHAP_PLOTS if isinstance(self.result, Attribution) else CURVES if self.result.id == ids.PDP else ()

    def summary(self) -> pd.DataFrame:
        """Return the estimates, largest first within each measure."""
        return self.result.summary()

    def plot(
        self,
        kind: str | Sequence[str] | None = None,
        *,
        colour_by: str | None = None,
        by: str | None = None,
        figure: Any = None,
        ax: Any = None,
        figsize: tuple[float, float] | None = None,
        title: str | None = None,
        **choice: Any,
    ) -> Figure:
        """Return a matplotlib figure, which a notebook shows as a picture.

        Parameters
        ----------
        kind : str or sequence of str, optional
            Another result of the same call, by the end of its id: ``"reliability"`` of ``calibration.reliability``; or
            a measure. Several stand below each other: ``["pfi", "train"]``. Of profiles ``"average"``,
            ``"individual"`` or ``"both"``; of Shapley values the plots of shap: ``"beeswarm"``, ``"waterfall"`` ...
            By default the main result; of the calibration its curve, of numbers the probability integral transform.
        colour_by : str, optional
            A feature that colours the single rows of a profile.
        by : str, optional
            A feature by whose values the rows are grouped: averages of profiles, a panel each of importance.
        figure : figure plugin, class or object, optional
            In place of the registered figure.
        ax : matplotlib Axes, optional
            Draw into the place of these axes, which make room; their figure is returned.
        figsize : pair of float, optional
            Width and height in inches.
        title : str, optional
            Above the figure.
        **choice
            What the figure lets its caller choose: ``measure=``, ``feature=``, ``row=``, ``top=`` ...

        Raises
        ------
        InputError
            For a choice that the figure or the result has not; the message lists those that they have.
        """
        if title is not None and figure is None:
            choice |= {"colour_by": colour_by, "by": by, "ax": ax, "figsize": figsize}
            return pictured(stacked({title: partial(self.plot, kind, **choice)}))
        if not isinstance(kind, str | None):
            parts = {each: self._part("plot.kind", each) for each in kind}
            return pictured(stacked({part.result.title: partial(part.plot, **choice) for part in parts.values()}))
        if kind is None and figure is None and not choice and self.result.id == ids.CALIBRATION:
            kind = next((key for key in CALIBRATION_CURVES if key in self.ids), None)
        choice = {key: value for key, value in self._choice.items() if self.result.id == ids.PDP} | choice
        if kind in SHAP_PLOTS and isinstance(self.result, Attribution):
            return pictured(shap_figure(self.to_shap(choice.pop("measure", None)), str(kind), **choice))
        if kind is not None and kind not in self._kinds:
            choice |= {"colour_by": colour_by, "by": by, "figure": figure, "ax": ax, "figsize": figsize}
            return self._part("plot.kind", kind).plot(**choice)
        labels = {"colour_by": colour_by, "by": by}
        choice |= {key: self._labels(key, name) for key, name in labels.items() if name is not None}
        choice |= ({} if kind is None else {"curves": kind}) | ({} if title is None else {"title": title})
        drawn = figure() if isinstance(figure, type) else figure
        draw = partial(figures.draw, self.result, others=self._results, deny=self._deny, figure=drawn, **choice)
        return pictured(placed(draw, ax, figsize))

    def show(self, **choice: Any) -> None:
        """Show the figure below the notebook's cell, else in the browser; see `plot` for the choice."""
        figure = self.plot(**choice)
        if in_notebook():
            show(figure)
        else:
            open_file(to_svg(figure), ".svg")

    def save(self, path: str | Path, **choice: Any) -> Path:
        """Write the figure as .svg, .png or .pdf, or the estimates as .csv; see `plot` for the choice."""
        if Path(path).suffix.lower() == ".csv":
            run_folder.write_files(Path(path).parent, {Path(path).name: self.estimates.to_csv(index=False).encode()})
            return Path(path)
        return save_figure(self.plot(**choice), path)

    def _labels(self, key: str, feature: str) -> RowLabels:
        """Return the labels of the rows by a feature's levels, or by thirds of its values."""
        if self._subject is None:
            raise UnsupportedError(
                f"plot.{key} must have the rows; a saved run has none. Call the verb on the subject."
            )
        if feature not in (*self._subject.features, *self._subject.protected):
            hint = nearest(feature, (*self._subject.features, *self._subject.protected))
            raise InputError(f"plot.{key} must be a feature or protected attribute; got {feature!r}. {hint}")
        return row_labels(self._subject, feature)

    def to_dalex(self, label: str = "", variable_type: str = "numerical", row: int | None = None) -> dict[str, Any]:
        """Return dalex's own object for each measure, which plots beside dalex's results; needs dalex."""
        return to_dalex(self.result, label, variable_type, row)

    def to_shap(self, measure: str | None = None) -> Any:
        """Return one measure, the first by default, as a `shap.Explanation` for every shap plot; needs shap."""
        if not isinstance(self.result, Attribution):
            raise UnsupportedError(
                f"to_shap.result must be an attribution; got {self.result.id!r}. Use uq.attributions."
            )
        return to_shap(self.result, measure or self.measures[0])

    def __repr__(self) -> str:
        """Return the title and the head of the summary."""
        head = compact(self.summary()).head(12).to_string(index=False) if len(self.estimates) else "\n".join(self.notes)
        return f"{self.result.title} ({', '.join(self.ids)})\n{head}"

    def _repr_html_(self) -> str:
        return estimates_page(self.result.title, self.summary(), self.notes)


@answering
class AuditRun:
    """A whole audit: its results, findings and what did not run; writes and renders the report."""

    def __init__(self, run: Run, clock: Mapping[str, Any] | None = None, subject: Subject | None = None) -> None:
        self.run = run
        self.clock = dict(clock or {})
        self._subject = subject

    @property
    def results(self) -> ByName[ResultView]:
        """The view of every result by its id, in the order of the run."""
        return ByName({key: self[key] for key in self})

    @property
    def findings(self) -> TextTable:
        """All open findings, most severe first: code, severity, title, statement, remedy, features, evidence, docs."""
        listed = [
            (f.code, f.severity, f.title, f.statement, f.remedy, ", ".join(f.features), ", ".join(f.evidence), f.docs)
            for f, _ in by_cause(self.run.findings)
        ]
        columns = ["code", "severity", "title", "statement", "remedy", "features", "evidence", "docs"]
        return TextTable([tuple(map(clean, row)) for row in listed], columns=columns)

    @property
    def not_run(self) -> TextTable:
        """What did not run: group, name, reason, and the kind of cause."""
        rows = [(n.group, n.name, clean(n.reason), n.cause) for n in self.run.not_run]
        return TextTable(rows, columns=["group", "name", "reason", "cause"])

    @property
    def changes(self) -> RunChanges | None:
        """What changed since the previous run, where there was one to compare with."""
        return self.run.changes

    @property
    def recommendation(self) -> str:
        """What the open findings recommend, in words."""
        return rating(self.run.outcomes).text

    def keys(self) -> tuple[str, ...]:
        """Return the ids of all results."""
        return tuple(result.id for result in self.run.results)

    _known_keys = property(keys)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids of all results."""
        return iter(self.keys())

    def __len__(self) -> int:
        """Return how many results there are."""
        return len(self.keys())

    def __getitem__(self, id: str) -> ResultView:
        """Return the view of one result, with those of the same explainer."""
        absent = next((n for n in self.run.not_run if (n.group, n.name) == ("explainers", ids.explainer_of(id))), None)
        if id not in self.keys() and absent is not None:
            raise InputError(f"run[{id!r}] must be a result of the run; {absent.name} did not run: {absent.reason}.")
        result = self.run.result(id)
        same = [r for r in self.run.results if r.explainer == result.explainer]
        return ResultView(same, id, self.run.denied, self._subject)

    def compare(self, previous: Earlier) -> AuditRun:
        """Return this audit with its changes since `previous`, whatever it was compared with before.

        If the two are of unrelated models (another task, no feature or class in common), ``changes.unrelated`` says
        so, and nothing is compared.
        """
        since = runner_changes(earlier_run(previous), self.run)
        return AuditRun(replace(self.run, changes=since), self.clock, self._subject)

    def show(self, **style: Unpack[Style]) -> None:
        """Show the report below the notebook's cell, else in the browser."""
        show_page(self.render("html", **style))

    def save(self, path: str | Path, **style: Unpack[Style]) -> Path:
        """Write the report in the format of the suffix, or everything into a folder, as `write` does; return the path.

        Parameters
        ----------
        path : str or Path
            ``"report.html"``, ``"report.pdf"``, ``"report.md"``; ``"run.json"`` for all numbers, which `load` reads;
            without a suffix, or with a slash at its end, the name of a folder.
        **style
            See `render`.
        """
        place = Path(path)
        if not place.suffix or str(path).endswith("/") or place.is_dir():
            return self.write(place, **style)
        if place.suffix == ".json":
            run_folder.write_files(place.parent, {place.name: dumps(self.run)})
            return place
        suffixes = {renderer.extension: renderer.name for renderer in renderers(self.run.denied)}
        suffix = next((each for each in sorted(suffixes, key=len, reverse=True) if place.name.endswith(each)), None)
        if suffix is None:
            raise InputError(
                f"save.path must end in {', '.join(suffixes)} or .json, or be a folder; got {place.name!r}."
            )
        run_folder.write_files(place.parent, {place.name: self.render(suffixes[suffix], **style)})
        return place

    def summary(self) -> TextTable:
        """Return one row per explainer and check: what it gave, or why it did not run."""
        rows = [("explainers", r.explainer, f"result {r.id}", clean(r.title)) for r in self.run.results]
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
        """Write the report, run.json, the evidence as CSV, clock.json and SHA256SUMS into `folder`; return the folder.

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
        return known_arguments(reports_of, "write")(formats, self.run.denied, **look).of(
            self.run, style.get("progress")
        )

    def __repr__(self) -> str:
        """Return the answer in about ten lines."""
        return "\n".join((self._title, *as_lines(answer_of(RunReader(self.run)))))

    def _repr_html_(self) -> str:
        return render(None, "conclusion", title=self._title, answer=answer_of(RunReader(self.run)))

    @property
    def _title(self) -> str:
        return f"Audit of {clean(self.run.subject['label'])}, {clean(self.run.as_of)}"
