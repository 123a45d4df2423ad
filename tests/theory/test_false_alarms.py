"""How often the checks raise a finding where there is nothing to find (in full: a benchmark)."""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from uq_report.runner import plugins

STUDY = Path(__file__).parents[2] / "benchmarks" / "false_alarms.py"
CHANCE = 1e-4  # that a check with exactly the allowed rate fails here


def load() -> Any:
    """Return the study as a module."""
    spec = importlib.util.spec_from_file_location("false_alarms", STUDY)
    if spec is None or spec.loader is None:
        pytest.fail(f"{STUDY} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules["false_alarms"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


study = load()


def most(sets: int) -> int:
    """Return the number of alarms that a rate of 5% exceeds with a chance below `CHANCE`."""
    return int(binom.isf(CHANCE, sets, study.ALLOWED))


def test_every_registered_check_has_a_null() -> None:
    ours = {plugin.name for plugin in plugins.find("uq_report.checks") if plugin.distribution == "uq_report"}
    assert {null.theme for null in study.NULLS} == ours


def test_nulls_are_told_apart_by_their_words() -> None:
    names = [null.name for null in study.NULLS]
    assert len(set(names)) == len(names)


def test_codes_that_claim_nothing_are_codes() -> None:
    checks = [plugins.load(plugin)() for plugin in plugins.find("uq_report.checks")]
    assert {rule.code for check in checks for rule in check.rules} >= study.CLAIM_NOTHING


def test_the_bound_would_notice_a_rate_of_three_in_ten() -> None:
    assert binom.sf(most(100), 100, 0.3) > 0.99


@pytest.mark.parametrize(
    ("theme", "options"),
    [("stability", {"max_shuffle_variance": 1e-4}), ("policy", {"require": ("coverage 90 >= 0.99",)})],
)
def test_the_study_sees_alarms_where_a_check_is_careless(theme: str, options: dict[str, Any]) -> None:
    """With a threshold that nothing meets, every data set raises something."""
    null = next(one for one in study.NULLS if one.theme == theme)
    assert study.alarms(study.replace(null, options=options), 5) == 5


@pytest.mark.study
@pytest.mark.parametrize("null", study.NULLS, ids=lambda null: null.name)
def test_false_alarms_are_rare(null: Any) -> None:
    sets = int(os.environ.get("UQ_STUDY_REPS", "20"))
    found = study.alarms(null, sets)
    assert found <= most(sets), f"{found} of {sets}"
