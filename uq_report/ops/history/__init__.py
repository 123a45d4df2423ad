"""Filed runs: a folder per run, an index, locks, retention."""

from .entry import Entry, inputs_key
from .filing import Filed, Filing
from .heads import Heads, put
from .history import History
from .retention import Retention, delete

__all__ = ["Entry", "Filed", "Filing", "Heads", "History", "Retention", "delete", "inputs_key", "put"]
