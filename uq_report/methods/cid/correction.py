"""Importance adjusted for redundancy: the price of permuted values where those that could replace it are wrong too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import Prior
from ...core.model.measures import without_parts
from ...core.model.results import Importance, Omission, Result, RowValues
from ...core.model.sampling import t_quantile
from ...core.model.subject import Subject
from ...core.model.variants import Variant
from ...core.statistics.verdicts import judge
from ...core.support import options as opt
from ...core.support.arrays import FloatArray, IntArray
from ...core.support.errors import UnsupportedError
from ...evidence import ids
from ...evidence.importance import ABOUT_0, UNDETERMINED, CoverCorrectedLine, Pfi, PfiLine
from ...evidence.information import CidCover
from ...evidence.view import View
from ..shared.cards import CardedExplainer
from ..shared.estimates import estimate as estimate_columns
from ..shared.terms import ChangedMeasures, ImportanceTerms, ShuffledRows, as_means, feature_terms, infinite_values

V = TypeVar("V", bound=View[Any])
Features = frozenset[str]
_INTERVAL = "Intervals cover new test samples, given the model and the partner features."
COMPARED = ("plain", "joint", "change")


@dataclass(frozen=True)
class CoverCorrection(CardedExplainer):
    """Permutation importance of a feature whose partners, which could replace it, are lost already.

    ``corrected PFI_j = PFI(C_j and j) - PFI(C_j)``, where C_j is the covering set of j
    (``cid.cover``). Both are of the same shuffles, and the values of a set move together, so the interval is
    that of a mean over pairs of rows. Beside it stand the importance alone, that of the whole set, and
    corrected less plain with its own interval. A feature that nothing covers keeps its plain importance.

    Parameters
    ----------
    n_repeats : int, default=10
        Shuffles of each set; at least 3 for an interval.

    Notes
    -----
    An unused feature is exactly 0. Of two exact copies that a model averages, squared loss, the plain importance is a
    quarter of what one of them alone would have, the corrected one three quarters: together they have all of it.

    Results: ``cover`` (rows: the terms g of the corrected importance), of every measure of permutation importance.

    Examples
    --------
    >>> CoverCorrection(n_repeats=0)
    Traceback (most recent call last):
    uq_report.core.support.errors.InputError: cover.n_repeats must be an integer >= 1; got 0.
    """

    n_repeats: int = opt.at_least(1, 10)

    name: ClassVar[str] = ids.COVER
    section: ClassVar[str] = "relations.cover"
    priority: ClassVar[int] = 14
    needs: ClassVar[tuple[str, ...]] = (ids.CID, ids.PFI)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``cover``: plain, corrected and joint importance of every feature with a covering set."""
        plain, sets = _prior(Pfi, prior), _prior(CidCover, prior).sets()
        partners = {feature: sets[feature] for feature in subject.features if feature in sets}
        measures, omitted = engine.select(without_parts(plain.measures))
        if not measures or not partners:
            what = f"measure of {ids.PFI}" if not measures else "partner features of a feature"
            raise UnsupportedError(f"cover: there is no {what} to correct.")
        rows = ShuffledRows.of(engine, measures)
        donors = np.stack([subject.permutation(engine.rng("shuffle", repeat)) for repeat in range(self.n_repeats)])
        terms = dict(zip(partners, CommonShuffles(engine, rows, donors).terms(partners), strict=True))
        lines = {(line.measure, line.feature): line for line in plain.lines}
        return [_Corrected(rows, partners, terms, plain, lines, engine.confidence).result(asdict(self), omitted)]


def _prior(view: type[V], prior: Prior) -> V:
    """Return the view of a result that ran before."""
    result = view.find({result.id: result for result in prior[ids.explainer_of(view.id)]})
    if result is None:
        raise UnsupportedError(f"cover: it needs {view.id}, which was not given.")
    return result


# ---------------------------------------------------------------------- sets of features shuffled together


class CoverTerms(NamedTuple):
    """One feature's importance alone, with its partners, with them less without it, and what that changes."""

    plain: ImportanceTerms
    joint: ImportanceTerms
    corrected: ImportanceTerms
    change: ImportanceTerms


@dataclass(frozen=True)
class CommonShuffles:
    """The same shuffles (`donors`, shape (m, n)) of every set of features, so that sets can be subtracted row by row.

    Each set is predicted once, whichever features it serves; its values come from one donor row together.
    """

    engine: Engine
    rows: ShuffledRows
    donors: IntArray

    def terms(self, partners: Mapping[str, Sequence[str]]) -> Iterator[CoverTerms]:
        """Yield the terms of each feature; a set's values are let go with the last feature that needs them."""
        needed = [(Features([f]), Features(others), Features([f, *others])) for f, others in partners.items()]
        last = {features: k for k, sets in enumerate(needed) for features in sets}
        values = {Features(): self._unchanged}
        for k, sets in enumerate(needed):
            for features in sets:
                if features not in values:
                    values[features] = self._scored(features)
            yield self._feature(*(values[features] for features in sets))
            values = {features: T for features, T in values.items() if not features or last[features] > k}

    def _feature(self, alone: FloatArray, partners: FloatArray, together: FloatArray) -> CoverTerms:
        with np.errstate(invalid="ignore"):  # infinite values of both sets; they are counted and left out
            corrected = together if partners is self._unchanged else self._unchanged + (together - partners)
            change = corrected - (alone - self._unchanged)
        parts = alone, together, corrected, change
        distinct = {id(T): T for T in parts}  # without partners the first three are one
        terms = {key: feature_terms(ChangedMeasures(T, self.donors), self._means) for key, T in distinct.items()}
        return CoverTerms(*(terms[id(T)] for T in parts))

    @cached_property
    def _means(self) -> ShuffledRows:
        """The rows with measures that are means: a statistic's values are replaced by value and influence."""
        measures = [replace(measure, statistic=None) for measure in self.rows.measures]
        return replace(self.rows, measures=measures, b=self._unchanged[:, 0])

    @cached_property
    def _unchanged(self) -> FloatArray:
        """The measures of the rows as they are, shape (M, 1, n)."""
        return as_means(ChangedMeasures(self.rows.b[:, None], self.donors[:1]), self.rows.b, self.rows)[1][:, None]

    def _scored(self, features: Features) -> FloatArray:
        """Return all measures of the rows with a set shuffled, shape (M, m, n)."""
        positions = map(self.engine.subject.positions, features)
        at = tuple(sorted(chain.from_iterable(positions)))
        variants = [Variant(at, donors=donors) for donors in self.donors]
        groups = self.engine.evaluate(variants, self.rows.measures, total=len(variants))
        changes = ChangedMeasures(np.concatenate([group.values for group in groups], axis=1), self.donors)
        return as_means(changes, self.rows.b, self.rows)[0].T


# ---------------------------------------------------------------------- the result


@dataclass(frozen=True)
class _Corrected:
    """The terms of every feature, and what turns them into a result."""

    rows: ShuffledRows
    partners: Mapping[str, Sequence[str]]
    terms: Mapping[str, CoverTerms]
    view: Pfi
    plain: Mapping[tuple[str, str], PfiLine]
    confidence: float

    def result(self, options: Mapping[str, Any], omitted: Sequence[Omission]) -> Importance:
        """Return the result ``cover``."""
        corrected = [terms.corrected for terms in self.terms.values()]
        lacking = infinite_values(self.rows, list(self.terms), [terms.change for terms in self.terms.values()])
        names, shuffles = tuple(measure.name for measure in self.rows.measures), corrected[0].repeats.shape[1]
        no_interval, same = self.rows.why_no_interval(shuffles), f"the same {shuffles} permutations"
        values = RowValues(names, tuple(self.terms), np.stack([*map(self._rows_of, self.terms)], axis=1))
        tables = [self._estimates(m) for m in range(len(names))]
        records = [
            (name, feature, repeat, value)
            for m, name in enumerate(names)
            for feature, terms in self._finite(m).items()
            for repeat, value in enumerate(terms.corrected.repeats[m].tolist())
        ]
        return Importance(
            id=ids.COVER,
            explainer=ids.COVER,
            title="Importance adjusted for redundancy",
            frame=pd.DataFrame(records, columns=list(Importance.columns)),
            estimates=pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True),
            rows=None if no_interval else values,
            options=options,
            notes=(
                "Importance alone, and that of a feature without partner features, is permutation importance.",
                f"Adjusted and joint importance and the change use {same} of the observations.",
                f"No interval: {no_interval}." if no_interval else _INTERVAL,
            ),
            omissions=(*omitted, *lacking),
            meta={
                "partners": {feature: list(others) for feature, others in self.partners.items()},
                "degrees_of_freedom": self.rows.units - 1,
            },
        )

    def _rows_of(self, feature: str) -> FloatArray:
        """Return the terms of the observations, shape (M, n); without partners those of the importance alone."""
        own = self.view.result.rows
        if own is None or self.partners[feature]:
            return self.terms[feature].corrected.rows
        return np.stack([own.of(measure.name, feature) for measure in self.rows.measures])

    def _finite(self, m: int) -> dict[str, CoverTerms]:
        """Return the terms of the features for which one measure is finite."""
        return {feature: terms for feature, terms in self.terms.items() if np.isfinite(terms.change.estimate[m])}

    def _estimates(self, m: int) -> pd.DataFrame:
        """Return a line a feature, with ranks: 1 for the largest, or the smallest where smaller values are worse."""
        measure = self.rows.measures[m]
        lines = [self._line(m, feature, terms) for feature, terms in self._finite(m).items()]
        table = pd.DataFrame(lines, columns=[field.name for field in fields(CoverCorrectedLine)])
        ascending = measure.direction == "smaller" and measure.role != "prediction"
        ranks = table[["estimate", "plain"]].rank(method="min", ascending=ascending).astype(int)
        return table.assign(rank=ranks["estimate"], plain_rank=ranks["plain"])

    def _line(self, m: int, feature: str, terms: CoverTerms) -> dict[str, Any]:
        """Return one line of the estimates, its ranks left open."""
        measure, corrected, df = self.rows.measures[m], terms.corrected, self.rows.units - 1
        estimate, se, zero = float(corrected.estimate[m]), float(corrected.se[m]), bool(corrected.zero[m])
        alone = self.plain[measure.name, feature]
        margin = alone.margin
        verdict = judge(estimate, se, df, margin, n=self.rows.n, confidence=self.confidence)
        reasons = (
            self.rows.unreliable(part.rows[m], float(part.se[m]), outcomes=measure.needs_y).reason
            for part in (corrected, terms.change)
        )
        unreliable = next(filter(None, reasons), "")
        interval = verdict.lower, verdict.upper
        line = estimate_columns(estimate, se, interval, self.confidence, measure.name, feature) | {
            "verdict": ABOUT_0 if zero and not np.isnan(se) else UNDETERMINED if unreliable else verdict.verdict,
            "margin": margin,
            "partners": ", ".join(self.partners[feature]),
            "change_std_error": float(terms.change.se[m]),
            "exact_zero": zero,
            "unreliable": unreliable,
        }
        for name in COMPARED:
            part: ImportanceTerms = getattr(terms, name)
            value, reach = float(part.estimate[m]), t_quantile((1 + self.confidence) / 2, df) * float(part.se[m])
            line |= {name: value, f"{name}_lower": value - reach, f"{name}_upper": value + reach}
        # one source: importance alone is that of permutation importance, also where nothing is adjusted
        own = {"": alone.estimate, "_lower": alone.lower, "_upper": alone.upper}
        sources = ("plain",) if self.partners[feature] else ("plain", "joint")
        line |= {f"{name}{end}": value for name in sources for end, value in own.items()}
        same = ("estimate", "lower", "upper", "std_error", "verdict", "unreliable")
        return line if self.partners[feature] else line | {name: getattr(alone, name) for name in same}
