"""Shapley values by hand: how many rows are planned, how they are called, and what results say of them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.model.variants import Mix
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.methods.shap import explain
from uq_report.methods.shap.explain import Coalitions, Enumeration, Pool, ShapleyValues
from uq_report.testing import KnownTruth, measures


class Product(KnownTruth):
    """Predicts the product of the first three columns, or two."""

    def predict(self, model: Any, X: Any) -> Any:
        return Normal(X[:, :3].prod(axis=1), np.ones(len(X)))


def subject(n: int, d: int, **options: Any) -> Subject:
    return make_subject(None, Product(), np.random.default_rng(0).normal(size=(n, d)), **options)


def explained(made: Subject, fast_paths: Any = (), **options: Any) -> Any:
    engine = Engine(made, measures(), fast_paths=fast_paths).bound("shap")
    return ShapleyValues(**{"measures": ("prediction",), **options}).explain(made, engine, {})


@pytest.mark.parametrize(("players", "coalitions"), [(3, 8), (10, 1024), (11, 202)])
def test_coalitions_are_all_or_those_of_the_orders(players: int, coalitions: int) -> None:
    assert ShapleyValues()._coalitions(players) == coalitions


@pytest.mark.parametrize(
    ("players", "planned", "local", "n_rows", "size"),
    [
        (7, 10**6, 3, 50, 100),  # all 128 coalitions of 53 rows against as many as asked for
        (8, 10**6, 3, 50, 73),  # 3906 pairs of 53 rows
        (10, 10**6, 3, 50, 23),  # 976 pairs: half as many as rows
        (11, 10**6, 3, 50, 93),  # 4950 pairs, by 202 coalitions
        (11, 20_000, 3, 4, 14),  # 99 pairs of 7 rows
        (11, 1_000, 3, 50, 5),
        (11, 4_040, 0, 0, 20),  # of one row at least
    ],
)
def test_the_background_fits_the_planned_evaluations(
    players: int, planned: int, local: int, n_rows: int, size: int
) -> None:
    assert ShapleyValues(max_evaluations=planned, n_rows=n_rows)._background_size(players, local) == size


@pytest.mark.parametrize(("planned", "local", "size"), [(40_400, 3, 17), (40_400, 11, 10), (10**6, 3, 50), (1, 0, 10)])
def test_the_sample_fits_the_planned_evaluations(planned: int, local: int, size: int) -> None:
    """202 coalitions on 10 background rows are 2020 predictions of each row."""
    assert ShapleyValues(max_evaluations=planned)._sample_size(11, 10, local) == size


def test_a_million_evaluations_are_planned() -> None:
    """Of 202 coalitions on 30 background rows: 165 rows."""
    assert ShapleyValues(n_rows=1000)._sample_size(11, 30, 0) == 165


@pytest.mark.parametrize(("n", "rows"), [(11, 11), (60, 12)])
def test_what_it_will_cost(n: int, rows: int) -> None:
    """Two rows are named and ten sampled, of which there may be fewer."""
    made = subject(n, 3)
    engine = Engine(made, measures()).bound("shap")
    asked = ShapleyValues(rows=(4, 1), n_rows=10, n_background=6)
    assert asked.cost(made, engine) == rows * 8 * 6


def mix(own: int, others: int) -> Mix:
    return Mix(0, np.zeros((own, 2), dtype=bool), np.arange(others))


@pytest.mark.parametrize(
    ("most", "parts"),
    [
        (12, [(3, 4)]),
        (11, [(3, 3), (3, 1)]),
        (6, [(3, 2), (3, 2)]),
        (3, [(3, 1)] * 4),
        (2, [(2, 1), (1, 1)] * 4),
    ],
)
def test_a_mix_is_cut_into_parts_of_at_most_so_many_rows(most: int, parts: list[tuple[int, int]]) -> None:
    found = list(explain._parts(mix(3, 4), most))
    assert [(len(part.own), len(part.others)) for part in found] == parts
    places = [(o, c) for part in found for o in part.others.tolist() for c in range(len(part.own))]
    assert sorted({o for o, _ in places}) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("most", "calls"), [(6, [[4, 2], [3]]), (5, [[4], [2, 3]]), (9, [[4, 2, 3]]), (8, [[4, 2], [3]])]
)
def test_calls_hold_mixes_in_their_order_up_to_so_many_rows(most: int, calls: list[list[int]]) -> None:
    found = explain._calls([mix(1, 4), mix(2, 1), mix(1, 3)], most)
    assert [[len(part) for part in call] for call in found] == calls


@pytest.mark.parametrize(("rows", "values"), [(10, 10**9), (10**9, 20), (1, 10**9)])
def test_calls_of_any_size_give_the_same_values(rows: int, values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worth of a sum: each feature's own difference from the mean of the background."""
    explained, background = np.arange(6.0).reshape(3, 2), np.array([[10.0, 20.0], [12.0, 26.0]])
    pool = Pool.of(explained, background)
    sizes: list[int] = []

    def mixing(mixes: Any) -> FloatArray:
        sizes.append(sum(map(len, mixes)))
        table = np.asarray(pool.table)
        rows = [np.where(own, table[m.row], table[other]).sum() for m in mixes for other in m.others for own in m.own]
        return np.array([rows])

    monkeypatch.setattr(explain, "CALL_ROWS", rows)
    monkeypatch.setattr(explain, "CALL_VALUES", values)
    found = explain.play(mixing, pool, [Enumeration(2)] * 3, np.array([0.25, 0.75]), np.full(3, 1 / 3))
    np.testing.assert_allclose(found.phi[0], explained - [11.5, 24.5])
    np.testing.assert_allclose(found.base, 36)
    assert sum(sizes) == 3 * 2 * 4
    assert max(sizes) <= min(rows, values // 2)


class Listening:
    """A fast path that hears how many mixed rows are to come, and predicts none."""

    name, title, rank, api_version, methods = "listening", "a path that listens", 1, 1, None

    def __init__(self) -> None:
        self.heard: list[int] = []

    def shortcut(self, model: Any, adapter: Any, X: Any) -> None:
        """Leave every change to the model."""

    def mixer(self, model: Any, adapter: Any, X: Any, rows: int) -> None:
        self.heard.append(rows)


def test_as_many_rows_are_announced_as_all_coalitions_make() -> None:
    path = Listening()
    single, importance = explained(subject(9, 2), (path,), rows=(3, 5), n_rows=2, n_background=6, max_exact=2)
    assert path.heard == [len(single.meta["explained"]) * 6 * 4]
    assert single.meta["exact"] is True
    assert importance.meta == {"rows_used": single.meta["rows_used"], "sizes": True}


@pytest.mark.parametrize("players", [7, 8, 9, 64, 65, 70])
def test_distinct_coalitions_are_those_of_the_players_that_differ(players: int) -> None:
    rng = np.random.default_rng(players)
    masks = rng.random((40, players)) < 0.5
    differs = np.arange(players) >= players - 3
    own, inverse = Coalitions(masks).distinct(differs)
    np.testing.assert_array_equal(own[inverse], masks & differs)
    assert len(own) == len(np.unique(masks & differs, axis=0))
    every, which = Coalitions(masks).distinct(np.ones(players, dtype=bool))
    np.testing.assert_array_equal(every[which], masks)


def test_a_value_is_nothing_below_the_rounding_of_the_largest_worth() -> None:
    """1e-14 of 100 is 1e-12; a measure that is infinite on some rows has no values."""
    phi = np.array([[0.95e-12, 1.05e-12, -0.95e-12], [7.0, 7.0, 7.0]])

    def worth(values: FloatArray, weights: FloatArray) -> FloatArray:
        return np.array([[1.0, -100.0], [0.0, 0.0]]) + values[:, :1] * 0

    own: Any = SimpleNamespace(worth=worth, by_background=lambda _: ())
    solver: Any = SimpleNamespace(solve=lambda worth: (phi, 0 * phi))
    values = np.array([[1.0, 2.0, 3.0], [np.inf, 0.0, 0.0]])
    found = explain._shares(values, own, solver, np.ones(2), 1)
    assert found.phi.tolist() == [[0, 1.05e-12, 0], [7, 7, 7]]
    assert found.infinite.tolist() == [0, 1]
    assert found.base.tolist() == [1, 0]


def test_orders_have_the_interval_of_their_pairs() -> None:
    """Six orders are three pairs, whose mean has two degrees of freedom."""
    single, importance = explained(subject(30, 4), max_exact=3, n_permutations=6, rows=(5, 2), n_rows=4, n_background=7)
    table = single.estimates
    moved = table[table["std_error"] > 1e-6]
    assert len(moved)
    reach = t.ppf(0.975, 2) * moved["std_error"]
    np.testing.assert_allclose(moved["upper"] - moved["estimate"], reach)
    np.testing.assert_allclose(moved["estimate"] - moved["lower"], reach)
    assert set(table["covers"]) == {"Monte Carlo (permutations)"}
    half = "6 orders of 4 features per observation, half of them the reverse of the others: "
    assert single.notes == (
        "Absent features take their values jointly from 7 explained observations.",
        f"{half}values have a Monte-Carlo error, their sum has none.",
    )
    assert single.meta["exact"] is False
    assert single.meta["rows"] == {"chosen": [5, 2]}
    assert single.meta["background"] == {"rows": 7, "source": "explained observations"}
    used = single.meta["rows_used"]
    assert len(used) == 4
    assert single.meta["explained"] == sorted({5, 2, *used})
    assert set(single.frame["position"]) == {0}
    assert importance.notes[2:4] == (
        "Mean of |φ| over 4 of 30 observations against 7 background observations; repeat is the observation.",
        "The Monte-Carlo error of single values biases means near 0 upwards.",
    )
    assert importance.frame["repeat"].tolist() == used * 4
    sizes = importance.frame.groupby("feature", sort=False)["value"]
    np.testing.assert_allclose(importance.estimates["estimate"], sizes.mean())
    assert (importance.estimates["std_error"] >= sizes.std().to_numpy() / 2).all()
    by_rows = sizes.std().to_numpy() / 2  # of 4 rows, and the rest of the 7 background rows
    rest = np.square(importance.estimates["std_error"]) - by_rows**2
    spread = by_rows**4 / 3 + rest**2 / 6
    freedom = np.divide((by_rows**2 + rest) ** 2, spread, out=np.full(len(rest), 3.0), where=spread > 0)
    wide = t.ppf(0.975, freedom) * importance.estimates["std_error"]
    np.testing.assert_allclose(importance.estimates["upper"] - importance.estimates["estimate"], wide)


def test_exact_values_have_no_interval_and_no_sample_no_importance() -> None:
    (single,) = explained(subject(9, 2), rows=(3,), n_rows=0)
    assert single.estimates["confidence"].isna().all()
    assert set(single.estimates["covers"]) == {"exact"}
    assert (single.estimates["std_error"] == 0).all()
    assert single.notes == (
        "Absent features take their values jointly from 9 explained observations.",
        "All 4 coalitions of 2 features were evaluated: there is no Monte-Carlo error.",
    )
    assert single.meta["exact"] is True
    with pytest.raises(InputError, match=r"shap\.n_rows must be >= 1 where no rows are chosen"):
        explained(subject(9, 2), rows=(), n_rows=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_local": -1}, "n_local must be an integer >= 0; got -1"),
        ({"n_rows": -1}, "n_rows must be an integer >= 0; got -1"),
        ({"max_evaluations": 0}, "max_evaluations must be an integer >= 1; got 0"),
        ({"n_background": 0}, "n_background must be an integer >= 1; got 0"),
        ({"max_exact": -1}, "max_exact must be an integer from 0 to 20; got -1"),
        ({"max_exact": 21}, "max_exact must be an integer from 0 to 20; got 21"),
        ({"n_permutations": 2}, "n_permutations must be an even number >= 4; got 2"),
        ({"n_permutations": 5}, "n_permutations must be an even number >= 4; got 5"),
    ],
)
def test_options_are_refused_beyond_their_limits(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=rf"shap\.{words}"):
        ShapleyValues(**options)
    for most in (0, 20):
        ShapleyValues(n_local=0, n_rows=0, max_evaluations=1, n_background=1, max_exact=most, n_permutations=4)
