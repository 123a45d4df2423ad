"""From ``audit.toml`` and flags to one description of an audit."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from ..core.support.errors import InputError
from ..core.support.safe_loading import SMALL
from ..evidence.disk import file_content
from ..runner.settings import BENCHMARKS, refuse, settled
from .audit_file import AuditFile

DEFAULT_FOLDER = "uq-report"
DEEPEST = 20  # tables and lists in each other
# Keys that name a place, which is relative to the file they are written in.
_PLACES = (
    *("model.source", "data.source", "data.train", "run.benchmark"),
    *("output.folder", "output.templates", "output.history"),
)


class Description(NamedTuple):
    """What a file and changes describe: the audit, every mistake in it, and the name of the file.

    With mistakes, the audit is what is left without them, or None; it serves to look for more.
    """

    audit: AuditFile | None
    mistakes: tuple[str, ...]
    who: str

    def left(self) -> AuditFile:
        """Return the audit, to look for more mistakes in; raise those there are if nothing is left of it."""
        if self.audit is None:
            refuse(self.mistakes, self.who)
        return cast("AuditFile", self.audit)


def read_audit(path: str | Path) -> AuditFile:
    """Return the audit a TOML file describes; places in it are relative to the file.

    Raises
    ------
    InputError
        The file cannot be read or is no TOML (with the line), or has mistakes: all of them, by key.
    """
    description = describe_audit(path)
    refuse(description.mistakes, description.who)
    return description.left()


def describe_audit(path: str | Path | None, changes: Mapping[str, Any] | None = None) -> Description:
    """Return what a file, if there is one, and changes to it describe; a change wins over the file.

    Parameters
    ----------
    path : str or Path, optional
        An ``audit.toml``. Places in it are relative to it, those in `changes` to the working folder.
    changes : mapping of str to value
        By dotted key, ``{"run.seed": 1}``, or by section, ``{"run": {"seed": 1}}``.

    Raises
    ------
    InputError
        The file cannot be read, or is no TOML (with the line). Mistakes are returned.
    """
    content: dict[str, Any] = {}
    if path is not None:
        base, content = Path(path).resolve().parent, toml_content(Path(path), "audit file")
        _place_all(content, base)
    for key, value in _by_key(changes or {}):
        _put(content, key, value)
    output = content.setdefault("output", {})
    if path is not None and isinstance(output, dict) and not output.get("history"):
        output.setdefault("folder", str(base / DEFAULT_FOLDER))
    audit, mistakes = settled(AuditFile, content)
    if audit is not None:
        mistakes += audit.mistakes()
    return Description(audit, tuple(dict.fromkeys(mistakes)), "" if path is None else Path(path).name)


def _by_key(changes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield changes by dotted key; one of a section is one of each of its keys, and leaves the others."""
    for key, value in changes.items():
        if isinstance(value, Mapping) and "." not in key:
            yield from ((f"{key}.{inner}", content) for inner, content in value.items())
        else:
            yield key, value


def toml_value(text: str) -> Any:
    """Return the value a text spells in TOML; anything else is the text itself.

    Examples
    --------
    >>> toml_value("3"), toml_value('["a", "b"]'), toml_value("increasing")
    (3, ['a', 'b'], 'increasing')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def toml_content(file: Path, what: str) -> dict[str, Any]:
    """Return the content of a TOML file; `what` names it where it cannot be read."""
    data = file_content(file, f"{what} must be readable", most=SMALL)
    try:
        content = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # also of a number of thousands of digits
        raise InputError(f"{file.name} must be TOML in UTF-8; got something else: {error}. Correct it.") from error
    if not _is_flat(content, DEEPEST):
        raise InputError(f"{file.name} must have at most {DEEPEST} tables in each other; got more. Correct it.")
    return content


def _is_flat(value: Any, depth: int) -> bool:
    """Return whether tables and lists are at most `depth` deep in each other."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth >= 0 and all(_is_flat(item, depth - 1) for item in inner)


def _put(content: dict[str, Any], key: str, value: Any) -> None:
    """Set a value by its dotted key; what stands in the way of a table stays, as a mistake to be reported."""
    *path, last = key.split(".")
    for step in path:
        inner = content.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        content = inner
    content[last] = str(value) if isinstance(value, Path) else value


def _place_all(content: dict[str, Any], base: Path) -> None:
    """Write every place in the content as seen from the folder of its file."""
    for section, name in (key.split(".") for key in _PLACES):
        table = content.get(section)
        if isinstance(table, dict) and isinstance(table.get(name), str):
            table[name] = _place(table[name], base)


def _place(source: str, base: Path) -> str:
    """Return a relative file name as seen from `base`; addresses and ``module:factory`` stay."""
    if not source or source in BENCHMARKS or ":" in source or Path(source).is_absolute():
        return source
    return str(base / source)
