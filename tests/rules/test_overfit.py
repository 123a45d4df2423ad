"""What matters on the training rows only, and what the model is better without."""

import numpy as np
import pytest

from uq_report.checks.overfit import OverFit
from uq_report.core.arrays import FloatArray, Table
from uq_report.core.distributions import Normal
from uq_report.core.errors import InputError
from uq_report.core.predictive import Distribution
from uq_report.core.subject import make_subject
from uq_report.evidence.finding import Outcome
from uq_report.evidence.run import NotRun
from uq_report.testing import KnownTruth, linear_subject

from .importances import audited, outcome, pfi, run, trained

USEFUL = (0.3, 0.02)
NOTHING = (0.0, 0.003)


def judged(test: tuple[float, float], train: float, df: int = 199, **others: tuple[float, float]) -> Outcome:
    """Return the outcome where `a` has these importances for the Brier score, beside a useful b."""
    result = pfi({"brier": {"a": test, "b": USEFUL}, "nll": {"a": NOTHING, "b": USEFUL} | others}, df)
    return OverFit().check(run(result, trained({"brier": {"a": train, "b": 0.31}, "nll": {"a": 0.0, "b": 0.31}}, df)))


def codes(found: Outcome) -> list[tuple[str, tuple[str, ...]]]:
    return [(finding.code, finding.features) for finding in found.findings]


def test_a_feature_that_matters_on_training_rows_only_fires() -> None:
    found = judged(NOTHING, 0.08)
    assert codes(found) == [("UQ401", ("a",))]
    finding = found.findings[0]
    assert finding.evidence == ("pfi", "pfi.train")
    assert (finding.observed, finding.threshold, finding.measures) == (0.08, 0.01, ("brier",))
    assert (finding.lower, finding.upper) == (None, None)
    assert "raises the brier title by 0.08 on the training rows" in finding.statement
    assert "is about 0: +0, 95 % interval -0.00592 to +0.00592" in finding.statement


def test_a_negative_test_importance_fires_too_and_says_so() -> None:
    found = judged((-0.05, 0.01), 0.08)
    assert codes(found) == [("UQ401", ("a",))]
    assert "its importance is negative: -0.05" in found.findings[0].statement


@pytest.mark.parametrize(
    ("test", "train"),
    [
        pytest.param(NOTHING, 0.005, id="below the margin"),
        pytest.param((0.2, 0.02), 0.9, id="important on test rows as well"),
        pytest.param((0.0, 0.0), 0.0, id="not used"),
    ],
)
def test_what_matters_on_both_or_neither_stays_silent(test: tuple[float, float], train: float) -> None:
    found = judged(test, train)
    assert (found.state, codes(found)) == ("passed", [])
    assert "by brier title, nll title" in found.reason


@pytest.mark.parametrize(
    ("test", "train"),
    [
        pytest.param((0.0, 0.02), 0.08, id="test importance undetermined"),
        pytest.param((0.003, 0.004), 0.012, id="no more than both samples explain"),
        pytest.param((0.0, 0.0), 0.08, id="no shuffle changed a test row"),
        pytest.param((0.0, float("nan")), 0.08, id="no interval"),
    ],
)
def test_undetermined_neither_raises_nor_clears(test: tuple[float, float], train: float) -> None:
    found = judged(test, train)
    assert found.state == "skipped"
    assert "UQ401 is undetermined for a." in found.reason


def test_the_difference_counts_the_noise_of_the_training_rows() -> None:
    test = {"brier": {"a": (0.0, 0.004), "b": USEFUL}, "nll": {"b": USEFUL}}
    few, many = ((trained({"brier": {"a": 0.012}}, df)) for df in (99, 10**5))
    assert OverFit().check(run(pfi(test), few)).state == "skipped"
    assert codes(OverFit().check(run(pfi(test), many))) == [("UQ401", ("a",))]


def test_holm_counts_every_loss_and_feature() -> None:
    many = {f"x{i}": USEFUL for i in range(60)}
    test = pfi({"brier": {"a": (0.0, 0.004)} | many, "nll": many})
    train = trained({"brier": {"a": 0.0125} | dict.fromkeys(many, 0.3)}, 10**5)
    alone = pfi({"brier": {"a": (0.0, 0.004)}, "nll": many})
    assert codes(OverFit().check(run(alone, trained({"brier": {"a": 0.0125}}, 10**5)))) == [("UQ401", ("a",))]
    assert "UQ401 is undetermined for a" in OverFit().check(run(test, train)).reason


def test_harm_fires_with_the_interval() -> None:
    found = judged(NOTHING, 0.0, c=(-0.05, 0.01))
    assert codes(found) == [("UQ402", ("c",))]
    finding = found.findings[0]
    assert finding.observed == -0.05
    assert (finding.lower, finding.upper) == pytest.approx((-0.0697, -0.0303), abs=1e-4)
    assert "Likelihood-PFI of c is negative: -0.05 nats, 95 % interval" in finding.statement


def test_harm_is_adjusted_over_features_and_then_undetermined() -> None:
    unadjusted = judged(NOTHING, 0.0, c=(-0.023, 0.011))
    assert codes(unadjusted) == []
    assert "UQ402 is undetermined for c." in unadjusted.reason
    alone = pfi({"nll": {"c": (-0.023, 0.011)}})
    assert codes(OverFit().check(run(alone, trained({"nll": {"c": -0.02}})))) == [("UQ402", ("c",))]


def test_a_clipped_likelihood_counts_as_one() -> None:
    found = OverFit().check(run(pfi({"nll_clipped": {"c": (-0.05, 0.01)}}), trained({"nll_clipped": {"c": 0.0}})))
    assert codes(found) == [("UQ402", ("c",))]
    assert found.findings[0].measures == ("nll_clipped",)


def test_without_importance_it_does_not_apply() -> None:
    found = OverFit().check(run(not_run=(NotRun("pfi", "explainers", "not chosen"),)))
    assert (found.state, found.reason) == ("not_applicable", "pfi was not run: not chosen")


def test_without_training_rows_it_does_not_pass() -> None:
    clean = pfi({"nll": {"a": USEFUL}})
    found = OverFit().check(run(clean, has_train=False))
    assert found.state == "skipped"
    assert "UQ401 was not judged: no training rows were given." in found.reason
    assert "pfi gave no result pfi.train" in OverFit().check(run(clean)).reason


def test_without_a_likelihood_harm_is_not_judged() -> None:
    found = OverFit().check(run(pfi({"entropy": {"a": NOTHING}}), trained({"entropy": {"a": 0.0}})))
    assert (found.state, found.reason) == (
        "not_applicable",
        "no loss has an importance on test and on training rows; pfi has no nll",
    )


def test_levels_are_checked_and_printed() -> None:
    with pytest.raises(InputError, match=r"overfit\.level must be"):
        OverFit(level=0)
    assert all("level 0.01" in rule.text for rule in OverFit(level=0.01).rules)


class Memory:
    """Knows a signal, and adds the noise of the training row whose key is nearest."""

    def __init__(self, keys: FloatArray, noise: FloatArray) -> None:
        self.keys, self.noise = keys, noise

    def distribution(self, X: Table) -> Distribution:
        rows = np.asarray(X, dtype=float)
        nearest = np.abs(rows[:, [1]] - self.keys).argmin(axis=1)
        return Normal(rows[:, 0] + self.noise[nearest], 1.0)


def test_a_model_that_remembers_its_rows_is_found_end_to_end() -> None:
    rng = np.random.default_rng(3)
    n = 200
    X, noise = rng.normal(size=(2, n, 2)), rng.normal(size=(2, n))
    y = X[:, :, 0] + noise
    model = Memory(X[0, :, 1], noise[0])
    subject = make_subject(model, KnownTruth(), X[1], y[1], train=(X[0], y[0]))
    options = {"pfi": {"n_repeats": 5, "margin": 0.6}}
    found = outcome(audited(subject, ["pfi"], rules=["overfit"], options=options), "overfit")
    assert codes(found) == [("UQ401", ("x1",))]
    assert set(found.findings[0].measures) == {"squared_error", "nll"}


def test_a_calibrated_model_stays_silent_end_to_end() -> None:
    found = outcome(audited(linear_subject(150, 1, train=True), ["pfi"], rules=["overfit"]), "overfit")
    assert (found.state, codes(found)) == ("passed", [])
