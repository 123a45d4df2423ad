"""The recommendation of a filed run, as its entry recorded it; nothing is believed of a run that was changed."""

from __future__ import annotations

import logging

from ...core.errors import UQReportError
from ...document.document import Badge
from ...evidence import saved, sums
from ...evidence.sums import RUN
from ...report.rating import WORDS, rating
from ..history import Filed

UNREADABLE = Badge("Cannot be read", "unknown")
_log = logging.getLogger(__name__)


def rated(filed: Filed) -> Badge:
    """Return the recommendation of a run that is kept; of an entry that has none, the run is read."""
    try:
        if not sums.match(filed.folder, {RUN: filed.entry.run_sha256}, [RUN]):
            _log.warning("Not rated: %s: run.json is not the file that was filed", filed.entry.reference)
            return UNREADABLE
        if filed.entry.rating in WORDS:
            return WORDS[filed.entry.rating]
        return rating(saved.read(filed.folder)[0].outcomes)
    except UQReportError as error:
        _log.warning("Not rated: %s: %s", filed.entry.reference, error)
        return UNREADABLE
