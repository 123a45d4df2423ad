"""Models from code: pickles, only where the user allows the danger by name, and functions that return a model."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal

import joblib

from ...core.support.errors import FOREIGN, InputError, words_of
from ...core.support.user_modules import look_in

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
    except FOREIGN as error:  # a pickle may raise anything: it is code
        raise InputError(
            f"model must be a readable pickle; got {source!r}: {words_of(error)}. "
            "Check the file, and that the libraries it was made with are installed in the same versions."
        ) from error


class FactoryLoader:
    """Imports a module, installed or of the working folder, and calls the named function to get the model.

    It, and what it imports from beside it, is the only code that is taken from that folder, and only under names that
    no installed or standard module has. This runs the module's code: name only code you trust.
    """

    name: ClassVar[str] = "factory"
    kind: ClassVar[Literal["model"]] = "model"
    api_version: ClassVar[int] = 1

    def matches(self, source: str) -> bool:
        """Match ``package.module:function``."""
        return re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", source) is not None

    def load(self, source: str, **options: Any) -> Any:
        """Return what the function returns; `options` are its arguments."""
        module_name, _, function = source.partition(":")
        look_in(str(Path.cwd()), [module_name.partition(".")[0]])
        try:
            module = import_module(module_name)
        except FOREIGN as error:
            raise InputError(
                f"model must be module:function of a module that can be imported; got {source!r}: {words_of(error)}. "
                "Run from the folder that holds the module, or install it."
            ) from error
        factory = getattr(module, function, None)
        if not callable(factory):
            raise InputError(
                f"model must be module:function; got {source!r}, and {module_name} has no function {function!r} "
                f"({getattr(module, '__file__', None) or 'built in'}). Check the spelling; a module of the "
                "working folder needs a name that no installed one has."
            )
        try:
            return factory(**options)
        except FOREIGN as error:  # the user's code: whatever it raises is told with its name
            raise InputError(
                f"model: the function {source!r} must return the model; got {words_of(error)}. Fix it."
            ) from error
