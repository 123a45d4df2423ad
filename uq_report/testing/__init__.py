"""Contract checks and subjects of known truth, for plugin authors and for our own tests.

Each ``check_*`` function takes one plugin object and raises `ContractError` with one sentence when the contract is
broken; ``*_checks()`` returns those of a group. Parametrise them over your own plugins::

    @pytest.mark.parametrize("check", explainer_checks(), ids=lambda c: c.__name__)
    def test_explainer(check):
        check(MyExplainer)

Checks of rules, sections and figures read runs of everything that is installed: install your package first.
"""

from .adapter import (
    adapter_checks,
    adapter_model_checks,
    check_adapter_declares_itself,
    check_adapter_derivatives_hold,
    check_adapter_ignores_strangers,
    check_adapter_leaves_rows_alone,
    check_adapter_predicts_its_model,
    check_adapter_predicts_row_by_row,
)
from .contract import ContractError
from .explainer import (
    check_explainer_declares_itself,
    check_explainer_leaves_the_subject_alone,
    check_explainer_options_are_plain,
    check_explainer_repeats_itself,
    check_explainer_results_can_be_saved,
    check_explainer_results_keep_the_contract,
    explain,
    explainer_checks,
)
from .figure import (
    check_figure_declares_itself,
    check_figure_draws_its_results,
    check_figure_leaves_pyplot_alone,
    figure_checks,
)
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
from .loader import (
    check_loader_declares_itself,
    check_loader_ignores_strangers,
    check_loader_leaves_its_source_alone,
    check_loader_reads_its_source,
    check_loader_takes_its_options,
    loader_checks,
    loader_source_checks,
)
from .measure import (
    check_measure_asks_for_what_it_uses,
    check_measure_declares_itself,
    check_measure_gives_a_number_per_row,
    check_measure_statistic_sums_up,
    measure_checks,
)
from .renderer import check_renderer_declares_itself, check_renderer_is_a_pure_function, renderer_checks
from .rule import (
    check_rule_declares_itself,
    check_rule_judges_nothing_without_evidence,
    check_rule_keeps_within_what_it_prints,
    check_rule_prints_its_thresholds,
    check_rule_repeats_itself,
    rule_checks,
)
from .section import (
    check_section_declares_itself,
    check_section_holds_plain_data,
    check_section_ids_are_unique,
    check_section_tells_of_any_run,
    section_checks,
)

__all__ = [
    "ContractError",
    "KnownLinear",
    "KnownLogistic",
    "KnownTruth",
    "adapter_checks",
    "adapter_model_checks",
    "check_adapter_declares_itself",
    "check_adapter_derivatives_hold",
    "check_adapter_ignores_strangers",
    "check_adapter_leaves_rows_alone",
    "check_adapter_predicts_its_model",
    "check_adapter_predicts_row_by_row",
    "check_explainer_declares_itself",
    "check_explainer_leaves_the_subject_alone",
    "check_explainer_options_are_plain",
    "check_explainer_repeats_itself",
    "check_explainer_results_can_be_saved",
    "check_explainer_results_keep_the_contract",
    "check_figure_declares_itself",
    "check_figure_draws_its_results",
    "check_figure_leaves_pyplot_alone",
    "check_loader_declares_itself",
    "check_loader_ignores_strangers",
    "check_loader_leaves_its_source_alone",
    "check_loader_reads_its_source",
    "check_loader_takes_its_options",
    "check_measure_asks_for_what_it_uses",
    "check_measure_declares_itself",
    "check_measure_gives_a_number_per_row",
    "check_measure_statistic_sums_up",
    "check_renderer_declares_itself",
    "check_renderer_is_a_pure_function",
    "check_rule_declares_itself",
    "check_rule_judges_nothing_without_evidence",
    "check_rule_keeps_within_what_it_prints",
    "check_rule_prints_its_thresholds",
    "check_rule_repeats_itself",
    "check_section_declares_itself",
    "check_section_holds_plain_data",
    "check_section_ids_are_unique",
    "check_section_tells_of_any_run",
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
