"""Accumulated local effects (ALE), first and second order, of any measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.engine import Engine
from ...core.errors import InputError, check_options, nearest
from ...core.explainer import Card, Prior
from ...core.measures import Measure
from ...core.results import ESTIMATE_COLUMNS, Omission, Profile, Result
from ...core.sampling import Sampling
from ...core.subject import Subject
from ...core.variants import Variant
from ..shared.choice import INFINITE_REMEDY, row_measures, usual_measures
from ..shared.curves import stacked
from .axes import Axis, make_axis
from .curves import Effects, Surface, curve, surface

# further columns of the estimates of curves, and of surfaces
PLACES = (
    ("x", "level", "std_error_change"),
    ("feature_2", "x", "level", "x_2", "level_2", "extrapolated"),
)


@dataclass(frozen=True)
class AccumulatedLocalEffects:
    """ALE of all measures from one prediction pass (Apley & Zhu 2020).

    ``h(x) = Σ_{k ≤ k(x)} mean_{i in bin k} [g(z_k, x_-j^(i)) - g(z_{k-1}, x_-j^(i))]``, centred by its
    mean over the data. Only values near each row's own are tried, so correlated features do not lead
    into empty regions, where a PDP goes. Categorical levels are ordered by the similarity of the
    other features in them. The second order, of pairs, holds the interaction alone; a cell without rows
    takes the effect of the nearest one with rows, by distance scaled to the ranges, and points that touch
    no cell with rows are ``extrapolated``.

    The interval is of the centred curve over new test rows, given the edges; ``std_error_change`` is
    of the change from the first point, ``sqrt(Σ s²_k / n_k)`` for independent rows.

    Parameters
    ----------
    measures : tuple of str, optional
        What is explained, by the names of measures: prediction, nll and entropy by default, and log-odds
        where there are two classes.
    features : tuple of str, optional
        All features by default.
    pairs : tuple of (str, str)
        Pairs whose interaction is wanted, as the result ``ale.interaction``.
    n_bins : int
        Quantile bins of a numeric feature.
    edges : mapping of str to sequence
        Edges of a numeric feature, instead of its quantiles.

    References
    ----------
    Apley and Zhu (2020), doi:10.1111/rssb.12377.
    """

    measures: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    n_bins: int = 20
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)

    name: ClassVar[str] = "ale"
    section: ClassVar[str] = "soundness.local-effects"
    card: ClassVar[Card] = Card(
        title="Accumulated local effects (ALE)",
        definition="Mean change of a measure between the edges of each bin, over the rows in the bin, added up from "
        "the left and centred by its mean over the data.",
        assumes="Inside a bin a feature can be moved without leaving the data; the edges are given.",
        fails="Few rows in a bin make a rough curve, and an error in one bin is carried to all after it. The order of "
        "levels is a choice. Interactions vanish in the mean.",
        interval="Pointwise, over new test rows, given the edges. A band does not hold for the whole curve at once.",
        references="apley; modeva",
    )
    needs: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        rules = (
            ("n_bins", self.n_bins >= 1, "an integer >= 1"),
            ("pairs", all(len(pair) == 2 and pair[0] != pair[1] for pair in self.pairs), "pairs of two features"),
        )
        check_options("ale", self, rules)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``ale``, and ``ale.interaction`` where pairs are asked for."""
        measures, omitted = row_measures(
            self.name, engine, usual_measures(engine) if self.measures is None else self.measures
        )
        axes, without = self._axes(subject)
        single = [Effects((axes[f],)) for f in self._features(subject) if f in axes]
        double = [Effects((axes[a], axes[b])) for a, b in self.pairs if {a, b} <= set(axes)]
        _fill([*single, *double], engine, measures)
        notes = tuple(note for axis in axes.values() for note in axis.notes) + Sampling.of(subject).notes()
        results: list[Result] = [self._profile("ale", single, measures, engine, notes, (*omitted, *without))]
        if self.pairs:
            results.append(self._profile("ale.interaction", double, measures, engine, notes, (*omitted, *without)))
        return results

    def _features(self, subject: Subject) -> tuple[str, ...]:
        return subject.features if self.features is None else tuple(self.features)

    def _axes(self, subject: Subject) -> tuple[dict[str, Axis], tuple[Omission, ...]]:
        names = dict.fromkeys((*self._features(subject), *(name for pair in self.pairs for name in pair)))
        for name in (*names, *self.edges):
            if name not in subject.features:
                raise InputError(f"ale.features must be features of X; got {name!r}. {nearest(name, subject.features)}")
        found = {name: make_axis(subject, name, self.n_bins, self.edges.get(name)) for name in names}
        omissions = tuple(Omission("", name, axis) for name, axis in found.items() if isinstance(axis, str))
        return {name: axis for name, axis in found.items() if isinstance(axis, Axis)}, omissions

    def _profile(
        self,
        id: str,
        effects: Sequence[Effects],
        measures: Sequence[Measure],
        engine: Engine,
        notes: tuple[str, ...],
        omissions: tuple[Omission, ...],
    ) -> Profile:
        joint, sampling = id != "ale", Sampling.of(engine.subject)
        tables, gaps, filled = [], list(omissions), []
        for m, measure in enumerate(measures):
            for effect in effects:
                infinite = effect.infinite(m)
                if infinite:
                    reason = f"{measure.name} is infinite for {infinite} rows at an edge: {INFINITE_REMEDY}"
                    gaps.append(Omission(measure.name, effect.name, reason))
                elif joint:
                    found = surface(effect, m, sampling)
                    filled += _filled_note(effect, found)
                    tables.append(_surface_rows(measure.name, effect, found))
                else:
                    tables.append(_curve_rows(measure.name, effect, m, sampling, engine.confidence))
        estimates = stacked(tables, [*ESTIMATE_COLUMNS, *PLACES[joint]])
        frame = stacked([t.assign(curve=-1, value=t["estimate"]) for t in tables], Profile.columns)
        return Profile(
            id=id,
            explainer=self.name,
            title="Second-order accumulated local effects" if joint else "Accumulated local effects",
            frame=frame,
            estimates=estimates,
            options=asdict(self) | {"edges": {k: [float(v) for v in values] for k, values in self.edges.items()}},
            notes=(*notes, *dict.fromkeys(filled), "Curves are centred by their mean over the data."),
            omissions=tuple(gaps),
        )


def _curve_rows(measure: str, effect: Effects, m: int, sampling: Sampling, confidence: float) -> pd.DataFrame:
    axis = effect.axes[0]
    found = curve(effect, m, sampling)
    lower, upper = sampling.interval(found.value, found.std_error, confidence)
    known = np.isfinite(found.std_error)
    return pd.DataFrame(
        {
            "measure": measure,
            "feature": axis.feature,
            "feature_2": "",
            "estimate": found.value,
            "std_error": found.std_error,
            "lower": lower,
            "upper": upper,
            "confidence": np.where(known, confidence, np.nan),
            "covers": np.where(known, "new test rows, given the edges", "none"),
            "x": axis.x,
            "level": axis.levels,
            "x_2": np.nan,
            "level_2": "",
            "std_error_change": found.std_error_change,
        }
    )


def _fill(effects: Sequence[Effects], engine: Engine, measures: Sequence[Measure]) -> None:
    """Evaluate every move of every effect in one stream of variants."""
    order = [effect for effect in effects for _ in range(effect.count)]

    def variants() -> Iterator[Variant]:
        for effect in effects:
            yield from effect.variants()

    for group in engine.evaluate(variants(), measures, total=len(order)):
        for v in range(group.values.shape[1]):
            order[group.first + v].add(group.values[:, v])


def _surface_rows(measure: str, effect: Effects, found: Surface) -> pd.DataFrame:
    a, b = effect.axes
    columns: dict[str, Any] = {
        "measure": measure,
        "feature": a.feature,
        "feature_2": b.feature,
        "estimate": found.value.ravel(),
        **dict.fromkeys(("std_error", "lower", "upper", "confidence"), np.nan),
        "covers": "none",
        "x": np.repeat(a.x, len(b.x)),
        "level": np.repeat(np.array(a.levels, dtype=object), len(b.x)),
        "x_2": np.tile(b.x, len(a.x)),
        "level_2": np.tile(np.array(b.levels, dtype=object), len(a.x)),
        "extrapolated": found.extrapolated.ravel(),
    }
    return pd.DataFrame(columns)


def _filled_note(effect: Effects, found: Surface) -> list[str]:
    if not found.empty:
        return []
    a, b = effect.axes
    note = (
        f"{effect.name}: {found.empty} of {a.steps * b.steps} cells hold no row and take the effect of the "
        f"nearest cell with rows. So {found.extrapolated.sum()} of {found.value.size} points are extrapolated: no row "
        "is near them (crossed out in the figure)."
    )
    return [note]
