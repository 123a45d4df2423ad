"""A view reads all of its result: its columns are fields, its facts are fields, both ways."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.results import Result
from uq_report.core.support.errors import InputError
from uq_report.evidence import (
    comparisons,
    ids,
    importance,
    information,
    outcomes,
    profiles,
    rows,
    segments,
    selective,
)
from uq_report.evidence.view import View, table_of

from .runs import runs

MODULES = (comparisons, rows, importance, information, outcomes, profiles, rows, segments, selective)
VIEWS: dict[str, type[View[Any]]] = {
    part.id: part
    for module in MODULES
    for part in vars(module).values()
    if isinstance(part, type) and issubclass(part, View) and part.id
}
EXPLAINERS_ONLY = {ids.DALEX, ids.GIVEN_SHAP}  # it gives parts and no result of its own name
OF_VERBS = {
    ids.SHAP_INTERACTION,
    ids.PDP_INTERACTION,
    ids.PFI_BEFORE_AFTER,
    ids.PFI_PERMUTED,
    ids.RSENS_ALONG,
    ids.CID_SETS,
}  # no section reads them
AS_TABLES = {
    ids.AGREEMENT_PAIRS,
    ids.AGREEMENT_STABILITY,
    ids.CID_CORRECTED,
    ids.DALEX_PARTS,
    ids.DALEX_PERFORMANCE,
    ids.DALEX_ROWS,
    ids.PFI_TRAIN,
    ids.PFI_UNCERTAINTY,
    ids.RSENS_COMPARATORS,
    ids.RSENS_INTERACTION,
    ids.SEGMENTS_ROWS,
}  # sections read their tables by the columns that all results of a kind have
RUNS = ["normal", "logistic", "over-confident", "two models", "members"]


def line_of(view: type[View[Any]]) -> Any:
    return view.line_type()


def facts_of(view: type[View[Any]]) -> dict[str, Any]:
    return {field.name: field for field in fields(view) if field.name not in ("result", "lines")}


def required(found: Any) -> set[str]:
    return {one.name for one in found if one.default is MISSING and one.default_factory is MISSING}


def results() -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for run in runs().values():
        for result in run.results:
            found.setdefault(result.id, []).append(result)
    return found


def test_every_id_has_a_view_and_a_result_somewhere() -> None:
    named = {value for name, value in vars(ids).items() if name.isupper() and name not in ("SITE", "METHOD_PAGES")}
    known = named - EXPLAINERS_ONLY - OF_VERBS
    assert set(VIEWS) == known - AS_TABLES
    assert known - {ids.CALIBRATION_GRADES, ids.SEGMENTS_PERIODS} <= set(results())  # of grades and a time


def viewed(name: str) -> list[tuple[Result, type[View[Any]]]]:
    return [(result, VIEWS[result.id]) for result in runs()[name].results if result.id not in AS_TABLES]


@pytest.mark.parametrize("name", RUNS)
def test_a_view_reads_all_columns_and_facts_of_its_result(name: str) -> None:
    for result, view in viewed(name):
        columns, names = set(result.estimates.columns), {field.name for field in fields(line_of(view))}
        assert columns <= names, result.id
        assert required(fields(line_of(view))) <= columns, result.id
        assert set(result.meta) <= set(facts_of(view)), result.id
        assert required(facts_of(view).values()) <= set(result.meta), result.id


@pytest.mark.parametrize("name", RUNS)
def test_the_lines_are_the_estimates(name: str) -> None:
    for result, view in viewed(name):
        lines = view.from_result(result).lines
        table = table_of(lines, line_of(view))[list(result.estimates.columns)]
        for column in table.columns:
            ours, theirs = table[column], result.estimates[column]
            if ours.dtype.kind in "fiub":
                np.testing.assert_array_equal(ours.to_numpy(float), pd.to_numeric(theirs).to_numpy(float), result.id)
            else:
                assert ours.tolist() == ["" if pd.isna(cell) else str(cell) for cell in theirs], result.id


def test_a_result_that_lacks_a_column_is_refused_by_name() -> None:
    pfi = next(result for result in runs()["normal"].results if result.id == ids.PFI)
    with pytest.raises(InputError, match=r"pfi\.estimates must have the columns \['verdict'\]"):
        importance.Pfi.from_result(replace(pfi, estimates=pfi.estimates.drop(columns="verdict")))
