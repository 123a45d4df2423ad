"""Shapley values against their axioms, an independent average over all orders, and closed forms."""

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.model.variants import mixed_rows
from uq_report.core.support.arrays import FloatArray
from uq_report.methods.shap.explain import AntitheticPermutations, Enumeration, Pool, play


def code(members: tuple[int, ...]) -> int:
    return sum(1 << j for j in members)


def by_all_orders(worth: FloatArray, players: int) -> FloatArray:
    """Average a player's contribution over all d! orders: Shapley's second definition."""
    total = np.zeros(players)
    orders = list(permutations(range(players)))
    for order in orders:
        for k, player in enumerate(order):
            total[player] += worth[code(order[: k + 1])] - worth[code(order[:k])]
    return total / len(orders)


def random_orders(players: int, pairs: int, seed: int = 0) -> AntitheticPermutations:
    rng = np.random.default_rng(seed)
    return AntitheticPermutations(rng.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1))


def worth_along(solver: AntitheticPermutations, worth: FloatArray) -> FloatArray:
    """Look up a game's worth at the coalitions a solver asks for."""
    masks = solver.coalitions.masks
    codes = (masks * (1 << np.arange(masks.shape[1]))).sum(axis=1)
    return np.asarray(worth[codes])


@pytest.mark.parametrize("players", [1, 2, 3, 4, 6])
def test_enumeration_is_the_average_over_all_orders(players: int) -> None:
    worth = np.random.default_rng(players).normal(size=2**players)
    values, error = Enumeration(players).solve(worth)
    np.testing.assert_allclose(values, by_all_orders(worth, players), atol=1e-13)
    assert not error.any()


def test_masks_are_all_coalitions_and_the_first_is_empty() -> None:
    masks = Enumeration(3).coalitions.masks
    assert len({tuple(mask) for mask in masks}) == 8
    assert not masks[0].any()


def test_axioms() -> None:
    """Efficiency, symmetry, dummy and additivity fix the values; players 0 and 1 are equal, 3 adds its own 2."""
    rng = np.random.default_rng(0)
    solver = Enumeration(4)
    size = solver.coalitions.masks[:, :2].sum(axis=1)
    table = rng.normal(size=(3, 2))
    one = table[size, solver.coalitions.masks[:, 2].astype(int)] + 2.0 * solver.coalitions.masks[:, 3]
    other = rng.normal(size=16)
    (first, second, both), _ = solver.solve(np.stack([one, other, one + 3 * other]))
    np.testing.assert_allclose(first.sum(), one[-1] - one[0], atol=1e-14)
    np.testing.assert_allclose(first[0], first[1], atol=1e-14)
    np.testing.assert_allclose(first[3], 2.0, atol=1e-14)
    np.testing.assert_allclose(both, first + 3 * second, atol=1e-13)


def test_permutations_add_up_exactly() -> None:
    worth = np.random.default_rng(1).normal(size=2**7)
    solver = random_orders(7, 4)
    values, _ = solver.solve(worth_along(solver, worth))
    np.testing.assert_allclose(values.sum(), worth[-1] - worth[0], atol=1e-13)


def test_reversed_orders_are_exact_for_pairwise_games() -> None:
    """v(S) = sum_i a_i + sum_ij b_ij over S: an order and its reverse give each half of every b_ij."""
    rng = np.random.default_rng(2)
    players = 6
    a, b = rng.normal(size=players), np.triu(rng.normal(size=(players, players)), 1)
    masks = Enumeration(players).coalitions.masks.astype(float)
    worth = masks @ a + np.einsum("ci,ij,cj->c", masks, b, masks)
    solver = random_orders(players, 2)
    values, error = solver.solve(worth_along(solver, worth))
    np.testing.assert_allclose(values, a + (b.sum(axis=0) + b.sum(axis=1)) / 2, atol=1e-13)
    np.testing.assert_allclose(error, 0, atol=1e-13)


def test_standard_errors_are_the_errors_own_size() -> None:
    """Over 1000 draws of 10 pairs the values have mean phi, and variance E[se^2]; both within 4 Monte-Carlo errors."""
    players, draws = 5, 1000
    worth = np.random.default_rng(3).normal(size=2**players)
    solvers = [random_orders(players, 10, seed) for seed in range(draws)]
    found = [solver.solve(worth_along(solver, worth)) for solver in solvers]
    values, errors = (np.array(part) for part in zip(*found, strict=True))
    bias = values.mean(axis=0) - by_all_orders(worth, players)
    assert (abs(bias) < 4 * values.std(axis=0) / np.sqrt(draws)).all()
    np.testing.assert_allclose(values.var(axis=0) / (errors**2).mean(axis=0), 1, atol=4 * np.sqrt(2 / draws))


FRAME = pd.DataFrame(
    {
        "number": [1.5, 2.5, 1.5, np.nan, 2.5],
        "count": pd.array([1, 2, None, 2, 1], dtype="Int64"),
        "level": pd.Categorical(["a", "b", "a", None, "c"], categories=["c", "b", "a"], ordered=True),
        "text": ["x", "y", "x", "z", "y"],
        "mixed": pd.Series([1, "1", True, 1.0, None], dtype=object),
        "flag": [True, False, True, True, False],
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01", "2020-01-03", "2020-01-02"]),
    }
)


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_composite_rows_are_what_they_say(kind: str) -> None:
    """Every coalition and background row gives own values inside and background values outside, type by type."""
    table = FRAME if kind == "frame" else np.array([[0, 1, 2.5], [0, 7, 2.5], [3, 1, -1], [0, 1, 2.5], [4, 4, 4]])
    explained, background = table[:2], table[2:]
    pool = Pool.of(explained, background)
    coalitions = Enumeration(table.shape[1]).coalitions
    made = pool.composites(1, coalitions)
    cells, seen = pd.DataFrame(table), []
    for mix, inverse in zip(made.mixes, made.inverse, strict=True):
        rows = pd.DataFrame(mixed_rows(pool.table, [mix]))
        seen += mix.others.tolist()
        for o, b in enumerate(mix.others):
            for mask, at in zip(coalitions.masks, inverse, strict=True):
                for j, inside in enumerate(mask):
                    assert same(rows.iloc[o * len(mix.own) + at, j], cells.iloc[1 if inside else b, j])
        assert list(rows.dtypes) == list(cells.dtypes)
    assert sorted(seen) == [2, 3, 4]


def same(x: Any, y: Any) -> bool:
    return type(x) is type(y) and bool(pd.isna(x) if pd.isna(y) else x == y)


def test_equal_values_make_one_row() -> None:
    """Row 0 differs from the background row in one of three columns: two distinct rows, whatever the coalition."""
    table = np.array([[1.0, 2.0, 3.0], [1.0, 5.0, 3.0]])
    made = Pool.of(table[:1], table[1:]).composites(0, Enumeration(3).coalitions)
    assert len(made) == 2
    assert made.inverse[0].tolist() == [0, 0, 1, 1, 0, 0, 1, 1]


def test_worth_is_the_weighted_mean_over_background_rows() -> None:
    """Of two background rows one shares a value with the row: v(S) = 3/4 f(x_S, b_-S) + 1/4 f(x_S, c_-S)."""
    table = np.array([[1.0, 2.0], [10.0, 20.0], [1.0, 30.0]])
    made = Pool.of(table[:1], table[1:]).composites(0, Enumeration(2).coalitions)
    values = np.asarray(mixed_rows(table, made.mixes)) @ [1.0, 100.0]
    assert len(values) == 2**2 + 2
    worth = made.worth(values[None], np.array([0.0, 0.75, 0.25]))
    expected = [0.75 * 2010 + 0.25 * 3001, 0.75 * 2001 + 0.25 * 3001, 0.75 * 210 + 0.25 * 201, 201.0]
    np.testing.assert_allclose(worth, [expected])


def test_mixed_types_that_compare_equal_stay_apart() -> None:
    """1, True, 1.0 and "1" are different levels to an encoder."""
    table = pd.DataFrame({"mixed": pd.Series([1, True, 1.0, "1", None, np.nan], dtype=object)})
    pool = Pool.of(table[:1], table[1:])
    assert len(set(pool.codes[:, 0])) == 6


def of_one_player(psi: FloatArray, row_weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return phi, h and the background's variance of games psi[x, b] of one player."""
    n, size = psi.shape
    pool = Pool.of(np.arange(float(n))[:, None], 100 + np.arange(float(size))[:, None])

    def mixing(mixes: Any) -> FloatArray:
        return np.array([[psi[m.row, b - n] * own[0] for m in mixes for b in m.others for own in m.own]])

    weights = np.full(size, 1 / size)
    found = play(mixing, pool, [Enumeration(1)] * n, weights, row_weights)
    return found.phi[0, :, 0], found.background[0, :, 0], np.square(found.background_error(weights))


def test_the_part_of_the_background_in_a_mean_size() -> None:
    phi, moved, variance = of_one_player(np.array([[1.0, 2.0, 0.0], [-1.0, 0.0, -1.0]]), np.full(2, 0.5))
    assert np.abs(phi).mean() == pytest.approx(0.833333, abs=1e-6)
    np.testing.assert_allclose(moved, [1 / 6, 1 / 6, -1 / 3], atol=1e-12)
    assert variance == pytest.approx(0.027778, abs=1e-6)


def test_rows_that_are_not_in_the_mean_do_not_move_it() -> None:
    psi = np.random.default_rng(0).normal(size=(3, 5))
    _, all_three, _ = of_one_player(psi, np.array([0.5, 0.5, 0.0]))
    _, two, _ = of_one_player(psi[:2], np.full(2, 0.5))
    np.testing.assert_allclose(all_three, two, atol=1e-12)


def test_the_part_of_the_background_is_its_sampling_variance() -> None:
    """psi = u_x - c_b: means of |u - c̄| over fixed rows, fresh background rows of skewed law."""
    rng = np.random.default_rng(3)
    u = rng.normal(size=50) + 3.0
    drawn = [of_one_player(u[:, None] - rng.exponential(size=40), np.full(50, 0.02)) for _ in range(300)]
    sizes = np.array([np.abs(phi).mean() for phi, _, _ in drawn])
    estimated = np.mean([variance for _, _, variance in drawn])
    assert estimated == pytest.approx(sizes.var(ddof=1), rel=0.25)
