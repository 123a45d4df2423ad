"""Contract checks and subjects of known truth, for plugin authors and for our own tests.

``*_checks()`` returns the checks of a group of plugins: each takes one plugin object and raises `ContractError` with
one sentence when the contract is broken. Parametrise them over your own plugins::

    @pytest.mark.parametrize("check", explainer_checks(), ids=lambda c: c.__name__)
    def test_explainer(check):
        check(MyExplainer)

Checks of rules, sections and figures read runs of everything that is installed: install your package first.
"""

from .adapter import adapter_checks as adapter_checks
from .adapter import adapter_model_checks as adapter_model_checks
from .check import rule_checks as rule_checks
from .contract import ContractError as ContractError
from .explainer import explain as explain
from .explainer import explainer_checks as explainer_checks
from .fast_path import fast_path_checks as fast_path_checks
from .fast_path import fast_path_model_checks as fast_path_model_checks
from .figure import figure_checks as figure_checks
from .known import KnownLinear as KnownLinear
from .known import KnownLogistic as KnownLogistic
from .known import KnownTruth as KnownTruth
from .known import known_document as known_document
from .known import known_runs as known_runs
from .known import linear_subject as linear_subject
from .known import logistic_subject as logistic_subject
from .known import measures as measures
from .known import overconfident_subject as overconfident_subject
from .loader import loader_checks as loader_checks
from .loader import loader_source_checks as loader_source_checks
from .measure import measure_checks as measure_checks
from .renderer import renderer_checks as renderer_checks
from .section import section_checks as section_checks
