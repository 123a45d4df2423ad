"""The same data by every method, against a known truth."""

from __future__ import annotations

import numpy as np
import pandas as pd

import uq_report as uq

from .claims import Experiment, Picture, Repetition, Settings, column
from .figures import dots

NAMES = ["x1", "copy of x1", "x2", "x3", "noise level", "unused"]


def known_truth(seed: int, settings: Settings) -> Repetition:
    """Compare methods on 500 observations of a true model of a mean and of a noise level."""
    del settings
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(1000, 6))
    values[:, 1] = values[:, 0] + 0.2 * values[:, 1]
    X = pd.DataFrame(values, columns=NAMES)

    def model(rows: pd.DataFrame) -> uq.dist.Normal:
        x = rows.to_numpy(float)
        return uq.dist.Normal(0.5 * x[:, 0] + 0.5 * x[:, 1] + x[:, 2] * x[:, 3], np.exp(0.5 * x[:, 4]))

    law = model(X)
    y = law.mean() + np.sqrt(law.variance()) * rng.normal(size=1000)
    subject = uq.explain(model, X[500:], y[500:], train=(X[:500], y[:500]), label="the true model")
    view = uq.importance(subject, measures=["nll", "entropy"], n_repeats=10, train=False)
    loss, entropy = (column(view, m) for m in ("nll", "entropy"))
    claims = (
        view["claims"]
        .estimates.query("measure == 'nll'")
        .pivot_table(index="feature", columns="item", values="estimate")
    )
    drivers = view["uncertainty"].estimates.set_index("feature")["estimate"]
    adjusted = (
        uq.adjusted_importance(subject, n_repeats=5).estimates.query("measure == 'squared_error'").set_index("feature")
    )
    sensitivity = uq.sensitivity(subject, interactions=False, comparators=True)
    rsens, ead = column(sensitivity, "rsens"), column(sensitivity["comparators"], "ead")
    table = pd.DataFrame(
        {
            "Likelihood-PFI": loss,
            "adjusted importance": adjusted["estimate"].astype(float),
            "Entropy-PFI": entropy,
            "drivers of uncertainty": drivers,
            "R-sens": rsens,
            "EAD": ead,
        }
    ).astype(float)
    shown = (table / table.abs().max()).reindex(NAMES)
    numbers = {
        "Entropy-PFI of the noise level": float(entropy["noise level"]),
        "change of uncertainty by the noise level": float(drivers["noise level"]),
        "Entropy-PFI of all others, largest": float(entropy.drop("noise level").abs().max()),
        "plain importance of x1 (squared error)": float(adjusted["plain"].astype(float)["x1"]),
        "adjusted importance of x1": float(adjusted["estimate"].astype(float)["x1"]),
        "EAD of the noise level": float(ead["noise level"]),
        "R-sens of the noise level": float(rsens["noise level"]),
        "model-implied importance of x1 (nats)": float(claims["claimed"]["x1"]),
        "realised importance of x1 (nats)": float(claims["delivered"]["x1"]),
    }
    pictures = (
        Picture(
            "beyond-methods",
            "Six methods on the same observations, each relative to its largest value",
            "The sources recommend different measures for one question.",
            "The noise level is the only feature that decides the uncertainty. Entropy-PFI gives it exactly 0, because it is "
            "independent of all other features and rises and falls cancel (Wood et al., proposition 1). The mean absolute change "
            "of the entropy, by which the package names drivers of uncertainty, is right; R-sens sees the noise level too, "
            "EAD does not, as it reads the mean alone.",
            lambda: dots({"relative importance": shown}),
        ),
        Picture(
            "beyond-drivers",
            "Drivers of the uncertainty",
            "Known truth: the noise level alone.",
            "The package's drivers of uncertainty name the noise level and nothing else. All other features are exactly 0.",
            view["uncertainty"].plot,
        ),
        Picture(
            "beyond-implied",
            "Model-implied and realised importance",
            "Known truth: the model is the true one, so both have the same expectation.",
            "Model-implied importance is computed without outcomes, the realised one with them. They agree within their intervals for "
            "every feature. For an over-fitted model they would not, and no source has this comparison.",
            view["claims"].plot,
        ),
        Picture(
            "beyond-agreement",
            "Ranks of the features by several explainers, with intervals",
            "Known truth for the prediction: x2 and x3 through their product, then x1 and its copy.",
            "Methods that read the prediction agree on the group of relevant features. Where ranks differ, the intervals say "
            "whether the difference is one of chance.",
            lambda: uq.agreement(subject, explainers=["pfi", "rsens", "ale"]).plot(),
        ),
    )
    return Repetition({}, {"truth": numbers}, {}, pictures)


EXPERIMENTS = (Experiment("known-truth", "A true model of a mean and of a noise level", known_truth, (), 3, 30),)
