"""A small report and keys made on the spot, for the tests of signing and of what is signed."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import verify_cases
from .verify_cases import Keys


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signing")
    verify_cases.write(folder / "run")
    return folder


@pytest.fixture(scope="module")
def keys(place: Path) -> Keys:
    return Keys(place)
