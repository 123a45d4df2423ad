"""How something is explained: the contract of explainers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from .engine import Engine
from .results import Result
from .subject import Subject

Prior = Mapping[str, Sequence[Result]]


@runtime_checkable
class Explainer(Protocol):
    """A frozen dataclass whose fields are its options, its config keys and its provenance.

    Class variables
    ---------------
    name : the entry-point name and file name
    section : its slot in the report (``outcome``, ``drivers``, ``profiles``, ``dependence``,
        ``dalex``, ``shap``; any other name makes a section of its own)
    needs : names of explainers whose results it reads from `prior`; it does not run without them
    after : optional; names of explainers to run before it where they run at all, ``"*"`` for all others
    requires : methods the predictive distribution must support
    """

    name: ClassVar[str]
    section: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    requires: ClassVar[frozenset[str]]
    api_version: ClassVar[int]

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Ask the engine, return tidy results."""


def wishes(explainer: Explainer | type[Explainer]) -> tuple[str, ...]:
    """Return the names in ``after``; explainers that wish for nothing need not have it."""
    names: tuple[str, ...] = getattr(explainer, "after", ())
    return names
