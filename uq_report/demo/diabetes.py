"""Disease progression: a Gaussian process on the diabetes data that comes with scikit-learn."""

from __future__ import annotations

from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..api import explain
from ..core.subject import Subject
from .split import split

# Maximum of the marginal likelihood on the training rows, rounded, so that no optimiser's last digits enter the report.
SIGNAL, NOISE = 1.10, 0.44
LENGTH_SCALES = (4.6, 6.0, 4.3, 7.2, 18.0, 10000.0, 7.5, 10000.0, 3.5, 24.0)

SETTINGS = {
    "about": {
        "title": "Disease progression: diabetes data",
        "classification": "Sample",
        "version": "sample 1",
        "purpose": "Sample audit. A Gaussian process predicts the progression of diabetes one year after baseline, "
        "on scikit-learn's bundled data of Efron et al. (2004). It is no medical device.",
        "intended_use": "To show what an audit of a sound regression model looks like.",
        "out_of_scope": "Any decision about a person.",
        "materiality": "None: no decision rests on this model.",
        "data_origin": "Diabetes data of Efron et al. (2004), as bundled with scikit-learn.",
        "data_split": "Three quarters at random for training; the rest is audited.",
    },
    "options": {"rules.direction": {"monotone": {"bmi": "increasing", "bp": "increasing"}}},
}


def subject() -> Subject:
    """Return the subject: a Gaussian process with one length scale per feature."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    training, test = split(len(X))
    kernel = ConstantKernel(SIGNAL) * RBF(LENGTH_SCALES) + WhiteKernel(NOISE)
    model = make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True))
    model.fit(X.iloc[training], y.iloc[training])
    return explain(
        model,
        X.iloc[test],
        y.iloc[test],
        train=(X.iloc[training], y.iloc[training]),
        groups={"blood serum": tuple(f"s{j}" for j in range(1, 7))},
        categorical=["sex"],
        protected=("sex",),
        label="Gaussian process",
    )
