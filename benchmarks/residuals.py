"""Coverage of distributions from residuals on fresh rows, against the theory of conformal prediction.

    python benchmarks/residuals.py [--reps 200] [--rows 200]

The mean is linear in two of four features. Its noise is normal and even (homoscedastic), normal with a standard
deviation that grows with the first feature from 0.4 to 2.5 (heteroscedastic), or Student's t with 3 degrees of freedom
and even (heavy tails). A ridge is fitted to 200 rows; residuals are those of --rows further rows, and coverage is that
of 2000 fresh ones. Split-conformal intervals of m residuals between two of them cover 1 - a to 1 - a + 2 / (m + 1) on
average over repetitions (Vovk et al. 2017; each end is rounded outwards by less than 1 / (m + 1)), whatever the noise.
"Worst tenth" is the coverage of the 90% prediction interval in that tenth of the first feature where it is lowest.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import Ridge

from uq_report import explain
from uq_report.core.support.arrays import FloatArray
from uq_report.core.validation.residuals import Residuals

LEVELS = np.array([0.5, 0.8, 0.9, 0.95])
TRAIN, FRESH, TENTHS = 200, 2000, 10
Noise = Callable[[np.random.Generator, FloatArray], FloatArray]
NOISES: dict[str, Noise] = {
    "even": lambda rng, x: rng.normal(size=len(x)),
    "growing": lambda rng, x: (0.4 + 2.1 * x) * rng.normal(size=len(x)),
    "heavy tails": lambda rng, x: rng.standard_t(3, len(x)),
}
ASSUMPTIONS: dict[str, dict[str, Any]] = {
    f"{form}, {scale}": {"form": form, "scale": scale}
    for form in ("normal", "empirical", "conformal")
    for scale in ("constant", "modelled")
}


class Coverage(NamedTuple):
    """The coverage of each level, shape (4,), and that of 90% by tenths of the first feature, shape (10,)."""

    levels: FloatArray
    tenths: FloatArray


def coverage(noise: Noise, options: dict[str, Any], m: int, rng: np.random.Generator) -> Coverage:
    """Return the coverage on fresh rows of one draw of training rows and residuals."""
    n = TRAIN + m + FRESH
    X = rng.uniform(size=(n, 4))
    y = 2 * X[:, 0] - X[:, 1] + noise(rng, X[:, 0])
    model = Ridge(1e-3).fit(X[:TRAIN], y[:TRAIN])
    held, fresh = slice(TRAIN, TRAIN + m), slice(TRAIN + m, n)
    subject = explain(model, X[fresh], y[fresh], residuals=Residuals(rows=(X[held], y[held]), **options))
    tails = np.concatenate([(1 - LEVELS) / 2, (1 + LEVELS) / 2])
    lower, upper = np.split(subject.adapter.predict(model, subject.X).quantile(tails), 2, axis=1)
    inside = (lower <= y[fresh, None]) & (y[fresh, None] <= upper)
    tenth = np.minimum((X[fresh, 0] * TENTHS).astype(int), TENTHS - 1)
    return Coverage(inside.mean(axis=0), np.array([inside[tenth == k, 2].mean() for k in range(TENTHS)]))


def repeated(noise: Noise, options: dict[str, Any], m: int, reps: int, seed: int = 0) -> Coverage:
    """Return the mean coverage of repetitions."""
    runs = [coverage(noise, options, m, np.random.default_rng([seed, k])) for k in range(reps)]
    return Coverage(*(np.mean([run[part] for run in runs], axis=0) for part in (0, 1)))


def lines(m: int, reps: int) -> Iterator[str]:
    """Yield the table as text."""
    yield f"{reps} repetitions, m = {m} residuals; conformal theory: 1 - a to 1 - a + {2 / (m + 1):.3f}"
    yield f"{'noise':12} {'assumption':22} " + " ".join(f"{level:>6.0%}" for level in LEVELS) + "  worst tenth"
    for name, noise in NOISES.items():
        for assumed, options in ASSUMPTIONS.items():
            covered = repeated(noise, options, m, reps)
            levels = " ".join(f"{share:6.3f}" for share in covered.levels)
            yield f"{name:12} {assumed:22} {levels}  {covered.tenths.min():11.3f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=200)
    parser.add_argument("--rows", type=int, default=200)
    options = parser.parse_args()
    for line in lines(options.rows, options.reps):
        print(line, flush=True)


if __name__ == "__main__":
    main()
