"""What judges a run: the contract of checks; they register under the entry-point group ``uq_report.checks``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from ..evidence.finding import Outcome
from ..evidence.run import Run
from .rule import Rule


@runtime_checkable
class Check(Protocol):
    """Reads a run's results and ends in one `Outcome`; checks never read each other.

    A check is a frozen dataclass: its fields are its options (``options={"checks.my_check": {...}}``).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    api_version: ClassVar[int]

    @property
    def rules(self) -> Sequence[Rule]:
        """One rule per code, with this object's thresholds."""

    def check(self, run: Run) -> Outcome:
        """Judge the run."""
