"""Fixtures every test folder may use."""

from pathlib import Path

import pytest

from .packages import Packages


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    """Return an installer of throw-away distributions."""
    folder = tmp_path / "site"
    folder.mkdir()
    return Packages(folder, monkeypatch)
