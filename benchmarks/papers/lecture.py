"""The lecture on permutation importance, and the Modeva documentation."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression

import uq_report as uq
from uq_report.core.support.arrays import FloatArray
from uq_report.methods.ale.explain import AccumulatedLocalEffects

from .claims import Experiment, Picture, Repetition, Settings, column, near, refusal, row_values
from .figures import lines
from .wood import frame


def worked_example(seed: int, settings: Settings) -> Repetition:
    """Three observations have six permutations; the two of the lecture; and changes of loss by observation."""
    del settings
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.6, 0.1])

    def loss(values: FloatArray) -> FloatArray:
        return np.abs(0.3 * values + 0.2 - y)

    shuffled = np.array([loss(x[list(order)]) for order in permutations(range(3))])
    every = (shuffled - loss(x)).mean(axis=1)
    subject = uq.explain(
        lambda rows: uq.dist.Normal(0.3 * rows["x"].to_numpy() + 0.2, np.ones(len(rows))), pd.DataFrame({"x": x}), y
    )
    whole = uq.importance(subject, measures=["absolute_error"], n_repeats=3, seed=seed)
    some = uq.importance(subject, measures=["absolute_error"], n_repeats=5, exact=False, seed=seed)
    ours, before = whole.estimates[["estimate", "unpermuted"]].iloc[0].astype(float)
    drawn, mean = some.frame["value"].to_numpy(), float(some.estimates["estimate"].iloc[0])
    permuted = np.abs(drawn[:, None] - every).min(axis=1) < 1e-12
    # the lecture's table of losses, as a table of predictions: rows of the feature, columns of the observation
    table = {(1, 1): 0.25, (2, 1): 0.9, (3, 1): 1.1, (2, 2): 0.35, (1, 2): 0.5, (3, 3): 0.1, (1, 3): 0.45}
    rows = pd.DataFrame({"x1": [1.0, 2.0, 3.0], "row": [1.0, 2.0, 3.0]})

    def model(asked: pd.DataFrame) -> uq.dist.Normal:
        cells = zip(asked["x1"].astype(int), asked["row"].astype(int), strict=True)
        return uq.dist.Normal(np.array([table.get(cell, 9.0) for cell in cells]), np.ones(len(asked)))

    given = uq.importance(
        uq.explain(model, rows, np.zeros(3)),
        measures=["absolute_error"],
        permutations=np.array([[1, 0, 2], [2, 1, 0]]),
        features=["x1"],
    )
    first, second = given.frame["value"].to_numpy()
    changes = row_values(
        uq.importance(
            uq.explain(model, rows, np.zeros(3)),
            measures=["absolute_error"],
            permutations=np.array([[1, 0, 2]]),
            features=["x1"],
        )
    )[0, 0]
    sets = uq.explain(
        lambda r: uq.dist.Normal((r["a"] * r["b"]).to_numpy(), np.ones(len(r))),
        pd.DataFrame({"a": x, "b": x}),
        y,
        groups={"a, b": ["a", "b"]},
    )
    together = uq.importance(sets, measures=["absolute_error"], exact=True, features=["a, b"])
    pairs = np.abs(np.square(x)[None] - y[:, None]).mean() - np.abs(np.square(x) - y).mean()
    noise = [name for name in uq.options("pfi")["option"] if "noise" in name]
    hits = {
        "L1": near(column(together, "absolute_error"), pairs),
        "L2": bool(permuted.all() and len(drawn) == 5 and abs(mean - drawn.mean()) < 1e-12),
        "L3": near(ours, every.mean()),
        "L4": near([first, second], [0.8 / 3, 1.2 / 3]) and near(given.estimates["estimate"], 1 / 3),
        "L5": near(changes, [0.65, 0.15, 0.0]),
        "L6": near(ours, shuffled.mean() - before),
        "L20": not noise,
    }
    facts = {
        "L1": f"The importance of the set {{a, b}} is {float(together.estimates['estimate'].iloc[0]):.6g}; by hand {pairs:.6g}.",
        "L2": f"The mean of {len(drawn)} permutations that were drawn is {drawn.mean():.6g}; the package gives {mean:.6g}.",
        "L3": f"The package gives {ours:.6g}; the mean over all six permutations is {every.mean():.6g}.",
        "L4": f"Given permutations: {first:.3f} and {second:.3f}, mean {float(given.estimates['estimate'].iloc[0]):.3f}.",
        "L5": f"Changes of loss by observation: {', '.join(f'{c:.2f}' for c in changes)}.",
        "L6": f"The risks are {before:.6g} before and {shuffled.mean():.6g} after; the package gives {ours:.6g}.",
        "L20": "The package permutes as well, and has no option for noise.",
    }
    return Repetition(hits, {}, facts)


def extrapolation(seed: int, settings: Settings) -> Repetition:
    """Two correlated features that cancel: y = x3, and a model 0.3 x1 - 0.3 x2 + x3."""
    del settings
    rng = np.random.default_rng(seed)
    X = frame(rng.normal(size=(400, 4)))
    X["2"] = X["1"] + 0.1 * rng.normal(size=400)
    X.columns = ["x1", "x2", "x3", "x4"]
    y = X["x3"] + 0.1**0.5 * rng.normal(size=400)

    def model(rows: pd.DataFrame) -> uq.dist.Normal:
        return uq.dist.Normal(
            (0.3 * rows["x1"] - 0.3 * rows["x2"] + rows["x3"]).to_numpy(), np.full(len(rows), 0.1**0.5)
        )

    subject = uq.explain(model, X[200:], y[200:], train=(X[:200], y[:200]))
    view = uq.importance(subject, measures=["squared_error"], n_repeats=10, train=False)
    table = view.estimates.set_index("feature")
    without = [
        np.square(y[200:] - LinearRegression().fit(X[:200][kept], y[:200]).predict(X[200:][kept])).mean()
        for kept in (["x1", "x2", "x3", "x4"], ["x2", "x3", "x4"], ["x1", "x3", "x4"])
    ]
    redundancy = uq.redundancy(subject)
    joint = redundancy["joint"].frame
    gap = (
        joint.assign(gap=(joint["x"].astype(float) - joint["value"].astype(float)).abs())
        .groupby("measure")["gap"]
        .max()
    )
    support = uq.audit(subject, explainers=["pfi", "redundancy", "support"], progress=False)
    codes = set(support.findings["code"])
    irrelevant = max(without[1:]) - without[0] < 0.01
    hits = {
        "L10": bool((table.loc[["x1", "x2"], "lower"] > 0).all() and irrelevant),
        "L11": bool(gap["after"] > 4 * gap["before"]),
        "L12": bool(codes & {"UQ203", "UQ302"}),
        "L16": bool(table.loc["x4", "estimate"] == 0),
        "L17": bool(table.loc["x1", "lower"] > 0 and abs(np.corrcoef(X["x1"], y)[0, 1]) < 0.2),
        "L18": bool(table.loc["x1", "lower"] > 0 and abs(np.corrcoef(X["x1"], y)[0, 1]) < 0.2),
    }
    values = {
        "L10": {k: float(table.loc[k, "estimate"]) for k in table.index}
        | {"loss by leaving out x1": without[1] - without[0]},
        "L11": {"largest |x1 - x2| before": gap["before"], "after": gap["after"]},
        "L17": {
            "importance of x1": float(table.loc["x1", "estimate"]),
            "correlation with y": np.corrcoef(X["x1"], y)[0, 1],
        },
    }
    facts = {
        "L12": f"The audit reports {', '.join(sorted(codes & {'UQ203', 'UQ302'}))}.",
        "L16": "The importance of x4, which the model does not read, is exactly 0.",
        "L17": "x1 is independent of the outcome and depends on x2: the second alternative holds.",
        "L18": "The importance of x1 is positive, and x1 is independent of the outcome.",
    }
    pictures = (
        Picture(
            "lecture-extrapolation-joint",
            "Lecture, extrapolation: (x1, x2) before and after permuting x1",
            "Permuting x1 breaks the joint distribution and gives unrealistic inputs.",
            f"The observations lie on the diagonal. After the permutation |x1 - x2| reaches {gap['after']:.1f}, against "
            f"{gap['before']:.1f} before: the model is evaluated where there are no data.",
            redundancy["joint"].plot,
        ),
        Picture(
            "lecture-extrapolation",
            "Lecture, extrapolation: importance",
            "x1 and x2 have a positive importance although they should be irrelevant.",
            f"Both have about {table.loc['x1', 'estimate']:.2f}, with intervals above 0. Leaving x1 out of the fit changes the "
            f"loss by {without[1] - without[0]:.4f}. The package reports a finding on extrapolation beside the number.",
            view.plot,
        ),
    )
    return Repetition(hits, values, facts, pictures)


def interactions(seed: int, settings: Settings) -> Repetition:
    """Y = x1 x2 + x3 of signs: equal importances, and the H-statistic that tells them apart."""
    del settings
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.choice([-1.0, 1.0], (400, 4)), columns=["x1", "x2", "x3", "x4"])
    y = X["x1"] * X["x2"] + X["x3"] + rng.normal(size=400)

    def model(rows: pd.DataFrame) -> uq.dist.Normal:
        mean = (rows["x1"] * rows["x2"] + rows["x3"]).to_numpy()
        return uq.dist.Normal(mean, np.exp(0.3 * (rows["x1"] * rows["x2"]).to_numpy()))

    subject = uq.explain(model, X, y)
    view = uq.importance(subject, measures=["squared_error"], exact=True)
    table = view.estimates.set_index("feature")
    strength = uq.interactions(subject, measures=["prediction", "entropy"], top=None, max_rows=100)
    prediction = strength["prediction"].estimates
    pairs = prediction[prediction["feature_2"] != ""].sort_values("estimate", ascending=False)
    first = pairs.iloc[0]
    few, many = (
        uq.importance(subject, measures=["squared_error"], n_repeats=n, exact=False, max_shuffle_variance=0.0).estimates
        for n in (5, 40)
    )
    hits = {
        "L13": bool(
            abs(table["estimate"]["x1"] - table["estimate"]["x3"]) < 4 * table["std_error"][["x1", "x3"]].max()
        ),
        "L9": bool(many["shuffling_error"][:3].mean() < few["shuffling_error"][:3].mean()),
        "L19": bool(abs(np.corrcoef(X["x1"], y)[0, 1]) < 0.2 and table["estimate"]["x1"] > 1),
        "M5": {first["feature"], first["feature_2"]} == {"x1", "x2"},
    }
    values = {
        "L13": {k: float(table["estimate"][k]) for k in X},
        "L9": {
            "error of 5 permutations": few["shuffling_error"][:3].mean(),
            "of 40": many["shuffling_error"][:3].mean(),
        },
        "M5": {"H² of x1 and x2": float(first["estimate"]), "next pair": float(pairs.iloc[1]["estimate"])},
    }
    # an unused feature that is related to the outcome has importance 0
    z = X.assign(x4=y + rng.normal(size=400))
    unused = column(uq.importance(uq.explain(model, z, y), measures=["squared_error"], n_repeats=3), "squared_error")[
        "x4"
    ]
    hits["L19"] = bool(unused == 0 and np.corrcoef(z["x4"], y)[0, 1] > 0.5)
    facts = {
        "L19": f"A feature with correlation {np.corrcoef(z['x4'], y)[0, 1]:.2f} to the outcome that the model does not read has importance {unused:g}."
    }
    pictures = (
        Picture(
            "lecture-interactions",
            "Lecture, interactions: importance of x1, x2, x3",
            "All three are considered equally relevant although x3 contributes as much as x1 and x2 jointly.",
            "The three importances agree within their errors. Permutation importance counts an interaction for each of its "
            "features.",
            view.plot,
        ),
        Picture(
            "lecture-h",
            "Modeva: pairs ranked by the H-statistic",
            "The H-statistic measures the interaction strength of two features.",
            f"H² of x1 and x2 is {float(first['estimate']):.2f}, of all other pairs at most {float(pairs.iloc[1]['estimate']):.2f}: what the "
            "importance could not show.",
            lambda: strength.plot(measure="prediction"),
        ),
    )
    return Repetition(hits, values, facts, pictures)


def overfit(seed: int, settings: Settings) -> Repetition:
    """Twenty irrelevant features, 50 training observations, boosting: importance on training and on test data."""
    del settings
    rng = np.random.default_rng(seed)
    X, y = frame(rng.uniform(-10, 10, (550, 20))), rng.uniform(-10, 10, 550)
    try:
        from xgboost import XGBRegressor

        model = XGBRegressor(n_jobs=1).fit(X[:50], y[:50])
    except ImportError:
        model = RandomForestRegressor(100, random_state=seed).fit(X[:50], y[:50])
    subject = uq.explain(
        lambda rows: uq.dist.Normal(np.asarray(model.predict(rows), float), np.full(len(rows), 6.0)),
        X[50:],
        y[50:],
        train=(X[:50], y[:50]),
    )
    view = uq.importance(subject, measures=["squared_error"], n_repeats=20, max_shuffle_variance=0.0)
    test, train = view.estimates, view["train"].estimates
    least = float(test["p_value"].min() * len(test))
    positive = int(((test["verdict"] == "positive") & (least < 0.05)).sum())
    hits = {
        "L14": bool(train["estimate"].max() > 5 and positive == 0),
        "L15": view.plot(kind=["pfi", "train"]) is not None,
        "M2": bool(len(test) == len(train) == 20),
    }
    values = {
        "L14": {
            "largest on training data": float(train["estimate"].max()),
            "largest on test data": float(test["estimate"].max()),
        }
    }
    facts = {
        "L15": 'plot(kind=["pfi", "train"]) draws both in one figure.',
        "M2": "Both are given in one call where the subject has training data.",
    }
    pictures = (
        Picture(
            "lecture-overfit",
            "Lecture, train against test: importance of 20 irrelevant features",
            "Importance on training data highlights features that the model over-fitted to; on test data none is relevant.",
            f"On training data importances reach {float(train['estimate'].max()):.0f}; on test data no feature is positive after "
            "correction for 20 comparisons. The outcome is independent of all of them.",
            lambda: view.plot(kind=["pfi", "train"]),
        ),
    )
    return Repetition(hits, values, facts, pictures)


def bike(seed: int, settings: Settings) -> Repetition:
    """Daily bike rentals: importance by the absolute error."""
    hours = settings.table("bike_sharing_hourly.csv")
    constant = ["season", "yr", "mnth", "holiday", "weekday", "workingday"]
    days = hours.groupby("dteday").agg(
        {
            **dict.fromkeys(constant, "first"),
            "weathersit": "max",
            "temp": "mean",
            "hum": "mean",
            "windspeed": "mean",
            "cnt": "sum",
        }
    )
    days = days.sample(frac=1, random_state=seed)
    y, X = days.pop("cnt").to_numpy(float), days.astype(float)
    model = RandomForestRegressor(200, min_samples_leaf=3, random_state=seed).fit(X[:487], y[:487])
    spread = float(np.std(y[487:] - model.predict(X[487:])))

    def predict(rows: pd.DataFrame) -> uq.dist.Normal:
        return uq.dist.Normal(model.predict(rows), np.full(len(rows), spread))

    subject = uq.explain(predict, X[487:], y[487:], train=(X[:487], y[:487]))
    view = uq.importance(subject, measures=["absolute_error"], n_repeats=30, max_shuffle_variance=0.0, exact=False)
    table, train = view.estimates.set_index("feature"), view["train"].estimates.set_index("feature")
    drawn = view.frame.query("feature == 'yr'")["value"].astype(float)
    hits = {
        "L7": set(table["estimate"].nlargest(2).index) == {"temp", "yr"},
        "L8": near(table.loc["yr", ["spread_low", "spread_high"]], np.quantile(drawn, [0.05, 0.95]), 0.02),
    }
    values = {
        "L7": {
            "yr": table["estimate"]["yr"],
            "temp": table["estimate"]["temp"],
            "yr on training data": train["estimate"]["yr"],
        }
    }
    facts = {
        "L8": f"5% and 95% quantiles over 30 permutations of yr: {table['spread_low']['yr']:.0f} and {table['spread_high']['yr']:.0f}."
    }
    pictures = (
        Picture(
            "lecture-bike",
            "Lecture, bike sharing: importance by the absolute error",
            "yr and temp are most important; permuting yr increases the absolute error by 816; bars are 5% and 95% quantiles.",
            f"temp and yr lead with {table['estimate']['temp']:.0f} and {table['estimate']['yr']:.0f} rentals a day. The grey marks are the lecture's "
            "quantiles over permutations. The black intervals are over new test samples, and wider: the spread over "
            "permutations is no statement about other data.",
            lambda: view.plot(measure="absolute_error"),
        ),
    )
    return Repetition(hits, values, facts, pictures)


def profiles(seed: int, settings: Settings) -> Repetition:  # noqa: PLR0915 - a list of definitions
    """Modeva's definitions by hand: scores, H-statistic, log-odds, fast paths, local effects."""
    del settings
    rng = np.random.default_rng(seed)
    X = frame(rng.normal(size=(240, 3)))
    X.columns = ["a", "b", "c"]
    p = 1 / (1 + np.exp(-(X["a"] + X["a"] * X["b"])))
    y = (rng.random(240) < p).astype(int)
    model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X[:120], y[:120])
    few, outcome = X[120:160], y[120:160]
    subject = uq.explain(model, few, outcome)
    view = uq.importance(subject, measures=["brier", "one_minus_auc"], exact=True, features=["a"])
    auc = uq.importance(subject, measures=["one_minus_auc"], n_repeats=5)
    odds = model.decision_function

    def pd_of(columns: list[str], at: pd.DataFrame) -> FloatArray:
        """Return the centred partial dependence of the log-odds at the observations."""
        values = np.array([odds(few.assign(**{c: at[c].iloc[i] for c in columns})).mean() for i in range(len(at))])
        return values - values.mean()

    joint, a, b = (pd_of(c, few) for c in (["a", "b"], ["a"], ["b"]))
    by_hand = float(np.square(joint - a - b).sum() / np.square(joint).sum())
    strength = uq.interactions(subject, measures=["log_odds", "entropy"], top=None, max_rows=40)["log_odds"].estimates
    pair = strength[(strength["feature"].isin(["a", "b"])) & (strength["feature_2"].isin(["a", "b"]))]["estimate"].iloc[
        0
    ]
    entropy_h = uq.interactions(subject, measures=["entropy"], top=None, max_rows=40).estimates
    profile = uq.profile(subject, ["a", ("a", "b")], grid_resolution=5)
    curve = profile["pdp"].estimates.query("measure == 'log_odds' and feature == 'a'")
    ours = [odds(few.assign(a=point)).mean() for point in curve["x"].astype(float)]
    slow = uq.profile(subject, "a", grid_resolution=5, fast_paths=False)["pdp"].estimates
    local = uq.effects(subject, ["a", ("a", "b")], measures=["log_odds", "entropy"], n_bins=4, min_rows=2)
    edges = local.estimates.query("measure == 'log_odds' and feature == 'a'")
    points, steps, counts = edges["x"].to_numpy(float), [0.0], []
    for k, (low, high) in enumerate(pairwise(points)):
        inside = few[((few["a"] > low) | (k == 0)) & (few["a"] <= high)]
        steps.append((odds(inside.assign(a=high)) - odds(inside.assign(a=low))).mean())
        counts.append(len(inside))
    heights = np.cumsum(steps)
    centred = heights - (heights[1:] + heights[:-1]) / 2 @ counts / sum(counts)
    calls = {"pdp": 0, "ale": 0}

    def counted(kind: str) -> uq.api.views.ResultView:
        def predict(rows: pd.DataFrame) -> uq.dist.Categorical:
            calls[kind] += len(rows)
            return uq.dist.Categorical(model.predict_proba(rows))

        verb = uq.profile if kind == "pdp" else uq.effects
        return verb(uq.explain(predict, few), "a", measures=["prediction"])

    counted("pdp"), counted("ale")
    leaf = RandomForestClassifier(20, random_state=0).fit(X[:120], y[:120])
    infinite = refusal(
        lambda: uq.interactions(uq.explain(leaf, few, outcome), measures=["log_odds"], top=None, max_rows=20)
    )
    warning = f"{AccumulatedLocalEffects.card.assumes} {AccumulatedLocalEffects.card.fails}"
    interaction = local["interaction"].estimates
    truncated = view.plot(truncate=True)
    square = uq.explain(lambda r: uq.dist.Normal(odds(r), np.ones(len(r))), few, odds(few) + 1.0)
    mse = column(uq.importance(square, measures=["squared_error"], exact=True), "squared_error")["a"]
    grid = few.loc[np.repeat(few.index, 40)].assign(a=np.tile(few["a"], 40))
    direct = np.square(odds(grid) - np.repeat(odds(few) + 1.0, 40)).mean() - 1.0
    hits = {
        "M1": near(mse, direct) and bool(np.isfinite(column(auc, "one_minus_auc")).all()),
        "M3": any("negative values as 0" in axes.get_xlabel() for axes in truncated.axes),
        "M4": near(pair, by_hand, 1e-6),
        "M6": bool(np.isfinite(entropy_h["estimate"].astype(float)).any()),
        "M7": near(curve["estimate"], ours, 1e-6),
        "M8": bool(np.isfinite(pair)) and "infinite" in infinite,
        "M9": near(profile["pdp"].estimates.query("feature == 'a'")["estimate"], slow["estimate"], 1e-6),
        "M10": near(edges["estimate"], centred, 1e-6),
        "M11": bool((interaction["estimate"].astype(float).abs() > 1e-6).any()),
        "M12": "entropy" in set(local.estimates["measure"]),
        "M14": "Within a bin" in warning,
        "M15": calls["ale"] < calls["pdp"],
    }
    facts = {
        "M1": f"Squared error over all pairs: {mse:.6g}, by hand {direct:.6g}; the AUC falls by {column(auc, 'one_minus_auc')['a']:.3f}.",
        "M3": "plot(truncate=True) draws negative values as 0 and says so; estimates keep their sign.",
        "M4": f"H² of a and b in log-odds: {pair:.6f}; by hand {by_hand:.6f}.",
        "M6": "H² of the entropy is given for every pair.",
        "M7": "At each point the profile equals the mean of the model's log-odds.",
        "M8": f"A forest with probabilities of 0 is refused: {infinite.partition('; ')[0]}; …",
        "M9": "With and without the fast path the profile of a boosted tree is equal to 1e-6.",
        "M10": f"{len(points) - 1} quantile bins: accumulated and centred effects equal those by hand.",
        "M11": "ale.interaction has values other than 0 for a and b.",
        "M12": "The same call gives local effects of the entropy.",
        "M14": f"The method's card states: {warning}",
        "M15": f"{calls['ale']} predicted observations for local effects, {calls['pdp']} for the profile.",
    }
    pictures = (
        Picture(
            "modeva-pdp",
            "Modeva: PDP of the log-odds",
            "For binary classification the partial dependence is that of the log-odds.",
            "The profile rises with a. Curves of single observations cross, as the effect of a depends on b.",
            lambda: profile["pdp"].plot(measure="log_odds", feature="a"),
        ),
        Picture(
            "modeva-ale",
            "Modeva: ALE of the log-odds and of the entropy",
            "Local effects accumulate over quantile bins and are centred.",
            "The local effects of independent features agree with the partial dependence; the entropy is largest in the middle.",
            local.plot,
        ),
        Picture(
            "modeva-ale-pair",
            "Modeva: two-dimensional ALE",
            "Two-dimensional local effects show interactions.",
            "The surface is not flat: it shows the product a·b of the log-odds that generated the data, in steps of the trees.",
            local["interaction"].plot,
        ),
    )
    return Repetition(hits, {}, facts, pictures)


def correlated(seed: int, settings: Settings) -> Repetition:
    """Modeva's warning: a partial dependence of correlated features extrapolates, a local effect does not."""
    del settings
    rng = np.random.default_rng(seed)
    a = rng.normal(size=400)
    X = pd.DataFrame({"a": a, "b": a + 0.2 * rng.normal(size=400)})
    y = a + 0.2 * rng.normal(size=400)

    def model(rows: pd.DataFrame) -> uq.dist.Normal:
        # the true effect where there are data; a strange one where a and b are apart
        return uq.dist.Normal(
            (rows["a"] + 2 * (rows["a"] - rows["b"]).abs().clip(lower=1.5) - 3).to_numpy(), np.full(len(rows), 0.2)
        )

    subject = uq.explain(model, X, y)
    average = uq.profile(subject, "a", measures=["prediction"], grid_resolution=12, percentiles=[0.02, 0.98]).estimates
    local = uq.effects(subject, "a", measures=["prediction"], n_bins=20).estimates
    at = np.linspace(-1.5, 1.5, 31)
    error = [
        float(np.ptp(np.interp(at, t["x"].to_numpy(float), t["estimate"].to_numpy(float)) - at))
        for t in (average, local)
    ]
    curves = {
        name: (table["x"].to_numpy(float), table["estimate"].to_numpy(float) - table["estimate"].astype(float).mean())
        for name, table in (("PDP", average), ("ALE", local))
    }
    curves["truth"] = (curves["PDP"][0], curves["PDP"][0] - curves["PDP"][0].mean())
    pictures = (
        Picture(
            "modeva-warning",
            "Modeva, warning: PDP and ALE of correlated features",
            "Partial dependence extrapolates; local effects do not.",
            "Where a and b are far apart, which never occurs, the model is wrong. The partial dependence averages over such "
            "combinations and bends at both ends; the local effect stays on the truth.",
            lambda: lines({"effect of a": curves}, "a", "effect on the prediction"),
        ),
    )
    return Repetition(
        {"M13": error[0] > 5 * error[1]}, {"M13": {"error of the PDP": error[0], "of the ALE": error[1]}}, {}, pictures
    )


EXPERIMENTS = (
    Experiment(
        "worked-example", "Lecture: the worked example", worked_example, ("L1", "L2", "L3", "L4", "L5", "L6", "L20")
    ),
    Experiment(
        "lecture-extrapolation",
        "Lecture: extrapolation",
        extrapolation,
        ("L10", "L11", "L12", "L16", "L17", "L18"),
        3,
        30,
    ),
    Experiment("lecture-interactions", "Lecture: interactions", interactions, ("L9", "L13", "L19", "M5"), 3, 30),
    Experiment("lecture-overfit", "Lecture: training and test data", overfit, ("L14", "L15", "M2"), 3, 30),
    Experiment("lecture-bike", "Lecture: bike sharing", bike, ("L7", "L8"), 2, 20, {"L7": {"yr": (816.0, 0.0)}}),
    Experiment(
        "modeva",
        "Modeva: definitions",
        profiles,
        ("M1", "M3", "M4", "M6", "M7", "M8", "M9", "M10", "M11", "M12", "M14", "M15"),
    ),
    Experiment("modeva-warning", "Modeva: correlated features", correlated, ("M13",), 3, 30),
)
