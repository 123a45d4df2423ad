"""The contracts of adapters, which make predictive distributions of models, and of loaders of models and tables."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

from ..predictive import Distribution
from ..support.arrays import AnyArray, FloatArray, IntArray, Table
from .derivatives import Derivatives

API_VERSION = 1


class Match(NamedTuple):
    """How close an adapter is to a model: the smallest distance wins, a tie is an error.

    0 is the object's own class, 1 a named family, 2 a general interface, 3 a last resort.
    """

    distance: int
    reason: str


@runtime_checkable
class Adapter(Protocol):
    """Turns rows into predictive distributions of one family of models."""

    name: ClassVar[str]
    api_version: ClassVar[int] = API_VERSION

    def matches(self, model: Any) -> Match | None:
        """Say how close this adapter is to `model`, an object, without importing the model's library."""

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return one distribution per row of `X`. Must not keep or change `X`."""

    def batch_rows(self, model: Any) -> int | None:
        """Return how many rows a call should get, or None for the subject's own rows.

        A number is for models whose rows do not depend on their neighbours to the last bit (trees);
        models that multiply matrices (BLAS) change last bits with the rows of a call, so None.
        """
        return None


@runtime_checkable
class Unpacks(Protocol):
    """Optional: an adapter of objects that bring their own data."""

    def unpack(self, model: Any) -> Mapping[str, Any]:
        """Return arguments of `uq_report.explain`: model, X, y, train, label ..."""


@runtime_checkable
class SharesCalls(Protocol):
    """Optional: an adapter of models whose calls have a cost of their own (pipelines)."""

    def rows_together(self, model: Any) -> int | None:
        """Return how many rows a call may hold that are variants of the same columns, where `batch_rows` is None."""


@runtime_checkable
class FixedRowsOnly(Protocol):
    """Optional: an adapter of stored predictions, without a model; ``only_given_rows`` is why changed rows are refused.

    Both members belong together.
    """

    only_given_rows: ClassVar[str]

    def take(self, model: Any, rows: IntArray) -> Any:
        """Return the stored predictions of some rows, for a subject that keeps only these."""


@runtime_checkable
class BindsRows(Protocol):
    """Optional: an adapter of predictions that do not know their rows until the audit has them."""

    def bind(self, model: Any, X: Table) -> Any:
        """Return the model with the rows its predictions are of."""


@runtime_checkable
class Combines(Protocol):
    """Optional: an adapter of several models, each read by the adapter that is closest to it."""

    def parts(self, model: Any) -> Sequence[Any]:
        """Return the models."""

    def combining(self, adapters: Sequence[Adapter]) -> Adapter:
        """Return the adapter that reads part i by ``adapters[i]``."""


@runtime_checkable
class Differentiates(Protocol):
    """Optional: an adapter that knows the derivatives of the parameters of its family."""

    def derivatives(self, model: Any, X: Table, order: int) -> Derivatives | None:
        """Return the derivatives by all columns up to `order`, NaN where no rule holds; None if there is no rule."""


@runtime_checkable
class HasScores(Protocol):
    """Optional: an adapter of models whose prediction is a function of a score, such as a sum over columns or trees.

    Both members belong together.
    """

    def score(self, model: Any, X: Any) -> FloatArray | None:
        """Return the score of each row, shape (n, k): before link and probabilities; None if `model` has none."""

    def from_score(self, model: Any, scores: FloatArray) -> Distribution:
        """Return the distribution that `predict` gives rows of these scores, shape (n, k). May overwrite `scores`."""


@runtime_checkable
class Decides(Protocol):
    """Optional: an adapter of classifiers that decide for a class by themselves."""

    def decide(self, model: Any, X: Table) -> AnyArray | None:
        """Return the class label that the model's own ``predict`` gives each row; None if it has none."""


@runtime_checkable
class PicksOutput(Protocol):
    """Optional: an adapter of models that predict several outputs, each of which can be a model of its own.

    Both members belong together.
    """

    def outputs(self, model: Any) -> int:
        """Return how many outputs a model has; 1 where it does not say."""

    def output(self, model: Any, position: int) -> tuple[Any, str]:
        """Return one output as a model, and what a reader must know of it."""


@runtime_checkable
class Randomises(Protocol):
    """Optional: an adapter of models that are random only if asked to be (dropout)."""

    def as_random(self, model: Any) -> Adapter:
        """Return the adapter that lets the model draw anew in each call."""


class Advice(NamedTuple):
    """What to type for a model that no adapter reads as it is: the smallest distance wins, as of a `Match`.

    `lacks` completes "the model ..."; `code` works when typed, with the names of `core.support.errors.to_type`.
    """

    distance: int
    lacks: str
    code: str


@runtime_checkable
class Advises(Protocol):
    """Optional: an adapter that knows how models it cannot read become models that it can."""

    def advise(self, model: Any) -> Advice | None:
        """Return what to type for `model`, without importing its library; None if this adapter cannot help."""


@runtime_checkable
class Remarks(Protocol):
    """Optional: an adapter that has something to say of how it calls a model."""

    def remarks(self, model: Any) -> tuple[str, ...]:
        """Return sentences for the report; none for a plain model."""


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


@runtime_checkable
class Loader(Protocol):
    """Reads one kind of source.

    Class variables
    ---------------
    name : the entry-point name
    kind : ``"model"`` or ``"data"``
    """

    name: ClassVar[str]
    kind: ClassVar[Literal["model", "data"]]
    api_version: ClassVar[int]

    def matches(self, source: str) -> bool:
        """Say whether this loader reads `source`, from its spelling alone."""

    def load(self, source: str, **options: Any) -> Any:
        """Return the model, or the table as a `pandas.DataFrame`."""


@runtime_checkable
class AwaitsPredictions(Protocol):
    """Optional: a model of a loader whose predictions another program makes; those it lacks are made up until then."""

    def refuse_pending(self) -> None:
        """Raise `PendingError` if predictions were asked for that it lacks."""


@runtime_checkable
class TakesOptions(Protocol):
    """Optional: a loader with ``options``, the names of the keyword arguments of `load` that users may give."""

    options: ClassVar[tuple[str, ...]]


@runtime_checkable
class Cautions(Protocol):
    """Optional: a loader of models that says what a reader of the report must know of how it loaded one."""

    def caution(self, source: str, **options: Any) -> str:
        """Return the sentence, or the empty string."""


@runtime_checkable
class HasSha256(Protocol):
    """Optional: a loader of sources that are no files, or of files that are read in another way."""

    def sha256(self, source: str) -> str:
        """Return the SHA-256 of the source; the empty string where there is none."""
