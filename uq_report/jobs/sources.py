"""Models and tables from what a user names: one loader each, with the options it takes, and the hash of its source."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ..core.model.adapter import Cautions, HasSha256, Loader, TakesOptions
from ..core.support.errors import InputError
from ..core.support.text import is_sha256, masked
from ..runner import plugins
from .audit_file import ModelPart

# Options of model loaders; they are fields of `ModelPart`, as are further ones that a loader lists.
_MODEL_OPTIONS = ("trusted", "allow_pickle")


class ReadModel(NamedTuple):
    """A model, the SHA-256 of its source or why there is none, and what is to be said of how it was loaded."""

    content: Any
    sha256: str
    caution: str = ""


def read_model(part: ModelPart, deny: Sequence[str] = ()) -> ReadModel:
    """Return a model; the hash of its source is checked before anything is loaded.

    Raises
    ------
    InputError
        Another hash than `part.sha256`, an option its loader does not take, or what the loader raises.
    """
    loader = _loader("model", part.source, deny)
    names = dict.fromkeys((*_MODEL_OPTIONS, *_options(loader)))
    options = {name: value for name in names if (value := getattr(part, name, None))}
    _refuse_options(loader, part.source, {name: f"model.{name}" for name in options})
    content, digest = _read(loader, part.source, options, expected=part.sha256)
    return ReadModel(content, digest, loader.caution(part.source, **options) if isinstance(loader, Cautions) else "")


def read_table(
    source: str, query: str = "", key: str = "data.query", offers: Mapping[str, Any] | None = None, deny: Any = ()
) -> tuple[pd.DataFrame, str]:
    """Return a table, and the hash of its source or why there is none.

    Parameters
    ----------
    source : str
    query : str
        An option that the loader must take if there is one; `key` names it in messages.
    key : str
    offers : mapping of str to value
        Options that it may take: `max_rows` and `seed` of a loader that draws rows as it reads.
    deny : sequence of str
    """
    loader = _loader("data", source, deny)
    options = {name: value for name, value in (offers or {}).items() if name in _options(loader)}
    if query:
        _refuse_options(loader, source, {"query": key})
        options["query"] = query
    table, digest = _read(loader, source, options)
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"data loader {loader.name!r} must return a DataFrame; got a {type(table).__name__}.")
    return table, digest


def check_source(part: ModelPart, deny: Sequence[str] = ()) -> None:
    """Refuse a model that no loader reads, or whose hash is another; nothing is loaded."""
    _hash(_loader("model", part.source, deny), part.source, part.sha256)


def source_name(source: str) -> str:
    """Return how a source is written in a report: no folders of this machine, no user, password or parameters.

    Examples
    --------
    >>> source_name("/home/me/rows.csv"), source_name("made:model"), source_name("models:/credit/3")
    ('rows.csv', 'made:model', 'models:/credit/3')
    >>> source_name("postgresql://me:secret@host/db?password=x"), source_name("sqlite:////srv/data/rows.db")
    ('postgresql://host/db', 'sqlite:///rows.db')
    """
    if source.startswith("command:"):
        return " ".join(Path(word).name for word in source.split())
    if source.startswith("planned:"):
        return f"planned:{Path(source.removeprefix('planned:')).name}"
    shown = masked(source)
    if shown.startswith(("sqlite", "file")) and "://" in shown:
        return f"{shown.partition(':')[0]}:///{Path(shown).name}"
    return shown if shown != source or re.match(r"[\w+.-]{2,}:", source) else Path(source).name


def _loader(kind: str, source: str, deny: Sequence[str]) -> Loader:
    """Return the loader that reads a source; more than one is an error."""
    loaders: list[Loader] = [plugins.load(plugin)() for plugin in plugins.find(plugins.LOADERS, deny)]
    of_kind = [loader for loader in loaders if loader.kind == kind]
    fitting = [loader for loader in of_kind if loader.matches(source)]
    if len(fitting) != 1:
        names = ", ".join(loader.name for loader in fitting or of_kind)
        count = "two loaders read it" if fitting else "no loader reads it"
        raise InputError(
            f"{kind} must be read by one loader; got {source_name(source)!r}: {count}. Loaders of the {kind}: {names}."
        )
    return fitting[0]


def _options(loader: Loader) -> tuple[str, ...]:
    return loader.options if isinstance(loader, TakesOptions) else ()


def _refuse_options(loader: Loader, source: str, keys: Mapping[str, str]) -> None:
    """Refuse an option that the loader does not take; `keys` names each in messages."""
    for name, key in keys.items():
        if name not in _options(loader):
            what = f"the loader {loader.name!r} of {source_name(source)} does not take it"
            raise InputError(f"{key} must be left out; {what}. Remove it.")


def _read(loader: Loader, source: str, options: Mapping[str, Any], expected: str = "") -> tuple[Any, str]:
    """Return what a loader reads, if its source stays as it is meanwhile."""
    before, digest = _stamp(source), _hash(loader, source, expected)
    content = loader.load(source, **options)
    if _stamp(source) != before:
        raise InputError(f"{source_name(source)} must stay as it is while it is read; it was changed. Try again.")
    return content, digest


def _hash(loader: Loader, source: str, expected: str) -> str:
    """Return the hash of a source, or why there is none; refuse another than is expected."""
    digest = loader.sha256(source) if isinstance(loader, HasSha256) else _file_sha256(source)
    if expected and digest != expected:
        got = digest if is_sha256(digest) else "a source without a hash"
        raise InputError(
            f"model.sha256 must be the hash of {source_name(source)}; got {expected}, and the source has {got}. "
            "It is another model: find out why before you change the key."
        )
    return digest or f"not available: read from {source_name(source)}"


def _stamp(source: str) -> tuple[int, int, int] | None:
    """Return what tells that a file was replaced or written to, or None for what is no file."""
    file = Path(source)
    if not file.is_file():
        return None
    status = file.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _file_sha256(source: str) -> str:
    if not Path(source).is_file():
        return ""
    try:
        with Path(source).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{source_name(source)} must be readable; got {error.strerror}. Check its rights.") from error
