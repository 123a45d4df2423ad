"""
Partial dependence and ICE
==========================

The average effect of a feature and the curves of single observations.
"""

from example import subject

import uq_report as uq

figure = uq.profile(subject, "mean radius", measures=["prediction", "entropy"]).plot()
