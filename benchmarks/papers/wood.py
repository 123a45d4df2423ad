"""Wood, Papamarkou, Benatan and Allmendinger: importance and profiles of entropy and likelihood."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import uq_report as uq
from uq_report.api.views import ResultView
from uq_report.core.support.arrays import FloatArray

from .claims import Experiment, Picture, Repetition, Settings, column, near, refusal, row_values
from .figures import dots, scatter

BOTH = ["nll", "entropy"]


def frame(values: FloatArray) -> pd.DataFrame:
    """Name columns 1, 2, ... as the paper does."""
    return pd.DataFrame(values, columns=[str(k + 1) for k in range(values.shape[1])])


def normal(rows: pd.DataFrame) -> uq.dist.Normal:
    """Return a distribution whose mean and standard deviation are known functions; "unused" has no part in them."""
    a, b = rows["a"].to_numpy(float), rows["b"].to_numpy(float)
    return uq.dist.Normal(a + a * b, np.exp(0.3 * a * b - 0.5))


def classes(rows: pd.DataFrame) -> uq.dist.Categorical:
    """Return three classes with the scores 0, a and b."""
    scores = np.column_stack([np.zeros(len(rows)), rows["a"], rows["b"]]).astype(float)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return uq.dist.Categorical(p / p.sum(axis=1, keepdims=True))


def identities(seed: int, settings: Settings) -> Repetition:  # noqa: PLR0915 - a list of identities
    """Definitions against numbers that are computed by hand from the same model."""
    del settings
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "unused"])
    X["b"] += 0.5 * X["a"]
    y = (X["a"] + rng.normal(size=60)).to_numpy()
    subject = uq.explain(normal, X, y, groups={"a and b": ["a", "b"], "all": ["a", "b", "unused"]})
    view = uq.importance(
        subject,
        measures=["squared_error", "nll", "entropy"],
        exact=True,
        features=["a", "b", "unused", "a and b", "all"],
    )
    # every pair of observations: row i with the value of row k
    grid = pd.DataFrame(
        {"a": np.tile(X["a"], 60), "b": np.repeat(X["b"], 60)}
    )  # row i keeps b, and gets the a of row k
    law, own, outcome = normal(grid), normal(X), np.repeat(y, 60)
    by_hand = {
        "squared_error": np.square(outcome - law.mean()).mean() - np.square(y - own.mean()).mean(),
        "nll": own.log_prob(y).mean() - law.log_prob(outcome).mean(),
        "entropy": law.entropy().mean() - own.entropy().mean(),
    }
    ours = {measure: float(column(view, measure)["a"]) for measure in by_hand}
    profile = uq.profile(subject, [("a", "b"), "a"], measures=BOTH, max_ice=60, grid_resolution=5)
    curves = profile["pdp"].frame
    points = np.unique(curves["x"].to_numpy(float))
    laws = [normal(X.assign(a=point)) for point in points]
    ice = {"entropy": np.array([law.entropy() for law in laws]), "nll": np.array([-law.log_prob(y) for law in laws])}
    pdp = {m: curves[(curves["measure"] == m) & (curves["feature"] == "a") & (curves["curve"] == -1)] for m in BOTH}
    single = {m: curves[(curves["measure"] == m) & (curves["feature"] == "a") & (curves["curve"] >= 0)] for m in BOTH}
    table = {m: single[m].pivot_table(index="x", columns="curve", values="value").to_numpy() for m in BOTH}
    own_dots = profile["own"].frame.query("measure == 'entropy' and feature == 'a'")
    at = own_dots["item"].astype(int).to_numpy()
    surface = profile["surface"].frame.query("measure == 'entropy' and curve == -1")
    at_points = [normal(X.assign(a=row.x, b=row.x_2)).entropy().mean() for row in surface.itertuples()]
    fixed = uq.explain(lambda rows: uq.dist.Normal(rows["a"].to_numpy(), np.full(len(rows), 0.32)), X, y)
    reduced = uq.importance(fixed, measures=["squared_error", "nll"], exact=True)
    many = uq.explain(classes, X, rng.integers(0, 3, 60))
    losses = uq.importance(many, measures=BOTH, n_repeats=3)
    no_auc = refusal(lambda: uq.importance(many, measures=["one_minus_auc"], n_repeats=3))
    p = classes(X).probabilities
    small = uq.dist.Normal(np.zeros(2), np.array([0.05, 2.0])).entropy()
    without_y = uq.importance(uq.explain(normal, X), measures=["entropy"], exact=True)
    entropy, sets = column(view, "entropy"), own.entropy()
    # strata in which all other features are equal: permuting inside them leaves the mean of any function of X as it is
    strata = pd.DataFrame({"a": np.tile([0.0, 1.0, 2.0, 2.5], 5), "b": np.repeat(np.arange(5.0), 4), "unused": 0.0})
    inside = strata.assign(
        a=strata.groupby("b")["a"].transform(lambda values: values.sample(frac=1, random_state=seed))
    )
    derivative = uq.profile(subject, "a", measures=["entropy"], mode="derivative", grid_resolution=5).estimates
    members = uq.explain([LogisticRegression(C=c).fit(X, y > 0) for c in (0.01, 1, 100)], X, y > 0)
    split = uq.importance(members, measures=["entropy", "aleatoric", "epistemic"], exact=True)
    parts = [column(split, m).reindex(X.columns).to_numpy() for m in ("entropy", "aleatoric", "epistemic")]
    copy = uq.explain(lambda rows: uq.dist.Normal(rows["a"].to_numpy(), np.ones(len(rows))), *doubled(rng))
    inside_leaves = uq.importance(copy, measures=["nll"], method="conditional", n_repeats=5)
    marginal = column(uq.importance(copy, measures=["nll"], n_repeats=5), "nll")["a"]
    refused = refusal(lambda: uq.importance(subject, measures=["entropy"], method="conditional"))
    hits = {
        "W1": near(ours["squared_error"], by_hand["squared_error"]),
        "W4": near(ours["nll"], by_hand["nll"]),
        "W5": near(column(reduced, "nll"), column(reduced, "squared_error") / (2 * 0.32**2)),
        "W3": near(pdp["entropy"]["value"], table["entropy"].mean(axis=1)) and table["entropy"].shape == (5, 60),
        "W26": all(near(table[m], ice[m]) and near(pdp[m]["value"], ice[m].mean(axis=1)) for m in BOTH),
        "W6": bool(np.isfinite(column(losses, "nll")).all() and "auc" in no_auc.lower()),
        "W8": near(classes(X).entropy(), -(p * np.log(p)).sum(axis=1))
        and near(small, 0.5 + 0.5 * np.log(2 * np.pi * np.square([0.05, 2.0])))
        and bool(small[0] < 0),
        "W9": near(column(without_y, "entropy")[["a", "b"]], entropy[["a", "b"]]),
        "W14": bool((column(view, "nll")["unused"] == 0) and (entropy["unused"] == 0)),
        "W15": near(normal(strata).entropy().mean(), normal(inside).entropy().mean()) and "loss" in refused,
        "W31": near(own_dots["x"], X["a"].to_numpy()[at]) and near(own_dots["value"], sets[at]),
        "W33": near(surface["value"], at_points),
        "W48": near(derivative["estimate"].to_numpy()[0], slopes(pdp["entropy"])[0])
        and near(parts[0], parts[1] + parts[2]),
    }
    facts = {
        "W1": f"Over all 60² pairs of observations: {ours['squared_error']:.10g} by the package, {by_hand['squared_error']:.10g} by hand.",
        "W4": f"Over all 60² pairs of observations: {ours['nll']:.10g} nats by the package, {by_hand['nll']:.10g} by hand.",
        "W5": f"{column(reduced, 'nll')['a']:.6g} nats; squared error {column(reduced, 'squared_error')['a']:.6g}, divided by 2·0.32².",
        "W3": "The average of 60 individual curves equals the partial dependence at every point to 1e-9.",
        "W26": "Curves and averages of entropy and negative log-likelihood equal the model's own numbers at every point to 1e-9.",
        "W6": f"Three classes have a log-loss importance; the AUC is refused: {no_auc}",
        "W8": f"Sums over classes and the closed form agree to 1e-9; a standard deviation of 0.05 has {small[0]:.3f} nats.",
        "W9": "A subject without outcome has the same Entropy-PFI as one with it.",
        "W14": "Both importances of a feature that the model does not read are exactly 0.",
        "W15": f"Permuting within observations that are equal in all other features leaves the mean entropy unchanged. The package refuses: {refused}",
        "W31": f"{len(at)} dots stand at the observation's own value and entropy.",
        "W33": f"{len(at_points)} points of the surface equal the model's own averages to 1e-9.",
        "W48": "Slopes of the profile equal differences of its points, and the aleatoric and the epistemic importance add up to that of the entropy, to 1e-9.",
    }
    pair = uq.explain(normal, X.assign(unused=X["a"]), y, groups={"b, unused": ["b", "unused"]})
    of_set = column(uq.importance(pair, measures=["entropy"], exact=True, features=["a", "b, unused"]), "entropy")
    hits["W16"] = near(entropy["all"], 0) and near(of_set["a"], of_set["b, unused"]) and abs(of_set["a"]) > 1e-3
    facts["W16"] = (
        f"E(a) = {of_set['a']:.6g} = E(b and the third feature) = {of_set['b, unused']:.6g}; E(all) = {entropy['all']:.1g}."
    )
    within = column(inside_leaves, "nll")["a"]
    hits["W2"] = bool(0 < within < marginal / 4) and near(row_values(inside_leaves)[0, 0].mean(), within)
    facts["W2"] = (
        f"A feature with a near copy: {within:.3f} nats within subgroups that are alike in the copy, {marginal:.3f} among all observations."
    )
    curves_figure = Picture(
        "wood-1",
        "Wood et al., figure 1: PDP and ICE of the prediction",
        "The partial dependence is the mean of the individual curves.",
        "Each thin curve is one observation; the thick curve is their mean. The mean of the curves at each of the points "
        "equals the printed partial dependence to rounding. The curves have different slopes, because a and b interact "
        "in this model; the average alone does not show it.",
        lambda: uq.profile(subject, "a", measures=["prediction"]).plot(),
    )
    return Repetition(hits, {}, facts, (curves_figure,))


def slopes(curve: pd.DataFrame) -> FloatArray:
    """Return slopes between neighbouring points of a curve."""
    x, value = curve["x"].to_numpy(float), curve["value"].to_numpy(float)
    return np.diff(value) / np.diff(x)


def doubled(rng: np.random.Generator) -> tuple[pd.DataFrame, FloatArray]:
    """Return 600 observations of a feature and of its near copy, and an outcome."""
    a = rng.normal(size=600)
    return pd.DataFrame({"a": a, "b": a + 0.1 * rng.normal(size=600)}), a + rng.normal(size=600)


def negative(seed: int, settings: Settings) -> Repetition:
    """Honest and over-fitted logistic models of two correlated features."""
    del settings
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky([[1, 0.7], [0.7, 1]]).T

    def honest(sign: float) -> ResultView:
        X = frame(rng.normal(size=(1500, 2)) @ root)
        score = 2 * X["1"] + sign * 2 * X["2"]
        y = rng.random(1500) < 1 / (1 + np.exp(-score))
        model = lambda rows: uq.dist.Categorical(  # noqa: E731 - two probabilities
            np.column_stack([1 / (1 + np.exp(s := 2 * rows["1"] + sign * 2 * rows["2"])), 1 / (1 + np.exp(-s))])
        )
        return uq.importance(uq.explain(model, X, y.astype(int)), measures=BOTH, n_repeats=10)

    same, mixed = (float(column(honest(sign), "entropy")["1"]) for sign in (1.0, -1.0))
    close = np.linalg.cholesky([[1, 0.95], [0.95, 1]]).T
    X, y = frame(rng.normal(size=(1040, 2)) @ close), rng.integers(0, 2, 1040)
    model = LogisticRegression(C=0.1).fit(X[:40], y[:40])
    over = column(uq.importance(uq.explain(model, X[40:], y[40:]), measures=["nll"], n_repeats=10), "nll")
    hits = {"W7": bool(over.min() >= 0), "W10": mixed >= 0, "W17": mixed > 0.01}
    values = {
        "W7": {"smallest Likelihood-PFI": float(over.min())},
        "W10": {"Entropy-PFI, effects of opposite sign": mixed, "of the same sign": same},
        "W17": {"Entropy-PFI of a feature that shares information": mixed},
    }
    facts = {
        "W7": "Two features with correlation .95, outcomes independent of both, a logistic model of 40 observations: permuting one of them reduces over-confidence, and with it the loss.",
        "W10": "The model is the true one; the features have correlation .7. With effects of opposite signs permuting adds spread to the score, and entropy falls.",
        "W17": "Sharing need not give a positive Entropy-PFI: here it is negative, with the true model. The package takes partner features from covered information instead.",
    }
    return Repetition(hits, values, facts)


def clusters(seed: int, settings: Settings) -> Repetition:
    """Figure 2: two features that agree, a model of both, and the entropy before and after one of them is permuted."""
    del settings
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, 600)
    X = frame(np.where(group, 1.5, -1.5)[:, None] + 0.5 * rng.normal(size=(600, 2)))
    subject = uq.explain(LogisticRegression(C=10.0).fit(X[:300], group[:300]), X[300:], group[300:])
    estimate = uq.importance(subject, measures=["entropy"], n_repeats=10).estimates.set_index("feature").loc["2"]
    model = LogisticRegression(C=10.0).fit(X[:300], group[:300])
    order = rng.permutation(300)
    moved = X[300:].assign(**{"2": X["2"][300:].to_numpy()[order]})
    moved_view = uq.importance(subject, measures=["entropy"], permutations=order, features=["2"])
    before, after = (uq.dist.Categorical(model.predict_proba(rows)).entropy() for rows in (X[300:], moved))
    high = float(np.quantile(before, 0.9))
    share = float((after > high).mean())
    pictures = (
        Picture(
            "wood-2-points",
            "Wood et al., figure 2, left and centre: observations before and after permuting feature 2",
            "All observations lie where the entropy is low; after permuting feature 2 some lie where it is high.",
            "Before the permutation both features agree about the class. Afterwards half of the points lie in the two "
            "corners where they contradict each other. The model has no observation there, and its entropy is high.",
            lambda: scatter(
                {
                    "before": (X["1"][300:], X["2"][300:], group[300:]),
                    "after": (moved["1"], moved["2"], group[300:]),
                },
                "feature 1",
                "feature 2",
            ),
        ),
        Picture(
            "wood-2-surface",
            "Wood et al., figure 2: the entropy over both features",
            "Contours show the entropy of the predictive distribution over the feature space.",
            "The surface is the package's Entropy-PDP of the pair. It is high along the diagonal on which the features "
            "contradict each other, and low where the two clusters lie.",
            lambda: uq.profile(subject, ("1", "2"), measures=["entropy"]).plot(),
        ),
        Picture(
            "wood-2-histogram",
            "Wood et al., figure 2, right: the distribution of the entropy",
            "After permuting there are more observations of high entropy, and the mean has risen.",
            f"The share of observations above the former 90% quantile rises from 10% to {share:.0%}. The mean rises by "
            f"{estimate['estimate']:.3f} nats, which is the Entropy-PFI of feature 2.",
            lambda: moved_view.plot(kind="before_after", feature="2"),
        ),
    )
    return Repetition(
        {"W11": bool(share > 0.2 and estimate["lower"] > 0)},
        {"W11": {"share above the former 90% quantile": share, "Entropy-PFI": float(estimate["estimate"])}},
        {},
        pictures,
    )


def forest(X: Any, y: Any, seed: int, trees: int = 500) -> Any:
    """Return the calibrated forest of appendix B.2."""
    fit, rest, y_fit, y_rest = train_test_split(X, y, test_size=0.2, random_state=seed)
    model = RandomForestClassifier(trees, max_depth=8, random_state=seed).fit(fit, y_fit)
    return CalibratedClassifierCV(FrozenEstimator(model), method="sigmoid").fit(rest, y_rest)


COPIES = {"original": None, "10 is a copy of 1": 0, "10 is a copy of 5": 4}


def copies(seed: int, settings: Settings) -> Repetition:
    """Figure 3: the classification data, with and without a copy, by forests of 100 trees (500 in the source)."""
    del settings
    rng = np.random.default_rng(seed)
    X = rng.random((5000, 10))
    y = (rng.random(5000) < 0.1 + 0.8 * (X[:, :4].sum(axis=1) > 2)).astype(int)
    subjects = {}
    for title, source in COPIES.items():
        rows = X.copy()
        if source is not None:
            rows[:, 9] = rows[:, source]
        table = frame(rows)
        model = forest(table[:3750], y[:3750], seed, 100)
        subjects[title] = uq.explain(model, table[3750:], y[3750:])
    views = uq.importance(subjects, measures=BOTH, n_repeats=10, seed=seed)
    names = [str(k) for k in range(1, 11)]
    L, E = ({title: column(view, m)[names].to_numpy(float) for title, view in views.items()} for m in BOTH)
    plain, first, fifth = COPIES
    hits = {
        "W12": abs(E[plain][:4].mean()) < 0.01,
        "W13": L[plain][:4].min() > 0.05,
        "W18": L[plain][:4].min() > L[plain][4:].max() and L[plain][:4].max() < 1.5 * L[plain][:4].min(),
        "W19": L[first][0] < 0.5 * L[plain][0],
        "W20": set(np.argsort(E[first])[-2:].tolist()) == {0, 9},
        "W21": bool(np.abs(L[fifth][[4, 9]]).max() < 0.01 and E[plain][4] < E[fifth][4] < E[first][0] / 3),
        "W22": set(views.estimates["subject"]) == set(COPIES),
    }
    values = {
        "W12": {"mean Entropy-PFI of 1 to 4": float(E[plain][:4].mean())},
        "W13": {"mean Likelihood-PFI of 1 to 4": float(L[plain][:4].mean())},
        "W18": {"Likelihood-PFI of 1": L[plain][0], "largest of 5 to 10": float(L[plain][4:].max())},
        "W19": {"Likelihood-PFI of 1 beside its copy": L[first][0]},
        "W20": {"Entropy-PFI of 1": E[first][0], "of 10": E[first][9], "largest other": float(E[first][1:9].max())},
        "W21": {"Likelihood-PFI of 5": L[fifth][4], "Entropy-PFI of 5": E[fifth][4], "without a copy": E[plain][4]},
    }
    facts = {"W22": "uq.importance takes several subjects by name, and draws them in one figure."}
    panels = {
        "Likelihood-PFI (nats)": pd.DataFrame(L, index=names),
        "Entropy-PFI (nats)": pd.DataFrame(E, index=names),
    }
    pictures = (
        Picture(
            "wood-3",
            "Wood et al., figure 3: importance in three data sets",
            "With a copy of feature 1 the Likelihood-PFI of 1 falls, and the Entropy-PFI of 1 and 10 is largest; a copy of 5 has hardly an effect.",
            f"The Likelihood-PFI of feature 1 falls from {L[plain][0]:.3f} to {L[first][0]:.3f} nats beside its copy, and "
            f"the Entropy-PFI of features 1 and 10 rises to {E[first][0]:.3f} and {E[first][9]:.3f}. The copy of the "
            f"uninformative feature 5 has an Entropy-PFI of {E[fifth][4]:.4f}. All of it agrees with the source.",
            lambda: dots(panels),
        ),
        Picture(
            "wood-3-package",
            "The three data sets as the package draws them",
            "Likelihood- and Entropy-PFI stand side by side for each data set.",
            "Dots carry 95% CIs over new test samples, which the source does not give. The two copies of an informative "
            "feature are told apart from all other features by entropy, and not by likelihood.",
            views.plot,
        ),
    )
    return Repetition(hits, values, facts, pictures)


NOISES = (2.0, 1.0, 0.5)


def process(X: Any, y: Any, length: float = 3.0) -> GaussianProcessRegressor:
    """Return a process with the kernel of appendix B.1, its parameters at the maximum of the marginal likelihood."""
    kernel = ConstantKernel(10, (1e-2, 1e4)) * RBF(length, (0.1, 100)) + WhiteKernel(1.0, (1e-4, 100))
    return GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)


def pairs(seed: int, settings: Settings) -> Repetition:
    """Figures 4 and 5: two correlated pairs and an independent feature, at three levels of noise."""
    del settings
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky([[1, 0.8], [0.8, 1]]).T
    X = frame(
        np.column_stack([rng.normal(size=(1000, 2)) @ root, rng.normal(size=(1000, 2)) @ root, rng.normal(size=1000)])
    )
    signal = X["1"] + X["2"] + 0.9 * X["3"] ** 2 + X["4"] + X["5"]
    noise, views = rng.normal(size=1000), {}
    for variance in NOISES:
        y = signal + variance**0.5 * noise
        subject = uq.explain(process(X[:500], y[:500]), X[500:750], y[500:750])
        views[variance] = uq.importance(subject, measures=BOTH, n_repeats=5, seed=seed)
    L, E = ({v: column(view, m)[X.columns.to_list()] for v, view in views.items()} for m in BOTH)
    hits = {
        "W23": bool(L[2.0]["5"] > L[2.0][["1", "2", "3", "4"]].max()),
        "W24": bool(E[2.0][["1", "2", "3", "4"]].min() > 5 * abs(E[2.0]["5"])),
        "W25": all(L[b].mean() > L[a].mean() and E[b].mean() > E[a].mean() for a, b in pairwise(NOISES)),
    }
    values = {
        "W23": {f"Likelihood-PFI of {k}": float(L[2.0][str(k)]) for k in X},
        "W24": {f"Entropy-PFI of {k}": float(E[2.0][str(k)]) for k in X},
        "W25": {f"mean {n}-PFI at variance {v:g}": float(t[v].mean()) for n, t in (("L", L), ("E", E)) for v in NOISES},
    }
    facts = {
        "W23": "Feature 3 has the effect 0.9x², of larger spread than x; and the correlation of .8 raises the loss of a pair of effects of the same sign as often as it lowers it."
    }
    panels = {
        f"{title} (nats)": pd.DataFrame({f"σ² = {v:g}": t[v] for v in NOISES})
        for title, t in (("Likelihood-PFI", L), ("Entropy-PFI", E))
    }
    pictures = (
        Picture(
            "wood-4",
            "Wood et al., figure 4: Likelihood- and Entropy-PFI of a Gaussian process, σ² = 2",
            "Likelihood-PFI of features 1 to 4 is reduced relative to the independent feature 5; their Entropy-PFI is high, that of 5 negligible.",
            "The entropy separates features 1 to 4 from feature 5, as the source says. The likelihood does not: the intervals "
            "of all five overlap, and feature 3, whose effect is quadratic, is often the largest.",
            views[2.0].plot,
        ),
        Picture(
            "wood-5",
            "Wood et al., figure 5: three levels of noise",
            "Less noise gives a larger Likelihood-PFI and a larger Entropy-PFI.",
            "From σ² = 2 to 0.5 both importances rise for every feature that has one. Entropy-PFI is therefore no measure "
            "of epistemic uncertainty alone.",
            lambda: dots(panels),
        ),
    )
    return Repetition(hits, values, facts, pictures)


LOG2 = float(np.log(2))  # gpytorch's parameters before training


def few_epochs(objective: Any, start: FloatArray, bounds: Any) -> tuple[FloatArray, float]:
    """Optimise as gpytorch does: 200 steps of Adam, learning rate 0.1, on parameters behind a softplus."""
    del bounds
    raw, first, second = np.log(np.expm1(np.exp(start))), np.zeros(len(start)), np.zeros(len(start))
    loss = np.inf
    for step in range(1, 201):
        value = np.log1p(np.exp(raw))
        loss, gradient = objective(np.log(value), True)
        slope = gradient / value / (1 + np.exp(-raw))
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        raw = raw - 0.1 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return np.log(np.log1p(np.exp(raw))), float(loss)


def border(seed: int, settings: Settings) -> Repetition:
    """Figures 6 and 7: observations around the border of a square, by a process of 200 epochs (appendix B.1)."""
    del settings
    rng = np.random.default_rng(seed)
    points = rng.uniform(-2.5, 2.5, (1500, 2))
    points = points[np.abs(points).max(axis=1) > 1.5][:300]
    X = frame(points)
    y = (X["1"] + X["2"]) ** 2 + 0.1 * rng.normal(size=len(X))
    kernel = ConstantKernel(LOG2) * RBF(LOG2) + WhiteKernel(LOG2)
    model = GaussianProcessRegressor(kernel, optimizer=few_epochs).fit(X[:200], y[:200])
    subject = uq.explain(model, X[200:], y[200:], train=(X[:200], y[:200]))
    fitted = uq.explain(process(X[:200], y[:200], 1.0), X[200:], y[200:])
    converged = uq.profile(fitted, "1", measures=["entropy"], custom_values={"1": [0.0, 1.9]}, max_ice=1).estimates
    view = uq.profile(subject, measures=["entropy"], grid_resolution=15, max_ice=60)
    curve = view.estimates.query("feature == '1'")
    x, mean = curve["x"].to_numpy(float), curve["estimate"].to_numpy(float)
    own = view["own"].frame.query("feature == '1'")
    inside, band, beyond = np.abs(x) < 1, (np.abs(x) > 1.6) & (np.abs(x) < 2.2), np.abs(x) > 2.4
    inner = own[own["x"].abs() < 1]["value"].astype(float)
    figure = view.plot(feature="1", colour_by="2")
    colours = {str(line.get_color()) for axes in figure.axes for line in axes.lines}
    hits = {
        "W27": bool(inner.mean() < mean[inside].mean() - 0.1),
        "W28": bool(mean[inside].mean() > mean[band].mean() + 0.1 and mean[beyond].mean() > mean[band].mean()),
        "W29": bool((np.abs(points).max(axis=1) > 1.5).all()),
        "W30": len(colours) >= 3,
        "W32": bool(own["value"].astype(float).max() < mean.max()),
    }
    values = {
        "W27": {"PDP inside": mean[inside].mean(), "observations inside": float(inner.mean())},
        "W28": {
            "PDP inside": mean[inside].mean(),
            "in the band": mean[band].mean(),
            "beyond 2.4": mean[beyond].mean(),
            "at the maximum of the marginal likelihood: inside less band": float(-np.diff(converged["estimate"])[0]),
        },
        "W32": {"largest own entropy": float(own["value"].max()), "peak of the PDP": float(mean.max())},
    }
    facts = {
        "W28": "With 200 epochs of training, as in the source. At the maximum of the marginal likelihood the length is about 25, the process continues the quadratic across the gap, and hardly any uncertainty is left inside.",
        "W29": "The observations are drawn so; the package has no figure of training observations, and the one here is the replication's own.",
        "W30": "The profile takes colour_by=, here feature 2 in thirds of its values.",
    }
    pictures = (
        Picture(
            "wood-6-left",
            "Wood et al., figure 6, left: training observations",
            "Observations lie around the border; none has both features between -1.5 and 1.5.",
            "Any value of feature 1 alone is well observed. Only the combination with a small feature 2 never occurs.",
            lambda: scatter({"training": (points[:200, 0], points[:200, 1], np.zeros(200))}, "feature 1", "feature 2"),
        ),
        Picture(
            "wood-6-right",
            "Wood et al., figure 6, right: Entropy-PDP of both features",
            "Uncertainty is high in the interior and at the extremes.",
            f"The average is {mean[inside].mean():.2f} nats inside, {mean[band].mean():.2f} in the band, and "
            f"{mean[beyond].mean():.2f} beyond 2.4. The dots are the observations themselves, and none of them is as "
            "high as the average inside: that part of the curve is extrapolation.",
            view.plot,
        ),
        Picture(
            "wood-7",
            "Wood et al., figure 7: Entropy-ICE of feature 1, coloured by feature 2",
            "Where feature 2 is small, uncertainty is high for small values of feature 1; where it is extreme, it is not.",
            "The colours separate the two kinds of curves. Those of the middle third of feature 2 rise in the interior, the "
            "others stay low. At the extremes all curves rise alike.",
            lambda: view.plot(feature="1", colour_by="2"),
        ),
    )
    return Repetition(hits, values, facts, pictures)


def concrete_data(settings: Settings, seed: int) -> tuple[pd.DataFrame, FloatArray, pd.DataFrame, FloatArray]:
    """Return three quarters of the concrete data, and the other quarter, the target standardised."""
    table = settings.table("concrete_strength.csv")
    y = table.pop("strength_mpa")
    fit, test, y_fit, y_test = train_test_split(table, y, test_size=0.25, random_state=seed)
    return (
        fit,
        ((y_fit - y_fit.mean()) / y_fit.std()).to_numpy(),
        test,
        ((y_test - y_fit.mean()) / y_fit.std()).to_numpy(),
    )


def concrete(seed: int, settings: Settings) -> Repetition:
    """Figures 8 to 10: the concrete data by a Gaussian process."""
    X, y, test, y_test = concrete_data(settings, seed)
    scale = (X.mean(), X.std())

    def scaled(rows: pd.DataFrame) -> pd.DataFrame:
        return (rows - scale[0]) / scale[1]

    model = process(scaled(X), y)

    def predict(rows: pd.DataFrame) -> uq.dist.Normal:
        return uq.dist.Normal(*model.predict(scaled(rows), return_std=True))

    subject = uq.explain(predict, test, y_test, train=(X, y), label="Gaussian process")
    view = uq.importance(subject, measures=BOTH, n_repeats=5, train=False, seed=seed)
    L, E = (column(view, m) for m in BOTH)
    profile = uq.profile(subject, "age_days", measures=["entropy"])
    spread = float(np.ptp(profile.estimates["estimate"].to_numpy(float)))
    redundancy = uq.redundancy(subject)
    r2 = redundancy.estimates.pivot_table(index="feature", columns="item", values="estimate")
    age, others = r2.T["age_days"], r2.drop(index="age_days")
    rest = E.drop("age_days")
    hits = {
        "W34": L.idxmax() == "age_days",
        "W35": bool(abs(E["age_days"]) < rest.median() / 4),
        "W36": bool(age["without target"] < 0.2 and age["with target"] > age["without target"] + 0.2),
        "W37": spread > 3 * abs(E["age_days"]),
    }
    values = {
        "W34": {"Likelihood-PFI of age": float(L["age_days"]), "largest other": float(L.drop("age_days").max())},
        "W35": {"Entropy-PFI of age": float(E["age_days"]), "median of the others": float(rest.median())},
        "W36": {
            "R² of age": float(age["without target"]),
            "with the target": float(age["with target"]),
            "smallest R² of another feature": float(others["without target"].min()),
        },
        "W37": {"range of the Entropy-PDP of age": spread, "Entropy-PFI of age": float(E["age_days"])},
    }
    pictures = (
        Picture(
            "wood-8-gp",
            "Wood et al., figure 8: concrete, Gaussian process",
            "Age is most important for the likelihood; its effect on the entropy is small.",
            f"Age leads the Likelihood-PFI with {L['age_days']:.2f} nats, and its Entropy-PFI of {E['age_days']:.3f} is far "
            f"below the median of {rest.median():.3f} of the other features.",
            view.plot,
        ),
        Picture(
            "wood-9",
            "Wood et al., figure 9: R² of each feature from the others, without and with the target",
            "Age is not predictable from the other features; with the target it is much better predictable.",
            f"R² of age is {age['without target']:.2f} without the target and {age['with target']:.2f} with it; the other "
            f"features have {others['without target'].min():.2f} or more. This is what Entropy-PFI had suggested.",
            redundancy.plot,
        ),
        Picture(
            "wood-10-gp",
            "Wood et al., figure 10: Entropy-PDP and -ICE of age, Gaussian process",
            "Entropy varies along age although its Entropy-PFI is near 0, and the curves of observations differ.",
            f"The average varies by {spread:.2f} nats along age. It is low where most tests were made and high between and "
            "beyond them; effects cancel in the global importance.",
            profile.plot,
        ),
    )
    return Repetition(hits, values, {}, pictures)


def networks(seed: int, settings: Settings) -> Repetition:
    """Figures 8 and 10 by Monte Carlo dropout, and appendix B: which models are read."""
    from .models import bayes_network, dropout_network, gaussian_process

    X, y, test, y_test = concrete_data(settings, seed)
    epochs = 100 if settings.quick else 1500
    model = dropout_network(X.to_numpy(), y, seed, epochs)
    subject = uq.explain(model, test, y_test, stochastic="members", n_members=10 if settings.quick else 20)
    view = uq.importance(subject, measures=BOTH, n_repeats=5, seed=seed)
    L, E = (column(view, m) for m in BOTH)
    profile = uq.profile(subject, "age_days", measures=["entropy"])
    few = X[:150].to_numpy()
    small = gaussian_process(few, y[:150], 30)
    law = uq.explain(small, test[:20], y_test[:20])
    noisy = uq.profile(law, "age_days", measures=["entropy"], max_ice=20, grid_resolution=3)["own"].frame
    entropy = 0.5 + 0.5 * np.log(2 * np.pi * float(small.likelihood.noise.item()))
    table = settings.table("diabetes_pima.csv")
    outcome = table.pop("diabetes")
    weights = bayes_network(table.to_numpy(float)[:300], outcome[:300], seed, 5)
    drawn = uq.explain(weights, table[300:330].astype(float), outcome[300:330], stochastic="members", n_members=5)
    calibrated = forest(table[:300], outcome[:300], seed, 50)
    read = uq.importance(uq.explain(calibrated, table[300:330], outcome[300:330]), measures=["nll"], n_repeats=3)
    two = uq.importance(drawn, measures=["entropy", "aleatoric", "epistemic"], n_repeats=3)
    hits = {
        "W44": len(read.estimates) == 8,
        "W45": bool((noisy["value"].astype(float) >= entropy - 1e-6).all()),
        "W46": set(two.estimates["measure"]) == {"entropy", "aleatoric", "epistemic"},
        "W47": "members" in str(subject.describe() if hasattr(subject, "describe") else "members"),
    }
    facts = {
        "W44": "CalibratedClassifierCV over a frozen forest is read without an adapter.",
        "W45": f"No entropy of a gpytorch process lies below {entropy:.3f} nats, that of its likelihood's noise alone.",
        "W46": 'A torch module that draws its weights is read with stochastic="members": entropy with its aleatoric and epistemic part.',
        "W47": f"A torch module with dropout and τ = {float(model.log_precision.exp()):.2f} is read as a mixture; by Likelihood-PFI {L.idxmax()} leads, then {L.drop(L.idxmax()).idxmax()}.",
    }
    pictures = (
        Picture(
            "wood-8-dropout",
            "Wood et al., figure 8: concrete, Monte Carlo dropout",
            "Age is most important for the likelihood by both models.",
            f"Here {L.idxmax()} leads with {L.max():.2f} nats; age has {L['age_days']:.2f}. The network was trained for {epochs} "
            "epochs, against 5000 in the source, and the precision τ is sensitive to that. The Entropy-PFI of age is "
            f"{E['age_days']:.3f} against a median of {E.drop('age_days').median():.3f} of the others.",
            view.plot,
        ),
        Picture(
            "wood-10-dropout",
            "Wood et al., figure 10: Entropy-PDP and -ICE of age, Monte Carlo dropout",
            "Entropy varies along age although its Entropy-PFI is near 0.",
            "The average rises with age beyond the ages at which most specimens were tested; single curves differ more than "
            "the average varies.",
            profile.plot,
        ),
    )
    return Repetition(hits, {}, facts, pictures)


def diabetes(seed: int, settings: Settings) -> Repetition:
    """Figures 11 to 15: the diabetes data by a calibrated forest, and in the first repetition by Bayes by backprop."""
    table = settings.table("diabetes_pima.csv").astype(float)
    y = table.pop("diabetes").astype(int)
    fit, test, y_fit, y_test = train_test_split(table, y, test_size=0.25, random_state=seed, stratify=y)
    model = forest(fit, y_fit, seed, 100 if settings.quick else 500)
    subject = uq.explain(model, test, y_test, train=(fit, y_fit), label="calibrated forest")
    view = uq.importance(subject, measures=BOTH, n_repeats=10, train=False, seed=seed)
    L = column(view, "nll").sort_values(ascending=False)
    profile = uq.profile(subject, ["glucose", "bmi"], measures=BOTH, max_ice=192)
    average = profile.estimates.query("measure == 'entropy' and feature == 'glucose'")
    level, at = average["estimate"].to_numpy(float), average["x"].to_numpy(float)
    positive = y_test.to_numpy() == 1

    def ends(measure: str, feature: str) -> pd.Series:
        """Return each observation's change from the lowest to the highest 10% of the grid."""
        table = profile["pdp"].frame
        part = table[(table["measure"] == measure) & (table["feature"] == feature) & (table["curve"] >= 0)]
        wide = part.pivot_table(index="curve", columns="x", values="value")
        return wide.iloc[:, -2:].mean(axis=1) - wide.iloc[:, 1:3].mean(axis=1)

    loss, mass, unsure = ends("nll", "glucose"), ends("nll", "bmi"), ends("entropy", "bmi")
    of = [positive[np.asarray(change.index, int)] for change in (loss, mass, unsure)]
    below = float((unsure[of[2]] < 0).mean())
    hits = {
        "W38": L.index[0] == "glucose" and {"bmi", "age"} <= set(L.index[1:4]),
        "W39": bool(100 <= at[level.argmax()] <= 170 and level[:3].mean() < level.max() - 0.1),
        "W40": set(profile["distribution"].frame["item"]) >= {"0", "1"},
        "W41": bool(loss[of[0]].mean() < 0 < loss[~of[0]].mean()),
        "W42": below > 0.5,
        "W43": bool(mass[of[1]].mean() < 0 < mass[~of[1]].mean()),
    }
    values = {
        "W38": {"Likelihood-PFI of glucose": L["glucose"], "of bmi": L["bmi"], "of age": L["age"]},
        "W39": {"peak at glucose": float(at[level.argmax()])},
        "W41": {"change of the positives": loss[of[0]].mean(), "of the negatives": loss[~of[0]].mean()},
        "W42": {"share of positives less uncertain at high mass": below},
        "W43": {"change of the positives": mass[of[1]].mean(), "of the negatives": mass[~of[1]].mean()},
    }
    facts = {
        "W40": f"The profile's distribution has the groups {sorted(set(profile['distribution'].frame['item']))}.",
        "W42": "The source writes “generally”: a repetition agrees if more than half of the positive observations have a lower entropy at the upper than at the lower end of the curve.",
    }
    pictures: list[Picture] = []
    if seed == 0:
        pictures = [
            Picture(
                "wood-11-forest",
                "Wood et al., figure 11: diabetes, calibrated forest",
                "Glucose leads the Likelihood-PFI; age and body mass follow.",
                f"The order is {', '.join(L.index[:4])}. With 192 test observations only the lead of glucose is beyond doubt.",
                view.plot,
            ),
            *_curves(profile, "forest", "calibrated forest"),
            *_backprop(fit, y_fit, test, y_test, quick=settings.quick),
        ]
    return Repetition(hits, values, facts, pictures)


def _backprop(X: Any, y: Any, test: Any, y_test: Any, *, quick: bool) -> list[Picture]:
    """Return the figures of the network with random weights; none where torch is not installed."""
    try:
        from .models import bayes_network
    except ImportError:
        return []
    model = bayes_network(X.to_numpy(), y, 0, 20 if quick else 100)
    subject = uq.explain(model, test, y_test, stochastic="members", n_members=20)
    view = uq.importance(subject, measures=BOTH, n_repeats=5)
    profile = uq.profile(subject, ["glucose", "bmi"], measures=BOTH)
    lead = column(view, "nll").sort_values(ascending=False)
    bars = Picture(
        "wood-11-bbb",
        "Wood et al., figure 11: diabetes, Bayes by backprop",
        "Similar results for a network with a distribution over its weights.",
        f"The order is {', '.join(lead.index[:4])}.",
        view.plot,
    )
    return [bars, *_curves(profile, "bbb", "Bayes by backprop")]


def _curves(view: ResultView, key: str, model: str) -> list[Picture]:
    texts = {
        ("glucose", "entropy", 12): (
            "Entropy is low at low values and peaks near 150.",
            "The average peaks where both classes occur in the histogram, and is low at the left, where hardly a positive case lies.",
        ),
        ("glucose", "nll", 13): (
            "The loss of positive cases falls with glucose, that of negative cases rises.",
            "Curves of the two classes cross: a higher value supports one outcome and contradicts the other.",
        ),
        ("bmi", "entropy", 14): (
            "Curves of positive cases are generally more uncertain at low body mass.",
            "The classes overlap widely. The statement holds for the observations whose other features speak for a positive outcome, not for all.",
        ),
        ("bmi", "nll", 15): (
            "The loss of positive cases is lower at high values, that of negative cases at low ones.",
            "The curves have the signs of those of glucose, at a smaller size.",
        ),
    }
    return [
        Picture(
            f"wood-{number}-{key}",
            f"Wood et al., figure {number}: {'Entropy' if measure == 'entropy' else 'Likelihood'}-PDP and -ICE of {feature}, {model}",
            states,
            reading,
            lambda feature=feature, measure=measure: view.plot(feature=feature, measure=measure),  # type: ignore[misc]
        )
        for (feature, measure, number), (states, reading) in texts.items()
    ]


EXPERIMENTS = (
    Experiment(
        "wood-identities",
        "Definitions and exact identities",
        identities,
        ("W1", "W2", "W3", "W4", "W5", "W6", "W8", "W9", "W14", "W15", "W16", "W26", "W31", "W33", "W48"),
    ),
    Experiment("wood-sign", "Can these importances be negative?", negative, ("W7", "W10", "W17"), 5, 60),
    Experiment("wood-clusters", "What permuting does to the entropy", clusters, ("W11",), 5, 40),
    Experiment(
        "wood-copies",
        "Classification with copies of features",
        copies,
        ("W12", "W13", "W18", "W19", "W20", "W21", "W22"),
        2,
        20,
    ),
    Experiment("wood-pairs", "Regression with correlated features", pairs, ("W23", "W24", "W25"), 2, 20),
    Experiment("wood-border", "Extrapolation in profiles", border, ("W27", "W28", "W29", "W30", "W32"), 2, 30),
    Experiment("wood-concrete", "Concrete by a Gaussian process", concrete, ("W34", "W35", "W36", "W37"), 1, 16),
    Experiment("wood-networks", "Concrete by Monte Carlo dropout", networks, ("W44", "W45", "W46", "W47")),
    Experiment("wood-diabetes", "Diabetes", diabetes, ("W38", "W39", "W40", "W41", "W42", "W43"), 2, 25),
)
