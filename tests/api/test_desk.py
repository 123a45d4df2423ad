"""The doors that the sources need, three lines each, and the plots and objects of shap and dalex on every measure."""

from collections.abc import Callable
from importlib import import_module
from itertools import permutations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.tree import DecisionTreeClassifier

import uq_report as uq
from uq_report.core.support.errors import InputError

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(90, 3)), columns=["a", "b", "c"])
Y = (X["a"] + 0.5 * rng.normal(size=90) > 0).astype(int)
MODEL = LogisticRegression().fit(X, Y)
SUBJECT = uq.explain(MODEL, X, Y, train=(X, Y), protected={"side": np.where(X["b"] > 0, "left", "right")})
OTHER = uq.explain(DecisionTreeClassifier(max_depth=2).fit(X, Y), X, Y, label="tree")
NUMBERS = uq.explain(BayesianRidge().fit(X, X["a"] * X["b"]), X, X["a"] * X["b"], label="ridge")
GP = uq.explain(
    GaussianProcessRegressor(RBF() + WhiteKernel(0.1), optimizer=None).fit(X[:40], np.sin(X["a"][:40])), X[:40]
)
TWINS = uq.explain(MODEL, X.assign(c=X["a"] + 0.1 * X["b"]), Y)
AGAIN = uq.explain(LogisticRegression(C=0.1).fit(X, Y), X, Y, label="again")
CHEAP: dict[str, Any] = {"n_repeats": 3, "progress": False}

# Figure of the source -> at most three lines of a user.
FIGURES: dict[str, Callable[[], Any]] = {
    "Wood 3, 8, 11: loss beside entropy": lambda: uq.importance(SUBJECT, **CHEAP).plot(measure=["nll", "entropy"]),
    "Wood 3, 8, 11: several models": lambda: uq.importance([SUBJECT, OTHER], "entropy", **CHEAP).plot(),
    "Wood 2: entropy before and after": lambda: uq.importance(SUBJECT, "entropy", permutations=1).plot(
        kind="before_after", feature="a"
    ),
    "Wood 2: surface of entropy": lambda: uq.profile(SUBJECT, ("a", "b"), "entropy", grid_resolution=4).plot(),
    "Wood 7: ICE coloured by a feature": lambda: uq.profile(SUBJECT, "a", "entropy").plot(colour_by="b"),
    "Wood 9: predicted from the others": lambda: uq.redundancy(SUBJECT, n_splits=2).plot(),
    "Wood 10, 12-15: profile and ICE": lambda: uq.profile(SUBJECT, "a", ["entropy", "nll"]).plot(),
    "Wood 13: ICE alone": lambda: uq.profile(SUBJECT, "a", "nll", kind="individual").plot(),
    "profiles by group": lambda: uq.profile(SUBJECT, "a", "entropy").plot(by="side"),
    "importance by group": lambda: uq.importance(SUBJECT, "nll", **CHEAP).plot(by="side"),
    "lecture: spread of the shuffles": lambda: uq.importance(SUBJECT, "nll", **CHEAP).plot(swarm=True),
    "lecture: training against test": lambda: uq.importance(SUBJECT, "nll", **CHEAP).plot(kind=["pfi", "train"]),
    "lecture: joint before and after": lambda: uq.redundancy(TWINS, n_splits=2).plot(kind="joint"),
    "Modeva: negative values as 0": lambda: uq.importance(SUBJECT, "entropy", **CHEAP).plot(truncate=True),
    "Modeva: H of pairs": lambda: uq.interactions(SUBJECT, measures="entropy", max_rows=10).plot(),
    "Modeva: ALE": lambda: uq.effects(SUBJECT, "a", "entropy").plot(),
    "Modeva: ALE of a pair": lambda: uq.effects(SUBJECT, ("a", "b"), "entropy").plot(kind="interaction"),
    "Pereira 3: swarm of corrected importance": lambda: uq.covered_information(NUMBERS, gate=False, n_sets=10).plot(
        kind="corrected", swarm=True
    ),
    "Pereira 1: graph": lambda: uq.covered_information(NUMBERS, n_sets=10).plot(kind="graph"),
    "Paananen 2: R-sens along a feature": lambda: uq.sensitivity(GP, along=True, interactions=False).plot(
        kind="along", feature="a"
    ),
    "Paananen 3: R-sens of pairs": lambda: uq.interactions(SUBJECT, "rsens", max_rows=10).plot(),
    "Paananen 3: SHAP interactions": lambda: uq.interactions(SUBJECT, "shap", measures="entropy", n_rows=4).plot(),
    "Paananen 3: partial dependence of pairs": lambda: uq.interactions(
        SUBJECT, "pdp", measures="entropy", grid_resolution=4
    ).plot(),
    "rank intervals": lambda: uq.agreement(SUBJECT, explainers="pfi", n_draws=100).plot(),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_of_the_sources_is_drawn(name: str) -> None:
    assert isinstance(FIGURES[name](), Figure)


def test_the_mean_over_all_given_permutations_is_the_exact_importance() -> None:
    few = uq.explain(MODEL, X[:4], Y[:4])
    every = np.array(list(permutations(range(4))))
    view = uq.importance(few, "nll", permutations=every)
    exact = uq.importance(few, "nll", exact=True, progress=False).estimates.set_index("feature")["estimate"]
    ours = view.estimates.set_index("feature")["estimate"]
    np.testing.assert_allclose(ours[["a", "b", "c"]], exact[["a", "b", "c"]], rtol=1e-10)
    rows = view.result.rows
    assert rows is not None
    np.testing.assert_allclose(rows.of("nll", "a").mean(), ours["a"])
    shares = view["before_after"].frame.groupby(["measure", "feature", "item"])["value"].sum()
    np.testing.assert_allclose(shares, 1.0)


def test_conditional_importance_of_a_copy_is_smaller_and_is_of_losses_alone() -> None:
    twins = X.assign(c=X["a"] + 0.01 * rng.normal(size=90))
    subject = uq.explain(lambda X: uq.dist.Normal(X["a"] + X["c"], 1.0), twins, 2 * twins["a"])
    marginal = uq.importance(subject, "nll", permutations=20).estimates.set_index("feature")["estimate"]
    conditional = uq.importance(subject, "nll", method="conditional", n_repeats=20).estimates
    assert conditional.set_index("feature")["estimate"]["a"] < 0.5 * marginal["a"]
    assert conditional["covers"].eq("none").all()
    with pytest.raises(InputError, match="must be losses with method='conditional'; got 'entropy'"):
        uq.importance(subject, "entropy", method="conditional")
    with pytest.raises(InputError, match="must hold each position 0 to 89 once"):
        uq.importance(subject, "nll", permutations=np.zeros(90, dtype=int))


def test_the_parts_of_r_sens_are_those_of_the_normal_distribution() -> None:
    x = np.linspace(-1, 1, 30)[:, None]
    subject = uq.explain(lambda X: uq.dist.Normal(3 * X[:, 0], np.exp(0.5 * X[:, 0])), x)
    frame = uq.sensitivity(subject, along=True, interactions=False, progress=False)["along"].frame
    parts = frame.pivot_table(index="x", columns="item", values="value")
    np.testing.assert_allclose(parts["part of the mean"], 3 / np.exp(0.5 * x[:, 0]), rtol=1e-5)
    np.testing.assert_allclose(parts["part of the spread"], np.sqrt(2) * 0.5, rtol=1e-4)
    np.testing.assert_allclose(parts["R-sens"] ** 2, (parts.drop(columns="R-sens") ** 2).sum(axis=1), rtol=1e-8)


def test_shapley_interactions_are_those_of_a_product() -> None:
    subject = uq.explain(lambda X: uq.dist.Normal(X[:, 0] * X[:, 1] + X[:, 2], 1.0), X.to_numpy())
    view = uq.interactions(subject, "shap", measures="prediction", n_rows=10, n_background=5)
    estimates = view.estimates.set_index(["feature", "feature_2"])["estimate"]
    assert estimates["x0", "x1"] > 0.1
    np.testing.assert_allclose(estimates[[("x0", "x2"), ("x1", "x2")]], 0.0, atol=1e-12)
    with pytest.raises(InputError, match=r"shap\.interactions must have 2 to max_exact = 2 features"):
        uq.interactions(subject, "shap", max_exact=2)


def test_stability_between_subjects_is_the_entropy_of_ranks() -> None:
    views = uq.importance({"one": SUBJECT, "same": SUBJECT}, "nll", **CHEAP)
    assert views.stability()["rank_entropy"].eq(0).all()
    pairs = uq.interactions([SUBJECT, AGAIN], measures="entropy", max_rows=10).stability()
    assert {"feature", "feature_2"} <= set(pairs)
    assert set(views.frame["subject"]) == {"one", "same"}
    with pytest.raises(InputError, match="two or more subjects"):
        uq.importance([SUBJECT], "nll", **CHEAP).stability()


def test_figures_take_axes_and_sizes() -> None:
    figure, axes = plt.subplots(1, 2)
    try:
        assert uq.importance(SUBJECT, "nll", **CHEAP).plot(ax=axes[0]) is figure
        assert len(figure.subfigs) == 1
        assert axes[1] in figure.axes
        assert axes[0] not in figure.axes
    finally:
        plt.close(figure)
    small = uq.importance(SUBJECT, "nll", **CHEAP).plot(figsize=(4, 3))
    assert small.get_size_inches().tolist() == [4, 3]
    with pytest.raises(InputError, match=r"plot\.ax must be axes of plt\.subplots"):
        uq.importance(SUBJECT, "nll", **CHEAP).plot(ax=3)
    with pytest.raises(InputError, match=r"plot\.figsize must be width and height"):
        uq.importance(SUBJECT, "nll", **CHEAP).plot(figsize=3)  # type: ignore[arg-type]  # on purpose
    titled = uq.importance(SUBJECT, "nll", **CHEAP).plot(title="Mine")
    assert [text.get_text() for part in titled.subfigs for text in part.texts] == ["Mine"]


@pytest.mark.parametrize("kind", ["bar", "beeswarm", "waterfall", "decision", "force"])
@pytest.mark.parametrize("measure", ["prediction", "entropy"])
def test_plots_of_shap_work_on_every_measure(kind: str, measure: str) -> None:
    pytest.importorskip("shap")
    view = uq.attributions(SUBJECT, rows=[1, 2, 3, 4])
    assert isinstance(view.plot(kind=kind, measure=measure), Figure)
    assert not plt.get_fignums()


def test_values_that_a_user_computed_with_shap_enter_the_audit() -> None:
    shap = pytest.importorskip("shap")
    forest = RandomForestRegressor(5, random_state=0).fit(X, X["a"])
    subject, explainer = uq.explain(forest, X, X["a"]), shap.TreeExplainer(forest, X[:20])
    for given in (explainer, explainer(X, check_additivity=False)):
        run = uq.audit(subject, explainers=["pfi", given], progress=False)
        view = run["given_shap"]
        np.testing.assert_allclose(
            view.to_shap("prediction").values, explainer(X, check_additivity=False).values, rtol=1e-6, atol=1e-8
        )
        assert "computed by the user" in run.render("html").decode()
    with pytest.raises(InputError, match="must have shape"):
        uq.audit(subject, explainers=[explainer(X, check_additivity=False)[:, :2]], progress=False)["given_shap"]


def test_the_door_of_dalex_has_a_safe_loss_and_takes_shapley_values() -> None:
    pytest.importorskip("dalex")
    explainer = uq.dalex_explainer(SUBJECT, "entropy")
    losses = explainer.model_parts(B=2).result.set_index("variable")["dropout_loss"]
    entropy = float(uq.importance(SUBJECT, "entropy", **CHEAP).estimates["unpermuted"].iloc[0])
    np.testing.assert_allclose(losses["_full_model_"], entropy)
    with pytest.raises(InputError, match="must be 'prediction' to be compared with y; got 'entropy'"):
        explainer.model_performance()
    assert "residuals" in uq.dalex_explainer(SUBJECT).model_diagnostics().result
    swings = explainer.oscillations(X.iloc[[3]])
    own = explainer.predict(X.iloc[[3]])[0]
    grid = explainer.predict_profile(X.iloc[[3]], variables=["a"], verbose=False).result["_yhat_"]
    np.testing.assert_allclose(swings.set_index("variable")["oscillation"]["a"], (grid - own).abs().mean())
    shapley = uq.attributions(SUBJECT, rows=[3, 4]).to_dalex(row=4)["entropy"]
    np.testing.assert_allclose(shapley.prediction, uq.attributions(SUBJECT, rows=4).to_shap("entropy").values.sum()
                               + shapley.intercept)  # fmt: skip
    assert shapley.plot(show=False) is not None


@pytest.mark.parametrize(
    ("thing", "name", "meant"),
    [
        (uq, "ale", "effects"), (uq, "shap", "attributions"), (uq, "permutation_importance", "importance"),
        (uq.dist, "Gaussian", "Normal"), (uq.importance(SUBJECT, "nll", **CHEAP), "to_csv", "save"),
        (uq.case(SUBJECT, 3), "atributions", "attributions"), (uq.dist.Normal(0, 1), "entrop", "entropy"),
    ],
)  # fmt: skip
def test_attributes_of_other_names_are_answered(thing: Any, name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"Did you mean '{meant}'"):
        getattr(thing, name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda normal: normal(mu=0, sigma=1), "Normal.mu must be a known argument; got 'mu'. Did you mean 'mean'?"),
        (lambda normal: normal(0), "Normal must be called as Normal(mean, std); got a call with missing a required"),
    ],
)
def test_parameters_of_distributions_are_answered(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call(uq.dist.Normal)
    assert message in str(caught.value)
    assert uq.dist.Normal(0, 1).entropy().round(4).tolist() == [1.4189]


def test_brier_scores_of_the_tracking_store_are_those_of_scikit_learn() -> None:
    pytest.importorskip("mlflow")
    run = uq.audit(SUBJECT, explainers="calibration", options={"calibration": {"n_draws": 99}}, progress=False)
    own = import_module("uq_report.ops.tracking.record").metrics(run.run)["uq_report/brier"]
    np.testing.assert_allclose(own, brier_score_loss(Y, MODEL.predict_proba(X)[:, 1]))


def test_gini_importance_is_a_comparator() -> None:
    view = uq.agreement(OTHER, explainers="pfi", gini=True, n_draws=100)
    ranks = view.frame[view.frame["measure"] == "gini"].set_index("feature")["x"]
    assert ranks.idxmin() == X.columns[OTHER.model.feature_importances_.argmax()]
    assert "no impurity-based importance" in " ".join(uq.agreement(SUBJECT, explainers="pfi", gini=True).notes)
