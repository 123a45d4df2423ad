"""Accumulated local effects (ALE), first and second order, of any measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...core.engine.fast_path_evaluator import Engine
from ...core.explainer import BuiltInExplainer, MethodCard, Prior
from ...core.model.measures import Measure
from ...core.model.results import ESTIMATE_COLUMNS, Omission, Profile, Result
from ...core.model.sampling import Sampling
from ...core.model.subject import Subject
from ...core.support.errors import check_options
from ..shared.checks import at_least
from ..shared.choice import INFINITE_REMEDY, row_measures
from ..shared.curves import are_pairs, features_of, fill, stacked, surface_places
from ..shared.estimates import estimate
from .axes import AleAxis, ValuePositions, make_axis
from .curves import Effects, Surface, curve, surface

# further columns of the estimates of curves, and of surfaces
PLACES = (
    ("x", "level", "std_error_change"),
    ("feature_2", "x", "level", "x_2", "level_2", "extrapolated"),
)


@dataclass(frozen=True)
class AccumulatedLocalEffects(BuiltInExplainer):
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
        What is explained, by the names of measures: prediction, nll and entropy by default, log-odds where there
        are two classes, and the aleatoric and epistemic part of the uncertainty where a prediction has members.
    features : tuple of str, optional
        All features by default.
    pairs : tuple of (str, str)
        Pairs with an interaction, as the result ``ale.interaction``.
    n_bins : int
        Quantile bins of a numeric feature.
    edges : mapping of str to sequence
        Edges of a numeric feature, instead of its quantiles.
    max_levels : int
        Levels of a text feature, the most frequent ones; rows of others take no part in its curve.

    References
    ----------
    Apley and Zhu (2020), doi:10.1111/rssb.12377.
    """

    measures: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    n_bins: int = 20
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    max_levels: int = 30

    name: ClassVar[str] = "ale"
    section: ClassVar[str] = "soundness.local-effects"
    priority: ClassVar[int] = 6
    card: ClassVar[MethodCard] = MethodCard(
        title="Accumulated local effects (ALE)",
        definition="Mean change of a measure between the edges of each bin, over the rows in the bin, added up from "
        "the left and centred by its mean over the data.",
        assumes="Inside a bin a feature can be moved without leaving the data; the edges are given.",
        fails="Few rows in a bin make a rough curve, and an error in one bin is carried to all after it. The order of "
        "levels is a choice. Interactions vanish in the mean.",
        interval="Pointwise, over new test rows, given the edges. A band does not hold for the whole curve at once.",
        references="apley; modeva",
    )

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        limits = (*at_least(self, n_bins=1, max_levels=2), ("pairs", are_pairs(self.pairs), "pairs of two features"))
        check_options("ale", self, limits)

    def cost(self, subject: Subject, engine: Engine) -> int:
        """Return about how many rows it will have predicted: two ends of a bin, four corners of a cell."""
        features = len(subject.features if self.features is None else self.features)
        return subject.n * (2 * features + 4 * len(self.pairs))

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``ale``, and ``ale.interaction`` where pairs are asked for."""
        measures, omitted = row_measures(self.name, engine, self.measures)
        features, names = features_of(self.name, subject, self.features, self.pairs, self.edges)
        codes = ValuePositions(subject)
        every = {
            name: make_axis(subject, name, self.n_bins, self.edges.get(name), codes, self.max_levels) for name in names
        }
        axes = {name: axis for name, axis in every.items() if isinstance(axis, AleAxis)}
        gaps = (*omitted, *(Omission("", name, why) for name, why in every.items() if isinstance(why, str)))
        single = [Effects((axes[f],)) for f in features if f in axes]
        double = [Effects((axes[a], axes[b])) for a, b in self.pairs if {a, b} <= set(axes)]
        fill([(variant, e.ends.append) for e in (*single, *double) for variant in e.variants()], engine, measures)
        notes = tuple(note for axis in axes.values() for note in axis.notes) + Sampling.of(subject).notes()
        results: list[Result] = [self._profile("ale", single, measures, engine, notes, gaps)]
        if self.pairs:
            results.append(self._profile("ale.interaction", double, measures, engine, notes, gaps))
        return results

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
        tables, gaps, empty = [], list(omissions), []
        for m, measure in enumerate(measures):
            for effect in effects:
                engine.check()
                infinite = effect.infinite(m)
                if infinite:
                    reason = f"{measure.name} is infinite for {infinite} rows at an edge: {INFINITE_REMEDY}"
                    gaps.append(Omission(measure.name, effect.name, reason))
                elif joint:
                    interaction = surface(effect, m, sampling)
                    empty += [_empty_note(effect, interaction)] if interaction.empty else []
                    tables.append(_surface_rows(measure.name, effect, interaction))
                else:
                    tables.append(_curve_rows(measure.name, effect, m, sampling, engine.confidence))
        return Profile(
            id=id,
            explainer=self.name,
            title="Second-order accumulated local effects" if joint else "Accumulated local effects",
            frame=stacked([t | {"curve": -1, "value": t["estimate"]} for t in tables], Profile.columns),
            estimates=stacked(tables, [*ESTIMATE_COLUMNS, *PLACES[joint]]),
            options=asdict(self) | {"edges": {k: [float(v) for v in values] for k, values in self.edges.items()}},
            notes=(*notes, *dict.fromkeys(empty), "Curves are centred by their mean over the data."),
            omissions=tuple(gaps),
        )


def _curve_rows(measure: str, effect: Effects, m: int, sampling: Sampling, confidence: float) -> dict[str, Any]:
    axis, points = effect.axes[0], curve(effect, m, sampling)
    interval = sampling.interval(points.value, points.std_error, confidence)
    covers = "new test rows, given the edges"
    columns = estimate(points.value, points.std_error, interval, confidence, measure, axis.feature, covers)
    places = {"feature_2": "", "x": axis.x, "level": np.array(axis.levels, dtype=object), "x_2": np.nan, "level_2": ""}
    return columns | places | {"std_error_change": points.std_error_change}


def _surface_rows(measure: str, effect: Effects, points: Surface) -> dict[str, Any]:
    a, b = effect.axes
    columns = estimate(points.value.ravel(), np.nan, (np.nan, np.nan), np.nan, measure, a.feature)
    places = {"feature_2": b.feature, "extrapolated": points.extrapolated.ravel()}
    return columns | surface_places((a.x, a.levels), (b.x, b.levels)) | places


def _empty_note(effect: Effects, points: Surface) -> str:
    a, b = effect.axes
    return (
        f"{effect.name}: {points.empty} of {a.steps * b.steps} cells hold no row and take the effect of the "
        f"nearest cell with rows. So {points.extrapolated.sum()} of {points.value.size} points are extrapolated: no "
        "row is near them (crossed out in the figure)."
    )
