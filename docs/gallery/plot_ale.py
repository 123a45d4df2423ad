"""
Accumulated local effects
=========================

The local effect of a feature, accumulated along its quantiles.
"""

from example import subject

import uq_report as uq

figure = uq.effects(subject).plot()
