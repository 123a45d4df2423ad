"""What a run keeps of values row by row: all of few rows, of many a random sample that says so.

Explainers, rules and the comparison of two models read the values of all rows; after them only the comparison with a
later run does, which needs how the terms of one run go with those of the other. A sample of s rows gives the standard
error of such a difference up to a share of 1/√(2s).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.model.results import Result, RowSample, RowValues
from ..core.support.arrays import IntArray
from ..evidence import codec
from ..evidence.run import Run
from .differences import LEAST

MOST_ROWS, LEAST_ROWS = 2000, LEAST  # kept of a result, where it has as many
NUMBERS = 100_000  # of a result, unless `LEAST_ROWS` are more


def with_kept_rows(run: Run) -> Run:
    """Return the run, and its challenger, with row values of a sample of the rows where there are many."""
    challenger = None if run.challenger is None else with_kept_rows(run.challenger)
    return replace(run, results=tuple(map(_kept, run.results)), challenger=challenger)


def as_saved(result: Result) -> Result:
    """Return a result exactly as run.json will give it back, but row values of which it will keep a sample as they are.

    To round them would cost more than most explainers do. Infinite ones are refused as any others.
    """
    rows = result.rows
    if rows is None or rows.n <= _most(rows) or np.isinf(rows.values).any():
        return codec.as_saved(result)
    return replace(codec.as_saved(replace(result, rows=None)), rows=rows)


def kept_rows(n: int, most: int) -> IntArray:
    """Return which `most` of n rows are kept, ascending.

    They are those of the smallest of independent uniform keys, which n alone decides: two runs of the same rows keep
    the same, and a smaller sample lies within a larger one.

    Examples
    --------
    >>> kept_rows(5, 2).tolist(), set(kept_rows(9, 3)) <= set(kept_rows(9, 5))
    ([3, 4], True)
    """
    keys = np.random.default_rng(n).random(n)
    return np.sort(np.argsort(keys, kind="stable")[:most])


def _kept(result: Result) -> Result:
    rows = result.rows
    if rows is None or rows.sample is not None:
        return result
    n, most = rows.n, _most(rows)
    if n <= most:
        return result
    at = kept_rows(n, most)
    sample = RowSample(n, at, rows.values.mean(axis=2))
    note = f"Of the values row by row, run.json keeps those of {most:,} of the {n:,} rows, drawn at random."
    few = replace(rows, values=rows.values[:, :, at], sample=sample)
    return codec.as_saved(replace(result, rows=few, notes=(*result.notes, note)))


def _most(rows: RowValues) -> int:
    """Return of how many rows values are kept."""
    return min(MOST_ROWS, max(LEAST_ROWS, NUMBERS // max(1, len(rows.measures) * len(rows.features))))
