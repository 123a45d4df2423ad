"""Segments: where the model is uncertain, and where it is wrong beyond what it says, by small honest trees."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.measures import ENTROPY, EPISTEMIC, EPISTEMIC_VARIANCE, NLL, VARIANCE
from ...core.model.results import MeasureFacts, Omission, Result, RowValues
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.statistics.verdicts import holm
from ...core.support import options as opt
from ...core.support.arrays import BoolArray, FloatArray, IntArray
from ...core.support.errors import InputError, nearest
from ...evidence import columns as col, ids
from ...evidence.importance import PfiDelta
from ...evidence.outcomes import CONFIDENCE_GAP
from ...evidence.rows import SupportRows
from ...evidence.segments import ALL_ROWS, EXCESS_LOSS, LARGEST, LEVEL, OFF_SUPPORT
from ..shared.cards import CardedExplainer
from ..shared.choice import as_names, draw
from ..shared.estimates import diagnostic, estimate, mean_of, points
from ..shared.predicted import expected_loss
from ..shared.terms import ROUNDING
from . import tree
from .tree import LEAST_UNITS, Coding, JudgedLeaf, ResidualTarget, Segment

UNCERTAINTIES = (ENTROPY.name, VARIANCE.name)
MEMBERS = (EPISTEMIC.name, EPISTEMIC_VARIANCE.name)
BEYOND = (CONFIDENCE_GAP, EXCESS_LOSS)


class SegmentTerm(NamedTuple):
    """One number per row, shape (n,), and what a reader must know of it."""

    measure: str
    facts: MeasureFacts
    rows: FloatArray


def terms(engine: Engine, measures: Sequence[str] | None) -> tuple[list[SegmentTerm], tuple[Omission, ...]]:
    """Return the terms that exist here, of the measures asked for or by default, and why the others do not."""
    found = _default(engine) if measures is None else (term_of(engine, name) for name in measures)
    whole = [_finite(item) for item in found]
    return [x for x in whole if isinstance(x, SegmentTerm)], tuple(x for x in whole if isinstance(x, Omission))


def _default(engine: Engine) -> Iterator[SegmentTerm | Omission]:
    """Yield uncertainty, its epistemic part where there are members, the loss, and the loss beyond expectation."""
    of = partial(term_of, engine)
    others = tuple(m.name for m in engine.measures.values() if m.role == "uncertainty" and not m.requires & _MEMBERS)
    yield _first(map(of, dict.fromkeys((*UNCERTAINTIES, *others))))
    parts = [item for item in map(of, MEMBERS) if isinstance(item, SegmentTerm)]
    yield from parts[:1]
    yield _first(_finite(of(name)) for name in (NLL.name, engine.baseline.usual_loss))
    yield _first(_finite(of(name)) for name in BEYOND)


_MEMBERS = frozenset({"aleatoric", "epistemic", "aleatoric_variance", "epistemic_variance"})


def _first(items: Iterator[SegmentTerm | Omission]) -> SegmentTerm | Omission:
    """Return the first term, or the first reason why there is none."""
    tried: list[SegmentTerm | Omission] = []
    for item in items:
        if isinstance(item, SegmentTerm):
            return item
        tried.append(item)
    return tried[0]


def _finite(item: SegmentTerm | Omission) -> SegmentTerm | Omission:
    if isinstance(item, Omission) or np.isfinite(item.rows).all():
        return item
    count = int((~np.isfinite(item.rows)).sum())
    return Omission(item.measure, "", f"it is infinite in {count} of {len(item.rows)} observations")


def term_of(engine: Engine, name: str) -> SegmentTerm | Omission:
    """Evaluate one measure by its name on the rows as they are."""
    if name in BEYOND:
        return _beyond(engine, name)
    measures, omitted = engine.select((name,))
    if omitted:
        return omitted[0]
    measure = measures[0]
    if measure.role == "prediction":
        must = "measures of uncertainty or loss, or " + " or ".join(map(repr, BEYOND))
        allowed = [m.name for m in engine.measures.values() if m.role != "prediction"]
        raise InputError(f"segments.measures must be {must}; got {name!r}. {nearest(name, [*allowed, *BEYOND])}")
    if measure.statistic is not None:
        return Omission(name, "", "it is a statistic of all observations together, so no observation has a value")
    facts = MeasureFacts(measure.title or name, measure.unit, measure.role, measure.direction)
    return SegmentTerm(measure.name, facts, engine.unchanged(measures)[0])


def _beyond(engine: Engine, name: str) -> SegmentTerm | Omission:
    """Return the loss less the loss that the model expects; of censored outcomes while each was observed."""
    q, of_nll = engine.baseline, name == CONFIDENCE_GAP
    loss = term_of(engine, NLL.name if of_nll else q.usual_loss)
    if isinstance(loss, Omission):
        return Omission(name, "", loss.reason)
    entropy = term_of(engine, ENTROPY.name) if of_nll else None
    if isinstance(entropy, Omission):
        return Omission(name, "", entropy.reason)
    known = q.expected_nll(np.asarray(engine.y)) if of_nll else expected_loss(q)
    if known is None:
        censored = "only the negative log-likelihood has an expectation for outcomes that may be censored"
        return Omission(EXCESS_LOSS, "", censored if q.censored else q.why_not(VARIANCE.name))
    with np.errstate(invalid="ignore"):
        rows = loss.rows - known
    return SegmentTerm(name, MeasureFacts("loss beyond expectation", loss.facts.unit, "loss"), rows)


COLUMNS = (
    *("item", "segment", "grown", "n", "units", "share", "unit", "n_rest", "difference", "difference_std_error"),
    *("difference_lower", "difference_upper", "freedom", "p_value", "p_adjusted"),
)
SHARE_ROUNDING = 1e-9
OUTSIDE = "observations outside the training domain"
Record = dict[str, Any]


class Judged:
    """The lines of all segments on the judging rows."""

    def __init__(self, engine: Engine, found: Sequence[SegmentTerm], rows: BoolArray, outside: BoolArray) -> None:
        self.engine, self.terms, self.rows, self.outside = engine, found, rows, outside
        self.sampling = Sampling.of(engine.subject)
        self.rows_of: dict[str, BoolArray] = {}
        self.words_of: dict[str, str] = {}
        self.made_of: dict[str, list[str]] = {}
        self.omissions: list[Omission] = []

    def lines(self, parts: Mapping[str, Sequence[Segment]]) -> list[Record]:
        """Return a line per measure of all judged rows, of every segment, and of the rows off the support."""
        records = [self.whole(term) for term in self.terms]
        for term in self.terms:
            inside = [s._replace(rows=s.rows & self.rows) for s in parts[term.measure]]
            means = [float(term.rows[s.rows].mean()) if s.rows.any() else -np.inf for s in inside]
            for k in np.argsort(means, kind="stable")[::-1]:
                records += self.segment(f"{term.measure} {len(self.rows_of) + 1}", term.measure, inside[k])
        if self.outside.any():
            records += self.segment(OFF_SUPPORT, "", Segment(OUTSIDE, (), self.outside))
        adjusted = holm([record["p_value"] for record in records]).tolist()
        return [record | {"p_adjusted": p} for record, p in zip(records, adjusted, strict=True)]

    def segment(self, key: str, grown: str, segment: Segment) -> Iterator[Record]:
        """Yield the lines of one segment, or say that it has too few units."""
        rest = self.rows & ~segment.rows
        units = [self.sampling.part(rows).units for rows in (segment.rows, rest)]
        if min(units) < LEAST_UNITS:
            self.omissions.append(segment.unjudged(grown))
            return
        self.rows_of[key], self.made_of[key], self.words_of[key] = segment.rows, list(segment.features), segment.words
        for term in self.terms:
            yield self._line(term, key, grown, segment, rest)

    def _line(self, term: SegmentTerm, key: str, grown: str, segment: Segment, rest: BoolArray) -> Record:
        found = tree.contrast(term.rows, segment.rows, rest, self.sampling)
        mean, difference = found.intervals(self.engine.confidence)
        line = estimate(found.mean, found.mean_std_error, mean, self.engine.confidence, term.measure)
        every = self.sampling.weights[self.rows | segment.rows].sum()
        share = float(self.sampling.weights[segment.rows].sum() / every)
        tested = not grown or (grown == term.measure and share <= LARGEST + SHARE_ROUNDING)
        line |= {"item": segment.words, "segment": key, "grown": grown, "unit": term.facts.unit, "share": share}
        line |= {"n": int(segment.rows.sum()), "units": found.units, "n_rest": int(rest.sum())}
        line |= {"difference": found.difference, "difference_std_error": found.std_error, "freedom": found.freedom}
        line |= {"difference_lower": difference[0], "difference_upper": difference[1]}
        return line | {"p_value": found.p_value if tested else np.nan}

    def whole(self, term: SegmentTerm) -> Record:
        """Return the line of all judged rows."""
        part = self.sampling.part(self.rows)
        line = mean_of(term.rows[self.rows], part, self.engine.confidence, term.measure)
        names = {"item": "all judged observations", "segment": ALL_ROWS, "grown": "", "unit": term.facts.unit}
        line |= {"n": int(self.rows.sum()), "units": part.units, "n_rest": 0, "freedom": part.units - 1}
        return line | names | {"share": 1.0, "p_value": np.nan}


PERIODS = 6
UNCERTAIN = 0.1  # share of the observations that are listed as the most uncertain ones


def periods(engine: Engine, found: Sequence[SegmentTerm]) -> Iterator[Result]:
    """Yield the result ``segments.periods`` of a sample in order of time that has units for two periods."""
    blocks, n = engine.subject.blocks, engine.subject.n
    every = np.ones(n, dtype=bool)
    judged = Judged(engine, found, every, ~every)
    most = min(PERIODS, judged.sampling.units // LEAST_UNITS)
    if blocks is None or most < 2:
        return
    bounds = np.sort(blocks.moments)[[n * k // most for k in range(1, most)]]
    of = np.searchsorted(bounds, blocks.moments, side="right")  # observations of one time stay together
    records = [judged.whole(term) for term in found]
    for k in np.unique(of).tolist():
        first, last = blocks.moments[of == k].min(), blocks.moments[of == k].max()
        words = f"{blocks.times[first]} to {blocks.times[last]}"
        records += judged.segment(f"period {k + 1}", "", Segment(words, (), of == k))
    adjusted = holm([record["p_value"] for record in records]).tolist()
    yield diagnostic(
        ids.SEGMENTS_PERIODS,
        "Loss, calibration and uncertainty by period",
        [record | {"p_adjusted": p} for record, p in zip(records, adjusted, strict=True)],
        COLUMNS,
        x="share",
        notes=("Periods have about equally many observations.", *judged.sampling.notes()),
        meta={"judged": n, "grown": 0},
        measures={term.measure: term.facts for term in found},
    )


def rows_result(judged: Judged) -> Result:
    """Return the result ``segments.rows``: the observations of each segment, and the most uncertain ones."""
    term = next((term for term in judged.terms if term.facts.role == "uncertainty"), judged.terms[0])
    first = max(1, round(UNCERTAIN * len(term.rows)))
    title = f"the {100 * UNCERTAIN:.0f}% with the largest {term.facts.title}"
    rows = {title: np.argsort(-term.rows, kind="stable")[:first]}
    rows |= {judged.words_of[key]: np.flatnonzero(inside) for key, inside in judged.rows_of.items()}
    records = [(term.measure, "", item, float(row), float(term.rows[row])) for item, at in rows.items() for row in at]
    notes = ("x is the position in the test sample, from 0, and value its uncertainty.",)
    facts = {term.measure: term.facts}
    return points(ids.SEGMENTS_ROWS, "Observations by segment", records, notes=notes, measures=facts)


CHANGES = ("item", "segment", "n", "before", "after")
NAMED = 3
PARTS = {CONFIDENCE_GAP: ((NLL.name, 1.0), (ENTROPY.name, -1.0))}  # what a measure is made of


def changes(records: Sequence[Record], judged: Judged, prior: Prior) -> tuple[list[Record], str]:
    """Return the features that bring each segment that differs closer to the rest; or why none can be named."""
    view = PfiDelta.find({result.id: result for result in prior.get(ids.PFI, ())})
    if view is None or view.result.rows is None:
        return [], "permutation importance was not computed, which says what a feature's exchange changes"
    delta = view.result.rows
    lines: list[Record] = []
    for record in records:
        if record["p_adjusted"] <= LEVEL and record["segment"] != ALL_ROWS:
            rows, features = judged.rows_of[record["segment"]], judged.engine.subject.features
            part = judged.sampling.part(rows)
            closer = list(_closer(record, delta, rows, part, features, judged.engine.confidence))
            lines += sorted(closer, key=lambda line: abs(line["after"]))[:NAMED]
    unknown = [term.measure for term in judged.terms if not _has(delta, term.measure)]
    reason = f"permutation importance has no changes of single observations in {', '.join(unknown)}"
    return lines, reason if unknown else ""


def _has(delta: RowValues, measure: str) -> bool:
    return all(part in delta.measures for part, _ in PARTS.get(measure, ((measure, 1.0),)))


def _closer(
    record: Record, delta: RowValues, rows: BoolArray, part: Sampling, features: Sequence[str], confidence: float
) -> Iterator[Record]:
    """Yield the features whose exchange is shown to move the segment's mean towards the rest, and brings it closer."""
    measure, before = record["measure"], record["difference"]
    if not _has(delta, measure):
        return
    for feature in (name for name in features if name in delta.features):
        line = mean_of(_change(delta, measure, feature)[rows], part, confidence, measure, feature)
        towards, after = line["upper"] < 0 if before > 0 else line["lower"] > 0, before + line["estimate"]
        if towards and abs(before) - abs(after) > ROUNDING * abs(before):
            names = {name: record[name] for name in ("item", "segment", "n")}
            yield line | names | {"before": before, "after": after}


def _change(delta: RowValues, measure: str, feature: str) -> FloatArray:
    """Return each row's own mean change when a feature is exchanged, shape (n,)."""
    return np.asarray(sum(sign * delta.of(name, feature) for name, sign in PARTS.get(measure, ((measure, 1.0),))))


MOST_GROWN = 10_000  # rows that trees are grown on, at most; more would not change leaves so large


@dataclass(frozen=True)
class Segments(CardedExplainer):
    """Where the model is uncertain, wrong, and wrong beyond what it says: leaves of small trees, judged on other rows.

    Half of the independent rows (clusters stay together) grow one regression tree for each measure: uncertainty
    (entropy, else variance), its epistemic part where there are members, the loss, and the loss less the loss that
    the model expects (``confidence_gap`` = nll - entropy; where that is infinite ``excess_loss``, of the Brier score
    or squared error). The other half, which no tree has seen, judges each leaf: its mean and that mean less the
    mean of the other judged rows, with t-intervals, and p-values adjusted over all leaves and measures (Holm). A leaf
    of more than half of the judged rows is no segment and has no p-value: the other leaves are what differs from it.
    Rows that `support` finds outside the training support take no part in the trees: they are a segment of their own.

    Trees of four leaves on the residual (outcome less prediction, in standard deviations of the model; of classes
    ``1[y = c] - p_c``) find where predictions are wrong on average. Each half grows one and judges that of the other.

    Parameters
    ----------
    measures : tuple of str, optional
        Instead of the above: measures of uncertainty or loss, ``"confidence_gap"``, ``"excess_loss"``.
    max_leaf_nodes : int, default=6
        Leaves of a tree, at most; as many as cross-validation over the growing rows asks for.
    min_samples_leaf : int, default=20
        Growing rows in a leaf, at least.
    min_share : float, default=0.05
        Share of the growing rows in a leaf, at least.

    Notes
    -----
    Results: ``segments``; ``segments.features``: which feature's exchange (permutation importance, row by row) brings
    a segment's mean closest to that of the rest; ``segments.residuals``. No row is predicted beside the audited ones.

    References
    ----------
    Athey & Imbens (2016), doi:10.1073/pnas.1510489113: one half grows, the other judges.

    Examples
    --------
    >>> Segments(max_leaf_nodes=1)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: segments.max_leaf_nodes must be an integer >= 2; got 1.
    """

    measures: tuple[str, ...] | None = None
    max_leaf_nodes: int = opt.at_least(2, 6)
    min_samples_leaf: int = opt.at_least(5, 20)
    min_share: float = opt.option(0.05, "a number in (0, 0.5]", lambda value: 0 < value <= 0.5)

    name: ClassVar[str] = ids.SEGMENTS
    section: ClassVar[str] = "uncertainty-quality.segments"
    after: ClassVar[tuple[str, ...]] = (ids.SUPPORT, "*")  # a single call pays for no importance, an audit has it

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        if self.measures is not None:
            object.__setattr__(self, "measures", as_names(self.name, "measures", self.measures))
        super().__post_init__()

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``segments``, its features, residuals and rows, and the periods of a sample in order of time."""
        sampling = Sampling.of(subject)
        found, omitted = terms(engine, self.measures)
        if not found:
            reasons = "; ".join(f"{gap.measure}: {gap.reason}" for gap in omitted)
            raise InputError(f"segments needs a measure that has a value in each row; got none. {reasons}.")
        least = 4 * self.min_samples_leaf
        if sampling.units < least:
            what = "observations" if sampling.codes is None else "clusters"
            few = f"segments needs at least {least} independent {what}; got {sampling.units}. Give a larger sample."
            if timed := list(periods(engine, found)):
                return [replace(each, omissions=(Omission("", "", f"segments: {few}"),)) for each in timed]
            raise InputError(few)
        outside = _outside(subject, prior)
        if (inside := sampling.part(~outside).units) < least:
            where = "independent observations inside the training domain"
            raise InputError(f"segments needs at least {least} {where}; got {inside}.")
        halves = next(_halves(sampling, (sampling.weights > 0) & ~outside, engine))
        coding = Coding(subject, halves[0])
        parts = {term.measure: self._leaves(coding, engine, term.measure, term.rows) for term in found}
        judged = Judged(engine, found, halves[1], outside & (sampling.weights > 0))
        records = judged.lines(parts)
        targets, unjudged = tree.residual_targets(engine)
        leaves = self._residual_leaves(subject, engine, targets)
        closest, reason = changes(records, judged, prior)
        return [
            self._result(judged, records, halves, omitted),
            _closest(closest, reason),
            tree.residuals_result(leaves, unjudged, sampling, engine.confidence),
            rows_result(judged),
            *periods(engine, found),
        ]

    def _leaves(
        self, coding: Coding, engine: Engine, key: str, target: FloatArray, leaves: int = 0, *, pruned: bool = True
    ) -> list[Segment]:
        """Return the leaves of a tree that the rows of `coding` grow on a target, shape (n,)."""
        sampling, rows = Sampling.of(coding.subject), coding.rows
        grower = tree.Grower(
            rows=rows,
            weights=sampling.weights,
            units=sampling.unit_codes,
            max_leaf_nodes=leaves or self.max_leaf_nodes,
            min_samples_leaf=max(self.min_samples_leaf, int(np.ceil(self.min_share * len(rows)))),
            seed=int(engine.rng("tree", key).integers(2**31)),
            pruned=pruned,
        )
        return grower.segments(coding.by(target), target)

    def _residual_leaves(
        self, subject: Subject, engine: Engine, targets: Sequence[ResidualTarget]
    ) -> Iterator[JudgedLeaf]:
        """Yield the leaves of trees on residuals: each half grows one, and judges the leaves of the other."""
        sampling = Sampling.of(subject)
        for number, (growing, judging) in enumerate(_halves(sampling, sampling.weights > 0, engine)):
            coding = Coding(subject, growing)
            for target in targets:
                key = f"residual {number} {target.level}"
                for segment in self._leaves(coding, engine, key, target.grown_on, tree.LEAVES, pruned=False):
                    yield JudgedLeaf(target, segment, judging)

    def _result(
        self, judged: Judged, records: Sequence[Record], halves: tuple[IntArray, BoolArray], omitted: Sequence[Omission]
    ) -> Result:
        grown, rest = len(halves[0]), int(halves[1].sum())
        outside = int(judged.outside.sum())
        uncertainty = [term.measure for term in judged.terms if term.facts.role == "uncertainty"]
        return diagnostic(
            ids.SEGMENTS,
            "Segments of observations by uncertainty and loss",
            records,
            COLUMNS,
            x="share",
            notes=(
                f"Trees were grown on {grown} observations; {rest} others judge their leaves.",
                *(
                    [f"{outside} observations outside the training domain are a segment of their own."]
                    if outside
                    else []
                ),
                "Means and differences have an interval each; p-values are adjusted over segments and measures.",
                *judged.sampling.notes(),
            ),
            omissions=(*omitted, *judged.omissions),
            meta={"judged": rest, "grown": grown, "made_of": judged.made_of, "uncertainty": uncertainty}
            | {"usual_loss": _usual_loss(judged)},
            measures={term.measure: term.facts for term in judged.terms},
        )


def _outside(subject: Subject, prior: Prior) -> BoolArray:
    """Return which rows the support result finds outside; none where there is no such result."""
    outside = np.zeros(subject.n, dtype=bool)
    view = SupportRows.find({result.id: result for result in prior.get(ids.SUPPORT, ())})
    if view is not None:
        frame = view.result.frame
        rows = frame[col.X].to_numpy(dtype=np.int64)
        outside[rows] = frame[col.VALUE].to_numpy(dtype=float) <= view.expected + 1e-12
    return outside


def _halves(sampling: Sampling, use: BoolArray, engine: Engine) -> Iterator[tuple[IntArray, BoolArray]]:
    """Yield the growing rows of a random half of the units, a sample of many, and a mask of the judging rows.

    Then the same with the halves exchanged.
    """
    units = engine.rng("halves").permutation(np.unique(sampling.unit_codes[use]))
    first = use & np.isin(sampling.unit_codes, units[: len(units) // 2])
    for growing in (first, use & ~first):
        yield draw(engine.rng("growing"), len(use), MOST_GROWN, growing.astype(float)), use & ~growing


def _usual_loss(judged: Judged) -> float | None:
    """Return the mean usual loss of the judged rows; None where it has no value."""
    engine = judged.engine
    measures, omitted = engine.select(("loss",))
    if omitted:
        return None
    part = judged.sampling.part(judged.rows)
    return float(part.mean(engine.unchanged(measures)[0][judged.rows])[0])


def _closest(records: Sequence[Record], reason: str) -> Result:
    """Return the result ``segments.features``."""
    return diagnostic(
        ids.SEGMENTS_FEATURES,
        "Features whose permutation brings a segment closest to the other observations",
        records,
        CHANGES,
        x="before",
        value="after",
        notes=(
            "The segment's mean when a feature's values are permuted (permutation importance).",
            "The interval of the change is over new observations of the segment, given the permuted values.",
        ),
        omissions=(Omission("", "", reason),) if reason else (),
    )
