"""How long blocks of rows in order of time must be, from the autocorrelation of what is averaged over them."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..engine.fast_path_evaluator import Engine
from ..model.measures import BRIER, ENTROPY, NLL, SQUARED_ERROR, VARIANCE
from ..model.subject import Subject
from ..statistics.inference import MIN_CLUSTERS
from ..statistics.time_blocks import Blocks, shortest_length, stationary_length
from ..support.arrays import FloatArray
from ..support.text import short

LONGER = 1.5  # times the length that is best for a variance: simulated, intervals of 95% cover 91-95%, not 88-94
_AVERAGED = (NLL, BRIER, SQUARED_ERROR, ENTROPY, VARIANCE)


class _Demand(NamedTuple):
    """The block length that a series asks for."""

    length: int
    series: str


def with_long_blocks(subject: Subject, rows: Engine) -> Subject:
    """Return the subject with blocks as long as the autocorrelation of its rows asks for.

    The longest of n^(1/3) and of 1.5 times the lengths of Politis & White (2004) for losses and uncertainties of the
    rows and for each feature, in order of time: an importance by permutation averages over donors too, and their values
    depend as the feature does. Theirs is best for the squared error of a variance; blocks that are too short make
    intervals too narrow, longer ones cost degrees of freedom only. A feature that only rises or only falls is left out,
    since it is time itself. At most n/20, so that 20 blocks show how blocks vary. The engine of its
    `rows` predicts them once for this; a length that was given stays.
    """
    blocks = subject.blocks
    if blocks is None or blocks.given:
        return subject
    averaged = [_demand(name, row) for name, row in _averaged(rows, blocks)]
    donated = [_demand(name, row) for name, row in _features(subject, blocks)]
    longest = max(*averaged, *donated, _Demand(1, ""), key=lambda demand: demand.length)
    least, most = shortest_length(subject.n), max(1, subject.n // MIN_CLUSTERS)
    wanted = max(longest.length, least)
    rule = "n^(1/3); nothing asks for more"
    if longest.length > least:
        rule = f"by the autocorrelation of {longest.series}"
        alone = max(least, *(demand.length for demand in averaged))
        rule += f"; losses and uncertainties alone ask for {alone}" if alone < min(longest.length, most) else ""
    if wanted > most:
        rule += f"; cut from {wanted} to leave {MIN_CLUSTERS} blocks, so intervals may be too narrow"
    return subject.in_blocks(replace(blocks, length=min(wanted, most), rule=rule, cut=wanted > most))


def _demand(series: str, values: FloatArray) -> _Demand:
    return _Demand(math.ceil(LONGER * stationary_length(values)), series)


def _averaged(engine: Engine, blocks: Blocks) -> Iterator[tuple[str, FloatArray]]:
    """Yield losses and uncertainties of the unchanged rows in order of time; one with infinite values is left out."""
    dist, has_y = engine.baseline, engine.subject.y is not None
    measures = [measure for measure in _AVERAGED if not measure.why_not(dist, has_y)]
    for measure, values in zip(measures, engine.unchanged(measures), strict=True):
        if np.isfinite(values).all():
            yield measure.title, values[blocks.order]


def _features(subject: Subject, blocks: Blocks) -> Iterator[tuple[str, FloatArray]]:
    """Yield the features in order of time as numbers, levels by their codes and missing values by the mean."""
    for name in subject.features:
        column = pd.Series(subject.values(name))
        numeric = subject.kinds[name] == "numeric"
        values = column.to_numpy(dtype=float, na_value=np.nan) if numeric else pd.factorize(column)[0].astype(float)
        known = np.isfinite(values)
        if not known.any():
            continue
        values = np.where(known, values, values[known].mean())[blocks.order]
        steps = np.diff(values)
        if not ((steps >= 0).all() or (steps <= 0).all()):
            yield f"feature {short(name)}", values
