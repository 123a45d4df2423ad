"""What may be asked of residuals, the sentence about them, and the distribution that smooths them."""

from typing import Any

import numpy as np
import pytest

from uq_report.core.support.arrays import FloatArray
from uq_report.core.support.errors import InputError
from uq_report.core.validation.residuals import Assumption, Residuals
from uq_report.distributions import NormalMixture, Smoothed

RNG = np.random.default_rng(0)
CENTRES, WIDTH = RNG.gamma(2.0, size=25), 0.3
LOC, SCALE = np.array([0.0, 5.0, -2.0]), np.array([1.0, 2.0, 0.1])
FACTS: dict[str, Any] = {
    "form": "normal",
    "source": "cross_validation",
    "scale": "constant",
    "n": 300,
    "n_splits": 5,
    "seed": 0,
    "mean": 1.0,
    "spread": 53.21,
}


def test_a_smoothed_shape_is_the_mixture_of_its_centres() -> None:
    dist = Smoothed(LOC, SCALE, CENTRES, WIDTH)
    means = LOC[:, None] + SCALE[:, None] * CENTRES
    mixture = NormalMixture(means, np.repeat(SCALE[:, None] * WIDTH, len(CENTRES), axis=1))
    y = np.array([1.3, 9.0, -1.9])
    for method in ("mean", "variance", "entropy"):
        np.testing.assert_allclose(getattr(dist, method)(), getattr(mixture, method)(), rtol=1e-9)
    for method in ("log_prob", "cdf", "crps"):
        np.testing.assert_allclose(getattr(dist, method)(y), getattr(mixture, method)(y), rtol=1e-9)
    levels = np.array([0.1, 0.9])
    np.testing.assert_allclose(dist.quantile(levels), mixture.quantile(levels), rtol=1e-9)


def test_fisher_information_of_a_smoothed_shape_is_the_mean_outer_product_of_its_score() -> None:
    y, step = np.linspace(-6, 16, 8001), 1e-5

    def log_density(loc: float, scale: float) -> FloatArray:
        return Smoothed(np.full(len(y), loc), scale, CENTRES, WIDTH).log_prob(y)

    by_loc = (log_density(0.7 + step, 1.4) - log_density(0.7 - step, 1.4)) / (2 * step)
    by_scale = (log_density(0.7, 1.4 + step) - log_density(0.7, 1.4 - step)) / (2 * step)
    score, weight = np.stack([by_loc, by_scale]), np.exp(log_density(0.7, 1.4)) * (y[1] - y[0])
    np.testing.assert_allclose(
        Smoothed([0.7], [1.4], CENTRES, WIDTH).fisher_information()[0], (score * weight) @ score.T, rtol=1e-6
    )


@pytest.mark.parametrize(("shift", "stretch"), [(0.0, 1.0), (0.4, 1.0), (-3.0, 0.5), (1.0, 3.0), (12.0, 1.2)])
def test_divergences_of_smoothed_shapes_are_their_integrals(shift: float, stretch: float) -> None:
    p, q = (Smoothed([loc], [scale], CENTRES, WIDTH) for loc, scale in ((1.0, 2.0), (1.0 + shift, 2.0 * stretch)))
    y = np.linspace(-15, 40, 60_001)
    log_p, log_q = (np.asarray(d.take(np.zeros(len(y), dtype=int)).log_prob(y)) for d in (p, q))
    step = y[1] - y[0]
    kl, overlap = np.sum(np.exp(log_p) * (log_p - log_q)) * step, np.sum(np.exp((log_p + log_q) / 2)) * step
    assert p.kl(q)[0] == pytest.approx(kl, rel=1e-3 if shift == 12 else 1e-6, abs=2e-7)
    assert p.renyi_half(q)[0] == pytest.approx(-2 * np.log(overlap), rel=1e-3 if shift == 12 else 1e-6, abs=2e-7)


def test_moved_shapes_are_shapes_made_there() -> None:
    moved, made = Smoothed([0.0], 1.0, CENTRES, WIDTH).moved(LOC, SCALE), Smoothed(LOC, SCALE, CENTRES, WIDTH)
    assert np.array_equal(moved.entropy(), made.entropy())
    assert np.array_equal(moved.crps(LOC), made.crps(LOC))


def test_beyond_the_last_residual_a_shape_states_its_share_alone() -> None:
    """Of 19 values 1/20 lies beyond either end: there the PIT is that whole share, and in between it is F(y)."""
    q = Smoothed(np.zeros(5), 1.0, [-1.0, 1.0], 0.5, size=19)
    y = q.quantile(np.array([0.001, 0.04, 0.3, 0.96, 0.999]))[0]
    lower, upper = q.pit_bounds(y)
    assert lower == pytest.approx([0.0, 0.0, 0.3, 0.95, 0.95])
    assert upper == pytest.approx([0.05, 0.05, 0.3, 1.0, 1.0])
    assert q.moved([1.0], [2.0]).size == 19
    wide = q.moved(np.zeros(4), np.full(4, 2.0))
    gap = -wide.log_prob(2 * y[[0, 1, 2, 4]]) - wide.expected_nll(2 * y[[0, 1, 2, 4]])
    assert gap[0] == pytest.approx(gap[1])
    assert gap[2] == pytest.approx(-wide.log_prob(2 * y[[2] * 4])[0] - wide.entropy()[0])


def test_a_shape_expects_the_loss_of_every_law_with_its_tails_probabilities() -> None:
    """The mean of loss less expected loss is 0 under the shape itself, and does not know how far out a tail reaches."""
    q = Smoothed(np.zeros(4001), 1.5, CENTRES, WIDTH, size=39)
    p = (np.arange(4001) + 0.5) / 4001
    y = q.take(np.array([0])).quantile(p)[0]
    gap = -q.log_prob(y) - q.expected_nll(y)
    assert gap.mean() == pytest.approx(0, abs=2e-3)
    further = y + np.where(p < 0.02, -5.0, np.where(p > 0.98, 5.0, 0.0))
    np.testing.assert_allclose(-q.log_prob(further) - q.expected_nll(further), gap, atol=1e-9)
    assert Smoothed([0.0], 1.0, CENTRES, WIDTH).size == len(CENTRES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0.0], [1.0], [1.0, 2.0], 1.0, 1), "smoothed.size must be at least the number of centres, 2; got 1"),
        (([0.0], [0.0], [1.0], 1.0), "smoothed.scale must be greater than 0"),
        (([0.0], [1.0], [], 1.0), "must have centres and a bandwidth > 0; got 0 and"),
        (([0.0], [1.0], [1.0], 0.0), "bandwidth > 0; got 1 and 0.0"),
        (([np.nan], [1.0], [1.0], 1.0), "smoothed.loc must be finite"),
    ],
)
def test_shapes_that_are_none_are_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Smoothed(*given)


def test_words_stand_for_forms_and_oob_for_a_source() -> None:
    assert [Residuals.of(word).form for word in ("normal", "empirical", "conformal", "oob")] == [
        "normal",
        "empirical",
        "conformal",
        "student_t",
    ]
    assert Residuals.of("oob").source == "oob"
    assert Residuals.of("normal").source is None
    own = Residuals(seed=3)
    assert Residuals.of(own) is own


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"form": "gaussian"},
            "residuals.form must be one of 'normal', 'student_t', 'empirical', 'conformal'; got 'gaussian'",
        ),
        ({"source": "bootstrap"}, "residuals.source must be one of .*; got 'bootstrap'"),
        ({"source": "held_out"}, "residuals.source must be left out where rows are given, and given with rows"),
        ({"source": "oob", "rows": ([[1.0]], [1.0])}, "residuals.source must be left out where rows are given"),
        ({"rows": "held.csv"}, "residuals.rows must be a pair"),
        ({"scale": "local"}, "residuals.scale must be one of 'constant', 'modelled'; got 'local'"),
        ({"n_splits": 1}, "residuals.n_splits must be an integer >= 2; got 1"),
        ({"seed": -1}, "residuals.seed must be an integer >= 0; got -1"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Residuals(**options)


@pytest.mark.parametrize(
    ("asked", "message"), [("norml", "got 'norml'. Did you mean 'normal'"), (3, "a word or a Residuals object; got 3")]
)
def test_other_words_are_refused(asked: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Residuals.of(asked)


def test_the_sentence_says_what_was_laid_over_and_from_what() -> None:
    assumption = Assumption(**FACTS)
    assert assumption.words == (
        "The model states no uncertainty. The audit assumes a normal distribution with constant spread 53.2 units of "
        "the outcome around its predictions, from residuals of 5-fold cross-validation on 300 training observations."
    )
    assert assumption.facts() == {**FACTS, "df": None, "members_share": None, "replaces": "", "words": assumption.words}


def test_the_sentence_names_the_distribution_that_is_not_used() -> None:
    own = {"form": "conformal", "source": "held_out", "scale": "modelled", "replaces": "regressor_std"}
    assert Assumption(**{**FACTS, **own}).words == (
        "The model's own distribution (regressor_std) is not used. The audit assumes a conformal distribution with a "
        "spread modelled by small boosted trees (on average 53.2 units of the outcome) around its predictions, from "
        "residuals of 300 held-out observations."
    )


def test_the_sentence_about_members_has_their_share() -> None:
    own: dict[str, Any] = {"form": "student_t", "source": "oob", "df": 5.0, "replaces": "ensemble"}
    words = Assumption(**{**FACTS, **own, "members_share": 0.4}).words
    assert words.replace("\xa0", " ") == (
        "The model's own distribution (ensemble) is not used. The audit assumes a Student-t distribution (5.0 degrees "
        "of freedom) with a part that follows the spread of its members (on average 53.2 units of the outcome) around "
        "its predictions, from out-of-bag residuals of 300 training observations. The members' share of the variance "
        "(epistemic) is 40% on average."
    )
    both = Assumption(**{**FACTS, **own, "scale": "modelled", "members_share": 0.4}).words
    assert "small boosted trees (on average 53.2 units of the outcome) and a part that follows the spread" in both
    for none in (None, 0.0):
        plain = Assumption(**{**FACTS, **own, "members_share": none}).words
        assert "with constant spread 53.2" in plain
        assert "epistemic" not in plain
