"""One observation: why it is predicted so, how sure the model is, how typical it is, and what would change it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.support.calls import answering
from ..core.support.errors import InputError, check_choice
from ..core.support.numbers import number
from ..document.plots.picture import SUFFIXES, pictured, save_figure
from ..document.plots.style import Figure
from ..evidence import run_folder
from ..report.kinds.case import case_document, case_figure, domain_words
from ..runner.cases import CaseFacts
from ..runner.settings import logical_date
from .reports import FORMATS, renderers
from .showing import show_page
from .tables import TextTable, as_table
from .views import ResultView

KINDS = ("case", "attributions")


@answering
class Case:
    """One observation, as tables, figures and a sheet of one page.

    Attributes
    ----------
    decision : str
        Empty where none is defined.
    measures, distribution, profiles, neighbours, changes, groups : pandas.DataFrame
        Prediction and uncertainty with their percentiles in the test sample; the predictive distribution; profiles of
        all features through the observation; the nearest training observations; the smallest change of each feature
        that changes the decision or the uncertainty; the observation among all, those of the same decision, and its
        protected groups.
    domain : DomainFacts or None
        Whether it is within the training domain.
    notes : tuple of str
    """

    def __init__(self, facts: CaseFacts, as_of: str = "") -> None:
        self._facts = facts
        self._as_of = as_of or logical_date()
        self.decision, self.domain, self.notes = facts.decision, facts.domain, facts.notes
        self.measures, self.distribution = TextTable(facts.measures), TextTable(facts.distribution)
        self.profiles, self.neighbours = facts.profiles, facts.neighbours
        self.changes, self.groups = TextTable(facts.changes), TextTable(facts.groups)

    @property
    def attributions(self) -> ResultView:
        """Shapley values of the observation."""
        if not self._facts.attributions:
            raise InputError(f"case.attributions must have been computed; they were not: {' '.join(self.notes)}")
        return ResultView(self._facts.attributions)

    @property
    def frame(self) -> pd.DataFrame:
        """All numbers in one tidy table: part, item, measure, value and text."""
        facts = self._facts
        rows: list[tuple[str, str, str, float | None, str]] = [("decision", "", "", None, facts.decision)]
        rows += [("value", f, "", None, str(v)) for f, v in facts.values.itertuples(index=False)]
        rows += [("distribution", item, "", value, "") for item, value in facts.distribution.itertuples(index=False)]
        for part, column in (("measure", "value"), ("percentile", "percentile")):
            rows += [(part, "", line["measure"], line[column], "") for line in facts.measures.to_dict("records")]
        for result in facts.attributions[:1]:
            for line in result.frame.to_dict("records"):
                rows.append(("attribution", line["feature"], line["measure"], line["value"], ""))
        if facts.domain is not None:
            rows += [("domain", "distance", "", facts.domain.distance, domain_words(facts))]
        for line in facts.changes.to_dict("records"):
            text = f"{line['from']} -> {line['to']}: {line['result']}"
            rows.append((f"change of {line['changes']}", line["feature"], "", line["size"], text))
        for line in facts.groups.to_dict("records"):
            rows.append(("percentile in group", line["group"], line["measure"], line["percentile"], f"n = {line['n']}"))
        return pd.DataFrame(rows, columns=["part", "item", "measure", "value", "text"])

    def plot(self, kind: str = "case", **choice: Any) -> Figure:
        """Return a figure: ``"case"`` (distribution, percentiles, profiles) or ``"attributions"`` (Shapley values)."""
        check_choice("plot.kind", kind, KINDS)
        if kind == "attributions":
            return self.attributions.plot(**choice)
        return pictured(case_figure(self._facts))

    def render(self, format: str = "html") -> bytes:
        """Return the case sheet as ``"html"`` or ``"pdf"``."""
        known = {renderer.name: renderer for renderer in renderers() if renderer.name in FORMATS}
        check_choice("render.format", format, sorted(known))
        csv = self.frame.to_csv(index=False).encode()
        content: bytes = known[format]().render(case_document(self._facts, self._as_of, csv))
        return content

    def save(self, path: str | Path) -> Path:
        """Write the case sheet (.html, .pdf), its figure (.svg, .png) or all numbers (.csv) by the suffix."""
        place = Path(path)
        if place.suffix[1:] in FORMATS:
            content = self.render(place.suffix[1:])
        elif place.suffix == ".csv":
            content = self.frame.to_csv(index=False).encode()
        elif place.suffix in SUFFIXES:
            return save_figure(self.plot(), place)
        else:
            raise InputError(f"save.path must end in .html, .pdf, .csv, .svg or .png; got {place.name!r}.")
        run_folder.write_files(place.parent, {place.name: content})
        return place

    def show(self) -> None:
        """Show the case sheet below the notebook's cell, else in the browser."""
        show_page(self.render("html"))

    def __repr__(self) -> str:
        """Return prediction and uncertainty, and no value of the data."""
        lines = [f"{line['title']}: {number(line['value'])} {line['unit']}" for line in self._lines]
        decided = f"Decision: {self.decision}. " if self.decision else ""
        return f"Case {self._facts.label}. {decided}{'; '.join(lines)}. Training domain: {self._place}."

    def _repr_html_(self) -> str:
        table = pd.DataFrame(self._lines)[["title", "value", "unit", "percentile"]]
        decided = f"Decision: {escape(self.decision)}. " if self.decision else ""
        head = f"<p><strong>Case {self._facts.label}</strong>. {decided}Training domain: {self._place}.</p>"
        return head + as_table(table)

    @property
    def _lines(self) -> list[dict[str, Any]]:
        table = self._facts.measures
        return [{str(k): v for k, v in line.items()} for line in table[table["role"] != "loss"].to_dict("records")]

    @property
    def _place(self) -> str:
        return "not assessed" if self.domain is None else "inside" if self.domain.inside else "outside"
