"""Short cuts of claimed and delivered importance against what they stand for."""

import numpy as np
import pytest

from uq_report.core.distributions import Categorical, Intervals, Survival
from uq_report.core.inference import shuffled_pairs, standard_error
from uq_report.core.measures import KL
from uq_report.methods.pfi.claims import CLASS_KL, claim_terms, score_of, why_no_score
from uq_report.methods.shared.changes import Changes
from uq_report.methods.shared.rows import Rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fitted", [False, True])
def test_the_error_of_the_share_is_that_of_its_own_shuffles(weighted: bool, fitted: bool) -> None:
    rng = np.random.default_rng(0)
    n, m = 40, 6
    donors = np.stack([rng.permutation(n) for _ in range(m)])
    b = np.stack([np.zeros(n), rng.random(n)])
    T = rng.random((2, m, n)) + b[:, None]
    weights = rng.random(n) + 0.5 if weighted else np.ones(n)
    rows = Rows((), np.zeros((0, n)), np.zeros(n), weights, None)
    changes = Changes(T, donors)
    claim = claim_terms(changes.fitted(rows) if fitted else changes, b, rows, np.zeros((1, n)))
    s = claim.share
    direct = shuffled_pairs((T[1] - s * T[0])[None], (b[1] - s * b[0])[None], donors, weights)
    assert claim.share_se == pytest.approx(standard_error(direct, weights)[0] / claim.estimate[0], rel=1e-9)


def test_why_nothing_is_claimed() -> None:
    survival = Survival([1.0, 2.0], [[0.5, 0.2]])
    intervals = Intervals([0.9], [[0.0]], [[1.0]], [0.5])
    assert (score_of(survival), score_of(intervals)) == (None, None)
    assert why_no_score(survival).startswith("outcomes may be censored")
    assert why_no_score(intervals) == intervals.why_not("kl")


def test_drawn_classes_follow_the_probabilities() -> None:
    p = np.array([[0.2, 0.5, 0.3], [0.0, 0.25, 0.75], [0.9, 0.1, 0.0], [1.0, 0.0, 0.0]])
    score = score_of(Categorical(p))
    assert score is not None
    assert score.draws is not None
    blocks = list(score.draws(Categorical(p), np.random.default_rng(0), 40_001))
    drawn = np.concatenate(blocks, axis=1)
    assert len(blocks) > 1
    assert drawn.shape == (2, 40_001, 4)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert drawn.sum(axis=0).max() == 1
    np.testing.assert_allclose(drawn.mean(axis=1), p.T[1:], atol=4 * 0.5 / np.sqrt(40_000))
    assert not drawn[1, :, 2:].any()
    assert drawn[:, :, 1].sum(axis=0).min() == 1


def test_the_divergence_of_classes_is_the_kullback_leibler_divergence() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), 50)
    q[0] = [0.0, 0.5, 0.5]
    np.testing.assert_allclose(
        CLASS_KL.rows(Categorical(q), None, Categorical(p)), KL.rows(Categorical(q), None, Categorical(p)), rtol=1e-12
    )
    assert not CLASS_KL.rows(Categorical(p), None, Categorical(p)).any()
