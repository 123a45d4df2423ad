"""Permutation importance as tidy results, and the joint reading of Likelihood- and Entropy-PFI."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...core.model.measures import ENTROPY
from ...core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Omission, RowValues
from ...core.statistics.inference import MIN_SHUFFLES, PairTerms, standard_error
from ...core.statistics.verdicts import Distrust, Judgement, permutation_p_value
from ...core.support.arrays import FloatArray
from ...core.support.numbers import share_words
from ...core.support.text import short
from ...document.text import joined
from ...evidence import ids, importance as readings
from ...evidence.importance import ABOUT_0, INCONCLUSIVE, NEGATIVE, POSITIVE, UNDETERMINED
from ..shared.estimates import TEST_ROWS, diagnostic, estimate, points
from ..shared.members import SHARE, covers, unbiased
from ..shared.terms import ImportanceTerms, ShuffledRows, infinite_values
from .estimator import FIRST, Estimator

OWN_COLUMNS = (
    *("verdict", "margin", "p_value", "spread_low", "spread_high", "shuffling_error"),
    *("unpermuted", "n_needed", "exact_zero", "remark", "unreliable"),
)
QUANTILES_FROM = 20
DELTA_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
TRAINING: Mapping[str, Any] = {"id": "pfi.train", "title": "Permutation importance on the training sample"}


@dataclass(frozen=True)
class ShuffleTables:
    """What the shuffles gave, feature by feature, and how to judge it.

    `kept`, shape (2, measures, features, n), holds rows and delta of all terms; without, they are not held. `n_members`
    are drawn for each prediction of a random model.
    """

    estimator: Estimator
    features: Sequence[str]
    terms: Sequence[ImportanceTerms]
    options: Mapping[str, Any]
    omitted: tuple[Omission, ...]
    kept: FloatArray | None = None
    n_members: int = 0

    @property
    def rows(self) -> ShuffledRows:
        """The measures of the unchanged rows."""
        return self.estimator.rows

    @property
    def confidence(self) -> float:
        """Level of the intervals."""
        return self.estimator.confidence

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the measures."""
        return tuple(measure.name for measure in self.rows.measures)

    @property
    def shuffles(self) -> Mapping[str, int]:
        """Number of shuffles of each feature."""
        pairs = zip(self.features, self.terms, strict=True)
        return {feature: term.repeats.shape[1] for feature, term in pairs}

    @property
    def n_shuffles(self) -> int:
        """Smallest number of shuffles."""
        return min(self.shuffles.values())

    @property
    def exact(self) -> tuple[str, ...]:
        """The features of which all pairs of rows are known."""
        return tuple(feature for feature, term in zip(self.features, self.terms, strict=True) if term.exact)

    @property
    def all_exact(self) -> bool:
        """Whether all pairs of rows are known of all features."""
        return len(self.exact) == len(self.features)

    def kept_terms(self, f: int, term: ImportanceTerms) -> ImportanceTerms:
        """Return the terms of feature f as they are held."""
        if self.kept is None:
            none = np.empty((len(self.names), 0))
            return term._replace(rows=none, delta=none)
        self.kept[0, :, f], self.kept[1, :, f] = term.rows, term.delta
        return term._replace(rows=self.kept[0, :, f], delta=self.kept[1, :, f])

    def row_values(self, k: int) -> RowValues | None:
        """Return rows (0) or delta (1); NaN where a measure and feature are among the omissions."""
        return None if self.kept is None else RowValues(self.names, tuple(self.features), self.kept[k])


def importance_result(tables: ShuffleTables) -> Importance:
    """Return the result ``pfi``."""
    return _importance(
        tables,
        _estimates(tables),
        id="pfi",
        title="Permutation importance",
        rows=tables.row_values(0) if tables.all_exact or tables.n_shuffles >= MIN_SHUFFLES else None,
        notes=_reader_notes(tables),
    )


def training_result(tables: ShuffleTables, sampled_from: int | None) -> Importance:
    """Return the result ``pfi.train``: values without an interval, as the model has seen these rows."""
    estimates = _estimates(tables)
    estimates[["std_error", "lower", "upper", "confidence", "p_value", "n_needed"]] = np.nan
    estimates[["covers", "verdict", "unreliable"]] = ["none", "", ""]
    estimates["remark"] = np.where(estimates["exact_zero"], "exact", "")
    notes = ["The model was fitted to these observations, so their importances have no interval for a population."]
    if sampled_from:
        notes.append(f"{tables.rows.n} of {sampled_from} training observations, drawn at random, were used.")
    return _importance(tables, estimates, notes=tuple(notes), **TRAINING)


def untrained_result(main: Importance, omitted: tuple[Omission, ...]) -> Importance:
    """Return the result ``pfi.train`` where no measure exists for the training rows, with the reasons."""
    frame, estimates = main.frame.iloc[:0], main.estimates.iloc[:0]
    return Importance(
        explainer="pfi", frame=frame, estimates=estimates, options=main.options, omissions=omitted, **TRAINING
    )


def _importance(tables: ShuffleTables, estimates: pd.DataFrame, **parts: Any) -> Importance:
    names, most = ("measure", "feature", "repeat"), max(tables.shuffles.values())
    values = np.full((len(tables.names), len(tables.features), most), np.nan)
    for f, term in enumerate(tables.terms):
        values[:, f, : term.repeats.shape[1]] = term.repeats
    repeats = pd.MultiIndex.from_product((tables.names, tables.features, range(most)), names=names)
    freedom = min(tables.rows.units - 1, *(float(term.freedom.min()) for term in tables.terms))
    shuffles = str(most) if most == tables.n_shuffles else f"{tables.n_shuffles} to {most}"
    spread = "5% and 95% quantiles" if tables.n_shuffles >= QUANTILES_FROM else "smallest and largest"
    return Importance(
        explainer="pfi",
        frame=pd.Series(values.ravel(), repeats, name="value").dropna().reset_index(),
        estimates=estimates,
        options=tables.options,
        omissions=(*tables.omitted, *infinite_values(tables.rows, tables.features, tables.terms)),
        meta={"spread": f"{spread} of {shuffles} permutations", "degrees_of_freedom": freedom},
        **parts,
    )


def delta_result(tables: ShuffleTables) -> Diagnostic:
    """Return the result ``pfi.delta``: how the change of each row, averaged over shuffles, is distributed."""
    delta, still = ([getattr(term, name) for term in tables.terms] for name in ("delta", "still"))
    quantiles = np.stack([np.quantile(values, DELTA_LEVELS, axis=1) for values in delta], axis=2)
    records: list[tuple[str, str, str, float, float]] = []
    for m, measure in enumerate(tables.names):
        for f, feature in enumerate(tables.features):
            if np.isfinite(quantiles[:, m, f]).all():
                levels = zip(DELTA_LEVELS, quantiles[:, m, f].tolist(), strict=True)
                records += [(measure, feature, "quantile", level, value) for level, value in levels]
                records.append((measure, feature, "share of observations unchanged", 0.0, float(still[f][m])))
    note = (
        "The change of an observation is its mean over permutations; without weights, the mean over observations is "
        "the importance."
    )
    facts: dict[str, Any] = {"rows": tables.row_values(1), "options": tables.options, "notes": (note,)}
    return points("pfi.delta", "Change of each observation when a feature is permuted", records, **facts)


def _estimates(tables: ShuffleTables) -> pd.DataFrame:
    lines = [
        _line(tables, m, feature, term)
        for m in range(len(tables.names))
        for feature, term in zip(tables.features, tables.terms, strict=True)
        if np.isfinite(term.estimate[m])
    ]
    return pd.DataFrame(lines, columns=[*ESTIMATE_COLUMNS, *OWN_COLUMNS])


def _line(tables: ShuffleTables, m: int, feature: str, term: ImportanceTerms) -> dict[str, Any]:
    """Return one line of the estimates."""
    rows, value, se, zero = tables.rows, float(term.estimate[m]), float(term.se[m]), bool(term.zero[m])
    margin, shuffled = tables.estimator.margins[tables.names[m]], term.repeats[m]
    judgement = tables.estimator.judged(m, value, se, float(term.freedom[m]))
    unreliable = Distrust()
    if tables.kept is not None:
        unreliable = rows.unreliable(term.rows[m], se, outcomes=rows.measures[m].needs_y)
    verdict = UNDETERMINED if unreliable.reason else judgement.verdict
    excludes_0 = verdict == ABOUT_0 and judgement.lower * judgement.upper > 0
    interval = judgement.lower, judgement.upper
    needed = float(np.fmax(judgement.n_needed, unreliable.rows))
    low, high = np.quantile(shuffled, (0.05, 0.95) if len(shuffled) >= QUANTILES_FROM else (0.0, 1.0))
    over = covers(TEST_ROWS, tables.n_members if term.drawn[m] > 0 else 0)
    return estimate(value, se, interval, tables.confidence, tables.names[m], feature, over) | {
        "verdict": ABOUT_0 if zero and not np.isnan(se) else verdict,
        "margin": margin,
        "p_value": permutation_p_value(shuffled) if rows.tested else np.nan,
        "spread_low": float(low),
        "spread_high": float(high),
        "shuffling_error": float(term.noise[m]),
        "unpermuted": float(unbiased(tables.names, rows.unpermuted, tables.n_members)[m]),
        "n_needed": needed if needed > rows.n and not zero else np.nan,
        "exact_zero": zero,
        "remark": "exact" if zero else "but not 0" if excludes_0 else "",
        "unreliable": unreliable.reason,
    }


def _reader_notes(tables: ShuffleTables) -> tuple[str, ...]:
    """Return the notes of the result ``pfi``."""
    rows, alpha = tables.rows, 1 - tables.confidence
    notes = [words for words in (_exact_words(tables), _settled_words(tables)) if words]
    if rows.within:
        notes.append("Values are permuted within clusters: the importance is that of differences within clusters.")
    if rows.blocks:
        notes.append(
            "Observations are in order of time: whole blocks are permuted, so that values keep their order within "
            "blocks. The estimate is the mean over all pairs of observations; p-values are nearly exact where blocks "
            "are independent."
        )
    notes += _interval_words(tables)
    notes.append("The spread is that of the permutations only; it is no interval for the importance.")
    if not rows.tested:
        notes.append("No permutation p-value: with weights or clusters, single observations are not exchangeable.")
    elif 1 / (tables.n_shuffles + 1) > alpha + 1e-12:
        notes.append(_out_of_reach(tables.n_shuffles, len(tables.features), alpha))
    if any(measure.statistic for measure in rows.measures):
        notes += [_OF_AUC, _OF_ALL_PAIRS] if tables.exact else [_OF_AUC]
    return tuple(notes)


_OF_AUC = "1 - AUC is no mean over observations: its interval is based on the influence of each observation."
_OF_ALL_PAIRS = (
    "Where all pairs are used, its estimate is that of all pairs together; the mean over permutations is within order "
    "1/n of it."
)


def _settled_words(tables: ShuffleTables) -> str:
    """Say which features were permuted less often than asked, and why; empty for none."""
    asked, share = tables.options["n_repeats"], tables.options["max_shuffle_variance"]
    early = [feature for feature, m in tables.shuffles.items() if m < asked]
    if not early:
        return ""
    which = "all features" if len(early) == len(tables.features) else joined([short(feature) for feature in early])
    return (
        f"Permutations stop early (after {FIRST} to {asked}) once their random choice has at most {share_words(share)} "
        "of the variance of every importance that is not about 0, and two of its standard errors would change no "
        f"verdict. They stopped early for {which}."
    )


def _interval_words(tables: ShuffleTables) -> list[str]:
    """Say what the intervals cover, and where there is none."""
    some, reason = (tables.rows.why_no_interval(tables.n_shuffles, exact=exact) for exact in (True, tables.all_exact))
    which = "" if some or not tables.exact else " of the other importances"
    words = [f"No interval{which}: {reason}."] if reason else []
    if reason and not which:
        return words
    if not tables.n_members:
        return [*words, "Intervals cover new test samples for the fixed model."]
    return [*words, *_drawn_words(tables)]


def _drawn_words(tables: ShuffleTables) -> Iterator[str]:
    """Say what intervals of a random model cover, and how many members would make their draw a small part of that."""
    over, most = covers(TEST_ROWS, tables.n_members), 0.0
    yield f"Intervals cover {over}: importances are those of the mixture of that many members."
    margins = np.array([tables.estimator.margins[name] for name in tables.names])
    for term in tables.terms:
        rows = np.square(term.se) - np.square(term.drawn)
        large = (rows > 0) & (np.abs(term.estimate) > margins)
        most = max(most, float(np.max(np.square(term.drawn[large]) / rows[large], initial=0.0)))
    if most > SHARE:
        needed = math.ceil(tables.n_members * most / SHARE)
        yield (
            f"The draw of the members contributes up to {most / (1 + most):.0%} of the variance of an importance; with "
            f"about {needed:,} members it would contribute a quarter of the variance due to the observations."
        )


def _exact_words(tables: ShuffleTables) -> str:
    """Say which importances are exact over all permutations, and what their interval covers; empty for none."""
    if not tables.exact:
        return ""
    some = f"Importances of {joined([short(feature) for feature in tables.exact])}"
    which = "All importances" if tables.all_exact else some
    return (
        f"{which} are exact over all permutations: every observation was predicted with each distinct value, which "
        "gives all pairs of observations. Their intervals are those of the observations only; spread and p-value come "
        "from permutations of these predictions."
    )


def _out_of_reach(n_shuffles: int, n_features: int, alpha: float) -> str:
    needed = math.ceil(1 / alpha - 1e-9) - 1
    return (
        f"{n_shuffles} permutations give no p-value below {1 / (n_shuffles + 1):.2g}, so the test cannot reach the "
        f"level {alpha:.2g}: it needs {needed}, or {math.ceil(n_features / alpha - 1e-9) - 1} with adjustment for all "
        "features."
    )


LIKELIHOODS = ("nll", "nll_clipped")
# (likelihood verdict, entropy verdict) -> reading; where both rise it depends on their difference
READINGS: Mapping[tuple[str, str], str] = {
    (POSITIVE, ABOUT_0): readings.HIDDEN,
    (POSITIVE, NEGATIVE): readings.CONFIDENT,
    (POSITIVE, UNDETERMINED): readings.OPEN_RISE,
    (ABOUT_0, POSITIVE): readings.CAREFUL,
    (ABOUT_0, ABOUT_0): readings.HARMLESS,
    (ABOUT_0, NEGATIVE): readings.BOLD,
    **dict.fromkeys(((NEGATIVE, other) for other in (POSITIVE, ABOUT_0, NEGATIVE)), readings.BETTER),
}


def read_pair(tables: ShuffleTables, estimates: pd.DataFrame) -> Diagnostic | None:
    """Return the result ``pfi.reading``, from verdicts and the paired difference, or None unless both are there.

    An estimate is the Likelihood-PFI less the Entropy-PFI: the part of the damage that the stated uncertainty does not
    signal; the Entropy-PFI is in ``x`` of the frame. Whether a feature shares information with others is never read
    off these two.
    """
    lines = {(line["measure"], line["feature"]): line for line in estimates.to_dict("records")}
    measures = {measure for measure, _ in lines}
    likelihood = next((name for name in LIKELIHOODS if name in measures), None)
    if likelihood is None or ENTROPY.name not in measures:
        return None
    records = []
    for feature, term in zip(tables.features, tables.terms, strict=True):
        E, L = (lines.get((name, feature)) for name in (ENTROPY.name, likelihood))
        if E is None or L is None:
            continue
        value = L["estimate"] - E["estimate"]
        se = _gap_error(tables, term, likelihood)
        gap = tables.estimator.judged(tables.names.index(likelihood), value, se)
        item = READINGS.get((L["verdict"], E["verdict"]), INCONCLUSIVE)
        if L["verdict"] == E["verdict"] == POSITIVE:
            item = _rises(gap, tables.estimator.margins[likelihood])
        line = estimate(value, se, (gap.lower, gap.upper), tables.confidence, likelihood, feature)
        records.append(line | {"item": item, "entropy": E["estimate"]})
    note = "The estimate is the part of the increase in log loss that the stated uncertainty does not signal."
    facts: dict[str, Any] = {"options": tables.options, "notes": ("Readings are based on the verdicts only.", note)}
    title = "Likelihood-PFI less Entropy-PFI"
    return diagnostic(ids.PFI_READING, title, records, ("item", "entropy"), x="entropy", **facts)


def _rises(gap: Judgement, margin: float) -> str:
    """Return how two importances compare that are both positive, by their difference."""
    if gap.verdict == ABOUT_0:
        return readings.ALIKE
    return readings.LESS if gap.lower > margin else readings.MORE if gap.upper < -margin else INCONCLUSIVE


def _gap_error(tables: ShuffleTables, term: ImportanceTerms, likelihood: str) -> float:
    """Return the standard error of the difference of both importances, from the differences of their row terms.

    Their noise of the shuffles is left in, so it is never too small.
    """
    L, E = (tables.names.index(name) for name in (likelihood, ENTROPY.name))
    rows, none = tables.rows, np.zeros(1)
    if np.isnan(term.se[[L, E]]).any():
        return float("nan")
    pairs = PairTerms(none, none[None], (term.rows[L] - term.rows[E])[None], none, none)
    return float(standard_error(pairs, rows.weights, rows.clusters)[0])
