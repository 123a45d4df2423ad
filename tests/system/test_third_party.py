"""A real third-party package, installed with pip: one plugin of each kind, in the inventory and in the report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.testing import linear_subject

from ..packages import Packages
from ..strangers import EXAMPLE, audit, chapter, install, part

SECTION = "Log loss in excess of the entropy, by feature"
IMPORTANCE, CONFIDENCE = "Permutation importance", "confidence in the most probable class"
PLUGINS = {
    "explainers": ["screen"],
    "adapters": ["line"],
    "measures": ["confidence", "excess_loss"],
    "checks": ["screen"],
    "sections": ["screen"],
    "figures": ["screen"],
    "renderers": ["digest"],
    "loaders": ["line"],
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return install(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def report(installed: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audit(installed, tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def words(report: Path) -> str:
    return (report / "report.md").read_text(encoding="utf-8")


def command(env: dict[str, str], *arguments: str, cwd: Path | None = None) -> str:
    line = [sys.executable, "-m", "uq_report", *arguments]
    done = subprocess.run(line, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_inventory_lists_all_of_it(installed: dict[str, str]) -> None:
    rows = [re.split(r"  +", line) for line in command(installed, "plugins").splitlines()]
    listed: dict[str, list[str]] = {}
    for group, name, *facts in rows:
        if facts[:1] == ["uq-report-screen"]:
            assert facts[1:] == ["1.2.0", "1", "ready"]
            listed.setdefault(group, []).append(name)
    assert listed == PLUGINS


def test_its_measure_is_read_as_uncertainty_with_its_title_unit_and_direction(words: str) -> None:
    shown = part(words, IMPORTANCE)
    assert "estimate (probability)" in shown
    assert f"{CONFIDENCE}, lowest first: lower values mean less certain" in shown


def test_its_section_stands_in_its_slot_with_its_figure(words: str, report: Path) -> None:
    assert chapter(words, SECTION) == "Outcomes in full"
    shown = part(words, SECTION)
    assert "**Figure" in shown
    assert "could not be drawn" not in words
    assert "| confidence in the most probable class | smaller | c |" in shown
    html = (report / "report.html").read_text(encoding="utf-8")
    drawing = re.search(r'<figure id="screen-figure">.*?<svg .*?</svg>', html, re.DOTALL)
    assert drawing
    assert "confidence in the most probable class" in drawing[0]


def test_its_method_card_is_made_from_its_docstring(words: str) -> None:
    card = part(words, "Screen")
    assert chapter(words, "Screen") == "Methods"
    assert "**Definition:** Spearman's rank correlation of each numeric feature" in card
    assert r"**Options:** measures: \['excess_loss', 'entropy', 'confidence'\]" in card
    assert "**Source:** E. C. Fieller, H. O. Hartley, E. S. Pearson" in card


def test_its_rule_is_printed_with_its_thresholds_and_its_finding_is_in_the_register(words: str, report: Path) -> None:
    rules = part(words, "Rules and severities")
    assert "| SCREEN1 The excess of the log loss depends on a feature. | ▲ medium |" in rules
    assert "lies beyond ±0.05. Medium beyond ±0.3, else low." in rules
    register = part(words, "Findings")
    assert "| SCREEN1 The excess of the log loss depends on a feature | ▲ medium | c |" in register
    assert "SCREEN1 · medium · The excess of the log loss depends on a feature" in register
    outcomes = json.loads((report / "run.json").read_text())["outcomes"]
    (rule,) = next(outcome for outcome in outcomes if outcome["check"] == "screen")["rules"]
    assert rule["thresholds"] == {"strong": 0.3, "weak": 0.05}


def test_its_renderer_writes_a_file_of_its_own(report: Path) -> None:
    lines = (report / "report.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "Uncertainty audit of KnownLogistic, 2026-01-01"
    assert any(line.startswith("  SCREEN1 (medium) Where c is high") for line in lines)


def test_its_loader_and_adapter_bring_a_model_of_its_own_with_exact_derivatives(
    installed: dict[str, str], tmp_path: Path
) -> None:
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    rows.assign(y=rows["a"] - 2 * rows["b"]).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "card.line").write_text("a 1\nb -2\nnoise 0.5\n")
    flags = ["--model", "card.line", "--data", "rows.csv", "--target", "y", "--explainers", "rsens", "-o", "out"]
    command(installed, "run", *flags, "--format", "digest", cwd=tmp_path)
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (run["subject"]["adapter"], run["subject"]["model_class"]) == ("line", "uq_report_screen.lines.LineModel")
    assert run["results"][0]["meta"]["method"] == "exact derivatives"


def test_without_the_package_its_results_stand_by_kind_in_the_recorded_slot(report: Path) -> None:
    text = uq.load(report / "run.json").render("markdown", appendix="full").decode()
    assert SECTION not in text
    shown = part(text, "Rank correlation with each measure")
    assert chapter(text, "Rank correlation with each measure") == "Outcomes in full"
    assert "| c | log loss in excess of the entropy | 0.72" in shown
    assert "From the plugin package uq-report-screen 1.2.0." in text
    assert "SCREEN1 · medium · The excess of the log loss depends on a feature" in text
    assert "estimate (probability)" in part(text, IMPORTANCE)


BREACH = """
from uq_report.evidence.finding import Finding, Outcome
from uq_report.checks.rule import Rule

class Odd:
    name, title, api_version = "odd", "Odd", 1
    rules = (Rule(code="ODD1", title="Something is odd", when="Always.", grades=("low",), rests_on="x"),)

    def check(self, run):
        parts = dict(code="ODD1", title="Something is odd", severity="low", evidence=("data_quality",))
        parts |= dict({breach})
        return Outcome(check="odd", state="found", findings=(Finding(statement="S", rests_on="x", **parts),))
"""


@pytest.mark.parametrize(
    ("breach", "message"),
    [
        ("", ""),
        ("severity='high'", "must raise ODD1 at worst as low, as its rule is printed; got high"),
        ("evidence=('odd.one',)", "must rest ODD1 on results of the run; got odd.one, which it has not"),
        ("title='All is lost'", "must title ODD1 'Something is odd', as its rule is printed; got 'All is lost'"),
        ("code='UQ101'", "must raise codes of its own rules, ['ODD1']; got UQ101"),
    ],
)
def test_a_finding_that_breaks_its_printed_rule_is_refused_by_name(
    packages: Packages, breach: str, message: str
) -> None:
    packages.install("pkg_odd", {"checks:odd": "pkg_odd:Odd"}, BREACH.format(breach=breach))
    run = uq.audit(linear_subject(40), explainers=["data_quality"], checks=["odd"], as_of="2026-01-01").run
    (outcome,) = (outcome for outcome in run.outcomes if outcome.check == "odd")
    if not message:
        assert [finding.code for finding in run.findings] == ["ODD1"]
        return
    assert (outcome.state, outcome.findings) == ("skipped", ())
    assert f"check 'odd' {message}" in outcome.reason
    assert outcome.reason in {entry.reason for entry in run.not_run}


def test_its_own_contract_tests_pass(installed: dict[str, str]) -> None:
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests")]
    done = subprocess.run(tests, env=installed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "39 passed" in done.stdout
