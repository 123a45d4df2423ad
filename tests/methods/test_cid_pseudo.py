"""The least of a pairwise field's pseudo-likelihood: balance, given graphs, and steps that do not reach it."""

from types import SimpleNamespace

import numpy as np
import pytest

from uq_report.core.support.arrays import BoolArray, FloatArray, IntArray
from uq_report.core.support.errors import BudgetError
from uq_report.core.support.limits import limited
from uq_report.methods.cid import precision
from uq_report.methods.cid.cid import Field, UnfitError
from uq_report.methods.cid.precision import fit_field


def codes(n: int = 150) -> IntArray:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, n), rng.integers(0, 4, n)
    return np.column_stack([a, b, (a + b + rng.integers(0, 2, n)) % 3, (a > 1) ^ (rng.random(n) < 0.1)]).astype(int)


def imbalance(rows: IntArray, field: Field, penalty: float) -> tuple[FloatArray, FloatArray]:
    """Return, row by row, what is left of the derivatives by the unary and by the pair potentials, over the rows."""
    k = len(field.unary)
    unary, pair = np.zeros(k), penalty * field.pair
    for row in rows:
        hot = np.isin(np.arange(k), row + field.starts[:-1]).astype(float)
        p = np.exp(field.unary + field.pair @ hot)
        for a in range(len(row)):
            p[field.block(a)] /= p[field.block(a)].sum()
        unary += p - hot
        pair += np.outer(p - hot, hot) + np.outer(hot, p - hot)
    return unary / len(rows), pair / len(rows)


@pytest.mark.parametrize("penalty", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("edges", [None, np.eye(4, dtype=bool) | (np.add.outer(range(4), range(4)) == 3)])
def test_potentials_balance_what_rows_have_and_what_their_other_nodes_foretell(
    penalty: float, edges: BoolArray | None
) -> None:
    rows = codes()
    field = fit_field(rows, edges, penalty)
    unary, pair = imbalance(rows, field, penalty)
    nodes = np.repeat(np.arange(4), np.diff(field.starts))
    allowed = (nodes[:, None] != nodes) & (True if edges is None else edges[np.ix_(nodes, nodes)])
    assert np.abs(unary).max() <= precision.GRADIENT * 1.01
    assert np.abs(pair[allowed]).max() <= 2 * precision.GRADIENT * 1.01, "each pair once and whole"
    assert not field.pair[~allowed].any()
    assert (field.pair == field.pair.T).all()


def test_rows_that_repeat_count_as_often_as_they_are_there() -> None:
    """Twice the rows under twice the penalty are the same problem."""
    np.testing.assert_allclose(fit_field(np.repeat(codes(), 2, axis=0), None, 2.0).pair, fit_field(codes()).pair)


def test_a_node_that_tells_another_is_fitted_under_any_penalty() -> None:
    rows = np.repeat([[0, 0], [1, 1], [2, 2]], 20, axis=0)
    pairs = [fit_field(rows, None, penalty).pair[0, 3] for penalty in (1.0, 1e-2, 1e-4, 1e-6)]
    assert 0 < pairs[0] < pairs[1] < pairs[2] < pairs[3]


def test_nested_columns_are_fitted_under_a_small_penalty() -> None:
    """Along some directions the penalty alone bends the loss."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 8, 300)
    nested = [z, z // 2, z // 4, (z + rng.integers(0, 2, 300)) // 3]
    fit_field(np.column_stack([*nested, (z > 4) ^ (rng.random(300) < 0.05)]).astype(int), None, 1e-4)


def test_what_does_not_reach_the_least_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scipy.optimize.minimize", lambda loss, start, **_: SimpleNamespace(x=start))
    with pytest.raises(UnfitError, match=r"cid\.penalty must make .* got 1, which leaves a gradient of ") as refused:
        fit_field(codes())
    assert refused.value.reason == "the discrete field did not converge"


def test_a_limit_stops_the_fit_before_the_next_pass_over_the_rows() -> None:
    passes: list[None] = []

    def check() -> None:
        passes.append(None)
        if len(passes) == 4:
            raise BudgetError("time_limit is reached")

    with limited(check), pytest.raises(BudgetError, match="time_limit"):
        fit_field(codes())
    assert len(passes) == 4
