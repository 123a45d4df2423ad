"""Filed runs: a folder per run, an index, locks, retention. Filing one needs more imports: `filing` and `making`."""

from .entry import FiledRun, HistoryEntry
from .heads import Heads, put
from .history import History, Retention, delete

__all__ = ["FiledRun", "Heads", "History", "HistoryEntry", "Retention", "delete", "put"]
