"""skops files: reviewed types load, others are refused by name until trusted, pickles always."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from uq_report.core.errors import InputError
from uq_report.loaders.skops_ import REVIEWED, SkopsLoader

sio = pytest.importorskip("skops.io", reason="these tests write skops files")
X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


class Stranger(BaseEstimator):  # type: ignore[misc]
    """A type nobody reviewed."""


def models() -> list[Any]:
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, Y)
    process = GaussianProcessRegressor(1.0 * RBF() + WhiteKernel(), optimizer=None)
    return [
        forest,
        CalibratedClassifierCV(FrozenEstimator(make_pipeline(StandardScaler(), forest).fit(X, Y))).fit(X, Y),
        HistGradientBoostingClassifier(max_iter=2).fit(X, Y),
        make_pipeline(StandardScaler(), process).fit(X, Y),
        BayesianRidge().fit(X, Y),
    ]


def test_reviewed_models_load_and_predict_the_same(tmp_path: Path) -> None:
    for model in models():
        file = tmp_path / "m.skops"
        sio.dump(model, file)
        np.testing.assert_array_equal(SkopsLoader().load(str(file)).predict(X), model.predict(X))


def test_other_types_are_refused_by_name_until_trusted(tmp_path: Path) -> None:
    file = str(tmp_path / "m.skops")
    sio.dump(Stranger(), file)
    name = f"{Stranger.__module__}.Stranger"
    with pytest.raises(InputError, match=rf"reviewed types only; got {name} in .*\(--trust {name}\)"):
        SkopsLoader().load(file)
    assert type(SkopsLoader().load(file, trusted=[name])).__name__ == "Stranger"


@pytest.mark.parametrize("source", ["m.joblib", "m.pkl", "M.PICKLE"])
def test_pickles_are_refused_with_the_remedy(source: str) -> None:
    assert SkopsLoader().matches(source)
    with pytest.raises(InputError, match=r"runs code when it is loaded: save the model with skops\.io\.dump"):
        SkopsLoader().load(source)


def test_what_is_no_skops_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "m.skops").write_text("no zip")
    for name in ("m.skops", "missing.skops"):
        with pytest.raises(InputError, match=r"model must be a readable \.skops file; got '.*skops'"):
            SkopsLoader().load(str(tmp_path / name))
    with pytest.raises(InputError, match=r"options must be 'trusted' alone; got \['mode'\]"):
        SkopsLoader().load("m.skops", mode=1)


def test_the_reviewed_list_holds_no_function_and_no_double() -> None:
    assert len(set(REVIEWED)) == len(REVIEWED)
    assert all(
        name.rpartition(".")[2][0] in "_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        or name in ("numpy.dtype", "scipy.sparse._csr.csr_matrix")
        for name in REVIEWED
    )
