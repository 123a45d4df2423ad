"""
Stability by period
===================

Loss, calibration and uncertainty by period of a sample in order of time.
"""

from example import in_time

import uq_report as uq

figure = uq.segments(in_time)["segments.periods"].plot()
