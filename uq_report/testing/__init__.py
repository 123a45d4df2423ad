"""Contract checks and subjects of known truth, for plugin authors and for our own tests.

``*_checks()`` returns the checks of a group of plugins: each takes one plugin object and raises `ContractError` with
one sentence when the contract is broken. Parametrise them over your own plugins::

    @pytest.mark.parametrize("check", explainer_checks(), ids=lambda c: c.__name__)
    def test_explainer(check):
        check(MyExplainer)

Checks of rules, sections and figures read runs of everything that is installed: install your package first.
"""

from .adapter import adapter_checks, adapter_model_checks
from .contract import ContractError
from .explainer import explain, explainer_checks
from .figure import figure_checks
from .known import (
    KnownLinear,
    KnownLogistic,
    KnownTruth,
    known_document,
    known_runs,
    linear_subject,
    logistic_subject,
    measures,
    overconfident_subject,
)
from .loader import loader_checks, loader_source_checks
from .measure import measure_checks
from .renderer import renderer_checks
from .rule import rule_checks
from .section import section_checks

__all__ = [
    "ContractError",
    "KnownLinear",
    "KnownLogistic",
    "KnownTruth",
    "adapter_checks",
    "adapter_model_checks",
    "explain",
    "explainer_checks",
    "figure_checks",
    "known_document",
    "known_runs",
    "linear_subject",
    "loader_checks",
    "loader_source_checks",
    "logistic_subject",
    "measure_checks",
    "measures",
    "overconfident_subject",
    "renderer_checks",
    "rule_checks",
    "section_checks",
]
