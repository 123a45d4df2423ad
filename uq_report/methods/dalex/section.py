"""dalex's results, told by their kind."""

from __future__ import annotations

from typing import ClassVar

from ...document import slots
from ...evidence import ids
from ...evidence.importance import DalexParts
from ...evidence.outcomes import DalexPerformance
from ...evidence.profiles import DalexProfile
from ...evidence.rows import DalexRows
from ..shared.wording import LibrarySection


class DalexSection(LibrarySection):
    """dalex's importance, profiles, break-down and performance."""

    name: ClassVar[str] = ids.DALEX
    slot: ClassVar[str] = slots.LIBRARY
    shows: ClassVar[tuple[str, ...]] = (DalexPerformance.id, DalexParts.id, DalexProfile.id, DalexRows.id)
    title: ClassVar[str] = "DALEX"
    lead: ClassVar[str] = (
        "dalex's own methods on the prediction, and on entropy and nll as if they were predictions. dalex reports no "
        "sampling intervals: compare its ranks with permutation importance above, whose intervals cover new rows."
    )
