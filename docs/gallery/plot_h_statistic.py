"""
H-statistic
===========

The strength of interactions.
"""

from example import subject

import uq_report as uq

uq.interactions(subject).plot()
