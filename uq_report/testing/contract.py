"""What every check of a plugin uses: the error, and the declarations that loading checks too."""

from __future__ import annotations

from typing import Any

from ..core.support.errors import UQReportError
from ..runner import plugins


class ContractError(UQReportError):
    """A plugin breaks its contract; the message names the plugin and the rule."""


def require(holds: bool, plugin: Any, rule: str) -> None:
    """Raise `ContractError` with the name of the plugin and the rule it breaks, unless it holds."""
    if not holds:
        name = getattr(plugin, "name", None) or getattr(plugin, "__name__", repr(plugin))
        raise ContractError(f"{name} {rule}.")


def require_declared(group: str, plugin: Any) -> None:
    """Require the members and class variables of the contract, as `plugins.load` does."""
    breaches = plugins.breaches(group, plugin)
    require(not breaches, plugin, f"breaks its contract: {'; '.join(breaches)}")
