"""Pereira, Stroes, Zwinderman and Levin: covered information disentanglement."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, multivariate_normal
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.preprocessing import scale

import uq_report as uq
from uq_report.core.support.arrays import FloatArray
from uq_report.methods.cid.cid import Field, discrete_terms, gaussian_terms, log_probabilities

from .claims import Experiment, Picture, Repetition, Settings, near, refusal
from .figures import swarm

NAMES = [f"X{k}" for k in range(1, 8)]
TRUTH = [7, 6, 5, 4, 2.5, 2.5, 1]  # ranks of X1 to X7, the largest most important


def toy(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, FloatArray]:
    """Return the toy data of the authors' published code: y is one of the features, or a sum of some, at random."""
    x4, x3 = rng.beta(0.5, 0.5, n), rng.gamma(0.5, 0.5, n)
    x5 = -rng.exponential(0.2, n)
    x7 = np.where(rng.random(n) < 0.7, rng.normal(-5, 1, n), rng.normal(5, 1, n))
    X = scale(np.column_stack([rng.random(n), x3 * x4, x3, x4, x5, np.sin(x5), x7]))
    sources = [*X[:, :4].T, X[:, 1:4].sum(axis=1), X[:, 4], X[:, 5], X[:, 4:6].sum(axis=1), X[:, 6]]
    shares = np.array([0.375, 0.125, 0.075, 0.05, 0.125, 0.075, 0.075, 0.025, 0.075])
    piece = rng.choice(9, n, p=shares / shares.sum())
    return pd.DataFrame(X, columns=NAMES), scale(np.choose(piece, sources))


def identities(seed: int, settings: Settings) -> Repetition:
    """Definitions against enumeration of discrete fields and densities of normal ones."""
    del settings
    rng = np.random.default_rng(seed)
    differences, sums = [], []
    for sizes in ([2, 2, 2], [2, 3, 2, 3], [3, 2, 2, 2]) * 3:
        starts = np.concatenate([[0], np.cumsum(sizes)])
        nodes = np.repeat(np.arange(len(sizes)), sizes)
        pair = np.triu(rng.normal(size=(starts[-1],) * 2) * (nodes[:, None] != nodes))
        field = Field(starts, rng.normal(size=starts[-1]), pair + pair.T)
        states = np.array(list(product(*map(range, sizes))))
        p = np.exp(log_probabilities(states, field))
        joint, terms = (p / p.sum()).reshape(sizes), discrete_terms(states, field)
        for i in range(len(sizes) - 1):
            margin = joint.sum(axis=tuple(k for k in range(len(sizes) - 1) if k != i))
            mutual = np.log(margin / margin.sum(1, keepdims=True) / margin.sum(0, keepdims=True))
            moved = np.moveaxis(joint, (i, -1), (0, 1))
            given = moved / moved.sum(axis=(0, 1))
            conditional = np.log(given / given.sum(1, keepdims=True) / given.sum(0, keepdims=True))
            back = np.moveaxis(conditional, (0, 1), (i, len(sizes) - 1)).reshape(-1)
            own = mutual[states[:, i], states[:, -1]]
            differences += [np.abs(terms.mutual[:, i] - own).max(), np.abs(terms.conditional[:, i] - back).max()]
            weight = joint.reshape(-1)
            sums.append(weight @ terms.mutual[:, i] - weight @ (terms.mutual - terms.conditional)[:, i] - weight @ back)
    # normal field with a given covariance
    root = rng.normal(size=(5, 5))
    S = root @ root.T + 5 * np.eye(5)
    S = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
    Z = rng.multivariate_normal(np.zeros(5), S, 30)

    def log_density(*at: int) -> FloatArray:
        return np.asarray(multivariate_normal(np.zeros(len(at)), S[np.ix_(at, at)]).logpdf(Z[:, at]))

    terms = gaussian_terms(Z, np.asarray(np.linalg.inv(S), float))
    for i in range(4):
        others = tuple(k for k in range(4) if k != i)
        mutual = log_density(i, 4) - log_density(i) - log_density(4)
        conditional = (
            log_density(*others, i, 4) + log_density(*others) - log_density(*others, i) - log_density(*others, 4)
        )
        differences += [np.abs(terms.mutual[:, i] - mutual).max(), np.abs(terms.conditional[:, i] - conditional).max()]
    X, y = toy(400, rng)
    subject = uq.explain(lambda rows: uq.dist.Normal(rows["X1"].to_numpy(), np.ones(len(rows))), X, y)
    free = uq.covered_information(subject, n_sets=10)
    prior = [["X1", "y"], ["X2", "y"], ["X2", "X3"], ["X5", "y"]]  # X5 and X6 have equal ranks: no edge between them
    given_graph = uq.covered_information(subject, n_sets=10, graph=prior)
    edges = {frozenset(map(str, edge)) for edge in given_graph["graph"].frame[["feature", "item"]].to_numpy()}
    parts = free.estimates.pivot_table(index="feature", columns="item", values="estimate")
    rows = free.result.rows
    classes = X.assign(X7=np.where(X["X7"] > 0, "high", "low"))
    discrete = uq.covered_information(
        uq.explain(lambda r: uq.dist.Normal(r["X1"].to_numpy(float), np.ones(len(r))), classes, y), n_sets=10
    )
    hits = {
        "C1": max(differences) < 1e-9,
        "C2": near(parts["covered information"], parts["redundant part"] - parts["synergistic part"]),
        "C3": max(np.abs(sums)) < 1e-9,
        "C4": rows is not None and rows.values.shape[-1] == 400,
        "C5": any("lasso" in note for note in free.notes),
        "C6": edges == {frozenset(edge) for edge in prior},
        "C7": "discrete" in " ".join(discrete.notes).lower() or "cells" in " ".join(discrete.notes).lower(),
        "C15": free["graph"].plot() is not None,
    }
    facts = {
        "C1": f"Nine enumerated discrete fields and a normal one: largest difference {max(differences):.1e}.",
        "C2": "For each feature the redundant less the synergistic part is the covered information.",
        "C3": f"Largest difference between mutual information and the sum of both parts: {max(np.abs(sums)):.1e}.",
        "C4": "Values of every observation are in view.result.rows.",
        "C5": " ".join(free.notes)[:220],
        "C6": "The graph of the result has the given edges and no other.",
        "C7": " ".join(discrete.notes)[:160],
        "C15": "view['graph'].plot() draws the field with its partial correlations.",
    }
    pictures = (
        Picture(
            "pereira-1",
            "Pereira et al., figure 1: information that is shared",
            "The information that X gives about Y is covered in part by other features.",
            "For each feature the bar divides its information about y into the part that others share and the part that only "
            "it has. X2 to X4 and X5, X6 share information; X1 shares none.",
            free.plot,
        ),
        Picture(
            "pereira-2",
            "Pereira et al., figure 2: the inferred network",
            "The first step of the method infers the graph.",
            "Edges are partial correlations of the graphical lasso. The two groups that the data were generated from are found.",
            free["graph"].plot,
        ),
    )
    return Repetition(hits, {}, facts, pictures)


def ranking(seed: int, settings: Settings) -> Repetition:
    """Figure 3: the toy data by extremely randomised trees, one split."""
    del settings
    X, y = toy(2000, np.random.default_rng(seed))
    model = ExtraTreesRegressor(100, max_features=4, random_state=seed, n_jobs=1).fit(X[:1600], y[:1600])
    subject = uq.explain(model, X[1600:], y[1600:])
    options: dict[str, Any] = {"measures": ["squared_error"], "n_sets": 10, "gate": False}
    sets = uq.covered_information(subject, **options)
    half = uq.covered_information(subject, potentials="half", **options)
    whole_of, half_of = (
        view["corrected"].estimates.set_index("feature")["estimate"].astype(float).reindex(NAMES)
        for view in (sets, half)
    )
    adjusted_view = uq.adjusted_importance(subject, n_repeats=3)
    adjusted = adjusted_view.estimates.query("measure == 'squared_error'").set_index("feature")
    adjusted = adjusted.reindex(NAMES).astype({"estimate": float, "plain": float})
    gini = pd.Series(model.feature_importances_, NAMES)

    def tau(values: pd.Series) -> float:
        return float(kendalltau(values, TRUTH).statistic)

    def in_order(values: pd.Series) -> bool:
        v = values.to_numpy()
        return bool((np.diff(v[:5]) < 0).all() and v[3] > v[5] > v[6] and v[4] > v[6])

    plain, cover = adjusted["plain"], adjusted["estimate"]
    hits = {
        "C10": in_order(whole_of),
        "C11": tau(cover) > tau(plain),
        "C12": bool(plain.idxmax() == "X1" and plain.drop("X1").abs().max() < 0.5 * plain["X1"]),
        "C13": bool(gini["X1"] / gini.sum() < 0.375),
        "C14": bool(abs(cover["X5"] - cover["X6"]) < 0.1 * cover.max() and cover["X7"] == cover.min()),
    }
    values = {
        "C10": {"τ of CID, whole potentials": tau(whole_of), "half potentials": tau(half_of)},
        "C11": {
            "τ of adjusted importance": tau(cover),
            "of plain importance": tau(plain),
            "of Gini importance": tau(gini),
        },
        "C12": {name: float(plain[name]) for name in NAMES},
        "C13": {"share of X1": float(gini["X1"] / gini.sum())},
        "C14": {name: float(cover[name]) for name in ("X5", "X6", "X7")},
    }
    facts = {
        "C10": "The map is learnt from seven features; the package's gate refuses it, and its values are shown with gate=False only.",
        "C11": "The package's adjusted importance comes closer to the true ranking; no method meets the exact order of all seven.",
        "C13": "True share of X1: .375.",
    }
    pictures = (
        Picture(
            "pereira-adjusted",
            "Pereira et al., figure 3: plain and adjusted importance",
            "Plain permutation importance is nearly equal and near 0 except for X1; the correction ranks X1 > X2 > X3 > X4 > X5, X6 > X7.",
            f"The package's adjusted importance permutes partner features as well. Its τ with the true ranking is {tau(cover):.2f}, that of "
            f"plain importance {tau(plain):.2f}.",
            adjusted_view.plot,
        ),
        Picture(
            "pereira-corrected",
            "Pereira et al., figure 3, right: importance by the authors' map, whole potentials",
            "Covered information disentanglement ranks the features in the right order.",
            f"The map without its gate: τ is {tau(whole_of):.2f}. The package prints such values only where a leave-one-feature-out "
            "check supports them; here it does not.",
            lambda: sets["corrected"].plot(swarm=True),
        ),
        Picture(
            "pereira-corrected-half",
            "Pereira et al., figure 3, right: the same with the half potentials of the authors' code",
            "The published ranking rests on half of each pair's potential.",
            f"τ is {tau(half_of):.2f}. The option exists for this comparison; the definition has whole potentials.",
            lambda: half["corrected"].plot(swarm=True),
        ),
    )
    return Repetition(hits, values, facts, pictures)


def splits(seed: int, settings: Settings) -> Repetition:
    """Draw the swarm of importances over random splits with a new fit for each, and read the map."""
    X, y = toy(1000, np.random.default_rng(seed))
    model = ExtraTreesRegressor(50, max_features=4, random_state=seed).fit(X, y)
    subject = uq.explain(model, X, y)
    number = 20 if settings.quick else 100
    view = uq.covered_information(subject, measures=["squared_error"], n_sets=number, refit=True, gate=False)
    by_set = view["sets"].frame
    table = {
        item: by_set[(by_set["item"] == item) & (by_set["measure"] == "squared_error")].pivot_table(
            index="x", columns="feature", values="value"
        )[NAMES]
        for item in ("plain", "corrected")
    }
    coefficients = view["corrected"].result.meta["maps"]["squared_error"]["coefficients"]
    gini = pd.DataFrame(
        [
            ExtraTreesRegressor(50, max_features=4, random_state=k).fit(*_sample(X, y, k)).feature_importances_
            for k in range(10)
        ],
        columns=NAMES,
    )
    hits = {
        "C8": len(table["plain"]) == number and bool((table["plain"].std() > 0).all()),
        "C9": set(coefficients) == {"redundant CI", "MI", "synergistic CI", "synergistic MI"},
        "C16": view["corrected"].plot(swarm=True) is not None,
    }
    facts = {
        "C8": f"{number} random splits with a new fit for each.",
        "C9": ", ".join(f"{name} {value:.3g}" for name, value in coefficients.items()),
        "C16": "plot(swarm=True) draws the importance of each set.",
    }
    medians = table["corrected"].median()
    pictures = (
        Picture(
            "pereira-3",
            "Pereira et al., figure 3: Gini, permutation and corrected importance over splits",
            "From left to right: Gini importance underestimates X1; permutation importance is nearly equal but for X1; CID is in the right order.",
            f"The medians of the corrected importance rank {', '.join(medians.sort_values(ascending=False).index)}. Gini and "
            "permutation importance look as in the source.",
            lambda: swarm(
                {
                    "Gini importance": gini,
                    "permutation importance": table["plain"],
                    "corrected (CID)": table["corrected"],
                }
            ),
        ),
    )
    return Repetition(hits, {}, facts, pictures)


def _sample(X: pd.DataFrame, y: FloatArray, seed: int) -> tuple[pd.DataFrame, FloatArray]:
    at = np.random.default_rng(seed).permutation(len(X))[: int(0.9 * len(X))]
    return X.iloc[at], y[at]


def survival(seed: int, settings: Settings) -> Repetition:
    """Fit the model of the second experiment to generated survival times, as its data are private."""
    del settings
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis
    from sksurv.util import Surv

    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    time, seen = rng.exponential(np.exp(X["a"])), rng.random(120) < 0.7
    y = Surv.from_arrays(seen, time)
    model = GradientBoostingSurvivalAnalysis(n_estimators=10).fit(X, y)
    subject = uq.explain(model, X, y)
    leading = uq.importance(subject, measures=["nll"], n_repeats=3).estimates.iloc[0]["feature"]
    message = refusal(lambda: uq.covered_information(subject, n_sets=10))
    fact = f"The data are private. The model is read on generated data ({leading} leads), but covered information is refused: {message}"
    return Repetition({"C17": True}, {}, {"C17": fact})


EXPERIMENTS = (
    Experiment(
        "pereira-identities",
        "Definitions and exact identities",
        identities,
        ("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C15"),
    ),
    Experiment("pereira-ranking", "The toy data: rankings", ranking, ("C10", "C11", "C12", "C13", "C14"), 3, 40),
    Experiment("pereira-splits", "The toy data: random splits", splits, ("C8", "C9", "C16")),
    Experiment("pereira-survival", "A survival model", survival, ("C17",)),
)
