"""The audits of all outputs of one model: one report each, and a page over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite, nan
from pathlib import Path
from typing import Unpack
from urllib.parse import quote

from ..core.support.calls import answering
from ..core.support.text import clean, file_stem
from ..evidence import run_folder
from ..evidence.finding import SEVERITIES
from ..evidence.outcomes import LOG_SCORE, scores_of
from ..render.environment import render
from ..report.overview import Link, Overview, Row, counted
from ..report.rating import rating
from ..runner import plugins
from .reports import FORMATS, report_names
from .views import AuditRun, Style

PAGE = "index.html"
_CAPTION = (
    "Each output has an audit of its own. The log score is the mean negative log-likelihood, in nats in the unit of "
    "its output: lower is better, and outputs of different units do not compare."
)


@answering
class AuditRuns(Mapping[str, AuditRun]):
    """The audits of several outputs, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.multioutput import MultiOutputRegressor
    >>> from uq_report.api import audit, explain_outputs
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    >>> subjects = explain_outputs(MultiOutputRegressor(BayesianRidge()).fit(X, Y), X, Y)
    >>> runs = audit(subjects, explainers=["calibration"], progress=False)
    >>> list(runs), runs["1"].run.subject["label"]
    (['0', '1'], 'MultiOutputRegressor: output 1')
    """

    def __init__(self, runs: Mapping[str, AuditRun]) -> None:
        self._runs = dict(runs)

    def __getitem__(self, name: str) -> AuditRun:
        """Return the audit of one output."""
        return self._runs[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the outputs."""
        return iter(self._runs)

    def __len__(self) -> int:
        """Return the number of outputs."""
        return len(self._runs)

    def write(self, folder: str | Path, formats: Iterable[str] = FORMATS, **style: Unpack[Style]) -> Path:
        """Write each audit into a sub-folder of its output's name, and index.html over them; return the folder.

        See `AuditRun.write` for the arguments.
        """
        base, chosen, rows = Path(folder), tuple(formats), []
        for name, run in self._runs.items():
            place = file_stem(name)
            run.write(base / place, chosen, **style)
            files = report_names(chosen, style.get("template", "audit"), run.run.denied)
            rows.append(_row(name, run, tuple(Link(file, f"./{quote(place)}/{quote(file)}") for file in files)))
        page = render(None, "overview", document=_overview(rows), paged=False)
        return run_folder.write_files(base, {PAGE: page.encode()})

    def __repr__(self) -> str:
        """Return the names of the outputs, and the recommendation for each."""
        return "\n".join(f"{clean(name)}: {rating(run.run.outcomes).text}" for name, run in self._runs.items())


def _overview(rows: list[Row]) -> Overview:
    return Overview(
        title="Audits of all outputs",
        as_of=max((row.as_of for row in rows), default=""),
        generator=f"uq_report {plugins.versions(['uq_report']).get('uq_report', '')}".strip(),
        caption=_CAPTION,
        source="Made from the runs beside it",
        rows=tuple(rows),
    )


def _row(name: str, run: AuditRun, links: tuple[Link, ...]) -> Row:
    severities = [finding.severity for finding in run.run.findings]
    score = scores_of(run.run).get(LOG_SCORE, nan)
    return Row(
        name=clean(name),
        label=clean(run.run.subject["label"]),
        as_of=clean(run.run.as_of),
        recommendation=rating(run.run.outcomes),
        findings=counted({severity: severities.count(severity) for severity in SEVERITIES}),
        score=f"{score:.3g}" if isfinite(score) else None,
        links=links,
    )
