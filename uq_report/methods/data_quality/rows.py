"""Rows that occur twice: within the audited rows, and in the training rows as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...core.arrays import BoolArray, FloatArray, IntArray, Table
from ...core.subject import Subject
from ...evidence.rows import DISTINCTIVE, DUPLICATE_ROWS, OVERLAP, OVERLAP_OTHER_Y
from .columns import LEAST_VALUES, Fact

CHANCE = 0.01


class Keys(NamedTuple):
    """A code for every row of the audited and of the training rows; equal rows share it.

    `distinctive` says of audited rows that chance does not explain a copy.
    """

    test: IntArray
    train: IntArray
    distinctive: BoolArray


def keys(subject: Subject) -> Keys:
    """Compare whole rows; a missing value equals a missing value.

    A copy is distinctive if fewer than 0.01 other rows are expected to share the row's values in the finely
    graded columns (more than 20 different numbers or dates), had these been filled independently: in
    coarse tables different cases look alike, and their equality says nothing.
    """
    tables = [_frame(subject.X)] + ([] if subject.train is None else [_frame(subject.train[0])])
    both = pd.concat(tables, ignore_index=True)
    codes = np.column_stack([pd.factorize(both[name], use_na_sentinel=False)[0] for name in both])
    rows = pd.DataFrame(codes)
    keys = np.asarray(rows.groupby(list(rows.columns), sort=False).ngroup(), dtype=np.int64)
    expected = _coincidences(subject, codes)
    return Keys(keys[: subject.n], keys[subject.n :], expected[: subject.n] <= CHANCE)


def row_facts(subject: Subject) -> Iterator[Fact]:
    """Yield the facts about copied rows, each for all rows and for the distinctive ones."""
    codes = keys(subject)
    masks = {DUPLICATE_ROWS: _again(codes.test, subject.clusters)}
    if subject.train is not None:
        inside = np.isin(codes.test, codes.train)
        masks |= {OVERLAP: inside, OVERLAP_OTHER_Y: inside & _other_target(subject, codes)}
    for measure, mask in masks.items():
        yield Fact(measure, "", "all", int(mask.sum()), subject.n)
        yield Fact(measure, "", DISTINCTIVE, int((mask & codes.distinctive).sum()), subject.n)


def _again(codes: IntArray, clusters: IntArray | None) -> BoolArray:
    """Return the rows that repeat an earlier row; of another cluster, where there are clusters."""
    frame = pd.DataFrame({"key": codes, "cluster": 0 if clusters is None else clusters})
    if clusters is None:
        return frame.duplicated().to_numpy()
    first = frame.groupby("key")["cluster"].transform("first")
    return (frame["cluster"] != first).to_numpy() & ~frame.duplicated().to_numpy()


def _other_target(subject: Subject, codes: Keys) -> BoolArray:
    """Return the audited rows none of whose copies among the training rows has the same y."""
    if subject.train is None or subject.train[1] is None or subject.y is None:
        return np.zeros(subject.n, dtype=bool)
    outcomes = [np.asarray(y).astype(object) for y in (subject.y, subject.train[1])]
    targets = pd.factorize(np.concatenate(outcomes))[0]
    train = pd.MultiIndex.from_arrays([codes.train, targets[subject.n :]])
    return ~pd.MultiIndex.from_arrays([codes.test, targets[: subject.n]]).isin(train)


def _coincidences(subject: Subject, codes: IntArray) -> FloatArray:
    """Return the expected number of other rows that share each row's values in the finely graded columns."""
    expected = np.full(len(codes), float(len(codes)))
    for position, name in enumerate(subject.features):
        column = codes[:, position]
        counts = np.bincount(column)
        if subject.kinds[name] != "categorical" and len(counts) > LEAST_VALUES:
            expected *= counts[column] / len(codes)
    return expected


def _frame(X: Table) -> pd.DataFrame:
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    return pd.DataFrame({position: frame.iloc[:, position] for position in range(frame.shape[1])})
