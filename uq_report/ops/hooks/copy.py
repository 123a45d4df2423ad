"""A copy of the report in a folder, such as a share that people read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...evidence import saved
from ..history.names import slug


def copy(folder: Path, name: str, reports: Sequence[Path], summary: Mapping[str, Any]) -> Path:
    """Put the report files and summary.json in the audit's folder within `folder`, all or none; return it.

    Of a run that failed there is the summary alone; the last report stays beside it.
    """
    content = json.dumps(summary, indent=2, sort_keys=True).encode() + b"\n"
    files = {file.name: file.read_bytes() for file in reports}
    return saved.write_files(folder / slug(name), {**files, "summary.json": content})
