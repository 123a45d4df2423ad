"""Small results with numbers that can be checked by eye."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from uq_report.core.model.results import (
    ESTIMATE_COLUMNS,
    Attribution,
    Diagnostic,
    Importance,
    Interaction,
    MeasureFacts,
    Profile,
    Result,
)
from uq_report.evidence import ids
from uq_report.evidence.comparisons import RESIDUAL
from uq_report.evidence.importance import ALL_FEATURES, CLAIMED, DELIVERED, DIFFERENCE
from uq_report.evidence.information import AFTER, BEFORE, COVERED, MUTUAL, SHARE, WITH_TARGET, WITHOUT_TARGET
from uq_report.evidence.segments import ALL_ROWS

BLANK: dict[str, Any] = {
    "std_error": np.nan,
    "lower": np.nan,
    "upper": np.nan,
    "confidence": 0.95,
    "covers": "new test samples",
}

MEASURES = {
    "prediction": MeasureFacts("prediction", "", "prediction"),
    "nll": MeasureFacts("negative log-likelihood", "nats", "loss"),
    "entropy": MeasureFacts("entropy", "nats", "uncertainty"),
}


def table(rows: Iterable[Mapping[Any, Any]]) -> pd.DataFrame:
    """Return an estimates table of these rows."""
    made = pd.DataFrame([{**BLANK, **row} for row in rows])
    return made[[*ESTIMATE_COLUMNS, *(c for c in made.columns if c not in ESTIMATE_COLUMNS)]]


def importance() -> Importance:
    """Three features, two measures; b is negative for nll, c undetermined."""
    numbers = {"nll": (0.3, -0.2, 0.01), "entropy": (0.001, 0.2, 0.1)}
    verdicts = {"nll": ("positive", "negative", "undetermined"), "entropy": ("about 0", "positive", "positive")}
    rows = [
        {
            "measure": m,
            "feature": f,
            "estimate": value,
            "lower": value - 0.05,
            "upper": value + 0.05,
            "verdict": verdict,
            "margin": 0.01,
            "spread_low": value - 0.02,
            "spread_high": value + 0.02,
        }
        for m in numbers
        for f, value, verdict in zip("abc", numbers[m], verdicts[m], strict=True)
    ]
    estimates = table(rows)
    frame = estimates.assign(repeat=0, value=estimates["estimate"])[list(Importance.columns)]
    return Importance(id=ids.PFI, explainer=ids.PFI, title="PFI", frame=frame, estimates=estimates, measures=MEASURES)


def claims() -> Diagnostic:
    """Three features and all together: b claims much and delivers nothing."""
    numbers = {"a": (0.3, 0.28), "b": (0.5, 0.0), "c": (0.0, 0.001), ALL_FEATURES: (0.8, 0.3)}
    rows = [
        {"measure": "nll", "feature": f, "item": item, "estimate": v, "lower": v - 0.05, "upper": v + 0.05}
        for f, (claimed, delivered) in numbers.items()
        for item, v in ((CLAIMED, claimed), (DELIVERED, delivered), (DIFFERENCE, claimed - delivered))
    ]
    estimates = table(rows)
    frame = estimates.assign(x=0.0, value=estimates["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(
        id=ids.PFI_CLAIMS, explainer=ids.PFI, title="Claims", frame=frame, estimates=estimates, measures=MEASURES
    )


def corrected() -> Importance:
    """Two features, of which b hides a part of a."""
    numbers = ("estimate", "plain", "joint", "change")
    rows = [
        {
            "measure": "nll",
            "feature": f,
            "verdict": "positive",
            "margin": 0.01,
            "partners": partner,
            "change_std_error": 0.05,
            "rank": 1,
            "plain_rank": 1,
            "exact_zero": False,
            **dict(zip(numbers, values, strict=True)),
            "lower": values[0] - 0.1,
            "upper": values[0] + 0.1,
            **{f"{key}_lower": value - 0.1 for key, value in zip(numbers[1:], values[1:], strict=True)},
            **{f"{key}_upper": value + 0.1 for key, value in zip(numbers[1:], values[1:], strict=True)},
        }
        for f, values, partner in (("a", (0.75, 0.25, 1.0, 0.5), "b"), ("b", (0.5, 0.5, 0.5, 0.0), ""))
    ]
    estimates = table(rows)
    frame = estimates.assign(repeat=0, value=estimates["estimate"])[list(Importance.columns)]
    meta = {"partners": {"a": ["b"], "b": []}}
    return Importance(
        id=ids.COVER, explainer=ids.COVER, title="Cover", frame=frame, estimates=estimates, measures=MEASURES, meta=meta
    )


def profile(levels: tuple[str, ...] = ()) -> Profile:
    """Two measures of one feature ``x``: an average with its band and four rows, numeric or by level."""
    at = np.arange(len(levels), dtype=float) if levels else np.array([0.0, 1.0, 4.0])
    texts = levels or ("",) * len(at)
    raw, rows = [], []
    for measure, slope in (("prediction", 1.0), ("entropy", -1.0)):
        for curve in (-1, 0, 1, 2, 3):
            raw += [
                (measure, "x", "", x, t, np.nan, "", curve, slope * x + max(curve, 0))
                for x, t in zip(at, texts, strict=True)
            ]
        rows += [
            {
                "measure": measure,
                "feature": "x",
                "estimate": slope * x,
                "lower": slope * x - 1,
                "upper": slope * x + 1,
                "x": x,
                "level": t,
            }
            for x, t in zip(at, texts, strict=True)
        ]
    frame = pd.DataFrame(raw, columns=list(Profile.columns))
    return Profile(id=ids.PDP, explainer=ids.PDP, title="PDP", frame=frame, estimates=table(rows), measures=MEASURES)


def own() -> Diagnostic:
    """Own values of the four rows, two classes."""
    rows = [("prediction", "x", str(k), float(k), 10.0 + k) for k in range(4)]
    frame = pd.DataFrame(rows, columns=list(Diagnostic.columns))
    meta = {"row_class": {"0": "no", "1": "no", "2": "yes", "3": "yes"}}
    return Diagnostic(id=ids.PDP_OWN, explainer=ids.PDP, title="Own", frame=frame, estimates=empty(), meta=meta)


def distribution() -> Diagnostic:
    """Counts of ``x`` in two bins by class."""
    rows = [
        ("", "x", c, x, n) for c, x, n in (("no", 1.0, 5.0), ("no", 3.0, 1.0), ("yes", 1.0, 2.0), ("yes", 3.0, 8.0))
    ]
    frame = pd.DataFrame(rows, columns=list(Diagnostic.columns))
    meta = {"edges": {"x": [0.0, 2.0, 4.0]}}
    return Diagnostic(
        id=ids.PDP_DISTRIBUTION, explainer=ids.PDP, title="Counts", frame=frame, estimates=empty(), meta=meta
    )


def surface() -> Profile:
    """A plane over two features."""
    raw = [("entropy", "x", "z", x, "", z, "", -1, x + 10 * z) for x in (0.0, 1.0, 3.0) for z in (0.0, 2.0)]
    frame = pd.DataFrame(raw, columns=list(Profile.columns))
    return Profile(
        id="pdp.surface", explainer=ids.PDP, title="Surface", frame=frame, estimates=empty(), measures=MEASURES
    )


def attribution() -> Attribution:
    """Two rows, two measures, four features."""
    raw = [
        (m, f, row, 0, 1.0, value * sign)
        for m, sign in (("prediction", 1.0), ("entropy", -1.0))
        for row in (2, 5)
        for f, value in zip("abcd", (0.5, -0.25, 0.1, 0.001), strict=True)
    ]
    frame = pd.DataFrame(raw, columns=list(Attribution.columns))
    meta = {"explained": [2, 5], "data": {"a": [1.5, 7.25], "b": [None, "red"], "c": [3, 4]}}
    return Attribution(id=ids.SHAP, explainer=ids.SHAP, title="SHAP", frame=frame, estimates=empty(), meta=meta)


def interaction() -> Interaction:
    """One pair, and one feature with all others."""
    estimates = table(
        [
            {"measure": "entropy", "feature": "a", "feature_2": "b", "estimate": 0.2},
            {"measure": "entropy", "feature": "c", "feature_2": "", "estimate": 0.1},
        ]
    )
    frame = estimates.assign(repeat=0, value=estimates["estimate"])[list(Interaction.columns)]
    return Interaction(id="h", explainer="h", title="H", frame=frame, estimates=estimates)


def diagnostic(id: str, rows: list[dict[str, Any]], **meta: Any) -> Diagnostic:
    """A diagnostic whose frame repeats its estimates."""
    estimates = table([{"measure": "", "feature": "", **row} for row in rows])
    frame = estimates.assign(x=estimates.get("x", 0.0), value=estimates["estimate"])[list(Diagnostic.columns)]
    return Diagnostic(id=id, explainer=ids.explainer_of(id), title=id, frame=frame, estimates=estimates, meta=meta)


def empty() -> pd.DataFrame:
    """Return estimates of no rows."""
    return pd.DataFrame({c: pd.Series(dtype=object) for c in ESTIMATE_COLUMNS})


def every_kind() -> list[Result]:
    """Return one result of each kind."""
    return [importance(), profile(), interaction(), attribution(), distribution()]


def every_id() -> list[Result]:
    """Return one result for each figure that draws a result by its id."""
    own = {"item": RESIDUAL, "n": 9, "threshold": 0.5, "all": 0.1, "implied": 0.2}
    bins = [own | {"x": x, "estimate": x} for x in (0.25, 0.75)]
    cover = [{"feature": "a", "item": item, "estimate": 0.5} for item in (MUTUAL, COVERED, SHARE)]
    partners = [{"feature": "a", "item": item, "estimate": 0.5, "n": 9} for item in (WITHOUT_TARGET, WITH_TARGET)]
    pairs = [{"measure": when, "feature": "a", "item": "b", "estimate": 0.5} for when in (BEFORE, AFTER)]
    binned = (
        *(ids.CALIBRATION_RELIABILITY, ids.CALIBRATION_COVERAGE, ids.CALIBRATION_PIT, ids.CALIBRATION_GRADES),
        *(ids.CALIBRATION_ROC, ids.CALIBRATION_NET_BENEFIT, ids.CALIBRATION_RESIDUALS),
    )
    return [
        claims(),
        corrected(),
        *(diagnostic(key, bins) for key in binned),
        diagnostic(ids.CID, cover),
        diagnostic(ids.CID_GRAPH, [{"feature": "a", "item": "y", "estimate": 0.5}], nodes=["a", "y"]),
        diagnostic(ids.REDUNDANCY, partners),
        diagnostic(ids.REDUNDANCY_JOINT, pairs),
        segments(),
        replace(segments(), id=ids.SEGMENTS_PERIODS),
        risk_coverage(),
        diagnostic(
            ids.SUPPORT_DISTRIBUTION,
            [{"feature": "a", "item": i, "x": x, "estimate": 0.5} for i in ("training", "test") for x in (0.2, 0.7)],
            edges={"a": [0.0, 0.5, 1.0]},
            labels={},
        ),
    ]


def segments() -> Diagnostic:
    """A segment that stands out, beside all judged rows."""
    line = {"measure": "entropy", "grown": "entropy", "unit": "nats", "n": 20, "units": 20, "share": 0.4, "n_rest": 30}
    difference = {"difference": 0.4, "difference_std_error": 0.1, "difference_lower": 0.2, "difference_upper": 0.6}
    line |= difference | {"freedom": 48, "p_value": 0.001, "p_adjusted": 0.002}
    rows = [
        line | {"segment": "entropy 1", "item": "age above 40", "estimate": 0.9},
        line
        | {"segment": ALL_ROWS, "item": "all observations", "estimate": 0.6, "p_value": np.nan, "p_adjusted": np.nan},
    ]
    return replace(diagnostic(ids.SEGMENTS, rows, judged=50, grown=50), measures=MEASURES)


def risk_coverage() -> Diagnostic:
    """A curve of two points, the second of which keeps all."""
    nothing = dict.fromkeys(("saved_lower", "saved_upper", "captured_lower", "captured_upper", "width"), np.nan)
    line = nothing | {"item": "risk", "kept": 20.0, "threshold": 0.4, "lower": 0.1, "upper": 0.4, "captured": 0.1}
    line |= {"band_lower": 0.05, "band_upper": 0.5, "implied": 0.2, "oracle": 0.1, "saved": 0.1}
    rows = [line | {"x": 0.5, "estimate": 0.2}, line | {"x": 1.0, "estimate": 0.3}]
    return diagnostic(ids.SELECTIVE_CURVE, rows, loss="error rate", unit="share of observations")


def corners(patches: Iterable[Patch]) -> Any:
    """Return the vertices of patches, shape (n, 2)."""
    return np.concatenate([np.asarray(patch.get_path().vertices, dtype=float) for patch in patches])
