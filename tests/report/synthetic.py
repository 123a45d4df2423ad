"""Runs of synthetic results: any shape, any state of the gate, any explainer left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from uq_report.core.explainer import MethodCard
from uq_report.core.model.results import Result
from uq_report.evidence import ids
from uq_report.evidence.finding import Finding, Outcome
from uq_report.evidence.run import MethodRecord, NotRun, PluginRecord, Run
from uq_report.runner import plugins
from uq_report.runner.provenance import described

from .cases import Case
from .made import attributions, calibration, drivers, importance, profiles, reading, redundancy, sizes, third_party


def gate(case: Case) -> Outcome:
    """The calibration check in the state the case asks for."""
    if case.gate in ("fails", "cannot be judged"):
        finding = Finding(
            code="UQ101" if case.gate == "fails" else "UQ102",
            title="Calibration",
            severity="high",
            statement="The outcomes do not follow the predictive distributions",
            evidence=(ids.CALIBRATION,),
            rests_on="E_q[-log q(Y)] = H(q)",
            measures=("nll", "entropy"),
            observed=0.05,
            lower=0.03,
            upper=0.07,
            threshold=0.02,
        )
        return Outcome(check=ids.CALIBRATION, state="found", findings=(finding,))
    state: Any = "passed" if case.gate == "passes" else "not_applicable"
    return Outcome(check=ids.CALIBRATION, state=state, reason="the interval lies within the margin")


def subject(case: Case) -> dict[str, Any]:
    """The recorded facts."""
    features = [
        {
            "name": name,
            "kind": "categorical" if case.is_level(name) else "numeric",
            "missing": j % 2,
            "distinct": 12,
            "min": 0.0,
            "max": 10.0,
            "top_levels": [["a", 3]] if case.is_level(name) else [],
            "constant": False,
            "duplicate_of": None,
        }
        for j, name in enumerate(case.names)
    ]
    return {
        "label": "Forest",
        "task": case.task,
        "family": "categorical" if case.classes else "normal",
        "model_class": "sklearn.Forest",
        "model_parameters": {"n_estimators": "100"},
        "adapter": "classifier",
        "adapter_reason": "it has predict_proba",
        "n": case.n,
        "d": len(case.names),
        "sampled_from": None,
        "classes": list(case.classes) or None,
        "positive_class": "bad",
        "has_y": case.has_y,
        "has_train": True,
        "n_train": 800,
        "weights": False,
        "clusters": None,
        "groups": {"both": list(case.names[:2])},
        "features": features,
        "hashes": {"model": "ab" * 32, "X": "cd" * 32},
        "y_summary": {"bad": 120, "good": 280},
    }


@cache
def make_run(case: Case | None = None, *, leave_out: tuple[str, ...] = ()) -> Run:
    """A run with every kind of result, without the explainers in `leave_out`, which are listed as not run."""
    case = case or Case()
    results: list[Result] = [
        *(calibration(case) if case.has_y else []),
        importance(case),
        *([importance(case, ids.PFI_TRAIN, scale=1.2), reading(case)] if case.has_y else []),
        *drivers(case),
        *profiles(case),
        *(redundancy(case) if len(case.names) > 1 else []),
        sizes(case, ids.DALEX_PARTS, ids.DALEX, np.nan),
        attributions(case, ids.DALEX_ROWS),
        attributions(case, ids.SHAP),
        sizes(case, ids.SHAP_IMPORTANCE, ids.SHAP),
        *third_party(case),
    ]
    run = Run(
        as_of="2026-11-21",
        subject=subject(case),
        settings={"seed": 7, "options": {"pfi": {"n_repeats": 30}}, "about": {}},
        environment={"python": "3.11", "platform": "Linux", "uq_report": "0.1", "numpy": "2.4"},
        outcomes=(gate(case), Outcome(check="fairness", state="skipped", reason="no group was named")),
        not_run=tuple(NotRun(name, "uq_report.explainers", "it was denied", "not asked") for name in leave_out),
        plugins=(
            PluginRecord("uq_report.explainers", "pfi", "uq_report", "0.1", 1, 12000, "3 results"),
            PluginRecord("uq_report.explainers", "stranger", "uq-stranger", "2.0", 1, 10, "3 results"),
        ),
    )
    return holding(run, case, [result for result in results if result.explainer not in leave_out])


def holding(run: Run, case: Case, results: Iterable[Result]) -> Run:
    """The run with these results, their measures and methods as the host records them."""
    facts = case.facts
    recorded = tuple(described(result, facts) for result in results)
    return replace(run, results=recorded, methods=methods(recorded))


def methods(results: Sequence[Result]) -> tuple[MethodRecord, ...]:
    """What a run keeps of the explainers that gave the results; a stranger's has no text."""
    options = {result.explainer: result.options for result in reversed(results)}
    ours = {plugin.name: plugins.load(plugin) for plugin in plugins.find(plugins.EXPLAINERS) if plugin.name in options}
    return tuple(
        MethodRecord(
            name=name,
            section=ours[name].section if name in ours else "",
            options=options[name],
            card=ours[name].card if name in ours else MethodCard(title=name.capitalize(), definition=""),
        )
        for name in dict.fromkeys(result.explainer for result in results)
    )
