"""The batteries of honest designs and of planted faults in their quick form (in full: benchmarks)."""

import importlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uq_report.evidence.finding import Finding

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
QUIET = re.compile("UQ(2|31)")  # on honest models these raise observations only
FEW = ("correlated logistic", "Bayesian linear", "independent logistic")
PLANTED = ("over-confidence", "wrong direction", "constant column")


@pytest.fixture(scope="module")
def path() -> Iterator[None]:
    """Let the scripts import each other, as they do when they are run."""
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def honest(path: None) -> Any:
    """Return the battery of honest designs."""
    return importlib.import_module("honest")


@pytest.fixture(scope="module")
def faults(path: None) -> Any:
    """Return the battery of faults."""
    return importlib.import_module("faults")


@pytest.fixture(scope="module")
def real(path: None) -> Any:
    """Return the battery of real data."""
    return importlib.import_module("real")


@pytest.fixture(scope="module")
def cover(path: None) -> Any:
    """Return the study of importance adjusted for redundancy."""
    return importlib.import_module("cover")


@pytest.fixture
def reps() -> int:
    """Return the repetitions asked for."""
    return int(os.environ.get("UQ_STUDY_REPS", "1"))


def test_every_fault_has_its_codes(faults: Any) -> None:
    assert {fault.name for fault in faults.FAULTS} == set(faults.NAMED)
    assert len(faults.FAULTS) >= 16
    assert all(re.fullmatch(r"UQ\d{3}", code) for named in faults.NAMED.values() for code in named.codes)


def test_designs_are_told_apart_by_their_names(honest: Any) -> None:
    names = [design.name for design in honest.DESIGNS]
    assert len(set(names)) == len(names) >= 12


@pytest.mark.parametrize(
    ("count", "n", "low", "high"), [(0, 10, 0.0, 0.308), (5, 10, 0.187, 0.813), (10, 10, 0.692, 1)]
)
def test_intervals_of_shares_are_exact(honest: Any, count: int, n: int, low: float, high: float) -> None:
    assert honest.exact(count, n) == pytest.approx((low, high), abs=5e-4)


def test_rates_of_named_rules_stand_beside_the_others(honest: Any) -> None:
    before, rates = {"UQ001": [0, 60, ""]}, {"UQ121": (1, 60, "Poisson"), "UQ001": (0, 2, "")}
    assert honest.kept(rates, ["UQ121"], before) == {"UQ001": [0, 60, ""], "UQ121": (1, 60, "Poisson")}
    assert honest.kept(rates, [], before) == rates
    with pytest.raises(SystemExit, match=r"--checks must be codes that some audit judged; got \['UQ999'\]"):
        honest.kept(rates, ["UQ999"], before)


def test_an_audit_runs_the_named_explainers_only(honest: Any) -> None:
    design = next(x for x in honest.DESIGNS if x.name == "200 observations in all")
    heard = honest.one(design.draw, design.name, 0, ("support", "segments"))
    assert heard.refused == ""
    assert "UQ121" not in heard.unjudged
    assert {"UQ401", "UQ101"} <= heard.unjudged


def test_a_fault_without_a_rule_never_passes(faults: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "registered", dict)
    line = faults.line(faults.FAULTS[0], [faults.Heard()])
    assert {line[name] for name in faults.SHARES} == {"no rule yet"}


def test_power_counts_each_code_of_a_fault(faults: Any) -> None:
    """Of two audits one raises UQ101 low and UQ401 as an observation; UQ704 must name the copied feature."""
    same: dict[str, Any] = {"title": "", "statement": "", "evidence": ("pfi",), "rests_on": ""}
    found = [
        Finding(code="UQ101", severity="low", **same),
        Finding(code="UQ401", severity="observation", **same),
        Finding(code="UQ704", severity="low", features=("age",), **same),
    ]
    audits = [faults.Heard(findings=tuple(found)), faults.Heard()]
    chosen = faults.chosen(faults.FAULTS, ["over-confidence", "exact copy"])
    assert faults.powers(chosen, {fault.name: audits for fault in chosen}) == {
        "UQ101": {"over-confidence": ("log-odds x 1.7", 1, 2)},
        "UQ401": {"over-confidence": ("log-odds x 1.7", 0, 2)},
        "UQ704": {"exact copy": ("a column twice", 0, 2)},
    }


def test_a_broken_model_counts_as_worse(real: Any) -> None:
    sound, refused = real.Heard(), real.Heard(refused="it gives no probabilities")
    assert real.badness(refused) > real.badness(sound)


def test_a_version_is_fitted_as_it_says(real: Any) -> None:
    wine = next(table for table in real.TABLES if table.name == "wine")
    few = real.versioned(real.Version(wine, "naive Bayes", real.FEW_ROWS, Path()), np.random.default_rng(0))
    assert len(few.train[0]) == 30


@pytest.mark.study
def test_honest_models_are_not_accused(honest: Any, reps: int) -> None:
    table = honest.measured(honest.chosen(honest.DESIGNS, FEW), reps)
    assert list(honest.by_design(table)["design"]) == [name for name in table if table[name]]
    assert set(honest.by_code(table)["code"]) >= set(honest.registered())
    assert honest.troubles(table) == []
    loud = [f for name in FEW[:2] for heard in table[name] for f in heard.findings if f.severity != "observation"]
    assert [(f.code, f.severity) for f in loud if QUIET.match(f.code)] == []


@pytest.mark.study
def test_faults_are_named(faults: Any, reps: int) -> None:
    planted = faults.chosen(faults.FAULTS, PLANTED)
    table = faults.measured(planted, reps)
    for fault in planted:
        line = faults.line(fault, table[fault.name])
        assert line["named"].startswith(f"{reps}/{reps} ")
        assert line["refused"] == f"0/{reps}"


@pytest.mark.study
@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_corrected_importance_ranks_as_refitting_without_the_cover_does(cover: Any, reps: int, model: str) -> None:
    found = cover.line(model, range(2 * max(reps, 2)), suppression=False)
    assert found["corrected"] >= 0.85 >= found["rank correlation, alone"]
    assert found["error, corrected"] <= 0.6 * found["mean error, alone"]
    assert found["coverage"] >= 0.8
