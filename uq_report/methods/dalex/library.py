"""dalex, imported without the parts of plotly that only its plots use: they take longer than dalex's answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Any

_OF_PLOTS = ("plotly.express", "plotly.figure_factory")


def load() -> None:
    """Import dalex; whoever draws one of its plots later imports the rest then."""
    if sys.modules.get("dalex"):
        return
    with deferred(_OF_PLOTS), suppress(Exception):  # one that uses them while it is imported gets them below
        import dalex
    import dalex  # noqa: F401 - optional


@contextmanager
def deferred(names: Sequence[str]) -> Iterator[None]:
    """Let modules that are imported inside use others as ever, which are themselves imported when first used.

    Nobody outside sees the stand-ins: they are no modules of the process afterwards.
    """
    stand_ins = {name: _Deferred(name) for name in names if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name, stand_in in stand_ins.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]


class _Deferred(ModuleType):
    """Stands for a module: of that it has every name, while it is deferred as a function that imports it."""

    def __getattr__(self, name: str) -> Any:
        """Return what the module has under a name that modules do not have by themselves."""
        if name.startswith("__"):
            raise AttributeError(f"{self.__name__} is not imported yet, so it has no {name}")
        if sys.modules.get(self.__name__) is self:
            return _later(self.__name__, name)
        return getattr(import_module(self.__name__), name)


def _later(module: str, name: str) -> Callable[..., Any]:
    def called(*args: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*args, **options)

    return called
