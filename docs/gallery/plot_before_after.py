"""
Entropy before and after a permutation
======================================

The distribution of the entropy when one feature is permuted.
"""

from example import subject

import uq_report as uq

figure = uq.importance(subject, "entropy", permutations=1).plot("before_after", feature="mean radius")
