"""What to type for results of statsmodels that state no distribution of new rows."""

from __future__ import annotations

from typing import Any

from ....core.support.arrays import Table
from ....core.support.errors import to_type
from ..outputs import POINTS

EXPLAIN = "\nuq.explain(model, X, y)"
_POINTS = ("GEE", "GLM", "GLS", "GLSAR", "MixedLM", "OLS", "RLM", "WLS")
_QUANTILES = """\
models = {level: model.model.fit(q=level) for level in (0.05, 0.25, 0.5, 0.75, 0.95)}
uq.explain(models, X, y)"""
_CONSTANT = """\
from statsmodels.tools import add_constant

X, X_calibration = (add_constant(rows, prepend={}, has_constant="add") for rows in (X, X_calibration))
"""


def instead(results: Any, X: Table) -> str:
    """Return the remedy for a model whose likelihood is not one of this package's."""
    kind = type(results.model).__name__
    if kind == "QuantReg":
        return f"Fit it at several levels. {to_type(_with_constant(results, X) + _QUANTILES)}"
    if kind == "GeneralizedPoisson":
        return f"Fit a negative binomial. {refitted(results, 'NegativeBinomialP')}"
    if kind in _POINTS:
        return of_residuals(results, X)
    return "Pass a function of the rows that returns a distribution."


def of_residuals(results: Any, X: Table) -> str:
    """Return how residuals are laid over the predictions, of rows that lack the constant after adding it."""
    return f"Lay residuals over its predictions. {to_type(_with_constant(results, X) + POINTS)}"


def refitted(results: Any, kind: str, options: str = "") -> str:
    """Return how another model is fitted to the same rows."""
    own = results.model
    formula = getattr(own.data, "model_spec", None) is not None
    data = (
        "model.model.formula, model.model.data.frame"
        if formula
        else "model.model.data.orig_endog, model.model.data.orig_exog"
    )
    make = f"{kind}.from_formula" if formula else kind
    return to_type(f"import statsmodels.api as sm\n\nmodel = sm.{make}({data}{options}).fit(){EXPLAIN}")


def _with_constant(results: Any, X: Table) -> str:
    """Return the line that adds the constant to rows that lack it alone; empty for others."""
    names = list(getattr(results.model, "exog_names", ()))
    formula = getattr(results.model.data, "model_spec", None) is not None
    lacking = "const" in names and not formula and X.shape[1] == results.model.exog.shape[1] - 1
    return _CONSTANT.format(names[0] == "const") if lacking else ""
