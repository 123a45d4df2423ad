"""Redundancy: copies are found, independent features are not, and no copy of a row leaks."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_predict

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import NLL
from uq_report.core.model.results import Result
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.methods.redundancy.explain import Redundancy
from uq_report.methods.shared.association import NumericColumn, association, forecasts, row_groups, skill

MODEL = testing.KnownLinear((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def explain(subject: Subject, seed: int = 0, **options: Any) -> dict[str, Result]:
    engine = Engine(subject, {"nll": NLL}, seed=seed).bound("redundancy")
    return {r.id: r for r in Redundancy(**options).explain(subject, engine, {})}


class OnNumbers(testing.KnownTruth):
    """The known truth of the numeric columns a, b, c of a mixed frame."""

    def predict(self, model: Any, X: Any) -> Any:
        return model.distribution(X[["a", "b", "c"]].fillna(0.0))


def mixed(n: int = 200, **columns: Any) -> Subject:
    """Return independent numbers a, b, c and the columns given; y = a + noise."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc")).assign(**columns)
    return make_subject(MODEL, OnNumbers(), frame, frame["a"].fillna(0.0) + rng.normal(size=n))


def table(result: Result) -> Any:
    """Return the estimates by feature and item; Any, because pandas types a cell as anything."""
    return result.estimates.set_index(["feature", "item"])


def test_a_copy_is_redundant_and_an_independent_feature_is_not() -> None:
    b = np.random.default_rng(1).normal(size=200)
    found = table(explain(mixed(b=b, copy=b))["redundancy"])
    assert found.loc[("b", "without target"), "lower"] > 0.95
    assert found.loc[("copy", "without target"), "lower"] > 0.95
    assert found.loc[("c", "without target"), "upper"] < 0.15
    assert set(found["covers"]) == {"new test samples"}
    assert set(found["measure"]) == {"r_squared"}


def test_the_target_tells_something_about_what_it_was_made_of() -> None:
    found = table(explain(mixed())["redundancy"])["estimate"]
    assert found["a", "with target"] > 0.25  # the best R² of a given a + noise is 1/2
    assert abs(found["b", "with target"] - found["b", "without target"]) < 0.15


def test_skill_is_scikit_learns_r2() -> None:
    rng = np.random.default_rng(0)
    y, forecast = rng.normal(size=30), rng.normal(size=30)
    line = skill(y[:, None], forecast[:, None], Sampling(np.full(30, 1 / 30), 30), 0.95, "r_squared", "x")
    assert line["estimate"] == pytest.approx(r2_score(y, forecast), abs=1e-12)


def test_the_interval_has_the_spread_of_r2_over_samples() -> None:
    """A forecast ŷ = x of y = x + e with equal variances has R² = ½; 500 samples of 100 rows."""
    rng = np.random.default_rng(0)
    x, e = rng.normal(size=(2, 500, 100))
    rows = Sampling(np.full(100, 0.01), 100)
    lines = [skill((x[k] + e[k])[:, None], x[k][:, None], rows, 0.95, "r_squared", "x") for k in range(500)]
    spread = np.std([line["estimate"] for line in lines])
    claimed = np.mean([line["std_error"] for line in lines])
    assert claimed == pytest.approx(spread, rel=0.12)  # three standard errors of an sd from 500


def test_the_forest_agrees_with_scikit_learns() -> None:
    """Both leave rows out; they differ by the trees' randomness and, out of bag, by 63 instead of 51% of the rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=300)
    forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0)
    theirs = r2_score(y, cross_val_predict(forest, X, y, cv=KFold(5, shuffle=True, random_state=0)))
    ours = r2_score(y, forecasts(X, y[:, None], np.arange(300), np.random.default_rng(0))[:, 0])
    assert ours == pytest.approx(theirs, abs=0.06)


def test_copies_of_a_row_do_not_predict_each_other() -> None:
    """Noise, every row four times: with leaks a forest would reach an R² near 1."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(50, 4)), 4, axis=0)
    y = np.repeat(rng.normal(size=50), 4)
    honest = forecasts(X, y[:, None], row_groups(X, None), rng)[:, 0]
    leaking = forecasts(X, y[:, None], np.arange(200), rng)[:, 0]
    assert r2_score(y, honest) < 0.1
    assert r2_score(y, leaking) > 0.6


def test_groups_join_equal_rows_and_clusters() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y", "x", None, None]), "b": [1.0, 2.0, 1.0, np.nan, np.nan]})
    assert list(row_groups(frame, None)) == [0, 1, 0, 2, 2]
    joined = row_groups(frame, np.array([0, 0, 1, 2, 3]))
    assert len(set(joined[:3])) == 1
    assert joined[3] == joined[4] != joined[0]


def test_categories_have_a_brier_skill() -> None:
    a = np.random.default_rng(0).normal(size=(200, 3))[:, 0]
    size = pd.cut(a, [-np.inf, -0.5, 0.5, np.inf], labels=["small", "medium", "large"])
    noise = pd.Series(np.random.default_rng(5).permutation(np.resize(["u", "v"], 200)))
    found = table(explain(mixed(size=size, noise=noise))["redundancy"])
    assert found.loc[("size", "without target"), "measure"] == "brier_skill"
    assert found.loc[("size", "without target"), "estimate"] > 0.9
    assert found.loc[("noise", "without target"), "estimate"] < 0.1


def test_missing_values_infinite_values_and_dates() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    a[:20] = np.nan
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.argsort(np.argsort(-rng.normal(size=200))), "D")
    huge = np.where(np.arange(200) == 3, np.inf, rng.normal(size=200))
    result = explain(mixed(a=a, day=days, twin=days, huge=huge, one=1.0, few=[1.0, 2.0] + [None] * 198))["redundancy"]
    found = table(result)
    assert found.loc[("a", "without target"), "n"] == 180
    assert found.loc[("day", "without target"), "estimate"] > 0.95
    reasons = {o.feature: o.reason for o in result.omissions}
    assert "1 infinite" in reasons["huge"]
    assert "constant" in reasons["one"]
    assert "2 known values" in reasons["few"]


def test_without_y_there_is_only_one_item() -> None:
    X = testing.linear_subject(60).X
    result = explain(make_subject(testing.KnownLinear((1.0,) * 4, (0.0,) * 4), testing.KnownTruth(), X))["redundancy"]
    assert set(result.estimates["item"]) == {"without target"}
    assert "outcomes were not given" in result.omissions[0].reason


def test_many_levels_are_merged_with_a_note() -> None:
    codes = np.random.default_rng(0).integers(0, 60, 200).astype(str)
    result = explain(mixed(code=codes))["redundancy"]
    assert any("19 most frequent" in note and "code" in note for note in result.notes)
    assert ("code", "without target") in table(result).index


def test_a_sample_of_rows_is_stated_and_drawn_by_the_seed() -> None:
    a, b = explain(mixed(), max_rows=100), explain(mixed(), max_rows=100)
    assert "100 of 200 observations" in a["redundancy"].notes[0]
    pd.testing.assert_frame_equal(a["redundancy"].estimates, b["redundancy"].estimates, check_exact=True)
    assert not a["redundancy"].estimates.equals(explain(mixed(), seed=1, max_rows=100)["redundancy"].estimates)


def test_partners_and_their_joint_before_and_after() -> None:
    a = np.random.default_rng(0).normal(size=(200, 3))[:, 0]
    result = explain(mixed(near=a**3))
    partner: Any = result["redundancy.partner"].estimates.set_index("feature")
    assert partner.loc["a", "item"] == "near"
    assert partner.loc["a", "estimate"] == pytest.approx(1)
    joint = result["redundancy.joint"].frame.query("feature == 'a'")
    before, after = (joint.query(f"measure == '{when}'") for when in ("before", "after"))
    np.testing.assert_allclose(before["value"], before["x"] ** 3)
    assert sorted(before["x"]) == sorted(after["x"])
    assert abs(np.corrcoef(after["x"], after["value"])[0, 1]) < 0.25
    assert "redundancy.joint" not in explain(mixed())


LEVELS = np.resize([0.0, 1.0, 2.0], 300)


@pytest.mark.parametrize(
    ("a", "b", "name", "size"),
    [
        (
            NumericColumn("a", LEVELS, ordered=False),
            NumericColumn("b", LEVELS[::-1].copy(), ordered=False),
            "cramers_v",
            1.0,
        ),
        (
            NumericColumn("a", LEVELS, ordered=False),
            NumericColumn("b", LEVELS**2, ordered=True),
            "correlation_ratio",
            1.0,
        ),
        (NumericColumn("a", -(LEVELS**3), ordered=True), NumericColumn("b", LEVELS, ordered=True), "spearman", 1.0),
        (
            NumericColumn("a", np.repeat([0.0, 1.0, 2.0], 100), ordered=False),
            NumericColumn("b", LEVELS, ordered=False),
            "cramers_v",
            0.0,
        ),
        (NumericColumn("a", np.zeros(300), ordered=True), NumericColumn("b", LEVELS, ordered=True), "spearman", 0.0),
        (NumericColumn("a", np.zeros(300), ordered=False), NumericColumn("b", LEVELS, ordered=False), "cramers_v", 0.0),
        (
            NumericColumn("a", np.full(300, np.nan), ordered=False),
            NumericColumn("b", LEVELS, ordered=True),
            "correlation_ratio",
            0.0,
        ),
    ],
)
def test_associations_of_known_size(a: NumericColumn, b: NumericColumn, name: str, size: float) -> None:
    found, value = association(a, b)
    assert found == name
    assert value == pytest.approx(size, abs=1e-9)


@pytest.mark.parametrize("ordered", [True, False])
def test_bias_corrected_associations_are_small_for_independent_columns(ordered: bool) -> None:
    rng = np.random.default_rng(0)
    squares: list[float] = []
    for _ in range(200):
        levels = NumericColumn("a", rng.integers(0, 8, 100).astype(float), ordered=False)
        other: FloatArray = rng.integers(0, 8, 100).astype(float)
        squares.append(association(levels, NumericColumn("b", other, ordered=ordered))[1] ** 2)
    assert np.mean(squares) < 0.03  # uncorrected, the expected square is 7/99 = 0.07


def test_one_feature_has_nothing_to_repeat() -> None:
    X = np.random.default_rng(0).normal(size=(20, 1))
    subject = make_subject(testing.KnownLinear((1.0,), (0.0,)), testing.KnownTruth(), X, X[:, 0])
    with pytest.raises(InputError, match=r"redundancy.features must be two or more; got 1"):
        explain(subject)


def test_all_rows_equal_in_one_cluster_cannot_be_left_out() -> None:
    subject = testing.linear_subject(40)
    same = make_subject(subject.model, subject.adapter, subject.X, subject.y, clusters=np.zeros(40))
    result = explain(same)["redundancy"]
    assert len(result.estimates) == 0
    assert any("too few distinct observations" in o.reason for o in result.omissions)


@pytest.mark.parametrize("options", [{"n_splits": 1}, {"max_rows": 5}])
def test_bad_options_are_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"redundancy.{next(iter(options))} must be"):
        Redundancy(**options)
