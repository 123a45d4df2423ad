"""Filed runs: a folder per run, an index, locks, retention. Filing one needs more imports: `filing` and `making`."""

from .entry import Entry, Filed
from .heads import Heads, put
from .history import History
from .retention import Retention, delete

__all__ = ["Entry", "Filed", "Heads", "History", "Retention", "delete", "put"]
