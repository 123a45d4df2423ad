"""Results made of numbers from a formula, in the shapes the explainers emit: every kind, no model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from uq_report.core.model.results import Attribution, Diagnostic, Importance, Interaction, Omission, Profile, Result
from uq_report.evidence import ids
from uq_report.evidence.importance import INCONCLUSIVE
from uq_report.evidence.information import WITH_TARGET, WITHOUT_TARGET
from uq_report.methods.pfi.tables import READINGS

from .cases import LEVELS, Case, diagnostic, empty, estimates


def importance(case: Case, id: str = ids.PFI, explainer: str = ids.PFI, scale: float = 1.0) -> Importance:
    """A permutation importance with verdicts, margins, spreads and p-values."""
    rng = np.random.default_rng(3)
    rows, raw = [], []
    for m, measure in enumerate(case.measures):
        for j, name in enumerate(case.names):
            strength = 0.16 * np.exp(-0.6 * ((j + 2 * m) % len(case.names))) * scale
            se = 0.002 + 0.08 * strength
            value = float(strength - 0.004 + rng.normal(0, se))
            low, high = value - 1.96 * se, value + 1.96 * se
            verdict = "positive" if low > 0 else "negative" if high < 0 else "undetermined"
            verdict = "about 0" if max(abs(value - 1.645 * se), abs(value + 1.645 * se)) < 0.01 else verdict
            spread = 0.25 * se + 0.02 * strength
            rows.append(
                {
                    "measure": measure,
                    "feature": name,
                    "estimate": value,
                    "std_error": se,
                    "lower": low,
                    "upper": high,
                    "verdict": verdict,
                    "margin": 0.01,
                    "p_value": 1 / 31,
                    "spread_low": value - 2 * spread,
                    "spread_high": value + 2 * spread,
                    "unpermuted": 0.5,
                    "n_needed": 1500.0,
                    "exact_zero": False,
                    "remark": "",
                }
            )
            raw += [(measure, name, k, value + rng.normal(0, spread)) for k in range(5)]
    return Importance(
        id=id,
        explainer=explainer,
        title="Permutation feature importance",
        frame=pd.DataFrame(raw, columns=list(Importance.columns)),
        estimates=estimates(rows, confidence=0.95, covers="new test samples"),
        options={"n_repeats": 30},
        notes=("30 shuffles a feature; intervals by the two-way fit.",),
        omissions=() if case.has_y else (Omission("nll", "", "it needs outcomes, which were not given"),),
        meta={
            "spread": "5% and 95% quantiles of 30 shuffles",
        },
    )


def reading(case: Case) -> Diagnostic:
    """What both importances say of each feature."""
    pfi = importance(case).estimates.set_index(["measure", "feature"])["estimate"]
    words = (*dict.fromkeys(READINGS.values()), INCONCLUSIVE)
    rows = [
        {"measure": "nll", "feature": name, "estimate": float(pfi["nll", name] - pfi["entropy", name]),
         "item": words[j % len(words)]}
        for j, name in enumerate(case.names)
    ]  # fmt: skip
    table = estimates(rows)
    return diagnostic(ids.PFI_READING, "Reading of Likelihood- and Entropy-PFI", table, explainer=ids.PFI)


def size(name: str, value: float, error: float, **more: Any) -> dict[str, Any]:
    """The line of a unit or a feature, whose uncertainty differs by 0.2 nats between two observations."""
    low, high = value - 2 * error, value + 2 * error
    line = {"measure": "uncertainty_change", "feature": name, "estimate": value, "lower": low, "upper": high}
    line |= {f"share{end}": each / 0.2 for end, each in (("", value), ("_lower", low), ("_upper", high))}
    total = dict.fromkeys(("total", "total_lower", "total_upper"), (value / 0.2) ** 2)
    verdict = "positive" if low > 0.02 else "about 0" if high < 0.02 else "undetermined"
    rest = {"shift": 0.001, "shift_lower": -0.01, "shift_upper": 0.01, "changed": 0.9, "where_changed": value / 0.9}
    flags = {"flag": "", "exact_zero": value == 0, "unreliable": ""}
    return line | total | rest | flags | {"verdict": verdict, "margin": 0.02, "std_error": error} | more


def drivers(case: Case) -> list[Result]:
    """How far each feature, and each unit, changes the uncertainty; the first two features are a unit."""
    lines = [size(name, 0.15 * 0.7**j, 0.004) for j, name in enumerate(case.names)]
    shared: dict[str, Any] = {"confidence": 0.95, "covers": "new test samples"}
    raw = [("uncertainty_change", line["feature"], k, line["estimate"]) for line in lines for k in range(3)]
    single = Importance(
        id=ids.PFI_UNCERTAINTY,
        explainer=ids.PFI,
        title="Size of the change of the uncertainty",
        frame=pd.DataFrame(raw, columns=list(Importance.columns)),
        estimates=estimates([line | {"ranked": True} for line in lines], **shared),
        meta={"sizes": True},
    )
    joint = {" + ".join(case.names[:2]): list(case.names[:2])} if len(case.names) > 2 else {}
    units = [size(name, 0.18, 0.004) for name in joint] + lines[2 if joint else 0 :]
    units = [
        line | {"item": "unit", "first": k, "last": k, "apart": 0, "rare": False} for k, line in enumerate(units, 1)
    ]
    between = size("", 0.2, 0.005) | {"item": "difference", "verdict": "differs"}
    table = estimates([between, *units], **shared)
    result = diagnostic(ids.PFI_DRIVERS, "Drivers of the uncertainty", table, explainer=ids.PFI)
    return [single, replace(result, meta={"units": joint})]


def profiles(case: Case) -> list[Result]:
    """PDP and ICE, own values and distribution."""
    rng = np.random.default_rng(5)
    raw, rows, own, spread = [], [], [], []
    for j, name in enumerate(case.names):
        level = case.is_level(name)
        grid = np.arange(len(LEVELS), dtype=float) if level else np.linspace(0, 10, 20)
        texts = LEVELS if level else [""] * len(grid)
        for measure in ("prediction", *case.measures):
            base = 0.5 + 0.2 * np.tanh((grid - grid.mean()) * (1 - 0.3 * j) / 3)
            se = 0.01 + 0.002 * np.abs(grid - grid.mean())
            for x, text, value, error in zip(grid, texts, base, se, strict=True):
                raw.append((measure, name, "", x, text, np.nan, "", -1, value))
                rows.append(
                    {
                        "measure": measure,
                        "feature": name,
                        "x": x,
                        "level": text,
                        "estimate": value,
                        "std_error": error,
                        "lower": value - 2 * error,
                        "upper": value + 2 * error,
                    }
                )
            for row in range(30):
                curve = base + rng.normal(0, 0.1) + 0.02 * rng.normal(size=len(grid)).cumsum()
                raw += [
                    (measure, name, "", x, t, np.nan, "", row, v) for x, t, v in zip(grid, texts, curve, strict=True)
                ]
                at = int(rng.integers(len(grid)))
                own.append((measure, name, str(row), grid[at], float(curve[at])))
        for item in case.classes or ("all",):
            spread += [("", name, item, x, float(rng.integers(5, 60))) for x in grid]
    shared: dict[str, Any] = {"explainer": ids.PDP}
    classes = {"row_class": {str(row): case.classes[row % 2] for row in range(30)}} if case.classes else {}
    edges = {name: list(np.linspace(-0.25, 10.25, 21)) for name in case.names if not case.is_level(name)}
    frame = pd.DataFrame(raw, columns=list(Profile.columns))
    return [
        Profile(
            id=ids.PDP,
            title="Partial dependence and ICE",
            frame=frame,
            **shared,
            estimates=estimates(rows, confidence=0.95, covers="new test samples"),
            notes=("ICE of 30 rows.",),
        ),
        Diagnostic(
            id=ids.PDP_OWN,
            title="Own values of the ICE rows",
            estimates=empty(),
            frame=pd.DataFrame(own, columns=list(Diagnostic.columns)),
            meta=classes,
            **shared,
        ),
        Diagnostic(
            id=ids.PDP_DISTRIBUTION,
            title="Distribution of the feature values",
            estimates=empty(),
            frame=pd.DataFrame(spread, columns=list(Diagnostic.columns)),
            meta={"edges": edges},
            **shared,
        ),
    ]


def calibration(case: Case) -> list[Result]:
    """Scores, and reliability or PIT and coverage."""
    items = ("confidence_gap", "brier" if case.classes else "crps", "nll_skill")
    common: dict[str, Any] = {"measure": "", "feature": "", "confidence": 0.95, "covers": "new test samples"}
    scores = estimates(
        [
            {
                **common,
                "item": item,
                "unit": "nats",
                "estimate": 0.01 * k,
                "std_error": 0.01,
                "lower": 0.01 * k - 0.02,
                "upper": 0.01 * k + 0.02,
                "p_value": 0.4,
                "p_adjusted": 0.8,
                "null_mean": 0.0,
            }
            for k, item in enumerate(items)
        ]
    )
    results: list[Result] = [diagnostic(ids.CALIBRATION, "Scores and calibration", scores)]
    bins = np.linspace(0.05, 0.95, 10)
    points = [
        {
            **common,
            "item": f"bin {k}",
            "x": x,
            "estimate": x,
            "lower": max(0.0, x - 0.1),
            "upper": min(1.0, x + 0.1),
            "n": 40,
        }
        for k, x in enumerate(bins)
    ]
    if case.classes:
        table = estimates(points).assign(null_lower=bins - 0.05, null_upper=bins + 0.05)
        return [*results, diagnostic(ids.CALIBRATION_RELIABILITY, "Reliability", table)]
    flat = estimates(points).assign(estimate=1.0, lower=0.8, upper=1.2)
    return [
        *results,
        diagnostic(ids.CALIBRATION_PIT, "PIT histogram", flat),
        diagnostic(ids.CALIBRATION_COVERAGE, "Coverage", estimates(points[4:])),
    ]


def redundancy(case: Case) -> list[Result]:
    """R² of each feature from the others, its partner, and one strong pair."""
    rng = np.random.default_rng(7)
    rows = [
        {
            "measure": "r_squared",
            "feature": name,
            "item": item,
            "estimate": 0.8 / (j + 1),
            "std_error": 0.05,
            "lower": 0.8 / (j + 1) - 0.1,
            "upper": 0.8 / (j + 1) + 0.1,
            "n": 200,
        }
        for j, name in enumerate(case.names)
        for item in (WITHOUT_TARGET, WITH_TARGET)
    ]
    table = estimates(rows, confidence=0.95, covers="new test samples")
    partner = estimates(
        [
            {"measure": "spearman", "feature": name, "item": case.names[j - 1], "estimate": 0.5}
            for j, name in enumerate(case.names)
        ]
    )
    a, b = case.names[0], case.names[-1]
    pair = [(when, a, b, x, x + rng.normal()) for when in ("before", "after") for x in rng.normal(size=20)]
    return [
        diagnostic(ids.REDUNDANCY, "Redundancy", table, ids.REDUNDANCY),
        diagnostic(ids.REDUNDANCY_PARTNER, "Partners", partner, ids.REDUNDANCY),
        Diagnostic(
            id=ids.REDUNDANCY_JOINT,
            explainer=ids.REDUNDANCY,
            title="Strong pairs",
            estimates=empty(),
            frame=pd.DataFrame(pair, columns=list(Diagnostic.columns)),
        ),
    ]


def attributions(case: Case, id: str, rows: tuple[int, ...] = (3, 8)) -> Attribution:
    """Contributions of every feature to three measures of some rows."""
    rng = np.random.default_rng(11)
    raw = [
        (measure, name, row, 0, 0.5, float(rng.normal(0, 0.05)))
        for measure in ("prediction", "entropy")
        for row in rows
        for name in case.names
    ]
    frame = pd.DataFrame(raw, columns=list(Attribution.columns))
    return Attribution(
        id=id,
        explainer=ids.explainer_of(id),
        title="Contributions to single rows",
        frame=frame,
        estimates=estimates(
            frame.rename(columns={"value": "estimate"})[["measure", "feature", "estimate", "row"]].to_dict("records"),
            std_error=0.0,
        ),
        meta={
            "rows": {"most uncertain": [rows[0]], "typical": [rows[-1]]},
            "explained": list(rows),
            "data": {name: [1.5] * len(rows) for name in case.names},
        },
    )


def sizes(case: Case, id: str, explainer: str, confidence: float = 0.95) -> Importance:
    """Importances of prediction and entropy, with intervals unless the level is NaN."""
    rows = [
        {
            "measure": m,
            "feature": name,
            "estimate": 0.3 / (j + 1),
            "std_error": 0.01,
            "lower": 0.3 / (j + 1) - 0.02,
            "upper": 0.3 / (j + 1) + 0.02,
        }
        for m in ("prediction", "entropy")
        for j, name in enumerate(reversed(case.names))
    ]
    table = estimates(rows, confidence=confidence, covers="new test samples")
    if np.isnan(confidence):
        table[["std_error", "lower", "upper"]] = np.nan
        table["covers"] = "none"
    frame = table.assign(repeat=0, value=table["estimate"])[list(Importance.columns)]
    return Importance(id=id, explainer=explainer, title="Mean sizes", frame=frame, estimates=table)


def third_party(case: Case) -> list[Result]:
    """One result of each kind from an explainer this package does not know."""
    a, b = case.names[0], case.names[-1]
    pairs = estimates([{"measure": "gini", "feature": a, "feature_2": b, "estimate": 0.2}])
    grid = [("gini", a, b, float(x), "", float(z), "", -1, float(x * z)) for x in range(4) for z in range(3)]
    shared: dict[str, Any] = {"explainer": "stranger"}
    return [
        Interaction(
            id="stranger",
            title="Pairs",
            estimates=pairs,
            **shared,
            frame=pairs.assign(repeat=0, value=0.2)[list(Interaction.columns)],
        ),
        Profile(
            id="stranger.surface",
            title="Surface",
            estimates=empty(),
            **shared,
            frame=pd.DataFrame(grid, columns=list(Profile.columns)),
        ),
        diagnostic(
            "stranger.table",
            "A table",
            estimates([{"measure": "gini", "feature": a, "item": "i", "estimate": 1.0}]),
            "stranger",
        ),
    ]
