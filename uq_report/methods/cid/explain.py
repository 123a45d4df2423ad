"""Covered information disentanglement: what the other features cover of a feature's information about y."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import compress
from math import ceil
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.measures import Measure
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Omission, Result, RowValues
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.support import options as opt
from ...core.support.arrays import FloatArray, take_rows
from ...core.support.errors import InputError
from ...evidence import columns as col, ids
from ...evidence.information import COVERED, MUTUAL, OF_ENTROPY, OF_VARIANCE, SHARE, CorrectedLine
from ..shared.cards import CardedExplainer
from ..shared.estimates import diagnostic, estimate as estimate_columns, points
from ..shared.grids import stacked
from .cid import CHOSEN, COEFFICIENTS, LEVEL, Greedy, covered_share, importance_map, normal_scores, regressors
from .estimate import DISCRETE, Choice, InformationEstimate, estimate

ESTIMATORS = ("auto", "copula", "discrete", "mixed")
LEAST_ROWS = 10  # of a feature
MOST_EDGES = 1000  # of the graph, beside those with y: pairs of features grow with the square of their number
OF_CELLS = "Information given a set is that of the field of the set and y alone, fitted to the same cells."


@dataclass(frozen=True)
class CoveredInformation(CardedExplainer):
    """Covered information of every feature, and permutation importance corrected for it (Pereira et al.).

    ``CI_i = I(X_i; Y) - I(X_i; Y | U)``, with U all other features, from one fitted Markov random
    field; positive where the others repeat what X_i says about Y. The covered share is net,
    max(CI_i, 0) / I(X_i; Y). What is covered is not lost when the feature alone is: over bootstrap
    sets of rows its importance is regressed on the information terms, and predicted for no redundant cover. That
    is an extrapolation: corrected values appear only if the map passes its gate (see
    ``importance_map``), else the plain importance stands with its covered share.

    Parameters
    ----------
    measures : tuple of str
        Importances to correct, of those that permutation importance has.
    estimator : {"auto", "copula", "discrete", "mixed"}
        Gaussian copula (numeric columns, numeric y), conditional Gaussian (numeric columns, classes),
        or a discrete pairwise field (any columns; numeric ones are cut into cells). "auto" begins with the
        first that suits the columns; where it does not fit, the covariance is shrunk, then the discrete field
        used, and a note says so. A named one that does not fit is refused.
    penalty : float, optional
        Of the graphical lasso; None chooses it by cross-validation. Of the discrete field; None is 1.
    graph : tuple of pairs, optional
        A dependence graph to use as it is: pairs of feature names, and ``"y"``.
    potentials : {"whole", "half"}
        ``"half"`` exists for comparison with published figures only (copula).
    bins : int
        Cells of a numeric column in the discrete field.
    min_gain : float
        Nats by which a partner must lower a feature's information about y to join its covering set,
        beside one standard error of that change.
    max_cover : int
        Largest number of partners.
    n_sets : int
        Bootstrap sets of rows; splits with `refit`.
    refit : bool
        Refit the model on random splits of the audited rows instead of keeping it.
    gate : bool
        False shows corrected values that the gate refuses, marked so, and the values of each set as ``cid.sets``.
    """

    measures: tuple[str, ...] = ("loss", "nll")
    estimator: str = opt.one_of(ESTIMATORS, "auto")
    penalty: float | None = opt.option(None, "a number > 0 or None", lambda value: value is None or value > 0)
    graph: tuple[tuple[str, str], ...] | None = None
    potentials: str = opt.option("whole", "'whole' or 'half'", lambda value: value in ("whole", "half"))
    bins: int = opt.at_least(2, 4)
    min_gain: float = opt.positive(0.005)
    max_cover: int = opt.at_least(0, 5)
    n_sets: int = opt.at_least(10, 50)
    refit: bool = False
    gate: bool = True

    name: ClassVar[str] = "cid"
    section: ClassVar[str] = "relations.cover"
    priority: ClassVar[int] = 8
    needs: ClassVar[tuple[str, ...]] = (ids.PFI,)

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return how many rows it predicts where it refits the model; the field itself asks for none."""
        held = ceil(TEST_SHARE * subject.n)
        return self.n_sets * held * (1 + SHUFFLES * len(subject.features)) if self.refit else 0

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``cid`` (information), ``cid.graph``, ``cid.cover`` (sets) and ``cid.corrected`` (importance)."""
        choice = Choice(self.estimator, self.penalty, self.graph, self.potentials, self.bins)
        fitted = estimate(subject, engine, choice)
        names = [measure.name for measure in engine.select(self.measures)[0]]
        results: list[Result] = [self._information(engine, fitted), _graph(fitted), self._cover(engine, fitted)]
        if self.refit:
            sets = refitted(engine, fitted, names, self.n_sets)
        else:
            plain = next((r for r in prior[ids.PFI] if r.id == ids.PFI), None)
            sets = bootstrapped(engine, fitted, plain, names, self.n_sets)
        corrected = corrected_importance(sets, fitted, names, engine.confidence, gate=self.gate)
        return [*results, corrected, *([] if self.gate else [_by_set(sets, fitted.features, corrected)])]

    def _information(self, engine: Engine, fitted: InformationEstimate) -> Diagnostic:
        sampling, features = Sampling.of(engine.subject), fitted.features
        covered, mutual = fitted.terms.covered, fitted.terms.mutual
        items = {
            COVERED: covered,
            MUTUAL: mutual,
            "redundant part": np.maximum(covered, 0),
            "synergistic part": np.maximum(-covered, 0),
            **alone(engine, features, mutual),
        }
        tables = [_means(features, item, values, sampling, engine.confidence) for item, values in items.items()]
        share = covered_share(sampling.weights @ covered, sampling.weights @ mutual)
        reason = "I(X; Y) is not positive, so it has no share"
        unknown = (Omission("", f, reason) for f in compress(features, np.isnan(share)))
        bare = dict.fromkeys(("std_error", "lower", "upper", "confidence"), np.nan)
        tables.append(tables[0] | {"estimate": share, **bare, "covers": "none", "item": SHARE})
        estimates = stacked(tables, (*ESTIMATE_COLUMNS, "item"))
        estimates = estimates[estimates["estimate"].notna()].reset_index(drop=True)
        return diagnostic(
            self.name,
            "Information about y that each feature shares with the other features",
            estimates,
            x=np.nan,
            rows=RowValues(("covered", "mutual"), features, np.stack([covered.T, mutual.T])),
            options=asdict(self),
            notes=(*fitted.notes, "Intervals cover new test samples, given the fitted field. Information is in nats."),
            omissions=(*fitted.omissions, *unknown),
            meta={"estimator": fitted.estimator, **fitted.facts},
        )

    def _cover(self, engine: Engine, fitted: InformationEstimate) -> Diagnostic:
        sampling, features = Sampling.of(engine.subject), fitted.features
        greedy = Greedy(fitted.log_p, fitted.mean_log_p, fitted.related, sampling, self.min_gain, self.max_cover)
        tables = []
        for j, feature in enumerate(features):
            for number, (partner, information) in enumerate(greedy.steps(j)):
                engine.check()
                item = "" if partner is None else features[partner]
                table = _means((feature,), item, information[:, None], sampling, engine.confidence)
                tables.append(table | {"step": number})
        estimates = stacked(tables, (*ESTIMATE_COLUMNS, "item", "step"))
        rule = (
            f"A partner joins if it lowers the information most, by at least {self.min_gain:g} nats and one standard "
            f"error; at most {self.max_cover}. Only features that depend on the feature are tried ({LEVEL:.0%}, shared "
            "out over the others): an independent feature shares no information with it."
        )
        cells = (OF_CELLS,) if fitted.estimator == DISCRETE else ()
        return diagnostic(
            ids.CID_COVER,
            "The few features that share most of a feature's information about y",
            estimates,
            x=np.nan,
            notes=(rule, CHOSEN, *cells, "Intervals cover new test samples, given the fitted field and the set."),
            meta={"estimator": fitted.estimator, "min_gain": self.min_gain, "max_cover": self.max_cover},
        )


def _graph(fitted: InformationEstimate) -> Diagnostic:
    names, links = (*(f for f in fitted.features if f not in fitted.copies), "y"), np.triu(fitted.links)
    pairs = np.argwhere(links)
    listed = pairs[:, 1] == len(names) - 1  # all with y, and the strongest
    listed[np.argsort(-np.abs(links[tuple(pairs.T)]), kind="stable")[:MOST_EDGES]] = True
    kept = pairs[listed]
    edges = [("", names[a], names[b], np.nan, float(links[a, b])) for a, b in kept]
    unlisted = len(pairs) - len(kept)
    rule = f"Of {len(pairs):,} edges the {MOST_EDGES:,} strongest are listed, and all with y."
    meaning = "largest pair potential" if fitted.estimator == DISCRETE else "partial correlation"
    repeats = [Omission("", copy, f"it repeats {of} exactly, and has its place") for copy, of in fitted.copies.items()]
    return points(
        ids.CID_GRAPH,
        "Dependence graph of features and target",
        edges,
        ("item",),
        notes=(f"One edge per pair with a non-zero {meaning}, its value.", *([rule] if unlisted else [])),
        omissions=tuple(repeats),
        meta={"nodes": list(names), "edge": meaning} | ({"unlisted": unlisted} if unlisted else {}),
    )


def _means(
    features: Sequence[str], item: str, values: FloatArray, sampling: Sampling, confidence: float
) -> dict[str, Any]:
    """Return the means of row values, shape (n, features), with their intervals over new test samples."""
    mean, error = sampling.mean(values.T)
    interval = sampling.interval(mean, error, confidence)
    return estimate_columns(mean, error, interval, confidence, "", np.array(features, dtype=object)) | {"item": item}


def alone(engine: Engine, features: Sequence[str], mutual: FloatArray) -> dict[str, FloatArray]:
    """Return row values, linear about their mean: I(X; Y) / H(Y) of classes, the explained variance of numbers.

    Of the normal scores of y. A numeric feature explains r² of it, which has no penalty, so it is not that of the
    field: ``1 - exp(-2 I)`` of a Gaussian copula. Of other features it is what the mean of the other rows of the same
    level predicts, 0 or less for a feature of chance or of single rows. Where values are missing, of the other rows.
    """
    weights, y = Sampling.of(engine.subject).weights, np.asarray(engine.y)
    if "proba" in engine.baseline.supports:
        return {OF_ENTROPY: _of_entropy(weights, y.astype(np.int64), mutual)}
    explained = np.full(mutual.shape, np.nan)
    for k, name in enumerate(features):
        values = pd.Series(engine.subject.values(name))
        present = values.notna().to_numpy()
        numeric = engine.subject.kinds[name] == "numeric"
        share = weights[present].sum()
        if present.sum() < LEAST_ROWS or not share > 0 or values.nunique() < 2 or np.ptp(y[present]) == 0:
            continue
        rows = (_of_numbers if numeric else _of_levels)(values[present], y[present], weights[present] / share)
        mean = float(weights[present] @ rows / share)
        explained[:, k] = mean
        explained[present, k] += (rows - mean) / share
    return {OF_VARIANCE: explained}


def _of_entropy(weights: FloatArray, y: Any, mutual: FloatArray) -> FloatArray:
    surprise = -np.log((np.bincount(y) / len(y))[y])
    entropy = float(weights @ surprise)
    share = weights @ mutual / entropy
    return np.asarray(share + (mutual - surprise[:, None] * share) / entropy)


def _of_numbers(values: Any, y: Any, weights: FloatArray) -> FloatArray:
    a, b = normal_scores(np.column_stack([np.asarray(values, dtype=float), y])).T
    r = float(np.clip(weights @ (a * b), -1, 1))
    return np.asarray(r * (2 * a * b - r * (a**2 + b**2) + r))


def _of_levels(values: Any, y: Any, weights: FloatArray) -> FloatArray:
    scores = normal_scores(np.asarray(y, dtype=float)[:, None])[:, 0]
    levels = pd.factorize(values)[0]
    mass, total = np.bincount(levels, weights), np.bincount(levels, weights * scores)
    others = mass[levels] - weights
    alike = (total[levels] - weights * scores) / np.where(others > 1e-12, others, 1.0)
    missed = (scores - np.where(others > 1e-12, alike, weights @ scores)) ** 2
    squares = (scores - weights @ scores) ** 2
    left, whole = weights @ missed, weights @ squares
    return np.asarray(1 - left / whole - (missed - left / whole * squares) / whole)


SHUFFLES = 5
TEST_SHARE = 0.2


class Sets(NamedTuple):
    """Importance (sets, d) per measure and the terms (sets, d, 4) of the same rows, and how the sets came about."""

    importances: dict[str, FloatArray]
    terms: FloatArray
    note: str


def corrected_importance(
    sets: Sets, estimate: InformationEstimate, names: Sequence[str], confidence: float, *, gate: bool = True
) -> Importance:
    """Return ``cid.corrected``: what the map of each measure gives where it passes its gate, else why it does not.

    Without the `gate` what it refuses is shown, and marked.
    """
    features = estimate.features
    frames, tables, omissions, maps, marks = [], [], [], {}, []
    for measure in names:
        reason = "permutation importance has no values of single observations for every feature"
        if measure in sets.importances:
            fitted = importance_map(sets.importances[measure], sets.terms)
            maps[measure] = fitted.facts
            refused = f"corrected importance is not shown: {'; '.join(fitted.refusals)}"
            reason = refused if fitted.refusals and gate else ""
            if fitted.refusals and not gate:
                marks.append(f"The gate refuses these values of {measure}: {'; '.join(fitted.refusals)}.")
        if reason:
            omissions.append(Omission(measure, "", reason))
            continue
        frames.append(_long(fitted.corrected, features, "repeat").assign(measure=measure))
        tables.append(_corrections(measure, features, sets.importances[measure], fitted.corrected, confidence))
    columns = [field.name for field in fields(CorrectedLine)]
    return Importance(
        id=ids.CID_CORRECTED,
        explainer=ids.CID,
        title="Permutation importance corrected by covered information (Pereira et al.)"
        + (" - refused by its gate" if marks else ""),
        frame=stacked(frames, Importance.columns),
        estimates=stacked(tables, columns),
        notes=(
            *marks,
            sets.note,
            "The absence of redundant information lies outside the data: every corrected value is an extrapolation.",
        ),
        omissions=tuple(omissions),
        meta={"maps": maps, "coefficients": list(COEFFICIENTS), "estimator": estimate.estimator}
        | ({col.MARK: "refused by its gate"} if marks else {}),
    )


def _by_set(sets: Sets, features: Sequence[str], corrected: Importance) -> Diagnostic:
    """Return ``cid.sets``: the plain and the corrected importance, and the four information terms, of each set."""
    terms = {("", name): sets.terms[..., k] for k, name in enumerate(COEFFICIENTS)}
    plain = {(measure, "plain"): values for measure, values in sets.importances.items()}
    parts = {**plain, **terms}.items()
    wide = [_long(values, features, "x").assign(measure=measure, item=item) for (measure, item), values in parts]
    wide.append(corrected.frame.rename(columns={"repeat": "x"}).assign(item="corrected"))
    frame = stacked(wide, Diagnostic.columns)
    return points(ids.CID_SETS, "Importance and information terms of each set", frame, notes=corrected.notes)


def _long(values: FloatArray, features: Sequence[str], name: str) -> pd.DataFrame:
    """Return values of shape (sets, features) line by line, the number of the set under a name."""
    wide = pd.DataFrame(values, columns=list(features))
    return wide.melt(var_name="feature", ignore_index=False).reset_index(names=name)


def _corrections(
    measure: str, features: Sequence[str], plain: FloatArray, corrected: FloatArray, confidence: float
) -> pd.DataFrame:
    """Return the median over sets with its spread, beside the plain importance, and both ranks."""
    tail = (1 - confidence) / 2
    middle, before = np.median(corrected, axis=0), plain.mean(axis=0)
    ends = tuple(np.quantile(corrected, [tail, 1 - tail], axis=0))
    error, over = corrected.std(axis=0, ddof=1), "samples, given the map"
    table = pd.DataFrame(estimate_columns(middle, error, ends, confidence, measure, list(features), over))
    ranks = [pd.Series(-values).rank(method="min").astype(int) for values in (middle, before)]
    return table.assign(plain=before, rank=ranks[0], plain_rank=ranks[1])


def bootstrapped(
    engine: Engine, estimate: InformationEstimate, plain: Result | None, names: Sequence[str], n_sets: int
) -> Sets:
    """Return sets of the same model: importance from the row values of `plain` where it has them."""
    weights = bootstrap_weights(engine, n_sets)
    terms = np.stack([regressors(estimate.terms, rows) for rows in weights])
    importances, rows = {}, None if plain is None else plain.rows
    if rows is not None and set(estimate.features) <= set(rows.features):
        for measure in (name for name in names if name in rows.measures):
            values = np.stack([rows.of(measure, f) for f in estimate.features])
            if np.isfinite(values).all():
                importances[measure] = weights @ values.T
    return Sets(importances, terms, f"The model is fixed; {n_sets} bootstrap samples of the test sample.")


def bootstrap_weights(engine: Engine, n_sets: int) -> FloatArray:
    """Return the row weights of bootstrap samples of the units (rows, or clusters), (sets, n), each summing to one.

    Rows of weight zero are no units.
    """
    sampling = Sampling.of(engine.subject)
    present = np.flatnonzero(sampling.weights > 0)
    codes = present if sampling.codes is None else sampling.codes[present]
    different, codes = np.unique(codes, return_inverse=True)
    units = len(different)
    counts = engine.rng("bootstrap").multinomial(units, np.full(units, 1 / units), size=n_sets)
    weights = np.zeros((n_sets, engine.subject.n))
    weights[:, present] = counts[:, codes] * sampling.weights[present]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def refitted(engine: Engine, estimate: InformationEstimate, names: Sequence[str], n_sets: int) -> Sets:
    """Return random splits with the model refitted on each, for estimators that can be cloned; of held-out rows."""
    from sklearn.base import clone
    from sklearn.model_selection import ShuffleSplit

    subject = engine.subject
    if not hasattr(subject.model, "get_params") or not hasattr(subject.model, "fit"):
        raise InputError(f"cid.refit must get an estimator that can be cloned; got {type(subject.model).__name__}.")
    if subject.y is None or subject.weights is not None or subject.clusters is not None:
        raise InputError("cid.refit must get y, and neither weights nor clusters: its splits know neither.")
    measures = [m for m in engine.select(names)[0] if m.statistic is None]
    if not measures:
        raise InputError(f"cid.refit must get a measure that is a mean over rows; got {list(names)}.")
    splits = ShuffleSplit(n_sets, test_size=TEST_SHARE, random_state=int(engine.rng("splits").integers(2**31)))
    importances, terms = [], []
    for s, (fit, test) in enumerate(splits.split(np.asarray(subject.y))):
        model: Any = clone(subject.model).fit(take_rows(subject.X, fit), subject.y[fit])
        part = replace(subject, model=model, X=take_rows(subject.X, test), y=subject.y[test], train=None)
        importances.append(_shuffled(engine.bound(ids.CID, part), measures, estimate.features, s))
        rows = np.zeros(subject.n)
        rows[test] = 1 / len(test)
        terms.append(regressors(estimate.terms, rows))
    by_name = {m.name: values for m, values in zip(measures, np.stack(importances, axis=1), strict=True)}
    return Sets(
        {name: values for name, values in by_name.items() if np.isfinite(values).all()},
        np.stack(terms),
        f"The model is refitted on {n_sets} random splits of the test sample, scored on the {TEST_SHARE:.0%} left out.",
    )


def _shuffled(engine: Engine, measures: Sequence[Measure], features: Sequence[str], split: int) -> FloatArray:
    """Return the permutation importance (measures, d) of a refitted model on its held-out rows."""
    subject = engine.subject
    variants = [Variant()]
    for feature in features:
        rng = engine.rng("refit", feature, split)
        variants += [Variant(subject.positions(feature), donors=rng.permutation(subject.n)) for _ in range(SHUFFLES)]
    groups = engine.evaluate(variants, measures, total=len(variants))
    means = np.concatenate([group.values.mean(axis=2) for group in groups], axis=1)
    shuffled = means[:, 1:].reshape(len(measures), len(features), SHUFFLES).mean(axis=2)
    return np.asarray(shuffled - means[:, :1])
