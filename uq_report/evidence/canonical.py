"""The one form of JSON that is written and hashed."""

from __future__ import annotations

import json
from typing import Any


def canonical(content: Any) -> bytes:
    """Return JSON values as bytes: equal values give equal bytes."""
    text = json.dumps(content, sort_keys=True, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"
