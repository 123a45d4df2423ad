"""Numbers as text."""

from __future__ import annotations

import math

import numpy as np
import pytest

from uq_report.document.document import Badge, Cell, Column
from uq_report.render.formats import FORMATS, integer, number, percent, pvalue, show, show_column


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        (3, "3"),
        (0.5, "0.5"),
        (0.123456, "0.1235"),
        (-12.3456, "−12.35"),
        (999.96, "1000"),
        (123456.7, "123\u202f457"),
        (0.00012345, "0.0001234"),
        (0.000012345, "1.234\u00a0×\u00a010⁻⁵"),
        (-12345678.9, "−1.235\u00a0×\u00a010⁷"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (None, "–"),
        (np.float64(0.25), "0.25"),
    ],
)
def test_number_has_four_significant_digits(value: float | None, text: str) -> None:
    assert number(value) == text


def test_a_rounded_value_never_differs_in_the_first_four_digits() -> None:
    for value in np.random.default_rng(0).lognormal(0, 5, 500):
        text = number(float(value)).replace("\u202f", "").replace("\u00a0×\u00a010", "e")
        shown = float(text.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))
        assert shown == pytest.approx(value, rel=5.01e-4)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("value", [None, math.nan])
def test_a_missing_number_is_a_dash_in_every_format(kind: str, value: float | None) -> None:
    assert FORMATS[kind](value) == "–"
    assert show_column(Column("c", "number"), [value, 1.0]) == ["–", "1"]


def test_small_probabilities_are_never_zero() -> None:
    assert pvalue(0.0) == pvalue(0.00099) == "<\u00a00.001"
    assert pvalue(0.001) == "0.001"
    assert percent(0.0004) == "<\u00a00.1\u00a0%"
    assert percent(-0.0004) == "0.0\u00a0%"
    assert percent(1) == "100.0\u00a0%"


def test_whole_numbers_are_grouped_from_five_digits_on() -> None:
    assert [integer(n) for n in (9999, 10000, -1234567, 2.0)] == ["9999", "10\u202f000", "−1\u202f234\u202f567", "2"]


@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        ([0.53, 0.0421, -0.00031, 0.0], ["0.5300", "0.0421", "−0.0003", "0.0000"]),
        ([-0.00001, 0.9], ["0.0000", "0.9000"]),
        ([152.31, 12.08, 0.031], ["152.3", "12.1", "0.0310"]),
        ([3200.0, 12.0], ["3200", "12"]),
        ([2e-7, 1e-9], ["2\u00a0×\u00a010⁻⁷", "1\u00a0×\u00a010⁻⁹"]),
        ([0.5, 200, "none", None, True, Badge("x")], ["0.5000", "200", "none", "–", "yes", "x"]),
        ([math.inf, 0.5], ["∞", "0.5000"]),
    ],
)
def test_a_column_shares_its_decimals(cells: list[Cell], texts: list[str]) -> None:
    assert show_column(Column("c", "number"), cells) == texts


def test_kinds_choose_the_format() -> None:
    assert show_column(Column("c", "percent"), [0.5, None]) == ["50.0\u00a0%", "–"]
    assert show_column(Column("c", "text"), ["a", 2, False]) == ["a", "2", "no"]
    assert show(0.0001, "pvalue") == "<\u00a00.001"
