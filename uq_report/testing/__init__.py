"""Contract checks and subjects of known truth, for plugin authors and for our own tests.

``*_checks()`` returns the checks of a group of plugins: each takes one plugin object and raises `ContractError` with
one sentence when the contract is broken. Parametrise them over your own plugins::

    @pytest.mark.parametrize("check", explainer_checks(), ids=lambda c: c.__name__)
    def test_explainer(check):
        check(MyExplainer)

The contract checks of checks, sections and figures read runs of everything installed: install your package first.
"""

from .inputs import adapter_checks as adapter_checks
from .inputs import adapter_model_checks as adapter_model_checks
from .inputs import fast_path_checks as fast_path_checks
from .inputs import fast_path_model_checks as fast_path_model_checks
from .inputs import loader_checks as loader_checks
from .inputs import loader_source_checks as loader_source_checks
from .known import ContractError as ContractError
from .known import KnownLinear as KnownLinear
from .known import KnownLogistic as KnownLogistic
from .known import KnownTruth as KnownTruth
from .known import known_document as known_document
from .known import known_runs as known_runs
from .known import linear_subject as linear_subject
from .known import logistic_subject as logistic_subject
from .known import measures as measures
from .known import overconfident_subject as overconfident_subject
from .methods import check_checks as check_checks
from .methods import explain as explain
from .methods import explainer_checks as explainer_checks
from .methods import measure_checks as measure_checks
from .pages import figure_checks as figure_checks
from .pages import renderer_checks as renderer_checks
from .pages import section_checks as section_checks
