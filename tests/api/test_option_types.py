"""Options of the verbs are known to type checkers: `python tests/api/test_option_types.py` writes their types."""

import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import uq_report as uq
from uq_report import api
from uq_report.runner import plugins
from uq_report.runner.options import options_of

FILE = Path(api.__file__).with_name("option_types.pyi")
VERBS = {
    "importance": ("pfi",), "profile": ("pdp",), "effects": ("ale",),
    "interactions": ("h_statistic", "pdp", "rsens", "shap"),
    "sensitivity": ("rsens",), "attributions": ("shap",), "covered_information": ("cid",),
    "adjusted_importance": ("cover",), "redundancy": ("redundancy",), "calibration": ("calibration",),
    "segments": ("segments",), "selective": ("selective",), "groups": ("groups",), "drift": ("support",),
    "agreement": ("agreement",),
}  # fmt: skip
HEAD = '''"""Options of the verbs, for type checkers and completion; tests/api/test_option_types.py makes this file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

import pandas as pd

from ..core.engine.evaluator import Progress
from ..core.model.adapter import Adapter
from ..core.model.measures import Measure
from ..core.traits.stochastic import Stochastic
from ..core.validation.residuals import Residuals, Shorthand

Names = str | Sequence[str]
Measures = str | Measure | Sequence[str | Measure]
'''
TYPES = {
    "tuple[str, ...]": "Names", "tuple[int, ...]": "int | Sequence[int]",
    "tuple[tuple[str, str], ...]": "Sequence[tuple[str, str]]",
}  # fmt: skip
ENGINE = {
    "confidence": "float", "n_jobs": "int", "backend": "str", "scheduler": "str | None", "batch_rows": "int | None",
    "row_budget": "int | None", "fast_paths": "bool", "progress": "bool | Callable[[Progress], None] | None",
}  # fmt: skip


def generated() -> str:
    """Return the file."""
    explain = inspect.signature(uq.explain).parameters
    base = {n: _text(p.annotation) for n, p in explain.items() if n not in ("model", "X", "y")} | ENGINE
    base["train"] = "tuple[Any, Any] | bool | None"  # an option of an explainer too
    parts = [HEAD, _class("CallOptions", base, "TypedDict, total=False")]
    alone: dict[tuple[str, ...], tuple[str, dict[str, str]]] = {}  # verbs of one explainer, from which others inherit
    for verb, explainers in sorted(VERBS.items(), key=lambda item: len(item[1])):
        own: dict[str, str] = {}
        for name in explainers:
            cls = plugins.load(plugins.named(plugins.find(plugins.EXPLAINERS), name, "explainer"))
            types = {f.name: _text(f.type) for f in dataclasses.fields(cls)}
            own |= {option: _typed(option, types[option]) for option in options_of(cls)}
        named = inspect.signature(getattr(uq, verb)).parameters
        kept = {n: t for n, t in own.items() if n not in base and n not in named}
        parents = [alone[name,] for name in explainers if len(explainers) > 1 and (name,) in alone]
        kept = {n: t for n, t in kept.items() if not any(n in options for _, options in parents)}
        bases = ", ".join([title for title, _ in parents] or ["CallOptions"])
        parts.append(_class(_title(verb), kept, f"{bases}, total=False"))
        alone[explainers] = _title(verb), kept
    return "\n".join(part.strip() + "\n" for part in parts)


def _text(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.replace("collections.abc.", "").replace("typing.", "")


def _title(verb: str) -> str:
    return "".join(word.title() for word in verb.split("_")) + "Options"


def _typed(option: str, annotation: str) -> str:
    """Return the type of an option as a call takes it: one name for a list of names."""
    optional = " | None" if annotation.endswith(" | None") else ""
    plain = annotation.removesuffix(" | None")
    return ("Measures" if option == "measures" else TYPES.get(plain, plain)) + optional


def _class(name: str, types: dict[str, str], bases: str) -> str:
    lines = [f"class {name}({bases}):", f'    """Keyword arguments of `{name.removesuffix("Options").lower()}`."""', ""]
    return "\n".join([*lines, *(f"    {option}: {annotation}" for option, annotation in types.items())])


GOOD = """
import pandas as pd
import uq_report as uq
from sklearn.linear_model import LogisticRegression

X = pd.DataFrame({"a": [0.0, 1.0]})
subject = uq.explain(LogisticRegression().fit(X, [0, 1]), X, [0, 1])
view = uq.importance(subject, "nll", n_repeats=5, seed=1, features="a", n_jobs=1)
frame: pd.DataFrame = view["nll"].estimates
uq.profile(subject, "a", kind="individual", grid_resolution=5).plot(colour_by="a").savefig("f.png")
uq.interactions(subject, "shap", n_rows=20)
uq.importance(LogisticRegression(), X, [0, 1], train=(X, [0, 1]), n_repeats=5)
run = uq.audit(subject, explainers="pfi", seed=1)
path: str = str(run.save("report.html"))
"""
BAD = """
import uq_report as uq

def f(subject: object) -> None:
    import pandas as pd

    X = pd.DataFrame({"a": [0.0]})
    s = uq.explain(None, X)
    uq.importance(s, n_repeat=5)
    uq.profile(s, "a", grid_resolution="many")
"""


def test_the_file_is_that_of_the_explainers() -> None:
    assert FILE.read_text() == generated()


def test_mypy_passes_a_strict_script_and_refuses_wrong_options(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="this test checks types")
    for name, content in (("good", GOOD), ("bad", BAD)):
        (tmp_path / f"{name}.py").write_text(content)
    files = [str(tmp_path / f"{name}.py") for name in ("good", "bad")]
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", *files]
    root = Path(__file__).parents[2]  # with the cache that a check of types left
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert {line.split(":")[0].rpartition("/")[2] for line in lines} == {"bad.py"}, done.stdout + done.stderr
    assert 'Unexpected keyword argument "n_repeat"' in done.stdout
    assert {line.split(":")[1] for line in lines} == {"9", "10"}


if __name__ == "__main__":
    FILE.write_text(generated())
