"""The views and the audits of several subjects, one model or data set each, in one table and one figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from math import isfinite, nan
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import quote

import pandas as pd

from ..core.statistics.ranking import rank_entropy
from ..core.support.calls import answering
from ..core.support.errors import InputError
from ..core.support.text import clean, file_stem
from ..document.plots.picture import pictured, stacked
from ..document.plots.style import Figure
from ..evidence import columns as col, run_folder
from ..evidence.finding import SEVERITIES
from ..evidence.outcomes import LOG_SCORE, scores_of
from ..reading.rating import rating
from ..render.environment import render
from ..report.overview import Link, Overview, Row, counted
from ..runner import plugins
from .arguments import names
from .reports import FORMATS, report_names
from .tables import ByName, TextTable
from .views import AuditRun, ResultView, Style

NAMES = (col.MEASURE, col.FEATURE, col.FEATURE_2)


@answering
class ResultViews(ByName[ResultView]):
    """The views of several subjects by label.

    Attributes
    ----------
    frame, estimates : pandas.DataFrame
        Those of all views, with a first column ``subject``.
    """

    @property
    def frame(self) -> pd.DataFrame:
        """The raw values of all views."""
        return _joined({name: view.frame for name, view in self.items()})

    @property
    def estimates(self) -> pd.DataFrame:
        """The estimates of all views."""
        return _joined({name: view.estimates for name, view in self.items()})

    def plot(self, kind: str | None = None, **choice: Any) -> Figure:
        """Return one figure with the figure of each view below its label; see `ResultView.plot` for the choice."""
        return pictured(stacked({name: partial(view.plot, kind, **choice) for name, view in self.items()}))

    def stability(self) -> pd.DataFrame:
        """Return how far the rank of each feature or pair differs between the subjects, as between refits.

        The entropy of the rank in nats is 0 where the rank never changes, and log d where it is any of d.
        """
        table = self.estimates
        names = [name for name in NAMES if name in table and (name != col.FEATURE_2 or (table[name] != "").any())]
        if col.FEATURE_2 in names:
            table = table[table[col.FEATURE_2] != ""]  # pairs alone, no totals
        draws = table.pivot_table(index=names, columns="subject", values=col.ESTIMATE, sort=False)
        whole = [own for _, own in draws.groupby(level=0, sort=False) if len(self) > 1 and own.notna().all(axis=None)]
        if not whole:
            raise InputError(
                "stability must have two or more subjects with estimates of the same features for one measure; got "
                f"{len(self)} that have none in common."
            )
        parts = []
        for own in whole:
            place = own.rank(ascending=False)
            columns = {"rank_entropy": rank_entropy(own.T.to_numpy()), "median_rank": place.median(axis=1)}
            parts.append(pd.DataFrame({**columns, "lowest": place.min(axis=1), "highest": place.max(axis=1)}))
        return pd.concat(parts).reset_index()

    def __repr__(self) -> str:
        """Return the display of each view."""
        return "\n\n".join(f"{name}: {view!r}" for name, view in self.items())

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{name}</h4>{view._repr_html_()}" for name, view in self.items())


def _joined(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([table.assign(subject=name) for name, table in tables.items()], ignore_index=True).pipe(
        lambda whole: whole[["subject", *whole.columns.drop("subject")]]
    )


PAGE = "index.html"
_CAPTION = (
    "Each output has an audit of its own. The log score is the mean negative log-likelihood, in nats in the unit of "
    "its output: lower is better, and outputs of different units do not compare."
)


@answering
class AuditRuns(ByName[AuditRun]):
    """The audits of several outputs, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.multioutput import MultiOutputRegressor
    >>> from uq_report import audit, explain_outputs
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    >>> subjects = explain_outputs(MultiOutputRegressor(BayesianRidge()).fit(X, Y), X, Y)
    >>> runs = audit(subjects, explainers=["calibration"], progress=False)
    >>> list(runs), runs["1"].run.subject["label"]
    (['0', '1'], 'MultiOutputRegressor: output 1')
    """

    @property
    def findings(self) -> TextTable:
        """The open findings of all audits."""
        return TextTable(_joined({name: run.findings.to_frame() for name, run in self.items()}))

    def write(self, folder: str | Path, formats: Iterable[str] = FORMATS, **style: Unpack[Style]) -> Path:
        """Write each audit into a sub-folder of its output's name, and index.html over them; return the folder.

        See `AuditRun.write` for the arguments.
        """
        base, chosen, rows = Path(folder), names("report.formats", formats), []
        for name, run in self.items():
            place = file_stem(name)
            run.write(base / place, chosen, **style)
            files = report_names(chosen, style.get("template", "audit"), run.run.denied)
            rows.append(_row(name, run, tuple(Link(file, f"./{quote(place)}/{quote(file)}") for file in files)))
        document = Overview(
            title="Audits of all outputs",
            as_of=max((row.as_of for row in rows), default=""),
            generator=f"uq_report {plugins.versions(['uq_report']).get('uq_report', '')}".strip(),
            caption=_CAPTION,
            source="Made from the runs beside it",
            rows=tuple(rows),
        )
        page = render(None, "overview", document=document, paged=False)
        return run_folder.write_files(base, {PAGE: page.encode()})

    def __repr__(self) -> str:
        """Return the names of the outputs, and the recommendation for each."""
        return "\n".join(f"{clean(name)}: {rating(run.run.outcomes).text}" for name, run in self.items())


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
