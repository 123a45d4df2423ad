"""The framework of the replication: every claim has a run, and a verdict can fall to either side."""

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def papers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module of claims and that of experiments, from the checkout."""
    monkeypatch.syspath_prepend(str(ROOT))
    pytest.importorskip("sksurv", reason="an experiment has a survival model")
    from benchmarks.papers import claims, experiments

    yield claims, experiments.EXPERIMENTS
    for name in [name for name in sys.modules if name.startswith("benchmarks")]:
        del sys.modules[name]


def test_every_claim_is_judged_by_one_experiment(papers: Any) -> None:
    claims, experiments = papers
    judged = [claim for experiment in experiments for claim in experiment.claims]
    assert sorted(judged) == sorted(claims.claims())
    assert len({experiment.name for experiment in experiments}) == len(experiments)


@pytest.mark.parametrize(
    ("hits", "n", "full", "quick"),
    [(16, 16, "agrees", "agrees"), (15, 15, "in part", "agrees"),
     (1, 2, "in part", "in part"), (0, 1, "in part", "in part"), (0, 2, "in part", "does not agree"),
     (5, 20, "does not agree", "does not agree"), (10, 20, "in part", "does not agree")],
)  # fmt: skip
def test_verdicts_fall_to_both_sides(papers: Any, hits: int, n: int, full: str, quick: str) -> None:
    claims, _ = papers
    assert (claims.verdict(hits, n), claims.verdict(hits, n, quick=True)) == (full, quick)


def test_an_experiment_that_misses_a_claim_or_its_data_is_told(papers: Any) -> None:
    claims, experiments = papers
    silent = claims.Experiment("silent", "Silent", lambda seed, settings: claims.Repetition({}), ("W1",))
    with pytest.raises(ValueError, match="must judge"):
        claims.repeat(silent, claims.Settings())
    bike = next(experiment for experiment in experiments if experiment.name == "lecture-bike")
    assert "--data" in claims.repeat(bike, claims.Settings()).why


def test_a_refusal_is_quoted_and_an_answer_is_an_error(papers: Any) -> None:
    claims, experiments = papers
    worked = next(experiment for experiment in experiments if experiment.name == "worked-example")
    assert all(all(hits) for hits in claims.repeat(worked, claims.Settings()).hits.values())
    with pytest.raises(AssertionError, match="answers"):
        claims.refusal(lambda: None)
