"""Fixtures every test folder may use, and the rule that nothing is skipped where everything is installed."""

import errno
import gc
import importlib
import os
import pkgutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from uq_report.core.support.processes import looked_in

from . import network
from .packages import Packages

# Compiling what shap asks about a few rows takes 10 to 50 s in every process; set before numba is imported anywhere.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
# Workers of the test run have a processor each: threads of linear algebra would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Whole audits, reports and theory run lines again that the tests of each part run, and tracing doubles their time.
UNTRACED = tuple(
    Path(__file__).parent / part
    for part in (
        "faults", "golden", "render", "system", "testing", "theory", "checks/test_shift.py",
        "core/test_distributions.py", "core/test_inference.py", "evidence/test_codec.py",
        "inputs/adapters/test_all_estimators.py", "inputs/adapters/test_models_table.py",
        "inputs/adapters/test_torch_members.py", "jobs/test_demo.py", "methods/test_groups.py",
        "methods/test_leading.py", "methods/test_members.py", "methods/test_pfi.py", "methods/test_pfi_exact.py",
        "methods/test_shap.py", "methods/test_split.py", "ops/test_mutations.py", "ops/test_unchanged.py",
        "ops/test_verify.py", "report/test_every_result_once.py", "report/test_figures.py", "report/test_kinds.py",
        "report/test_many_classes.py", "report/test_odd_runs.py", "report/test_one_source.py",
        "report/test_people.py", "report/test_register.py", "report/test_sections_methods.py",
        "report/test_sentences.py", "report/test_sheets.py", "report/test_sure.py", "runner/test_confidence.py",
    )
)  # fmt: skip


# Cases of one test run mostly the same lines: of so many of each the coverage is measured, which is more in truth.
TRACED_CASES = 2

NETWORK = network.Watch()
NETWORK.start()


@pytest.fixture(autouse=True)
def stays_here() -> Iterator[None]:
    """Fail a test that asked for something outside this machine, whatever it made of the refusal."""
    NETWORK.tried.clear()
    yield
    assert NETWORK.tried == []


@pytest.fixture(scope="session", autouse=True)
def read_once() -> None:
    """Read what is installed once for each state of the folders of `sys.path`: an audit asks about seventy times."""
    from uq_report.runner import plugins

    def kept(read: Callable[..., Any]) -> Callable[..., Any]:
        known = cache(lambda state, *given, **named: read(*given, **named))

        def asked(*given: Any, **named: Any) -> Any:
            folders = [folder for folder in map(Path, filter(None, sys.path)) if folder.exists()]
            return known(tuple((folder, folder.stat().st_mtime_ns) for folder in folders), *given, **named)

        return asked

    vars(plugins).update(entry_points=kept(metadata.entry_points), distribution=kept(metadata.distribution))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    """Return an installer of throw-away distributions."""
    folder = tmp_path / "site"
    folder.mkdir()
    return Packages(folder, monkeypatch)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what makes libraries look as if they were not installed."""

    def block(*names: str) -> None:
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return block


@pytest.fixture
def import_paths(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what a test, and what it calls, changes of the places that modules are imported from.

    Finders of others stay: importlib_metadata takes the place of the standard library's when it is imported.
    """
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = looked_in()
    yield
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder in before or finder not in looked_in()]


@pytest.fixture
def temporary_files(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path | None], None]:
    """Return what names the folder of temporary files: None is the one that the environment names."""
    return lambda folder: monkeypatch.setattr(tempfile, "tempdir", None if folder is None else str(folder))


FullDisk = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    """Return a block in which the disk is full for new files of one name: they are there, and empty."""
    usual = Path.open

    @contextmanager
    def full(name: str) -> Iterator[None]:
        def opened(file: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            stream = usual(file, mode, *args, **kwargs)
            if "x" in mode and file.name == name:
                stream.close()
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return stream

        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", opened)
            yield

    return full


def measurement(config: pytest.Config) -> Any:
    """Return what starts and stops the measurement of coverage, if it is measured."""
    return getattr(config.pluginmanager.get_plugin("_cov"), "cov_controller", None)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Stop what pytest-cov began in a worker before it knew that it is one: it traced whatever is left out.

    It keeps nothing of that, and begins anew right after this.
    """
    if hasattr(session.config, "workerinput") and (controller := measurement(session.config)) is not None:
        controller.pause()


@contextmanager
def untraced(config: pytest.Config) -> Iterator[None]:
    """Stop measuring coverage, if it is measured, in the block."""
    controller = measurement(config)
    if controller is None:
        yield
        return
    controller.pause()
    try:
        yield
    finally:
        controller.resume()


def load_package() -> None:
    """Import each module of the package whose libraries are there; where coverage is measured, it is by now."""
    package = importlib.import_module("uq_report")
    for module in pkgutil.walk_packages(package.__path__, "uq_report."):
        if module.name != "uq_report.__main__":
            with suppress(ImportError):
                importlib.import_module(module.name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Leave out what prepares a test that is left out."""
    with untraced(item.config) if item.get_closest_marker("no_cover") else nullcontext():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Measure of all that is loaded the package alone, and collect no garbage while a million objects come in."""
    config = session.config
    if config.pluginmanager.has_plugin("dsession"):  # the workers collect
        return (yield)
    if config.pluginmanager.has_plugin("_cov"):
        load_package()
    gc.disable()
    try:
        with untraced(config):
            return (yield)
    finally:
        gc.collect()
        gc.freeze()  # else every collection after a report looks at the million again, for a second
        gc.enable()


class Unimported:
    """Modules that the search for doctests skips because they cannot be imported."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Fail on a test module, all of whose tests were skipped; forget the half of one that lacks a library."""
        if report.skipped and "unable to import module" in str(report.longrepr):
            if report.nodeid.startswith("tests/"):
                report.outcome = "failed"
            else:
                sys.modules.pop(report.nodeid.removesuffix(".py").replace("/", "."), None)


def pytest_configure(config: pytest.Config) -> None:
    """Register what concerns modules of the package, too, which hooks of this folder alone do not hear of."""
    config.pluginmanager.register(Unimported())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests of `UNTRACED`, studies, and all but some cases of a test out of the measurement of coverage."""
    untraced, cases = frozenset(UNTRACED), Counter[str]()
    for item in items:
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        apart = item.get_closest_marker("study") or cases[test] > TRACED_CASES
        if apart or not untraced.isdisjoint((item.path, *item.path.parents)):
            item.add_marker(pytest.mark.no_cover)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run with UQ_NO_SKIPS set if it skipped a test: there, what is optional must be installed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("UQ_NO_SKIPS") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
