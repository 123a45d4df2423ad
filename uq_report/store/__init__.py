"""Runs on disk: run.json, which holds everything a report needs, the folder around it, and histories of folders."""

from ..evidence.codec import as_saved, dumps, loads, outcome_as_saved, plain, sha256
from .entry import Entry, inputs_key
from .filing import Filed, Filing
from .folder import read, write, write_files
from .history import History
from .retention import Retention, delete

__all__ = [
    "Entry",
    "Filed",
    "Filing",
    "History",
    "Retention",
    "as_saved",
    "delete",
    "dumps",
    "inputs_key",
    "loads",
    "outcome_as_saved",
    "plain",
    "read",
    "sha256",
    "write",
    "write_files",
]
