"""The fast path of column-wise pipelines predicts changed rows as the model itself does, or is dropped."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from uq_report.api import audit, importance
from uq_report.core.engine.fast_path_checks import FastPathStats
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.adapter import Adapter
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.model.variants import Variant
from uq_report.core.support.arrays import FloatArray
from uq_report.distributions import Categorical
from uq_report.inputs.adapters.classifier import ClassifierAdapter
from uq_report.inputs.adapters.ensemble import EnsembleAdapter
from uq_report.inputs.adapters.glm import GlmAdapter
from uq_report.inputs.adapters.poisson import PoissonAdapter
from uq_report.inputs.fast_paths.columnwise import Columnwise
from uq_report.inputs.fast_paths.separable import SeparablePath
from uq_report.testing import fast_path_model_checks, measures

SEPARABLE = SeparablePath()
N = 70
NUMBERS = ["age", "debt", "rate"]


def frame(seed: int = 0) -> pd.DataFrame:
    """Numbers, some missing, a rare and a frequent category, a category dtype, and a column nobody uses."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(N, 3)), columns=NUMBERS)
    X.loc[rng.random(N) < 0.2, "debt"] = np.nan
    X["town"] = np.array(["Ulm", "Jena", "Kiel <0>"], dtype=object)[rng.integers(0, 3, N)]
    X.loc[3, "town"] = "Rust"
    X["tier"] = pd.Categorical(rng.choice(["low", "mid"], N), categories=["low", "mid", "high"])
    X["unused"] = np.arange(N)
    return X


X = frame()
Y = (X["age"].to_numpy() + X["debt"].fillna(0.5).to_numpy() + np.random.default_rng(1).logistic(size=N) > 0).astype(int)
Y3 = np.digitize(X["age"] + np.random.default_rng(2).logistic(size=N), [-1, 1])
AMOUNT = np.exp(0.4 * X["age"].to_numpy() + 0.3 * np.random.default_rng(3).normal(size=N))


# Newer versions of scikit-learn warn where the method is not named.
NAMED = "quantile_method" in signature(KBinsDiscretizer).parameters
QUANTILES = {"quantile_method": "averaged_inverted_cdf"} if NAMED else {}


def mixed(*, sparse: bool = False) -> ColumnTransformer:
    """One of everything that is known to be column-wise."""
    return make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["debt"]),
        (OneHotEncoder(sparse_output=sparse, min_frequency=2, handle_unknown="infrequent_if_exist"), ["town", "tier"]),
        (SplineTransformer(n_knots=3), ["rate"]),
        (KBinsDiscretizer(3, encode="onehot-dense", **QUANTILES), ["age", "rate"]),
        ("passthrough", ["age"]),
        ("drop", ["unused"]),
        sparse_threshold=1.0 if sparse else 0.0,
    )


def subject(model: Any, adapter: Adapter | None = None, y: Any = Y, rows: Any = X) -> Subject:
    return make_subject(model.fit(rows, y), adapter or ClassifierAdapter(), rows, y)


ADDED: dict[str, Callable[[], Subject]] = {
    "logistic": lambda: subject(make_pipeline(mixed(), LogisticRegression())),
    "three classes": lambda: subject(make_pipeline(mixed(), LogisticRegression()), y=Y3),
    "discriminant": lambda: subject(make_pipeline(mixed(), VarianceThreshold(), LinearDiscriminantAnalysis()), y=Y3),
    "gradient descent": lambda: subject(make_pipeline(mixed(), SGDClassifier(loss="log_loss", random_state=0))),
    "Poisson": lambda: subject(make_pipeline(mixed(), PoissonRegressor()), PoissonAdapter(), Y),
    "gamma": lambda: subject(make_pipeline(mixed(), GammaRegressor()), GlmAdapter(dispersion=0.5), AMOUNT),
}
SEPARATE: dict[str, Callable[[], Subject]] = {
    "naive Bayes": lambda: subject(make_pipeline(mixed(), GaussianNB())),
    "tree on codes": lambda: subject(
        make_pipeline(
            make_column_transformer((OrdinalEncoder(), ["town", "tier"]), remainder="passthrough"),
            DecisionTreeClassifier(random_state=0),
        )
    ),
    "forest": lambda: subject(make_pipeline(mixed(), RandomForestClassifier(5, random_state=0)), EnsembleAdapter()),
    "powers": lambda: subject(
        make_pipeline(PowerTransformer(), DecisionTreeClassifier()), rows=X[NUMBERS[:1]].to_numpy()
    ),
    **ADDED,
}


@pytest.mark.parametrize("check", fast_path_model_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", SEPARATE)
def test_column_wise_pipelines_meet_the_contract(name: str, check: Callable[..., None]) -> None:
    check(SeparablePath, SEPARATE[name]())


def permuted(of: Subject, columns: Any = None) -> Iterator[Variant]:
    for c in range(len(of.features)) if columns is None else columns:
        yield from (Variant((c,), donors=np.random.default_rng(r).permutation(of.n)) for r in range(3))


def values(
    of: Subject, paths: Any = (), variants: Any = None, **how: Any
) -> tuple[FloatArray, dict[str, FastPathStats]]:
    """All measures (measures, variants, rows), and what the paths did."""
    engine = Engine(of, measures(), fast_paths=paths, **how)
    chosen = engine.select(["nll", "entropy", "prediction"])[0]
    groups = engine.evaluate(permuted(of) if variants is None else variants, chosen)
    return np.concatenate([group.values for group in groups], axis=1), engine.served


@pytest.mark.parametrize("name", ["naive Bayes", "tree on codes", "forest", "logistic"])
def test_transformed_rows_are_the_pipeline_s_to_the_last_bit(name: str) -> None:
    of = SEPARATE[name]()
    fast, served = values(of, [SEPARABLE])
    np.testing.assert_array_equal(fast, values(of)[0])
    assert served["separable"].difference == 0
    assert "equal to the last bit" in str(served["separable"])


@pytest.mark.parametrize("seed", range(3))
def test_random_pipelines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    numeric = [SimpleImputer(strategy=str(rng.choice(["mean", "median"]))), StandardScaler(with_mean=bool(seed % 2))]
    rows = frame(seed)
    names = rng.permutation(NUMBERS).tolist()
    step = make_column_transformer(
        (make_pipeline(*numeric), names[:2]),
        (OneHotEncoder(drop=["first", None, "if_binary"][seed]), ["tier", "town"]),
        (SimpleImputer(), names[2:]),
        remainder=["drop", "passthrough", StandardScaler()][seed],
    )
    of = subject(make_pipeline(step, LogisticRegression(max_iter=10_000)), rows=rows)
    plain = values(of)[0]
    fast, served = values(of, [SEPARABLE])
    np.testing.assert_allclose(fast, plain, rtol=1e-10, atol=1e-13)
    assert served["separable"].rows == plain[0].size


def test_no_feature_moves_another_s_bits() -> None:
    of = ADDED["logistic"]()
    whole = values(of, [SEPARABLE])[0]
    alone = [values(of, [SEPARABLE], permuted(of, [c]))[0] for c in range(len(of.features))]
    np.testing.assert_array_equal(whole, np.concatenate(alone, axis=1))


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_change_nothing(backend: str) -> None:
    of = ADDED["three classes"]()
    one, served = values(of, [SEPARABLE])
    two, also = values(of, [SEPARABLE], n_jobs=2, backend=backend)
    np.testing.assert_array_equal(one, two)
    assert served == also


def test_explainers_of_one_run_share_what_was_compared_and_other_rows_are_compared_anew() -> None:
    of = SEPARATE["powers"]()
    engine = Engine(of, measures(), fast_paths=[SEPARABLE])
    compared = []
    for bound in (engine.bound("a"), engine.bound("b"), engine.bound("c", of.take(np.arange(40)))):
        list(bound.evaluate(permuted(bound.subject), engine.select(["nll"])[0]))
        compared.append(engine.served["separable"].compared)
    assert 0 < compared[0] == compared[1] < compared[2]


def test_parts_of_rows_and_rows_chosen() -> None:
    of, rows = ADDED["logistic"](), np.array([5, 3, 60, 11])
    donors = np.array([1, 2, 3, 4])
    for batch in (None, 3):
        engines = [Engine(of, measures(), batch_rows=batch, fast_paths=paths) for paths in ((), (SEPARABLE,))]
        plain, *fast = (
            next(engine.evaluate([Variant((0, 3), donors=donors)], engine.select(["nll"])[0], rows)).values
            for engine in engines
        )
        for other in fast:
            np.testing.assert_allclose(other, plain, rtol=1e-12)


def test_what_one_call_changes_is_put_back_before_the_next() -> None:
    of, every = SEPARATE["naive Bayes"](), np.arange(N)
    path: Any = SEPARABLE.shortcut(of.model, of.adapter, of.X)
    back, on = every[::-1], np.roll(every, 1)
    groups = [
        ([Variant((0,), donors=back), Variant((0,), donors=on)], every),
        ([Variant((0,), donors=on), Variant((0,), donors=back)], every),
        ([Variant((3,), donors=on), Variant((3, 1), donors=back)], every),
        ([Variant((1,), donors=on), Variant()], every),
        ([Variant((4,), ("mid",)), Variant((4,), ("low",))], every),
        ([Variant((2,), donors=back)], every),
        ([Variant((2,), donors=on[:5])], every[40:45]),
        ([Variant(), Variant()], every),
    ]
    for group, rows in groups:
        fresh: Any = SEPARABLE.shortcut(of.model, of.adapter, of.X)
        assert_array_equal(path.predict(group, rows).probabilities, fresh.predict(group, rows).probabilities)
        sent = pickle.loads(pickle.dumps(path)).predict(group, rows)
        assert_array_equal(sent.probabilities, fresh.predict(group, rows).probabilities)


def test_an_estimator_that_writes_to_its_rows_is_asked_by_the_model_alone() -> None:
    class Scribbler(GaussianNB):  # type: ignore[misc]  # scikit-learn has no types
        def predict_proba(self, X: Any) -> Any:
            p = super().predict_proba(X)
            X[:, 0] = 7.0
            return p

    of = subject(make_pipeline(mixed(), Scribbler()))
    fast, served = values(of, [SEPARABLE])
    assert_array_equal(fast, values(of)[0])
    assert served["separable"].rows == 0
    assert "read-only" in served["separable"].dropped


class Crooked(SeparablePath):
    """Predicts as the pipeline does, but where column `bad` changes."""

    def __init__(self, bad: int = 3, off: float = 1e-6) -> None:
        self.bad, self.off = bad, off

    def shortcut(self, model: Any, adapter: Adapter, X: Any) -> Any:
        inner: Any = super().shortcut(model, adapter, X)
        bad, off = self.bad, self.off

        class Wrong:
            def covers(self, variant: Variant) -> bool:
                return True

            def predict(self, group: Any, rows: Any) -> Any:
                dist = inner.predict(group, rows)
                return _shifted(dist, off) if any(bad in variant.columns for variant in group) else dist

        return Wrong()


def _shifted(dist: Any, off: float) -> Categorical:
    p = dist.probabilities
    return Categorical(p + off * p[:, ::-1] * np.array([1, -1]), classes=dist.classes)


def test_a_path_that_differs_is_left_for_the_rest_of_the_run_and_that_is_reported() -> None:
    of = ADDED["logistic"]()
    fast, served = values(of, [Crooked()])
    np.testing.assert_array_equal(fast, values(of)[0])
    path = served["separable"]
    assert path.rows == 0  # the crooked column is compared with the first
    assert 1e-7 < path.difference < 1e-5
    assert "then left: its predictions differ from the model's own by" in str(path)
    within, kept = values(of, [Crooked(off=1e-11)])
    assert kept["separable"].rows == within[0].size
    assert not kept["separable"].dropped


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_path_raises_in_a_comparison_leaves_it(n_jobs: int) -> None:
    class Failing(SeparablePath):
        def shortcut(self, model: Any, adapter: Adapter, X: Any) -> Any:
            raise RuntimeError("no\n such tree")

    of = ADDED["logistic"]()
    fast, served = values(of, [Failing()], n_jobs=n_jobs, backend="threading")
    np.testing.assert_array_equal(fast, values(of)[0])
    assert served["separable"].dropped == "RuntimeError: no such tree"


def test_rows_that_a_path_cannot_predict_are_the_model_s_and_counted() -> None:
    class Fragile(SeparablePath):
        def shortcut(self, model: Any, adapter: Adapter, X: Any) -> Any:
            inner: Any = super().shortcut(model, adapter, X)

            class Short:
                covers = staticmethod(lambda variant: True)

                @staticmethod
                def predict(group: Any, rows: Any) -> Any:
                    if len(rows) > 32 and 1 in group[0].columns:
                        raise MemoryError
                    return inner.predict(group, rows)

            return Short()

    of = ADDED["logistic"]()
    fast, served = values(of, [Fragile()])
    np.testing.assert_array_equal(fast, values(of)[0])
    assert served["separable"].failed == 3 * N
    assert served["separable"].rows == fast[0].size - 3 * N
    assert f"the model itself predicted {3 * N} rows that it could not" in str(served["separable"])


STRANGERS: dict[str, Callable[[], Subject]] = {
    "components": lambda: subject(make_pipeline(PCA(1), LogisticRegression()), rows=X[["age", "rate"]].to_numpy()),
    "a function": lambda: subject(
        make_pipeline(FunctionTransformer(np.square), LogisticRegression()), rows=X[["age", "rate"]].to_numpy()
    ),
    "a part of several columns": lambda: subject(
        make_pipeline(make_column_transformer((PCA(1), ["age", "rate"])), LogisticRegression()), rows=X
    ),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_other_steps_have_no_shortcut(name: str) -> None:
    of = STRANGERS[name]()
    assert SEPARABLE.shortcut(of.model, of.adapter, of.X) is None
    assert str(values(of, [SEPARABLE])[1]["separable"]) == "not used"


def test_frames_and_sparse_matrices_are_left_to_the_pipeline() -> None:
    pandas = subject(make_pipeline(mixed(), GaussianNB()).set_output(transform="pandas"))
    sparse = subject(make_pipeline(mixed(sparse=True), DecisionTreeClassifier()))
    assert [SEPARABLE.shortcut(of.model, of.adapter, of.X) for of in (pandas, sparse)] == [None, None]


def test_which_columns_each_makes() -> None:
    columns = Columnwise.of([mixed().fit(X, Y)], X)
    assert columns is not None
    # the mean and the indicator; four towns, of which Rust is rare, and two tiers; splines; bins; itself
    assert [len(made) for made in columns.made] == [3 + 1, 2, 4 + 3 + 1, 4, 2, 0]
    for c in range(X.shape[1]):
        moved = X.copy()
        moved.isetitem(c, X.iloc[::-1, c].array)
        differs = (mixed().fit(X, Y).transform(moved) != columns.rows).any(axis=0)
        assert set(np.flatnonzero(differs)) <= set(columns.made[c])


@pytest.mark.parametrize("weights", [None, {"onehotencoder": 3.0}])
@pytest.mark.parametrize(
    ("column", "occurs"),
    [(0, X["age"][[5, 5, 2]]), (1, X["debt"].dropna()[:2]), (3, X["town"][:4]), (4, X["tier"][:2])],
)
def test_values_that_occur_are_not_transformed_again(column: int, occurs: pd.Series[Any], weights: Any) -> None:
    step = mixed().set_params(transformer_weights=weights).fit(X, Y)
    columns = Columnwise.of([step], X)
    assert columns is not None
    made, values = columns.made[column], tuple(occurs)
    (known,) = columns.changes([Variant((column,), (occurs.to_numpy(),))])
    assert known.values is None
    assert X.iloc[known.at, column].tolist() == occurs.tolist()
    new = 7.25 if column < 2 else np.nan if column == 3 else "high"
    moved = X.iloc[: len(values) + 1].copy()
    moved.isetitem(column, pd.Series([*values, new], dtype=X.dtypes.iloc[column]))
    changes = columns.changes([Variant((column,), (value,)) for value in (*values, new)])
    rows = np.concatenate([transformed[at] for _, _, transformed, at in changes])
    np.testing.assert_array_equal(rows, step.transform(moved)[:, made])


def test_values_take_the_column_s_own_kind() -> None:
    rows = pd.DataFrame({"count": np.arange(20), "x": np.linspace(-1, 1, 20)})
    of = subject(make_pipeline(StandardScaler(), LogisticRegression()), y=np.arange(20) % 2, rows=rows)
    changes = [Variant((0,), (3.0,)), Variant((0, 1), (5.0, np.nan)), Variant((0,), (np.arange(20.0)[::-1],))]
    fast = values(of, [SEPARABLE], changes[:1] + changes[2:])[0]
    np.testing.assert_allclose(fast, values(of, (), changes[:1] + changes[2:])[0], rtol=1e-12)


def test_an_unseen_category_is_refused_in_the_model_s_words() -> None:
    step = make_column_transformer((OneHotEncoder(), ["town"]), remainder="drop")
    of = subject(make_pipeline(step, LogisticRegression()))
    with pytest.raises(Exception, match="Found unknown categories"):
        values(of, [SEPARABLE], [Variant((3,), ("Bonn",))])


def test_the_run_says_what_ran_and_the_setting_turns_it_off() -> None:
    of = ADDED["logistic"]()
    options: dict[str, Any] = {
        "explainers": ["pfi"],
        "checks": [],
        "options": {"pfi": {"n_repeats": 3}},
        "as_of": "2026-01-01",
    }
    fast, plain = audit(of, **options), audit(of, **options, fast_paths=False)
    records = [{p.name: p for p in run.run.plugins if p.group == "fast_paths"} for run in (fast, plain)]
    rows = records[0]["separable"].rows_predicted
    assert N * len(of.features) < rows <= 3 * N * len(of.features)  # a feature of two values takes one change
    assert records[0]["separable"].outcome.startswith(f"predicted {rows:,} rows (column-wise pipeline); in ")
    assert {record.outcome for record in records[1].values()} == {"turned off by the settings"}
    assert plain.run.settings["fast_paths"] is False
    adapters = [next(p for p in run.run.plugins if p.name == "classifier") for run in (fast, plain)]
    assert adapters[1].rows_predicted - adapters[0].rows_predicted == rows
    pairs = zip(fast.run.results, plain.run.results, strict=True)
    for ours, theirs in pairs:
        pd.testing.assert_frame_equal(ours.estimates, theirs.estimates, rtol=1e-9, atol=1e-12)


def test_one_verb_takes_the_setting() -> None:
    of = ADDED["logistic"]()
    fast, plain = (importance(of, ["nll"], n_repeats=3, fast_paths=on).frame["value"] for on in (True, False))
    np.testing.assert_allclose(fast, plain, atol=1e-12)
