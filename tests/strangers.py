"""The example of a third-party package, installed by pip, and a report that it takes part in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "third_party_plugin"
# where c is above 0 the less probable class happens: its log loss exceeds its entropy there
AUDIT = """
from dataclasses import replace
import numpy as np
import uq_report as uq
from uq_report.testing import logistic_subject

subject = logistic_subject(200)
likely = np.where(subject.model.distribution(subject.X).mean() > 0.5, "yes", "no")
unlikely = np.where(likely == "yes", "no", "yes")
run = uq.audit(
    replace(subject, y=np.where(subject.X["c"] > 0, unlikely, likely)),
    explainers=["pfi", "screen"],
    checks=["screen"],
    options={"pfi": {"measures": ["brier", "confidence"]}},
    as_of="2026-01-01",
)
run.write("out", formats=["html", "markdown", "digest"], appendix="full")
"""


def install(folder: Path) -> dict[str, str]:
    """Install the example into a folder; return the environment of a process that sees it."""
    pytest.importorskip("hatchling", reason="building the example package needs hatchling")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(folder)]
    subprocess.run([*pip, str(EXAMPLE)], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(EXAMPLE.parents[1])])}


def audit(env: dict[str, str], folder: Path) -> Path:
    """Write the report of an audit with the example's plugins; return its folder."""
    subprocess.run([sys.executable, "-c", AUDIT], env=env, cwd=folder, check=True, capture_output=True)
    return folder / "out"


def part(text: str, title: str) -> str:
    """Return a part of a Markdown report with all below it: its heading and what follows, up to the next one."""
    found = re.search(rf"^(#+) [\w.]+ {re.escape(title)}$", text, re.MULTILINE)
    assert found, f"no part {title!r}"
    after = re.search(rf"^#{{1,{len(found[1])}}} ", text[found.end() :], re.MULTILINE)
    return text[found.start() : found.end() + after.start() if after else len(text)].rstrip() + "\n"


def chapter(text: str, title: str) -> str:
    """Return the title of the chapter that holds a part."""
    before = text[: text.index(part(text, title))]
    return re.findall(r"^## [\w.]+ (.*)$", before, re.MULTILINE)[-1]
