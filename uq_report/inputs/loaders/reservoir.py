"""A simple random sample of rows that pass by once, in the memory of the sample."""

from __future__ import annotations

import numpy as np

from ...core.support.arrays import FloatArray, IntArray
from ...core.support.errors import InputError


class Reservoir:
    """Decides which rows of a stream stay: those with the `size` smallest of independent uniform keys.

    Every set of `size` rows is equally likely, whatever the number of rows turns out to be, and the
    choice depends on `seed` and the order of the rows alone, not on the parts they arrive in.

    Source: Vitter 1985, "Random sampling with a reservoir", in its form with random keys.

    Examples
    --------
    >>> reservoir = Reservoir(2, seed=0)
    >>> stay, taken = reservoir.offer(3)
    >>> len(stay), len(taken), reservoir.offered
    (0, 2, 3)
    """

    def __init__(self, size: int, seed: int) -> None:
        if size < 1:
            raise InputError(f"data.max_rows must be >= 1; got {size}.")
        self.size = size
        self.offered = 0
        self._rng = np.random.default_rng([seed, 0x5B])
        self._keys: FloatArray = np.empty(0)

    def offer(self, n: int) -> tuple[IntArray, IntArray]:
        """Return which of the rows so far stay, and which of `n` new ones join them; both in order."""
        before = len(self._keys)
        keys = np.concatenate([self._keys, self._rng.random(n)])
        keep = np.arange(len(keys))
        if len(keys) > self.size:
            keep = np.sort(np.argpartition(keys, self.size - 1)[: self.size])
        self._keys = keys[keep]
        self.offered += n
        return keep[keep < before], keep[keep >= before] - before
