"""The glossary of the report."""

from collections.abc import Mapping
from types import MappingProxyType

# term -> its definition; printed where a report uses the term
TERMS: Mapping[str, str] = MappingProxyType(
    {
        "accuracy": "The share of observations whose predicted class is the actual one.",
        "ALE": "Accumulated local effects: the average change of a prediction along a feature, accumulated over small "
        "steps between observations with nearby values.",
        "aleatoric": "The part of the uncertainty that remains with unlimited data: the mean uncertainty of the "
        "members of an ensemble.",
        "AUC": "Area under the ROC curve: the probability that a case has a higher score than a non-case; 0.5 is "
        "chance, 1 is perfect.",
        "AUROC of failures": "The probability that a wrong prediction is more uncertain than a right one; 0.5 is "
        "chance, 1 is perfect.",
        "benchmark": "A simple model, fitted to the training observations, with which the model is compared.",
        "Brier": "Mean squared difference between stated probabilities and outcomes, from 0 (perfect) to 2.",
        "calibration": "Agreement of stated probabilities or intervals with the observed frequencies.",
        "calibration gap": "Mean log loss minus mean entropy: above 0 for an over-confident model, below 0 for an "
        "under-confident one.",
        "confidence gap": "The calibration gap.",
        "confusion matrix": "The number of observations by actual and predicted class.",
        "covered information": "The information on the outcome that a feature shares with other features.",
        "coverage": "The share of outcomes inside the prediction intervals; 90 % for calibrated 90 % intervals.",
        "CRPS": "Continuous ranked probability score: the distance between a predictive distribution and the outcome, "
        "in the unit of the outcome.",
        "entropy": "The uncertainty of a predictive distribution: 0 where it is certain; for a density it can be "
        "negative.",
        "Entropy-PFI": "The mean change of the entropy when the values of a feature are permuted.",
        "epistemic": "The part of the uncertainty that more data can reduce, estimated by the disagreement of the "
        "members of an ensemble (law of total entropy or variance). It covers only sources that differ between the "
        "members: their training samples in forests and bagging, initial weights in deep ensembles, dropout. Identical "
        "members have none; it depends on their number.",
        "H-statistic": "The share of the joint effect of two features that is not the sum of their single effects.",
        "Holm": "An adjustment of p-values for several tests that limits the probability of any false alarm.",
        "ICE": "Individual conditional expectation: the prediction for one observation as one feature is changed.",
        "importance adjusted for redundancy": "The importance of a feature when correlated features cannot replace it.",
        "Kendall": "Rank correlation of two rankings, from −1 (reversed) over 0 (none) to 1 (identical).",
        "Likelihood-PFI": "The mean change of the negative log-likelihood when the values of a feature are permuted.",
        "log loss": "The mean negative logarithm of the probability stated for the actual class.",
        "model-implied importance": "The increase in loss that the model itself expects when a feature is permuted.",
        "nats": "The unit of information with natural logarithms: 0.69 nats are one bit.",
        "negative log-likelihood": "The negative logarithm of the probability or density stated for the outcome.",
        "net benefit": "The share of true positives less that of false positives, weighted by the cost of a false "
        "alarm relative to a miss that a decision threshold implies.",
        "net true positives": "Net benefit: true positives less false positives, which are weighted by the cost of a "
        "false alarm relative to a miss at the decision threshold.",
        "no-feature baseline": "The forecast that ignores the features: class frequencies, or the marginal "
        "distribution of outcomes.",
        "PDP": "Partial dependence: the average prediction, or uncertainty, when one feature is set to other values.",
        "permutation importance": "The mean change of a measure when the values of a feature are permuted between "
        "observations.",
        "PIT": "Probability integral transform: the predicted probability of a value up to the outcome; uniform for a "
        "calibrated model.",
        "precision": "Of the observations predicted as a class, the share that belongs to it.",
        "predictive distribution": "The probability that the model states for every value of an outcome.",
        "R-sens": "The sensitivity of the whole predictive distribution to a small change of a feature.",
        "realised importance": "The increase in loss observed out of sample when a feature is permuted.",
        "realisation ratio": "Realised over model-implied importance: below 1 where the model expects more from its "
        "features than is observed (over-fitting).",
        "recalibration": "A transformation of the stated distributions towards agreement with observed frequencies.",
        "recall": "Of the observations of a class, the share that is predicted as it.",
        "residual": "The outcome minus the prediction.",
        "risk-coverage curve": "The mean loss of the observations that are kept when the most uncertain ones are "
        "referred to a person, by the share kept.",
        "ROC curve": "The true-positive rate against the false-positive rate over all decision thresholds.",
        "root mean squared error": "The square root of the mean squared residual, in the unit of the outcome.",
        "Shapley": "An additive attribution of one prediction, or its uncertainty, to the features.",
        "tolerance": "The size within which a difference counts as 0.",
        "training domain": "The region of the features that the training sample covers; outside it the model "
        "extrapolates.",
        "waiver": "The acceptance of a finding by an owner until a date: it is shown, and is not open.",
    }
)
