"""The facts about what was audited, as `core.describe` records them; what a run does not record is None or empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from functools import cache
from typing import Any, Self, get_type_hints

from .frozen import Frozen
from .run import Run


class FeatureFacts(Frozen):
    """One feature on the audited rows: its range, or its most frequent levels with their counts.

    ``duplicate_of`` names the feature whose values it repeats.
    """

    name: str = ""
    kind: str = ""
    missing: int | None = None
    distinct: int | None = None
    min: Any = None
    max: Any = None
    top_levels: tuple[tuple[str, int], ...] = ()
    constant: bool | None = None
    duplicate_of: str = ""


class AssumptionFacts(Frozen):
    """What was laid over a model's predictions, as `core.residuals.Assumption` says; ``words`` is its sentence.

    ``spread`` is the root mean square of ``n`` residuals, ``noise`` what each member of an ensemble gets.
    """

    form: str = ""
    source: str = ""
    scale: str = ""
    n: int | None = None
    n_splits: int | None = None
    spread: Any = None
    mean: Any = None
    explained: Any = None
    noise: Any = None
    replaces: str = ""
    words: str = ""


class SubjectFacts(Frozen):
    """What was audited: the model, its rows, their features, and the hashes of all of them.

    ``n`` rows of ``d`` features were predicted, drawn from ``sampled_from`` where there were more; ``clusters`` counts
    the clusters of rows, of rows in order of time their blocks, of about ``block_length`` rows by ``block_rule``.
    ``classes`` is None where the model predicts no classes. ``notes`` say what a reader must know of how the model is
    called, ``assumption`` what was laid over its predictions; ``decisions`` names the rule by which it decides for a
    class. ``parameters_at_default`` names those of the model's parameters that nobody chose, None where that is not
    recorded.

    Examples
    --------
    >>> run = Run(as_of="", subject={"label": "Forest", "n": 40, "d": "ten"}, settings={}, environment={})
    >>> facts = SubjectFacts.of(run)
    >>> facts.label, facts.n, facts.d, facts.features
    ('Forest', 40, None, ())
    """

    label: str = ""
    task: str = ""
    family: str = ""
    model_class: str = ""
    model_parameters: Mapping[str, str] = field(default_factory=dict)
    parameters_at_default: tuple[Any, ...] | None = None
    adapter: str = ""
    adapter_reason: str = ""
    notes: tuple[str, ...] = ()
    assumption: AssumptionFacts | None = None
    decisions: str = ""
    n: int | None = None
    d: int | None = None
    sampled_from: int | None = None
    classes: tuple[Any, ...] | None = None
    positive_class: Any = None
    has_y: bool | None = None
    has_train: bool | None = None
    n_train: int | None = None
    weights: bool | None = None
    clusters: int | None = None
    block_length: int | None = None
    block_rule: str = ""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    protected: tuple[str, ...] = ()
    features: tuple[FeatureFacts, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    y_summary: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run) -> Self:
        """Read the facts of a run."""
        return cls(**_read(cls, run.subject))

    @property
    def class_counts(self) -> tuple[int, ...]:
        """The audited rows of each class; none where the outcomes are no classes."""
        return tuple(self.y_summary.get("counts", ())) if self.classes is not None else ()


def _read(cls: type, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `cls` that are recorded; a value of another type is left out."""
    hints = _hints(cls)
    values = {f.name: _READERS[hints[f.name]](recorded.get(f.name)) for f in fields(cls)}
    return {name: value for name, value in values.items() if value is not None}


# that mypy does not see it of types is why this is no decorator
_hints: Callable[[type], Mapping[str, Any]] = cache(get_type_hints)


def _only(kind: type) -> Callable[[Any], Any]:
    """Return a reader of values of one type; True is no whole number."""
    return lambda value: value if type(value) is kind else None


def _items(value: Any) -> tuple[Any, ...] | None:
    return tuple(value) if isinstance(value, list | tuple) else None


def _texts(value: Any) -> tuple[str, ...] | None:
    return tuple(map(str, _items(value) or ()))


def _by_key(reader: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any] | None]:
    """Return a reader of mappings, in the order of their keys, which is that of a saved run."""

    def read(value: Any) -> dict[str, Any] | None:
        return {str(key): reader(value[key]) for key in sorted(value, key=str)} if isinstance(value, Mapping) else None

    return read


def _levels(value: Any) -> tuple[tuple[str, int], ...] | None:
    pairs = (level for level in _items(value) or () if isinstance(level, list | tuple) and len(level) == 2)
    return tuple((str(level), count) for level, count in pairs)


def _features(value: Any) -> tuple[FeatureFacts, ...] | None:
    listed = (item for item in _items(value) or () if isinstance(item, Mapping))
    return tuple(FeatureFacts(**_read(FeatureFacts, item)) for item in listed)


def _assumption(value: Any) -> AssumptionFacts | None:
    return AssumptionFacts(**_read(AssumptionFacts, value)) if isinstance(value, Mapping) else None


_READERS: Mapping[Any, Callable[[Any], Any]] = {
    str: lambda value: None if value is None else str(value),
    int | None: _only(int),
    bool | None: _only(bool),
    Any: lambda value: value,
    tuple[Any, ...] | None: _items,
    tuple[str, ...]: _texts,
    tuple[tuple[str, int], ...]: _levels,
    tuple[FeatureFacts, ...]: _features,
    AssumptionFacts | None: _assumption,
    Mapping[str, str]: _by_key(str),
    Mapping[str, Any]: _by_key(lambda value: value),
    Mapping[str, tuple[str, ...]]: _by_key(_texts),
}
