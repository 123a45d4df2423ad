"""What a plugin author writes: the contract checks of uq_report over one's own entry points."""

import pytest
from uq_report_screen import SURPRISE, RankScreen

from uq_report.testing import explainer_checks, measure_checks


@pytest.mark.parametrize("check", explainer_checks(), ids=lambda c: c.__name__)
def test_explainer(check):
    check(RankScreen)


@pytest.mark.parametrize("check", measure_checks(), ids=lambda c: c.__name__)
def test_measure(check):
    check(SURPRISE)
