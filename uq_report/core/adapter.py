"""How a model becomes a predictive distribution: the contract of adapters."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from .arrays import Table
from .predictive import Distribution

API_VERSION = 1


class Match(NamedTuple):
    """How close an adapter is to a model: the smallest distance wins, a tie is an error.

    0 is the object's own class, 1 a named family, 2 a general interface, 3 a last resort.
    """

    distance: int
    reason: str


@runtime_checkable
class Adapter(Protocol):
    """Turns rows into predictive distributions of one family of models.

    An adapter may also define ``unpack(model) -> dict`` when the object brings its own data:
    the dictionary holds arguments of `uq_report.explain` (model, X, y, train, label ...).
    It may define ``rows_together(model) -> int | None``: where `batch_rows` is None, how many rows a call may
    hold when they are variants of the same columns, since a call has a cost of its own (pipelines).
    One that holds predictions of the given rows and no model says so in ``only_given_rows``, the reason why
    changed rows are refused, and defines ``take(model, rows)`` for a subject that keeps some rows.
    """

    name: ClassVar[str]
    api_version: ClassVar[int]

    def matches(self, model: Any) -> Match | None:
        """Say how close this adapter is to `model`, without importing the model's library."""

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return one distribution per row of `X`. Must not keep or change `X`."""

    def batch_rows(self, model: Any) -> int | None:
        """Return how many rows a call should get, or None for the subject's own rows.

        A number is for models whose rows do not depend on their neighbours to the last bit (trees);
        models that multiply matrices (BLAS) change last bits with the rows of a call, so None.
        """


def class_names(model: Any) -> tuple[str, ...]:
    """Return ``library.Class`` for every class the model inherits from, nearest first.

    Examples
    --------
    >>> from collections import OrderedDict
    >>> class_names(OrderedDict())
    ('collections.OrderedDict', 'builtins.dict', 'builtins.object')
    """
    own: Any = type(model)
    return _names_of(own)


@lru_cache(maxsize=256)
def _names_of(cls: type) -> tuple[str, ...]:
    return tuple(f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in cls.__mro__)
