"""dalex through the engine: dalex's own numbers, y where it belongs, nothing leaked, and every gap listed."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, f1_score, precision_score, r2_score, recall_score, roc_auc_score

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, KL, NLL, PREDICTION, Measure
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import BudgetError, InputError, MissingDependencyError, ModelError
from uq_report.core.traits.interop import mean_measure
from uq_report.distributions import Categorical, Normal
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.dalex.explain import DalexExplanations

dalex = pytest.importorskip("dalex", reason="the explainer dalex needs dalex")

MEASURES = {m.name: m for m in (PREDICTION, ENTROPY, NLL)}


def scores(X: Any) -> FloatArray:
    p = 1 / (1 + np.exp(-(X["age"] * X["flag"] + (X["job"] == "a") + 0.5 * X["size"]).to_numpy(dtype=float)))
    return np.column_stack([1 - p, p])


def credit(X: Any) -> Distribution:
    """Refuse columns of other types than it was made for."""
    assert str(X.dtypes["job"]) == "category"
    assert str(X.dtypes["flag"]) == "bool"
    return Categorical(scores(X), classes=["bad", "good"])


def rows(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "job": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "flag": rng.random(n) < 0.5,
            "size": rng.integers(0, 5, n),
        }
    )


def subject(n: int = 40, **more: Any) -> Subject:
    X = rows(n)
    y = np.where(np.random.default_rng(1).random(n) < scores(X)[:, 1], "good", "bad")
    return make_subject(credit, FunctionAdapter(), X, y, **more)


def linear(X: Any) -> Distribution:
    x = np.asarray(X, dtype=float)
    return Normal(x[:, 0] + 2 * x[:, 1], np.exp(0.5 * x[:, 0]))


def linear_subject(n: int = 30, **more: Any) -> Subject:
    X = np.random.default_rng(2).normal(size=(n, 3))
    return make_subject(
        linear, FunctionAdapter(), X, linear(X).mean() + np.random.default_rng(3).normal(size=n), **more
    )


def bound(s: Subject, **more: Any) -> Engine:
    return Engine(s, MEASURES, **more).bound("dalex")


def explain(s: Subject, engine: Engine | None = None, **options: Any) -> dict[str, Any]:
    options = {"n_repeats": 3, "grid_points": 5} | options
    found = DalexExplanations(**options).explain(s, engine or bound(s), {})
    return {result.id.removeprefix("dalex."): result for result in found}


def by_hand(s: Subject, measure: Measure, y: Any = None) -> Any:
    """Build a dalex explainer with no code of the package but the measure's formula."""
    engine = bound(s)
    own = np.asarray(engine.y)

    def predict(_: Any, X: pd.DataFrame) -> FloatArray:
        X = X.astype({"flag": bool})
        return measure.rows(credit(X), own[X.index] if y is None else np.full(len(X), y), None)

    label, kind = measure.name, "classification" if measure is PREDICTION else "regression"
    data, target = pd.DataFrame(s.X), (own == 1).astype(float)
    return dalex.Explainer(s, data, target, predict, label=label, model_type=kind, verbose=False, precalculate=False)


def seed_of(s: Subject, part: str) -> int:
    return int(bound(s).rng(part).integers(2**31))


@pytest.fixture
def global_stream() -> Any:
    """Return numpy's global generator, seeded, and put it back afterwards."""
    state = np.random.get_state()  # noqa: NPY002 - the global state is what is guarded
    yield np.random
    np.random.set_state(state)  # noqa: NPY002 - as above


@pytest.mark.parametrize("measure", [PREDICTION, ENTROPY, NLL], ids=lambda m: m.name)
def test_model_parts_are_dalex_s_own(measure: Measure, global_stream: Any) -> None:
    s = subject()
    ours = explain(s, parts=("model_parts",))["model_parts"]
    loss = None if measure is PREDICTION else mean_measure
    global_stream.seed(seed_of(s, "model_parts"))
    rounds = by_hand(s, measure).model_parts(loss_function=loss, N=None, B=3).permutation
    own = ours.frame[ours.frame["measure"] == measure.name].pivot_table(
        index="repeat", columns="feature", values="value"
    )
    for feature in s.features:
        np.testing.assert_allclose(own[feature], rounds[feature] - rounds["_full_model_"], atol=1e-12)
    np.testing.assert_allclose(ours.meta["full_model"][measure.name], rounds["_full_model_"].mean(), atol=1e-12)


def test_baseline_is_kept_only_where_shuffling_y_means_something() -> None:
    ours = explain(subject(), parts=("model_parts",))["model_parts"]
    assert set(ours.meta["baseline"]) == {"prediction"}
    assert ours.meta["losses"] == {"prediction": "1 - AUC", "entropy": "mean entropy", "nll": "mean nll"}
    table = ours.estimates
    assert set(table["covers"]) == {"none"}
    assert table[["std_error", "lower", "upper", "confidence"]].isna().all(axis=None)
    assert (table["spread_low"] <= table["estimate"]).all()
    assert (table["estimate"] <= table["spread_high"]).all()


def test_measures_share_their_prediction_passes() -> None:
    s = subject()
    counts = []
    for measures in (("entropy",), ("prediction", "entropy", "nll")):
        engine = bound(s)
        explain(s, engine, parts=("model_parts", "model_profile"), measures=measures, max_profiles=4)
        counts.append(engine.rows_predicted["dalex"])
    assert counts[0] == counts[1]


def test_model_profile_is_the_mean_over_rows_at_each_point() -> None:
    s = subject()
    ours = explain(s, parts=("model_profile",))["model_profile"]
    engine = bound(s)
    X, y = pd.DataFrame(s.X), engine.y
    for (name, feature), part in ours.frame.groupby(["measure", "feature"]):
        if feature == "job":
            assert list(part["level"]) == ["a", "b", "c"]
        for x, level, value in part[["x", "level", "value"]].itertuples(index=False):
            point = X.copy()
            filled = [level if feature == "job" else (level == "True" if feature == "flag" else x)] * len(X)
            point[feature] = pd.Series(filled).astype(X[feature].dtype if level else float)
            np.testing.assert_allclose(value, MEASURES[name].rows(credit(point), y, None).mean(), atol=1e-12)
    assert set(ours.frame["feature"]) == set(s.features)
    assert set(ours.frame["curve"]) == {-1}
    means = {m.name: m.rows(engine.baseline, y, None).mean() for m in MEASURES.values()}
    assert ours.meta["mean"] == pytest.approx(means, abs=1e-12)


def test_profiles_are_of_the_leading_features() -> None:
    ours = explain(linear_subject(), parts=("model_parts", "model_profile"), max_profiles=1, measures=("prediction",))
    assert set(ours["model_profile"].frame["feature"]) == {"x1"}


def test_model_profile_is_dalex_s_own(global_stream: Any) -> None:
    s = subject()
    ours = explain(s, parts=("model_profile",))["model_profile"].frame.query("measure == 'nll' and feature == 'age'")
    global_stream.seed(0)
    splits = {"age": ours["x"].to_numpy()}
    with pytest.warns(UserWarning, match="variable_splits"):
        theirs = by_hand(s, NLL).model_profile(N=None, variables=["age"], variable_splits=splits, verbose=False)
    np.testing.assert_allclose(ours["value"], theirs.result["_yhat_"], atol=1e-12)


@pytest.mark.parametrize("measure", [PREDICTION, ENTROPY, NLL], ids=lambda m: m.name)
def test_break_down_is_dalex_s_own_with_y_of_the_explained_row(measure: Measure) -> None:
    s = subject()
    ours = explain(s, parts=("predict_parts",), rows=(4,))["predict_parts"]
    theirs = by_hand(s, measure, np.asarray(bound(s).y)[4]).predict_parts(
        pd.DataFrame(s.X).iloc[[4]], type="break_down"
    )
    own = ours.frame[ours.frame["measure"] == measure.name]
    steps = theirs.result.iloc[1:-1]
    assert list(own["feature"]) == list(steps["variable_name"])
    assert list(own["position"]) == [1, 2, 3, 4]
    np.testing.assert_allclose(own["value"], steps["contribution"].to_numpy(dtype=float), atol=1e-12)
    np.testing.assert_allclose(own["base"], theirs.result["cumulative"].iloc[0], atol=1e-12)


@pytest.mark.parametrize("predict_type", ["break_down", "break_down_interactions", "shap"])
def test_attributions_add_up_to_the_measure(predict_type: str) -> None:
    s = subject()
    options: dict[str, Any] = {
        "parts": ("predict_parts",),
        "predict_type": predict_type,
        "n_paths": 4,
        "n_background": 15,
    }
    ours = explain(s, **options)["predict_parts"]
    engine = bound(s)
    groups = ours.frame.groupby(["measure", "row"]).agg(base=("base", "first"), total=("value", "sum"))
    assert len(groups) == 3 * len(ours.meta["explained"])
    for name, measure in MEASURES.items():
        own = groups.loc[name]
        expected = measure.rows(engine.baseline, engine.y, None)[own.index]
        np.testing.assert_allclose(own["base"] + own["total"], expected, atol=1e-12)


def test_shapley_paths_show_their_range() -> None:
    ours = explain(subject(), parts=("predict_parts",), rows=(0,), predict_type="shap", n_paths=6)["predict_parts"]
    table = ours.estimates
    assert (table["spread_low"] <= table["estimate"] + 1e-12).all()
    assert (table["estimate"] <= table["spread_high"] + 1e-12).all()
    assert (table["spread_high"] - table["spread_low"]).max() > 1e-6


def test_performance_of_classes_is_sklearn_s() -> None:
    s = subject()
    ours = explain(s, parts=("model_performance",))["model_performance"]
    y, p = (np.asarray(s.y) == "good").astype(int), scores(s.X)[:, 1]
    found = dict(zip(ours.frame["item"], ours.frame["value"], strict=True))
    hard = (p >= 0.5).astype(int)
    expected = {
        "recall": recall_score(y, hard),
        "precision": precision_score(y, hard),
        "f1": f1_score(y, hard),
        "accuracy": accuracy_score(y, hard),
        "auc": roc_auc_score(y, p),
    }
    assert found == pytest.approx(expected, abs=1e-12)


def test_performance_of_numbers_is_sklearn_s() -> None:
    s = linear_subject()
    ours = explain(s, parts=("model_performance",))["model_performance"]
    found = dict(zip(ours.frame["item"], ours.frame["value"], strict=True))
    mean = linear(s.X).mean()
    assert found["r2"] == pytest.approx(r2_score(s.y, mean), abs=1e-12)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((np.asarray(s.y) - mean) ** 2)), abs=1e-12)


def test_prediction_is_that_of_the_positive_class() -> None:
    s = subject(positive_class="bad")
    ours = explain(s, parts=("model_performance",))["model_performance"]
    found = dict(zip(ours.frame["item"], ours.frame["value"], strict=True))
    y, p = np.asarray(s.y) == "bad", scores(s.X)[:, 0]
    assert found["recall"] == pytest.approx(recall_score(y, p >= 0.5), abs=1e-12)


def test_arrays_reach_the_model_as_arrays() -> None:
    def model(X: Any) -> Distribution:
        assert isinstance(X, np.ndarray)
        return linear(X)

    X = np.random.default_rng(2).normal(size=(20, 3))
    s = make_subject(model, FunctionAdapter(), X, X[:, 0])
    found = explain(s)
    assert all(not result.omissions for result in found.values())
    unused = found["model_parts"].estimates.query("feature == 'x2'")["estimate"]
    np.testing.assert_allclose(unused, 0, atol=1e-12)


def test_nothing_is_printed_and_the_global_stream_is_given_back(capfd: Any, global_stream: Any) -> None:
    global_stream.seed(5)
    expected = global_stream.random(3)
    global_stream.seed(5)
    explain(subject())
    np.testing.assert_array_equal(global_stream.random(3), expected)
    assert capfd.readouterr() == ("", "")


def test_the_global_stream_is_given_back_after_a_failure(global_stream: Any) -> None:
    calls = []

    def failing(X: Any) -> Distribution:
        calls.append(len(X))
        if len(calls) > 4:
            raise RuntimeError("broken")
        return credit(X)

    s = make_subject(failing, FunctionAdapter(), rows(), subject().y)
    before = global_stream.get_state()[1].copy()
    with pytest.raises(ModelError, match="broken"):
        explain(s)
    np.testing.assert_array_equal(global_stream.get_state()[1], before)
    with pytest.raises(BudgetError):
        explain(subject(), bound(subject(), row_budget=100))


def test_same_seed_same_numbers() -> None:
    parts = ("model_parts", "predict_parts")
    first, again = (explain(subject(), parts=parts, predict_type="shap", n_paths=3) for _ in range(2))
    for part, result in first.items():
        pd.testing.assert_frame_equal(result.frame, again[part].frame)


def test_rows_are_drawn_once_so_that_the_full_loss_stands_still() -> None:
    s = subject(60)
    ours = explain(s, parts=("model_parts",), max_rows=25)["model_parts"]
    kept = np.sort(bound(s).rng("rows").choice(60, 25, replace=False))
    full = ENTROPY.rows(credit(pd.DataFrame(s.X).iloc[kept]), None, None).mean()
    assert ours.meta["full_model"]["entropy"] == pytest.approx(full, abs=1e-14)
    assert "Computed on 25 of 60 observations, drawn once." in ours.notes


def test_without_y_entropy_is_explained_and_the_rest_is_listed() -> None:
    found = explain(make_subject(credit, FunctionAdapter(), rows()))
    parts = found["model_parts"]
    assert set(parts.frame["measure"]) == {"entropy"}
    assert {gap.measure for gap in parts.omissions} == {"prediction", "nll"}
    assert set(found["model_profile"].frame["measure"]) == {"prediction", "entropy"}
    assert found["model_performance"].frame.empty
    assert found["model_performance"].omissions[-1].measure == "prediction"


def test_parts_with_nothing_to_tell_are_empty_and_say_why() -> None:
    found = explain(make_subject(credit, FunctionAdapter(), rows()), measures=("prediction",), rows=())
    for part in ("model_parts", "predict_parts", "model_performance"):
        assert found[part].frame.empty
        assert found[part].estimates.empty
        assert found[part].notes
    assert [gap.measure for gap in found["model_parts"].omissions] == ["prediction"]


@pytest.mark.parametrize(("p", "answered"), [(0.499, False), (0.5, True)])
def test_performance_needs_a_true_positive(p: float, answered: bool) -> None:
    def constant(X: Any) -> Distribution:
        return Categorical(np.tile([1 - p, p], (len(X), 1)), classes=["bad", "good"])

    s = make_subject(constant, FunctionAdapter(), rows(), ["good", "bad"] * 20)
    found = explain(s, parts=("model_performance",))["model_performance"]
    assert found.frame.empty is not answered
    reasons = [gap.reason for gap in found.omissions]
    assert ("no observation is a true positive at the cutoff of 0.5" in reasons) is not answered


def test_what_is_undefined_for_one_class_is_listed() -> None:
    found = explain(make_subject(credit, FunctionAdapter(), rows(), ["good"] * 40))
    assert set(found["model_parts"].frame["measure"]) == {"entropy", "nll"}
    for part in ("model_parts", "model_performance"):
        (reason,) = (gap.reason for gap in found[part].omissions if gap.measure == "prediction")
        assert reason == "the AUC needs both classes, and the 40 observations used have one only"


def ages(X: pd.DataFrame) -> Distribution:
    """Predict from a column with missing values, whatever its type."""
    age = X["age"].astype("Float64").fillna(0).to_numpy(dtype=float)
    return Normal(age + X["size"].to_numpy(), np.exp(0.1 * age))


def test_missing_cells_of_nullable_columns_are_as_those_of_floats() -> None:
    X = rows().assign(age=np.where(np.arange(40) % 5, np.arange(40.0), np.nan))
    y = np.random.default_rng(4).normal(size=40)
    subjects = [make_subject(ages, FunctionAdapter(), each, y) for each in (X, X.astype({"age": "Int64"}))]
    floats, whole = (explain(each, rows=(0, 1), max_profiles=5) for each in subjects)
    for part in ("model_parts", "model_profile", "model_performance", "predict_parts"):
        assert len(whole[part].frame)
        pd.testing.assert_frame_equal(whole[part].frame, floats[part].frame)
    assert set(whole["predict_parts"].frame["row"]) == {0, 1}, "age of row 0 is missing"


def zero_below(X: Any) -> Distribution:
    p = np.clip(X["a"].to_numpy(dtype=float), 0.0, 0.9)
    return Categorical(np.column_stack([1 - p, p]), classes=["no", "yes"])


def test_infinite_nll_is_listed_and_never_averaged() -> None:
    """Shuffling a moves a zero probability onto a "yes"; the unpermuted rows are finite."""
    X = pd.DataFrame({"a": [-1.0, -0.5, 0.6, 0.7, 0.2, 0.5], "b": np.arange(6.0)})
    s = make_subject(zero_below, FunctionAdapter(), X, ["no", "no", "yes", "yes", "yes", "no"])
    found = explain(s, n_repeats=20)
    assert set(found["model_parts"].frame.query("measure == 'nll'")["feature"]) == {"b"}
    gap = next(gap for gap in found["model_parts"].omissions if gap.feature == "a")
    assert gap.measure == "nll"
    assert "of 20 rounds" in gap.reason
    assert "with an upper bound" in gap.reason
    assert any(gap.measure == "nll" for gap in found["model_profile"].omissions)
    assert any("infinite for observation" in gap.reason for gap in found["predict_parts"].omissions)


def test_nll_infinite_before_any_shuffle_leaves_the_measure_out() -> None:
    X = pd.DataFrame({"a": [-1.0, 0.5, 0.6], "b": np.arange(3.0)})
    s = make_subject(zero_below, FunctionAdapter(), X, ["yes", "no", "yes"])
    parts = explain(s, parts=("model_parts",))["model_parts"]
    assert set(parts.frame["measure"]) == {"prediction", "entropy"}
    (gap,) = parts.omissions
    assert "before any permutation" in gap.reason


def test_features_without_a_value_have_no_profile() -> None:
    s = make_subject(credit, FunctionAdapter(), rows().assign(none=np.nan), subject().y)
    profile = explain(s, parts=("model_profile",), max_profiles=5)["model_profile"]
    (gap,) = profile.omissions
    assert gap.feature == "none"
    assert "none" not in set(profile.frame["feature"])


def test_dates_have_no_profile_and_are_explained_otherwise() -> None:
    X = rows(20).assign(day=pd.date_range("2020-01-01", periods=20))
    s = make_subject(credit, FunctionAdapter(), X, subject(20).y)
    found = explain(s, max_profiles=5, rows=(0,))
    assert "day" in set(found["model_parts"].frame["feature"])
    assert "day" not in set(found["model_profile"].frame["feature"])
    assert "day" in set(found["predict_parts"].frame["feature"])
    assert found["predict_parts"].omissions == ()


def test_weights_and_clusters_are_said_to_be_ignored() -> None:
    s = subject(sample_weight=np.ones(40), clusters=np.arange(40) // 2)
    ours = explain(s, parts=("model_performance",))["model_performance"]
    assert "dalex does not use sample weights or clusters: every observation counts once." in ours.notes


def test_results_survive_json() -> None:
    for result in explain(subject()).values():
        assert isinstance(result, Result)
        assert json.loads(json.dumps(result.meta)) == result.meta


def test_without_dalex_the_extra_is_named(without: Callable[..., None]) -> None:
    without("dalex")
    with pytest.raises(MissingDependencyError, match=r"pip install 'uq_report\[dalex\]'"):
        explain(subject())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": ("model_part",)}, r"dalex\.parts must be some of"),
        ({"n_repeats": 1}, r"dalex\.n_repeats must be an integer >= 2; got 1\."),
        ({"predict_type": "lime"}, r"dalex\.predict_type must be one of .*; got 'lime'\."),
        ({"max_rows": 0}, r"dalex\.max_rows must be an integer >= 1; got 0\."),
        ({"measures": "nll"}, r"dalex\.measures must be a sequence of names; got 'nll'\."),
        ({"rows": [0.5]}, r"dalex\.rows must be row positions of X; got \[0\.5\]\."),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DalexExplanations(**options)


def test_function_models_are_taken(capfd: Any) -> None:
    """dalex reads its model's class name, which a plain function has not in the form it expects."""
    model: Callable[[Any], Distribution] = credit
    explain(make_subject(model, FunctionAdapter(), rows(), subject().y), parts=("model_performance",))
    assert capfd.readouterr().out == ""


def test_tables_are_predicted_in_few_calls() -> None:
    sizes: list[int] = []

    def counting(X: Any) -> Distribution:
        sizes.append(len(X))
        return credit(X)

    s = make_subject(counting, FunctionAdapter(), rows(), subject().y)
    explain(s, parts=("model_parts",), n_repeats=10)
    assert sizes == [40] + [10 * 40] * len(s.features)


def test_a_break_down_is_foreseen_in_two_calls_of_each_row() -> None:
    """None, each and then more of four features are the row's own, with 15 rows; dalex asks for nothing else."""
    sizes: list[int] = []

    def counting(X: Any) -> Distribution:
        sizes.append(len(X))
        return credit(X)

    s = make_subject(counting, FunctionAdapter(), rows(), subject().y)
    options: dict[str, Any] = {"parts": ("predict_parts",), "rows": (4, 7), "n_background": 15}
    explain(s, measures=("entropy",), **options)
    assert sizes == [40, *[15 * 5, 15 * 2] * 2]
    sizes.clear()
    engine = Engine(s, MEASURES | {"kl": KL}).bound("dalex")
    found = explain(s, engine, measures=("entropy", "kl"), **options)["predict_parts"]
    assert sizes == [40, *[15 * 5, 15 * 2] * 2]
    (gap,) = found.omissions
    assert (gap.measure, gap.reason) == (
        "kl", ("it compares an observation with its unchanged self, and the intermediate steps combine several "
            "observations")
    )  # fmt: skip


@pytest.fixture(scope="module")
def many() -> dict[str, Any]:
    X = np.random.default_rng(4).normal(size=(30, 24))
    weights = np.linspace(0, 1, 24)

    def model(table: Any) -> Distribution:
        return Normal(np.asarray(table) @ weights, np.ones(len(table)))

    s = make_subject(model, FunctionAdapter(), X, X @ weights)
    found = explain(s, measures=("prediction",), rows=(3,), n_background=10)
    return found | {"X": X, "weights": weights, "kept": bound(s).rng("background")}


def test_of_many_features_dalex_gets_the_leading_ones(many: dict[str, Any]) -> None:
    first = [f"x{j}" for j in range(20)]
    assert set(many["model_parts"].frame["feature"]) == set(first)
    assert set(many["model_profile"].frame["feature"]) <= set(first)
    assert "DALEX permuted the first 20 of 24 features." in many["model_parts"].notes
    words = "DALEX's features are the first 20 of 24 features, and the 4 other features as a single one."
    assert words in many["predict_parts"].notes


def test_the_other_features_are_one_step_of_a_break_down(many: dict[str, Any]) -> None:
    """Of a linear model each step is w (x - mean of the background), of all others together their sum."""
    frame = many["predict_parts"].frame.set_index("feature")["value"]
    used = np.sort(many["kept"].choice(30, 10, replace=False))
    steps = many["weights"] * (many["X"][3] - many["X"][used].mean(axis=0))
    np.testing.assert_allclose(frame["4 other features"], steps[20:].sum(), atol=1e-12)
    np.testing.assert_allclose(frame[[f"x{j}" for j in range(20)]], steps[:20], atol=1e-12)
    assert len(frame) == 21
