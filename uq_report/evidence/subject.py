"""The facts about what was audited, as `core.describe` records them; what a run does not record is None or empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin

from .frozen import Frozen, hints_of, once
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

    ``spread`` is the root mean square of ``n`` residuals, ``members_share`` the share of the variance that follows the
    members of an ensemble.
    """

    form: str = ""
    source: str = ""
    scale: str = ""
    n: int | None = None
    n_splits: int | None = None
    spread: Any = None
    mean: Any = None
    df: Any = None
    members_share: Any = None
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

    @staticmethod
    @once
    def of(run: Run) -> SubjectFacts:
        """Read the facts of a run."""
        return SubjectFacts(**_read(SubjectFacts, run.subject))

    @property
    def class_counts(self) -> tuple[int, ...]:
        """The audited rows of each class; none where the outcomes are no classes."""
        return tuple(self.y_summary.get("counts", ())) if self.classes is not None else ()


def _read(cls: type, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `cls` that are recorded; a value of another type is left out."""
    hints = hints_of(cls)
    values = {f.name: _value(hints[f.name], recorded.get(f.name)) for f in fields(cls)}
    return {name: value for name, value in values.items() if value is not None}


def _value(hint: Any, value: Any) -> Any:
    """Return a recorded value as its type has it, or None; True is no whole number, and mappings are sorted by key."""
    kind, parts = get_origin(hint), get_args(hint)
    if kind is UnionType:
        return _value(parts[0], value)
    if kind is tuple:
        return _items(parts, value)
    if kind is Mapping:
        keys = sorted(value, key=str) if isinstance(value, Mapping) else ()
        return {str(key): _value(parts[1], value[key]) for key in keys}
    if is_dataclass(hint):
        return hint(**_read(hint, value)) if isinstance(value, Mapping) else None  # type: ignore[arg-type, operator]
    if hint is str:
        return None if value is None else str(value)
    return value if hint is Any or type(value) is hint else None


def _items(parts: tuple[Any, ...], value: Any) -> tuple[Any, ...] | None:
    """Return a recorded list: of any length with items of one type, or of a fixed one, as a level and its count."""
    listed = isinstance(value, list | tuple)
    if Ellipsis not in parts:
        return tuple(map(_value, parts, value)) if listed and len(value) == len(parts) else None
    if parts[0] is Any:
        return tuple(value) if listed else None
    known = [_value(parts[0], item) for item in (value if listed else ())]
    return tuple(item for item in known if item is not None)
