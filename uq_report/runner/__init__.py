"""Runs an audit: chooses the adapter, prepares and orders the explainers, times them; a failure becomes NotRun."""

from .audit import Audited, facts, make_engine, run, side_by_side, single
from .changes import changes
from .choice import choose_adapter, unpack
from .prepare import load_measures, option_mistakes

__all__ = [
    "Audited",
    "changes",
    "choose_adapter",
    "facts",
    "load_measures",
    "make_engine",
    "option_mistakes",
    "run",
    "side_by_side",
    "single",
    "unpack",
]
