"""The entry of a run that is filed: what of its content the history keeps."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime

from ...core.support.text import is_sha256
from ...evidence.canonical import canonical
from ...evidence.json_values import plain
from ...evidence.outcomes import scores_of
from ...evidence.run import Run
from ...report.rating import rating
from .entry import HistoryEntry


def make_entry(name: str, run: Run, run_sha256: str, sums_sha256: str, before: HistoryEntry | None) -> HistoryEntry:
    """Return the entry of a run that follows `before`."""
    waived = sum(len(outcome.waived) for outcome in run.outcomes)
    bare = HistoryEntry(
        name=name,
        sequence=1 if before is None else before.sequence + 1,
        as_of=run.as_of,
        label=str(run.subject["label"]),
        task=str(run.subject["task"]),
        filed=datetime.now(UTC).isoformat(timespec="seconds"),
        run_sha256=run_sha256,
        inputs=inputs_key(run),
        findings=dict(Counter(f.severity for f in run.findings)) | ({"waived": waived} if waived else {}),
        checks=dict(Counter(outcome.state for outcome in run.outcomes)),
        scores=scores_of(run),
        rating=rating(run.outcomes).text,
        sums_sha256=sums_sha256,
        previous_hash="" if before is None else before.hash,
    )
    return HistoryEntry(**(asdict(bare) | {"hash": bare.expected_hash()}))


def inputs_key(run: Run) -> str:
    """Return one hash of the model, the data, the settings and all versions: equal keys promise equal numbers.

    Works on the facts alone, before any result is there. The report's date has no part in it, but what it decides
    does: whether each waiver holds and each action is overdue. Empty where the model has no hash, since nothing then
    says that it is the same.
    """
    if not is_sha256(str(run.subject.get("hashes", {}).get("model", ""))):
        return ""
    settings = {key: value for key, value in run.settings.items() if key != "as_of"}
    dated = [part["expires"] for part in settings.get("waivers", ())] + [
        part["due"] for part in settings.get("actions", ())
    ]
    content = {
        "subject": run.subject,
        "settings": settings,
        "environment": run.environment,
        "past": [run.as_of > day for day in dated],
    }
    return hashlib.sha256(canonical(plain(content, "run"))).hexdigest()
