"""Posterior predictive draws: ArviZ's objects, functions that sample, and distributions of given rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import uq_report as uq
from uq_report.core.engine.fast_path_evaluator import Engine
from uq_report.core.support.errors import InputError
from uq_report.distributions import Categorical, CountDraws, Draws, Normal, Ordinal
from uq_report.inputs.adapters.predictions import DrawsAdapter

from .typed_lines import typed
from .whole_audit import whole_audit

arviz = pytest.importorskip("arviz", reason="these tests use ArviZ")

FRAME, TARGET = load_diabetes(return_X_y=True, as_frame=True)
FRAME = FRAME[["bmi", "s5"]]
X, Y, ROWS, OUTCOMES = FRAME[:300], TARGET[:300], FRAME[300:360], TARGET[300:360]


def posterior(seed: int, size: int) -> tuple[Any, Any]:
    """Return draws of the coefficients (size, 3) and of the noise of a linear regression with flat priors."""
    rng, design = np.random.default_rng(seed), np.column_stack([np.ones(300), X])
    beta, residual = np.linalg.lstsq(design, Y, rcond=None)[:2]
    sigma = np.sqrt(residual[0] / rng.chisquare(297, size))
    root = np.linalg.cholesky(np.linalg.inv(design.T @ design))
    return beta + sigma[:, None] * (rng.normal(size=(size, 3)) @ root.T), sigma


BETA, SIGMA = posterior(0, 200)


def sampled(rows: Any) -> Draws:
    """Return the posterior predictive draws of any rows, with the same noise in every call."""
    noise = np.random.default_rng(1).normal(size=(200, 1))
    return Draws(BETA @ np.column_stack([np.ones(len(rows)), rows]).T + SIGMA[:, None] * noise)


DRAWS = np.random.default_rng(2).normal(sampled(ROWS).mean(), 55.0, size=(4, 50, 60))
IDATA = arviz.from_dict(posterior={"b": np.zeros((4, 50))}, posterior_predictive={"y": DRAWS})


def baseline(model: Any, y: Any = None) -> Any:
    return Engine(uq.explain(model, ROWS, y), {}).baseline


def test_the_draws_of_all_chains_are_joined_in_any_order_of_dimensions() -> None:
    data = IDATA.posterior_predictive["y"]
    for model in (IDATA, IDATA.posterior_predictive, data, data.T, data.stack(sample=("chain", "draw"))):
        dist = baseline(model)
        assert isinstance(dist, Draws)
        np.testing.assert_array_equal(dist.values, np.sort(DRAWS.reshape(200, 60).T, axis=1))


def test_predictions_of_new_rows_come_before_those_of_the_fitted_ones() -> None:
    both = arviz.from_dict(posterior_predictive={"y": np.zeros((4, 50, 9))}, predictions={"y": DRAWS})
    assert len(baseline(both)) == 60


def test_whole_numbers_are_counts_and_booleans_are_classes() -> None:
    counts = arviz.from_dict(posterior_predictive={"y": DRAWS.round().astype(int)})
    assert isinstance(baseline(counts), CountDraws)
    shares = baseline(arviz.from_dict(posterior_predictive={"y": DRAWS > 150}))
    assert isinstance(shares, Categorical)
    np.testing.assert_allclose(shares.probabilities[:, 1], (DRAWS > 150).mean(axis=(0, 1)))


def test_draws_of_given_rows_are_audited_without_what_changes_rows() -> None:
    subject = uq.explain(IDATA, ROWS, OUTCOMES)
    assert subject.label == "draws of y"
    assert subject.adapter_reason == "stored predictions (sample of draws); the model itself was not at hand"
    run = whole_audit(subject)
    reasons = {entry.name: entry.reason for entry in run.not_run}
    assert "it needs the model, and only its predictions of the given rows are there" in reasons["pfi"]


def test_a_function_that_samples_runs_everything() -> None:
    run = whole_audit(uq.explain(sampled, ROWS, OUTCOMES))
    assert "pfi" not in {entry.name for entry in run.not_run}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (arviz.from_dict(posterior={"b": np.zeros((4, 50))}), r"a group predictions or posterior_predictive; got none"),
        (Draws(DRAWS[0, :, :9]), r"explain\.X must have one row for each predictive distribution, 9; got 60"),
    ],
)
def test_other_objects_are_refused(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        uq.explain(model, ROWS)


TWO = arviz.from_dict(posterior_predictive={"y": DRAWS, "z": DRAWS})
WIDE = arviz.from_dict(posterior_predictive={"y": np.stack([DRAWS, 0 * DRAWS], axis=3)})
HOLDS = r"InferenceData\.posterior_predictive must hold one variable, the draws of y; got \['y', 'z'\]"
DIMS = r"y\.dims must be chain and draw .* got \['chain', 'draw', 'y_dim_0', 'y_dim_1'\]"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TWO, HOLDS),
        (TWO.posterior_predictive, "Dataset must hold one variable"),
        (WIDE, DIMS),
        (WIDE.posterior_predictive["y"], DIMS),
    ],
)
def test_draws_of_several_outcomes_are_refused_with_a_line_that_works(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        uq.explain(model, ROWS)
    subject = typed(str(error.value), model=model, X=ROWS, y=OUTCOMES)
    np.testing.assert_allclose(Engine(subject, {}).baseline.mean(), DRAWS.mean(axis=(0, 1)))


def test_any_distribution_is_audited_with_the_rows_it_is_of() -> None:
    dist = baseline(Normal(OUTCOMES.to_numpy(), 50.0), OUTCOMES)
    np.testing.assert_array_equal(dist.mean(), OUTCOMES)
    subject = uq.explain(Normal(np.arange(60.0), 1.0), ROWS).take(np.array([7, 3]))
    np.testing.assert_array_equal(Engine(subject, {}).baseline.mean(), [7.0, 3.0])
    assert DrawsAdapter().matches(object()) is None
    with pytest.raises(InputError, match="Open it with unpack") as error:
        DrawsAdapter().predict(IDATA, ROWS)
    assert typed(str(error.value), model=IDATA, X=ROWS, y=OUTCOMES).label == "draws of y"


def test_ordered_classes_are_audited_as_classes() -> None:
    grades = np.digitize(OUTCOMES, [100, 180]) + 1

    def graded(rows: Any) -> Ordinal:
        score = 3 * rows[["bmi"]].to_numpy() @ [[-10.0, 0.0, 10.0]]
        p = np.exp(score)
        return Ordinal(p / p.sum(axis=1, keepdims=True), classes=[1, 2, 3])

    run = whole_audit(uq.explain(graded, ROWS, grades), explainers=["pfi", "pdp", "calibration"])
    assert run.subject["family"] == "ordinal"
    assert run.subject["task"] == "classification"
