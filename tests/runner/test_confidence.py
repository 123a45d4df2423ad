"""One level for all intervals of a run: every explainer, comparison and text has it, and nothing has another."""

import re
from collections import Counter
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.api.views import AuditRun, ResultView
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.model.results import Result
from uq_report.core.model.subject import Subject, make_subject
from uq_report.core.statistics.inference import CONFIDENCE
from uq_report.core.support.errors import InputError
from uq_report.evidence.run import Run, RunChanges
from uq_report.jobs.audit_file import AuditFile
from uq_report.runner import plugins
from uq_report.runner.changes import changes
from uq_report.runner.differences import INDEPENDENT, RANKS
from uq_report.runner.settings import Settings
from uq_report.testing import KnownLinear, KnownTruth, linear_subject, logistic_subject

AS_OF = "2026-01-31"
SMALL: dict[str, Any] = {
    "agreement": {"n_draws": 500},
    "ale": {"n_bins": 5},
    "calibration": {"n_draws": 99},
    "cid": {"n_sets": 20},
    "cover": {"n_repeats": 5},
    "dalex": {"n_repeats": 3, "max_rows": 60},
    "groups": {"n_draws": 99},
    "h_statistic": {"max_rows": 20},
    "pdp": {"grid_resolution": 5, "pairs": [("a", "b")]},
    "pfi": {"n_repeats": 20},
    "redundancy": {"max_rows": 100},
    "segments": {"max_leaf_nodes": 3},
    "selective": {"n_draws": 20, "n_band": 99},
    "shap": {"n_rows": 10, "max_exact": 2, "max_evaluations": 20_000},
    "support": {"max_train": 200},
}
# What is 95% whatever the level of the run: quantiles of shuffles, and shares that happen to be so large.
NO_LEVELS = (
    "5% and 95% quantiles",
    "covered share 95%",
    "share of 95%",
    "a share of 95%",
    "80% CI of their ratio",
)
# No level either: shares of shared information, and an estimate in percent with its interval behind it.
REPEATED = re.compile(
    r"(?<=Share of a feature's information about the outcome that other features also carry: )[^.]* \d+%(?=\.)"
)
WITH_INTERVAL = re.compile(r"\b(\d+)% \((−?\d+) to (−?\d+)\)")
LEVEL = re.compile(r"\b(\d+)% CI|\bvalue \((\d+)%\)|\bat once \((\d+)%\)")


def protected(made: Subject) -> Subject:
    attributes = {"sex": np.where(np.arange(made.n) % 2, "f", "m")}
    return make_subject(
        made.model, made.adapter, made.X, made.y, train=made.train, protected=attributes, label=made.label
    )


def audit(subject: Subject | list[Subject], confidence: float, **given: Any) -> AuditRun:
    return uq.audit(subject, confidence=confidence, options=SMALL, as_of=AS_OF, progress=False, **given)


@pytest.fixture(scope="module", params=[linear_subject, logistic_subject])
def both(request: pytest.FixtureRequest) -> tuple[AuditRun, AuditRun]:
    """Return the same audit at 90% and at 95%."""
    subject = protected(request.param(160, train=True))
    return audit(subject, 0.9), audit(subject, 0.95)


def without_estimate(found: re.Match[str]) -> str:
    """Take out a share that lies in the interval behind it; a level would lie there by chance only."""
    share, lower, upper = (int(number.replace("−", "-")) for number in found.groups())
    return "" if lower <= share <= upper else found[0]


def widths(found: RunChanges) -> dict[tuple[str, str, str], float]:
    return {
        (value.result, value.measure, value.feature): value.upper - value.lower
        for value in found.values
        if value.lower is not None and value.upper is not None
    }


def with_interval(result: Result | ResultView) -> pd.DataFrame:
    estimates = result.estimates
    return estimates[estimates["lower"].notna() & estimates["upper"].notna()]


def test_every_interval_of_every_explainer_has_the_level_of_the_run(both: tuple[AuditRun, AuditRun]) -> None:
    missing = {entry.name for entry in both[0].run.not_run if entry.group == "explainers"}
    explainers = {result.explainer for result in both[0].run.results}
    assert explainers - {"sensitivity"} == {plugin.name for plugin in plugins.find(plugins.EXPLAINERS)} - missing
    assert missing <= {"dalex", "shap"}, "only what needs a library may be missing"
    for result in both[0].run.results:
        assert set(result.estimates["confidence"].dropna()) <= {0.9}, result.id
        assert (with_interval(result)["confidence"] == 0.9).all(), result.id


def test_a_lower_level_narrows_every_interval(both: tuple[AuditRun, AuditRun]) -> None:
    narrowed = set()
    for result in both[0].run.results:
        wide, narrow = with_interval(both[1][result.id]), with_interval(result)
        np.testing.assert_array_equal(wide["estimate"], narrow["estimate"])
        widths = [(table["upper"] - table["lower"]).to_numpy() for table in (narrow, wide)]
        assert (widths[0] <= widths[1]).all(), result.id
        narrowed |= {result.id} if (widths[0] < widths[1]).any() else set()
    known = {
        "ale",
        "calibration",
        "cid",
        "cover",
        "groups",
        "groups.difference",
        "groups.proxy",
        "pdp",
        "pdp.surface",
        "pfi",
    }
    known |= {"redundancy", "rsens", "shap.importance", "support"}
    if both[0].run.subject["task"] != "regression":  # of a linear function every row has the same slope
        known |= {"rsens.comparators"}
    assert known - {entry.name for entry in both[0].run.not_run} <= narrowed


def test_what_is_no_level_of_the_run_stays(both: tuple[AuditRun, AuditRun]) -> None:
    narrow, wide = (run["calibration"].estimates for run in both)
    pd.testing.assert_frame_equal(narrow[["lower_90", "upper_90"]], wide[["lower_90", "upper_90"]])
    verdicts = [set(run["pfi"].estimates.query("verdict == 'about 0'")["feature"]) for run in both]
    assert verdicts[0] == verdicts[1]


def test_no_text_names_another_level(both: tuple[AuditRun, AuditRun], tmp_path: Path) -> None:
    both[0].write(tmp_path, formats=("html", "markdown"))
    for file in (tmp_path / "report.html", tmp_path / "report.md"):
        text = unescape(file.read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")
        assert "90% CI over new test samples" in text
        for phrase in NO_LEVELS:
            text = text.replace(phrase, "")
        text = WITH_INTERVAL.sub(without_estimate, REPEATED.sub("", text))
        assert re.findall(r".{40}\b95\s?%.{20}", text) == []
        levels = Counter(found for found in chain.from_iterable(LEVEL.findall(text)) if found)
        assert set(levels) == {"90"}
        assert levels["90"] > 5


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a realisation ratio of 95% (89 to 102).", False),
        ("outcome: a 95% and b 74%.", True),
        (
            "Share of a feature's information about the outcome that other features also carry: a 95% and b 74%.",
            False,
        ),
        ("gap 0.04 nats (95% CI −0.06 to 0.14)", True),
        ("In brackets stands the 95% CI over new test samples.", True),
        ("a 60% (50 to 70) at 95%", True),
        ("at 95% (10 to 20)", True),
        ("value (95%)", True),
    ],
)
def test_what_is_left_out_as_no_level_is_no_level(text: str, left: bool) -> None:
    assert ("95%" in WITH_INTERVAL.sub(without_estimate, REPEATED.sub("", text))) == left


def test_two_models_are_compared_at_the_level_of_the_run() -> None:
    champion = linear_subject(80)
    shifted = KnownLinear((1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0))
    challenger = make_subject(shifted, KnownTruth(), champion.X, champion.y, label="challenger")
    pair = [champion, challenger]
    narrow, wide = (audit(pair, level, explainers=["pfi"]) for level in (0.9, 0.95))
    for name in ("compare.scores", "compare.importance"):
        tables = [run[name].estimates for run in (narrow, wide)]
        assert set(tables[0]["confidence"]) == {0.9}
        widths = [(table["upper"] - table["lower"]).to_numpy() for table in tables]
        assert (widths[0] <= widths[1]).all()
        assert (widths[0] < widths[1]).any()


def test_changes_have_the_level_of_the_later_run_and_ranks_of_two_levels_are_not_compared() -> None:
    before = audit(linear_subject(80), 0.95, explainers=["pfi", "agreement"]).run
    now = [audit(linear_subject(90), level, explainers=["pfi", "agreement"]).run for level in (0.9, 0.95)]
    mixed, same = (changes(before, run) for run in now)
    assert {value.interval for value in mixed.values} == {f"90%, {INDEPENDENT}"}
    assert "agreement: the rank intervals of the two runs have different levels." in mixed.not_compared
    assert [change.now for change in mixed.inputs if change.what == "setting confidence"] == ["0.9"]
    assert {value.interval for value in same.values} >= {f"95%, {INDEPENDENT}", RANKS}
    wide = widths(same)
    assert all(width <= wide[key] for key, width in widths(mixed).items())
    assert any(width < wide[key] for key, width in widths(mixed).items())


def test_the_verbs_take_the_level_too() -> None:
    subject = linear_subject(60)
    table = uq.importance(subject, measures=["entropy"], n_repeats=5, confidence=0.8).summary()
    assert set(table["confidence"]) == {0.8}
    assert set(uq.profile(subject, "a", confidence=0.8).summary()["confidence"]) == {0.8}
    assert set(uq.calibration(subject, confidence=0.8).summary()["confidence"].dropna()) == {0.8}


def test_the_level_is_recorded_and_comes_from_one_constant() -> None:
    subject = linear_subject(30)
    assert Settings().confidence == Engine(subject, {}).confidence == CONFIDENCE
    content: dict[str, Any] = {"data": {"source": "rows.csv"}, "run": {"confidence": 0.9}}
    assert AuditFile.model_validate(content).settings().confidence == 0.9
    assert AuditFile.model_validate(content | {"run": {}}).run.confidence == CONFIDENCE
    run: Run = audit(subject, 0.9, explainers=["data_quality"]).run
    assert run.settings["confidence"] == 0.9


@pytest.mark.parametrize("level", [0.5, 1.0, 95, float("nan")])
def test_a_level_outside_is_refused(level: float) -> None:
    with pytest.raises(InputError, match=r"audit\.confidence must be (greater|less) than"):
        uq.audit(linear_subject(30), confidence=level)
    with pytest.raises(InputError, match=r"engine\.confidence must be a number between 0\.5 and 1"):
        Engine(linear_subject(30), {}, confidence=level)


def test_it_is_no_option_of_an_explainer() -> None:
    options = {name: {"confidence": 0.9} for name in ("pfi", "shap", "checks.policy")}
    with pytest.raises(InputError) as caught:
        uq.audit(linear_subject(30), options=options)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    for key in ("explainers.pfi", "explainers.shap", "checks.policy"):
        line = f"{key}.confidence must be a known option; got 'confidence'. "
        assert line + f"confidence is a setting of the run, not of {key}." in lines
