"""Commands load what they need and no more: no library of figures or models before one is used."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

HEAVY = (
    *("sklearn", "scipy.stats", "matplotlib", "shap", "dalex", "weasyprint"),
    *("xgboost", "lightgbm", "catboost", "torch", "numba"),
)
NUMBERS = ("numpy", "pandas", "scipy")
EXPLAINERS = (
    "pfi",
    "cid",
    "redundancy",
    "segments",
    "selective",
    "support",
    "calibration",
    "agreement",
)  # whose options are looked up


def loaded_by(*words: str, watched: tuple[str, ...] = HEAVY) -> tuple[str, set[str]]:
    """Return what a command prints in a process of its own, and the watched libraries that it loads."""
    code = (
        "import sys\nfrom uq_report.cli import main\n"
        f"sys.argv[1:] = {list(words)!r}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print(*(name for name in {watched!r} if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout, set(done.stderr.split())


@pytest.fixture
def audit_file(tmp_path: Path) -> Path:
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 0.1, 0.2], "y": [0.0, 1.0, 1.5]}).to_csv(tmp_path / "rows.csv")
    (tmp_path / "model.skops").write_bytes(b"not read")
    file = tmp_path / "audit.toml"
    file.write_text(
        '[model]\nsource = "model.skops"\n[data]\nsource = "rows.csv"\ntarget = "y"\n'
        + "".join(f"[explainers.{name}]\n" for name in EXPLAINERS)
    )
    return file


def test_help_loads_no_numbers_either() -> None:
    printed, heavy = loaded_by("--help", watched=(*HEAVY, *NUMBERS, "uq_report.jobs"))
    assert "history" in printed
    assert not heavy


def test_a_history_is_listed_without_figures_models_or_numbers(tmp_path: Path) -> None:
    printed, heavy = loaded_by("history", "--history", str(tmp_path), watched=(*HEAVY, *NUMBERS))
    assert "FINDINGS" in printed
    assert not heavy


def test_a_description_is_checked_without_figures_or_models(audit_file: Path) -> None:
    printed, heavy = loaded_by("config", "check", str(audit_file))
    assert "no mistakes found" in printed
    assert not heavy


def test_all_plugins_are_listed_without_figures_or_models() -> None:
    printed, heavy = loaded_by("plugins")
    assert "explainers" in printed
    assert not heavy


def test_verifying_loads_no_figures() -> None:
    code = "import sys\nimport uq_report.ops.verification\nprint('matplotlib' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False"]
