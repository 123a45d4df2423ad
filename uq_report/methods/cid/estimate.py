"""Which estimator of covered information fits the data, and its terms, with everything a reader must know."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import gammaincc, ndtri, xlogy

from ...core.engine.fast_path_evaluator import Engine
from ...core.model.results import Omission
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.errors import InputError
from . import cid, precision
from .cid import LEVEL, InformationTerms, LogProbability, MeanLogProbability, UnfitError
from .precision import Inverter, fit_field, partial_correlations

TOO_ALIKE = 1 - 1e-9
MOST_LEVELS = 20
NAMED = 5  # columns that a note names


@dataclass(frozen=True)
class InformationEstimate:
    """Terms of the features that have them, how they were estimated, and the dependence graph.

    ``links`` is over the features that are no copies, and y: partial correlations, or for a discrete field the
    largest pair potential; 0 where the graph has no edge. ``log_p`` is log p(y | x_S) of each row for
    any positions S of features, ``mean_log_p`` about its mean, and ``related`` says which features depend on each
    other.
    """

    features: tuple[str, ...]
    terms: InformationTerms
    estimator: str
    links: FloatArray
    log_p: LogProbability
    mean_log_p: MeanLogProbability
    related: BoolArray
    notes: tuple[str, ...]
    facts: dict[str, Any]
    omissions: tuple[Omission, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)


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
        """The features as numbers (n, d); refuses two columns with correlation ±1."""
        X = np.column_stack([np.asarray(self.subject.values(f), dtype=float) for f in self.features])
        unit = X / np.abs(X).max(axis=0)  # of any size: squares of it do not underflow
        alike = np.triu(np.abs(np.corrcoef(unit, rowvar=False).reshape(len(self.features), -1)) > TOO_ALIKE, 1)
        if alike.any():
            a, b = (self.features[k] for k in np.argwhere(alike)[0])
            raise UnfitError(
                f"cid.X must have no copies; got {a!r} and {b!r} with correlation ±1 "
                f"({int(alike.sum())} such pairs). Each covers all of the other: keep one.",
                f"{a} and {b} have correlation ±1",
            )
        return X

    @property
    def gaps(self) -> dict[str, int]:
        """The number of missing values of the features that have some."""
        counts = {f: int(pd.isna(self.subject.values(f)).sum()) for f in self.features}
        return {f: count for f, count in counts.items() if count}

    @property
    def infinite(self) -> tuple[str, ...]:
        """The features that have infinite values."""
        numeric = [f for f in self.features if self.subject.kinds[f] == "numeric"]
        return tuple(f for f in numeric if np.isinf(np.asarray(self.subject.values(f), dtype=float)).any())


def varying(subject: Subject) -> tuple[tuple[str, ...], tuple[Omission, ...]]:
    """Return the features that have information, and those that are constant."""
    constant = [f for f in subject.features if pd.Series(subject.values(f)).nunique(dropna=False) < 2]
    used = tuple(f for f in subject.features if f not in constant)
    if not used:
        raise InputError("cid.X must have a feature that varies; got constant ones only.")
    return used, tuple(Omission("", f, "it is constant, so it has no information") for f in constant)


def listed(names: Sequence[str]) -> str:
    """Return at most `NAMED` names, and the number of the others.

    Examples
    --------
    >>> listed(["a", "b"]), listed(list("abcdefg"))
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def twins(subject: Subject, features: Sequence[str]) -> dict[str, str]:
    """Return for each feature that repeats an earlier one, one to one, that feature.

    Columns of few values repeat each other where their values pair off; others where their ranks agree, upwards or
    downwards: between continuous columns any two values would pair off.
    """
    first: dict[Any, str] = {}
    keys = {f: _identity(subject.values(f), numeric=subject.kinds[f] == "numeric") for f in features}
    sources = {f: first.setdefault(key, f) for f, key in keys.items()}
    return {name: source for name, source in sources.items() if name != source}


def _identity(values: Any, *, numeric: bool) -> tuple[bool, bytes]:
    series = pd.Series(values)
    if not numeric or series.nunique() <= len(series) / 2:
        return True, np.asarray(pd.factorize(series, use_na_sentinel=False)[0], dtype=np.int64).tobytes()
    from scipy.stats import rankdata  # here: heavy, and a list of plugins ranks nothing

    ranks = rankdata(np.asarray(series, dtype=float), nan_policy="omit")
    turned = series.count() + 1 - ranks
    apart = np.flatnonzero(np.nan_to_num(ranks - turned))
    return False, (ranks if ranks[apart[0]] < turned[apart[0]] else turned).tobytes()


def cells(values: Any, bins: int | None) -> IntArray:
    """Return level codes, or quantile cells of about equal count with equal values together.

    A missing value has a cell of its own; levels beyond the `MOST_LEVELS` most frequent ones share one.

    Examples
    --------
    >>> cells([3.0, float("nan"), 1.0, 2.0], 2)
    array([2, 0, 1, 2])
    """
    series = pd.Series(np.asarray(values) if bins else values)
    if bins:
        series = pd.Series(np.ceil(series.rank(method="average", pct=True).to_numpy() * bins))
    elif series.nunique() > MOST_LEVELS:
        series = series.astype(object)
        frequent = series.value_counts().index[: MOST_LEVELS - 1]
        series = series.where(series.isin(frequent) | series.isna(), "other levels").astype(str)
    codes = np.asarray(pd.factorize(series, sort=True)[0], dtype=np.int64)
    return codes - codes.min()


def in_cells(data: Data, bins: int) -> tuple[IntArray, tuple[str, ...]]:
    """Return the cells of the features and then y, and notes on how they came about."""
    names, columns = [*data.features, "y"], [*map(data.subject.values, data.features), data.y]
    levels = [pd.Series(values).nunique() for values in columns]
    cut = [data.subject.kinds[f] != "categorical" and k > bins for f, k in zip(data.features, levels, strict=False)]
    cut.append(not data.classes)
    codes = np.column_stack([cells(values, bins if c else None) for values, c in zip(columns, cut, strict=True)])
    pooled = [name for name, c, k in zip(names, cut, levels, strict=True) if not c and k > MOST_LEVELS]
    return codes, cell_notes([name for name, c in zip(names, cut, strict=True) if c], bins, pooled, list(data.gaps))


def cell_notes(binned: Sequence[str], bins: int, pooled: Sequence[str], gaps: Sequence[str]) -> tuple[str, ...]:
    """Return how columns became cells: what was cut, which levels share a cell, and where values are missing."""
    cut = f"Cut into {bins} cells of about equal count: {listed(binned)}. Information within a cell is lost."
    pool = f"The {MOST_LEVELS - 1} most frequent levels are kept, the other levels share one cell: {listed(pooled)}."
    missing = f"A missing value is a cell of its own: {listed(gaps)}."
    return tuple(note for note, names in ((cut, binned), (pool, pooled), (missing, gaps)) if names)


def copy_notes(copies: Mapping[str, str]) -> tuple[str, ...]:
    """Return which columns repeat which, at most `NAMED` of them, and the number of the others."""
    notes = [f"{copy} repeats {of} exactly: its covered share is 100%." for copy, of in copies.items()]
    more = len(notes) - NAMED
    rest = f"So it is with {more} more column{'s' if more > 1 else ''} that repeat{'' if more > 1 else 's'} another."
    return (*notes[:NAMED], *([rest] if more > 0 else []))


COPULA, MIXED = "Gaussian copula", "conditional Gaussian"


def copula_estimate(data: Data, inverter: Inverter, caveats: tuple[str, ...], *, half: bool) -> InformationEstimate:
    """Return the terms of the normal of all columns' normal scores."""
    Z = cid.normal_scores(np.column_stack([data.numbers, np.asarray(data.y, dtype=float)]))
    precision, facts = inverter(Z)
    notes = [f"Gaussian copula: columns mapped to normal quantiles by mid-ranks; {facts['graph']}.", *caveats]
    halved = "Half of every pair potential is used, for comparison with published figures; it is not the definition."
    notes += [halved] if half else []
    return InformationEstimate(
        data.features,
        (cid.half_potential_terms if half else cid.gaussian_terms)(Z, precision),
        COPULA,
        partial_correlations(precision),
        cid.gaussian_log_p(Z, precision),
        cid.normal_log_p(np.asarray(np.linalg.inv(precision), dtype=float), np.arange(len(precision) + 1)),
        related_by_correlation(Z[:, :-1], data.units),
        tuple(notes),
        facts,
    )


def mixed_estimate(data: Data, inverter: Inverter, caveats: tuple[str, ...]) -> InformationEstimate:
    """Return the terms of one normal per class with a shared covariance, that within the classes."""
    X, features = data.numbers, data.features
    codes = np.unique(np.asarray(data.y, dtype=np.int64), return_inverse=True)[1]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    means = np.stack([Z[codes == c].mean(axis=0) for c in range(codes.max() + 1)])
    within = Z - means[codes]
    scale = within.std(axis=0)
    if (scale < 1e-9).any():
        constant = listed([f for f, s in zip(features, scale, strict=True) if s < 1e-9])
        message = f"cid.X must vary within classes; got {constant} constant in each. It equals y: drop it."
        raise UnfitError(message, f"{constant} does not vary within the classes of y")
    precision, facts = inverter(within / scale)
    log_prior = np.log(np.bincount(codes) / len(codes))
    links = np.zeros((len(features) + 1,) * 2)
    links[:-1, :-1] = partial_correlations(precision)
    return InformationEstimate(
        features,
        cid.mixed_terms(Z / scale, codes, log_prior, means / scale, np.repeat(precision[None], len(means), axis=0)),
        MIXED,
        links,
        cid.mixed_log_p(Z / scale, codes, log_prior, means / scale, precision),
        with_indicators(Z, codes[:, None]),
        related_by_correlation(cid.normal_scores(X), data.units),
        (f"Conditional Gaussian: one normal per class with a shared covariance; {facts['graph']}.", *caveats),
        facts,
    )


DISCRETE = "discrete field"


def discrete_estimate(data: Data, bins: int, edges: BoolArray | None, penalty: float) -> InformationEstimate:
    """Return the terms of a pairwise field of cells."""
    codes, notes = in_cells(data, bins)
    field = fit_field(codes, edges, penalty)
    starts = field.starts[:-1]
    return InformationEstimate(
        data.features,
        cid.discrete_terms(codes, field),
        DISCRETE,
        np.maximum.reduceat(np.maximum.reduceat(np.abs(field.pair), starts, axis=0), starts, axis=1),
        cid.discrete_log_p(codes, penalty),
        with_indicators(np.empty((len(codes), 0)), codes),
        related_by_cells(codes[:, :-1], data.units),
        (f"Discrete pairwise field by penalised pseudo-likelihood, penalty {penalty:g}.", *notes),
        {"penalty": penalty, "graph": "all pairs" if edges is None else "given", "bins": bins},
    )


def with_indicators(numbers: FloatArray, codes: IntArray) -> MeanLogProbability:
    """Return `normal_log_p` of numbers, and of indicators of the cells of each code, all but the first cell."""
    hot = [codes[:, [a]] == np.arange(1, top + 1) for a, top in enumerate(codes.max(axis=0))]
    starts = np.cumsum([0, *[1] * numbers.shape[1], *codes.max(axis=0)])
    return cid.normal_log_p(np.cov(np.column_stack([numbers, *hot]), rowvar=False), starts)


def related_by_correlation(Z: FloatArray, units: int) -> BoolArray:
    """Say which columns are correlated, at the level `LEVEL` shared out over the other columns (Fisher's z)."""
    d = Z.shape[1]
    r = np.corrcoef(Z, rowvar=False).reshape(d, d)
    with np.errstate(divide="ignore", invalid="ignore"):  # with at most three units nothing is related
        z = np.abs(np.arctanh(r)) * np.sqrt(max(units - 3, 0))
    related: BoolArray = z > ndtri(1 - LEVEL / (2 * max(d - 1, 1)))
    return related | np.eye(d, dtype=bool)


def related_by_cells(codes: IntArray, units: int) -> BoolArray:
    """Say which columns of cells depend on each other, at the level `LEVEL` shared out over the others (G-test)."""
    states = [np.unique(column, return_inverse=True)[1] for column in codes.T]
    sizes = np.array([column.max() + 1 for column in states])
    starts, d = np.cumsum(sizes) - sizes, len(sizes)
    hot = np.hstack([column[:, None] == np.arange(size) for column, size in zip(states, sizes, strict=True)])
    counts = hot.T.astype(float) @ hot
    cells, alone = xlogy(counts, counts), np.diag(xlogy(counts, counts))
    joint = np.add.reduceat(np.add.reduceat(cells, starts, axis=0), starts, axis=1)
    single = np.add.reduceat(alone, starts)
    n = len(codes)
    g = 2 * units / n * (joint - np.add.outer(single, single) + n * np.log(n))
    freedom = np.multiply.outer(sizes - 1, sizes - 1)
    related: BoolArray = (freedom > 0) & (gammaincc(freedom / 2, np.maximum(g, 0) / 2) < LEVEL / max(d - 1, 1))
    return related | np.eye(d, dtype=bool)


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
            "cid.y must not be censored; got times that may be. Beyond the last observed time the information about y "
            "is not identified, and weights for censoring need a model of it. Use permutation importance with groups "
            "of correlated features."
        )
    y = np.asarray(engine.y)
    if len(np.unique(y)) < 2:
        raise InputError("cid.y must vary over the test sample; got one value only. It carries no information.")
    return y


def _attempts(
    data: Data, engine: Engine, choice: Choice, refused: list[str]
) -> Iterator[Callable[[], InformationEstimate]]:
    """Yield estimators, best first; why one is passed over goes to `refused`."""
    name = _first(data, choice)
    reasons = _unsuited(data, MIXED if name == "mixed" else COPULA) if name != "discrete" else []
    edges = _edges(choice.graph, data.features)
    if name != "discrete" and not (choice.free and reasons):
        caveats = tuple(f"In this sample {reason}." for reason in reasons)
        fit: Callable[..., InformationEstimate] = mixed_estimate
        if name == "copula":
            fit = partial(copula_estimate, half=choice.potentials == "half")
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
            yield partial(fit, data, inverter, caveats)
        if choice.free:
            yield partial(fit, data, precision.by_shrinkage, caveats)
    if name == "discrete" or choice.free:
        refused += reasons
        penalty = 1.0 if choice.penalty is None else choice.penalty
        for k in range(3 if choice.free else 1):
            yield partial(discrete_estimate, data, choice.bins, edges, penalty * STRONGER**k)


def _first(data: Data, choice: Choice) -> str:
    """Return the estimator to begin with; refuse one that the columns do not allow."""
    name = choice.estimator
    text = [f for f in data.features if data.subject.kinds[f] != "numeric"]
    if name == "auto" and not text and (choice.free or not (data.gaps or data.infinite)):
        return "mixed" if data.classes else "copula"
    if name in ("auto", "discrete"):
        return "discrete"
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
    shared = f"more than {100 * MOST_COMMON:.0f}% of the observations share one value of {listed(common)}"
    return [*reasons, f"{shared}: a {title} does not fit there"] if common else reasons


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
    shared, (mutual, conditional) = np.bincount(source)[source] > 1, result.terms

    def originals(chosen: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted({int(source[k]) for k in chosen}))

    return replace(
        result,
        features=features,
        terms=InformationTerms(mutual[:, source], np.where(shared, 0.0, conditional[:, source])),
        log_p=lambda chosen: result.log_p(originals(chosen)),
        mean_log_p=lambda chosen: result.mean_log_p(originals(chosen)),
        related=result.related[np.ix_(source, source)],
        notes=(*result.notes, *copy_notes(copies)),
        copies=copies,
    )
