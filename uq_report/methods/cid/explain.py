"""Covered information disentanglement: what the other features cover of a feature's information about y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ...core.arrays import FloatArray
from ...core.engine import Engine
from ...core.errors import check_options
from ...core.explainer import Card, Prior
from ...core.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Omission, Result, RowValues
from ...core.sampling import Sampling
from ...core.subject import Subject
from ...evidence import ids
from .cover import CHOSEN, LEVEL, Greedy
from .estimate import TITLES, Choice, Estimate, estimate
from .map import ImportanceMap, importance_map
from .refit import refitted_sets
from .share import alone
from .terms import covered_share, regressors

ESTIMATORS = ("auto", "copula", "discrete", "mixed")
PART_COLUMNS = [*ESTIMATE_COLUMNS, "item"]
DISCRETE = TITLES["discrete"]
_OF_CELLS = ("Information given a set is that of the field of the set and y alone, fitted to the same cells.",)
COEFFICIENTS = ("redundant CI", "MI", "synergistic CI", "synergistic MI")


@dataclass(frozen=True)
class CoveredInformation:
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
        Importances to correct, of those `pfi` has.
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
    """

    measures: tuple[str, ...] = ("loss", "nll")
    estimator: str = "auto"
    penalty: float | None = None
    graph: tuple[tuple[str, str], ...] | None = None
    potentials: str = "whole"
    bins: int = 4
    min_gain: float = 0.005
    max_cover: int = 5
    n_sets: int = 50
    refit: bool = False

    name: ClassVar[str] = "cid"
    section: ClassVar[str] = "relations.cover"
    card: ClassVar[Card] = Card(
        title="Covered information (CID)",
        definition="CI = I(X; Y) − I(X; Y | all other features), from one Markov random field fitted to features and "
        "target; the covered share is max(CI, 0) / I(X; Y). Corrected importance is what a regression of "
        "importance on these terms predicts for no redundant cover.",
        assumes="The field (Gaussian copula, conditional Gaussian or discrete pairwise) describes the joint "
        "distribution.",
        fails="A wrong field or too large a penalty hides or makes up cover. Corrected values are extrapolations: they "
        "are shown only for eight features or more, if the map predicts features it was not fitted to, and if "
        "cover lowers importance in every fit.",
        interval="Of information: over new test rows, given the fitted field. Of corrected values: over sets of rows, "
        "given the map. The share and the graph have none.",
        references="pereira:definitions 2.1 to 2.3 and theorem 2.1",
    )
    needs: ClassVar[tuple[str, ...]] = ("pfi",)
    requires: ClassVar[frozenset[str]] = frozenset()
    api_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse options that cannot be used."""
        rules = (
            ("estimator", self.estimator in ESTIMATORS, f"one of {ESTIMATORS}"),
            ("penalty", self.penalty is None or self.penalty > 0, "a number > 0 or None"),
            ("potentials", self.potentials in ("whole", "half"), "'whole' or 'half'"),
            ("bins", self.bins >= 2, "an integer >= 2"),
            ("min_gain", self.min_gain > 0, "a number > 0"),
            ("max_cover", self.max_cover >= 0, "an integer >= 0"),
            ("n_sets", self.n_sets >= 10, "an integer >= 10"),
        )
        check_options("cid", self, rules)

    def explain(self, subject: Subject, engine: Engine, prior: Prior) -> Sequence[Result]:
        """Return ``cid`` (information), ``cid.graph``, ``cid.cover`` (sets) and ``cid.corrected`` (importance)."""
        choice = Choice(self.estimator, self.penalty, self.graph, self.potentials, self.bins)
        found = estimate(subject, engine, choice)
        plain = next((r for r in prior["pfi"] if r.id == "pfi"), None)
        return [
            self._information(engine, found),
            self._graph(found),
            self._cover(engine, found),
            self._corrected(subject, engine, found, plain),
        ]

    def _information(self, engine: Engine, found: Estimate) -> Diagnostic:
        sampling, level = Sampling.of(engine.subject), engine.confidence
        covered, mutual = found.terms.covered, found.terms.mutual
        items = {
            "covered information": covered,
            "mutual information": mutual,
            "redundant part": np.maximum(covered, 0),
            "synergistic part": np.maximum(-covered, 0),
            **alone(engine, found.features, mutual),
        }
        table = []
        for item, values in items.items():
            mean, error = sampling.mean(values.T)
            table.append(_rows(found.features, item, mean, error, sampling.interval(mean, error, level), level))
        share = covered_share(sampling.weights @ covered, sampling.weights @ mutual)
        nothing = np.full(len(share), np.nan)
        table.append(_rows(found.features, "covered share", share, nothing, (nothing, nothing), np.nan))
        estimates = pd.concat(table, ignore_index=True)
        unknown = [
            Omission("", f, "I(X; Y) is not positive, so it has no share") for f in _where(found, np.isnan(share))
        ]
        estimates = estimates[estimates["estimate"].notna()].reset_index(drop=True)
        rows = RowValues(("covered", "mutual"), found.features, np.stack([covered.T, mutual.T]))
        return Diagnostic(
            id=self.name,
            explainer=self.name,
            title="What the other features cover of each feature's information about y",
            frame=_frame(estimates),
            estimates=estimates,
            rows=rows,
            options=asdict(self),
            notes=(*found.notes, "Intervals cover new rows, given the fitted field. All information is in nats."),
            omissions=(*found.omissions, *unknown),
            meta={"estimator": found.estimator, **found.facts},
        )

    def _graph(self, found: Estimate) -> Diagnostic:
        names = (*found.drawn, "y")
        edges = [
            ("", names[a], names[b], np.nan, float(found.links[a, b]))
            for a in range(len(names))
            for b in range(a + 1, len(names))
            if found.links[a, b] != 0
        ]
        meaning = "largest pair potential" if found.estimator == DISCRETE else "partial correlation"
        return Diagnostic(
            id=ids.CID_GRAPH,
            explainer=self.name,
            title="The dependence graph the covered information rests on",
            frame=pd.DataFrame(edges, columns=list(Diagnostic.columns)),
            estimates=pd.DataFrame(columns=PART_COLUMNS),
            notes=(f"One edge per pair with a non-zero {meaning}, its value.",),
            omissions=tuple(
                Omission("", copy, f"it repeats {of} exactly, and has its place") for copy, of in found.copies.items()
            ),
            meta={"nodes": list(names), "edge": meaning},
        )

    def _cover(self, engine: Engine, found: Estimate) -> Diagnostic:
        sampling, level = Sampling.of(engine.subject), engine.confidence
        greedy = Greedy(found.given, found.normal, found.related, sampling, self.min_gain, self.max_cover)
        table = []
        for j, feature in enumerate(found.features):
            for number, step in enumerate(greedy.steps(j)):
                mean, error = sampling.mean(step.information[None])
                line = _rows((feature,), "", mean, error, sampling.interval(mean, error, level), level)
                table.append(line.assign(item=_name(found, step.partner), step=number))
        estimates = pd.concat(table, ignore_index=True)
        return Diagnostic(
            id=ids.CID_COVER,
            explainer=self.name,
            title="The few other features that repeat most of what a feature says about y",
            frame=_frame(estimates),
            estimates=estimates,
            notes=self._cover_notes(found),
            meta={"estimator": found.estimator, "min_gain": self.min_gain, "max_cover": self.max_cover},
        )

    def _cover_notes(self, found: Estimate) -> tuple[str, ...]:
        rule = (
            f"A partner joins if it lowers the information most, by at least {self.min_gain:g} nats and one standard "
            f"error; at most {self.max_cover}. Only features that depend on the feature are tried ({LEVEL:.0%}, shared "
            "out over the others): one that is independent of it covers nothing of it."
        )
        cells = _OF_CELLS if found.estimator == DISCRETE else ()
        return rule, CHOSEN, *cells, "Intervals cover new rows, given the fitted field and the set."

    def _corrected(self, subject: Subject, engine: Engine, found: Estimate, plain: Result | None) -> Importance:
        frames, tables, omissions, maps = [], [], [], {}
        names = [m.name for m in engine.select(self.measures)[0]]
        if self.refit:
            importances, terms, notes = refitted_sets(subject, engine, found, names, self.n_sets)
        else:
            importances, terms, notes = self._bootstrapped(subject, engine, found, plain, names)
        for measure in names:
            if measure not in importances:
                omissions.append(
                    Omission(measure, "", "permutation importance has no row values of it for every feature")
                )
                continue
            fitted = importance_map(importances[measure], terms)
            maps[measure] = _told(fitted)
            if fitted.refusals:
                reason = f"corrected importance is not shown: {'; '.join(fitted.refusals)}"
                omissions.append(Omission(measure, "", reason))
                continue
            frames.append(_sets(measure, found.features, fitted.corrected))
            tables.append(
                _corrections(measure, found.features, importances[measure], fitted.corrected, engine.confidence)
            )
        columns = [*ESTIMATE_COLUMNS, "plain", "rank", "plain_rank"]
        return Importance(
            id=ids.CID_CORRECTED,
            explainer=self.name,
            title="Permutation importance with no information covered by other features",
            frame=pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(Importance.columns)),
            estimates=pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns),
            notes=(*notes, "No redundant cover lies outside the data: every corrected value is an extrapolation."),
            omissions=tuple(omissions),
            meta={"maps": maps, "coefficients": list(COEFFICIENTS), "estimator": found.estimator},
        )

    def _bootstrapped(
        self, subject: Subject, engine: Engine, found: Estimate, plain: Result | None, names: Sequence[str]
    ) -> tuple[dict[str, FloatArray], FloatArray, tuple[str, ...]]:
        """Return importance (sets, d) per measure and the terms (sets, d, 4) of the same bootstrap rows."""
        sets = bootstrap_weights(subject, engine, self.n_sets)
        terms = np.stack([regressors(found.terms, rows) for rows in sets])
        importances = {}
        for measure in names:
            rows = None if plain is None else plain.rows
            known = rows is not None and measure in rows.measures and set(found.features) <= set(rows.features)
            if rows is not None and known:
                values = np.stack([rows.of(measure, f) for f in found.features])
                if np.isfinite(values).all():
                    importances[measure] = sets @ values.T
        return importances, terms, (f"The model is kept; {self.n_sets} bootstrap sets of the audited rows.",)


def bootstrap_weights(subject: Subject, engine: Engine, sets: int) -> FloatArray:
    """Return the row weights of bootstrap samples of the units (rows, or clusters), (sets, n), each summing to one."""
    sampling = Sampling.of(subject)
    codes = np.arange(subject.n) if sampling.codes is None else sampling.codes
    units = int(codes.max()) + 1
    rng = engine.rng("bootstrap")
    counts = rng.multinomial(units, np.full(units, 1 / units), size=sets)[:, codes] * sampling.weights
    weights: FloatArray = counts / counts.sum(axis=1, keepdims=True)
    return weights


def _rows(
    features: Sequence[str],
    item: str,
    mean: FloatArray,
    error: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    confidence: float,
) -> pd.DataFrame:
    known = not np.isnan(error).all()
    return pd.DataFrame(
        {
            "measure": "",
            "feature": list(features),
            "estimate": mean,
            "std_error": error,
            "lower": bounds[0],
            "upper": bounds[1],
            "confidence": confidence if known else np.nan,
            "covers": "new test rows" if known else "none",
            "item": item,
        }
    )


def _name(found: Estimate, partner: int | None) -> str:
    return "" if partner is None else found.features[partner]


def _frame(estimates: pd.DataFrame) -> pd.DataFrame:
    return estimates.assign(x=np.nan, value=estimates["estimate"])[list(Diagnostic.columns)]


def _where(found: Estimate, chosen: Any) -> list[str]:
    return [f for f, here in zip(found.features, chosen, strict=True) if here]


def _sets(measure: str, features: Sequence[str], corrected: FloatArray) -> pd.DataFrame:
    sets, d = corrected.shape
    return pd.DataFrame(
        {
            "measure": measure,
            "feature": np.repeat(np.array(features, dtype=object), sets),
            "repeat": np.tile(np.arange(sets), d),
            "value": corrected.T.ravel(),
        }
    )


def _corrections(
    measure: str, features: Sequence[str], plain: FloatArray, corrected: FloatArray, confidence: float
) -> pd.DataFrame:
    """Return the median over sets with its spread, beside the plain importance, and both ranks."""
    tail = (1 - confidence) / 2
    middle, before = np.median(corrected, axis=0), plain.mean(axis=0)
    low, high = np.quantile(corrected, [tail, 1 - tail], axis=0)
    return pd.DataFrame(
        {
            "measure": measure,
            "feature": list(features),
            "estimate": middle,
            "std_error": corrected.std(axis=0, ddof=1),
            "lower": low,
            "upper": high,
            "confidence": confidence,
            "covers": "sets of rows, given the map",
            "plain": before,
            "rank": pd.Series(-middle).rank(method="min").astype(int),
            "plain_rank": pd.Series(-before).rank(method="min").astype(int),
        }
    )


def _told(fitted: ImportanceMap) -> dict[str, Any]:
    """Return what is always kept in the evidence about a map."""
    finite = {k: v for k, v in (("r2", fitted.r2), ("r2_left_out", fitted.r2_left_out)) if np.isfinite(v)}
    return {
        "coefficients": dict(zip(COEFFICIENTS, fitted.coefficients.tolist(), strict=True)),
        "redundant_left_out": fitted.left_out[:, 0].tolist(),
        "refusals": list(fitted.refusals),
        **finite,
    }
