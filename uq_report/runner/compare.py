"""Two models on the same rows: differences with paired intervals, and what one relies on that the other does not.

Both audits draw the same shuffles (streams belong to seed and feature names), so a difference of two
importances is itself an importance of the difference, row by row, and its interval is the paired one.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.engine.fast_path_evaluator import Engine
from ..core.model.measures import Measure
from ..core.model.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Omission, Result, RowValues
from ..core.model.sampling import Sampling
from ..core.model.subject import Subject
from ..core.statistics.score_intervals import auc_rows
from ..core.support.arrays import FloatArray
from ..core.support.errors import InputError
from ..distributions import Categorical
from ..evidence import columns as col, ids
from ..evidence.importance import ABOUT_0, NEGATIVE, POSITIVE
from ..evidence.run import Run
from .differences import Difference

ACCURACY, AREA = "accuracy", "roc_auc"  # larger is better
COVERS = "new test samples, paired"
SCORES = ("loss", "nll", "entropy")
UNLIKE = "one model predicts classes and the other numbers"
NOT_RELIED_ON = (ABOUT_0, NEGATIVE)
MODELS = ("champion", "challenger")
VERDICTS = ("champion_verdict", "challenger_verdict")
LISTED = (
    "Listed if the importance is positive in one model, about 0 or negative in the other, and the paired interval of "
    "the difference excludes 0. Undetermined importances list nothing."
)


def check_pair(champion: Subject, challenger: Subject) -> None:
    """Refuse two subjects that are not two models on the same rows."""
    if champion.label == challenger.label:
        raise InputError(
            f"audit.subjects must have different labels; got {champion.label!r} twice. Pass label= to explain."
        )
    if champion.n != challenger.n:
        raise InputError(f"audit.subjects must hold the same rows; got {champion.n} and {challenger.n}.")
    for part, name in (("y", "y"), ("sample_weight", "weights"), ("clusters", "clusters")):
        if not np.array_equal(getattr(champion, name), getattr(challenger, name)):  # None equals None only
            raise InputError(
                f"audit.subjects must hold the same {part}; got different ones. Explain both on the same rows"
                f"{', and in order of time with the same block_size' * (champion.blocks is not None)}."
            )
    shared = set(champion.features) & set(challenger.features)
    if not shared and champion.y is None:
        raise InputError("audit.subjects must hold the same rows; no shared feature and no y shows that they do.")
    for name in shared:
        if not pd.Series(champion.values(name)).equals(pd.Series(challenger.values(name))):
            raise InputError(f"audit.subjects must hold the same rows; column {name!r} differs.")


def compare(champion: Run, challenger: Run, engines: tuple[Engine, Engine]) -> tuple[Result, ...]:
    """Return ``compare.scores``, ``compare.importance`` and ``compare.reliance``, challenger less champion."""
    importance = _importance((champion, challenger), Sampling.of(engines[0].subject), engines[0].confidence)
    return (compare_scores(engines), importance, _reliance(importance))


def compare_scores(engines: tuple[Engine, Engine], benchmark: str = "") -> Diagnostic:
    """Compare the mean scores of the two models' own predictions; a `benchmark` is the label of the second."""
    sampling, apart = Sampling.of(engines[0].subject), _apart(engines)
    chosen = [engine.select(() if apart else SCORES) for engine in engines]
    omissions = {o.measure: o for _, omitted in chosen for o in omitted}
    if apart:
        omissions[""] = Omission("", "", apart)
    before, after = (_row_scores(engine, measures) for engine, (measures, _) in zip(engines, chosen, strict=True))
    table = []
    for name in (name for name in before if name in after):
        infinite = [int((~np.isfinite(values[name])).sum()) for values in (before, after)]
        if any(infinite):
            reason = f"{name} is infinite for {infinite[0]} rows of the champion and {infinite[1]} of the challenger"
            omissions[name] = Omission(name, "", reason)
        else:
            table.append(_line(name, "", (before[name], after[name]), sampling, engines[0].confidence))
    estimates = pd.DataFrame(table, columns=[*ESTIMATE_COLUMNS, *MODELS])
    return Diagnostic(
        id=ids.COMPARE_SCORES,
        explainer="compare",
        title=f"{'Benchmark less model' if benchmark else 'Challenger less champion'}: scores and uncertainty",
        frame=estimates.assign(item="difference", x=np.nan, value=estimates[col.ESTIMATE])[list(Diagnostic.columns)],
        estimates=estimates,
        notes=("Differences are of the same observations, so their intervals are paired.", *sampling.notes()),
        omissions=tuple(omissions.values()),
        meta={"benchmark": benchmark} if benchmark else {},
    )


def _apart(engines: tuple[Engine, Engine]) -> str:
    """Say why the two models have no scores to compare, or nothing."""
    if withheld := next((engine.withheld for engine in engines if engine.withheld), ""):
        return withheld
    classes = {"proba" in engine.baseline.supports for engine in engines}
    return f"{UNLIKE}: no score means the same" if len(classes) > 1 else ""


def _row_scores(engine: Engine, measures: Iterable[Measure]) -> dict[str, FloatArray]:
    """Return the score of each row by measure, and the confidence gap, where a model has what it needs."""
    if not (measures := list(measures)):
        return {}
    q, y = engine.baseline, engine.y
    scores = {m.name: m.rows(q, y, q) for m in measures if m.statistic is None}
    if isinstance(q, Categorical) and y is not None and "nll" in scores:
        weights, event = Sampling.of(engine.subject).weights, y == q.positive
        scores[ACCURACY] = np.asarray(q.decisions() == y, dtype=float)
        if len(q.classes) == 2 and 0 < weights @ event < 1:
            scores[AREA] = auc_rows(q.mean(), event, weights)
    if {"nll", "entropy"} <= set(scores):
        with np.errstate(invalid="ignore"):
            scores["confidence_gap"] = scores["nll"] - scores["entropy"]
    return scores


def _importance(runs: tuple[Run, Run], sampling: Sampling, confidence: float) -> Importance:
    """Compare permutation importances; a conservative interval, which keeps the noise of the shuffles in."""
    sides, omissions = _sides(runs)
    table, frame = [], pd.DataFrame(columns=list(Importance.columns))
    if sides:
        first, second = (side.frame for side in sides)
        joined = first.merge(second, on=[col.MEASURE, col.FEATURE, col.REPEAT], suffixes=("_0", "_1"))
        frame = joined.assign(value=joined["value_1"] - joined["value_0"])[list(Importance.columns)]
    for pair in [pair for pair in sides[0].lines if pair in sides[1].lines] if sides else ():
        before, after = (side.rows.of(*pair) for side in sides)
        verdicts = (side.lines[pair][col.VERDICT] for side in sides)
        table.append(_line(*pair, (before, after), sampling, confidence) | dict(zip(VERDICTS, verdicts, strict=True)))
    return Importance(
        id=ids.COMPARE_IMPORTANCE,
        explainer="compare",
        title="Challenger minus champion: permutation importance",
        frame=frame,
        estimates=pd.DataFrame(table, columns=[*ESTIMATE_COLUMNS, *MODELS, *VERDICTS]),
        notes=(
            "Both models saw the same permutations of the same observations, so intervals are paired.",
            *sampling.notes(),
        ),
        omissions=tuple(omissions),
    )


def _reliance(importance: Importance) -> Diagnostic:
    """List what one model relies on and the other does not, from verdicts and paired intervals only."""
    relied = []
    for row in importance.estimates.to_dict("records"):
        for relies, other, sign in (("challenger", "champion", 1), ("champion", "challenger", -1)):
            apart = row[col.LOWER] > 0 if sign > 0 else row[col.UPPER] < 0
            if row[f"{relies}_verdict"] == POSITIVE and row[f"{other}_verdict"] in NOT_RELIED_ON and apart:
                relied.append((row[col.MEASURE], row[col.FEATURE], f"only the {relies}", np.nan, row[col.ESTIMATE]))
    return Diagnostic(
        id=ids.COMPARE_RELIANCE,
        explainer="compare",
        title="What one model relies on and the other does not",
        frame=pd.DataFrame(relied, columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
        notes=(LISTED,),
    )


class _Side(NamedTuple):
    """The importances of one model: its estimates by measure and feature, its repeats, and its values row by row."""

    lines: Mapping[tuple[str, str], Mapping[Any, Any]]
    frame: pd.DataFrame
    rows: RowValues


def _sides(runs: tuple[Run, Run]) -> tuple[list[_Side], list[Omission]]:
    """Return the importances of both audits, none where they do not compare, and what is not compared."""
    if len({run.subject.get("task") for run in runs}) > 1:
        return [], [Omission("", "", f"{UNLIKE}: no importance compares")]
    sides = [
        _Side({(r[col.MEASURE], r[col.FEATURE]): r for r in result.estimates.to_dict("records")}, result.frame, rows)
        for run in runs
        if (result := run.find(ids.PFI)) is not None and (rows := result.rows) is not None
    ]
    if len(sides) < 2:
        return [], [Omission("", "", f"{ids.PFI} kept no row values in one of the audits, so there are no pairs")]
    first, second = (dict.fromkeys(feature for _, feature in side.lines) for side in sides)
    alone = [
        Omission("", feature, f"only the {who} has it")
        for who, own, other in (("champion", first, second), ("challenger", second, first))
        for feature in own
        if feature not in other
    ]
    return sides, alone


def _line(
    measure: str, feature: str, rows: tuple[FloatArray, FloatArray], sampling: Sampling, confidence: float
) -> dict[str, object]:
    """Return the means of both and of their difference, with its paired interval."""
    pair = Difference.paired(*rows, sampling)
    facts = (confidence, COVERS) if math.isfinite(pair.error) else (np.nan, "none")
    numbers = (pair.difference, pair.error, *pair.interval(confidence), *facts, pair.before, pair.now)
    return dict(zip((*ESTIMATE_COLUMNS, *MODELS), (measure, feature, *numbers), strict=True))
