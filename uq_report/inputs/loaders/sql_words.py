"""What may be said of a database and its errors: never a password, and whether to try again later."""

from __future__ import annotations

import re
from urllib.parse import unquote

from ...core.support.errors import InputError

_HIDDEN = "pass|pwd|secret|token|key"
_LATER = (
    "is locked",
    "refused",
    "timeout",
    "timed out",
    "starting up",
    "shutting down",
    "terminating connection",
    "server closed the connection",
    "too many clients",
    "too many connections",
    "could not obtain lock",
    "lock timeout",
)
_READS = ("select", "with", "values", "table")


def masked(source: str) -> str:
    """Return a URL with *** for its password and for secrets among its parameters.

    Examples
    --------
    >>> masked("postgresql://me:p@ss@db/x?sslpassword=abc&application_name=audit")
    'postgresql://me:***@db/x?sslpassword=***&application_name=audit'
    """
    url = re.sub(r"(://[^:/@\s]*):[^\s]*@", r"\1:***@", source)
    return re.sub(rf"(?i)([?&][^=&\s]*(?:{_HIDDEN})[^=&\s]*=)[^&\s]*", r"\1***", url)


def message(error: BaseException, source: str) -> str:
    """Return the first line of a driver's message without any secret of `source`."""
    text = str(getattr(error, "orig", None) or error).strip()
    line = text.splitlines()[0] if text else type(error).__name__
    for secret in _secrets(source):
        line = line.replace(secret, "***")
    return line


def is_passing(error: BaseException) -> bool:
    """Say whether a database is locked, down or full for now, so that the same may work later."""
    text = str(getattr(error, "orig", None) or error).lower()
    return any(word in text for word in _LATER)


def check_query(query: str, source: str) -> str:
    """Return one reading statement without its semicolon; refuse anything else."""
    plain = query.strip().rstrip(";").strip()
    words = re.findall(r"[a-z]+", re.sub(r"(?s)/\*.*?\*/|--[^\n]*", " ", plain).lower())
    if not words or words[0] not in _READS:
        got = words[0].upper() if words else "none"
        raise InputError(
            f"data.query must be one SELECT for {masked(source)!r}; got {got}. State the rows to audit as a SELECT."
        )
    return plain


def _secrets(source: str) -> list[str]:
    """Return the secrets of a URL as written and decoded, the longest first."""
    secrets = re.findall(r"://[^:/@\s]*:([^\s]*)@", source)
    secrets += re.findall(rf"(?i)[?&][^=&\s]*(?:{_HIDDEN})[^=&\s]*=([^&\s]*)", source)
    return sorted({*secrets, *map(unquote, secrets)} - {""}, key=len, reverse=True)
