"""Means over rows with weights and clusters, of tables of any number of dimensions."""

import numpy as np
import pytest

from uq_report.core.inference import MIN_CLUSTERS
from uq_report.core.ranking import term_covariance
from uq_report.core.sampling import Sampling


@pytest.mark.parametrize("clustered", [False, True])
def test_every_dimension_gives_the_numbers_of_its_rows_one_by_one(clustered: bool) -> None:
    rng = np.random.default_rng(0)
    n = 3 * MIN_CLUSTERS
    weights = rng.uniform(1, 2, n)
    codes = rng.permutation(np.arange(n) // 3) if clustered else None
    sampling = Sampling(weights / weights.sum(), MIN_CLUSTERS if clustered else n, codes)
    values = rng.normal(size=(2, 4, n))
    mean, error = sampling.mean(values)
    assert mean.shape == error.shape == (2, 4)
    one_by_one = [[sampling.mean(row) for row in table] for table in values]
    np.testing.assert_allclose(np.stack([mean, error], axis=-1), one_by_one, rtol=1e-12)
    variances = [np.diag(term_covariance(table, weights, codes)) for table in values]
    np.testing.assert_allclose(error**2, variances, rtol=1e-12)
    assert sampling.mean(values[:0])[1].shape == (0, 4)
