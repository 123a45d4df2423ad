"""Distributions from residuals: the right rows, the right spread, the model's own predictions, and refusals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import uq_report as uq
from uq_report.core.model.subject import Subject
from uq_report.core.support.errors import InputError, ModelError, UQReportError
from uq_report.core.validation.residuals import Residuals
from uq_report.distributions import Normal, Smoothed, StudentT
from uq_report.distributions.tables.quantiles import Quantiles
from uq_report.inputs.adapters.residual_rows import folds, out_of_bag, predicted
from uq_report.inputs.adapters.residuals_ import DF_LIMITS, ENOUGH, ResidualsAdapter, SpreadFit, fitted_spread

from .whole_audit import whole_audit

FrozenEstimator = pytest.importorskip("sklearn.frozen", reason="new in scikit-learn 1.6").FrozenEstimator

FRAME, TARGET = load_diabetes(return_X_y=True, as_frame=True)
FRAME = FRAME[["bmi", "bp", "s5", "sex"]]
TRAIN = FRAME[:200], TARGET[:200].to_numpy()
HELD = FRAME[200:300], TARGET[200:300].to_numpy()
X, Y = FRAME[300:360], TARGET[300:360].to_numpy()
LINEAR = LinearRegression().fit(*TRAIN)
FOREST = RandomForestRegressor(30, random_state=0, oob_score=True).fit(*TRAIN)
REAL_FORMS: dict[str, Any] = {"normal": Normal, "student_t": StudentT, "empirical": Smoothed, "conformal": Quantiles}


def subject(model: Any, residuals: Any = "normal", **more: Any) -> Subject:
    return uq.explain(model, X, Y, **{"train": TRAIN, "residuals": residuals, **more})


def dist(laid: Subject) -> Any:
    return laid.adapter.predict(laid.model, laid.X)


def residuals_of(model: Any, rows: Any) -> Any:
    return rows[1] - model.predict(rows[0])


def test_normal_is_the_prediction_with_the_mean_squared_residual_of_held_out_rows() -> None:
    laid = subject(LINEAR, Residuals(rows=HELD))
    std = np.sqrt(np.mean(np.square(residuals_of(LINEAR, HELD))))
    assert isinstance(dist(laid), Normal)
    np.testing.assert_array_equal(dist(laid).mean(), LINEAR.predict(X))
    np.testing.assert_allclose(dist(laid).log_prob(Y), stats.norm(LINEAR.predict(X), std).logpdf(Y), rtol=1e-12)
    assert laid.assumption is not None
    assert (laid.assumption.source, laid.assumption.n) == ("held_out", 100)
    assert laid.assumption.spread == pytest.approx(std)


def test_the_empirical_form_keeps_mean_and_variance_of_the_residuals() -> None:
    residual = residuals_of(LINEAR, HELD)
    q = dist(subject(LINEAR, Residuals(form="empirical", rows=HELD)))
    np.testing.assert_allclose(q.mean() - LINEAR.predict(X), residual.mean(), rtol=1e-9)
    np.testing.assert_allclose(q.variance(), residual.var(), rtol=1e-9)


def test_the_conformal_form_has_the_residuals_at_their_levels() -> None:
    residual = np.sort(residuals_of(LINEAR, HELD))
    q = dist(subject(LINEAR, Residuals(form="conformal", rows=HELD)))
    ranks = np.array([2, 10, 76, 91])  # of 100: rounded outwards from 0.025, 0.1, 0.75 and 0.9
    np.testing.assert_allclose(
        q.quantile(ranks / 101) - LINEAR.predict(X)[:, None], np.tile(residual[ranks - 1], (len(X), 1)), rtol=1e-9
    )


def test_cross_validated_residuals_are_those_of_scikit_learn_on_the_same_folds() -> None:
    place = np.empty(len(TRAIN[1]), dtype=int)
    for k, fold in enumerate(folds(len(place), Residuals())):
        place[fold] = k
    own = TRAIN[1] - cross_val_predict(LinearRegression(), *TRAIN, cv=PredefinedSplit(place))
    laid = subject(LINEAR)
    assert laid.assumption is not None
    assert laid.assumption.spread == pytest.approx(np.sqrt(np.mean(np.square(own))), rel=1e-9)
    assert (laid.assumption.source, laid.assumption.n_splits) == ("cross_validation", 5)
    assert "fitted 5 more times" in laid.notes[0]


@pytest.mark.parametrize(
    "model",
    [
        FOREST,
        ExtraTreesRegressor(30, bootstrap=True, oob_score=True, random_state=0).fit(*TRAIN),
        BaggingRegressor(Ridge(), 30, oob_score=True, random_state=0).fit(*TRAIN),
        BaggingRegressor(DecisionTreeRegressor(), 30, max_features=2, oob_score=True, random_state=0).fit(*TRAIN),
    ],
    ids=["forest", "extra trees", "bagged lines", "bagged trees"],
)
def test_out_of_bag_residuals_are_those_of_the_model_itself(model: Any) -> None:
    rows = out_of_bag(model, *TRAIN, members=False)
    np.testing.assert_allclose(TRAIN[1] - rows.residual, model.oob_prediction_, rtol=1e-9)


def test_rows_that_nearly_every_member_saw_give_no_residual_and_are_counted() -> None:
    model = RandomForestRegressor(4, random_state=0).fit(*TRAIN)
    laid = subject(model, "oob")
    assert laid.assumption is not None
    assert laid.assumption.n < len(TRAIN[1])
    assert f"{len(TRAIN[1]) - laid.assumption.n} training observations are outside fewer than two bags" in laid.notes[0]


def test_out_of_bag_the_scale_follows_the_members_as_far_as_the_residuals_do() -> None:
    laid = subject(FOREST, "oob")
    q, assumption = dist(laid), laid.assumption
    assert assumption is not None
    rows = out_of_bag(FOREST, *TRAIN, members=True)
    fit = fitted_spread(rows.residual, rows.predicted.variance)
    members = np.stack([tree.predict(X.to_numpy()) for tree in FOREST.estimators_])
    scale = np.sqrt(fit.a + fit.b * members.var(axis=0, ddof=1))
    expected = stats.t(fit.df, FOREST.predict(X), scale).logpdf(Y)
    np.testing.assert_allclose(q.log_prob(Y), expected)
    assert assumption.df == fit.df
    assert assumption.members_share == pytest.approx(fit.share(rows.predicted.variance).mean())
    assert assumption.replaces == "ensemble"
    assert f"rest on {len(rows.residual)} residuals; with fewer than {ENOUGH}" in laid.notes[-1]


def test_the_spread_of_members_outside_is_theirs() -> None:
    rows = out_of_bag(FOREST, *TRAIN, members=True)
    outside = [np.setdiff1d(np.arange(200), inside) for inside in FOREST.estimators_samples_]
    table = np.full((30, 200), np.nan)
    for tree, own, out in zip(FOREST.estimators_, table, outside, strict=True):
        own[out] = tree.predict(TRAIN[0].to_numpy()[out])
    assert np.isfinite(table).sum(axis=0).min() > 1
    np.testing.assert_allclose(rows.predicted.variance, np.nanvar(table, axis=0, ddof=1))


@pytest.mark.parametrize(("a", "b", "df"), [(1.0, 0.0, 200.0), (0.2, 2.0, 200.0), (0.5, 1.0, 4.0)])
def test_what_the_residuals_were_made_with_is_found(a: float, b: float, df: float) -> None:
    rng = np.random.default_rng(3)
    members = rng.gamma(1.0, size=20_000)
    found = fitted_spread(rng.standard_t(df, 20_000) * np.sqrt(a + b * members), members)
    assert (found.a, found.b) == pytest.approx((a, b), abs=0.07)
    assert found.df == pytest.approx(df, rel=0.1) or min(found.df, df) > 30
    scaled = fitted_spread(1e6 * rng.normal(size=500) * np.sqrt(a + b * members[:500]), 1e12 * members[:500])
    assert scaled.a + scaled.b * 1e12 == pytest.approx(1e12 * (a + b), rel=0.3)


def test_members_that_say_nothing_of_the_residuals_have_no_share() -> None:
    rng = np.random.default_rng(4)
    e = rng.normal(size=400)
    assert fitted_spread(e, np.zeros(400)).b == 0
    assert fitted_spread(e, 1 / (0.1 + e**2)).b == 0
    assert SpreadFit(5.0, 1.0, 0.0).share(np.ones(2)).tolist() == [0.0, 0.0]
    extreme = fitted_spread(np.r_[rng.standard_cauchy(400)], np.zeros(400))
    assert extreme.df == pytest.approx(DF_LIMITS[0])
    assert np.isfinite([extreme.a, extreme.df]).all()


def test_a_normal_form_has_one_spread_though_there_are_members() -> None:
    laid = subject(FOREST)
    assert isinstance(dist(laid), Normal)
    assert laid.assumption is not None
    assert (laid.assumption.source, laid.assumption.members_share) == ("oob", None)
    np.testing.assert_allclose(np.sqrt(dist(laid).variance()), laid.assumption.spread)


def test_a_student_t_of_a_model_without_members_is_its_tails() -> None:
    laid = subject(LINEAR, Residuals(form="student_t", rows=HELD))
    q = dist(laid)
    df, _, scale = stats.t.fit(residuals_of(LINEAR, HELD), floc=0)
    assert isinstance(q, StudentT)
    assert q.scale == pytest.approx(np.full(len(X), scale), rel=0.01) or min(df, q.df[0]) > 30
    assert laid.assumption is not None
    assert laid.assumption.members_share is None


def test_unequal_weights_of_members_count_in_their_variance() -> None:
    parts = [("a", Ridge()), ("b", DecisionTreeRegressor(random_state=0)), ("c", LinearRegression())]
    model = VotingRegressor(parts, weights=[1, 2, 1]).fit(*TRAIN)
    laid = subject(model, Residuals(form="student_t", rows=HELD))
    w = np.array([0.25, 0.5, 0.25])
    members = np.stack([part.predict(X) for part in model.estimators_])
    variance = w @ np.square(members - w @ members) / (1 - w @ w)
    rows = predicted(model, X, members=True)
    np.testing.assert_allclose(rows.variance, variance)
    assert np.isfinite(dist(laid).log_prob(Y)).all()


@pytest.mark.parametrize("form", REAL_FORMS)
def test_a_modelled_scale_is_as_wide_as_the_noise(form: Any) -> None:
    rng = np.random.default_rng(1)
    rows = rng.uniform(0, 1, (900, 2))
    std = np.where(rows[:, 0] > 0.5, 3.0, 1.0)
    y = rows[:, 1] + std * rng.normal(size=900)
    asked = Residuals(form=form, scale="modelled", rows=(rows[:600], y[:600]))
    laid = uq.explain(lambda X: X[:, 1], rows[600:], y[600:], residuals=asked)
    q = dist(laid)
    assert isinstance(q, REAL_FORMS[form])
    wide, narrow = (np.sqrt(q.variance()[std[600:] == size].mean()) for size in (3.0, 1.0))
    assert wide == pytest.approx(3.0, rel=0.15)
    assert narrow == pytest.approx(1.0, rel=0.25)
    same = dist(uq.explain(laid.model, rows[600:], y[600:], residuals=Residuals(form=form, rows=asked.rows)))
    assert q.log_prob(y[600:]).mean() > same.log_prob(y[600:]).mean() + 0.05


def test_members_and_a_modelled_scale_go_together() -> None:
    laid = subject(FOREST, Residuals(form="student_t", scale="modelled"))
    q = dist(laid)
    assert isinstance(q, StudentT)
    assert np.ptp(q.variance()) > 0
    assert laid.assumption is not None
    assert laid.assumption.members_share is not None


def test_a_model_with_a_distribution_of_its_own_is_laid_over_and_named() -> None:
    laid = subject(BayesianRidge().fit(*TRAIN))
    assert laid.assumption is not None
    assert laid.assumption.replaces == "regressor_std"
    assert laid.assumption.words.startswith(
        "The model's own distribution (regressor_std) is not used. The audit assumes a normal"
    )


def test_residuals_are_in_units_of_y_where_the_target_is_transformed_inside() -> None:
    model = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp).fit(*TRAIN)
    laid = subject(model, Residuals(rows=HELD))
    np.testing.assert_allclose(dist(laid).variance(), np.mean(np.square(residuals_of(model, HELD))))
    np.testing.assert_array_equal(dist(laid).mean(), model.predict(X))


def test_a_mean_residual_beyond_chance_is_told_and_counts_in_the_spread() -> None:
    laid = subject(LINEAR, Residuals(rows=(HELD[0], HELD[1] + 80)))
    assert "Predictions are too low on average, by" in laid.notes[-1]
    np.testing.assert_array_equal(dist(laid).mean(), LINEAR.predict(X))
    assert dist(laid).variance()[0] > 80**2
    assert not any("on average" in note for note in subject(LINEAR, Residuals(rows=HELD)).notes)


@pytest.mark.parametrize(("model", "residuals", "shared"), [
    (LINEAR, Residuals(rows=HELD), ""),
    (LINEAR, "normal", "different folds"),
    (FOREST, "oob", "out of their bags"),
])  # fmt: skip
def test_weights_and_clusters_are_of_the_audited_rows_only_and_a_note_says_so(
    model: Any, residuals: Any, shared: str
) -> None:
    """Nothing says what the residual rows weigh and which of them go together: the spread is that of equal rows."""
    plain = subject(model, residuals)
    assert not any("count equally" in note for note in plain.notes)
    weighted = subject(model, residuals, sample_weight=np.linspace(1, 2, len(X)))
    clustered = subject(model, residuals, clusters=np.arange(len(X)) // 2)
    n = plain.assumption.n if plain.assumption is not None else 0
    assert f"All {n} residuals count equally: sample weights are known of the test sample only." in weighted.notes
    (note,) = (note for note in clustered.notes if "count equally" in note)
    assert note.startswith(f"All {n} residuals count equally, as of independent observations: dependence is known")
    assert (shared in note, "the assumed spread is too small" in note) == (True, bool(shared))
    for laid in (weighted, clustered):
        np.testing.assert_array_equal(dist(laid).variance(), dist(plain).variance())


class Column:
    """A model with a ``predict`` alone, which gives a column as neural networks do."""

    def predict(self, X: Any) -> Any:
        return np.asarray(X)[:, [0]] * 900 + 150


def line(X: Any) -> Any:
    return X["bmi"] * 900 + 150


@pytest.mark.parametrize("model", [Column(), line, lambda X: Normal(line(X), 1.0)])
def test_anything_that_gives_one_number_a_row_will_do(model: Any) -> None:
    laid = subject(model, Residuals(rows=HELD))
    np.testing.assert_allclose(dist(laid).mean(), line(X))


def test_text_and_missing_values_reach_the_modelled_scale() -> None:
    frame = FRAME.assign(sex=np.where(FRAME["sex"] > 0, "f", "m"), bp=FRAME["bp"].where(FRAME["bp"] > -0.05))
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["sex"]), remainder="passthrough")
    model = make_pipeline(encoder, HistGradientBoostingRegressor(max_iter=5)).fit(frame[:200], TRAIN[1])
    asked = Residuals(scale="modelled")
    laid = uq.explain(model, frame[300:360].assign(sex="x"), Y, train=(frame[:200], TRAIN[1]), residuals=asked)
    assert np.isfinite(dist(laid).entropy()).all()


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        (FOREST, "oob"),
        (FOREST, Residuals(scale="modelled")),
        (HistGradientBoostingRegressor(max_iter=10).fit(*TRAIN), Residuals(form="empirical", scale="modelled")),
        (HistGradientBoostingRegressor(max_iter=10).fit(*TRAIN), Residuals(form="conformal", scale="modelled")),
    ],
    ids=["forest", "forest, scale", "boosting, empirical", "boosting, conformal"],
)
def test_rows_of_trees_do_not_depend_on_their_neighbours(model: Any, asked: Any) -> None:
    laid = subject(model, asked)
    assert laid.adapter.batch_rows(model) == 80_000
    whole, table = dist(laid), pd.DataFrame(laid.X)
    for rows in (slice(0, 1), slice(7, 30)):
        part = laid.adapter.predict(model, table[rows].reset_index(drop=True))
        assert np.array_equal(part.entropy(), whole.entropy()[rows])
        assert np.array_equal(part.log_prob(Y[rows]), whole.log_prob(Y)[rows])
    pd.testing.assert_frame_equal(table, X.reset_index(drop=True))
    assert subject(LINEAR).adapter.batch_rows(LINEAR) is None


def test_refits_repeat_and_leave_the_global_random_state_alone() -> None:
    model = RandomForestRegressor(5).fit(*TRAIN)
    asked = Residuals(source="cross_validation")
    np.random.seed(3)  # noqa: NPY002 - the state that must stay
    first = subject(model, asked).assumption
    assert np.random.random() == np.random.RandomState(3).random()  # noqa: NPY002 - as above
    assert first == subject(model, asked).assumption
    assert first != subject(model, Residuals(source="cross_validation", seed=1)).assumption


def test_a_search_is_not_searched_again() -> None:
    search = GridSearchCV(Ridge(), {"alpha": [1e-3, 1e3]}, cv=3).fit(*TRAIN)
    assert subject(search).assumption == subject(search.best_estimator_).assumption


class Own(BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Any:
        raise RuntimeError("no second fit")

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


HALF = Residuals(rows=(FRAME[270:330], TARGET[270:330]))
SHUFFLED = TRAIN[0].sample(frac=1, random_state=0), TRAIN[1]
PROBABLE = LogisticRegression().fit(TRAIN[0], TRAIN[1] > 140)
FROZEN = make_pipeline(StandardScaler(), FrozenEstimator(LinearRegression().fit(TRAIN[0].to_numpy(), TRAIN[1]))).fit(
    *TRAIN
)


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (LINEAR, {"train": None}, r"explain.train must be a pair \(X, y\).*got None. Pass train=\(X_train, y_train\)"),
        (LINEAR, {"train": (TRAIN[0], None)}, r"explain.train must be a pair .*got no y"),
        (LINEAR, {"train": (X, Y)}, "explain.train must hold none of the audited rows .*got 60 of the 60 audited rows"),
        (
            LINEAR,
            {"residuals": HALF},
            "rows must hold none .*got 30 of the 60 audited rows: rows 0, 1, 2, 3, 4 ",
        ),
        (LINEAR, {"residuals": Residuals(rows=TRAIN)}, "residuals.rows must hold none of the training rows"),
        (
            LINEAR,
            {"residuals": Residuals(rows=(HELD[0][["bmi"]], HELD[1]))},
            "must have the columns that the model was fitted on",
        ),
        (LINEAR, {"residuals": "oob"}, "source must be 'oob' only for .*got LinearRegression. Pass residuals='normal'"),
        (LINEAR, {"adapter": "function"}, "explain.adapter must be None where residuals are asked for; got 'function'"),
        (LINEAR, {"train": (TRAIN[0][:9], TRAIN[1][:9])}, "must have at least 20 rows for residuals; got 9"),
        (LINEAR, {"residuals": Residuals(scale="modelled"), "train": (TRAIN[0][:50], TRAIN[1][:50])}, "fewer than 60"),
        (LINEAR, {"residuals": Residuals(rows=(HELD[0][:5], HELD[1][:5]))}, "must be of at least 20 rows; got 5"),
        (FOREST, {"train": (TRAIN[0][:90], TRAIN[1][:90]), "residuals": "oob"}, "got 90 rows for a fit of 200"),
        (FOREST, {"train": SHUFFLED, "residuals": "oob"}, "rows of the fit in their order .*rows that fall into other"),
        (FOREST, {"train": (TRAIN[0], TRAIN[1]), "residuals": "norml"}, "Did you mean 'normal'"),
        (FROZEN, {}, r"parts that stay as they are \(steps|parts that stay as they are \(frozenestimator\)"),
        (Column(), {}, "got Column, which no clone of it can. Give rows of your own: residuals=uq.Residuals"),
        (Own(), {}, "Own ended with RuntimeError: no second fit"),
        (PROBABLE, {}, "must be for a regressor; got LogisticRegression, which predicts classes"),
        (RidgeClassifier().fit(TRAIN[0], TRAIN[1] > 140), {}, "got RidgeClassifier, which predicts classes"),
        (LinearRegression, {}, "got the class LinearRegression itself"),
        (object(), {}, "model must have predict, or be a function of the rows; got object"),
        (lambda X: X, {"residuals": Residuals(rows=HELD)}, r"one number per row, shape \(100,\), .*got \(100, 4\)"),
        (lambda X: [{}] * len(X), {"residuals": Residuals(rows=HELD)}, "must predict numbers"),
        (lambda X: X["bmi"] * np.nan, {"residuals": Residuals(rows=HELD)}, "must predict a finite number in every row"),
    ],
)
def test_what_gives_no_honest_residuals_is_refused(model: Any, arguments: Any, message: str) -> None:
    with pytest.raises(UQReportError, match=message):
        subject(model, **{"residuals": "normal", **arguments})


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        (RandomForestRegressor(8, random_state=0).fit(TRAIN[0][["bmi", "bp", "s5"]], TRAIN[1]), "oob"),
        (
            LinearRegression().fit(TRAIN[0][["bmi", "bp", "s5"]], TRAIN[1]),
            Residuals(form="empirical", scale="modelled"),
        ),
    ],
    ids=["forest", "line"],
)
def test_a_whole_audit_stands_on_the_assumption(model: Any, asked: Any) -> None:
    few = ["bmi", "bp", "s5"]
    train = TRAIN[0][few], TRAIN[1]
    run = whole_audit(uq.explain(model.fit(*train), X[few], Y, train=train, residuals=asked))
    assert {"entropy", "nll"} <= {m for result in run.results for m in result.measures}
    assert run.subject["adapter"] == "residuals"


def test_a_recorded_prediction_of_other_rows_is_noticed() -> None:
    model = BaggingRegressor(Ridge(), 30, oob_score=True, random_state=0).fit(*TRAIN)
    with pytest.raises(InputError, match="other than its oob_prediction_"):
        subject(model, "oob", train=SHUFFLED)


def test_exact_residuals_are_no_residuals() -> None:
    with pytest.raises(InputError, match="must not all be 0; got 0 in all 100 rows"):
        subject(LINEAR, Residuals(rows=(HELD[0], LINEAR.predict(HELD[0]))))
    with pytest.raises(InputError, match="must differ for the empirical form; got 2"):
        subject(lambda X: X["bmi"] * 0, Residuals(form="empirical", rows=(HELD[0], np.full(100, 2.0))))


def test_rows_of_few_values_may_be_equal_by_chance() -> None:
    rng = np.random.default_rng(0)
    few = rng.integers(0, 3, (300, 2)).astype(float)
    y = rng.integers(0, 2, 300).astype(float)
    laid = uq.explain(lambda X: X[:, 0] / 2, few[:100], y[:100], residuals=Residuals(rows=(few[100:], y[100:])))
    assert laid.assumption is not None
    with pytest.raises(InputError, match="got 100 of the 100 audited rows"):
        uq.explain(lambda X: X[:, 0], few[:100], y[:100], residuals=Residuals(rows=(few[:100], y[:100])))


def test_the_adapter_by_itself_says_how_it_is_used() -> None:
    with pytest.raises(UQReportError, match="Pass residuals='normal' alone"):
        uq.explain(LINEAR, X, Y, adapter="residuals")


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (LINEAR, 'residuals="normal"'),
        (make_pipeline(StandardScaler(), LinearRegression()).fit(*TRAIN), 'residuals="normal"'),
        (FROZEN, "rows=(X_calibration, y_calibration)"),
        (FrozenEstimator(LINEAR), "rows=(X_calibration, y_calibration)"),
        (Column(), "rows=(X_calibration, y_calibration)"),
    ],
    ids=["line", "pipeline", "frozen step", "frozen", "column"],
)
def test_a_regressor_of_points_is_refused_with_the_line_that_works(model: Any, word: str) -> None:
    with pytest.raises(InputError, match=r"which predicts points\. Type:") as refused:
        uq.explain(model, X, Y, train=TRAIN)
    (typed,) = [line.strip() for line in str(refused.value).splitlines() if "uq.explain" in line]
    assert word in typed
    names = {"uq": uq, "model": model, "X": X, "y": Y, "X_train": TRAIN[0], "y_train": TRAIN[1]}
    laid = eval(typed, names | {"X_calibration": HELD[0], "y_calibration": HELD[1]})
    assert laid.assumption is not None


def test_advice_for_forests_is_their_bags_and_none_for_what_predicts_no_number() -> None:
    adapter = ResidualsAdapter()
    advice = adapter.advise(FOREST)
    assert advice is not None
    assert 'residuals="oob"' in advice.code
    strangers = (PROBABLE, LinearRegression, StandardScaler(), KMeans(), object())
    assert [adapter.advise(stranger) for stranger in strangers] == [None] * 5


def test_models_of_other_kinds_fail_as_models() -> None:
    with pytest.raises(ModelError, match="finite number"):
        subject(lambda X: X["bmi"] / 0.0, Residuals(rows=HELD))
