"""Importance corrected for cover: the price of wrong values where those that could stand in are wrong too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import pandas as pd

from ...core.engine import Engine
from ...core.errors import UnsupportedError, check_options
from ...core.explainer import Card, Prior
from ...core.measures import Measure
from ...core.results import ESTIMATE_COLUMNS, Importance, Omission, Result, RowValues
from ...core.sampling import t_quantile
from ...core.subject import Subject
from ...core.verdicts import judge
from ...evidence import ids
from ...evidence.importance import ABOUT_0, UNDETERMINED, Pfi
from ...evidence.information import CidCover
from ...evidence.view import View
from ..shared.notes import infinite_values
from ..shared.terms import Rows, Terms
from .cover_sets import CoverTerms, Shuffles

V = TypeVar("V", bound=View)
COMPARED = ("plain", "joint", "change")
OWN_COLUMNS = (
    *("verdict", "margin", "partners", "plain", "plain_lower", "plain_upper", "joint", "joint_lower", "joint_upper"),
    *("change", "change_std_error", "change_lower", "change_upper", "rank", "plain_rank", "exact_zero", "distrust"),
)


@dataclass(frozen=True)
class CoverCorrection:
    """Permutation importance of a feature whose partners, which could stand in for it, are lost already.

    ``corrected PFI_j = PFI(C_j and j) - PFI(C_j)``, where C_j is the covering set of j that `cid` gives
    (``cid.cover``). Both are of the same shuffles, and the values of a set move together, so the interval is
    that of a mean over pairs of rows, as for `pfi`. Beside it stand the importance alone, that of the whole set, and
    corrected less plain with its own interval. A feature that nothing covers keeps its plain importance.

    Parameters
    ----------
    n_repeats : int, default=10
        Shuffles of each set; at least 3 for an interval.

    Notes
    -----
    An unused feature is exactly 0. Of two exact copies that a model averages, squared loss, the plain importance is a
    quarter of what one of them alone would have, the corrected one three quarters: together they have all of it.

    Results: ``cover`` (rows: the terms g of the corrected importance), of every measure of `pfi`.

    Examples
    --------
    >>> CoverCorrection(n_repeats=0)
    Traceback (most recent call last):
    uq_report.core.errors.InputError: cover.n_repeats must be an integer >= 1; got 0.
    """

    n_repeats: int = 10

    name: ClassVar[str] = ids.COVER
    section: ClassVar[str] = "relations.cover"
    card: ClassVar[Card] = Card(
        title="Importance corrected for cover",
        definition="PFI(C and x) − PFI(C): how much worse the model predicts when values of a feature are wrong and "
        "those of its partners C, which could stand in for it, are wrong already. C is grown from the fitted joint "
        "distribution: the features that lower the information of x about the target most.",
        assumes="The model is fixed, and the covering sets are the right ones.",
        fails="It is the price of wrong values, not of values left out, and it under-reports a little where cover is "
        "spread over many features. Where effects of correlated features cancel (suppression) it is no nearer to "
        "refitting without the cover than the importance alone. Shuffled sets ask the model about rows that may not "
        "occur.",
        interval="Over new test rows, receiver and donor of each shuffle included, given the covering sets.",
        references="pereira:definition 2.3; wood:section 3; breiman",
    )
    needs: ClassVar[tuple[str, ...]] = (ids.CID, ids.PFI)
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        whole = isinstance(self.n_repeats, int) and not isinstance(self.n_repeats, bool)
        check_options(self.name, self, (("n_repeats", whole and self.n_repeats >= 1, "an integer >= 1"),))

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``cover``: plain, corrected and joint importance of every feature with a covering set."""
        plain, field = _prior(Pfi, prior), _prior(CidCover, prior)
        partners = {feature: field.sets()[feature] for feature in subject.features if feature in field.sets()}
        measures, omitted = engine.select(plain.measures)
        if not measures or not partners:
            what = "measure of pfi" if not measures else "covering set of a feature"
            raise UnsupportedError(f"cover: there is no {what} to correct.")
        rows = Rows(
            measures=measures,
            b=engine.unchanged(measures),
            y=np.zeros(subject.n) if engine.y is None else engine.y,
            weights=np.ones(subject.n) if subject.weights is None else subject.weights,
            clusters=subject.clusters,
            exact=False,
            classes="proba" in engine.baseline.supports,
        )
        donors = np.stack([engine.rng("shuffle", repeat).permutation(subject.n) for repeat in range(self.n_repeats)])
        terms = dict(zip(partners, Shuffles(subject, engine, rows, donors).terms(partners), strict=True))
        margins = {line.measure: line.margin for line in plain.lines}
        return [_Corrected(rows, partners, terms, margins, engine.confidence).result(asdict(self), omitted)]


@dataclass(frozen=True)
class _Corrected:
    """The terms of every feature, and what turns them into a result."""

    rows: Rows
    partners: Mapping[str, Sequence[str]]
    terms: Mapping[str, CoverTerms]
    margins: Mapping[str, float]
    confidence: float

    def result(self, options: Mapping[str, Any], omitted: Sequence[Omission]) -> Importance:
        """Return the result ``cover``."""
        corrected = [one.corrected for one in self.terms.values()]
        lacking = infinite_values(self.rows, list(self.terms), [one.change for one in self.terms.values()])
        names, shuffles = tuple(measure.name for measure in self.rows.measures), corrected[0].repeats.shape[1]
        no_interval = self.rows.why_no_interval(shuffles)
        values = RowValues(names, tuple(self.terms), np.stack([one.rows for one in corrected], axis=1))
        return Importance(
            id=ids.COVER,
            explainer=ids.COVER,
            title="Importance corrected for cover",
            frame=_frame(names, self.terms),
            estimates=self._estimates(),
            rows=None if no_interval else values,
            options=options,
            notes=_notes(shuffles, no_interval),
            omissions=(*omitted, *lacking),
            meta={
                "partners": {feature: list(others) for feature, others in self.partners.items()},
                "degrees_of_freedom": self.rows.units - 1,
            },
        )

    def _estimates(self) -> pd.DataFrame:
        tables = []
        for m, measure in enumerate(self.rows.measures):
            lines = [self._line(m, f, one) for f, one in self.terms.items() if np.isfinite(one.change.estimate[m])]
            table = pd.DataFrame(lines, columns=[*ESTIMATE_COLUMNS, *OWN_COLUMNS])
            tables.append(
                table.assign(rank=_ranks(table["estimate"], measure), plain_rank=_ranks(table["plain"], measure))
            )
        return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)

    def _line(self, m: int, feature: str, terms: CoverTerms) -> dict[str, Any]:
        """Return one line of the estimates, its ranks left open."""
        measure, one = self.rows.measures[m].name, terms.corrected
        estimate, se, zero = float(one.estimate[m]), float(one.se[m]), bool(one.zero[m])
        margin, df = self.margins[measure], self.rows.units - 1
        judged = judge(estimate, se, df, margin, n=self.rows.n, confidence=self.confidence)
        known, distrust = not np.isnan(se), self._distrust(m, terms)
        return {
            "measure": measure,
            "feature": feature,
            "estimate": estimate,
            "std_error": se,
            "lower": judged.lower,
            "upper": judged.upper,
            "confidence": self.confidence if known else np.nan,
            "covers": "new test rows" if known else "none",
            "verdict": ABOUT_0 if zero and known else UNDETERMINED if distrust else judged.verdict,
            "margin": margin,
            "partners": ", ".join(self.partners[feature]),
            **{key: value for name in COMPARED for key, value in self._compared(name, getattr(terms, name), m).items()},
            "change_std_error": float(terms.change.se[m]),
            "exact_zero": zero,
            "distrust": distrust,
        }

    def _distrust(self, m: int, terms: CoverTerms) -> str:
        """Return why the interval of the corrected importance, or of the change, is not to be trusted."""
        outcomes = self.rows.measures[m].needs_y
        pair = terms.corrected, terms.change
        reasons = (self.rows.distrust(one.rows[m], float(one.se[m]), outcomes=outcomes).reason for one in pair)
        return next(filter(None, reasons), "")

    def _compared(self, name: str, terms: Terms, m: int) -> dict[str, float]:
        """Return one further quantity with its interval."""
        estimate = float(terms.estimate[m])
        reach = t_quantile((1 + self.confidence) / 2, self.rows.units - 1) * float(terms.se[m])
        return {name: estimate, f"{name}_lower": estimate - reach, f"{name}_upper": estimate + reach}


def _prior(view: type[V], prior: Prior) -> V:
    """Return the view of a result that ran before."""
    found = view.find({result.id: result for result in prior[ids.explainer_of(view.id)]})
    if found is None:
        raise UnsupportedError(f"cover: it needs {view.id}, which was not given.")
    return found


def _ranks(values: pd.Series[Any], measure: Measure) -> pd.Series[Any]:
    """Return ranks, 1 for the largest; where smaller values of the measure are worse, for the smallest."""
    ascending = measure.direction == "smaller" and measure.role != "prediction"
    return values.rank(method="min", ascending=ascending).astype(int)


def _frame(names: Sequence[str], terms: Mapping[str, CoverTerms]) -> pd.DataFrame:
    """Return the corrected importance as each shuffle gives it."""
    records = [
        (name, feature, repeat, value)
        for m, name in enumerate(names)
        for feature, one in terms.items()
        if np.isfinite(one.change.estimate[m])
        for repeat, value in enumerate(one.corrected.repeats[m].tolist())
    ]
    return pd.DataFrame(records, columns=list(Importance.columns))


def _notes(shuffles: int, no_interval: str) -> tuple[str, ...]:
    interval = (
        f"No interval: {no_interval}."
        if no_interval
        else "Intervals are for new test rows, given the model and the covering sets."
    )
    return (
        f"Alone, corrected and joint are of the same {shuffles} shuffles and can be compared row by row.",
        "The importance alone may differ from that of permutation importance by the error of shuffling.",
        "A feature without partners keeps its plain importance: nothing covers it.",
        interval,
    )
