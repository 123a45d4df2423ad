"""
H-statistic
===========

The strength of interactions.
"""

from example import subject

import uq_report as uq

figure = uq.interactions(subject).plot()
