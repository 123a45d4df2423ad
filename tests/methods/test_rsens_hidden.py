"""What members hide by hand: the rounding of a difference of divergences, and probabilities of 0."""

import numpy as np
import pytest

from uq_report.methods.rsens.estimator import hidden, hidden_length


@pytest.mark.parametrize(
    ("joint", "rest", "kept"),
    [(1.0, 1.21e-8, True), (1.0, 1.19e-8, False), (0.1, 3.05e-9, True), (0.1, 2.95e-9, False), (0.0, -1.0, False)],
)
def test_a_difference_of_divergences_is_rounding_up_to_a_share_and_an_amount(
    joint: float, rest: float, kept: bool
) -> None:
    """Up to 1e-8 of the joint divergence and 2e-9 nats, which is 1.2e-8 of 1 and 3e-9 of 0.1."""
    found = hidden(np.array([joint]), np.array([joint - rest]))
    assert found == pytest.approx([rest if kept else 0.0], rel=1e-6)


def test_an_infinite_divergence_hides_infinitely_much() -> None:
    assert hidden(np.array([np.inf, np.inf]), np.array([0.25, np.inf])).tolist() == [np.inf, np.inf]


def test_hidden_information_is_the_mean_square_of_the_members_scores_about_the_mixture() -> None:
    """Two members and three classes; a class that one of them never gives adds nothing while it stays at 0."""
    p = np.array([[0.1, 0.2, 0.2], [0.3, 0.2, 0.0]])
    slope = np.array([[0.3, -0.1, -0.2], [0.1, -0.1, 0.0]])
    total = 0.0
    for c in range(3):
        of_class = slope[:, c].sum() / p[:, c].sum()
        total += sum(p[m, c] * (slope[m, c] / p[m, c] - of_class) ** 2 for m in range(2) if p[m, c])
    moved = slope.copy()
    moved[1, 2] = 0.1
    np.testing.assert_allclose(hidden_length(np.stack([p, p]), np.stack([slope, moved])), [np.sqrt(total), np.inf])
    np.testing.assert_allclose(hidden_length(p[None], -5 * slope[None]), [5 * np.sqrt(total)])
