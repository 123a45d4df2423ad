"""How many rows pairs of R-sens are computed on.

With a spread of 1, R-sens₂ of two columns is the size of the mean's second derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.arrays import FloatArray, Table
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.rsens.explain import RSens

N, FIRST = 150, 25
X = np.random.default_rng(0).normal(size=(N, 3))
PAIRS = ((0, 1), (0, 2), (1, 2))


def subject(f: Callable[[FloatArray], FloatArray], rows: Table = X, **options: Any) -> Subject:
    return make_subject(lambda T: Normal(f(np.asarray(T, dtype=float)), 1.0), FunctionAdapter(), rows, **options)


def three(rows: FloatArray) -> FloatArray:
    """Every pair bends by the third column."""
    return np.asarray(rows.prod(axis=1))


def pairs_of(of: Subject, **options: Any) -> Result:
    engine = Engine(of, testing.measures()).bound("rsens")
    results = RSens(comparators=False, shared_unit=True, **options).explain(of, engine, {})
    return next(result for result in results if result.id == "rsens.interaction")


def first_rows(of: Subject) -> Any:
    return Engine(of, {}).bound("rsens").rng("pairs").permutation(of.n)[:FIRST]


def worst_error(rows: FloatArray) -> float:
    """Return the largest standard error of the three pairs, in units of the largest mean per spread."""
    spreads = X.std(axis=0)
    lengths = np.stack([np.abs(rows[:, 3 - a - b]) * spreads[a] * spreads[b] for a, b in PAIRS])
    errors = lengths.std(axis=1, ddof=1) / np.sqrt(lengths.shape[1])
    return float(errors.max() / lengths.mean(axis=1).max())


def check_rows(found: Result, count: int) -> None:
    used = np.array(found.meta["rows_used"])
    assert len(used) == count
    assert (np.diff(used) > 0).all()
    assert found.rows is not None
    bends = np.abs(X[used][:, [2, 1, 0]]).T
    np.testing.assert_allclose(found.rows.values[0], bends, atol=1e-5)
    line = found.estimates[found.estimates["measure"] == "rsens2"]
    np.testing.assert_allclose(line["estimate"], bends.mean(axis=1), atol=1e-5)
    np.testing.assert_allclose(line["std_error"], bends.std(axis=1, ddof=1) / np.sqrt(count), rtol=1e-4)


@pytest.mark.parametrize(
    ("times", "rows"), [(0.999, FIRST), (1.001, 2 * FIRST), (1.999, 2 * FIRST), (2.001, 4 * FIRST), (4.001, N)]
)
def test_rows_are_doubled_until_the_first_show_that_errors_are_small_enough(times: float, rows: int) -> None:
    """`times` as many rows as the first have are needed, where errors fall with the root of their number."""
    of = subject(three)
    first = first_rows(of)
    found = pairs_of(of, pair_rel_tol=worst_error(X[first]) / np.sqrt(times))
    check_rows(found, rows)
    assert set(first) <= set(found.meta["rows_used"])
    told = [note for note in found.notes if note.startswith("Pairs are computed on")]
    (means,) = [note for note in found.notes if note.startswith("Means over")]
    if rows == N:
        assert told == []
        assert means.startswith(f"Means over {N} observations;")
    else:
        assert told[0].startswith(
            f"Pairs are computed on {rows} of {N} observations, drawn at random and chosen so that, from {FIRST} of "
            "them, "
        )
        assert means.startswith(f"Means over a random sample of {rows} of {N} observations;")


def test_all_rows_are_used_on_request_and_where_there_are_few() -> None:
    check_rows(pairs_of(subject(three), pair_rel_tol=0.0), N)
    few = pairs_of(subject(three, X[:FIRST]))
    assert few.meta["rows_used"] == [*range(FIRST)]
    with pytest.raises(InputError, match=r"rsens.pair_rel_tol must be a number >= 0; got -0.1"):
        RSens(pair_rel_tol=-0.1)


def test_a_bend_that_is_alike_everywhere_needs_the_first_rows_only() -> None:
    found = pairs_of(subject(lambda rows: 3 * rows[:, 0] * rows[:, 1]))
    assert len(found.meta["rows_used"]) == FIRST
    assert found.estimates.loc[found.estimates["measure"] == "rsens2", "estimate"].round(5).tolist() == [3, 0, 0]


def test_bends_that_the_first_rows_do_not_show_are_looked_for_in_all() -> None:
    assert pairs_of(subject(lambda rows: rows.sum(axis=1))).meta["rows_used"] == [*range(N)]


def test_rows_without_a_value_or_with_a_weight_keep_their_place() -> None:
    rows = pd.DataFrame(X, columns=list("abc"))
    rows.loc[::3, "a"] = np.nan
    weights = np.linspace(0.5, 1.5, N)
    of = subject(lambda T: np.nan_to_num(T[:, 0]) * T[:, 1] * T[:, 2], rows, sample_weight=weights)
    found = pairs_of(of, pair_rel_tol=0.14)
    used = np.array(found.meta["rows_used"])
    assert FIRST <= len(used) < N
    kept = used[used % 3 != 0]
    first = found.estimates.iloc[0]
    assert first[["measure", "feature", "feature_2"]].tolist() == ["rsens2", "a", "b"]
    assert first["estimate"] == pytest.approx(np.average(np.abs(X[kept, 2]), weights=weights[kept]), abs=1e-5)


def rectified(width: int, smooth: bool) -> Callable[[FloatArray], FloatArray]:
    """Return a network of one layer of rectified-linear units, or of softplus units, which have no kinks."""
    rng = np.random.default_rng(0)
    weights, shift, out = rng.normal(size=(3, width)), rng.normal(size=width), rng.normal(size=width) / width**0.5

    def mean(rows: FloatArray) -> FloatArray:
        z = rows @ weights + shift
        return np.asarray((np.logaddexp(0.0, z) if smooth else np.maximum(z, 0.0)) @ out)

    return mean


@pytest.mark.parametrize("width", [8, 40, 400])
def test_a_mean_that_kinks_make_is_left_out_and_said(width: int) -> None:
    """Second derivatives of a rectified-linear network are 0 almost everywhere."""
    rows = np.random.default_rng(1).normal(size=(400, 3))
    found = pairs_of(subject(rectified(width, smooth=False), rows), pair_rel_tol=0.0)
    kinked = {gap.feature for gap in found.omissions if "from kinks" in gap.reason or "do not converge" in gap.reason}
    listed = found.estimates[found.estimates["measure"] == "rsens2"]
    assert len(kinked) + len(listed) == 3
    assert (listed["estimate"] < 1e-6).all()
    assert kinked
    smooth = pairs_of(subject(rectified(width, smooth=True), rows), pair_rel_tol=0.0)
    assert not smooth.omissions
