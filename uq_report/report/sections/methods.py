"""Method cards: what each number is, what it assumes, how it fails, and where it comes from."""

from __future__ import annotations

from typing import NamedTuple

from ...core.references import cite
from ..document import Facts, Paragraph, Section
from ..evidence import Evidence


class Card(NamedTuple):
    """One method in short; `reference` lists works of `core.references` as ``work:place; work``."""

    id: str
    title: str
    definition: str
    assumes: str
    fails: str
    interval: str
    reference: str


CARDS = (
    Card(
        "calibration",
        "Calibration and the gate",
        "Confidence gap G = mean of (negative log-likelihood − entropy), in nats; scores and tests against outcomes "
        "drawn from the model's own distributions, adjusted together by Holm's method.",
        "Rows are independent, or dependent only inside the stated clusters.",
        "Over- and under-confidence in different regions can cancel in G; read PIT and reliability beside it.",
        "Over new test rows, for the fixed model.",
        "broecker; czado",
    ),
    Card(
        "pfi",
        "Permutation importance (PFI, Likelihood-PFI, Entropy-PFI)",
        "Mean change of a measure when a feature's values are shuffled between rows: of a loss (PFI), of the negative "
        "log-likelihood (Likelihood-PFI), of the predictive entropy (Entropy-PFI).",
        "The model is fixed. The importance is that of the model on these rows, not of the feature in the world.",
        "Shuffling breaks ties between features: a feature that others repeat is under-reported by the loss, and the "
        "model may be asked about rows that do not occur. Entropy-PFI is what shows it.",
        "Over new test rows, receiver and donor of each shuffle included. The spread of the shuffles is no such "
        "interval.",
        "wood:sections 3 and 3.5; breiman; lecture",
    ),
    Card(
        "pdp",
        "Profiles (PDP and ICE)",
        "ICE: one row's measure as one feature is changed. PDP: the mean of all rows' curves.",
        "The feature can be changed alone; points are observed values.",
        "Where features depend on each other the curves run through rows that do not occur; interactions vanish in "
        "the mean.",
        "Pointwise, over new test rows. A band of pointwise intervals does not hold for the whole curve at once.",
        "friedman; goldstein; wood:section 4",
    ),
    Card(
        "redundancy",
        "Redundancy",
        "R² of predicting each feature from all others by a random forest, scored on rows its trees have not seen, "
        "without and with the target.",
        "A forest finds the dependence if there is one.",
        "A low R² does not prove independence: the forest may have missed it.",
        "Over new rows, for the fitted forest.",
        "wood:figure 9; breiman",
    ),
    Card(
        "cid",
        "Covered information (CID)",
        "CI = I(X; Y) − I(X; Y | all other features), from one Markov random field fitted to features and target; the "
        "covered share is max(CI, 0) / I(X; Y). Corrected importance is what a regression of importance on these terms "
        "predicts for no redundant cover.",
        "The field (Gaussian copula, conditional Gaussian or discrete pairwise) describes the joint distribution.",
        "A wrong field or too large a penalty hides or makes up cover. Corrected values are extrapolations: they are "
        "shown only for eight features or more, if the map predicts features it was not fitted to, and if cover "
        "lowers importance in every fit.",
        "Of information: over new test rows, given the fitted field. Of corrected values: over sets of rows, given "
        "the map. The share and the graph have none.",
        "pereira:definitions 2.1 to 2.3 and theorem 2.1",
    ),
    Card(
        "rsens",
        "R-sens and its comparators",
        "R-sens = √(∂λ/∂x' I(λ) ∂λ/∂x), with λ the parameters of the predictive distribution and I their Fisher "
        "information; R-sens₂ has the second derivatives of a pair. Comparators describe the prediction alone.",
        "The model is smooth at the scale of the step; features can be changed one at a time by a little. Per-spread "
        "values take a standard deviation as the common unit.",
        "Piecewise-constant models have no derivatives: there it is a change over a stated step, and depends on it. "
        "A derivative says nothing about large changes. R-sens₂ depends on the parametrisation.",
        "Of the mean over rows: over new test rows. The error of differences is listed apart.",
        "paananen; gelman; greenwell; cui",
    ),
    Card(
        "ale",
        "Accumulated local effects (ALE)",
        "Mean change of a measure between the edges of each bin, over the rows in the bin, added up from the left and "
        "centred by its mean over the data.",
        "Inside a bin a feature can be moved without leaving the data; the edges are given.",
        "Few rows in a bin make a rough curve, and an error in one bin is carried to all after it. The order of levels "
        "is a choice. Interactions vanish in the mean.",
        "Pointwise, over new test rows, given the edges. A band does not hold for the whole curve at once.",
        "apley; modeva",
    ),
    Card(
        "h_statistic",
        "H-statistic",
        "H² of a pair: variance of the joint partial dependence that is no sum of the single ones, as a share of the "
        "joint one's variance; H² of one feature: the same with all others together.",
        "Partial dependence is a fair summary: features can be changed apart from each other.",
        "Dependent features lead into empty regions, which can pass for interaction. Small samples bias H² upwards, "
        "and the ratio is unstable where the joint effect is small: such pairs are not ranked.",
        "There are none.",
        "friedman_popescu",
    ),
    Card(
        "agreement",
        "Agreement between methods",
        "Ranks of the features by every importance; intervals from all pairwise differences of a method's row terms, "
        "tested at once by a bootstrap max-t. Two rankings are compared by Kendall's τ-b and by their leaders.",
        "The row terms of an importance average to it, and rows (or clusters) are independent.",
        "Methods answer different questions, so agreement is no proof of either. τ-b and overlap compare estimated "
        "ranks and take ties and noise as they come. A stated reason is what another result shows, not a cause.",
        "Of ranks: simultaneous for all features of one method, over new test rows. None between methods.",
        "klein; mogstad; kendall",
    ),
    Card(
        "support",
        "Extrapolation and support",
        "A row lies outside the support if it is farther from its k-th nearest training row than all but a small share "
        "of other training rows, held back for this, are; and the same after each feature is shuffled.",
        "The distance (Mahalanobis for numbers, levels by equality) is a fair one for this model.",
        "A row can be far off in one feature that does not matter, or lie in a hole that the distance does not see. "
        "With many features all rows are far from each other.",
        "Of shares: over new test rows, given the limit. The test against training rows also covers their draw.",
        "vovk:conformal p-values",
    ),
    Card(
        "groups",
        "Groups",
        "Means of loss, uncertainty, prediction and error rates over the rows of each group of a named attribute, and "
        "each group less the rest.",
        "Rows are independent, or dependent only inside the stated clusters; the attribute is recorded rightly.",
        "Small groups are withheld, so that a harm to few people is not seen. Equal means can hide unequal causes, "
        "and unequal means can have fair ones.",
        "Of each mean and each difference by itself, over new test rows.",
        "mitchell",
    ),
    Card(
        "data_quality",
        "Data quality",
        "Counts of missing, constant, copied and sparse columns, duplicate rows, rows that occur in training, and "
        "numbers that may stand for missing values.",
        "Rows with equal values are copies, unless chance explains them.",
        "Wrong values that look ordinary are not found, nor are near copies.",
        "There are none: these are counts.",
        "gebru",
    ),
    Card(
        "shap",
        "Shapley values (SHAP)",
        "A row's measure less its mean over background rows, split among the features by Shapley's formula; absent "
        "features take their values from background rows.",
        "The background rows are the right comparison.",
        "Absent features are drawn apart from present ones, so composite rows may not occur.",
        "Of single rows: Monte Carlo only, none where exact. Of the mean size: over new test rows, given the "
        "background.",
        "lundberg; watson",
    ),
    Card(
        "dalex",
        "DALEX",
        "dalex's permutation importance, profiles, break-down and performance, with the measure as the predict "
        "function.",
        "As for the methods above.",
        "As for the methods above; a break-down depends on the order of the features.",
        "There are none: dalex gives no sampling intervals.",
        "baniecki; biecek",
    ),
)


def methods(e: Evidence) -> Section:
    """Return the cards of the methods that have results in this run."""
    used = {result.explainer for result in e.run.results}
    cards = tuple(_card(card) for card in CARDS if card.id in used)
    text = (
        "All logarithms are natural; entropy and negative log-likelihood are in nats. No interval covers the fitting "
        "of the model: a model fitted to other rows would give other numbers."
    )
    return Section(id="methods", title="Method cards", blocks=(Paragraph(text=text),), sections=cards)


def _card(card: Card) -> Section:
    rows = (
        ("What it is", card.definition),
        ("Assumes", card.assumes),
        ("Fails when", card.fails),
        ("Intervals", card.interval),
        ("Rests on", f"{cite(card.reference).rstrip('.')}."),
    )
    return Section(id=f"method-{card.id}", title=card.title, blocks=(Facts(rows=rows),))
