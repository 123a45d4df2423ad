"""A real third-party package, installed with pip, appears in the inventory and in a report."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "third_party_plugin"
SCRIPT = """
import uq_report as uq
from uq_report.testing import linear_subject
run = uq.audit(linear_subject(60), explainers=["screen"], as_of="2026-01-01")
run.write("out")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    pytest.importorskip("hatchling", reason="building the example package needs hatchling")
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([*pip, str(EXAMPLE)], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), str(EXAMPLE.parents[1])])}


def test_the_inventory_lists_it(installed: dict[str, str]) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "uq_report.cli", "plugins"], env=installed, capture_output=True, text=True, check=True
    ).stdout
    for word in ("screen", "surprise", "uq-report-screen", "1.2.0"):
        assert word in listed


def test_its_explainer_and_measure_are_in_the_report(installed: dict[str, str], tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], env=installed, cwd=tmp_path, check=True, capture_output=True)
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Rank correlation with each measure" in html
    assert "surprise" in html
    assert "uq-report-screen" in html
    results = json.loads((tmp_path / "out" / "run.json").read_text())["results"]
    assert [r["id"] for r in results] == ["screen"]


def test_its_own_contract_tests_pass(installed: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests")],
        env=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout
