"""The lines of a refusal, typed."""

from __future__ import annotations

import textwrap
from typing import Any

import uq_report as uq
from uq_report.core.support.errors import SITE


def typed(refusal: str, **names: Any) -> Any:
    """Run the lines of a refusal as a user would type them, and return the subject of the last one."""
    lines = refusal.split("Type:\n\n")[1].split(f"\n\n{SITE}/", maxsplit=1)[0]
    body, _, last = textwrap.dedent(lines).rpartition("\n")
    scope = {"uq": uq, **names}
    exec(body, scope)
    return eval(last, scope)
