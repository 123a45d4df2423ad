"""Fixtures every test folder may use, and the rule that nothing is skipped where everything is installed."""

import os
from pathlib import Path

import pytest

from .packages import Packages


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    """Return an installer of throw-away distributions."""
    folder = tmp_path / "site"
    folder.mkdir()
    return Packages(folder, monkeypatch)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run with UQ_NO_SKIPS set if it skipped a test: there, what is optional must be installed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("UQ_NO_SKIPS") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
