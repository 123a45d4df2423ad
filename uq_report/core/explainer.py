"""How something is explained: the contract of explainers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

from .support.options import CheckedOptions

if TYPE_CHECKING:
    from .engine.fast_path_evaluator import Engine
    from .model.results import Result
    from .model.subject import Subject

Prior: TypeAlias = "Mapping[str, Sequence[Result]]"
LAST = 100  # the priority of an explainer that has none of its own


@dataclass(frozen=True, kw_only=True)
class MethodCard:
    """A method in short, as the report prints it; the fields are plain sentences.

    Parameters
    ----------
    title, definition : str
    assumes, fails : str
        What must hold, and when the numbers mislead.
    interval : str
        What the intervals cover.
    references : str
        Works of `core.references` as ``work:place; work``, or plain words.
    """

    title: str
    definition: str
    assumes: str = ""
    fails: str = ""
    interval: str = ""
    references: str = ""


@runtime_checkable
class Explainer(Protocol):
    """A frozen dataclass whose fields are its options, its config keys and its provenance.

    Class variables
    ---------------
    name : the entry-point name and file name
    section : the slot of the report its results stand in (`uq_report.document.slots`), unless a section of a plugin
        shows them; any other name puts them behind the slots
    needs : names of explainers whose results it reads from `prior`; it does not run without them
    requires : methods the predictive distribution must have
    """

    name: ClassVar[str]
    section: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    requires: ClassVar[frozenset[str]]
    api_version: ClassVar[int]

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Ask the engine, return tidy results; data and model stay as they are, or the audit stops."""


class BuiltInExplainer(CheckedOptions):
    """What most explainers of the package have: they need no other's results and take any distribution."""

    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1


@runtime_checkable
class RunsAfter(Protocol):
    """Optional: an explainer that runs after others where they run at all; ``"*"`` stands for all others."""

    after: ClassVar[tuple[str, ...]]


@runtime_checkable
class HasCard(Protocol):
    """Optional: an explainer with a method card of its own; without, its docstring is the card."""

    card: ClassVar[MethodCard]


@runtime_checkable
class HasPriority(Protocol):
    """Optional: how early an explainer runs, which matters under a limit of time; 1 before 2, and `LAST` without."""

    priority: ClassVar[int]


@runtime_checkable
class Costs(Protocol):
    """Optional: an explainer that says what it costs before it runs, so that a limit of time can pass over it."""

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return about how many rows it will have predicted."""


def priority_of(explainer: Explainer) -> int:
    """Return how early an explainer runs."""
    return explainer.priority if isinstance(explainer, HasPriority) else LAST


def runs_after(explainer: Explainer | type[Explainer]) -> tuple[str, ...]:
    """Return the names in ``after``; explainers that wish for nothing need not have it."""
    return explainer.after if isinstance(explainer, RunsAfter) else ()
