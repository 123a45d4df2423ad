"""Numbers as text."""

from __future__ import annotations

import math

import numpy as np
import pytest

from uq_report.document.document import Badge, Cell, Column, Table
from uq_report.render.filters import rows
from uq_report.render.text import FORMATS, integer, number, percent, pvalue, show, show_column


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        (3, "3"),
        (0.5, "0.5"),
        (0.123456, "0.123"),
        (-12.3456, "−12.3"),
        (999.96, "1000"),
        (123456.7, "123\u202f457"),
        (0.00012345, "0.000123"),
        (0.000012345, "1.23×10⁻⁵"),
        (-12345678.9, "−1.23×10⁷"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (None, "–"),
        (np.float64(0.25), "0.25"),
    ],
)
def test_number_has_three_significant_digits_or_its_whole_part(value: float | None, text: str) -> None:
    assert number(value) == text


def test_a_rounded_value_never_differs_in_the_first_three_digits() -> None:
    for value in np.random.default_rng(0).lognormal(0, 5, 500):
        text = number(float(value)).replace("\u202f", "").replace("×10", "e")
        shown = float(text.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))
        assert shown == pytest.approx(value, rel=5.01e-3)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("value", [None, math.nan])
def test_a_missing_number_is_a_dash_in_every_format(kind: str, value: float | None) -> None:
    assert FORMATS[kind](value) == "–"
    assert show_column(Column("c", "number"), [value, 1.0]) == ["–", "1"]


def test_small_probabilities_are_never_zero() -> None:
    assert pvalue(0.0) == pvalue(0.00099) == "<\u00a00.001"
    assert pvalue(0.001) == "0.001"
    assert percent(0.0004) == "<\u00a00.1%"
    assert percent(-0.0004) == "0.0%"
    assert percent(1) == "100.0%"


def test_whole_numbers_are_grouped_from_five_digits_on() -> None:
    assert [integer(n) for n in (9999, 10000, -1234567, 2.0)] == ["9999", "10\u202f000", "−1\u202f234\u202f567", "2"]


@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        ([0.53, 0.0421, -0.00031, 0.0], ["0.530", "0.0421", "−0.0003", "0.000"]),
        ([-0.00001, 0.9], ["0.0000", "0.900"]),
        ([152.31, 12.08, 0.031], ["152", "12.1", "0.0310"]),
        ([3200.0, 12.0], ["3200", "12"]),
        ([2e-7, 1e-9], ["2×10⁻⁷", "1×10⁻⁹"]),
        ([0.5, 200, "none", None, True, Badge("x")], ["0.500", "200", "none", "–", "yes", "x"]),
        ([math.inf, 0.5], ["∞", "0.500"]),
    ],
)
def test_a_column_shares_its_decimals(cells: list[Cell], texts: list[str]) -> None:
    assert show_column(Column("c", "number"), cells) == texts


def test_the_columns_of_an_interval_and_its_estimate_have_the_digits_that_it_allows() -> None:
    columns = [Column(label, "number") for label in ("other", "importance", "std. error", "95% from", "to")]
    table = Table(id="t", caption="c", columns=tuple(columns), rows=((0.12345, 0.02241, 0.00263, 0.0172, 0.0276),))
    assert [shown.text for shown in rows(table)[0]] == ["0.123", "0.022", "0.003", "0.017", "0.028"]
    without = Table(id="t", caption="c", columns=tuple(columns), rows=((0.12345, 0.02241, None, None, None),))
    assert [shown.text for shown in rows(without)[0]] == ["0.123", "0.0224", "–", "–", "–"]


def test_kinds_choose_the_format() -> None:
    assert show_column(Column("c", "percent"), [0.5, None]) == ["50.0%", "–"]
    assert show_column(Column("c", "text"), ["a", 2, False]) == ["a", "2", "no"]
    assert show(0.0001, "pvalue") == "<\u00a00.001"
