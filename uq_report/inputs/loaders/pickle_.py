"""Models from joblib and pickle files: only where the user allows the danger by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

import joblib

from ...core.support.errors import InputError, words_of

USED = "a pickle: loading it ran code of the file, allowed by allow_pickle"


class PickleLoader:
    """Reads ``.joblib``, ``.pkl`` and ``.pickle`` with joblib, if `allow_pickle` is True.

    Loading a pickle runs whatever code its author put in it. A hash (``model.sha256``) is compared
    before the file is opened here; it says that the file is the one you know, not that it is harmless.
    """

    name: ClassVar[str] = "pickle"
    kind: ClassVar[Literal["model"]] = "model"
    api_version: ClassVar[int] = 1
    options: ClassVar[tuple[str, ...]] = ("allow_pickle",)

    def matches(self, source: str) -> bool:
        """Match names that end in .joblib, .pkl or .pickle, in order to refuse them with the remedy too."""
        return Path(source.lower()).suffix in (".joblib", ".pkl", ".pickle")

    def load(self, source: str, *, allow_pickle: bool = False) -> Any:
        """Return the model, or refuse before the file is opened."""
        remedy = "save the model with skops.io.dump, or name a function that returns it."
        refuse_unless(allow_pickle, source, "a pickle", remedy)
        return loaded(lambda: joblib.load(source), source)

    def caution(self, source: str, *, allow_pickle: bool = False) -> str:
        """Say that code of the file was run."""
        return USED if allow_pickle else ""


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
            f"model must be a readable pickle; got {source!r}: {words_of(error)}. "
            "Check the file, and that the libraries it was made with are installed in the same versions."
        ) from error
