"""Method cards: what each number is, what it assumes, how it fails, and where it comes from."""

from __future__ import annotations

from typing import NamedTuple

from ..document import Facts, Paragraph, Section
from ..evidence import Evidence


class Card(NamedTuple):
    """One method in short."""

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
        "Bröcker & Smith 2007; Czado, Gneiting & Held 2009.",
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
        "Wood, Papamarkou, Benatan & Allmendinger, sections 3 and 3.5; Breiman 2001.",
    ),
    Card(
        "pdp",
        "Profiles (PDP and ICE)",
        "ICE: one row's measure as one feature is changed. PDP: the mean of all rows' curves.",
        "The feature can be changed alone; points are observed values.",
        "Where features depend on each other the curves run through rows that do not occur; interactions vanish in "
        "the mean.",
        "Pointwise, over new test rows. A band of pointwise intervals does not hold for the whole curve at once.",
        "Friedman 2001; Goldstein et al. 2015; Wood et al., section 4.",
    ),
    Card(
        "redundancy",
        "Redundancy",
        "R² of predicting each feature from all others by a random forest, scored on rows its trees have not seen, "
        "without and with the target.",
        "A forest finds the dependence if there is one.",
        "A low R² does not prove independence: the forest may have missed it.",
        "Over new rows, for the fitted forest.",
        "Wood et al., figure 9; Breiman 2001.",
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
        "Lundberg & Lee 2017; Watson et al. 2023.",
    ),
    Card(
        "dalex",
        "DALEX",
        "dalex's permutation importance, profiles, break-down and performance, with the measure as the predict "
        "function.",
        "As for the methods above.",
        "As for the methods above; a break-down depends on the order of the features.",
        "None: dalex gives no sampling intervals.",
        "Baniecki et al. 2021; Biecek & Burzykowski 2021.",
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
        ("Rests on", card.reference),
    )
    return Section(id=f"method-{card.id}", title=card.title, blocks=(Facts(rows=rows),))
