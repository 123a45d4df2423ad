"""Permutation importance within clusters: what differs inside them, by closed forms and by all pairs."""

from typing import Any

import numpy as np
import pytest

from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal

from .pfi_cases import explained, line, repeats, subject

C, SIZE = 24, 4
CODES = np.random.default_rng(0).permutation(np.repeat(np.arange(C), SIZE))


def sums(X: FloatArray) -> Normal:
    return Normal(X.sum(axis=1), np.ones(len(X)))


def visits(**options: Any) -> Any:
    """Return rows whose first feature is the cluster's, whose second differs inside clusters, with y = their sum."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=C)[CODES], rng.normal(size=C * SIZE)])
    return subject(sums, X, X.sum(axis=1) + rng.normal(size=len(X)), **{"clusters": CODES} | options)


def test_what_clusters_share_has_no_importance() -> None:
    result = explained(visits(), within_clusters=True)["pfi"]
    for measure in ("squared_error", "nll"):
        shared = line(result, measure, "a")
        assert shared["exact_zero"]
        assert shared["estimate"] == 0
        assert line(explained(visits())["pfi"], measure, "a")["estimate"] > 0.1


def test_the_estimate_is_the_mean_over_pairs_of_a_cluster() -> None:
    """Squared error of the sum: (r_i + x_i - x_k)² - r_i², by all pairs within clusters."""
    of = visits()
    x, r = of.X["b"].to_numpy(), np.asarray(of.y) - of.X.to_numpy().sum(axis=1)
    same = CODES[:, None] == CODES
    pairs = (r[:, None] + x[:, None] - x) ** 2 - (r**2)[:, None]
    result = explained(of, within_clusters=True, n_repeats=200)["pfi"]
    values = repeats(result, "squared_error", "b")
    assert values.mean() == pytest.approx(pairs[same].sum() / SIZE / len(x), abs=4 * values.std() / np.sqrt(200))
    by_cluster = np.array([pairs[c == CODES][:, c == CODES].sum() / SIZE for c in range(C)])
    error = by_cluster.std(ddof=1) * np.sqrt(C) / len(x)
    assert line(result, "squared_error", "b")["std_error"] == pytest.approx(error, rel=0.03)


def test_the_reader_is_told_and_no_p_value_is_given() -> None:
    result = explained(visits(), within_clusters=True)["pfi"]
    assert any("permuted within clusters" in note for note in result.notes)
    assert result.estimates["p_value"].isna().all()
    assert result.meta["degrees_of_freedom"] == C - 1


@pytest.mark.parametrize(
    ("options", "more", "match"),
    [
        ({"clusters": None}, {}, r"got no clusters; pass clusters="),
        ({"clusters": None, "time": np.arange(C * SIZE)}, {}, "got blocks of time"),
        ({"sample_weight": np.ones(C * SIZE)}, {}, "got sample weights"),
        ({}, {"exact": True}, "got exact=True"),
    ],
)
def test_what_cannot_be_shuffled_within_clusters_is_refused(
    options: dict[str, Any], more: dict[str, Any], match: str
) -> None:
    with pytest.raises(InputError, match=f"pfi.within_clusters must have clusters of equal rows; {match}"):
        explained(visits(**options), within_clusters=True, **more)
