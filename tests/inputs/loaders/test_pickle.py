"""Pickles run only where the user says so; what they raise becomes one clear error."""

import os
import pickle
from pathlib import Path
from typing import Any

import joblib
import pytest
from sklearn.linear_model import LogisticRegression

from uq_report.core.support.errors import InputError
from uq_report.inputs.loaders.model_files import PickleLoader


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


def test_a_malicious_pickle_is_refused_and_nothing_of_it_runs(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    for name in ("m.joblib", "m.pkl", "M.PICKLE"):
        file = tmp_path / name
        file.write_bytes(pickle.dumps(Trap(marker)))
        assert PickleLoader().matches(str(file))
        with pytest.raises(InputError, match=r"runs code when it is loaded: save the model with skops\.io\.dump"):
            PickleLoader().load(str(file))
        assert not marker.exists()
    PickleLoader().load(str(file), allow_pickle=True)
    assert marker.exists()  # the trap works: the flag is what kept it shut


def test_an_allowed_pickle_is_the_model_and_the_report_is_told(tmp_path: Path) -> None:
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    file = str(tmp_path / "m.joblib")
    joblib.dump(model, file)
    assert PickleLoader().load(file, allow_pickle=True).predict_proba([[3.0]]).shape == (1, 2)
    assert PickleLoader().caution(file, allow_pickle=True) == (
        "a pickle: loading it ran code of the file, allowed by allow_pickle"
    )


@pytest.mark.parametrize("content", [b"", b"no pickle", pickle.dumps([1] * 99)[:-5], b"cnowhere\nThing\n."])
def test_what_cannot_be_unpickled_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "m.pkl"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"model must be a readable pickle; got '.*m\.pkl': \w+"):
        PickleLoader().load(str(file), allow_pickle=True)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="FileNotFoundError"):
        PickleLoader().load(str(tmp_path / "m.pkl"), allow_pickle=True)
