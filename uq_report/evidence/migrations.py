"""Runs of older formats: each step turns the JSON of one format into the next, in place of its reader.

Compatibility: every format ever written can be read, by steps from one to the next; a stored sample of each is a test.
A format changes when a reader of the last one would misread a file; a field that readers may ignore is added without.
Nothing is computed anew: what an older format did not record stays open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..core.errors import Cause, InputError, words_of
from ..core.text import short
from .run import FORMAT

Step = Callable[[dict[str, Any]], dict[str, Any]]

# What format 1 left to its readers: title, unit and role of the built-in measures.
_MEASURES_1 = {
    "prediction": ("prediction", "", "prediction"),
    "log_odds": ("log-odds", "log-odds", "prediction"),
    "squared_error": ("squared error", "units of y, squared", "loss"),
    "absolute_error": ("absolute error", "units of y", "loss"),
    "brier": ("Brier score", "0 to 2", "loss"),
    "zero_one": ("0-1 loss", "share of rows", "loss"),
    "one_minus_auc": ("1 − AUC", "probability", "loss"),
    "nll": ("negative log-likelihood", "nats", "loss"),
    "entropy": ("entropy", "nats", "uncertainty"),
    "variance": ("predictive variance", "units of y, squared", "uncertainty"),
    "aleatoric": ("aleatoric entropy", "nats", "uncertainty"),
    "epistemic": ("epistemic entropy", "nats", "uncertainty"),
    "aleatoric_variance": ("aleatoric variance", "units of y, squared", "uncertainty"),
    "epistemic_variance": ("epistemic variance", "units of y, squared", "uncertainty"),
}


def _from_1(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run of format 1 with the names and fields of format 2; its methods have no cards."""
    settings = {"confidence": 0.95, **run["settings"]}  # the level of all runs before it could be set
    if "checks" in settings:
        settings["rules"] = settings.pop("checks")
    options = settings.get("options") or {}
    facts = _measures_from_1(run)
    settings["options"] = {_renamed(key, "checks.", "rules."): values for key, values in options.items()}
    return {
        **run,
        "settings": settings,
        "not_run": [_regrouped(entry) for entry in run["not_run"]],
        "plugins": [_regrouped(entry) for entry in run["plugins"]],
        "results": [_result_from_1(result, facts) for result in run["results"]],
        "outcomes": [_outcome_from_1(outcome) for outcome in run["outcomes"]],
        "methods": _methods_from_1(run["results"]),
    }


def _renamed(key: str, old: str, new: str) -> str:
    return new + key.removeprefix(old) if key.startswith(old) else key


def _regrouped(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "group": "rules"} if entry["group"] == "checks" else entry


def _result_from_1(result: dict[str, Any], facts: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    column = next(c for c in result["frame"]["columns"] if c["name"] == "measure")
    names = sorted({str(level) for level in column["levels"] if level} | set(result["meta"].get("measures", {})))
    measures = {name: facts.get(name) or _facts_1(name) for name in names}
    meta = {key: fact for key, fact in result["meta"].items() if key != "measures"}
    return {**result, "meta": meta, "measures": measures}


def _facts_1(name: str) -> dict[str, str]:
    words = dict(zip(("title", "unit", "role"), _MEASURES_1.get(name, (name.replace("_", " "), "", "")), strict=True))
    return {**words, "direction": "larger"}


def _measures_from_1(run: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the facts of the measures that any result states, and the unit of this model's prediction."""
    facts = {"prediction": _facts_1("prediction")}
    for result in run["results"]:
        for name, stated in result["meta"].get("measures", {}).items():
            facts[name] = facts.get(name, _facts_1(name)) | dict(stated)
    facts["prediction"]["unit"] = _prediction_unit_1(run["subject"]) or facts["prediction"]["unit"]
    return facts


def _prediction_unit_1(subject: Mapping[str, Any]) -> str:
    if subject.get("task") == "classification" and subject.get("positive_class") is not None:
        return f"probability of {short(str(subject['positive_class']), 60)}"
    return {"regression": "units of y", "count": "expected count"}.get(str(subject.get("task")), "")


def _outcome_from_1(outcome: dict[str, Any]) -> dict[str, Any]:
    return {
        **outcome,
        "findings": [_finding_from_1(finding) for finding in outcome["findings"]],
        "waived": [{**waived, "finding": _finding_from_1(waived["finding"])} for waived in outcome["waived"]],
        "rules": [{**rule, "thresholds": {}} for rule in outcome["rules"]],
    }


def _finding_from_1(finding: dict[str, Any]) -> dict[str, Any]:
    return {**finding, "affected": "", "size": None, "explains": []}


def _methods_from_1(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    empty = dict.fromkeys(("definition", "assumes", "fails", "interval", "references"), "")
    options = {result["explainer"]: result["options"] for result in reversed(results)}
    names = dict.fromkeys(result["explainer"] for result in results)
    return [
        {"name": name, "section": "", "options": options[name], "card": {"title": name.replace("_", " "), **empty}}
        for name in names
    ]


# How format 2 began or went on with a reason where a limit cut the work, it broke, or nobody asked for it. An import
# that failed was no fault.
_CAUSES_2: tuple[tuple[Cause, re.Pattern[str]], ...] = (
    ("not asked", re.compile("not chosen in the settings|denied by the settings")),
    ("limit", re.compile(r"the (time|memory) limit of |engine\.row_budget must |it does not fit the ")),
    ("missing library", re.compile("which is not installed|(ModuleNotFound|Import)Error: ")),
    ("fault", re.compile(r"(^|with |: )\w*(Error|Exception): ")),
)


def _from_2(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run of format 2 whose reasons have a cause: the first whose words they hold, else none is recorded."""
    return {**run, "not_run": [{**entry, "cause": _cause_2(entry["reason"])} for entry in run["not_run"]]}


def _cause_2(reason: str) -> Cause:
    return next((cause for cause, words in _CAUSES_2 if words.search(reason)), "not recorded")


# What readers called the methods whose explainers have another name, when format 3 was written.
_METHODS_3 = {
    "the comparison of rankings": "agreement", "the local effect": "ale", "the scoring of outcomes": "calibration",
    "covered information": "cid", "importance corrected for cover": "cover", "DALEX": "dalex",
    "the look at the data": "data_quality", "the comparison of groups": "groups",
    "the strength of interactions": "h_statistic", "the average effect": "pdp", "permutation importance": "pfi",
    "the look for repeated features": "redundancy", "R-sens": "rsens", "the look at segments of rows": "segments",
    "SHAP": "shap", "the comparison with training rows": "support",
}  # fmt: skip
_OPEN_3 = re.compile(r"(?:^|\. )(\w+) (?:was not judged: |is undetermined for )")


def _from_3(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run of format 3 whose outcomes name in fields what their reasons name in words."""
    absent = [entry["name"] for entry in run["not_run"] if entry["group"] == "explainers"]
    return {**run, "outcomes": [_outcome_from_3(outcome, absent) for outcome in run["outcomes"]]}


def _outcome_from_3(outcome: dict[str, Any], absent: list[str]) -> dict[str, Any]:
    words = {name: words for words, name in _METHODS_3.items()}
    missing = [n for n in absent if f"{words.get(n, n.replace('_', ' '))} was not computed" in outcome["reason"]]
    undecided = _OPEN_3.findall(outcome["reason"]) if outcome["state"] in ("found", "skipped") else []
    return {**outcome, "undecided": undecided, "missing": missing}


# Format n -> the step to n + 1. A new format comes with the step from the one before it.
STEPS: dict[int, Step] = {1: _from_1, 2: _from_2, 3: _from_3}


# what reading a file raises that does not follow its schema
BROKEN = (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration, OverflowError)


def broken(source: str, format: int, reason: str) -> InputError:
    """Return the refusal of a file that does not follow the schema of its format."""
    return InputError(
        f"{source} must follow the schema of format {format}; got a file that does not "
        f"({reason}). Restore it from a copy, or run the audit again."
    )


def migrated(
    content: Mapping[str, Any], source: str, steps: Mapping[int, Step] = STEPS, target: int = FORMAT
) -> dict[str, Any]:
    """Return a run's JSON in the format of this version, and that of its challenger.

    Raises
    ------
    InputError
        If the format is newer, or no steps lead from it to this one; the message says what to do.
    """
    now = dict(content)
    while now["format"] != target:
        number = now["format"]
        if number > target or number not in steps:
            remedy = "Upgrade uq_report to read it." if number > target else "Run the audit again."
            raise InputError(f"{source} must have format {target}; got format {number}. {remedy}")
        try:
            now = {**steps[number](now), "format": number + 1}
        except BROKEN as error:
            raise broken(source, number, words_of(error)) from error
    inner = now.get("challenger")
    if isinstance(inner, dict) and "format" in inner:
        now["challenger"] = migrated(inner, source, steps, target)
    return now
