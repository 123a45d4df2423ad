"""Shapley values of measures: an independent enumeration, shap's own, closed forms, every kind of column, refusals."""

import json
from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.ensemble import RandomForestClassifier

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.measures import ENTROPY, NLL, NLL_CLIPPED, ONE_MINUS_AUC, PREDICTION, Measure
from uq_report.core.model.results import Attribution, Importance
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.predictive import Distribution
from uq_report.core.support.arrays import FloatArray, Table
from uq_report.core.support.errors import BudgetError, InputError, UnsupportedError
from uq_report.distributions import Categorical, Normal
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.shap import explain as _shapley
from uq_report.methods.shap.explain import ShapleyValues

MEASURES = {m.name: m for m in (PREDICTION, ENTROPY, NLL, ONE_MINUS_AUC)}
ALL = 10_000  # more rows than any subject here has: all of them are used


def wavy(X: Table) -> Distribution:
    """Depend on all but the last column, with interactions in mean and scale."""
    x = np.asarray(X, dtype=float)
    return Normal(x[:, 0] * x[:, 1] + np.sin(x[:, 2]), np.exp(0.3 * x[:, 0] * x[:, 2] - 0.2 * x[:, 1]))


def straight(X: Table) -> Distribution:
    x = np.asarray(X, dtype=float)
    return Normal(x @ np.arange(1.0, x.shape[1] + 1), np.exp(0.1 * x[:, 0]))


def subject(model: Callable[[Any], Distribution] = wavy, n: int = 24, d: int = 4, **more: Any) -> Subject:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"f{j}" for j in range(d)])
    return make_subject(model, FunctionAdapter(), X, model(X).mean() + rng.normal(size=n), **more)


def explain(s: Subject, seed: int = 0, **options: Any) -> list[Any]:
    options = {"n_background": ALL, "n_rows": ALL} | options
    return list(ShapleyValues(**options).explain(s, Engine(s, MEASURES, seed=seed).bound("shap"), {}))


def table(result: Attribution, measure: str) -> pd.DataFrame:
    """Return one measure's values, rows by features."""
    own = result.frame[result.frame["measure"] == measure]
    return own.pivot_table(index="row", columns="feature", values="value", sort=False).sort_index()


def enumerated(s: Subject, measure: Measure, row: int, background: Sequence[Sequence[Any]]) -> FloatArray:
    """Return phi by its definition over subsets, one frame of cells per coalition, with no code of the package."""
    table, d = frame(s), len(s.features)
    own, dtypes, y = cells(table)[row], table.dtypes, Engine(s, MEASURES).y

    def worth(members: tuple[int, ...]) -> float:
        cells = [[own[j] if j in members else other[j] for j in range(d)] for other in background]
        X = pd.DataFrame({name: pd.Series([c[j] for c in cells], dtype=dtypes.iloc[j]) for j, name in enumerate(table)})
        dist = s.model(X)
        return float(measure.rows(dist, None if y is None else np.full(len(X), y[row]), None).mean())

    phi = np.zeros(d)
    for j in range(d):
        others = [k for k in range(d) if k != j]
        for size in range(d):
            for members in combinations(others, size):
                phi[j] += (worth((*members, j)) - worth(members)) / (d * comb(d - 1, size))
    return phi


def frame(s: Subject) -> pd.DataFrame:
    return pd.DataFrame(s.X)


def cells(X: pd.DataFrame) -> list[list[Any]]:
    return [[X.iloc[i, j] for j in range(X.shape[1])] for i in range(len(X))]


@pytest.mark.parametrize("measure", [PREDICTION, ENTROPY, NLL], ids=lambda m: m.name)
def test_values_are_those_of_full_enumeration(measure: Measure) -> None:
    s = subject()
    attribution, _ = explain(s, measures=(measure.name,))
    for row in (0, 7):
        expected = enumerated(s, measure, row, cells(frame(s)))
        np.testing.assert_allclose(table(attribution, measure.name).loc[row], expected, atol=1e-12)


@pytest.mark.filterwarnings("ignore:The set_(bad|over|under) function:PendingDeprecationWarning")  # shap's colour maps
def test_values_are_those_of_shap_exact() -> None:
    shap = pytest.importorskip("shap", reason="shap is the oracle here")
    s = subject()
    X = np.asarray(s.X)
    attribution, _ = explain(s, measures=("prediction", "entropy"))

    def both(rows: FloatArray) -> FloatArray:
        dist = wavy(rows)
        return np.column_stack([dist.mean(), dist.entropy()])

    oracle = shap.explainers.Exact(both, shap.maskers.Independent(X, max_samples=len(X)))(X[:3])
    for k, name in enumerate(("prediction", "entropy")):
        own = oracle[..., k]
        np.testing.assert_allclose(table(attribution, name).iloc[:3], own.values, atol=1e-12)
        base = attribution.frame[attribution.frame["measure"] == name]["base"]
        np.testing.assert_allclose(base, own.base_values[0], atol=1e-12)


@pytest.mark.parametrize("max_exact", [10, 0])
def test_base_and_values_add_up_to_the_measure(max_exact: int) -> None:
    s = subject(d=6)
    attribution, _ = explain(s, max_exact=max_exact, n_rows=5)
    engine = Engine(s, MEASURES)
    groups = attribution.frame.groupby(["measure", "row"]).agg(base=("base", "first"), total=("value", "sum"))
    for measure in (PREDICTION, ENTROPY, NLL):
        own = groups.loc[measure.name]
        expected = measure.rows(engine.baseline, engine.y, None)[own.index]
        np.testing.assert_allclose(own["base"] + own["total"], expected, atol=1e-12)


@pytest.mark.parametrize("max_exact", [10, 0])
def test_linear_model_has_its_closed_form(max_exact: int) -> None:
    """phi_j = (j + 1) (x_j - mean b_j) for the mean; 0.1 (x_0 - mean b_0) in nats for the entropy: additive games."""
    s = subject(straight)
    attribution, importance = explain(s, max_exact=max_exact)
    away = frame(s) - frame(s).mean()
    np.testing.assert_allclose(table(attribution, "prediction"), away * np.arange(1.0, 5), atol=1e-12)
    np.testing.assert_allclose(table(attribution, "entropy"), away * [0.1, 0, 0, 0], atol=1e-13)
    size = importance.estimates.query("measure == 'prediction'").set_index("feature")["estimate"]
    np.testing.assert_allclose(size, (away * np.arange(1.0, 5)).abs().mean(), atol=1e-12)


def test_unused_feature_gets_exactly_nothing() -> None:
    attribution, importance = explain(subject(d=5))
    unused = attribution.frame[attribution.frame["feature"].isin(["f3", "f4"])]
    assert (unused["value"].abs() < 1e-15).all()
    means = importance.estimates[importance.estimates["feature"].isin(["f3", "f4"])]
    assert (means[["estimate", "std_error"]].abs() < 1e-15).all(axis=None)


def test_equal_features_get_equal_shares() -> None:
    def product(X: Table) -> Distribution:
        x = np.asarray(X, dtype=float)
        return Normal(x[:, 0] * x[:, 1], np.exp(x[:, 0] * x[:, 1]))

    s = subject(product, d=2)
    twin = make_subject(product, FunctionAdapter(), pd.DataFrame({"a": frame(s)["f0"], "b": frame(s)["f0"]}), s.y)
    attribution, _ = explain(twin)
    for name in ("prediction", "entropy", "nll"):
        values = table(attribution, name)
        np.testing.assert_allclose(values["a"], values["b"], atol=1e-12)


def test_permutations_agree_within_their_standard_errors() -> None:
    s = subject(d=6)
    exact, _ = explain(s, n_rows=6)
    sampled, _ = explain(s, n_rows=6, max_exact=0, n_permutations=60)
    both = exact.estimates.merge(sampled.estimates, on=["measure", "feature", "row"])
    assert len(both) == len(exact.estimates)
    error = both["std_error_y"]
    assert (error > 1e-6).any()
    assert not both["std_error_x"].any()
    assert ((both["estimate_x"] - both["estimate_y"]).abs() <= 5 * error + 1e-12).all()
    held = (both["lower_y"] - 1e-12 <= both["estimate_x"]) & (both["estimate_x"] <= both["upper_y"] + 1e-12)
    assert held.mean() > 0.85


def mixed_subject(model: Callable[[Any], Distribution], **more: Any) -> Subject:
    X = pd.DataFrame(
        {
            "number": [0.5, 1.5, np.nan, 0.5, 2.5, 1.5, -1.0, 0.0],
            "level": pd.Categorical(list("abacabca"), categories=["c", "b", "a"]),
            "text": pd.array(["x", "y", "x", "z", "x", "y", "z", "y"], dtype="string"),
            "flag": [True, False, True, True, False, False, True, False],
            "count": pd.array([1, 2, 3, 1, 2, None, 1, 2], dtype="Int64"),
        }
    )
    return make_subject(model, FunctionAdapter(), X, ["no", "yes"] * 4, **more)


def test_every_kind_of_column_reaches_the_model_as_it_is() -> None:
    def model(X: Any) -> Distribution:
        assert [str(dtype) for dtype in X.dtypes] == ["float64", "category", "string", "bool", "Int64"]
        score = X["number"].fillna(3.0) * X["flag"] + (X["level"] == "a") * X["count"].fillna(0).to_numpy(dtype=float)
        p = 1 / (1 + np.exp(-(score - (X["text"] == "x")).to_numpy(dtype=float)))
        return Categorical(np.column_stack([1 - p, p]), classes=["no", "yes"])

    s = mixed_subject(model)
    attribution, _ = explain(s)
    for measure in (PREDICTION, ENTROPY, NLL):
        expected = enumerated(s, measure, 4, cells(frame(s)))
        np.testing.assert_allclose(table(attribution, measure.name).loc[4, list(s.features)], expected, atol=1e-12)
    assert attribution.meta["data"]["number"][2] is None
    assert attribution.meta["data"]["level"][:3] == ["a", "b", "a"]
    assert json.loads(json.dumps(attribution.meta)) == attribution.meta


def test_array_subjects_give_the_values_of_frames() -> None:
    s = subject()
    arrays = make_subject(wavy, FunctionAdapter(), np.asarray(s.X), s.y)
    a, b = (explain(one)[0].frame for one in (s, arrays))
    np.testing.assert_allclose(a["value"], b["value"], atol=1e-13)


def test_background_comes_from_the_training_rows() -> None:
    train = frame(subject(n=9)) + 5.0
    s = subject(train=(train, None))
    (attribution,) = explain(s, measures=("prediction",), rows=(3,), n_rows=0)
    np.testing.assert_allclose(
        table(attribution, "prediction").loc[3], enumerated(s, PREDICTION, 3, cells(train)), atol=1e-12
    )
    assert attribution.meta["background"] == {"rows": 9, "source": "training observations"}


def test_training_rows_of_another_type_are_not_cast_but_passed_over() -> None:
    train = frame(subject(n=9)).round().astype({"f1": int})
    attribution, _ = explain(subject(train=(train, None)))
    assert (
        attribution.meta["background"]["source"]
        == "explained observations, because f1 has another type in the training sample"
    )


def test_whole_weights_are_repeated_rows() -> None:
    s = subject(n=8)
    times = np.array([2, 1, 1, 3, 1, 0, 1, 2])
    keep = np.repeat(np.arange(8), times)
    weighted = make_subject(wavy, FunctionAdapter(), s.X, s.y, sample_weight=times)
    repeated = make_subject(wavy, FunctionAdapter(), frame(s).iloc[keep], np.asarray(s.y)[keep])
    a, b = (explain(one)[1].estimates for one in (weighted, repeated))
    np.testing.assert_allclose(a["estimate"], b["estimate"], atol=1e-12)


def test_clusters_widen_the_interval_of_copied_rows() -> None:
    s = subject(n=12)
    copies = np.repeat(np.arange(12), 3)
    copied = make_subject(wavy, FunctionAdapter(), frame(s).iloc[copies], np.asarray(s.y)[copies], clusters=copies)
    single, clustered = (explain(one)[1].estimates for one in (s, copied))
    np.testing.assert_allclose(single["estimate"], clustered["estimate"], atol=1e-12)
    # the rows' part is the same; 36 background rows that are 12 three times count as 36
    assert (single["std_error"] >= clustered["std_error"]).all()
    assert (3 * clustered["std_error"] > single["std_error"] - 1e-12).all()


def test_importance_is_the_mean_size_with_the_standard_error_of_a_mean() -> None:
    s = subject(n=12)
    attribution, importance = explain(s)
    sizes = table(attribution, "entropy").abs()
    own = importance.estimates.query("measure == 'entropy'").set_index("feature")
    np.testing.assert_allclose(own["estimate"], sizes.mean(), atol=1e-14)
    by_rows, moved = sizes.std() / np.sqrt(s.n), background_influence(s, ENTROPY, table(attribution, "entropy"))
    by_background = np.sqrt(np.square(moved).sum() / (s.n * (s.n - 1)))
    np.testing.assert_allclose(own["std_error"], np.hypot(by_rows, by_background), atol=1e-14)
    freedom = (by_rows**2 + by_background**2) ** 2 / ((by_rows**4 + by_background**4) / (s.n - 1))
    reach = t.ppf(0.975, freedom) * own["std_error"]
    np.testing.assert_allclose(own["upper"] - own["estimate"], reach.fillna(0.0)[list(own.index)], rtol=1e-9)
    assert importance.rows is not None
    np.testing.assert_array_equal(importance.rows.of("entropy", "f0"), sizes["f0"])
    assert set(importance.estimates["covers"]) == {"new test samples and new background samples"}


def background_influence(s: Subject, measure: Measure, phi: pd.DataFrame) -> pd.DataFrame:
    """Return h_b = mean_x sign(phi(x)) (psi(x, b) - phi(x)), (background rows, features), one game per pair of rows."""
    rows = cells(frame(s))
    psi = np.array([[enumerated(s, measure, x, [b]) for b in rows] for x in range(s.n)])
    own = phi.to_numpy()[:, None]
    return pd.DataFrame((np.sign(own) * (psi - own)).mean(axis=0), columns=phi.columns)


def test_against_one_background_row_there_is_no_interval() -> None:
    _, importance = explain(subject(), n_background=1)
    assert importance.estimates[["std_error", "lower", "upper", "confidence"]].isna().all(axis=None)
    assert set(importance.estimates["covers"]) == {"none"}


def zero_for_some(X: Table) -> Distribution:
    p = np.clip(np.asarray(X, dtype=float)[:, 0], 0.0, 0.9)
    return Categorical(np.column_stack([1 - p, p]), classes=["no", "yes"])


def test_infinite_nll_is_counted_and_left_out() -> None:
    """Where f0 <= 0 class "yes" has probability 0: rows with y = "yes" are infinite, the others keep their values."""
    X = pd.DataFrame({"f0": [-1.0, 0.5, 0.6, 0.2], "f1": [0.0, 1.0, 2.0, 3.0]})
    s = make_subject(zero_for_some, FunctionAdapter(), X, ["no", "no", "yes", "yes"])
    attribution, importance = explain(s)
    assert set(attribution.frame.query("measure == 'nll'")["row"]) == {0, 1}
    assert set(attribution.frame.query("measure == 'entropy'")["row"]) == {0, 1, 2, 3}
    (gap,) = attribution.omissions
    assert gap.measure == "nll"
    assert "for 2 of 4 explained observations" in gap.reason
    assert "Explain the loss with an upper bound" in gap.reason
    assert set(importance.frame["measure"]) == {"prediction", "entropy"}
    assert [gap.measure for gap in importance.omissions] == ["nll"]
    bounded = Engine(s, {NLL_CLIPPED.name: NLL_CLIPPED}).bound("shap")
    remedied, _ = ShapleyValues(n_background=ALL, n_rows=ALL, measures=(NLL_CLIPPED.name,)).explain(s, bounded, {})
    assert set(remedied.frame["row"]) == {0, 1, 2, 3}
    assert np.isfinite(remedied.frame["value"]).all()
    assert remedied.omissions == ()


def test_rows_have_their_roles() -> None:
    s = subject()
    engine = Engine(s, MEASURES)
    attribution, _ = explain(s, n_local=2, n_rows=3)
    roles = attribution.meta["rows"]
    assert roles["most uncertain"] == list(np.argsort(-engine.baseline.entropy())[:2])
    assert roles["most wrong"] == list(np.argsort(engine.baseline.log_prob(np.asarray(engine.y)))[:2])
    assert len(roles["typical"]) == 2
    explained = {row for rows in roles.values() for row in rows} | set(attribution.meta["rows_used"])
    assert attribution.meta["explained"] == sorted(explained) == sorted(set(attribution.frame["row"]))


def test_typical_is_the_row_in_the_middle() -> None:
    X = pd.DataFrame({"f0": [-3.0, -1.0, 0.0, 1.0, 3.0], "f1": 0.0})
    s = make_subject(straight, FunctionAdapter(), X)
    attribution, _ = explain(s)
    assert attribution.meta["rows"]["typical"] == [2]


def test_without_y_nll_is_omitted_and_nothing_is_most_wrong() -> None:
    s = make_subject(wavy, FunctionAdapter(), subject().X)
    attribution, _ = explain(s)
    assert set(attribution.frame["measure"]) == {"prediction", "entropy"}
    assert [gap.measure for gap in attribution.omissions] == ["nll"]
    assert "most wrong" not in attribution.meta["rows"]


@pytest.mark.parametrize("max_exact", [10, 0])
def test_a_row_s_values_do_not_depend_on_the_others(max_exact: int) -> None:
    s = subject()
    alone = explain(s, rows=(5,), n_rows=0, max_exact=max_exact)[0]
    among = explain(s, max_exact=max_exact)[0]
    for name in ("prediction", "entropy", "nll"):
        np.testing.assert_allclose(table(alone, name).loc[5], table(among, name).loc[5], atol=1e-13)
    assert alone.meta["rows"] == {"chosen": [5]}


def test_orders_belong_to_names_not_to_columns() -> None:
    def by_name(X: Any) -> Distribution:
        return wavy(X[["f0", "f1", "f2", "f3"]])

    s = subject()
    moved = make_subject(by_name, FunctionAdapter(), frame(s)[["f2", "f0", "f3", "f1"]], s.y)
    a, b = (table(explain(one, max_exact=0)[0], "entropy") for one in (s, moved))
    np.testing.assert_allclose(a, b[a.columns], atol=1e-13)


def test_seed_moves_the_sampled_values_and_nothing_else_does() -> None:
    s = subject()
    first, again, other = (explain(s, seed, max_exact=0)[0].frame for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not np.allclose(first["value"], other["value"])


def test_many_features_lower_the_sample_not_below_ten() -> None:
    s = subject(d=12)
    _, few = explain(s, n_background=5, n_permutations=4, max_evaluations=1)
    _, more = explain(s, n_background=5, n_permutations=4, max_evaluations=5 * (4 * 11 + 2) * 17)
    assert (len(few.meta["rows_used"]), len(more.meta["rows_used"])) == (10, 14 + 3 - len(few_roles(s)))


def few_roles(s: Subject) -> set[int]:
    roles = explain(s, n_background=1, n_permutations=4)[0].meta["rows"]
    return {row for rows in roles.values() for row in rows}


@pytest.mark.parametrize("call_rows", [7, 500])
def test_call_size_changes_nothing(call_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One explained row needs 24 * 15 + 1 composite rows: calls hold a part of one, or one at a time."""
    whole = explain(subject())[0].frame
    monkeypatch.setattr(_shapley, "CALL_ROWS", call_rows)
    pd.testing.assert_frame_equal(explain(subject())[0].frame, whole, rtol=0, atol=1e-13)


def test_spread_stands_in_where_there_is_no_entropy() -> None:
    class OnlyMoments(Normal):
        """A distribution of which mean and variance alone are known."""

        supports = frozenset({"mean", "variance"})

    def model(X: Table) -> Distribution:
        known = wavy(X)
        return OnlyMoments(known.mean(), np.sqrt(known.variance()))

    s = make_subject(model, FunctionAdapter(), subject().X)
    attribution, _ = explain(s, n_rows=2)
    assert attribution.meta["rows"]["most uncertain"] == [int(np.argmax(wavy(s.X).variance()))]
    assert {gap.measure for gap in attribution.omissions} == {"entropy", "nll"}


def test_rows_are_counted_and_within_the_stated_cost() -> None:
    s = subject(d=3)
    engine = Engine(s, MEASURES).bound("shap")
    _ = engine.baseline
    before = engine.rows_predicted["shap"]
    ShapleyValues(rows=(0, 1), n_rows=0, n_background=4).explain(s, engine, {})
    assert 0 < engine.rows_predicted["shap"] - before <= 2 * 8 * 4
    with pytest.raises(BudgetError):
        ShapleyValues().explain(s, Engine(s, MEASURES, row_budget=s.n + 5).bound("shap"), {})


def test_notes_state_the_game() -> None:
    attribution, importance = explain(subject(), n_background=7, n_rows=9)
    assert "Absent features take their values jointly from 7 explained observations." in attribution.notes
    assert "All 16 coalitions of 4 features were evaluated: there is no Monte-Carlo error." in attribution.notes
    assert set(attribution.estimates["covers"]) == {"exact"}
    assert attribution.estimates[["lower", "upper", "confidence"]].isna().all(axis=None)
    assert "Measures of y use the outcome of the explained observation." in attribution.notes
    assert (
        "Mean of |φ| over 9 of 24 observations against 7 background observations; repeat is the observation."
        in importance.notes
    )
    assert isinstance(importance, Importance)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_permutations": 5}, "shap.n_permutations must be an even number >= 4; got 5."),
        ({"n_background": 0}, "shap.n_background must be an integer >= 1; got 0."),
        ({"max_exact": 25}, "shap.max_exact must be an integer from 0 to 20; got 25."),
        ({"n_rows": -1}, "shap.n_rows must be an integer >= 0; got -1."),
        ({"measures": "entropy"}, "shap.measures must be a sequence of names; got 'entropy'."),
        ({"measures": ()}, "shap.measures must be a sequence of names"),
        ({"rows": "all"}, "shap.rows must be row positions of X; got 'all'."),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        ShapleyValues(**options)


def test_rows_that_are_not_there_are_refused() -> None:
    with pytest.raises(InputError, match=r"shap.rows must be row positions of X, 0 to 23; got \[24, -1\]"):
        explain(subject(), rows=(0, 24, -1))
    with pytest.raises(InputError, match=r"shap\.n_rows must be >= 1 where no rows are chosen"):
        explain(subject(), rows=(), n_rows=0)


def test_measures_without_a_value_per_row_are_omitted() -> None:
    s = mixed_subject(lambda X: zero_for_some(pd.DataFrame({"f0": 0.3 + 0.1 * X["flag"]})))
    attribution, _ = explain(s, measures=("entropy", "one_minus_auc"))
    assert [gap.measure for gap in attribution.omissions] == ["one_minus_auc"]
    with pytest.raises(UnsupportedError, match="shap: no measure can be evaluated"):
        explain(s, measures=("one_minus_auc",))


@pytest.mark.parametrize(
    ("evaluations", "rows", "background"),
    [
        (10**6, 50, 100),
        (22 * 51 * 60, 50, 60),
        (22 * 51 * 60 - 1, 50, 59),
        (22 * 200, 19, 10),  # half as many background rows as rows, one of which is named
        (22 * 199, 18, 10),
        (1, 10, 5),
    ],
)
def test_many_features_have_a_smaller_background_and_then_fewer_rows(
    evaluations: int, rows: int, background: int
) -> None:
    """Six features in 4 orders make 22 coalitions; at most 22 x rows x background are planned, down to 10 and 5."""
    few = ShapleyValues(max_exact=0, n_permutations=4, max_evaluations=evaluations)
    size = few._background_size(6, 1)
    assert size == background
    assert few._sample_size(6, size, 1) == rows
    assert ShapleyValues(max_exact=6, max_evaluations=1)._background_size(6, 1) == 5


def test_above_all_coalitions_the_prediction_of_a_forest_is_exact_by_shap() -> None:
    pytest.importorskip("shap")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    model = RandomForestClassifier(5, min_samples_leaf=5, random_state=0).fit(X, X[:, 0] + X[:, 1] * X[:, 2] > 0)
    s = uq.explain(model, X)
    chosen: dict[str, Any] = {"measures": ("prediction", "entropy"), "rows": (1, 2), "n_rows": 0}
    whole, orders = (explain(s, max_exact=most, **chosen)[0] for most in (5, 4))
    assert (whole.meta["by_tree_explainer"], orders.meta["by_tree_explainer"]) == (False, True)
    tables = [result.estimates.set_index(["measure", "row", "feature"]).loc["prediction"] for result in (whole, orders)]
    assert np.allclose(tables[0]["estimate"], tables[1]["estimate"], rtol=0, atol=1e-6)
    assert set(tables[1]["covers"]) == {"exact"}
    assert (tables[1]["std_error"] == 0).all()
    assert "Values of the prediction are exact, by the explainer of shap for this kind of model." in " ".join(
        orders.notes
    )
    assert set(orders.estimates["covers"]) == {"exact", "Monte Carlo (permutations)"}


@pytest.mark.parametrize(
    ("d", "options", "allowed"),
    [
        (1, {}, False),
        (2, {"max_exact": 2}, True),
        (3, {"max_exact": 2}, False),
        (2, {"rows": (0,), "n_rows": 0}, False),
        (2, {"rows": (0,), "n_rows": 1}, True),
    ],
)
def test_interactions_need_two_features_to_max_exact_and_sampled_rows(
    d: int, options: dict[str, Any], allowed: bool
) -> None:
    given = subject(straight, n=6, d=d)
    options |= {"measures": ("prediction",), "interactions": True}
    if allowed:
        assert len(explain(given, **options)) == 3
        return
    words = rf"2 to max_exact = {options.get('max_exact', 10)} features .* got {d} features and n_rows="
    with pytest.raises(InputError, match=words):
        explain(given, **options)
