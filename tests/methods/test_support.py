"""Support: what lies outside is found, what lies inside is not, and the limit holds for any distribution."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.errors import InputError
from uq_report.methods.support.explain import Paired, Space, Support, all_among, limit, new_values, paired

MODEL = testing.KnownLinear((1.0,), (0.0,))


class Anything(testing.KnownTruth):
    """A model that looks at no column."""

    def predict(self, model: Any, X: Any) -> Any:
        return model.distribution(np.zeros((len(X), 1)))


def subject(train: pd.DataFrame, test: pd.DataFrame, **more: Any) -> Subject:
    return make_subject(MODEL, Anything(), test, train=(train, None), **more)


def explain(given: Subject, seed: int = 0, **options: Any) -> dict[str, Result]:
    engine = Engine(given, {}, seed=seed).bound("support")
    return {r.id: r for r in Support(**options).explain(given, engine, {})}


def normal(n: int, seed: int, rho: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 1] = rho * X[:, 0] + np.sqrt(1 - rho**2) * X[:, 1]
    return pd.DataFrame(X, columns=list("abc"))


def line(result: Result, item: str, feature: str = "") -> Any:
    table = result.estimates
    return table[(table["item"] == item) & (table["feature"] == feature)].iloc[0]


def test_rows_drawn_alike_are_outside_in_the_expected_share() -> None:
    found = explain(subject(normal(1000, 0), normal(1000, 1)))["support"]
    outside = line(found, "outside")
    assert outside["expected"] == pytest.approx(25 / 501)
    assert outside["lower"] < 0.05 < outside["upper"]
    assert outside["p_value"] > 0.01
    for feature in "abc":
        shuffled = line(found, "shuffled", feature)
        assert shuffled["lower"] < 0.07
        assert shuffled["upper"] < 0.12


def test_a_row_moved_far_away_is_outside_and_a_moved_sample_is_found() -> None:
    test = normal(100, 1)
    test.loc[:29, "a"] += 20
    found = explain(subject(normal(400, 0), test))
    rows = found["support.rows"].frame
    expected = found["support"].meta["expected"]
    assert (rows["value"][:30] == rows["value"].min()).all()
    assert line(found["support"], "outside")["estimate"] == pytest.approx((rows["value"] <= expected + 1e-12).mean())
    assert line(found["support"], "outside")["p_value"] < 1e-9
    assert line(found["support.values"], "above range", "a")["estimate"] >= 30


def test_shuffling_a_correlated_feature_leaves_the_support() -> None:
    found = explain(subject(normal(2000, 0, rho=0.95), normal(400, 1, rho=0.95)))["support"]
    assert line(found, "shuffled", "a")["lower"] > 0.3
    assert line(found, "shuffled", "b")["lower"] > 0.3
    assert line(found, "shuffled", "c")["upper"] < 0.12


def test_a_group_shuffled_together_stays_inside() -> None:
    given = subject(normal(2000, 0, rho=0.95), normal(400, 1, rho=0.95), groups={"both": ["a", "b"]})
    assert line(explain(given)["support"], "shuffled", "both")["upper"] < 0.12


def test_an_interval_of_shuffles_has_the_spread_over_samples() -> None:
    shares, errors = [], []
    train = normal(400, 0, rho=0.9)
    for seed in range(40):
        found = line(explain(subject(train, normal(150, seed + 1, rho=0.9)))["support"], "shuffled", "a")
        shares.append(found["estimate"])
        errors.append(found["std_error"])
    assert np.mean(errors) == pytest.approx(np.std(shares), rel=0.35)  # three standard errors of an sd from 40


def test_levels_missing_values_dates_and_constants_take_part() -> None:
    rng = np.random.default_rng(0)

    def rows(n: int) -> pd.DataFrame:
        day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D")
        return pd.DataFrame(
            {
                "x": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
                "level": pd.Categorical(rng.choice(["u", "v"], n), categories=["u", "v", "w"]),
                "day": day,
                "one": 1.0,
            }
        )

    test = rows(200)
    test.loc[:19, "level"] = "w"
    test.loc[20:39, "one"] = 2.0
    test.loc[40:49, "x"] = np.inf
    test.loc[50:69, "day"] = pd.Timestamp("2050-01-01")
    found = explain(subject(rows(600), test))
    outside = found["support.rows"].frame["value"] <= found["support"].meta["expected"] + 1e-12
    assert outside[:70].mean() > 0.9
    assert outside[70:].mean() < 0.12
    values = found["support.values"]
    assert line(values, "new level", "level")[["estimate", "bound"]].tolist() == [20.0, "w"]
    assert line(values, "above range", "one")["estimate"] == 20
    assert line(values, "above range", "x")["estimate"] >= 10
    assert "newly missing" not in set(values.estimates["item"])


def test_new_values_are_counted_with_exact_chances() -> None:
    train = pd.DataFrame({"a": np.arange(90.0), "level": ["u"] * 90})
    test = pd.DataFrame({"a": [-2.0, -1.0, 95.0, np.nan, *range(6)], "level": ["u"] * 8 + ["v", "w"]})
    found = explain(subject(train, test))["support.values"]
    below = line(found, "below range", "a")
    assert (below["estimate"], below["bound"], below["share"]) == (2.0, "0", 0.2)
    assert below["p_value"] == pytest.approx(9 / 99 * 8 / 98)  # both smallest of 99 known values are among the 9
    assert line(found, "newly missing", "a")["p_value"] == pytest.approx(0.1)
    unseen = line(found, "new level", "level")
    assert (unseen["estimate"], unseen["bound"]) == (2.0, "v, w")
    chance = 10 / 100 * 9 / 99  # two lone levels fall among ten of a hundred rows
    assert unseen["p_value"] == pytest.approx(chance, abs=4 * np.sqrt(chance / 9999))
    assert found.meta["tests"] == 5


def test_all_among_is_the_hypergeometric_chance() -> None:
    from scipy.stats import hypergeom

    for k in range(6):
        assert all_among(k, 5, 12) == pytest.approx(hypergeom(17, 5, k).pmf(k))


@pytest.mark.parametrize(("levels", "draws"), [(200, 9999), (20_000, 100), (30_000, 99)])
def test_unseen_levels_are_dealt_anew_as_often_as_their_number_allows(levels: int, draws: int) -> None:
    """A hundred rows that all have levels of their own never come together again: p is 1 of the draws and the data."""
    train, test = np.zeros(100), np.arange(1.0, 101.0)
    pair = Paired("a", False, train, test, tuple(range(levels)))
    engine = Engine(subject(normal(40, 0), normal(40, 1)), {})
    (p_value,) = new_values([pair], np.arange(100), np.ones(100), engine).estimates["p_value"]
    assert p_value == pytest.approx(1 / (draws + 1))


def test_distances_are_mahalanobis_and_mismatches() -> None:
    rng = np.random.default_rng(0)
    train = normal(60, 0, rho=0.7).assign(level=rng.choice(["u", "v"], 60))
    test = normal(9, 1).assign(level="u")
    reference = np.arange(60)
    space = Space(paired(subject(train, test), train), reference)
    z = (train[list("abc")] - train[list("abc")].mean()) / train[list("abc")].std(ddof=0)
    t = (test[list("abc")] - train[list("abc")].mean()) / train[list("abc")].std(ddof=0)
    share = 0.05 + 3 / 60
    shrunk = (1 - share) * np.asarray(z.corr()) + share * np.eye(3)
    expected = cdist(t, z, "mahalanobis", VI=np.linalg.inv(shrunk)) ** 2 + 2.0 * (train["level"] != "u").to_numpy()
    np.testing.assert_allclose(space.squared(space.test), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(space.nearest(space.test, 4), np.sort(expected, axis=1)[:, 3], rtol=1e-9)


def test_rows_that_all_agree_are_never_outside() -> None:
    same = pd.DataFrame({"a": np.ones(100), "level": ["u"] * 100})
    found = explain(subject(same, same.head(50)))["support"]
    assert line(found, "outside")["estimate"] == 0
    assert line(found, "shuffled", "a")["upper"] < 0.1


@pytest.mark.parametrize("names", [("a",), ("word",), ("b", "word", "gap")])
def test_a_shuffle_counts_what_distances_of_the_changed_rows_count(names: tuple[str, ...]) -> None:
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(90, 3)), columns=["a", "b", "gap"]).assign(word=rng.choice(list("xyz"), 90))
    X.loc[::7, "gap"] = np.nan
    space = Space(paired(subject(X[:60], X[60:]), X[:60]), np.arange(0, 60, 2))
    edge = limit(space.nearest(space.train.take(np.arange(1, 60, 2)), 2), 0.3)
    donors = np.stack([rng.permutation(30) for _ in range(4)])
    moved = [space.shuffled(space.test, names, donor) for donor in donors]
    outside = np.array([edge.outside(space.nearest(rows, 2)) for rows in moved])
    for found, donor in zip(outside, donors, strict=True):
        rows = X[60:].reset_index(drop=True)
        changed = rows.assign(**{name: rows[name].to_numpy()[donor] for name in names})
        other = Space(paired(subject(X[:60], changed), X[:60]), np.arange(0, 60, 2))
        np.testing.assert_array_equal(found, edge.p_values(other.nearest(other.test, 2)) <= edge.expected + 1e-12)
    assert 0 < outside.mean() < 1


def test_the_limit_is_what_it_says() -> None:
    rng = np.random.default_rng(0)
    scores, new = rng.random(199), rng.random(50)
    found = limit(scores, 0.1)
    assert found.expected == 0.1
    np.testing.assert_array_equal(found.p_values(new) <= 0.1 + 1e-12, new > found.squared * (1 + 1e-6))
    by_hand = [(1 + (scores >= value).sum()) / 200 for value in new]
    np.testing.assert_allclose(found.p_values(new), by_hand)


def test_clusters_and_weights_are_respected() -> None:
    test = normal(200, 1)
    test.loc[:99, "a"] += 20  # the first hundred rows: one cluster of a hundred far rows, or no weight
    codes = np.concatenate([np.zeros(100, dtype=int), np.arange(1, 101)])
    clustered = line(explain(subject(normal(400, 0), test, clusters=codes))["support"], "outside")
    assert clustered["p_value"] > 0.01
    assert clustered["std_error"] > 0.2
    ignored = explain(subject(normal(400, 0), test, sample_weight=(codes > 0).astype(float)))["support"]
    assert line(ignored, "outside")["estimate"] < 0.15
    assert any("weights" in note for note in ignored.notes)


def test_training_rows_count_by_the_same_share_as_those_of_clusters() -> None:
    """Of clusters of five equal rows in both samples, 2 of 20 lie above the largest of 40: as of so many rows."""
    train = pd.DataFrame({"a": np.repeat(np.arange(40.0), 5), "b": np.resize([0.0, 1.0, 2.0], 200)})
    test = pd.DataFrame({"a": np.repeat(np.arange(20.0) * 2.2, 5), "b": np.resize([0.0, 1.0, 2.0], 100)})
    alone = explain(subject(train, test))
    clustered = explain(subject(train, test, clusters=np.repeat(np.arange(20), 5)))
    assert line(clustered["support.values"], "above range", "a")["p_value"] == pytest.approx(all_among(2, 20, 40))
    assert line(alone["support.values"], "above range", "a")["p_value"] == pytest.approx(all_among(10, 100, 200))
    first, second = (explain_line(part["support.shift"]) for part in (alone, clustered))
    reach = [row["upper"] - row["estimate"] for row in (first, second)]
    assert reach[1] == pytest.approx(reach[0] * np.sqrt(5), rel=1e-9)


def explain_line(result: Result) -> Any:
    """Return the line of the first feature."""
    return result.estimates.set_index("feature").loc["a"]


def test_samples_are_stated_drawn_by_the_seed_and_repeat() -> None:
    given = subject(normal(300, 0), normal(300, 1))
    one, two = (explain(given, max_train=100, max_rows=50) for _ in range(2))
    for part in one:
        pd.testing.assert_frame_equal(one[part].frame, two[part].frame, check_exact=True)
    assert any("50 of 300 " in note for note in one["support"].notes)
    assert one["support"].meta["n_reference"] == one["support"].meta["n_calibration"] == 50
    other = explain(given, seed=1, max_train=100, max_rows=50)
    assert not one["support.rows"].frame["x"].equals(other["support.rows"].frame["x"])


def test_what_it_needs_is_asked_for() -> None:
    alone = make_subject(MODEL, Anything(), normal(20, 0))
    with pytest.raises(InputError, match=r"support\.train must be given"):
        explain(alone)
    with pytest.raises(InputError, match=r"at least 40 rows; got 39"):
        explain(subject(normal(39, 0), normal(20, 1)))
    words = normal(100, 0).astype({"a": str}).assign(a="high")
    with pytest.raises(InputError, match=r"support\.train\['a'\] must be numeric"):
        explain(subject(words, normal(20, 1)))


@pytest.mark.parametrize("options", [{"expected": 0.0}, {"n_neighbors": 0}, {"n_repeats": 2}, {"max_train": 39}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=rf"support\.{next(iter(options))} must be"):
        Support(**options)


def test_weights_that_undo_a_selection_undo_its_shift() -> None:
    """Rows that were drawn four times as often, weighted by a quarter, are distributed as the training rows."""
    rng = np.random.default_rng(5)
    train, pool = normal(2000, 1), normal(6000, 2)
    chance = np.where(pool["a"] > 0, 0.4, 0.1)
    kept = rng.uniform(size=len(pool)) < chance
    bare, weighted = (
        explain(subject(train, pool[kept].reset_index(drop=True), sample_weight=weights))[
            "support.shift"
        ].estimates.iloc[0]
        for weights in (None, 1 / chance[kept])
    )
    assert bare["estimate"] > 0.2
    assert weighted["estimate"] < 0.05
    assert weighted["upper"] - weighted["estimate"] > bare["upper"] - bare["estimate"]
