"""skops files: reviewed types load, others are refused by name until trusted."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from uq_report.core.support.errors import InputError
from uq_report.inputs.loaders.model_files import REVIEWED, SkopsLoader

FrozenEstimator = pytest.importorskip("sklearn.frozen", reason="new in scikit-learn 1.6").FrozenEstimator

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
    with pytest.raises(InputError, match=rf"reviewed types only; got {name} in .*\(--trusted {name}\)"):
        SkopsLoader().load(file)
    assert type(SkopsLoader().load(file, trusted=[name])).__name__ == "Stranger"


def test_what_is_no_skops_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "m.skops").write_text("no zip")
    for name in ("m.skops", "missing.skops"):
        with pytest.raises(InputError, match=r"model must be a readable \.skops file; got '.*skops'"):
            SkopsLoader().load(str(tmp_path / name))


def test_a_cut_or_changed_file_is_one_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "m.skops"
    sio.dump(BayesianRidge().fit(X, Y), file)
    whole = file.read_bytes()
    broken = [whole[: int(len(whole) * share)] for share in (0.2, 0.7, 0.99)]
    broken += [whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in range(40, len(whole) // 2, 311)]
    for content in broken:
        file.write_bytes(content)
        with suppress(InputError):  # a changed byte that nothing reads is no error; any other class would end the test
            SkopsLoader().load(str(file))
    file.write_bytes(broken[0])
    with pytest.raises(InputError, match=r"model must be a readable \.skops file"):
        SkopsLoader().load(str(file))


def test_types_trusted_by_name_are_recorded() -> None:
    assert SkopsLoader().caution("m.skops") == ""
    assert SkopsLoader().caution("m.skops", trusted=["b.B", "a.A"]).endswith("beyond the reviewed types: a.A, b.B")


def test_the_reviewed_list_holds_no_function_and_no_double() -> None:
    assert len(set(REVIEWED)) == len(REVIEWED)
    assert all(
        name.rpartition(".")[2][0] in "_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        or name in ("numpy.dtype", "scipy.sparse._csr.csr_matrix")
        for name in REVIEWED
    )
