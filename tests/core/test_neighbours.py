"""Gower distances and the training domain, on a grid whose neighbours are known."""

import numpy as np

from uq_report.runner.cases import GowerDomain

GRID = np.arange(21.0)[:, None]
DOMAIN = GowerDomain(GRID, np.array([True]))


def test_the_distance_is_that_of_the_fifth_nearest() -> None:
    np.testing.assert_allclose(DOMAIN.kth(np.array([[0.0], [10.0], [-3.0]])), np.array([4, 2, 7]) / 20)
    np.testing.assert_allclose(DOMAIN.kth(GRID[[0, 10]], own=True), np.array([5, 3]) / 20)


def test_one_in_twenty_is_outside_by_definition() -> None:
    """Of 21 points the two ends are 5 steps from their fifth neighbour, those beside them 4, the others 3."""
    limits = [DOMAIN.limit, *(GowerDomain(GRID, np.array([True]), share=share).limit for share in (0.05, 0.1, 0.2))]
    np.testing.assert_allclose(limits, np.array([5, 5, 4, 3]) / 20)


def test_fewer_observations_than_neighbours_give_the_farthest() -> None:
    few = GowerDomain(GRID[:3], np.array([True]))
    np.testing.assert_allclose(few.kth(np.array([[0.0], [1.0]])), [1.0, 0.5])
    np.testing.assert_allclose(few.kth(GRID[:3], own=True), [1.0, 0.5, 1.0])
