"""
Derivative of a profile
=======================

How steeply the prediction changes along a feature, for single observations and on average.
"""

from example import subject

import uq_report as uq

figure = uq.profile(subject, "mean radius", mode="derivative").plot()
