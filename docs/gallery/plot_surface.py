"""
Surface of two features
=======================

The partial dependence of the entropy on two features.
"""

from example import subject

import uq_report as uq

figure = uq.profile(subject, ("mean radius", "mean texture"), measures="entropy").plot()
