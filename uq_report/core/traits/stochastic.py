"""Models whose predictions are random: noticed by predicting twice, read as members of a mixture, or given a seed."""

import inspect
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, update_wrapper
from threading import Lock
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, cast, get_args, runtime_checkable

import numpy as np

from ...distributions import Categorical, CategoricalMixture, Mixture, Normal, NormalMixture
from ..engine.fast_path_evaluator import Engine
from ..model.adapter import Adapter, FixedRowsOnly, Match, Randomises, Remarks
from ..model.subject import Subject
from ..predictive import Distribution
from ..support.arrays import FloatArray, Table, take_rows
from ..support.errors import InputError, ModelError, UnsupportedError
from .interop import global_random_state_restored

Stochastic = Literal["members", "seed"]
TOLERANCE = 1e-6  # of the largest value: what graphics cards and threads leave in single precision
BATCH_TOLERANCE = 1e-4  # the same, where the shapes of arrays differ too
ROWS = 100
MEMBERS = 20
SEEDS = ("random_state", "seed")
_CELLS = 2_500_000
_DRAWING = Lock()  # the global streams are one for all threads


class CallDifference(NamedTuple):
    """How far two predictions of the same rows lie apart: the largest difference, its kind, and the rows that differ.

    `size` is in the unit of the kind; it counts where it is above `TOLERANCE` of the largest value.
    """

    size: float
    kind: str
    rows: int
    n: int

    @property
    def words(self) -> str:
        """The difference in words."""
        return f"two calls that differ by up to {self.size:.2g} ({self.kind}) in {self.rows} of {self.n} rows"


def steady(subject: Subject, stochastic: str | None = None, n_members: int = MEMBERS, seed: int = 0) -> Subject:
    """Return the subject with a model that predicts the same rows alike in every call.

    Parameters
    ----------
    subject : Subject
    stochastic : {"members", "seed"}, optional
        What is made of random predictions; by default they are refused.
    n_members : int
    seed : int

    Raises
    ------
    ModelError
        If two calls on up to 100 rows differ by more than 1e-6 of the largest value, and nothing was asked for; or
        those on the same rows in another order and in parts by more than 1e-4.
    InputError
        If `stochastic` is asked for and does not fit the model.
    """
    _check(subject, stochastic, n_members)
    if isinstance(subject.adapter, FixedRowsOnly):
        return subject
    if stochastic == "members":
        return _as_members(subject, n_members, seed)
    if stochastic == "seed":
        return _with_seed(subject, seed)
    difference = two_calls(subject)
    if difference is not None:
        own = seed_argument(subject.model)
        fix = f", or stochastic='seed' to fix its {own}" if own else ""
        raise ModelError(
            f"explain.model must predict the same rows alike in every call, within {TOLERANCE:g} of the largest value; "
            f"got {difference.words}. Its predictions are random: pass stochastic='members' to read {n_members} calls "
            f"as members of a mixture{fix}."
        )
    moved = another_batch(subject)
    if moved is not None:
        raise ModelError(
            "explain.model must predict a row alike whatever rows stand beside it in a call, within "
            f"{BATCH_TOLERANCE:g} of the largest value; got {moved.words}, the second in another order and in parts. "
            "Use no statistics of a batch in predictions: a network must be in evaluation mode, by model.eval()."
        )
    return subject


def _check(subject: Subject, stochastic: str | None, n_members: int) -> None:
    if stochastic not in (None, *get_args(Stochastic)):
        raise InputError(f"explain.stochastic must be 'members', 'seed' or None; got {stochastic!r}.")
    if not isinstance(n_members, int) or isinstance(n_members, bool) or n_members < 2:
        raise InputError(f"explain.n_members must be an integer >= 2; got {n_members!r}.")
    if stochastic and isinstance(subject.adapter, FixedRowsOnly):
        raise InputError(
            f"explain.stochastic must be None for stored predictions, which no call changes; got {stochastic!r}."
        )


def _as_members(subject: Subject, n_members: int, seed: int) -> Subject:
    adapter = subject.adapter
    if isinstance(adapter, Randomises):
        subject = replace(subject, adapter=adapter.as_random(subject.model))
    if two_calls(subject) is None:
        raise InputError(
            "explain.stochastic must be None for a model that predicts the same rows alike in every call; got "
            "'members' for two calls without a difference. Leave it out."
        )
    members = replace(subject, adapter=Members(subject.adapter, n_members, seed, subject.n))
    note = f"Predictions are random: {n_members} calls are read as members of a mixture."
    if two_calls(members) is not None:
        note += " The draws follow no global random stream, so another run of the audit gives somewhat other numbers."
    return replace(members, notes=(*subject.notes, note))


def _with_seed(subject: Subject, seed: int) -> Subject:
    name = seed_argument(subject.model)
    if not name:
        raise InputError(
            f"explain.stochastic must be 'members' or None for {subject.label}, which has no argument or attribute "
            f"{' or '.join(SEEDS)}; got 'seed'. Pass stochastic='members'."
        )
    seeded = replace(subject, model=_seeded(subject.model, name, seed))
    difference = two_calls(seeded)
    if difference is not None:
        raise ModelError(
            f"explain.model must predict the same rows alike with {name}={seed}, within {TOLERANCE:g} of the largest "
            f"value; got {difference.words}. Pass stochastic='members'."
        )
    return replace(seeded, notes=(*subject.notes, f"Predictions are random: {name} is fixed to {seed}."))


def two_calls(subject: Subject) -> CallDifference | None:
    """Return how two predictions of up to 100 rows of the subject differ; None if by no more than the tolerance."""
    return first_gap(head_readings(subject), head_readings(subject))


def head_readings(subject: Subject) -> dict[str, FloatArray]:
    """Predict up to 100 rows of the subject; return what two calls are compared by."""
    head = _head(subject)
    return _readings(Engine(head, {}).call_model(head.X))


def another_batch(subject: Subject) -> CallDifference | None:
    """Return how predictions of up to 100 rows differ from those in reversed order, in two calls; None if they do not.

    Products of matrices of another shape round otherwise, so the tolerance is `BATCH_TOLERANCE`.
    """
    head = _head(subject)
    engine, order = Engine(head, {}), np.arange(head.n)[::-1]
    whole = _readings(engine.call_model(head.X))
    parts = [_readings(engine.call_model(take_rows(head.X, part))) for part in np.array_split(order, 2) if len(part)]
    kinds = [kind for kind in whole if all(kind in part for part in parts)]
    again = {kind: np.concatenate([part[kind] for part in parts])[np.argsort(order)] for kind in kinds}
    return first_gap(whole, again, BATCH_TOLERANCE)


def _head(subject: Subject) -> Subject:
    return subject.take(np.unique(np.linspace(0, subject.n - 1, min(subject.n, ROWS)).astype(np.int64)))


def first_gap(
    first: Mapping[str, FloatArray], second: Mapping[str, FloatArray], tolerance: float = TOLERANCE
) -> CallDifference | None:
    """Return the first difference between the readings of two calls above the tolerance; None if there is none."""
    other = {kind: second.get(kind, np.full_like(values, np.nan)) for kind, values in first.items()}
    gaps = (_apart(kind, values, other[kind], tolerance) for kind, values in first.items())
    return next((gap for gap in gaps if gap is not None), None)


def _apart(kind: str, first: FloatArray, second: FloatArray, tolerance: float = TOLERANCE) -> CallDifference | None:
    """Compare numbers of the rows, shape (n,) or (n, m); two equal infinities do not differ."""
    a, b = (values.reshape(len(values), -1) for values in (first, second))
    if a.shape != b.shape:
        return CallDifference(float("inf"), f"{kind}: another number of values", len(a), len(a))
    with np.errstate(invalid="ignore"):
        gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    gap = np.where(np.isnan(gap), np.inf, gap)
    finite = np.abs(a[np.isfinite(a)])
    scale = 1.0 if kind == "class probabilities" else float(finite.max(initial=0.0))
    differ = (gap > tolerance * scale).any(axis=1)
    return CallDifference(float(gap.max()), kind, int(differ.sum()), len(a)) if differ.any() else None


def _readings(dist: Distribution) -> dict[str, FloatArray]:
    """Return what two calls are compared by."""
    if "proba" in dist.supports:
        return {"class probabilities": cast("Categorical", dist).probabilities}
    moments: dict[str, FloatArray] = {
        name: getattr(dist, name)() for name in ("mean", "variance") if name in dist.supports
    }
    if moments or "quantile" not in dist.supports:
        return moments
    return {"quantiles": dist.quantile(np.array([0.1, 0.5, 0.9]))}


def seed_argument(model: Any) -> str:
    """Return the name of the argument or attribute that fixes a model's random draws; empty if it has none.

    Examples
    --------
    >>> def f(X, seed=None): ...
    >>> seed_argument(f), seed_argument(len)
    ('seed', '')
    """
    if not _is_function(model):
        return next((name for name in SEEDS if hasattr(model, name) and not callable(getattr(model, name))), "")
    try:
        arguments = inspect.signature(model).parameters
    except (TypeError, ValueError):  # compiled callables have no signature to read
        return ""
    return next((name for name in SEEDS if name in arguments), "")


def _is_function(model: Any) -> bool:
    return inspect.isroutine(model) or isinstance(model, partial)


def _seeded(model: Any, name: str, seed: int) -> Any:
    """Return a function with its seed given, or a copy of an object with its attribute set."""
    if _is_function(model):
        return update_wrapper(partial(model, **{name: seed}), model)
    other = copy(model)
    setattr(other, name, seed)
    return other


@dataclass(frozen=True)
class Members(Adapter):
    """Reads a random model: every prediction is `n_members` calls, the members of a mixture.

    Call k follows the global random streams (random, numpy, torch) seeded with (seed, k), and they are put back; so
    does the model's own `random_state` or `seed`. The randomness of the calls is then epistemic. A model that draws
    from other streams is read as well, but no two audits are equal. Class probabilities, normals and mixtures of
    normals have mixtures.

    Parameters
    ----------
    inner : Adapter
        Reads one call.
    n_members : int
    seed : int
    rows : int
        Of the subject: calls get so many, so that unchanged and changed rows get the same draws.

    Examples
    --------
    >>> class Noise:
    ...     name, api_version = "noise", 1
    ...     def predict(self, model, X):
    ...         return Normal(np.random.normal(size=len(X)), 1.0)
    >>> Members(Noise(), 3, 0, 2).predict(None, np.zeros((2, 1))).means.shape
    (2, 3)
    """

    inner: Adapter
    n_members: int
    seed: int
    rows: int

    name: ClassVar[str] = "members"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.inner.name)  # the records of a run name the adapter that was chosen

    def matches(self, model: Any) -> Match | None:
        """Match what the adapter of one call matches."""
        return self.inner.matches(model)

    def predict(self, model: Any, X: Table) -> Distribution:
        """Return the mixture of all calls."""
        with _DRAWING:
            return mixture([self._member(model, X, k) for k in range(self.n_members)])

    def batch_rows(self, model: Any) -> int | None:
        """Return the rows of the subject, fewer where all members of a call would be many numbers."""
        return min(self.rows, max(1_000, _CELLS // self.n_members))

    def _member(self, model: Any, X: Table, k: int) -> Distribution:
        name, own = seed_argument(model), int(np.random.SeedSequence([self.seed, k]).generate_state(1)[0])
        with _streams(own):
            return self.inner.predict(_seeded(model, name, own) if name else model, X.copy())


def mixture(members: Sequence[Distribution]) -> Distribution:
    """Return the mixture, equally weighted, of distributions of the same rows.

    It is a `NormalMixture` of normals, a `CategoricalMixture` of classes, else a `Mixture`.

    Examples
    --------
    >>> mixture([Normal([0.0], 1.0), Normal([2.0], 1.0)]).variance()
    array([2.])
    """
    classes = [q for q in members if isinstance(q, Categorical)]
    if len(classes) == len(members):
        return CategoricalMixture(np.stack([q.probabilities for q in classes], axis=1), classes[0].classes)
    single = (NormalMixture(q.loc[:, None], q.scale[:, None]) if isinstance(q, Normal) else q for q in members)
    normals = [q for q in single if isinstance(q, NormalMixture)]
    if len(normals) == len(members):
        means, stds = (np.concatenate([getattr(q, part) for q in normals], axis=1) for part in ("means", "stds"))
        weights = np.concatenate([q.weights for q in normals])
        return NormalMixture(means, stds, weights, points=any(q.points for q in normals))
    if classes:
        families = " and ".join(sorted({q.family for q in members}))
        raise UnsupportedError(
            f"members must be all of classes or all of numbers; got {families}. Fix the model's seed."
        )
    return Mixture(members)


@contextmanager
def _streams(seed: int) -> Iterator[None]:
    """Seed the global random streams of Python, numpy and torch, and put them back at the end."""
    torch, before = sys.modules.get("torch"), random.getstate()
    with ExitStack() as stack:
        stack.enter_context(global_random_state_restored())
        if torch is not None:
            stack.enter_context(torch.random.fork_rng())
            torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - the global stream is what a model may draw from
        try:
            yield
        finally:
            random.setstate(before)


# Modules of wrappers whose calibrated output no adapter reads.
CALIBRATED = ("crepes", "deel.puncc", "mapie", "nonconformist")


@runtime_checkable
class RowRemarks(Protocol):
    """Optional: a distribution that has something to say of its rows (quantiles that cross)."""

    def row_remarks(self) -> tuple[str, ...]:
        """Return sentences for the report, with row numbers; none for plain rows."""


def with_model_notes(subject: Subject, few: Distribution, rows: Engine) -> Subject:
    """Return the subject with the remarks on its model and on its predictions before its other notes.

    All rows are predicted, by the engine `rows`, only if those of `few` can have something to say.
    """
    adapter = subject.adapter.inner if isinstance(subject.adapter, Members) else subject.adapter
    says = isinstance(adapter, Remarks)  # then it knows what it reads
    own = adapter.remarks(subject.model) if isinstance(adapter, Remarks) else ()
    unread = "" if says else unread_output(subject.model)
    return replace(subject, notes=(*([unread] if unread else []), *own, *_of_rows(few, rows), *subject.notes))


def _of_rows(few: Distribution, rows: Engine) -> tuple[str, ...]:
    dist = rows.baseline if isinstance(few, RowRemarks) else few
    return dist.row_remarks() if isinstance(dist, RowRemarks) else ()


def unread_output(model: Any) -> str:
    """Say that a wrapper's calibrated output is not read; empty for other models.

    Examples
    --------
    >>> WrapClassifier = type("WrapClassifier", (), {"__module__": "crepes.base"})
    >>> unread_output(WrapClassifier()).partition(";")[0]
    'WrapClassifier of crepes: its calibrated output (conformal intervals or p-values) is not read'
    >>> unread_output(object())
    ''
    """
    modules = [f"{cls.__module__}." for cls in type(model).__mro__]
    library = next((name for module in modules for name in CALIBRATED if module.startswith(f"{name}.")), "")
    if not library:
        return ""
    method = "predict_proba" if callable(getattr(model, "predict_proba", None)) else "predict"
    return (
        f"{type(model).__name__} of {library}: its calibrated output (conformal intervals or p-values) is not "
        f"read; what is audited is its {method}."
    )
