"""
Agreement of rankings
=====================

The ranks of the features by several methods, with simultaneous intervals.
"""

from example import subject

import uq_report as uq

figure = uq.agreement(subject).plot()
