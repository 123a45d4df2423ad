"""The terms of the trade, in the words of those who read a report."""

from collections.abc import Mapping
from types import MappingProxyType

# term -> what it means here; printed where a report uses the term
TERMS: Mapping[str, str] = MappingProxyType(
    {
        "ALE": "Accumulated local effects: how a prediction moves on average when a feature moves a little at a time, "
        "from rows that have such values.",
        "aleatoric": "The part of the doubt that a model's members state themselves, on average: more rows would not "
        "remove it.",
        "AUC": "The chance that a case is scored higher than a non-case; 0.5 is a coin, 1 is perfect.",
        "AUROC of failures": "The chance that a wrong prediction is more uncertain than a right one; 0.5 is a random "
        "order, 1 finds every error first.",
        "Brier": "Squared distance of the stated probabilities to what happened, from 0 (perfect) to 2.",
        "calibration": "Stated probabilities or intervals come true as often as they say.",
        "confidence gap": "How much worse the outcomes are foreseen than the model says; above 0 it claims too much.",
        "covered information": "What a feature tells of the outcome that other features tell too, so that they could "
        "stand in for it.",
        "coverage": "Share of outcomes inside the model's intervals; 90 % intervals should hold 90 %.",
        "CRPS": "How far a predicted distribution is from the outcome, in the outcome's unit.",
        "entropy": "How unsure the model says it is: 0 when it is certain; of a density it can be negative.",
        "Entropy-PFI": "How much less or more sure the model says it is when a feature's values are shuffled.",
        "epistemic": "The part of the doubt that is disagreement of a model's members (the law of total entropy, or of "
        "total variance): more rows like these could reduce it. It shows what sets these members apart, not all that "
        "is unknown: of forests and bagging the training rows that each drew, of a deep ensemble the first weights, of "
        "dropout its rate. Members that are alike have none, however wrong; it depends on their number. Small leaves "
        "turn aleatoric into epistemic: members that are single points have nothing else.",
        "H-statistic": "Share of a joint effect of two features that is no sum of their single effects.",
        "Holm": "A way to judge several tests at once, so that a false alarm in any of them stays rare.",
        "ICE": "One row's prediction, or its doubt, as one feature is changed.",
        "Kendall": "Agreement of two rankings, from −1 (reversed) over 0 (none) to 1 (the same).",
        "Likelihood-PFI": "How much worse the outcomes are foreseen when a feature's values are shuffled.",
        "nats": "Unit of information: 0.69 nats are one bit, a fair coin's worth.",
        "negative log-likelihood": "How badly the stated probabilities foresaw the outcome: 0 if it was said to be "
        "certain.",
        "net true positives": "Net benefit: true positives less false positives, these weighed by what a false alarm "
        "costs in misses at the decision threshold.",
        "PDP": "How the average prediction, or the average doubt, moves when one feature is set to other values.",
        "permutation importance": "What changes when a feature's values are shuffled between rows, so that they are "
        "wrong.",
        "PIT": "Predicted chance of a value up to the outcome; over many rows it is spread evenly if the model is "
        "calibrated.",
        "predictive distribution": "What the model says of one outcome: every value it may take, with its probability.",
        "R-sens": "How far the whole predictive distribution moves when a feature is moved a little.",
        "risk-coverage curve": "Mean loss of the observations kept when the most uncertain are referred to a person, "
        "by the share kept.",
        "Shapley": "A fair split of one row's prediction, or of its doubt, among the features.",
        "support": "Where the training rows lie; outside it the model has seen nothing like the row.",
        "waiver": "A finding somebody answers for until a stated day: it is shown, and is not open.",
    }
)
