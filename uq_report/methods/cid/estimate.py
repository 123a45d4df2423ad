"""Which estimator of covered information fits the data, and its terms, with everything a reader must know."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ...core.arrays import BoolArray, FloatArray, IntArray
from ...core.engine import Engine
from ...core.errors import InputError
from ...core.results import Omission
from ...core.sampling import Sampling
from ...core.subject import Subject
from .columns import (
    MOST_LEVELS,
    UnfitError,
    cell_notes,
    cells,
    common_value,
    copy_notes,
    incomplete,
    listed,
    refuse_copies,
    twins,
    varying,
)
from .cover import normal_given, of_cells, related_by_cells, related_by_correlation
from .discrete import discrete_given, discrete_terms, fit_field
from .gaussian import gaussian_given, gaussian_terms, half_potential_terms, normal_scores
from .mixed import mixed_given, mixed_terms
from .precision import Given, Inverter, Lasso, Shrunk, partial_correlations
from .terms import OutcomeGiven, Terms

MOST_COMMON = 0.2
TITLES = {"copula": "Gaussian copula", "mixed": "conditional Gaussian", "discrete": "discrete field"}
STRONGER = 10.0


@dataclass(frozen=True)
class Estimate:
    """Terms of the features that have them, how they were estimated, and the dependence graph.

    ``links`` is over the features ``drawn`` and y: partial correlations, or for a discrete field the
    largest pair potential; 0 where the graph has no edge. ``given`` is log p(y | x_S) of each row for
    any positions S of features, ``normal`` about its mean, and ``related`` says which features depend on each other.
    """

    features: tuple[str, ...]
    terms: Terms
    estimator: str
    links: FloatArray
    given: OutcomeGiven
    normal: Callable[[tuple[int, ...]], float]
    related: BoolArray
    notes: tuple[str, ...] = ()
    omissions: tuple[Omission, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)

    @property
    def drawn(self) -> tuple[str, ...]:
        """The features in the graph: all but copies."""
        return tuple(f for f in self.features if f not in self.copies)


@dataclass(frozen=True)
class Choice:
    """What the user may decide about the estimator; see `CoveredInformation`."""

    estimator: str
    penalty: float | None
    graph: tuple[tuple[str, str], ...] | None
    potentials: str
    bins: int

    @property
    def free(self) -> bool:
        """Whether another estimator may take over where one does not fit."""
        return self.estimator == "auto" and self.graph is None


@dataclass(frozen=True)
class Data:
    """The columns under estimate: features that vary, and y as numbers or class positions."""

    subject: Subject
    features: tuple[str, ...]
    y: Any
    classes: bool
    units: int

    @property
    def numbers(self) -> FloatArray:
        """The features as numbers (n, d)."""
        return np.column_stack([np.asarray(self.subject.values(f), dtype=float) for f in self.features])


Attempt = Callable[[], Estimate]


def estimate(subject: Subject, engine: Engine, choice: Choice) -> Estimate:
    """Return the terms by the named estimator, or by the first that fits the columns."""
    features, constant = varying(subject)
    copies = twins(subject, features) if choice.free else {}
    kept = tuple(f for f in features if f not in copies)
    data = Data(subject, kept, _outcome(engine), "proba" in engine.baseline.supports, Sampling.of(subject).units)
    refused: list[str] = []
    for attempt in _attempts(data, engine, choice, refused):
        try:
            found = attempt()
        except UnfitError as error:
            if not choice.free:
                raise
            refused.append(error.reason)
            continue
        notes = (*found.notes, *_why(refused))
        return _with_copies(replace(found, notes=notes, omissions=constant), features, copies)
    raise InputError(f"cid.X must suit an estimator of covered information; none fits: {'; '.join(refused)}.")


def _why(refused: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"Another estimator comes first and was not used: {reason}." for reason in refused)


def _outcome(engine: Engine) -> Any:
    if engine.y is None:
        raise InputError("cid.y must be given: covered information is about y; got none.")
    y = np.asarray(engine.y)
    if len(np.unique(y)) < 2:
        raise InputError("cid.y must vary over the audited rows; got one value only. Nothing can be told about it.")
    return y


def _attempts(data: Data, engine: Engine, choice: Choice, refused: list[str]) -> Iterator[Attempt]:
    """Yield estimators, best first; why one is passed over goes to `refused`."""
    name = _named(data, choice)
    reasons = _unsuited(data, TITLES[name]) if name != "discrete" else []
    edges = _edges(choice.graph, data.features)
    if name != "discrete" and not (choice.free and reasons):
        numeric = _mixed if name == "mixed" else _copula
        ways: list[Inverter] = [Given(edges)] if edges is not None else [Lasso(choice.penalty, engine)]
        for way in (*ways, Shrunk()) if choice.free else ways:
            yield partial(numeric, data, way, choice, tuple(reasons))
    if name == "discrete" or choice.free:
        refused += reasons
        penalty = 1.0 if choice.penalty is None else choice.penalty
        for k in range(3 if choice.free else 1):
            yield partial(_discrete, data, choice, edges, penalty * STRONGER**k)


def _named(data: Data, choice: Choice) -> str:
    """Return the estimator to begin with; refuse one that the columns do not allow."""
    asked, subject = choice.estimator, data.subject
    text = [f for f in data.features if subject.kinds[f] != "numeric"]
    gaps = incomplete(subject, data.features)
    if asked == "auto":
        return "discrete" if text or (gaps and not choice.free) else "mixed" if data.classes else "copula"
    if asked in ("copula", "mixed") and text:
        raise InputError(
            f"cid.estimator {asked!r} must get numeric columns; got {', '.join(text)}. "
            "Leave them out, or take estimator='discrete', which bins the numeric ones."
        )
    if asked in ("copula", "mixed") and gaps:
        name, count = next(iter(gaps.items()))
        raise InputError(
            f"cid.X must have no missing values for {asked!r}; got {count} in {name!r}. Impute them in the data, or "
            "take estimator='discrete', where a missing value is a cell of its own."
        )
    if asked == "mixed" and not data.classes:
        raise InputError("cid.estimator 'mixed' must get a class target; got a numeric one. Take 'copula'.")
    if asked == "copula" and data.classes:
        raise InputError("cid.estimator 'copula' must get a numeric target; got classes. Take 'mixed'.")
    return asked


def _unsuited(data: Data, title: str) -> list[str]:
    """Say what a normal of these columns does not describe."""
    columns = {f: data.subject.values(f) for f in data.features} | ({} if data.classes else {"y": data.y})
    gaps = list(incomplete(data.subject, data.features))
    common = [f for f, values in columns.items() if common_value(values) > MOST_COMMON]
    reasons = [f"values are missing in {listed(gaps)}"] if gaps else []
    if common:
        reasons.append(
            f"more than {100 * MOST_COMMON:.0f} % of the rows share one value of {listed(common)}: a {title} does "
            "not fit there"
        )
    return reasons


def _edges(graph: tuple[tuple[str, str], ...] | None, features: Sequence[str]) -> BoolArray | None:
    """Return the given graph over the features and then y, which is called ``y``."""
    if graph is None:
        return None
    names = [*features, "y"]
    edges = np.eye(len(names), dtype=bool)
    for a, b in graph:
        if a not in names or b not in names:
            raise InputError(f"cid.graph must join features that vary, and 'y'; got the edge {(a, b)!r}.")
        edges[names.index(a), names.index(b)] = edges[names.index(b), names.index(a)] = True
    return edges


def _with_copies(found: Estimate, features: tuple[str, ...], copies: Mapping[str, str]) -> Estimate:
    """Return the estimate of all features from that of those that repeat no other: given a copy, nothing is left."""
    if not copies:
        return found
    source = np.array([found.features.index(copies.get(f, f)) for f in features])
    shared = np.bincount(source)[source] > 1
    conditional = np.where(shared, 0.0, found.terms.conditional[:, source])

    def of_kept(chosen: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted({int(source[k]) for k in chosen}))

    return replace(
        found,
        features=features,
        terms=Terms(found.terms.mutual[:, source], conditional),
        given=lambda chosen: found.given(of_kept(chosen)),
        normal=lambda chosen: found.normal(of_kept(chosen)),
        related=found.related[np.ix_(source, source)],
        notes=(*found.notes, *copy_notes(copies)),
        copies=copies,
    )


# ---------------------------------------------------------------------- the three estimators


def _copula(data: Data, way: Inverter, choice: Choice, doubts: tuple[str, ...]) -> Estimate:
    refuse_copies(data.numbers, data.features)
    Z = normal_scores(np.column_stack([data.numbers, np.asarray(data.y, dtype=float)]))
    precision, facts = way.precision(Z)
    half = choice.potentials == "half"
    notes = [f"Gaussian copula: columns mapped to normal quantiles by mid-ranks; {facts['graph']}."]
    notes += [f"In this sample {doubt}." for doubt in doubts]
    if half:
        notes.append(
            "Half of every pair potential is used, for comparison with published figures; it is not the definition."
        )
    return Estimate(
        data.features,
        (half_potential_terms if half else gaussian_terms)(Z, precision),
        TITLES["copula"],
        partial_correlations(precision),
        gaussian_given(Z, precision),
        normal_given(np.asarray(np.linalg.inv(precision), dtype=float), np.arange(len(precision) + 1)),
        related_by_correlation(Z[:, :-1], data.units),
        tuple(notes),
        facts=facts,
    )


def _mixed(data: Data, way: Inverter, _: Choice, doubts: tuple[str, ...]) -> Estimate:
    X, features = data.numbers, data.features
    refuse_copies(X, features)
    classes, codes = np.unique(np.asarray(data.y, dtype=np.int64), return_inverse=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    means = np.stack([Z[codes == c].mean(axis=0) for c in range(len(classes))])
    within = Z - means[codes]
    scale = within.std(axis=0)
    if (scale < 1e-9).any():
        constant = listed([f for f, s in zip(features, scale, strict=True) if s < 1e-9])
        message = f"cid.X must vary within classes; got {constant} constant in each. It equals y: drop it."
        raise UnfitError(message, f"{constant} does not vary within the classes of y")
    precision, facts = way.precision(within / scale)
    log_prior = np.log(np.bincount(codes) / len(codes))
    shared = np.repeat(precision[None], len(classes), axis=0)
    links = np.zeros((len(features) + 1,) * 2)
    links[:-1, :-1] = partial_correlations(precision)
    note = f"Conditional Gaussian: one normal per class with a shared covariance; {facts['graph']}."
    return Estimate(
        features,
        mixed_terms(Z / scale, codes, log_prior, means / scale, shared),
        TITLES["mixed"],
        links,
        mixed_given(Z / scale, codes, log_prior, means / scale, precision),
        _of_classes(Z, codes),
        related_by_correlation(normal_scores(X), data.units),
        (note, *(f"In this sample {doubt}." for doubt in doubts)),
        facts=facts,
    )


def _of_classes(Z: FloatArray, codes: IntArray) -> Callable[[tuple[int, ...]], float]:
    """Return `normal_given` of columns and the indicators of classes, all but the first."""
    d, hot = Z.shape[1], codes[:, None] == np.arange(1, codes.max() + 1)
    return normal_given(np.cov(np.column_stack([Z, hot]), rowvar=False), np.array([*range(d + 1), d + hot.shape[1]]))


def _discrete(data: Data, choice: Choice, edges: BoolArray | None, penalty: float) -> Estimate:
    codes, binned = _codes(data, choice.bins)
    field_ = fit_field(codes, edges, penalty)
    starts = field_.starts[:-1]
    links = np.maximum.reduceat(np.maximum.reduceat(np.abs(field_.pair), starts, axis=0), starts, axis=1)
    note = f"Discrete pairwise field by penalised pseudo-likelihood, penalty {penalty:g}."
    gaps = list(incomplete(data.subject, data.features))
    facts = {"penalty": penalty, "graph": "all pairs" if edges is None else "given", "bins": choice.bins}
    return Estimate(
        data.features,
        discrete_terms(codes, field_),
        TITLES["discrete"],
        links,
        discrete_given(codes, penalty),
        of_cells(codes),
        related_by_cells(codes[:, :-1], data.units),
        (note, *cell_notes(binned, choice.bins, _pooled(data, binned), gaps)),
        facts=facts,
    )


def _codes(data: Data, bins: int) -> tuple[IntArray, list[str]]:
    """Return the cells of the features and then y, and the names of what was cut."""
    kinds, values = data.subject.kinds, {f: data.subject.values(f) for f in data.features}
    binned = [f for f in data.features if kinds[f] != "categorical" and pd.Series(values[f]).nunique() > bins]
    columns = [cells(values[f], bins if f in binned else None) for f in data.features]
    columns.append(cells(data.y, None if data.classes else bins))
    return np.column_stack(columns), [*binned, *(() if data.classes else ("y",))]


def _pooled(data: Data, binned: Sequence[str]) -> list[str]:
    """Return the columns of more levels than have cells of their own."""
    whole = {f: data.subject.values(f) for f in data.features if f not in binned}
    whole |= {"y": data.y} if data.classes else {}
    return [name for name, values in whole.items() if pd.Series(values).nunique() > MOST_LEVELS]
