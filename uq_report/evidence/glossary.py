"""The terms of the trade, as reports explain them."""

from collections.abc import Mapping
from types import MappingProxyType

# term -> what it means here; printed where a report uses the term
TERMS: Mapping[str, str] = MappingProxyType(
    {
        "ALE": "Accumulated local effects: the mean change of a measure along a feature, from changes inside "
        "small bins.",
        "aleatoric": "The uncertainty inside the members of an ensemble: the mean of their entropies or variances.",
        "Brier": "Sum over classes of the squared difference between probability and outcome, between 0 and 2.",
        "calibration": "Agreement between stated probabilities or intervals and what happened.",
        "CID": "Covered information disentanglement: how much of a feature's information on the outcome others repeat.",
        "confidence gap": "Mean of negative log-likelihood less entropy; above 0 for an over-confident model.",
        "coverage": "Share of outcomes inside an interval of a stated level.",
        "CRPS": "Continuous ranked probability score: squared distance of a predicted distribution to the outcome.",
        "entropy": "How unsure a predictive distribution is, in nats; of a density it can be negative.",
        "epistemic": "The uncertainty that comes from disagreement between the members of an ensemble.",
        "H-statistic": "Share of a joint effect that is no sum of single effects; a measure of interaction.",
        "Holm": "A rule that adjusts several tests, so that any false rejection stays as rare as the level says.",
        "ICE": "Individual conditional expectation: one row's measure as one feature is changed.",
        "Kendall": "τ-b: agreement of two rankings, between −1 and 1.",
        "nats": "Unit of information with natural logarithms; 0.69 nats are one bit.",
        "nll": "Negative log-likelihood: how badly a predictive distribution foresaw the outcome, in nats.",
        "PDP": "Partial dependence: the mean over rows of the ICE curves.",
        "PFI": "Permutation feature importance: mean change of a measure when a feature is shuffled between rows.",
        "PIT": "Probability integral transform: predicted probability of values up to the outcome; uniform if "
        "calibrated.",
        "predictive distribution": "What the model says of the outcome of one row: all values with their "
        "probabilities.",
        "R-sens": "Size of the change of a predictive distribution for a small change of a feature.",
        "Shapley": "A split of one prediction's measure among the features that is fair by four axioms.",
        "support": "Where the reference rows lie; outside it a model extrapolates.",
        "waiver": "A finding somebody answers for until a stated day: it is shown, and is not open.",
    }
)
