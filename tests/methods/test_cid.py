"""Covered information end to end: which estimator, what is refused, and what the gate lets through."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import GraphicalLassoCV
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import KFold

from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.support.errors import BudgetError, InputError
from uq_report.core.support.limits import limited
from uq_report.core.validation.lifetimes import recorded
from uq_report.distributions import Censored, Weibull
from uq_report.evidence.information import CidCover, CidGraph
from uq_report.inputs.adapters.ensemble import RegressorStdAdapter
from uq_report.inputs.adapters.members import FunctionAdapter
from uq_report.methods.cid.cid import UnfitError, importance_map
from uq_report.methods.cid.estimate import cell_notes, copy_notes
from uq_report.methods.cid.explain import CoveredInformation, alone, refitted
from uq_report.methods.cid.precision import by_lasso, fit_field
from uq_report.methods.pfi.explain import PermutationImportance
from uq_report.testing import KnownLogistic, KnownTruth, linear_subject, logistic_subject, measures


def run(subject: Subject, n_jobs: int = 1, confidence: float = 0.95, **options: Any) -> dict[str, Result]:
    engine = Engine(subject, measures(), n_jobs=n_jobs, backend="threading", confidence=confidence)
    prior = {"pfi": PermutationImportance(n_repeats=5, train=False).explain(subject, engine.bound("pfi"), {})}
    results = CoveredInformation(**options).explain(subject, engine.bound("cid"), prior)
    return {result.id: result for result in results}


def value(result: Result, feature: str, item: str, column: str = "estimate") -> float:
    table = result.estimates
    return float(table[(table["feature"] == feature) & (table["item"] == item)][column].iloc[0])


def ridge(X: pd.DataFrame, y: Any, **options: Any) -> Subject:
    return make_subject(BayesianRidge().fit(X, y), RegressorStdAdapter(), X, y, **options)


def wide(n: int = 400, pairs: int = 6) -> tuple[pd.DataFrame, Any]:
    """Pairs of features of falling strength; the second of a pair repeats the first more from pair to pair."""
    rng = np.random.default_rng(0)
    columns, y = {}, np.zeros(n)
    for k in range(pairs):
        u, v = rng.normal(size=(2, n))
        r = k / pairs * 0.95
        columns[f"a{k}"], columns[f"b{k}"] = u, r * u + np.sqrt(1 - r**2) * v
        y += (1 - 0.1 * k) * (columns[f"a{k}"] + columns[f"b{k}"])
    return pd.DataFrame(columns), y + rng.normal(size=n)


@pytest.mark.parametrize(
    ("subject", "estimator"),
    [(linear_subject(300), "Gaussian copula"), (logistic_subject(300), "conditional Gaussian")],
)
def test_the_estimator_follows_the_columns(subject: Subject, estimator: str) -> None:
    found = run(subject)["cid"]
    assert found.meta["estimator"] == estimator
    assert found.meta["penalty"] > 0
    assert value(found, "a", "covered information") > 0, "a and b repeat each other"
    independent = value(found, "c", "covered information")
    assert independent <= 3 * value(found, "c", "covered information", "std_error")
    assert value(found, "c", "redundant part") > 0, "the redundant part alone is no cover"


def test_levels_take_the_discrete_field_and_name_what_is_cut() -> None:
    base = logistic_subject(300)
    X = pd.DataFrame(base.X).assign(level=np.random.default_rng(0).choice(list("xyz"), 300))
    model = KnownLogistic((1.0, 1.0, 1.0, 0.0))

    class Numeric(KnownTruth):
        def predict(self, model: Any, X: Any) -> Any:
            return super().predict(model, X[list("abcd")])

    found = run(make_subject(model, Numeric(), X, base.y))["cid"]
    assert found.meta["estimator"] == "discrete field"
    assert any("Cut into 4 cells" in note and "a, b, c, d" in note for note in found.notes)
    with pytest.raises(InputError, match=r"'mixed' must get numeric columns; got level"):
        run(make_subject(model, Numeric(), X, base.y), estimator="mixed")


def test_the_terms_are_the_same_on_any_number_of_cores() -> None:
    one, two = (run(linear_subject(150), n_jobs=n) for n in (1, 2))
    for key in one:
        pd.testing.assert_frame_equal(one[key].estimates, two[key].estimates)


def test_a_wide_linear_case_passes_the_gate_and_raises_the_covered() -> None:
    X, y = wide()
    corrected = run(ridge(X, y), measures=("loss",))["cid.corrected"]
    assert corrected.omissions == ()
    table = corrected.estimates.set_index("feature")
    lifted = table["estimate"] / table["plain"]
    assert lifted["b5"] > lifted["b0"]
    assert lifted["b5"] > 1.2
    told = corrected.meta["maps"]["squared_error"]
    assert set(told["coefficients"]) == {"redundant CI", "MI", "synergistic CI", "synergistic MI"}


def test_corrected_values_and_information_have_the_level_of_the_run() -> None:
    X, y = wide()
    narrow, usual = (run(ridge(X, y), measures=("loss",), confidence=level) for level in (0.8, 0.95))
    for name in ("cid", "cid.corrected"):
        tables = [found[name].estimates.dropna(subset="lower") for found in (narrow, usual)]
        assert [set(table["confidence"]) for table in tables] == [{0.8}, {0.95}]
        widths = [(table["upper"] - table["lower"]).to_numpy() for table in tables]
        assert (widths[0] < widths[1]).all()
    sets = narrow["cid.corrected"].frame.groupby("feature")["value"]
    table = narrow["cid.corrected"].estimates.set_index("feature")
    np.testing.assert_allclose(table["lower"], sets.quantile(0.1)[table.index], rtol=1e-9)
    np.testing.assert_allclose(table["upper"], sets.quantile(0.9)[table.index], rtol=1e-9)


def test_few_features_keep_the_plain_importance_with_the_reason() -> None:
    corrected = run(linear_subject(150))["cid.corrected"]
    assert corrected.frame.empty
    assert all("learnt from 4 features, at least 8 are needed" in gap.reason for gap in corrected.omissions)
    assert len(corrected.meta["maps"]) == len(corrected.omissions)


def test_cover_that_lowers_no_importance_closes_the_gate() -> None:
    """Importance is mutual information: without redundant cover its coefficient is 0, which is not negative."""
    terms = np.random.default_rng(0).random((20, 9, 4))
    terms[..., 0] = 0
    fitted = importance_map(terms[..., 1], terms)
    assert (fitted.left_out[:, 0] == 0).all()
    assert fitted.r2_left_out == pytest.approx(1)
    assert fitted.refusals == (
        "the coefficient of redundant covered information is not negative in 9 of 9 leave-one-feature-out fits",
    )


def test_refitting_scores_models_on_rows_they_have_not_seen() -> None:
    X, y = wide(200, 4)
    results = run(ridge(X, y), refit=True, n_sets=10, measures=("nll",))
    assert any("refitted on 10 random splits" in note for note in results["cid.corrected"].notes)
    with pytest.raises(InputError, match="can be cloned"):
        run(linear_subject(100), refit=True)


@pytest.mark.parametrize(("n", "held"), [(100, 20), (101, 21)])
def test_what_refitting_will_cost(n: int, held: int) -> None:
    """Of each split a fifth of the rows, as they are and with 5 shuffles of each feature."""
    given = linear_subject(n)
    engine, each = Engine(given, measures()), held * (1 + 5 * len(given.features))
    assert CoveredInformation(refit=True, n_sets=12).cost(given, engine) == 12 * each
    assert CoveredInformation().cost(given, engine) == 0


def test_importance_of_refitted_models_is_that_of_a_linear_model() -> None:
    """Shuffling x moves the mean by b(x - x'), so the squared error rises by 2 b² var x."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 2)), columns=list("ab"))
    subject = ridge(X, 2 * X["a"] + 0.5 * rng.normal(size=600))
    engine = Engine(subject, measures(), n_jobs=1).bound("cid")
    none = np.zeros((600, 2))
    estimate: Any = SimpleNamespace(features=("a", "b"), terms=SimpleNamespace(mutual=none, covered=none))
    made = refitted(engine, estimate, ("squared_error",), 4)
    assert made.importances["squared_error"].mean(axis=0) == pytest.approx([8, 0], rel=0.1, abs=0.02)


def test_a_graph_precision_is_used_as_it_is() -> None:
    edges = (("a", "b"), ("a", "y"), ("c", "y"))
    results = run(linear_subject(200), graph=edges)
    drawn = results["cid.graph"].frame
    assert set(zip(drawn["feature"], drawn["item"], strict=True)) == set(edges)
    assert results["cid"].meta["graph"] == "given"
    with pytest.raises(InputError, match="must join features that vary, and 'y'"):
        run(linear_subject(100), graph=(("a", "nobody"),))


@pytest.mark.parametrize(("most", "unlisted"), [(1, 1), (3, 1), (4, 0)])
def test_of_many_edges_the_strongest_are_listed_and_those_with_y(
    monkeypatch: pytest.MonkeyPatch, most: int, unlisted: int
) -> None:
    """b is nearly a, c and y are mostly noise: the edge of a and c is weakest, those with y are little stronger."""
    monkeypatch.setattr("uq_report.methods.cid.explain.MOST_EDGES", most)
    a, *noise = np.random.default_rng(0).normal(size=(4, 400))
    X = pd.DataFrame({"a": a, "b": a + 0.1 * noise[0], "c": a / 9 + noise[1]})
    edges = (("a", "b"), ("a", "c"), ("a", "y"), ("c", "y"))
    graph = run(ridge(X, X["c"] + a + noise[2]), graph=edges)["cid.graph"]
    view = CidGraph.from_result(graph)
    assert view.edges[0][:2] == ("a", "b")
    assert {edge[:2] for edge in view.edges} == {*edges} - ({("a", "c")} if unlisted else set())
    assert (view.unlisted, view.total) == (unlisted, 4)
    rule = f"Of 4 edges the {most} strongest are listed, and all with y."
    assert (rule in graph.notes) is bool(unlisted)


def test_half_potentials_are_named() -> None:
    found = run(linear_subject(150), potentials="half")["cid"]
    assert any("not the definition" in note for note in found.notes)


def sets(results: dict[str, Result]) -> dict[str, tuple[str, ...]]:
    return dict(CidCover.from_result(results["cid.cover"]).sets())


def changed_rows(X: pd.DataFrame, y: Any) -> Subject:
    class Flat(KnownTruth):
        def predict(self, model: Any, X: Any) -> Any:
            return super().predict(model, np.zeros((len(X), 4)))

    return make_subject(linear_subject(60).model, Flat(), X, y)


def changed(n: int = 60, **columns: Any) -> Subject:
    base = linear_subject(n)
    X = pd.DataFrame(base.X).assign(**columns)

    class Four(KnownTruth):
        def predict(self, model: Any, X: Any) -> Any:
            return super().predict(model, X[list("abcd")])

    return make_subject(base.model, Four(), X, base.y)


def test_a_constant_is_left_out_by_name() -> None:
    found = run(changed(flat=1.0))["cid"]
    assert [(gap.feature, gap.reason) for gap in found.omissions] == [
        ("flat", "it is constant, so it has no information")
    ]


def test_a_copy_covers_its_original_and_is_no_node_of_the_graph() -> None:
    base = pd.DataFrame(linear_subject(300).X)
    results = run(changed(300, twin=-2 * base["a"] ** 3))
    for feature in ("a", "twin"):
        assert value(results["cid"], feature, "covered share") == 1
    assert "twin repeats a exactly: its covered share is 100%." in results["cid"].notes
    assert sets(results)["a"] == ("twin",)
    assert sets(results)["twin"] == ("a",)
    last = results["cid.cover"].estimates.groupby("feature").last()
    assert last.loc[["a", "twin"], ["estimate", "std_error"]].to_numpy().tolist() == [[0, 0], [0, 0]]
    assert "twin" not in results["cid.graph"].meta["nodes"]
    assert [gap.feature for gap in results["cid.graph"].omissions] == ["twin"]
    with pytest.raises(InputError, match=r"got 'a' and 'twin' with correlation ±1"):
        run(changed(twin=-2 * pd.DataFrame(linear_subject(60).X)["a"]), estimator="copula")


def test_notes_say_what_shares_a_cell_and_name_a_few_columns_only() -> None:
    cut, kept = cell_notes("abcdefg", 4, ["town"], [])
    assert cut.startswith("Cut into 4 cells of about equal count: a, b, c, d, e and 2 more.")
    assert kept == "The 19 most frequent levels are kept, the other levels share one cell: town."
    *named, rest = copy_notes(dict.fromkeys("abcdefg", "z"))
    assert (len(named), rest) == (5, "So it is with 2 more columns that repeat another.")
    levels = np.random.default_rng(0).permutation(np.arange(300) % 30).astype(str)
    results = run(changed(300, town=levels))
    assert kept in results["cid"].notes
    assert any("chosen on the observations on which they are measured" in note for note in results["cid.cover"].notes)


def test_a_missing_value_is_a_cell_of_its_own() -> None:
    subject = changed(300, gap=np.where(np.arange(300) % 9 == 3, np.nan, np.arange(300.0)))
    found = run(subject)["cid"]
    assert found.meta["estimator"] == "discrete field"
    assert "Another estimator comes first and was not used: values are missing in gap." in found.notes
    assert "A missing value is a cell of its own: gap." in found.notes
    assert np.isfinite(value(found, "gap", "share of variance"))
    with pytest.raises(InputError, match=r"no missing values for 'copula'; got 33 in 'gap'"):
        run(subject, estimator="copula")


@pytest.mark.parametrize("make", [linear_subject, logistic_subject])
def test_a_value_that_many_rows_share_takes_the_discrete_field(make: Any) -> None:
    base = make(300)
    X = pd.DataFrame(base.X)
    found = run(make_subject(base.model, base.adapter, X.assign(d=X["d"].clip(lower=0)), base.y))["cid"]
    assert found.meta["estimator"] == "discrete field"
    assert any("20% of the observations share one value of d" in note for note in found.notes)


def test_nearly_collinear_columns_and_more_features_than_rows_have_a_lasso() -> None:
    X = pd.DataFrame(linear_subject(300).X)
    narrow = changed(300, total=X["a"] + X["b"] + X["c"])
    rng = np.random.default_rng(0)
    many = pd.DataFrame(rng.normal(size=(20, 30)), columns=[f"f{j}" for j in range(30)])
    wide_one = ridge(many, many["f0"] + rng.normal(size=20))
    for subject in (narrow, wide_one):
        found = run(subject)["cid"]
        assert found.meta["graph"] == "lasso, penalty by 5-fold cross-validation"
        assert not any("was not used" in note for note in found.notes)
        assert np.isfinite(found.estimates["estimate"]).all()


def test_collinear_columns_take_a_shrunk_covariance() -> None:
    base = logistic_subject(300)
    X = pd.DataFrame(base.X)
    subject = make_subject(base.model, base.adapter, X.assign(d=X["a"] + X["b"] + X["c"]), base.y)
    found = run(subject)["cid"]
    assert found.meta["estimator"] == "conditional Gaussian"
    assert "(oracle approximation)" in found.meta["graph"]
    assert any("not used: the graphical lasso did not converge" in note for note in found.notes)
    with pytest.raises(InputError, match="must make the graphical lasso converge; got cross-validation"):
        run(subject, estimator="mixed")


def test_a_feature_that_is_the_class_takes_the_discrete_field() -> None:
    base = logistic_subject(300)
    X = pd.DataFrame(base.X).assign(
        d=np.unique(np.asarray(base.y), return_inverse=True)[1] + np.linspace(0, 1e-11, 300)
    )
    found = run(make_subject(base.model, base.adapter, X, base.y))["cid"]
    assert found.meta["estimator"] == "discrete field"
    assert any("d does not vary within the classes of y" in note for note in found.notes)
    assert value(found, "d", "share of entropy") > 0.9


def test_the_discrete_field_takes_more_penalty_where_it_does_not_converge(monkeypatch: pytest.MonkeyPatch) -> None:
    base = logistic_subject(300)
    X = pd.DataFrame(base.X).round()

    def stubborn(codes: Any, edges: Any, penalty: float) -> Any:
        if penalty < 10:
            raise UnfitError("cid.penalty must be larger.", "the discrete field did not converge")
        return fit_field(codes, edges, penalty)

    monkeypatch.setattr("uq_report.methods.cid.estimate.fit_field", stubborn)
    found = run(make_subject(base.model, base.adapter, X, base.y))["cid"]
    assert found.meta["penalty"] == 10
    assert any("not used: the discrete field did not converge" in note for note in found.notes)


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_leaking_column_explains_the_variance_in_any_audit(noise: float) -> None:
    base = linear_subject(300)
    y = np.asarray(base.y)
    X = pd.DataFrame(base.X).assign(leak=y + noise * np.random.default_rng(0).normal(size=300))
    found = run(ridge(X, y))["cid"]
    assert value(found, "leak", "share of variance") > 0.999
    assert value(found, "leak", "share of variance", "lower") > 0.99


def test_levels_explain_the_variance_that_other_rows_of_the_level_predict() -> None:
    rng = np.random.default_rng(0)
    n = 2000
    level = rng.choice(list("abcd"), n)
    y = np.select([level == "a", level == "b"], [1.0, -1.0], 0.0) + rng.normal(size=n)
    names = {"level": level, "chance": rng.choice(list("pqrs"), n), "id": [f"r{i}" for i in range(n)]}
    engine = Engine(changed_rows(pd.DataFrame(names), y), measures(), n_jobs=1)
    shares = alone(engine, list(names), np.zeros((n, 3)))["share of variance"].mean(axis=0)
    assert shares[0] == pytest.approx(0.5 / 1.5, abs=0.05)
    assert np.abs(shares[1]) < 0.01
    assert shares[2] <= 0


def test_a_chain_is_covered_by_its_nearer_feature_and_noise_by_nothing() -> None:
    rng = np.random.default_rng(0)
    x1 = rng.normal(size=1500)
    x2 = x1 + 0.6 * rng.normal(size=1500)
    X = pd.DataFrame({"x1": x1, "x2": x2, "noise": rng.normal(size=1500)})
    results = run(ridge(X, x2 + 0.6 * rng.normal(size=1500)))
    assert sets(results)["x1"] == ("x2",)
    assert sets(results)["noise"] == ()
    first, second = results["cid.cover"].estimates.query("feature == 'x1'").to_dict("records")
    assert first["estimate"] == pytest.approx(value(results["cid"], "x1", "mutual information"))
    assert (first["item"], second["item"]) == ("", "x2")
    assert (first["step"], second["step"]) == (0, 1)
    assert second["estimate"] < 0.02


@pytest.mark.parametrize("estimator", ["copula", "discrete"])
def test_independent_features_cover_nothing(estimator: str) -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(1000, 6)), columns=list("abcdef"))
    y = X.to_numpy() @ np.array([1.0, 0.8, 0.6, 0.4, 0.2, 0.0]) + rng.normal(size=1000)
    assert set(sets(run(ridge(X, y), estimator=estimator)).values()) == {()}


def test_synergy_covers_nothing() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(2, size=1000).astype(float)
    b = np.where(rng.uniform(size=1000) < 0.2, 1 - a, a)  # dependent, so that they are tried
    X = pd.DataFrame({"a": a, "b": b})
    flipped = rng.uniform(size=1000) < 0.1
    results = run(ridge(X, np.where(flipped, 1 - (a != b), a != b) + 0.01 * rng.normal(size=1000)))
    assert results["cid"].meta["estimator"] == "discrete field"
    assert set(sets(results).values()) == {()}


def test_the_size_of_a_set_and_the_least_gain_are_options() -> None:
    X, y = wide()
    subject = ridge(X, y)
    assert max(map(len, sets(run(subject)).values())) >= 1
    assert set(sets(run(subject, max_cover=0)).values()) == {()}
    assert set(sets(run(subject, min_gain=10.0)).values()) == {()}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"estimator": "magic"}, "cid.estimator must be one of"),
        ({"penalty": -1.0}, "cid.penalty must be a number > 0"),
        ({"bins": 1}, "cid.bins must be an integer >= 2"),
        ({"potentials": "third"}, "cid.potentials"),
        ({"n_sets": 2}, "cid.n_sets"),
        ({"min_gain": 0.0}, "cid.min_gain must be a number > 0"),
        ({"max_cover": -1}, "cid.max_cover must be an integer >= 0"),
    ],
)
def test_bad_options(option: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CoveredInformation(**option)


def test_times_that_may_be_censored_are_refused() -> None:
    times = Weibull(np.full(6, 1.5), np.full(6, 2.0))
    y = recorded(np.array([1.0, 2.0, 0.5, 3.0, 1.5, 2.5]), np.arange(6) % 2 == 0)
    subject = make_subject(lambda X: Censored(times.take(np.arange(len(X)))), FunctionAdapter(), np.eye(6), y)
    with pytest.raises(InputError, match=r"cid\.y must not be censored; got times that may be\."):
        CoveredInformation().explain(subject, Engine(subject, measures()).bound("cid"), {})


@pytest.mark.parametrize("after", [0, 3, 17])
def test_a_limit_binds_inside_the_search_of_the_penalty(after: int) -> None:
    """Each step looks at the limits; the penalty is scikit-learn's own choice where its folds converge."""
    Z = np.random.default_rng(0).normal(size=(60, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.3], [0, 0, 1]])
    looks: list[int] = []

    def limits(*_: float) -> str:
        looks.append(1)
        return "time is up" if len(looks) > after + 1 else ""

    subject = linear_subject(60)
    engine = Engine(subject, measures(), limits=limits)
    with limited(engine.check), pytest.raises(BudgetError, match="time is up"):
        by_lasso(Z, None, engine)
    assert len(looks) == after + 2
    engine = Engine(subject, measures())
    folds = KFold(5, shuffle=True, random_state=int(engine.rng("folds").integers(2**31)))
    peer = GraphicalLassoCV(cv=folds, assume_centered=True, tol=1e-9, enet_tol=1e-9, max_iter=5000).fit(Z)
    assert by_lasso(Z, None, engine)[1]["penalty"] == pytest.approx(peer.alpha_, rel=1e-12)
