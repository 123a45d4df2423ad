"""Files that are loaded: their size is bounded before they are read, the nesting of JSON before it is parsed."""

import json
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn

from .errors import InputError

SMALL, LARGE = 2**24, 2**30  # bytes: of what people or a history write, and of a run
DEEPEST = 50  # brackets within each other; a run has at most a dozen
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_OTHERS = bytes({*range(256)} - {*b'[]{}"'})


def bytes_of(file: Path, most: int = SMALL) -> bytes:
    """Return the content of a file; refuse one of more than `most` bytes, of which no more is read.

    Raises
    ------
    InputError
        It is too large.
    OSError
        It cannot be read.
    """
    with file.open("rb") as stream:
        data = stream.read(min(file.stat().st_size, most) + 1)
        data += stream.read(most + 1 - len(data)) if len(data) <= most else b""  # of a pipe, which has no size
    if len(data) > most:
        raise InputError(f"{file} must have at most {most} bytes; it has more. Restore it from a copy.")
    return data


def json_of(data: bytes | str, source: str) -> Any:
    """Return the value of JSON; each key stands once in its object, and numbers are finite.

    Raises
    ------
    InputError
        It is something else, or nested too deeply.

    Examples
    --------
    >>> json_of(b'{"a": [1, 2.5]}', "x.json")
    {'a': [1, 2.5]}
    >>> json_of(b'{"a": 1, "a": 2}', "x.json")
    Traceback (most recent call last):
        ...
    uq_report.core.support.errors.InputError: x.json must be JSON; got something else (the key 'a' stands twice). ...
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    depth = nesting(raw)
    if depth > DEEPEST:
        raise InputError(f"{source} must be nested at most {DEEPEST} deep; got {depth}. Restore it from a copy.")
    try:
        return json.loads(raw, object_pairs_hook=_object, parse_constant=_refuse)
    except ValueError as error:
        raise InputError(
            f"{source} must be JSON; got something else ({error}). Restore it from a copy, or name another."
        ) from error


def nesting(data: bytes) -> int:
    r"""Return how deep the brackets of JSON are, those in texts apart.

    Examples
    --------
    >>> nesting(b'{"a[[[\\"[": [1, [2]]}'), nesting(b"1")
    (3, 0)
    """
    text = data.replace(rb"\\", b"__").replace(rb"\"", b"__")
    brackets = b"".join(text.translate(None, _OTHERS).split(b'"')[::2])
    return max(accumulate(map(_STEPS.__getitem__, brackets), initial=0))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return content


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
