"""Importance under given permutations, or conditional on the other features, and values before and after."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..core.engine.fast_path_evaluator import Engine
from ..core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Result, RowValues, bare_estimates
from ..core.model.subject import Subject
from ..core.model.variants import Variant
from ..core.support.arrays import FloatArray, IntArray, as_numbers
from ..core.support.errors import InputError, nearest
from ..document.plots.registered import HISTOGRAM
from ..evidence import columns as col, ids
from .provenance import measure_facts

LEAF = 30  # observations of a subgroup, at least
BINS = 24
CONDITIONAL = (
    "Conditional permutation importance by subgroups: values are permuted within the leaves of a tree that predicts "
    "the feature from the others (Molnar et al. 2023, doi:10.1007/s10618-022-00901-9)."
)
Permutations = int | Any


def permuted(
    engine: Engine,
    measures: Sequence[str],
    features: Sequence[str] | None,
    method: Literal["marginal", "conditional"],
    permutations: Permutations,
) -> list[Result]:
    """Return the importance under each permutation, and the distribution of each measure before and after it.

    Parameters
    ----------
    engine : Engine
    measures : sequence of str
        With ``"conditional"`` losses alone.
    features : sequence of str, optional
        All features and groups by default.
    method : {"marginal", "conditional"}
        Among all observations, or within subgroups that are alike in the other features.
    permutations : int, or array of shape (n,) or (m, n)
        How many to draw, or positions of the observations that each one takes its values from.

    Raises
    ------
    InputError
        For permutations that are none, or a conditional importance of something that is not a loss.
    """
    subject = engine.subject
    chosen, omitted = engine.select(measures)
    if method == "conditional":
        wrong = [measure.name for measure in chosen if measure.role != "loss" or measure.statistic is not None]
        if wrong:
            raise InputError(
                f"importance.measures must be losses with method='conditional'; got {wrong[0]!r}. The conditional "
                "importance of an uncertainty is 0 where it is calibrated (Wood et al., section 3.4)."
            )
    if not chosen:
        raise InputError(f"importance.measures must apply here; got {omitted[0].measure!r}: {omitted[0].reason}.")
    before, after = engine.unchanged(chosen), dict[str, FloatArray]()
    for feature in features or subject.targets:
        donors = _donors(engine, feature, method, permutations)
        variants = [Variant(subject.positions(feature), donors=donor) for donor in donors]
        groups = engine.evaluate(variants, chosen, total=len(variants))
        after[feature] = np.concatenate([group.values for group in groups], axis=1)
    changes = {feature: values - before[:, None] for feature, values in after.items()}
    means = {feature: np.average(change, axis=2, weights=subject.weights) for feature, change in changes.items()}
    lines = [
        (measure.name, feature, repeat, value)
        for feature, of_feature in means.items()
        for measure, values in zip(chosen, of_feature, strict=True)
        for repeat, value in enumerate(values)
    ]
    frame = pd.DataFrame(lines, columns=list(Importance.columns))
    how = CONDITIONAL if method == "conditional" else "The mean over these permutations, without an interval."
    measured = measure_facts(engine.measures.values(), engine.baseline)
    of_chosen = {measure.name: measured[measure.name] for measure in chosen}
    facts: dict[str, Any] = {"omissions": omitted, "options": {"method": method}, "measures": of_chosen}
    rows = np.stack([change.mean(axis=1) for change in changes.values()], axis=1)
    main = Importance(
        id=ids.PFI_PERMUTED,
        explainer=ids.PFI,
        title="Conditional permutation importance" if method == "conditional" else "Importance of given permutations",
        frame=frame,
        estimates=bare_estimates(frame.groupby([col.MEASURE, col.FEATURE], sort=False)[col.VALUE].mean().reset_index()),
        rows=RowValues(tuple(of_chosen), tuple(after), rows),
        notes=(how,),
        **facts,
    )
    distributions = Diagnostic(
        id=ids.PFI_BEFORE_AFTER,
        explainer=ids.PFI,
        title="Share of observations by value, before and after the permutation",
        frame=_distributions(tuple(of_chosen), before, after),
        estimates=pd.DataFrame(columns=[*ESTIMATE_COLUMNS]),
        meta={HISTOGRAM: "share of observations"},
        **facts,
    )
    return [main, distributions]


def _distributions(measures: Sequence[str], before: FloatArray, after: Mapping[str, FloatArray]) -> pd.DataFrame:
    """Return the share of observations in each bin of each measure, before and after permuting each feature."""
    lines: list[tuple[str, str, str, float, float]] = []
    for m, measure in enumerate(measures):
        every = np.concatenate([before[m], *(values[m].ravel() for values in after.values())])
        edges = np.histogram_bin_edges(every[np.isfinite(every)], BINS)
        centres = (edges[1:] + edges[:-1]) / 2
        for feature, permuted_values in after.items():
            for item, values in (("before", before[m]), ("after", permuted_values[m])):
                shares = np.histogram(values[np.isfinite(values)], edges)[0] / values.size
                lines += [(measure, feature, item, x, share) for x, share in zip(centres, shares, strict=True)]
    return pd.DataFrame(lines, columns=list(Diagnostic.columns))


def _donors(engine: Engine, feature: str, method: str, permutations: Permutations) -> IntArray:
    """Return the donor of each observation under each permutation, shape (m, n)."""
    subject, n = engine.subject, engine.subject.n
    if not isinstance(permutations, int):
        donors = np.atleast_2d(np.asarray(permutations))
        if donors.shape[1:] != (n,) or donors.dtype.kind not in "iu" or (np.sort(donors) != np.arange(n)).any():
            raise InputError(
                f"importance.permutations must hold each position 0 to {n - 1} once in every row; got an array of "
                f"shape {donors.shape}."
            )
        return donors
    if permutations < 1 or method not in ("marginal", "conditional"):
        wrong, got = ("permutations", permutations) if permutations < 1 else ("method", method)
        hint = "" if permutations < 1 else nearest(str(method), ("marginal", "conditional"))
        raise InputError(f"importance.{wrong} must be a number >= 1, or marginal or conditional; got {got!r}. {hint}")
    rngs = [engine.rng(feature, repeat) for repeat in range(permutations)]
    if method == "marginal":
        return np.array([subject.permutation(rng) for rng in rngs])
    leaves = _subgroups(subject, feature)
    donors = np.empty((permutations, n), dtype=np.int64)
    for k, rng in enumerate(rngs):
        for leaf in np.unique(leaves):
            own = np.flatnonzero(leaves == leaf)
            donors[k, own] = rng.permutation(own)
    return donors


def _subgroups(subject: Subject, feature: str) -> IntArray:
    """Return the leaf of each observation in a tree that predicts the first column of a feature from the others."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # here: heavy

    members = subject.members(feature)
    others = [name for name in subject.features if name not in members]
    if not others or subject.blocks is not None:
        what = "no other feature" if not others else "blocks of time"
        raise InputError(f"importance.method must be 'marginal' with {what}; got 'conditional'.")
    codes = np.column_stack([_coded(subject, name) for name in others])
    kind = DecisionTreeClassifier if subject.kinds[members[0]] == "categorical" else DecisionTreeRegressor
    tree = kind(min_samples_leaf=min(LEAF, max(2, subject.n // 4)), random_state=0)
    return np.asarray(tree.fit(codes, _coded(subject, members[0])).apply(codes))


def _coded(subject: Subject, name: str) -> FloatArray:
    """Return a column as numbers, missing values below all others."""
    numbers = pd.Series(as_numbers(pd.Series(subject.values(name)), subject.kinds[name]))
    return np.asarray(numbers.fillna(numbers.min() - 1.0))
