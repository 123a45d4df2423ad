"""The contract of loaders: by themselves, and with a source of theirs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from ..core.model.adapter import HasSha256, Loader, TakesOptions
from ..core.support.text import is_sha256
from ..runner import plugins
from .contract import require, require_declared

_STRANGERS = ("", "no source", "file.of-no-format", "no-scheme-of-ours://host/path")


def loader_checks() -> tuple[Callable[[type[Loader]], None], ...]:
    """Return every check of a loader class."""
    return (check_loader_declares_itself, check_loader_takes_its_options, check_loader_ignores_strangers)


def loader_source_checks() -> tuple[Callable[[type[Loader], str], None], ...]:
    """Return every check that takes a loader class and a source it reads."""
    return (check_loader_reads_its_source, check_loader_leaves_its_source_alone)


def check_loader_declares_itself(cls: type[Loader]) -> None:
    """Require the members of the contract, and a kind: model or data."""
    require_declared(plugins.LOADERS, cls)


def check_loader_takes_its_options(cls: type[Loader]) -> None:
    """Require that `load` has the arguments it lists as options."""
    loader = cls()
    options = loader.options if isinstance(loader, TakesOptions) else ()
    arguments = inspect.signature(cls.load).parameters.values()
    names = {argument.name for argument in arguments}
    unknown = sorted(set(options) - names)
    takes_any = any(argument.kind is argument.VAR_KEYWORD for argument in arguments)
    require(takes_any or not unknown, cls, f"must take its options in load; missing {unknown}")


def check_loader_ignores_strangers(cls: type[Loader]) -> None:
    """Require that it matches no source that is not its own, whether it exists or not."""
    for stranger in _STRANGERS:
        require(cls().matches(stranger) is False, cls, f"must return False for {stranger!r}")


def check_loader_reads_its_source(cls: type[Loader], source: str) -> None:
    """Require that it matches by the spelling alone, and returns a model, or a table with rows."""
    loader, elsewhere = cls(), source.replace(str(Path(source).parent), "/no/such/folder")
    for spelling in (source, elsewhere):
        require(loader.matches(spelling) is True, cls, f"must match {spelling!r} by its spelling alone")
    content = loader.load(source)
    if loader.kind == "data":
        require(isinstance(content, pd.DataFrame) and len(content) > 0, cls, "must return a DataFrame with rows")
    require(content is not None, cls, "must return the model")
    if isinstance(loader, HasSha256):
        digest = loader.sha256(source)
        require(digest == "" or is_sha256(digest), cls, f"must return a SHA-256 or nothing; got {digest!r}")


def check_loader_leaves_its_source_alone(cls: type[Loader], source: str) -> None:
    """Require that reading does not change a file."""
    file = Path(source)
    before = file.read_bytes() if file.is_file() else b""
    cls().load(source)
    require(before == (file.read_bytes() if file.is_file() else b""), cls, "must not change its source")
