"""Two models on the same rows: differences with paired intervals, and what one relies on that the other does not.

Both audits draw the same shuffles (streams belong to seed and feature names), so a difference of two
importances is itself an importance of the difference, row by row, and its interval is the paired one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..core.arrays import FloatArray
from ..core.engine import Engine
from ..core.errors import InputError
from ..core.results import ESTIMATE_COLUMNS, Diagnostic, Importance, Omission, Result
from ..core.sampling import Sampling
from ..core.subject import Subject
from ..evidence import ids
from ..evidence.run import Run

COVERS = "new test rows, paired"
SCORES = ("loss", "nll", "entropy")
UNLIKE = "one model predicts classes and the other numbers"
NOT_RELIED_ON = ("about 0", "negative")


def check_pair(champion: Subject, challenger: Subject) -> None:
    """Refuse two subjects that are not two models on the same rows."""
    if champion.label == challenger.label:
        raise InputError(
            f"audit.subjects must have different labels; got {champion.label!r} twice. Pass label= to explain."
        )
    if champion.n != challenger.n:
        raise InputError(f"audit.subjects must hold the same rows; got {champion.n} and {challenger.n}.")
    for part, a, b in (
        ("y", champion.y, challenger.y),
        ("sample_weight", champion.weights, challenger.weights),
        ("clusters", champion.clusters, challenger.clusters),
    ):
        if (a is None) != (b is None) or not (a is None or b is None or np.array_equal(a, b)):
            raise InputError(
                f"audit.subjects must hold the same {part}; got different ones. Explain both on the same rows."
            )
    shared = set(champion.features) & set(challenger.features)
    if not shared and champion.y is None:
        raise InputError("audit.subjects must hold the same rows; no shared feature and no y shows that they do.")
    for name in shared:
        if not pd.Series(champion.values(name)).equals(pd.Series(challenger.values(name))):
            raise InputError(f"audit.subjects must hold the same rows; column {name!r} differs.")


def compare(champion: Run, challenger: Run, engines: tuple[Engine, Engine]) -> tuple[Result, ...]:
    """Return ``compare.scores``, ``compare.importance`` and ``compare.reliance``, challenger less champion."""
    paired = _Paired(Sampling.of(engines[0].subject), engines[0].confidence)
    importance = _importance(champion, challenger, paired)
    return (_scores(engines, paired), importance, _reliance(importance))


class _Paired(NamedTuple):
    """How rows enter a mean, and the level of the intervals."""

    sampling: Sampling
    confidence: float


def _scores(engines: tuple[Engine, Engine], paired: _Paired) -> Diagnostic:
    """Compare the mean loss, nll, entropy and confidence gap of the two models' own predictions."""
    classes = ["proba" in engine.baseline.supports for engine in engines]
    unlike = len(set(classes)) > 1
    chosen = [engine.select(() if unlike else SCORES) for engine in engines]
    omissions = {o.measure: o for _, omitted in chosen for o in omitted}
    if unlike:
        omissions[""] = Omission("", "", f"{UNLIKE}: no score means the same")
    rows: list[dict[str, FloatArray]] = [
        {m.name: m.rows(engine.baseline, engine.y, engine.baseline) for m in measures if m.statistic is None}
        for engine, (measures, _) in zip(engines, chosen, strict=True)
    ]
    for values in rows:
        if {"nll", "entropy"} <= set(values):
            with np.errstate(invalid="ignore"):
                values["confidence_gap"] = values["nll"] - values["entropy"]
    table = []
    for name in (name for name in rows[0] if name in rows[1]):
        before, after = rows[0][name], rows[1][name]
        infinite = int((~np.isfinite(before)).sum()), int((~np.isfinite(after)).sum())
        if any(infinite):
            reason = f"{name} is infinite for {infinite[0]} rows of the champion and {infinite[1]} of the challenger"
            omissions[name] = Omission(name, "", reason)
            continue
        table.append(_line(name, "", before, after, paired))
    estimates = pd.DataFrame(table, columns=[*ESTIMATE_COLUMNS, "champion", "challenger"])
    return Diagnostic(
        id=ids.COMPARE_SCORES,
        explainer="compare",
        title="Challenger less champion: loss, likelihood and uncertainty",
        frame=estimates.assign(item="difference", x=np.nan, value=estimates["estimate"])[list(Diagnostic.columns)],
        estimates=estimates,
        notes=("Differences are of the same rows, so their intervals are paired.", *paired.sampling.notes()),
        omissions=tuple(omissions.values()),
    )


def _importance(champion: Run, challenger: Run, paired: _Paired) -> Importance:
    """Compare permutation importances; a conservative interval, which keeps the noise of the shuffles in."""
    found = [run.find(ids.PFI) for run in (champion, challenger)]
    columns = [*ESTIMATE_COLUMNS, "champion", "challenger", "champion_verdict", "challenger_verdict"]
    pairs, omissions = _compared(champion, challenger, found)
    table, frames = [], []
    for measure, feature in pairs:
        first, second = _estimate(found[0], measure, feature), _estimate(found[1], measure, feature)
        before, after = (_rows(result, measure, feature) for result in found)
        line = _line(measure, feature, before, after, paired)
        line |= {"champion_verdict": first["verdict"], "challenger_verdict": second["verdict"]}
        table.append(line)
        frames.append(_repeats(found, measure, feature))
    frame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(Importance.columns))
    return Importance(
        id=ids.COMPARE_IMPORTANCE,
        explainer="compare",
        title="Challenger less champion: permutation importance",
        frame=frame,
        estimates=pd.DataFrame(table, columns=columns),
        notes=(
            "Both models saw the same shuffles of the same rows, so intervals are paired.",
            *paired.sampling.notes(),
        ),
        omissions=tuple(omissions),
    )


def _reliance(importance: Importance) -> Diagnostic:
    """List what one model relies on and the other does not, from verdicts and paired intervals only."""
    found = []
    for row in importance.estimates.to_dict("records"):
        for relies, other, sign in (("challenger", "champion", 1), ("champion", "challenger", -1)):
            apart = row["lower"] > 0 if sign > 0 else row["upper"] < 0
            if row[f"{relies}_verdict"] == "positive" and row[f"{other}_verdict"] in NOT_RELIED_ON and apart:
                found.append((row["measure"], row["feature"], f"only the {relies}", np.nan, row["estimate"]))
    return Diagnostic(
        id=ids.COMPARE_RELIANCE,
        explainer="compare",
        title="What one model relies on and the other does not",
        frame=pd.DataFrame(found, columns=list(Diagnostic.columns)),
        estimates=pd.DataFrame(columns=list(ESTIMATE_COLUMNS)),
        notes=(
            (
                "Listed if the importance is positive in one model, about 0 or negative in the other, and the paired "
                "interval of the difference excludes 0. Undetermined importances list nothing."
            ),
        ),
    )


def _compared(
    champion: Run, challenger: Run, found: Sequence[Result | None]
) -> tuple[list[tuple[str, str]], list[Omission]]:
    """Return the measures and features whose importance both audits know, and what is not compared."""
    first, second = found
    if champion.subject.get("task") != challenger.subject.get("task"):
        return [], [Omission("", "", f"{UNLIKE}: no importance compares")]
    if first is None or second is None or first.rows is None or second.rows is None:
        return [], [Omission("", "", "pfi kept no row values in one of the audits, so there are no pairs")]
    known = [list(zip(r.estimates["measure"], r.estimates["feature"], strict=True)) for r in (first, second)]
    features = [dict.fromkeys(feature for _, feature in pairs) for pairs in known]
    alone = [
        Omission("", feature, f"only the {who} has it")
        for who, own, other in (("champion", *features), ("challenger", *features[::-1]))
        for feature in own
        if feature not in other
    ]
    return [pair for pair in known[0] if pair in known[1]], alone


def _estimate(result: Result | None, measure: str, feature: str) -> pd.Series[Any]:
    table = result.estimates if result is not None else pd.DataFrame()
    return table[(table["measure"] == measure) & (table["feature"] == feature)].iloc[0]


def _rows(result: Result | None, measure: str, feature: str) -> FloatArray:
    rows = None if result is None else result.rows
    return np.zeros(0) if rows is None else rows.of(measure, feature)


def _repeats(found: Sequence[Result | None], measure: str, feature: str) -> pd.DataFrame:
    """Return the differences shuffle by shuffle."""
    tables = [
        r.frame[(r.frame["measure"] == measure) & (r.frame["feature"] == feature)] for r in found if r is not None
    ]
    joined = tables[0].merge(tables[1], on=["measure", "feature", "repeat"], suffixes=("_0", "_1"))
    return joined.assign(value=joined["value_1"] - joined["value_0"])[list(Importance.columns)]


def _line(measure: str, feature: str, before: FloatArray, after: FloatArray, paired: _Paired) -> dict[str, object]:
    """Return the means of both and of their difference, with its paired interval."""
    sampling, confidence = paired
    mean, error = sampling.mean(after - before)
    lower, upper = sampling.interval(mean, error, confidence)
    known = bool(np.isfinite(error))
    return {
        "measure": measure,
        "feature": feature,
        "estimate": float(mean),
        "std_error": float(error),
        "lower": float(lower),
        "upper": float(upper),
        "confidence": confidence if known else np.nan,
        "covers": COVERS if known else "none",
        "champion": float(sampling.weights @ before),
        "challenger": float(sampling.weights @ after),
    }
