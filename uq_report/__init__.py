"""Audit how a model's uncertainty arises, and report it.

The public names are resolved on first use, so that ``import uq_report`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import (
        attributions,
        audit,
        calibration,
        compare,
        dalex_explainer,
        explain,
        importance,
        load,
        profile,
    )
    from .config import Settings
    from .core.errors import UQReportError
    from .verification import verify

__version__ = "0.1.0"

_HOMES = {
    "explain": "api",
    "importance": "api",
    "profile": "api",
    "attributions": "api",
    "calibration": "api",
    "dalex_explainer": "api",
    "audit": "api",
    "compare": "api",
    "load": "api",
    "Settings": "config",
    "UQReportError": "core.errors",
    "verify": "verification",
}

__all__ = [
    "Settings",
    "UQReportError",
    "attributions",
    "audit",
    "calibration",
    "compare",
    "dalex_explainer",
    "explain",
    "importance",
    "load",
    "profile",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
