"""
R-sens
======

The local sensitivity of the predictive distribution.
"""

from example import subject

import uq_report as uq

figure = uq.sensitivity(subject).plot()
