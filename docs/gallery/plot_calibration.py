"""
Reliability
===========

Stated probabilities against observed frequencies.
"""

from example import subject

import uq_report as uq

figure = uq.calibration(subject).plot()
