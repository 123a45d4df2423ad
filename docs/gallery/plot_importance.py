"""
Permutation importance
======================

The increase in log loss and the change in entropy, with 95% CI over new test samples.
"""

from example import subject

import uq_report as uq

figure = uq.importance(subject, measures=["nll", "entropy"], n_repeats=10).plot()
