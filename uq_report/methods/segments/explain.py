"""Segments: where the model is uncertain, and where it is wrong beyond what it says, by small honest trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model.results import Omission, Result
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support.arrays import BoolArray, IntArray
from ...core.support.errors import InputError, check_options
from ...evidence import columns as col
from ...evidence import ids
from ...evidence.rows import SupportRows
from ..shared.checks import at_least
from ..shared.choice import as_names
from ..shared.estimates import diagnostic
from .coding import Coding
from .judge import COLUMNS, Judged, Record
from .responsible import COLUMNS as CHANGES
from .responsible import changes
from .terms import SegmentTerm, terms
from .tree import Grower, Segment

MOST_GROWN = 10_000  # rows that trees are grown on, at most; more would not change leaves so large


@dataclass(frozen=True)
class Segments(BuiltInExplainer):
    """Where the model is uncertain, wrong, and wrong beyond what it says: leaves of small trees, judged on other rows.

    Half of the independent rows (clusters stay together) grow one regression tree for each measure: uncertainty
    (entropy, else variance), its epistemic part where there are members, the loss, and the loss less the loss that
    the model expects (``confidence_gap`` = nll - entropy; where that is infinite ``excess_loss``, of the Brier score
    or squared error). The other half, which no tree has seen, judges each leaf: its mean and that mean less the
    mean of the other judged rows, with t-intervals, and p-values adjusted over all leaves and measures (Holm). A leaf
    of more than half of the judged rows is no segment and has no p-value: the other leaves are what differs from it.
    Rows that `support` finds outside the training support take no part in the trees: they are a segment of their own.

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
    a segment's mean closest to that of the rest. No row is predicted beside the audited ones.

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
    max_leaf_nodes: int = 6
    min_samples_leaf: int = 20
    min_share: float = 0.05

    name: ClassVar[str] = ids.SEGMENTS
    section: ClassVar[str] = "uncertainty-quality.segments"
    after: ClassVar[tuple[str, ...]] = (ids.SUPPORT, "*")  # a single call pays for no importance, an audit has it
    card: ClassVar[MethodCard] = MethodCard(
        title="Segments",
        definition="Small trees over the features part the rows by uncertainty, by loss, and by loss less the loss "
        "that the model expects. Half of the rows grow the trees, the other half gives every number.",
        assumes="Rows are independent, or dependent only inside the stated clusters.",
        fails="A tree of few leaves cuts along single features, and other rows would grow another one. Segments it "
        "does not find may still be wrong. What exchanging a feature changes is no cause.",
        interval="Of each mean and each difference by itself, over new test rows, given the segments.",
        references="athey",
    )

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        if self.measures is not None:
            object.__setattr__(self, "measures", as_names(self.name, "measures", self.measures))
        share = ("min_share", 0 < self.min_share <= 0.5, "a number in (0, 0.5]")
        check_options(self.name, self, (*at_least(self, max_leaf_nodes=2, min_samples_leaf=5), share))

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``segments`` and ``segments.features``."""
        sampling = Sampling.of(subject)
        least = 4 * self.min_samples_leaf
        if sampling.units < least:
            what = "rows" if sampling.codes is None else "clusters"
            raise InputError(
                f"segments needs at least {least} independent {what}; got {sampling.units}. Give more rows."
            )
        found, omitted = terms(engine, self.measures)
        if not found:
            reasons = "; ".join(f"{gap.measure}: {gap.reason}" for gap in omitted)
            raise InputError(f"segments needs a measure that has a value in each row; got none. {reasons}.")
        outside = _outside(subject, prior)
        halves = _halves(sampling, outside, engine)
        coding = Coding(subject, halves[0])
        parts = {term.measure: self._grown(coding, engine, term) for term in found}
        judged = Judged(engine, found, halves[1], outside & (sampling.weights > 0))
        records = judged.lines(parts)
        closest, reason = changes(records, found, judged.rows_of, prior, subject, engine.confidence)
        return [self._result(engine, judged, records, halves, omitted), _closest(closest, reason)]

    def _grown(self, coding: Coding, engine: Engine, term: SegmentTerm) -> list[Segment]:
        subject, rows = coding.subject, coding.rows
        grower = Grower(
            rows=rows,
            weights=Sampling.of(subject).weights,
            units=np.arange(subject.n) if subject.clusters is None else subject.clusters,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=max(self.min_samples_leaf, int(np.ceil(self.min_share * len(rows)))),
            seed=int(engine.rng("tree", term.measure).integers(2**31)),
        )
        return grower.segments(coding.by(term.rows), term.rows)

    def _result(
        self,
        engine: Engine,
        judged: Judged,
        records: Sequence[Record],
        halves: tuple[IntArray, BoolArray],
        omitted: tuple[Omission, ...],
    ) -> Result:
        grown, rest = len(halves[0]), int(halves[1].sum())
        outside = int(judged.outside.sum())
        return diagnostic(
            ids.SEGMENTS,
            "Segments of rows by uncertainty and loss",
            records,
            COLUMNS,
            x="share",
            notes=(
                f"Trees were grown on {grown} rows; {rest} others judge their leaves.",
                *((f"{outside} rows unlike any training row are a segment of their own.",) if outside else ()),
                "Means and differences have an interval each; p-values are adjusted over segments and measures.",
                *engine_notes(engine),
            ),
            omissions=(*omitted, *judged.omissions),
            meta={
                "judged": rest,
                "grown": grown,
                "made_of": judged.made_of,
                "uncertainty": [term.measure for term in judged.terms if term.facts.role == "uncertainty"],
                "usual_loss": _usual_loss(engine, judged),
            },
            measures={term.measure: term.facts for term in judged.terms},
        )


def engine_notes(engine: Engine) -> tuple[str, ...]:
    """Say what a reader must know about weights and clusters."""
    return Sampling.of(engine.subject).notes()


def _outside(subject: Subject, prior: Prior) -> BoolArray:
    """Return which rows the support result finds outside; none where there is no such result."""
    outside = np.zeros(subject.n, dtype=bool)
    view = SupportRows.find({result.id: result for result in prior.get(ids.SUPPORT, ())})
    if view is not None:
        frame = view.result.frame
        rows = frame[col.X].to_numpy(dtype=np.int64)
        outside[rows] = frame[col.VALUE].to_numpy(dtype=float) <= view.expected + 1e-12
    return outside


def _halves(sampling: Sampling, outside: BoolArray, engine: Engine) -> tuple[IntArray, BoolArray]:
    """Return the positions of the growing rows and a mask of the judging ones; clusters stay together."""
    use = (sampling.weights > 0) & ~outside
    codes = np.arange(len(outside)) if sampling.codes is None else sampling.codes
    units = engine.rng("halves").permutation(np.unique(codes[use]))
    growing = use & np.isin(codes, units[: len(units) // 2])
    rows = np.flatnonzero(growing)
    if len(rows) > MOST_GROWN:
        rows = np.sort(engine.rng("growing").choice(rows, MOST_GROWN, replace=False))
    return rows, use & ~growing


def _usual_loss(engine: Engine, judged: Judged) -> float | None:
    """Return the mean usual loss of the judged rows; None where it has no value."""
    measures, omitted = engine.select(("loss",))
    if omitted:
        return None
    part = judged.sampling.part(judged.rows)
    return float(part.mean(engine.unchanged(measures)[0][judged.rows])[0])


def _closest(records: Sequence[Record], reason: str) -> Result:
    """Return the result ``segments.features``."""
    return diagnostic(
        ids.SEGMENTS_FEATURES,
        "Features whose exchange brings a segment closest to the rest",
        records,
        CHANGES,
        x="before",
        value="after",
        notes=(
            "The segment's mean when a feature's values are exchanged between rows (permutation importance).",
            "The interval of the change is over new rows of the segment, given the exchanged values.",
        ),
        omissions=(Omission("", "", reason),) if reason else (),
    )
