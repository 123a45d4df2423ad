"""dalex is imported without what only its plots use, and draws them all the same."""

import subprocess
import sys
from pathlib import Path

import pytest

from uq_report.methods.dalex.library import deferred

DRAWN = """
import sys
from types import SimpleNamespace
import numpy as np, pandas as pd
from uq_report.methods.dalex.library import load
load()
heavy = [name for name in ("plotly.express", "plotly.figure_factory", "xarray") if name in sys.modules]
assert not heavy, heavy
import dalex
X = pd.DataFrame({"a": np.arange(8.0), "b": np.arange(8.0) % 3})
options = {"verbose": False, "model_type": "regression"}
explainer = dalex.Explainer(SimpleNamespace(), X, X["a"], lambda _, X: X["a"].to_numpy(), **options)
figure = explainer.model_profile(variables=["a"], verbose=False).plot(show=False)
assert isinstance(figure, sys.modules["plotly.graph_objects"].Figure)
assert "plotly.express" in sys.modules
from dalex.aspect.plot import create_dendrogram
assert create_dendrogram(X.to_numpy()).data
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module, which one beside it imports from."""
    (tmp_path / "heavy_part.py").write_text("LEVELS = [1, 2]\ndef double(x, *, plus=0):\n    return 2 * x + plus\n")
    (tmp_path / "user.py").write_text("import heavy_part as h\nfrom heavy_part import double\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("heavy_part", "user"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "heavy_part"


def test_a_deferred_module_is_imported_when_something_of_it_is_used(library: str) -> None:
    with deferred([library]):
        import user  # type: ignore[import-not-found]
    assert library not in sys.modules
    assert user.double(3, plus=1) == 7
    assert library in sys.modules
    assert user.h.LEVELS == [1, 2]
    with pytest.raises(AttributeError, match="nothing"):
        _ = user.h.nothing


def test_a_module_that_is_there_already_stays_what_it_is(library: str) -> None:
    import heavy_part  # type: ignore[import-not-found]

    with deferred([library]):
        import user
    assert user.h is heavy_part is sys.modules[library]


def test_the_stand_in_goes_also_where_the_import_fails(library: str) -> None:
    with pytest.raises(ZeroDivisionError), deferred([library]):
        _ = 1 / 0
    assert library not in sys.modules


def test_dalex_draws_though_its_plots_were_not_imported() -> None:
    pytest.importorskip("dalex")
    subprocess.run([sys.executable, "-c", DRAWN], check=True, timeout=120)
