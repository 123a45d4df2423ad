"""Whole audits in processes of their own, without a network, optional libraries, a locale or a home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OPTIONAL = (
    "shap", "dalex", "numba", "skops", "pyarrow", "jsonschema", "onnx", "onnxruntime", "sqlalchemy", "psycopg", "dask",
    "distributed", "mlflow", "cronsim", "tzlocal", "pyhanko", "torch", "xgboost", "lightgbm", "catboost", "statsmodels",
)  # fmt: skip
AUDIT = """
import json, os, sys
*cases, formats, folder = json.loads(sys.argv[1])

class Missing:
    def __init__(self, blocked):
        self.blocked = blocked

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def stop(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto") and (
        event == "socket.getaddrinfo" or not isinstance(arguments[1], str)  # a file on this machine
    ):
        sys.stderr.write(f"network: {event} {arguments}")

def audited(blocked):
    assert not set(blocked) & set(sys.modules), "it is there already"
    sys.meta_path.insert(0, Missing(blocked))
    import numpy as np
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    import uq_report as uq

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["größe", "日"])
    y = (X["größe"] + rng.normal(size=200) > 0).astype(int)
    model = LogisticRegression().fit(X[:100], y[:100])
    subject = uq.explain(model, X[100:], y[100:], train=(X[:100], y[:100]))
    audit = uq.audit(subject, progress=False)
    audit.write(folder, formats)
    print(json.dumps({one.name: one.reason for one in audit.run.not_run}), flush=True)

sys.addaudithook(stop)
*forked, last = cases
if forked:
    import matplotlib.figure, sklearn.linear_model
    import uq_report.api.calls, uq_report.render.html, uq_report.runner.audit
for blocked in forked:
    child = os.fork()
    if not child:
        audited(blocked)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"without {blocked}")
audited(last)
"""


def ended(folder: Path, formats: list[str], *cases: Sequence[str], **more: str) -> list[dict[str, str]]:
    """Audit in a process of its own, without a network where that can be taken away; return what did not run.

    One audit for each collection of missing libraries; all but the last in forks of a process that loaded none of them.
    """
    environ = {key: value for key, value in os.environ.items() if key in ("PATH", "NUMBA_DISABLE_JIT")}
    environ |= {"PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT)), **more}
    alone = [shutil.which("unshare") or "", "-rn"]
    able = bool(alone[0]) and subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0
    script = folder.with_name("audit.py")
    script.write_text(AUDIT, encoding="utf-8")
    words = [*(alone if able else []), sys.executable, str(script), json.dumps([*cases, formats, str(folder)])]
    done = subprocess.run(words, env=environ, cwd=folder.parent, capture_output=True, check=False, timeout=300)
    assert not done.stderr, done.stderr.decode()
    assert done.returncode == 0
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_an_audit_with_page_and_pdf_asks_no_network(tmp_path: Path) -> None:
    (missing,) = ended(tmp_path / "out", ["html", "pdf"], ())
    assert (tmp_path / "out" / "report.pdf").read_bytes().startswith(b"%PDF")
    assert set(missing) == {"groups"}


def test_an_audit_without_optional_libraries_home_or_locale_says_what_is_missing(tmp_path: Path) -> None:
    place: dict[str, Any] = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "TZ": "Pacific/Kiritimati"}
    (missing,) = ended(tmp_path / "out", ["html", "markdown"], OPTIONAL, **place)
    assert "größe" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "pip install 'uq_report[dalex]'" in missing["dalex"]
    assert set(missing) == {"groups", "dalex"}


@pytest.mark.study
def test_an_audit_misses_one_library_alone(tmp_path: Path) -> None:
    """The last is pyarrow, which pandas loads: a process without it begins without pandas."""
    libraries = sorted(OPTIONAL, key="pyarrow".__eq__)
    missing = ended(tmp_path / "out", ["html"], *([library] for library in libraries[:-1]))
    missing += ended(tmp_path / "out", ["html"], libraries[-1:])
    assert {library: set(told) for library, told in zip(libraries, missing, strict=True)} == {
        library: {"groups"} | ({"dalex"} & {library}) for library in OPTIONAL
    }
