"""The works that rules, methods and findings rest on; every citation in a report comes from here."""

import re
import tomllib
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple


class Work(NamedTuple):
    """One source: as it is cited in running text, and in the list of references."""

    short: str
    full: str


_FILE = Path(__file__).with_suffix(".toml")
WORKS = MappingProxyType({key: Work(**work) for key, work in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()})
_KEYED = re.compile(rf"\b({'|'.join(WORKS)}):\s*")


def cite(reference: str) -> str:
    """Return references ``work:place``, parted by ``; ``, in words; plain words are returned as they are.

    Examples
    --------
    >>> cite("wood:section 3.5; breiman"), cite("Owner's rule: none")
    ('Wood et al., section 3.5; Breiman 2001', "Owner's rule: none")
    """
    return "; ".join(map(_cited, reference.split("; ")))


def _cited(reference: str) -> str:
    if reference in WORKS:
        return WORKS[reference].short
    return _KEYED.sub(lambda match: f"{WORKS[match[1]].short}, ", reference)
