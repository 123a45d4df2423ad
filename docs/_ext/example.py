"""The models of the gallery: a logistic regression of tumours, and a Bayesian regression of disease progression."""

from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq

_data = load_breast_cancer(as_frame=True)
X, y = _data.data.iloc[:, :6], _data.target
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:280], y[:280])
subject = uq.explain(model, X[280:], y[280:], train=(X[:280], y[:280]), label="Tumour classifier")

_more = load_diabetes(as_frame=True)
_young = (_more.data["age"] < 0).map({True: "younger", False: "older"})
_line = BayesianRidge().fit(_more.data[:250], _more.target[:250])
regressor = uq.explain(
    _line, _more.data[250:], _more.target[250:], train=(_more.data[:250], _more.target[:250]),
    protected={"age_group": _young[250:]}, label="Disease progression",
)  # fmt: skip
in_time = uq.explain(
    _line, _more.data[250:], _more.target[250:], train=(_more.data[:250], _more.target[:250]),
    time=range(len(_more.data) - 250), label="Disease progression",
)  # fmt: skip
