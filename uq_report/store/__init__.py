"""Runs on disk: run.json, which holds everything a report needs, and the folder around it."""

from .codec import as_saved, dumps, loads, outcome_as_saved, plain, sha256
from .folder import read, write, write_files

__all__ = ["as_saved", "dumps", "loads", "outcome_as_saved", "plain", "read", "sha256", "write", "write_files"]
