"""Redundancy by hand: its R², which rows and levels it reads, partners, and what its results say."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.sampling import Sampling
from uq_report.core.model.subject import make_subject
from uq_report.core.support.errors import InputError
from uq_report.distributions import Normal
from uq_report.methods.redundancy import explain
from uq_report.methods.redundancy.explain import Predictors, Redundancy, _gains, _weighed, joint, partners, trees
from uq_report.methods.shared.association import NumericColumn, skill
from uq_report.testing import KnownTruth, measures


class Flat(KnownTruth):
    """Predicts the same of every row."""

    def predict(self, model: Any, X: Any) -> Any:
        return Normal(np.zeros(len(X)), np.ones(len(X)))


def explained(frame: Any, *, subject: Any = None, **options: Any) -> Any:
    engine = Engine(make_subject(None, Flat(), pd.DataFrame(frame), **(subject or {})), measures()).bound("redundancy")
    return Redundancy(**options).explain(engine.subject, engine, {})


def test_r_squared_is_a_ratio_of_weighted_means_with_the_influence_of_a_ratio() -> None:
    """About the mean 1.5 the squares are 2.25, 0.25 and 6.25, about the forecast 1, 0 and 4: R² is 1 - 1.5 / 2.75."""
    truth, forecast = np.array([[0.0], [2.0], [4.0]]), np.array([[1.0], [2.0], [2.0]])
    rows = Sampling(np.array([0.5, 0.25, 0.25]), 3)
    line = skill(truth, forecast, rows, 0.95, "r_squared", "x")
    assert line["estimate"] == pytest.approx(1 - 6 / 11)
    own = np.array([1, 0, 4]) - 6 / 11 * np.array([2.25, 0.25, 6.25])
    assert line["std_error"] == pytest.approx(rows.mean(-own / 2.75)[1])
    twice = skill(np.hstack([truth, truth]), np.hstack([forecast, truth]), rows, 0.95, "r_squared", "x")
    assert twice["estimate"] == pytest.approx(1 - 3 / 11)


@pytest.mark.parametrize(("n", "d", "used"), [(7000, 3, 6666), (201, 101, 200), (199, 3, 199), (1100, 20, 1000)])
def test_as_many_rows_as_keep_the_work(n: int, d: int, used: int) -> None:
    result = explained(np.random.default_rng(0).normal(size=(n, d)), n_splits=2)[0]
    assert set(result.estimates["n"]) == {used}


FITS = "A linear fit and trees, weighed by the other folds, scored in"


def test_what_the_result_says_of_rows_folds_and_levels() -> None:
    rng = np.random.default_rng(0)
    frame = {"x": rng.normal(size=40), "g": [*["u", "v"] * 19, "w", "w"], "same": np.r_[np.zeros(38), 1, 1]}
    weights = np.r_[np.ones(38), 0, 0]
    result = explained(frame, subject={"sample_weight": weights}, n_splits=2, max_rows=30)[0]
    assert result.notes[:4] == (
        "Models and associations use 30 of 40 observations, drawn at random.",
        f"{FITS} 2 folds; intervals cover new test samples for the fitted models.",
        "Copies of an observation, and observations of a cluster, never predict each other.",
        "R² of a numeric feature, R² of the level indicators of a categorical one.",
    )
    why = "it is constant in the observations of positive weight"
    assert [(o.feature, o.reason) for o in result.omissions if o.feature] == [("same", why)]
    assert set(result.estimates["feature"]) == {"x", "g"}
    assert set(result.estimates["n"]) == {30}
    assert not any("most frequent" in note for note in result.notes)
    whole = explained({"x": frame["x"], "y": rng.normal(size=40)}, max_rows=40)[0]
    assert whole.notes[0].startswith(f"{FITS} 5 folds;")
    assert ("", "outcomes were not given, so nothing is predicted with them") in {
        (o.feature, o.reason) for o in whole.omissions
    }


def test_levels_and_leaders_are_noted_from_their_limits() -> None:
    merged = "Levels beyond the 19 most frequent are one level in: g."
    leading = "Each feature is predicted from the 20 others that predict it best in the training sample."
    for levels, noted in ((20, ()), (21, (merged,))):
        columns = [
            NumericColumn("x", np.arange(63.0), ordered=True),
            NumericColumn("g", np.arange(63.0) % levels, ordered=False),
        ]
        assert Redundancy()._notes(columns)[3:] == noted
    for d, noted in ((21, ()), (22, (leading,))):
        columns = [NumericColumn(str(j), np.arange(9.0), ordered=True) for j in range(d)]
        assert Redundancy()._notes(columns)[1:-2] == noted


@pytest.mark.parametrize("known", [9, 10])
def test_ten_known_values_are_needed(known: int) -> None:
    x = np.arange(40.0)
    result = explained({"x": x, "z": -(x**2), "few": np.where(x < known, x, np.nan)})[0]
    reasons = {o.feature: o.reason for o in result.omissions if o.feature}
    assert reasons == ({"few": "it has only 9 known values; 10 are needed"} if known < 10 else {})


def test_folds_are_of_equal_size(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    leaders = explain.leaders

    def chosen(*args: Any) -> Any:
        sizes.append(args[-1].sum())
        return leaders(*args)

    monkeypatch.setattr(explain, "leaders", chosen)
    engine = Engine(
        make_subject(None, Flat(), pd.DataFrame({"x": np.arange(20.0), "z": np.arange(20.0) ** 2})), measures()
    )
    Redundancy(n_splits=4).explain(engine.subject, engine.bound("redundancy"), {})
    assert sizes == [15] * 4


def test_a_level_of_no_weight_makes_no_feature_constant() -> None:
    rng = np.random.default_rng(0)
    frame = {"x": rng.normal(size=40), "g": [*["u", "v"] * 19, "w", "w"]}
    weights = np.r_[np.ones(38), 1e-300, 1e-300]
    assert set(explained(frame, subject={"sample_weight": weights})[0].estimates["feature"]) == {"x", "g"}


def test_options_are_refused_beyond_their_limits() -> None:
    Redundancy(n_splits=2, max_rows=10)
    wrong: tuple[dict[str, Any], ...] = ({"n_splits": 1}, {"max_rows": 9})
    for options in wrong:
        with pytest.raises(InputError, match=rf"redundancy\.{next(iter(options))} must be an integer >= "):
            Redundancy(**options)


def copies(n: int) -> list[NumericColumn]:
    x = np.arange(float(n))
    gaps = np.where(x < 3, np.nan, x)
    return [
        NumericColumn("x", x, ordered=True),
        NumericColumn("y", -gaps, ordered=True),
        NumericColumn("g", x % 2, ordered=False),
    ]


def test_the_partner_is_the_column_of_the_largest_association() -> None:
    found = partners(copies(30))
    lines = found.estimates[["measure", "feature", "item", "covers"]].to_numpy().tolist()
    assert lines[:2] == [["spearman", "x", "y", "none"], ["spearman", "y", "x", "none"]]
    assert lines[2][0] == "correlation_ratio"
    assert found.estimates["estimate"].tolist()[:2] == pytest.approx([1, 1])
    assert found.frame["value"].tolist() == found.estimates["estimate"].tolist()
    assert set(found.frame["x"]) == {0.0}
    assert found.estimates[["std_error", "lower", "upper", "confidence"]].isna().all(axis=None)


@pytest.mark.parametrize(("n", "shown"), [(30, 27), (230, 200)])
def test_flagged_pairs_are_shown_before_and_after_a_permutation(n: int, shown: int) -> None:
    columns = copies(n)
    strongest = partners(columns)
    table = strongest.estimates.assign(estimate=[0.5, 0.499, 0.1])
    (found,) = joint(columns, replace(strongest, estimates=table), Engine(
        make_subject(None, Flat(), np.zeros((4, 2))), measures()).bound("redundancy"))  # fmt: skip
    (_, before), (_, after) = sorted(found.frame.groupby("measure"), reverse=True)
    assert set(found.frame["feature"]) == {"x"}
    assert len(before) == len(after) == shown
    assert before["value"].tolist() == (-before["x"]).tolist()
    assert sorted(after["x"]) == sorted(before["x"])
    assert after["value"].tolist() == before["value"].tolist()
    assert (after["x"].to_numpy() != before["x"].to_numpy()).mean() > 0.5
    assert min(before["x"]) >= 3
    assert "Pairs with an association of 0.5 or more, at most 200 observations." in found.notes
    none = replace(strongest, estimates=table.assign(estimate=0.4))
    assert joint(columns, none, Engine(make_subject(None, Flat(), np.zeros((4, 2))), measures())) == []


def test_a_second_part_gains_what_it_takes_off_the_squared_error() -> None:
    """The first part gets the weight 1 where it is half of Y or less, and the rest is left; both give Y."""
    rng = np.random.default_rng(0)
    first, second = np.linalg.qr(rng.normal(size=(40, 2)))[0].T.reshape(2, 40, 1)
    Y, folds = first + 0.5 * second, np.arange(40) % 2
    parts = np.stack([first, second])
    both = _weighed(parts, Y, folds)
    np.testing.assert_allclose(both, Y, atol=1e-9)
    alone = _weighed(parts[:1], Y, folds)
    np.testing.assert_allclose(_gains(parts, Y, folds), np.square(Y - alone).sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(_weighed(parts / 4, Y, folds), parts[0] / 4 + parts[1] / 4, atol=1e-9)
    assert not _weighed(parts, Y, np.zeros(40, dtype=int)).any()


def test_trees_add_up_and_missing_values_are_read() -> None:
    x = np.repeat([1.0, 2.0, np.nan], 20)[:, None]
    Y = np.repeat([0.0, 5.0, 9.0], 20)[:, None]
    found = trees(x, Y, np.array([[1.0], [2.0], [np.nan]]), np.random.RandomState(0), 3)
    assert found[0, 0] < found[1, 0]
    constant = trees(x[:40], Y[:40] * 0 + 2, np.array([[1.0]]), np.random.RandomState(0), 3)
    assert constant.tolist() == [[6.0]]


def test_forms_of_some_rows_and_whose_they_are() -> None:
    made = Predictors.of(copies(16))
    assert made.owner.tolist() == [0, 0, 1, 1, 2, 2]
    assert made.binned.tolist() == [0] * 9 + [1] * 9 + [2] * 3
    part = made.at_rows(np.array([3, 1]))
    for name in ("ranks", "scaled", "even", "bins"):
        np.testing.assert_array_equal(getattr(part, name), getattr(made, name)[[3, 1]])
    for form, expected in zip(made.first(2), Predictors.of(copies(16)[:2]), strict=True):
        np.testing.assert_array_equal(form, expected)
    assert made.ranks[:, 0].tolist() == list(range(1, 17))
