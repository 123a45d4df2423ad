"""Near copies: audited observations that lie far closer to one training observation than to any other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import Diagnostic
from ...core.model.sampling import Sampling
from ...core.statistics.score_intervals import newcombe, normal_quantile
from ...core.support.arrays import FloatArray, IntArray
from ...evidence import ids
from ..shared.estimates import diagnostic, estimate
from .space import ROUNDING, Paired, RowsInSpace, Space

POINT = 0.01  # share of the training observations whose ratio of distances is at most the limit
SURELY = 0.995  # one-sided level of the least excess
MOST_REFERENCE = 20_000  # training observations that neighbours are looked for among
PAIRS = 20_000_000  # distances, for each of both samples
LEAST_JUDGED = 500  # observations of each sample, where there are as many
MEASURE = "near_copies"


def distance_ratios(space: Space, rows: RowsInSpace, own: IntArray | None = None) -> FloatArray:
    """Return the distance to the nearest reference row over that to the second nearest, shape (n,); 1 if both are 0.

    `own` has the position of each row among the reference rows, which then is no neighbour of itself.
    """
    nearest = space.smallest(rows, 2, own)
    rounding = ROUNDING * (1 + np.square(space.whitened(rows.numbers)).sum(axis=1))
    nearest[nearest <= rounding[:, None]] = 0.0
    first, second = nearest.T
    return np.sqrt(np.divide(first, second, out=np.ones(len(first)), where=second > 0))


def near_copies(columns: Sequence[Paired], engine: Engine) -> Diagnostic:
    """Return the result ``support.copies``.

    A ratio of distances has no scale, so it is the same where observations are dense and where they are few, and under
    a shift of the audited observations. The limit is the 1 % point of the ratio of training observations, each without
    itself; the share of audited observations at or below it, less that of training observations, is the excess.
    """
    n_train, sampling = len(columns[0].train), Sampling.of(engine.subject)
    reference = np.sort(engine.rng("copies").permutation(n_train)[:MOST_REFERENCE])
    space = Space(columns, reference, whiten=False)
    most = max(LEAST_JUDGED, PAIRS // len(reference))
    trained = np.sort(engine.rng("trained").permutation(len(reference))[:most])
    counted = np.flatnonzero(sampling.weights > 0)
    rows = np.sort(engine.rng("audited").permutation(counted)[:most])
    among_train = distance_ratios(space, space.train.take(reference[trained]), trained)
    limit = float(np.quantile(among_train, POINT, method="inverted_cdf"))
    own, part = (distance_ratios(space, space.test.take(rows)) <= limit).astype(float), sampling.part(rows)
    share, error = (float(number) for number in part.mean(own))
    share_train = float((among_train <= limit).mean())
    shares = share, part.effective_n(share, error), share_train, float(len(trained))
    ends, (least, _) = (newcombe(*shares, normal_quantile(level)) for level in (engine.confidence, 2 * SURELY - 1))
    line = estimate(share - share_train, np.nan, ends, engine.confidence, MEASURE)
    line |= {"covers": "new test and training samples", "item": "near copies", "n": len(rows), "share": share}
    sampled = f"{len(reference)} of {n_train} training observations, drawn at random, were searched."
    return diagnostic(
        ids.SUPPORT_COPIES,
        "Observations that are near copies of training observations",
        [line | {"share_train": share_train, "least": least, "ratio": limit, "n_train": len(trained)}],
        ("item", "n", "share", "share_train", "least", "ratio", "n_train"),
        x="share",
        notes=(
            (
                "Ratio of the distances to the nearest and the second nearest training observation: columns in "
                "standard deviations of the training sample, a level that differs counts 1."
            ),
            f"A near copy has a ratio of at most {limit:.3g}, the {100 * POINT:g} % point of training observations.",
            *((sampled,) if len(reference) < n_train else ()),
            *sampling.notes(),
        ),
    )
