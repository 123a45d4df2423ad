"""What is let pass without its tables being made can be made, and what cannot be made is told before it is tried."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from uq_report.core.model.results import RowSample
from uq_report.core.support.errors import InputError
from uq_report.evidence import codec

from ..ops import store_runs

Change = Callable[[dict[str, Any]], object]


@cache
def content() -> dict[str, Any]:
    """Return a run whose first result has values of a sample of its rows."""
    result = store_runs.importance()
    assert result.rows is not None
    rows = replace(result.rows, sample=RowSample(9, np.array([2, 7]), np.zeros((1, 4))))
    return codec.encode(replace(store_runs.run(), results=(replace(result, rows=rows),)))


def changed(change: Change) -> dict[str, Any]:
    other = copy.deepcopy(content())
    result = other["results"][0]
    change(
        {
            **result,
            "text": result["frame"]["columns"][0],
            "whole": result["frame"]["columns"][2],
            "truth": next(c for c in result["estimates"]["columns"] if c["dtype"] == "bool"),
            "number": result["frame"]["columns"][3],
        }
    )
    return other


def test_a_run_as_written_is_readable() -> None:
    assert codec.encode(codec.read(content())) == content()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r["frame"].update(rows=11), "rows must be the size of what follows, 12; got 11"),
        (lambda r: r["frame"]["columns"].append(r["text"]), "columns must be the size"),
        (lambda r: r["frame"]["columns"].pop(), r"pfi\.frame must have the columns"),
        (lambda r: r["estimates"]["columns"].pop(0), r"pfi\.estimates must have the columns"),
        (lambda r: r["text"]["codes"].__setitem__(3, len(r["text"]["levels"])), "codes must be positions among 1 lev"),
        (lambda r: r["text"].update(dtype="int64"), "must have values of its dtype; got int64"),
        (lambda r: r["whole"].update(dtype="object"), "must have values of its dtype; got object"),
        (lambda r: r["whole"]["values"].__setitem__(5, None), "values must be of dtype int64"),
        (lambda r: r["whole"]["values"].__setitem__(5, 2.5), "values must be of dtype int64"),
        (lambda r: r["whole"].update(dtype="int8", values=[128] * 12), "values must be of dtype int8"),
        (lambda r: r["whole"].update(dtype="uint8", values=[-1] * 12), "values must be of dtype uint8"),
        (lambda r: r["truth"]["values"].__setitem__(0, 2), "values must be of dtype bool"),
        (lambda r: r["number"].update(dtype="float16", values=[7e4] * 12), "values must be of dtype float16"),
        (lambda r: r["rows"]["shape"].__setitem__(0, 2), "shape must be the size"),
        (lambda r: r["rows"]["values"].pop(), "shape must be the size"),
        (lambda r: r["rows"]["sample"]["means"].pop(), r"sample\.means must be the size"),
        (lambda r: r["rows"]["sample"].update(positions=[7, 2]), r"sample\.positions must be 2 ascending"),
        (lambda r: r["rows"]["sample"].update(positions=[2, 9]), r"sample\.positions must be 2 ascending"),
        (lambda r: r["rows"]["sample"].update(positions=[2]), r"sample\.positions must be 2 ascending"),
    ],
)
def test_tables_that_cannot_be_made_are_told(change: Change, words: str) -> None:
    with pytest.raises(InputError, match=words):
        codec.read(changed(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r["whole"].update(dtype="int8", values=[127, -128] * 6),
        lambda r: r["whole"].update(dtype="uint8", values=[0, 255] * 6),
        lambda r: r["number"].update(dtype="float16", values=[6.5e4, None] * 6),
        lambda r: r["rows"]["sample"].update(positions=[2, 8]),
    ],
)
def test_what_just_fits_is_readable(change: Change) -> None:
    codec.read(changed(change))


def test_a_state_that_its_findings_contradict_is_told() -> None:
    other = copy.deepcopy(content())
    next(outcome for outcome in other["outcomes"] if outcome["state"] == "found")["findings"] = []
    with pytest.raises(InputError, match="contradicts 0 findings"):
        codec.read(other)
