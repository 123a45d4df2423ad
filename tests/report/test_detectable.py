"""Detectable faults: never more than was measured, and nothing for a rule that was not applied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from uq_report.document.document import Table
from uq_report.evidence.finding import Outcome
from uq_report.reading.run_reader import RunReader
from uq_report.report.sections.limitations import ANY, POWER, DetectableFault, detectable, faults

from .findings_made import rule, run_with

CALIBRATION, SEGMENTS = "UQ101", "UQ123"
FAULT = DetectableFault("f", ANY, SEGMENTS, {400: 0.1, 800: 0.8, 1500: 0.97})
APPLIED = tuple(
    Outcome(check=code, state="passed", rules=(rule(code),)) for code in sorted({fault.code for fault in faults()})
)


@pytest.mark.parametrize(("n", "power"), [(399, None), (400, 0.1), (799, 0.1), (800, 0.8), (1e6, 0.97)])
def test_the_share_is_that_of_the_largest_measured_size_up_to_n(n: float, power: float | None) -> None:
    assert FAULT.power(n) == power


@pytest.mark.parametrize(
    ("powers", "n"),
    [
        ({400: POWER - 0.01}, None),
        ({400: POWER}, 400),
        ({400: 0.9, 800: 0.7, 1500: 0.9}, 1500),
        ({400: 0.9, 800: 0.7}, None),
    ],
)
def test_a_fault_is_detected_from_the_size_on_from_which_every_share_suffices(
    powers: dict[int, float], n: int | None
) -> None:
    assert FAULT._replace(powers=powers).n_detected == n


def test_measured_shares_are_shares_and_do_not_fall_with_n() -> None:
    for fault in faults():
        shares = [fault.powers[n] for n in sorted(fault.powers)]
        assert shares == sorted(shares)
        assert all(0 <= share <= 1 for share in shares)


def printed(*outcomes: Outcome, **subject: Any) -> dict[str, tuple[str, str]]:
    """Return the printed shares and sizes by fault; empty without a table."""
    run = run_with(*outcomes)
    facts = {**run.subject, "n": 800, "clusters": None, **subject}
    section = detectable(RunReader(replace(run, subject=facts)))
    tables = [block for block in section.blocks if isinstance(block, Table)] if section is not None else []
    return {str(row[0]): (str(row[1]), str(row[2])) for table in tables for row in table.rows}


SHIFTED, WORSE = "log-odds wrong by 2 in 13% of the observations", "log-odds wrong by 1 in 13% of the observations"
TOO_SMALL = "standard deviation stated 15% too small"


def test_the_table_has_the_faults_of_the_kind_of_outcome_at_the_size_of_the_sample() -> None:
    classes = printed(*APPLIED)
    assert classes[SHIFTED] == ("65%", "1500")
    assert classes[WORSE] == ("0%", "above 3000")
    assert TOO_SMALL not in classes
    numbers = printed(*APPLIED, classes=None)
    assert numbers[TOO_SMALL] == ("63%", "3000")
    assert SHIFTED not in numbers


def test_clusters_count_instead_of_observations() -> None:
    assert printed(*APPLIED, clusters=400)[SHIFTED][0] == "7%"
    assert printed(*APPLIED, clusters=399)[SHIFTED][0] == "not measured below n = 400"


def test_nothing_is_claimed_for_a_rule_that_was_not_applied() -> None:
    skipped = Outcome(check="s", state="skipped", reason="few", rules=(rule(SEGMENTS),))
    undecided = Outcome(check="s", state="passed", rules=(rule(SEGMENTS),), undecided=(SEGMENTS,))
    other = Outcome(check="c", state="passed", rules=(rule(CALIBRATION),))
    for outcomes in ((), (skipped,), (undecided,), (other,)):
        assert printed(*outcomes)[SHIFTED][0] == "not assessed"


def test_without_outcomes_no_fault_is_listed() -> None:
    assert printed(*APPLIED, has_y=False) == {}
