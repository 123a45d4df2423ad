"""Models from code: ``module:factory``."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal

from ...core.support.errors import InputError, words_of
from ...core.support.user_modules import look_in


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
        except ImportError as error:
            raise InputError(
                f"model must be module:function of a module that can be imported; got {source!r}: {error}. "
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
        except Exception as error:  # the user's code: whatever it raises is told with its name
            raise InputError(
                f"model: the function {source!r} must return the model; got {words_of(error)}. Fix it."
            ) from error
