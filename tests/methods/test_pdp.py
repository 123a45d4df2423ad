"""PDP and ICE: scikit-learn's own numbers, closed forms, every kind of column, and clear refusals."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.inspection import partial_dependence

from uq_report import testing
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.adapter import Match
from uq_report.core.model.measures import ENTROPY, NLL, ONE_MINUS_AUC, PREDICTION
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import Table
from uq_report.core.support.errors import InputError, UnsupportedError
from uq_report.distributions import Categorical, Normal
from uq_report.methods.pdp.explain import PartialDependence

MEASURES = {m.name: m for m in (PREDICTION, NLL, ENTROPY, ONE_MINUS_AUC)}
LINEAR = testing.linear_subject(50)
LOGISTIC = testing.logistic_subject(50)


@dataclass(frozen=True)
class Direct:
    """An adapter for a function from rows to a distribution."""

    name: ClassVar[str] = "direct"
    api_version: ClassVar[int] = 1

    def matches(self, model: Any) -> Match | None:
        return Match(3, "a test model") if callable(model) else None

    def predict(self, model: Any, X: Table) -> Distribution:
        dist: Distribution = model(X)
        return dist

    def batch_rows(self, model: Any) -> int | None:
        return 64


class AsEstimator(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """One measure of a subject's model as a scikit-learn regressor."""

    def __init__(self, subject: Subject, measure: str) -> None:
        self.subject = subject
        self.measure = measure

    def fit(self, X: Any, y: Any) -> "AsEstimator":
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        dist = self.subject.adapter.predict(self.subject.model, X)
        return MEASURES[self.measure].rows(dist, None, None)


def explain(subject: Subject, *, n_jobs: int = 1, **options: Any) -> dict[str, Result]:
    engine = Engine(subject, MEASURES, n_jobs=n_jobs, backend="threading").bound("pdp")
    return {r.id: r for r in PartialDependence(**options).explain(subject, engine, {})}


def curves(result: Result, measure: str, feature: str) -> pd.DataFrame:
    """Return points (rows) by curves (columns)."""
    part = result.frame[(result.frame["measure"] == measure) & (result.frame["feature"] == feature)]
    at = part["level"].where(part["level"] != "", part["x"])
    return part.assign(at=at).pivot_table(index="at", columns="curve", values="value", sort=False)


def mixed(n: int = 40, model: Callable[[pd.DataFrame], Distribution] | None = None, **columns: Any) -> Subject:
    """Return a subject on a frame of one column of each kind; `columns` replaces or adds columns."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "num": rng.normal(size=n),
            "whole": rng.integers(0, 50, n),
            "nullable": pd.Series(rng.integers(0, 4, n), dtype="Int64").mask(np.arange(n) % 5 == 0),
            "size": pd.Categorical(np.resize(["small", "large", "medium"], n), categories=["small", "medium", "large"]),
            "text": np.resize(["b", "a"], n),
            "string": pd.array(np.resize(["y", "x"], n), dtype="string"),
            "flag": np.arange(n) % 3 == 0,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), "D"),
        }
    ).assign(**columns)

    def usual(X: pd.DataFrame) -> Distribution:
        if list(X.dtypes) != list(frame.dtypes):
            raise TypeError(f"the model was fitted on {list(frame.dtypes)}, not {list(X.dtypes)}")
        mean = X["num"] + 2.0 * (X["size"] == "medium") + 3.0 * X["flag"] + (X["string"] == "x")
        return Normal(np.asarray(mean, dtype=float), 1.0 + 0.1 * (X["text"] == "a").to_numpy(dtype=float))

    return make_subject(model or usual, Direct(), frame, rng.normal(size=n))


@pytest.mark.parametrize("measure", ["prediction", "entropy"])
@pytest.mark.parametrize("subject", [LINEAR, LOGISTIC], ids=["normal", "categorical"])
def test_pdp_and_ice_equal_scikit_learn(subject: Subject, measure: str) -> None:
    estimator = AsEstimator(subject, measure).fit(subject.X, subject.y)
    theirs = partial_dependence(estimator, subject.X, ["c"], kind="both", grid_resolution=9)
    ours = explain(subject, custom_values={"c": theirs["grid_values"][0]}, max_ice=50)["pdp"]
    found = curves(ours, measure, "c")
    np.testing.assert_allclose(found[-1], theirs["average"][0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.drop(columns=-1), theirs["individual"][0].T, rtol=0, atol=1e-13)


def test_surfaces_equal_scikit_learn() -> None:
    estimator = AsEstimator(LOGISTIC, "entropy").fit(LOGISTIC.X, LOGISTIC.y)
    theirs = partial_dependence(estimator, LOGISTIC.X, ["a", "c"], kind="average", grid_resolution=5)
    grid = dict(zip("ac", theirs["grid_values"], strict=True))
    ours = explain(LOGISTIC, custom_values=grid, pairs=(("a", "c"),), features=())["pdp.surface"]
    found = ours.frame[ours.frame["measure"] == "entropy"]
    assert set(found["curve"]) == {-1}
    np.testing.assert_allclose(found["value"], theirs["average"][0].ravel(), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(found["x_2"].iloc[:5], theirs["grid_values"][1])


class TestLinearNormal:
    """y | x ~ N(a + b + c, exp(0.3 c)²): PDP(a) = a + mean(b + c), entropy PDP(c) = ½ + ½ log 2π + 0.3 c."""

    result = explain(LINEAR)["pdp"]

    def test_prediction(self) -> None:
        part = self.result.estimates.query("measure == 'prediction' and feature == 'a'")
        expected = part["x"] + np.asarray(LINEAR.X)[:, 1:3].sum(axis=1).mean()
        np.testing.assert_allclose(part["estimate"], expected, atol=1e-12)

    def test_entropy(self) -> None:
        part = self.result.estimates.query("measure == 'entropy' and feature == 'c'")
        np.testing.assert_allclose(part["estimate"], 0.5 + 0.5 * np.log(2 * np.pi) + 0.3 * part["x"], atol=1e-12)
        np.testing.assert_allclose(part["std_error"], 0, atol=1e-12)

    def test_unused_feature_is_flat(self) -> None:
        part = self.result.frame.query("feature == 'd' and curve >= 0")
        assert (part.groupby(["measure", "curve"])["value"].agg(np.ptp) == 0).all()

    def test_derivative_is_the_slope(self) -> None:
        result = explain(LINEAR, mode="derivative", features=("a", "c"))
        found = result["pdp"].frame.query("measure == 'prediction'")
        np.testing.assert_allclose(found["value"], 1, atol=1e-9)
        assert "pdp.own" not in result

    def test_centred_curves_start_at_zero(self) -> None:
        result = explain(LINEAR, mode="centred", max_ice=50)
        found = curves(result["pdp"], "nll", "a")
        assert (found.iloc[0] == 0).all()
        plain = curves(explain(LINEAR, max_ice=50)["pdp"], "nll", "a")
        np.testing.assert_allclose(found, plain - plain.iloc[0], atol=1e-12)


def test_the_surface_of_an_additive_model_is_the_sum_of_its_curves() -> None:
    result = explain(LINEAR, pairs=(("a", "c"),), features=("a", "c"), measures=("prediction",))
    one = result["pdp"].estimates.set_index(["feature", "x"])["estimate"]
    pair = result["pdp.surface"].estimates
    mean = LINEAR.adapter.predict(LINEAR.model, LINEAR.X).mean().mean()
    expected = one["a"].loc[pair["x"]].to_numpy() + one["c"].loc[pair["x_2"]].to_numpy() - mean
    np.testing.assert_allclose(pair["estimate"], expected, atol=1e-12)
    assert (pair["feature_2"] == "c").all()


def test_intervals_are_t_intervals_of_the_mean_over_rows() -> None:
    result = explain(LOGISTIC, max_ice=50, features=("a",))["pdp"]
    rows = curves(result, "nll", "a").drop(columns=-1)
    part = result.estimates.query("measure == 'nll'")
    np.testing.assert_allclose(part["std_error"], rows.std(axis=1) / np.sqrt(50), rtol=1e-12)
    np.testing.assert_allclose((part["upper"] - part["estimate"]) / part["std_error"], 2.0095752, rtol=1e-6)
    assert set(part["covers"]) == {"new test samples"}


def test_integer_weights_equal_repeated_rows_in_clusters() -> None:
    X, y = np.asarray(LOGISTIC.X), LOGISTIC.y
    assert y is not None
    times = np.arange(len(X)) % 3 + 1
    weighted = make_subject(LOGISTIC.model, LOGISTIC.adapter, X, y, sample_weight=times)
    index = np.repeat(np.arange(len(X)), times)
    copied = make_subject(LOGISTIC.model, LOGISTIC.adapter, X[index], y[index], clusters=index)
    grid: dict[str, Any] = {"custom_values": {"x0": [-1.0, 0.0, 1.0]}, "features": ("x0",)}
    a, b = explain(weighted, **grid)["pdp"], explain(copied, **grid)["pdp"]
    for name in ("estimate", "std_error", "lower"):
        np.testing.assert_allclose(a.estimates[name], b.estimates[name], rtol=1e-12)
    assert any("sample weights" in note for note in a.notes)
    assert any("50 clusters" in note for note in b.notes)


def test_ice_rows_are_at_equally_spaced_ranks_of_the_prediction() -> None:
    result = explain(LOGISTIC, max_ice=5)["pdp"]
    kept = sorted(set(result.frame["curve"]) - {-1})
    ranks = np.argsort(np.argsort(LOGISTIC.adapter.predict(LOGISTIC.model, LOGISTIC.X).mean()))
    assert sorted(ranks[kept]) == [0, 12, 24, 37, 49]
    assert "5 of 50 observations" in result.notes[0]
    pd.testing.assert_frame_equal(result.estimates, explain(LOGISTIC, max_ice=50)["pdp"].estimates)


def test_no_ice_curves_on_request() -> None:
    result = explain(LOGISTIC, max_ice=0)
    assert set(result["pdp"].frame["curve"]) == {-1}
    assert len(result["pdp.own"].frame) == 0


@pytest.mark.parametrize("mode", ["plain", "centred"])
def test_own_values_lie_on_their_curves(mode: str) -> None:
    values = np.unique(np.asarray(LOGISTIC.X)[:, 0])
    result = explain(LOGISTIC, mode=mode, features=("a",), custom_values={"a": values}, max_ice=50)
    own = result["pdp.own"].frame
    assert len(own) == 3 * 50
    for measure, part in own.groupby("measure"):
        lines = curves(result["pdp"], str(measure), "a")
        on_curve = [lines.loc[x, int(row)] for x, row in zip(part["x"], part["item"], strict=True)]
        np.testing.assert_allclose(part["value"], on_curve, atol=1e-12)
    assert result["pdp.own"].meta["row_class"]["7"] == LOGISTIC.y[7]  # type: ignore[index]


def test_distributions_count_every_row_by_class() -> None:
    counts = explain(LOGISTIC)["pdp.distribution"].frame.groupby(["feature", "item"])["value"].sum()
    for label in ("no", "yes"):
        assert counts["a", label] == np.sum(LOGISTIC.y == label)
    regression = explain(LINEAR)["pdp.distribution"].frame
    assert set(regression["item"]) == {"all"}
    assert (regression.groupby("feature")["value"].sum() == 50).all()


def test_every_kind_of_column_keeps_its_type_and_its_order() -> None:
    result = explain(mixed(), grid_resolution=5)
    levels = {
        f: list(part["level"]) for f, part in result["pdp"].estimates.query("measure == 'nll'").groupby("feature")
    }
    assert levels["size"] == ["small", "medium", "large"]
    assert levels["text"] == ["a", "b"]
    assert levels["string"] == ["x", "y"]
    assert levels["flag"] == ["False", "True"]
    assert levels["day"][0] == "2020-01-01T00:00:00"
    assert len(levels["day"]) == 5
    assert set(levels["nullable"]) == {""}
    size = result["pdp"].estimates.query("measure == 'prediction' and feature == 'size'")["estimate"].to_numpy()
    np.testing.assert_allclose(size - size[0], [0, 2, 0], atol=1e-12)
    assert any("nullable: 8 observations have no value" in note for note in result["pdp"].notes)
    own = result["pdp.own"].frame.query("measure == 'nll'").groupby("feature").size()
    assert own["size"] == 40
    assert own["nullable"] == 32


def test_surfaces_mix_levels_and_numbers() -> None:
    pair = explain(mixed(), pairs=(("size", "num"),), features=())["pdp.surface"].estimates.query(
        "measure == 'entropy'"
    )
    assert list(pair["level"].iloc[[0, -1]]) == ["small", "large"]
    assert set(pair["level_2"]) == {""}
    assert pair["x_2"].iloc[:20].is_monotonic_increasing


def test_numeric_grids_are_observed_quantiles() -> None:
    subject = mixed(num=np.r_[np.zeros(30), np.arange(1, 11)])
    x = explain(subject, features=("num", "whole"), grid_resolution=8)["pdp"].estimates.query("measure == 'nll'")
    assert list(x.query("feature == 'num'")["x"]) == [0, 5, 10]
    whole = x.query("feature == 'whole'")["x"]
    assert set(whole) <= set(subject.values("whole"))
    assert whole.iloc[0] == min(subject.values("whole"))
    narrow = explain(subject, features=("whole",), grid_resolution=3, percentiles=(0.25, 0.75))["pdp"].estimates
    ordered = np.sort(subject.values("whole"))
    assert list(narrow.query("measure == 'nll'")["x"]) == list(ordered[[9, 19, 29]])


def test_rare_levels_are_left_out_with_a_note() -> None:
    text = np.array(["a"] * 20 + ["b"] * 15 + ["c"] * 4 + ["d"])
    result = explain(mixed(text=text), features=("text",), max_levels=2)["pdp"]
    assert set(result.frame["level"]) == {"a", "b"}
    assert any("2 most frequent of 4 levels; 5 observations" in note for note in result.notes)


def test_constant_and_empty_columns() -> None:
    result = explain(mixed(num=1.0, whole=np.nan))["pdp"]
    assert len(result.estimates.query("feature == 'num' and measure == 'nll'")) == 1
    assert any("num has one value" in note for note in result.notes)
    assert [o.feature for o in result.omissions] == ["whole"]
    assert "whole" not in set(result.frame["feature"])


def test_infinite_values_of_a_column_are_no_grid_points() -> None:
    result = explain(mixed(whole=np.r_[np.inf, np.arange(39.0)]), features=("whole",))["pdp"]
    assert np.isfinite(result.frame["x"]).all()
    assert any("1 infinite values" in note for note in result.notes)


def test_an_infinite_measure_is_omitted_with_its_count() -> None:
    def sure(X: pd.DataFrame) -> Distribution:
        p = np.where(X["num"].to_numpy() > 0, 1.0, 0.5)
        return Categorical(np.column_stack([1 - p, p]))

    subject = mixed(model=sure)
    subject = replace(subject, y=np.zeros(40, dtype=int))
    result = explain(subject, features=("num", "text"))
    kept = set(zip(result["pdp"].frame["measure"], result["pdp"].frame["feature"], strict=True))
    assert kept == {("prediction", "num"), ("entropy", "num"), ("prediction", "text"), ("entropy", "text")}
    reasons = {(o.measure, o.feature): o.reason for o in result["pdp"].omissions}
    assert "40 of 40 observations" in reasons["nll", "num"]
    assert f"{(subject.values('num') > 0).sum()} of 40 observations" in reasons["nll", "text"]
    assert "nll" not in set(result["pdp.own"].frame["measure"])


def test_without_y_only_what_needs_y_is_omitted() -> None:
    subject = replace(LOGISTIC, y=None)
    result = explain(subject)["pdp"]
    assert set(result.frame["measure"]) == {"prediction", "entropy"}
    assert [o.measure for o in result.omissions] == ["nll"]
    with pytest.raises(UnsupportedError, match="no measure can be evaluated: nll: it needs outcomes"):
        explain(subject, measures=("nll",))


def test_statistics_of_all_rows_have_no_curves() -> None:
    result = explain(LOGISTIC, measures=("entropy", "one_minus_auc"))["pdp"]
    assert [o.measure for o in result.omissions] == ["one_minus_auc"]


def test_one_row_has_curves_and_no_interval() -> None:
    X = np.asarray(LOGISTIC.X)[:1]
    result = explain(make_subject(LOGISTIC.model, LOGISTIC.adapter, X, ["yes"]), pairs=(("x0", "x1"),))
    assert result["pdp"].estimates["std_error"].isna().all()
    assert set(result["pdp"].estimates["covers"]) == {"none"}


def test_slopes_need_a_numeric_feature() -> None:
    result = explain(mixed(num=2.0), mode="derivative")["pdp"]
    assert {o.feature for o in result.omissions} == {"num", "size", "text", "string", "flag", "day"}
    assert set(result.frame["feature"]) == {"whole", "nullable"}


def test_results_do_not_depend_on_workers_or_other_features() -> None:
    alone = explain(mixed(), features=("num",))["pdp"].frame
    both = explain(mixed(), features=("flag", "num"), n_jobs=2)["pdp"].frame.query("feature == 'num'")
    pd.testing.assert_frame_equal(alone, both.reset_index(drop=True), check_exact=True)


def test_one_pass_serves_all_measures() -> None:
    engine = Engine(LOGISTIC, MEASURES).bound("pdp")
    PartialDependence(grid_resolution=7).explain(LOGISTIC, engine, {})
    assert engine.rows_predicted == {"pdp": 50 * (1 + 4 * 7)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid_resolution": 1}, "pdp.grid_resolution must be"),
        ({"percentiles": (0.9, 0.1)}, "pdp.percentiles must be"),
        ({"mode": "slope"}, "pdp.mode must be"),
        ({"max_ice": -1}, "pdp.max_ice must be"),
        ({"max_levels": 0}, "pdp.max_levels must be"),
        ({"pairs": (("num", "num"),)}, "pdp.pairs must be"),
        ({"features": ("nmu",)}, "Did you mean 'num'"),
        ({"custom_values": {"nmu": [1]}}, "Did you mean 'num'"),
        ({"custom_values": {"whole": [1.5]}}, r"custom_values\['whole'\].*int64"),
        ({"custom_values": {"num": []}}, r"custom_values\['num'\]"),
        ({"custom_values": {"num": [np.nan]}}, r"custom_values\['num'\]"),
        ({"custom_values": {"size": ["huge"]}}, r"custom_values\['size'\].*category"),
        ({"custom_values": {"nullable": ["one"]}}, r"custom_values\['nullable'\].*Int64"),
    ],
)
def test_bad_options_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(mixed(), **options)


def test_custom_values_are_sorted_and_kept_as_plain_options() -> None:
    given: dict[str, Any] = {
        "num": np.array([2.0, 1.0, 2.0]),
        "day": ["2021-01-01"],
        "size": ["large", "small"],
    }
    result = explain(mixed(), features=("num", "day", "size"), custom_values=given)["pdp"]
    table = result.estimates.query("measure == 'nll'").groupby("feature")
    assert list(table.get_group("num")["x"]) == [1, 2]
    assert list(table.get_group("day")["level"]) == ["2021-01-01T00:00:00"]
    assert list(table.get_group("size")["level"]) == ["large", "small"]
    assert result.options["custom_values"]["num"] == [2.0, 1.0, 2.0]


def test_the_cost_counts_the_points_of_curves_and_of_pairs() -> None:
    subject = testing.linear_subject(10)
    a, b = subject.features[:2]
    explainer = PartialDependence(features=(a, b), pairs=((a, b),), grid_resolution=7)
    assert explainer.cost(subject, Engine(subject, {"prediction": PREDICTION})) == 10 * (2 * 7 + 7 * 7)
