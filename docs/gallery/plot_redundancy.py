"""
Redundancy
==========

How well each feature is predicted by the others.
"""

from example import subject

import uq_report as uq

figure = uq.redundancy(subject).plot()
