"""The model of the gallery: a logistic regression of six features of tumours."""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import uq_report as uq

_data = load_breast_cancer(as_frame=True)
X, y = _data.data.iloc[:, :6], _data.target
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:280], y[:280])
subject = uq.explain(model, X[280:], y[280:], train=(X[:280], y[:280]), label="Tumour classifier")
