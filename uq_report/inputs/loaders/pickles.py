"""Pickles: why they are refused, and how one is loaded where the user allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.errors import InputError

USED = "a pickle: loading it ran code of the file, allowed by allow_pickle"


def refuse_unless(allowed: bool, source: str, what: str, remedy: str) -> None:
    """Refuse a pickle that the user has not allowed, before a byte of it is read."""
    if not allowed:
        raise InputError(
            f"model must be in a format that runs no code; got {source!r}, {what}. A pickle runs code when it is "
            f"loaded: {remedy} If the file is your own, allow it: --allow-pickle (model.allow_pickle), "
            "best with its hash in model.sha256."
        )


def loaded(load: Callable[[], Any], source: str) -> Any:
    """Return what `load` returns; whatever unpickling raises becomes one clear error."""
    try:
        return load()
    except Exception as error:  # a pickle may raise anything: it is code
        raise InputError(
            f"model must be a readable pickle; got {source!r}: {type(error).__name__}: {error}. "
            "Check the file, and that the libraries it was made with are installed in the same versions."
        ) from error
