"""Runs of older formats: each step turns the JSON of one format into the next, in place of its reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.errors import InputError
from ..core.run import FORMAT

Step = Callable[[dict[str, Any]], dict[str, Any]]

# Format n -> the step to n + 1. A new format comes with the step from the one before it.
STEPS: dict[int, Step] = {}


def migrated(
    content: Mapping[str, Any], source: str, steps: Mapping[int, Step] = STEPS, target: int = FORMAT
) -> dict[str, Any]:
    """Return a run's JSON in the format of this version, and that of its challenger.

    Raises
    ------
    InputError
        If the format is newer, or no steps lead from it to this one; the message says what to do.
    """
    now = dict(content)
    while now["format"] != target:
        found = now["format"]
        if found > target or found not in steps:
            remedy = "Upgrade uq_report to read it." if found > target else "Run the audit again."
            raise InputError(f"{source} must have format {target}; got format {found}. {remedy}")
        now = {**steps[found](now), "format": found + 1}
    inner = now.get("challenger")
    if isinstance(inner, dict) and "format" in inner:
        now["challenger"] = migrated(inner, source, steps, target)
    return now
