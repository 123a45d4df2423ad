"""
Curves coloured by another feature
==================================

The curve of each observation (kind="individual"), coloured by thirds of a second feature.
"""

from example import subject

import uq_report as uq

figure = uq.profile(subject, "mean radius", "entropy", kind="individual").plot(colour_by="mean texture")
