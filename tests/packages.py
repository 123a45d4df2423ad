"""Throw-away distributions on sys.path, as pip would leave them, for tests of the plugin door."""

from __future__ import annotations

from pathlib import Path

import pytest

EXPLAINER = """
from dataclasses import dataclass
from typing import ClassVar
import pandas as pd
from uq_report.core.model.results import ESTIMATE_COLUMNS, Diagnostic

@dataclass(frozen=True)
class Extra:
    n_things: int = 2

    name: ClassVar = {name!r}
    section: ClassVar = "drivers"
    needs: ClassVar = {needs!r}
    requires: ClassVar = frozenset({requires!r})
    api_version: ClassVar = {api!r}

    def __post_init__(self):
        from uq_report.core.support.errors import InputError
        if self.n_things < 1:
            raise InputError(f"{name}.n_things must be >= 1; got {{self.n_things}}.")

    def explain(self, subject, engine, prior):
        {body}
        return [self.made({name!r})]

    def made(self, id, meta=None):
        frame = pd.DataFrame([("entropy", "", "things", 0.0, 1.0)], columns=list(Diagnostic.columns))
        blank = dict.fromkeys(ESTIMATE_COLUMNS, float("nan"))
        row = blank | dict(measure="entropy", feature="", estimate=1.0, covers="none")
        return Diagnostic(id=id, explainer=self.name, title="Things", frame=frame, estimates=pd.DataFrame([row]),
                          options={{"n_things": self.n_things}}, meta=meta or {{}})
"""


def explainer(
    name: str, body: str = "", needs: tuple[str, ...] = (), requires: tuple[str, ...] = (), api: int = 1
) -> str:
    """Return the source of a module with one explainer, `Extra`, whose explain starts with `body`."""
    return EXPLAINER.format(name=name, body=body or "pass", needs=needs, requires=requires, api=api)


RENDERER = """
from pathlib import Path

class Form:
    name, extension, api_version, draws = {name!r}, {extension!r}, 1, False

    def render(self, document):
        {body}
        return b"rendered"
"""
LOADER = """
import os
from pathlib import Path
import pandas as pd

class Reader:
    name, kind, api_version = {name!r}, {kind!r}, 1
    {facts}

    def matches(self, source):
        return source.endswith({extension!r})

    def load(self, source, **options):
        {body}
"""


class Packages:
    """Installs distributions into a folder on sys.path for one test."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        monkeypatch.syspath_prepend(str(folder))

    def install(
        self, name: str, entries: dict[str, str], source: str = "", needs: str = "", version: str = "1.0"
    ) -> None:
        """Add a distribution with a module of the same name, and entry points ``group:name`` -> object."""
        info = self.folder / f"{name}-{version}.dist-info"
        info.mkdir()
        lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
        lines += [f"Provides-Extra: fast\nRequires-Dist: {needs}; extra == 'fast'"] if needs else []
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        points = "".join(
            f"[uq_report.{key.split(':')[0]}]\n{key.split(':')[1]} = {to}\n" for key, to in entries.items()
        )
        (info / "entry_points.txt").write_text(points)
        self.module(name, source)

    def module(self, name: str, source: str) -> None:
        """Add a module, which is found before another one of its name."""
        (self.folder / f"{name}.py").write_text(source)
        self._monkeypatch.delitem(__import__("sys").modules, name, raising=False)

    def explainer(self, name: str, source: str) -> None:
        """Install one explainer in a distribution of its own, ``pkg_<name>``."""
        self.install(f"pkg_{name}", {f"explainers:{name}": f"pkg_{name}:Extra"}, source)

    def renderer(self, name: str, body: str) -> None:
        """Install a format whose files end in ``.<name>``, and whose rendering starts with `body`."""
        source = RENDERER.format(name=name, extension=f".{name}", body=body)
        self.install(f"pkg_{name}", {f"renderers:{name}": f"pkg_{name}:Form"}, source)

    def loader(self, name: str, kind: str, body: str, facts: str = "") -> None:
        """Install a loader of files that end in ``.<name>``: `body` is that of `load`, `facts` stand in the class."""
        source = LOADER.format(name=name, kind=kind, extension=f".{name}", body=body, facts=facts)
        self.install(f"pkg_{name}", {f"loaders:{name}": f"pkg_{name}:Reader"}, source)
