"""Permutation importance of any measure: loss, likelihood and entropy of the same shuffles in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import ClassVar

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.measures import DECOMPOSITION, ENTROPY, PARTS, SET_SIZE, VARIANCE, Measure
from ...core.model.results import Importance, Omission, Result
from ...core.model.subject import Subject
from ...core.support import options as opt
from ...core.support.arrays import FloatArray
from ...core.support.errors import InputError, nearest
from ...evidence.importance import CLAIMED
from ..shared.cards import CardedExplainer
from ..shared.choice import at_most, refuse_none
from ..shared.members import DrawnMembers
from ..shared.terms import ShuffledRows, usual_margin, with_wholes
from .claims import Claiming, score_of, why_no_score
from .drivers import Drivers, associated, counted, followed
from .estimator import Estimator, Shuffler, distinct_values, stops
from .tables import ShuffleTables, delta_result, importance_result, read_pair, training_result, untrained_result

MIN_ROWS = 3
TRAIN_ROWS = 1000
JOINT_SHUFFLES = 10  # of associated features together: more would narrow an interval of a size by 1%


@dataclass(frozen=True)
class PermutationImportance(CardedExplainer):
    """How much a measure rises when one feature, or a group of them, is shuffled among the rows.

    ``PFI_k = mean_i [measure(q(. | x̃_S, x_-S), y) - measure(q(. | x), y)]`` for shuffle k, and their mean.
    The measure ``nll`` gives Likelihood-PFI, ``entropy`` Entropy-PFI, a loss the classical PFI; all come
    from the same predictions. Signs are kept. The interval is over new test samples for the fixed model:
    every row counts as receiver and as donor of values (`uq_report.core.statistics.inference`).

    Parameters
    ----------
    measures : tuple of str, default=("loss", "nll", "entropy", "decomposition")
        ``"loss"`` is the Brier score or the squared error. Where a distribution has no entropy, as that of members
        which are single points, its variance stands in its place; of prediction intervals their width does, and the
        interval score in that of nll. ``"decomposition"`` adds, where a prediction has members, the aleatoric and the
        epistemic part of the entropy (or variance). By default the size of label sets is explained too, where there are
        such.
    n_repeats : int, default=30
        Shuffles of each feature; at least 3 for an interval.
    max_shuffle_variance : float, default=0.1
        A feature is shuffled no further, from 20 shuffles on, once for every measure their choice has at most this
        share of the estimate's variance, or the importance is "about 0", and the verdict is the same two standard
        errors of shuffling above and below the estimate. 0: always `n_repeats` shuffles.
    features : tuple of str, optional
        What to shuffle, all by default: features, and sets of them, whose values move together.
    exact : bool, optional
        Whether to use all n² pairs of rows, so that the importance is the mean over all n! shuffles and only the rows
        have a part in its error: n (G - 1) predictions for a feature of G distinct values. By default where they are
        no more than those of the shuffles, G <= `n_repeats` + 1. The spread and the p-value are those of `n_repeats`
        shuffles, which then cost no prediction. False: shuffles only.
    margin : float or mapping of measure to float, optional
        How large an importance must be to matter; by default 0.01 nats, and 1% of the unpermuted mean of
        measures in other units, of the whole variance for its parts. Between -margin and margin is "about 0".
    within_clusters : bool, default=False
        Shuffle among the rows of a cluster: the importance of what differs inside clusters (the visits of a patient),
        ``mean over i of mean over k in the cluster of i of (T_ik - b_i)``. By default a row gets the value of any row,
        and the importance is that of all the feature says, between clusters too. No training importance then.
    train : bool, default=True
        Also compute the importance on training rows, where the subject has them, to show over-fitting: on as
        many as there are test rows, or 1000 if those are fewer and not all pairs are asked for.

    Notes
    -----
    The mean over all n! shuffles is the mean over all n² pairs, a row with itself included. Rows in order of time are
    shuffled in whole blocks, put on a circle: the mean over these shuffles is the same mean over all pairs, and the
    spread is that of values which keep their order inside blocks. Rows of a cluster are shuffled as single rows.
    No conditional Entropy-PFI is offered: it is 0 by construction (Wood et al., proposition 3).

    Results: ``pfi`` (rows: the terms g that carry the sampling error), ``pfi.delta`` (rows: each row's own
    mean change ΔL), ``pfi.reading`` where nll and entropy are both there, ``pfi.claims`` where there is
    a proper score (without outcomes what is claimed only), ``pfi.train``; of an uncertainty ``pfi.uncertainty`` (mean
    absolute change by feature) and ``pfi.drivers`` (by unit of associated features, with leaders): see `drivers`.

    References
    ----------
    Wood et al., Model-agnostic variable importance for predictive uncertainty, sections 3.1 to 3.5.
    Breiman (2001), doi:10.1023/A:1010933404324.

    Examples
    --------
    >>> PermutationImportance(n_repeats=0)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: pfi.n_repeats must be an integer >= 1; got 0.
    """

    measures: tuple[str, ...] = ("loss", "nll", "entropy", DECOMPOSITION)
    n_repeats: int = opt.at_least(1, 30)
    max_shuffle_variance: float = opt.option(0.1, "a number in [0, 1)", lambda value: 0 <= value < 1)
    features: tuple[str, ...] | None = None
    exact: bool | None = None
    margin: Mapping[str, float] | float | None = None
    within_clusters: bool = False
    train: bool = True

    name: ClassVar[str] = "pfi"
    section: ClassVar[str] = "prediction.importance"
    priority: ClassVar[int] = 3

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        for field in ("measures", "features"):
            value = getattr(self, field)
            if isinstance(value, str) or (value is not None and not value):
                raise InputError(f"pfi.{field} must be a sequence of names; got {value!r}.")
            if value is not None:
                object.__setattr__(self, field, tuple(value))
        super().__post_init__()
        if isinstance(self.margin, Mapping):
            allowed = (*self.measures, *(chain(*PARTS) if DECOMPOSITION in self.measures else ()))
            unknown = [key for key in self.margin if key not in allowed]
            if unknown:
                hint = nearest(str(unknown[0]), allowed)
                raise InputError(f"pfi.margin must name measures of this explainer; got {unknown[0]!r}. {hint}")
        for value in self.margin.values() if isinstance(self.margin, Mapping) else [self.margin]:
            if value is not None and not 0 < value < np.inf:
                raise InputError(f"pfi.margin must be a number > 0 in the measure's unit; got {value!r}.")

    def _check_clusters(self, subject: Subject) -> None:
        """Refuse rows that cannot be shuffled within clusters."""
        if not self.within_clusters:
            return
        wrong = (
            (subject.clusters is None, "no clusters; pass clusters= to uq.explain"),
            (subject.blocks is not None, "blocks of time, which are permuted whole; pass clusters= in place of time="),
            (subject.weights is not None, "sample weights; leave them out"),
            (self.exact, "exact=True; leave it out"),
        )
        for fault, got in wrong:
            if fault:
                raise InputError(f"pfi.within_clusters must have clusters of equal rows; got {got}.")

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return about how many rows it will have predicted: most features are settled when first looked at."""
        first = stops(self.n_repeats, adaptive=self.max_shuffle_variance > 0)[0]
        sets = map(subject.positions, self._sets(subject))
        every = (distinct_values(subject, columns, self.n_repeats, self._all_pairs) for columns in sets)
        changes = sum(first if own is None else len(own.first) - 1 for own in every)
        sizes = [subject.n]
        if self.train and not self.within_clusters and subject.train is not None:
            sizes.append(min(len(subject.train[0]), max(TRAIN_ROWS, subject.n)))
        return changes * sum(sizes)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Shuffle every feature and return importance, row changes, reading and training importance."""
        if subject.n < MIN_ROWS:
            raise InputError(f"subject.X must have at least {MIN_ROWS} rows for pfi; got {subject.n}. Give more rows.")
        self._check_clusters(subject)
        measures, omitted = _evaluable(self._names(engine), engine)
        refuse_none(self.name, measures, omitted)
        rows = ShuffledRows.of(engine, measures, within=self.within_clusters)
        score = score_of(engine.baseline)
        if score is None:
            omitted = (*omitted, Omission(CLAIMED, "", why_no_score(engine.baseline)))
        drivers, drawn = Drivers.of(engine, rows), DrawnMembers.of(engine, measures, rows.weights)
        changes, means = ((), ()) if drivers is None else (followed(measures), counted(measures))
        claims = Claiming.of(score, engine, rows, changes, means, drawn.measures)
        kept = np.empty((2, len(measures), len(self._sets(subject)), rows.n))
        tables = self._tables(claims, omitted, self._margins(rows), kept, drivers, drawn)
        main = importance_result(tables)
        results: list[Result | None] = [main, delta_result(tables)]
        if score is not None:
            claims.add_all(self._shuffling(claims))
            results.append(claims.result(score, tables.options))
        training = subject.training() if self.train and not self.within_clusters else None
        results += [] if drivers is None else self._drivers(drivers, tables, engine)
        results.append(read_pair(tables, main.estimates))
        results.append(None if training is None else self._training(training, engine, tables, main))
        return [result for result in results if result is not None]

    def _drivers(self, drivers: Drivers, tables: ShuffleTables, engine: Engine) -> list[Result]:
        """Permute associated features together, and return how far each unit changes the uncertainty."""
        subject = engine.subject
        owned = {name: subject.groups[name] for name in tables.features if name in subject.groups}
        grouped = {member for members in owned.values() for member in members}
        free = [name for name in tables.features if name not in owned and name not in grouped]
        joint = {" + ".join(members): members for members in associated(subject, free)}
        alone = [name for name in free if not any(name in members for members in joint.values())]
        evaluated = engine, drivers.measures, drivers.base, 3 * len(drivers.rows.b)
        repeats = min(self.n_repeats, JOINT_SHUFFLES)
        shuffler = Shuffler(*evaluated, repeats, self._all_pairs, units=joint)
        estimator = Estimator(drivers.rows, tables.estimator.margins, engine.confidence, self.max_shuffle_variance)
        for held, changes, _ in estimator.terms(shuffler, list(joint)):
            drivers.add(held.feature, changes, held.means, drivers.measures)
        units = {name: (name,) for name in alone} | joint | owned
        return drivers.results(tables.features, units, tables.options)

    def _names(self, engine: Engine) -> tuple[str, ...]:
        """Return the measures asked for; by default the size of label sets too, where there are such."""
        usual = self.measures == PermutationImportance.measures and "label_sets" in engine.baseline.supports
        return (*self.measures, SET_SIZE.name) if usual and SET_SIZE.name in engine.measures else self.measures

    def _training(self, training: Subject, engine: Engine, tables: ShuffleTables, main: Importance) -> Importance:
        limit = tables.rows.n if self.exact else max(TRAIN_ROWS, tables.rows.n)
        sampled = at_most(training, limit, engine)
        own = engine.bound(self.name, sampled)
        measures, omitted = _evaluable(tables.names, own)
        if not measures:
            return untrained_result(main, omitted)
        unclaimed = Claiming.of(None, own, ShuffledRows.of(own, measures))
        return training_result(self._tables(unclaimed, omitted, tables.estimator.margins), sampled.sampled_from)

    def _sets(self, subject: Subject) -> tuple[str, ...]:
        return tuple(dict.fromkeys(subject.targets if self.features is None else self.features))

    def _tables(
        self,
        claims: Claiming,
        omitted: tuple[Omission, ...],
        margins: Mapping[str, float],
        kept: FloatArray | None = None,
        drivers: Drivers | None = None,
        drawn: DrawnMembers | None = None,
    ) -> ShuffleTables:
        """Return what the shuffles give, with terms row by row if there is a place where they are `kept`."""
        features = self._sets(claims.engine.subject)
        estimator = Estimator(claims.rows, margins, claims.engine.confidence, self.max_shuffle_variance)
        members = 0 if drawn is None else drawn.n_members
        tables = ShuffleTables(estimator, features, (), asdict(self), omitted, kept, members)
        left, terms = 0 if drawn is None else len(drawn.measures), []
        for f, (held, changes, own) in enumerate(estimator.terms(self._shuffling(claims), features)):
            claims.add(held.feature, changes, held.means)
            if drivers is not None:
                drivers.add(held.feature, changes, held.means[: len(held.means) - left], claims.measures)
            terms.append(tables.kept_terms(f, own if drawn is None else drawn.widened(own, held.means)))
        return replace(tables, terms=terms)

    def _shuffling(self, claims: Claiming) -> Shuffler:
        evaluated = claims.engine, claims.measures, claims.base, claims.n_full
        return Shuffler(*evaluated, self.n_repeats, self._all_pairs, self.within_clusters)

    @property
    def _all_pairs(self) -> bool | None:
        """Whether all pairs are used; rows shuffled within clusters have another mean than that over all pairs."""
        return False if self.within_clusters else self.exact

    def _margins(self, rows: ShuffledRows) -> dict[str, float]:
        """Return each measure's margin: the option, or 0.01 nats, or 1% of the unpermuted mean (of the whole's)."""
        margins: dict[str, float] = {}
        for measure, mean in zip(rows.measures, with_wholes(rows.measures, rows.unpermuted), strict=True):
            name = "loss" if measure.role == "loss" and measure.name not in self.measures else measure.name
            margin = self.margin.get(name) if isinstance(self.margin, Mapping) else self.margin
            margins[measure.name] = usual_margin(measure, float(mean)) if margin is None else float(margin)
        return margins


def _evaluable(names: Sequence[str], engine: Engine) -> tuple[tuple[Measure, ...], tuple[Omission, ...]]:
    """Return the measures that exist for these rows (1 - AUC needs both classes), and why others do not."""
    subject, (measures, omitted) = engine.subject, _with_spread(engine, *engine.select(names))
    weights = np.ones(subject.n) if subject.weights is None else subject.weights
    usable = []
    for measure in measures:
        try:
            if measure.statistic is not None and engine.y is not None:
                measure.statistic.value(np.zeros(subject.n), engine.y, weights)
            usable.append(measure)
        except InputError as error:
            omitted += (Omission(measure.name, "", str(error)),)
    return tuple(usable), omitted


def _with_spread(
    engine: Engine, measures: tuple[Measure, ...], omitted: tuple[Omission, ...]
) -> tuple[tuple[Measure, ...], tuple[Omission, ...]]:
    """Put the variance in the place of an entropy that is wanting, and say so."""
    lost = next((gap for gap in omitted if gap.measure == ENTROPY.name), None)
    spread, _ = engine.select((VARIANCE.name,)) if lost is not None else ((), ())
    if lost is None or not spread:
        return measures, omitted
    replaced = replace(lost, reason=f"{lost.reason}. The variance of the predictive distribution is used instead")
    present = any(measure.name == VARIANCE.name for measure in measures)
    return (*measures, *(() if present else spread)), tuple(replaced if gap is lost else gap for gap in omitted)
