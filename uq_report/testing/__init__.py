"""Contract checks and subjects of known truth, for plugin authors and for our own tests.

``*_checks()`` returns the checks of a group of plugins: each takes one plugin object and raises `ContractError` with
one sentence when the contract is broken. Parametrise them over your own plugins::

    @pytest.mark.parametrize("check", explainer_checks(), ids=lambda c: c.__name__)
    def test_explainer(check):
        check(MyExplainer)

The contract checks of checks, sections and figures read runs of everything installed: install your package first.
"""

from .inputs import (
    adapter_checks as adapter_checks,
    adapter_model_checks as adapter_model_checks,
    fast_path_checks as fast_path_checks,
    fast_path_model_checks as fast_path_model_checks,
    loader_checks as loader_checks,
    loader_source_checks as loader_source_checks,
)
from .known import (
    ContractError as ContractError,
    KnownLinear as KnownLinear,
    KnownLogistic as KnownLogistic,
    KnownTruth as KnownTruth,
    known_document as known_document,
    known_runs as known_runs,
    linear_subject as linear_subject,
    logistic_subject as logistic_subject,
    measures as measures,
    overconfident_subject as overconfident_subject,
)
from .methods import (
    check_checks as check_checks,
    explain as explain,
    explainer_checks as explainer_checks,
    measure_checks as measure_checks,
)
from .pages import figure_checks as figure_checks, renderer_checks as renderer_checks, section_checks as section_checks
