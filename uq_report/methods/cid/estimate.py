"""Which estimator of covered information fits the data, and its terms, with everything a reader must know."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support.arrays import BoolArray
from ...core.support.errors import InputError
from . import discrete, normal, precision
from .terms import Data, InformationEstimate, InformationTerms, UnfitError, copy_notes, listed, twins, varying

MOST_COMMON = 0.2
STRONGER = 10.0
MOST_FOLDED = 50  # features up to which a lasso with cross-validated penalty is tried


class Choice(NamedTuple):
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


def estimate(subject: Subject, engine: Engine, choice: Choice) -> InformationEstimate:
    """Return the terms by the named estimator, or by the first that fits the columns."""
    features, constant = varying(subject)
    copies = twins(subject, features) if choice.free else {}
    used = tuple(f for f in features if f not in copies)
    data = Data(subject, used, _outcome(engine), "proba" in engine.baseline.supports, Sampling.of(subject).units)
    refused: list[str] = []
    for attempt in _attempts(data, engine, choice, refused):
        try:
            result = attempt()
        except UnfitError as error:
            if not choice.free:
                raise
            refused.append(error.reason)
            continue
        notes = (f"Another estimator comes first and was not used: {reason}." for reason in refused)
        return _with_copies(replace(result, notes=(*result.notes, *notes), omissions=constant), features, copies)
    raise InputError(f"cid.X must suit an estimator of covered information; none fits: {'; '.join(refused)}.")


def _outcome(engine: Engine) -> Any:
    if engine.y is None:
        raise InputError("cid.y must be given: covered information is about y; got none.")
    if engine.baseline.censored:
        raise InputError(
            "cid.y must not be censored; got times that may be. Covered information about them is not defined here; "
            "use permutation importance and profiles of the same model."
        )
    y = np.asarray(engine.y)
    if len(np.unique(y)) < 2:
        raise InputError("cid.y must vary over the audited rows; got one value only. Nothing can be told about it.")
    return y


def _attempts(
    data: Data, engine: Engine, choice: Choice, refused: list[str]
) -> Iterator[Callable[[], InformationEstimate]]:
    """Yield estimators, best first; why one is passed over goes to `refused`."""
    name = _first(data, choice)
    reasons = _unsuited(data, normal.MIXED if name == "mixed" else normal.COPULA) if name != "discrete" else []
    edges = _edges(choice.graph, data.features)
    if name != "discrete" and not (choice.free and reasons):
        doubts = tuple(f"In this sample {reason}." for reason in reasons)
        fit: Callable[..., InformationEstimate] = normal.mixed_estimate
        if name == "copula":
            fit = partial(normal.copula_estimate, half=choice.potentials == "half")
        inverter: precision.Inverter = partial(precision.by_lasso, penalty=choice.penalty, engine=engine)
        if edges is not None:
            inverter = partial(precision.by_graph, edges=edges)
        wide = choice.free and choice.penalty is None and len(data.features) > MOST_FOLDED
        if wide:
            refused.append(
                f"a lasso whose penalty is cross-validated, for {len(data.features)} features: its cost grows with the "
                f"third power of their number, and it is tried up to {MOST_FOLDED}"
            )
        else:
            yield partial(fit, data, inverter, doubts)
        if choice.free:
            yield partial(fit, data, precision.by_shrinkage, doubts)
    if name == "discrete" or choice.free:
        refused += reasons
        penalty = 1.0 if choice.penalty is None else choice.penalty
        for k in range(3 if choice.free else 1):
            yield partial(discrete.discrete_estimate, data, choice.bins, edges, penalty * STRONGER**k)


def _first(data: Data, choice: Choice) -> str:
    """Return the estimator to begin with; refuse one that the columns do not allow."""
    name = choice.estimator
    text = [f for f in data.features if data.subject.kinds[f] != "numeric"]
    if name == "auto":
        return (
            "discrete"
            if text or ((data.gaps or data.infinite) and not choice.free)
            else "mixed"
            if data.classes
            else "copula"
        )
    if name == "discrete":
        return name
    if text:
        raise InputError(
            f"cid.estimator {name!r} must get numeric columns; got {', '.join(text)}. "
            "Leave them out, or take estimator='discrete', which bins the numeric ones."
        )
    if data.gaps:
        feature, count = next(iter(data.gaps.items()))
        raise InputError(
            f"cid.X must have no missing values for {name!r}; got {count} in {feature!r}. Impute them in the data, or "
            "take estimator='discrete', where a missing value is a cell of its own."
        )
    if data.infinite:
        raise InputError(
            f"cid.X must be finite for {name!r}; got infinite values in {listed(data.infinite)}. Leave them missing, "
            "or take estimator='discrete', where they share a cell with the largest or smallest values."
        )
    if name == "mixed" and not data.classes:
        raise InputError("cid.estimator 'mixed' must get a class target; got a numeric one. Take 'copula'.")
    if name == "copula" and data.classes:
        raise InputError("cid.estimator 'copula' must get a numeric target; got classes. Take 'mixed'.")
    return name


def _unsuited(data: Data, title: str) -> list[str]:
    """Say what a normal of these columns does not describe."""
    columns = {f: data.subject.values(f) for f in data.features} | ({} if data.classes else {"y": data.y})
    shares = {name: pd.Series(values).value_counts(normalize=True).iloc[0] for name, values in columns.items()}
    common = [name for name, share in shares.items() if share > MOST_COMMON]
    reasons = [f"values are missing in {listed(list(data.gaps))}"] if data.gaps else []
    reasons += [f"values are infinite in {listed(data.infinite)}"] if data.infinite else []
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


def _with_copies(
    result: InformationEstimate, features: tuple[str, ...], copies: Mapping[str, str]
) -> InformationEstimate:
    """Return the estimate of all features from that of those that repeat no other: given a copy, nothing is left."""
    if not copies:
        return result
    source = np.array([result.features.index(copies.get(f, f)) for f in features])
    shared = np.bincount(source)[source] > 1

    def originals(chosen: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted({int(source[k]) for k in chosen}))

    return replace(
        result,
        features=features,
        terms=InformationTerms(
            result.terms.mutual[:, source], np.where(shared, 0.0, result.terms.conditional[:, source])
        ),
        log_p=lambda chosen: result.log_p(originals(chosen)),
        mean_log_p=lambda chosen: result.mean_log_p(originals(chosen)),
        related=result.related[np.ix_(source, source)],
        notes=(*result.notes, *copy_notes(copies)),
        copies=copies,
    )
