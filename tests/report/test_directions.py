"""A measure of which smaller values mean less certain ranks as its opposite does."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, Measure
from uq_report.core.model.results import Importance, MeasureFacts, Result
from uq_report.document.document import Bullets, Document, Paragraph, Table
from uq_report.document.plots.importance import draw
from uq_report.evidence import ids
from uq_report.evidence.importance import ShapImportance, directed
from uq_report.evidence.information import AgreementView
from uq_report.evidence.run import Run
from uq_report.evidence.view import of_measure
from uq_report.methods.agreement.explain import Agreement
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.methods.shap.explain import ShapleyValues
from uq_report.reading.run_reader import RunReader
from uq_report.report.assemble import document
from uq_report.runner.provenance import described, measure_facts

from . import reading

pytestmark = pytest.mark.usefixtures("undrawn")

PRECISION = Measure(
    "precision",
    lambda dist, _y, _base: -dist.entropy(),
    "nats",
    "uncertainty",
    frozenset({"entropy"}),
    title="precision",
    direction="smaller",
)
MEASURES = {measure.name: measure for measure in (ENTROPY, PRECISION)}


@cache
def results() -> dict[str, Result]:
    """The importances of entropy and precision, and their ranks."""
    subject = testing.logistic_subject(150)
    engine = Engine(subject, MEASURES)
    facts = measure_facts(MEASURES.values(), engine.baseline)
    pfi = PermutationImportance(measures=tuple(MEASURES), n_repeats=5)
    shap = ShapleyValues(measures=tuple(MEASURES), n_rows=40, n_background=10)
    prior = {
        one.name: tuple(described(result, facts) for result in one.explain(subject, engine.bound(one.name), {}))
        for one in (pfi, shap)
    }
    agreement = Agreement().explain(subject, engine.bound(ids.AGREEMENT), prior)
    return {result.id: result for result in (*prior[ids.PFI], *prior[ids.SHAP], *agreement)}


@cache
def report(measure: str = "") -> Document:
    """The report of these results, or of one measure's importance alone."""
    if not measure:
        return document(holding(*results().values()), appendix="full")
    pfi = results()[ids.PFI]
    return document(
        holding(replace(pfi, estimates=pfi.estimates[pfi.estimates["measure"] == measure])), appendix="full"
    )


def holding(*results: Result) -> Run:
    return Run(as_of="2026-11-21", subject={}, settings={}, environment={}, results=results)


def table(measure: str, made: Document) -> Table:
    """The table of a measure of permutation importance."""
    (found,) = [b for b in reading.blocks(made) if isinstance(b, Table) and f": {measure}, " in b.caption]
    return found


def test_a_table_of_importance_is_read_from_below_and_says_so() -> None:
    precision, entropy = (table(measure, report(measure)) for measure in ("precision", "entropy"))
    assert [row[:2] for row in precision.rows] == [row[:2] for row in entropy.rows]
    assert ", lowest first: lower values mean less certain." in precision.caption
    numbers = [float(str(row[2]).partition(" ")[0].replace("−", "-")) for row in precision.rows]
    assert (np.diff(numbers) >= 0).all()
    assert numbers[0] < 0


def test_sentences_and_figures_are_read_from_below() -> None:
    section = reading.section(report("precision"), "result-pfi")
    (words,) = [block.items for block in section.blocks if isinstance(block, Bullets)]
    rows = table("precision", report("precision")).rows
    assert words[0].startswith(f"Precision: Lowest (lower values mean less certain): {rows[0][0]} −")
    order = [label.get_text() for label in draw(results()[ids.PFI], measure="precision").axes[0].get_yticklabels()]
    assert order == [row[0] for row in rows]


def test_the_chapter_says_whose_signs_are_reversed() -> None:
    (lead, *_) = reading.section(report(), "prediction").blocks
    assert isinstance(lead, Paragraph)
    assert "Signs are reversed for precision: lower values are worse or less certain." in lead.text


def ranks(measure: str, source: str) -> dict[str, tuple[float, float, float]]:
    lines = of_measure(AgreementView.from_result(results()[ids.AGREEMENT]).lines, measure)
    return {line.feature: (line.estimate, line.lower, line.upper) for line in lines if line.item == source}


def test_ranks_and_their_intervals_are_those_of_the_opposite() -> None:
    precision, entropy = (ranks(measure, ids.SHAP_IMPORTANCE) for measure in ("precision", "entropy"))
    assert [precision[name][0] for name in entropy] == [rank for rank, _, _ in entropy.values()]
    assert np.allclose([precision[name] for name in entropy], list(entropy.values()), atol=1)
    table = results()[ids.PFI].estimates.set_index(["measure", "feature"])["estimate"]
    from_below = table["precision"].rank(method="min").to_dict()
    assert {name: rank for name, (rank, *_) in ranks("precision", ids.PFI).items()} == from_below
    notes = " ".join(results()[ids.AGREEMENT].notes)
    assert "Lower values of precision are worse or less certain: there 1 is the smallest." in notes


def test_sizes_predictions_and_other_kinds_have_no_direction() -> None:
    facts = MeasureFacts("precision", "nats", "uncertainty", "smaller")
    shap = results()[ids.SHAP_IMPORTANCE]
    assert ShapImportance.from_result(shap).sizes
    assert directed(shap, facts).sign == 1
    assert directed(results()[ids.SHAP], facts).sign == 1
    pfi = results()[ids.PFI]
    assert isinstance(pfi, Importance)
    assert directed(pfi, facts).sign == -1
    assert directed(pfi, replace(facts, role="prediction")).sign == 1
    e = RunReader(holding(pfi))
    assert (e.words("precision").sign, e.words("precision", pfi).sign) == (-1, -1)
