"""Whether a protected attribute, or what gives it away, is among the drivers of the model."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..core.finding import Finding
from ..core.results import Result
from ..core.run import Run
from ..core.text import short
from ..core.verdicts import holm
from ._reading import Part, absent, listed, spanned, two_sided

DRIVER = "A protected attribute, or its proxy, is among the drivers"
MITCHELL = "mitchell:section 4"


class Thresholds(Protocol):
    """The options of the check that are read here."""

    @property
    def level(self) -> float:
        """Level of the tests, Holm-adjusted."""

    @property
    def proxy(self) -> float:
        """Association from which a feature is a proxy."""

    @property
    def skill(self) -> float:
        """R² from which all features together are one."""


def drivers(run: Run, result: Result, thresholds: Thresholds) -> Part:
    """Judge UQ803: the importance of protected features and proxies, Holm-adjusted over them and all measures."""
    pfi, proxies = run.find("pfi"), run.find("groups.proxy")
    if proxies is None or pfi is None:
        return Part(code="UQ803", absent=absent(run, "groups.proxy" if proxies is None else "pfi"))
    suspects = _suspects(result, proxies, thresholds.proxy)
    table = pfi.estimates[pfi.estimates["feature"].isin(list(suspects))]
    df = float(pfi.meta.get("degrees_of_freedom", np.inf))
    adjusted = holm(two_sided(table["estimate"], table["std_error"], df)) if len(table) else np.empty(0)
    positive = (table["verdict"] == "positive").to_numpy()
    held = table[positive & (adjusted <= thresholds.level)]
    found = [_driver(feature, suspects[feature], part) for feature, part in held.groupby("feature", sort=False)]
    named = set(held["feature"])
    unsure = table[(positive & ~(adjusted <= thresholds.level)) | (table["verdict"] == "undetermined").to_numpy()]
    return Part(
        code="UQ803",
        findings=(*found, *_together(proxies, thresholds.skill)),
        undecided=tuple(dict.fromkeys(str(f) for f in unsure["feature"] if f not in named)),
        passed="No protected attribute or proxy of one is among the drivers.",
    )


def spanned_line(line: Any, unit: str) -> str:
    """Return the estimate of a line with its interval in words."""
    estimate, lower, upper, confidence = (float(line[name]) for name in ("estimate", "lower", "upper", "confidence"))
    return spanned(estimate, lower, upper, confidence, unit)


def _suspects(result: Result, proxies: Result, least: float) -> dict[Any, str]:
    """Return the features that are protected, or proxies, and why."""
    known = result.meta.get("attributes", {})
    suspects: dict[Any, str] = {name: "is protected" for name, facts in known.items() if facts["feature"]}
    table = proxies.estimates
    for line in table[(table["covers"] == "none") & (table["estimate"] >= least)].to_dict("records"):
        why = f"is a proxy of {short(line['feature'])} (association {line['estimate']:.2f})"
        suspects.setdefault(line["item"], why)
    return suspects


def _driver(feature: Any, why: str, part: Any) -> Finding:
    """Return what is said of a protected feature, or a proxy, that the model relies on."""
    line = part.iloc[0]
    measures = tuple(str(measure) for measure in part["measure"])
    return Finding(
        code="UQ803",
        title=DRIVER,
        severity="medium",
        statement=f"{short(feature)} {why}, and shuffling it matters for {listed(measures)} ({line['measure']}: "
        f"{spanned_line(line, '')}).",
        evidence=("pfi", "groups.proxy"),
        rests_on=MITCHELL,
        remedy="Say why the model may use it, or train without it and its proxies.",
        measures=measures,
        features=(str(feature),),
        threshold=0.0,
        observed=float(line["estimate"]),
        lower=float(line["lower"]),
        upper=float(line["upper"]),
    )


def _together(proxies: Result, least: float) -> list[Finding]:
    """Return the attributes that all features together tell."""
    table = proxies.estimates
    return [
        Finding(
            code="UQ803",
            title=DRIVER,
            severity="observation",
            statement=f"The model's features together tell {short(line['feature'])}: out-of-bag R² "
            f"{spanned_line(line, '')}. Leaving the attribute out does not hide it from the model.",
            evidence=("groups.proxy",),
            rests_on=MITCHELL,
            remedy="Say why the features that tell the attribute are needed.",
            features=(str(line["feature"]),),
            threshold=least,
            observed=float(line["estimate"]),
            lower=float(line["lower"]),
            upper=float(line["upper"]),
        )
        for line in table[(table["covers"] != "none") & (table["lower"] >= least)].to_dict("records")
    ]
