"""
Spread of the permutations
==========================

The importance of each permutation, beside the interval over new test samples.
"""

from example import subject

import uq_report as uq

figure = uq.importance(subject, "nll", n_repeats=10).plot(swarm=True)
